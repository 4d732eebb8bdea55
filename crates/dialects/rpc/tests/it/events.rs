//! Events of the newer members of the family: output of commands, compactions, cut replies, and what a host does not
//! want to hear.

use serde_json::{Value, json};
use vocab::{
    AssistantMessage, Block, Body, BranchEntry, CompactReason, Compaction, CompactionEvent, Delta, Event, Fault,
    FaultKind, MessageEnd, Part, Reply, Shell, Tag, TurnEntry, Usage, UserFrom,
};

use crate::talk::Talk;

fn kinds(frames: &[Value]) -> Vec<&str> {
    frames.iter().filter_map(|frame| frame["type"].as_str()).collect()
}

fn shell(output: &str) -> Shell {
    Shell {
        command: "x".into(),
        output: output.into(),
        exit_code: Some(0),
        cancelled: false,
        truncated: false,
        total_lines: 1,
        total_bytes: output.len() as u64,
        spilled: None,
        aside: false,
    }
}

#[test]
fn the_output_of_a_command_comes_as_it_grows() {
    let mut talk = Talk::open();
    let (commands, _) = talk.hear(r#"{"id":"b1","type":"bash","command":"x"}"#);
    let tag = commands[0].tag;
    let grown = |talk: &mut Talk, text: &str| talk.tell(Event::ShellProgress { tag, text: text.into() }).1;
    assert_eq!(grown(&mut talk, "one\n"), [json!({"type":"bash_execution_update","id":"b1","delta":"one\n"})]);
    assert_eq!(grown(&mut talk, "one\ntwo\n"), [json!({"type":"bash_execution_update","id":"b1","delta":"two\n"})]);
    assert!(grown(&mut talk, "one\ntwo\n").is_empty(), "nothing is new");
    let (_, frames) = talk.reply(tag, Ok(Reply::Shell(Box::new(shell("one\ntwo\nthree\n")))));
    assert_eq!(frames[0]["delta"], "three\n");
    assert_eq!((&frames[1]["id"], &frames[1]["command"]), (&json!("b1"), &json!("bash")));
    let stranger = Event::ShellProgress { tag: Tag(99), text: "x".into() };
    assert!(talk.tell(stranger).1.is_empty(), "it is nobody's");
}

fn compaction(reason: CompactReason) -> Body {
    Body::Branch(BranchEntry::Compacted(Compaction {
        reason,
        summary: "in short".into(),
        first_kept: 1,
        tokens_before: 900,
        tokens_after: 90,
        messages_before: 9,
        messages_after: 2,
        model: "mock/alpha".into(),
        usage: Usage::default(),
    }))
}

#[test]
fn a_compaction_is_told_in_the_words_of_both_lineages() {
    for (reason, word, automatic) in [
        (CompactReason::Manual, "manual", false),
        (CompactReason::Threshold, "threshold", true),
        (CompactReason::Overflow, "overflow", true),
    ] {
        let mut talk = Talk::open();
        talk.log(Body::User { turn: None, parts: vec![Part::text("hi")], from: UserFrom::Prompt });
        let (_, start) = talk.tell(Event::Compaction(CompactionEvent::Started { reason }));
        let end = talk.log(compaction(reason));
        let own = |name: &'static str| if automatic { vec![name] } else { vec![] };
        assert_eq!(kinds(&start), [own("auto_compaction_start"), vec!["compaction_start"]].concat());
        assert_eq!(kinds(&end), [own("auto_compaction_end"), vec!["compaction_end"]].concat());
        let last = end.last().unwrap();
        assert_eq!((&last["reason"], &last["aborted"]), (&json!(word), &json!(false)));
        assert_eq!(last["willRetry"], reason == CompactReason::Overflow);
        assert_eq!((&last["result"]["summary"], &last["result"]["tokensBefore"]), (&json!("in short"), &json!(900)));
        assert_eq!(last["result"]["estimatedTokensAfter"], 90);
        assert!(last["result"]["firstKeptEntryId"].is_string(), "{last}");
    }
}

#[test]
fn a_compaction_that_fails_or_is_stopped_has_an_end_too() {
    let failed = |kind| {
        let fault = Fault::new(kind, "no summary");
        Talk::open().tell(Event::Compaction(CompactionEvent::Failed { reason: CompactReason::Manual, fault })).1
    };
    let end = |aborted: bool| json!({"type":"compaction_end","reason":"manual","aborted":aborted,"willRetry":false});
    assert_eq!(failed(FaultKind::Cancelled), [end(true)]);
    let mut wrong = end(false);
    wrong["errorMessage"] = "Compaction failed: no summary".into();
    assert_eq!(failed(FaultKind::Provider), [wrong]);
}

#[test]
fn the_first_line_that_is_kept_is_named_also_when_it_is_older_than_the_conversation() {
    let mut talk = Talk::resumed();
    let (commands, _) = talk.tell(Event::Compaction(CompactionEvent::Started { reason: CompactReason::Threshold }));
    assert_eq!(testkit::verb_text(&commands[0].verb), "Read { after: 0 }");
    let user = Body::User { turn: None, parts: vec![Part::text("long ago")], from: UserFrom::Prompt };
    let entry = vocab::Entry { seq: 1, parent: 0, at_ms: 1, body: user, by: None };
    talk.reply(commands[0].tag, Ok(Reply::Entries(vec![entry.into()])));
    let end = talk.log(compaction(CompactReason::Threshold));
    assert!(end[1]["result"]["firstKeptEntryId"].is_string(), "{end:?}");
}

#[test]
fn words_that_an_abort_cuts_have_their_end() {
    let mut talk = Talk::open();
    talk.log(Body::Turn(TurnEntry::Started { turn: "t1".into() }));
    talk.log(Body::User { turn: Some("t1".into()), parts: vec![Part::text("hi")], from: UserFrom::Prompt });
    talk.tell(Event::Delta(Delta::Text { turn: "t1".into(), delta: "half".into() }));
    talk.pause();
    let message = AssistantMessage {
        blocks: vec![Block::Text("half".into())],
        model: "mock/alpha".into(),
        usage: Usage::default(),
        end: MessageEnd::Interrupted,
    };
    let frames = talk.log(Body::Assistant { turn: Some("t1".into()), message });
    assert_eq!(frames[0]["assistantMessageEvent"]["type"], "text_end", "{frames:?}");
    assert_eq!(frames[0]["assistantMessageEvent"]["content"], "half");
    assert_eq!(frames[1]["type"], "message_end");
}

#[test]
fn a_filter_keeps_back_what_nobody_wants_and_no_answer() {
    let mut talk = Talk::open();
    let (_, frames) = talk.hear(r#"{"id":1,"type":"set_event_filter","events":["message_end","turn_end"]}"#);
    assert_eq!(frames[0]["data"], json!({"events":["message_end","turn_end"]}));
    let user = || Body::User { turn: None, parts: vec![Part::text("hi")], from: UserFrom::Prompt };
    assert_eq!(kinds(&talk.log(user())), ["message_end"]);
    let (commands, _) = talk.hear(r#"{"id":2,"type":"prompt","message":"/known"}"#);
    let (_, frames) = talk.reply(commands[0].tag, Ok(Reply::Done));
    assert_eq!(kinds(&frames), ["response", "prompt_result"]);
    let (_, frames) = talk.hear(r#"{"id":3,"type":"set_event_filter","events":[""]}"#);
    assert_eq!(frames[0]["error"], "events must be null or an array of non-empty event type strings");
    let (_, frames) = talk.hear(r#"{"id":4,"type":"set_event_filter","events":null}"#);
    assert_eq!(frames[0]["data"], json!({"events":null}));
    assert_eq!(kinds(&talk.log(user())), ["message_start", "message_end"]);
}

#[test]
fn members_of_oh_my_pi_are_answered_in_its_words() {
    for (line, data) in [
        (r#""set_fast_mode","enabled":false"#, json!({"enabled":false,"active":false})),
        (r#""set_subagent_subscription","level":"progress""#, json!({"level":"progress"})),
        (r#""set_host_uri_schemes","schemes":[]"#, json!({"schemes":[]})),
    ] {
        let (_, frames) = Talk::open().hear(format!(r#"{{"id":"x","type":{line}}}"#));
        assert_eq!((&frames[0]["success"], &frames[0]["data"]), (&json!(true), &data), "{line}");
    }
    for (line, error) in [
        (r#""set_fast_mode","enabled":true"#, "Fast mode is unavailable for the current model."),
        (r#""set_subagent_subscription","level":"all""#, "Invalid subagent subscription level: all"),
        (r#""open_session","sessionDir":"/x""#, "open_session requires session persistence (omit --no-session)"),
    ] {
        let (_, frames) = Talk::open().hear(format!(r#"{{"id":"x","type":{line}}}"#));
        assert_eq!((&frames[0]["id"], &frames[0]["error"]), (&json!("x"), &json!(error)), "{line}");
    }
}
