//! Servers that do not start, die, hang, or are started beside others.

use std::time::Duration;

use vocab::*;

use crate::support::{Scene, call, is_alive, run, text, until};

async fn fault(kind: &str) -> Fault {
    let scene = Scene::new();
    scene.kind(kind).await.err().unwrap_or_else(|| panic!("{kind} was taken"))
}

#[tokio::test]
async fn a_server_that_ends_at_once_is_told_with_its_last_lines() {
    let fault = fault("crash").await;
    assert!(fault.message.starts_with("exited with code 7\nline 10\n"), "{}", fault.message);
    assert!(fault.message.ends_with("\nline 59"), "{}", fault.message);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let scene = Scene::new();
    let way = |command: &str| McpTransport::Process { command: command.into(), args: Vec::new(), env: Vec::new() };
    let start = async |command| {
        scene.start(McpServer { name: "x".into(), way: way(command), trust_hints: false }).await.err().unwrap()
    };
    let fault = start("/nowhere/server").await;
    assert!(fault.message.starts_with("cannot be started: /nowhere/server: "), "{fault:?}");
    assert!(start("npx some-server").await.hints[0].contains("list of their own"));
}

#[tokio::test]
async fn versions_and_lists_that_make_no_sense_are_refused() {
    let future = fault("future").await;
    assert_eq!(future.message, "speaks version \"2099-01-01\" of the protocol");
    assert!(future.hints[0].contains("2024-11-05, 2025-03-26, 2025-06-18"), "{future:?}");
    assert_eq!(fault("endless").await.message, "lists its tools on more than 64 pages");
    assert_eq!(fault("many").await.message, "offers more than 256 tools");
}

#[tokio::test]
async fn older_servers_and_servers_without_tools_are_fine() {
    let scene = Scene::new();
    assert!(!scene.kind("old").await.unwrap().is_empty());
    assert!(scene.kind("no-tools").await.unwrap().is_empty());
}

#[tokio::test]
async fn a_silent_server_costs_ten_seconds_and_the_others_nothing() {
    let scene = Scene::new();
    let began = std::time::Instant::now();
    let served = scene.start_all(vec![scene.scripted("silent"), scene.scripted("good"), scene.scripted("good")]).await;
    let took = began.elapsed();
    assert!(took >= mcp::START_LIMIT && took < mcp::START_LIMIT + Duration::from_secs(5), "{took:?}");
    let silent = served[0].tools.as_ref().err().unwrap();
    assert_eq!(silent.message, "was not ready within 10 s\nstill looking for my key");
    assert!(served[1..].iter().all(|served| served.tools.as_ref().is_ok_and(|tools| &*tools[0].spec().name == "echo")));
    let log = scene.log();
    let mut pids = log.lines().filter_map(|line| line.strip_prefix("start "));
    until(|| pids.clone().any(|pid| !is_alive(pid)), "the end of the silent one").await;
    assert_eq!(pids.by_ref().filter(|pid| is_alive(pid)).count(), 2);
}

#[tokio::test]
async fn more_servers_than_the_limit_are_not_started() {
    let scene = Scene::new();
    let nobody = McpTransport::Process { command: "/nowhere".into(), args: Vec::new(), env: Vec::new() };
    let server = |_| McpServer { name: "x".into(), way: nobody.clone(), trust_hints: false };
    let served = scene.start_all((0..=mcp::SERVERS_MAX).map(server).collect()).await;
    let last = served.last().unwrap().tools.as_ref().err().unwrap();
    assert_eq!(last.message, "32 servers are the limit");
}

#[tokio::test]
async fn dropping_the_start_ends_what_was_started() {
    let scene = Scene::new();
    let starting = scene.start_all(vec![scene.scripted("silent")]);
    let _ = tokio::time::timeout(Duration::from_millis(1), starting).await;
    let starting = scene.start_all(vec![scene.scripted("silent")]);
    tokio::select! {
        _ = starting => panic!("it never gets ready"),
        () = scene.until_logged("start ") => {}
    }
    let log = scene.log();
    let pids: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix("start ")).collect();
    until(|| !pids.iter().any(|pid| is_alive(pid)), "the end of what was started").await;
}

#[tokio::test]
async fn a_dead_server_fails_its_calls_and_is_started_once_more_for_the_next() {
    let scene = Scene::new();
    let tools = scene.kind("good").await.unwrap();
    let slow = tokio::spawn(run(&tools, "slow", "{}").0);
    scene.until_logged("slow ").await;
    let died = call(&tools, "die", "{}").await;
    assert!(died.is_error);
    let words = "the server `good` exited with code 3\nthe reason is ***";
    assert_eq!(parts_text(&died.parts), words, "the key is masked");
    assert_eq!(parts_text(&slow.await.unwrap().parts), words, "whoever waits beside is told as well");
    assert_eq!(scene.log().matches("start ").count(), 1, "not before it is needed");
    assert_eq!(text(&tools, "echo", r#"{"text":"again"}"#).await, "again");
    assert_eq!(scene.log().matches("start ").count(), 2);
    assert_eq!(scene.log().matches("tools/list").count(), 3, "its tools are known");
}

#[tokio::test]
async fn a_server_that_asks_and_never_listens_is_ended() {
    let scene = Scene::new();
    let tools = scene.kind("good").await.unwrap();
    assert_eq!(text(&tools, "deaf", "{}").await, "the server `good` was stopped: it does not read its stdin");
    let log = scene.log();
    let pid = log.lines().find_map(|line| line.strip_prefix("start ")).unwrap();
    until(|| !is_alive(pid), "its end").await;
    assert_eq!(text(&tools, "echo", r#"{"text":"again"}"#).await, "again");
}

#[tokio::test]
async fn a_server_that_cannot_be_started_again_says_so_each_time() {
    let scene = Scene::new();
    let server = scene.dir.path().join("once.sh");
    let McpTransport::Process { args, env, .. } = scene.scripted("good").way else { unreachable!("it is a process") };
    std::fs::write(&server, format!("exec python3 {} good\n", args[0])).unwrap();
    let way = McpTransport::Process { command: "sh".into(), args: vec![server.to_str().unwrap().into()], env };
    let tools = scene.start(McpServer { name: "once".into(), way, trust_hints: false }).await.unwrap();
    std::fs::write(&server, "echo gone away >&2; exit 9\n").unwrap();
    call(&tools, "die", "{}").await;
    for _ in 0..2 {
        let said = text(&tools, "echo", "{}").await;
        assert_eq!(said, "the server `once` exited with code 9\ngone away");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_end_is_given_up_and_cancelled() {
    let scene = Scene::new();
    // Paused time runs ahead while nothing but the other process moves, so it is stopped only for the wait itself.
    tokio::time::resume();
    let tools = scene.kind("good").await.unwrap();
    let slow = tokio::spawn(run(&tools, "slow", "{}").0);
    scene.until_logged("slow ").await;
    tokio::time::pause();
    tokio::time::advance(mcp::CALL_LIMIT + Duration::from_secs(1)).await;
    tokio::time::resume();
    let said = slow.await.unwrap();
    assert_eq!(parts_text(&said.parts), "the server `good` gave no result within 10 minutes");
    scene.until_logged("notifications/cancelled").await;
}
