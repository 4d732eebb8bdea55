//! `/acp` over HTTP: every refusal in its order, streams and what goes on which of them, and coming back.

use std::time::Duration;

use serde_json::{Value, json};

use crate::acp_wire::{JSON, Remote, SSE, SseEvent, send, text_of};
use crate::process::{Place, TOKEN};

/// What it is about; method, headers and body; the status.
type Refused<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str, u16);

const AUTH: (&str, &str) = ("Authorization", "Bearer a-token-for-tests-0123456789abcdef");

fn words(count: usize) -> String {
    (1..=count).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_come_in_their_order_and_say_why_in_json_rpc() {
    let place = Place::with("  allowed_origins: [\"https://app.example\"]\n");
    let gateway = place.start();
    let address = &gateway.address;
    let remote = Remote::connect(address).await;
    let id = ("Acp-Connection-Id", remote.id.as_str());
    let (none, long) = (("Acp-Connection-Id", "00000000-0000-4000-8000-000000000000"), "x".repeat(1_025));
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#;
    let prompt = r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"a","prompt":[]}}"#;
    let long_id = format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"session/list"}}"#);
    let huge = format!("{{\"x\":\"{}\"}}", "y".repeat(16 * 1024 * 1024));
    let text = ("Content-Type", "text/plain");
    let evil = ("Origin", "https://evil.example");
    let cases: &[Refused] = &[
        ("host before all", "POST", &[("Host", "evil.example"), evil, text], "[", 421),
        ("origin", "PUT", &[evil, text], "[", 403),
        ("method before credential", "PUT", &[text], "[", 405),
        ("head is no method", "HEAD", &[AUTH], "", 405),
        ("no credential", "POST", &[text], "[", 401),
        ("an id is none", "POST", &[JSON, id], prompt, 401),
        ("wrong credential", "POST", &[JSON, ("Authorization", "Bearer wrong")], initialize, 401),
        ("content type before length", "POST", &[AUTH, text], &huge, 415),
        ("no content type", "POST", &[AUTH], initialize, 415),
        ("too long", "POST", &[AUTH, JSON], &huge, 413),
        ("not JSON", "POST", &[AUTH, JSON], "{", 400),
        ("a number", "POST", &[AUTH, JSON], "7", 400),
        ("a batch before the id", "POST", &[AUTH, JSON], "[]", 501),
        ("no connection", "POST", &[AUTH, JSON], prompt, 400),
        ("initialize twice", "POST", &[AUTH, JSON, id], initialize, 400),
        ("unknown connection", "POST", &[AUTH, JSON, none], prompt, 404),
        ("long connection id", "POST", &[AUTH, JSON, ("Acp-Connection-Id", &long)], prompt, 400),
        ("no session", "POST", &[AUTH, JSON, id], prompt, 400),
        ("another session", "POST", &[AUTH, JSON, id, ("Acp-Session-Id", "b")], prompt, 400),
        ("long session id", "POST", &[AUTH, JSON, id, ("Acp-Session-Id", &long)], prompt, 400),
        ("long request id", "POST", &[AUTH, JSON, id], &long_id, 400),
        ("nothing accepted", "GET", &[AUTH, id], "", 406),
        ("JSON accepted", "GET", &[AUTH, id, ("Accept", "application/json")], "", 406),
        ("stream without connection", "GET", &[AUTH, SSE], "", 400),
        ("stream of none", "GET", &[AUTH, SSE, none], "", 404),
        ("delete without", "DELETE", &[AUTH], "", 400),
        ("delete none", "DELETE", &[AUTH, none], "", 404),
    ];
    for (name, method, headers, body, status) in cases {
        let answer = send(address, method, "/acp", headers, body.as_bytes()).await;
        assert_eq!(answer.status, *status, "{name}");
        if *method != "HEAD" {
            let error = answer.json();
            assert_eq!((&error["jsonrpc"], &error["id"]), (&json!("2.0"), &Value::Null), "{name}: {error}");
            assert!(error["error"]["code"].is_i64() && error["error"]["message"].is_string(), "{name}: {error}");
        }
        match status {
            401 => assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{name}"),
            405 => assert_eq!(answer.header("allow"), Some("GET, POST, DELETE, OPTIONS"), "{name}"),
            _ => {}
        }
    }
    let query = send(address, "POST", &format!("/acp?token={TOKEN}"), &[JSON], initialize.as_bytes()).await;
    assert_eq!(query.status, 401, "a query is no credential");
    let slash = send(address, "POST", "/acp/", &[AUTH, JSON], initialize.as_bytes()).await;
    assert_eq!(slash.status, 200, "a second spelling of the path");
    let preflight = [("Origin", "https://app.example"), ("Access-Control-Request-Method", "POST")];
    let answer = send(address, "OPTIONS", "/acp", &preflight, b"").await;
    assert_eq!(answer.status, 204);
    for (name, value) in [
        ("access-control-allow-origin", "https://app.example"),
        ("access-control-allow-credentials", "true"),
        ("access-control-expose-headers", "acp-connection-id, acp-session-id"),
    ] {
        assert_eq!(answer.header(name), Some(value));
    }
    let allowed = answer.header("access-control-allow-headers").unwrap();
    assert!(["authorization", "last-event-id", "acp-session-id"].iter().all(|it| allowed.contains(it)), "{allowed}");
    let refused = send(address, "POST", "/acp", &[JSON, ("Origin", "https://app.example")], b"{}").await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (401, Some("https://app.example")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_is_heard_on_its_stream_and_answered_behind_it() {
    let place = Place::new();
    let gateway = place.start();
    let mut remote = Remote::connect(&gateway.address).await;
    let cwd = place.workspace().to_string_lossy().into_owned();
    let (session, mut own, mut events) = remote.session(&cwd).await;
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache"),
        ("acp-connection-id", remote.id.as_str()),
        ("acp-session-id", &session),
    ] {
        assert_eq!(events.head.header(name), Some(value));
    }
    assert_eq!(remote.stream(Some(&session), None).await.err(), Some(409), "one reader");
    assert_eq!(remote.stream(None, None).await.err(), Some(409), "one reader");
    let text = "grüße 😀 aus der ferne";
    let asked = remote.prompt(&session, &format!("say \"{text}\"")).await;
    let all = events.until_answer(asked).await;
    assert_eq!(text_of(&all, "agent_message_chunk"), text);
    assert_eq!(text_of(&all, "user_message_chunk"), "", "who has sent it has drawn it");
    assert_eq!(all.last().unwrap().data["result"]["stopReason"], "end_turn");
    let chunks = all.iter().filter(|it| it.data["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    let ids: std::collections::HashSet<_> =
        chunks.map(|it| it.data["params"]["update"]["messageId"].to_string()).collect();
    assert_eq!(ids.len(), 1, "one message: {ids:?}");
    let states: Vec<_> = all.iter().map(|it| &it.data["params"]["update"]["_meta"]["tillerman"]["state"]).collect();
    assert!(states.contains(&&json!("running")) && states.contains(&&json!("idle")), "{states:?}");
    let listed = remote.ask("session/list", json!({})).await;
    let all = own.until_answer(listed).await;
    assert_eq!(all.last().unwrap().data["result"]["sessions"][0]["sessionId"], json!(session));
    assert!(all.last().unwrap().id.starts_with('c'), "{}", all.last().unwrap().id);
    let unknown = remote.prompt("no-such-session", "x").await;
    let all = own.until_answer(unknown).await;
    assert_eq!(all.last().unwrap().data["error"]["code"], -32002, "and the connection lives");
    assert_eq!(remote.delete().await, 202);
    assert_eq!(remote.delete().await, 404);
    assert!(events.next().await.is_none() && own.next().await.is_none(), "its streams end");
}

/// How the messages of an agent are called, in their order.
fn names(all: &[SseEvent]) -> Vec<String> {
    let updates = all.iter().map(|it| &it.data["params"]["update"]);
    let of_agent = updates.filter(|it| it["sessionUpdate"].as_str().is_some_and(|kind| kind.starts_with("agent_")));
    let mut names: Vec<_> = of_agent.map(|it| it["messageId"].to_string()).collect();
    names.dedup();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_is_answered_behind_its_replay_on_whichever_stream() {
    let place = Place::new();
    let gateway = place.start();
    let cwd = place.workspace().to_string_lossy().into_owned();
    // With its stream open, there; without, on the connection's own.
    for with_stream in [true, false] {
        let mut first = Remote::connect(&gateway.address).await;
        let (session, _own, mut events) = first.session(&cwd).await;
        let asked = first.prompt(&session, "think \"hm\" and say 40 words").await;
        let live = events.until_answer(asked).await;
        let mut remote = Remote::connect(&gateway.address).await;
        let mut own = remote.stream(None, None).await.unwrap();
        let mut heard = match with_stream {
            true => Some(remote.stream(Some(&session), None).await.unwrap()),
            false => None,
        };
        let load = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
        let asked = remote.ask("session/load", load).await;
        let all = heard.as_mut().unwrap_or(&mut own).until_answer(asked).await;
        assert_eq!(all.last().unwrap().data["result"]["sessionId"], json!(session));
        assert_eq!(text_of(&all, "agent_message_chunk"), words(40));
        assert_eq!(text_of(&all, "agent_thought_chunk"), "hm");
        assert_eq!(text_of(&all, "user_message_chunk"), "think \"hm\" and say 40 words");
        assert_eq!(names(&all), names(&live), "messages are called the same");
        // Then it is live, on its stream.
        let mut heard = match heard {
            Some(heard) => heard,
            None => remote.stream(Some(&session), None).await.unwrap(),
        };
        let asked = remote.prompt(&session, "say 3 words").await;
        assert_eq!(text_of(&heard.until_answer(asked).await, "agent_message_chunk"), words(3));
        first.prompt(&session, "say 1 word").await;
        heard.until(|it| it["params"]["update"]["content"]["text"] == "say 1 word").await;
        heard.until(|it| it["params"]["update"]["_meta"]["tillerman"]["state"] == "idle").await;
        let wrong = json!({"sessionId": "nobody", "cwd": cwd, "mcpServers": []});
        let asked = remote.ask("session/load", wrong).await;
        assert_eq!(own.until_answer(asked).await.last().unwrap().data["error"]["code"], -32002);
        // Gone for one, gone for all.
        let asked = remote.ask("session/delete", json!({"sessionId": session})).await;
        assert!(heard.until_answer(asked).await.last().unwrap().data.get("result").is_some());
        let asked = first.ask("session/set_mode", json!({"sessionId": session, "modeId": "plan"})).await;
        assert_eq!(events.until_answer(asked).await.last().unwrap().data["error"]["code"], -32002);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_missed_comes_once_from_the_last_id_on() {
    let place = Place::new();
    let gateway = place.start();
    let cwd = place.workspace().to_string_lossy().into_owned();
    let mut remote = Remote::connect(&gateway.address).await;
    let (session, own, mut events) = remote.session(&cwd).await;
    drop(own);
    let asked = remote.prompt(&session, "slow 2 say 200 words").await;
    let (mut all, mut cuts) = (Vec::<SseEvent>::new(), 0);
    // The stream is taken over from whatever place it is at, while the turn runs and behind its end.
    loop {
        let take = 1 + (cuts * 7) % 23;
        for _ in 0..take {
            match events.within(Duration::from_secs(3)).await {
                Some(event) => all.push(event),
                None => break,
            }
        }
        let done = all.iter().any(|it| it.data["id"] == json!(asked) && it.data.get("result").is_some());
        if done {
            break;
        }
        cuts += 1;
        let last = all.last().unwrap().id.clone();
        events = remote.stream(Some(&session), Some(&last)).await.unwrap();
    }
    assert!(cuts > 5, "{cuts}");
    assert_eq!(text_of(&all, "agent_message_chunk"), words(200));
    let answers = all.iter().filter(|it| it.data["id"] == json!(asked) && it.data.get("result").is_some());
    assert_eq!(answers.count(), 1);
    // From any of its ids a new connection hears the rest.
    let of_text = |it: &&SseEvent| it.data["params"]["update"]["sessionUpdate"] == "agent_message_chunk";
    for event in all.iter().filter(of_text).step_by(29) {
        let at = all.iter().position(|it| it.id == event.id).unwrap();
        let other = Remote::connect(&gateway.address).await;
        let mut rest = other.stream(Some(&session), Some(&event.id)).await.unwrap();
        let mut heard = Vec::new();
        while text_of(&heard, "agent_message_chunk") != text_of(&all[at + 1..], "agent_message_chunk") {
            heard.push(rest.next().await.unwrap());
        }
    }
    // What is no place is passed over.
    let other = Remote::connect(&gateway.address).await;
    for wrong in ["x", "-1", "99999999999999999999", "1.x", "c1", "999999"] {
        drop(other.stream(Some(&session), Some(wrong)).await.unwrap());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_without_a_stream_is_heard_when_there_is_one() {
    let place = Place::new();
    let gateway = place.start();
    let cwd = place.workspace().to_string_lossy().into_owned();
    let mut remote = Remote::connect(&gateway.address).await;
    let (session, _own, events) = remote.session(&cwd).await;
    drop(events);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let asked = remote.prompt(&session, "say 300 words").await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    let mut events = remote.stream(Some(&session), None).await.unwrap();
    let all = events.until_answer(asked).await;
    assert_eq!(text_of(&all, "agent_message_chunk"), words(300));
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_sessions_that_nobody_knows_are_few() {
    let place = Place::new();
    let gateway = place.start();
    let remote = Remote::connect(&gateway.address).await;
    let mut open = Vec::new();
    for number in 0..16 {
        open.push(remote.stream(Some(&format!("unknown-{number}")), None).await.unwrap());
    }
    assert_eq!(remote.stream(Some("one-more"), None).await.err(), Some(404));
}
