//! Servers whose quirks are known beforehand. Whoever is not here is taken to be like most: what most servers take is
//! sent, and what this one refuses is learned.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::compat::{CallIds, Compat, ReasoningBack, TokensField};
use super::thinking::ThinkingFormat;

/// A server by the name under which it is configured, or by the host (or the end of the host) of its address.
struct KnownServer {
    names: &'static [&'static str],
    hosts: &'static [&'static str],
    compat: fn() -> Compat,
}

const KNOWN: &[KnownServer] = &[
    KnownServer { names: &["openai"], hosts: &["api.openai.com"], compat: openai },
    KnownServer { names: &["openrouter"], hosts: &["openrouter.ai"], compat: openrouter },
    KnownServer { names: &["deepseek"], hosts: &["api.deepseek.com"], compat: deepseek },
    KnownServer { names: &["zai", "z.ai", "zhipu"], hosts: &["api.z.ai", "open.bigmodel.cn"], compat: zai },
    KnownServer { names: &["qwen", "dashscope"], hosts: &["aliyuncs.com"], compat: qwen },
    KnownServer { names: &["mistral"], hosts: &["api.mistral.ai"], compat: mistral },
    KnownServer { names: &["xai"], hosts: &["api.x.ai"], compat: low_and_high },
    KnownServer { names: &["groq"], hosts: &["api.groq.com"], compat: groq },
    KnownServer { names: &["cerebras"], hosts: &["api.cerebras.ai"], compat: cerebras },
    KnownServer { names: &["together"], hosts: &["api.together.xyz", "api.together.ai"], compat: three_words },
    KnownServer {
        names: &["moonshot", "moonshotai", "kimi"],
        hosts: &["api.moonshot.ai", "api.moonshot.cn"],
        compat: kimi,
    },
    KnownServer { names: &["ollama"], hosts: &["ollama.com"], compat: ollama },
    KnownServer { names: &["llama.cpp", "llamacpp", "llama-cpp"], hosts: &[], compat: llama_cpp },
    KnownServer { names: &["lmstudio", "lm-studio", "lm studio"], hosts: &[], compat: three_words },
    KnownServer { names: &["vllm"], hosts: &[], compat: vllm },
];

impl Compat {
    /// What is known of a server by its address, else by its name. A name alone may be anybody's: `openai` is what every
    /// server is called whose address says nothing.
    pub fn of(name: &str, base_url: &str) -> Compat {
        let host = net::address::host(base_url);
        let host = host.unwrap_or_default();
        let is_at = |end: &&str| host == **end || host.strip_suffix(*end).is_some_and(|rest| rest.ends_with('.'));
        let by_host = KNOWN.iter().find(|known| known.hosts.iter().any(is_at));
        let named = |known: &&KnownServer| known.names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let by_name = || KNOWN.iter().filter(|known| known.names != ["openai"]).find(named);
        by_host.or_else(by_name).map(|known| (known.compat)()).unwrap_or_default()
    }
}

/// Levels under other words.
fn words(pairs: &[(&str, &str)]) -> BTreeMap<Arc<str>, Option<Arc<str>>> {
    pairs.iter().map(|(level, word)| (Arc::from(*level), Some(Arc::from(*word)))).collect()
}

fn openai() -> Compat {
    Compat {
        developer_role: Some(true),
        max_tokens_field: Some(TokensField::MaxCompletionTokens),
        store: Some(true),
        call_ids: Some(CallIds::Forty),
        ..Compat::default()
    }
}

fn openrouter() -> Compat {
    Compat {
        thinking_format: Some(ThinkingFormat::Reasoning),
        reasoning_back: Some(ReasoningBack::Details),
        claude_cache: Some(true),
        ..Compat::default()
    }
}

fn deepseek() -> Compat {
    Compat {
        thinking_format: Some(ThinkingFormat::Thinking),
        // Refuses a history with calls that lacks it.
        reasoning_back: Some(ReasoningBack::Content),
        ..Compat::default()
    }
}

fn zai() -> Compat {
    Compat { reasoning_effort: Some(false), ..deepseek() }
}

fn qwen() -> Compat {
    Compat { thinking_format: Some(ThinkingFormat::EnableThinking), ..Compat::default() }
}

fn mistral() -> Compat {
    // It thinks or does not, and has no middle.
    Compat {
        call_ids: Some(CallIds::Nine),
        tool_result_name: Some(true),
        assistant_after_result: Some(true),
        null_content: Some(false),
        efforts: words(&[("off", "none"), ("minimal", "high"), ("low", "high"), ("medium", "high"), ("xhigh", "high")]),
        ..Compat::default()
    }
}

fn low_and_high() -> Compat {
    Compat { efforts: words(&[("minimal", "low"), ("medium", "high"), ("xhigh", "high")]), ..Compat::default() }
}

fn three_words() -> Compat {
    Compat { efforts: words(&[("minimal", "low"), ("xhigh", "high")]), ..Compat::default() }
}

fn groq() -> Compat {
    Compat { max_tokens_field: Some(TokensField::MaxCompletionTokens), ..three_words() }
}

fn cerebras() -> Compat {
    Compat { max_tokens_field: Some(TokensField::MaxCompletionTokens), ..three_words() }
}

fn kimi() -> Compat {
    Compat { reasoning_effort: Some(false), reasoning_back: Some(ReasoningBack::Content), ..Compat::default() }
}

fn ollama() -> Compat {
    Compat {
        reasoning_back: Some(ReasoningBack::Reasoning),
        efforts: words(&[("off", "none"), ("minimal", "low"), ("xhigh", "high")]),
        ..Compat::default()
    }
}

fn llama_cpp() -> Compat {
    Compat {
        thinking_format: Some(ThinkingFormat::ChatTemplate),
        reasoning_back: Some(ReasoningBack::Content),
        ..Compat::default()
    }
}

fn vllm() -> Compat {
    Compat { reasoning_back: Some(ReasoningBack::Reasoning), ..three_words() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_address_or_its_name() {
        let nobody = Compat::default;
        for (name, url, want) in [
            ("openai", "https://api.openai.com/v1", openai()),
            ("anything", "https://API.openai.com:443/v1/", openai()),
            // Servers that nobody knows are called so, too.
            ("openai", "http://127.0.0.1:9999/v1", nobody()),
            ("lab", "https://api.openai.com.evil.example/v1", nobody()),
            ("lab", "https://notapi.openai.company/v1", nobody()),
            ("lab", "https://evilopenrouter.ai/v1", nobody()),
            ("lab", "https://eu.openrouter.ai/api/v1", openrouter()),
            ("x", "https://openrouter.ai/api/v1", openrouter()),
            ("deepseek", "https://api.deepseek.com", deepseek()),
            ("DeepSeek", "http://127.0.0.1:1/v1", deepseek()),
            ("x", "https://api.z.ai/api/paas/v4", zai()),
            ("x", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", qwen()),
            ("x", "https://api.mistral.ai/v1", mistral()),
            ("x", "https://api.x.ai/v1", low_and_high()),
            ("x", "https://api.groq.com/openai/v1", groq()),
            ("x", "https://api.cerebras.ai/v1", cerebras()),
            ("x", "https://api.together.xyz/v1", three_words()),
            ("x", "https://api.moonshot.ai/v1", kimi()),
            ("ollama", "http://127.0.0.1:11434/v1", ollama()),
            ("llama.cpp", "http://127.0.0.1:8080/v1", llama_cpp()),
            ("LM Studio", "http://127.0.0.1:1234/v1", three_words()),
            ("vLLM", "http://127.0.0.1:8000/v1", vllm()),
            // The address is the better witness.
            ("ollama", "https://openrouter.ai/api/v1", openrouter()),
            ("", "", nobody()),
        ] {
            assert_eq!(Compat::of(name, url), want, "{name} {url}");
        }
    }
}
