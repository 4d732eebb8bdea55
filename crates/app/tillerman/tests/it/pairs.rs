//! Story 26: two controllers that speak different dialects, on one session of one process. Every ordered pair, also of the same
//! dialect: the first opens the session, the second comes in while a turn runs.

use std::sync::Arc;
use std::time::Duration;

use dialect_acp::{Acp, AcpOptions};
use dialect_loaf::LoafOptions;
use dialect_rpc::{Rpc, RpcOptions};
use dialect_serve::{Serve, ServeOptions};
use serde_json::{Value, json};
use testkit::pipe::Pipe;
use testkit::{Stage, StageOptions};
use vocab::{Mode, ModelInfo, Which};

use crate::golden::paused;
use crate::loaf_user::LoafUser;
use crate::{acp_stage, loaf_stage};

const QUIET: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tongue {
    Serve,
    Rpc,
    Loaf,
    Acp,
}

impl Tongue {
    const ALL: [Tongue; 4] = [Tongue::Serve, Tongue::Rpc, Tongue::Loaf, Tongue::Acp];

    /// There is no question on the wire of `loaf`.
    fn answers(self) -> bool {
        self != Tongue::Loaf
    }
    /// The end of its input stops what runs on its sessions, whoever began it; `serve` lets a turn come to its end.
    fn stops_when_it_leaves(self) -> bool {
        self != Tongue::Serve
    }
}

/// One controller.
struct Speaker {
    tongue: Tongue,
    pipe: Pipe,
    /// The session as this wire names it.
    session: String,
    requests: u64,
    heard: Vec<Value>,
}

fn model(slug: &str) -> ModelInfo {
    ModelInfo { provider: "openai".into(), ..tour::model(slug, 32_000) }
}

fn stage() -> Stage {
    let models = vec![model("tour"), model("tour-mini")];
    let provider = Arc::new(tour::Tour::new(tour::TourOptions { models, word_delay_ms: 0 }));
    Stage::new(StageOptions { provider, mode: Mode::Prompt, ..StageOptions::default() })
}

impl Speaker {
    /// On a new session, or on the one named.
    async fn open(stage: &Stage, tongue: Tongue, on: Option<&str>) -> Self {
        let which = on.map_or(Which::New, |id| Which::Id(id.to_owned()));
        let pipe = match tongue {
            Tongue::Serve => {
                let dialect = Serve::new(ServeOptions { which, ..ServeOptions::new(testkit::stage::VERSION) });
                Pipe::new(&stage.engine, dialect, host::PumpOptions::default())
            }
            Tongue::Rpc => {
                let dialect = Rpc::new(RpcOptions { which, ..RpcOptions::new(testkit::stage::VERSION) });
                Pipe::new(&stage.engine, dialect, host::PumpOptions::default())
            }
            Tongue::Loaf => {
                let options = LoafOptions { mode: None, ..loaf_stage::options(Some(model("tour"))) };
                loaf_stage::pipe(stage, &Arc::new(LoafUser::default()), options)
            }
            Tongue::Acp => {
                let dialect = Acp::new(AcpOptions { mode: None, ..acp_stage::options() });
                Pipe::new(&stage.engine, dialect, host::PumpOptions::default())
            }
        };
        let mut speaker = Self { tongue, pipe, session: String::new(), requests: 0, heard: Vec::new() };
        match (tongue, on) {
            (Tongue::Serve | Tongue::Rpc, _) => speaker.listen().await,
            (Tongue::Loaf, _) => {
                speaker.call("session.create", json!({})).await;
                speaker.session = speaker.result()["session_id"].as_str().expect("a session").to_owned();
                if let Some(id) = on {
                    speaker.call("command.execute", json!({ "raw_command": format!("/history {id}") })).await;
                }
            }
            (Tongue::Acp, None) => {
                speaker.call("session/new", json!({ "cwd": stage.workspace(), "mcpServers": [] })).await;
                speaker.session = speaker.result()["sessionId"].as_str().expect("a session").to_owned();
            }
            (Tongue::Acp, Some(id)) => {
                speaker.session = id.to_owned();
                speaker.call("session/resume", json!({ "cwd": stage.workspace() })).await;
            }
        }
        speaker
    }

    async fn say(&mut self, line: &Value) {
        self.pipe.send(&line.to_string()).await;
        self.listen().await;
    }
    async fn listen(&mut self) {
        let lines = self.pipe.heard(QUIET).await;
        self.heard.extend(lines.iter().map(|line| serde_json::from_str::<Value>(line).expect("every line is JSON")));
    }
    /// A request of the two that speak JSON-RPC.
    async fn call(&mut self, method: &str, mut params: Value) {
        self.requests += 1;
        if !self.session.is_empty() {
            let name = if self.tongue == Tongue::Loaf { "session_id" } else { "sessionId" };
            params[name] = self.session.as_str().into();
        }
        self.say(&json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params })).await;
    }
    /// What came of the last one.
    fn result(&self) -> &Value {
        let is_it = |said: &&Value| said["id"] == self.requests && said["method"].is_null();
        let answer = self.heard.iter().find(is_it).unwrap_or_else(|| panic!("no answer in {:#?}", self.heard));
        &answer["result"]
    }

    async fn prompt(&mut self, text: &str) {
        match self.tongue {
            Tongue::Serve => self.say(&json!({ "type": "prompt", "text": text })).await,
            Tongue::Rpc => self.say(&json!({ "type": "prompt", "message": text })).await,
            Tongue::Loaf => self.call("session.send", json!({ "text": text })).await,
            Tongue::Acp => self.call("session/prompt", json!({ "prompt": [{ "type": "text", "text": text }] })).await,
        }
    }
    /// The question that was asked last.
    fn ask(&self) -> Option<Value> {
        self.heard.iter().rev().find_map(|said| match self.tongue {
            Tongue::Serve => (said["type"] == "permission_request").then(|| said["request_id"].clone()),
            Tongue::Rpc => (said["method"] == "confirm").then(|| said["id"].clone()),
            Tongue::Loaf => None,
            Tongue::Acp => (said["method"] == "session/request_permission").then(|| said["id"].clone()),
        })
    }
    async fn allow(&mut self, ask: Value) {
        let line = match self.tongue {
            Tongue::Serve => json!({ "type": "permission_response", "request_id": ask, "decision": "allow" }),
            Tongue::Rpc => json!({ "type": "extension_ui_response", "id": ask, "confirmed": true }),
            Tongue::Loaf => panic!("loaf has no words for it"),
            Tongue::Acp => {
                let outcome = json!({ "outcome": "selected", "optionId": "allow_once" });
                json!({ "jsonrpc": "2.0", "id": ask, "result": { "outcome": outcome } })
            }
        };
        self.say(&line).await;
    }
    async fn set_model(&mut self, slug: &str) {
        match self.tongue {
            Tongue::Serve => self.say(&json!({ "type": "slash", "command": "model", "args": slug })).await,
            Tongue::Rpc => self.say(&json!({ "type": "set_model", "provider": "openai", "modelId": slug })).await,
            Tongue::Loaf => {
                let model = json!({ "model_id": slug, "provider": "openai", "thinking_level": "OFF" });
                self.call("model.select", model).await;
            }
            Tongue::Acp => self.prompt(&format!("/model {slug}")).await,
        }
    }
    /// What it knows of the model: all are told when it changes but `rpc`, which asks.
    async fn knows_model(&mut self, slug: &str) -> bool {
        self.listen().await;
        match self.tongue {
            Tongue::Serve => self.heard.iter().any(|said| said["type"] == "state_changed" && said["model"] == slug),
            Tongue::Acp => {
                let updates = self.heard.iter().filter(|said| said["method"] == "session/update");
                updates.into_iter().any(|said| said.to_string().contains(&format!("\"{slug}\"")))
            }
            Tongue::Rpc => {
                self.say(&json!({ "id": "model?", "type": "get_state" })).await;
                let state = self.heard.iter().rev().find(|said| said["id"] == "model?").expect("an answer");
                state["data"]["model"]["id"] == slug
            }
            Tongue::Loaf => {
                let changes = self.heard.iter().filter(|said| said["params"]["type"] == "state.changed");
                let chosen = changes.into_iter().filter(|it| it["params"]["payload"]["reason"] == "model_selected");
                chosen.into_iter().any(|said| said.to_string().contains(&format!("\"{slug}\"")))
            }
        }
    }

    /// All text of replies that was told, in order.
    fn text(&self) -> String {
        let texts = self.heard.iter().filter_map(|said| match self.tongue {
            Tongue::Serve => (said["type"] == "text_delta").then(|| said["delta"].as_str())?,
            Tongue::Rpc => {
                let event = &said["assistantMessageEvent"];
                (event["type"] == "text_delta").then(|| event["delta"].as_str())?
            }
            Tongue::Loaf => {
                let chunk = &said["params"]["payload"]["chunk"];
                (said["params"]["type"] == "session.stream.chunk").then(|| chunk["answerText"].as_str())?
            }
            Tongue::Acp => {
                let update = &said["params"]["update"];
                (update["sessionUpdate"] == "agent_message_chunk").then(|| update["content"]["text"].as_str())?
            }
        });
        texts.collect()
    }
    /// How a call to write a file is named, and how it ended; each in this wire's words.
    fn write_ended(&self) -> Option<bool> {
        self.heard.iter().find_map(|said| match self.tongue {
            Tongue::Serve => (said["type"] == "tool_result").then(|| said["is_error"] == false),
            Tongue::Rpc => {
                (said["type"] == "tool_execution_end" && said["toolName"] == "write").then(|| said["isError"] == false)
            }
            Tongue::Loaf => {
                let executed = &said["params"]["payload"]["data"]["executed"];
                (said["params"]["type"] == "session.tool.call.completed" && executed["name"] == "write_file")
                    .then(|| executed["ok"] == true)
            }
            Tongue::Acp => {
                let update = &said["params"]["update"];
                let is_over = update["status"] == "completed" || update["status"] == "failed";
                (update["sessionUpdate"] == "tool_call_update" && is_over).then(|| update["status"] == "completed")
            }
        })
    }
}

/// Runs the story for each pair; what is wrong says which.
fn with_every_pair(story: impl AsyncFn(&Stage, Speaker, Speaker)) {
    let mut bad = Vec::new();
    for first in Tongue::ALL {
        for second in Tongue::ALL {
            let pair = format!("{first:?} and {second:?}");
            let told = std::panic::AssertUnwindSafe(|| {
                paused(async {
                    let stage = stage();
                    let (one, two) = together(&stage, first, second).await;
                    story(&stage, one, two).await;
                });
            });
            if std::panic::catch_unwind(told).is_err() {
                bad.push(pair);
            }
        }
    }
    assert!(bad.is_empty(), "it is another story with {bad:?}");
}

/// The second comes in while a turn of the first runs.
async fn together(stage: &Stage, first: Tongue, second: Tongue) -> (Speaker, Speaker) {
    let mut one = Speaker::open(stage, first, None).await;
    one.prompt("say hello").await;
    one.prompt("say \"begun \" pause 2000 say \"ended\"").await;
    assert!(one.text().ends_with("begun "), "{}", one.text());
    let mut two = Speaker::open(stage, second, Some("s1")).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    one.listen().await;
    two.listen().await;
    // From its attach point on: what ran when it came, from its beginning, and nothing twice.
    let texts = [one.text(), two.text()];
    assert_eq!(texts, ["hellobegun ended", "begun ended"], "{first:?} and {second:?}: {:#?}", two.heard);
    (one, two)
}

#[test]
fn both_hear_everything_and_either_may_answer() {
    with_every_pair(async |stage, mut one, mut two| {
        let pair = format!("{:?} and {:?}", one.tongue, two.tongue);
        two.prompt("say asking call write_file {\"path\":\"x\",\"content\":\"1\"} then say done").await;
        one.listen().await;
        let asks = [one.ask(), two.ask()];
        let can = [one.tongue.answers(), two.tongue.answers()];
        assert_eq!(asks.each_ref().map(Option::is_some), can, "{pair}: whoever can answer is asked");
        match asks {
            [Some(ask), late] => {
                one.allow(ask).await;
                two.listen().await;
                if let Some(late) = late {
                    two.allow(late).await;
                }
            }
            [None, Some(ask)] => two.allow(ask).await,
            [None, None] => {}
        }
        one.listen().await;
        two.listen().await;
        let ran = can.contains(&true);
        assert_eq!(stage.read("x").as_deref(), ran.then_some("1"), "{pair}: the first answer counts");
        assert_eq!([one.write_ended(), two.write_ended()], [Some(ran); 2], "{pair}: both are told, in their own words");
        assert!(one.text().ends_with("askingdone") && two.text().ends_with("askingdone"), "{pair}: {}", two.text());
    });
}

#[test]
fn what_one_changes_the_other_knows_and_who_leaves_takes_nothing_along() {
    with_every_pair(async |_, mut one, mut two| {
        let pair = format!("{:?} and {:?}", one.tongue, two.tongue);
        two.set_model("tour-mini").await;
        assert!(one.knows_model("tour-mini").await, "{pair}: {:#?}", one.heard);
        assert!(two.knows_model("tour-mini").await, "{pair}: {:#?}", two.heard);
        one.prompt("say \"left \" pause 1000 say \"alone\"").await;
        one.pipe.eof().await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        two.listen().await;
        let goes_on = !one.tongue.stops_when_it_leaves();
        assert!(two.text().ends_with(if goes_on { "left alone" } else { "left " }), "{pair}: {}", two.text());
        two.prompt("say \"still here\"").await;
        assert!(two.text().ends_with("still here"), "{pair}: {:#?}", two.heard);
    });
}
