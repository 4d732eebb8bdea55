//! Bad lines, every split, every disconnect, floods.

use std::time::Duration;

use acp_client::{ClientEvent, EVENTS_MAX, Events, connect, memory};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::agent::{Agent, opened, quiet};

/// What an agent says in one conversation.
fn script() -> Vec<String> {
    let update = |update: Value| json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } });
    let text = |text: &str| {
        update(json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } }))
    };
    let options = json!([{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }]);
    [
        json!({ "jsonrpc": "2.0", "id": 0, "result": { "protocolVersion": 1 } }).to_string(),
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "sessionId": "s" } }).to_string(),
        text("grüße \u{2028} 🦀").to_string(),
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "t" })).to_string(),
        json!({ "jsonrpc": "2.0", "id": 0, "method": "session/request_permission",
                "params": { "sessionId": "s", "toolCall": { "toolCallId": "c" }, "options": options } })
        .to_string(),
        "not json at all\r".into(),
        String::new(),
        update(json!({ "sessionUpdate": "invented_later", "x": 1 })).to_string(),
        text("\\ud800 tail").to_string().replace("\\\\ud800", "\\ud800"),
        json!({ "jsonrpc": "2.0", "id": 2, "result": { "stopReason": "end_turn" } }).to_string(),
    ]
    .into()
}

/// Drives one whole conversation against bytes; every question is answered, and the log is what a person would see.
async fn converse(write: impl AsyncFnOnce(&mut Agent)) -> Vec<String> {
    let (channel, peer) = memory(false);
    let (client, mut events) = connect(std::sync::Arc::new(channel), quiet());
    let mut agent = Agent::new(peer);
    let talking = async {
        let mut log = Vec::new();
        let drive = async {
            let steps = async {
                client.initialize().await?;
                client.new_session("/w".as_ref()).await?;
                client.prompt("s", vec![]).await
            };
            match steps.await {
                Ok(turn) => format!("turn {}", turn.stop_reason.as_str()),
                Err(error) => format!("error {error}"),
            }
        };
        let mut drive = std::pin::pin!(drive);
        let ended = loop {
            tokio::select! {
                biased;
                Some(event) = events.next() => take(event, &mut log, &client).await,
                ended = &mut drive => break ended,
            }
        };
        client.stop().await;
        rest(&mut events, &mut log).await;
        log.push(ended);
        log
    };
    let speaking = async {
        write(&mut agent).await;
        // Whatever is asked is heard; the client ends the conversation.
        while agent.hear_or_end().await.is_some() {}
        agent.life.exit(acp_client::Exit { code: Some(0), signal: None });
    };
    tokio::time::timeout(Duration::from_secs(600), async { tokio::join!(talking, speaking).0 }).await.expect("it ends")
}

async fn take(event: ClientEvent, log: &mut Vec<String>, client: &acp_client::AcpClient) {
    if let ClientEvent::Permission(ask) = &event {
        client.choose(ask.ask, Some("yes")).await;
    }
    log.push(format!("{event:?}"));
}

async fn rest(events: &mut Events, log: &mut Vec<String>) {
    while let Some(event) = events.next().await {
        log.push(format!("{event:?}"));
    }
}

/// Waits for the request before its answer is said: an answer that comes first belongs to nobody.
async fn speak(agent: &mut Agent, lines: &[String], split: Option<usize>) {
    let mut said = 0;
    for line in lines {
        if serde_json::from_str::<Value>(line).is_ok_and(|value| value.get("result").is_some()) {
            while agent.hear().await.get("method").is_none() {}
        }
        let bytes = format!("{line}\n").into_bytes();
        let at = split.map(|split| split.saturating_sub(said).min(bytes.len())).unwrap_or(0);
        agent.say_bytes(&bytes[..at]).await;
        // The client has read the first part before the second one comes.
        tokio::time::sleep(Duration::from_millis(1)).await;
        agent.say_bytes(&bytes[at..]).await;
        said += bytes.len();
    }
}

#[tokio::test(start_paused = true)]
async fn any_split_of_the_bytes_tells_the_same() {
    let lines = script();
    let whole = converse(async |agent: &mut Agent| speak(agent, &lines, None).await).await;
    assert_eq!(whole.last().map(String::as_str), Some("turn end_turn"), "{whole:#?}");
    assert!(whole.iter().any(|line| line.contains("no message: not json at all")));
    assert!(whole.iter().any(|line| line.contains("invented_later")));
    assert!(whole.iter().any(|line| line.contains("\u{fffd} tail")));
    let total: usize = lines.iter().map(|line| line.len() + 1).sum();
    for split in 1..total {
        let told = converse(async |agent: &mut Agent| speak(agent, &lines, Some(split)).await).await;
        assert_eq!(told, whole, "split at {split}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_disconnect_after_any_line_is_told_once_and_leaves_nobody_waiting() {
    let lines = script();
    for count in 0..lines.len() {
        for half in [false, true] {
            let told = converse(async |agent: &mut Agent| {
                speak(agent, &lines[..count], None).await;
                if half {
                    let next = lines[count].as_bytes();
                    agent.say_bytes(&next[..next.len() / 2]).await;
                }
                let (gone, _) = tokio::io::duplex(1);
                drop(std::mem::replace(&mut agent.output, gone));
            })
            .await;
            let lost = told.iter().filter(|line| line.starts_with("ConnectionLost")).count();
            assert_eq!(lost, 1, "after {count} lines: {told:#?}");
            let last = told.last().unwrap();
            assert!(last.starts_with("error the agent "), "after {count} lines: {last}");
            let ended = told.iter().filter(|line| line.starts_with("TurnEnded")).count();
            assert_eq!(ended, usize::from(count >= 2), "after {count} lines: {told:#?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_message_is_noted_and_never_answered() {
    let (client, mut events, mut agent) = opened(quiet()).await;
    for line in
        ["[]", "[{\"id\":1}]", "7", "{}", "{\"id\":99,\"result\":{}}", "{\"id\":null,\"error\":{\"message\":\"bad\"}}"]
    {
        agent.say_bytes(format!("{line}\n").as_bytes()).await;
        assert!(matches!(events.next().await, Some(ClientEvent::Note(_))), "{line}");
    }
    agent.say_bytes(b"\n  \r\n").await;
    agent.say_bytes(b"{\"method\":\"_x/y\",\"params\":{\"a\":\"\xff\"}}\n").await;
    let told = events.next().await;
    let wanted = ClientEvent::Notification { method: "_x/y".into(), params: json!({ "a": "\u{fffd}" }) };
    assert_eq!(told, Some(wanted));
    client.notify("_after", json!({})).await;
    agent.hear_method("_after").await;
}

#[tokio::test(start_paused = true)]
async fn a_banner_is_passed_over_where_one_is_expected() {
    let (channel, peer) = memory(true);
    let (client, mut events) = connect(std::sync::Arc::new(channel), quiet());
    let mut agent = Agent::new(peer);
    let (hello, ()) = tokio::join!(client.initialize(), async {
        agent.say_bytes(b"Welcome to box\n\n{ not json\n[1]\n").await;
        let request = agent.hear_method("initialize").await;
        agent.answer(&request, json!({ "protocolVersion": 1 })).await;
        agent.say_bytes(b"late chatter\n").await;
    });
    hello.unwrap();
    let note = events.next().await;
    assert!(matches!(&note, Some(ClientEvent::Note(text)) if text.contains("late chatter")), "{note:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_lags_holds_the_agent_back_in_bounded_memory() {
    let (client, mut events, agent) = opened(quiet()).await;
    let Agent { mut output, errors: _errors, .. } = agent;
    let flood = tokio::spawn(async move {
        let params = json!({ "sessionId": "s", "update": { "sessionUpdate": "agent_message_chunk",
                             "content": { "type": "text", "text": "x".repeat(100) } } });
        let line = format!("{}\n", json!({ "method": "session/update", "params": params }));
        let mut written = 0;
        while let Ok(Ok(())) = tokio::time::timeout(Duration::from_secs(60), output.write_all(line.as_bytes())).await {
            written += 1;
        }
        (written, output)
    });
    let (written, mut output) = flood.await.unwrap();
    assert!((EVENTS_MAX..2 * EVENTS_MAX).contains(&written), "{written}");
    // Read, and it goes on: nothing is lost but the line that was cut by our own limit.
    let end = async {
        let _ = output.write_all(b"\n{\"method\":\"_end\"}\n").await;
        drop(output);
    };
    let reading = async {
        let mut updates = 0;
        while let Some(event) = events.next().await {
            updates += usize::from(matches!(event, ClientEvent::Update { .. }));
        }
        updates
    };
    let ((), updates) = tokio::join!(end, reading);
    assert!(updates >= written, "{updates} of {written}");
    drop(client);
}
