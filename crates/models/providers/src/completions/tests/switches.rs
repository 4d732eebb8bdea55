//! Every switch of [`Compat`] that shapes the head of a request, and what it changes. Those that shape messages are tested
//! beside [`super::super::encode`].

use std::sync::Arc;

use serde_json::{Value, json};
use vocab::{
    AssistantMessage, Block, Call, CallInput, CallSpec, Finish, Json, Message, MessageEnd, ModelInfo, Part, Usage,
};

use crate::completions::{Compat, CompletionsEncoder, ThinkingFormat, TokensField};
use crate::format::{Draft, Encoder};

fn spec(level: &str) -> CallSpec {
    CallSpec { system: "be brief".into(), tools: Arc::from([]), max_tokens: 7, thinking: Some(level.into()) }
}

fn body(draft: &dyn Draft) -> Value {
    let written = draft.write();
    let pieces: Vec<_> = written.head.iter().chain(&written.messages).chain([&written.tail]).cloned().collect();
    serde_json::from_slice(&pieces.concat()).unwrap()
}

fn conversation(id: &str, compat: Compat) -> CompletionsEncoder {
    let mut conversation = CompletionsEncoder::new(&ModelInfo::named(id, 1000), compat, None);
    conversation.push(&Message::User(vec![Part::text("hi")]));
    conversation
}

fn called() -> Message {
    let call = Call { id: "c".into(), name: "f".into(), input: CallInput::Object(Json::trusted("{}")), seal: None };
    Message::Assistant(AssistantMessage {
        blocks: vec![Block::Call(call)],
        model: "m".into(),
        end: MessageEnd::Finished(Finish::ToolUse),
        usage: Usage::default(),
    })
}

/// What differs from a body in which nothing was said: members with their values, `null` for one that is gone.
fn differs(usual: &Value, changed: &Value) -> Value {
    let (usual, changed) = (usual.as_object().unwrap(), changed.as_object().unwrap());
    let more = changed.iter().filter(|(name, value)| usual.get(*name) != Some(value));
    let gone = usual.keys().filter(|name| !changed.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    more.map(|(name, value)| (name.clone(), value.clone())).chain(gone).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn every_switch_changes_one_thing() {
    let usual = body(&*conversation("m", Compat::default()).draft(&spec("high")));
    assert_eq!(
        usual,
        json!({
            "model": "m", "stream": true, "stream_options": { "include_usage": true }, "max_tokens": 7,
            "reasoning_effort": "high",
            "messages": [{ "role": "system", "content": "be brief" }, { "role": "user", "content": "hi" }],
        })
    );
    let none = Compat::default;
    let max = [("high".into(), Some("max".into()))].into();
    let format = |format| Compat { thinking_format: Some(format), ..none() };
    for (name, compat, want) in [
        ("nothing", none(), json!({})),
        (
            "developer_role",
            Compat { developer_role: Some(true), ..none() },
            json!({ "messages": [{ "role": "developer", "content": "be brief" }, { "role": "user", "content": "hi" }] }),
        ),
        ("developer_role, no", Compat { developer_role: Some(false), ..none() }, json!({})),
        (
            "max_tokens_field",
            Compat { max_tokens_field: Some(TokensField::MaxCompletionTokens), ..none() },
            json!({ "max_tokens": null, "max_completion_tokens": 7 }),
        ),
        ("usage_in_streaming", Compat { usage_in_streaming: Some(false), ..none() }, json!({ "stream_options": null })),
        ("reasoning_effort", Compat { reasoning_effort: Some(false), ..none() }, json!({ "reasoning_effort": null })),
        ("efforts", Compat { efforts: max, ..none() }, json!({ "reasoning_effort": "max" })),
        ("thinking_format effort", format(ThinkingFormat::Effort), json!({})),
        (
            "thinking_format reasoning",
            format(ThinkingFormat::Reasoning),
            json!({ "reasoning_effort": null, "reasoning": { "effort": "high" } }),
        ),
        ("thinking_format thinking", format(ThinkingFormat::Thinking), json!({ "thinking": { "type": "enabled" } })),
        (
            "thinking_format enable_thinking",
            format(ThinkingFormat::EnableThinking),
            json!({ "reasoning_effort": null, "enable_thinking": true }),
        ),
        (
            "thinking_format chat_template",
            format(ThinkingFormat::ChatTemplate),
            json!({
                "reasoning_effort": null,
                "chat_template_kwargs": { "enable_thinking": true, "reasoning_effort": "high" },
            }),
        ),
        ("store", Compat { store: Some(true), ..none() }, json!({ "store": false })),
        ("claude_cache, for others", Compat { claude_cache: Some(true), ..none() }, json!({})),
        ("empty_tools, without calls", Compat { empty_tools: Some(true), ..none() }, json!({})),
    ] {
        let changed = body(&*conversation("m", compat).draft(&spec("high")));
        assert_eq!(differs(&usual, &changed), want, "{name}");
    }
}

#[test]
fn claude_is_asked_to_cache_where_the_server_must_be() {
    let compat = Compat { claude_cache: Some(true), ..Compat::default() };
    for (id, caches) in [("anthropic/claude-x", true), ("claude-x", true), ("openai/gpt", false)] {
        let body = body(&*conversation(id, compat.clone()).draft(&spec("off")));
        assert_eq!(body.get("cache_control").is_some(), caches, "{id}");
    }
}

#[test]
fn a_history_with_calls_has_a_list_of_tools_where_the_server_wants_one() {
    for (switch, want) in [(None, None), (Some(true), Some(json!([])))] {
        let mut conversation = conversation("m", Compat { empty_tools: switch, ..Compat::default() });
        conversation.push(&called());
        assert_eq!(body(&*conversation.draft(&spec("off"))).get("tools").cloned(), want);
    }
}

#[test]
fn what_a_server_refuses_is_learned_once() {
    let developer = || Compat { developer_role: Some(true), ..Compat::default() };
    let role = |body: &Value| body["messages"][0]["role"].clone();
    let none = Compat::default;
    let has = |name: &'static str| move |body: &Value| json!(body.get(name).is_some());
    type BodyLook = Box<dyn Fn(&Value) -> Value>;
    let rows: [(&str, Compat, &str, BodyLook, Value, Value); 9] = [
        (
            "max_tokens_field",
            none(),
            "Use 'max_completion_tokens' instead.",
            Box::new(has("max_tokens")),
            true.into(),
            false.into(),
        ),
        (
            "usage_in_streaming",
            none(),
            "Extra inputs: stream_options",
            Box::new(has("stream_options")),
            true.into(),
            false.into(),
        ),
        (
            "reasoning_effort",
            none(),
            "Unknown parameter: reasoning_effort",
            Box::new(has("reasoning_effort")),
            true.into(),
            false.into(),
        ),
        (
            "reasoning_effort, xAI",
            none(),
            "Model x does not support parameter reasoningEffort.",
            Box::new(has("reasoning_effort")),
            true.into(),
            false.into(),
        ),
        (
            "reasoning_effort, Ollama",
            none(),
            "\"gemma\" does not support thinking",
            Box::new(has("reasoning_effort")),
            true.into(),
            false.into(),
        ),
        (
            "developer_role",
            developer(),
            "'developer' is not one of ['system', 'user']",
            Box::new(role),
            "developer".into(),
            "system".into(),
        ),
        (
            "developer_role, vLLM",
            developer(),
            "Unexpected message role.",
            Box::new(role),
            "developer".into(),
            "system".into(),
        ),
        (
            "empty_tools",
            none(),
            "Anthropic expects the `tools=` param to be passed in.",
            Box::new(has("tools")),
            false.into(),
            true.into(),
        ),
        (
            "nothing to learn about a role that was not used",
            none(),
            "no developer here",
            Box::new(role),
            "system".into(),
            "system".into(),
        ),
    ];
    for (name, compat, complaint, look, before, after) in rows {
        let mut conversation = conversation("m", compat);
        conversation.push(&called());
        let draft = conversation.draft(&spec("high"));
        let refusal = json!({ "error": { "message": complaint } }).to_string();
        assert_eq!(look(&body(&*draft)), before, "{name}");
        assert!(!draft.learn(500, refusal.as_bytes()), "{name}: only a refusal teaches");
        assert_eq!(draft.learn(400, refusal.as_bytes()), before != after, "{name}");
        assert_eq!(look(&body(&*draft)), after, "{name}");
        assert!(!draft.learn(400, refusal.as_bytes()), "{name}: the same refusal teaches nothing more");
        assert_eq!(look(&body(&*conversation.draft(&spec("high")))), after, "{name}: it is not forgotten");
    }
}
