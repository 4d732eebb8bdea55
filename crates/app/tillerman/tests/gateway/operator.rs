//! Who is connected and who tried to come in, as an operator of the real binary sees it; and showing somebody out.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::process::{Gateway, Place, TOKEN};
use crate::socket::{Socket, Visitor};

/// Status, head and body of a POST.
fn post(gateway: &Gateway, path: &str, headers: &str, body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(&gateway.address).unwrap();
    let (host, length) = (&gateway.address, body.len());
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n{headers}Connection: close");
    write!(stream, "{head}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
}

fn rows(of: &Value, list: &str) -> Vec<Value> {
    of[list].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_operator_sees_who_is_connected_and_shows_somebody_out() {
    let place = Place::new();
    let gateway = place.start();
    let mut operator = Socket::open(&gateway).await;
    let mut other = Socket::open_as(&gateway, &Visitor { token: Some(TOKEN), path: Some("/ws"), ..Visitor::default() })
        .await
        .unwrap();
    let other_id = other.call("system.info", json!({})).await.unwrap()["connectionId"].clone();
    let mut stranger = Socket::open_as(&gateway, &Visitor::default()).await.unwrap();
    let seen = operator.call("system.connections", json!({})).await.unwrap();
    let all = rows(&seen, "connections");
    assert_eq!((all.len(), &seen["total"]), (3, &json!(3)), "{seen}");
    assert_eq!(
        (&all[0]["isSelf"], &all[0]["path"], &all[0]["credential"]),
        (&json!(true), &json!("/"), &json!("token"))
    );
    assert_eq!((&all[1]["connectionId"], &all[1]["path"], &all[1]["name"]), (&other_id, &json!("/ws"), &json!("main")));
    assert_eq!((&all[2]["credential"], &all[2]["scopes"], all[2].get("name")), (&json!("none"), &json!([]), None));
    assert!(all[0]["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{seen}");
    assert!(!seen.to_string().contains(TOKEN));
    stranger.call("auth.login", json!({"token": TOKEN})).await.unwrap();
    let seen = operator.call("system.connections", json!({})).await.unwrap();
    assert_eq!(
        (&seen["connections"][2]["credential"], &seen["connections"][2]["name"]),
        (&json!("token"), &json!("main"))
    );
    let closing = operator.call("system.closeConnection", json!({"connectionId": other_id})).await.unwrap();
    assert_eq!(closing, json!({"closed": true}));
    assert_eq!((other.closed().await, other.why.contains("operator")), (Some(1008), true));
    let again = operator.call("system.closeConnection", json!({"connectionId": other_id})).await.unwrap();
    assert_eq!(again, json!({"closed": false}));
    let audit = operator.call("audit.query", json!({"limit": 1})).await.unwrap();
    assert_eq!(audit["lines"][0]["action"], "system.closeConnection");
    assert_eq!(audit["lines"][0]["by"], "token:main");
}

/// Whatever is spoken on it: a dialect that never asks who came must not be how a socket outlives its token.
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_ends_its_sockets_on_every_path() {
    const PATHS: [&str; 7] = ["/", "/ws", "/serve", "/rpc", "/loaf", "/acp", "/terminal"];
    let place = Place::new();
    let gateway = place.start();
    let token = |words: &[&str]| place.command().args(["gateway", "token"]).args(words).output().unwrap();
    let made = token(&["--name", "lent", "--scopes", "read,chat,tools,admin"]);
    let lent = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let mut sockets = Vec::new();
    for path in PATHS {
        let visitor = Visitor { token: Some(&lent), path: Some(path), ..Visitor::default() };
        sockets.push(Socket::open_as(&gateway, &visitor).await.unwrap());
    }
    let mut operator = Socket::open(&gateway).await;
    let seen = operator.call("system.connections", json!({})).await.unwrap();
    let listed: Vec<_> = rows(&seen, "connections").iter().map(|it| it["path"].clone()).collect();
    assert!(PATHS.iter().all(|path| listed.contains(&json!(path))), "{seen}");
    let shown_out = rows(&seen, "connections").iter().find(|it| it["path"] == "/rpc").unwrap()["connectionId"].clone();
    let closing = operator.call("system.closeConnection", json!({"connectionId": shown_out})).await.unwrap();
    assert_eq!(closing, json!({"closed": true}));
    assert!(token(&["--revoke", "lent"]).status.success());
    for (path, mut socket) in PATHS.into_iter().zip(sockets) {
        assert_eq!(socket.closed().await, Some(1008), "{path}");
        let why = if path == "/rpc" { "operator" } else { "revoked" };
        assert!(socket.why.contains(why), "{path}: {}", socket.why);
    }
    operator.call("system.info", json!({})).await.unwrap();
}

/// What a connection has done stands in the audit under one name.
#[tokio::test]
async fn a_connection_stays_with_the_token_that_it_came_with() {
    let place = Place::new();
    let gateway = place.start();
    let made = place.command().args(["gateway", "token", "--name", "looks", "--scopes", "read"]).output().unwrap();
    let token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let visitor = Visitor { token: Some(&token), ..Visitor::default() };
    let mut socket = Socket::open_as(&gateway, &visitor).await.unwrap();
    for _ in 0..5 {
        let refused = socket.call("auth.login", json!({"token": TOKEN})).await.unwrap_err();
        assert_eq!((&refused["code"], &refused["data"]["reason"]), (&json!(-2), &json!("logged_in")), "{refused}");
    }
    socket.call("auth.login", json!({"token": token})).await.unwrap();
    let refused = socket.call("audit.query", json!({"limit": 1})).await.unwrap_err();
    assert_eq!(refused["data"]["reason"], "scope", "it may do what it could");
}

#[tokio::test]
async fn attempts_are_listed_without_what_was_shown() {
    let place = Place::new();
    let gateway = place.start();
    let wrong = Visitor { token: Some("wrong-canary"), path: Some("/serve"), ..Visitor::default() };
    assert_eq!(Socket::open_as(&gateway, &wrong).await.err(), Some(401));
    assert_eq!(post(&gateway, "/api/login", "", "{\"token\":\"second-canary\"}").0, 401);
    let own = format!("Origin: http://{}\r\n", gateway.address);
    assert_eq!(post(&gateway, "/api/login", &own, &format!("{{\"token\":\"{TOKEN}\"}}")).0, 200);
    let mut stranger = Socket::open_as(&gateway, &Visitor::default()).await.unwrap();
    stranger.call("auth.login", json!({"token": "third-canary"})).await.unwrap_err();
    let mut operator = Socket::open(&gateway).await;
    let seen = operator.call("auth.attempts", json!({})).await.unwrap();
    let shown: Vec<_> =
        rows(&seen, "attempts").iter().map(|it| format!("{} {} {}", it["kind"], it["path"], it["ok"])).collect();
    let expected = [
        "\"message\" \"/\" false",
        "\"login\" \"/api/login\" true",
        "\"login\" \"/api/login\" false",
        "\"token\" \"/serve\" false",
    ];
    assert_eq!(shown, expected, "{seen}");
    assert_eq!(seen["attempts"][1]["origin"], format!("http://{}", gateway.address));
    assert!(!seen.to_string().contains("canary") && !seen.to_string().contains(TOKEN), "{seen}");
    let two = operator.call("auth.attempts", json!({"limit": 2})).await.unwrap();
    assert_eq!(rows(&two, "attempts").len(), 2);
}

#[tokio::test]
async fn what_it_is_says_what_it_uses() {
    let place = Place::new();
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let info = socket.call("system.info", json!({})).await.unwrap();
    assert_eq!(info["model"], "mock/alpha");
    assert!(info["rssBytes"].as_u64().is_some_and(|bytes| bytes > 1_000_000), "{info}");
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    let later = socket.call("system.info", json!({})).await.unwrap();
    assert!(later["cpuPct"].as_f64().is_some_and(|pct| (0.0..10_000.0).contains(&pct)), "{later}");
}
