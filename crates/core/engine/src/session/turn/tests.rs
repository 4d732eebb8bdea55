//! The turn as a machine: what goes in, what it wants done. One table per promise.

use std::sync::Arc;

use vocab::{
    Answer, Body, CallEntry, CompactReason, Fault, FaultKind, FellBack, Finish, Json, Mode, ModelEntry, ModelEvent,
    ModelFault, Outcome, PermissionAsk, Required, RetryPolicy, Scope, Usage,
};

use super::*;

/// What is told to a turn.
enum In {
    Begin,
    Joined(bool),
    Model(ModelEvent),
    Judged(Verdict),
    Amended(Verdict, &'static str),
    Answered(Answer),
    Ran(Outcome),
    RanFor(u64),
    RetryDue,
    AbortRetry,
    FellBack(bool),
    Compacted(bool),
    Charged,
    Interrupt,
    Abort,
}

fn turn() -> Turn {
    with_rounds(10)
}

fn with_rounds(max_iterations: u32) -> Turn {
    let retry = RetryPolicy { retries_max: 1, ..RetryPolicy::default() };
    let read: ReadObject = |text| match text.starts_with('{') {
        true => Ok(Json::trusted(text)),
        false => Err("no object".to_owned()),
    };
    Turn::new("t".into(), "m".into(), TurnRules { max_iterations, retry, compact_on_overflow: true, read })
}

fn tell(turn: &mut Turn, what: In, fx: &mut Vec<Effect>) {
    match what {
        In::Begin => turn.begin(fx),
        In::Joined(joined) => turn.joined(joined, fx),
        In::Model(event) => turn.model_event(event, fx),
        In::Judged(verdict) => turn.judged(verdict, None, fx),
        In::Amended(verdict, input) => turn.judged(verdict, Some(Json::trusted(input)), fx),
        In::Answered(answer) => turn.answered(&answer, fx),
        In::Ran(outcome) => turn.ran(outcome, None, 7, fx),
        In::RanFor(ms) => turn.ran_for(ms),
        In::RetryDue => turn.retry_due(fx),
        In::AbortRetry => drop(turn.abort_retry(fx)),
        In::FellBack(true) => {
            let (turn_id, fault) = (turn.id().clone(), Fault::new(FaultKind::Provider, "gone"));
            let fell = FellBack { turn: turn_id, from: "m".into(), to: "n".into(), fault, skipped: Vec::new() };
            turn.fell_back(Ok(fell), fx);
        }
        In::FellBack(false) => turn.fell_back(Err(ModelFault::new(FaultKind::Provider, "gone")), fx),
        In::Compacted(true) => turn.compacted(Ok(()), fx),
        In::Compacted(false) => turn.compacted(Err(Fault::new(FaultKind::ContextOverflow, "full")), fx),
        In::Charged => turn.charged(vec![("s".into(), Usage { output: 5, ..Usage::default() })], Vec::new(), fx),
        In::Interrupt => drop(turn.interrupt(fx)),
        In::Abort => drop(turn.abort(Fault::new(FaultKind::Network, "nothing happened"), fx)),
    }
}

/// An effect in a word or two.
fn shown(effect: &Effect) -> String {
    match effect {
        Effect::Log(Body::Assistant { message, .. }) => format!("reply {:?} {:?}", message.text(), message.end),
        Effect::Log(Body::Call(CallEntry::Started { call, tool, .. })) => {
            format!("start {} {tool} {}", call.id, call.input.json().as_str())
        }
        Effect::Log(Body::Call(CallEntry::Ended { result, .. })) => {
            format!("end {} {:?} {:?} {}ms", result.call, result.end, result.text(), result.duration_ms)
        }
        Effect::Log(Body::Model(ModelEntry::Retrying { attempt, .. })) => format!("log retry {attempt}"),
        Effect::Log(Body::Model(ModelEntry::FellBack(fell))) => format!("log fell back to {}", fell.to),
        Effect::Log(Body::Model(ModelEntry::Spent { usage, .. })) => format!("log spent {}", usage.output),
        Effect::Log(_) => "log".to_owned(),
        Effect::Text(delta) => format!("text {delta}"),
        Effect::Judge(call) => format!("judge {}", call.id),
        Effect::Ask(ask) => format!("ask {}", ask.call),
        Effect::Run { call, tool, .. } => format!("run {} {tool}", call.id),
        Effect::Delegate { call, .. } => format!("delegate {}", call.id),
        Effect::SafePoint(point) => format!("at {point:?}"),
        Effect::WaitRetry { .. } => "wait".to_owned(),
        Effect::TryAgain => "try again".to_owned(),
        Effect::RetryStarted { .. } => "retry".to_owned(),
        Effect::RetryEnded { ok, .. } => format!("retried {ok}"),
        Effect::FallBack(_) => "fall back".to_owned(),
        Effect::Compact(CompactReason::Overflow) => "compact".to_owned(),
        Effect::End(end) => format!("END {:?} {}", end.stop, end.iterations),
        Effect::CallModel => "call".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Tells a turn all of it and shows what it wants done.
fn told(turn: &mut Turn, script: Vec<In>) -> Vec<String> {
    let mut fx = Vec::new();
    for what in script {
        tell(turn, what, &mut fx);
    }
    // The deltas of calls are the reply builder's.
    fx.iter().filter(|effect| !matches!(effect, Effect::CallInput { .. })).map(shown).collect()
}

fn text(text: &str) -> In {
    In::Model(ModelEvent::Text(text.to_owned()))
}
fn wants(index: u32, id: &str) -> In {
    let (id, name) = (Some(id.to_owned()), Some("tool".to_owned()));
    In::Model(ModelEvent::Call { index, id, name, input: "{}".to_owned() })
}
fn done(finish: Finish) -> In {
    In::Model(ModelEvent::Finished(finish))
}
fn fails(kind: FaultKind) -> In {
    In::Model(ModelEvent::Failed(ModelFault::new(kind, "no")))
}
fn allow() -> Verdict {
    Verdict::Allow { tool: "tool".into(), granted: Required::ReadOnly, mutation: None }
}
fn ask(call: &str) -> Verdict {
    let ask = PermissionAsk {
        call: call.into(),
        tool: "tool".into(),
        input: Json::empty_object(),
        active: Mode::Prompt,
        required: Required::WorkspaceWrite,
        reason: None,
        summary: "what".into(),
        preview: None,
        may_have_run: false,
    };
    Verdict::Ask { ask, mutation: Some(Arc::from("file")) }
}

/// Up to a reply with these calls, of which the first is being judged.
fn calling(calls: &[&str]) -> Turn {
    let mut turn = turn();
    let mut script = vec![In::Begin, In::Joined(false)];
    script.extend((0..).zip(calls).map(|(index, id)| wants(index, id)));
    script.push(done(Finish::ToolUse));
    told(&mut turn, script);
    turn
}

#[test]
fn a_plain_answer_is_one_call_and_one_end() {
    let script = vec![In::Begin, In::Joined(false), text("hi"), done(Finish::Stop), In::Joined(false)];
    let expected = ["at Start", "call", "text hi", "reply \"hi\" Finished(Stop)", "at EndOfReply", "END EndTurn 0"];
    assert_eq!(told(&mut turn(), script), expected);
}

#[test]
fn how_a_reply_finishes_says_how_the_turn_goes_on() {
    let table = [
        (done(Finish::Stop), "at EndOfReply"),
        (done(Finish::Length), "END MaxTokens 0"),
        (done(Finish::Refusal), "END Refusal 0"),
        (fails(FaultKind::Auth), "fall back"),
        (fails(FaultKind::RateLimited), "wait"),
        (fails(FaultKind::ContextOverflow), "compact"),
        (fails(FaultKind::BadRequest), "END Error 0"),
    ];
    for (event, expected) in table {
        let last = told(&mut turn(), vec![In::Begin, In::Joined(false), event]).pop();
        assert_eq!(last.as_deref(), Some(expected));
    }
}

#[test]
fn a_reply_that_was_seen_is_never_tried_again() {
    let wants = told(&mut turn(), vec![In::Begin, In::Joined(false), text("he"), fails(FaultKind::RateLimited)]);
    assert!(wants[3].starts_with("reply \"he\" Failed"), "{wants:?}");
    assert_eq!(wants[4], "END Error 0");
}

#[test]
fn retries_are_used_up_and_their_end_is_told_on_every_way_out() {
    let begin = || vec![In::Begin, In::Joined(false), fails(FaultKind::RateLimited)];
    let table: [(Vec<In>, &[&str]); 5] = [
        (vec![In::RetryDue, done(Finish::Stop)], &["retry", "call", "retried true"]),
        (
            vec![In::RetryDue, fails(FaultKind::RateLimited), In::FellBack(false)],
            &["retry", "call", "fall back", "retried false", "END Error 0"],
        ),
        (
            vec![In::RetryDue, fails(FaultKind::RateLimited), In::FellBack(true)],
            &["retry", "call", "fall back", "retried false", "log fell back to n", "call"],
        ),
        (vec![In::AbortRetry], &["retried false", "END Error 0"]),
        (vec![In::Interrupt], &["retried false", "END Interrupted 0"]),
    ];
    for (rest, expected) in table {
        let mut turn = turn();
        assert_eq!(told(&mut turn, begin()), ["at Start", "call", "log retry 1", "wait"]);
        let wants = told(&mut turn, rest);
        assert_eq!(wants[..expected.len()], *expected, "{wants:?}");
    }
}

#[test]
fn room_is_made_once() {
    let mut turn = turn();
    told(&mut turn, vec![In::Begin, In::Joined(false)]);
    assert_eq!(told(&mut turn, vec![fails(FaultKind::ContextOverflow), In::Compacted(true)]), ["compact", "call"]);
    assert_eq!(told(&mut turn, vec![fails(FaultKind::ContextOverflow)]), ["END Error 0"]);
    let mut other = with_rounds(1);
    let script = vec![In::Begin, In::Joined(false), fails(FaultKind::ContextOverflow), In::Compacted(false)];
    assert_eq!(told(&mut other, script).pop().as_deref(), Some("END Error 0"));
}

#[test]
fn every_verdict_gives_a_call_its_one_result_or_sets_it_going() {
    let deny = || Verdict::Deny { tool: "tool".into(), reason: "never".into() };
    let table: [(Verdict, &[&str]); 6] = [
        (Verdict::Unknown, &["start a tool {}", "end a Unknown \"unknown tool: tool\" 0ms", "at AfterCalls"]),
        (
            Verdict::Invalid("bad".into()),
            &["start a tool {}", "end a Invalid \"invalid tool arguments: bad\" 0ms", "at AfterCalls"],
        ),
        (deny(), &["start a tool {}", "end a Denied \"never\" 0ms", "at AfterCalls"]),
        (allow(), &["start a tool {}", "run a tool"]),
        (Verdict::Delegate { tool: "tool".into() }, &["start a tool {}", "delegate a"]),
        (ask("a"), &["start a tool {}", "ask a"]),
    ];
    for (verdict, expected) in table {
        assert_eq!(told(&mut calling(&["a"]), vec![In::Judged(verdict)]), expected);
    }
}

#[test]
fn what_is_judged_is_what_runs() {
    let mut turn = calling(&["a"]);
    let wants = told(&mut turn, vec![In::Amended(allow(), "{\"b\":1}")]);
    assert_eq!(wants, ["start a tool {\"b\":1}", "run a tool"]);
}

#[test]
fn only_an_allow_runs_what_was_asked_about() {
    let table = [
        (Answer::Allow(Scope::Once), "run a tool"),
        (Answer::Allow(Scope::Session), "run a tool"),
        (Answer::Confirmed(true), "run a tool"),
        (Answer::Confirmed(false), "end a Denied \"denied by the user\" 0ms"),
        (Answer::Dismissed, "end a Denied \"denied by the user\" 0ms"),
        (Answer::Deny(None), "end a Denied \"denied by the user\" 0ms"),
        (Answer::Deny(Some("no, thanks".into())), "end a Denied \"no, thanks\" 0ms"),
    ];
    for (answer, expected) in table {
        let mut turn = calling(&["a"]);
        told(&mut turn, vec![In::Judged(ask("a"))]);
        assert_eq!(told(&mut turn, vec![In::Answered(answer)])[0], expected);
    }
}

#[test]
fn steering_skips_the_rest_of_a_batch_and_leaves_no_call_without_a_result() {
    let mut turn = calling(&["a", "b", "c"]);
    let ran = told(&mut turn, vec![In::Judged(allow()), In::Ran(Outcome::text("ok"))]);
    assert_eq!(ran, ["start a tool {}", "run a tool", "end a Ran \"ok\" 7ms", "at BetweenCalls"]);
    let skipped = told(&mut turn, vec![In::Joined(true), In::Joined(false)]);
    assert_eq!(
        skipped,
        [
            "start b tool {}",
            "end b Skipped \"Skipped due to queued user message.\" 0ms",
            "start c tool {}",
            "end c Skipped \"Skipped due to queued user message.\" 0ms",
            "at AfterCalls",
            "call",
        ]
    );
}

#[test]
fn rounds_are_limited() {
    let mut turn = with_rounds(1);
    let script = vec![
        In::Begin,
        In::Joined(false),
        wants(0, "a"),
        done(Finish::ToolUse),
        In::Judged(allow()),
        In::Ran(Outcome::text("ok")),
        In::Joined(false),
    ];
    assert_eq!(told(&mut turn, script).pop().as_deref(), Some("END MaxIterations 1"));
}

#[test]
fn an_interrupt_ends_the_turn_once_wherever_it_stands() {
    type Stand = fn() -> (Turn, &'static [&'static str]);
    let interrupted = |id: &str| format!("end {id} Interrupted \"interrupted\" 0ms");
    let stands: [(&str, Stand); 6] = [
        ("at the start", || (turn(), &[])),
        ("in a reply", || {
            let mut turn = turn();
            told(&mut turn, vec![In::Begin, In::Joined(false), text("he")]);
            (turn, &[])
        }),
        ("being judged", || (calling(&["a", "b"]), &["a", "b"])),
        ("being asked", || {
            let mut turn = calling(&["a", "b"]);
            told(&mut turn, vec![In::Judged(ask("a"))]);
            (turn, &["a", "b"])
        }),
        ("between calls", || {
            let mut turn = calling(&["a", "b"]);
            told(&mut turn, vec![In::Judged(Verdict::Unknown)]);
            (turn, &["b"])
        }),
        ("falling back", || {
            let mut turn = turn();
            told(&mut turn, vec![In::Begin, In::Joined(false), fails(FaultKind::Auth)]);
            (turn, &[])
        }),
    ];
    for (name, stand) in stands {
        for stop in [In::Interrupt, In::Abort] {
            let (mut turn, open) = stand();
            let reason = if matches!(stop, In::Abort) { "END Error 0" } else { "END Interrupted 0" };
            let wants = told(&mut turn, vec![stop]);
            let ends: Vec<&String> = wants.iter().filter(|it| it.starts_with("end ")).collect();
            assert_eq!(ends, open.iter().map(|id| interrupted(id)).collect::<Vec<_>>().iter().collect::<Vec<_>>());
            assert_eq!(wants.last().map(String::as_str), Some(reason), "{name}");
            assert!(told(&mut turn, vec![In::Interrupt, In::Abort]).is_empty(), "{name}: it ends once");
        }
    }
}

#[test]
fn a_call_that_is_stopped_says_how_long_it_ran_and_what_it_cost() {
    let mut turn = calling(&["a"]);
    told(&mut turn, vec![In::Judged(allow())]);
    let wants = told(&mut turn, vec![In::RanFor(42), In::Charged, In::Interrupt]);
    assert_eq!(wants, ["log spent 5", "end a Interrupted \"interrupted\" 42ms", "END Interrupted 0"]);
}

#[test]
fn what_comes_at_the_wrong_time_changes_nothing() {
    type Stand = fn() -> Turn;
    let stands: [Stand; 4] = [
        || calling(&["a"]),
        turn,
        || {
            let mut turn = turn();
            told(&mut turn, vec![In::Begin, In::Joined(false)]);
            turn
        },
        || {
            let mut turn = calling(&["a"]);
            told(&mut turn, vec![In::Judged(allow())]);
            turn
        },
    ];
    for (at, stand) in stands.into_iter().enumerate() {
        let mut turn = stand();
        let wrong = |what: &In| match what {
            In::Judged(_) => at != 0,
            In::Ran(_) | In::Charged => at != 3,
            _ => true,
        };
        let all = [
            In::Judged(allow()),
            In::Answered(Answer::Allow(Scope::Once)),
            In::Ran(Outcome::text("late")),
            In::Charged,
            In::RetryDue,
            In::AbortRetry,
            In::FellBack(true),
            In::Compacted(true),
        ];
        assert!(told(&mut turn, all.into_iter().filter(wrong).collect()).is_empty(), "{at}");
        // It still ends, and says so: nothing left it over without an end.
        let end = told(&mut turn, vec![In::Interrupt]).pop();
        assert_eq!(end.as_deref(), Some("END Interrupted 0"), "{at}");
    }
}

#[test]
fn a_cut_reply_runs_nothing_of_what_it_called() {
    let mut turn = turn();
    let wants = told(&mut turn, vec![In::Begin, In::Joined(false), wants(0, "a"), done(Finish::Length)]);
    assert!(!wants.iter().any(|it| it.starts_with("judge")), "{wants:?}");
    assert_eq!(
        wants[wants.len() - 2..],
        ["end a Invalid \"not run: the reply was cut off before the call was complete\" 0ms", "END MaxTokens 1",]
    );
}
