//! Tells stories as a client that speaks `loaf`.

use std::sync::Arc;
use std::time::Duration;

use dialect_loaf::LoafOptions;
use serde_json::{Value, json};
use testkit::Stage;
use testkit::pipe::Pipe;
use testkit::stories::{EngineTeller, Step, Teller};
use vocab::{Delivery, Gate, Later, ModelInfo, Open, SessionId, Which};

use crate::loaf_stage;
use crate::loaf_user::LoafUser;

const QUIET: Duration = Duration::from_millis(200);
/// The engine's first session on a stage.
const CHAT: &str = "s1";

/// Slash commands of ours that `loaf` says with commands and methods of its own.
const SAYS: &[&str] = &["compact", "model"];

/// The engine's own teller, on a session that is opened as `loaf` opens it: it leaves the same log. What waits has a turn of
/// its own.
pub(crate) async fn engine_as_loaf(stage: &Stage) -> EngineTeller {
    let open = Open { gate: Some(Gate::Ladder), tool_names: Some(dialect_loaf::TOOL_NAMES), ..Open::new(Which::New) };
    let mut teller = EngineTeller::open(stage, open).await;
    teller.follow_up = Delivery::Enqueue;
    teller
}

pub(crate) struct LoafTeller {
    pipe: Pipe,
    /// The session as this wire names it.
    session: String,
    requests: u64,
}

impl LoafTeller {
    pub(crate) async fn new(stage: &Stage) -> Self {
        let model = ModelInfo { provider: "openai".into(), ..tour::model("mock/alpha", 128_000) };
        // The mode is the story's.
        let options = LoafOptions { mode: None, thinking: Some("OFF".into()), ..loaf_stage::options(Some(model)) };
        let pipe = loaf_stage::pipe(stage, &Arc::new(LoafUser::default()), options);
        let mut teller = Self { pipe, session: String::new(), requests: 0 };
        let request = teller.request("session.create", json!({}));
        teller.pipe.send(&request.to_string()).await;
        let heard = teller.pipe.heard(QUIET).await;
        let heard = heard.iter().map(|line| serde_json::from_str::<Value>(line).expect("every line is JSON"));
        let created = heard.into_iter().find(|said| said["id"] == request["id"]).expect("an answer");
        teller.session = created["result"]["session_id"].as_str().expect("a session has an id").to_owned();
        teller
    }

    fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.requests += 1;
        if !self.session.is_empty() {
            params["session_id"] = self.session.as_str().into();
        }
        json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params })
    }

    fn line(&mut self, step: &Step) -> Option<Value> {
        Some(match step {
            Step::Prompt(text) => self.request("session.send", json!({ "text": text })),
            Step::FollowUp(text) => self.request("session.send", json!({ "text": text, "enqueue": true })),
            Step::Steer(text) => self.request("session.steer", json!({ "text": text })),
            Step::Interrupt => self.request("session.interrupt", json!({})),
            Step::ClearQueue => self.request("session.queue.clear", json!({})),
            Step::Slash { name, .. } if name == "compact" => {
                self.request("command.execute", json!({ "raw_command": "/compress" }))
            }
            Step::Slash { name, args } if name == "model" => {
                self.request("model.select", json!({ "model_id": args, "provider": "openai", "thinking_level": "OFF" }))
            }
            _ => return None,
        })
    }

    async fn listen(&mut self) -> Vec<String> {
        let lines = self.pipe.heard(QUIET).await;
        let said = lines.iter().map(|line| serde_json::from_str::<Value>(line).expect("every line is JSON"));
        said.filter_map(|said| refusal(&said)).collect()
    }
}

/// The engine's word for a refusal of this wire.
fn refusal(said: &Value) -> Option<String> {
    // Steering without a turn is not taken, which is an answer here.
    if said["result"]["accepted"] == false {
        return Some("nothing_to_do".into());
    }
    Some(match said["error"]["data"]["reason"].as_str()? {
        "session_busy" => "turn_in_progress".into(),
        other => other.into(),
    })
}

impl Teller for LoafTeller {
    fn can(&self, step: &Step) -> bool {
        match step {
            Step::Slash { name, args } => SAYS.contains(&name.as_str()) && (name != "compact" || args.is_empty()),
            // Only where the mode allows the call by itself: there is nothing to answer then.
            Step::Allow => true,
            Step::Deny(_) | Step::Again | Step::AbortRetry | Step::TakeBack => false,
            Step::Shell { .. } | Step::AbortShell | Step::Todos(_) | Step::Leave => false,
            _ => true,
        }
    }

    fn take<'a>(&'a mut self, step: &'a Step) -> Later<'a, Vec<String>> {
        Box::pin(async move {
            match (self.line(step), step) {
                (Some(line), _) => self.pipe.send(&line.to_string()).await,
                (None, Step::Wait(ms)) => tokio::time::sleep(Duration::from_millis(*ms)).await,
                (None, Step::Allow) => {}
                (None, other) => panic!("loaf has no words for {other:?}"),
            }
            self.listen().await
        })
    }

    fn session(&self) -> SessionId {
        CHAT.into()
    }
}
