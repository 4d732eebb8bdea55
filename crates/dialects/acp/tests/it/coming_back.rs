//! A client on the network that comes back with the place that it has.

use std::sync::Arc;

use serde_json::{Value, json};
use vocab::{
    AssistantMessage, Block, Body, Call, CallEnd, CallEntry, CallInput, CallResult, Delta, Entry, Event, Finish, Json,
    MessageEnd, Mode, NoteEntry, Part, Recalled, Reply, Saved, SessionVerb, Stop, Summary, TurnEntry, Usage, UserFrom,
    Verb,
};

use crate::talk::{AcpTalk, opened};

fn entry(seq: u64, body: Body) -> Arc<Entry> {
    Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, body, by: None })
}

fn said(text: &str) -> Body {
    let (blocks, end) = (vec![Block::Text(text.into())], MessageEnd::Finished(Finish::Stop));
    Body::Assistant {
        turn: Some("t1".into()),
        message: AssistantMessage { blocks, model: "m".into(), end, usage: Usage::default() },
    }
}

/// A turn whose process died in the middle of its reply, and which goes on: the log up to the place of that reply, and behind it.
fn cut_off() -> Vec<Arc<Entry>> {
    let user = Body::User { turn: Some("t1".into()), parts: vec![Part::text("go")], from: UserFrom::Prompt };
    let mark =
        Body::Note(NoteEntry::Recovered { text: "the process ended during this turn, which goes on now".into() });
    vec![entry(1, Body::Turn(TurnEntry::Started { turn: "t1".into() })), entry(2, user), entry(3, mark)]
}

fn recalled(entries: Vec<Arc<Entry>>) -> Reply {
    let summary = Summary {
        id: "c1".into(),
        workspace: "/w".into(),
        model: "alpha".into(),
        mode: Mode::Prompt,
        title: None,
        preview: None,
        created_ms: 0,
        updated_ms: 0,
        messages: 0,
        turns: 0,
        usage: Usage::default(),
        last_seq: 0,
        thinking: None,
        child_of: None,
        last_message_ms: None,
        lane: vocab::LaneWish::default(),
        elevated_until_ms: None,
        model_called: None,
    };
    Reply::Recalled(Box::new(Recalled { saved: Saved { summary, place: "c1".into() }, entries }))
}

fn running(last_seq: u64) -> Reply {
    let Reply::Opened(mut opened) = opened("c1") else { unreachable!() };
    (opened.state.last_seq, opened.state.turn) = (last_seq, Some("t1".into()));
    Reply::Opened(opened)
}

/// A reply with three calls; an interrupt ends the first, and keeps the others from starting.
fn stopped() -> Vec<Arc<Entry>> {
    let call = |id: &str| Call {
        id: id.into(),
        name: "bash".into(),
        input: CallInput::Object(Json::trusted(format!(r#"{{"command":"sleep {id}"}}"#))),
        seal: None,
    };
    let (blocks, end) =
        (["1", "2", "3"].map(|id| Block::Call(call(id))).to_vec(), MessageEnd::Finished(Finish::ToolUse));
    let message = AssistantMessage { blocks, model: "m".into(), end, usage: Usage::default() };
    let ended = |id: &str| {
        let result = CallResult {
            call: id.into(),
            tool: "bash".into(),
            end: CallEnd::Interrupted,
            parts: vec![Part::text("interrupted")],
            is_error: true,
            duration_ms: 0,
            mutation: None,
            edits: vec![],
            details: None,
        };
        Body::Call(CallEntry::Ended { turn: "t1".into(), result })
    };
    let bodies = [
        Body::Turn(TurnEntry::Started { turn: "t1".into() }),
        Body::Assistant { turn: Some("t1".into()), message },
        Body::Call(CallEntry::Started { turn: "t1".into(), call: call("1"), tool: "bash".into() }),
        ended("1"),
        ended("2"),
        ended("3"),
    ];
    bodies.into_iter().zip(1..).map(|(body, seq)| entry(seq, body)).collect()
}

/// What was told of calls.
fn calls(talk: &AcpTalk) -> Vec<String> {
    let read = |line: &String| {
        let line: Value = serde_json::from_str(line).unwrap();
        let update = &line["params"]["update"];
        let id = update["toolCallId"].as_str()?;
        Some(match update["sessionUpdate"].as_str()? {
            "tool_call" => format!("{id} {}", update["rawInput"]["command"].as_str().unwrap()),
            _ => format!("{id} {}", update["status"].as_str().unwrap()),
        })
    };
    talk.said.iter().filter_map(read).collect()
}

#[test]
fn a_call_that_an_interrupt_keeps_from_starting_is_told_before_its_end() {
    let told = ["t1-1 sleep 1", "t1-1 failed", "t1-2 sleep 2", "t1-2 failed", "t1-3 sleep 3", "t1-3 failed"];
    let mut talk = AcpTalk::with(json!({}));
    for entry in stopped() {
        talk.tell("c1", Event::Logged(entry));
    }
    assert_eq!(calls(&talk), told);

    // Whoever comes back in between knows the first one. What is recalled of a log does not have the starts.
    let recall: Vec<_> = stopped().into_iter().filter(|entry| entry.seq != 3).collect();
    for (place, told) in [("4", &told[2..]), ("4~1", &told[3..]), ("5", &told[4..])] {
        let mut talk = AcpTalk::remote();
        talk.hear(&wire::FlowWord::Credit { session: "c1".into(), bytes: 10_000 }.frame());
        let params = json!({ "sessionId": "c1", "cwd": "/w", "_meta": { "tillerman.afterSeq": place } });
        talk.ask("session/load", params).reply_to(is_open, Ok(running(6)));
        talk.reply_to(is_recall, Ok(recalled(recall.clone())));
        assert_eq!(calls(&talk), told, "loaded from {place}");

        let mut talk = AcpTalk::remote();
        talk.hear(&wire::FlowWord::From { session: "c1".into(), place: place.into() }.frame());
        talk.reply_to(is_open, Ok(running(6))).reply_to(is_recall, Ok(recalled(recall.clone())));
        talk.reply_to(is_open, Ok(running(6)));
        let seq: u64 = place[..1].parse().unwrap();
        stopped()
            .into_iter()
            .filter(|entry| entry.seq > seq)
            .for_each(|entry| _ = talk.tell("c1", Event::Logged(entry)));
        assert_eq!(calls(&talk), told, "taken over from {place}");
    }
}

/// Text of replies, and the message that it is of.
fn texts(talk: &AcpTalk) -> Vec<(String, String)> {
    let read = |line: &String| {
        let line: Value = serde_json::from_str(line).unwrap();
        let update = &line["params"]["update"];
        let is_text = update["sessionUpdate"] == "agent_message_chunk";
        is_text.then(|| {
            (update["messageId"].as_str().unwrap().to_owned(), update["content"]["text"].as_str().unwrap().to_owned())
        })
    };
    talk.said.iter().filter_map(read).collect()
}

fn is_open(verb: &Verb) -> bool {
    matches!(verb, Verb::Open(_))
}
fn is_recall(verb: &Verb) -> bool {
    matches!(verb, Verb::Directory(vocab::DirectoryVerb::Recall(_)))
}

/// A stream that is taken over behind some of the reply that died. `log`: what is there by then.
fn streamed(log: &[Arc<Entry>]) -> AcpTalk {
    let mut talk = AcpTalk::remote();
    let last_seq = log.len() as u64;
    talk.hear(&wire::FlowWord::From { session: "c1".into(), place: "2.4".into() }.frame());
    talk.reply_to(is_open, Ok(running(last_seq))).reply_to(is_recall, Ok(recalled(log.to_vec())));
    talk.reply_to(is_open, Ok(running(last_seq)));
    for entry in &log[2..] {
        talk.tell("c1", Event::Logged(entry.clone()));
    }
    talk.tell("c1", Event::Live { seq: last_seq });
    talk
}

#[test]
fn a_reply_that_died_with_its_process_is_not_taken_for_the_one_that_comes_instead() {
    let mut talk = streamed(&cut_off());
    talk.tell("c1", Event::Delta(Delta::ModelCalled { turn: "t1".into(), reply: 1 }));
    talk.tell("c1", Event::Delta(Delta::Text { turn: "t1".into(), delta: "something".into() }));
    talk.tell("c1", Event::Delta(Delta::Text { turn: "t1".into(), delta: " else".into() }));
    let told = [("t1-1", "something"), ("t1-1", " else")].map(|(id, text)| (id.to_owned(), text.to_owned()));
    assert_eq!(texts(&talk), told);
}

#[test]
fn nor_for_the_one_that_the_log_has_by_then_which_is_called_the_same_in_every_replay() {
    let log: Vec<_> = cut_off().into_iter().chain([entry(4, said("something else"))]).collect();
    let whole = [("t1-1".to_owned(), "something else".to_owned())];
    assert_eq!(texts(&streamed(&log)), whole);
    for place in ["2.4", "2", "0"] {
        let mut talk = AcpTalk::remote();
        talk.hear(&wire::FlowWord::Credit { session: "c1".into(), bytes: 10_000 }.frame());
        let params = json!({ "sessionId": "c1", "cwd": "/w", "_meta": { "tillerman.afterSeq": place } });
        talk.ask("session/load", params).reply_to(is_open, Ok(running(4)));
        talk.reply_to(is_recall, Ok(recalled(log.clone())));
        assert_eq!(texts(&talk), whole, "from {place}");
    }
}

fn is_prompt(verb: &Verb) -> bool {
    matches!(verb, Verb::Session(SessionVerb::Prompt { .. }))
}

#[test]
fn what_a_client_has_said_before_its_last_line_is_done_and_answered() {
    // Nothing of it has begun: the list of models is on its way.
    let mut talk = AcpTalk::remote_unlisted();
    talk.hear(&wire::FlowWord::Credit { session: String::new(), bytes: 10_000 }.frame());
    talk.ask("initialize", json!({ "protocolVersion": 1 }));
    talk.ask("session/load", json!({ "sessionId": "c1", "cwd": "/w" })).prompt("go");
    talk.hear(dialect_acp::LAST_LINE.as_bytes());
    talk.reply(Ok(Reply::Models(Vec::new())));
    talk.reply_to(is_open, Ok(opened("c1"))).reply_to(is_recall, Ok(recalled(Vec::new())));
    talk.reply_to(is_open, Ok(opened("c1"))).reply_to(is_prompt, Ok(Reply::Started { turn: "t1".into() }));
    talk.logged(Body::Turn(TurnEntry::Started { turn: "t1".into() }));
    while let Some(command) = talk.open.pop() {
        talk.reply_tag(command.tag, Ok(Reply::Done));
    }
    assert!(!talk.log.contains("- close"), "its run goes on: {}", talk.log);
    talk.log.clear();
    talk.end("t1", Stop::EndTurn);
    let places = ["< 3 = end_turn", "- close"].map(|line| talk.log.find(line));
    assert!(places[0].is_some() && places[0] < places[1], "{}", talk.log);
}

#[test]
fn a_client_that_just_closes_its_connection_takes_no_answer() {
    for (last, closes) in [(wire::Parting::Eof, true), (wire::Parting::Asked { by: "sigterm" }, false)] {
        let mut talk = AcpTalk::remote();
        talk.hear(&wire::FlowWord::Credit { session: String::new(), bytes: 10_000 }.frame());
        talk.ask("session/new", json!({ "cwd": "/w" })).reply_to(is_open, Ok(opened("c1"))).begin("t1");
        assert!(talk.open.is_empty());
        talk.part(last);
        assert_eq!(talk.out.close.is_some(), closes, "{last:?}");
    }
}
