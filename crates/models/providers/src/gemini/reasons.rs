//! Why an answer stopped, in Gemini's words: one table.

use vocab::{FaultKind, Finish, ModelFault};

use crate::faults;

/// What the reason means; `detail` is the server's own sentence about it. `spoke`: something was said or called before.
pub(super) fn stopped(reason: &str, detail: &str, spoke: bool) -> Result<Finish, ModelFault> {
    Ok(match reason {
        "STOP" => Finish::Stop,
        // More could follow in a second request; to us it is an answer that ran into a limit.
        "MAX_TOKENS" | "CONTINUATION" => Finish::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Finish::Refusal,
        "MALFORMED_FUNCTION_CALL" => {
            return Err(failed(reason, "the model wrote a tool call that cannot be read", detail));
        }
        "UNEXPECTED_TOOL_CALL" => {
            return Err(failed(reason, "the model called a tool that it was not offered", detail));
        }
        "MALFORMED_RESPONSE" => return Err(failed(reason, "the model wrote an answer that cannot be read", detail)),
        "TOO_MANY_TOOL_CALLS" => {
            return Err(lasting(failed(reason, "the model called too many tools in a row", detail)));
        }
        "MISSING_THOUGHT_SIGNATURE" => {
            let mut fault = failed(reason, "a tool call in the history has lost its signature", detail);
            fault.fault.kind = FaultKind::BadRequest;
            faults::hint(&mut fault, "compact the session or begin a new one");
            return Err(lasting(fault));
        }
        "NO_IMAGE" | "IMAGE_OTHER" | "OTHER" | "FINISH_REASON_UNSPECIFIED" => {
            return Err(failed(reason, "the model stopped and the server does not say why", detail));
        }
        // A word nobody has heard yet: what was said counts, and nothing said is no answer.
        _ if spoke => Finish::Stop,
        _ => return Err(failed(reason, "the model stopped before it said anything", detail)),
    })
}

/// What an answer says that was stopped before it said anything.
pub(super) fn silenced(what: &str, reason: &str, detail: &str) -> String {
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    format!("[{what} ({reason}){detail}]")
}

fn failed(reason: &str, what: &str, detail: &str) -> ModelFault {
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    faults::provider(format!("{what} ({reason}){detail}"))
}

/// The same request will end the same.
fn lasting(fault: ModelFault) -> ModelFault {
    ModelFault { retryable: false, ..fault }
}
