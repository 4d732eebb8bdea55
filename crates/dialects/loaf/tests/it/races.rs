//! What comes in an order that nobody wished for: answers that fail, sessions that vanish, ends in the middle of beginnings. Each
//! request has its one answer all the same, and no session stays locked.

use dialect_loaf::{LoadedImage, LoafAnswer};
use vocab::{
    Body, CompactReason, CompactionEvent, Delta, DirectoryVerb, Event, Fault, FaultKind, ItemEnd, QueueEntry,
    QueueEvent, Reply, SessionVerb, SlashReply, Stop, TurnEntry, Verb,
};
use wire::Parting;

use crate::talk::{Talk, ended, fault, inspected_at, opened, recalled, user};

const S1: &str = r#"{"session_id":"s1"}"#;

fn is_prompt(verb: &Verb) -> bool {
    matches!(verb, Verb::Session(SessionVerb::Prompt { .. }))
}
fn waiting(item: &str) -> Result<Reply, Fault> {
    Ok(Reply::Waiting { item: item.into(), position: 1 })
}
fn count(talk: &Talk, what: &str) -> usize {
    talk.log.matches(what).count()
}

#[test]
fn a_get_that_fails_does_not_let_others_pass_a_send() {
    let mut talk = Talk::on(1);
    talk.ask("session.get", S1).ask("session.send", r#"{"session_id":"s1","text":"x"}"#).ask("session.interrupt", S1);
    talk.reply_to(|verb| matches!(verb, Verb::Session(SessionVerb::Inspect)), fault(FaultKind::Store));
    assert_eq!(count(&talk, "\n4 = "), 0, "it waits for the send: {}", talk.log);
    talk.begin("c1", "e1", "x");
    assert_eq!(count(&talk, r#"4 = {"interrupted":true"#), 1, "{}", talk.log);
}

#[test]
fn who_works_for_another_session_says_so_and_gives_no_advice_that_does_not_help() {
    let busy = || Err(Fault::new(FaultKind::WorksForCall, "works for `c0`").hint("send it to `c0`"));
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", "x");
    for (method, params) in [
        ("session.send", r#"{"session_id":"s1","text":"y"}"#),
        ("session.send", r#"{"session_id":"s1","text":"y","enqueue":true}"#),
        ("session.steer", r#"{"session_id":"s1","text":"y"}"#),
    ] {
        talk.ask(method, params);
        if talk.open.iter().any(|command| is_prompt(&command.verb)) {
            talk.reply_to(is_prompt, busy());
        }
    }
    assert_eq!(count(&talk, "-32000 session_busy: works for `c0` (send it to `c0`)"), 3, "{}", talk.log);
}

#[test]
fn who_works_for_another_session_is_neither_stopped_nor_given_images() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", "x");
    talk.tell("c1", Event::State(vocab::State { works_for: Some("c0".into()), ..crate::talk::state("c1", 1) }.into()));
    for (method, params) in [
        ("session.send", r#"{"session_id":"s1","text":"y","images":[{"path":"a.png"}]}"#),
        ("session.send", r#"{"session_id":"s1","text":"y","images":[{"path":"a.png"}],"enqueue":true}"#),
        ("history.clear_session", S1),
        ("command.execute", r#"{"session_id":"s1","raw_command":"/forgeteverything"}"#),
        ("command.execute", r#"{"session_id":"s1","raw_command":"/compress"}"#),
    ] {
        talk.ask(method, params);
    }
    assert_eq!(count(&talk, "session_busy: this session works for a call of the session `c0`"), 5, "{}", talk.log);
    assert_eq!(count(&talk, "use enqueue=true") + count(&talk, "interrupting"), 0, "{}", talk.log);
    talk.ask("session.interrupt", S1);
    assert_eq!(count(&talk, r#"{"interrupted":true"#), 1, "that is meant: {}", talk.log);
}

#[test]
fn a_session_that_vanishes_answers_everybody() {
    let mut talk = Talk::on(2);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#);
    for method in ["session.get", "session.interrupt", "session.queue.list"] {
        talk.ask(method, S1);
    }
    talk.tell("c1", Event::Gone { fault: Fault::new(FaultKind::SessionBusy, "somebody else has it") });
    talk.reply_to(is_prompt, fault(FaultKind::Internal));
    talk.ask("session.get", S1);
    assert_eq!(count(&talk, "-32000 unknown_session: unknown session: s1"), 5, "{}", talk.log);
    talk.watch.at_rest();
}

#[test]
fn a_session_that_vanishes_in_a_turn_ends_the_turn() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", "x");
    talk.ask("history.clear_session", S1);
    for method in ["session.steer", "session.queue.clear", "session.get"] {
        talk.ask(method, r#"{"session_id":"s1","text":"x"}"#);
    }
    talk.tell("c1", Event::Gone { fault: Fault::new(FaultKind::SessionBusy, "somebody else has it") });
    while !talk.open.is_empty() {
        talk.reply(fault(FaultKind::UnknownSession));
    }
    assert_eq!(count(&talk, "session.error"), 1, "{}", talk.log);
    talk.watch.at_rest();
}

#[test]
fn a_send_that_is_being_decided_at_the_end_is_stopped() {
    for end in [None, Some(Parting::Eof), Some(Parting::Asked { by: "sigterm" })] {
        let mut talk = Talk::on(1);
        talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#);
        match end {
            None => talk.ask("system.shutdown", "{}"),
            Some(why) => talk.part(why),
        };
        let stops =
            |command: &&vocab::Command| matches!(command.verb, Verb::Session(SessionVerb::Interrupt { turn: None }));
        assert_eq!(talk.open.iter().filter(stops).count(), 1, "{}", talk.log);
        talk.begin("c1", "e1", "x").end("c1", "e1", Stop::Interrupted);
        while !talk.open.is_empty() {
            talk.reply(Ok(Reply::Done));
        }
        assert!(talk.out.close.is_some(), "{}", talk.log);
    }
}

#[test]
fn a_prompt_whose_image_comes_after_the_end_is_refused() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","images":[{"path":"a.png"}]}"#).ask("system.shutdown", "{}");
    let image = LoadedImage {
        path: "/w/a.png".into(),
        image: vocab::Image { mime: "image/png".into(), base64: "iVBORw0KGgo=".into() },
        bytes: 8,
    };
    talk.answer(Ok(LoafAnswer::Image(Box::new(image))));
    assert_eq!(count(&talk, "2 ! -32000 shutting_down"), 1, "{}", talk.log);
    while !talk.open.is_empty() {
        talk.reply(Ok(Reply::Done));
    }
    assert!(talk.out.close.is_some());
    talk.watch.at_rest();
}

#[test]
fn a_compaction_that_begins_at_the_end_is_stopped() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", "x");
    talk.ask("command.execute", r#"{"session_id":"s1","raw_command":"/compress"}"#).ask("system.shutdown", "{}");
    talk.end("c1", "e1", Stop::Interrupted);
    talk.log.clear();
    talk.tell("c1", Event::Compaction(CompactionEvent::Started { reason: CompactReason::Manual }));
    assert_eq!(count(&talk, "! c1 Interrupt { turn: None }"), 1, "{}", talk.log);
}

#[test]
fn what_is_cleared_in_a_turn_stays_cleared_when_the_next_turn_was_faster() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", "x");
    talk.ask("session.send", r#"{"session_id":"s1","text":"y","enqueue":true}"#).reply_to(is_prompt, waiting("i1"));
    talk.ask("history.clear_session", S1);
    // The engine was ahead: the turn had ended by itself, and what waited had begun.
    talk.end("c1", "e1", Stop::EndTurn);
    talk.logged("c1", Body::Turn(TurnEntry::Started { turn: "e2".into() }));
    talk.logged("c1", Body::Queue(QueueEntry::Settled { item: "i1".into(), end: ItemEnd::Consumed, why: None }));
    talk.user("c1", "e2", "y").tell("c1", Event::Delta(Delta::ModelCalled { turn: "e2".into(), reply: 0 }));
    assert_eq!(count(&talk, "t2 [preparing...]"), 1, "it has the name that its sender knows: {}", talk.log);
    talk.reply_to(|verb| matches!(verb, Verb::Session(SessionVerb::Queue(_))), Ok(Reply::Queue(vec![])));
    assert_eq!(count(&talk, r#"Interrupt { turn: Some("e2") }"#), 1, "{}", talk.log);
    assert_eq!(count(&talk, "! Open"), 0, "not before it has ended: {}", talk.log);
    talk.end("c1", "e2", Stop::Interrupted).reply_to(|verb| matches!(verb, Verb::Open(_)), Ok(opened("c2")));
    assert_eq!(count(&talk, r#"4 = {"cleared":true"#), 1, "{}", talk.log);
    talk.watch.at_rest();
}

#[test]
fn clearing_waits_for_the_turn_and_for_the_queue() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", "x");
    talk.ask("history.clear_session", S1)
        .reply_to(|verb| matches!(verb, Verb::Session(SessionVerb::Queue(_))), Ok(Reply::Queue(vec![])));
    assert_eq!(count(&talk, "! Open"), 0, "{}", talk.log);
    talk.end("c1", "e1", Stop::Interrupted);
    assert_eq!(count(&talk, "! Open"), 1, "{}", talk.log);
    talk.reply_to(|verb| matches!(verb, Verb::Open(_)), fault(FaultKind::Store)).ask("session.interrupt", S1);
    assert_eq!(count(&talk, "3 ! -32000 store_error: no"), 1, "{}", talk.log);
    assert_eq!(count(&talk, "4 = "), 1, "it is not locked any more: {}", talk.log);
}

#[test]
fn steering_that_was_taken_back_is_not_late() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", "x");
    talk.ask("session.steer", r#"{"session_id":"s1","text":"y"}"#).reply_to(is_prompt, waiting("i1"));
    talk.ask("history.clear_session", S1);
    talk.tell(
        "c1",
        Event::Queue(QueueEvent::Ended {
            tag: vocab::Tag(0),
            item: "i1".into(),
            end: ItemEnd::Cancelled,
            why: vocab::SettleReason::Ran,
            turn: None,
            lane: None,
        }),
    );
    talk.end("c1", "e1", Stop::Interrupted);
    assert_eq!(count(&talk, "too late"), 0, "{}", talk.log);
}

#[test]
fn words_that_were_on_their_way_do_not_hide_an_interrupt() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", "x");
    talk.ask("session.interrupt", S1);
    talk.log.clear();
    talk.tell("c1", Event::Delta(Delta::Thinking { turn: "e1".into(), delta: "hm".into() }));
    talk.tell("c1", Event::Delta(Delta::Text { turn: "e1".into(), delta: "word".into() }));
    assert_eq!(count(&talk, "["), 0, "{}", talk.log);
    assert_eq!(count(&talk, "answer \"word\""), 1, "{}", talk.log);
}

#[test]
fn two_sessions_that_resume_one_chat_get_one_each() {
    let mut talk = Talk::on(2);
    for session in ["s1", "s2"] {
        talk.ask("command.execute", &format!(r#"{{"session_id":"{session}","raw_command":"/history c9"}}"#));
    }
    let chat = || Ok(recalled("c9", vec![user("e", "hi")]));
    talk.reply(chat()).reply(chat());
    assert_eq!((count(&talk, "! Open Id(\"c9\")"), count(&talk, "! c9 Fork")), (1, 1), "{}", talk.log);
    talk.reply_to(|verb| matches!(verb, Verb::Open(_)), Ok(opened("c9")));
    let forked = Reply::Forked { session: "c10".into(), text: String::new() };
    talk.reply_to(|verb| matches!(verb, Verb::Fork { .. }), Ok(forked));
    talk.reply_to(
        |verb| matches!(verb, Verb::Directory(DirectoryVerb::Recall(_))),
        Ok(recalled("c10", vec![user("e", "hi")])),
    );
    assert_eq!(count(&talk, "! Open Id(\"c10\")"), 1, "{}", talk.log);
    talk.log.clear();
    // Its model is gone: it is the copy that is opened with another one, not the chat of the neighbour.
    talk.reply_to(|verb| matches!(verb, Verb::Open(_)), fault(FaultKind::UnknownModel));
    assert_eq!(count(&talk, "! Open Id(\"c10\")"), 1, "{}", talk.log);
    talk.reply_to(|verb| matches!(verb, Verb::Open(_)), Ok(opened("c10")));
    assert_eq!(count(&talk, r#"4 = {"handled":true,"output":{"resumed":"c9"}}"#), 1, "{}", talk.log);
    talk.watch.at_rest();
}

#[test]
fn a_log_that_is_older_than_what_was_told_is_read_again() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).ask("system.ping", "{}");
    talk.begin("c1", "e1", "x").ask("session.get", S1);
    talk.reply_to(|verb| matches!(verb, Verb::Session(SessionVerb::Inspect)), Ok(inspected_at("c1", 2)));
    talk.end("c1", "e1", Stop::EndTurn);
    let started = || Body::Turn(TurnEntry::Started { turn: "e1".into() });
    let old = recalled("c1", vec![started(), user("e1", "x")]);
    talk.reply_to(|verb| matches!(verb, Verb::Directory(DirectoryVerb::Recall(_))), Ok(old));
    assert_eq!(count(&talk, "4 = "), 0, "{}", talk.log);
    let new =
        recalled("c1", vec![started(), user("e1", "x"), Body::Turn(TurnEntry::Ended(ended("e1", Stop::EndTurn)))]);
    talk.reply_to(|verb| matches!(verb, Verb::Directory(DirectoryVerb::Recall(_))), Ok(new));
    assert_eq!(count(&talk, "#2 assistant: (No response text returned)"), 2, "{}", talk.log);
}

#[test]
fn a_bad_image_beside_a_compaction_does_not_say_ready() {
    let mut talk = Talk::on(1);
    talk.ask("command.execute", r#"{"session_id":"s1","raw_command":"/compress"}"#);
    talk.tell("c1", Event::Compaction(CompactionEvent::Started { reason: CompactReason::Manual }));
    talk.ask("session.send", r#"{"session_id":"s1","images":[{"data_url":"nonsense"}],"enqueue":true}"#);
    assert_eq!((count(&talk, "[ready]"), count(&talk, "[preparing...]")), (0, 0), "{}", talk.log);
    assert_eq!(count(&talk, "session.error"), 1, "{}", talk.log);
    talk.log.clear();
    talk.ask("session.interrupt", S1).ask("session.interrupt", S1);
    assert_eq!((count(&talk, r#""interrupted":true"#), count(&talk, "Interrupt {")), (1, 1), "{}", talk.log);
    talk.reply_to(|verb| matches!(verb, Verb::Session(SessionVerb::Compact { .. })), fault(FaultKind::Cancelled));
    assert_eq!(count(&talk, "[ready]"), 1, "{}", talk.log);
    talk.watch.at_rest();
}

#[test]
fn nothing_is_cleared_while_a_compaction_waits_for_the_turn() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", "x");
    talk.ask("command.execute", r#"{"session_id":"s1","raw_command":"/compress"}"#).ask("history.clear_session", S1);
    assert_eq!(count(&talk, "4 ! -32000 session_busy"), 1, "{}", talk.log);
}

#[test]
fn an_image_that_the_engine_refuses_is_a_failed_turn() {
    let mut talk = Talk::on(1);
    let params = r#"{"session_id":"s1","text":"x","images":[{"data_url":"data:image/png;base64,aGk="}]}"#;
    talk.ask("session.send", params).reply_to(is_prompt, fault(FaultKind::Invalid));
    assert_eq!(count(&talk, r#"2 = {"accepted":true,"queued":false"#), 1, "{}", talk.log);
    assert_eq!(count(&talk, r#"session.error {"message":"no","turn_id":"t1"}"#), 1, "{}", talk.log);
    talk.watch.at_rest();
}

/// Every request that the engine has a part in.
const REQUESTS: &[(&str, &str)] = &[
    ("state.get", "{}"),
    ("session.create", "{}"),
    ("session.get", S1),
    ("session.send", r#"{"session_id":"s1","text":"x"}"#),
    ("session.send", r#"{"session_id":"s1","images":[{"path":"a.png"}]}"#),
    ("session.steer", r#"{"session_id":"s1","text":"x"}"#),
    ("session.queue.list", S1),
    ("session.queue.clear", S1),
    ("history.clear_session", S1),
    ("history.list", "{}"),
    ("history.get", r#"{"id":"x"}"#),
    ("auth.connect.openai", "{}"),
    ("auth.connect.antigravity", "{}"),
    ("auth.set.openrouter_key", r#"{"api_key":"k"}"#),
    ("auth.set.exa_key", r#"{"api_key":"k"}"#),
    ("model.list", "{}"),
    ("model.select", r#"{"model_id":"alpha","provider":"openai","thinking_level":"OFF"}"#),
    ("limits.get", "{}"),
    ("skills.list", "{}"),
    ("tools.list", "{}"),
    ("command.execute", r#"{"session_id":"s1","raw_command":"/compress"}"#),
    ("command.execute", r#"{"session_id":"s1","raw_command":"/history x"}"#),
    ("command.execute", r#"{"session_id":"s1","raw_command":"/forgeteverything"}"#),
    ("command.execute", r#"{"session_id":"s1","raw_command":"/clear"}"#),
    ("command.execute", r#"{"session_id":"s1","raw_command":"/model"}"#),
];

/// Replies that mean something to somebody else, and failures.
fn nonsense() -> Vec<Result<Reply, Fault>> {
    let slash = SlashReply { command: "x".into(), result: Ok(vocab::SlashOutcome::Exit) };
    vec![
        Ok(Reply::Slash(Box::new(slash))),
        fault(FaultKind::Internal),
        fault(FaultKind::NotFound),
        fault(FaultKind::Auth),
        fault(FaultKind::UnknownSession),
    ]
}

#[test]
fn whatever_the_engine_answers_each_request_has_one_response_and_no_session_stays_locked() {
    for result in nonsense() {
        for in_turn in [false, true] {
            for (method, params) in REQUESTS {
                let mut talk = Talk::on(1);
                if in_turn {
                    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", "x");
                }
                talk.log.clear();
                talk.ask(method, params);
                let answer = result.clone().map(|_| LoafAnswer::Done);
                for _ in 0..20 {
                    if !talk.own.is_empty() {
                        talk.answer(answer.clone());
                    } else if !talk.open.is_empty() {
                        talk.reply(result.clone());
                    }
                }
                if in_turn {
                    talk.end("c1", "e1", Stop::Interrupted);
                    while !talk.open.is_empty() {
                        talk.reply(result.clone());
                    }
                }
                talk.ask("session.interrupt", S1);
                talk.watch.at_rest();
            }
        }
    }
}

#[test]
fn a_session_that_cannot_be_looked_at_was_not_created() {
    let mut talk = Talk::new();
    talk.ask("session.create", "{}").reply(Ok(opened("c1"))).reply(Ok(Reply::Done)).reply(fault(FaultKind::Store));
    assert_eq!(count(&talk, "1 ! -32000 store_error"), 1, "{}", talk.log);
    assert_eq!(count(&talk, "! c1 Leave"), 1, "nobody knows its id: {}", talk.log);
    talk.ask("session.get", S1);
    assert_eq!(count(&talk, "2 ! -32000 unknown_session"), 1, "{}", talk.log);
}

#[test]
fn a_session_that_is_opened_while_a_model_is_selected_has_that_model() {
    let select = r#"{"model_id":"beta","provider":"openai","thinking_level":"OFF"}"#;
    let beta = vocab::ModelInfo { provider: "openai".into(), ..vocab::ModelInfo::named("beta", 1000) };
    let is_open = |verb: &Verb| matches!(verb, Verb::Open(_));
    for (count_before, method, params) in [(0, "session.create", "{}"), (1, "history.clear_session", S1)] {
        let mut talk = Talk::on(count_before);
        talk.ask(method, params).ask("model.select", select);
        talk.reply_to(
            |verb| matches!(verb, Verb::Directory(DirectoryVerb::Models)),
            Ok(Reply::Models(vec![beta.clone()])),
        );
        talk.log.clear();
        talk.reply_to(is_open, Ok(opened("c9")));
        assert_eq!(count(&talk, r#"! c9 Set(Model("beta"))"#), 1, "{}", talk.log);
    }
}

#[test]
fn the_end_of_a_turn_that_died_with_another_process_is_not_the_end_of_the_new_one() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).end("c1", "dead", Stop::Error);
    talk.logged("c1", Body::Turn(TurnEntry::Started { turn: "e1".into() }));
    talk.reply_to(is_prompt, Ok(Reply::Started { turn: "e1".into() })).end("c1", "dead", Stop::Error);
    assert_eq!((count(&talk, "session.error"), count(&talk, "[ready]")), (0, 0), "{}", talk.log);
    talk.user("c1", "e1", "x").end("c1", "e1", Stop::EndTurn);
    assert_eq!((count(&talk, "session.completed"), count(&talk, "[ready]")), (1, 1), "{}", talk.log);
    talk.watch.at_rest();
}
