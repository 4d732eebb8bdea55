//! `drive --url http://`: our own client at a gateway's `/acp` by streamable HTTP; and both of its ways by TLS, with a
//! certificate that nobody but us has signed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::clients::{ACP_SDK, WS, or_skip};
use crate::peers_install::{node, npm, script};
use crate::process::{Gateway, Place, TOKEN};
use crate::proxy::Proxy;
use crate::relay::Relay;

const TOKEN_ENV: (&str, &str) = ("TILLERMAN_GATEWAY_TOKEN", TOKEN);

fn drive(place: &Place, url: &str, env: &[(&str, &str)], words: &[&str]) -> Proxy {
    let mut command = place.command();
    command.envs(env.iter().copied());
    Proxy::start(command, &[&["drive", "--url", url], words].concat())
}

fn lines(proxy: &Proxy) -> Vec<Value> {
    proxy.heard.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(lines: &[Value]) -> String {
    lines.iter().filter(|line| line["type"] == "text").filter_map(|line| line["delta"].as_str()).collect()
}

fn port(gateway: &Gateway) -> u16 {
    gateway.address.rsplit_once(':').unwrap().1.parse().unwrap()
}

#[test]
fn an_agent_is_driven_over_http_as_over_a_socket() {
    let place = Place::with("tools:\n  confirm: [shell.exec]\n");
    let gateway = place.start();
    let url = format!("http://{}", gateway.address);
    let mut once = drive(&place, &url, &[TOKEN_ENV], &["-p", "say 3 words"]);
    assert_eq!((once.ended(), once.heard.join("\n").as_str()), (Some(0), "w1 w2 w3"), "{}", once.said());
    // A question of the agent's comes, and its answer goes back.
    let words = ["--json", "--yes", "-p", "call bash {\"command\":\"echo hi\"} then say done"];
    let mut asked = drive(&place, &format!("{url}/acp"), &[TOKEN_ENV], &words);
    assert_eq!(asked.ended(), Some(0), "{}", asked.said());
    let told = lines(&asked);
    assert_eq!(told.last().unwrap()["stop"], "end_turn", "{told:?}");
    assert!(told.iter().any(|line| line["type"] == "permission" && line["decision"] == "allow"), "{told:?}");
    // Its history comes whole, and before what follows.
    let id = told.iter().find(|line| line["type"] == "session").unwrap()["session_id"].as_str().unwrap().to_owned();
    let mut again = drive(&place, &url, &[TOKEN_ENV], &["--resume", &id, "-p", "say 2 words"]);
    assert_eq!((again.ended(), again.heard.join("\n").as_str()), (Some(0), "w1 w2"), "{}", again.said());
    // Cancelled in the middle.
    let mut slow = drive(&place, &url, &[TOKEN_ENV], &["--json", "-p", "slow 50 say 400 words"]);
    slow.line("a beginning", |line| line.contains("w1"));
    slow.signal("-INT");
    assert_eq!(slow.ended(), Some(130), "{}", slow.said());
    assert!(!slow.heard.join("").contains("w400"));
}

#[test]
fn who_is_not_let_in_over_http_is_told_why() {
    let place = Place::new();
    let gateway = place.start();
    let url = format!("http://{}", gateway.address);
    for (path, env, why) in [
        ("", &[][..], "TILLERMAN_GATEWAY_TOKEN"),
        ("", &[("TILLERMAN_GATEWAY_TOKEN", "wrong-canary-token")], "TILLERMAN_GATEWAY_TOKEN"),
        ("/nowhere", &[TOKEN_ENV], "nothing at this path"),
        ("/health", &[TOKEN_ENV], "405"),
    ] {
        let mut refused = drive(&place, &format!("{url}{path}"), env, &["-p", "say 3 words"]);
        assert_eq!(refused.ended(), Some(2), "{path}: {}", refused.said());
        assert!(refused.said().contains(why) && !refused.said().contains("canary"), "{path}: {}", refused.said());
        assert_eq!(refused.said().contains("not signed in"), path.is_empty(), "{path}: {}", refused.said());
    }
    let far = ["drive", "--url", "http://192.0.2.1:1/acp", "--cwd", "/", "-p", "x"];
    let mut command = place.command();
    command.env(TOKEN_ENV.0, TOKEN_ENV.1);
    let far = Proxy::start(command, &far).ended_saying();
    assert!(far.contains("for everybody to read"), "{far}");
    let mut gone = drive(&place, "http://127.0.0.1:1", &[TOKEN_ENV], &["-p", "x"]);
    assert_eq!(gone.ended(), Some(2), "{}", gone.said());
    assert!(gone.said().contains("cannot reach http://127.0.0.1:1"), "{}", gone.said());
    assert!(!gone.said().contains("not signed in"), "nobody was there to ask who we are: {}", gone.said());
}

#[test]
fn streams_that_are_cut_again_and_again_lose_and_repeat_nothing() {
    let place = Place::new();
    let gateway = place.start();
    let relay = Relay::start(port(&gateway));
    let url = format!("http://127.0.0.2:{}", port(&gateway));
    let mut cut = drive(&place, &url, &[TOKEN_ENV], &["--json", "-p", "slow 10 say 300 words"]);
    cut.line("a word", |line| line.contains("w1"));
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(400));
        relay.cut();
    }
    assert_eq!(cut.ended(), Some(0), "{} {:?}", cut.said(), cut.heard.last());
    let told = lines(&cut);
    let wanted: Vec<String> = (1..=300).map(|n| format!("w{n}")).collect();
    assert_eq!(text(&told).trim(), wanted.join(" "));
    assert_eq!(told.iter().filter(|line| line["type"] == "turn_end").count(), 1, "its end comes once");
}

/// Others' agents: a server of the official SDK, by both of its ways.
#[test]
fn a_server_of_the_npm_sdk_is_driven() {
    let checks = || {
        node()?;
        let modules = npm("acp-remote", &[format!("{}@{}", ACP_SDK.0, ACP_SDK.1), WS.to_owned()])?;
        let mut server = Command::new("node");
        server.arg(script("acp_server.mjs")).env("PEER_MODULES", modules).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = server.spawn().map_err(|why| why.to_string())?;
        let mut port = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let place = Place::new();
        for scheme in ["ws", "http"] {
            let url = format!("{scheme}://127.0.0.1:{}", port.trim());
            let mut once = drive(&place, &url, &[], &["--yes", "-p", "hello there"]);
            assert_eq!((once.ended(), once.heard.join("").trim()), (Some(0), "hello there"), "{}", once.said());
            let mut denied = drive(&place, &url, &[], &["--deny", "-p", "hello there"]);
            assert_eq!((denied.ended(), denied.heard.join("").trim()), (Some(3), "I may not"), "{}", denied.said());
            let mut loaded = drive(&place, &url, &[], &["--yes", "--json", "--resume", "s9", "-p", "on"]);
            assert_eq!(loaded.ended(), Some(0), "{}", loaded.said());
            assert_eq!(lines(&loaded)[0]["how"], "loaded", "{:?}", loaded.heard);
            let mut stopped = drive(&place, &url, &[], &["--yes", "--json", "-p", "now wait"]);
            stopped.line("a word", |line| line.contains("now"));
            stopped.signal("-INT");
            assert_eq!(stopped.ended(), Some(130), "{}", stopped.said());
        }
        // Its events have no ids: nobody could tell what is missing behind a cut.
        let port: u16 = port.trim().parse().unwrap();
        let relay = Relay::start(port);
        let url = format!("http://127.0.0.2:{port}");
        let mut cut = drive(&place, &url, &[], &["--yes", "--json", "-p", "now wait"]);
        cut.line("a word", |line| line.contains("now"));
        relay.cut();
        assert_eq!(cut.ended(), Some(1), "{}", cut.said());
        let last = cut.heard.last().unwrap();
        assert!(last.contains("no names to go on behind"), "{last}");
        drop(server.stdin.take());
        server.wait().map_err(|why| why.to_string())?;
        Ok::<(), String>(())
    };
    or_skip("a_server_of_the_npm_sdk_is_driven", checks());
}

#[test]
fn the_end_of_the_server_is_told() {
    let place = Place::new();
    let gateway = place.start();
    let url = format!("http://{}", gateway.address);
    let mut running = drive(&place, &url, &[TOKEN_ENV], &["--json", "-p", "slow 50 say 400 words"]);
    running.line("a word", |line| line.contains("w1"));
    let mut leaving = drive(&place, &url, &[TOKEN_ENV], &["--json", "-p", "slow 50 say 400 words"]);
    leaving.line("a word", |line| line.contains("w1"));
    let port = port(&gateway);
    gateway.kill();
    // Who wants to leave meanwhile does.
    let began = Instant::now();
    leaving.signal("-INT");
    std::thread::sleep(Duration::from_millis(300));
    leaving.signal("-INT");
    assert_eq!(leaving.ended(), Some(130), "{}", leaving.said());
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    // Another one at the same place does not know this connection.
    let again = Place { port, ..place };
    let _gateway = again.start();
    assert_eq!(running.ended(), Some(1), "{}", running.said());
    let last = running.heard.iter().rev().take(2).cloned().collect::<String>();
    assert!(last.contains("the connection is lost") && last.contains("no such connection"), "{last}");
}

#[test]
fn a_certificate_of_our_own_is_trusted_where_the_user_says_so() {
    let mut place = Place::new();
    place.arguments = vec!["--tls-self-signed".to_owned()];
    let none = place.command().args(["gateway", "certificate"]).output().unwrap();
    assert!(!none.status.success() && String::from_utf8_lossy(&none.stderr).contains("--tls-self-signed"));
    let gateway = place.start();
    let shown = place.command().args(["gateway", "certificate"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.starts_with("-----BEGIN CERTIFICATE-----") && !shown.contains("PRIVATE"), "{shown}");
    let file = place.home.path().join("trusted.pem");
    std::fs::write(&file, &shown).unwrap();
    let file = file.to_str().unwrap();
    for scheme in ["wss", "https"] {
        let url = format!("{scheme}://{}", gateway.address);
        let mut stranger = drive(&place, &url, &[TOKEN_ENV], &["-p", "say 3 words"]);
        assert_eq!(stranger.ended(), Some(2), "{}", stranger.said());
        let said = stranger.said();
        assert!(said.contains("signed by nobody this machine trusts") && said.contains("SSL_CERT_FILE"), "{said}");
        for trusting in ["TILLERMAN_CA_FILE", "SSL_CERT_FILE"] {
            let mut driven = drive(&place, &url, &[TOKEN_ENV, (trusting, file)], &["-p", "say 3 words"]);
            let (code, said) = (driven.ended(), driven.heard.join("\n"));
            assert_eq!((code, said.as_str()), (Some(0), "w1 w2 w3"), "{scheme} {trusting}: {}", driven.said());
        }
    }
    // What attaches goes by the same.
    let mut command = place.command();
    command.envs([TOKEN_ENV, ("TILLERMAN_CA_FILE", file)]);
    let url = format!("wss://{}", gateway.address);
    let mut attached = Proxy::start(command, &["run", "--attach", &url, "say 2 words"]);
    attached.eof();
    assert_eq!((attached.ended(), attached.heard.join("\n").as_str()), (Some(0), "w1 w2"), "{}", attached.said());
}
