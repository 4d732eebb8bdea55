//! Sixty awkward strings through every text member, both ways.

use std::sync::Arc;

use serde_json::{Value, json};
use testkit::odd::strings;
use vocab::{
    Answer, Ask, AskEntry, AskKind, Body, CallEntry, Event, Fault, FaultKind, Json, Reply, SessionVerb, Stop, TurnEnd,
    TurnEntry, Verb,
};
use wire::{Dialect, Frame, Out};

use crate::talk::{
    Talk, call_started, ended, logged, opened_with, options, permission, permission_ask, renamed, result, slash,
    slash_reply, started, state, text,
};

#[test]
fn what_is_said_reads_back_equal() {
    for text_in in strings() {
        let s = &*text_in;
        let arc: Arc<str> = s.into();
        let mut talk = Talk::new(dialect_serve::ServeOptions { version: s.into(), ..options() });
        let mut first = state(s);
        (first.model, first.gadgets) = (arc.clone(), vec![arc.clone()]);
        let (_, frames) = talk.told(Event::Reply { tag: vocab::Tag(1), result: Ok(opened_with(first.clone())) });
        let ready = &frames[0];
        assert_eq!((&ready["session_id"], &ready["model"], &ready["version"]), (&json!(s), &json!(s), &json!(s)));
        assert_eq!(ready["gadgets"], json!([s]));

        let one = |talk: &mut Talk, event: Event, member: &str, wanted: Value| {
            let (_, frames) = talk.told(event);
            let pointer = format!("/{}", member.replace('.', "/"));
            assert_eq!(frames[0].pointer(&pointer), Some(&wanted), "{member} {s:?}");
        };
        one(&mut talk, logged(started(s)), "turn_id", json!(s));
        one(&mut talk, text(s, s), "delta", json!(s));
        one(&mut talk, text(s, s), "turn_id", json!(s));
        let input = json!({ s: s }).to_string();
        one(&mut talk, logged(call_started(s, s, s, &input)), "input", json!({ s: s }));
        one(&mut talk, logged(call_started(s, s, s, &input)), "name", json!(s));
        one(&mut talk, logged(call_started(s, s, s, &input)), "tool_id", json!(s));
        let ask = || vocab::PermissionAsk {
            tool: arc.clone(),
            input: Json::trusted(input.clone()),
            reason: Some(arc.clone()),
            ..permission_ask()
        };
        let asked = || {
            logged(Body::Ask(AskEntry::Opened(Ask {
                id: s.into(),
                turn: None,
                kind: AskKind::Permission(ask()),
                timeout_ms: None,
            })))
        };
        one(&mut talk, asked(), "request_id", json!(s));
        one(&mut talk, asked(), "tool", json!(s));
        one(&mut talk, asked(), "details", json!({ "tool_input": { s: s }, "reason": s }));
        let parts = vec![vocab::Part::text(s), vocab::Part::text(s)];
        let ended_call = Body::Call(CallEntry::Ended { turn: s.into(), result: result(s, parts) });
        one(&mut talk, logged(ended_call), "output", json!(format!("{s}{s}")));
        let Body::Turn(TurnEntry::Ended(end)) = ended(s, Stop::EndTurn) else { unreachable!() };
        let end = TurnEnd { mutations: vec![(arc.clone(), arc.clone())], ..end };
        one(&mut talk, logged(Body::Turn(TurnEntry::Ended(end.clone()))), "mutations", json!([[s, s]]));
        let failed = TurnEnd { stop: Stop::Error, fault: Some(Fault::new(FaultKind::Provider, s)), ..end };
        one(&mut talk, logged(Body::Turn(TurnEntry::Ended(failed))), "message", json!(s));
        first.model = format!("{s}!").into();
        one(&mut talk, Event::State(Arc::new(first.clone())), "model", json!(format!("{s}!")));
        first.gadgets.push(arc.clone());
        one(&mut talk, Event::State(Arc::new(first)), "gadgets", json!([s, s]));
        talk.hear(r#"{"type":"slash","command":"x"}"#);
        let done = slash(s, renamed(s));
        let (_, frames) = talk.told(Event::Reply { tag: vocab::Tag(2), result: slash_reply(done) });
        let said = &frames[0];
        assert_eq!((&said["command"], &said["text"]), (&json!(s), &json!(format!("title: {s}"))));
        assert_eq!(said["data"], json!({ "ok": true, "title": s }));
    }
}

/// Every character as `\uXXXX`.
fn all_escaped(text: &str) -> String {
    let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    format!("\"{units}\"")
}

#[test]
fn what_is_heard_arrives_equal_however_it_is_spelled() {
    for text in strings() {
        for spelled in [serde_json::to_string(&text).unwrap(), all_escaped(&text)] {
            let heard = |setup: &dyn Fn(&mut Talk), line: String| -> Option<Verb> {
                let mut talk = Talk::open();
                setup(&mut talk);
                let mut out = Out::new();
                talk.serve.hear(Frame::Whole(line.as_bytes()), &mut out);
                out.commands.pop().map(|command| command.verb)
            };
            let prompt = heard(&|_| {}, format!(r#"{{"type":"prompt","text":{spelled}}}"#));
            match prompt {
                Some(Verb::Session(SessionVerb::Prompt { parts, .. })) => assert_eq!(vocab::parts_text(&parts), text),
                None => assert!(text.trim().is_empty(), "{text:?}"),
                other => panic!("{other:?}"),
            }
            let slash = heard(&|_| {}, format!(r#"{{"type":"slash","command":"x","args":{spelled}}}"#));
            assert_eq!(slash, Some(Verb::Session(SessionVerb::Slash { name: "x".into(), args: text.clone() })));
            let named = heard(&|_| {}, format!(r#"{{"type":"slash","command":{spelled}}}"#));
            let name = text.strip_prefix('/').unwrap_or(&text).to_lowercase();
            assert_eq!(named, Some(Verb::Session(SessionVerb::Slash { name, args: String::new() })));
            let ask = |talk: &mut Talk| {
                talk.log_entry(permission(&text, "t1"));
            };
            let line = format!(
                r#"{{"type":"permission_response","request_id":{spelled},"decision":"deny","reason":{spelled}}}"#
            );
            let reason = if text.trim().is_empty() { "denied by remote controller" } else { &text };
            let wanted =
                Verb::Session(SessionVerb::Answer { ask: (*text).into(), answer: Answer::Deny(Some(reason.into())) });
            assert_eq!(heard(&ask, line), Some(wanted));
        }
    }
}

#[test]
fn labels_are_echoed_equal() {
    for label in strings().into_iter().filter(|label| label.len() <= 256) {
        let mut talk = Talk::multi();
        let spelled = all_escaped(&label);
        let (commands, _) = talk.hear_bytes(format!(r#"{{"type":"open","session":{spelled}}}"#).as_bytes());
        assert_eq!(commands, 1, "{label:?}");
        let (_, frames) =
            talk.told(Event::Reply { tag: vocab::Tag(1), result: Ok(Reply::clone(&opened_with(state("s1")))) });
        assert_eq!(frames[0]["session"], label);
        assert_eq!(talk.told(text("t1", "x")).1[0]["session"], label);
        assert_eq!(
            talk.hear_bytes(format!(r#"{{"type":"close","session":{spelled}}}"#).as_bytes()).1[0]["session"],
            label
        );
    }
}
