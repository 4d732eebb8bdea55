//! Nothing grows without a bound: requests that wait, remarks, sessions, commands without a reply.

use vocab::{Delta, Event, ExtensionEvent, Notice, NoticeLevel, Reply, SessionVerb, Stop, Verb};
use wire::Dialect;

use crate::talk::{Talk, inspected_at, opened};

const S1: &str = r#"{"session_id":"s1"}"#;

#[test]
fn requests_that_wait_for_a_session_are_bounded_and_each_is_answered() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#);
    for _ in 0..256 {
        talk.ask("session.interrupt", S1);
    }
    assert_eq!(talk.log.matches("queue_full").count(), 0);
    talk.ask("session.interrupt", S1);
    assert_eq!(talk.log.matches("! -32000 queue_full: 256 requests wait for this session already").count(), 1);
    talk.begin("c1", "e1", "x").end("c1", "e1", Stop::Interrupted);
    talk.watch.at_rest();
}

#[test]
fn sessions_are_bounded() {
    let mut talk = Talk::on(255);
    talk.ask("session.create", "{}").ask("session.create", "{}");
    assert_eq!(talk.log.matches("! -32000 too_many_sessions: 256 sessions are open").count(), 1, "{}", talk.log);
    talk.reply_to(|verb| matches!(verb, Verb::Open(_)), Ok(opened("c256")));
}

#[test]
fn remarks_are_bounded_and_the_oldest_goes_first() {
    let mut talk = Talk::on(1);
    for number in 0..1005 {
        let notice = Notice::Say { text: format!("skills applied: {number}").into(), level: NoticeLevel::Info };
        talk.tell("c1", Event::Extension(ExtensionEvent::Notice(notice)));
    }
    talk.log.clear();
    talk.ask("session.get", S1)
        .reply_to(|verb| matches!(verb, Verb::Session(SessionVerb::Inspect)), Ok(inspected_at("c1", 0)));
    assert_eq!(talk.log.matches(" system: skills applied: ").count(), 1000);
    assert!(talk.log.contains("#6 system: skills applied: 5\n") && talk.log.contains("#1005 system"), "{}", talk.log);
}

#[test]
fn lines_stay_in_the_pipe_while_the_engine_lags() {
    let mut talk = Talk::on(1);
    let mut asked = 0;
    while talk.loaf.listening() {
        asked += 1;
        talk.ask("tools.list", "{}");
    }
    assert_eq!(asked, 1024);
    talk.reply(Ok(Reply::Tools(vec![])));
    assert!(talk.loaf.listening());
}

#[test]
fn a_notice_of_an_extension_comes_before_the_status_of_the_model() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#);
    talk.logged("c1", vocab::Body::Turn(vocab::TurnEntry::Started { turn: "e1".into() }));
    talk.reply_to(
        |verb| matches!(verb, Verb::Session(SessionVerb::Prompt { .. })),
        Ok(Reply::Started { turn: "e1".into() }),
    );
    talk.user("c1", "e1", "x");
    talk.tell(
        "c1",
        Event::Extension(ExtensionEvent::Notice(Notice::Say {
            text: "skills applied: a, b".into(),
            level: NoticeLevel::Info,
        })),
    );
    talk.tell("c1", Event::Delta(Delta::ModelCalled { turn: "e1".into(), reply: 0 }));
    talk.check(expect_test::expect![[r#"
        > 2 session.send {"session_id":"s1","text":"x"}
        ! c1 Prompt { parts: [Text("x")], delivery: RejectIfBusy }
        s1 t1 [preparing...]
        2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
        s1 #1 system: skills applied: a, b
        s1 t1 [drafting response...]
        s1 #2 user: x
    "#]]);
}
