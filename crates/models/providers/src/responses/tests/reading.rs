//! Recorded streams, whole, split and cut.

use expect_test::{Expect, expect};
use vocab::FaultKind;

use super::*;
use crate::{ARGUMENT_BYTES_MAX, CALLS_MAX};

const STREAMS: [(&str, &str); 8] = [
    ("text", include_str!("streams/text.sse")),
    ("round1", include_str!("streams/round1.sse")),
    ("round2", include_str!("streams/round2.sse")),
    ("round3", include_str!("streams/round3.sse")),
    ("refusal", include_str!("streams/refusal.sse")),
    ("failed", include_str!("streams/failed.sse")),
    ("incomplete", include_str!("streams/incomplete.sse")),
    ("open", include_str!("streams/open.sse")),
];

fn check(name: &str, want: Expect) {
    let stream = STREAMS.iter().find(|(known, _)| *known == name).unwrap().1;
    want.assert_eq(&notes(&read([stream.as_bytes()])));
}

#[test]
fn recorded_streams_say_what_they_say() {
    check(
        "text",
        expect![[r#"
        text "Grüße "
        text "😀 \"x\"\n"
        text "end"
        usage 10 4 6 9
        finished Stop
    "#]],
    );
    check(
        "round1",
        expect![[r#"
        thinking "**Look"
        thinking "ing**"
        thinking "\n\n"
        thinking "at the é file"
        seal {"id":"rs_1","type":"reasoning","encrypted_content":"gAAAA+/1==","summary":[{"type":"summary_text","text":"**Looking**"},{"type":"summary_text","text":"at the é file"}]}
        text "I look."
        seal {"v":1,"id":"msg_1","phase":"commentary"}
        call 0 call_1 file_read 
        call 0 + {"path":
        call 0 + "a é"}
        call 1 call_2 file_read 
        call 1 + {"path":"b"}
        usage 10 0 90 40
        finished ToolUse
    "#]],
    );
    check(
        "round2",
        expect![[r#"
        thinking "Once é more"
        seal {"id": "rs_2", "type": "reasoning", "encrypted_content": "gAAAA/second", "summary": [{"type": "summary_text", "text": "Once \u00e9 more"}]}
        call 0 call_3 bash 
        call 0 + {}
        seal {"id": "rs_3", "type": "reasoning", "encrypted_content": "gAAAA/wordless", "summary": []}
        call 1 call_4 bash 
        call 1 + {"command":"ls"}
        usage 10 90 60 20
        finished ToolUse
    "#]],
    );
    check(
        "round3",
        expect![[r#"
        seal {"id":"rs_4","type":"reasoning","encrypted_content":"gAAAA/last","summary":[]}
        text "Done"
        text "."
        seal {"v":1,"id":"msg_3","phase":"final_answer"}
        usage 50 150 0 5
        finished Stop
    "#]],
    );
    check(
        "refusal",
        expect![[r#"
        text "I can’t "
        text "help."
        usage 8 0 0 4
        finished Refusal
    "#]],
    );
    check(
        "failed",
        expect![[r#"
        text "Half"
        usage 8 0 0 1
        failed Provider The model fell over.
    "#]],
    );
    check(
        "incomplete",
        expect![[r#"
        text "Too "
        text "lon"
        usage 8 0 0 16
        finished Length
    "#]],
    );
    check(
        "open",
        expect![[r#"
        thinking "We "
        thinking "think"
        seal {"id":"rs_o","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"We think"}]}
        text "so"
        usage 3 0 0 3
        finished Stop
    "#]],
    );
}

#[test]
fn split_at_every_byte_a_stream_says_the_same() {
    for (name, stream) in STREAMS {
        let bytes = stream.as_bytes();
        let whole = read([bytes]);
        for at in 1..bytes.len() {
            let (head, tail) = bytes.split_at(at);
            assert_eq!(read([head, tail]), whole, "{name} split at {at}");
        }
        assert_eq!(read(bytes.chunks(1)), whole, "{name}");
        let with_returns = stream.replace('\n', "\r\n");
        assert_eq!(read([with_returns.as_bytes()]), whole, "{name}");
    }
}

#[test]
fn cut_at_every_byte_a_stream_says_a_prefix_and_why_it_is_one() {
    for (name, stream) in STREAMS {
        let bytes = stream.as_bytes();
        let whole = read([bytes]);
        let mut finished = 0;
        for at in 0..bytes.len() {
            let events = read([&bytes[..at]]);
            let (last, said) = events.split_last().unwrap();
            assert_eq!(said, &whole[..said.len()], "{name} cut at {at}");
            if *last == whole[whole.len() - 1] {
                assert_eq!(events, whole, "{name} cut at {at}");
                finished += 1;
            } else {
                assert_eq!(failure(&events).fault.kind, FaultKind::StreamCut, "{name} cut at {at}");
                assert!(failure(&events).retryable);
            }
        }
        // Only the blank line behind the last event may be missing.
        assert_eq!(finished, 2, "{name}");
    }
}

/// What a server says that does not stream is the same as what it streams, but for the pieces.
#[test]
fn a_whole_answer_says_the_same_as_its_stream() {
    for (name, stream) in STREAMS {
        let last = stream.lines().rfind(|line| line.starts_with("data:")).unwrap();
        let event: serde_json::Value = serde_json::from_str(&last["data:".len()..]).unwrap();
        let mut reader = reader();
        reader.whole(event["response"].to_string().as_bytes());
        let events: Vec<_> = std::iter::from_fn(|| reader.next()).collect();
        let joined = |events: &[ModelEvent], of: fn(&ModelEvent) -> Option<&str>| -> String {
            events.iter().filter_map(of).collect()
        };
        let texts: [fn(&ModelEvent) -> Option<&str>; 3] = [
            |event| if let ModelEvent::Text(text) = event { Some(text) } else { None },
            |event| if let ModelEvent::Thinking(text) = event { Some(text) } else { None },
            |event| if let ModelEvent::Call { input, .. } = event { Some(input) } else { None },
        ];
        let streamed = read([stream.as_bytes()]);
        for of in texts {
            // A failure keeps nothing of the answer.
            let want = if name == "failed" { String::new() } else { joined(&streamed, of) };
            assert_eq!(joined(&events, of), want, "{name}");
        }
        let seals = |events: &[ModelEvent]| events.iter().filter(|event| matches!(event, ModelEvent::Seal(_))).count();
        assert_eq!(seals(&events), seals(&streamed), "{name}");
        assert_eq!(events[events.len() - 2..], streamed[streamed.len() - 2..], "{name}");
    }
}

const DONE: &str = r#"{"type":"response.completed","response":{"status":"completed"}}"#;

#[test]
fn arguments_are_neither_lost_nor_doubled_wherever_they_come() {
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":""}}"#;
    let full = &added.replace(r#""arguments":"""#, r#""arguments":"{\"a\":1}""#);
    let deltas = [r#"{\"a\""#, r#":1}"#].map(|delta| {
        format!(
            r#"{{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc","delta":"{delta}"}}"#
        )
    });
    let whole = r#"{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"a\":1}"}"#;
    let done = &full.replace(".added", ".done");
    let other_id = &done.replace(r#""call_id":"c""#, r#""call_id":"d""#);
    let spaced = &done.replace(r#"{\"a\":1}"#, r#"{\"a\": 1}"#);
    let as_object = &done.replace(r#""{\"a\":1}""#, r#"{"a":1}"#);
    let (one, two) = (&*deltas[0], &*deltas[1]);
    for (number, events) in [
        &[added, one, two, whole, done][..],
        &[added, one, two, done],
        &[added, one, two],
        &[added, one, whole, done],
        &[added, one, done],
        &[added, whole],
        &[added, whole, done],
        &[added, done],
        &[full, one, two, whole, done],
        &[full, done],
        &[done],
        &[one, two, whole, done],
        &[added, as_object],
        &[added, one, two, other_id],
        &[added, one, two, spaced],
    ]
    .into_iter()
    .enumerate()
    {
        let events = read_data(&[events, &[DONE]].concat());
        let input: String = events
            .iter()
            .map(|event| match event {
                ModelEvent::Call { index: 0, input, .. } => &**input,
                ModelEvent::Finished(vocab::Finish::ToolUse) => "",
                other => panic!("{number}: {other:?}"),
            })
            .collect();
        assert_eq!(input, r#"{"a":1}"#, "{number}: {events:?}");
        let starts = events.iter().filter(|event| matches!(event, ModelEvent::Call { id: Some(id), name: Some(name), .. } if id == "c" && name == "f"));
        assert_eq!(starts.count(), 1, "{number}: {events:?}");
    }
}

#[test]
fn words_that_come_only_at_the_end_are_told_then() {
    let message = r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"b"}]}}"#;
    let reasoning = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","summary":[{"text":"x"},{"text":"y"}]}}"#;
    expect![[r#"
        thinking "x"
        thinking "\n\n"
        thinking "y"
        text "a"
        text "b"
        finished Refusal
    "#]]
    .assert_eq(&notes(&read_data(&[reasoning, message, DONE])));
    // All of it in the last event.
    let all = r#"{"type":"response.completed","response":{"output":[{"type":"message","content":[{"text":"late"}]}]}}"#;
    expect![[r#"
        text "late"
        finished Stop
    "#]]
    .assert_eq(&notes(&read_data(&[all])));
}

#[test]
fn reasoning_that_cannot_go_back_is_not_sealed() {
    for item in [
        r#"{"type":"reasoning","id":"rs","summary":[]}"#,
        r#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":null}"#,
        r#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"half","status":"incomplete"}"#,
        r#"{"type":"reasoning","id":"rs","summary":[],"content":[]}"#,
    ] {
        let done = format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#);
        assert_eq!(notes(&read_data(&[&done, DONE])), "finished Stop\n", "{item}");
    }
}

#[test]
fn two_reasoning_items_without_seals_are_parted() {
    let delta = |item, text| {
        format!(
            r#"{{"type":"response.reasoning_summary_text.delta","output_index":{item},"summary_index":0,"delta":"{text}"}}"#
        )
    };
    let events = read_data(&[&delta(0, "a"), &delta(0, "b"), &delta(1, "c"), DONE]);
    assert_eq!(notes(&events), "thinking \"a\"\nthinking \"b\"\nthinking \"\\n\\n\"\nthinking \"c\"\nfinished Stop\n");
}

#[test]
fn what_nobody_has_heard_of_is_passed_over() {
    let text = r#"{"type":"response.output_text.delta","delta":"a"}"#;
    let events = read_data(&[
        r#"{"type":"response.web_search_call.searching","output_index":0,"item_id":"ws"}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call","content":7}}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"web_search_call","content":7,"summary":"x"}}"#,
        r#"{"type":"response.steer.accepted","code":{"a":1},"message":[1]}"#,
        r#"{"type":"keepalive"}"#,
        r#"{}"#,
        text,
        DONE,
        r#"{"type":"response.output_text.delta","delta":"behind the end"}"#,
    ]);
    assert_eq!(notes(&events), "text \"a\"\nfinished Stop\n");
}

#[test]
fn half_a_character_does_not_spoil_an_answer() {
    let delta = r#"{"type":"response.output_text.delta","output_index":0,"delta":"x\ud83dy"}"#;
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"text":"x\ud83dy"}]}}"#;
    assert_eq!(notes(&read_data(&[delta, done, DONE])), "text \"x\u{FFFD}y\"\nfinished Stop\n");
    assert_eq!(notes(&read_data(&[done, DONE])), "text \"x\u{FFFD}y\"\nfinished Stop\n");
    let call = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"\ud83d"}}"#;
    assert_eq!(notes(&read_data(&[call, DONE])), "call 0 c f \u{FFFD}\nfinished ToolUse\n");
}

#[test]
fn events_that_cannot_be_read_end_the_answer_with_what_came_before() {
    let text = r#"{"type":"response.output_text.delta","delta":"before"}"#;
    for bad in ["nonsense", "[]", "7", r#"{"type":"response.output_text.delta","delta":"x""#] {
        let events = read_data(&[text, bad, text]);
        assert_eq!(events[0], ModelEvent::Text("before".into()));
        assert_eq!((events.len(), failure(&events).fault.kind), (2, FaultKind::Provider), "{bad}");
    }
    // A stream that says it is over without saying why was cut.
    assert_eq!(failure(&read_data(&[text, "[DONE]"])).fault.kind, FaultKind::StreamCut);
}

#[test]
fn limits_end_the_answer_with_an_error() {
    let call = |at: usize| {
        format!(
            r#"{{"type":"response.output_item.done","output_index":{at},"item":{{"type":"function_call","call_id":"c{at}","name":"f","arguments":"{{}}"}}}}"#
        )
    };
    let calls: Vec<String> = (0..1000).map(call).collect();
    let events = read_data(&calls.iter().map(|call| &**call).collect::<Vec<_>>());
    assert_eq!(events.len(), CALLS_MAX + 1);
    assert!(failure(&events).fault.message.starts_with("too many parallel tool calls"));

    let big = format!(
        r#"{{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}}"#,
        "x".repeat(ARGUMENT_BYTES_MAX / 2)
    );
    let events = read_data(&[&call(0).replace(".done", ".added"), &big, &big, &big]);
    assert!(failure(&events).fault.message.contains("arguments"), "{:?}", failure(&events));

    let added: Vec<String> = (0..1000)
        .map(|at| format!(r#"{{"type":"response.output_item.added","output_index":{at},"item":{{"type":"message"}}}}"#))
        .collect();
    let events = read_data(&added.iter().map(|added| &**added).collect::<Vec<_>>());
    assert!(failure(&events).fault.message.contains("never ended"), "{events:?}");
}
