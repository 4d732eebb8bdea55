//! Tells stories as a host that speaks `rpc`.

use std::time::Duration;

use dialect_rpc::{Rpc, RpcOptions};
use serde_json::{Value, json};
use testkit::Stage;
use testkit::pipe::Pipe;
use testkit::stories::{Step, Teller};
use vocab::{Gate, Later, Open, SessionId, Which};

const QUIET: Duration = Duration::from_millis(200);

/// Slash commands of ours that `rpc` says with commands of its own.
const SAYS: &[&str] = &["compact", "model"];

/// How `rpc` opens a session, so that the engine's own teller leaves the same log.
pub(crate) fn open_as_rpc(which: Which) -> Open {
    Open { gate: Some(Gate::Ladder), tool_names: Some(dialect_rpc::TOOL_NAMES), ..Open::new(which) }
}

pub(crate) struct RpcTeller {
    pipe: Pipe,
    session: SessionId,
    asks: Vec<String>,
    last_ask: Option<String>,
    shell_runs: bool,
    /// Every line that came, for tests that look closer.
    pub(crate) heard: Vec<Value>,
}

impl RpcTeller {
    pub(crate) async fn new(stage: &Stage) -> Self {
        Self::open(stage, Which::New).await
    }

    pub(crate) async fn open(stage: &Stage, which: Which) -> Self {
        let dialect = Rpc::new(RpcOptions { which, ..RpcOptions::new(testkit::stage::VERSION) });
        let pipe = Pipe::new(&stage.engine, Box::new(dialect), host::PumpOptions::default());
        let mut teller =
            Self { session: "".into(), pipe, asks: Vec::new(), last_ask: None, shell_runs: false, heard: Vec::new() };
        teller.send(&json!({ "id": "open", "type": "get_state" })).await;
        let state = teller.heard.iter().find(|said| said["id"] == "open").expect("the state is told");
        teller.session = state["data"]["sessionId"].as_str().expect("a session has an id").into();
        teller
    }

    /// Sends one line, waits until everything has settled and returns the refusals.
    pub(crate) async fn send(&mut self, line: &Value) -> Vec<String> {
        self.pipe.send(&line.to_string()).await;
        self.listen().await
    }

    fn line(&self, step: &Step) -> Option<Value> {
        let answer = |ask: Option<&String>, confirmed: bool| json!({ "type": "extension_ui_response", "id": ask.expect("a question"), "confirmed": confirmed });
        Some(match step {
            Step::Prompt(text) => json!({ "type": "prompt", "message": text }),
            Step::Steer(text) => json!({ "type": "steer", "message": text }),
            Step::FollowUp(text) => json!({ "type": "follow_up", "message": text }),
            Step::Allow => answer(self.asks.last(), true),
            Step::Deny(_) => answer(self.asks.last(), false),
            Step::Again => answer(self.last_ask.as_ref(), true),
            Step::Interrupt => json!({ "type": "abort" }),
            Step::ClearQueue => json!({ "type": "clear_queue" }),
            Step::AbortRetry => json!({ "type": "abort_retry" }),
            Step::Shell { command, aside, .. } => {
                json!({ "type": "bash", "command": command, "excludeFromContext": aside })
            }
            Step::AbortShell => json!({ "type": "abort_bash" }),
            Step::Todos(tasks) => {
                let tasks: Vec<Value> = tasks.iter().map(|task| json!({ "content": task })).collect();
                json!({ "type": "set_todos", "phases": [{ "name": "Tasks", "tasks": tasks }] })
            }
            Step::Slash { name, args } if name == "compact" => {
                json!({ "type": "compact", "customInstructions": Some(args).filter(|args| !args.is_empty()) })
            }
            Step::Slash { name, args } if name == "model" => {
                json!({ "type": "set_model", "provider": "tour", "modelId": args })
            }
            _ => return None,
        })
    }

    /// Waits for the answer to a command of the user's own.
    async fn shell_answered(&mut self) -> Vec<String> {
        let answered = |line: &str| line.contains(r#""command":"bash","success":"#);
        let lines = self.pipe.until(answered).await;
        self.note(lines)
    }

    async fn listen(&mut self) -> Vec<String> {
        let lines = self.pipe.heard(QUIET).await;
        self.note(lines)
    }

    fn note(&mut self, lines: Vec<String>) -> Vec<String> {
        let mut refused = Vec::new();
        for line in lines {
            let said: Value = serde_json::from_str(&line).expect("every line is JSON");
            match (said["type"].as_str(), said["method"].as_str()) {
                (Some("extension_ui_request"), Some("confirm")) => {
                    let ask = said["id"].as_str().expect("a request has an id").to_owned();
                    self.last_ask = Some(ask.clone());
                    self.asks.push(ask);
                }
                (Some("tool_execution_end"), _) => drop(self.asks.pop()),
                (Some("response"), _) => refused.extend(said["error"].as_str().and_then(code)),
                _ => {}
            }
            self.heard.push(said);
        }
        refused
    }
}

/// The engine's word for an error of this wire. That there was nothing to compact is an answer, not a refusal.
fn code(error: &str) -> Option<String> {
    let known = [("Agent is already processing", "turn_in_progress"), ("Model not found", "unknown_model")];
    let word = known.iter().find(|(words, _)| error.contains(words)).map(|(_, code)| *code);
    (!error.contains("Nothing to compact")).then(|| word.unwrap_or(error).to_owned())
}

impl Teller for RpcTeller {
    fn can(&self, step: &Step) -> bool {
        match step {
            Step::Slash { name, .. } => SAYS.contains(&name.as_str()),
            // A confirmation has no word for a reason, and a queue is taken back whole.
            Step::Deny(reason) => reason.is_none(),
            Step::TakeBack => false,
            _ => true,
        }
    }

    fn take<'a>(&'a mut self, step: &'a Step) -> Later<'a, Vec<String>> {
        Box::pin(async move {
            // Where the mode allows a call by itself there is nothing to answer.
            let unasked = matches!(step, Step::Allow | Step::Deny(_)) && self.asks.is_empty();
            match ((!unasked).then(|| self.line(step)).flatten(), step) {
                (None, Step::Allow | Step::Deny(_)) => {}
                (Some(line), _) => self.pipe.send(&line.to_string()).await,
                (None, Step::Leave) => self.pipe.eof().await,
                (None, Step::Wait(ms)) => tokio::time::sleep(Duration::from_millis(*ms)).await,
                (None, other) => panic!("rpc has no words for {other:?}"),
            }
            let mut refused = Vec::new();
            match step {
                Step::Shell { to_its_end: true, .. } => refused = self.shell_answered().await,
                Step::Shell { .. } => self.shell_runs = true,
                Step::AbortShell if std::mem::take(&mut self.shell_runs) => refused = self.shell_answered().await,
                _ => {}
            }
            refused.extend(self.listen().await);
            refused
        })
    }

    fn session(&self) -> SessionId {
        self.session.clone()
    }
}
