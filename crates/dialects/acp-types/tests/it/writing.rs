//! What goes out: members by their names, and nothing that was not said.

use acp_types::{
    CancelRequest, ContentBlock, ElicitationField, EmptyResponse, MessageChunk, Other, RequestPermissionResponse,
    SessionUpdate, ToolCallContent, sorted,
};
use serde::Serialize;

#[track_caller]
fn check(message: impl Serialize, wanted: &str) {
    assert_eq!(sorted(message).to_string(), wanted);
}

#[test]
fn members_go_out_in_the_order_of_their_names() {
    let chunk = MessageChunk { content: ContentBlock::text("x"), message_id: Some("m".into()), other: Other::new() };
    check(
        SessionUpdate::UserMessageChunk(chunk),
        r#"{"content":{"text":"x","type":"text"},"messageId":"m","sessionUpdate":"user_message_chunk"}"#,
    );
    check(RequestPermissionResponse::cancelled(), r#"{"outcome":{"outcome":"cancelled"}}"#);
    check(
        RequestPermissionResponse::selected("a", true),
        r#"{"outcome":{"kind":"allowed","optionId":"a","outcome":"selected"}}"#,
    );
}

#[test]
fn what_is_not_there_is_left_out_but_for_a_file_that_is_new() {
    check(EmptyResponse {}, "{}");
    check(ElicitationField::Boolean, r#"{"type":"boolean"}"#);
    check(
        ToolCallContent::diff("/a".into(), None, "x".into()),
        r#"{"newText":"x","oldText":null,"path":"/a","type":"diff"}"#,
    );
    check(CancelRequest { request_id: 7 }, r#"{"requestId":7}"#);
}
