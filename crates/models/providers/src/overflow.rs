//! How servers say that a conversation does not fit the model. A wrong guess here costs a compaction nobody wanted, so
//! every row is as long as it must be to mean nothing else.

/// Whose words they are, and what must all be in the message or its codes, in lower case.
const SAYINGS: &[(&str, &[&str])] = &[
    ("OpenAI", &["context_length_exceeded"]),
    ("OpenAI", &["exceeds the context window"]),
    ("OpenAI, vLLM, DeepSeek, OpenRouter", &["maximum context length is", "token"]),
    ("vLLM", &["longer than the maximum model length"]),
    ("Anthropic", &["prompt is too long"]),
    ("Anthropic", &["exceed context limit"]),
    ("Anthropic", &["request_too_large"]),
    ("Gemini", &["input token count", "exceeds the maximum number of tokens"]),
    ("llama.cpp", &["exceed_context_size"]),
    ("llama.cpp", &["exceeds the available context size"]),
    ("llama-cpp-python", &["requested tokens", "exceed context window of"]),
    ("LM Studio", &["tokens to keep from the initial prompt", "context length"]),
    ("LM Studio", &["trying to keep the first", "context the overflows"]),
    ("LM Studio", &["reached context length of"]),
    ("Ollama", &["prompt too long", "context length"]),
    ("Ollama", &["input length exceeds", "context length"]),
    ("Mistral", &["too large for model with", "maximum context length"]),
    ("Groq, Cerebras", &["reduce the length of the messages"]),
    ("xAI", &["maximum prompt length is", "request contains"]),
    ("Together", &["tokens + `max_new_tokens` must be <="]),
    ("Together", &["is longer than the model's context length"]),
    ("Moonshot", &["exceeded model token limit"]),
    ("MiniMax", &["context window exceeds limit"]),
    ("z.ai", &["prompt exceeds max length"]),
    ("z.ai", &["model_context_window_exceeded"]),
    ("Qwen", &["range of input length should be"]),
    ("GitHub Copilot", &["prompt token count of", "exceeds the limit of"]),
    ("Bedrock", &["input is too long for requested model"]),
];

/// `mentions` tells whether a word stands in what the server said.
pub(crate) fn is_meant(mentions: impl Fn(&str) -> bool) -> bool {
    SAYINGS.iter().any(|(_, words)| words.iter().all(|word| mentions(word)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use net::HeaderMap;
    use serde_json::json;
    use vocab::FaultKind;

    use super::*;
    use crate::faults;

    /// A recorded refusal: whose, the status, the code or type, the message.
    const MEANT: &[(&str, u16, &str, &str)] = &[
        ("OpenAI", 400, "context_length_exceeded", "Your input is too large."),
        ("OpenAI", 400, "", "Your input exceeds the context window of this model. Please adjust your input."),
        (
            "OpenAI",
            400,
            "",
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
        ),
        (
            "vLLM",
            400,
            "BadRequestError",
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages",
        ),
        (
            "vLLM",
            400,
            "BadRequestError",
            "The decoder prompt (length 40) is longer than the maximum model length of 32.",
        ),
        (
            "DeepSeek",
            400,
            "invalid_request_error",
            "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens",
        ),
        (
            "OpenRouter",
            400,
            "",
            "This endpoint's maximum context length is 200000 tokens. However, you requested about 210000 tokens",
        ),
        ("Anthropic", 400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"),
        (
            "Anthropic",
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
        ),
        ("Anthropic", 413, "request_too_large", "Request exceeds the maximum size"),
        ("Gemini", 400, "", "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."),
        ("llama.cpp", 400, "exceed_context_size_error", "the request exceeds it"),
        ("llama.cpp", 500, "server_error", "the request exceeds the available context size, try increasing it"),
        ("llama-cpp-python", 400, "", "Requested tokens (516) exceed context window of 512"),
        (
            "LM Studio",
            400,
            "",
            "The number of tokens to keep from the initial prompt is greater than the context length.",
        ),
        (
            "LM Studio",
            400,
            "",
            "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens",
        ),
        (
            "LM Studio",
            400,
            "",
            "Reached context length of 4096 tokens with this model, but this model does not currently support mid-generation context overflow.",
        ),
        ("Ollama", 400, "", "prompt too long; exceeded max context length by 12 tokens"),
        ("Ollama", 400, "", "the input length exceeds the context length"),
        (
            "Mistral",
            400,
            "3051",
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        ),
        ("Groq", 400, "", "Please reduce the length of the messages or completion."),
        (
            "Cerebras",
            400,
            "",
            "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
        ),
        ("xAI", 400, "", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        (
            "Together",
            422,
            "",
            "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 0 `max_new_tokens`",
        ),
        ("Together", 400, "", "The input (9000 tokens) is longer than the model's context length (8192 tokens)."),
        ("Moonshot", 400, "", "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)"),
        ("MiniMax", 400, "", "invalid params, context window exceeds limit (2013)"),
        ("z.ai", 400, "1261", "Prompt exceeds max length"),
        ("z.ai", 400, "", "model_context_window_exceeded"),
        ("Qwen", 400, "", "Range of input length should be [1, 129024]"),
        ("GitHub Copilot", 400, "", "prompt token count of 70000 exceeds the limit of 64000"),
        ("Bedrock", 400, "", "Input is too long for requested model."),
    ];

    /// Words that come close and mean something else: asking with less would not help.
    const NOT_MEANT: &[(&str, u16, &str, &str)] = &[
        ("OpenAI", 400, "", "max_tokens is too large: 100000. This model supports at most 16384 completion tokens."),
        (
            "OpenAI",
            400,
            "string_above_max_length",
            "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024.",
        ),
        ("OpenAI", 400, "", "Unknown parameter: 'context_length'."),
        (
            "OpenAI",
            429,
            "rate_limit_exceeded",
            "Request too large on tokens per min (TPM): Limit 10000, Requested 12000.",
        ),
        ("OpenAI", 429, "context_length_exceeded", "slow down"),
        (
            "Anthropic",
            400,
            "invalid_request_error",
            "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens",
        ),
        (
            "Anthropic",
            400,
            "invalid_request_error",
            "The long context beta is not yet available for this subscription.",
        ),
        ("Anthropic", 400, "invalid_request_error", "messages.0.content.1.image.source: image exceeds 5 MB maximum"),
        ("Anthropic", 403, "permission_error", "no access to the 1M context window"),
        ("Bedrock", 400, "ThrottlingException", "Too many tokens, please wait before trying again."),
        ("Ollama", 400, "", "num_ctx: the context size must be a number"),
        ("Ollama", 404, "", "model with this context length was not found"),
        ("llama.cpp", 400, "", "the context window of the draft model differs"),
        ("OpenRouter", 400, "", "This model does not support a context length of 1000000 with this provider"),
        ("Gemini", 400, "", "The number of function declarations exceeds the maximum allowed"),
        ("Gemini", 429, "", "You exceeded your current quota: input token count per minute"),
        ("xAI", 400, "", "maximum prompt length is configured by your team"),
        ("Cerebras", 400, "", ""),
    ];

    fn kind(status: u16, code: &str, message: &str) -> FaultKind {
        let body = json!({ "error": { "message": message, "code": code } }).to_string();
        faults::refused(status, &HeaderMap::new(), body.as_bytes(), "http://x/v1").fault.kind
    }

    #[test]
    fn every_server_is_understood() {
        for (vendor, status, code, message) in MEANT {
            assert_eq!(kind(*status, code, message), FaultKind::ContextOverflow, "{vendor}: {message}");
            // The same words in the middle of a stream.
            let body = json!({ "message": message, "code": code }).to_string();
            let fault = faults::in_stream(body.as_bytes(), "http://x/v1");
            let told = fault.fault.kind == FaultKind::ContextOverflow;
            assert!(told, "{vendor}: {message}");
        }
    }

    #[test]
    fn every_row_is_somebodys_and_none_is_spare() {
        let said = |code: &str, message: &str| format!("{code} {message}").to_lowercase();
        let mut used = BTreeSet::new();
        for (_, _, code, message) in MEANT {
            let said = said(code, message);
            let row = SAYINGS.iter().position(|(_, words)| words.iter().all(|word| said.contains(word)));
            used.extend(row);
        }
        assert_eq!(used.len(), SAYINGS.len(), "each row has a recording that needs it");
    }

    #[test]
    fn what_only_sounds_like_it_is_not_taken_for_it() {
        for (vendor, status, code, message) in NOT_MEANT {
            assert_ne!(kind(*status, code, message), FaultKind::ContextOverflow, "{vendor}: {message}");
        }
    }
}
