//! Going on after a kill, by the handle that the dialect named: the session is found however short it was, and the end of
//! the turn that died is never taken for the end of the new one.

use std::fs;
use std::process::Stdio;

use serde_json::json;
use testkit::mock_model::MockModel;

use crate::acp_driver::Acp;
use crate::driver::{PATIENCE, Serve, World, count, within};
use crate::loaf_driver::Loaf;
use crate::log::{Controller, Meaning};
use crate::rpc_driver::Rpc;

/// Says a prompt and reads until it is acknowledged.
fn acknowledged(controller: &mut impl Controller, prompt: &str) {
    controller.say(prompt);
    loop {
        let message = controller.process().next(PATIENCE).expect("the prompt is acknowledged");
        match controller.meaning(&message) {
            Meaning::Acknowledged => return,
            Meaning::Ended => panic!("it ended before it was acknowledged: {message}"),
            Meaning::Nothing => {}
        }
    }
}

fn goes_on<C: Controller>() {
    let world = World::tour();
    let mut controller = C::begin(&world, None).expect("a new session");
    acknowledged(&mut controller, "slow 200 say one two three four five six seven eight nine ten");
    let session = controller.session().to_owned();
    controller.process().kill();
    controller.process().ended(PATIENCE).expect("killed processes end");
    let mut controller = C::begin(&world, Some(&session)).expect("the session is there");
    controller.whole_turn(r#"call glob {"pattern":"*"} then say done"#);
    controller.whole_turn("say and on");
}

#[test]
fn after_a_kill_in_a_turn_the_next_prompt_has_an_end_of_its_own_in_every_dialect() {
    goes_on::<Serve>();
    goes_on::<Rpc>();
    goes_on::<Loaf>();
    goes_on::<Acp>();
}

#[test]
fn after_a_kill_in_a_turn_the_next_run_does_what_it_was_asked_for() {
    for more in [&[][..], &["--json"][..]] {
        let world = World::tour();
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

/// A kill right after the first prompt was acknowledged, before anything was answered.
fn first_prompt_is_there<C: Controller>() {
    let model = MockModel::start_blocking();
    for round in 0..count(3, 50) {
        let world = World::with(&model);
        let mut controller = C::begin(&world, None).expect("a new session");
        let session = controller.session().to_owned();
        acknowledged(&mut controller, &format!("stall 1 say {} words", 10 + round));
        controller.process().kill();
        controller.process().ended(PATIENCE).expect("killed processes end");
        let mut controller = C::begin(&world, Some(&session)).expect("the session is found by its handle");
        assert_eq!(controller.session(), session);
        controller.whole_turn("say second");
        let chat = model.last_chat();
        let users = chat["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
        let users: Vec<String> = users.map(|message| message["content"].to_string()).collect();
        assert_eq!(users.len(), 2, "{users:?}");
        assert!(users[0].contains(&format!("stall 1 say {}", 10 + round)) && users[1].contains("second"), "{users:?}");
    }
}

#[test]
fn d1_the_first_acknowledged_prompt_is_found_by_the_handle_that_each_dialect_named() {
    first_prompt_is_there::<Serve>();
    first_prompt_is_there::<Rpc>();
    first_prompt_is_there::<Loaf>();
    first_prompt_is_there::<Acp>();
}

/// Everything that a host of the `rpc` family may come back with, after one acknowledged prompt and a kill.
#[test]
fn d1_a_host_comes_back_by_path_id_prefix_newest_or_switch() {
    let ways = ["path", "id", "prefix", "continue", "switch", "own path"];
    for way in ways {
        let world = World::tour();
        let own = world.root().join("mine.jsonl").display().to_string();
        let args = if way == "own path" { vec!["--session", &own] } else { vec![] };
        let mut rpc = Rpc::new(&world, &args);
        let (id, file) = (rpc.session.clone(), rpc.file.clone().unwrap().display().to_string());
        acknowledged(&mut rpc, "slow 500 say one two three");
        rpc.kill();
        rpc.ended(PATIENCE).expect("killed processes end");
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
