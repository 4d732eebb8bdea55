//! `web_search` against a server of our own on the loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use builtin_tools::web_search::{SearchKey, SearchOptions, tool};
use serde_json::{Value, json};
use vocab::{CallContext, Json, Later, Outcome, Required, Secret, Toolbox, parts_text};

/// Looks like a key; must never be in anything that a model reads.
pub(crate) const CANARY: &str = "exa-canary-5b1f0c";

/// Answers everything with one reply, records what it was sent.
pub(crate) struct SearchServer {
    pub(crate) base: String,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl SearchServer {
    pub(crate) fn start(status: &str, body: impl Into<String>) -> Self {
        let body = body.into();
        let reply = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        Self::raw(Some(reply))
    }

    /// `None`: it never answers.
    fn raw(reply: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                seen.lock().unwrap().push(heard(&mut stream));
                match &reply {
                    // The client may have read enough.
                    Some(reply) => drop(stream.write_all(reply.as_bytes())),
                    None => held.push(stream),
                }
            }
        });
        Self { base, requests }
    }

    pub(crate) fn options(&self) -> SearchOptions {
        SearchOptions { base_url: self.base.clone(), ..SearchOptions::new(Arc::new(Stored(Some(CANARY)))) }
    }

    fn asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

/// One request with its body.
fn heard(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_lowercase()
                .split("content-length: ")
                .nth(1)
                .map(|rest| rest.split("\r\n").next().unwrap().parse::<usize>().unwrap());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        match stream.read(&mut piece).unwrap_or(0) {
            0 => return text,
            count => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

struct Stored(Option<&'static str>);

impl SearchKey for Stored {
    fn is_there(&self) -> bool {
        self.0.is_some()
    }
    fn key(&self) -> Later<'_, Option<Secret>> {
        Box::pin(async { self.0.and_then(Secret::new) })
    }
}

async fn search_as(options: SearchOptions, input: Value, granted: Required) -> Outcome {
    let context = CallContext {
        session: "s".into(),
        call: "c".into(),
        granted,
        progress: Arc::new(|_| {}),
        todos: Arc::from([]),
        editor_requests: None,
        children: None,
        processes: None,
    };
    let outcome = tool(options).run(Json::trusted(input.to_string()), context).await;
    let all = format!("{outcome:?}");
    assert!(!all.contains(CANARY) && !all.contains("exa-canary"), "the key is out: {all}");
    outcome
}

pub(crate) async fn search(options: SearchOptions, input: Value) -> (String, bool) {
    let outcome = search_as(options, input, Required::DangerFullAccess).await;
    (parts_text(&outcome.parts), outcome.is_error)
}

async fn failure(server: &SearchServer) -> String {
    let (text, is_error) = search(server.options(), json!({ "query": "q" })).await;
    assert!(is_error, "{text}");
    text
}

fn page(n: usize, text: &str) -> Value {
    json!({ "id": n, "title": format!("Page {n}"), "url": format!("https://p{n}.example/"), "text": text, "score": 0.5 })
}

#[tokio::test]
async fn pages_come_as_a_numbered_list() {
    let answer = json!({ "requestId": "r", "results": [
        { "title": " The\n first ", "url": "https://one.example/a", "publishedDate": "2026-01-02T00:00:00.000Z",
          "author": null, "text": "  Some text.\nMore of it. " },
        { "title": null, "url": "https://two.example/", "publishedDate": null },
        { "url": "https://three.example/", "text": "" },
    ]});
    let server = SearchServer::start("200 OK", answer.to_string());
    let (text, is_error) = search(server.options(), json!({ "query": " what is new? " })).await;
    assert!(!is_error);
    assert_eq!(
        text,
        "1. The first\nhttps://one.example/a\npublished 2026-01-02T00:00:00.000Z\nSome text.\nMore of it.\n\n\
         2. (no title)\nhttps://two.example/\n\n3. (no title)\nhttps://three.example/"
    );
    let request = server.requests.lock().unwrap()[0].clone();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    assert!(head.starts_with("post /search http/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("x-api-key: {CANARY}")), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    let wanted = json!({ "query": "what is new?", "numResults": 5, "contents": { "text": { "maxCharacters": 3000 } } });
    assert_eq!(body, wanted);
}

#[tokio::test]
async fn as_many_results_as_asked_for_and_no_more_than_ten() {
    let pages: Vec<Value> = (1..=20).map(|n| page(n, "x")).collect();
    let server = SearchServer::start("200 OK", json!({ "results": pages }).to_string());
    for (asked, wanted) in [(json!(1), 1), (json!(0), 1), (json!("3"), 3), (json!(10), 10), (json!(99), 10)] {
        let (text, _) = search(server.options(), json!({ "query": "q", "max_results": asked })).await;
        assert_eq!(text.matches("https://p").count(), wanted, "{asked}: {text}");
        let request = server.requests.lock().unwrap().last().unwrap().clone();
        assert!(request.contains(&format!("\"numResults\":{wanted}")), "{request}");
    }
    let none = SearchServer::start("200 OK", r#"{"results":[]}"#);
    assert_eq!(search(none.options(), json!({ "query": "q" })).await, ("No results.".into(), false));
}

#[tokio::test]
async fn long_pages_and_long_lists_are_cut_and_say_so() {
    let server = SearchServer::start("200 OK", json!({ "results": [page(1, &"ü".repeat(5000))] }).to_string());
    let (text, _) = search(server.options(), json!({ "query": "q" })).await;
    assert!(text.ends_with(&format!("/\n{}…", "ü".repeat(3000))), "{}", text.len());
    let pages: Vec<Value> = (1..=10).map(|n| page(n, &"漢".repeat(5000))).collect();
    let server = SearchServer::start("200 OK", json!({ "results": pages }).to_string());
    let (text, is_error) = search(server.options(), json!({ "query": "q", "max_results": 10 })).await;
    assert!(!is_error && text.len() < 49 * 1024 && text.contains("[5 more left out"), "{}", text.len());
}

#[tokio::test]
async fn without_a_key_nothing_is_asked_and_the_model_reads_how_one_is_set() {
    let server = SearchServer::start("200 OK", "{}");
    for key in [None, Some("  ")] {
        let options = SearchOptions { base_url: server.base.clone(), ..SearchOptions::new(Arc::new(Stored(key))) };
        let (text, is_error) = search(options, json!({ "query": "q" })).await;
        assert!(is_error && text.contains("no key") && text.contains("auth.set.exa_key"), "{text}");
    }
    let broken = SearchOptions { base_url: server.base.clone(), ..SearchOptions::new(Arc::new(Stored(Some("a\nb")))) };
    let (text, is_error) = search(broken, json!({ "query": "q" })).await;
    assert!(is_error && text.contains("characters that no key has") && text.contains("auth.set.exa_key"), "{text}");
    assert_eq!(server.asked(), 0);
}

#[tokio::test]
async fn failures_are_explained_without_the_key() {
    let echo = format!(r#"{{"error":"bad key {CANARY}"}}"#);
    for (status, wanted) in [
        ("401 No", "refused the key (status 401); ask the user"),
        ("403 No", "refused the key (status 403); ask the user"),
        ("429 Slow down", "too many requests"),
        ("500 Oops", "a problem of its own (status 500)"),
        ("503 Oops", "a problem of its own (status 503)"),
        ("400 What", "status 400 and said: {\"error\":\"bad key ***\"}"),
        ("302 Elsewhere", "status 302"),
    ] {
        let text = failure(&SearchServer::start(status, echo.clone())).await;
        assert!(text.starts_with("web_search: ") && text.contains(wanted), "{status}: {text}");
    }
    for bad in ["", "no JSON", "[]", r#"{"results":7}"#, r#"{"results":[{"title":"x"}]}"#] {
        let text = failure(&SearchServer::start("200 OK", bad)).await;
        assert!(text.contains("cannot be read"), "{bad}: {text}");
    }
    let text = failure(&SearchServer::start("200 OK", " ".repeat(3 << 20))).await;
    assert!(text.contains("longer than 2097152 bytes"), "{text}");
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{";
    let text = failure(&SearchServer::raw(Some(short.into()))).await;
    assert!(text.contains("broke off"), "{text}");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = SearchServer { base: format!("http://{free}"), requests: Arc::default() };
    assert!(failure(&nobody).await.contains("cannot be reached"));
}

#[tokio::test]
async fn a_key_that_comes_back_is_hidden_even_where_a_text_is_cut() {
    // The text is cut in the middle of the key.
    let text = format!("{}{CANARY}", "x".repeat(2990));
    let server = SearchServer::start("200 OK", json!({ "results": [page(1, &text)] }).to_string());
    let (text, _) = search(server.options(), json!({ "query": "q" })).await;
    assert!(text.ends_with("x***"), "{text}");
    let refused = SearchServer::start("400 What", format!("{}{CANARY}", "x".repeat(290)));
    assert!(failure(&refused).await.ends_with("x***"));
}

#[tokio::test]
async fn the_key_goes_to_no_redirect_and_not_in_the_clear() {
    let other = SearchServer::start("200 OK", r#"{"results":[]}"#);
    let away = format!("HTTP/1.1 307 There\r\nlocation: {}/search\r\ncontent-length: 0\r\n\r\n", other.base);
    let server = SearchServer::raw(Some(away));
    assert!(failure(&server).await.contains("status 307"));
    assert_eq!((server.asked(), other.asked()), (1, 0));
    let options = SearchOptions { base_url: "http://search.example".into(), ..server.options() };
    let (text, is_error) = search(options, json!({ "query": "q" })).await;
    assert!(is_error && text.contains("not sent there in the clear"), "{text}");
}

#[tokio::test]
async fn a_silent_server_does_not_hold_the_call() {
    let server = SearchServer::raw(None);
    let start = Instant::now();
    let options = SearchOptions { timeout: Duration::from_millis(200), ..server.options() };
    let (text, is_error) = search(options, json!({ "query": "q" })).await;
    assert!(is_error && text.contains("within 0.2 s"), "{text}");
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_question_needs_what_a_fetch_needs_and_is_shown_to_people() {
    let server = SearchServer::start("200 OK", r#"{"results":[]}"#);
    let outcome = search_as(server.options(), json!({ "query": "q" }), Required::WorkspaceWrite).await;
    assert!(outcome.is_error && parts_text(&outcome.parts).contains("danger-full-access"));
    assert_eq!(server.asked(), 0);
    let tool = tool(server.options());
    assert_eq!((tool.required(), tool.gadget()), (Required::DangerFullAccess, Some("web")));
    let plan = |input: Value| tool.plan(&Json::trusted(input.to_string()));
    let good = plan(json!({ "query": "rust\n\"news\"" })).unwrap();
    assert_eq!(good.required, Required::DangerFullAccess);
    assert_eq!(&*good.summary, r#"search the web for "rust\n\"news\"""#);
    for (bad, why) in [
        (json!({}), "missing required argument \"query\""),
        (json!({ "query": "  " }), "is empty"),
        (json!({ "query": "x".repeat(2001) }), "longer than 2000"),
        (json!({ "query": "q", "max_results": "many" }), "must be an integer"),
    ] {
        let error = plan(bad).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn it_is_offered_only_where_searching_is_possible() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = builtin_tools::BuiltinOptions::new(dir.path().join("spill"));
    let names = |options: &builtin_tools::BuiltinOptions| -> Vec<String> {
        let toolbox = builtin_tools::Builtin::new(options.clone());
        let tools = toolbox.open(&"s".into(), dir.path()).unwrap();
        assert_eq!(toolbox.gadgets().len(), 1);
        tools.iter().map(|tool| tool.spec().name.to_string()).collect()
    };
    assert!(!names(&options).contains(&"web_search".to_owned()));
    options.search = Some(SearchOptions::new(Arc::new(Stored(None))));
    assert!(!names(&options).contains(&"web_search".to_owned()), "there is no key yet");
    options.search = Some(SearchOptions::new(Arc::new(Stored(Some(CANARY)))));
    assert!(names(&options).contains(&"web_search".to_owned()));
    assert!(!format!("{options:?}").contains(CANARY));
    assert_eq!(dialect_loaf::TOOL_NAMES.show("web_search"), "search_web");
}
