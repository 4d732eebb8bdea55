//! The answer alone, and what a turn cost.

use vocab::Prices;

use super::*;

fn answer(text: &str, usage: Usage) -> StoryStep {
    let end = MessageEnd::Finished(Finish::Stop);
    let message = AssistantMessage { blocks: vec![Block::Text(text.into())], model: "tour".into(), end, usage };
    told(Body::Assistant { turn: Some(turn()), message })
}

fn quiet() -> TextRenderer {
    inline(false, false).quiet()
}

#[test]
fn only_the_last_message_is_printed() {
    let story = vec![
        opened(),
        text("I look."),
        answer("I look.", Usage::default()),
        call("c1", "glob", r#"{"pattern":"*.rs"}"#),
        result("c1", "glob", CallEnd::Ran, "a.rs"),
        text("One file."),
        answer("One file.", Usage::default()),
        ended(Stop::EndTurn, None),
    ];
    let seen = play(run_options(AnswerPolicy::Nobody), quiet(), story);
    assert_eq!((seen.shown.as_str(), seen.side.as_str(), seen.exit), ("One file.\n", "", Some(0)));
    assert!(seen.waits.is_empty(), "{:?}", seen.waits);
}

#[test]
fn what_went_wrong_is_said_beside_it() {
    let story = vec![opened(), ended(Stop::Error, Some(Fault::new(FaultKind::Internal, "no luck").hint("try again")))];
    let seen = play(run_options(AnswerPolicy::Nobody), quiet(), story);
    assert_eq!((seen.shown.as_str(), seen.side.as_str()), ("said\n", "error: no luck\nhint: try again\n"));
}

#[test]
fn a_turn_says_what_it_cost_where_that_is_known_and_nothing_where_nothing_was_used() {
    let prices = Prices { input: 10.0, cache_read: 1.0, cache_write: 10.0, output: 100.0 };
    let used = Usage { input: 1200, output: 34, ..Usage::default() };
    let story = vec![opened(), text("Hi."), answer("Hi.", used), ended(Stop::EndTurn, None)];
    let seen = play(
        run_options(AnswerPolicy::Nobody),
        inline(false, false).with_prices(Box::new(move |_| Some(prices))),
        story,
    );
    assert!(seen.shown.ends_with("\n1.2k tokens in, 34 out, $0.0154, 1 tool round\n"), "{}", seen.shown);
    let end = TurnEnd {
        turn: turn(),
        stop: Stop::Interrupted,
        iterations: 0,
        usage: Usage::default(),
        mutations: Vec::new(),
        fault: None,
    };
    let seen = play(
        run_options(AnswerPolicy::Nobody),
        inline(false, false),
        vec![opened(), told(Body::Turn(TurnEntry::Ended(end)))],
    );
    assert!(seen.shown.ends_with("interrupted\n") && !seen.shown.contains("tokens"), "{}", seen.shown);
}

#[test]
fn a_long_result_shows_how_it_begins_and_how_it_ends_and_how_long_it_took() {
    let text: String = (1..=20).map(|n| format!("\x1b[31mline {n}\x1b[0m\n")).collect();
    let long = CallResult { duration_ms: 3_240, ..result_of("c1", "bash", CallEnd::Ran, &text) };
    let story = vec![
        opened(),
        call("c1", "bash", r#"{"command":"cargo test"}"#),
        told(Body::Call(CallEntry::Ended { turn: turn(), result: long })),
    ];
    let seen = play(run_options(AnswerPolicy::AllowAll), inline(false, false), story);
    let shown = "● bash cargo test\n  line 1\n  line 2\n  line 3\n  … 13 more lines\n  line 17\n  line 18\n  line 19\n  \
                 line 20\n  took 3.2 s\n";
    assert!(seen.shown.ends_with(shown), "{}", seen.shown);
}
