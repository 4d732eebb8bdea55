//! What an operator sees of a gateway: its numbers, its health, its log.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::peers_install::{CHECKS_PATIENCE, python, run, script};
use crate::process::{Gateway, Place, TOKEN};
use crate::socket::{Socket, Visitor};

/// Status, and the body.
fn get(gateway: &Gateway, path: &str, token: Option<&str>) -> (u16, String) {
    let mut stream = TcpStream::connect(&gateway.address).unwrap();
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let host = &gateway.address;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n{token}Connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn page(gateway: &Gateway) -> String {
    let (status, page) = get(gateway, "/metrics", Some(TOKEN));
    assert_eq!(status, 200);
    page
}

/// Samples by everything that stands before the value.
fn samples(page: &str) -> BTreeMap<String, f64> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

/// A run that ends well, one with a tool, one that fails, one that is cancelled, and a wrong token.
async fn some_work(gateway: &Gateway) {
    let mut socket = Socket::open(gateway).await;
    let mut send = async |session: &str, message: &str| {
        socket.call("agent.send", json!({"sessionId": session, "message": message})).await
    };
    send("ws:a", "count 100 30 20 7 and say 3 words").await.unwrap();
    send("ws:a", "call bash {\"command\":\"echo hi\"} then say 1 words").await.unwrap();
    send("ws:b", "fail 401").await.unwrap_err();
    socket.send(&json!({"id": 7, "method": "agent.send", "params": {"sessionId": "ws:c", "message": "hang"}})).await;
    socket.next_of(&json!(7)).await;
    // The call of the model, which nobody is told of, comes a moment behind the start.
    tokio::time::sleep(Duration::from_millis(300)).await;
    socket.call("agent.cancel", json!({"sessionId": "ws:c"})).await.unwrap();
    while socket.next_of(&json!(7)).await.get("error").is_none() {}
    let wrong = Visitor { token: Some("wrong-canary-token"), ..Visitor::default() };
    drop(Socket::open_as(gateway, &wrong).await);
}

#[tokio::test]
async fn the_page_says_what_happened() {
    let place = Place::new();
    let gateway = place.start();
    some_work(&gateway).await;
    let text = page(&gateway);
    let seen = samples(&text);
    let of = |name: &str| *seen.get(name).unwrap_or_else(|| panic!("{name} is missing in:\n{text}"));
    let expected = [
        ("tillerman_build_info{version=\"0.1.0\"}", 1.0),
        ("tillerman_runs_total{state=\"start\"}", 4.0),
        ("tillerman_runs_total{state=\"complete\"}", 2.0),
        ("tillerman_runs_total{state=\"cancelled\"}", 1.0),
        ("tillerman_runs_total{state=\"error\"}", 1.0),
        ("tillerman_run_seconds_count{outcome=\"complete\"}", 2.0),
        ("tillerman_run_seconds_count{outcome=\"cancelled\"}", 1.0),
        ("tillerman_messages_total", 4.0),
        ("tillerman_model_calls_total{model=\"mock/alpha\",outcome=\"ok\"}", 3.0),
        ("tillerman_model_calls_total{model=\"mock/alpha\",outcome=\"failed\"}", 1.0),
        ("tillerman_model_calls_total{model=\"mock/alpha\",outcome=\"interrupted\"}", 1.0),
        ("tillerman_model_call_seconds_count{model=\"mock/alpha\"}", 5.0),
        ("tillerman_model_first_token_seconds_count{model=\"mock/alpha\"}", 3.0),
        ("tillerman_tool_calls_total{tool=\"bash\",outcome=\"ok\"}", 1.0),
        ("tillerman_tool_call_seconds_count{tool=\"bash\"}", 1.0),
        ("tillerman_auth_failures_total", 1.0),
        ("tillerman_sockets_opened_total{wire=\"gateway\"}", 1.0),
        ("tillerman_asks_open", 0.0),
        ("tillerman_queue_depth", 0.0),
        ("tillerman_store_errors_total", 0.0),
        ("tillerman_notes_dropped_total", 0.0),
    ];
    for (name, value) in expected {
        assert_eq!(of(name), value, "{name}");
    }
    for at_least_one in [
        "tillerman_tokens_total{model=\"mock/alpha\",kind=\"input\"}",
        "tillerman_tokens_total{model=\"mock/alpha\",kind=\"cache_read\"}",
        "tillerman_tokens_total{model=\"mock/alpha\",kind=\"output\"}",
        "tillerman_store_append_seconds_count{sync=\"yes\"}",
        "tillerman_frames_total{wire=\"gateway\",direction=\"in\"}",
        "tillerman_frame_bytes_total{wire=\"gateway\",direction=\"out\"}",
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_max_fds",
        "process_threads",
    ] {
        assert!(of(at_least_one) > 0.0, "{at_least_one}");
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    assert!((now - of("process_start_time_seconds")).abs() < 60.0);
    assert!(!text.contains("canary") && !text.contains("ws:a"), "no session and no credential is a label");
}

/// The names that the docs explain are those that there are.
#[tokio::test]
async fn the_docs_table_is_the_page() {
    let place = Place::new();
    let gateway = place.start();
    let page = page(&gateway);
    let told: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/observability.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let rows = docs.lines().filter_map(|line| line.strip_prefix("| `")?.split(['`', '{']).next());
    let explained: BTreeSet<&str> =
        rows.filter(|name| name.starts_with("tillerman_") || name.starts_with("process_")).collect();
    assert_eq!(told, explained);
}

/// Prometheus' own client reads the page, and finds nothing twice.
#[tokio::test]
async fn prometheus_own_parser_reads_the_page() {
    let python = match python("prometheus", &["prometheus-client".to_owned()]) {
        Ok(python) => python,
        Err(why) => return println!("SKIP prometheus_own_parser_reads_the_page: {why}"),
    };
    let place = Place::new();
    let gateway = place.start();
    some_work(&gateway).await;
    let file = place.home.path().join("metrics.txt");
    std::fs::write(&file, page(&gateway)).unwrap();
    let mut command = Command::new(python);
    command.arg(script("prometheus_page.py")).arg(&file);
    run(&mut command, CHECKS_PATIENCE).unwrap().checked(5);
}

#[tokio::test]
async fn many_models_and_tools_make_no_more_series_than_there_may_be() {
    let place = Place::new();
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let calls: Vec<String> = (0..80).map(|number| format!("call no_such_tool_{number}")).collect();
    for some in calls.chunks(20) {
        let message = format!("{} then say 1 words", some.join(" and "));
        socket.call("agent.send", json!({"sessionId": "ws:a", "message": message})).await.unwrap();
    }
    let page = page(&gateway);
    assert!(!page.contains("no_such_tool"), "what a model invents is no label:\n{page}");
    assert_eq!(samples(&page)["tillerman_tool_calls_total{tool=\"unknown\",outcome=\"invalid\"}"], 80.0);
}

#[tokio::test]
async fn a_model_that_a_client_makes_up_is_no_label() {
    let place = Place::new();
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    // With a line end in it, it would be no name at all.
    let invented = "x\",outcome=\"ok\"} 7 tillerman_canary{a=\"b";
    for model in [invented, "canary-2", "canary\n3", "mock/beta"] {
        let params = json!({"sessionId": "ws:a", "message": "say 2 words", "modelTier": model});
        // The server takes any name; whether it then answers is its own affair.
        let _ = socket.call("agent.send", params).await;
    }
    let page = page(&gateway);
    assert!(!page.contains("canary"), "what a client invents is no label:\n{page}");
    let seen = samples(&page);
    let ok = |model: &str| seen.get(&format!("tillerman_model_calls_total{{model=\"{model}\",outcome=\"ok\"}}"));
    assert_eq!((ok("other"), ok("mock/beta")), (Some(&2.0), Some(&1.0)), "{page}");
}

#[tokio::test]
async fn a_store_that_cannot_be_written_is_not_healthy() {
    let place = Place::new();
    let gateway = place.start();
    let health = |gateway: &Gateway| {
        let (status, body) = get(gateway, "/health", Some(TOKEN));
        (status, serde_json::from_str::<Value>(&body).unwrap())
    };
    let (status, well) = health(&gateway);
    assert_eq!((status, &well["status"], &well["checks"]["store"]), (200, &json!("ok"), &json!("ok")), "{well}");
    for member in ["version", "uptime", "connections", "sessions", "activeRuns", "queueDepth"] {
        assert!(well.get(member).is_some(), "{member} is missing in {well}");
    }
    assert_eq!(get(&gateway, "/health", None).0, 401);
    for probe in ["/livez", "/readyz"] {
        assert_eq!(get(&gateway, probe, None), (200, "ok".to_owned()), "{probe}");
    }
    // Another process holds the store's write lock for longer than anybody waits.
    let database = find(place.home.path(), ".db").expect("the store's file");
    let Some(_lock) = LockedStore::new(&database) else {
        return println!("SKIP a_store_that_cannot_be_written_is_not_healthy: no python3 with sqlite3");
    };
    // What was seen is told for a second.
    std::thread::sleep(Duration::from_millis(1_100));
    let (status, ill) = health(&gateway);
    assert_eq!((status, &ill["status"]), (503, &json!("degraded")), "{ill}");
    assert_ne!(ill["checks"]["store"], "ok");
    assert_eq!(get(&gateway, "/readyz", None).0, 503);
    assert_eq!(get(&gateway, "/livez", None).0, 200, "a restart would not help");
}

fn find(at: &std::path::Path, ending: &str) -> Option<std::path::PathBuf> {
    std::fs::read_dir(at).ok()?.flatten().find_map(|entry| match entry.path() {
        path if path.is_dir() => find(&path, ending),
        path => path.to_string_lossy().ends_with(ending).then_some(path),
    })
}

/// The store's file under an exclusive lock, until this is dropped.
struct LockedStore(std::process::Child);

impl LockedStore {
    fn new(database: &std::path::Path) -> Option<Self> {
        let program = "import sqlite3,sys,time\nc=sqlite3.connect(sys.argv[1],isolation_level=None)\nc.execute('begin immediate')\nprint('held',flush=True)\ntime.sleep(600)";
        let mut command = Command::new("python3");
        command.args(["-c", program]).arg(database).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().ok()?;
        let mut said = [0; 4];
        let held = child.stdout.as_mut().unwrap().read_exact(&mut said).is_ok();
        held.then_some(Self(child))
    }
}

impl Drop for LockedStore {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until the log has a line of which this holds.
fn line_of(gateway: &Gateway, holds: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let said = gateway.said();
        let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        if let Some(line) = lines.into_iter().find(|line| holds(line)) {
            return line;
        }
        assert!(Instant::now() < until, "the log has:\n{said}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn the_log_is_lines_of_json_with_incidents_and_without_secrets() {
    let mut place = Place::new();
    place.arguments = ["--log-format", "json", "--log", "debug"].map(str::to_owned).to_vec();
    let gateway = place.start();
    let ready = line_of(&gateway, |line| line["msg"].as_str().unwrap().contains("is ready"));
    assert!(ready["ts"].as_str().unwrap().ends_with('Z') && ready["level"] == "info", "{ready}");
    let mut listener = Socket::open(&gateway).await;
    listener.send(&json!({"id": 5, "method": "events.subscribe", "params": {"topics": ["logs"]}})).await;
    assert!(listener.next_of(&json!(5)).await.get("result").is_some());
    let wrong = Visitor { token: Some("wrong-canary-token"), ..Visitor::default() };
    drop(Socket::open_as(&gateway, &wrong).await);
    let refused = line_of(&gateway, |line| line["msg"].as_str().unwrap().contains("wrong credential from 127.0.0.1"));
    assert_eq!(refused["level"], "warn");
    assert_eq!(listener.next_of(&json!(5)).await["data"]["text"], refused["msg"], "whoever subscribed hears the same");
    // A failure of ours has a number, and the log has it, too.
    let mut socket = Socket::open(&gateway).await;
    let error = socket.call("agent.send", json!({"sessionId": "ws:a", "message": "fail 401"})).await.unwrap_err();
    if let Some(incident) = error["data"]["incident"].as_str() {
        let line = line_of(&gateway, |line| line["incident"] == incident);
        assert_eq!(line["level"], "error");
    }
    let said = gateway.said();
    assert!(!said.contains("canary") && !said.contains(TOKEN) && !said.contains("sk-for-tests"), "{said}");
}

/// Nobody reads its log: it goes on, and says how much was lost.
#[tokio::test]
async fn a_full_pipe_behind_the_log_stops_nothing() {
    let place = Place::new();
    let gateway = place.start_unread();
    // Each look at a broken configuration is a line of the log.
    std::fs::write(place.home.path().join("gateway.yaml"), "server: [").unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while samples(&page(&gateway))["tillerman_notes_dropped_total"] == 0.0 {
        assert!(Instant::now() < until, "the pipe never fills");
        let _ = Command::new("kill").args(["-HUP", &gateway.pid().to_string()]).status();
    }
    let mut socket = Socket::open(&gateway).await;
    socket.call("agent.send", json!({"sessionId": "ws:a", "message": "say 2 words"})).await.unwrap();
    assert_eq!(gateway.terminate(), Some(0));
}

/// Secrets are hidden for what they are, whatever they look like.
#[tokio::test]
async fn g12_secrets_are_shown_to_nobody() {
    let mut place = Place::with(
        "server:\n  nodes: {enabled: true, push: {enabled: true}}\n\
         models:\n  default:\n    anthropic: {apiKey: \"${CANARY_KEY}\", model: some-model}\n\
         providers:\n  lab: {base_url: \"http://127.0.0.1:9/v1\", headers: {X-Team: plain-canary-header}}\n",
    );
    place.env.push(("CANARY_KEY", "plain canary words".to_owned()));
    place.env.push(("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9".to_owned()));
    place.env.push(("OTEL_EXPORTER_OTLP_HEADERS", "x-team=canary-of-the-collector".to_owned()));
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let node = json!({"nodeId": "n1", "role": "companion", "protocolVersion": 1, "capabilities": ["push"]});
    let mut told = vec![socket.call("node.register", node).await.unwrap()];
    let token = json!({"provider": "fcm", "token": "ordinary-canary-push-token"});
    told.push(socket.call("node.push_token.set", token).await.unwrap());
    for method in ["config.get", "system.nodes", "audit.query", "system.capabilities", "system.info", "system.metrics"]
    {
        told.push(socket.call(method, json!({})).await.unwrap());
    }
    told.push(socket.call("config.get", json!({"path": "server.token"})).await.unwrap());
    told.push(json!(page(&gateway)));
    told.push(json!(get(&gateway, "/health", Some(TOKEN)).1));
    told.push(json!(gateway.said()));
    for said in told {
        let text = said.to_string();
        assert!(!text.contains("canary") && !text.contains(TOKEN), "{text}");
    }
}

#[tokio::test]
async fn metrics_analytics_and_context_have_the_shapes_of_the_specification() {
    let place = Place::new();
    let gateway = place.start();
    some_work(&gateway).await;
    let mut socket = Socket::open(&gateway).await;
    let keys = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<BTreeSet<String>>();
    let has = |of: &Value, names: &[&str]| {
        let missing: Vec<&&str> = names.iter().filter(|name| of.get(**name).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?} is missing in {of}");
    };
    let metrics = socket.call("system.metrics", json!({})).await.unwrap();
    let members = [
        "messagesProcessed",
        "errors",
        "activeRequests",
        "uptime",
        "modelCalls",
        "runStates",
        "cancelLatencyMs",
        "reactions",
        "queueDepth",
    ];
    has(&metrics, &members);
    let states = ["start", "complete", "cancel_requested", "cancelled", "error"].map(str::to_owned);
    assert_eq!(keys(&metrics["runStates"]), BTreeSet::from(states));
    assert_eq!(
        metrics["runStates"],
        json!({"start": 4, "complete": 2, "cancel_requested": 1, "cancelled": 1, "error": 1})
    );
    let calls = &metrics["modelCalls"];
    has(calls, &["total", "avgLatency", "errorRate", "recentCalls"]);
    assert_eq!(calls["total"], 4, "one that was cancelled has no outcome: {calls}");
    let rate = calls["errorRate"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&rate) && (rate * 100.0).fract() == 0.0, "{rate}");
    for call in calls["recentCalls"].as_array().unwrap() {
        has(call, &["ts", "model", "latencyMs", "ok", "inputTokens", "outputTokens", "sessionId", "status"]);
        assert_eq!(call["model"], "mock/alpha", "{call}");
    }
    assert_eq!(metrics["cancelLatencyMs"]["sampleCount"], 1);
    let analytics = socket.call("system.sessionAnalytics", json!({})).await.unwrap();
    assert_eq!(
        (&analytics["totalSessions"], &analytics["daily"][0]["sessions"]),
        (&json!(3), &json!(3)),
        "{analytics}"
    );
    assert_eq!(analytics["daily"][0]["day"].as_str().unwrap().len(), 10);
    let top = &analytics["topSessions"][0];
    assert_eq!(top["sessionId"], "ws:a");
    assert!(top["lastActivity"].as_i64().unwrap() < 100_000_000_000, "seconds: {top}");
    assert_eq!(analytics["topTools"][0], json!({"toolName": "shell.exec", "executions": 1}), "{analytics}");
    has(&analytics, &["topTopics", "averageMessagesPerSession", "totalMessages"]);
    let context = socket.call("system.contextUsage", json!({"sessionId": "ws:a"})).await.unwrap();
    let budget = &context["sessions"][0]["budget"];
    let number = |name: &str| budget[name].as_f64().unwrap_or_else(|| panic!("{name} in {budget}"));
    assert_eq!(number("thresholdTokens"), (number("contextWindow") * number("thresholdPct") / 100.0).floor());
    assert_eq!(number("remainingTokens"), (number("contextWindow") - number("estimatedTokens")).max(0.0));
    assert_eq!(budget["shouldCompact"], number("estimatedTokens") >= number("thresholdTokens"));
    assert!((number("usagePct") * 10.0).fract().abs() < 1e-9, "one decimal: {budget}");
}
