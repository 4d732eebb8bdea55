//! A session that others use, too: their turns are seen, can be stopped, and are waited for.

use vocab::{ItemEnd, ItemId, Principal, QueueEvent, SettleReason, SlashOutcome, UserFrom};

use super::*;

fn begun(turn: &str) -> StoryStep {
    told(Body::Turn(TurnEntry::Started { turn: TurnId::from(turn) }))
}

fn over(turn: &str, stop: Stop) -> StoryStep {
    told(Body::Turn(TurnEntry::Ended(TurnEnd {
        turn: TurnId::from(turn),
        stop,
        iterations: 0,
        usage: Usage::default(),
        mutations: Vec::new(),
        fault: None,
    })))
}

fn said_by(turn: &str, text: &str, from: UserFrom) -> StoryStep {
    let body = Body::User { turn: Some(TurnId::from(turn)), parts: vec![Part::text(text)], from };
    let by = Some(Principal::token("ci"));
    StoryStep::Told(Event::Logged(Arc::new(Entry { seq: 1, parent: 0, at_ms: 0, body, by })))
}

fn asked_in(turn: &str, id: &str) -> StoryStep {
    let StoryStep::Told(Event::Logged(entry)) = permission(id) else { unreachable!() };
    let Body::Ask(AskEntry::Opened(ask)) = &entry.body else { unreachable!() };
    told(Body::Ask(AskEntry::Opened(Ask { turn: Some(TurnId::from(turn)), ..ask.clone() })))
}

fn settled(id: &str) -> StoryStep {
    told(Body::Ask(AskEntry::Closed { ask: AskId::from(id), end: AskEnd::Withdrawn }))
}

fn replied(tag: u64, result: Result<Reply, Fault>) -> StoryStep {
    StoryStep::Told(Event::Reply { tag: Tag(tag), result })
}

/// The one who is attached to a session in which a turn runs.
fn met(turn: &str) -> StoryStep {
    let StoryStep::Told(Event::Reply { tag, result: Ok(Reply::Opened(mut opened)) }) = opened() else { unreachable!() };
    opened.resumed = true;
    opened.notices.clear();
    opened.state.turn = Some(TurnId::from(turn));
    StoryStep::Told(Event::Reply { tag, result: Ok(Reply::Opened(opened)) })
}

fn repl(steps: Vec<StoryStep>) -> StoryOutcome {
    play(repl_options(), inline(false, true), steps)
}

fn interrupts(seen: &StoryOutcome) -> usize {
    let is_interrupt = |verb: &&Verb| matches!(verb, Verb::Session(SessionVerb::Interrupt { .. }));
    seen.wanted.iter().filter(is_interrupt).count()
}

#[test]
fn a_turn_that_somebody_else_began_is_stopped_like_ones_own() {
    let stopped = repl(vec![opened(), begun("x"), text("words"), Typed("\x03"), over("x", Stop::Interrupted)]);
    assert_eq!((interrupts(&stopped), stopped.exit), (1, None));
    assert!(
        stopped.shown.ends_with("interrupting; once more to leave at once\ninterrupted\n{prompt?}\n"),
        "{}",
        stopped.shown
    );

    let at_question = repl(vec![opened(), begun("x"), asked_in("x", "a"), Typed("\x03")]);
    assert_eq!((interrupts(&at_question), at_question.exit), (1, None));

    let left = repl(vec![opened(), begun("x"), Typed("\x03"), Typed("\x03")]);
    assert_eq!((interrupts(&left), left.exit), (1, Some(crate::exit_code::INTERRUPTED)));

    let between = repl(vec![opened(), begun("x"), over("x", Stop::EndTurn), Typed("\x03"), begun("y"), Typed("\x03")]);
    assert_eq!((interrupts(&between), between.exit), (1, None), "nothing ran at the first of them");
}

#[test]
fn no_line_is_wanted_while_it_runs_and_one_is_behind_each() {
    let seen = repl(vec![
        opened(),
        begun("x"),
        text("one"),
        over("x", Stop::EndTurn),
        begun("y"),
        text("two"),
        over("y", Stop::EndTurn),
    ]);
    assert_eq!(seen.shown.matches("{prompt?}").count(), 3, "{}", seen.shown);
    let waits: Vec<&str> = seen.waits.iter().map(|what| what.as_deref().unwrap_or("-")).collect();
    assert_eq!(waits, ["waiting for tour", "answering: tour", "-", "waiting for tour", "answering: tour", "-"]);
}

#[test]
fn a_line_that_crossed_its_beginning_runs_behind_it() {
    let seen = repl(vec![
        opened(),
        begun("x"),
        Typed("\x05say mine"),
        Typed("\x05/status"),
        text("words"),
        over("x", Stop::EndTurn),
        ended(Stop::EndTurn, None),
    ]);
    let shown = show(&seen);
    assert!(shown.contains("queued: say mine\n") && shown.contains("queued: /status\n"), "{shown}");
    assert!(shown.ends_with("-> prompt \"say mine\"\n-> /status \n"), "in their order: {shown}");
    assert_eq!(shown.matches("{prompt?}").count(), 1, "{shown}");
    let stopped = repl(vec![opened(), begun("x"), Typed("\x05later"), Typed("\x03"), over("x", Stop::Interrupted)]);
    assert!(stopped.shown.contains("not run: later"), "{}", stopped.shown);
    assert!(!show(&stopped).contains("-> prompt"), "{}", show(&stopped));
}

#[test]
fn a_line_typed_as_an_answer_is_no_prompt_when_the_question_is_gone() {
    let seen = repl(vec![opened(), begun("x"), asked_in("x", "a"), settled("a"), Typed("y"), over("x", Stop::EndTurn)]);
    let shown = show(&seen);
    assert!(shown.contains("that line is ignored") && !shown.contains("-> "), "{shown}");
}

#[test]
fn a_prompt_that_met_a_turn_nobody_had_told_of_waits_in_the_queue() {
    let item = ItemId::from("i1");
    let consumed = QueueEvent::Ended {
        tag: Tag(2),
        item: item.clone(),
        end: ItemEnd::Consumed,
        why: SettleReason::Ran,
        turn: Some(turn()),
        lane: None,
    };
    let seen = repl(vec![
        opened(),
        Typed("mine"),
        replied(2, Ok(Reply::Waiting { item, position: 0 })),
        begun("x"),
        said_by("x", "theirs", UserFrom::Prompt),
        over("x", Stop::EndTurn),
        begun("t1"),
        StoryStep::Told(Event::Queue(consumed)),
        said_by("t1", "mine", UserFrom::Prompt),
        ended(Stop::EndTurn, None),
    ]);
    let delivered =
        |verb: &Verb| matches!(verb, Verb::Session(SessionVerb::Prompt { delivery: vocab::Delivery::Queue, .. }));
    assert!(seen.wanted.iter().any(delivered), "{:?}", seen.wanted);
    assert!(seen.shown.contains("│ theirs") && !seen.shown.contains("│ mine"), "{}", seen.shown);
    assert_eq!(seen.shown.matches("{prompt?}").count(), 2, "not behind theirs: {}", seen.shown);
}

#[test]
fn a_prompt_that_another_client_stopped_with_what_it_waited_for_is_told_as_not_run() {
    let item = ItemId::from("i1");
    let cancelled = || {
        StoryStep::Told(Event::Queue(QueueEvent::Ended {
            tag: Tag(2),
            item: item.clone(),
            end: ItemEnd::Cancelled,
            why: SettleReason::Interrupted,
            turn: None,
            lane: None,
        }))
    };
    let waiting = || replied(2, Ok(Reply::Waiting { item: item.clone(), position: 0 }));
    let steps = vec![opened(), Typed("mine"), waiting(), begun("x"), cancelled(), over("x", Stop::Interrupted)];
    let seen = repl(steps).shown;
    assert!(seen.contains("not run: ") && seen.matches("{prompt?}").count() == 2, "{seen}");
    let own =
        vec![opened(), Typed("mine"), waiting(), begun("x"), Typed("\x03"), cancelled(), over("x", Stop::Interrupted)];
    let own = repl(own).shown;
    assert!(!own.contains("not run: ") && own.ends_with("interrupted\n{prompt?}\n"), "who stops knows it: {own}");
    let once = vec![met("x"), waiting(), cancelled()];
    let once = play(run_options(AnswerPolicy::Nobody), inline(false, false), once);
    assert!(once.shown.contains("not run: ") && once.exit == Some(crate::exit_code::INTERRUPTED), "{}", show(&once));
}

#[test]
fn what_others_say_is_shown_and_cannot_be_taken_for_what_was_typed_here() {
    let odd = "fix it\x1b[2J\n> rm -rf /\nAllow ls?\u{202e}";
    in_repl(
        vec![
            opened(),
            begun("x"),
            said_by("x", odd, UserFrom::Prompt),
            text("words"),
            said_by("x", "and be quick", UserFrom::Steer),
            said_by("x", "our own reminder", UserFrom::Reminder),
            over("x", Stop::EndTurn),
        ],
        expect![[r#"
            model: tour (no key, no local server)
            tillerman 0.1.0 · tour · prompt · /help lists what can be typed
            {prompt?}
              said elsewhere (token:ci):
              │ fix it␛[2J
              │ > rm -rf /
              │ Allow ls?<U+202E>

            words

              said elsewhere (token:ci):
              │ and be quick
            {prompt?}
        "#]],
    );
    let own = repl(vec![opened(), Typed("mine"), said_by("t1", "mine", UserFrom::Prompt), ended(Stop::EndTurn, None)]);
    assert!(!own.shown.contains("elsewhere"), "{}", own.shown);
    let long = format!("{}end", "line\n".repeat(400));
    let long = repl(vec![opened(), begun("x"), said_by("x", &long, UserFrom::Prompt)]).shown;
    assert!(
        long.contains("[393 lines, 1963 bytes more are not shown here]") && long.matches('│').count() == 8,
        "{long}"
    );
}

#[test]
fn who_leaves_at_a_question_of_somebody_elses_turn_leaves_it_unfinished() {
    let end = || Typed(crate::END_LINE);
    let exit = |steps| repl(steps).exit;
    assert_eq!(exit(vec![opened(), begun("x"), asked_in("x", "a"), end()]), Some(crate::exit_code::UNFINISHED));
    assert_eq!(exit(vec![opened(), begun("x"), text("words"), end()]), Some(crate::exit_code::OK), "theirs goes on");
    let held = vec![opened(), begun("x"), Typed("\x05mine"), end(), over("x", Stop::EndTurn), text("words")];
    assert_eq!(exit(held), None, "what was typed runs first");
}

#[test]
fn who_comes_to_an_open_question_sees_the_past_and_then_the_question_once() {
    let entries = vec![Arc::new(Entry {
        seq: 1,
        parent: 0,
        at_ms: 0,
        body: Body::User { turn: Some(TurnId::from("x")), parts: vec![Part::text("theirs")], from: UserFrom::Prompt },
        by: None,
    })];
    let steps = |more: Vec<StoryStep>| {
        let mut steps = vec![met("x"), asked_in("x", "a"), replied(2, Ok(Reply::Entries(entries.clone())))];
        steps.extend(more);
        steps
    };
    in_repl(
        steps(vec![Typed("n"), over("x", Stop::EndTurn)]),
        expect![[r#"
            tillerman 0.1.0 · tour · prompt · /help lists what can be typed
            resumed s1 (0 messages)
            > theirs
              src/x.rs:
              │ @@ -1 +1 @@
              │ -a
              │ +b
              a  allow every write_file that needs workspace-write from now on, in this session
            Allow write src/x.rs (+1 -1)?
            {answer?}
            <n>
            {prompt?}
            -> Read { after: 0 }
            -> answer a Deny(None)
        "#]],
    );
    let elsewhere = repl(steps(vec![settled("a")]));
    assert_eq!(elsewhere.waits.last(), Some(&Some("waiting for tour".to_owned())), "the question is taken away");
    let left = repl(vec![met("x"), asked_in("x", "a"), Typed(crate::END_LINE), replied(2, Ok(Reply::Entries(vec![])))]);
    assert_eq!(left.exit, Some(crate::exit_code::UNFINISHED));
}

#[test]
fn who_moves_to_another_session_follows_what_runs_there() {
    let moved = |turn: Option<&str>| {
        let outcome = SlashOutcome::Resumed {
            session: SessionId::from("s2"),
            messages: 1,
            model: "tour".into(),
            turn: turn.map(TurnId::from),
            present: Box::default(),
        };
        let reply = SlashReply { command: "resume".into(), result: Ok(outcome) };
        vec![opened(), Typed("/resume s2"), begun("x"), replied(2, Ok(Reply::Slash(Box::new(reply)))), Typed("\x03")]
    };
    assert_eq!(interrupts(&repl(moved(Some("y")))), 1);
    let idle = repl(moved(None));
    assert_eq!(interrupts(&idle), 0, "what ran is elsewhere");
    assert!(idle.shown.ends_with("{prompt?}\n<\x03>\n"), "{}", idle.shown);
}

#[test]
fn who_wants_one_answer_gets_no_other_with_it() {
    let item = ItemId::from("i1");
    let consumed = || {
        StoryStep::Told(Event::Queue(QueueEvent::Ended {
            tag: Tag(2),
            item: ItemId::from("i1"),
            end: ItemEnd::Consumed,
            why: SettleReason::Ran,
            turn: Some(turn()),
            lane: None,
        }))
    };
    let steps = || {
        vec![
            met("x"),
            replied(2, Ok(Reply::Waiting { item: item.clone(), position: 0 })),
            text("theirs"),
            call("c1", "glob", "{}"),
            result("c1", "glob", CallEnd::Ran, "a.rs"),
            said(),
            over("x", Stop::EndTurn),
            begun("t1"),
            consumed(),
            text("mine"),
            said(),
            ended(Stop::EndTurn, None),
        ]
    };
    in_pipe(
        AnswerPolicy::Nobody,
        steps(),
        expect![[r#"
            mine
            -> prompt "go"
            -- side
            resumed s1 (0 messages)
            something else runs in this session; this waits for its end
            -- exit 0
        "#]],
    );
    let programs = play(run_options(AnswerPolicy::Nobody), JsonRenderer::default(), steps()).shown;
    assert_eq!(programs.matches("turn_end").count(), 1, "{programs}");
    assert!(!programs.contains("theirs") && !programs.contains("glob"), "{programs}");
    let quiet = TextRenderer::new(Paint { on: false }, SideChannel::Lines, Box::new(|| None), false).quiet();
    assert_eq!(play(run_options(AnswerPolicy::Nobody), quiet, steps()).shown, "said\n");
    let seen = play(run_options(AnswerPolicy::Nobody), inline(false, false), steps()).shown;
    assert!(seen.contains("theirs") && seen.contains("mine"), "a person sees both: {seen}");
}
