//! `--attach`: every command as a proxy to a gateway that runs. What both sides see when one of them stops reading, stops
//! talking, or dies.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::{Place, TOKEN};
use crate::proxy::Proxy;
use crate::socket::{Socket, Visitor};

fn is(kind: &'static str) -> impl Fn(&Value) -> bool {
    move |line| line["type"] == kind
}

fn serve(place: &Place, words: &[&str]) -> (Proxy, Value) {
    let mut proxy = Proxy::start(place.command(), &[&["serve", "--attach"], words].concat());
    let ready = proxy.json("ready", is("ready"));
    (proxy, ready)
}

fn prompt(text: &str) -> Value {
    json!({ "type": "prompt", "text": text })
}

/// What the session says, as somebody else sees it.
async fn history(socket: &mut Socket, session: &str) -> String {
    let found = socket.call("sessions.get", json!({ "sessionId": session })).await.unwrap();
    found["history"].to_string()
}

async fn until(socket: &mut Socket, session: &str, part: &str) {
    for _ in 0..200 {
        if history(socket, session).await.contains(part) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{session} never said {part}: {}", history(socket, session).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_path_answers_on_the_port_and_on_the_socket() {
    let place = Place::new();
    let gateway = place.start();
    let socket = place.home.path().join("tillerman/gateway/gateway.sock");
    for (path, line, answer) in [
        ("/serve", "", "\"ready\""),
        ("/rpc", r#"{"id":7.50,"type":"get_state"}"#, r#""id":7.50,"#),
        ("/loaf", r#"{"jsonrpc":"2.0","id":7.50,"method":"no.such"}"#, "method not found"),
        ("/acp", r#"{"jsonrpc":"2.0","id":"x","method":"initialize","params":{"protocolVersion":1}}"#, r#""id":"x""#),
        ("/", r#"{"id":7,"method":"system.info"}"#, r#""id":7,"#),
    ] {
        let visitor = Visitor { token: Some(TOKEN), path: Some(path), ..Visitor::default() };
        let mut here = Socket::open_as(&gateway, &visitor).await.unwrap();
        let told = here.raw_exchange(line, answer).await;
        assert!(told.contains(answer), "{path}: {told}");
        let mut there = Socket::open_unix(&socket, path).await;
        let told = there.raw_exchange(&format!("{line}\n"), answer).await;
        assert!(told.contains(answer), "{path} on the socket: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_a_bot_a_terminal_and_a_client_share_one_session() {
    let place = Place::new();
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    // An id that a client chose, and one that looks like a file.
    for id in ["team:a.b/c", "01-plain"] {
        socket.call("sessions.create", json!({ "sessionId": id })).await.unwrap();
        socket
            .send(&json!({"id": 1, "method": "agent.send", "params": {"sessionId": id, "message": "say 3 words"}}))
            .await;
        until(&mut socket, id, "w3").await;
        let (mut bot, ready) = serve(&place, &["--resume", id]);
        assert_eq!(ready["session_id"], id);
        let mut host = Proxy::start(place.command(), &["--mode", "rpc", "--attach", "--session", id]);
        host.send(&json!({ "id": "s", "type": "get_state" }));
        assert_eq!(host.json("state", |it| it["id"] == "s")["data"]["sessionId"], id);
        let mut editor = Proxy::start(place.command(), &["acp", "--attach"]);
        editor.send(&json!({"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":id,"cwd":place.workspace(),"mcpServers":[]}}));
        editor.json("a loaded session", |it| it["id"] == 1 && it["result"].is_object());
        let mut loaf = Proxy::start(place.command(), &["loaf", "--attach"]);
        loaf.send(&json!({"jsonrpc":"2.0","id":1,"method":"session.create","params":{}}));
        let own = loaf.json("a session", |it| it["id"] == 1)["result"]["session_id"].clone();
        let raw = format!("/history {id}");
        loaf.send(
            &json!({"jsonrpc":"2.0","id":2,"method":"command.execute","params":{"session_id":own,"raw_command":raw}}),
        );
        loaf.json("a resumed chat", |it| it["id"] == 2 && it["result"].is_object());
        let mut screen = Proxy::start(place.command(), &["repl", "--attach", "--resume", id]);
        // All of them are here; in the middle of a turn, one more comes.
        bot.send(&prompt("slow 30 say 40 words"));
        bot.json("a beginning", is("text_delta"));
        let mut late = Proxy::start(place.command(), &["run", "--attach", "--resume", id, "say 2 words"]);
        late.eof();
        host.json("the end", |it| it["type"] == "agent_end");
        bot.json("the end", is("turn_complete"));
        editor.line("the last words", |line| line.contains("w40"));
        loaf.line("the last words", |line| line.contains("w40"));
        screen.line("the last words", |line| line.contains("w40"));
        assert_eq!(late.ended(), Some(0), "{:?} {}", late.heard, late.said());
        assert!(late.heard.join("\n").contains("w1 w2"), "{:?}", late.heard);
    }
    let listed = socket.call("sessions.list", json!({})).await.unwrap().to_string();
    assert!(listed.contains("team:a.b/c") && listed.contains("01-plain"), "{listed}");
    let mut editor = Proxy::start(place.command(), &["acp", "--attach"]);
    editor.send(&json!({"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}));
    let listed = editor.json("a list", |it| it["id"] == 1).to_string();
    assert!(listed.contains("team:a.b/c") && listed.contains("01-plain"), "{listed}");
    let (mut bot, _) = serve(&place, &[]);
    bot.send(&json!({ "type": "slash", "command": "sessions" }));
    let listed = bot.json("a list", is("slash_result")).to_string();
    assert!(listed.contains("team:a.b/c") && listed.contains("01-plain"), "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_run_goes_on_whatever_becomes_of_its_proxy() {
    let place = Place::new();
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    for how in ["eof", "-TERM", "-INT", "-KILL"] {
        let (mut bot, ready) = serve(&place, &[]);
        let session = ready["session_id"].as_str().unwrap().to_owned();
        bot.send(&prompt(&format!("slow 20 say 40 words then say {how}")));
        bot.json("a beginning", is("text_delta"));
        match how {
            "eof" => bot.eof(),
            signal => bot.signal(signal),
        }
        let code = bot.ended();
        assert_eq!(code, if how == "-KILL" { None } else { Some(0) }, "{how}: {}", bot.said());
        until(&mut socket, &session, "w40").await;
    }
    // A host and an editor the same, though both stop what runs where the process is their own.
    let mut host = Proxy::start(place.command(), &["rpc", "--attach", "--session-id", "host-1"]);
    host.send(&json!({ "id": 1, "type": "prompt", "message": "slow 20 say 40 words" }));
    host.json("a beginning", |it| it["type"] == "message_update");
    host.eof();
    assert_eq!(host.ended(), Some(0));
    until(&mut socket, "host-1", "w40").await;
    let mut screen = Proxy::start(place.command(), &["run", "--attach", "slow 20 say 40 words"]);
    screen.eof();
    screen.line("a beginning", |_| true);
    screen.signal("-TERM");
    assert_eq!(screen.ended(), Some(0), "{}", screen.said());
    for signal in ["-TERM", "-HUP"] {
        let session = format!("typed{signal}");
        socket.call("sessions.create", json!({ "sessionId": session })).await.unwrap();
        let mut typist = Proxy::start(place.command(), &["repl", "--attach", "--resume", &session]);
        typist.send_raw(b"slow 20 say 40 words\n");
        until(&mut socket, &session, "say 40 words").await;
        typist.signal(signal);
        assert_eq!(typist.ended(), Some(0), "{}", typist.said());
        until(&mut socket, &session, "w40").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_before_a_signal_is_answered() {
    let place = Place::new();
    let _gateway = place.start();
    for signal in ["-TERM", "-INT"] {
        let mut host = Proxy::start(place.command(), &["rpc", "--attach"]);
        host.json("ready", is("ready"));
        let lines: String = (0..300).map(|id| format!("{{\"id\":\"{id}\",\"type\":\"get_state\"}}\n")).collect();
        host.send_raw(lines.as_bytes());
        host.signal(signal);
        assert_eq!(host.ended(), Some(0), "{}", host.said());
        let answered = host.heard.iter().filter(|line| line.contains("\"get_state\"")).count();
        assert_eq!(answered, 300, "{signal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_before_the_end_of_input_is_answered() {
    let place = Place::new();
    let _gateway = place.start();
    let mut host = Proxy::start(place.command(), &["rpc", "--attach"]);
    host.send_raw(b"{\"id\":1,\"type\":\"get_state\"}\n{\"id\": 2e0,\"type\":\"get_commands\"}");
    host.eof();
    assert_eq!(host.ended(), Some(0), "{}", host.said());
    let heard = host.heard.join("\n");
    assert!(heard.contains(r#""id":1,"#) && heard.contains(r#""id":2e0,"#), "{heard}");
    // A script of a person's: each line is answered before the end counts.
    let mut screen = Proxy::start(place.command(), &["repl", "--attach"]);
    screen.send_raw(b"say 2 words\nsay 3 words\n");
    screen.eof();
    assert_eq!(screen.ended(), Some(0), "{}", screen.said());
    assert!(screen.heard.join("\n").contains("w1 w2 w3"), "{:?}", screen.heard);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_loses_nothing_and_holds_up_nobody() {
    let place = Place::new();
    let gateway = place.start();
    let (mut bot, ready) = serve(&place, &[]);
    let session = ready["session_id"].as_str().unwrap().to_owned();
    let mut socket = Socket::open(&gateway).await;
    // Stopped from outside, its pipe is full soon; the gateway would let go of a socket that nobody reads.
    let mut stopped = Command::new("sh");
    stopped.current_dir(place.workspace()).env_clear();
    let of_place = place.command();
    stopped.envs(of_place.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let line = format!("{} serve --attach --resume {session} | (sleep 4; cat)", env!("CARGO_BIN_EXE_tillerman"));
    let mut reader = Proxy::start(stopped, &["-c", &line]);
    tokio::time::sleep(Duration::from_millis(700)).await;
    bot.send(&prompt("say 60000 words"));
    bot.json("the end", is("turn_complete"));
    until(&mut socket, &session, "w60000").await;
    reader.json("the end, later", is("turn_complete"));
    let words: String = reader
        .heard
        .iter()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line["type"] == "text_delta")
        .map(|line| line["delta"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(words.split_whitespace().count(), 60_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_and_long_lines_are_answered_in_the_words_of_the_dialect() {
    let place = Place::new();
    let _gateway = place.start();
    let (mut bot, _) = serve(&place, &[]);
    bot.send_raw(b"\xff\xfe\n");
    assert_eq!(bot.json("an error", is("error"))["code"], "malformed_json");
    bot.send_raw(b"null\n{\"type\":\n\n");
    bot.json("an error", is("error"));
    bot.json("an error", is("error"));
    let mut long = vec![b'x'; 17 * 1024 * 1024];
    long.push(b'\n');
    bot.send_raw(&long);
    assert_eq!(bot.json("an error", is("error"))["code"], "line_too_long");
    bot.send(&prompt("say 2 words"));
    bot.json("the end", is("turn_complete"));
    let mut editor = Proxy::start(place.command(), &["acp", "--attach"]);
    editor.send_raw(&long);
    editor.json("an error", |it| it["error"]["code"].is_i64());
    let mut loaf = Proxy::start(place.command(), &["loaf", "--attach"]);
    loaf.send_raw(b"\xff\n{}\n");
    loaf.json("an error", |it| it["error"]["code"] == -32700);
    loaf.send(&json!({"jsonrpc":"2.0","id":5,"method":"no.such"}));
    loaf.json("an answer", |it| it["id"] == 5);
}

/// How long a gateway may take to end when nothing runs: less than the grace that it gives to what does.
const WITHOUT_WORK: Duration = Duration::from_secs(8);

/// A proxy on a session, with nothing to do.
fn idle(place: &Place, dialect: &str) -> Proxy {
    let mut proxy = Proxy::start(place.command(), &[dialect, "--attach"]);
    match dialect {
        "serve" => drop(proxy.json("ready", is("ready"))),
        "rpc" => {
            proxy.send(&json!({"id": "1", "type": "prompt", "message": "say 1 words"}));
            proxy.json("the end", is("agent_end"));
        }
        "loaf" => {
            let hello = json!({"client_name": "editor", "protocol_version": "1.0.0"});
            proxy.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "rpc.handshake", "params": hello}));
            proxy.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "session.create"}));
            proxy.json("a session", |it| it["id"] == 2);
        }
        _ => {
            let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
            proxy.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}));
            let new = json!({"cwd": place.workspace(), "mcpServers": []});
            proxy.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": new}));
            proxy.json("a session", |it| it["id"] == 2);
        }
    }
    proxy
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_is_answered_though_the_input_of_its_proxy_has_ended() {
    let place = Place::new();
    let _gateway = place.start();
    let mut proxy = idle(&place, "acp");
    let last = serde_json::from_str::<Value>(proxy.heard.last().unwrap()).unwrap();
    let say =
        json!({"sessionId": last["result"]["sessionId"], "prompt": [{"type": "text", "text": "slow 100 say 4 words"}]});
    proxy.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": say}));
    proxy.eof();
    assert_eq!(proxy.ended(), Some(0));
    assert!(proxy.heard.last().unwrap().contains(r#""id":3,"result":{"stopReason":"end_turn""#), "{:#?}", proxy.heard);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_only_waits_is_told_that_the_gateway_ends_and_not_that_a_session_is_lost() {
    let place = Place::new();
    for _ in 0..3 {
        let gateway = place.start();
        let mut proxies: Vec<(&str, Proxy)> =
            ["serve", "rpc", "loaf", "acp"].map(|dialect| (dialect, idle(&place, dialect))).into();
        let began = Instant::now();
        assert_eq!(gateway.terminate(), Some(0));
        assert!(began.elapsed() < WITHOUT_WORK, "nobody has anything to do: {:?}", began.elapsed());
        for (dialect, proxy) in &mut proxies {
            assert_eq!(proxy.ended(), Some(1), "{dialect}");
            let (last, said) = (proxy.heard.last().cloned().unwrap_or_default(), proxy.said());
            let why = "the gateway has ended; what ran goes on with its next start";
            assert!(said.contains(why), "{dialect}: {said}");
            let way_back = match *dialect {
                "serve" => "--attach --resume",
                "rpc" => "--attach --session",
                "loaf" => "`/history`",
                _ => "session/load",
            };
            assert!(said.contains(way_back), "{dialect}: {said}");
            for untrue in ["is lost", "session is closed", "is being closed"] {
                assert!(!said.contains(untrue) && !last.contains(untrue), "{dialect}: {said}{last}");
            }
            if ["serve", "rpc"].contains(dialect) {
                let truth = last.contains("is ending") && last.contains("goes on with its next start");
                assert!(truth, "{dialect}: {last}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_ends_or_dies_is_told_apart_from_the_end() {
    let place = Place::new();
    let gateway = place.start();
    let (mut bot, ready) = serve(&place, &[]);
    let session = ready["session_id"].as_str().unwrap().to_owned();
    bot.send(&prompt("say 2 words"));
    bot.json("the end", is("turn_complete"));
    let mut person = Proxy::start(place.command(), &["repl", "--attach"]);
    person.send_raw(b"say 4 words\n");
    person.line("an answer", |line| line.contains("w4"));
    gateway.terminate();
    assert_eq!(bot.ended(), Some(1));
    assert!(bot.said().contains("the gateway has ended"), "{}", bot.said());
    assert_eq!(person.ended(), Some(1));
    assert!(person.said().contains("`tillerman repl --attach -c` goes on with it"), "{}", person.said());
    let gateway = place.start();
    // As it says.
    let mut person = Proxy::start(place.command(), &["repl", "--attach", "-c"]);
    person.send_raw(b"say 6 words\n");
    person.line("an answer", |line| line.contains("w6"));
    let listed = Socket::open(&gateway).await.call("sessions.list", json!({})).await.unwrap();
    let ids: Vec<&str> = listed["sessions"].as_array().unwrap().iter().filter_map(|it| it["id"].as_str()).collect();
    let mut both = 0;
    for id in &ids {
        let said = history(&mut Socket::open(&gateway).await, id).await;
        both += usize::from(said.contains("say 4 words") && said.contains("say 6 words"));
    }
    assert_eq!(both, 1, "{listed}");
    person.eof();
    assert_eq!(person.ended(), Some(0));
    let (mut bot, _) = serve(&place, &["--resume", &session]);
    bot.send(&prompt("slow 20 say 40 words"));
    bot.json("a beginning", is("text_delta"));
    gateway.kill();
    assert_eq!(bot.ended(), Some(1));
    assert!(bot.said().contains("is lost"), "{}", bot.said());
    // Started again, it goes on, and so does who comes back.
    let gateway = place.start();
    let (_bot, ready) = serve(&place, &["--resume", &session]);
    assert_eq!(ready["session_id"], session.as_str());
    until(&mut Socket::open(&gateway).await, &session, "w40").await;
}

#[test]
fn without_a_gateway_it_is_an_error_or_a_process_of_its_own() {
    let place = Place::new();
    for words in [&["serve", "--attach"][..], &["rpc", "--attach"], &["loaf", "--attach"], &["acp", "--attach"]] {
        let mut alone = Proxy::start(place.command(), words);
        assert_eq!(alone.ended(), Some(2), "{words:?}");
        let told = format!("{}{}", alone.heard.join("\n"), alone.said());
        assert!(told.contains("no gateway runs") && told.contains("--attach auto"), "{words:?}: {told}");
    }
    let mut run = Proxy::start(place.command(), &["run", "--attach", "hello"]);
    assert_eq!(run.ended(), Some(2));
    assert!(run.said().contains("no gateway runs") && run.said().contains("hint:"), "{}", run.said());
    let mut serve = Proxy::start(place.command(), &["serve", "--attach", "auto", "--model", "tour"]);
    serve.json("ready", is("ready"));
    assert!(serve.said().contains("no gateway runs for this home: going on without"), "{}", serve.said());
    let mut far = Proxy::start(place.command(), &["serve", "--attach", "ws://127.0.0.1:1"]);
    assert_eq!(far.ended(), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_needs_a_token_and_a_token_is_not_sent_to_strangers() {
    let mut place = Place::new();
    place.token = Some(TOKEN.to_owned());
    let gateway = place.start();
    let url = format!("ws://{}", gateway.address);
    let mut without = Proxy::start(place.command(), &["serve", "--attach", &url]);
    assert_eq!(without.ended(), Some(2));
    let told = without.heard.join("\n");
    assert!(told.contains("TILLERMAN_GATEWAY_TOKEN"), "{told}");
    let with = |token: &str| {
        let mut command = place.command();
        command.env("TILLERMAN_GATEWAY_TOKEN", token);
        command
    };
    let mut wrong = Proxy::start(with("wrong"), &["rpc", "--attach", &url]);
    assert_eq!(wrong.ended(), Some(2));
    assert!(wrong.said().contains("not known here") && !wrong.said().contains("wrong\n"), "{}", wrong.said());
    let mut right = Proxy::start(with(TOKEN), &["serve", "--attach", &url]);
    right.json("ready", is("ready"));
    // It is for another gateway: the socket of this home asks for none, and is told none.
    let mut own = Proxy::start(with("another"), &["serve", "--attach"]);
    own.json("ready", is("ready"));
    let clear = Proxy::start(with(TOKEN), &["serve", "--attach", "ws://192.0.2.1:9"]).ended();
    assert_eq!(clear, Some(2), "it would travel for everybody to read");
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_hold_or_are_refused() {
    let place = Place::new();
    let gateway = place.start();
    let sub = place.workspace().join("sub");
    std::fs::create_dir_all(&sub).unwrap();
    let (mut many, ready) = serve(&place, &["--multi"]);
    assert_eq!(ready["protocol"], 2);
    many.send(&json!({ "type": "open", "session": "a", "workspace": sub }));
    many.json("a session", |it| it["session"] == "a");
    let (_, ready) = serve(&place, &["--mode", "plan", "--model", "mock/beta"]);
    assert_eq!((&ready["mode"], &ready["model"]), (&json!("plan"), &json!("mock/beta")));
    let told = |words: &[&str]| {
        let mut refused = Proxy::start(place.command(), words);
        refused.eof();
        assert_eq!(refused.ended(), Some(2), "{words:?}");
        format!("{}{}", refused.heard.join("\n"), refused.said())
    };
    for (words, why) in [
        (&["serve", "--attach", "--config", "/x"][..], "one configuration"),
        (&["serve", "--attach", "--workspace", "/no/such"], "no such workspace"),
        (&["loaf", "--attach", "--log-frames", "/x"], "would write a file"),
        (&["acp", "--attach", "--extension", "/bin/sh"], "starts a program"),
        (&["rpc", "--attach", "--no-session"], "keeps its sessions"),
        (&["rpc", "--attach", "--prompt-template", "/etc/passwd"], "names a file"),
        (&["rpc", "--attach", "--api-key", "sk-canary"], "stays here"),
        (&["rpc", "--attach", "--session", "nobody-has-this"], "No session found"),
        (&["run", "--attach", "--no-session", "hi"], "keeps its sessions"),
        (&["repl", "--attach", "--model", "script:/etc/passwd"], "owner alone"),
        (&["serve", "--attach", "--model", "tour/script:/etc/passwd"], "owner alone"),
        (&["rpc", "--attach", "--provider", "tour", "--model", "script:/etc/passwd"], "owner alone"),
    ] {
        let told = told(words);
        assert!(told.contains(why), "{words:?}: {told}");
    }
    assert!(!gateway.said().contains("sk-canary"), "{}", gateway.said());
    for arguments in ["no json", "{}", "[1]", "[\"--frob\"]"] {
        let visitor =
            Visitor { token: Some(TOKEN), path: Some("/serve"), arguments: Some(arguments), ..Visitor::default() };
        assert_eq!(Socket::open_as(&gateway, &visitor).await.err(), Some(400), "{arguments}");
    }
    let visitor = Visitor { token: Some(TOKEN), arguments: Some("[]"), ..Visitor::default() };
    assert_eq!(Socket::open_as(&gateway, &visitor).await.err(), Some(400), "the gateway's own dialect takes none");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_without_all_scopes_drives_no_dialect() {
    let place = Place::new();
    let make = |scopes: &str| {
        let name = scopes.replace(',', "-");
        let made = place.command().args(["gateway", "token", "--name", &name, "--scopes", scopes]).output().unwrap();
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    let (chat, tools, all) = (make("chat"), make("read,chat,tools"), make("read,chat,tools,admin"));
    let gateway = place.start();
    for path in ["/serve", "/rpc", "/loaf", "/acp", "/terminal"] {
        for (token, expected) in [(&chat, Some(403)), (&tools, Some(403)), (&all, None)] {
            let visitor = Visitor { token: Some(token), path: Some(path), ..Visitor::default() };
            assert_eq!(Socket::open_as(&gateway, &visitor).await.err(), expected, "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_proxies_at_once() {
    let place = Place::new();
    let _gateway = place.start();
    let count = if std::env::var_os("TILLERMAN_FULL").is_some() { 100 } else { 20 };
    let mut all: Vec<Proxy> = (0..count).map(|_| Proxy::start(place.command(), &["serve", "--attach"])).collect();
    for proxy in &mut all {
        proxy.json("ready", is("ready"));
        proxy.send(&prompt("say 5 words"));
    }
    for proxy in &mut all {
        proxy.json("the end", is("turn_complete"));
        proxy.eof();
        assert_eq!(proxy.ended(), Some(0));
    }
}
