use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use crate::{BENCH, scratch};

fn run(agent: &str, row: &str) -> Output {
    Command::new(BENCH).args(["run", "--quick", "--only", row, "--agent", agent]).output().unwrap()
}
fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}

/// An agent that is a shell script.
fn shell_agent(name: &str, script: &str) -> String {
    let path = scratch("agents").join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().into()
}

#[test]
fn the_floor_against_itself_fills_a_row() {
    for row in ["spawn", "stream", "read", "resume"] {
        let output = run(&format!("{BENCH} relay"), row);
        let text = text(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("| target") && (text.contains("| ok ") || text.contains("| missed")), "{text}");
    }
}

/// Not `gw-cuts`: the floor keeps no events to go on from.
#[test]
fn the_floor_of_the_gateway_against_itself_fills_its_rows() {
    let rows = [
        "gw-start",
        "gw-idle",
        "gw-sessions",
        "gw-turn",
        "gw-many",
        "gw-streams",
        "gw-delay",
        "gw-watch",
        "gw-slow",
        "gw-crowd",
    ];
    for row in rows {
        let agent = format!("{BENCH} relay");
        let output = Command::new(BENCH).args(["run", "--tiny", "--only", row, "--agent", &agent]).output().unwrap();
        let text = text(&output);
        assert!(output.status.success(), "{row}: {text}");
        assert!(text.contains("| target") && (text.contains("| ok ") || text.contains("| missed")), "{row}: {text}");
    }
}

#[test]
fn an_agent_that_fails_is_reported_with_its_last_words() {
    for (name, script, says) in [
        ("dies", "echo out of luck >&2; exit 3", &["the agent died (exit status: 3)", "stderr: out of luck"][..]),
        ("chatty", "echo Welcome; cat", &["not a frame: Welcome"]),
        (
            "refuses",
            r#"echo '{"type":"error","code":"bootstrap_failed","message":"no model","origin":"local"}'"#,
            &["expected `ready`, heard `error`: no model"],
        ),
        (
            "deserts",
            r#"echo '{"type":"ready","session_id":"s"}'; read line; echo '{"type":"turn_started","turn_id":"t"}'; exit 0"#,
            &["the agent died (exit status: 0)"],
        ),
        (
            "forgets",
            r#"echo '{"type":"ready","session_id":"s"}'
while read line; do
  echo '{"type":"text_delta","turn_id":"t","delta":"w1"}'; echo '{"type":"turn_complete","turn_id":"t","stop_reason":"end_turn"}'
done"#,
            &["1 of 20000 words arrived"],
        ),
    ] {
        let output = run(&shell_agent(name, script), "stream");
        let text = text(&output);
        assert_eq!(output.status.code(), Some(2), "{name}: {text}");
        assert!(says.iter().all(|piece| text.contains(piece)), "{name}: {text}");
    }
}

#[test]
fn an_agent_that_is_not_there_is_named() {
    let text = text(&run("/no/such/agent", "spawn"));
    assert!(text.contains("no agent at /no/such/agent"), "{text}");
}
