//! Messages as they stand on the wire.

use std::sync::Arc;

use expect_test::{Expect, expect};
use vocab::{CallEnd, CallInput, Finish, Json, MessageEnd, ModelFault, Usage};

use super::*;
use crate::completions::compat::{CallIds, Compat};

fn check(messages: &[Message], want: Expect) {
    check_with(&Compat::default(), messages, want);
}
fn check_with(compat: &Compat, messages: &[Message], want: Expect) {
    let manner = CompletionsManner::new(true, &"m".into(), compat);
    // What is written again from the log is written by a manner that was read.
    let text = serde_json::to_string(&manner).unwrap();
    assert_eq!(serde_json::from_str::<CompletionsManner>(&text).unwrap(), manner);
    let mut transcript = CompletionsTranscript::new(manner);
    messages.iter().for_each(|message| transcript.push(message));
    let all = transcript.list().concat();
    let text = String::from_utf8(all).unwrap();
    serde_json::from_str::<serde_json::Value>(&format!("[{text}]")).expect("it is JSON");
    want.assert_eq(&(text.replace(",{\"role\"", "\n{\"role\"") + "\n"));
}

fn user(text: &str) -> Message {
    Message::User(vec![Part::text(text)])
}
fn image() -> Part {
    Part::Image(Image { mime: "image/png".into(), base64: "AAAA".into() })
}
fn assistant(blocks: Vec<Block>, end: MessageEnd) -> Message {
    Message::Assistant(AssistantMessage { blocks, model: "m".into(), end, usage: Usage::default() })
}
fn call(id: &str, input: CallInput) -> Block {
    Block::Call(Call { id: id.into(), name: "file.read".into(), input, seal: None })
}
fn object() -> CallInput {
    CallInput::Object(Json::trusted(r#"{"a":"\"x\""}"#))
}
fn result(id: &str, parts: Vec<Part>) -> Message {
    Message::Result(CallResult {
        call: id.into(),
        tool: "read_file".into(),
        end: CallEnd::Ran,
        parts,
        is_error: false,
        duration_ms: 0,
        mutation: None,
        edits: Vec::new(),
        details: None,
    })
}
const TOOLS: MessageEnd = MessageEnd::Finished(Finish::ToolUse);

#[test]
fn a_conversation_with_calls() {
    check(
        &[
            user("hi \"you\"\n\u{1}"),
            assistant(
                vec![
                    Block::Thinking { text: "secret".into(), opaque: None },
                    Block::Text("I look".into()),
                    call("c1", object()),
                    call("c2", CallInput::Broken { text: "{\"a".into(), detail: "cut".into() }),
                ],
                TOOLS,
            ),
            result("c1", vec![Part::text("one")]),
            result("c2", vec![]),
            assistant(vec![Block::Text("done".into())], MessageEnd::Finished(Finish::Stop)),
        ],
        expect![[r#"
            {"role":"user","content":"hi \"you\"\n\u0001"}
            {"role":"assistant","content":"I look","tool_calls":[{"id":"c1","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}},{"id":"c2","type":"function","function":{"name":"file_read","arguments":"{}"}}]}
            {"role":"tool","tool_call_id":"c1","content":"one"}
            {"role":"tool","tool_call_id":"c2","content":"[no output]"}
            {"role":"assistant","content":"done"}
        "#]],
    );
}

#[test]
fn images_of_results_follow_the_whole_batch() {
    check(
        &[
            Message::User(vec![Part::text("see"), image()]),
            assistant(vec![call("c1", object()), call("c2", object())], TOOLS),
            result("c1", vec![Part::text("a"), image()]),
            result("c2", vec![Part::text("b")]),
            user("next"),
        ],
        expect![[r#"
            {"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}
            {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}},{"id":"c2","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
            {"role":"tool","tool_call_id":"c1","content":"a\n[image 1 of this result (image/png) is in the next user message]"}
            {"role":"tool","tool_call_id":"c2","content":"b"}
            {"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}
            {"role":"user","content":"next"}
        "#]],
    );
}

#[test]
fn half_an_answer_goes_back_as_text_and_pairs_stay_whole() {
    let failed = MessageEnd::Failed(ModelFault::new(vocab::FaultKind::StreamCut, "x"));
    check(
        &[
            user("1"),
            assistant(vec![Block::Text("par".into()), call("c1", object())], MessageEnd::Interrupted),
            result("c1", vec![Part::text("late")]),
            assistant(vec![], failed),
            assistant(vec![call("c2", object())], TOOLS),
            user("2"),
        ],
        expect![[r#"
            {"role":"user","content":"1"}
            {"role":"assistant","content":"par"}
            {"role":"user","content":"[result of read_file]\nlate"}
            {"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
            {"role":"tool","tool_call_id":"c2","content":"[no result was recorded]"}
            {"role":"user","content":"2"}
        "#]],
    );
}

#[test]
fn what_was_said_stays_what_it_was_and_lies_in_few_pieces() {
    let mut transcript = CompletionsTranscript::new(CompletionsManner::new(true, &"m".into(), &Compat::default()));
    let mut before = Vec::new();
    for round in 0..200 {
        transcript.push(&user(&"x".repeat(round * 7)));
        let pieces = transcript.list();
        let now = pieces.concat();
        assert!(now.starts_with(&before) && now.len() > before.len(), "round {round}");
        assert!(pieces.len() < 24, "{} pieces in round {round}", pieces.len());
        before = now;
    }
    assert_eq!(transcript.bytes() - 1, before.len());
    transcript.clear();
    assert_eq!(transcript.bytes(), 0);
}

/// Thinking with words and a seal, text, a call with a seal, its result; the same from another model; a prompt.
fn thoughtful() -> Vec<Message> {
    let blocks = |call_id: &str, of: &str| {
        vec![
            Block::Thinking { text: format!("{of} hm").into(), opaque: Some(r#"[{"data":"A\/=="}]"#.into()) },
            Block::Thinking { text: "so".into(), opaque: Some("foreign==".into()) },
            Block::Call(Call {
                id: call_id.into(),
                name: "file.read".into(),
                input: object(),
                seal: Some(r#"[{"data":"B"}]"#.into()),
            }),
        ]
    };
    let by = |model: &str, blocks| {
        Message::Assistant(AssistantMessage { blocks, model: model.into(), end: TOOLS, usage: Usage::default() })
    };
    vec![
        by("m", blocks("c1", "own")),
        result("c1", vec![Part::text("one")]),
        by("other", blocks("c2", "foreign")),
        result("c2", vec![Part::text("two")]),
        user("next"),
    ]
}

fn back(reasoning_back: ReasoningBack) -> Compat {
    Compat { reasoning_back: Some(reasoning_back), ..Compat::default() }
}

#[test]
fn reasoning_back_nothing() {
    check(
        &thoughtful(),
        expect![[r#"
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"c1","content":"one"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"c2","content":"two"}
        {"role":"user","content":"next"}
    "#]],
    );
}

#[test]
fn reasoning_back_content_is_there_even_when_it_is_empty() {
    check_with(
        &back(ReasoningBack::Content),
        &thoughtful(),
        expect![[r#"
        {"role":"assistant","content":null,"reasoning_content":"own hm\nso","tool_calls":[{"id":"c1","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"c1","content":"one"}
        {"role":"assistant","content":null,"reasoning_content":"","tool_calls":[{"id":"c2","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"c2","content":"two"}
        {"role":"user","content":"next"}
    "#]],
    );
}

#[test]
fn reasoning_back_reasoning() {
    check_with(
        &back(ReasoningBack::Reasoning),
        &thoughtful(),
        expect![[r#"
        {"role":"assistant","content":null,"reasoning":"own hm\nso","tool_calls":[{"id":"c1","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"c1","content":"one"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"c2","content":"two"}
        {"role":"user","content":"next"}
    "#]],
    );
}

#[test]
fn reasoning_back_details_byte_for_byte_and_only_to_their_model() {
    check_with(
        &back(ReasoningBack::Details),
        &thoughtful(),
        expect![[r#"
        {"role":"assistant","content":null,"reasoning_details":[{"data":"A\/=="},{"data":"B"}],"tool_calls":[{"id":"c1","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"c1","content":"one"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"c2","content":"two"}
        {"role":"user","content":"next"}
    "#]],
    );
}

#[test]
fn reasoning_back_text() {
    check_with(
        &back(ReasoningBack::Text),
        &thoughtful(),
        expect![[r#"
        {"role":"assistant","content":"own hm\nso","tool_calls":[{"id":"c1","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"c1","content":"one"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"c2","content":"two"}
        {"role":"user","content":"next"}
    "#]],
    );
}

#[test]
fn tool_result_name_and_call_ids_and_assistant_after_result_and_null_content() {
    let compat = Compat {
        tool_result_name: Some(true),
        call_ids: Some(CallIds::Nine),
        assistant_after_result: Some(true),
        null_content: Some(false),
        ..Compat::default()
    };
    let mut messages = thoughtful();
    // Images of a result come as a user's message, so the assistant speaks before them, too.
    messages[3] = result("c2", vec![image()]);
    // The last result never came.
    messages.push(assistant(vec![call("c3", object())], TOOLS));
    messages.push(user("and"));
    check_with(
        &compat,
        &messages,
        expect![[r#"
        {"role":"assistant","content":"","tool_calls":[{"id":"tzx9seo9f","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"tzx9seo9f","name":"file_read","content":"one"}
        {"role":"assistant","content":"","tool_calls":[{"id":"8yrr13l3e","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"8yrr13l3e","name":"file_read","content":"[image 1 of this result (image/png) is in the next user message]"}
        {"role":"assistant","content":"[the results are noted]"}
        {"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}
        {"role":"user","content":"next"}
        {"role":"assistant","content":"","tool_calls":[{"id":"rytly6mhe","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"rytly6mhe","name":"file_read","content":"[no result was recorded]"}
        {"role":"assistant","content":"[the results are noted]"}
        {"role":"user","content":"and"}
    "#]],
    );
}

#[test]
fn an_answer_that_was_cut_keeps_its_thinking_to_itself() {
    let half = assistant(
        vec![Block::Thinking { text: "hm".into(), opaque: None }, Block::Text("par".into())],
        MessageEnd::Interrupted,
    );
    check_with(
        &back(ReasoningBack::Reasoning),
        &[half],
        expect![[r#"
        {"role":"assistant","content":"par"}
    "#]],
    );
}

#[test]
fn tools_and_instructions_stand_before_the_messages() {
    let tool = ToolSpec {
        name: Arc::from("file.read"),
        description: Arc::from("Reads \"it\"."),
        schema: Json::trusted(r#"{"type":"object"}"#),
    };
    // No `strict`: some servers refuse it, and the others mean the same without it.
    expect![[r#""tools":[{"type":"function","function":{"name":"file_read","description":"Reads \"it\".","parameters":{"type":"object"}}}],"#]]
        .assert_eq(std::str::from_utf8(&tools(&[tool])).unwrap());
    assert!(tools(&[]).is_empty());
    assert_eq!(&instructions("be\nkind")[..], br#""be\nkind""#);
    assert!(instructions("").is_empty());
}
