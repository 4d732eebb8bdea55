//! Streams as the API sends them, and what becomes of them.

use expect_test::{Expect, expect};
use vocab::FaultKind::*;

use super::*;
use crate::anthropic::tests::streams;
use crate::reader::AnswerReader;

fn reader() -> AnswerReader {
    AnswerReader::new(Box::new(AnthropicDecoder::new("http://x/v1".into())))
}

fn drain(reader: &mut AnswerReader, into: &mut Vec<ModelEvent>) {
    while let Some(event) = reader.next() {
        into.push(event);
    }
}

/// The events of a stream that comes in these pieces.
fn run<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<ModelEvent> {
    let mut reader = reader();
    let mut events = Vec::new();
    for piece in pieces {
        reader.feed(piece);
        drain(&mut reader, &mut events);
    }
    reader.end(None);
    drain(&mut reader, &mut events);
    events
}

fn events(data: &[&str]) -> Vec<ModelEvent> {
    let stream: String = data.iter().map(|data| format!("data: {data}\n\n")).collect();
    run([stream.as_bytes()])
}

fn whole(body: &str) -> Vec<ModelEvent> {
    let mut reader = reader();
    let mut events = Vec::new();
    reader.whole(body.as_bytes());
    drain(&mut reader, &mut events);
    events
}

fn check(events: &[ModelEvent], want: Expect) {
    let lines = events.iter().map(|event| match event {
        ModelEvent::Call { index, id: Some(id), name: Some(name), input } => {
            format!("call {index} {id} {name} {input:?}\n")
        }
        ModelEvent::Call { index, input, .. } => format!("call {index} + {input:?}\n"),
        ModelEvent::Usage(it) => format!("usage {} {} {} {}\n", it.input, it.cache_read, it.cache_write, it.output),
        ModelEvent::Failed(fault) => format!("failed {:?} {}\n", fault.fault.kind, fault.fault.message),
        event => format!("{event:?}\n"),
    });
    want.assert_eq(&lines.collect::<String>());
}

fn last_finish(events: &[ModelEvent]) -> Result<Finish, FaultKind> {
    match events.last() {
        Some(ModelEvent::Finished(finish)) => Ok(*finish),
        Some(ModelEvent::Failed(fault)) => Err(fault.fault.kind),
        other => panic!("{other:?}"),
    }
}

#[test]
fn recorded_streams_become_events() {
    check(
        &run([streams::TEXT.as_bytes()]),
        expect![[r#"
        Text("Grüße, ")
        Text("Wörld 😀")
        usage 12 7 5 15
        Finished(Stop)
    "#]],
    );
    check(
        &run([streams::THINK_AND_CALL.as_bytes()]),
        expect![[r#"
        Thinking("First \"a\"")
        Thinking(", then b.")
        Seal("EqQBCgIYAhIM1/first+==")
        Text("I look.")
        call 0 toolu_01 read_file ""
        call 0 + "{\"path\": \"a"
        call 0 + "\"}"
        call 1 toolu_02 read_file ""
        call 1 + "{\"path\":\"b\"}"
        usage 20 3 0 40
        Finished(ToolUse)
    "#]],
    );
    check(
        &run([streams::REDACTED.as_bytes()]),
        expect![[r#"
            Redacted("EmwKAhgBEgy3va3pzix/LafPsn4a")
            Seal("no/words==")
            call 0 toolu_03 list_dir ""
            usage 30 0 0 9
            Finished(ToolUse)
        "#]],
    );
    check(
        &run([streams::ERROR.as_bytes()]),
        expect![[r#"
        Text("half")
        usage 4 0 0 1
        failed Provider 529 Overloaded
    "#]],
    );
}

#[test]
fn a_stream_split_at_any_byte_is_the_same_stream() {
    for stream in streams::ALL {
        let stream = stream.as_bytes();
        let want = run([stream]);
        for at in 0..=stream.len() {
            assert_eq!(run([&stream[..at], &stream[at..]]), want, "{at}");
        }
        assert_eq!(run(stream.chunks(1)), want);
    }
}

#[test]
fn a_stream_cut_at_any_byte_is_a_prefix_and_then_its_finish_or_an_error() {
    for stream in streams::ALL {
        let stream = stream.as_bytes();
        let full = run([stream]);
        let said = |events: &[ModelEvent]| {
            let beside = |event: &&ModelEvent| {
                !matches!(event, ModelEvent::Usage(_) | ModelEvent::Finished(_) | ModelEvent::Failed(_))
            };
            events.iter().filter(beside).cloned().collect::<Vec<_>>()
        };
        let all = said(&full);
        for at in 0..stream.len() {
            let cut = run([&stream[..at]]);
            let got = said(&cut);
            match last_finish(&cut) {
                Ok(finish) => {
                    assert_eq!(Ok(finish), last_finish(&full), "{at}");
                    assert_eq!(got, all, "{at}");
                }
                Err(kind) => {
                    assert!(kind == StreamCut || Err(kind) == last_finish(&full), "{at} {kind:?}");
                    assert!(all.starts_with(&got), "{at} {got:?}");
                }
            }
        }
    }
}

#[test]
fn every_reason_to_stop_has_a_finish() {
    for (reason, calls, want) in [
        ("end_turn", false, Ok(Finish::Stop)),
        ("end_turn", true, Ok(Finish::ToolUse)),
        ("stop_sequence", false, Ok(Finish::Stop)),
        ("max_tokens", false, Ok(Finish::Length)),
        ("max_tokens", true, Ok(Finish::Length)),
        ("tool_use", true, Ok(Finish::ToolUse)),
        ("tool_use", false, Ok(Finish::Stop)),
        ("pause_turn", false, Ok(Finish::Stop)),
        ("refusal", false, Ok(Finish::Refusal)),
        ("refusal", true, Ok(Finish::Refusal)),
        ("sensitive", false, Ok(Finish::Refusal)),
        ("model_context_window_exceeded", false, Err(ContextOverflow)),
        ("a_new_reason", false, Ok(Finish::Stop)),
    ] {
        let call = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}"#;
        let text = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}"#;
        let end =
            format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":3}}}}"#);
        let got = events(&[if calls { call } else { text }, &end, r#"{"type":"message_stop"}"#]);
        assert_eq!(last_finish(&got), want, "{reason}");
        assert!(got.iter().any(|event| matches!(event, ModelEvent::Usage(usage) if usage.output == 3)), "{got:?}");
    }
    // The message is complete, whatever it ends for; without that mark it is not.
    assert_eq!(last_finish(&events(&[r#"{"type":"message_stop"}"#])), Ok(Finish::Stop));
    assert_eq!(last_finish(&events(&[r#"{"type":"message_delta","delta":{"stop_reason":null}}"#])), Err(StreamCut));
}

#[test]
fn a_refusal_is_told_with_its_reason() {
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"Not this."}}}"#;
    let text = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Well"}}"#;
    check(
        &events(&[end]),
        expect![[r#"
        Text("Not this.")
        Finished(Refusal)
    "#]],
    );
    check(
        &events(&[text, end]),
        expect![[r#"
        Text("Well")
        Text("\n\nNot this.")
        Finished(Refusal)
    "#]],
    );
}

#[test]
fn every_error_has_a_kind() {
    for (kind, message, want, retryable) in [
        ("overloaded_error", "Overloaded", Provider, true),
        ("api_error", "Internal server error", Provider, true),
        ("timeout_error", "late", Provider, true),
        ("rate_limit_error", "slow down", RateLimited, true),
        ("authentication_error", "invalid x-api-key", Auth, false),
        ("permission_error", "no", Auth, false),
        ("billing_error", "pay", BadRequest, false),
        ("not_found_error", "model: x", BadRequest, false),
        ("invalid_request_error", "bad field", BadRequest, false),
        ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ContextOverflow, false),
        ("request_too_large", "Request exceeds the maximum size", ContextOverflow, false),
        ("a_new_error", "?", Provider, true),
    ] {
        let error = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#);
        for got in [events(&[&error]), whole(&error)] {
            let Some(ModelEvent::Failed(fault)) = got.last() else { panic!("{got:?}") };
            assert_eq!((fault.fault.kind, fault.retryable), (want, retryable), "{error}");
            assert!(fault.fault.message.contains(message), "{fault:?}");
        }
    }
    assert_eq!(last_finish(&events(&[r#"{"type":"error"}"#])), Err(Provider));
    assert_eq!(last_finish(&events(&["{\"type\":"])), Err(Provider));
}

#[test]
fn a_whole_answer_is_the_same_as_a_streamed_one() {
    let body = r#"{"id":"msg","type":"message","role":"assistant","model":"m","content":[
        {"type":"thinking","thinking":"hm","signature":"sig"},{"type":"redacted_thinking","data":"zip"},
        {"type":"text","text":"I look"},{"type":"server_tool_use","id":"s","name":"web","input":{"q":1}},
        {"type":"tool_use","id":"t1","name":"f","input":{"a":[1, 2]}},{"type":"tool_use","id":"t2","name":"g","input":{}}],
        "stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":4}}"#;
    check(
        &whole(body),
        expect![[r#"
        Thinking("hm")
        Seal("sig")
        Redacted("zip")
        Text("I look")
        call 0 t1 f ""
        call 0 + "{\"a\":[1, 2]}"
        call 1 t2 g ""
        usage 1 3 2 4
        Finished(ToolUse)
    "#]],
    );
    check(
        &whole(r#"{"content":[{"type":"text","text":"x"}],"stop_reason":null}"#),
        expect![[r#"
        Text("x")
        failed StreamCut the answer ended before it was finished
    "#]],
    );
}

#[test]
fn odd_streams_are_understood() {
    // Arguments at once and again in pieces; a signature in two; an end without the ends of its blocks.
    check(
        &events(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"a","signature":"s"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"1"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"2"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"","name":"f","input":{"a":1}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":2}"}}"#,
            r#"{"type":"content_block_delta","index":7,"delta":{"type":"input_json_delta","partial_json":"nobody's"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"g","input":{"b":1}}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
        ]),
        expect![[r#"
            Thinking("a")
            Seal("s12")
            call 0 call_0 f ""
            call 0 + "{\"a\":2}"
            call 1 t g ""
            call 1 + "{\"b\":1}"
            Finished(ToolUse)
        "#]],
    );
}

#[test]
fn too_many_calls_and_endless_arguments_are_errors() {
    let start = |index: usize| {
        format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use","id":"t{index}","name":"f","input":{{}}}}}}"#
        )
    };
    let many: Vec<String> = (0..=crate::tool_calls::CALLS_MAX).map(start).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let got = events(&many);
    assert!(matches!(got.last(), Some(ModelEvent::Failed(fault)) if fault.fault.message.starts_with("too many")));

    let piece = format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{}"}}}}"#,
        "x".repeat(crate::tool_calls::ARGUMENT_BYTES_MAX / 4)
    );
    let mut long = vec![piece.as_str(); 5];
    let first = start(0);
    long.insert(0, &first);
    let got = events(&long);
    assert!(matches!(got.last(), Some(ModelEvent::Failed(fault)) if fault.fault.message.contains("larger than")));
}
