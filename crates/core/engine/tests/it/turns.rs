//! What a turn leaves in the log.

use expect_test::{Expect, expect};
use vocab::*;

use crate::support::*;

/// Plays the replies to one prompt and shows the log.
async fn check(plays: Vec<Play>, want: Expect) {
    check_in(Mode::DangerFullAccess, plays, None, want).await;
}

/// As `check`, in a mode that may ask; every question gets the same answer.
async fn check_in(mode: Mode, plays: Vec<Play>, answer: Option<Answer>, want: Expect) {
    let player = Player::new(plays);
    let stage = stage_with(&player, |options| options.mode = mode);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    if let Some(answer) = answer {
        let ask = actor.ask().await.id;
        ask_for(&mut actor, Verb::Session(SessionVerb::Answer { ask, answer })).await.unwrap();
    }
    actor.turn_end().await;
    want.assert_eq(&log(&stage).await);
}

#[tokio::test(start_paused = true)]
async fn a_plain_answer_is_one_message() {
    let play = vec![text("one "), text("two "), text("three"), done(Finish::Stop)];
    check(
        vec![play],
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          assistant: one two three (Stop)
        t1 ended: EndTurn, 0 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_covered_tool_runs_without_a_question() {
    check(
        vec![calls(&[("look", "{}")]), say("seen")],
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          assistant:  [c1 look] (ToolUse)
          c1 look starts
          c1 Ran: done
          assistant: seen (Stop)
        t1 ended: EndTurn, 1 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_allowed_tool_runs() {
    let plays = vec![calls(&[("change", "{}")]), say("changed")];
    check_in(
        Mode::Prompt,
        plays,
        Some(Answer::Allow(Scope::Once)),
        expect![[r#"
        opened m1 prompt
        t1 started
          user (Prompt): go
          assistant:  [c1 change] (ToolUse)
          c1 change starts
          ask1 may change run?
          ask1 answered Allow(Once) by a tester
          c1 Ran: done
          assistant: changed (Stop)
        t1 ended: EndTurn, 1 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn deny_keeps_the_turn_going() {
    let plays = vec![calls(&[("change", "{}")]), say("then not")];
    check_in(
        Mode::Prompt,
        plays,
        Some(Answer::Deny(Some("not today".into()))),
        expect![[r#"
        opened m1 prompt
        t1 started
          user (Prompt): go
          assistant:  [c1 change] (ToolUse)
          c1 change starts
          ask1 may change run?
          ask1 answered Deny(Some("not today")) by a tester
          c1 Denied: not today
          assistant: then not (Stop)
        t1 ended: EndTurn, 1 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_denial_without_a_reason_has_a_fixed_text() {
    let plays = vec![calls(&[("change", "{}")]), say("then not")];
    check_in(
        Mode::Prompt,
        plays,
        Some(Answer::Deny(None)),
        expect![[r#"
            opened m1 prompt
            t1 started
              user (Prompt): go
              assistant:  [c1 change] (ToolUse)
              c1 change starts
              ask1 may change run?
              ask1 answered Deny(None) by a tester
              c1 Denied: denied by the user
              assistant: then not (Stop)
            t1 ended: EndTurn, 1 rounds
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn plan_mode_denies_without_asking() {
    check_in(
        Mode::Plan,
        vec![calls(&[("change", "{}")]), say("a plan")],
        None,
        expect![[r#"
        opened m1 plan
        t1 started
          user (Prompt): go
          assistant:  [c1 change] (ToolUse)
          c1 change starts
          c1 Denied: not allowed: this needs workspace-write, and the session is in plan mode
          assistant: a plan (Stop)
        t1 ended: EndTurn, 1 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn unknown_invalid_and_broken_calls_are_results_and_ask_nobody() {
    let list = [("nope", "{}"), ("danger", r#"{"wrong":1}"#), ("danger", r#"{"cut"#), ("danger", "[1]")];
    check_in(
        Mode::Prompt,
        vec![calls(&list), say("sorry")],
        None,
        expect![[r#"
        opened m1 prompt
        t1 started
          user (Prompt): go
          assistant:  [c1 nope] [c2 danger] [c3 danger] [c4 danger] (ToolUse)
          c1 nope starts
          c1 Unknown: unknown tool: nope
          c2 danger starts
          c2 Invalid: invalid tool arguments: `wrong` is no field of this tool
          c3 danger starts
          c3 Invalid: invalid tool arguments: expected '"', found the end at byte 5
          c4 danger starts
          c4 Invalid: invalid tool arguments: expected a JSON object
          assistant: sorry (Stop)
        t1 ended: EndTurn, 1 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn of_two_calls_the_second_runs_though_the_first_fails() {
    check(
        vec![calls(&[("look", r#"{"fails":1}"#), ("look", "{}")]), say("half")],
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          assistant:  [c1 look] [c2 look] (ToolUse)
          c1 look starts
          c1 Ran: it did not work
          c2 look starts
          c2 Ran: done
          assistant: half (Stop)
        t1 ended: EndTurn, 1 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn panicking_tools_end_the_call_and_not_the_session() {
    let list = [("look", r#"{"panic_plan":1}"#), ("look", r#"{"panic_start":1}"#), ("look", r#"{"panic_run":1}"#)];
    check(
        vec![calls(&list), say("still here")],
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          assistant:  [c1 look] [c2 look] [c3 look] (ToolUse)
          c1 look starts
          c1 Invalid: invalid tool arguments: the tool failed: a scripted panic of a plan
          c2 look starts
          c2 Ran: the tool failed: a scripted panic of a tool
          c3 look starts
          c3 Ran: the tool failed: a scripted panic of a tool
          assistant: still here (Stop)
        t1 ended: EndTurn, 1 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_panicking_model_client_ends_the_turn_and_not_the_session() {
    let player = Player::new([vec![text("half"), Step::Panic], say("fine")]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    for _ in 0..2 {
        actor.prompt("go").await;
        actor.turn_end().await;
        actor.forget();
    }
    expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          assistant: half (cut by Internal)
        t1 ended: Error, 0 rounds, Internal: the model client failed: a scripted panic of the stream
        t2 started
          user (Prompt): go
          assistant: fine (Stop)
        t2 ended: EndTurn, 0 rounds
    "#]]
    .assert_eq(&log(&stage).await);
}

#[tokio::test(start_paused = true)]
async fn odd_characters_reach_the_log_and_the_next_request_as_they_are() {
    let player = Player::new([calls(&[("look", r#"{"odd":1}"#)])]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    let odd = "nul \0 line \u{2028} lone \u{fffd} smile \u{1f600}";
    assert!(log(&stage).await.contains(odd));
    assert!(player.last_sent().contains(odd));
}

#[tokio::test(start_paused = true)]
async fn a_lone_surrogate_in_arguments_is_broken_or_replaced_and_the_turn_goes_on() {
    let player = Player::new([calls(&[("look", r#"{"a":"\ud800"}"#)]), say("on")]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    assert!(!log(&stage).await.contains("d800"), "no half of a character is left in the log");
}

#[tokio::test(start_paused = true)]
async fn a_cut_off_reply_ends_with_its_own_reason_and_runs_nothing() {
    let cut = vec![text("long"), call_step(0, "danger", "{\"a"), done(Finish::Length)];
    check(
        vec![cut],
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          assistant: long [c1 danger] (Length)
          c1 danger starts
          c1 Invalid: not run: the reply was cut off before the call was complete
        t1 ended: MaxTokens, 1 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_ends_with_its_own_reason() {
    check(
        vec![vec![text("no"), done(Finish::Refusal)]],
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          assistant: no (Refusal)
        t1 ended: Refusal, 0 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn rounds_are_limited() {
    let player = Player::new((0..9).map(|_| calls(&[("look", "{}")])));
    let stage = stage_with(&player, |options| options.tune = Box::new(|settings| settings.max_iterations = 2));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let end = actor.turn_end().await;
    assert_eq!((end.stop, end.iterations), (Stop::MaxIterations, 2));
    assert_eq!(player.calls_made(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_remembered_allow_covers_what_was_shown_and_not_what_the_same_words_mean_later() {
    let same = || calls(&[("danger", r#"{"place":1}"#)]);
    let player = Player::new([same(), same(), say("ok"), same(), say("ok")]);
    let stage = stage_with(&player, |options| options.mode = Mode::Prompt);
    let mut actor = stage.open().await;
    let answer = |ask, answer| Verb::Session(SessionVerb::Answer { ask, answer });
    actor.prompt("go").await;
    let first = actor.ask().await.id;
    ask_for(&mut actor, answer(first, Answer::Allow(Scope::Session))).await.unwrap();
    assert_eq!(actor.turn_end().await.mutations.len(), 2, "the second call was not asked about");
    // A link was put in the directory's place.
    PLACE.set("/elsewhere");
    actor.prompt("again").await;
    let is_second = |event: &Event| matches!(event, Event::Logged(it) if matches!(&it.body, Body::Ask(AskEntry::Opened(ask)) if ask.id.as_str() == "ask2"));
    actor.until(is_second).await;
    ask_for(&mut actor, answer("ask2".into(), Answer::Deny(None))).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_remembered_allow_is_not_asked_again_and_covers_one_command_only() {
    let same = || calls(&[("danger", r#"{"x":1}"#)]);
    let player = Player::new([same(), same(), calls(&[("danger", r#"{"x":2}"#)])]);
    let stage = stage_with(&player, |options| options.mode = Mode::Prompt);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let first = actor.ask().await.id;
    ask_for(&mut actor, Verb::Session(SessionVerb::Answer { ask: first, answer: Answer::Allow(Scope::Session) }))
        .await
        .unwrap();
    // The second call runs without a word; the third is another command.
    let is_second = |event: &Event| matches!(event, Event::Logged(it) if matches!(&it.body, Body::Ask(AskEntry::Opened(ask)) if ask.id.as_str() == "ask2"));
    actor.until(is_second).await;
    let second = AskId::from("ask2");
    ask_for(&mut actor, Verb::Session(SessionVerb::Answer { ask: second, answer: Answer::Deny(None) })).await.unwrap();
    actor.turn_end().await;
    expect![[r#"
        opened m1 prompt
        t1 started
          user (Prompt): go
          assistant:  [c1 danger] (ToolUse)
          c1 danger starts
          ask1 may danger run?
          ask1 answered Allow(Session) by a tester
          c1 Ran: done
          assistant:  [c1_2 danger] (ToolUse)
          c1_2 danger starts
          c1_2 Ran: done
          assistant:  [c1_3 danger] (ToolUse)
          c1_3 danger starts
          ask2 may danger run?
          ask2 answered Deny(None) by a tester
          c1_3 Denied: denied by the user
          assistant: ok (Stop)
        t1 ended: EndTurn, 3 rounds
    "#]]
    .assert_eq(&log(&stage).await);
}

#[tokio::test(start_paused = true)]
async fn usage_adds_up_over_retries_tools_and_failed_turns() {
    let failing = || vec![used(10, 1), fail_step(FaultKind::Provider)];
    let with_call = vec![used(100, 5), call_step(0, "look", "{}"), done(Finish::ToolUse)];
    let half = vec![text("half"), used(7, 3), fail_step(FaultKind::Auth)];
    let player = Player::new([failing(), with_call, vec![used(200, 6), text("ok"), done(Finish::Stop)], half]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let usage = actor.turn_end().await.usage;
    assert_eq!((usage.input, usage.output), (310, 12));
    actor.forget();
    actor.prompt("again").await;
    let usage = actor.turn_end().await.usage;
    assert_eq!((usage.input, usage.output), (7, 3));
    let Reply::Slash(cost) = ask_for(&mut actor, slash("cost", "")).await.unwrap() else { panic!() };
    assert!(matches!(cost.result, Ok(SlashOutcome::Cost { input_tokens: 317, .. })), "{cost:?}");
    assert_eq!(stage.store.summary(&"s1".into()).await.unwrap().unwrap().usage.input, 317);
}

#[tokio::test(start_paused = true)]
async fn what_a_call_said_last_is_not_taken_for_the_next_ones_output() {
    let player = Player::new(vec![calls(&[("look", r#"{"n":1}"#), ("look", r#"{"slow":"and quiet"}"#)])]);
    let stage = stage_with(&player, |options| options.mode = Mode::DangerFullAccess);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    let told: Vec<String> = actor
        .told
        .iter()
        .filter_map(|told| match &told.event {
            Event::Delta(Delta::CallProgress { call, parts, .. }) => Some(format!("{call} {}", parts_text(parts))),
            _ => None,
        })
        .collect();
    assert_eq!(told, Vec::<String>::new());
}
