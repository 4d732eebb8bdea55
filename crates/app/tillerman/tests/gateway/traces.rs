//! Traces as a collector gets them: the real binary, a model and a collector on loopback.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::mock_model::Reply;

use crate::collector::{Collector, Manner, SeenSpan};
use crate::peers_install::{CHECKS_PATIENCE, python, run, script};
use crate::process::Place;
use crate::socket::Socket;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const PARENT_TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT_SPAN: &str = "00f067aa0ba902b7";
const CHAT: &str = "chat mock/alpha";
/// Stands in places from which it must not get into spans.
const CANARY: &str = "canary-0123456789";

fn place(collector: &Collector) -> Place {
    let mut place = Place::new();
    place.env = vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.clone()),
        ("OTEL_EXPORTER_OTLP_HEADERS", format!("authorization=Bearer%20{CANARY}")),
        ("OTEL_BSP_SCHEDULE_DELAY", "50".to_owned()),
        ("OTEL_SERVICE_NAME", "a-service".to_owned()),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test".to_owned()),
    ];
    place
}

fn ran(place: &Place, args: &[&str]) -> (std::process::Output, Duration) {
    let since = Instant::now();
    let output = place.command().args(["run", "--model", "mock/alpha"]).args(args).output().unwrap();
    (output, since.elapsed())
}

fn one<'a>(spans: &'a [SeenSpan], name: &str) -> &'a SeenSpan {
    let found: Vec<&SeenSpan> = spans.iter().filter(|span| span.name == name).collect();
    assert_eq!(found.len(), 1, "spans of the name {name:?} in {spans:#?}");
    found[0]
}

fn is_within(inner: &SeenSpan, outer: &SeenSpan) -> bool {
    outer.start <= inner.start && inner.start <= inner.end && inner.end <= outer.end
}

fn attribute<'a>(span: &'a SeenSpan, name: &str) -> &'a Value {
    span.attributes.get(name).unwrap_or_else(|| panic!("{name} is missing in {span:#?}"))
}

/// Turn, two model calls, a tool, its process.
fn check_turn(spans: &[SeenSpan]) {
    let turn = one(spans, "invoke_agent tillerman");
    let tool = one(spans, "execute_tool bash");
    let process = one(spans, "bash");
    let calls: Vec<&SeenSpan> = spans.iter().filter(|span| span.name == CHAT).collect();
    assert_eq!(calls.len(), 2, "{spans:#?}");
    for inner in calls.iter().chain([&tool]) {
        assert_eq!((&inner.trace, &inner.parent), (&turn.trace, &turn.id));
        assert!(is_within(inner, turn), "{inner:#?} is not within {turn:#?}");
    }
    assert_eq!((&process.parent, process.kind, is_within(process, tool)), (&tool.id, 3, true));
    assert_eq!(tool.links, [calls[0].id.clone()], "the call that asked for it");
    assert_eq!(attribute(turn, "gen_ai.operation.name"), "invoke_agent");
    assert_eq!(attribute(turn, "gen_ai.response.finish_reasons"), &json!(["stop"]));
    let sum = |name: &str| calls.iter().map(|call| attribute(call, name).as_i64().unwrap()).sum::<i64>();
    for tokens in ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"] {
        assert_eq!(attribute(turn, tokens).as_i64(), Some(sum(tokens)), "{tokens}");
        assert!(sum(tokens) > 0);
    }
    assert_eq!(attribute(calls[0], "gen_ai.response.finish_reasons"), &json!(["tool_call"]));
    assert_eq!(attribute(calls[1], "gen_ai.request.model"), "mock/alpha");
    assert_eq!(attribute(calls[1], "server.address"), "127.0.0.1");
    assert!(attribute(calls[1], "gen_ai.response.time_to_first_chunk").as_f64().unwrap() > 0.0);
    assert_eq!(attribute(tool, "gen_ai.tool.name"), "bash");
    assert_eq!(attribute(process, "process.exit.code"), 0);
    assert!(spans.iter().all(|span| span.error.is_none()), "{spans:#?}");
    let conversation = attribute(turn, "gen_ai.conversation.id");
    assert!(calls.iter().all(|call| attribute(call, "gen_ai.conversation.id") == conversation));
}

const WORK: &str =
    "call bash {\"command\":\"echo place=$TRACEPARENT key=$OTEL_EXPORTER_OTLP_HEADERS\"} then say 2 words";

#[test]
fn a_turn_of_run_is_a_trace_in_both_forms() {
    for (protocol, kind) in [("http/protobuf", "application/x-protobuf"), ("http/json", "application/json")] {
        let collector = Collector::start(Manner::Takes);
        let mut place = place(&collector);
        place.env.push(("OTEL_EXPORTER_OTLP_PROTOCOL", protocol.to_owned()));
        place.env.push(("TRACEPARENT", PARENT.to_owned()));
        place.env.push(("TRACESTATE", "vendor=1".to_owned()));
        let (output, _) = ran(&place, &["--yes", "--json", WORK]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // Everything was sent before the process ended.
        let spans = collector.spans();
        check_turn(&spans);
        let turn = one(&spans, "invoke_agent tillerman");
        assert_eq!((&*turn.trace, &*turn.parent, &*turn.state), (PARENT_TRACE, PARENT_SPAN, "vendor=1"));
        collector.requests(|posted| {
            for post in posted {
                assert_eq!((&*post.path, &*post.headers["content-type"]), ("/v1/traces", kind));
                assert_eq!(post.headers["authorization"], format!("Bearer {CANARY}"));
                assert_eq!(post.resource["service.name"], "a-service");
                assert_eq!(post.resource["deployment.environment.name"], "test");
                let text = String::from_utf8_lossy(&post.body);
                let leaks = [CANARY, "sk-for-tests", "w1 w2", "echo place", "say 2 words"];
                assert!(!leaks.iter().any(|leak| text.contains(leak)), "{text}");
            }
        });
        // The process found its place in the trace, and not our key.
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let process = one(&spans, "bash");
        assert!(said.contains(&format!("place=00-{PARENT_TRACE}-{}-01 key=", process.id)), "{said}");
        assert!(!said.contains(CANARY), "{said}");
        // So did the model's server, and nothing of what the sender's tracing carries along.
        let chats = place.model.chats();
        let calls: Vec<&SeenSpan> = spans.iter().filter(|span| span.name == CHAT).collect();
        for call in calls {
            let place = format!("00-{PARENT_TRACE}-{}-01", call.id);
            assert!(chats.iter().any(|chat| chat.header("traceparent") == Some(&place)), "{place}");
        }
        assert!(chats.iter().all(|chat| chat.header("tracestate").is_none()));
    }
}

#[test]
fn without_the_variables_there_are_no_traces_and_no_places() {
    let place = Place::new();
    let (output, _) = ran(&place, &["--yes", WORK]);
    assert!(output.status.success());
    assert!(place.model.chats().iter().all(|chat| chat.header("traceparent").is_none()));
    for off in [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none"), ("OTEL_TRACES_SAMPLER", "always_off")]
    {
        let collector = Collector::start(Manner::Takes);
        let mut place = self::place(&collector);
        place.env.push((off.0, off.1.to_owned()));
        let (output, _) = ran(&place, &["--yes", WORK]);
        assert!(output.status.success());
        assert_eq!(collector.requests(<[_]>::len), 0, "{off:?}");
        let told =
            place.model.chats().iter().filter_map(|chat| chat.header("traceparent")).all(|it| it.ends_with("-00"));
        assert!(told, "who is told of a trace that is not kept is told that, too");
    }
}

#[test]
fn a_protocol_that_is_not_spoken_is_said() {
    let collector = Collector::start(Manner::Takes);
    let mut place = place(&collector);
    place.env.push(("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc".to_owned()));
    let (output, _) = ran(&place, &["say 1 words"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("http/protobuf and http/json are spoken here"), "{said}");
    assert_eq!(collector.requests(<[_]>::len), 0);
}

#[test]
fn failures_and_retries_are_told_and_content_only_where_it_is_wanted() {
    let collector = Collector::start(Manner::Takes);
    let mut place = place(&collector);
    place.env.push(("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true".to_owned()));
    place.model.push(Reply::error(503, "not now"));
    place.model.push(Reply::calls(&[("bash", r#"{"command":"echo sk-for-tests; exit 3"}"#)]));
    place.model.push(Reply::error(401, "who are you"));
    ran(&place, &["--yes", "do some work"]);
    let spans = collector.spans();
    let turn = one(&spans, "invoke_agent tillerman");
    assert!(turn.events.iter().any(|(name, of)| name == "retry" && of["tillerman.retry.attempt"] == 1), "{turn:#?}");
    assert_eq!((attribute(turn, "error.type"), turn.error.is_some()), (&json!("auth"), true));
    let failed: Vec<&Value> =
        spans.iter().filter(|span| span.name == CHAT).filter_map(|span| span.attributes.get("error.type")).collect();
    assert_eq!(failed, ["503", "401"], "{spans:#?}");
    let process = one(&spans, "bash");
    assert_eq!(
        (attribute(process, "process.exit.code"), attribute(process, "error.type")),
        (&json!(3), &json!("exit_code"))
    );
    let tool = one(&spans, "execute_tool bash");
    assert_eq!(attribute(tool, "error.type"), "tool_error");
    let result = attribute(tool, "gen_ai.tool.call.result").as_str().unwrap();
    assert!(result.contains("[exit code 3]") && result.contains("***") && !result.contains("sk-for-tests"), "{result}");
    assert!(attribute(turn, "gen_ai.input.messages").as_str().unwrap().contains("do some work"));
}

#[test]
fn a_subagent_is_below_the_call_that_it_works_for() {
    let collector = Collector::start(Manner::Takes);
    let place = place(&collector);
    let task = r#"call subagent {"label":"one","task":"say 3 words"} then say 1 words"#;
    let (output, _) = ran(&place, &["--yes", task]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let spans = collector.spans();
    let turns: Vec<&SeenSpan> = spans.iter().filter(|span| span.name == "invoke_agent tillerman").collect();
    let tool = one(&spans, "execute_tool subagent");
    let child = turns.iter().find(|turn| turn.parent == tool.id).unwrap_or_else(|| panic!("{spans:#?}"));
    let above = turns.iter().find(|turn| turn.id == tool.parent).unwrap_or_else(|| panic!("{spans:#?}"));
    assert_eq!((turns.len(), &child.trace), (2, &above.trace));
    assert!(is_within(child, tool), "{child:#?} is not within {tool:#?}");
    assert!(spans.iter().any(|span| span.name == CHAT && span.parent == child.id));
}

#[test]
fn a_collector_that_hangs_or_refuses_slows_neither_a_turn_nor_the_end() {
    let quiet = ran(&Place::new(), &["say 3 words"]).1;
    for manner in [Manner::Hangs, Manner::Refuses(400), Manner::Refuses(503)] {
        let collector = Collector::start(manner);
        let place = place(&collector);
        let (output, took) = ran(&place, &["say 3 words"]);
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("w1 w2 w3"));
        assert!(took < quiet + Duration::from_secs(4), "{manner:?}: {took:?}, without traces {quiet:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains(CANARY), "{said}");
    }
    let mut place = Place::new();
    place.env.push(("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9".to_owned()));
    let (output, took) = ran(&place, &["say 3 words"]);
    assert!(output.status.success() && took < quiet + Duration::from_secs(3), "{took:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("traces:") && said.contains("spans are lost"), "{said}");
}

#[test]
fn a_collector_that_is_busy_is_asked_again_before_the_process_ends() {
    let collector = Collector::start(Manner::Busy);
    let (output, _) = ran(&place(&collector), &["say 3 words"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("lost"), "{said}");
    let spans: Vec<usize> = collector.requests(|posted| posted.iter().map(|post| post.spans.len()).collect());
    assert!(spans.len() >= 2, "{spans:?}");
    // One that stays busy costs a line, with how many.
    let collector = Collector::start(Manner::Refuses(429));
    let (output, _) = ran(&place(&collector), &["say 3 words"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.matches("spans are lost").count() == 1, "{said}");
    assert!(said.contains("traces: 2 spans are lost") && said.contains("429"), "{said}");
    assert!(collector.requests(<[_]>::len) >= 2);
}

#[test]
fn what_does_not_fit_into_the_queue_is_dropped_and_counted() {
    let collector = Collector::start(Manner::Hangs);
    let mut place = place(&collector);
    place.env.push(("OTEL_BSP_MAX_QUEUE_SIZE", "1".to_owned()));
    let work = ["call bash {\"command\":\"true\"}"; 12].join(" then ");
    let (output, _) = ran(&place, &["--yes", &format!("{work} then say 1 words")]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("some are dropped"), "{said}");
}

#[tokio::test]
async fn prompts_of_the_gateway_bring_their_place() {
    let collector = Collector::start(Manner::Takes);
    let place = place(&collector);
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let params = json!({"sessionId": "ws:a", "message": "say 2 words", "traceparent": PARENT});
    socket.call("agent.send", params).await.unwrap();
    socket.call("agent.send", json!({"sessionId": "ws:b", "message": "say 2 words"})).await.unwrap();
    let bad = json!({"sessionId": "ws:c", "message": "say 2 words", "traceparent": "00-nonsense"});
    socket.call("agent.send", bad).await.unwrap();
    let turns = |spans: &[SeenSpan]| {
        spans.iter().filter(|span| span.name == "invoke_agent tillerman").cloned().collect::<Vec<_>>()
    };
    let spans = collector.until(|spans| turns(spans).len() == 3);
    let of = |session: &str| {
        turns(&spans).into_iter().find(|turn| attribute(turn, "gen_ai.conversation.id") == session).unwrap()
    };
    assert_eq!((&*of("ws:a").trace, &*of("ws:a").parent), (PARENT_TRACE, PARENT_SPAN));
    for own in ["ws:b", "ws:c"] {
        assert!(of(own).trace != PARENT_TRACE && of(own).parent.is_empty(), "{own}");
    }
    assert_ne!(of("ws:b").trace, of("ws:c").trace);
    assert_eq!(gateway.terminate(), Some(0));
}

/// Another's reader of the wire: what OpenTelemetry's own package for Python makes of our bytes.
#[test]
fn opentelemetrys_own_types_read_what_is_sent() {
    let checks = || {
        let python = python("otlp", &["opentelemetry-proto".to_owned()])?;
        let collector = Collector::start(Manner::Takes);
        let place = place(&collector);
        ran(&place, &["--yes", WORK]);
        let file = place.home.path().join("batch.bin");
        collector.requests(|posted| std::fs::write(&file, &posted[0].body).unwrap());
        let mut command = Command::new(python);
        command.arg(script("otlp.py")).arg(&file);
        run(&mut command, CHECKS_PATIENCE)?.checked(5);
        Ok::<(), String>(())
    };
    if let Err(why) = checks() {
        println!("SKIP opentelemetrys_own_types_read_what_is_sent: {why}");
    }
}
