//! The whole family: listing, paging, writing to the dead, stopping the stubborn, and who may do what.

use std::time::{Duration, Instant};

use serde_json::json;
use vocab::{Json, Required, parts_text};

use crate::shell_support::{ShellSession, alive, details, listed, mark, read, read_until, start, start_with, wait_for};

#[tokio::test]
async fn the_list_says_what_runs_how_it_ended_and_what_is_unread() {
    let session = ShellSession::new();
    let empty = session.call("bash_list", json!({})).await;
    assert_eq!(parts_text(&empty.parts), "No background processes.");
    assert_eq!(details(&empty), json!({ "processes": [] }));
    let sleeper = start(&session, "sleep 600").await;
    let failed = start(&session, "printf 12345; exit 3").await;
    let shot = start(&session, "kill -9 $$").await;
    let drawn = start_with(&session, "sleep 600", json!({ "pty": true, "cols": 100, "rows": 30 })).await;
    for id in [&failed, &shot] {
        let begun = Instant::now();
        while listed(&session, id).await["state"] == "running" {
            assert!(begun.elapsed() < Duration::from_secs(5));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let row = listed(&session, &sleeper).await;
    assert_eq!((&row["state"], &row["command"], &row["pty"]), (&json!("running"), &json!("sleep 600"), &json!(null)));
    assert!(row["startedAt"].as_str().unwrap().ends_with('Z'));
    let row = listed(&session, &failed).await;
    assert_eq!((&row["state"], &row["exitCode"], &row["unreadBytes"]), (&json!("exited"), &json!(3), &json!(5)));
    let row = listed(&session, &shot).await;
    assert_eq!((&row["state"], &row["exitCode"], &row["signal"]), (&json!("killed"), &json!(null), &json!(9)));
    assert_eq!(listed(&session, &drawn).await["pty"], json!({ "cols": 100, "rows": 30 }));
    let text = parts_text(&session.call("bash_list", json!({})).await.parts);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[1].starts_with(&format!("{failed}: exit code 3: printf")) && lines[1].contains("5 bytes unread"));
    assert!(lines[3].ends_with("0 bytes unread, terminal 100x30)"), "{text}");
}

#[tokio::test]
async fn output_is_paged_and_nothing_is_read_twice() {
    let session = ShellSession::new();
    let id = start(&session, "seq 1 400; echo end").await;
    wait_gone(&session, &id).await;
    let mut all = String::new();
    let mut pages = 0;
    loop {
        let page = session.call("bash_read", json!({ "id": id, "max_bytes": 500 })).await;
        let text = parts_text(&page.parts);
        assert!(text.len() < 700, "{text}");
        pages += 1;
        all.push_str(text.split("\n[").next().unwrap());
        if details(&page)["unreadBytes"] == 0 {
            break;
        }
    }
    let expected: String = (1..=400).map(|n| format!("{n}\n")).collect();
    assert_eq!((all.replace('\n', ""), pages), ((expected + "end").replace('\n', ""), 3));
}

async fn wait_gone(session: &ShellSession, id: &str) {
    let begun = Instant::now();
    while listed(session, id).await["state"] == "running" {
        assert!(begun.elapsed() < Duration::from_secs(120));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn what_ended_by_itself_makes_room_and_the_oldest_of_it_is_forgotten() {
    let session = ShellSession::new();
    for n in 1..=40 {
        let id = start(&session, "true").await;
        assert_eq!(id, format!("bash_{n}"));
        wait_gone(&session, &id).await;
    }
    let list = details(&session.call("bash_list", json!({})).await);
    let ids: Vec<&str> = list["processes"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), ids[0], ids[31]), (32, "bash_9", "bash_40"));
}

#[tokio::test]
async fn a_read_that_waits_ends_when_the_process_does() {
    let session = ShellSession::new();
    let id = start(&session, "read line; exit 7").await;
    let waiting = session.tool("bash_read").run(Json::trusted(json!({ "id": id, "wait_ms": 60_000 }).to_string()), {
        vocab::CallContext {
            session: "s".into(),
            call: "c".into(),
            granted: Required::ReadOnly,
            progress: std::sync::Arc::new(|_| {}),
            todos: std::sync::Arc::from([]),
            editor_requests: None,
            children: None,
            processes: None,
        }
    });
    let waiting = tokio::spawn(waiting);
    tokio::task::yield_now().await;
    let begun = Instant::now();
    crate::shell_support::write(&session, json!({ "id": id, "input": "", "eof": true })).await;
    let outcome = waiting.await.unwrap();
    assert_eq!(parts_text(&outcome.parts), format!("(no new output)\n[{id}: exit code 7]"));
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn the_dead_take_no_input_no_size_and_a_second_stop() {
    let session = ShellSession::new();
    for more in [json!({}), json!({ "pty": true })] {
        let id = start_with(&session, "exit 0", more).await;
        wait_gone(&session, &id).await;
        let outcome = session.call("bash_write", json!({ "id": id, "input": "x" })).await;
        let text = parts_text(&outcome.parts);
        assert!(outcome.is_error && text.contains("is closed (exit code 0)"), "{text}");
        let outcome = session.call("bash_resize", json!({ "id": id, "cols": 10, "rows": 10 })).await;
        let text = parts_text(&outcome.parts);
        assert!(outcome.is_error && text.contains("no terminal any more (exit code 0)"), "{text}");
        let outcome = session.call("bash_stop", json!({ "id": id })).await;
        assert_eq!(parts_text(&outcome.parts), format!("(no new output)\n[{id}: exit code 0]"));
        assert!(!outcome.is_error);
    }
}

#[tokio::test]
async fn those_who_ignore_term_are_killed() {
    let session = ShellSession::new();
    let mark = mark();
    let line = format!("trap '' TERM HUP INT; echo up; while :; do sleep {mark}; done");
    let ids = [start(&session, &line).await, start_with(&session, &line, json!({ "pty": true })).await];
    for id in &ids {
        read_until(&session, id, "up").await;
    }
    let begun = Instant::now();
    let stopping = ids.each_ref().map(|id| session.call("bash_stop", json!({ "id": id })));
    let [pipe, terminal] = stopping;
    for outcome in <[_; 2]>::from(tokio::join!(pipe, terminal)) {
        let text = parts_text(&outcome.parts);
        assert!(!outcome.is_error && text.contains("killed by signal 9"), "{text}");
    }
    assert!(begun.elapsed() > Duration::from_millis(1500), "they were given time: {:?}", begun.elapsed());
    assert!(alive(&mark).is_empty());
}

#[tokio::test]
async fn a_gibibyte_fits_into_the_ring() {
    let session = ShellSession::new();
    let before = resident_bytes();
    let begun = Instant::now();
    let id = start(&session, "head -c 1073741824 /dev/zero | tr '\\0' x; echo; echo end").await;
    wait_gone(&session, &id).await;
    let took = begun.elapsed();
    let row = listed(&session, &id).await;
    let (unread, dropped) = (row["unreadBytes"].as_u64().unwrap(), row["droppedBytes"].as_u64().unwrap());
    assert_eq!((unread, unread + dropped), (256 * 1024, (1 << 30) + 5));
    // Other tests share this process; what they need is far below, and without a bound it would be a gibibyte.
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 200 << 20, "grew by {grown} bytes");
    println!("1 GiB through the ring: {took:?}, {} KiB more resident", grown >> 10);
    let first = session.call("bash_read", json!({ "id": id })).await;
    assert_eq!(details(&first)["droppedBytes"], dropped);
    assert!(parts_text(&first.parts).starts_with(&format!("[{dropped} older bytes were dropped")));
    let rest = read_until(&session, &id, "end").await;
    assert!(rest.ends_with(&format!("\nend\n[{id}: exit code 0]")));
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn looking_needs_nothing_and_acting_needs_what_the_start_needed() {
    let session = ShellSession::new();
    let harmless = start(&session, "cat").await;
    let mighty = start(&session, "python3 -c 'import sys; sys.stdin.read()'").await;
    let plan = |tool: &str, id: &str| {
        let input = json!({ "id": id, "input": "x", "cols": 10, "rows": 10 });
        session.tool(tool).plan(&Json::trusted(input.to_string())).unwrap().required
    };
    for tool in ["bash_list", "bash_read"] {
        assert_eq!(plan(tool, &mighty), Required::ReadOnly, "{tool}");
    }
    for tool in ["bash_write", "bash_resize", "bash_stop"] {
        assert_eq!(plan(tool, &harmless), Required::ReadOnly, "{tool}");
        assert_eq!(plan(tool, &mighty), Required::DangerFullAccess, "{tool}");
        let input = json!({ "id": mighty, "input": "x", "cols": 10, "rows": 10 });
        let outcome = session.call_as(tool, input, Required::WorkspaceWrite).await;
        let text = parts_text(&outcome.parts);
        assert!(outcome.is_error && text.contains("as its start did; nothing was done"), "{text}");
    }
    assert_eq!(listed(&session, &mighty).await["state"], "running");
    let input = json!({ "id": harmless, "input": "hello\n" });
    assert!(!session.call_as("bash_write", input, Required::ReadOnly).await.is_error);
    assert!(read(&session, &harmless, 3000).await.starts_with("hello\n"));
}

#[tokio::test]
async fn a_terminal_needs_full_access_whatever_runs_on_it() {
    let session = ShellSession::new();
    let plan =
        |input: serde_json::Value| session.tool("bash").plan(&Json::trusted(input.to_string())).unwrap().required;
    let mut input = json!({ "command": "cat", "run_in_background": true });
    assert_eq!(plan(input.clone()), Required::ReadOnly);
    input["pty"] = true.into();
    assert_eq!(plan(input.clone()), Required::DangerFullAccess);
    let outcome = session.call_as("bash", input, Required::WorkspaceWrite).await;
    assert!(outcome.is_error && parts_text(&outcome.parts).contains("it was not run"));
}

#[tokio::test]
async fn sixteen_terminals_are_enough_and_all_end_with_the_session() {
    let session = ShellSession::new();
    let mark = mark();
    let terminal = json!({ "pty": true });
    for _ in 0..16 {
        start_with(&session, &format!("trap '' HUP TERM; sleep {mark}; sleep {mark}"), terminal.clone()).await;
    }
    let input = json!({ "command": "sleep 1", "run_in_background": true, "pty": true });
    let outcome = session.call("bash", input).await;
    assert!(outcome.is_error && parts_text(&outcome.parts).contains("16 background processes"));
    wait_for(Duration::from_secs(10), || alive(&mark).len() == 16).await;
    drop(session);
    wait_for(Duration::from_secs(4), || alive(&mark).is_empty()).await;
}

#[tokio::test]
async fn a_stop_right_after_the_start_is_heard() {
    let session = ShellSession::new();
    let mark = mark();
    for round in 0..20 {
        // The leash may not even have read what to run.
        let id = start_with(&session, &format!("sleep {mark}"), json!({ "pty": round % 2 == 0 })).await;
        let outcome = session.call("bash_stop", json!({ "id": id })).await;
        assert!(!outcome.is_error, "round {round}: {}", parts_text(&outcome.parts));
    }
    assert!(alive(&mark).is_empty());
}
