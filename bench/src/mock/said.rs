//! A whole answer of N words, one delta each, as each vendor's server would stream it.

use std::fmt::Write as _;

use super::reply::chunk;
use crate::format::Format;

/// The events between the head of the answer and the end of its body.
pub(super) fn events(format: Format, words: usize, into: &mut String) {
    match format {
        Format::Completions => super::reply::completions(words, into),
        Format::Responses => responses(words, into),
        Format::Anthropic => anthropic(words, into),
        Format::Gemini => gemini(words, into),
    }
}

/// The words in order: text of the delta, and whether it is the last.
fn each(words: usize) -> impl Iterator<Item = String> {
    (1..=words).map(move |n| format!("w{n}{}", if n < words { " " } else { "" }))
}

fn named(into: &mut String, name: &str, data: &str) {
    chunk(into, &format!("event: {name}\ndata: {data}\n\n"));
}

fn anthropic(words: usize, into: &mut String) {
    named(
        into,
        "message_start",
        r#"{"type":"message_start","message":{"id":"msg_bench","type":"message","role":"assistant","model":"alpha","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}"#,
    );
    named(
        into,
        "content_block_start",
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    );
    for word in each(words) {
        let data =
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{word}"}}}}"#);
        named(into, "content_block_delta", &data);
    }
    named(into, "content_block_stop", r#"{"type":"content_block_stop","index":0}"#);
    let delta = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn","stop_sequence":null}},"usage":{{"output_tokens":{words}}}}}"#
    );
    named(into, "message_delta", &delta);
    named(into, "message_stop", r#"{"type":"message_stop"}"#);
}

fn responses(words: usize, into: &mut String) {
    let mut number = 0;
    let mut tell = |into: &mut String, kind: &str, rest: &str| {
        named(into, kind, &format!(r#"{{"type":"{kind}","sequence_number":{number},{rest}}}"#));
        number += 1;
    };
    let response = |status: &str, output: &str, usage: &str| {
        format!(
            r#""response":{{"id":"resp_bench","object":"response","created_at":1,"status":"{status}","model":"alpha","output":[{output}],"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":{usage}}}"#
        )
    };
    tell(into, "response.created", &response("in_progress", "", "null"));
    tell(
        into,
        "response.output_item.added",
        r#""output_index":0,"item":{"id":"msg_bench","type":"message","status":"in_progress","role":"assistant","content":[]}"#,
    );
    tell(
        into,
        "response.content_part.added",
        r#""item_id":"msg_bench","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}"#,
    );
    let mut text = String::new();
    for word in each(words) {
        let rest =
            format!(r#""item_id":"msg_bench","output_index":0,"content_index":0,"delta":"{word}","logprobs":[]"#);
        tell(into, "response.output_text.delta", &rest);
        text.push_str(&word);
    }
    let part = format!(r#"{{"type":"output_text","text":"{text}","annotations":[]}}"#);
    let item =
        format!(r#"{{"id":"msg_bench","type":"message","status":"completed","role":"assistant","content":[{part}]}}"#);
    let at = r#""item_id":"msg_bench","output_index":0,"content_index":0"#;
    tell(into, "response.output_text.done", &format!(r#"{at},"text":"{text}","logprobs":[]"#));
    tell(into, "response.content_part.done", &format!(r#"{at},"part":{part}"#));
    tell(into, "response.output_item.done", &format!(r#""output_index":0,"item":{item}"#));
    let usage = format!(
        r#"{{"input_tokens":10,"input_tokens_details":{{"cached_tokens":0}},"output_tokens":{words},"output_tokens_details":{{"reasoning_tokens":0}},"total_tokens":{}}}"#,
        words + 10
    );
    tell(into, "response.completed", &response("completed", &item, &usage));
}

fn gemini(words: usize, into: &mut String) {
    for (n, word) in each(words).enumerate() {
        let finish = if n + 1 == words { r#","finishReason":"STOP""# } else { "" };
        let mut data = String::new();
        write!(
            data,
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{word}"}}],"role":"model"}}{finish},"index":0}}],"usageMetadata":{{"promptTokenCount":10,"candidatesTokenCount":{},"totalTokenCount":{}}},"modelVersion":"alpha","responseId":"bench"}}"#,
            n + 1,
            n + 11
        )
        .expect("a String takes everything");
        chunk(into, &format!("data: {data}\r\n\r\n"));
    }
}
