//! Who is let in, and what is told and kept of secrets: through the binary, as a user, another user, and a model's command.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::{Gateway, Place, TOKEN};
use crate::socket::{Socket, Visitor};

fn full() -> bool {
    std::env::var_os("TILLERMAN_FULL").is_some()
}

/// The status of `/health` for a request that has these headers.
fn health(gateway: &Gateway, headers: &str) -> u16 {
    let mut stream = std::net::TcpStream::connect(&gateway.address).unwrap();
    let address = &gateway.address;
    write!(stream, "GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer[9..12].parse().unwrap()
}

/// A command for bash that asks the gateway and shows the first line of its answer.
fn asking(gateway: &Gateway) -> String {
    let (host, port) = gateway.address.rsplit_once(':').unwrap();
    format!(
        "exec 3<>/dev/tcp/{host}/{port}; \
         printf 'GET /health HTTP/1.1\\r\\nHost: {host}:{port}\\r\\nConnection: close\\r\\n\\r\\n' >&3; head -1 <&3"
    )
}

async fn ran(socket: &mut Socket, command: &str) -> String {
    let params = json!({"tool": "shell.exec", "args": {"command": command}});
    let result = socket.call("tools.execute", params).await.unwrap();
    result["output"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn g1_without_a_token_the_users_own_processes_come_in_and_nobody_else() {
    let place = Place { token: None, ..Place::new() };
    let gateway = place.start();
    assert_eq!(health(&gateway, ""), 200, "the user's own process");
    assert_eq!(health(&gateway, "X-Forwarded-For: 192.0.2.1\r\n"), 401, "who is behind a proxy");
    assert_eq!(health(&gateway, "Authorization: Bearer x\r\n"), 401, "a wrong token beside it");
    let other = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", &asking(&gateway)])
        .output();
    match other {
        Ok(said) if said.status.success() => {
            assert!(String::from_utf8_lossy(&said.stdout).contains(" 401 "), "another user: {said:?}")
        }
        _ => println!("SKIP: no process of another user can be started here"),
    }
    let mut socket = Socket::open_as(&gateway, &Visitor::default()).await.unwrap();
    let asks = asking(&gateway);
    let inside = asks.replace('\'', "'\\''");
    for (what, command) in [
        ("a command", asks.clone()),
        ("one in a session of its own", format!("setsid bash -c '{inside}' | cat")),
        ("one by another name", format!("(exec -a sshd bash -c '{inside}')")),
        (
            "one that has outlived its parents",
            format!("(setsid nohup bash -c 'sleep 0.5; {inside}' > left 2>&1 &) ; sleep 2; cat left"),
        ),
    ] {
        let said = ran(&mut socket, &command).await;
        assert!(said.contains(" 401 "), "{what}: {said}");
    }
}

#[test]
fn g1_beyond_this_machine_wants_a_token_and_tls() {
    let place = Place { token: None, ..Place::new() };
    for host in ["0.0.0.0", "::", "192.0.2.1"] {
        let said =
            place.command().args(["gateway", "--port", "0", "--model", "tour", "--host", host]).output().unwrap();
        let errors = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(said.status.code(), Some(2), "{host}: {errors}");
        assert!(errors.contains("that needs a token") && errors.contains("and TLS"), "{host}: {errors}");
        assert!(said.stdout.is_empty());
    }
}

#[test]
fn g1_a_token_that_is_made_while_it_runs_holds() {
    let place = Place { token: None, ..Place::new() };
    let gateway = place.start();
    assert_eq!(health(&gateway, ""), 200);
    let make = |more: &[&str]| {
        let said = place.command().args(["gateway", "token"]).args(more).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    };
    let first = make(&[]);
    let file = place.home.path().join("tillerman/gateway/token");
    assert_eq!((first.len(), std::fs::metadata(file).unwrap().permissions().mode() & 0o777), (43, 0o600), "256 bits");
    let becomes = |headers: &str, status: u16| {
        let until = std::time::Instant::now() + Duration::from_secs(15);
        while health(&gateway, headers) != status {
            assert!(std::time::Instant::now() < until, "{headers:?} does not become {status}");
            std::thread::sleep(Duration::from_millis(500));
        }
    };
    becomes("", 401);
    assert_eq!(health(&gateway, &format!("Authorization: Bearer {first}\r\n")), 200);
    let second = make(&["--rotate"]);
    becomes(&format!("Authorization: Bearer {second}\r\n"), 200);
    assert_eq!(health(&gateway, &format!("Authorization: Bearer {first}\r\n")), 401, "the old one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dialect_without_scopes_wants_all_of_them() {
    let place = Place::new();
    let make = |name: &str, scopes: &str| {
        let said = place.command().args(["gateway", "token", "--name", name, "--scopes", scopes]).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    };
    let (some, all) = (make("some", "chat,tools"), make("all", "chat,tools,admin"));
    let gateway = place.start();
    for path in ["/serve", "/acp"] {
        for (token, refused) in [(&some, Some(403)), (&all, None)] {
            let visitor = Visitor { token: Some(token), path: Some(path), ..Visitor::default() };
            let came = Socket::open_as(&gateway, &visitor).await;
            assert_eq!(came.err(), refused, "{path}: one can delete and set the mode there");
        }
    }
}

/// What a file says that is played as a model is done.
#[tokio::test(flavor = "multi_thread")]
async fn no_client_has_a_file_played_as_its_model() {
    let place = Place::new();
    let (own, other) = (place.home.path().join("own.txt"), place.home.path().join("other.txt"));
    std::fs::write(&own, "say \"OWNERS\"\n").unwrap();
    std::fs::write(&other, "say \"PLAYED\"\n").unwrap();
    let place = Place { config: format!("aliases: {{mine: 'script:{}'}}\n", own.display()), ..place };
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let other = other.display().to_string();
    for name in [format!("script:{other}"), format!("tour/script:{other}"), format!(" script:{other}")] {
        for (method, params) in [
            ("agent.send", json!({"sessionId": "ws:s", "message": "hi", "modelTier": name})),
            ("sessions.create", json!({"sessionId": "ws:s", "modelTier": name})),
            ("sessions.patch", json!({"sessionId": "ws:s", "modelTier": name})),
        ] {
            let refused = socket.call(method, params).await.unwrap_err();
            assert_eq!(refused["code"], -2, "{method} {name}: {refused}");
            assert!(!refused.to_string().contains("PLAYED"), "{refused}");
        }
        let said = socket.call("agent.send", json!({"sessionId": "ws:s", "message": format!("/model {name}")})).await;
        assert_eq!(said.as_ref().unwrap()["command"]["ok"], false, "{name}: {said:?}");
        let after = socket.call("agent.send", json!({"sessionId": "ws:s", "message": "say 1 words"})).await.unwrap();
        assert_eq!(after["content"], "w1", "{name}");
    }
    // What the owner has named may be used by its name.
    let own = json!({"sessionId": "ws:own", "message": "hi", "modelTier": "mine"});
    assert_eq!(socket.call("agent.send", own).await.unwrap()["content"], "OWNERS");
}

const PUSH: &str = "PUSHCANARY0123456789abcdefEND1";

#[tokio::test(flavor = "multi_thread")]
async fn g12_secrets_are_neither_told_nor_kept_in_the_clear() {
    let place = Place::with(
        "server:\n  nodes:\n    enabled: true\n    location: {enabled: true}\n    push: {enabled: true}\n\
         models:\n  fast:\n    openai: {apiKey: CANARYmodel1, baseUrl: 'http://ann:CANARYuser2@127.0.0.1:9/v1', model: m}\n",
    );
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let mut told = vec![socket.call("config.get", json!({})).await.unwrap()];
    for path in ["server", "server.token", "models", "models.fast.openai.apiKey", "baseUrl"] {
        told.push(socket.call("config.get", json!({"path": path})).await.unwrap_or_default());
    }
    let node = json!({"nodeId": "n1", "role": "companion", "protocolVersion": 1, "capabilities": ["push"]});
    socket.call("node.register", node).await.unwrap();
    let set = socket.call("node.push_token.set", json!({"provider": "apns", "token": PUSH})).await.unwrap();
    assert_eq!(set["push"]["tokenPreview"], "PUSH…END1");
    told.push(set);
    for method in ["system.nodes", "system.capabilities", "node.capabilities.get", "audit.query", "system.metrics"] {
        told.push(socket.call(method, json!({})).await.unwrap());
    }
    told.push(socket.call("node.push_token.set", json!({"provider": "x", "token": PUSH})).await.unwrap_err());
    let said = Value::from(told).to_string() + &gateway.said();
    for canary in ["CANARY", "sk-for-tests", TOKEN, PUSH] {
        assert!(!said.contains(canary), "{canary} in {said}");
    }
    assert_eq!(gateway.terminate(), Some(0));
    let mut files = vec![place.home.path().join("tillerman")];
    let mut read = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).unwrap().map(|it| it.unwrap().path()));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let is_there = bytes.windows(PUSH.len()).any(|it| it == PUSH.as_bytes());
            assert!(!is_there, "the token lies open in {}", path.display());
            read += 1;
        }
    }
    assert!(read >= 2, "{read}");
}

/// Kills right behind the answer.
const KILLS: usize = 3;
const KILLS_FULL: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn an_artifact_that_was_acknowledged_survives_a_kill() {
    let place = Place::new();
    let mut gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    socket.call("sessions.create", json!({"sessionId": "c:1"})).await.unwrap();
    for kill in 0..if full() { KILLS_FULL } else { KILLS } {
        let artifact = json!({"sessionId": "c:1", "artifactId": format!("a{kill}"), "type": "t", "content": kill});
        socket.call("canvas.put", artifact).await.unwrap();
        gateway.kill();
        gateway = place.start();
        socket = Socket::open(&gateway).await;
        let list = socket.call("canvas.list", json!({"sessionId": "c:1"})).await.unwrap();
        assert_eq!((&list["total"], &list["artifacts"][0]["content"]), (&json!(kill + 1), &json!(kill)));
    }
}

/// Whoever changes the token loses the connection by it, and hears first that it was done.
#[tokio::test(flavor = "multi_thread")]
async fn a_reload_that_changes_the_token_is_answered_before_its_caller_goes() {
    const NEXT: &str = "the-next-token-0123456789abcdef";
    let place = Place::new();
    let gateway = place.start();
    let file = place.home.path().join("gateway.yaml");
    let (mut caller, mut other) = (Socket::open(&gateway).await, Socket::open(&gateway).await);
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, config.replace(TOKEN, NEXT)).unwrap();
    let done = caller.call("config.reload", json!({})).await.unwrap();
    assert_eq!(done["success"], true, "{done}");
    // It holds for whoever comes, and those who are here go, at once: whoever is owed no answer does not wait for one.
    let next = Visitor { token: Some(NEXT), ..Visitor::default() };
    Socket::open_as(&gateway, &next).await.unwrap().call("system.info", json!({})).await.unwrap();
    assert_eq!((caller.closed().await, other.closed().await), (Some(1008), Some(1008)));
    let mut late = Socket::open(&gateway).await;
    assert_eq!(late.closed().await, Some(1008), "the old token is nobody's");
}
