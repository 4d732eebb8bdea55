//! What is done, and what is in force, against what the log knows: on a disk that is slow and on one that is full.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::faults::{Driver, PATIENCE, Tmpfs, World, has, within};

use crate::drivers::{Acp, Rpc, Serve};
use crate::worlds::tour;

/// How long a sync takes on the slow disk.
const SYNC: Duration = Duration::from_secs(3);

#[test]
fn d4_what_was_begun_on_a_slow_disk_is_in_the_log() {
    if !has("strace") {
        return crate::skip("D4 (slow disk)", "no strace");
    }
    let world = tour();
    // The database is there, so that the syncs to come are the turn's.
    Serve::new(&world, &[]).shutdown();
    let inject = format!("inject=fsync,fdatasync:delay_enter={}", SYNC.as_micros());
    let slow = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", &inject];
    let mut serve = Serve::spawn_in(&world, &slow, &[]);
    serve.ready();
    let session = serve.session.clone();
    let effect = world.workspace.join("effect");
    let start = Instant::now();
    serve.prompt(r#"call bash {"command":"date > effect"}"#);
    let asked = serve.until("permission_request").pop().unwrap();
    serve.answer(&asked, "allow");
    let answered = start.elapsed();
    let begun = within(PATIENCE, || effect.exists()).expect("it runs in the end") + answered;
    // The tracer itself does not count.
    let tracer = serve.pid();
    let traced = fs::read_to_string(format!("/proc/{tracer}/task/{tracer}/children")).unwrap();
    assert!(std::process::Command::new("kill").args(["-9", traced.trim()]).status().unwrap().success());
    serve.kill();
    // The answer is written and synced first.
    assert!(begun >= answered + SYNC - Duration::from_millis(200), "{begun:?} after the answer at {answered:?}");
    let mut serve = Serve::new(&world, &["--resume", &session]);
    let export = world.root().join("slow.jsonl");
    assert_eq!(serve.slash("export", export.to_str().unwrap())["data"]["ok"], true);
    let text = fs::read_to_string(&export).unwrap();
    assert!(text.contains(r#""kind":"call_started""#) && text.contains("date > effect"), "{text}");
    assert!(text.contains(r#""kind":"ask_closed""#), "{text}");
}

/// Takes all room that is left.
fn fill(world: &World) -> std::path::PathBuf {
    let path = world.home.join("filler");
    let mut file = fs::File::create(&path).unwrap();
    let mut size = 1 << 20;
    while size > 0 {
        if std::io::Write::write_all(&mut file, &vec![0; size]).is_err() {
            size /= 2;
        }
    }
    path
}

fn full_disk(what: &str, check: impl FnOnce(&World, &mut dyn FnMut(bool))) {
    let world = tour();
    let Some(_disk) = Tmpfs::mount(&world.home, "size=4m,mode=700") else {
        return crate::skip(what, "no tmpfs can be mounted here");
    };
    let mut filler = None;
    check(&world, &mut |full| match full {
        true => filler = Some(fill(&world)),
        false => fs::remove_file(filler.take().expect("it was full")).unwrap(),
    });
}

#[test]
fn d5_a_mode_that_a_full_disk_refuses_is_not_in_force_in_serve() {
    full_disk("D5 (settings, serve)", |world, full| {
        let mut serve = Serve::new(world, &["--mode", "prompt"]);
        serve.good_turn("say hello");
        let status = |serve: &mut Serve| serve.slash("status", "")["data"]["mode"].clone();
        assert_eq!(status(&mut serve), "prompt");
        full(true);
        serve.send(&json!({ "type": "slash", "command": "mode", "args": "danger-full-access" }));
        let refused =
            serve.until_one("an answer", |_, value| value["type"] == "slash_result" || value["type"] == "error");
        let refused = refused.last().unwrap();
        assert!(refused["type"] == "error" || refused["data"]["ok"] == false, "{refused}");
        assert_eq!(status(&mut serve), "prompt");
        full(false);
        serve.good_turn("say again");
        assert_eq!(status(&mut serve), "prompt");
        let session = serve.session.clone();
        serve.shutdown();
        let mut serve = Serve::new(world, &["--resume", &session]);
        assert_eq!(status(&mut serve), "prompt");
    });
}

#[test]
fn d5_what_a_full_disk_refuses_is_not_in_force_in_rpc() {
    full_disk("D5 (settings, rpc)", |world, full| {
        let mut rpc = Rpc::new(world, &[]);
        rpc.good_run("say hello");
        let state = |rpc: &mut Rpc| {
            let data = &rpc.ask(json!({ "type": "get_state" }))["data"];
            (data["thinkingLevel"].clone(), data["sessionName"].clone())
        };
        let before = state(&mut rpc);
        full(true);
        for command in [
            json!({ "type": "set_thinking_level", "level": "high" }),
            json!({ "type": "set_session_name", "name": "other" }),
        ] {
            let refused = rpc.ask(command);
            assert_eq!(refused["success"], false, "{refused}");
            assert_eq!(state(&mut rpc), before);
        }
        full(false);
        rpc.good_run("say again");
        assert_eq!(state(&mut rpc), before);
    });
}

#[test]
fn d5_a_mode_that_a_full_disk_refuses_is_not_in_force_in_acp() {
    full_disk("D5 (settings, acp)", |world, full| {
        let mut acp = Acp::new(world, &["--mode", "prompt"]);
        acp.good_turn("say hello");
        full(true);
        let session = acp.session.clone();
        let wanted = json!({ "sessionId": session, "modeId": "danger-full-access" });
        let refused = acp.ask("session/set_mode", wanted);
        assert!(refused["error"].is_object(), "{refused}");
        full(false);
        // A call that the refused mode would have let through is asked about.
        let prompt = acp.prompt(r#"call write_file {"path":"a.txt","content":"x"}"#);
        let asked = acp.until_one("a question", |_, value: &Value| {
            value["method"] == "session/request_permission" || value["id"] == prompt
        });
        assert_eq!(asked.last().unwrap()["method"], "session/request_permission");
        assert!(!world.workspace.join("a.txt").exists());
    });
}
