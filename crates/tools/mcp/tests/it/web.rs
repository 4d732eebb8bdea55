//! Tools of servers over HTTP.

use vocab::*;

use crate::support::{Scene, call, run, text, until};
use crate::web_server::{KEY, WebServer};

#[tokio::test]
async fn the_handshake_keeps_session_version_and_headers() {
    let server = WebServer::start().await;
    let tools = Scene::new().start(server.as_tool_server()).await.unwrap();
    assert_eq!(tools.len(), 7);
    assert_eq!(text(&tools, "echo", r#"{"text":"hi"}"#).await, "hi");
    assert_eq!(server.said(), ["initialize", "notifications/initialized", "tools/list", "tools/call"]);
    let posted = server.heard().into_iter().filter(|heard| heard.method == "POST");
    for (at, heard) in posted.enumerate() {
        assert_eq!(heard.path, "/mcp/?team=canary-query", "a slash at the end stays");
        assert_eq!(heard.header("authorization"), Some(KEY));
        assert_eq!(heard.header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(heard.header("content-type"), Some("application/json"));
        let after = |value| (at > 0).then_some(value);
        assert_eq!(heard.header("mcp-session-id"), after("session-0"), "{}", heard.what());
        assert_eq!(heard.header("mcp-protocol-version"), after("2025-03-26"), "{}", heard.what());
    }
}

#[tokio::test]
async fn a_stream_tells_progress_asks_and_answers() {
    let server = WebServer::start().await;
    let tools = Scene::new().start(server.as_tool_server()).await.unwrap();
    let (running, told) = run(&tools, "stream", "{}");
    assert_eq!(parts_text(&running.await.parts), "streamed");
    assert_eq!(*told.lock().unwrap(), ["half (1)"]);
    let answered = server.heard().into_iter().find(|heard| heard.what() == "answer").unwrap();
    assert_eq!(answered.body, serde_json::json!({ "jsonrpc": "2.0", "id": "their-1", "result": {} }));
}

#[tokio::test]
async fn a_server_may_ask_beside_all_calls() {
    let server = WebServer::start_with(true).await;
    let tools = Scene::new().start(server.as_tool_server()).await.unwrap();
    until(|| server.said().contains(&"answer".into()), "the answer").await;
    let heard = server.heard();
    let find = |what: &str| heard.iter().find(|heard| heard.what() == what).unwrap();
    assert_eq!(find("GET").header("accept"), Some("text/event-stream"));
    assert_eq!(find("GET").header("mcp-session-id"), Some("session-0"));
    assert!(find("answer").body["result"]["roots"][0]["uri"].as_str().unwrap().starts_with("file:///"));
    assert!(!server.said().contains(&"closed".into()), "the stream stays open");
    drop(tools);
    until(|| server.said().contains(&"closed".into()), "the end of the stream").await;
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_and_the_end_is_told() {
    let server = WebServer::start().await;
    let tools = Scene::new().start(server.as_tool_server()).await.unwrap();
    let slow = tokio::spawn(run(&tools, "slow", "{}").0);
    until(|| server.said().contains(&"tools/call".into()), "the call").await;
    slow.abort();
    until(|| server.said().contains(&"notifications/cancelled".into()), "the cancellation").await;
    let heard = server.heard();
    let find = |what: &str| heard.iter().find(|heard| heard.what() == what).unwrap();
    let (call, cancelled) = (find("tools/call"), find("notifications/cancelled"));
    assert_eq!(call.body["id"], cancelled.body["params"]["requestId"]);
    drop(tools);
    until(|| server.said().contains(&"DELETE".into()), "the end").await;
    let end = server.heard().into_iter().find(|heard| heard.method == "DELETE").unwrap();
    assert_eq!(end.header("mcp-session-id"), Some("session-0"));
}

#[tokio::test]
async fn a_forgotten_session_is_made_anew_within_the_call() {
    let server = WebServer::start().await;
    let tools = Scene::new().start(server.as_tool_server()).await.unwrap();
    server.forget();
    assert_eq!(text(&tools, "echo", r#"{"text":"again"}"#).await, "again");
    let said = server.said();
    assert_eq!(said[3..], ["tools/call", "initialize", "notifications/initialized", "tools/call"]);
    drop(tools);
    until(|| server.said().contains(&"DELETE".into()), "the end").await;
    let ends: Vec<_> = server.heard().into_iter().filter(|heard| heard.method == "DELETE").collect();
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0].header("mcp-session-id"), Some("session-1"), "of the new one only");
}

#[tokio::test]
async fn every_failure_is_words_without_secrets() {
    let server = WebServer::start().await;
    let tools = Scene::new().start(server.as_tool_server()).await.unwrap();
    for (name, wanted) in [
        ("cut", "the server `web` ended its answer before the result was there"),
        ("locked", "the server `web` could not be asked: 401 no entry with ***"),
        ("moved", "redirects to x.example; redirects are not followed"),
        ("huge", "is longer than 16777216 bytes"),
    ] {
        let outcome = call(&tools, name, "{}").await;
        let said = parts_text(&outcome.parts);
        assert!(outcome.is_error && said.contains(wanted), "{name}: {said}");
        assert!(!said.contains("canary"), "{name}: {said}");
        assert_eq!(text(&tools, "echo", r#"{"text":"on"}"#).await, "on");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_or_not_safe_is_refused() {
    let scene = Scene::new();
    let start = async |url: &str| {
        let headers = vec![("X-Key".into(), Secret::new("canary-123456").unwrap())];
        let way = McpTransport::Http { url: url.into(), headers };
        scene.start(McpServer { name: "web".into(), way, trust_hints: false }).await.err().unwrap()
    };
    let gone = start("http://127.0.0.1:1/mcp").await;
    assert!(gone.message.starts_with("could not be asked: cannot reach http://127.0.0.1:1"), "{gone:?}");
    let open = start("http://mcp.example/canary-123456").await;
    assert_eq!(
        open.message,
        "has an address that is not taken: it must be an https URL, or http on this machine, without credentials"
    );
}
