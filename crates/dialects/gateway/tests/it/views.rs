//! Which sessions a connection is on: those that something needs, and no others for long.

use dialect_gateway::{Gateway, GatewayAnswer, GatewayRefusal};
use serde_json::json;
use vocab::{Event, Fault, FaultKind, Position, Reply, Target, Told, Verb};
use wire::Dialect as _;

use crate::play::{Play, paused};
use crate::talk::{Talk, entry, made, opened, started, user};

#[test]
fn an_idle_connection_is_small_and_leaves_what_it_does_not_use() {
    assert!(size_of::<Gateway>() <= 1024, "{}", size_of::<Gateway>());
    let mut talk = Talk::on(None);
    let due = talk.gateway.due();
    talk.out.now_ms = 30_000;
    assert_eq!(due, Some(30_000));
    talk.gateway.tick(30_000, &mut talk.out);
    assert_eq!(talk.reply(Ok(Reply::Done)).verb, Verb::Leave);
    assert_eq!(talk.gateway.due(), None);
}

#[test]
fn who_speaks_to_one_session_after_the_other_is_on_few_of_them() {
    let mut talk = Talk::on(None);
    talk.ask(1, "events.subscribe", json!({"topics": ["session:s"]}));
    for (number, session) in ["a", "b", "c", "d"].iter().enumerate() {
        talk.out.now_ms = number as u64 + 1;
        talk.visit(session, None);
    }
    assert!(talk.out.commands.is_empty(), "there is room for these");
    talk.visit("e", None);
    let left = talk.reply(Ok(Reply::Done));
    assert_eq!((left.verb, left.target), (Verb::Leave, Target::Session("a".into())), "somebody listens to `s`");
    assert!(talk.out.commands.is_empty());
}

#[test]
fn whoever_has_left_the_attached_session_hears_of_its_end() {
    for (is_gone, attached) in [(true, "ws:s1"), (false, "s")] {
        let mut talk = Talk::on(None);
        talk.ask(1, "sessions.create", json!({"sessionId": "s"}));
        talk.reply(made("s"));
        let saved = Told::new("s".into(), Event::Logged(entry(1, user("t"))));
        talk.gateway.tell(&Told { at: Position::at(1), ..saved }, &mut talk.out);
        talk.out.now_ms = 100_000;
        talk.gateway.tick(talk.out.now_ms, &mut talk.out);
        assert_eq!(talk.reply(Ok(Reply::Done)).verb, Verb::Leave);
        assert_eq!(format!("{:?}", talk.out.own[0].call), r#"WhenDeleted { session: "s" }"#);
        talk.own(Ok(GatewayAnswer::Exists(!is_gone)));
        talk.ask(2, "agent.send", json!({"message": "x"}));
        assert_eq!(talk.out.commands[0].target, Target::Session(attached.into()));
    }
}

#[test]
fn a_store_that_fails_once_does_not_end_the_watch_for_the_attached_session() {
    let mut talk = Talk::on(None);
    talk.ask(1, "sessions.create", json!({"sessionId": "s"}));
    talk.reply(made("s"));
    let saved = Told::new("s".into(), Event::Logged(entry(1, user("t"))));
    talk.gateway.tell(&Told { at: Position::at(1), ..saved }, &mut talk.out);
    talk.out.now_ms = 100_000;
    talk.gateway.tick(talk.out.now_ms, &mut talk.out);
    talk.reply(Ok(Reply::Done));
    talk.own(Err(GatewayRefusal::internal("store", "no")));
    assert!(talk.out.own.is_empty(), "a store that fails is left alone for a moment");
    talk.out.now_ms = talk.gateway.due().expect("it looks again");
    assert!(talk.out.now_ms > 100_000);
    talk.gateway.tick(talk.out.now_ms, &mut talk.out);
    assert_eq!(format!("{:?}", talk.out.own[0].call), r#"WhenDeleted { session: "s" }"#);
    assert_eq!(talk.gateway.due(), None);
    talk.own(Ok(GatewayAnswer::Exists(false)));
    talk.ask(2, "agent.send", json!({"message": "x"}));
    assert_eq!(talk.out.commands[0].target, Target::Session("ws:s1".into()));
}

/// Sessions that a subscription is to be on, and that the connection does not know yet.
fn subscribing(talk: &mut Talk, sessions: &[String]) {
    let topics: Vec<String> = sessions.iter().map(|session| format!("session:{session}")).collect();
    talk.ask(1, "events.subscribe", json!({"topics": topics}));
    for _ in sessions {
        talk.own(Ok(GatewayAnswer::Exists(true)));
    }
}

#[test]
fn a_subscription_of_many_sessions_hears_all_of_them() {
    let names: Vec<String> = (0..12).map(|number| format!("n{number}")).collect();
    let mut talk = Talk::new();
    subscribing(&mut talk, &names);
    for (number, name) in names.iter().enumerate() {
        talk.out.now_ms = 10_000 * number as u64;
        assert_eq!(talk.reply(opened(name, None)).target, Target::Session(name.as_str().into()), "nothing is left");
        talk.gateway.tick(talk.out.now_ms, &mut talk.out);
    }
    assert!(talk.out.commands.is_empty(), "{:?}", talk.out.commands);
    assert_eq!(talk.frames().len(), 1);
    for name in &names {
        talk.tell_of(name, Event::Logged(entry(1, started("t"))));
    }
    assert_eq!(talk.frames().len(), names.len(), "each of them is heard");
}

#[test]
fn a_session_that_goes_before_its_subscription_is_made_is_looked_for_again() {
    for exists in [false, true] {
        let names = ["a".to_owned(), "b".to_owned()];
        let mut talk = Talk::new();
        subscribing(&mut talk, &names);
        talk.reply(opened("a", None));
        talk.tell_of("a", Event::Gone { fault: Fault::new(FaultKind::Store, "lost") });
        talk.reply(opened("b", None));
        assert!(talk.frames().is_empty(), "an answer would say that it hears of `a`");
        talk.own(Ok(GatewayAnswer::Exists(exists)));
        if exists {
            talk.reply(opened("a", None));
            talk.tell_of("a", Event::Logged(entry(1, started("t"))));
        }
        let heard = talk.frames();
        match exists {
            true => assert!(heard.len() == 2 && heard[0].starts_with("1 = ") && heard[1].starts_with("1 run_state")),
            false => assert_eq!(heard, ["1 ! 1 -"]),
        }
    }
}

#[test]
fn a_session_is_not_left_while_it_is_being_saved() {
    let mut talk = Talk::on(None);
    talk.ask(1, "sessions.create", json!({"sessionId": "s"}));
    let saving = talk.out.commands.remove(0);
    assert!(matches!(&saving.verb, Verb::Open(open) if open.keep), "{saving:?}");
    let mut left = Vec::new();
    for (number, session) in ["a", "b", "c", "d", "e", "f"].iter().enumerate() {
        talk.out.now_ms = 20_000 * (number as u64 + 1);
        talk.visit(session, None);
        talk.gateway.tick(talk.out.now_ms, &mut talk.out);
        left.extend(talk.out.commands.drain(..).map(|command| command.target));
    }
    assert!(!left.is_empty() && !left.contains(&Target::Session("s".into())), "{left:?}");
    talk.tell(Event::Reply { tag: saving.tag, result: made("s") });
    assert_eq!(talk.frames(), [r#"1 = {"created":true,"sessionId":"s"}"#]);
}

#[test]
fn a_session_is_saved_once_for_all_who_want_it_saved() {
    let mut talk = Talk::on(None);
    talk.ask(1, "sessions.create", json!({"sessionId": "s"}));
    talk.ask(2, "sessions.create", json!({"sessionId": "s"}));
    talk.reply(made("s"));
    assert!(talk.out.commands.is_empty(), "{:?}", talk.out.commands);
    let both = [r#"1 = {"created":true,"sessionId":"s"}"#, r#"2 = {"created":false,"sessionId":"s"}"#];
    assert_eq!(talk.frames(), both);
}

#[test]
fn a_session_that_was_opened_for_something_else_is_saved_before_it_counts_as_made() {
    // On its way onto the session, or on it: nothing has saved it yet.
    for is_on in [false, true] {
        for (method, params) in [
            ("sessions.create", json!({"sessionId": "ws:c1"})),
            ("canvas.put", json!({"sessionId": "ws:c1", "artifactId": "a", "type": "text", "content": 1})),
        ] {
            let mut talk = Talk::new();
            talk.ask(1, "tools.execute", json!({"tool": "x"}));
            if is_on {
                talk.reply(opened("ws:c1", None));
                talk.out.commands.clear();
            }
            talk.ask(2, method, params);
            if !is_on {
                talk.reply(opened("ws:c1", None));
                talk.out.commands.remove(0);
            }
            assert!(talk.out.own.is_empty(), "{method}");
            let saving = talk.reply(Ok(Reply::Done));
            assert!(matches!(&saving.verb, Verb::Open(open) if open.keep), "{method}, {is_on}: {saving:?}");
        }
    }
}

/// Whatever the connection is on already, and whether the session is there or not.
#[test]
fn a_session_that_cannot_have_its_model_is_not_made_and_not_attached() {
    paused(async {
        let mut play = Play::new(|_| {});
        let (a, b) = (play.connect(), play.connect());
        let create = |session: &str, model: &str| json!({"sessionId": session, "title": "t", "modelTier": model});
        play.ask(b, 1, "agent.send", json!({"message": "say 1 words", "sessionId": "s:there"})).await;
        play.ask(a, 1, "agent.send", json!({"message": "/status"})).await;
        for (id, session) in (2..).zip(["s:new", "ws:c1", "s:there"]) {
            let refused = play.result(a, id, "sessions.create", create(session, "nope")).await;
            assert_eq!(refused["error"]["data"]["reason"], "unknown_model", "{session}: {refused}");
            let summary = play.stage.store.summary(&session.into()).await.unwrap();
            assert_eq!(summary.is_some(), session == "s:there", "{session}");
            assert_eq!(summary.and_then(|summary| summary.title), None, "{session}");
        }
        let sent = play.ask(a, 8, "agent.send", json!({"message": "say 1 words"})).await;
        assert_eq!(sent.last().unwrap()["result"]["sessionId"], "ws:c1", "it is attached where it was");
        for (id, session) in (10..).zip(["s:new", "s:there"]) {
            let made = play.result(a, id, "sessions.create", create(session, "mock/beta")).await;
            assert_eq!(made["result"]["created"], session == "s:new", "{made}");
            let sent = play.ask(a, id + 10, "agent.send", json!({"message": "say 1 words"})).await;
            let result = &sent.last().unwrap()["result"];
            assert_eq!((&result["sessionId"], &result["model"]), (&json!(session), &json!("mock/beta")));
        }
    });
}
