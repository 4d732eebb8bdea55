//! Bounds of the `loaf` dialect that a story would be too long for.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::pipe::Pipe;
use testkit::{Stage, StageOptions};
use vocab::ModelInfo;

use crate::golden::paused;
use crate::loaf_stage;
use crate::loaf_user::LoafUser;

const QUIET: Duration = Duration::from_millis(300);
/// Prompts that may wait in a session.
const QUEUE_MAX: usize = 256;

fn stage() -> (Stage, Pipe) {
    let user = Arc::new(LoafUser::default());
    let model = ModelInfo { provider: "openai".into(), ..tour::model("mock/alpha", 128_000) };
    let stage = Stage::new(StageOptions {
        provider: Arc::new(tour::Tour::new(tour::TourOptions { models: vec![model.clone()], word_delay_ms: 0 })),
        model: "mock/alpha".into(),
        tune: Box::new(loaf_stage::settle),
        accounts: user.clone(),
        ..StageOptions::default()
    });
    let pipe = loaf_stage::pipe(&stage, &user, loaf_stage::options(Some(model)));
    (stage, pipe)
}

async fn ask(pipe: &mut Pipe, id: usize, method: &str, params: Value) -> Value {
    pipe.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
    let said = pipe.heard(QUIET).await;
    let said = said.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    said.into_iter().find(|line| line["id"] == id).expect("an answer")
}

#[test]
fn a_full_queue_refuses_the_next_prompt_and_keeps_the_others() {
    paused(async {
        let (_stage, mut pipe) = stage();
        ask(&mut pipe, 0, "session.create", json!({})).await;
        ask(&mut pipe, 0, "session.send", json!({"session_id": "s1", "text": "hold"})).await;
        let wait = |number: usize| json!({"session_id": "s1", "text": format!("say {number}"), "enqueue": true});
        for number in 1..=QUEUE_MAX {
            let answer = ask(&mut pipe, number, "session.send", wait(number)).await;
            assert_eq!(answer["result"]["queued"], true, "{number}: {answer}");
        }
        let answer = ask(&mut pipe, 1000, "session.send", wait(1000)).await;
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["data"]["reason"]),
            (&json!(-32000), &json!("queue_full"))
        );
        let listed = ask(&mut pipe, 1001, "session.queue.list", json!({"session_id": "s1"})).await;
        let queue = listed["result"]["queue"].as_array().unwrap();
        assert_eq!(
            (queue.len(), &queue[0]["text"], &queue[QUEUE_MAX - 1]["text"]),
            (QUEUE_MAX, &json!("say 1"), &json!("say 256"))
        );
        let cleared = ask(&mut pipe, 1002, "session.queue.clear", json!({"session_id": "s1"})).await;
        assert_eq!(cleared["result"]["cleared_count"], QUEUE_MAX);
    });
}
