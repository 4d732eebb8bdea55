//! Failures that come inside an answer, by their code. The status of HTTP was 200 long before.

use vocab::{FaultKind, ModelFault};

use crate::faults;

/// Codes that say more than the words around them; the rest is judged as for every format.
const CODES: [(&str, FaultKind); 12] = [
    ("server_error", FaultKind::Provider),
    ("server_is_overloaded", FaultKind::Provider),
    ("vector_store_timeout", FaultKind::Provider),
    ("rate_limit_exceeded", FaultKind::RateLimited),
    ("slow_down", FaultKind::RateLimited),
    ("insufficient_quota", FaultKind::RateLimited),
    ("usage_limit_reached", FaultKind::RateLimited),
    ("context_length_exceeded", FaultKind::ContextOverflow),
    ("usage_not_included", FaultKind::RateLimited),
    ("invalid_prompt", FaultKind::BadRequest),
    ("data_residency_mismatch", FaultKind::BadRequest),
    ("failed_to_download_image", FaultKind::BadRequest),
];
/// What is forbidden and images that cannot be used have many codes: the same request will fail the same way.
const FOREVER: [&str; 6] = ["_policy", "policy_violation", "invalid_image", "image_", "_image", "unsupported_"];

/// `raw`: an error object, or an event that is one or has one.
pub(super) fn fault(raw: &[u8], server: &str) -> ModelFault {
    let fault = faults::in_stream(raw, server);
    if fault.fault.kind == FaultKind::ContextOverflow {
        // The words are clearer than any code: `invalid_prompt` may be one that is too long.
        return fault;
    }
    let codes = faults::said(raw).codes;
    let has = |code: &str| codes.split(' ').any(|one| one == code);
    let known = CODES.iter().find(|(code, _)| has(code)).map(|(_, kind)| *kind);
    let forever = || FOREVER.iter().any(|part| codes.contains(part)).then_some(FaultKind::BadRequest);
    let Some(kind) = known.or_else(forever) else { return fault };
    let mut judged = ModelFault::new(kind, fault.fault.message);
    (judged.fault.hints, judged.fault.status) = (fault.fault.hints, fault.fault.status);
    if faults::EXHAUSTED.iter().any(|code| has(code)) {
        judged.retryable = false;
        judged.retry_after_ms = fault.retry_after_ms;
    }
    judged
}
