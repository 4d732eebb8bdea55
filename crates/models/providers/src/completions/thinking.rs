//! How a level of thinking is asked for. Servers agree on the idea and on nothing else.

use std::sync::Arc;

use bytes::{BufMut, BytesMut};

use crate::json::string;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThinkingFormat {
    /// `reasoning_effort: "high"`. OpenAI, Ollama, vLLM, Groq and most others.
    Effort,
    /// `reasoning: {"effort": "high"}`. OpenRouter.
    Reasoning,
    /// `thinking: {"type": "enabled"}` and the effort beside it. DeepSeek, z.ai.
    Thinking,
    /// `enable_thinking: true`. Qwen's own service.
    EnableThinking,
    /// `chat_template_kwargs: {"enable_thinking": true, "reasoning_effort": "high"}`. llama.cpp: a template takes the one or
    /// the other, and does not look at what it does not know.
    ChatTemplate,
}

/// What is asked for, in the server's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum AskedThinking {
    /// With the server's word for it, where it has one.
    Off(Option<Arc<str>>),
    On(Arc<str>),
}

impl ThinkingFormat {
    /// The members that ask for it. `effort`: whether `reasoning_effort` may be sent.
    pub(super) fn put(self, out: &mut BytesMut, thinking: &AskedThinking, effort: bool) {
        let on = matches!(thinking, AskedThinking::On(_));
        match self {
            ThinkingFormat::Effort => put_effort(out, word(thinking), effort),
            ThinkingFormat::Reasoning => {
                out.put_slice(br#""reasoning":{"effort":"#);
                string(out, word(thinking).unwrap_or("none"));
                out.put_slice(b"},");
            }
            ThinkingFormat::Thinking => {
                let kind = if on { "enabled" } else { "disabled" };
                out.put_slice(format!(r#""thinking":{{"type":"{kind}"}},"#).as_bytes());
                put_effort(out, word(thinking), effort && on);
            }
            ThinkingFormat::EnableThinking => out.put_slice(format!(r#""enable_thinking":{on},"#).as_bytes()),
            ThinkingFormat::ChatTemplate => {
                out.put_slice(format!(r#""chat_template_kwargs":{{"enable_thinking":{on}"#).as_bytes());
                if let Some(word) = word(thinking) {
                    out.put_slice(br#","reasoning_effort":"#);
                    string(out, word);
                }
                out.put_slice(b"},");
            }
        }
    }
}

fn word(thinking: &AskedThinking) -> Option<&str> {
    match thinking {
        AskedThinking::Off(word) => word.as_deref(),
        AskedThinking::On(word) => Some(word),
    }
}

fn put_effort(out: &mut BytesMut, word: Option<&str>, effort: bool) {
    if let Some(word) = word.filter(|_| effort) {
        out.put_slice(br#""reasoning_effort":"#);
        string(out, word);
        out.put_u8(b',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_is_asked_in_its_own_way() {
        use ThinkingFormat::{ChatTemplate, Effort, EnableThinking, Reasoning};
        let high = || AskedThinking::On("high".into());
        for (format, thinking, effort, want) in [
            (Effort, high(), true, r#""reasoning_effort":"high","#),
            (Effort, high(), false, ""),
            (Effort, AskedThinking::Off(None), true, ""),
            (Effort, AskedThinking::Off(Some("none".into())), true, r#""reasoning_effort":"none","#),
            (Reasoning, high(), true, r#""reasoning":{"effort":"high"},"#),
            (Reasoning, AskedThinking::Off(None), true, r#""reasoning":{"effort":"none"},"#),
            (ThinkingFormat::Thinking, high(), true, r#""thinking":{"type":"enabled"},"reasoning_effort":"high","#),
            (ThinkingFormat::Thinking, high(), false, r#""thinking":{"type":"enabled"},"#),
            (ThinkingFormat::Thinking, AskedThinking::Off(None), true, r#""thinking":{"type":"disabled"},"#),
            (EnableThinking, high(), true, r#""enable_thinking":true,"#),
            (EnableThinking, AskedThinking::Off(None), true, r#""enable_thinking":false,"#),
            (
                ChatTemplate,
                high(),
                true,
                r#""chat_template_kwargs":{"enable_thinking":true,"reasoning_effort":"high"},"#,
            ),
            (ChatTemplate, AskedThinking::Off(None), true, r#""chat_template_kwargs":{"enable_thinking":false},"#),
        ] {
            let mut out = BytesMut::new();
            format.put(&mut out, &thinking, effort);
            assert_eq!(std::str::from_utf8(&out).unwrap(), want, "{format:?} {thinking:?} {effort}");
        }
    }
}
