//! Both halves together: what is asked for, and what becomes of an answer that goes back.

pub(super) mod streams;

use expect_test::{Expect, expect};
use vocab::{
    AssistantMessage, Block, Call, CallEnd, CallInput, CallResult, Finish, Json, MessageEnd, ModelEvent, Part,
    ToolSpec, Usage,
};

use super::*;
use crate::reader::AnswerReader;

fn model(id: &str) -> ModelInfo {
    ModelInfo { max_output: Some(64_000), ..ModelInfo::named(id, 200_000) }
}
fn spec(level: Option<&str>) -> CallSpec {
    let tool = ToolSpec {
        name: "read_file".into(),
        description: "Reads it.".into(),
        schema: Json::trusted(r#"{"type":"object","properties":{"path":{"type":"string"}}}"#),
    };
    CallSpec { system: "be brief".into(), tools: [tool].into(), max_tokens: 4000, thinking: level.map(Into::into) }
}
fn body(draft: &dyn Draft) -> String {
    let written = draft.write();
    let all = [written.head.concat(), written.messages.concat(), written.tail.to_vec()].concat();
    String::from_utf8(all).unwrap()
}
fn user(text: &str) -> Message {
    Message::User(vec![Part::text(text)])
}
fn result(id: &str, text: &str) -> Message {
    Message::Result(CallResult {
        call: id.into(),
        tool: "read_file".into(),
        end: CallEnd::Ran,
        parts: vec![Part::text(text)],
        is_error: false,
        duration_ms: 0,
        mutation: None,
        edits: Vec::new(),
        details: None,
    })
}

/// The message that an engine makes of a recorded answer.
fn answer(model: &str, stream: &str) -> AssistantMessage {
    let mut reader = AnswerReader::new(decoder("http://x/v1".into()));
    reader.feed(stream.as_bytes());
    let mut blocks: Vec<Block> = Vec::new();
    let mut end = MessageEnd::Interrupted;
    let mut inputs: Vec<String> = Vec::new();
    while let Some(event) = reader.next() {
        match event {
            ModelEvent::Text(text) => blocks.push(Block::Text(text.into())),
            ModelEvent::Thinking(more) => match blocks.last_mut() {
                Some(Block::Thinking { text, opaque: None }) => *text = format!("{text}{more}").into(),
                _ => blocks.push(Block::Thinking { text: more.into(), opaque: None }),
            },
            ModelEvent::Seal(seal) => match blocks.last_mut() {
                Some(Block::Thinking { opaque: opaque @ None, .. }) => *opaque = Some(seal.into()),
                _ => blocks.push(Block::Thinking { text: "".into(), opaque: Some(seal.into()) }),
            },
            ModelEvent::Redacted(data) => blocks.push(Block::Redacted(data.into())),
            ModelEvent::Call { id: Some(id), name: Some(name), input, .. } => {
                inputs.push(input);
                let input = CallInput::Object(Json::empty_object());
                blocks.push(Block::Call(Call { id: id.as_str().into(), name: name.into(), input, seal: None }));
            }
            ModelEvent::Call { index, input, .. } => inputs[index as usize].push_str(&input),
            ModelEvent::Finished(finish) => end = MessageEnd::Finished(finish),
            ModelEvent::Usage(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let calls = blocks.iter_mut().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        _ => None,
    });
    for (call, input) in calls.zip(inputs).filter(|(_, input)| !input.is_empty()) {
        call.input = CallInput::Object(Json::trusted(input));
    }
    AssistantMessage { blocks, model: model.into(), end, usage: Usage::default() }
}

fn check(id: &str, level: Option<&str>, compat: Compat, want: Expect) {
    let mut conversation = AnthropicEncoder::new(&model(id), compat);
    conversation.push(&user("hi"));
    let draft = conversation.draft(&spec(level));
    let text = body(&*draft);
    serde_json::from_str::<serde_json::Value>(&text).expect("it is JSON");
    want.assert_eq(&text);
}

#[test]
fn a_request_for_each_generation() {
    let plain = Compat::default;
    check(
        "claude-haiku-4-5",
        Some("low"),
        plain(),
        expect![[
            r#"{"model":"claude-haiku-4-5","stream":true,"max_tokens":6048,"thinking":{"type":"enabled","budget_tokens":2048},"tools":[{"name":"read_file","description":"Reads it.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}},"cache_control":{"type":"ephemeral"}}],"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}"#
        ]],
    );
    check(
        "claude-opus-4-7",
        Some("xhigh"),
        plain(),
        expect![[
            r#"{"model":"claude-opus-4-7","stream":true,"max_tokens":36768,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"xhigh"},"tools":[{"name":"read_file","description":"Reads it.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}},"cache_control":{"type":"ephemeral"}}],"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}"#
        ]],
    );
    check(
        "claude-sonnet-5",
        Some("off"),
        plain(),
        expect![[
            r#"{"model":"claude-sonnet-5","stream":true,"max_tokens":4000,"thinking":{"type":"disabled"},"tools":[{"name":"read_file","description":"Reads it.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}},"cache_control":{"type":"ephemeral"}}],"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}"#
        ]],
    );
    let uncached = Compat { caching: Some(false), reasoning_effort: Some(false), ..plain() };
    check(
        "claude-opus-4-6",
        Some("medium"),
        uncached,
        expect![[
            r#"{"model":"claude-opus-4-6","stream":true,"max_tokens":12192,"thinking":{"type":"adaptive"},"tools":[{"name":"read_file","description":"Reads it.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}],"system":[{"type":"text","text":"be brief"}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}"#
        ]],
    );
    check(
        "claude-opus-4-6",
        None,
        plain(),
        expect![[
            r#"{"model":"claude-opus-4-6","stream":true,"max_tokens":4000,"tools":[{"name":"read_file","description":"Reads it.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}},"cache_control":{"type":"ephemeral"}}],"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}"#
        ]],
    );
}

#[test]
fn a_model_that_does_not_think_is_not_asked_to() {
    let mut conversation =
        AnthropicEncoder::new(&ModelInfo { thinking: false, ..model("claude-opus-5") }, Compat::default());
    conversation.push(&user("hi"));
    for level in ["off", "high"] {
        let text = body(&*conversation.draft(&spec(Some(level))));
        assert!(!text.contains("thinking") && !text.contains("effort"), "{text}");
    }
}

#[test]
fn headers_name_the_version_and_the_features_asked_for() {
    let betas = |betas: &[&str]| {
        let compat = Compat { betas: betas.iter().map(|beta| Arc::from(*beta)).collect(), ..Compat::default() };
        AnthropicEncoder::new(&model("m"), compat).draft(&spec(None)).headers()
    };
    let version = ("anthropic-version", "2023-06-01".to_owned());
    assert_eq!(betas(&["a-1", "b-2"]), [version.clone(), ("anthropic-beta", "a-1,b-2".to_owned())]);
    assert_eq!(betas(&[]), [version]);
}

#[test]
fn three_rounds_of_thinking_and_calls_carry_their_signatures_back_byte_for_byte() {
    const MODEL: &str = "claude-opus-4-5";
    let mut conversation = AnthropicEncoder::new(&model(MODEL), Compat::default());
    let mut replay = AnthropicEncoder::again(&conversation.manner()).unwrap();
    let mut rounds = Vec::new();
    let mut say = |message: Message, conversation: &mut AnthropicEncoder| {
        conversation.push(&message);
        replay.push(&message);
    };
    say(user("look"), &mut conversation);
    for (stream, ids) in [(streams::THINK_AND_CALL, &["toolu_01", "toolu_02"][..]), (streams::REDACTED, &["toolu_03"])]
    {
        rounds.push(body(&*conversation.draft(&spec(Some("low")))));
        let answer = answer(MODEL, stream);
        assert_eq!(answer.end, MessageEnd::Finished(Finish::ToolUse));
        say(Message::Assistant(answer), &mut conversation);
        ids.iter().for_each(|id| say(result(id, "found"), &mut conversation));
    }
    let draft = conversation.draft(&spec(Some("low")));
    rounds.push(body(&*draft));
    let first = r#"{"type":"thinking","thinking":"First \"a\", then b.","signature":"EqQBCgIYAhIM1/first+=="},{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_01","name":"read_file","input":{"path": "a"}},{"type":"tool_use","id":"toolu_02","name":"read_file","input":{"path":"b"}}"#;
    let second = r#"{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix/LafPsn4a"},{"type":"thinking","thinking":"","signature":"no/words=="},{"type":"tool_use","id":"toolu_03","name":"list_dir","input":{}}"#;
    assert!(rounds[1].contains(first), "{}", rounds[1]);
    assert!(rounds[2].contains(first) && rounds[2].contains(second), "{}", rounds[2]);
    for round in &rounds {
        assert!(round.contains(r#""thinking":{"type":"enabled","budget_tokens":2048}"#), "{round}");
        assert!(round.matches("cache_control").count() <= 4);
    }
    let written = draft.write();
    assert_eq!(replay.messages().concat(), written.messages.concat(), "the log writes the same");

    // Another model gets none of it, and this one no thinking in a loop that began without.
    let mut other = AnthropicEncoder::new(&model("claude-haiku-4-5"), Compat::default());
    other.push(&user("look"));
    other.push(&Message::Assistant(answer(MODEL, streams::THINK_AND_CALL)));
    other.push(&result("toolu_01", "a"));
    other.push(&result("toolu_02", "b"));
    let text = body(&*other.draft(&spec(Some("low"))));
    assert!(!text.contains("thinking") && !text.contains("signature"), "{text}");
}

#[test]
fn what_is_refused_is_left_out_from_then_on_and_the_log_knows() {
    let mut conversation = AnthropicEncoder::new(&model("claude-opus-4-7"), Compat::default());
    conversation.push(&user("hi"));
    let manner = conversation.manner();
    let draft = conversation.draft(&spec(Some("high")));
    assert!(body(&*draft).contains("cache_control") && draft.manner().is_none());
    let refusal = br#"{"type":"error","error":{"type":"invalid_request_error","message":"system.0.cache_control: Extra inputs are not permitted"}}"#;
    assert!(draft.learn(400, refusal));
    assert!(!draft.learn(400, refusal), "it is learned once");
    assert!(!body(&*draft).contains("cache_control"));

    let mut replay = AnthropicEncoder::again(&manner).unwrap();
    replay.push(&user("hi"));
    let marked = replay.messages().concat();
    replay.adopt(&draft.manner().unwrap());
    assert_eq!(replay.messages().concat(), draft.write().messages.concat());
    replay.adopt(&manner);
    assert_eq!(replay.messages().concat(), marked);

    let later = conversation.draft(&spec(Some("high")));
    assert!(!body(&*later).contains("cache_control"), "for the rest of the conversation");
    assert!(AnthropicEncoder::again("{}").is_none());
}

#[test]
fn a_loop_that_is_refused_with_thinking_is_asked_again_without() {
    let mut conversation = AnthropicEncoder::new(&model("claude-opus-4-7"), Compat::default());
    conversation.push(&user("hi"));
    let draft = conversation.draft(&spec(Some("high")));
    let refusal = br#"{"error":{"message":"messages.1: When `thinking` is enabled, a final `assistant` message must start with a thinking block"}}"#;
    assert!(draft.learn(400, refusal));
    assert!(!body(&*draft).contains("adaptive"));
    assert!(!draft.learn(400, refusal));
    assert!(body(&*conversation.draft(&spec(Some("high")))).contains("adaptive"), "only this time");
}
