//! Background processes: started, read, written to, stopped, bounded, ended with the session.

use std::time::{Duration, Instant};

use serde_json::json;
use vocab::parts_text;

use crate::shell_support::{ShellSession, alive, eventually, mark, read, start};

#[tokio::test]
async fn a_conversation_with_a_background_process() {
    let session = ShellSession::new();
    let started = Instant::now();
    let id = start(&session, "while read line; do echo got $line; done; echo bye; exit 4").await;
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(read(&session, &id, 0).await, format!("(no new output)\n[{id}: running]"));
    for word in ["one", "two"] {
        let outcome = session.call("bash_write", json!({ "id": id, "input": format!("{word}\n") })).await;
        assert!(!outcome.is_error);
        assert_eq!(read(&session, &id, 3000).await, format!("got {word}\n[{id}: running]"));
    }
    session.call("bash_write", json!({ "id": id, "input": "", "eof": true })).await;
    let mut text = String::new();
    while !text.contains("exit code") {
        text.push_str(&read(&session, &id, 3000).await);
    }
    assert!(text.contains("bye\n") && text.ends_with(&format!("[{id}: exit code 4]")), "{text}");
    let outcome = session.call("bash_write", json!({ "id": id, "input": "x" })).await;
    assert!(outcome.is_error && parts_text(&outcome.parts).contains("closed"));
}

#[tokio::test]
async fn stop_ends_the_process_and_what_it_started() {
    let session = ShellSession::new();
    let mark = mark();
    let id = start(&session, &format!("setsid sleep {mark} & echo up; sleep {mark}")).await;
    assert!(read(&session, &id, 3000).await.starts_with("up\n"));
    eventually(Duration::from_secs(3), "both sleep", || alive(&mark).len() == 2);
    let outcome = session.call("bash_stop", json!({ "id": id })).await;
    assert!(!outcome.is_error && parts_text(&outcome.parts).contains("killed by signal 15"));
    assert!(alive(&mark).is_empty());
}

#[tokio::test]
async fn reading_without_an_id_lists_and_unknown_ids_are_named() {
    let session = ShellSession::new();
    let list = |outcome: vocab::Outcome| parts_text(&outcome.parts);
    assert_eq!(list(session.call("bash_read", json!({})).await), "No background processes.");
    let id = start(&session, "sleep 60").await;
    let line = list(session.call("bash_read", json!({})).await);
    assert!(line.starts_with(&format!("{id}: running: sleep 60 (started 2")), "{line}");
    for tool in ["bash_read", "bash_stop"] {
        let outcome = session.call(tool, json!({ "id": "bash_99" })).await;
        assert!(outcome.is_error && parts_text(&outcome.parts).contains(&format!("known: {id}")));
    }
}

#[tokio::test]
async fn the_number_of_processes_is_bounded_and_ended_ones_make_room() {
    let session = ShellSession::new();
    let mut ids = Vec::new();
    for _ in 0..16 {
        ids.push(start(&session, "sleep 60").await);
    }
    let input = json!({ "command": "sleep 60", "run_in_background": true });
    let outcome = session.call("bash", input.clone()).await;
    assert!(outcome.is_error && parts_text(&outcome.parts).contains("16 background processes"));
    let (text, _) = session.bash("sleep 60 & echo done").await;
    assert!(text.contains("were ended: 16 background"), "{text}");
    session.call("bash_stop", json!({ "id": ids[3] })).await;
    assert!(!session.call("bash", input).await.is_error);
}

#[tokio::test]
async fn dropping_the_tools_ends_the_processes() {
    let session = ShellSession::new();
    let mark = mark();
    let id = start(&session, &format!("trap '' TERM; setsid sleep {mark} & echo up; sleep {mark}; sleep {mark}")).await;
    assert!(read(&session, &id, 3000).await.starts_with("up\n"));
    // Seen running first: a process that has not started yet would pass for one that has ended.
    eventually(Duration::from_secs(3), "both sleep", || alive(&mark).len() == 2);
    drop(session);
    let start = Instant::now();
    while !alive(&mark).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(4));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_chatty_process_keeps_only_its_newest_output() {
    let session = ShellSession::new();
    let id = start(&session, "seq 1 200000; echo done").await;
    let waiting = Instant::now();
    while !parts_text(&session.call("bash_read", json!({})).await.parts).contains("exit code 0") {
        assert!(waiting.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let first = read(&session, &id, 0).await;
    assert!(first.contains("older bytes were dropped") && first.contains("more bytes wait; read again"), "{first}");
    let mut last = first;
    for _ in 0..10 {
        last = read(&session, &id, 0).await;
        if !last.contains("more bytes wait") {
            break;
        }
    }
    assert!(last.ends_with(&format!("199999\n200000\ndone\n[{id}: exit code 0]")), "{last}");
}

#[tokio::test]
async fn a_process_that_does_not_read_cannot_block_us() {
    let session = ShellSession::new();
    let id = start(&session, "sleep 60").await;
    let outcome = session.call("bash_write", json!({ "id": id, "input": "x".repeat(200_000) })).await;
    assert!(outcome.is_error && parts_text(&outcome.parts).contains("took only 65536 bytes"));
}
