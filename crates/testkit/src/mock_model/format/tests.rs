//! The formats side by side.

use expect_test::expect;
use serde_json::json;

use super::*;

#[test]
fn the_path_tells_the_format() {
    for (path, want) in [
        ("/v1/chat/completions", Some(Format::Completions)),
        ("/v1/messages?beta=true", Some(Format::Anthropic)),
        ("/v1/messages/count_tokens", None),
        ("/v1/responses", Some(Format::Responses)),
        ("/v1beta/models/gemini-3-mock:streamGenerateContent?alt=sse", Some(Format::Gemini)),
        ("/v1beta/models/gemini-3-mock:generateContent", Some(Format::Gemini)),
        ("/v1/models/gemini-3-mock:generateContent", Some(Format::Gemini)),
        ("/v1beta/models/gemini-3-mock:countTokens", None),
        ("/v1internal:streamGenerateContent?alt=sse", Some(Format::Gemini)),
        ("/v1internal:fetchAvailableModels", None),
        ("/v1/models", None),
    ] {
        assert_eq!(Format::of(path), want, "{path}");
    }
}

#[test]
fn the_last_words_of_the_user_and_the_results_behind_them_are_found_in_every_format() {
    let image = json!({ "type": "image" });
    let result = json!({ "type": "tool_result", "content": [{ "type": "text", "text": "no" }] });
    let response = json!({ "functionResponse": { "name": "f", "response": { "text": "no" } } });
    for (format, body) in [
        (
            Format::Completions,
            json!({ "messages": [
                { "role": "user", "content": "old" }, { "role": "tool", "content": "no" },
                { "role": "user", "content": [{ "type": "text", "text": "new" }] },
                { "role": "assistant", "content": "no" }, { "role": "tool", "content": "no" },
                { "role": "tool", "content": "no" }, { "role": "user", "content": [image] },
            ] }),
        ),
        (
            Format::Anthropic,
            json!({ "messages": [
                { "role": "user", "content": "old" }, { "role": "assistant", "content": "no" },
                { "role": "user", "content": [result, { "type": "text", "text": "new" }] },
                { "role": "assistant", "content": "no" }, { "role": "user", "content": [result, result, image] },
            ] }),
        ),
        (
            Format::Responses,
            json!({ "input": [
                { "role": "user", "content": "old" }, { "type": "function_call_output", "output": "no" },
                { "role": "user", "content": [{ "type": "input_text", "text": "new" }] },
                { "type": "function_call_output", "output": "no" }, { "type": "function_call_output", "output": "no" },
                { "role": "user", "content": [{ "type": "input_image" }] },
            ] }),
        ),
        (
            Format::Gemini,
            json!({ "contents": [
                { "role": "user", "parts": [{ "text": "old" }] }, { "role": "model", "parts": [{ "text": "no" }] },
                { "role": "user", "parts": [response] }, { "role": "user", "parts": [{ "text": "new" }] },
                { "role": "model", "parts": [{ "text": "no" }] }, { "role": "user", "parts": [response, response] },
                { "role": "user", "parts": [{ "inlineData": {} }] },
            ] }),
        ),
    ] {
        assert_eq!(format.position(&body), ("new".into(), 2), "{format:?}");
    }
}

/// Everything a speaker has to keep apart in one answer; the names of the events are the shape of it.
#[test]
fn the_events_of_an_answer_in_every_format() {
    let steps = [
        Step::Thinking("hm".into()),
        Step::Seal("c2ln".into()),
        Step::Redacted("Y2xvc2Vk".into()),
        Step::text("a"),
        Step::text("b"),
        Step::Call { index: Some(0), id: Some("x".into()), name: Some("f".into()), arguments: None },
        Step::more(0, "{}"),
        Step::Usage { prompt: 10, cached: 3, written: 2, completion: 5 },
        Step::finish("tool_calls"),
        Step::Done,
    ];
    let shape = |format: Format| {
        let text = String::from_utf8(format.stream(&steps)).unwrap();
        let mut lines = Vec::new();
        for data in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
            let value: Value = serde_json::from_str(data).unwrap_or(Value::Null);
            let said = [
                &value["delta"],
                &value["choices"][0]["delta"],
                &value["candidates"][0]["content"]["parts"][0],
                &value["content_block"],
            ];
            let said = said.into_iter().find(|said| !said.is_null()).map(Value::to_string);
            let line = format!("{} {}", value["type"].as_str().unwrap_or_default(), said.unwrap_or_default());
            if !line.trim().is_empty() {
                lines.push(format!("{}\n", line.trim()));
            }
        }
        lines.concat()
    };
    expect![[r#"
        message_start
        content_block_start {"signature":"","thinking":"","type":"thinking"}
        content_block_delta {"thinking":"hm","type":"thinking_delta"}
        content_block_delta {"signature":"c2ln","type":"signature_delta"}
        content_block_stop
        content_block_start {"data":"Y2xvc2Vk","type":"redacted_thinking"}
        content_block_stop
        content_block_start {"text":"","type":"text"}
        content_block_delta {"text":"a","type":"text_delta"}
        content_block_delta {"text":"b","type":"text_delta"}
        content_block_stop
        content_block_start {"id":"x","input":{},"name":"f","type":"tool_use"}
        content_block_delta {"partial_json":"{}","type":"input_json_delta"}
        content_block_stop
        message_delta {"stop_details":null,"stop_reason":"tool_use","stop_sequence":null}
        message_stop
    "#]]
    .assert_eq(&shape(Format::Anthropic));
    expect![[r#"
        response.created
        response.in_progress
        response.output_item.added
        response.reasoning_summary_part.added
        response.reasoning_summary_text.delta "hm"
        response.reasoning_summary_text.done
        response.reasoning_summary_part.done
        response.output_item.done
        response.output_item.added
        response.output_item.done
        response.output_item.added
        response.content_part.added
        response.output_text.delta "a"
        response.output_text.delta "b"
        response.output_text.done
        response.content_part.done
        response.output_item.done
        response.output_item.added
        response.function_call_arguments.delta "{}"
        response.function_call_arguments.done
        response.output_item.done
        response.completed
    "#]]
    .assert_eq(&shape(Format::Responses));
    expect![[r#"
         {"text":"hm","thought":true}
         {"text":"","thoughtSignature":"Y2xvc2Vk"}
         {"text":"a"}
         {"text":"b"}
         {"functionCall":{"args":{},"id":"x","name":"f"},"thoughtSignature":"c2ln"}
         {"text":""}
    "#]]
    .assert_eq(&shape(Format::Gemini));
    expect![[r#"
        {"reasoning_content":"hm"}
        {"content":"a"}
        {"content":"b"}
        {"tool_calls":[{"function":{"name":"f"},"id":"x","index":0,"type":"function"}]}
        {"tool_calls":[{"function":{"arguments":"{}"},"index":0}]}
        {}
    "#]]
    .assert_eq(&shape(Format::Completions));
}
