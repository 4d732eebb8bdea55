//! Going on after a kill, by the handle that the dialect named: the session is found however short it was, and the end of
//! the turn that died is never taken for the end of the new one.

use std::fs;
use std::process::Stdio;

use serde_json::json;
use testkit::faults::{Driver, PATIENCE, count, within};
use testkit::mock_model::MockModel;

use crate::drivers::{Rpc, every_dialect};
use crate::worlds::{tour, with};

every_dialect!(after_a_kill_in_a_turn_the_next_prompt_has_an_end_of_its_own);
fn after_a_kill_in_a_turn_the_next_prompt_has_an_end_of_its_own<D: Driver>() {
    let world = tour();
    let mut driver = D::begin(&world, &[]);
    driver.acknowledged("slow 200 say one two three four five six seven eight nine ten");
    let session = driver.handle().to_owned();
    driver.die();
    let mut driver = D::resume(&world, &session).expect("the session is there");
    driver.whole_turn(r#"call glob {"pattern":"*"} then say done"#);
    driver.whole_turn("say and on");
}

#[test]
fn after_a_kill_in_a_turn_the_next_run_does_what_it_was_asked_for() {
    for more in [&[][..], &["--json"][..]] {
        let world = tour();
        let mut slow = world.dialect_command("run", &[], &["slow 100 say 50 words"]);
        let mut slow = slow.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(world.stderr_log()).spawn().unwrap();
        let mut first = [0];
        std::io::Read::read_exact(slow.stdout.as_mut().unwrap(), &mut first).unwrap();
        slow.kill().unwrap();
        slow.wait().unwrap();
        let mut next = world.dialect_command("run", &[], &["-c", "-y", "create z.txt with hi"]);
        let ran = next.args(more).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(0), "{said}");
        assert!(within(PATIENCE, || world.workspace.join("z.txt").exists()).is_some(), "{said}");
        assert_eq!(fs::read_to_string(world.workspace.join("z.txt")).unwrap().trim(), "hi", "{said}");
    }
}

every_dialect!(d1_the_first_acknowledged_prompt_is_found_by_the_handle_that_was_named);
/// A kill right after the first prompt was acknowledged, before anything was answered.
fn d1_the_first_acknowledged_prompt_is_found_by_the_handle_that_was_named<D: Driver>() {
    let model = MockModel::start_blocking();
    for round in 0..count(3, 50) {
        let world = with(&model);
        let mut driver = D::begin(&world, &[]);
        let session = driver.handle().to_owned();
        driver.acknowledged(&format!("stall 1 say {} words", 10 + round));
        driver.die();
        let mut driver = D::resume(&world, &session).expect("the session is found by its handle");
        assert_eq!(driver.handle(), session);
        driver.whole_turn("say second");
        let chat = model.last_chat();
        let users = chat["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
        let users: Vec<String> = users.map(|message| message["content"].to_string()).collect();
        assert_eq!(users.len(), 2, "{users:?}");
        assert!(users[0].contains(&format!("stall 1 say {}", 10 + round)) && users[1].contains("second"), "{users:?}");
    }
}

/// Everything that a host of the `rpc` family may come back with, after one acknowledged prompt and a kill.
#[test]
fn d1_a_host_comes_back_by_path_id_prefix_newest_or_switch() {
    let ways = ["path", "id", "prefix", "continue", "switch", "own path"];
    for way in ways {
        let world = tour();
        let own = world.root().join("mine.jsonl").display().to_string();
        let args = if way == "own path" { vec!["--session", &own] } else { vec![] };
        let mut rpc = Rpc::new(&world, &args);
        let (id, file) = (rpc.session.clone(), rpc.file.clone().unwrap().display().to_string());
        rpc.acknowledged("slow 500 say one two three");
        rpc.die();
        let args: Vec<&str> = match way {
            "path" | "own path" => vec!["--session", &file],
            "id" => vec!["--session", &id],
            "prefix" => vec!["--session", &id[..id.len() - 4]],
            "continue" => vec!["--continue"],
            _ => vec![],
        };
        let mut rpc = Rpc::new(&world, &args);
        if way == "switch" {
            let switched = rpc.ask(json!({ "type": "switch_session", "sessionPath": file }));
            assert_eq!(switched["success"], true, "{switched}");
        }
        let state = rpc.ask(json!({ "type": "get_state" }));
        assert_eq!(state["data"]["sessionId"], id.as_str(), "{way}: {state}");
        let messages = rpc.ask(json!({ "type": "get_messages" }));
        let messages = messages["data"]["messages"].to_string();
        assert!(messages.contains("slow 500 say one two three"), "{way}: {messages}");
    }
}
