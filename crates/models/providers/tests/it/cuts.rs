//! Streams that end too early, and chunks that make no sense, in every format.

use providers::Api;
use testkit::mock_model::{MockModel, Reply, Step};
use vocab::{FaultKind, Finish, ModelEvent};

use crate::support::*;

/// A stream with everything in it: text, characters of four bytes, escapes, calls, CRLF, keep-alives, usage.
fn recorded(api: Api) -> Vec<u8> {
    let steps = [
        Step::Comment,
        Step::Thinking("hm \u{e9}".into()),
        Step::Seal("c2lnbmF0dXJl".into()),
        Step::text("Gr\u{fc}\u{df}e \u{1F600} "),
        Step::text("\u{1F601} \"x\""),
        Step::call(0, "c1", "bash", "{\"command\":\"ls\"}"),
        Step::call(1, "c2", "bash", "{}"),
        Step::finish("tool_calls"),
        Step::usage(9, 3, 4),
        Step::Done,
    ];
    let text = String::from_utf8(format(api).stream(&steps)).unwrap().replace('\u{1F601}', "\\ud83d\\ude01");
    // Every other event ends its lines as Windows does.
    let events = text.split_inclusive("\n\n").enumerate();
    let events = events.map(|(at, event)| if at % 2 == 0 { event.to_owned() } else { event.replace('\n', "\r\n") });
    events.collect::<String>().into_bytes()
}

/// Every byte where the events are small. The others are tried at every byte beside their decoders; over a socket some
/// places of each event are enough.
fn stride(api: Api) -> usize {
    if api == Api::Completions { 1 } else { 7 }
}

/// What the event has in it that ends the answer well.
fn last_word(api: Api) -> &'static str {
    match api {
        Api::Completions => "\"finish_reason\":\"tool_calls\"",
        Api::Responses => "\"response.completed\"",
        Api::Anthropic => "\"stop_reason\":\"tool_use\"",
        Api::Gemini => "\"finishReason\"",
    }
}

#[tokio::test]
async fn split_at_every_byte_the_stream_says_the_same() {
    for api in Api::ALL {
        let bytes = recorded(api);
        let mock = MockModel::start().await;
        let provider = speaking(&mock, api);
        let ask = async |steps: Vec<Step>| {
            mock.push(Reply::stream(steps));
            ask(&provider, "x").await
        };
        let whole = ask(vec![Step::Raw(bytes.clone())]).await;
        assert_eq!(text(&whole), "Gr\u{fc}\u{df}e \u{1F600} \u{1F601} \"x\"", "{api:?}");
        let counted = |of: fn(&ModelEvent) -> bool| whole.iter().filter(|event| of(event)).count();
        assert_eq!(counted(|event| matches!(event, ModelEvent::Call { id: Some(_), .. })), 2, "{api:?} {whole:?}");
        assert_eq!(counted(|event| matches!(event, ModelEvent::Usage(_))), 1, "{api:?} {whole:?}");
        assert!(whole.contains(&ModelEvent::Thinking("hm \u{e9}".into())), "{api:?} {whole:?}");
        assert_eq!(whole.last(), Some(&ModelEvent::Finished(Finish::ToolUse)), "{api:?}");
        for at in (1..bytes.len()).step_by(stride(api)) {
            let (head, tail) = bytes.split_at(at);
            let said = ask(vec![Step::Raw(head.into()), Step::Raw(tail.into())]).await;
            assert_eq!(said, whole, "{api:?} split at {at}");
        }
        let single = bytes.iter().map(|byte| Step::Raw(vec![*byte])).collect();
        assert_eq!(ask(single).await, whole, "{api:?}");
    }
}

#[tokio::test]
async fn cut_at_every_byte_the_stream_says_a_prefix_or_why_not() {
    for api in Api::ALL {
        let bytes = recorded(api);
        let finish = String::from_utf8_lossy(&bytes).find(last_word(api)).unwrap();
        let mock = MockModel::start().await;
        let provider = speaking(&mock, api);
        mock.push(Reply::stream([Step::Raw(bytes.clone())]));
        let mut whole = uncounted(ask(&provider, "x").await);
        assert_eq!(whole.pop(), Some(ModelEvent::Finished(Finish::ToolUse)));
        // The body ends early but properly, the connection ends, the connection is reset.
        for how in [None, Some(Step::Eof), Some(Step::Cut)] {
            let step = if how.is_some() { 7 } else { 1 };
            for at in (0..bytes.len()).step_by(step * stride(api)) {
                let place = format!("{api:?} {how:?} at {at}");
                let mut steps = vec![Step::Raw(bytes[..at].into())];
                steps.extend(how.clone());
                mock.push(Reply::stream(steps));
                let mut said = uncounted(ask(&provider, "x").await);
                let last = said.pop().unwrap();
                assert_eq!(said, whole[..said.len()], "{place}");
                match last {
                    ModelEvent::Finished(Finish::ToolUse) => assert!(at > finish && said == whole, "{place}"),
                    // A reset may overtake the head of the answer; then nothing was said at all.
                    ModelEvent::Failed(fault) if how.is_some() && said.is_empty() => {
                        let kind = fault.fault.kind;
                        assert!(matches!(kind, FaultKind::StreamCut | FaultKind::Network), "{place}: {fault:?}");
                    }
                    ModelEvent::Failed(fault) => assert_eq!(fault.fault.kind, FaultKind::StreamCut, "{place}"),
                    other => panic!("{place}: {other:?}"),
                }
            }
        }
    }
}

#[tokio::test]
async fn chunks_that_cannot_be_read_end_the_answer_with_what_came_before() {
    for api in Api::ALL {
        let wrong = match api {
            Api::Completions => r#"{"choices":7}"#,
            Api::Responses => r#"{"type":"response.output_text.delta","delta":{"a":[}}"#,
            Api::Anthropic => r#"{"type":"content_block_delta","index":0,"delta":7}"#,
            Api::Gemini => r#"{"candidates":7}"#,
        };
        for bad in [
            &b"{\"choices\":[{\"delta\":{\"content\":\"x\"}"[..],
            b"nonsense",
            wrong.as_bytes(),
            // No text, wherever the format has its text.
            b"{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}],\"type\":\"\xff\",\
              \"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\xff\"}]}}]}",
            b"[]",
        ] {
            let raw = Step::Raw([b"data: ", bad, b"\n\n"].concat());
            let events = answer_in(api, Reply::stream([Step::text("before"), raw, Step::text("after")])).await;
            assert_eq!(text(&events), "before", "{api:?} {}", String::from_utf8_lossy(bad));
            assert_eq!(failure_kind(&events), FaultKind::Provider, "{api:?} {}", String::from_utf8_lossy(bad));
        }
    }
}

#[tokio::test]
async fn an_error_in_the_stream_has_its_kind() {
    for (error, kind, message) in [
        (r#"{"error":{"message":"boom","type":"server_error","code":null}}"#, FaultKind::Provider, "boom"),
        (r#"{"error":"boom"}"#, FaultKind::Provider, "boom"),
        (r#"{"error":{"message":"slow","code":429}}"#, FaultKind::RateLimited, "429 slow"),
        (r#"{"error":{"message":"m","code":"rate_limit_exceeded"}}"#, FaultKind::RateLimited, "m"),
        (r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#, FaultKind::ContextOverflow, "m"),
        (r#"{"error":{"message":"up","code":502},"choices":[]}"#, FaultKind::Provider, "502 up"),
    ] {
        let raw = Step::Raw(format!("data: {error}\n\n").into());
        let events = answer(Reply::stream([Step::text("a"), raw])).await;
        assert_eq!((failure_kind(&events), &*failure(&events).fault.message), (kind, message));
        // The same as the whole answer of a server that does not stream.
        let events = answer(Reply::plain(200, "application/json", error)).await;
        assert_eq!((failure_kind(&events), &*failure(&events).fault.message), (kind, message));
    }
}

#[tokio::test]
async fn an_error_in_the_middle_has_its_kind_in_every_format() {
    for api in Api::ALL {
        for (status, message, kind, retryable) in [
            (429, "slow", FaultKind::RateLimited, true),
            (500, "boom", FaultKind::Provider, true),
            (503, "busy", FaultKind::Provider, true),
            (529, "overloaded", FaultKind::Provider, true),
            (400, "prompt is too long: 9 tokens > 8 maximum", FaultKind::ContextOverflow, false),
        ] {
            let error = Step::Error { status, message: message.into() };
            let events = answer_in(api, Reply::stream([Step::text("a"), error])).await;
            let fault = failure(&events);
            // Chat Completions and Responses have no number in the middle of a stream, and no word for slowness that the
            // mock would send: an error there is the server's.
            let unnumbered = api == Api::Completions && status != 400;
            let want = if unnumbered { (FaultKind::Provider, true) } else { (kind, retryable) };
            assert_eq!((fault.fault.kind, fault.retryable), want, "{api:?} {status}: {fault:?}");
            assert_eq!(text(&events), "a", "{api:?} {status}");
            assert!(fault.fault.message.contains(message), "{api:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn limits_end_the_answer_with_an_error() {
    for api in Api::ALL {
        let calls = (0..1000).map(|n| Step::call(n, &format!("c{n}"), "f", "{}")).collect::<Vec<_>>();
        let events = answer_in(api, Reply::stream(calls)).await;
        let started = events.iter().filter(|event| matches!(event, ModelEvent::Call { id: Some(_), .. })).count();
        assert_eq!(started, providers::CALLS_MAX, "{api:?}");
        assert!(failure(&events).fault.message.starts_with("too many parallel tool calls"), "{api:?}");

        let big = "x".repeat(1024 * 1024);
        let mut steps = vec![Step::call(0, "c", "f", "")];
        steps.extend((0..5).map(|_| Step::more(0, &big)));
        let events = answer_in(api, Reply::stream(steps)).await;
        assert_eq!(failure_kind(&events), FaultKind::Provider, "{api:?}");
        assert!(failure(&events).fault.message.contains("arguments"), "{api:?} {:?}", failure(&events));

        let line = vec![b'x'; net::sse::EVENT_BYTES_MAX + 1];
        let events = answer_in(api, Reply::stream([Step::text("a"), Step::Raw(line)])).await;
        assert_eq!((text(&events), failure_kind(&events)), ("a".into(), FaultKind::Provider), "{api:?}");
    }
}

#[tokio::test]
async fn broken_arguments_are_handed_on_as_they_are() {
    for api in Api::ALL {
        let events = answer_in(api, Reply::calls(&[("bash", "{\"command\": \"l"), ("nope", "")])).await;
        let mut calls: Vec<(String, String)> = Vec::new();
        for event in &events {
            match event {
                ModelEvent::Call { name: Some(name), input, .. } => calls.push((name.clone(), input.clone())),
                ModelEvent::Call { index, input, .. } => calls[*index as usize].1.push_str(input),
                _ => {}
            }
        }
        // Gemini sends arguments as JSON and cannot break them: there it is a string where an object should be.
        let broken = if api == Api::Gemini { r#""{\"command\": \"l""# } else { "{\"command\": \"l" };
        assert_eq!((&*calls[0].0, &*calls[0].1), ("bash", broken), "{api:?}");
        assert_eq!(calls[1].0, "nope", "{api:?}");
        assert_eq!(events.last(), Some(&ModelEvent::Finished(Finish::ToolUse)), "{api:?}");
    }
}
