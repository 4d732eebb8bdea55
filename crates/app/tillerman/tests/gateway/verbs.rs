//! What is asked of a gateway from a command line: the token that counts, wherever it stands, and an address that is answered.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::{Gateway, Place};
use crate::socket::{Socket, Visitor};

/// Exit code, stdout and stderr.
fn asked(place: &Place, words: &[&str]) -> (Option<i32>, String, String) {
    let said = place.command().arg("gateway").args(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    (said.status.code(), text(said.stdout), text(said.stderr))
}

fn status_at(address: &str, token: &str) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("Host: {address}\r\nConnection: close\r\nAuthorization: Bearer {token}");
    write!(stream, "GET /health HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer[9..12].parse().unwrap()
}

fn configured(token: &str) -> Place {
    Place { own_config: Some(format!("[server]\ntoken = \"{token}\"\n")), ..Place::new() }
}

#[test]
fn a_token_of_the_configuration_is_the_one_that_is_printed_and_none_is_made_beside_it() {
    let place = configured("canary-of-the-file");
    let gateway = place.start();
    let file = place.config_file().display().to_string();
    assert_eq!(asked(&place, &["token"]), (Some(0), "canary-of-the-file".to_owned(), String::new()));
    let (code, url, _) = asked(&place, &["url", "--with-token"]);
    assert_eq!((code, url), (Some(0), format!("http://{}/#token=canary-of-the-file", gateway.address)));
    let (code, printed, why) = asked(&place, &["token", "--rotate"]);
    assert_eq!((code, printed.as_str()), (Some(2), ""), "{why}");
    assert!(why.contains("server.token") && why.contains(&file) && why.contains("nothing was changed"), "{why}");
    assert!(!place.home.path().join("tillerman/gateway/token").exists());
    assert_eq!(status_at(&gateway.address, "canary-of-the-file"), 200);
}

/// It was started with a configuration that nobody names here.
#[test]
fn where_the_token_stands_is_said_though_it_is_in_another_file() {
    let place = Place::new();
    let _gateway = place.start();
    for words in [&["token"][..], &["token", "--rotate"], &["url", "--with-token"]] {
        let (code, printed, why) = asked(&place, words);
        assert_eq!((code, printed.as_str()), (Some(2), ""), "{words:?}: {why}");
        assert!(why.contains("gateway.yaml") && why.contains("server.token"), "{words:?}: {why}");
    }
    let file = place.home.path().join("gateway.yaml").display().to_string();
    assert_eq!(asked(&place, &["token", "--config", &file]).1, crate::process::TOKEN);
    assert_eq!(asked(&place, &["url"]).0, Some(0));
}

#[test]
fn a_name_is_given_once_and_main_to_nobody() {
    let place = Place::new();
    let make = |name: &str| asked(&place, &["token", "--name", name, "--scopes", "read"]);
    assert_eq!(make("ann").0, Some(0));
    let (code, printed, why) = make("ann");
    assert_eq!((code, printed.as_str()), (Some(2), ""));
    assert!(why.contains("ann already") && why.contains("--revoke ann"), "{why}");
    let (code, _, why) = make("main");
    assert!(code == Some(2) && why.contains("main"), "{why}");
    assert_eq!(asked(&place, &["token", "--revoke", "ann"]).0, Some(0));
    assert_eq!(make("ann").0, Some(0));
}

#[test]
fn an_address_that_is_printed_is_answered_wherever_it_listens() {
    let mut place = configured("canary");
    place.arguments = ["--host", "0.0.0.0", "--i-understand-no-auth"].map(str::to_owned).to_vec();
    let _gateway = place.start();
    let (_, url, _) = asked(&place, &["url"]);
    let address = url.strip_prefix("http://").unwrap();
    assert_eq!((status_at(address, "canary"), address.starts_with("127.0.0.1:")), (200, true), "{url}");
}

/// Without a socket it is reached by TLS, and its certificate is trusted where `ca_file` names it.
#[test]
fn attaching_without_a_socket_trusts_what_the_configuration_trusts() {
    let place = Place::new();
    let certificate = place.home.path().join("ours.pem");
    let config = format!("ca_file = {certificate:?}\n[server]\ntoken = \"canary\"\n");
    let mut place = Place { own_config: Some(config), ..place };
    place.arguments = ["--socket", "none", "--tls-self-signed"].map(str::to_owned).to_vec();
    std::fs::write(&certificate, "").unwrap();
    let _gateway = place.start();
    std::fs::write(&certificate, asked(&place, &["certificate"]).1).unwrap();
    let said = place.command().args(["run", "--attach", "hello"]).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

async fn port_shown(gateway: &Gateway) -> serde_json::Value {
    let visitor = Visitor { token: Some("canary"), ..Visitor::default() };
    let mut socket = Socket::open_as(gateway, &visitor).await.unwrap();
    socket.call("config.get", serde_json::json!({"path": "server"})).await.unwrap()["port"].clone()
}

#[tokio::test]
async fn a_reload_by_signal_says_what_it_cannot_take_over() {
    let place = configured("canary");
    let gateway = place.start();
    let port: u16 = gateway.address.rsplit_once(':').unwrap().1.parse().unwrap();
    assert_eq!(port_shown(&gateway).await, port, "the one that holds");
    std::fs::write(place.config_file(), "max_tokens = 77\n[server]\ntoken = \"canary\"\nport = 4\n").unwrap();
    let signal = Command::new("kill").args(["-HUP", &gateway.pid().to_string()]).status();
    assert!(signal.unwrap().success());
    let until = Instant::now() + Duration::from_secs(20);
    while !gateway.said().contains("takes a restart") {
        assert!(Instant::now() < until, "{}", gateway.said());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let said = gateway.said();
    assert!(said.contains("server.port") && said.contains("max_tokens"), "{said}");
    assert_eq!(port_shown(&gateway).await, port, "still the one that holds");
}

#[test]
fn a_flag_that_cannot_hold_is_refused_and_not_passed_over() {
    let place = Place::new();
    for (flag, value) in [("--on-restart", "close"), ("--log-frames", "frames.jsonl"), ("--resume", "latest")] {
        let (code, printed, why) = asked(&place, &["--port", "0", flag, value]);
        assert_eq!((code, printed.as_str()), (Some(2), ""), "{flag}: {why}");
        assert!(why.contains(flag), "{flag}: {why}");
    }
}

#[test]
fn a_page_or_a_name_that_can_never_match_is_said() {
    let place = Place::new();
    let file = place.home.path().join("names.yaml");
    let file_name = file.display().to_string();
    let start = ["--port", "0", "--strict", "--config", &file_name];
    for (setting, word) in
        [("allowed_origins", "*"), ("allowed_origins", "app.example"), ("hostnames", "box.example:443")]
    {
        std::fs::write(&file, format!("server:\n  {setting}: [\"{word}\"]\n")).unwrap();
        let (code, printed, why) = asked(&place, &start);
        assert_eq!((code, printed.as_str()), (Some(2), ""), "{word}: {why}");
        let names_it = why.contains(&format!("server.{setting}")) && why.contains(&format!("`{word}`"));
        assert!(names_it && why.contains("names.yaml") && why.contains("such as"), "{word}: {why}");
    }
    std::fs::write(&file, "server:\n  queue: {overrides: {sessions: {\"tg:1\": {cap: 5000}}}}\n").unwrap();
    let (code, _, why) = asked(&place, &start);
    assert!(
        code == Some(2)
            && why.ends_with(
                "names.yaml:2: `server.queue.overrides.sessions.tg:1.cap` wants a whole number from 1 to 1000, has 5000"
            ),
        "{why}"
    );
}

#[test]
fn who_asks_in_json_is_answered_in_json_and_a_port_that_is_taken_has_a_way_out() {
    let place = Place::new();
    let said = (Some(3), r#"{"status":"stopped"}"#.to_owned(), String::new());
    assert_eq!(asked(&place, &["status", "--json"]), said);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, _, why) = asked(&place, &["--port", &port]);
    assert!(code == Some(2) && why.contains(&port) && why.contains("--port 0"), "{why}");
}

/// The system takes connections for a process that is stopped, and nobody answers.
#[test]
fn one_that_is_suspended_has_a_word_for_it() {
    let place = Place::new();
    let gateway = place.start();
    let pid = gateway.pid().to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    signal("-STOP");
    let begun = Instant::now();
    let json = asked(&place, &["status", "--json"]);
    let (took, words) = (begun.elapsed(), asked(&place, &["status"]));
    signal("-CONT");
    assert!(json.0 == Some(1) && json.1.contains(r#""status":"unresponsive""#) && json.1.contains(&pid), "{json:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(words.1.contains("does not answer") && words.1.contains(&format!("kill -CONT {pid}")), "{words:?}");
    let awake = asked(&place, &["status", "--json"]);
    assert!(awake.0 == Some(0) && awake.1.contains(r#""status":"ok""#), "{awake:?}");
}

/// Also as a user for whom a process that hides its memory is a closed book; root may look into everything.
#[test]
fn a_gateway_is_ended_by_its_own_user() {
    let place = Place { token: None, ..Place::new() };
    let nobody = rustix::process::getuid().is_root().then_some(65_534);
    // Where the build lies, another user may not be let in. It is copied by a program of its own: while we had it open to
    // write, a child of another test would have it, too, and it could not be started.
    let program = place.home.path().join("the-product");
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_tillerman")).arg(&program).status().unwrap().success());
    for owned in [place.home.path(), &place.workspace()] {
        std::os::unix::fs::chown(owned, nobody, nobody).unwrap();
    }
    let as_that_user = |words: &[&str]| {
        let of_place = place.command();
        let mut command = Command::new(&program);
        command.env_clear().envs(of_place.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(place.workspace()).arg("gateway").args(words).stdin(Stdio::null());
        if let Some(nobody) = nobody {
            command.uid(nobody).gid(nobody);
        }
        command
    };
    let mut gateway = as_that_user(&["--port", "0"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(gateway.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let stopped = as_that_user(&["stop"]).output().unwrap();
    if !stopped.status.success() {
        let _ = gateway.kill();
    }
    let ended = gateway.wait().unwrap();
    assert_eq!(stopped.status.code(), Some(0), "{line}{}", String::from_utf8_lossy(&stopped.stderr));
    assert_eq!(ended.code(), Some(0), "in order");
}
