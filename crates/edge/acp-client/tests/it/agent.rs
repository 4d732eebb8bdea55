//! An agent in memory, played by the test itself, and short ways to do what most tests begin with.

use std::sync::Arc;
use std::time::Duration;

use acp_client::{AcpClient, ClientEvent, ConnectOptions, Events, MemoryPeer, connect, memory};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// Longer than the longest pause of any test.
const PATIENCE: Duration = Duration::from_secs(200_000);

pub(crate) struct Agent {
    heard: BufReader<DuplexStream>,
    pub(crate) output: DuplexStream,
    pub(crate) errors: DuplexStream,
    pub(crate) life: acp_client::AgentLife,
}

impl Agent {
    pub(crate) fn new(peer: MemoryPeer) -> Self {
        let MemoryPeer { input, output, errors, life } = peer;
        Self { heard: BufReader::new(input), output, errors, life }
    }

    /// Closes its input; what is left keeps the rest open.
    pub(crate) fn deaf(self) -> (DuplexStream, DuplexStream, acp_client::AgentLife) {
        (self.output, self.errors, self.life)
    }

    /// The next message of the client's.
    pub(crate) async fn hear(&mut self) -> Value {
        self.hear_or_end().await.expect("the client has ended")
    }

    pub(crate) async fn hear_or_end(&mut self) -> Option<Value> {
        let mut line = String::new();
        // With time paused this passes only when nothing can come any more.
        let reading = tokio::time::timeout(PATIENCE, self.heard.read_line(&mut line));
        let count = reading.await.expect("the client says something").unwrap();
        (count > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    pub(crate) async fn hear_method(&mut self, method: &str) -> Value {
        let heard = self.hear().await;
        assert_eq!(heard["method"], method, "{heard}");
        heard
    }

    pub(crate) async fn say_bytes(&mut self, bytes: &[u8]) {
        self.output.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn say(&mut self, message: Value) {
        self.say_bytes(format!("{message}\n").as_bytes()).await;
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.say(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    pub(crate) async fn refuse(&mut self, request: &Value, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.say(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).await;
    }

    pub(crate) async fn update(&mut self, session: &str, update: Value) {
        let params = json!({ "sessionId": session, "update": update });
        self.say(json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })).await;
    }

    pub(crate) async fn text(&mut self, session: &str, text: &str) {
        let content = json!({ "type": "text", "text": text });
        self.update(session, json!({ "sessionUpdate": "agent_message_chunk", "content": content })).await;
    }

    pub(crate) async fn ask(&mut self, id: Value, method: &str, params: Value) {
        self.say(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
    }
}

/// Everything an agent can offer.
pub(crate) fn able() -> Value {
    json!({
        "loadSession": true,
        "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {} },
        "auth": { "logout": {} },
    })
}

pub(crate) fn pair(options: ConnectOptions) -> (AcpClient, Events, Agent) {
    let (channel, peer) = memory(false);
    let (client, events) = connect(Arc::new(channel), options);
    (client, events, Agent::new(peer))
}

/// A connection past `initialize`.
pub(crate) async fn greeted(options: ConnectOptions, capabilities: Value) -> (AcpClient, Events, Agent) {
    let (client, events, mut agent) = pair(options);
    let (hello, ()) = tokio::join!(client.initialize(), async {
        let request = agent.hear_method("initialize").await;
        let hello = json!({ "protocolVersion": 1, "agentCapabilities": capabilities });
        agent.answer(&request, hello).await;
    });
    hello.unwrap();
    (client, events, agent)
}

/// One with a session `s`.
pub(crate) async fn opened(options: ConnectOptions) -> (AcpClient, Events, Agent) {
    let (client, events, mut agent) = greeted(options, able()).await;
    let (session, ()) = tokio::join!(client.new_session("/work".as_ref()), async {
        let request = agent.hear_method("session/new").await;
        agent.answer(&request, json!({ "sessionId": "s" })).await;
    });
    assert_eq!(session.unwrap().session_id.as_deref(), Some("s"));
    (client, events, agent)
}

pub(crate) fn quiet() -> ConnectOptions {
    ConnectOptions { keepalive: None, ..ConnectOptions::default() }
}

/// The next event; with time paused this limit passes only when nothing can come any more.
pub(crate) async fn next(events: &mut Events) -> ClientEvent {
    let waiting = tokio::time::timeout(Duration::from_secs(3600), events.next());
    waiting.await.expect("an event comes").expect("the stream goes on")
}
