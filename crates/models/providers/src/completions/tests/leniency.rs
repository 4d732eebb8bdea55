//! What servers do differently in their answers, each with a name, a server that does it and a recording. Nobody has to
//! say which server it is: the reading of each is the same for all.

use std::sync::Arc;

use vocab::{FaultKind, Finish, ModelEvent, Usage};

use crate::reader::AnswerReader;

enum Want {
    Events(Vec<ModelEvent>),
    /// What came before, and the kind of the fault that ended it with a word of its message.
    Fault(Vec<ModelEvent>, FaultKind, &'static str),
}

struct Quirk {
    name: &'static str,
    server: &'static str,
    /// The data of each event; nothing follows the last one.
    chunks: &'static [&'static str],
    want: Want,
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.into())
}
fn thinking(text: &str) -> ModelEvent {
    ModelEvent::Thinking(text.into())
}
fn seal(text: &str) -> ModelEvent {
    ModelEvent::Seal(text.into())
}
fn call(index: u32, id: &str, name: &str, input: &str) -> ModelEvent {
    ModelEvent::Call { index, id: Some(id.into()), name: Some(name.into()), input: input.into() }
}
fn more(index: u32, input: &str) -> ModelEvent {
    ModelEvent::Call { index, id: None, name: None, input: input.into() }
}
fn usage(input: u64, cache_read: u64, output: u64) -> ModelEvent {
    ModelEvent::Usage(Usage { input, cache_read, cache_write: 0, output, estimated: false })
}
fn end(finish: Finish) -> ModelEvent {
    ModelEvent::Finished(finish)
}

const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const DONE: &str = "[DONE]";
const HI: &str = r#"{"choices":[{"index":0,"delta":{"content":"hi"}}]}"#;

fn quirks() -> Vec<Quirk> {
    use FaultKind::{ContextOverflow, Provider, RateLimited};
    use Want::{Events, Fault};
    let row = |name, server, chunks, want| Quirk { name, server, chunks, want };
    let stop = || end(Finish::Stop);
    vec![
        row("by the book", "OpenAI", &[HI, STOP, DONE], Events(vec![text("hi"), stop()])),
        // ---- thinking
        row(
            "reasoning_content",
            "DeepSeek, llama.cpp",
            &[r#"{"choices":[{"delta":{"content":null,"reasoning_content":"hm"}}]}"#, HI, STOP, DONE],
            Events(vec![thinking("hm"), text("hi"), stop()]),
        ),
        row(
            "reasoning",
            "OpenRouter, vLLM, Ollama, Groq",
            &[r#"{"choices":[{"delta":{"content":"","reasoning":"hm"}}]}"#, HI, STOP, DONE],
            Events(vec![thinking("hm"), text("hi"), stop()]),
        ),
        row(
            "reasoning_text",
            "GitHub Copilot",
            &[r#"{"choices":[{"delta":{"reasoning_text":"hm"}}]}"#, HI, STOP, DONE],
            Events(vec![thinking("hm"), text("hi"), stop()]),
        ),
        row(
            "reasoning under two names",
            "Chutes",
            &[r#"{"choices":[{"delta":{"reasoning_content":"hm","reasoning":"hm"}}]}"#, STOP, DONE],
            Events(vec![thinking("hm"), stop()]),
        ),
        row(
            "reasoning as parts of the content",
            "Mistral",
            &[
                r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}]}"#,
                r#"{"choices":[{"delta":{"content":[{"type":"text","text":"hi"}]}}]}"#,
                STOP,
                DONE,
            ],
            Events(vec![thinking("hm"), text("hi"), stop()]),
        ),
        row(
            "reasoning_details",
            "OpenRouter",
            &[
                r#"{"choices":[{"delta":{"content":"","reasoning":"h","reasoning_details":[{"type":"reasoning.text","text":"h","index":0}]}}]}"#,
                r#"{"choices":[{"delta":{"content":"","reasoning":"m","reasoning_details":[{"type":"reasoning.text","text":"m","index":0}]}}]}"#,
                r#"{"choices":[{"delta":{"content":"","reasoning":null,"reasoning_details":[{"type":"reasoning.text","signature":"S=","index":0}]}}]}"#,
                HI,
                r#"{"choices":[{"delta":{"content":"","reasoning_details":[{"type":"reasoning.encrypted","data":"E","id":"c"}]}}]}"#,
                STOP,
                DONE,
            ],
            Events(vec![
                thinking("h"),
                thinking("m"),
                seal(r#"[{"type":"reasoning.text","text":"hm","index":0,"signature":"S="}]"#),
                text("hi"),
                seal(r#"[{"type":"reasoning.encrypted","data":"E","id":"c"}]"#),
                stop(),
            ]),
        ),
        row(
            "reasoning_details are null",
            "OpenRouter",
            &[r#"{"choices":[{"delta":{"content":"hi","reasoning_details":null}}]}"#, STOP],
            Events(vec![text("hi"), stop()]),
        ),
        // ---- usage
        row("usage chunk absent", "llama.cpp, older", &[HI, STOP, DONE], Events(vec![text("hi"), stop()])),
        row(
            "usage without choices",
            "OpenAI",
            &[HI, STOP, r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#, DONE],
            Events(vec![text("hi"), usage(3, 0, 1), stop()]),
        ),
        row(
            "usage with every chunk",
            "vLLM with continuous usage",
            &[
                r#"{"choices":[{"delta":{"content":"hi"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#,
                r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
                r#"{"choices":[],"usage":null}"#,
                DONE,
            ],
            Events(vec![text("hi"), usage(3, 0, 2), stop()]),
        ),
        row(
            "usage in the choice",
            "Moonshot",
            &[
                HI,
                r#"{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":5,"completion_tokens":1,"cached_tokens":2}}]}"#,
                DONE,
            ],
            Events(vec![text("hi"), usage(3, 2, 1), stop()]),
        ),
        row(
            "usage aside",
            "Groq",
            &[
                HI,
                r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"req","usage":{"prompt_tokens":3,"completion_tokens":1}}}"#,
                DONE,
            ],
            Events(vec![text("hi"), usage(3, 0, 1), stop()]),
        ),
        row(
            "cached tokens under a name of their own",
            "DeepSeek",
            &[
                HI,
                r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":1}}"#,
                DONE,
            ],
            Events(vec![text("hi"), usage(1, 8, 1), stop()]),
        ),
        row(
            "counts as floats",
            "servers behind JavaScript",
            &[HI, STOP, r#"{"choices":[],"usage":{"prompt_tokens":3.0,"completion_tokens":1.0}}"#, DONE],
            Events(vec![text("hi"), usage(3, 0, 1), stop()]),
        ),
        row(
            "the cost is told and not taken",
            "OpenRouter",
            &[
                HI,
                STOP,
                r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1,"cost":0.95,"cost_details":{"upstream_inference_cost":null}}}"#,
                DONE,
            ],
            Events(vec![text("hi"), usage(3, 0, 1), stop()]),
        ),
        // ---- calls
        row(
            "tool call index missing",
            "Gemini's own endpoint, older Ollama",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}"#,
                r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
            ],
            Events(vec![call(0, "a", "f", "{}"), call(1, "b", "g", "{}"), end(Finish::ToolUse)]),
        ),
        row(
            "index zero for every call",
            "Ollama",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}"#,
                r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
            ],
            Events(vec![call(0, "a", "f", "{}"), call(1, "b", "g", "{}"), end(Finish::ToolUse)]),
        ),
        row(
            "the id with every fragment",
            "LM Studio",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"","arguments":"}"}}]}}]}"#,
                r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
            ],
            Events(vec![call(0, "a", "f", "{"), more(0, "}"), end(Finish::ToolUse)]),
        ),
        row(
            "no id at all",
            "llama.cpp, some templates",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":"{}"}}]}}]}"#,
                r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
            ],
            Events(vec![call(0, "call_0", "f", "{}"), end(Finish::ToolUse)]),
        ),
        row(
            "arguments as an object",
            "Ollama, older",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}}]}"#,
                r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
            ],
            Events(vec![call(0, "a", "f", r#"{"x":1}"#), end(Finish::ToolUse)]),
        ),
        row(
            "function_call instead of tool_calls",
            "servers from before parallel calls",
            &[
                r#"{"choices":[{"delta":{"function_call":{"name":"f","arguments":"{}"}}}]}"#,
                r#"{"choices":[{"delta":{},"finish_reason":"function_call"}]}"#,
            ],
            Events(vec![call(0, "call_0", "f", "{}"), end(Finish::ToolUse)]),
        ),
        row(
            "stop although tools are called",
            "Ollama, llama.cpp",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#,
                STOP,
                DONE,
            ],
            Events(vec![call(0, "a", "f", "{}"), end(Finish::ToolUse)]),
        ),
        // ---- the end
        row("[DONE] missing", "LM Studio, gateways", &[HI, STOP], Events(vec![text("hi"), stop()])),
        row(
            "tool_calls although none came",
            "vLLM",
            &[HI, r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#],
            Events(vec![text("hi"), stop()]),
        ),
        row(
            "the reason with the last words",
            "Ollama",
            &[r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}"#],
            Events(vec![text("hi"), stop()]),
        ),
        row(
            "an empty reason before the real one",
            "Ollama, older",
            &[r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":""}]}"#, STOP],
            Events(vec![text("hi"), stop()]),
        ),
        row(
            "the whole message instead of a delta",
            "servers that do not stream",
            &[r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"eos"}]}"#],
            Events(vec![text("hi"), stop()]),
        ),
        row(
            "capacity gone in the middle",
            "DeepSeek",
            &[HI, r#"{"choices":[{"delta":{},"finish_reason":"insufficient_system_resource"}]}"#],
            Fault(vec![text("hi")], Provider, "capacity"),
        ),
        row(
            "overflow as a reason to stop",
            "z.ai",
            &[r#"{"choices":[{"delta":{},"finish_reason":"model_context_window_exceeded"}]}"#],
            Fault(vec![], ContextOverflow, "context window"),
        ),
        // ---- errors in an answer that began well
        row(
            "an error at the top",
            "llama.cpp, vLLM, OpenRouter",
            &[
                HI,
                r#"{"error":{"code":502,"message":"upstream"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#,
            ],
            Fault(vec![text("hi")], Provider, "502 upstream"),
        ),
        row(
            "an error in the choice",
            "OpenRouter",
            &[
                HI,
                r#"{"choices":[{"delta":{"content":""},"finish_reason":"error","error":{"code":429,"message":"slow"}}]}"#,
            ],
            Fault(vec![text("hi")], RateLimited, "429 slow"),
        ),
        row(
            "an error with the words of the server behind",
            "OpenRouter",
            &[
                r#"{"error":{"code":400,"message":"Provider returned error","metadata":{"provider_name":"Acme","raw":"{\"error\":\"maximum context length is 8 tokens\"}"}}}"#,
            ],
            Fault(vec![], ContextOverflow, "maximum context length"),
        ),
        row(
            "only the other server's word for an error",
            "OpenRouter",
            &[r#"{"choices":[{"delta":{},"finish_reason":"error","native_finish_reason":"MALFORMED_FUNCTION_CALL"}]}"#],
            Fault(vec![], Provider, "MALFORMED_FUNCTION_CALL"),
        ),
        row(
            "a chunk that is an error",
            "vLLM, older",
            &[HI, r#"{"object":"error","message":"boom","type":"InternalServerError","code":500}"#],
            Fault(vec![text("hi")], Provider, "500 boom"),
        ),
        // ---- chunks that say nothing
        row(
            "chunks without a choice",
            "Azure",
            &[r#"{"choices":[],"prompt_filter_results":[]}"#, r#"{"choices":null}"#, "{}", HI, STOP, DONE],
            Events(vec![text("hi"), stop()]),
        ),
        row(
            "a refusal of its own",
            "OpenAI",
            &[r#"{"choices":[{"delta":{"refusal":"no"}}]}"#, STOP, DONE],
            Events(vec![text("no"), end(Finish::Refusal)]),
        ),
    ]
}

#[test]
fn every_quirk_is_read() {
    for Quirk { name, server, chunks, want } in quirks() {
        let mut reader = AnswerReader::new(crate::completions::decoder(Arc::from("http://x/v1")));
        chunks.iter().for_each(|chunk| reader.feed(format!("data: {chunk}\n\n").as_bytes()));
        let mut events: Vec<ModelEvent> = std::iter::from_fn(|| reader.next()).collect();
        reader.end(None);
        events.extend(std::iter::from_fn(|| reader.next()));
        match want {
            Want::Events(want) => assert_eq!(events, want, "{name} ({server})"),
            Want::Fault(want, kind, word) => {
                let Some(ModelEvent::Failed(fault)) = events.pop() else { panic!("{name} ({server}): no fault") };
                assert_eq!((events, fault.fault.kind), (want, kind), "{name} ({server})");
                assert!(fault.fault.message.contains(word), "{name} ({server}): {}", fault.fault.message);
            }
        }
    }
}

#[test]
fn no_quirk_is_told_twice() {
    let mut names: Vec<&str> = quirks().iter().map(|quirk| quirk.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), quirks().len());
}
