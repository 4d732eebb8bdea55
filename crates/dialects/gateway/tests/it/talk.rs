//! The dialect without an engine: what comes of each answer, in any order.

use std::sync::Arc;

use dialect_gateway::{AuthState, Gateway, GatewayAnswer, GatewayOptions, GatewayOwn, GatewayRefusal, Scopes};
use serde_json::{Value, json};
use testkit::fakes::{CountedIds, TickingClock};
use vocab::{
    AssistantMessage, Block, Body, CallEnd, CallResult, Command, CutBy, Entry, Event, Fault, FaultKind, Finish,
    MessageEnd, ModelInfo, Opened, Part, Recounted, Reply, RunRef, SessionVerb, State, Stop, Tag, Told, TurnEnd,
    TurnEntry, Usage, UserFrom, Verb,
};
use wire::{Dialect, Frame, Out};

use crate::play::show;

pub(crate) struct Talk {
    pub(crate) gateway: Gateway,
    pub(crate) out: Out<GatewayOwn>,
}

fn state(session: &str, turn: Option<&str>) -> State {
    State {
        session: session.into(),
        workspace: "/w".into(),
        model: "alpha".into(),
        mode: vocab::Mode::Prompt,
        thinking: None,
        context_window: 1000,
        max_tokens: 100,
        context_tokens: 0,
        gadgets: vec![],
        title: None,
        turn: turn.map(Into::into),
        messages: 0,
        results: 0,
        last_seq: 0,
        model_info: Arc::new(ModelInfo::named("alpha", 1000)),
        todos: Arc::from([]),
        file: None,
        lane: vocab::LanePolicy::default(),
        lane_is_own: false,
        elevated_until_ms: None,
        model_called: None,
        works_for: None,
    }
}

/// The connection is on a session that was there, where this turn runs.
pub(crate) fn opened(session: &str, turn: Option<&str>) -> Result<Reply, Fault> {
    let (state, present) = (state(session, turn), vocab::Present::default());
    let (tools, notices) = (vec![], vec![]);
    Ok(Reply::Opened(Box::new(Opened { session: session.into(), resumed: true, state, tools, notices, present })))
}
/// The same of one that was made for it.
pub(crate) fn made(session: &str) -> Result<Reply, Fault> {
    opened(session, None).map(|reply| match reply {
        Reply::Opened(opened) => Reply::Opened(Box::new(Opened { resumed: false, ..*opened })),
        other => other,
    })
}

pub(crate) fn entry(seq: u64, body: Body) -> Arc<Entry> {
    Arc::new(Entry { seq, parent: seq - 1, at_ms: 5, body, by: None })
}
pub(crate) fn started(turn: &str) -> Body {
    Body::Turn(TurnEntry::Started { turn: turn.into() })
}
fn said(turn: &str, text: &str) -> Body {
    let (blocks, end) = (vec![Block::Text(text.into())], MessageEnd::Finished(Finish::Stop));
    let message = AssistantMessage { blocks, model: "alpha".into(), end, usage: Usage::default() };
    Body::Assistant { turn: Some(turn.into()), message }
}
pub(crate) fn ended(turn: &str, stop: Stop) -> Body {
    let (mutations, usage) = (Vec::new(), Usage::default());
    Body::Turn(TurnEntry::Ended(TurnEnd { turn: turn.into(), stop, iterations: 0, usage, mutations, fault: None }))
}
pub(crate) fn user(turn: &str) -> Body {
    Body::User { turn: Some(turn.into()), parts: vec![Part::text("x")], from: UserFrom::Prompt }
}
/// The entries of a run.
fn run(turn: &str, texts: &[&str], stop: Option<Stop>) -> Vec<Arc<Entry>> {
    let said = texts.iter().map(|text| said(turn, text));
    let bodies = [started(turn), user(turn)].into_iter().chain(said).chain(stop.map(|stop| ended(turn, stop)));
    bodies.enumerate().map(|(at, body)| entry(at as u64 + 1, body)).collect()
}

impl Talk {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }
    pub(crate) fn with(choose: impl FnOnce(&mut GatewayOptions)) -> Self {
        let clock: Arc<TickingClock> = Arc::default();
        let mut options = GatewayOptions::new("0.1.0", clock, Arc::new(CountedIds::default()));
        choose(&mut options);
        let auth = AuthState::Known { scopes: Scopes::ALL };
        Self { gateway: Gateway::new(Arc::new(options), "c1".into(), auth, None), out: Out::new() }
    }
    /// On the session `s`, where this turn runs.
    pub(crate) fn on(turn: Option<&str>) -> Self {
        Self::new().on_session(turn)
    }
    pub(crate) fn on_session(mut self, turn: Option<&str>) -> Self {
        self.visit("s", turn);
        self
    }
    /// Has a tool run in a session that the connection is not on.
    pub(crate) fn visit(&mut self, session: &str, turn: Option<&str>) {
        self.ask(900, "tools.execute", json!({"sessionId": session, "tool": "x"}));
        self.own(Ok(GatewayAnswer::Exists(true)));
        self.reply(opened(session, turn));
        self.reply(Ok(Reply::Called(Box::new(result(false)))));
        self.frames();
    }
    pub(crate) fn ask(&mut self, id: u64, method: &str, params: Value) -> &mut Self {
        let frame = json!({"id": id, "method": method, "params": params}).to_string();
        self.gateway.hear(Frame::Whole(frame.as_bytes()), &mut self.out);
        self
    }
    /// The first command that has no answer.
    fn command(&mut self) -> Command {
        assert!(!self.out.commands.is_empty(), "a command is wanted");
        self.out.commands.remove(0)
    }
    pub(crate) fn reply(&mut self, result: Result<Reply, Fault>) -> Command {
        let command = self.command();
        self.tell(Event::Reply { tag: command.tag, result });
        command
    }
    pub(crate) fn own(&mut self, answer: Result<GatewayAnswer, GatewayRefusal>) -> &mut Self {
        let call = self.out.own.remove(0);
        self.gateway.own_answered(call.tag, answer, &mut self.out);
        self
    }
    pub(crate) fn tell(&mut self, event: Event) -> &mut Self {
        self.tell_of("s", event)
    }
    pub(crate) fn tell_of(&mut self, session: &str, event: Event) -> &mut Self {
        self.gateway.tell(&Told::new(session.into(), event), &mut self.out);
        self
    }
    pub(crate) fn log(&mut self, entries: impl IntoIterator<Item = Body>) -> &mut Self {
        for (at, body) in entries.into_iter().enumerate() {
            self.tell(Event::Logged(entry(at as u64 + 50, body)));
        }
        self
    }
    pub(crate) fn settles(&mut self) -> &mut Self {
        self.tell(Event::State(Arc::new(state("s", None))))
    }
    pub(crate) fn frames(&mut self) -> Vec<String> {
        let frames: Vec<Value> = self.out.frames.frames().map(|it| serde_json::from_slice(it).unwrap()).collect();
        self.out.frames.clear();
        frames.iter().map(show).collect()
    }
    pub(crate) fn send(&mut self, id: u64, params: Value) -> &mut Self {
        let mut params = params;
        params["sessionId"] = json!("s");
        params["message"] = json!("x");
        self.ask(id, "agent.send", params)
    }
}

fn result(is_error: bool) -> CallResult {
    CallResult {
        call: "c".into(),
        tool: "bash".into(),
        end: CallEnd::Ran,
        parts: vec![Part::text("out")],
        is_error,
        duration_ms: 1,
        mutation: None,
        edits: vec![],
        details: None,
    }
}

pub(crate) fn recounted(
    turn: Option<&str>,
    item: Option<&str>,
    ended: bool,
    entries: Vec<Arc<Entry>>,
) -> Result<Reply, Fault> {
    let (turn, item) = (turn.map(Into::into), item.map(Into::into));
    Ok(Reply::Recounted(Box::new(Recounted { turn, item, settled: None, ended, entries })))
}
fn again() -> Result<Reply, Fault> {
    Ok(Reply::Again(Box::new(Reply::Started { turn: "t".into() })))
}

#[test]
fn a_repeat_of_what_is_over_is_answered_at_once() {
    let mut talk = Talk::on(None);
    talk.send(1, json!({"idempotencyKey": "k"}));
    assert_eq!(talk.reply(again()).key.as_deref(), Some("k"));
    let asked = talk.reply(recounted(Some("t"), None, true, run("t", &["a", "b"], Some(Stop::EndTurn))));
    assert_eq!(asked.verb, Verb::Session(SessionVerb::Recount { of: RunRef::Key("k".into()) }));
    assert_eq!(talk.frames(), [r#"1 = {"content":"a\n\nb","replayed":true,"sessionId":"s","stopReason":"end_turn"}"#]);
    talk.send(2, json!({"idempotencyKey": "k"}));
    talk.reply(again());
    talk.reply(recounted(Some("t"), None, true, run("t", &["a"], Some(Stop::Interrupted))));
    assert_eq!(talk.frames(), ["2 ! 4 cancelled"]);
}

#[test]
fn a_repeat_of_what_runs_joins_it_from_its_start() {
    let mut talk = Talk::on(Some("t"));
    // The connection came in while the second reply was made.
    talk.tell(Event::Delta(vocab::Delta::Text { turn: "t".into(), delta: "sec".into() }));
    talk.send(1, json!({"idempotencyKey": "k"}));
    talk.reply(again());
    talk.reply(recounted(Some("t"), None, false, run("t", &["first"], None)));
    talk.tell(Event::Delta(vocab::Delta::Text { turn: "t".into(), delta: "ond".into() }));
    talk.log([said("t", "second"), ended("t", Stop::EndTurn)]).settles();
    // What was said before it came is asked for, so that the result has all of it.
    let whole = run("t", &["first", "second"], Some(Stop::EndTurn));
    talk.reply(recounted(Some("t"), None, true, whole));
    assert_eq!(
        talk.frames(),
        [
            "1 run_state start",
            r#"1 content "first""#,
            r#"1 content "\n\nsec""#,
            r#"1 content "ond""#,
            "1 run_state complete",
            r#"1 done "first\n\nsecond""#,
            r#"1 = {"content":"first\n\nsecond","sessionId":"s","stopReason":"end_turn"}"#,
        ]
    );
}

#[test]
fn a_repeat_of_what_waits_waits_too() {
    let mut talk = Talk::on(Some("t0"));
    talk.send(1, json!({"idempotencyKey": "k"}));
    talk.reply(Ok(Reply::Again(Box::new(Reply::Waiting { item: "i".into(), position: 0 }))));
    talk.reply(recounted(None, Some("i"), false, vec![]));
    // It was another connection's: the log says how it went.
    let settled = |end, why| Body::Queue(vocab::QueueEntry::Settled { item: "i".into(), end, why: Some(why) });
    talk.log([
        ended("t0", Stop::EndTurn),
        started("t"),
        settled(vocab::ItemEnd::Consumed, vocab::SettleReason::Ran),
        user("t"),
        said("t", "a"),
        ended("t", Stop::EndTurn),
    ])
    .settles();
    assert_eq!(
        talk.frames(),
        [
            "1 run_state start",
            r#"1 content "a""#,
            "1 run_state complete",
            r#"1 done "a""#,
            r#"1 = {"content":"a","sessionId":"s","stopReason":"end_turn"}"#,
        ]
    );
}

#[test]
fn a_key_of_something_else_is_a_conflict() {
    let mut talk = Talk::on(None);
    talk.send(1, json!({"idempotencyKey": "k"}));
    talk.reply(Err(Fault::new(FaultKind::KeyTaken, "this key stands for another command")));
    assert_eq!(talk.frames(), ["1 error -2", "1 ! -2 idempotency_conflict"]);
}

#[test]
fn who_waits_for_a_run_gets_its_end_or_how_it_stands() {
    let mut talk = Talk::on(Some("t"));
    let wait = |ms: u64| json!({"sessionId": "s", "runId": "t", "timeoutMs": ms});
    talk.ask(1, "agent.wait", wait(0)).gateway.tick(0, &mut Out::new());
    talk.reply(recounted(Some("t"), None, false, run("t", &[], None)));
    assert_eq!(talk.frames(), [r#"1 = {"state":"running"}"#], "its time was over before anything was known");
    talk.ask(2, "agent.wait", wait(1000));
    talk.reply(recounted(Some("t"), None, false, run("t", &[], None)));
    talk.out.now_ms = 1000;
    talk.gateway.tick(1000, &mut talk.out);
    assert_eq!(talk.frames(), [r#"2 = {"state":"running"}"#]);
    talk.ask(3, "agent.wait", wait(1000));
    talk.reply(recounted(Some("t"), None, false, run("t", &[], None)));
    talk.log([said("t", "a"), ended("t", Stop::EndTurn)]).settles();
    talk.reply(recounted(Some("t"), None, true, run("t", &["a"], Some(Stop::EndTurn))));
    assert_eq!(talk.frames(), [r#"3 = {"content":"a","state":"complete"}"#]);
    talk.ask(4, "agent.wait", wait(1000));
    talk.reply(recounted(Some("t"), None, true, run("t", &["a"], Some(Stop::Interrupted))));
    talk.ask(5, "agent.wait", wait(1000));
    talk.reply(Err(Fault::new(FaultKind::NotFound, "no such run")));
    talk.ask(6, "agent.wait", json!({"sessionId": "s"}));
    let heard = talk.frames();
    assert!(heard[0].contains(r#""state":"cancelled""#), "{heard:?}");
    assert_eq!(heard[1..], ["5 ! -2 unknown_run", "6 ! -2 invalid_params"]);
}

#[test]
fn a_call_by_hand_is_answered_refused_or_stopped() {
    let mut talk = Talk::on(None);
    let call = || json!({"sessionId": "s", "tool": "shell.exec", "args": {"command": "x"}});
    talk.ask(1, "tools.execute", call());
    let asked = talk.reply(Ok(Reply::Called(Box::new(result(false)))));
    let Verb::Session(SessionVerb::Call { tool, limit_ms, .. }) = asked.verb else { panic!("{asked:?}") };
    assert_eq!((&*tool, limit_ms), ("bash", Some(120_000)));
    talk.ask(2, "tools.execute", call()).reply(Ok(Reply::Called(Box::new(result(true)))));
    talk.ask(3, "tools.execute", call()).reply(Err(Fault::new(FaultKind::NotFound, "no tool")));
    talk.ask(4, "tools.execute", call()).reply(Err(Fault::new(FaultKind::Invalid, "command must be text")));
    assert_eq!(
        talk.frames(),
        [
            r#"1 = {"output":"out","success":true}"#,
            r#"2 = {"error":"out","output":"out","success":false}"#,
            "3 ! 2 unknown_tool",
            "4 ! -2 invalid_args",
        ]
    );
    talk.ask(5, "tools.execute", call());
    let Tag(tag) = talk.out.commands[0].tag;
    talk.ask(6, "agent.cancel", json!({"requestId": 5}));
    assert_eq!(talk.out.commands[1].verb, Verb::Session(SessionVerb::AbortCall { of: Tag(tag) }));
    talk.reply(Err(Fault::new(FaultKind::Cancelled, "stopped")));
    talk.reply(Ok(Reply::Done));
    assert_eq!(talk.frames(), ["5 ! 4 cancelled", r#"6 = {"active":true,"cancelled":true,"queued":0}"#]);
}

#[test]
fn a_session_that_goes_takes_its_requests_with_it() {
    let gone = |kind| Event::Gone { fault: Fault::new(kind, "gone") };
    let cases = [
        (FaultKind::UnknownSession, "session_deleted", "cancelled", 4),
        (FaultKind::ShuttingDown, "shutdown", "cancelled", 4),
        (FaultKind::Store, "session_lost", "error", 5),
    ];
    for (kind, reason, state, code) in cases {
        let mut talk = Talk::on(None);
        talk.send(1, json!({}));
        talk.log([started("t")]);
        talk.reply(Ok(Reply::Started { turn: "t".into() }));
        talk.send(2, json!({})).reply(Ok(Reply::Waiting { item: "i".into(), position: 0 }));
        talk.send(3, json!({}));
        talk.ask(4, "agent.send", json!({"message": "/context", "sessionId": "s"}));
        talk.frames();
        talk.tell(gone(kind));
        let heard = talk.frames();
        let mut want = vec![];
        if state == "cancelled" {
            want.push("1 run_state cancel_requested".to_owned());
        }
        want.extend([
            format!("1 run_state {state}"),
            format!("1 error {code}"),
            format!("1 ! {code} {reason}"),
            format!("2 error {code}"),
            format!("2 ! {code} {reason}"),
            format!("3 error {code}"),
            format!("3 ! {code} {reason}"),
            format!("4 ! {code} {reason}"),
        ]);
        assert_eq!(heard, want, "{kind:?}");
        // Their answers come all the same, and find nobody.
        while !talk.out.commands.is_empty() {
            talk.reply(Err(Fault::new(kind, "gone")));
        }
        assert_eq!(talk.frames(), Vec::<String>::new());
    }
}

#[test]
fn a_session_is_deleted_and_its_connections_begin_anew() {
    let mut talk = Talk::on(None);
    talk.ask(1, "sessions.create", json!({"sessionId": "s"}));
    talk.reply(made("s"));
    talk.ask(2, "sessions.delete", json!({"sessionId": "s"}));
    talk.tell(Event::Gone { fault: Fault::new(FaultKind::UnknownSession, "deleted") });
    talk.reply(Ok(Reply::Done));
    talk.ask(3, "sessions.delete", json!({"sessionId": "none"}));
    talk.reply(Err(Fault::new(FaultKind::UnknownSession, "no such session")));
    assert_eq!(talk.frames(), [r#"1 = {"created":true,"sessionId":"s"}"#, r#"2 = {"success":true}"#, "3 ! 1 -"]);
    talk.ask(4, "agent.send", json!({"message": "x"}));
    assert_eq!(talk.out.commands[0].target, vocab::Target::Session("ws:s1".into()), "a fresh name");
}

#[test]
fn a_stalled_or_lost_run_is_an_internal_error() {
    for (bodies, reason) in [
        (
            vec![
                Body::Turn(TurnEntry::Cut { turn: "t".into(), why: CutBy::Stalled, item: None }),
                ended("t", Stop::Error),
            ],
            "stalled",
        ),
        (vec![ended("t", Stop::Error)], "internal"),
    ] {
        let mut talk = Talk::on(None);
        talk.send(1, json!({}));
        talk.log([started("t")]);
        talk.reply(Ok(Reply::Started { turn: "t".into() }));
        talk.log(bodies).settles();
        let heard = talk.frames();
        assert_eq!(heard[1..], ["1 run_state error".to_owned(), "1 error 5".to_owned(), format!("1 ! 5 {reason}")]);
        assert_eq!(talk.out.notes.len(), 1, "its incident is noted");
    }
    let mut talk = Talk::on(None);
    talk.send(1, json!({}));
    talk.log([started("t")]);
    talk.reply(Ok(Reply::Started { turn: "t".into() }));
    let Body::Turn(TurnEntry::Ended(end)) = ended("t", Stop::EndTurn) else { unreachable!() };
    talk.tell(Event::TurnLost(end));
    assert_eq!(talk.frames().last().map(String::as_str), Some("1 ! 5 store"));
}

#[test]
fn the_end_of_the_process_ends_runs_and_says_where_to_go_on() {
    let mut talk = Talk::on(None);
    talk.ask(1, "events.subscribe", json!({"topics": ["session:s"]}));
    talk.send(2, json!({}));
    talk.log([started("t")]);
    talk.reply(Ok(Reply::Started { turn: "t".into() }));
    talk.frames();
    talk.gateway.part(wire::Parting::Asked { by: "shutdown" }, &mut talk.out);
    assert!(talk.out.close.is_none() && talk.frames().is_empty(), "the run has its time");
    talk.gateway.part(wire::Parting::GraceOver, &mut talk.out);
    assert_eq!(
        talk.frames(),
        [
            "2 run_state cancel_requested",
            "2 run_state cancelled",
            "2 error 4",
            "2 ! 4 shutdown",
            r#"1 lag {"cursor":"50","from":51,"to":50}"#,
        ]
    );
    let close = talk.out.close.as_ref().unwrap();
    assert_eq!((close.code.number(), &*close.reason), (1001, "resume 50"));
}

/// Whether the context is nearly full is known with what the engine says of the session behind the end of the run.
#[test]
fn the_end_of_a_run_is_told_with_how_full_the_context_is_then() {
    // Live, or to one that still reads the past and hears of the present when it has.
    for (is_live, pct) in [(true, Some(88.0)), (false, None)] {
        let mut talk = Talk::on(None);
        talk.send(1, json!({}));
        talk.log([started("t")]);
        talk.reply(Ok(Reply::Started { turn: "t".into() }));
        talk.log([said("t", "a"), ended("t", Stop::EndTurn)]);
        talk.out.frames.clear();
        talk.gateway.pause(&mut talk.out);
        assert!(talk.frames().is_empty(), "nothing more is there to be heard at the moment");
        talk.tell(match is_live {
            true => Event::State(Arc::new(State { context_tokens: 880, ..state("s", None) })),
            false => Event::Live { seq: 52 },
        });
        if is_live {
            assert!(talk.frames().is_empty(), "nothing is said before the checkpoint is saved");
            // What comes behind the run is not what it is told with.
            talk.tell(Event::State(Arc::new(state("s", None))));
            talk.own(Ok(GatewayAnswer::Checkpointed { namespace: Some("n/s".into()) }));
        }
        let frames: Vec<Value> = talk.out.frames.frames().map(|it| serde_json::from_slice(it).unwrap()).collect();
        let warning = frames.iter().find(|frame| frame["event"] == "context_warning");
        assert_eq!(warning.map(|it| it["data"]["budget"]["usagePct"].as_f64().unwrap()), pct);
        let saved = warning.map(|it| it["data"]["actions"]["checkpointNamespace"].clone());
        assert_eq!(saved, is_live.then(|| json!("n/s")));
        assert!(frames.last().unwrap().get("result").is_some(), "{frames:?}");
    }
}

#[test]
fn news_are_asked_for_as_long_as_somebody_wants_them() {
    use dialect_gateway::{NewsItem, NewsMark, Topic};
    let item = |topic, event| NewsItem { topic, event, data: vocab::Json::trusted("{\n}") };
    let news = |items, mark| Ok(GatewayAnswer::News { items, mark: NewsMark(mark) });
    let asked = |talk: &Talk| -> Vec<String> { talk.out.own.iter().map(|it| format!("{:?}", it.call)).collect() };
    let mut talk = Talk::new();
    talk.ask(1, "events.subscribe", json!({"topics": ["lanes", "lanes"]}));
    assert_eq!(talk.frames(), [r#"1 = {"cursor":"0","seq":0,"subscriptionId":1}"#]);
    assert_eq!(asked(&talk), ["News { topics: [Lanes], after: None, answers: false }"]);
    talk.own(news(vec![item(Topic::Lanes, "lane"), item(Topic::Nodes, "node")], 5));
    assert_eq!(talk.frames(), ["1 lane {}"]);
    assert_eq!(asked(&talk), ["News { topics: [Lanes], after: Some(NewsMark(5)), answers: false }"]);
    // More is wanted: the call before is answered, and is not asked again.
    talk.ask(2, "events.subscribe", json!({"topics": ["nodes", "lanes"]}));
    assert_eq!(asked(&talk)[1..], ["News { topics: [Lanes, Nodes], after: Some(NewsMark(5)), answers: false }"]);
    talk.own(news(vec![], 5));
    talk.own(news(vec![item(Topic::Nodes, "node"), item(Topic::Lanes, "lane")], 6));
    assert_eq!(talk.frames()[1..], ["2 node {}", "1 lane {}", "2 lane {}"]);
    assert_eq!(asked(&talk).len(), 1);
    for (id, subscription) in [(3, 1), (4, 2)] {
        talk.ask(id, "events.unsubscribe", json!({"subscriptionId": subscription}));
    }
    talk.frames();
    talk.own(news(vec![item(Topic::Lanes, "lane")], 7));
    assert!(talk.frames().is_empty());
    assert_eq!(asked(&talk), ["News { topics: [], after: Some(NewsMark(6)), answers: false }"], "nobody is left");
}

#[test]
fn a_code_is_made_by_a_command() {
    use dialect_gateway::services::pairing::{GenerateResult, PairingAnswer};
    use dialect_gateway::services::{ServiceAnswer, ServiceCall};
    let mut talk = Talk::on(None);
    talk.ask(1, "agent.send", json!({"message": "/pair generate chat", "sessionId": "s"}));
    let GatewayOwn::Service(call) = &talk.out.own[0].call else { panic!("{:?}", talk.out.own) };
    assert!(matches!(&**call, ServiceCall::Pairing(_)), "{call:?}");
    let made = GenerateResult { code: "AB12".into(), expires_at: "2025-02-13T12:05:00Z".into() };
    talk.own(Ok(GatewayAnswer::Service(Box::new(ServiceAnswer::Pairing(PairingAnswer::Generated(made))))));
    talk.ask(2, "agent.send", json!({"message": "/pair list", "sessionId": "s"}));
    talk.own(Err(GatewayRefusal::internal("store", "no")));
    let heard = talk.frames();
    assert_eq!(heard[..2], [r#"1 content "code: AB12""#, r#"1 done "code: AB12""#]);
    let command = r#""command":{"data":{"code":"AB12","expiresAt":"2025-02-13T12:05:00Z"},"name":"/pair","ok":true}"#;
    assert!(heard[2].contains(command), "{heard:?}");
    assert!(heard[5].contains(r#""name":"/pair","ok":false"#), "{heard:?}");
}

#[test]
fn a_cancel_that_overtakes_its_message_is_carried_out_when_it_is_known_where() {
    let waiting = Reply::Waiting { item: "i".into(), position: 0 };
    let taken_back = SessionVerb::Queue(vocab::QueueVerb::TakeBack("i".into()));
    let interrupt = SessionVerb::Interrupt { turn: Some("t".into()) };
    let interrupted = Reply::Interrupted { was_running: true };
    let item = vocab::Item {
        id: "i".into(),
        parts: Vec::new(),
        delivery: vocab::Delivery::Policy,
        at_ms: 0,
        sender: None,
        by: None,
        until_ms: None,
    };
    let cases = [
        (Reply::Started { turn: "t".into() }, interrupt, interrupted, r#""active":true,"cancelled":true,"queued":0"#),
        (waiting, taken_back, Reply::Queue(vec![item]), r#""active":false,"cancelled":true,"queued":1"#),
    ];
    for (reply, stops, stopped, told) in cases {
        let mut talk = Talk::on(None);
        talk.send(1, json!({})).ask(2, "agent.cancel", json!({"requestId": 1}));
        talk.log([started("t")]);
        assert_eq!(talk.frames(), Vec::<String>::new(), "nobody knows yet what there is to stop");
        talk.reply(Ok(reply));
        assert_eq!(talk.out.commands[0].verb, Verb::Session(stops));
        talk.reply(Ok(stopped));
        assert!(talk.frames().contains(&format!("2 = {{{told}}}")));
    }
    // A run takes it while it is to be taken back: that one is stopped then.
    for missed in [Ok(Reply::Queue(Vec::new())), Err(Fault::new(FaultKind::NotFound, "it waits no more"))] {
        let mut talk = Talk::on(None);
        talk.send(1, json!({})).ask(2, "agent.cancel", json!({"requestId": 1}));
        talk.reply(Ok(Reply::Waiting { item: "i".into(), position: 0 }));
        talk.log([started("t")]);
        talk.tell(Event::Queue(vocab::QueueEvent::Ended {
            item: "i".into(),
            tag: Tag(1),
            end: vocab::ItemEnd::Consumed,
            why: vocab::SettleReason::Ran,
            turn: Some("t".into()),
            lane: None,
        }));
        talk.out.commands.retain(|command| !matches!(command.verb, Verb::Session(SessionVerb::Recount { .. })));
        talk.reply(missed);
        let interrupt = SessionVerb::Interrupt { turn: Some("t".into()) };
        assert_eq!(talk.out.commands.last().map(|command| &command.verb), Some(&Verb::Session(interrupt)));
        talk.reply(Ok(Reply::Interrupted { was_running: true }));
        let told = r#"2 = {"active":true,"cancelled":true,"queued":0}"#;
        assert!(talk.frames().contains(&told.to_owned()));
    }
    // It was not taken, or its session has gone: there is nothing to stop.
    for is_gone in [false, true] {
        let mut talk = Talk::on(None);
        talk.send(1, json!({})).ask(2, "agent.cancel", json!({"requestId": 1}));
        let fault = Fault::new(FaultKind::UnknownSession, "gone");
        match is_gone {
            true => _ = talk.tell(Event::Gone { fault }),
            false => _ = talk.reply(Err(fault)),
        }
        let told = r#"2 = {"active":false,"cancelled":false,"queued":0}"#;
        assert_eq!(talk.frames(), ["1 error 4", "1 ! 4 session_deleted", told]);
    }
    // An interrupt of the whole session came first, while its images were made ready.
    let mut talk = Talk::on(None);
    talk.send(1, json!({})).reply(Err(Fault::new(FaultKind::Cancelled, "interrupted before it began")));
    assert_eq!(talk.frames(), ["1 error 4", "1 ! 4 cancelled_before_start"]);
    // Before the session is open nothing has to be stopped.
    let mut talk = Talk::new();
    talk.send(1, json!({})).ask(2, "agent.cancel", json!({"requestId": 1}));
    let ended = ["1 error 4", "1 ! 4 cancelled_before_start", r#"2 = {"active":false,"cancelled":true,"queued":1}"#];
    assert_eq!(talk.frames(), ended);
    talk.reply(opened("s", None));
    assert!(talk.out.commands.is_empty() && talk.frames().is_empty());
}
