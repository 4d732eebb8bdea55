//! How a turn ends, and with which exit code.

use super::*;

#[test]
fn the_first_interrupt_stops_the_turn_and_the_second_leaves() {
    let steps = vec![opened(), text("one"), Parted(Parting::Asked { by: "sigterm" }), ended(Stop::Interrupted, None)];
    on_terminal(
        AnswerPolicy::Person,
        steps,
        expect![[r#"
            model: tour (no key, no local server)

            one

            interrupting; once more to leave at once
            interrupted
            1.2k tokens in, 34 out, 1 tool round
            -> prompt "go"
            -> Interrupt { turn: None }
            -- exit 130
        "#]],
    );
    let steps =
        vec![opened(), text("one"), Parted(Parting::Asked { by: "sigterm" }), Parted(Parting::Asked { by: "sigterm" })];
    on_terminal(
        AnswerPolicy::Person,
        steps,
        expect![[r#"
            model: tour (no key, no local server)

            one

            interrupting; once more to leave at once
            -> prompt "go"
            -> Interrupt { turn: None }
            -- exit 130
        "#]],
    );
}

#[test]
fn retries_errors_and_hints_are_told() {
    let limited = Fault::new(FaultKind::RateLimited, "429 from the server");
    let denied = Fault::new(FaultKind::Auth, "the key was refused").hint("set OPENAI_API_KEY");
    let steps = vec![
        opened(),
        told(Body::Model(ModelEntry::Retrying {
            turn: turn(),
            attempt: 1,
            attempts_max: 3,
            wait_ms: 2000,
            fault: limited.clone(),
        })),
        told(Body::Model(ModelEntry::FellBack(vocab::FellBack {
            turn: turn(),
            from: "big".into(),
            to: "small".into(),
            fault: limited,
            skipped: Vec::new(),
        }))),
        told(Body::Note(NoteEntry::Recovered { text: "the log was cut after entry 7".into() })),
        ended(Stop::Error, Some(denied)),
    ];
    on_terminal(
        AnswerPolicy::Person,
        steps,
        expect![[r#"
        model: tour (no key, no local server)
        retrying in 2.0 s (1/3): 429 from the server
        big could not answer, asking small: 429 from the server
        the log was cut after entry 7
        error: the key was refused
        hint: set OPENAI_API_KEY
        1.2k tokens in, 34 out, 1 tool round
        -> prompt "go"
        -- exit 1
    "#]],
    );
}

#[test]
fn a_session_that_cannot_be_opened_is_exit_2() {
    let fault = Fault::new(FaultKind::NotFound, "no session matches `zz`").hint("`tillerman sessions list`");
    let steps = vec![StoryStep::Told(Event::Reply { tag: Tag(1), result: Err(fault) })];
    in_pipe(
        AnswerPolicy::Nobody,
        steps,
        expect![[r#"
        -- side
        error: no session matches `zz`
        hint: `tillerman sessions list`
        -- exit 2
    "#]],
    );
}

#[test]
fn limits_are_exit_3() {
    for stop in [Stop::MaxTokens, Stop::MaxIterations, Stop::Refusal] {
        let seen = play(run_options(AnswerPolicy::Nobody), inline(false, false), vec![opened(), ended(stop, None)]);
        assert_eq!(seen.exit, Some(3), "{stop:?}");
        assert!(seen.shown.contains("stopped"), "{}", seen.shown);
    }
}

#[test]
fn the_end_of_a_turn_that_died_with_another_process_is_not_the_end_of_the_prompt() {
    on_terminal(
        AnswerPolicy::Nobody,
        vec![opened(), left_over(), text("Done."), said(), ended(Stop::EndTurn, None)],
        expect![[r#"
            model: tour (no key, no local server)
            the turn before this one was cut short: the process ended during this turn, or could not write its end

            Done.

            1.2k tokens in, 34 out, 1 tool round
            -> prompt "go"
            -- exit 0
        "#]],
    );
    let seen = play(
        run_options(AnswerPolicy::Nobody),
        JsonRenderer::default(),
        vec![opened(), left_over(), text("Done."), said(), ended(Stop::EndTurn, None)],
    );
    expect![[r#"
        {"type":"session","session_id":"s1","resumed":false,"model":"tour","mode":"prompt","workspace":"/w"}
        {"type":"notice","text":"model: tour (no key, no local server)"}
        {"type":"notice","text":"the turn before this one was cut short: the process ended during this turn, or could not write its end"}
        {"type":"text","delta":"Done."}
        {"type":"turn_end","stop":"end_turn","iterations":1,"usage":{"cache_read_tokens":0,"cache_write_tokens":0,"estimated":false,"input_tokens":1200,"output_tokens":34},"error":null,"exit_code":0,"result":"said","session_id":"s1","cost_usd":null}
        -> prompt "go"
        -- exit 0
    "#]].assert_eq(&show(&seen));
    in_repl(
        vec![opened(), Typed("go on"), left_over(), text("Done."), said(), ended(Stop::EndTurn, None)],
        expect![[r#"
            model: tour (no key, no local server)
            tillerman 0.1.0 · tour · prompt · /help lists what can be typed
            {prompt?}
            <go on>
            the turn before this one was cut short: the process ended during this turn, or could not write its end

            Done.

            1.2k tokens in, 34 out, 1 tool round
            {prompt?}
            -> prompt "go on"
        "#]],
    );
}

#[test]
fn the_end_of_input_on_a_pipe_that_stays_leaves_questions_open() {
    let end = || Typed(crate::END_LINE);
    let ends = |steps| {
        let seen = play(repl_options(), inline(false, false), steps);
        let answered = seen.wanted.iter().any(|verb| matches!(verb, Verb::Session(SessionVerb::Answer { .. })));
        (seen.exit, answered)
    };
    assert_eq!(ends(vec![opened(), end()]), (Some(crate::exit_code::OK), false));
    assert_eq!(ends(vec![opened(), Typed("go"), permission("a"), end()]), (Some(crate::exit_code::UNFINISHED), false));
    assert_eq!(
        ends(vec![opened(), Typed("go"), text("x"), end(), permission("a")]),
        (Some(crate::exit_code::UNFINISHED), false)
    );
    assert_eq!(ends(vec![opened(), Typed("go"), text("x"), end()]), (None, false), "it is shown to its end");
}
