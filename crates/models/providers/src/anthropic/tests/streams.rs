//! Answers as a server streams them, for tests.

/// One event of a stream, named as the API names it.
macro_rules! events {
    ($($name:literal $data:literal)*) => { concat!($("event: ", $name, "\ndata: ", $data, "\n\n"),*) };
}

pub(in crate::anthropic) const TEXT: &str = events! {
    "message_start" r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-7","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":1,"service_tier":"standard"}}}"#
    "content_block_start" r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#
    "ping" r#"{"type": "ping"}"#
    "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Gr\u00fc\u00dfe, "}}"#
    "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Wörld 😀"}}"#
    "content_block_stop" r#"{"type":"content_block_stop","index":0}"#
    "message_delta" r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null,"stop_details":null},"usage":{"output_tokens":15}}"#
    "message_stop" r#"{"type":"message_stop"}"#
};

/// Thinks, speaks, and asks for two files.
pub(in crate::anthropic) const THINK_AND_CALL: &str = events! {
    "message_start" r#"{"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":20,"output_tokens":2}}}"#
    "content_block_start" r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#
    "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"First \"a\""}}"#
    "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":", then b."}}"#
    "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCgIYAhIM1/first+=="}}"#
    "content_block_stop" r#"{"type":"content_block_stop","index":0}"#
    "content_block_start" r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#
    "content_block_delta" r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I look."}}"#
    "content_block_stop" r#"{"type":"content_block_stop","index":1}"#
    "content_block_start" r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_01","name":"read_file","input":{}}}"#
    "content_block_delta" r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}"#
    "content_block_delta" r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a"}}"#
    "content_block_delta" r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"}"}}"#
    "content_block_stop" r#"{"type":"content_block_stop","index":2}"#
    "content_block_start" r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_02","name":"read_file","input":{"path":"b"}}}"#
    "content_block_stop" r#"{"type":"content_block_stop","index":3}"#
    "message_delta" r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":20,"cache_read_input_tokens":3,"output_tokens":40}}"#
    "message_stop" r#"{"type":"message_stop"}"#
};

/// Thinks without showing it, uses a tool of the server's, and asks for a list without arguments.
pub(in crate::anthropic) const REDACTED: &str = events! {
    "message_start" r#"{"type":"message_start","message":{"id":"msg_3","content":[],"usage":{"input_tokens":30,"output_tokens":2}}}"#
    "content_block_start" r#"{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix/LafPsn4a"}}"#
    "content_block_stop" r#"{"type":"content_block_stop","index":0}"#
    "content_block_start" r#"{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"","signature":""}}"#
    "content_block_delta" r#"{"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"no/words=="}}"#
    "content_block_stop" r#"{"type":"content_block_stop","index":1}"#
    "content_block_start" r#"{"type":"content_block_start","index":2,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}"#
    "content_block_delta" r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}}"#
    "content_block_stop" r#"{"type":"content_block_stop","index":2}"#
    "content_block_start" r#"{"type":"content_block_start","index":3,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"t"}]}}"#
    "content_block_stop" r#"{"type":"content_block_stop","index":3}"#
    "content_block_start" r#"{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_03","name":"list_dir","input":{}}}"#
    "content_block_stop" r#"{"type":"content_block_stop","index":4}"#
    "a_new_event" r#"{"type":"a_new_event","index":"odd","delta":7}"#
    "message_delta" r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#
    "message_stop" r#"{"type":"message_stop"}"#
};

pub(in crate::anthropic) const ERROR: &str = events! {
    "message_start" r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":4,"output_tokens":1}}}"#
    "content_block_start" r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#
    "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half"}}"#
    "error" r#"{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#
};

pub(in crate::anthropic) const ALL: [&str; 4] = [TEXT, THINK_AND_CALL, REDACTED, ERROR];
