//! `drive --url`: our own client at the far end of a gateway's `/acp`.

use serde_json::Value;

use crate::process::{Gateway, Place, TOKEN};
use crate::proxy::Proxy;

fn drive(place: &Place, gateway: &Gateway, path: &str, env: &[(&str, &str)], words: &[&str]) -> Proxy {
    let mut command = place.command();
    command.envs(env.iter().copied());
    let url = format!("ws://{}{path}", gateway.address);
    Proxy::start(command, &[&["drive", "--url", &url], words].concat())
}

#[test]
fn an_agent_at_an_address_is_driven_like_one_on_a_pipe() {
    let place = Place::new();
    let gateway = place.start();
    let token = [("TILLERMAN_GATEWAY_TOKEN", TOKEN)];
    let mut once = drive(&place, &gateway, "", &token, &["-p", "say 3 words"]);
    assert_eq!((once.ended(), once.heard.join("\n").as_str()), (Some(0), "w1 w2 w3"), "{}", once.said());
    let words = ["--token-env", "MINE", "--json", "--yes", "-p", "call bash {\"command\":\"echo hi\"} then say done"];
    let mut json = drive(&place, &gateway, "/acp", &[("MINE", TOKEN)], &words);
    assert_eq!(json.ended(), Some(0), "{}", json.said());
    let lines: Vec<Value> = json.heard.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["stop"], "end_turn", "{lines:?}");
    let session = lines.iter().find(|line| line["type"] == "session").unwrap();
    assert!(session["agent"].as_str().unwrap().starts_with("Tillerman"), "{session}");
    // It is there for who comes later.
    let id = session["session_id"].as_str().unwrap();
    let mut again = drive(&place, &gateway, "/acp", &token, &["--resume", id, "-p", "say 2 words"]);
    assert_eq!((again.ended(), again.heard.join("\n").as_str()), (Some(0), "w1 w2"), "{}", again.said());
}

#[test]
fn who_is_not_let_in_is_told_why() {
    let place = Place::new();
    let gateway = place.start();
    for (path, env, why) in [
        ("", &[][..], "TILLERMAN_GATEWAY_TOKEN"),
        ("", &[("TILLERMAN_GATEWAY_TOKEN", "wrong-canary-token")], "TILLERMAN_GATEWAY_TOKEN"),
        ("/nowhere", &[("TILLERMAN_GATEWAY_TOKEN", TOKEN)], "nothing at this path"),
    ] {
        let mut refused = drive(&place, &gateway, path, env, &["-p", "say 3 words"]);
        assert_eq!(refused.ended(), Some(2), "{path}: {}", refused.said());
        assert!(refused.said().contains(why) && !refused.said().contains("canary"), "{path}: {}", refused.said());
    }
    let far = Proxy::start(place.command(), &["drive", "--url", "ws://192.0.2.1:1/acp", "-p", "x"]).ended_saying();
    assert!(far.contains("--cwd names an absolute directory of that machine"), "{far}");
    // Its end is told, and what runs there goes on.
    let token = [("TILLERMAN_GATEWAY_TOKEN", TOKEN)];
    let mut running = drive(&place, &gateway, "", &token, &["--json", "-p", "slow 50 say 200 words"]);
    running.line("a word", |line| line.contains("w1"));
    gateway.kill();
    assert_eq!(running.ended(), Some(1));
    assert!(running.said().contains("lost"), "{}", running.said());
}
