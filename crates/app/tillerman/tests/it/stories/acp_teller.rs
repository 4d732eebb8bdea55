//! Tells stories as a client that speaks `acp`.

use std::time::Duration;

use dialect_acp::{Acp, AcpOptions};
use serde_json::{Value, json};
use testkit::Stage;
use testkit::pipe::Pipe;
use testkit::stories::{EngineTeller, Step, Teller};
use vocab::{Delivery, Gate, Later, Open, SessionId, Which};

use crate::acp_stage;

const QUIET: Duration = Duration::from_millis(200);

/// The engine's own teller, on a session that is opened as `acp` opens it: it leaves the same log. What waits has a turn of its
/// own.
pub(crate) async fn engine_as_acp(stage: &Stage) -> EngineTeller {
    let open = Open { gate: Some(Gate::Ladder), tool_names: Some(vocab::names::CANONICAL), ..Open::new(Which::New) };
    let open = Open { workspace: Some(stage.workspace().to_owned()), ..open };
    let mut teller = EngineTeller::open(stage, open).await;
    teller.follow_up = Delivery::Queue;
    teller
}

pub(crate) struct AcpTeller {
    pipe: Pipe,
    session: String,
    requests: u64,
    /// Permissions that wait for an answer, and the one that was asked for last.
    asks: Vec<u64>,
    last_ask: Option<u64>,
    /// Prompts without an answer, oldest first.
    prompts: Vec<u64>,
}

impl AcpTeller {
    pub(crate) async fn new(stage: &Stage) -> Self {
        // The mode is the story's.
        let dialect = Acp::new(AcpOptions { mode: None, ..acp_stage::options() });
        let pipe = Pipe::new(&stage.engine, Box::new(dialect), host::PumpOptions::default());
        let (asks, prompts) = (Vec::new(), Vec::new());
        let mut teller = Self { pipe, session: String::new(), requests: 0, asks, last_ask: None, prompts };
        let request = teller.request("session/new", json!({ "cwd": stage.workspace(), "mcpServers": [] }));
        teller.pipe.send(&request.to_string()).await;
        let heard = teller.pipe.heard(QUIET).await;
        let heard = heard.iter().map(|line| serde_json::from_str::<Value>(line).expect("every line is JSON"));
        let created = heard.into_iter().find(|said| said["id"] == request["id"]).expect("an answer");
        teller.session = created["result"]["sessionId"].as_str().expect("a session has an id").to_owned();
        teller
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params })
    }

    fn prompt(&mut self, text: &str) -> Value {
        let prompt = json!([{ "type": "text", "text": text }]);
        let request = self.request("session/prompt", json!({ "sessionId": self.session, "prompt": prompt }));
        self.prompts.push(self.requests);
        request
    }

    fn answer(&self, ask: Option<u64>, option: &str) -> Option<Value> {
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        Some(json!({ "jsonrpc": "2.0", "id": ask?, "result": outcome }))
    }

    fn line(&mut self, step: &Step) -> Option<Value> {
        let note = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "method": method, "params": params });
        match step {
            Step::Prompt(text) | Step::FollowUp(text) => Some(self.prompt(text)),
            Step::Slash { name, args } => Some(self.prompt(format!("/{name} {args}").trim())),
            Step::Interrupt => Some(note("session/cancel", json!({ "sessionId": self.session }))),
            // The one that runs is the oldest; the next is the first that waits.
            Step::TakeBack => Some(note("$/cancel_request", json!({ "requestId": self.prompts[1] }))),
            Step::Allow => self.answer(self.asks.last().copied(), "allow_once"),
            Step::Deny(_) => self.answer(self.asks.last().copied(), "deny"),
            Step::Again => self.answer(self.last_ask, "allow_once"),
            _ => None,
        }
    }

    async fn listen(&mut self) -> Vec<String> {
        let mut refused = Vec::new();
        for line in self.pipe.heard(QUIET).await {
            let said: Value = serde_json::from_str(&line).expect("every line is JSON");
            match (said["method"].as_str(), said["id"].as_u64()) {
                (Some("session/request_permission"), Some(id)) => {
                    self.asks.push(id);
                    self.last_ask = Some(id);
                }
                (Some("$/cancel_request"), _) => self.asks.retain(|ask| said["params"]["requestId"] != *ask),
                (None, Some(id)) => {
                    self.prompts.retain(|prompt| *prompt != id);
                    refused.extend(refusal(&said));
                }
                _ => {}
            }
        }
        refused
    }
}

/// The engine's word for a refusal of this wire. A turn that fails is none.
fn refusal(said: &Value) -> Option<String> {
    (said["error"]["code"] == -32602).then(|| match said["error"]["message"].as_str() {
        Some("the prompt has no text and no picture") => "empty_prompt".to_owned(),
        other => panic!("a refusal without a name: {other:?}"),
    })
}

impl Teller for AcpTeller {
    fn can(&self, step: &Step) -> bool {
        match step {
            Step::Slash { name, .. } => acp_stage::options().commands.iter().any(|command| *command.name == *name),
            Step::Steer(_) | Step::AbortRetry | Step::ClearQueue => false,
            Step::Shell { .. } | Step::AbortShell | Step::Todos(_) | Step::Leave => false,
            _ => true,
        }
    }

    fn take<'a>(&'a mut self, step: &'a Step) -> Later<'a, Vec<String>> {
        Box::pin(async move {
            match (self.line(step), step) {
                (Some(line), step) => {
                    self.pipe.send(&line.to_string()).await;
                    if matches!(step, Step::Allow | Step::Deny(_)) {
                        self.asks.pop();
                    }
                }
                (None, Step::Wait(ms)) => tokio::time::sleep(Duration::from_millis(*ms)).await,
                // Where the mode allows a call by itself there is nothing to answer.
                (None, Step::Allow | Step::Deny(_) | Step::Again) => {}
                (None, other) => panic!("acp has no words for {other:?}"),
            }
            self.listen().await
        })
    }

    fn session(&self) -> SessionId {
        self.session.as_str().into()
    }
}
