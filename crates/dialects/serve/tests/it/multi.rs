//! Protocol 2: many labelled sessions on one pipe.

use std::sync::Arc;

use expect_test::expect;
use vocab::{Event, Fault, FaultKind, Stop};
use wire::Parting;

use crate::talk::{
    Talk, busy, call_ended, call_started, cleared, ended, opened, permission, slash, slash_reply, started, state, text,
    turn_reply,
};

/// Two open sessions, `a` on s1 and `b` on s2, and an empty log.
fn two() -> Talk {
    let mut talk = Talk::multi();
    talk.hear(r#"{"type":"open","session":"a"}"#).hear(r#"{"type":"open","session":"b"}"#);
    talk.reply(1, Ok(opened("s1"))).reply(2, Ok(opened("s2")));
    talk.log.clear();
    talk
}

#[test]
fn the_process_says_ready_and_then_each_session_does() {
    let mut talk = Talk::multi();
    assert!(wire::Dialect::listening(&talk.serve));
    talk.hear(r#"{"type":"open","session":"a"}"#);
    talk.hear(r#"{"type":"open","session":"b","workspace":"/p","model":"mock/beta","resume":"latest"}"#);
    talk.hear(r#"{"type":"open","session":"c","workspace":null,"model":null,"resume":"0198"}"#);
    talk.reply(2, Ok(opened("s2"))).reply(1, Ok(opened("s1")));
    talk.reply(3, Err(Fault::new(FaultKind::NotFound, "no session 0198")));
    talk.note("the label is free again").hear(r#"{"type":"open","session":"c"}"#);
    talk.check(expect![[r#"
        < {"type":"ready","session":null,"protocol":2,"version":"0.1.0"}
        > {"type":"open","session":"a"}
        ! 1 Current Open New, mode Prompt, gate Proxy, names ToolNames(11 rows), controller "serve"
        > {"type":"open","session":"b","workspace":"/p","model":"mock/beta","resume":"latest"}
        ! 2 Current Open Latest, workspace "/p", model "mock/beta", mode Prompt, gate Proxy, names ToolNames(11 rows), controller "serve"
        > {"type":"open","session":"c","workspace":null,"model":null,"resume":"0198"}
        ! 3 Current Open Id("0198"), mode Prompt, gate Proxy, names ToolNames(11 rows), controller "serve"
        < {"type":"ready","session":"b","protocol":2,"version":"0.1.0","session_id":"s2","model":"mock/alpha","mode":"prompt","tools":["read_file","glob_search","mcp__x__y"],"context_window":128000,"max_tokens":16384,"gadgets":["docs"]}
        < {"type":"ready","session":"a","protocol":2,"version":"0.1.0","session_id":"s1","model":"mock/alpha","mode":"prompt","tools":["read_file","glob_search","mcp__x__y"],"context_window":128000,"max_tokens":16384,"gadgets":["docs"]}
        < {"type":"error","session":"c","code":"session_not_found","message":"no session 0198","origin":"local"}
        # the label is free again
        > {"type":"open","session":"c"}
        ! 4 Current Open New, mode Prompt, gate Proxy, names ToolNames(11 rows), controller "serve"
    "#]]);
}

#[test]
fn every_line_names_its_session() {
    let mut talk = two();
    talk.hear(r#"{"type":"prompt","session":"a","text":"x"}"#).hear(r#"{"type":"prompt","session":"b","text":"y"}"#);
    talk.log_entry(started("t1"));
    talk.on = "s2";
    talk.log_entry(started("t2")).tell(text("t2", "two"));
    talk.on = "s1";
    talk.tell(text("t1", "one")).log_entry(call_started("t1", "c1", "glob", "{}")).log_entry(permission("r1", "t1"));
    talk.note("an answer counts in its own session only");
    talk.hear(r#"{"type":"permission_response","session":"b","request_id":"r1","decision":"allow"}"#);
    talk.hear(r#"{"type":"permission_response","session":"a","request_id":"r1","decision":"allow"}"#);
    talk.log_entry(call_ended("t1", "c1", "x")).log_entry(ended("t1", Stop::EndTurn));
    talk.hear(r#"{"type":"prompt","session":"b","text":"z"}"#).reply(6, busy());
    talk.hear(r#"{"type":"interrupt","session":"b"}"#);
    talk.check(expect![[r#"
        > {"type":"prompt","session":"a","text":"x"}
        ! 3 Session("s1") Prompt { parts: [Text("x")], delivery: RejectIfBusy }
        > {"type":"prompt","session":"b","text":"y"}
        ! 4 Session("s2") Prompt { parts: [Text("y")], delivery: RejectIfBusy }
        < {"type":"turn_started","session":"a","turn_id":"t1"}
        < {"type":"turn_started","session":"b","turn_id":"t2"}
        < {"type":"text_delta","session":"b","turn_id":"t2","delta":"two"}
        < {"type":"text_delta","session":"a","turn_id":"t1","delta":"one"}
        < {"type":"tool_start","session":"a","turn_id":"t1","tool_id":"c1","name":"glob_search","input":{}}
        < {"type":"permission_request","session":"a","request_id":"r1","tool":"glob_search","active_mode":"prompt","required_mode":"read-only","details":{"tool_input":{"pattern":"**/*.py"},"reason":null}}
        # an answer counts in its own session only
        > {"type":"permission_response","session":"b","request_id":"r1","decision":"allow"}
        < {"type":"error","session":"b","code":"unknown_request_id","message":"no open request \"r1\"","origin":"local"}
        > {"type":"permission_response","session":"a","request_id":"r1","decision":"allow"}
        ! 5 Session("s1") Answer { ask: "r1", answer: Allow(Once) }
        < {"type":"tool_result","session":"a","turn_id":"t1","tool_id":"c1","output":"x","is_error":false,"duration_s":0.04}
        < {"type":"turn_complete","session":"a","turn_id":"t1","stop_reason":"end_turn","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        > {"type":"prompt","session":"b","text":"z"}
        ! 6 Session("s2") Prompt { parts: [Text("z")], delivery: RejectIfBusy }
        < {"type":"error","session":"b","code":"turn_in_progress","message":"a turn is in progress","origin":"local"}
        > {"type":"interrupt","session":"b"}
        ! 7 Session("s2") Interrupt { turn: None }
    "#]]);
}

#[test]
fn errors_carry_the_label_as_far_as_it_is_known() {
    let mut talk = two();
    for line in [
        "{bad",
        r#"{"type":"prompt","text":"x"}"#,
        r#"{"type":"prompt","session":null,"text":"x"}"#,
        r#"{"type":"prompt","session":5,"text":"x"}"#,
        r#"{"type":"prompt","session":"a"}"#,
        r#"{"type":"prompt","session":"a","text":" "}"#,
        r#"{"type":"prompt","session":"zz","text":"x"}"#,
        r#"{"type":"close","session":"zz"}"#,
        r#"{"type":"shutdown"}"#,
        r#"{"type":"shutdown","session":"a"}"#,
        r#"{"type":"open","session":"a"}"#,
        r#"{"type":"open","session":""}"#,
        r#"{"type":"open","session":"n","mode":"plan"}"#,
    ] {
        talk.hear(line);
    }
    let (_, frames) = talk.hear_bytes(format!(r#"{{"type":"open","session":"{}"}}"#, "x".repeat(257)).as_bytes());
    assert_eq!(frames[0]["message"], "open.session: expected 1 to 256 bytes");
    talk.log.truncate(talk.log[..talk.log.len() - 1].rfind('\n').unwrap() + 1);
    talk.check(expect![[r#"
        > {bad
        < {"type":"error","session":null,"code":"malformed_json","message":"expected a key in quotes, found 'b' at byte 1","origin":"local"}
        > {"type":"prompt","text":"x"}
        < {"type":"error","session":null,"code":"invalid_message","message":"prompt.session: field required","origin":"local"}
        > {"type":"prompt","session":null,"text":"x"}
        < {"type":"error","session":null,"code":"invalid_message","message":"prompt.session: expected a string","origin":"local"}
        > {"type":"prompt","session":5,"text":"x"}
        < {"type":"error","session":null,"code":"invalid_message","message":"prompt.session: expected a string","origin":"local"}
        > {"type":"prompt","session":"a"}
        < {"type":"error","session":"a","code":"invalid_message","message":"prompt.text: field required","origin":"local"}
        > {"type":"prompt","session":"a","text":" "}
        < {"type":"error","session":"a","code":"empty_prompt","message":"the prompt is blank","origin":"local"}
        > {"type":"prompt","session":"zz","text":"x"}
        < {"type":"error","session":"zz","code":"session_not_found","message":"no open session \"zz\"","origin":"local"}
        > {"type":"close","session":"zz"}
        < {"type":"error","session":"zz","code":"session_not_found","message":"no open session \"zz\"","origin":"local"}
        > {"type":"shutdown"}
        < {"type":"error","session":null,"code":"invalid_message","message":"shutdown.session: field required","origin":"local"}
        > {"type":"shutdown","session":"a"}
        < {"type":"error","session":"a","code":"invalid_message","message":"shutdown.session: expected null","origin":"local"}
        > {"type":"open","session":"a"}
        < {"type":"error","session":"a","code":"invalid_message","message":"open.session: \"a\" is open already","origin":"local"}
        > {"type":"open","session":""}
        < {"type":"error","session":"","code":"invalid_message","message":"open.session: expected 1 to 256 bytes","origin":"local"}
        > {"type":"open","session":"n","mode":"plan"}
        < {"type":"error","session":"n","code":"invalid_message","message":"open.mode: unknown field","origin":"local"}
    "#]]);
}

#[test]
fn close_denies_what_is_open_lets_the_turn_finish_and_frees_the_label() {
    let mut talk = two();
    talk.log_entry(started("t1")).log_entry(permission("r1", "t1"));
    talk.hear(r#"{"type":"close","session":"a"}"#).hear(r#"{"type":"prompt","session":"a","text":"x"}"#);
    talk.log_entry(permission("r2", "t1")).log_entry(ended("t1", Stop::EndTurn));
    talk.note("the other one is idle").hear(r#"{"type":"close","session":"b"}"#);
    talk.note("late events of a closed session are not told").tell(text("t1", "late"));
    talk.hear(r#"{"type":"open","session":"a"}"#);
    talk.check(expect![[r#"
        < {"type":"turn_started","session":"a","turn_id":"t1"}
        < {"type":"permission_request","session":"a","request_id":"r1","tool":"glob_search","active_mode":"prompt","required_mode":"read-only","details":{"tool_input":{"pattern":"**/*.py"},"reason":null}}
        > {"type":"close","session":"a"}
        ! 3 Session("s1") Answer { ask: "r1", answer: Deny(Some("controller disconnected before responding")) }
        > {"type":"prompt","session":"a","text":"x"}
        < {"type":"error","session":"a","code":"shutting_down","message":"the session is closing","origin":"local"}
        < {"type":"permission_request","session":"a","request_id":"r2","tool":"glob_search","active_mode":"prompt","required_mode":"read-only","details":{"tool_input":{"pattern":"**/*.py"},"reason":null}}
        ! 4 Session("s1") Answer { ask: "r2", answer: Deny(Some("controller disconnected before responding")) }
        < {"type":"turn_complete","session":"a","turn_id":"t1","stop_reason":"end_turn","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        < {"type":"closed","session":"a"}
        ! 5 Session("s1") Leave
        # the other one is idle
        > {"type":"close","session":"b"}
        < {"type":"closed","session":"b"}
        ! 6 Session("s2") Leave
        # late events of a closed session are not told
        > {"type":"open","session":"a"}
        ! 7 Current Open New, mode Prompt, gate Proxy, names ToolNames(11 rows), controller "serve"
    "#]]);
}

#[test]
fn what_is_sent_before_ready_or_behind_a_slash_command_waits_in_order() {
    let mut talk = Talk::multi();
    talk.hear(r#"{"type":"open","session":"a"}"#).hear(r#"{"type":"slash","session":"a","command":"clear"}"#);
    talk.hear(r#"{"type":"prompt","session":"a","text":"x"}"#).reply(1, Ok(opened("s1")));
    talk.note("an interrupt does not wait").hear(r#"{"type":"interrupt","session":"a"}"#);
    talk.note("the state of the new session comes before anybody knows whose it is");
    talk.on = "s9";
    let mut moved = state("s9");
    moved.model = "mock/beta".into();
    talk.tell(Event::State(Arc::new(moved)));
    let cleared = cleared("s9");
    talk.reply(2, slash_reply(cleared)).reply(4, turn_reply("t1")).log_entry(started("t1"));
    talk.check(expect![[r#"
        < {"type":"ready","session":null,"protocol":2,"version":"0.1.0"}
        > {"type":"open","session":"a"}
        ! 1 Current Open New, mode Prompt, gate Proxy, names ToolNames(11 rows), controller "serve"
        > {"type":"slash","session":"a","command":"clear"}
        > {"type":"prompt","session":"a","text":"x"}
        < {"type":"ready","session":"a","protocol":2,"version":"0.1.0","session_id":"s1","model":"mock/alpha","mode":"prompt","tools":["read_file","glob_search","mcp__x__y"],"context_window":128000,"max_tokens":16384,"gadgets":["docs"]}
        ! 2 Session("s1") Slash { name: "clear", args: "" }
        # an interrupt does not wait
        > {"type":"interrupt","session":"a"}
        ! 3 Session("s1") Interrupt { turn: None }
        # the state of the new session comes before anybody knows whose it is
        < {"type":"state_changed","session":"a","model":"mock/beta"}
        < {"type":"slash_result","session":"a","command":"clear","text":"new session s9","data":{"ok":true,"session_id":"s9","previous_session_id":"s1"},"clear_session":true,"exit":false}
        ! 4 Session("s9") Prompt { parts: [Text("x")], delivery: RejectIfBusy }
        < {"type":"turn_started","session":"a","turn_id":"t1"}
    "#]]);
}

#[test]
fn messages_that_wait_are_bounded_and_a_failed_open_answers_each() {
    let mut talk = Talk::multi();
    talk.hear(r#"{"type":"open","session":"a"}"#);
    for _ in 0..64 {
        assert_eq!(talk.hear_bytes(br#"{"type":"prompt","session":"a","text":"x"}"#), (0, vec![]));
    }
    let (_, frames) = talk.hear_bytes(br#"{"type":"prompt","session":"a","text":"x"}"#);
    assert_eq!(frames[0]["code"], "queue_full");
    let (_, frames) = talk.told(Event::Reply { tag: vocab::Tag(1), result: Err(Fault::new(FaultKind::Store, "why")) });
    assert_eq!(frames.len(), 65);
    assert_eq!((&frames[0]["code"], &frames[64]["code"]), (&"bootstrap_failed".into(), &"session_not_found".into()));
}

#[test]
fn sessions_are_bounded() {
    let mut talk = Talk::multi();
    for label in 0..64 {
        let (commands, _) = talk.hear_bytes(format!(r#"{{"type":"open","session":"{label}"}}"#).as_bytes());
        assert_eq!(commands, 1);
    }
    let (commands, frames) = talk.hear_bytes(br#"{"type":"open","session":"x"}"#);
    assert_eq!((commands, frames[0]["code"].as_str()), (0, Some("too_many_sessions")));
}

#[test]
fn one_session_has_one_label() {
    let mut talk = two();
    talk.hear(r#"{"type":"open","session":"c","resume":"s1"}"#).reply(3, Ok(opened("s1")));
    talk.check(expect![[r#"
        > {"type":"open","session":"c","resume":"s1"}
        ! 3 Current Open Id("s1"), mode Prompt, gate Proxy, names ToolNames(11 rows), controller "serve"
        < {"type":"error","session":"c","code":"session_busy","message":"session s1 is open as \"a\"","origin":"local"}
    "#]]);
}

#[test]
fn shutdown_and_eof_close_every_session() {
    let mut talk = two();
    talk.log_entry(started("t1"));
    talk.hear(r#"{"type":"shutdown","session":null}"#).hear(r#"{"type":"open","session":"c"}"#);
    talk.log_entry(ended("t1", Stop::EndTurn));
    talk.check(expect![[r#"
        < {"type":"turn_started","session":"a","turn_id":"t1"}
        > {"type":"shutdown","session":null}
        < {"type":"closed","session":"b"}
        ! 3 Session("s2") Leave
        -- ending
        > {"type":"open","session":"c"}
        < {"type":"error","session":"c","code":"shutting_down","message":"the process is shutting down","origin":"local"}
        < {"type":"turn_complete","session":"a","turn_id":"t1","stop_reason":"end_turn","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        < {"type":"closed","session":"a"}
        ! 4 Session("s1") Leave
        -- close Normal
    "#]]);

    let mut piped = Talk::multi();
    piped.log.clear();
    piped.hear(r#"{"type":"open","session":"a"}"#).hear(r#"{"type":"prompt","session":"a","text":"x"}"#);
    piped.part(Parting::Eof).reply(1, Ok(opened("s1"))).reply(2, turn_reply("t1"));
    piped.log_entry(started("t1")).log_entry(ended("t1", Stop::EndTurn));
    piped.check(expect![[r#"
        > {"type":"open","session":"a"}
        ! 1 Current Open New, mode Prompt, gate Proxy, names ToolNames(11 rows), controller "serve"
        > {"type":"prompt","session":"a","text":"x"}
        -- Eof
        < {"type":"ready","session":"a","protocol":2,"version":"0.1.0","session_id":"s1","model":"mock/alpha","mode":"prompt","tools":["read_file","glob_search","mcp__x__y"],"context_window":128000,"max_tokens":16384,"gadgets":["docs"]}
        ! 2 Session("s1") Prompt { parts: [Text("x")], delivery: RejectIfBusy }
        < {"type":"turn_started","session":"a","turn_id":"t1"}
        < {"type":"turn_complete","session":"a","turn_id":"t1","stop_reason":"end_turn","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        < {"type":"closed","session":"a"}
        ! 3 Session("s1") Leave
        -- close Normal
    "#]]);
}

#[test]
fn exit_closes_its_own_session_only() {
    let mut talk = two();
    talk.hear(r#"{"type":"slash","session":"a","command":"exit"}"#);
    let exit = slash("exit", vocab::SlashOutcome::Exit);
    talk.reply(3, slash_reply(exit));
    assert!(talk.out.close.is_none());
    talk.check(expect![[r#"
        > {"type":"slash","session":"a","command":"exit"}
        ! 3 Session("s1") Slash { name: "exit", args: "" }
        < {"type":"slash_result","session":"a","command":"exit","text":"bye","data":null,"clear_session":false,"exit":true}
        < {"type":"closed","session":"a"}
        ! 4 Session("s1") Leave
    "#]]);
}

#[test]
fn a_signal_interrupts_every_running_turn() {
    let mut talk = two();
    talk.log_entry(started("t1")).part(Parting::Asked { by: "sigterm" }).log_entry(ended("t1", Stop::Interrupted));
    talk.check(expect![[r#"
        < {"type":"turn_started","session":"a","turn_id":"t1"}
        -- Asked { by: "sigterm" }
        < {"type":"closed","session":"b"}
        ! 3 Session("s1") Interrupt { turn: None }
        ! 4 Session("s2") Leave
        < {"type":"turn_complete","session":"a","turn_id":"t1","stop_reason":"interrupted","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        < {"type":"closed","session":"a"}
        ! 5 Session("s1") Leave
        -- close Normal
    "#]]);
}

#[test]
fn a_lost_session_frees_its_label_and_the_others_go_on() {
    let mut talk = two();
    talk.tell(Event::Gone { fault: Fault::new(FaultKind::Store, "deleted") });
    talk.hear(r#"{"type":"prompt","session":"a","text":"x"}"#).hear(r#"{"type":"interrupt","session":"b"}"#);
    talk.check(expect![[r#"
        < {"type":"error","session":"a","code":"store_error","message":"deleted","origin":"local"}
        < {"type":"closed","session":"a"}
        > {"type":"prompt","session":"a","text":"x"}
        < {"type":"error","session":"a","code":"session_not_found","message":"no open session \"a\"","origin":"local"}
        > {"type":"interrupt","session":"b"}
        ! 3 Session("s2") Interrupt { turn: None }
    "#]]);
}
