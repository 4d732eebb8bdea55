//! Requests of the agent's: each gets one answer.

use acp_client::{ClientEvent, ConnectOptions, Elicited, Offers};
use serde_json::{Value, json};

use crate::agent::{Agent, next, opened, quiet};

async fn ask_permission(agent: &mut Agent, options: Value) {
    let call = json!({ "toolCallId": "c", "title": "rm", "content": [{ "type": "content" }] });
    let params = json!({ "sessionId": "s", "toolCall": call, "options": options });
    agent.ask(json!(0), "session/request_permission", params).await;
}

#[tokio::test(start_paused = true)]
async fn a_choice_is_sent_in_the_form_that_old_and_new_agents_read() {
    let (client, mut events, mut agent) = opened(quiet()).await;
    let options = json!([
        { "optionId": "allow_once", "name": "Allow", "kind": "allow_once" },
        { "optionId": "deny", "name": "No" },
        { "name": "broken" },
    ]);
    for (choice, wanted) in [
        (Some("allow_once"), json!({ "outcome": "selected", "optionId": "allow_once", "kind": "allowed" })),
        (Some("deny"), json!({ "outcome": "selected", "optionId": "deny", "kind": "rejected" })),
        (Some("never offered"), json!({ "outcome": "cancelled" })),
        (None, json!({ "outcome": "cancelled" })),
    ] {
        ask_permission(&mut agent, options.clone()).await;
        let ClientEvent::Permission(ask) = next(&mut events).await else { panic!("a question") };
        assert_eq!(ask.options.iter().map(|option| option.allows()).collect::<Vec<_>>(), [true, false]);
        assert!(client.choose(ask.ask, choice).await);
        assert!(!client.choose(ask.ask, choice).await, "once");
        assert_eq!(agent.hear().await["result"], json!({ "outcome": wanted }));
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_the_agent_takes_back_is_closed() {
    let (client, mut events, mut agent) = opened(quiet()).await;
    ask_permission(&mut agent, json!([])).await;
    let ClientEvent::Permission(ask) = next(&mut events).await else { panic!("a question") };
    agent.say(json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": 0 } })).await;
    assert_eq!(next(&mut events).await, ClientEvent::AskClosed { ask: ask.ask });
    assert_eq!(agent.hear().await["error"]["code"], -32800);
    assert!(!client.choose(ask.ask, None).await);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_offered_or_not_known_is_answered_all_the_same() {
    let (_client, _events, mut agent) = opened(quiet()).await;
    let names =
        ["fs/write_text_file", "fs/read_text_file", "terminal/create", "elicitation/create", "_x/own", "session/new"];
    for (n, method) in names.iter().enumerate() {
        agent.ask(json!(n), method, json!({ "sessionId": "s", "path": "/x", "content": "" })).await;
        let answer = agent.hear().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(n), &json!(-32601)), "{method}");
        assert_eq!(answer["error"]["data"], json!({ "method": method }));
    }
    // The id comes back as it was, whatever it is; params may be missing.
    for id in [json!("text"), json!(null), json!(-3)] {
        agent.say(json!({ "id": id, "method": "$/ping" })).await;
        assert_eq!(agent.hear().await, json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
    }
    agent.ask(json!(1), "session/request_permission", json!({ "sessionId": "s" })).await;
    assert_eq!(agent.hear().await["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn too_many_open_questions_are_refused_and_the_rest_stay() {
    let (client, mut events, mut agent) = opened(quiet()).await;
    for _ in 0..acp_client::ASKS_MAX {
        ask_permission(&mut agent, json!([{ "optionId": "a", "kind": "allow_once" }])).await;
    }
    ask_permission(&mut agent, json!([])).await;
    assert_eq!(agent.hear().await["error"]["code"], -32603);
    let ClientEvent::Permission(ask) = next(&mut events).await else { panic!("a question") };
    assert!(client.choose(ask.ask, Some("a")).await);
    assert_eq!(agent.hear().await["result"]["outcome"]["optionId"], "a");
}

#[tokio::test(start_paused = true)]
async fn forms_are_answered_in_the_three_ways() {
    let options = ConnectOptions { offers: Offers { elicitation: true, ..Offers::default() }, ..quiet() };
    let (client, mut events, mut agent) = opened(options).await;
    for (said, wanted) in [
        (Elicited::Accept(Some(json!({ "name": "x" }))), json!({ "action": "accept", "content": { "name": "x" } })),
        (Elicited::Accept(None), json!({ "action": "accept" })),
        (Elicited::Decline, json!({ "action": "decline" })),
        (Elicited::Cancel, json!({ "action": "cancel" })),
    ] {
        agent.ask(json!(5), "elicitation/create", json!({ "mode": "form", "message": "?", "requestId": 1 })).await;
        let ClientEvent::Elicitation(ask) = next(&mut events).await else { panic!("a question") };
        assert!(!client.choose(ask.ask, Some("x")).await, "it is no permission");
        assert!(client.elicited(ask.ask, said).await);
        assert_eq!(agent.hear().await["result"], wanted);
    }
}
