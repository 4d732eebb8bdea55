//! What peers send that is not quite the protocol.

use acp_types::{
    AgentCapabilities, ClientCapabilities, ConfigOption, ContentBlock, ListSessionsResponse, NewSessionRequest,
    PromptResponse, RequestPermissionRequest, SessionUpdate, StopReason, ToolCallStatus, TurnUsage, read_answer,
};
use serde_json::{Value, from_value, json};

#[test]
fn an_update_that_is_unknown_or_broken_stays_as_it_came() {
    for said in [
        json!({ "sessionUpdate": "hologram", "x": 1 }),
        json!({ "sessionUpdate": "usage_update", "used": "much" }),
        json!("no object"),
    ] {
        assert_eq!(from_value::<SessionUpdate>(said.clone()).unwrap(), SessionUpdate::Unknown(said));
    }
}

#[test]
fn a_broken_member_counts_as_missing_and_an_unknown_one_is_kept() {
    let said = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "k", "title": 5, "status": "paused",
        "content": [{ "type": "hologram" }, { "type": "diff", "path": "/a", "newText": "x" }], "_meta": { "a": 1 } });
    let SessionUpdate::ToolCallUpdate(call) = from_value(said).unwrap() else { panic!("a patch") };
    assert_eq!((call.title.clone(), call.content.as_ref().map(Vec::len)), (None, Some(2)));
    assert_eq!(call.status, Some(ToolCallStatus::Unknown("paused".into())));
    assert_eq!(call.other["_meta"], json!({ "a": 1 }));
}

#[test]
fn a_list_is_read_without_the_rows_that_cannot_be() {
    let page: ListSessionsResponse = from_value(json!({ "sessions": [{ "sessionId": "a" }, 5, {}] })).unwrap();
    assert_eq!(page.sessions.len(), 1);
}

#[test]
fn an_object_says_that_a_thing_is_there() {
    let can = |said: Value| -> AgentCapabilities { from_value(said).unwrap() };
    let resume = |said: Value| can(json!({ "sessionCapabilities": { "resume": said } })).session(|can| &can.resume);
    assert!(resume(json!({})) && resume(json!({ "x": 1 })) && resume(json!(true)));
    assert!(!resume(json!(null)) && !resume(json!(false)) && !can(json!({})).session(|can| &can.resume));
    assert!(can(json!({ "loadSession": true })).can_load() && can(json!({ "auth": { "logout": {} } })).can_logout());
    let client: ClientCapabilities = from_value(json!({ "elicitation": { "form": {} }, "fs": 5 })).unwrap();
    assert!(client.shows_forms() && !client.shows_addresses() && !client.fs.read_text_file);
}

#[test]
fn a_block_without_its_text_is_an_empty_one() {
    assert_eq!(from_value::<ContentBlock>(json!({ "type": "text" })).unwrap(), ContentBlock::text(""));
    assert!(matches!(from_value(json!({ "text": "x" })).unwrap(), ContentBlock::Unknown(_)));
}

#[test]
fn servers_are_read_as_lists_and_as_maps_and_none_is_lost() {
    let servers = json!([
        { "name": "a", "command": "x", "args": ["y", 5], "env": { "K": "v", "N": 1 } },
        { "type": "http", "name": "b", "url": "u", "headers": [{ "name": "h", "value": "v" }, { "name": "n" }] },
        5,
    ]);
    let request: NewSessionRequest = from_value(json!({ "cwd": "/w", "mcpServers": servers })).unwrap();
    let [a, b, broken] = &request.mcp_servers[..] else { panic!("three") };
    assert_eq!((a.args.len(), a.env.len(), b.headers.len()), (1, 1, 1));
    assert_eq!(broken.name, None, "it is there, to be refused");
    let none: NewSessionRequest = from_value(json!({ "cwd": "/w", "mcpServers": "none" })).unwrap();
    assert_eq!(none.mcp_servers, []);
}

#[test]
fn choices_come_out_of_their_groups() {
    let options = json!([{ "group": "g", "options": [{ "value": "a", "name": "A" }] }, { "value": "b" }, { "x": 1 }]);
    let option: ConfigOption = from_value(json!({ "id": "model", "options": options })).unwrap();
    let choices: Vec<(String, String)> = option.choices().into_iter().map(|it| (it.value, it.name)).collect();
    assert_eq!(choices, [("a".into(), "A".into()), ("b".into(), "b".into())]);
}

#[test]
fn a_turn_ends_as_its_agent_says_and_ordinarily_where_it_does_not() {
    let read = |said: Value| PromptResponse::read(&said);
    assert_eq!(read(json!(null)), PromptResponse { stop_reason: StopReason::EndTurn, usage: None });
    assert_eq!(read(json!({ "stopReason": "tired" })).stop_reason, StopReason::Unknown("tired".into()));
    let quota = json!({ "_meta": { "quota": { "token_count": { "input_tokens": 3, "output_tokens": 4 } } } });
    let counted = TurnUsage { input_tokens: 3, output_tokens: 4, total_tokens: 7, ..TurnUsage::default() };
    assert_eq!(read(quota).usage, Some(TurnUsage { thought_tokens: Some(0), ..counted }));
}

#[test]
fn a_question_names_what_it_lacks() {
    let read = |said: Value| RequestPermissionRequest::read(&said).map(|asked| asked.options.len());
    let call = json!({ "toolCallId": "k" });
    assert_eq!(read(json!({ "toolCall": call })), Err("sessionId"));
    assert_eq!(read(json!({ "sessionId": "s", "toolCall": {} })), Err("toolCall"));
    let options = json!([{ "optionId": "a" }, {}]);
    assert_eq!(read(json!({ "sessionId": "s", "toolCall": call, "options": options })), Ok(1));
}

#[test]
fn an_answer_is_an_object() {
    assert_eq!(read_answer::<acp_types::ReadTextFileResponse>(&json!(["text"])), None);
    assert!(read_answer::<acp_types::ReadTextFileResponse>(&json!({ "content": "text" })).is_some());
}
