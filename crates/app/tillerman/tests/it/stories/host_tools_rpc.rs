//! 35 in `rpc`: the host's own tools leave the log that the engine's own words leave.

use serde_json::json;
use testkit::stage::Actor;
use testkit::stories::{Teller, read_log, shown_log};
use testkit::{Stage, StageOptions};
use vocab::{Answer, HostTool, Json, Part, Required, SessionVerb, Verb, Which};

use super::{RpcTeller, open_as_rpc};
use crate::golden::paused;

/// What a host does about its tools. Answers go to the newest call.
enum Act {
    Offer(&'static [&'static str]),
    Prompt(&'static str),
    Progress(&'static str),
    Result(&'static str, bool),
    Interrupt,
}

async fn by_the_engine(acts: &[Act]) -> Vec<String> {
    let stage = Stage::new(StageOptions::default());
    let mut actor: Actor = stage.actor();
    let session = actor.open(open_as_rpc(Which::New)).await.unwrap().session;
    let mut ask = None;
    for act in acts {
        let verb = match act {
            Act::Offer(names) => {
                Verb::Session(SessionVerb::OfferTools { tools: names.iter().map(|name| tool(name)).collect() })
            }
            Act::Prompt(text) => Verb::Session(SessionVerb::Prompt {
                parts: vec![Part::text(*text)],
                delivery: vocab::Delivery::RejectIfBusy,
            }),
            Act::Progress(text) => {
                Verb::Session(SessionVerb::Progress { ask: newest(&ask), parts: vec![Part::text(*text)] })
            }
            Act::Result(text, is_error) => {
                let answer = Answer::Result { parts: vec![Part::text(*text)], is_error: *is_error, details: None };
                Verb::Session(SessionVerb::Answer { ask: newest(&ask), answer })
            }
            Act::Interrupt => Verb::Session(SessionVerb::Interrupt { turn: None }),
        };
        actor.send(verb).await;
        actor.settle().await;
        for told in std::mem::take(&mut actor.told) {
            if let vocab::Event::Logged(entry) = &told.event
                && let vocab::Body::Ask(vocab::AskEntry::Opened(opened)) = &entry.body
            {
                ask = Some(opened.id.clone());
            }
        }
    }
    shown_log(&read_log(&stage.store, &session).await)
}

fn newest(ask: &Option<vocab::AskId>) -> vocab::AskId {
    ask.clone().expect("the tool was called")
}

fn tool(name: &str) -> HostTool {
    HostTool {
        name: name.into(),
        description: "asks the host".into(),
        schema: Json::trusted(r#"{"type":"object"}"#),
        required: Required::DangerFullAccess,
    }
}

async fn by_rpc(acts: &[Act]) -> Vec<String> {
    let stage = Stage::new(StageOptions::default());
    let mut rpc = RpcTeller::new(&stage).await;
    for act in acts {
        let call = rpc.heard.iter().rev().find(|said| said["type"] == "host_tool_call");
        let id = call.map(|call| call["id"].clone()).unwrap_or_default();
        let content = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        let line = match act {
            Act::Offer(names) => {
                let tool = |name: &&str| json!({ "name": name, "description": "asks the host", "parameters": { "type": "object" } });
                json!({ "type": "set_host_tools", "tools": names.iter().map(tool).collect::<Vec<_>>() })
            }
            Act::Prompt(text) => json!({ "type": "prompt", "message": text }),
            Act::Progress(text) => json!({ "type": "host_tool_update", "id": id, "partialResult": content(text) }),
            Act::Result(text, is_error) => {
                json!({ "type": "host_tool_result", "id": id, "result": content(text), "isError": is_error })
            }
            Act::Interrupt => json!({ "type": "abort" }),
        };
        rpc.send(&line).await;
    }
    shown_log(&read_log(&stage.store, &rpc.session()).await)
}

fn check(acts: &[Act], last: &str) {
    let twin = paused(by_the_engine(acts));
    let told = paused(by_rpc(acts));
    assert!(twin.iter().any(|line| line.contains(last)), "{twin:#?}");
    assert_eq!(told, twin);
}

const CALL: Act = Act::Prompt("call lookup {\"key\":\"a\"} then say done");

#[test]
fn a_tool_of_the_host_is_called_told_of_and_answered() {
    check(
        &[Act::Prompt("say hello"), Act::Offer(&["lookup"]), CALL, Act::Progress("half"), Act::Result("42", false)],
        "result lookup Ran \"42\"",
    );
}

#[test]
fn an_error_of_the_host_is_a_result() {
    check(&[Act::Offer(&["lookup"]), CALL, Act::Result("no such key", true)], "Ran error \"no such key\"");
}

#[test]
fn an_abort_takes_the_call_back() {
    check(
        &[Act::Offer(&["lookup"]), CALL, Act::Interrupt, Act::Result("late", false), Act::Prompt("say again")],
        "result lookup Interrupted",
    );
}

#[test]
fn tools_are_replaced_whole_and_a_built_in_name_is_taken() {
    check(&[Act::Offer(&["lookup", "other"]), Act::Offer(&["bash"]), CALL, Act::Result("1", false)], "Ran \"1\"");
    check(&[Act::Offer(&["lookup"]), Act::Offer(&[]), CALL], "result lookup Unknown");
}
