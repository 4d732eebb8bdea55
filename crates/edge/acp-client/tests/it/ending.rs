//! The one way out: everybody is told, once, and the agent is ended step by step.

use std::time::Duration;

use acp_client::{ClientEvent, ClientProblem, Exit};
use process::EndSignal;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

use crate::agent::{able, greeted, next, opened, pair, quiet};

#[tokio::test(start_paused = true)]
async fn a_crash_tells_every_waiter_and_ends_the_stream_with_its_last_words() {
    let (client, mut events, mut agent) = opened(quiet()).await;
    let crash = async {
        agent.hear_method("session/prompt").await;
        agent.hear_method("session/list").await;
        let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "t" });
        agent.update("s", call).await;
        agent.errors.write_all(b"Traceback\nNo credentials found\n").await.unwrap();
        agent.life.exit(Exit { code: Some(3), signal: None });
        drop(agent);
    };
    let (turn, list, ()) = tokio::join!(client.prompt("s", vec![]), client.list(None, None), crash);
    for error in [turn.unwrap_err(), list.unwrap_err(), client.list(None, None).await.unwrap_err()] {
        let ClientProblem::ProcessTerminated(end) = &error.problem else { panic!("{error:?}") };
        assert_eq!((end.exit.code, end.stderr.len(), end.before_hello), (Some(3), 2, false));
        assert_eq!(error.to_string(), "the agent exited with code 3");
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("environment file")));
    }
    assert!(matches!(next(&mut events).await, ClientEvent::Update { .. }));
    assert!(matches!(next(&mut events).await, ClientEvent::CallLeftOpen { .. }));
    assert!(matches!(next(&mut events).await, ClientEvent::TurnEnded { turn: Err(_), .. }));
    assert!(matches!(next(&mut events).await, ClientEvent::ConnectionLost(end) if end.exit.code == Some(3)));
    assert_eq!(events.next().await, None);
    assert_eq!(events.next().await, None);
    client.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_ends_before_it_answers_is_quoted() {
    let (client, mut events, mut agent) = pair(quiet());
    let (hello, ()) = tokio::join!(client.initialize(), async {
        agent.hear_method("initialize").await;
        agent.errors.write_all(b"ImportError: acp").await.unwrap();
        agent.life.exit(Exit { code: Some(1), signal: None });
        drop(agent);
    });
    let error = hello.unwrap_err();
    assert_eq!(*error.stderr, ["ImportError: acp"]);
    assert!(error.hint.is_some_and(|hint| hint.contains("speak ACP")));
    assert!(matches!(next(&mut events).await, ClientEvent::ConnectionLost(end) if end.before_hello));
}

#[tokio::test(start_paused = true)]
async fn an_exit_counts_even_when_somebody_else_holds_the_pipe() {
    let (client, mut events, agent) = opened(quiet()).await;
    agent.life.exit(Exit { code: None, signal: Some(9) });
    let error = client.list(None, None).await.unwrap_err();
    assert_eq!(error.to_string(), "the agent was killed by signal 9");
    assert!(matches!(next(&mut events).await, ClientEvent::ConnectionLost(end) if end.exit.signal == Some(9)));
    drop(agent);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_read_is_noticed_by_the_failed_write() {
    let (client, mut events, agent) = opened(quiet()).await;
    let _open = agent.deaf();
    let error = client.list(None, None).await.unwrap_err();
    assert!(matches!(error.problem, ClientProblem::ProcessTerminated(_)), "{error:?}");
    assert!(matches!(next(&mut events).await, ClientEvent::ConnectionLost(_)));
}

#[tokio::test(start_paused = true)]
async fn stop_goes_from_the_end_of_input_to_kill() {
    let (client, mut events, mut agent) = opened(quiet()).await;
    let start = Instant::now();
    let (waiting, (), strikes) = tokio::join!(
        client.list(None, None),
        async {
            tokio::task::yield_now().await;
            client.stop().await;
        },
        async {
            agent.hear_method("session/list").await;
            assert_eq!(agent.hear_or_end().await, None, "first its input ends");
            let mut seen = Vec::new();
            for _ in 0..3 {
                let known = seen.len();
                while agent.life.strikes().len() == known {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                seen.push((agent.life.strikes()[known], start.elapsed().as_millis() / 100));
            }
            agent.life.exit(Exit { code: None, signal: Some(9) });
            seen
        }
    );
    assert_eq!(strikes, [(EndSignal::Interrupt, 1), (EndSignal::Terminate, 20), (EndSignal::Kill, 50)]);
    assert_eq!(waiting.unwrap_err().problem, ClientProblem::Stopped);
    assert_eq!(events.next().await, None, "we ended it ourselves: nothing was lost");
    assert_eq!(client.list(None, None).await.unwrap_err().problem, ClientProblem::Stopped);
    client.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_goes_by_itself_is_not_struck_and_so_is_one_whose_handles_are_gone() {
    let (client, _events, mut agent) = greeted(quiet(), able()).await;
    let start = Instant::now();
    let ((), ()) = tokio::join!(client.stop(), async {
        assert_eq!(agent.hear_or_end().await, None);
        agent.life.exit(Exit { code: Some(0), signal: None });
    });
    assert_eq!((agent.life.strikes().len(), start.elapsed()), (0, Duration::ZERO));
    let (client, mut events, mut agent) = greeted(quiet(), able()).await;
    drop(client);
    assert_eq!(agent.hear_or_end().await, None);
    assert_eq!(events.next().await, None);
}

/// A login shell that hangs, a host that does not answer.
struct Slow;

impl acp_client::Channel for Slow {
    fn open(&self) -> vocab::Later<'_, std::io::Result<process::Launched>> {
        Box::pin(std::future::pending())
    }
    fn command(&self) -> Vec<String> {
        vec!["slow".into()]
    }
}

#[tokio::test(start_paused = true)]
async fn stop_does_not_wait_for_an_agent_that_is_still_being_started() {
    let (client, mut events) = acp_client::connect(std::sync::Arc::new(Slow), quiet());
    let greeting = tokio::spawn({
        let client = client.clone();
        async move { client.initialize().await }
    });
    tokio::task::yield_now().await;
    client.stop().await;
    assert_eq!(greeting.await.unwrap().unwrap_err().problem, ClientProblem::Stopped);
    assert_eq!(events.next().await, None);
}
