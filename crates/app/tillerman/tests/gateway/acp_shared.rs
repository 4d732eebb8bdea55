//! `/acp` under strain: the network is cut, the gateway dies, readers stop, tokens go; and others on the same session.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::acp_wire::{JSON, Relay, Remote, SseEvent, send, text_of};
use crate::process::{Gateway, Place, TOKEN};
use crate::socket::{Socket, Visitor};

const CUTS: usize = 12;
const CUTS_FULL: usize = 200;
/// Readers that stop, and the bytes of text they do not take.
const STOPPED: usize = 20;
const TEXT_BYTES: usize = 4_000_000;
/// What such an answer costs by itself, and what allocators keep of it: on its way from the model to the log it is there several
/// times for a moment. Kept for each reader, it would be more than half as much again.
const ALONE_KIB: u64 = 70_000;
const TEXT_BYTES_FULL: usize = 7_000_000;
const ROUNDS_FULL: usize = 7;
/// What a connection may cost that is not used.
const IDLE_KIB_MAX: u64 = 128;

fn is_full() -> bool {
    std::env::var_os("TILLERMAN_FULL").is_some()
}

fn words(count: usize) -> String {
    (1..=count).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ")
}

fn rss_kib(gateway: &Gateway) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn cwd(place: &Place) -> String {
    place.workspace().to_string_lossy().into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_is_cut_at_any_byte_loses_and_repeats_nothing() {
    let place = Place::new();
    let gateway = place.start();
    let mut remote = Remote::connect(&gateway.address).await;
    let (session, _own, events) = remote.session(&cwd(&place)).await;
    drop(events);
    let cuts = if is_full() { CUTS_FULL } else { CUTS };
    let count = cuts * 30;
    let asked = remote.prompt(&session, &format!("slow 3 say {count} words")).await;
    let mut all: Vec<SseEvent> = Vec::new();
    let mut round = 0;
    loop {
        // Whatever was on its way when it was cut, half an event included, is gone.
        let bytes_max = if round < cuts { 400 + (round * 7919) % 4001 } else { usize::MAX };
        let relay = Relay::that_stops(&gateway.address, bytes_max).await;
        let last = all.last().map(|it| it.id.clone());
        let reading = async {
            let mut events =
                remote.stream_at(&relay.address, Some(&session), last.as_deref().or(Some("0"))).await.ok()?;
            while let Some(event) = events.next().await {
                let is_answer = event.data["id"] == json!(asked) && event.data.get("result").is_some();
                all.push(event);
                if is_answer {
                    return Some(());
                }
            }
            None
        };
        if reading.await.is_some() {
            break;
        }
        round += 1;
    }
    assert_eq!(text_of(&all, "agent_message_chunk"), words(count));
    let mut ids: Vec<_> = all.iter().filter(|it| it.data["id"] == json!(asked)).collect();
    assert_eq!(ids.len(), 1, "{:?}", ids.pop());
    // A third reader has the same.
    let mut other = Remote::connect(&gateway.address).await;
    let mut own = other.stream(None, None).await.unwrap();
    let loaded = other.ask("session/load", json!({"sessionId": session, "cwd": cwd(&place), "mcpServers": []})).await;
    assert_eq!(text_of(&own.until_answer(loaded).await, "agent_message_chunk"), words(count));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_dies_between_cut_and_load_has_everything() {
    let place = Place::new();
    let gateway = place.start();
    let mut remote = Remote::connect(&gateway.address).await;
    let (session, _own, mut events) = remote.session(&cwd(&place)).await;
    let asked = remote.prompt(&session, "say 50 words").await;
    events.until_answer(asked).await;
    remote.prompt(&session, "slow 20 say 40 words").await;
    events.until(|it| it["params"]["update"]["sessionUpdate"] == "agent_message_chunk").await;
    gateway.kill();
    let gateway = place.start();
    let mut remote = Remote::connect(&gateway.address).await;
    let mut own = remote.stream(None, None).await.unwrap();
    let mut events = remote.stream(Some(&session), None).await.unwrap();
    let load = json!({"sessionId": session, "cwd": cwd(&place), "mcpServers": []});
    let asked = remote.ask("session/load", load).await;
    let past = events.until_answer(asked).await;
    let mut text = text_of(&past, "agent_message_chunk");
    assert!(text.starts_with(&words(50)), "{text}");
    while !text.ends_with(&words(40)) {
        text.push_str(&text_of(&[events.next().await.unwrap()], "agent_message_chunk"));
    }
    let listed = remote.ask("session/list", json!({})).await;
    assert!(own.until_answer(listed).await.last().unwrap().data.get("result").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_stop_cost_little_and_lose_nothing() {
    let place = Place::new();
    let gateway = place.start();
    let mut remote = Remote::connect(&gateway.address).await;
    let (session, _own, mut events) = remote.session(&cwd(&place)).await;
    let asked = remote.prompt(&session, "say 1 word").await;
    events.until_answer(asked).await;
    let load = json!({"sessionId": session, "cwd": cwd(&place), "mcpServers": []});
    let mut stopped = Vec::new();
    for _ in 0..STOPPED {
        let mut other = Remote::connect(&gateway.address).await;
        let mut heard = other.stream(Some(&session), None).await.unwrap();
        let asked = other.ask("session/load", load.clone()).await;
        heard.until_answer(asked).await;
        stopped.push((other, heard));
    }
    let bytes = if is_full() { TEXT_BYTES_FULL } else { TEXT_BYTES };
    let piece = "x".repeat(49_999);
    let text = vec![piece.as_str(); bytes / 50_000].join(" ");
    let rounds = if is_full() { ROUNDS_FULL } else { 1 };
    let before = rss_kib(&gateway);
    for _ in 0..rounds {
        let asked = remote.prompt(&session, &format!("say \"{text}\"")).await;
        assert_eq!(text_of(&events.until_answer(asked).await, "agent_message_chunk").len(), text.len());
    }
    if is_full() {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let grown = rss_kib(&gateway).saturating_sub(before);
    println!("{STOPPED} readers did not take {} MB each; the gateway grew by {grown} KiB", bytes * rounds / 1_000_000);
    // Were it kept for each of them, it would be as often as much.
    let kept_kib = (STOPPED * bytes * rounds / 1024) as u64;
    assert!(grown < ALONE_KIB + kept_kib / 2, "{grown} KiB of {kept_kib}");
    let (_, mut heard) = stopped.pop().unwrap();
    let mut got = 0;
    while got < text.len() * rounds {
        got += text_of(&[heard.next().await.unwrap()], "agent_message_chunk").len();
    }
    assert_eq!(got, text.len() * rounds);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_nobody_uses_cost_little_and_end() {
    let place = Place::with("acp:\n  connection_grace_s: 2\n");
    let gateway = place.start();
    let kept = Remote::connect(&gateway.address).await;
    let _stream = kept.stream(None, None).await.unwrap();
    let count = if is_full() { 1_000 } else { 100 };
    let before = rss_kib(&gateway);
    let mut idle = Vec::new();
    for _ in 0..count {
        idle.push(Remote::connect(&gateway.address).await);
    }
    let each = rss_kib(&gateway).saturating_sub(before) / count;
    println!("{count} idle connections cost {each} KiB each");
    assert!(each <= IDLE_KIB_MAX, "{each} KiB");
    let until = Instant::now() + Duration::from_secs(20);
    let last = idle.pop().unwrap();
    tokio::time::sleep(Duration::from_secs(8)).await;
    let list = json!({"jsonrpc": "2.0", "id": 9, "method": "session/list"});
    assert_eq!(last.post(&list, None).await.status, 404, "nobody used it");
    assert_eq!(kept.post(&list, None).await.status, 202, "somebody listens");
    assert!(Instant::now() < until);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_taken_back_ends_its_streams() {
    let place = Place::new();
    let gateway = place.start();
    let tokens = |arguments: &[&str]| {
        let done = place.command().args(["gateway", "token"]).args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    let token = tokens(&["--name", "phone", "--scopes", "read,chat,tools,admin"]);
    tokio::time::sleep(Duration::from_millis(5_500)).await;
    let mut remote = Remote::connect_as(&gateway.address, &token).await;
    let (session, mut own, mut events) = remote.session(&cwd(&place)).await;
    // Another's token does not open what is not its own.
    let headers = [JSON, ("Authorization", &format!("Bearer {TOKEN}")[..]), ("Acp-Connection-Id", &remote.id)];
    let list = br#"{"jsonrpc":"2.0","id":9,"method":"session/list"}"#;
    assert_eq!(send(&gateway.address, "POST", "/acp", &headers, list).await.status, 404);
    let taken = Instant::now();
    tokens(&["--revoke", "phone"]);
    while events.next().await.is_some() {}
    while own.next().await.is_some() {}
    assert!(taken.elapsed() < Duration::from_secs(7), "{:?}", taken.elapsed());
    let prompt = json!({"jsonrpc": "2.0", "id": 9, "method": "session/prompt", "params": {"sessionId": session}});
    assert_eq!(remote.post(&prompt, Some(&session)).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_dialect_on_the_same_session_is_heard() {
    let place = Place::new();
    let gateway = place.start();
    let mut remote = Remote::connect(&gateway.address).await;
    let (session, _own, mut events) = remote.session(&cwd(&place)).await;
    let asked = remote.prompt(&session, "say 2 words").await;
    events.until_answer(asked).await;
    let mut socket = Socket::open(&gateway).await;
    socket.call("agent.send", json!({"message": "say 5 words", "sessionId": session})).await.unwrap();
    let user = events.until(|it| it["params"]["update"]["sessionUpdate"] == "user_message_chunk").await;
    assert_eq!(user.data["params"]["update"]["content"]["text"], "say 5 words");
    let mut text = String::new();
    while text != words(5) {
        text.push_str(&text_of(&[events.next().await.unwrap()], "agent_message_chunk"));
    }
}

async fn acp_socket(gateway: &Gateway) -> Socket {
    let visitor = Visitor { token: Some(TOKEN), path: Some("/acp"), ..Visitor::default() };
    Socket::open_as(gateway, &visitor).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_says_places_to_who_asks_and_goes_on_from_them() {
    let place = Place::new();
    let gateway = place.start();
    let mut socket = acp_socket(&gateway).await;
    for (bad, code) in [("{", -32700), ("[]", -32600), ("7", -32600)] {
        socket.send_raw(bad).await;
        let error = socket.next().await;
        assert_eq!((&error["id"], &error["error"]["code"]), (&Value::Null, &json!(code)), "{bad}");
    }
    let capabilities = json!({"_meta": {"tillerman": {"seq": true}}});
    let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    socket.call("initialize", hello.clone()).await.unwrap();
    let made = socket.call("session/new", json!({"cwd": cwd(&place), "mcpServers": []})).await.unwrap();
    let session = made["sessionId"].clone();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "say 30 words"}]});
    socket.send(&json!({"jsonrpc": "2.0", "id": 5, "method": "session/prompt", "params": prompt})).await;
    let mut said = Vec::new();
    loop {
        let frame = socket.next().await;
        if frame["id"] == json!(5) {
            break;
        }
        assert!(!frame["params"]["_meta"]["tillerman.seq"].is_null(), "{frame}");
        said.push(frame);
    }
    let is_text = |it: &&Value| it["params"]["update"]["sessionUpdate"] == "agent_message_chunk";
    let text = |frames: &[Value]| -> String {
        frames.iter().filter(is_text).map(|it| it["params"]["update"]["content"]["text"].as_str().unwrap()).collect()
    };
    assert_eq!(text(&said), words(30));
    let middle = said.iter().position(|it| text(std::slice::from_ref(it)).contains("w15")).unwrap();
    let after = said[middle]["params"]["_meta"]["tillerman.seq"].clone();
    for (method, more) in [
        ("session/load", json!({"_meta": {"tillerman.afterSeq": after}})),
        ("session/resume", json!({"replayFrom": {"type": "_tillerman_seq", "seq": after}})),
        ("session/resume", json!({"replayFrom": {"type": "start"}})),
    ] {
        let mut other = acp_socket(&gateway).await;
        other.call("initialize", hello.clone()).await.unwrap();
        let mut params = json!({"sessionId": session, "cwd": cwd(&place), "mcpServers": []});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        other.send(&json!({"jsonrpc": "2.0", "id": 6, "method": method, "params": params})).await;
        let mut again = Vec::new();
        loop {
            let frame = other.next().await;
            if frame["id"] == json!(6) {
                assert!(frame.get("result").is_some(), "{frame}");
                break;
            }
            again.push(frame);
        }
        let want = if more["replayFrom"]["type"] == "start" { text(&said) } else { text(&said[middle + 1..]) };
        assert_eq!(text(&again), want, "{method} {more}");
    }
    let ahead =
        json!({"sessionId": session, "cwd": cwd(&place), "mcpServers": [], "_meta": {"tillerman.afterSeq": 999_999}});
    assert_eq!(socket.call("session/load", ahead).await.unwrap_err()["code"], -32602);
}

/// A program that others trust speaks HTTP/2, and through the file system.
#[test]
fn curl_comes_by_http2_and_through_the_socket_of_the_file_system() {
    let place = Place::new();
    let gateway = place.start();
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#;
    let curl = |arguments: &[&str]| {
        let mut curl = Command::new("curl");
        curl.args([
            "-sS",
            "-i",
            "-H",
            &format!("Authorization: Bearer {TOKEN}"),
            "-H",
            "Content-Type: application/json",
        ]);
        curl.args(arguments).output()
    };
    let url = format!("http://{}/acp", gateway.address);
    let said = match curl(&["--http2-prior-knowledge", "-d", initialize, &url]) {
        Ok(done) => String::from_utf8_lossy(&done.stdout).into_owned(),
        Err(why) => return println!("SKIP curl: {why}"),
    };
    assert!(said.starts_with("HTTP/2 200"), "{said}");
    let id = said.lines().find_map(|it| it.strip_prefix("acp-connection-id: ")).unwrap().trim().to_owned();
    let id = format!("Acp-Connection-Id: {id}");
    let began = Instant::now();
    let heard = curl(&["--http2-prior-knowledge", "-N", "-m", "6", "-H", "Accept: text/event-stream", "-H", &id, &url])
        .unwrap();
    let heard = String::from_utf8_lossy(&heard.stdout).into_owned();
    assert!(heard.starts_with("HTTP/2 200") && heard.contains(":\n\n"), "still there after 5 s: {heard}");
    assert!(began.elapsed() >= Duration::from_secs(5));
    let socket = place.home.path().join("tillerman/gateway/gateway.sock");
    let socket = socket.to_string_lossy().into_owned();
    let said = curl(&["--unix-socket", &socket, "-d", initialize, "http://localhost/acp"]).unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.starts_with("HTTP/1.1 200") && said.contains("acp-connection-id: "), "{said}");
}
