//! The law of settlement over random schedules: every id of a living connection gets exactly one last frame, and nothing with
//! that id follows; each `tool_start` has one `tool_end`; concatenation is the content.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde_json::{Value, json};
use vocab::Mode;

use crate::play::{Play, paused, shown};

#[derive(Clone, Debug)]
enum Step {
    Send { on: usize, session: usize, what: usize, key: Option<usize>, timeout: Option<u64> },
    CancelId { on: usize, back: u64 },
    CancelSession { on: usize, session: usize },
    CancelAll { on: usize },
    Lane { on: usize, session: usize, rules: usize },
    Callback { on: usize, session: usize, enabled: bool },
    Confirm { on: usize, decision: usize },
    ConfirmElsewhere { on: usize, session: usize, decision: usize },
    Queue { on: usize, session: usize },
    Unqueue { on: usize, session: usize, item: usize },
    Execute { on: usize, session: usize, what: usize },
    Wait { on: usize, session: usize, key: usize, timeout: u64 },
    Create { on: usize, session: usize },
    Delete { on: usize, session: usize },
    Subscribe { on: usize, session: usize, after: Option<u64> },
    Patch { on: usize, session: usize },
    Fork { on: usize, session: usize },
    Replay { on: usize, session: usize },
    Drop { on: usize },
    Connect,
    Pass { ms: u64 },
}

const CONNECTIONS: usize = 3;
const SESSIONS: usize = 2;
const MESSAGES: &[&str] = &[
    "say 2 words",
    "think 2 words slow 40 say 5 words",
    "hang",
    r#"call bash {"command":"echo hi"}"#,
    r#"say "Look:" call bash {"command":"sleep 200"}"#,
    r#"call bash {"command":"hang"}"#,
    r#"call bash {"command":"hang"} and call bash {"command":"echo two"}"#,
    "fail401",
    "/queue",
    "/stop",
    "/context",
    "/etc/hosts say 1 words",
];
const RULES: &[&str] = &[
    "collect",
    "followup",
    "steer",
    "steer_backlog",
    "interrupt",
    "set mode=followup cap=1 overflow=drop_new",
    "set mode=collect cap=1 overflow=drop_old coalesce=always",
    "set mode=collect debounce=100ms",
    "reset",
];
const CALLS: &[&str] = &["echo x", "sleep 300", "hang", "fail y"];

fn step() -> impl Strategy<Value = Step> {
    let on = 0..CONNECTIONS;
    let session = 0..SESSIONS;
    prop_oneof![
        10 => (on.clone(), session.clone(), 0..MESSAGES.len(), proptest::option::weighted(0.3, 0..3usize), proptest::option::weighted(0.2, 1..400u64))
            .prop_map(|(on, session, what, key, timeout)| Step::Send { on, session, what, key, timeout }),
        2 => (on.clone(), 1..6u64).prop_map(|(on, back)| Step::CancelId { on, back }),
        2 => (on.clone(), session.clone()).prop_map(|(on, session)| Step::CancelSession { on, session }),
        1 => on.clone().prop_map(|on| Step::CancelAll { on }),
        2 => (on.clone(), session.clone(), 0..RULES.len()).prop_map(|(on, session, rules)| Step::Lane { on, session, rules }),
        2 => (on.clone(), session.clone(), any::<bool>()).prop_map(|(on, session, enabled)| Step::Callback { on, session, enabled }),
        3 => (on.clone(), 0..3usize).prop_map(|(on, decision)| Step::Confirm { on, decision }),
        2 => (on.clone(), session.clone(), 0..3usize).prop_map(|(on, session, decision)| Step::ConfirmElsewhere { on, session, decision }),
        1 => (on.clone(), session.clone()).prop_map(|(on, session)| Step::Queue { on, session }),
        1 => (on.clone(), session.clone(), 1..6usize).prop_map(|(on, session, item)| Step::Unqueue { on, session, item }),
        2 => (on.clone(), session.clone(), 0..CALLS.len()).prop_map(|(on, session, what)| Step::Execute { on, session, what }),
        2 => (on.clone(), session.clone(), 0..3usize, 0..300u64).prop_map(|(on, session, key, timeout)| Step::Wait { on, session, key, timeout }),
        1 => (on.clone(), session.clone()).prop_map(|(on, session)| Step::Create { on, session }),
        1 => (on.clone(), session.clone()).prop_map(|(on, session)| Step::Delete { on, session }),
        1 => (on.clone(), session.clone(), proptest::option::of(0..6u64)).prop_map(|(on, session, after)| Step::Subscribe { on, session, after }),
        1 => (on.clone(), session.clone()).prop_map(|(on, session)| Step::Patch { on, session }),
        1 => (on.clone(), session.clone()).prop_map(|(on, session)| Step::Fork { on, session }),
        1 => (on.clone(), session).prop_map(|(on, session)| Step::Replay { on, session }),
        1 => on.prop_map(|on| Step::Drop { on }),
        1 => Just(Step::Connect),
        6 => prop_oneof![Just(0u64), 1..50u64, 50..500u64].prop_map(|ms| Step::Pass { ms }),
    ]
}

/// One connection and all that was heard on it.
struct Line {
    at: usize,
    sent: Vec<(u64, String)>,
    heard: Vec<Value>,
}

struct Town {
    play: Play,
    lines: Vec<Option<Line>>,
    next: u64,
}

impl Town {
    fn new(is_asking: bool) -> Self {
        let play = Play::new(if is_asking { |settings| settings.mode = Mode::Prompt } else { |_| {} });
        let mut town = Self { play, lines: Vec::new(), next: 0 };
        town.connect();
        town
    }
    fn connect(&mut self) {
        if self.lines.len() < CONNECTIONS {
            let at = self.play.connect();
            self.lines.push(Some(Line { at, sent: Vec::new(), heard: Vec::new() }));
        }
    }
    async fn ask(&mut self, on: usize, method: &str, params: Value) {
        let Some(Some(line)) = self.lines.get_mut(on) else { return };
        self.next += 1;
        line.sent.push((self.next, method.to_owned()));
        self.play.put(line.at, self.next, method, params).await;
    }
    async fn listen(&mut self, ms: u64) {
        for line in self.lines.iter_mut().flatten() {
            line.heard.extend(self.play.heard_for(line.at, Duration::from_millis(ms)).await);
        }
    }
    async fn step(&mut self, step: Step) {
        let name = |session: usize| format!("s:{session}");
        match step {
            Step::Send { on, session, what, key, timeout } => {
                let mut params = json!({"message": MESSAGES[what], "sessionId": name(session)});
                if let Some(key) = key {
                    params["idempotencyKey"] = json!(format!("k{key}"));
                }
                if let Some(timeout) = timeout {
                    params["timeoutMs"] = json!(timeout);
                }
                self.ask(on, "agent.send", params).await;
            }
            Step::CancelId { on, back } => {
                let id = self.next.saturating_sub(back);
                self.ask(on, "agent.cancel", json!({"requestId": id})).await;
            }
            Step::CancelSession { on, session } => {
                self.ask(on, "agent.cancel", json!({"sessionId": name(session)})).await;
            }
            Step::CancelAll { on } => self.ask(on, "agent.cancel", json!({})).await,
            Step::Lane { on, session, rules } => {
                let message = format!("/queue {}", RULES[rules]);
                self.ask(on, "agent.send", json!({"message": message, "sessionId": name(session)})).await;
            }
            Step::Callback { on, session, enabled } => {
                let params = json!({"sessionId": name(session), "enabled": enabled});
                self.ask(on, "agent.setToolUseCallback", params).await;
            }
            Step::Confirm { on, decision } => {
                self.listen(1).await;
                let asked = |line: &Line| {
                    line.heard
                        .iter()
                        .rev()
                        .find(|frame| frame["event"] == "tool_confirm")
                        .map(|frame| frame["data"]["callId"].clone())
                };
                let call = self.lines.get(on).and_then(Option::as_ref).and_then(asked);
                let decision = ["allow", "allow_session", "deny"][decision];
                let params = json!({"callId": call.unwrap_or_else(|| json!("none")), "decision": decision});
                self.ask(on, "agent.confirmTool", params).await;
            }
            other => self.step_aside(other).await,
        }
    }

    async fn step_aside(&mut self, step: Step) {
        let name = |session: usize| format!("s:{session}");
        match step {
            Step::ConfirmElsewhere { on, session, decision } => {
                let decision = ["allow", "allow_session", "deny"][decision];
                let params = json!({"sessionId": name(session), "callId": "call_1", "decision": decision});
                self.ask(on, "agent.confirmTool", params).await;
            }
            Step::Queue { on, session } => self.ask(on, "queue.list", json!({"sessionId": name(session)})).await,
            Step::Unqueue { on, session, item } => {
                self.ask(on, "queue.remove", json!({"sessionId": name(session), "itemId": format!("i{item}")})).await;
            }
            Step::Execute { on, session, what } => {
                let params = json!({"sessionId": name(session), "tool": "shell.exec", "args": {"command": CALLS[what]}, "timeoutMs": 400});
                self.ask(on, "tools.execute", params).await;
            }
            Step::Wait { on, session, key, timeout } => {
                let params =
                    json!({"sessionId": name(session), "idempotencyKey": format!("k{key}"), "timeoutMs": timeout});
                self.ask(on, "agent.wait", params).await;
            }
            Step::Create { on, session } => {
                self.ask(on, "sessions.create", json!({"sessionId": name(session), "title": "x"})).await;
            }
            Step::Delete { on, session } => self.ask(on, "sessions.delete", json!({"sessionId": name(session)})).await,
            Step::Subscribe { on, session, after } => {
                let topic = format!("session:{}", name(session));
                self.ask(on, "events.subscribe", json!({"topics": [topic], "afterSeq": after, "thinking": on == 1}))
                    .await;
            }
            Step::Patch { on, session } => {
                self.ask(on, "sessions.patch", json!({"sessionId": name(session), "title": "y", "queue": null})).await;
            }
            Step::Fork { on, session } => self.ask(on, "sessions.fork", json!({"sessionId": name(session)})).await,
            Step::Replay { on, session } => self.ask(on, "events.replay", json!({"sessionId": name(session)})).await,
            Step::Drop { on } => {
                if self.lines.iter().flatten().count() > 1
                    && let Some(line) = self.lines.get_mut(on).and_then(Option::take)
                {
                    self.play.pipes[line.at] = None;
                }
            }
            Step::Connect => self.connect(),
            Step::Pass { ms } => self.listen(ms).await,
            other => unreachable!("{other:?}"),
        }
    }

    /// Stops whatever hangs, and lets all time pass.
    async fn end(&mut self) {
        let on = self.lines.iter().position(Option::is_some).unwrap();
        for session in 0..SESSIONS {
            for _ in 0..2 {
                self.ask(on, "agent.cancel", json!({"sessionId": format!("s:{session}")})).await;
                self.listen(1000).await;
            }
        }
        for on in 0..self.lines.len() {
            self.ask(on, "agent.cancel", json!({})).await;
        }
        self.listen(150_000).await;
        self.listen(1000).await;
    }

    /// The engine ends in the middle of everything.
    async fn shut_down(&mut self) {
        self.play.stage.engine.shutdown().await;
        self.listen(1000).await;
        for on in 0..self.lines.len() {
            self.ask(on, "agent.send", json!({"message": "say 1 words", "sessionId": "s:0"})).await;
            self.ask(on, "agent.send", json!({"message": "say 1 words", "sessionId": "s:new"})).await;
        }
        self.listen(150_000).await;
    }

    fn judge(&self) {
        for line in self.lines.iter().flatten() {
            for (id, method) in &line.sent {
                let frames: Vec<&Value> = line.heard.iter().filter(|frame| frame["id"] == *id).collect();
                judge_id(*id, method, &frames, &line.heard);
            }
            let lost = line.heard.iter().filter(|frame| frame["error"]["data"]["reason"] == "session_lost").count();
            assert_eq!(lost, 0, "no session goes by itself:\n{}", shown(&line.heard));
            let strangers = line.heard.iter().filter(|frame| frame["id"].is_null()).count();
            assert_eq!(strangers, 0, "nothing is nobody's here:\n{}", shown(&line.heard));
        }
    }
}

fn judge_id(id: u64, method: &str, frames: &[&Value], all: &[Value]) {
    let is_last = |frame: &&&Value| frame.get("result").is_some() != frame.get("error").is_some();
    let report = || format!("{id} {method}\n{}", shown(all));
    let ends: Vec<usize> = frames.iter().enumerate().filter(|(_, frame)| is_last(frame)).map(|(at, _)| at).collect();
    assert_eq!(ends.len(), 1, "exactly one end: {}", report());
    if method != "events.subscribe" {
        assert_eq!(ends[0], frames.len() - 1, "the end is last: {}", report());
    }
    if method != "agent.send" {
        return;
    }
    let mut open: HashMap<String, i32> = HashMap::new();
    let (mut text, mut states) = (String::new(), Vec::new());
    for frame in frames {
        let data = &frame["data"];
        match frame["event"].as_str() {
            Some("tool_start") => *open.entry(data["callId"].to_string()).or_default() += 1,
            Some("tool_end") => *open.entry(data["callId"].to_string()).or_default() -= 1,
            Some("content") if data.get("transient").is_none() => text += data["text"].as_str().unwrap(),
            Some("run_state") => states.push(data["state"].as_str().unwrap().to_owned()),
            _ => {}
        }
    }
    assert!(open.values().all(|count| *count == 0), "each start has its end: {}", report());
    let result = frames[ends[0]].get("result");
    let partial = result.is_some_and(|it| it.get("steered").is_some() || it.get("replayed").is_some());
    if let Some(result) = result.filter(|_| !partial) {
        assert_eq!(result["content"], text.as_str(), "{}", report());
        let done = frames.iter().find(|frame| frame["event"] == "done").unwrap();
        assert_eq!(result["content"], done["data"]["content"], "{}", report());
    }
    let states: Vec<&str> = states.iter().map(String::as_str).collect();
    let fine: &[&[&str]] = &[
        &[],
        &["start", "complete"],
        &["start", "error"],
        &["start", "cancel_requested", "cancelled"],
        &["start", "cancel_requested", "complete"],
        &["start", "cancel_requested", "error"],
        &["start", "cancelled"],
    ];
    assert!(fine.contains(&states.as_slice()), "{states:?}: {}", report());
    let ends_well = states.last() == Some(&"complete");
    assert!(!ends_well || result.is_some(), "{}", report());
}

proptest! {
    #![proptest_config(Config {
        cases: 300, rng_seed: RngSeed::Fixed(0x6a7e), failure_persistence: None, max_shrink_iters: 400, ..Config::default()
    })]

    #[test]
    fn every_id_of_a_living_connection_is_answered_once_and_last(
        is_asking in any::<bool>(),
        shuts_down in proptest::bool::weighted(0.3),
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        paused(async move {
            let mut town = Town::new(is_asking);
            for step in steps {
                town.step(step).await;
            }
            match shuts_down {
                true => town.shut_down().await,
                false => town.end().await,
            }
            town.judge();
        });
    }
}
