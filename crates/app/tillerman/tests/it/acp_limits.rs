//! Bounds of the `acp` dialect that a story would be too long for.

use std::time::Duration;

use dialect_acp::Acp;
use serde_json::{Value, json};
use testkit::pipe::Pipe;
use testkit::{Stage, StageOptions};

use crate::acp_stage;
use crate::golden::paused;

const QUIET: Duration = Duration::from_millis(300);
/// Prompts that may wait in a session, and sessions of one connection; docs/dialects/acp.md.
const QUEUE_MAX: usize = 50;
const SESSIONS_MAX: usize = 256;

fn stage() -> (Stage, Pipe) {
    let stage = Stage::new(StageOptions::default());
    let pipe = Pipe::new(&stage.engine, Box::new(Acp::new(acp_stage::options())), host::PumpOptions::default());
    (stage, pipe)
}

/// Everything that comes of a request.
async fn ask(pipe: &mut Pipe, id: usize, method: &str, params: Value) -> Vec<Value> {
    pipe.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
    let said = pipe.heard(QUIET).await;
    said.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_prompt_too_many_is_refused_and_the_others_are_kept() {
    paused(async {
        let (stage, mut pipe) = stage();
        ask(&mut pipe, 0, "session/new", json!({ "cwd": stage.workspace() })).await;
        let say = |text: &str| json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": text }] });
        let named = ask(&mut pipe, 1000, "session/prompt", say("hold")).await;
        assert_eq!((named.len(), &named[0]["params"]["update"]["title"]), (1, &json!("hold")), "it has a name now");
        for number in 1..=QUEUE_MAX {
            assert_eq!(ask(&mut pipe, number, "session/prompt", say("say x")).await, [] as [Value; 0], "{number}");
        }
        let said = ask(&mut pipe, QUEUE_MAX + 1, "session/prompt", say("say x")).await;
        assert_eq!((said.len(), &said[0]["id"], &said[0]["error"]["code"]), (1, &json!(51), &json!(-32603)));
        let message = said[0]["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("the queue is full (50 waiting)"), "{message}");
    });
}

#[test]
fn a_session_too_many_is_refused_until_another_is_closed() {
    paused(async {
        let (stage, mut pipe) = stage();
        for number in 0..SESSIONS_MAX {
            let said = ask(&mut pipe, number, "session/new", json!({ "cwd": stage.workspace() })).await;
            assert!(said.iter().any(|line| line["id"] == number && line["result"].is_object()), "{number}: {said:?}");
        }
        let said = ask(&mut pipe, 1000, "session/new", json!({ "cwd": stage.workspace() })).await;
        assert_eq!(said[0]["error"]["message"], "256 sessions are open; close one first");
        ask(&mut pipe, 1001, "session/close", json!({ "sessionId": "s1" })).await;
        let said = ask(&mut pipe, 1002, "session/new", json!({ "cwd": stage.workspace() })).await;
        assert!(said.iter().any(|line| line["id"] == 1002 && line["result"].is_object()), "{said:?}");
    });
}
