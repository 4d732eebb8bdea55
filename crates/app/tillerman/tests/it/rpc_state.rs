//! What `get_state` says holds: every switch shows, and the counts are those of the lists that other commands give.

use serde_json::{Value, json};
use testkit::stories::{Step, Teller};
use testkit::{Stage, StageOptions};

use crate::golden::paused;
use crate::stories::rpc_teller::RpcTeller;

/// The payload of a command's response.
async fn data(rpc: &mut RpcTeller, mut command: Value) -> Value {
    command["id"] = "ask".into();
    rpc.heard.clear();
    rpc.send(&command).await;
    let answer = rpc.heard.iter().find(|said| said["id"] == "ask").expect("every command is answered");
    assert_eq!(answer["success"], true, "{command}: {answer}");
    answer["data"].clone()
}

async fn state(rpc: &mut RpcTeller) -> Value {
    data(rpc, json!({ "type": "get_state" })).await
}

#[test]
fn every_switch_shows_in_the_state() {
    paused(async {
        let stage = Stage::new(StageOptions::default());
        let mut rpc = RpcTeller::new(&stage).await;
        let before = state(&mut rpc).await;
        for (member, value) in [
            ("steeringMode", json!("one-at-a-time")),
            ("followUpMode", json!("one-at-a-time")),
            ("interruptMode", json!("wait")),
            ("autoCompactionEnabled", json!(true)),
            ("isStreaming", json!(false)),
            ("isCompacting", json!(false)),
            ("todoPhases", json!([])),
            ("messageCount", json!(0)),
            ("queuedMessageCount", json!(0)),
            ("pendingMessageCount", json!(0)),
            ("thinkingLevel", json!("off")),
            ("isSettled", json!(true)),
        ] {
            assert_eq!(before[member], value, "{member}: {before}");
        }
        assert!(before.get("sessionName").is_none(), "{before}");
        for command in [
            json!({ "type": "set_steering_mode", "mode": "all" }),
            json!({ "type": "set_follow_up_mode", "mode": "all" }),
            json!({ "type": "set_interrupt_mode", "mode": "immediate" }),
            json!({ "type": "set_interrupt_mode", "mode": "bogus" }),
            json!({ "type": "set_auto_compaction", "enabled": false }),
            json!({ "type": "set_session_name", "name": " A walk " }),
            json!({ "type": "set_thinking_level", "level": "low" }),
            json!({ "type": "set_todos", "phases": [{ "name": "P", "tasks": [{ "content": "c" }] }] }),
            json!({ "type": "set_host_tools", "tools": [{ "name": "lookup", "description": "d", "parameters": {} }] }),
            json!({ "type": "steer", "message": "later" }),
        ] {
            data(&mut rpc, command).await;
        }
        let after = state(&mut rpc).await;
        let todos = json!([{ "id": "phase-1", "name": "P", "tasks": [{ "id": "task-1", "content": "c", "status": "pending" }] }]);
        for (member, value) in [
            ("steeringMode", json!("all")),
            ("followUpMode", json!("all")),
            ("interruptMode", json!("immediate")),
            ("autoCompactionEnabled", json!(false)),
            ("sessionName", json!("A walk")),
            ("thinkingLevel", json!("low")),
            ("todoPhases", todos),
            ("queuedMessageCount", json!(1)),
            ("pendingMessageCount", json!(1)),
        ] {
            assert_eq!(after[member], value, "{member}");
        }
        let tools = after["dumpTools"].as_array().unwrap();
        assert!(tools.iter().any(|tool| tool["name"] == "lookup"), "{tools:?}");
        // A new session keeps what belongs to the host, and nothing of the old conversation.
        data(&mut rpc, json!({ "type": "new_session" })).await;
        let fresh = state(&mut rpc).await;
        for (member, value) in [
            ("steeringMode", json!("all")),
            ("interruptMode", json!("immediate")),
            ("autoCompactionEnabled", json!(false)),
            ("thinkingLevel", json!("low")),
            ("todoPhases", json!([])),
            ("queuedMessageCount", json!(0)),
        ] {
            assert_eq!(fresh[member], value, "{member} of the new session");
        }
        assert!(fresh.get("sessionName").is_none(), "{fresh}");
        assert_ne!(fresh["sessionId"], after["sessionId"]);
        assert!(fresh["dumpTools"].as_array().unwrap().iter().any(|tool| tool["name"] == "lookup"));
    });
}

#[test]
fn the_count_of_messages_is_that_of_the_list() {
    paused(async {
        let stage = Stage::new(StageOptions::default());
        stage.write("a.txt", "alpha\n");
        let mut rpc = RpcTeller::new(&stage).await;
        let both = r#"call read {"path":"a.txt"} and call read {"path":"b.txt"} then say done"#;
        for step in [
            Step::Prompt("say hello".into()),
            Step::Prompt(both.into()),
            Step::Shell { command: "echo hi".into(), aside: false, to_its_end: true },
            Step::Prompt("say after".into()),
        ] {
            rpc.take(&step).await;
            let messages = data(&mut rpc, json!({ "type": "get_messages" })).await;
            let count = messages["messages"].as_array().unwrap().len();
            assert_eq!(state(&mut rpc).await["messageCount"], count, "after {step:?}");
            let stats = data(&mut rpc, json!({ "type": "get_session_stats" })).await;
            assert_eq!(stats["totalMessages"], count, "after {step:?}");
        }
    });
}
