//! Files and terminals of the client, step by step, and dropped at each of them.

use std::path::PathBuf;

use expect_test::expect;
use serde_json::json;
use vocab::{EditorEvent, EditorRequest, EditorRequestKind, Event, Fault, FaultKind, Reply, Stop, Verb};

use crate::talk::{AcpTalk, opened};

fn editor_request(talk: &mut AcpTalk, id: u64, kind: EditorRequestKind) {
    talk.tell("c1", Event::Editor(EditorEvent::Request(EditorRequest { id, call: "k1".into(), kind })));
}
fn read(talk: &mut AcpTalk, id: u64) {
    editor_request(talk, id, EditorRequestKind::ReadText { path: "/w/a.txt".into() });
}
fn write(talk: &mut AcpTalk, id: u64) {
    editor_request(talk, id, EditorRequestKind::WriteText { path: "/w/a.txt".into(), content: "text\n".into() });
}
fn run(talk: &mut AcpTalk, id: u64) {
    let (program, args) = (PathBuf::from("bash"), vec!["-c".into(), "make test".into()]);
    let env = vec![("TERM".into(), "dumb".into())];
    editor_request(talk, id, EditorRequestKind::Run { program, args, cwd: "/w".into(), env, output_bytes_max: 1000 });
}
fn drop_it(talk: &mut AcpTalk, editor_request: u64) {
    talk.tell("c1", Event::Editor(EditorEvent::Dropped { editor_request }));
}

fn client() -> AcpTalk {
    let mut talk = AcpTalk::with(json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true }));
    talk.begin("t1");
    talk
}

#[test]
fn what_a_client_can_do_is_offered_for_each_session() {
    let mut talk = AcpTalk::new();
    talk.ask("initialize", json!({ "clientCapabilities": { "fs": { "readTextFile": true }, "terminal": true } }));
    talk.ask("session/new", json!({ "cwd": "/w" })).reply(Ok(opened("c1")));
    let offers = |talk: &AcpTalk| -> Vec<String> {
        talk.log.lines().filter(|line| line.contains("OfferEditor")).map(str::to_owned).collect()
    };
    let wanted = "! OfferEditor(EditorOffer { read_text: true, write_text: false, terminal: true })";
    assert_eq!(offers(&talk), [wanted]);
    // Nothing is offered by a client that can do nothing.
    let mut talk = AcpTalk::new();
    talk.ask("initialize", json!({ "clientCapabilities": {} }));
    talk.ask("session/new", json!({ "cwd": "/w" })).reply(Ok(opened("c1")));
    assert_eq!(offers(&talk), [""; 0]);
}

#[test]
fn text_is_read_and_written_by_the_client() {
    let mut talk = client();
    read(&mut talk, 7);
    talk.answer(0, json!({ "content": "unsaved\n" }));
    write(&mut talk, 8);
    talk.answer(1, json!(null));
    talk.check(expect![[r#"
        < 0 fs/read_text_file /w/a.txt
        > answer 0 {"content":"unsaved\n"}
        ! EditorReplied { editor_request: 7, result: Text("unsaved\n") }
        < 1 fs/write_text_file {"content":"text\n","path":"/w/a.txt"}
        > answer 1 null
        ! EditorReplied { editor_request: 8, result: Written }
    "#]]);
}

#[test]
fn a_client_that_cannot_after_all_is_believed() {
    let mut talk = client();
    read(&mut talk, 1);
    talk.fail(0, -32002);
    read(&mut talk, 2);
    talk.fail(1, -32603);
    read(&mut talk, 3);
    talk.answer(2, json!({}));
    write(&mut talk, 4);
    talk.fail(3, -32601);
    run(&mut talk, 5);
    talk.fail(4, -32601);
    run(&mut talk, 6);
    talk.answer(5, json!({}));
    talk.check(expect![[r#"
        < 0 fs/read_text_file /w/a.txt
        > answer 0 error -32002
        ! EditorReplied { editor_request: 1, result: NotFound }
        < 1 fs/read_text_file /w/a.txt
        > answer 1 error -32603
        ! EditorReplied { editor_request: 2, result: Failed("it cannot") }
        < 2 fs/read_text_file /w/a.txt
        > answer 2 {}
        ! EditorReplied { editor_request: 3, result: Failed("the client sent no content") }
        < 3 fs/write_text_file {"content":"text\n","path":"/w/a.txt"}
        > answer 3 error -32601
        ! EditorReplied { editor_request: 4, result: Failed("it cannot") }
        < 4 terminal/create bash ["-c", "make test"] in /w with TERM=dumb up to 1000 bytes
        > answer 4 error -32601
        ! EditorReplied { editor_request: 5, result: Failed("it cannot") }
        < 5 terminal/create bash ["-c", "make test"] in /w with TERM=dumb up to 1000 bytes
        > answer 5 {}
        ! EditorReplied { editor_request: 6, result: Failed("the client sent no terminal") }
    "#]]);
}

#[test]
fn a_command_runs_in_a_terminal_that_is_shown_and_released() {
    let mut talk = client();
    run(&mut talk, 1);
    talk.answer(0, json!({ "terminalId": "term-1" })).answer(1, json!({ "exitCode": 2, "signal": null }));
    let exit = json!({ "exitCode": 2, "signal": null });
    talk.answer(2, json!({ "output": "red\n", "truncated": true, "exitStatus": exit })).answer(3, json!({}));
    talk.check(expect![[r#"
        < 0 terminal/create bash ["-c", "make test"] in /w with TERM=dumb up to 1000 bytes
        > answer 0 {"terminalId":"term-1"}
        < c1 call update t1-k1 in_progress terminal term-1
        < 1 terminal/wait_for_exit term-1
        > answer 1 {"exitCode":2,"signal":null}
        < 2 terminal/output term-1
        > answer 2 {"exitStatus":{"exitCode":2,"signal":null},"output":"red\n","truncated":true}
        < 3 terminal/release term-1
        ! EditorReplied { editor_request: 1, result: Ran { output: "red\n", truncated: true, exit_code: Some(2), signal: None } }
        > answer 3 {}
    "#]]);
}

#[test]
fn a_terminal_that_fails_on_the_way_is_killed_and_released() {
    let mut talk = client();
    run(&mut talk, 1);
    talk.answer(0, json!({ "terminalId": "term-1" })).fail(1, -32603).answer(2, json!({})).fail(3, -32002);
    run(&mut talk, 2);
    talk.answer(4, json!({ "terminalId": "term-2" })).answer(5, json!({ "signal": "SIGKILL" })).fail(6, -32603);
    talk.check(expect![[r#"
        < 0 terminal/create bash ["-c", "make test"] in /w with TERM=dumb up to 1000 bytes
        > answer 0 {"terminalId":"term-1"}
        < c1 call update t1-k1 in_progress terminal term-1
        < 1 terminal/wait_for_exit term-1
        > answer 1 error -32603
        < 2 terminal/kill term-1
        < 3 terminal/release term-1
        ! EditorReplied { editor_request: 1, result: Failed("it cannot") }
        > answer 2 {}
        > answer 3 error -32002
        < 4 terminal/create bash ["-c", "make test"] in /w with TERM=dumb up to 1000 bytes
        > answer 4 {"terminalId":"term-2"}
        < c1 call update t1-k1 in_progress terminal term-2
        < 5 terminal/wait_for_exit term-2
        > answer 5 {"signal":"SIGKILL"}
        < 6 terminal/output term-2
        > answer 6 error -32603
        < 7 terminal/kill term-2
        < 8 terminal/release term-2
        ! EditorReplied { editor_request: 2, result: Failed("it cannot") }
    "#]]);
}

#[test]
fn whatever_is_dropped_ends_at_the_client_too() {
    let mut talk = client();
    // A file: the question is taken back, and its answer passed over.
    read(&mut talk, 1);
    drop_it(&mut talk, 1);
    talk.answer(0, json!({ "content": "late" }));
    // A terminal that is on its way is ended when it is there, and one that never comes is nothing.
    run(&mut talk, 2);
    drop_it(&mut talk, 2);
    talk.answer(1, json!({ "terminalId": "term-1" }));
    run(&mut talk, 3);
    drop_it(&mut talk, 3);
    talk.fail(4, -32603);
    // One that runs.
    run(&mut talk, 4);
    talk.answer(5, json!({ "terminalId": "term-2" }));
    drop_it(&mut talk, 4);
    talk.answer(6, json!({ "exitCode": 0 }));
    // One whose output is being fetched.
    run(&mut talk, 5);
    talk.answer(9, json!({ "terminalId": "term-3" })).answer(10, json!({ "exitCode": 0 }));
    drop_it(&mut talk, 5);
    talk.answer(11, json!({ "output": "late" }));
    // One that nobody knows.
    drop_it(&mut talk, 77);
    talk.check(expect![[r#"
        < 0 fs/read_text_file /w/a.txt
        < $/cancel_request {"requestId":0}
        > answer 0 {"content":"late"}
        < 1 terminal/create bash ["-c", "make test"] in /w with TERM=dumb up to 1000 bytes
        > answer 1 {"terminalId":"term-1"}
        < 2 terminal/kill term-1
        < 3 terminal/release term-1
        < 4 terminal/create bash ["-c", "make test"] in /w with TERM=dumb up to 1000 bytes
        > answer 4 error -32603
        < 5 terminal/create bash ["-c", "make test"] in /w with TERM=dumb up to 1000 bytes
        > answer 5 {"terminalId":"term-2"}
        < c1 call update t1-k1 in_progress terminal term-2
        < 6 terminal/wait_for_exit term-2
        < 7 terminal/kill term-2
        < 8 terminal/release term-2
        > answer 6 {"exitCode":0}
        < 9 terminal/create bash ["-c", "make test"] in /w with TERM=dumb up to 1000 bytes
        > answer 9 {"terminalId":"term-3"}
        < c1 call update t1-k1 in_progress terminal term-3
        < 10 terminal/wait_for_exit term-3
        > answer 10 {"exitCode":0}
        < 11 terminal/output term-3
        < 12 terminal/kill term-3
        < 13 terminal/release term-3
        > answer 11 {"output":"late"}
    "#]]);
}

#[test]
fn a_terminal_that_comes_for_a_session_that_is_closed_is_ended() {
    let mut talk = client();
    run(&mut talk, 1);
    drop_it(&mut talk, 1);
    talk.ask("session/close", json!({ "sessionId": "c1" })).end("t1", Stop::Interrupted);
    talk.reply_to(|verb| matches!(verb, Verb::Leave), Ok(Reply::Done));
    talk.log.clear();
    talk.answer(0, json!({ "terminalId": "term-1" }));
    talk.check(expect![[r#"
        > answer 0 {"terminalId":"term-1"}
        < 1 terminal/kill term-1
        < 2 terminal/release term-1
    "#]]);
}

#[test]
fn a_session_that_is_lost_takes_back_what_its_client_does() {
    let mut talk = client();
    run(&mut talk, 1);
    talk.answer(0, json!({ "terminalId": "term-1" })).log.clear();
    talk.tell("c1", Event::Gone { fault: Fault::new(FaultKind::Store, "the disk is full") });
    talk.check(expect![[r#"
        < 2 terminal/kill term-1
        < 3 terminal/release term-1
        < 3 ! -32603 the disk is full
    "#]]);
}
