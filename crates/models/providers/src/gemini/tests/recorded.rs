//! Answers as the server streams them, and what becomes of them: split anywhere, cut anywhere, and sent back.

use std::sync::Arc;

use vocab::{
    AssistantMessage, Block, Call, CallEnd, CallInput, CallResult, CallSpec, FaultKind, Finish, Json, Message,
    MessageEnd, ModelEvent, ModelInfo, Part, Usage,
};

use crate::format::Encoder;
use crate::gemini::{GeminiEncoder, decoder};
use crate::reader::AnswerReader;

const SLUG: &str = "google/gemini-3-flash";

/// Text with characters of four bytes, escapes and CRLF; the last chunk has the signature, the reason and the counts.
const TEXT: &str = concat!(
    ": hello\r\n\r\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Gr\u{fc}\u{df}e \u{1F600} \"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":9,\"totalTokenCount\":9},\"modelVersion\":\"gemini-3-flash\",\"responseId\":\"r\"}\r\n\r\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\\ud83d\\ude00 \\\"x\\\"\"},{\"text\":\"\"}],\"role\":\"model\"},\"index\":0}]}\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\",\"thoughtSignature\":\"VEVYVA==\"}],\"role\":\"model\"},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":9,\"cachedContentTokenCount\":4,\"candidatesTokenCount\":3,\"thoughtsTokenCount\":2}}\n\n",
);

/// Thoughts, text, and two calls at once: only the first is signed.
const CALLS: &str = concat!(
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"**Look** \",\"thought\":true}],\"role\":\"model\"}}],\"usageMetadata\":{\"promptTokenCount\":5}}\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"around\",\"thought\":true}]}}]}\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"I look.\"},{\"functionCall\":{\"id\":\"fc-1\",\"name\":\"bash\",\"args\":{\"command\":\"ls \\\"\u{e9}\\\"\"}},\"thoughtSignature\":\"Q0FMTDE+/w==\"},{\"functionCall\":{\"name\":\"bash\"}}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":5,\"candidatesTokenCount\":8,\"thoughtsTokenCount\":20}}\n\n",
);

/// One call more, with a signature of its own and no id.
const CALL_MORE: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"read\",\"args\":{}},\"thoughtSignature\":\"Q0FMTDI=\"}]},\"finishReason\":\"STOP\"}]}\n\n";

const SAFETY: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Well\"}]}}]}\n\ndata: {\"candidates\":[{\"finishReason\":\"SAFETY\",\"safetyRatings\":[{\"category\":\"HARM_CATEGORY_HARASSMENT\",\"probability\":\"HIGH\",\"blocked\":true}]}],\"usageMetadata\":{\"promptTokenCount\":5}}\n\n";

const BLOCKED: &str = "data: {\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"},\"usageMetadata\":{\"promptTokenCount\":5}}\n\n";

const ERROR: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"We\"}]}}]}\n\ndata: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\",\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"1.5s\"}]}}\n\n";

const RECORDED: [&str; 6] = [TEXT, CALLS, CALL_MORE, SAFETY, BLOCKED, ERROR];

fn drain(reader: &mut AnswerReader, into: &mut Vec<ModelEvent>) {
    while let Some(event) = reader.next() {
        into.push(event);
    }
}

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<ModelEvent> {
    let mut reader = AnswerReader::new(decoder("http://x/v1beta".into()));
    let mut events = Vec::new();
    for piece in pieces {
        reader.feed(piece);
        drain(&mut reader, &mut events);
    }
    reader.end(None);
    drain(&mut reader, &mut events);
    events
}

fn whole(body: &str) -> Vec<ModelEvent> {
    let mut reader = AnswerReader::new(decoder("http://x/v1beta".into()));
    reader.whole(body.as_bytes());
    let mut events = Vec::new();
    drain(&mut reader, &mut events);
    events
}

fn shown(events: &[ModelEvent]) -> String {
    let line = |event: &ModelEvent| match event {
        ModelEvent::Failed(fault) => {
            let wait = fault.retry_after_ms.map(|ms| format!(" after {ms} ms")).unwrap_or_default();
            format!("Failed {:?} {:?}{wait}\n", fault.fault.kind, fault.fault.message)
        }
        ModelEvent::Usage(usage) => format!("Usage {}+{} {}\n", usage.input, usage.cache_read, usage.output),
        ModelEvent::Call { index, id, name, input } => format!("Call {index} {id:?} {name:?} {input}\n"),
        event => format!("{event:?}\n"),
    };
    events.iter().map(line).collect()
}

#[test]
fn recorded_answers_are_read() {
    let all: Vec<String> = RECORDED.iter().map(|stream| shown(&read([stream.as_bytes()]))).collect();
    expect_test::expect![[r#"
        Text("Grüße 😀 ")
        Text("😀 \"x\"")
        Seal("VEVYVA==")
        Usage 5+4 5
        Finished(Stop)

        Thinking("**Look** ")
        Thinking("around")
        Text("I look.")
        Call 0 Some("fc-1") Some("bash") {"command":"ls \"é\""}
        Seal("Q0FMTDE+/w==")
        Call 1 Some("unnamed-call-1") Some("bash") {}
        Usage 5+0 28
        Finished(ToolUse)

        Call 0 Some("unnamed-call-0") Some("read") {}
        Seal("Q0FMTDI=")
        Finished(ToolUse)

        Text("Well")
        Usage 5+0 0
        Finished(Refusal)

        Text("[the prompt was blocked (PROHIBITED_CONTENT)]")
        Usage 5+0 0
        Finished(Refusal)

        Text("We")
        Failed Provider "503 The model is overloaded." after 1500 ms
    "#]]
    .assert_eq(&all.join("\n"));
}

#[test]
fn split_at_every_byte_a_stream_says_the_same() {
    for stream in RECORDED {
        let bytes = stream.as_bytes();
        let want = read([bytes]);
        for at in 0..bytes.len() {
            assert_eq!(read([&bytes[..at], &bytes[at..]]), want, "split at {at}");
        }
        assert_eq!(read(bytes.chunks(1)), want);
    }
}

#[test]
fn cut_at_every_byte_a_stream_says_a_prefix_or_why_not() {
    let said = |events: &[ModelEvent]| -> Vec<ModelEvent> {
        let (_, said) = events.split_last().unwrap();
        said.iter().filter(|event| !matches!(event, ModelEvent::Usage(_))).cloned().collect()
    };
    for stream in RECORDED {
        let bytes = stream.as_bytes();
        let want = read([bytes]);
        // The blank line at the end may be missing.
        let enough = stream.trim_end().len();
        for at in 0..=bytes.len() {
            let got = read([&bytes[..at]]);
            assert!(said(&want).starts_with(&said(&got)), "cut at {at}: {got:?}");
            if at >= enough {
                assert_eq!(got, want, "cut at {at}");
            } else {
                let Some(ModelEvent::Failed(fault)) = got.last() else { panic!("cut at {at}: {got:?}") };
                assert_eq!(fault.fault.kind, FaultKind::StreamCut, "cut at {at}");
            }
        }
    }
}

#[test]
fn a_server_that_does_not_stream_says_the_same() {
    for stream in RECORDED {
        let chunks: Vec<&str> = stream.split("data: ").skip(1).map(str::trim).collect();
        let want = read([stream.as_bytes()]);
        assert_eq!(whole(&format!("[{}\n]", chunks.join(",\r\n"))), want);
        if let [one] = &chunks[..] {
            assert_eq!(whole(one), want);
        }
    }
    for nothing in ["[]", "{}", "[{\"usageMetadata\":{\"promptTokenCount\":1}}]"] {
        let events = whole(nothing);
        assert!(matches!(events.last(), Some(ModelEvent::Failed(fault)) if fault.fault.kind == FaultKind::StreamCut));
    }
    for broken in ["[{\"candidates\":", "[7]", "<html>"] {
        let events = whole(broken);
        assert!(matches!(events.last(), Some(ModelEvent::Failed(fault)) if fault.fault.kind == FaultKind::Provider));
    }
}

#[test]
fn wrapped_by_cloud_code_a_stream_says_the_same() {
    for stream in RECORDED {
        let chunks = stream.split("data: ").skip(1).map(str::trim);
        // Errors come as they are.
        let wrapped = chunks.map(|chunk| match chunk.starts_with("{\"error") {
            true => format!("data: {chunk}\n\n"),
            false => format!("data: {{\"response\":{chunk},\"traceId\":\"t\"}}\n\n"),
        });
        assert_eq!(read([wrapped.collect::<String>().as_bytes()]), read([stream.as_bytes()]));
    }
}

#[test]
fn every_reason_to_stop_has_its_meaning() {
    let rows = [
        "STOP",
        "MAX_TOKENS",
        "CONTINUATION",
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "IMAGE_OTHER",
        "NO_IMAGE",
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "OTHER",
        "FINISH_REASON_UNSPECIFIED",
        "SOMETHING_NEW",
    ];
    let row = |reason: &str| {
        let end = |before: &str| {
            let stream = format!(
                "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{before}]}},\"finishReason\":\"{reason}\",\"finishMessage\":\"why\"}}]}}\n\n"
            );
            let events = read([stream.as_bytes()]);
            let said = events.iter().find_map(|event| match event {
                ModelEvent::Text(text) if text != "x" => Some(format!("{text} ")),
                _ => None,
            });
            let end = match events.last() {
                Some(ModelEvent::Finished(finish)) => format!("{finish:?}"),
                Some(ModelEvent::Failed(fault)) => {
                    format!("{:?}{} {}", fault.fault.kind, if fault.retryable { "" } else { "!" }, fault.fault.message)
                }
                other => panic!("{other:?}"),
            };
            said.unwrap_or_default() + &end
        };
        let call = "{\"functionCall\":{\"name\":\"f\"}}";
        let (silent, spoke, called) = (end(""), end("{\"text\":\"x\"}"), end(call));
        if silent == spoke && spoke == called {
            format!("{reason}: {silent}\n")
        } else {
            format!("{reason}: {silent} | after text {spoke} | after a call {called}\n")
        }
    };
    expect_test::expect![[r#"
        STOP: Stop | after text Stop | after a call ToolUse
        MAX_TOKENS: Length
        CONTINUATION: Length
        SAFETY: [the answer was stopped (SAFETY): why] Refusal | after text Refusal | after a call Refusal
        RECITATION: [the answer was stopped (RECITATION): why] Refusal | after text Refusal | after a call Refusal
        LANGUAGE: [the answer was stopped (LANGUAGE): why] Refusal | after text Refusal | after a call Refusal
        BLOCKLIST: [the answer was stopped (BLOCKLIST): why] Refusal | after text Refusal | after a call Refusal
        PROHIBITED_CONTENT: [the answer was stopped (PROHIBITED_CONTENT): why] Refusal | after text Refusal | after a call Refusal
        SPII: [the answer was stopped (SPII): why] Refusal | after text Refusal | after a call Refusal
        IMAGE_SAFETY: [the answer was stopped (IMAGE_SAFETY): why] Refusal | after text Refusal | after a call Refusal
        IMAGE_PROHIBITED_CONTENT: [the answer was stopped (IMAGE_PROHIBITED_CONTENT): why] Refusal | after text Refusal | after a call Refusal
        IMAGE_RECITATION: [the answer was stopped (IMAGE_RECITATION): why] Refusal | after text Refusal | after a call Refusal
        IMAGE_OTHER: Provider the model stopped and the server does not say why (IMAGE_OTHER): why
        NO_IMAGE: Provider the model stopped and the server does not say why (NO_IMAGE): why
        MALFORMED_FUNCTION_CALL: Provider the model wrote a tool call that cannot be read (MALFORMED_FUNCTION_CALL): why
        MALFORMED_RESPONSE: Provider the model wrote an answer that cannot be read (MALFORMED_RESPONSE): why
        UNEXPECTED_TOOL_CALL: Provider the model called a tool that it was not offered (UNEXPECTED_TOOL_CALL): why
        TOO_MANY_TOOL_CALLS: Provider! the model called too many tools in a row (TOO_MANY_TOOL_CALLS): why
        MISSING_THOUGHT_SIGNATURE: BadRequest! a tool call in the history has lost its signature (MISSING_THOUGHT_SIGNATURE): why
        OTHER: Provider the model stopped and the server does not say why (OTHER): why
        FINISH_REASON_UNSPECIFIED: Provider the model stopped and the server does not say why (FINISH_REASON_UNSPECIFIED): why
        SOMETHING_NEW: Provider the model stopped before it said anything (SOMETHING_NEW): why | after text Stop | after a call ToolUse
    "#]].assert_eq(&rows.map(row).concat());
}

#[test]
fn a_signature_is_never_taken_for_that_of_another_part() {
    let seals = |parts: &str| {
        let stream = format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{parts}]}}}}]}}\n\n");
        let mut events = read([stream.as_bytes()]);
        events.pop();
        shown(&events).replace('\n', "; ")
    };
    let (call, thought) = (r#"{"functionCall":{"name":"f"}}"#, r#"{"text":"t","thought":true}"#);
    let (empty, hollow) = (r#"{"text":"","thoughtSignature":"S"}"#, r#"{"thought":true,"thoughtSignature":"S"}"#);
    let called = r#"Call 0 Some("unnamed-call-0") Some("f") {}; "#;
    for (parts, want) in [
        (format!("{call},{empty}"), format!(r#"{called}Redacted("S"); "#)),
        (format!("{thought},{empty}"), r#"Thinking("t"); Redacted("S"); "#.to_owned()),
        (format!("{thought},{hollow}"), r#"Thinking("t"); Seal("S"); "#.to_owned()),
        (format!("{thought},{hollow},{empty}"), r#"Thinking("t"); Seal("S"); Seal("S"); "#.to_owned()),
        (format!("{call},{hollow}"), format!(r#"{called}Redacted("S"); "#)),
        (format!(r#"{empty},{{"thoughtSignature":"S"}}"#), r#"Seal("S"); Seal("S"); "#.to_owned()),
    ] {
        assert_eq!(seals(&parts), want, "{parts}");
    }
}

#[test]
fn limits_end_the_answer_with_an_error() {
    let call = r#"{"functionCall":{"name":"f"}}"#;
    let stream =
        format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{}]}}}}]}}\n\n", vec![call; 200].join(","));
    let events = read([stream.as_bytes()]);
    assert_eq!(events.len(), crate::CALLS_MAX + 1);
    let Some(ModelEvent::Failed(fault)) = events.last() else { panic!("{events:?}") };
    assert!(fault.fault.message.starts_with("too many parallel tool calls"));
}

/// Gathers events as the engine does.
fn gathered(events: &[ModelEvent]) -> AssistantMessage {
    let mut blocks: Vec<Block> = Vec::new();
    let mut end = MessageEnd::Interrupted;
    let join = |old: &Arc<str>, new: &str| Arc::from(format!("{old}{new}"));
    for event in events {
        match (event, blocks.last_mut()) {
            (ModelEvent::Text(delta), Some(Block::Text(text))) => *text = join(text, delta),
            (ModelEvent::Text(delta), _) => blocks.push(Block::Text(delta.as_str().into())),
            (ModelEvent::Thinking(delta), Some(Block::Thinking { text, opaque: None })) => *text = join(text, delta),
            (ModelEvent::Thinking(delta), _) => {
                blocks.push(Block::Thinking { text: delta.as_str().into(), opaque: None });
            }
            (
                ModelEvent::Seal(seal),
                Some(Block::Thinking { opaque: opaque @ None, .. } | Block::Call(Call { seal: opaque @ None, .. })),
            ) => *opaque = Some(seal.as_str().into()),
            (ModelEvent::Seal(seal), _) => {
                blocks.push(Block::Thinking { text: "".into(), opaque: Some(seal.as_str().into()) });
            }
            (ModelEvent::Redacted(seal), _) => blocks.push(Block::Redacted(seal.as_str().into())),
            (ModelEvent::Call { id, name, input, .. }, _) => blocks.push(Block::Call(Call {
                id: id.as_deref().unwrap().into(),
                name: name.as_deref().unwrap().into(),
                input: CallInput::Object(Json::trusted(input.as_str())),
                seal: None,
            })),
            (ModelEvent::Finished(finish), _) => end = MessageEnd::Finished(*finish),
            (ModelEvent::Usage(_) | ModelEvent::Sent { .. } | ModelEvent::Failed(_), _) => {}
        }
    }
    AssistantMessage { blocks, model: SLUG.into(), end, usage: Usage::default() }
}

#[test]
fn three_rounds_of_thinking_and_tools_carry_every_signature_at_its_part() {
    let model = ModelInfo { slug: SLUG.into(), id: "gemini-3-flash".into(), ..ModelInfo::named("x", 1000) };
    let spec =
        CallSpec { system: "be brief".into(), tools: Arc::from([]), max_tokens: 100, thinking: Some("low".into()) };
    let mut chat = GeminiEncoder::new(&model, None);
    let mut replay = GeminiEncoder::again(&chat.manner()).unwrap();
    let body = |chat: &mut GeminiEncoder, replay: &mut GeminiEncoder| {
        let written = chat.draft(&spec).write();
        assert_eq!(replay.messages().concat(), written.messages.concat(), "the log writes the same");
        String::from_utf8(written.messages.concat()).unwrap()
    };
    let mut bodies = Vec::new();
    let mut round = vec![Message::User(vec![Part::text("go")])];
    for answer in [CALLS, CALL_MORE, TEXT, ""] {
        for message in &round {
            chat.push(message);
            replay.push(message);
        }
        bodies.push(body(&mut chat, &mut replay));
        let message = gathered(&read([answer.as_bytes()]));
        let results: Vec<Message> = message.calls().cloned().map(ran).collect();
        round = std::iter::once(Message::Assistant(message)).chain(results).collect();
    }
    for pair in bodies.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "what was sent once stays as it was");
    }
    let last = bodies.last().unwrap();
    expect_test::expect![[r#"
        {"role":"user","parts":[{"text":"go"}]}
        {"role":"model","parts":[{"text":"I look."},{"functionCall":{"id":"fc-1","name":"bash","args":{"command":"ls \"é\""}},"thoughtSignature":"Q0FMTDE+/w=="},{"functionCall":{"name":"bash","args":{}}}]}
        {"role":"user","parts":[{"functionResponse":{"id":"fc-1","name":"bash","response":{"output":"ok"}}},{"functionResponse":{"name":"bash","response":{"output":"ok"}}}]}
        {"role":"model","parts":[{"functionCall":{"name":"read","args":{}},"thoughtSignature":"Q0FMTDI="}]}
        {"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"ok"}}}]}
        {"role":"model","parts":[{"text":"Grüße 😀 😀 \"x\""},{"text":"","thoughtSignature":"VEVYVA=="}]}
    "#]].assert_eq(&(last.replace(",{\"role\"", "\n{\"role\"") + "\n"));
}

fn ran(call: Call) -> Message {
    Message::Result(CallResult {
        call: call.id,
        tool: call.name,
        end: CallEnd::Ran,
        parts: vec![Part::text("ok")],
        is_error: false,
        duration_ms: 0,
        mutation: None,
        edits: Vec::new(),
        details: None,
    })
}

#[test]
fn the_end_of_an_answer_with_calls_is_tool_use() {
    assert_eq!(read([CALL_MORE.as_bytes()]).last(), Some(&ModelEvent::Finished(Finish::ToolUse)));
}
