//! Tells stories as a controller that speaks `serve`.

use std::time::Duration;

use dialect_serve::{Serve, ServeOptions};
use serde_json::{Value, json};
use testkit::Stage;
use testkit::pipe::Pipe;
use testkit::stories::{Step, Teller};
use vocab::{Later, SessionId, Which};

/// How `serve` opens a session, so that both leave the same log.
pub(crate) fn open_as_serve(which: Which) -> vocab::Open {
    let tool_names = Some(dialect_serve::TOOL_NAMES);
    vocab::Open { gate: Some(vocab::Gate::Proxy), tool_names, ..vocab::Open::new(which) }
}

const QUIET: Duration = Duration::from_millis(200);

pub(crate) struct ServeTeller {
    pipe: Pipe,
    session: SessionId,
    asks: Vec<String>,
    last_ask: Option<String>,
    /// Every line that came, for tests that look closer.
    pub(crate) heard: Vec<Value>,
}

impl ServeTeller {
    pub(crate) async fn new(stage: &Stage) -> Self {
        Self::open(stage, Which::New).await
    }

    pub(crate) async fn open(stage: &Stage, which: Which) -> Self {
        let dialect = Serve::new(ServeOptions { which, ..ServeOptions::new(testkit::stage::VERSION) });
        let mut pipe = Pipe::new(&stage.engine, Box::new(dialect), host::PumpOptions::default());
        let ready = pipe.heard(QUIET).await;
        let ready: Value = serde_json::from_str(&ready[0]).expect("the first line is JSON");
        let session = ready["session_id"].as_str().unwrap_or_else(|| panic!("not ready: {ready}"));
        Self { session: session.into(), pipe, asks: Vec::new(), last_ask: None, heard: Vec::new() }
    }

    /// A question is open.
    pub(crate) fn is_asked(&self) -> bool {
        !self.asks.is_empty()
    }

    fn line(&self, step: &Step) -> Option<Value> {
        let answer = |ask: Option<&String>, decision: &str, reason: Option<&String>| json!({ "type": "permission_response", "request_id": ask.expect("a question"), "decision": decision, "reason": reason });
        Some(match step {
            Step::Prompt(text) => json!({ "type": "prompt", "text": text }),
            Step::Allow => answer(self.asks.last(), "allow", None),
            Step::Deny(reason) => answer(self.asks.last(), "deny", reason.as_ref()),
            Step::Again => answer(self.last_ask.as_ref(), "allow", None),
            Step::Interrupt => json!({ "type": "interrupt" }),
            Step::Slash { name, args } => json!({ "type": "slash", "command": name, "args": args }),
            _ => return None,
        })
    }

    /// Reads what is there and returns the refusals among it.
    pub(crate) async fn listen(&mut self) -> Vec<String> {
        let mut refused = Vec::new();
        for line in self.pipe.heard(QUIET).await {
            let said: Value = serde_json::from_str(&line).expect("every line is JSON");
            match said["type"].as_str() {
                Some("permission_request") => {
                    let ask = said["request_id"].as_str().expect("a request has an id").to_owned();
                    self.last_ask = Some(ask.clone());
                    self.asks.push(ask);
                }
                Some("tool_result") => drop(self.asks.pop()),
                Some("error") if said["turn_id"].is_null() => refused.push(match said["code"].as_str() {
                    Some("unknown_request_id") => "unknown_ask".into(),
                    code => code.expect("an error has a code").to_owned(),
                }),
                Some("slash_result") => {
                    refused.extend(said["data"]["error"].as_str().map(str::to_owned));
                    if said["clear_session"] == true {
                        self.session = said["data"]["session_id"].as_str().expect("the new session").into();
                    }
                }
                _ => {}
            }
            self.heard.push(said);
        }
        refused
    }
}

impl Teller for ServeTeller {
    fn can(&self, step: &Step) -> bool {
        let waiting =
            matches!(step, Step::Steer(_) | Step::FollowUp(_) | Step::AbortRetry | Step::TakeBack | Step::ClearQueue);
        let beside = matches!(step, Step::Shell { .. } | Step::AbortShell | Step::Todos(_));
        !waiting && !beside
    }

    fn take<'a>(&'a mut self, step: &'a Step) -> Later<'a, Vec<String>> {
        Box::pin(async move {
            match (self.line(step), step) {
                (Some(line), _) => self.pipe.send(&line.to_string()).await,
                (None, Step::Leave) => self.pipe.eof().await,
                (None, Step::Wait(ms)) => tokio::time::sleep(Duration::from_millis(*ms)).await,
                (None, other) => panic!("serve has no words for {other:?}"),
            }
            self.listen().await
        })
    }

    fn session(&self) -> SessionId {
        self.session.clone()
    }
}
