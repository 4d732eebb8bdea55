//! Why an answer stopped, in the words of many servers.

use vocab::{FaultKind, Finish, ModelFault};

use crate::faults;

/// Words for what went wrong instead of an answer: what it means, and what people read.
const WRONG: &[(&str, FaultKind, &str)] = &[
    ("error", FaultKind::Provider, "the server ended the answer with an error and no reason"),
    // vLLM
    ("abort", FaultKind::Provider, "the server broke the answer off"),
    // z.ai
    ("network_error", FaultKind::Provider, "the server lost its own connection to the model"),
    (
        "model_context_window_exceeded",
        FaultKind::ContextOverflow,
        "the conversation exceeds the model's context window",
    ),
    // DeepSeek
    ("insufficient_system_resource", FaultKind::Provider, "the server has too little capacity at the moment"),
];

const LENGTH: &[&str] = &["length", "max_tokens", "model_length", "max_output_tokens"];
/// `sensitive` is z.ai's, `safety` Gemini's through gateways.
const REFUSED: &[&str] = &["content_filter", "refusal", "sensitive", "safety", "prohibited_content"];
const TOOLS: &[&str] = &["tool_calls", "function_call", "tool_use"];

/// `native`: the word of the server behind the server, where a gateway tells it.
pub(super) fn stopped(reason: &str, native: Option<&str>) -> Result<Finish, ModelFault> {
    let reason = reason.to_ascii_lowercase();
    let among = |words: &[&str]| words.contains(&&*reason);
    if let Some((_, kind, text)) = WRONG.iter().find(|(word, ..)| *word == reason) {
        let native = native.filter(|native| !native.eq_ignore_ascii_case(&reason) && !native.is_empty());
        let more = native.map(|native| format!(" ({native})")).unwrap_or_default();
        return Err(match kind {
            FaultKind::Provider => faults::provider(format!("{text}{more}")),
            kind => ModelFault::new(*kind, format!("{text}{more}")),
        });
    }
    Ok(match () {
        () if among(LENGTH) => Finish::Length,
        () if among(REFUSED) => Finish::Refusal,
        () if among(TOOLS) => Finish::ToolUse,
        // `stop`, `eos`, `end_turn`, and words nobody has heard yet.
        () => Finish::Stop,
    })
}

/// Reasons that servers give wrongly are put right by what really came.
pub(super) fn settle(finish: Finish, refused: bool, calls: bool) -> Finish {
    match finish {
        Finish::Stop | Finish::ToolUse if calls => Finish::ToolUse,
        Finish::Stop | Finish::ToolUse if refused => Finish::Refusal,
        Finish::ToolUse => Finish::Stop,
        finish => finish,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_its_meaning() {
        for (word, want) in [
            ("stop", Finish::Stop),
            ("STOP", Finish::Stop),
            ("eos", Finish::Stop),
            ("something_new", Finish::Stop),
            ("length", Finish::Length),
            ("MAX_TOKENS", Finish::Length),
            ("model_length", Finish::Length),
            ("content_filter", Finish::Refusal),
            ("sensitive", Finish::Refusal),
            ("SAFETY", Finish::Refusal),
            ("tool_calls", Finish::ToolUse),
            ("function_call", Finish::ToolUse),
            ("tool_use", Finish::ToolUse),
        ] {
            assert_eq!(stopped(word, None), Ok(want), "{word}");
        }
        for (word, native, kind, retryable, text) in [
            ("error", Some("MALFORMED_FUNCTION_CALL"), FaultKind::Provider, true, "MALFORMED_FUNCTION_CALL"),
            ("error", Some("error"), FaultKind::Provider, true, "no reason"),
            ("abort", None, FaultKind::Provider, true, "broke"),
            ("network_error", None, FaultKind::Provider, true, "connection"),
            ("insufficient_system_resource", None, FaultKind::Provider, true, "capacity"),
            ("model_context_window_exceeded", None, FaultKind::ContextOverflow, false, "context window"),
        ] {
            let fault = stopped(word, native).unwrap_err();
            assert_eq!((fault.fault.kind, fault.retryable), (kind, retryable), "{word}");
            assert!(fault.fault.message.contains(text), "{word}: {}", fault.fault.message);
        }
    }
}
