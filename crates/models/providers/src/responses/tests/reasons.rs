//! One row for each way in which an answer can end.

use vocab::FaultKind::{self, *};
use vocab::Finish;

use super::*;

#[test]
fn every_reason_to_stop() {
    const TEXT: &str = r#"{"type":"response.output_text.delta","delta":"a"}"#;
    const REFUSAL: &str = r#"{"type":"response.refusal.delta","delta":"no"}"#;
    const CALL: &str = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}"#;
    for (said, event, details, want) in [
        (TEXT, "completed", "null", Finish::Stop),
        (CALL, "completed", "null", Finish::ToolUse),
        (REFUSAL, "completed", "null", Finish::Refusal),
        (TEXT, "incomplete", r#"{"reason":"max_output_tokens"}"#, Finish::Length),
        (CALL, "incomplete", r#"{"reason":"max_output_tokens"}"#, Finish::Length),
        (TEXT, "incomplete", r#"{"reason":"content_filter"}"#, Finish::Refusal),
        (TEXT, "incomplete", r#"{"reason":"max_messages"}"#, Finish::Length),
        (TEXT, "incomplete", r#"{"reason":"something new"}"#, Finish::Length),
        (TEXT, "incomplete", "null", Finish::Length),
        (TEXT, "completed", r#"{"reason":"max_output_tokens"}"#, Finish::Length),
    ] {
        let last = format!(r#"{{"type":"response.{event}","response":{{"incomplete_details":{details}}}}}"#);
        let events = read_data(&[said, &last]);
        assert_eq!(events.last(), Some(&ModelEvent::Finished(want)), "{event} {details}");
        // The same as the whole answer of a server that does not stream; there the status is in the answer.
        let mut reader = reader();
        reader.whole(format!(r#"{{"status":"{event}","incomplete_details":{details}}}"#).as_bytes());
        let want = if matches!(want, Finish::ToolUse) || said == REFUSAL { Finish::Stop } else { want };
        assert_eq!(reader.next(), Some(ModelEvent::Finished(want)), "{event} {details}");
    }
    // The last event of ChatGPT's backend, which leaves the reason to the response.
    for (response, want) in [
        (r#"{"status":"completed"}"#, Finish::Stop),
        (r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#, Finish::Length),
    ] {
        let last = format!(r#"{{"type":"response.done","response":{response}}}"#);
        assert_eq!(read_data(&[TEXT, &last]).last(), Some(&ModelEvent::Finished(want)), "{response}");
    }
    // Without a response in it the event is enough.
    assert_eq!(notes(&read_data(&[TEXT, r#"{"type":"response.completed"}"#])), "text \"a\"\nfinished Stop\n");
}

#[test]
fn every_failure_has_its_kind() {
    for (code, message, kind, retryable) in [
        ("server_error", "m", Provider, true),
        ("server_is_overloaded", "m", Provider, true),
        ("vector_store_timeout", "m", Provider, true),
        ("rate_limit_exceeded", "m", RateLimited, true),
        ("slow_down", "m", RateLimited, true),
        ("insufficient_quota", "m", RateLimited, false),
        ("usage_limit_reached", "m", RateLimited, false),
        ("usage_not_included", "m", RateLimited, false),
        ("context_length_exceeded", "m", ContextOverflow, false),
        ("", "Your input exceeds the context window of this model.", ContextOverflow, false),
        ("invalid_prompt", "m", BadRequest, false),
        ("data_residency_mismatch", "m", BadRequest, false),
        ("bio_policy", "m", BadRequest, false),
        ("misalignment_policy_violation", "m", BadRequest, false),
        ("image_content_policy_violation", "m", BadRequest, false),
        ("invalid_image", "m", BadRequest, false),
        ("invalid_image_format", "m", BadRequest, false),
        ("invalid_base64_image", "m", BadRequest, false),
        ("invalid_image_url", "m", BadRequest, false),
        ("invalid_image_mode", "m", BadRequest, false),
        ("image_too_large", "m", BadRequest, false),
        ("image_too_small", "m", BadRequest, false),
        ("image_parse_error", "m", BadRequest, false),
        ("image_file_too_large", "m", BadRequest, false),
        ("image_file_not_found", "m", BadRequest, false),
        ("unsupported_image_media_type", "m", BadRequest, false),
        ("empty_image_file", "m", BadRequest, false),
        ("failed_to_download_image", "m", BadRequest, false),
        ("invalid_api_key", "m", Auth, false),
        ("something_new", "m", Provider, true),
    ] {
        let error = format!(r#"{{"code":"{code}","message":"{message}"}}"#);
        let flat = error.replacen('{', r#"{"type":"error","sequence_number":3,"#, 1);
        for event in [
            format!(r#"{{"type":"response.failed","response":{{"status":"failed","error":{error}}}}}"#),
            flat,
            format!(r#"{{"type":"error","error":{error},"status":400}}"#),
            format!(r#"{{"error":{error}}}"#),
        ] {
            judged(&read_data(&[&event]), kind, retryable, message, &event);
        }
        let mut reader = reader();
        reader.whole(format!(r#"{{"status":"failed","error":{error}}}"#).as_bytes());
        let events: Vec<_> = std::iter::from_fn(|| reader.next()).collect();
        judged(&events, kind, retryable, message, code);
    }
}

fn judged(events: &[ModelEvent], kind: FaultKind, retryable: bool, message: &str, what: &str) {
    let fault = failure(events);
    assert_eq!((fault.fault.kind, fault.retryable), (kind, retryable), "{what}");
    assert_eq!(fault.fault.message, message, "{what}");
}

#[test]
fn failures_without_words_are_failures() {
    for (event, message) in [
        (r#"{"type":"response.failed"}"#, "the answer was failed; the server gave no reason"),
        (
            r#"{"type":"response.failed","response":{"error":null,"incomplete_details":{"reason":"x"}}}"#,
            "the answer was failed; the server said only: x",
        ),
        (r#"{"type":"response.cancelled","response":{}}"#, "the answer was cancelled; the server gave no reason"),
        (r#"{"type":"error"}"#, ""),
    ] {
        let events = read_data(&[event]);
        assert_eq!(failure(&events).fault.kind, Provider, "{event}");
        assert!(failure(&events).fault.message.starts_with(message), "{:?}", failure(&events));
    }
    // An answer that is not over, and no answer at all.
    for body in [r#"{"status":"in_progress","output":[]}"#, r#"{"status":"queued"}"#, "{}"] {
        let mut reader = reader();
        reader.whole(body.as_bytes());
        let events: Vec<_> = std::iter::from_fn(|| reader.next()).collect();
        assert_eq!(failure(&events).fault.kind, StreamCut, "{body}");
    }
}

#[test]
fn tokens_of_a_failure_were_spent() {
    let failed = r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"m"},"usage":{"input_tokens":5,"output_tokens":1}}}"#;
    assert_eq!(notes(&read_data(&[failed])), "usage 5 0 0 1\nfailed Provider m\n");
}
