//! The borders of spans, from entries as a store is offered them.

use vocab::{Call, CallEnd, CallInput, CallResult, Fault, FaultKind, Json, Keyring, Stop, TurnEnd, Usage};

use super::super::sampler::Sampler;
use super::*;

struct Book {
    spans: OpenSpans,
    done: Vec<Span>,
    now: u64,
    seq: u64,
}

impl Book {
    fn new() -> Self {
        Self::with_content(false)
    }

    fn with_content(content: bool) -> Self {
        let text = SpanText { keyring: Keyring::default(), content };
        let sampler = SamplerChoice { root: Sampler::On, follows_parent: true };
        Self { spans: OpenSpans::new(sampler, text, None, true), done: Vec::new(), now: 0, seq: 0 }
    }

    fn offer(&mut self, session: &str, bodies: Vec<Body>) {
        self.now += 10;
        let entry = |body| {
            self.seq += 1;
            Arc::new(Entry { seq: self.seq, parent: self.seq - 1, at_ms: 0, body, by: None })
        };
        let entries: Vec<Arc<Entry>> = bodies.into_iter().map(entry).collect();
        self.spans.offered(&session.into(), &entries, self.now, &mut self.done);
    }

    fn names(&self) -> Vec<&str> {
        self.done.iter().map(|span| &*span.name).collect()
    }
}

fn started() -> Body {
    Body::Turn(TurnEntry::Started { turn: TurnId::new("t1") })
}

fn ended() -> Body {
    let end = TurnEnd {
        turn: TurnId::new("t1"),
        stop: Stop::EndTurn,
        iterations: 1,
        usage: Usage::default(),
        mutations: Vec::new(),
        fault: None,
    };
    Body::Turn(TurnEntry::Ended(end))
}

fn called(id: &str) -> Body {
    let input = CallInput::Object(Json::empty_object());
    let call = Call { id: id.into(), name: "bash".into(), input, seal: None };
    Body::Call(CallEntry::Started { turn: TurnId::new("t1"), call, tool: "bash".into() })
}

fn returned(id: &str) -> Body {
    let result = CallResult {
        call: id.into(),
        tool: "bash".into(),
        end: CallEnd::Ran,
        parts: Vec::new(),
        is_error: false,
        duration_ms: 3,
        mutation: None,
        edits: Vec::new(),
        details: None,
    };
    Body::Call(CallEntry::Ended { turn: TurnId::new("t1"), result })
}

#[test]
fn a_turn_is_one_span_whoever_tells_of_it_first() {
    let mut book = Book::new();
    let (session, turn) = (SessionId::from("s"), TurnId::new("t1"));
    let place = TurnPlace { session: &session, turn: &turn, trace: None, child_of: None };
    let mut done = Vec::new();
    let by_model = book.spans.turn_of(&place, 1, &mut done).unwrap();
    book.offer("s", vec![started()]);
    assert_eq!(book.spans.turn(&session), Some(by_model));
    // What the store refused is offered again.
    book.offer("s", vec![started(), called("c1")]);
    book.offer("s", vec![returned("c1")]);
    book.offer("s", vec![ended()]);
    book.offer("s", vec![ended()]);
    assert_eq!(book.names(), ["execute_tool bash", "invoke_agent tillerman"]);
    let (tool, turn) = (&book.done[0], &book.done[1]);
    assert_eq!((turn.start_ns, tool.place.trace), (1, turn.place.trace));
    assert_eq!(tool.parent.map(|parent| parent.id), Some(turn.place.span));
}

#[test]
fn what_is_open_when_a_session_goes_ends_with_it() {
    let mut book = Book::new();
    book.offer("s", vec![started(), called("c1")]);
    let mut done = Vec::new();
    book.spans.gone(&"s".into(), 99, &mut done);
    assert_eq!(
        done.iter().map(|span| &*span.name).collect::<Vec<_>>(),
        ["execute_tool bash", "invoke_agent tillerman"]
    );
    assert!(done.iter().all(|span| span.end_ns == 99 && span.error.is_some()));
    assert!(book.spans.sessions.is_empty(), "nothing is kept of it");
}

#[test]
fn a_senders_place_is_taken_and_its_choice_with_it() {
    let mut book = Book::new();
    let trace = Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00 a=1".into());
    let taken = Body::Turn(TurnEntry::Taken { turn: TurnId::new("t1"), items: Vec::new(), trace, until_ms: None });
    book.offer("s", vec![started(), taken, ended()]);
    assert!(book.done.is_empty(), "its sender does not keep this trace");
    let trace = Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 a=1".into());
    let taken = Body::Turn(TurnEntry::Taken { turn: TurnId::new("t1"), items: Vec::new(), trace, until_ms: None });
    book.offer("s", vec![started(), taken, ended()]);
    let turn = &book.done[0];
    assert_eq!(turn.place.trace, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
    assert_eq!((turn.parent.map(|it| it.is_remote), turn.state.as_deref()), (Some(true), Some("a=1")));
}

#[test]
fn there_is_a_bound() {
    let mut book = Book::new();
    for number in 0..SESSIONS_MAX + 10 {
        book.offer(&format!("s{number}"), vec![started()]);
    }
    assert_eq!(book.spans.sessions.len(), SESSIONS_MAX);
    for number in 0..CALLS_MAX + 10 {
        book.offer("s1", vec![called(&format!("c{number}"))]);
    }
    assert_eq!(book.spans.sessions[&SessionId::from("s1")].calls.len(), CALLS_MAX);
}

const ECHO: &str = "Incorrect API key provided: sk-proj-Zq9Zq9Zq9Zq9Zq9. You said: PROMPT\u{1b}[2J";

fn failed_turn(content: bool) -> String {
    let mut book = Book::with_content(content);
    let mut fault = Fault::new(FaultKind::Auth, ECHO);
    fault.status = Some(401);
    let turn = TurnId::new("t1");
    let again = ModelEntry::Retrying { turn, attempt: 1, attempts_max: 3, wait_ms: 5, fault: fault.clone() };
    let Body::Turn(TurnEntry::Ended(end)) = ended() else { unreachable!() };
    let end = TurnEnd { stop: Stop::Error, fault: Some(fault), ..end };
    book.offer("s", vec![started(), Body::Model(again), Body::Turn(TurnEntry::Ended(end))]);
    let turn = book.done.remove(0).shown();
    assert_eq!(turn.events.len(), 1);
    format!("{turn:?}")
}

#[test]
fn the_words_of_a_server_are_told_only_with_the_conversation_and_without_keys() {
    let quiet = failed_turn(false);
    assert!(!quiet.contains("sk-proj") && !quiet.contains("PROMPT"), "{quiet}");
    assert_eq!(quiet.matches("auth (401)").count(), 2, "{quiet}");
    let told = failed_turn(true);
    assert!(!told.contains("sk-proj") && !told.contains("\\u{1b}"), "{told}");
    assert_eq!(told.matches("You said: PROMPT\u{241b}").count(), 2, "{told}");
}

#[test]
fn a_name_that_the_model_made_up_names_no_span() {
    let unknown = |end| {
        let Body::Call(CallEntry::Ended { turn, result }) = returned("c1") else { unreachable!() };
        Body::Call(CallEntry::Ended { turn, result: CallResult { end, tool: "canary".into(), ..result } })
    };
    let begun = |input| {
        let call = Call { id: "c1".into(), name: "canary".into(), input, seal: None };
        Body::Call(CallEntry::Started { turn: TurnId::new("t1"), call, tool: "canary".into() })
    };
    let broken = || CallInput::Broken { text: "{".into(), detail: "it ends too early".into() };
    for (input, end) in [
        (CallInput::Object(Json::empty_object()), CallEnd::Unknown),
        (CallInput::Object(Json::empty_object()), CallEnd::Skipped),
        (broken(), CallEnd::Invalid),
    ] {
        let mut book = Book::new();
        book.offer("s", vec![started(), begun(input), unknown(end)]);
        let span = format!("{:?}", book.done);
        assert!(!span.contains("canary") && book.names() == ["execute_tool unknown"], "{span}");
    }
}

#[test]
fn nothing_from_outside_moves_a_cursor_or_turns_the_writing_around() {
    let mut book = Book::new();
    let mut open = book.spans.begin(None, "chat a\u{1b}[2J\r\nb".to_owned(), SpanKind::Client, 1);
    let span = open.span.as_mut().unwrap();
    span.set("gen_ai.request.model", "a\u{202e}b\n");
    span.event(1, "fallback", vec![("tillerman.fallback.to", "c\u{1b}d".into())]);
    span.fail("x", "e\rf".to_owned());
    close(open, 2, "lost\n", &mut book.done);
    let shown = format!("{:?}", book.done.remove(0).shown());
    for bad in ["\\u{1b}", "\\u{202e}", "\\r", "\\n"] {
        assert!(!shown.contains(bad), "{bad} in {shown}");
    }
}

#[test]
fn a_call_that_is_told_late_stands_where_it_was() {
    let mut book = Book::new();
    book.offer("s", vec![started()]);
    let session = SessionId::from("s");
    let asks = TracePlace { trace: 1, span: 2, sampled: true };
    book.spans.model_called(&session, asks, 20);
    book.spans.model_answered(&session, asks, 30);
    book.spans.model_called(&session, TracePlace { trace: 1, span: 3, sampled: true }, 40);
    book.now = 90;
    book.offer("s", vec![called("c1"), returned("c1")]);
    let call = &book.done[0];
    assert_eq!((call.start_ns, call.end_ns, call.link), (30, 40, Some(asks)));
}
