//! Turns: order, ends, usage, cancelling.

use std::time::Duration;

use acp_client::{ClientEvent, ClientProblem};
use acp_types::{ContentBlock, PermissionOptionKind, SessionUpdate, StopReason};
use serde_json::json;

use crate::agent::{next, opened, quiet};

fn shown(event: &ClientEvent) -> String {
    match event {
        ClientEvent::Update { update: SessionUpdate::AgentMessageChunk(chunk), .. } => chunk.content.shown(),
        ClientEvent::TurnEnded { turn: Ok(turn), .. } => format!("end:{}", turn.stop_reason.as_str()),
        ClientEvent::TurnEnded { turn: Err(error), .. } => format!("failed:{error}"),
        ClientEvent::CallLeftOpen { call, .. } => format!("open:{call}"),
        ClientEvent::AskClosed { .. } => "closed".into(),
        ClientEvent::Permission(ask) => format!("ask:{}", ask.call.tool_call_id),
        ClientEvent::Elicitation(ask) => format!("form:{}", ask.message),
        ClientEvent::ConnectionLost(_) => "lost".into(),
        other => format!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn updates_come_in_wire_order_and_before_the_answer() {
    let (client, mut events, mut agent) = opened(quiet()).await;
    let prompt = client.prompt("s", vec![ContentBlock::text("hi")]);
    let (turn, ()) = tokio::join!(prompt, async {
        let request = agent.hear_method("session/prompt").await;
        assert_eq!(request["params"], json!({ "sessionId": "s", "prompt": [{ "type": "text", "text": "hi" }] }));
        for n in 0..100 {
            agent.text("s", &n.to_string()).await;
        }
        let usage = json!({ "totalTokens": 9, "inputTokens": 5, "outputTokens": 4 });
        agent.answer(&request, json!({ "stopReason": "end_turn", "usage": usage })).await;
    });
    // The answer is there, so everything before it is, too: no waiting.
    let turn = turn.unwrap();
    assert_eq!((turn.stop_reason, turn.usage.map(|usage| usage.output_tokens)), (StopReason::EndTurn, Some(4)));
    for n in 0..100 {
        let event = events.next();
        let event = tokio::time::timeout(Duration::ZERO, event).await.expect("it is there already").unwrap();
        assert_eq!(shown(&event), n.to_string());
    }
    assert_eq!(shown(&next(&mut events).await), "end:end_turn");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_has_no_time_limit_and_odd_answers_are_understood() {
    let (client, mut events, mut agent) = opened(quiet()).await;
    let day = Duration::from_secs(86_400);
    for (answer, stop, output) in [
        (json!({}), "end_turn", None),
        (json!(null), "end_turn", None),
        (json!({ "stopReason": "gave_up", "usage": null }), "gave_up", None),
        (
            json!({ "stopReason": "end_turn", "_meta": { "quota": { "token_count": { "output_tokens": 7 } } } }),
            "end_turn",
            Some(7),
        ),
    ] {
        let (turn, ()) = tokio::join!(client.prompt("s", vec![]), async {
            let request = agent.hear_method("session/prompt").await;
            tokio::time::sleep(day).await;
            agent.answer(&request, answer).await;
        });
        let turn = turn.unwrap();
        assert_eq!((turn.stop_reason.as_str(), turn.usage.map(|usage| usage.output_tokens)), (stop, output));
        assert_eq!(shown(&next(&mut events).await), format!("end:{stop}"));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_nobody_closed_are_told_at_the_end_of_the_turn() {
    let (client, mut events, mut agent) = opened(quiet()).await;
    let (turn, ()) = tokio::join!(client.prompt("s", vec![]), async {
        let request = agent.hear_method("session/prompt").await;
        for id in ["a", "b", "c"] {
            agent.update("s", json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": id })).await;
        }
        // A patch without a status says nothing about the end.
        let patch = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "a", "title": "A" });
        agent.update("s", patch).await;
        for (id, status) in [("b", "completed"), ("c", "failed")] {
            let end = json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status });
            agent.update("s", end).await;
        }
        agent.answer(&request, json!({ "stopReason": "end_turn" })).await;
    });
    turn.unwrap();
    let mut told = Vec::new();
    for _ in 0..8 {
        told.push(shown(&next(&mut events).await));
    }
    assert_eq!(told[6..], ["open:a", "end:end_turn"]);
}

#[tokio::test(start_paused = true)]
async fn cancel_closes_questions_and_an_error_then_counts_as_cancelled() {
    let options = acp_client::ConnectOptions {
        offers: acp_client::Offers { elicitation: true, ..Default::default() },
        ..quiet()
    };
    let (client, mut events, mut agent) = opened(options).await;
    let (turn, ()) = tokio::join!(client.prompt("s", vec![]), async {
        let request = agent.hear_method("session/prompt").await;
        let options = json!([{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }]);
        let ask = json!({ "sessionId": "s", "toolCall": { "toolCallId": "never-announced" }, "options": options });
        agent.ask(json!("p-1"), "session/request_permission", ask).await;
        let form = json!({ "sessionId": "s", "mode": "form", "message": "name?", "requestedSchema": {} });
        agent.ask(json!(0), "elicitation/create", form).await;
        let ClientEvent::Permission(ask) = next(&mut events).await else { panic!("a question") };
        assert_eq!(ask.options[0].kind, Some(PermissionOptionKind::AllowOnce));
        assert_eq!(shown(&next(&mut events).await), "form:name?");
        client.cancel("s").await;
        let cancel = agent.hear_method("session/cancel").await;
        assert_eq!((cancel.get("id"), &cancel["params"]), (None, &json!({ "sessionId": "s" })));
        let first = agent.hear().await;
        assert_eq!(
            first,
            json!({ "jsonrpc": "2.0", "id": "p-1", "result": { "outcome": { "outcome": "cancelled" } } })
        );
        let second = agent.hear().await;
        assert_eq!(second, json!({ "jsonrpc": "2.0", "id": 0, "result": { "action": "cancel" } }));
        assert!(!client.choose(ask.ask, Some("yes")).await, "it is over");
        agent.text("s", "late words").await;
        agent.refuse(&request, -32603, "Internal error").await;
    });
    assert_eq!(turn.unwrap().stop_reason, StopReason::Cancelled);
    let mut told = Vec::new();
    for _ in 0..4 {
        told.push(shown(&next(&mut events).await));
    }
    assert_eq!(told, ["closed", "closed", "late words", "end:cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn an_error_without_a_cancel_is_an_error_with_a_hint() {
    let (client, mut events, mut agent) = opened(quiet()).await;
    let (turn, ()) = tokio::join!(client.prompt("s", vec![]), async {
        let request = agent.hear_method("session/prompt").await;
        agent.refuse(&request, -32603, "provider: 429 Too Many Requests").await;
    });
    let error = turn.unwrap_err();
    assert!(matches!(&error.problem, ClientProblem::Refused { error, .. } if error.code == -32603));
    assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("limits the rate")), "{error:?}");
    assert!(shown(&next(&mut events).await).starts_with("failed:session/prompt: provider: 429"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_result_or_error_does_not_leave_anybody_waiting() {
    let (client, _events, mut agent) = opened(quiet()).await;
    for broken in [r#"{"jsonrpc":"2.0","id":ID}"#, r#"{"jsonrpc":"1.0","id":ID,"result":{}}"#] {
        let (turn, ()) = tokio::join!(client.prompt("s", vec![]), async {
            let request = agent.hear_method("session/prompt").await;
            agent.say_bytes(format!("{}\n", broken.replace("ID", &request["id"].to_string())).as_bytes()).await;
        });
        assert!(matches!(turn.unwrap_err().problem, ClientProblem::Refused { error, .. } if error.code == -32600));
    }
}
