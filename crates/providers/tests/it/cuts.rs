//! Streams that end too early, and chunks that make no sense.

use testkit::mock_model::{MockModel, Reply, Step};
use vocab::{FaultKind, Finish, ModelEvent};

use crate::support::*;

/// A stream with everything in it: text, characters of four bytes, escapes, calls, CRLF, comments, usage.
fn recorded() -> Vec<u8> {
    let steps = [
        Step::Comment,
        Step::Thinking("hm \u{e9}".into()),
        Step::text("Gr\u{fc}\u{df}e \u{1F600} "),
        Step::Raw(b"data: {\"choices\":[{\"delta\":{\"content\":\"\\ud83d\\ude00 \\\"x\\\"\"}}]}\r\n\r\n".to_vec()),
        Step::call(0, "c1", "bash", "{\"command\":\"ls\"}"),
        Step::call(1, "c2", "bash", "{}"),
        Step::finish("tool_calls"),
        Step::usage(9, 3, 4),
        Step::Done,
    ];
    steps.iter().flat_map(|step| step.bytes().unwrap()).collect()
}

fn reply(steps: impl Into<Vec<Step>>) -> Reply {
    Reply::stream(steps)
}

#[tokio::test]
async fn split_at_every_byte_the_stream_says_the_same() {
    let bytes = recorded();
    let mock = MockModel::start().await;
    let provider = provider(&mock);
    let ask = async |steps: Vec<Step>| {
        mock.push(reply(steps));
        ask(&provider, "x").await
    };
    let whole = ask(vec![Step::Raw(bytes.clone())]).await;
    assert_eq!(whole.len(), 7, "{whole:?}");
    assert_eq!(whole.last(), Some(&ModelEvent::Finished(Finish::ToolUse)));
    for at in 1..bytes.len() {
        let (head, tail) = bytes.split_at(at);
        assert_eq!(ask(vec![Step::Raw(head.into()), Step::Raw(tail.into())]).await, whole, "split at {at}");
    }
    let single = bytes.iter().map(|byte| Step::Raw(vec![*byte])).collect();
    assert_eq!(ask(single).await, whole);
}

#[tokio::test]
async fn cut_at_every_byte_the_stream_says_a_prefix_or_why_not() {
    let bytes = recorded();
    let finish = String::from_utf8_lossy(&bytes).find("finish_reason\":\"tool_calls").unwrap();
    let mock = MockModel::start().await;
    let provider = provider(&mock);
    mock.push(reply([Step::Raw(bytes.clone())]));
    let whole = ask(&provider, "x").await;
    // The body ends early but properly, the connection ends, the connection is reset.
    for how in [None, Some(Step::Eof), Some(Step::Cut)] {
        let step = if how.is_some() { 7 } else { 1 };
        for at in (0..bytes.len()).step_by(step) {
            let mut steps = vec![Step::Raw(bytes[..at].into())];
            steps.extend(how.clone());
            mock.push(reply(steps));
            let events = ask(&provider, "x").await;
            let (last, said) = events.split_last().unwrap();
            let said = said.strip_suffix(&[whole[5].clone()]).unwrap_or(said);
            assert_eq!(said, &whole[..said.len()], "{how:?} at {at}");
            match last {
                ModelEvent::Finished(Finish::ToolUse) => assert!(at > finish && said.len() == 5, "{how:?} at {at}"),
                // A reset may overtake the head of the answer; then nothing was said at all.
                ModelEvent::Failed(fault) if how.is_some() && said.is_empty() => {
                    assert!(matches!(fault.fault.kind, FaultKind::StreamCut | FaultKind::Network), "{at}: {fault:?}");
                }
                ModelEvent::Failed(fault) => assert_eq!(fault.fault.kind, FaultKind::StreamCut, "{how:?} at {at}"),
                other => panic!("{how:?} at {at}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn chunks_that_cannot_be_read_end_the_answer_with_what_came_before() {
    for bad in [
        &b"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}\n\n"[..],
        b"data: nonsense\n\n",
        b"data: {\"choices\":7}\n\n",
        b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}\n\n",
        b"data: []\n\n",
    ] {
        let events = answer(reply([Step::text("before"), Step::Raw(bad.into()), Step::text("after")])).await;
        assert_eq!(text(&events), "before");
        assert_eq!(failure_kind(&events), FaultKind::Provider, "{}", String::from_utf8_lossy(bad));
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
        let events = answer(reply([Step::text("a"), raw])).await;
        assert_eq!((failure_kind(&events), &*failure(&events).fault.message), (kind, message));
        // The same as the whole answer of a server that does not stream.
        let events = answer(Reply::plain(200, "application/json", error)).await;
        assert_eq!((failure_kind(&events), &*failure(&events).fault.message), (kind, message));
    }
}

#[tokio::test]
async fn limits_end_the_answer_with_an_error() {
    let calls = (0..1000).map(|n| Step::call(n, &format!("c{n}"), "f", "{}")).collect::<Vec<_>>();
    let events = answer(reply(calls)).await;
    assert_eq!(events.len(), providers::CALLS_MAX + 1);
    assert!(failure(&events).fault.message.starts_with("too many parallel tool calls"));

    let big = "x".repeat(1024 * 1024);
    let mut steps = vec![Step::call(0, "c", "f", "")];
    steps.extend((0..5).map(|_| Step::more(0, &big)));
    let events = answer(reply(steps)).await;
    assert_eq!(failure_kind(&events), FaultKind::Provider);
    assert!(failure(&events).fault.message.contains("arguments"));

    let line = vec![b'x'; providers::sse::EVENT_BYTES_MAX + 1];
    let events = answer(reply([Step::text("a"), Step::Raw(line)])).await;
    assert_eq!((text(&events), failure_kind(&events)), ("a".into(), FaultKind::Provider));
}

#[tokio::test]
async fn broken_arguments_are_handed_on_as_they_are() {
    let events = answer(Reply::calls(&[("bash", "{\"command\": \"l"), ("nope", "")])).await;
    assert!(matches!(&events[0], ModelEvent::Call { input, .. } if input == "{\"command\": \"l"));
    assert!(matches!(&events[1], ModelEvent::Call { name: Some(name), .. } if name == "nope"));
    assert_eq!(events.last(), Some(&ModelEvent::Finished(Finish::ToolUse)));
}
