//! How a conversation ends: nothing is lost, nothing hangs.

use expect_test::expect;
use vocab::{Fault, FaultKind, Stop};
use wire::Parting;

use crate::talk::{
    Talk, busy, ended, opened, options, permission, renamed, slash, slash_failed, slash_reply, started, text,
    turn_reply,
};

fn in_turn() -> Talk {
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"prompt","text":"a"}"#).reply(2, turn_reply("t1")).log_entry(started("t1"));
    talk.log.clear();
    talk
}

#[test]
fn an_idle_process_ends_at_once_and_silently() {
    for why in [Parting::Eof, Parting::Deaf, Parting::Asked { by: "sigterm" }, Parting::GraceOver] {
        let mut talk = Talk::open();
        talk.part(why);
        assert_eq!(talk.log, format!("-- {why:?}\n-- close Normal\n"));
    }
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"shutdown"}"#);
    talk.check(expect![[r#"
        > {"type":"shutdown"}
        -- ending
        -- close Normal
    "#]]);
}

#[test]
fn shutdown_lets_the_turn_finish_and_honours_only_interrupt() {
    let mut talk = in_turn();
    talk.log_entry(permission("r1", "t1"));
    talk.hear(r#"{"type":"shutdown"}"#);
    talk.hear(r#"{"type":"prompt","text":"b"}"#);
    talk.hear(r#"{"type":"slash","command":"status"}"#);
    talk.hear(r#"{"type":"permission_response","request_id":"r1","decision":"allow"}"#);
    talk.hear(r#"{"type":"shutdown"}"#);
    talk.hear(r#"{bad"#);
    talk.hear(r#"{"type":"interrupt"}"#);
    talk.tell(text("t1", "bye")).log_entry(ended("t1", Stop::Interrupted));
    talk.check(expect![[r#"
        < {"type":"permission_request","request_id":"r1","tool":"glob_search","active_mode":"prompt","required_mode":"read-only","details":{"tool_input":{"pattern":"**/*.py"},"reason":null}}
        > {"type":"shutdown"}
        ! 3 Current Answer { ask: "r1", answer: Deny(Some("controller disconnected before responding")) }
        -- ending
        > {"type":"prompt","text":"b"}
        < {"type":"error","code":"shutting_down","message":"the process is shutting down","origin":"local"}
        > {"type":"slash","command":"status"}
        < {"type":"error","code":"shutting_down","message":"the process is shutting down","origin":"local"}
        > {"type":"permission_response","request_id":"r1","decision":"allow"}
        < {"type":"error","code":"shutting_down","message":"the process is shutting down","origin":"local"}
        > {"type":"shutdown"}
        < {"type":"error","code":"shutting_down","message":"the process is shutting down","origin":"local"}
        > {bad
        < {"type":"error","code":"malformed_json","message":"expected a key in quotes, found 'b' at byte 1","origin":"local"}
        > {"type":"interrupt"}
        ! 4 Current Interrupt { turn: None }
        < {"type":"text_delta","turn_id":"t1","delta":"bye"}
        < {"type":"turn_complete","turn_id":"t1","stop_reason":"interrupted","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        -- close Normal
    "#]]);
}

#[test]
fn a_prompt_that_is_on_its_way_is_waited_for() {
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"prompt","text":"a"}"#).part(Parting::Eof);
    talk.note("accepted").reply(2, turn_reply("t1"));
    talk.note("started").log_entry(started("t1")).log_entry(ended("t1", Stop::EndTurn));
    talk.check(expect![[r#"
        > {"type":"prompt","text":"a"}
        ! 2 Current Prompt { parts: [Text("a")], delivery: RejectIfBusy }
        -- Eof
        # accepted
        # started
        < {"type":"turn_started","turn_id":"t1"}
        < {"type":"turn_complete","turn_id":"t1","stop_reason":"end_turn","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        -- close Normal
    "#]]);
}

#[test]
fn a_turn_that_is_over_before_its_prompt_is_answered_does_not_hang() {
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"prompt","text":"a"}"#).part(Parting::Eof);
    talk.log_entry(started("t1")).log_entry(ended("t1", Stop::EndTurn));
    assert!(talk.out.close.is_none(), "the answer is still on its way");
    talk.reply(2, turn_reply("t1"));
    assert!(talk.out.close.is_some());
}

#[test]
fn a_refused_prompt_is_told_before_the_end() {
    let mut talk = in_turn();
    talk.hear(r#"{"type":"prompt","text":"b"}"#).part(Parting::Eof);
    talk.log_entry(ended("t1", Stop::EndTurn)).note("not yet").reply(3, busy());
    talk.check(expect![[r#"
        > {"type":"prompt","text":"b"}
        ! 3 Current Prompt { parts: [Text("b")], delivery: RejectIfBusy }
        -- Eof
        < {"type":"turn_complete","turn_id":"t1","stop_reason":"end_turn","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        # not yet
        < {"type":"error","code":"turn_in_progress","message":"a turn is in progress","origin":"local"}
        -- close Normal
    "#]]);
}

#[test]
fn a_slash_result_is_told_before_the_end() {
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"slash","command":"status"}"#).part(Parting::Eof);
    talk.note("not yet").reply(2, slash_reply(slash("status", renamed("x"))));
    talk.check(expect![[r#"
        > {"type":"slash","command":"status"}
        ! 2 Current Slash { name: "status", args: "" }
        -- Eof
        # not yet
        < {"type":"slash_result","command":"status","text":"title: x","data":{"ok":true,"title":"x"},"clear_session":false,"exit":false}
        -- close Normal
    "#]]);
}

#[test]
fn an_end_before_ready_still_says_ready() {
    let mut talk = Talk::new(options());
    talk.log.clear();
    talk.part(Parting::Eof).note("not yet").reply(1, Ok(opened("s1")));
    talk.check(expect![[r#"
        -- Eof
        # not yet
        < {"type":"ready","protocol":1,"version":"0.1.0","session_id":"s1","model":"mock/alpha","mode":"prompt","tools":["read_file","glob_search","mcp__x__y"],"context_window":128000,"max_tokens":16384,"gadgets":["docs"]}
        -- close Normal
    "#]]);
}

#[test]
fn an_end_before_a_failed_start_is_told_in_its_close() {
    let mut talk = Talk::new(options());
    talk.part(Parting::Eof).reply(1, Err(Fault::new(FaultKind::NotFound, "no session x")));
    assert_eq!(talk.out.close.as_ref().map(|close| close.code), Some(wire::CloseCode::PolicyViolation));
}

#[test]
fn exit_is_a_result_and_then_a_shutdown() {
    let mut talk = in_turn();
    talk.log_entry(permission("r1", "t1"));
    talk.hear(r#"{"type":"slash","command":"exit"}"#);
    talk.note("nothing overtakes an exit").hear(r#"{"type":"prompt","text":"b"}"#);
    let exit = slash("exit", vocab::SlashOutcome::Exit);
    talk.reply(3, slash_reply(exit)).log_entry(ended("t1", Stop::EndTurn));
    talk.check(expect![[r#"
        < {"type":"permission_request","request_id":"r1","tool":"glob_search","active_mode":"prompt","required_mode":"read-only","details":{"tool_input":{"pattern":"**/*.py"},"reason":null}}
        > {"type":"slash","command":"exit"}
        ! 3 Current Slash { name: "exit", args: "" }
        # nothing overtakes an exit
        > {"type":"prompt","text":"b"}
        < {"type":"slash_result","command":"exit","text":"bye","data":null,"clear_session":false,"exit":true}
        < {"type":"error","code":"shutting_down","message":"the session is closing","origin":"local"}
        ! 4 Current Answer { ask: "r1", answer: Deny(Some("controller disconnected before responding")) }
        -- ending
        < {"type":"turn_complete","turn_id":"t1","stop_reason":"end_turn","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        -- close Normal
    "#]]);
}

#[test]
fn an_exit_that_was_refused_is_forgotten() {
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"slash","command":"quit","args":"now"}"#).hear(r#"{"type":"prompt","text":"b"}"#);
    talk.reply(2, slash_reply(slash_failed("quit", vocab::SlashCode::Usage)));
    talk.check(expect![[r#"
        > {"type":"slash","command":"quit","args":"now"}
        ! 2 Current Slash { name: "quit", args: "now" }
        > {"type":"prompt","text":"b"}
        < {"type":"slash_result","command":"quit","text":"m","data":{"ok":false,"error":"usage","message":"m"},"clear_session":false,"exit":false}
        ! 3 Current Prompt { parts: [Text("b")], delivery: RejectIfBusy }
    "#]]);
}

#[test]
fn a_signal_interrupts_the_turn_and_waits_for_its_end() {
    let mut talk = in_turn();
    talk.part(Parting::Asked { by: "sigterm" }).log_entry(ended("t1", Stop::Interrupted));
    talk.check(expect![[r#"
        -- Asked { by: "sigterm" }
        ! 3 Current Interrupt { turn: None }
        < {"type":"turn_complete","turn_id":"t1","stop_reason":"interrupted","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        -- close Normal
    "#]]);
}

#[test]
fn when_the_grace_is_over_the_turn_is_interrupted() {
    let mut talk = in_turn();
    talk.part(Parting::Eof).part(Parting::GraceOver).log_entry(ended("t1", Stop::Interrupted));
    talk.check(expect![[r#"
        -- Eof
        -- GraceOver
        ! 3 Current Interrupt { turn: None }
        < {"type":"turn_complete","turn_id":"t1","stop_reason":"interrupted","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        -- close Normal
    "#]]);
}

#[test]
fn a_second_signal_waits_for_nothing() {
    let mut talk = in_turn();
    talk.part(Parting::Asked { by: "sigterm" });
    assert!(talk.out.close.is_none());
    talk.part(Parting::Asked { by: "sigterm" });
    assert!(talk.out.close.is_some());
}

#[test]
fn the_grace_period_does_not_wait_for_a_slash_command() {
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"slash","command":"compact"}"#).part(Parting::Eof);
    assert!(talk.out.close.is_none());
    talk.part(Parting::GraceOver);
    assert!(talk.out.close.is_some());
}

#[test]
fn a_deaf_controller_gets_no_lines_but_its_turn_finishes() {
    let mut talk = in_turn();
    talk.log_entry(permission("r1", "t1")).part(Parting::Deaf);
    talk.tell(text("t1", "unheard")).log_entry(permission("r2", "t1")).log_entry(ended("t1", Stop::EndTurn));
    talk.check(expect![[r#"
        < {"type":"permission_request","request_id":"r1","tool":"glob_search","active_mode":"prompt","required_mode":"read-only","details":{"tool_input":{"pattern":"**/*.py"},"reason":null}}
        -- Deaf
        ! 3 Current Answer { ask: "r1", answer: Deny(Some("controller disconnected before responding")) }
        ! 4 Current Answer { ask: "r2", answer: Deny(Some("controller disconnected before responding")) }
        -- close Normal
    "#]]);
}
