//! 41: a question is open when the process dies. Where the rule is to go on, whoever comes to the session next is asked again,
//! in the words of its dialect, and the answer runs the call.

use std::sync::Arc;
use std::time::Duration;

use dialect_acp::{Acp, AcpOptions};
use dialect_rpc::{Rpc, RpcOptions};
use dialect_serve::{Serve, ServeOptions};
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use store::MemoryStore;
use testkit::fakes::CountedIds;
use testkit::pipe::Pipe;
use testkit::stories::{read_log, shown_log};
use testkit::{Stage, StageOptions};
use vocab::{Durability, Entry, IdKind, NewSession, OnRestart, Open, Store, Which};

use super::rpc_teller::open_as_rpc;
use super::serve_teller::open_as_serve;
use crate::acp_stage;
use crate::golden::paused;

const PROMPT: &str = "call write_file {\"path\":\"x\",\"content\":\"1\"} then say done";
const QUIET: Duration = Duration::from_millis(200);

fn stage(store: Arc<dyn Store>) -> Stage {
    // Those of the process before are taken.
    let ids = CountedIds::with_names(vec![(IdKind::Ask, "ask2".into())]);
    let tune = Box::new(|settings: &mut vocab::Settings| settings.on_restart = OnRestart::Continue);
    Stage::new(StageOptions { store, mode: vocab::Mode::Prompt, ids, tune, ..StageOptions::default() })
}

/// A store as a process left it that died with a question open, and the stage whose workspace it names.
async fn left_asking(open: Open) -> (Stage, Arc<dyn Store>) {
    let stage = Stage::new(StageOptions { mode: vocab::Mode::Prompt, ..StageOptions::default() });
    let mut actor = stage.actor();
    let session = actor.open(open).await.unwrap().session;
    actor.prompt(PROMPT).await;
    assert_eq!(actor.ask().await.id.as_str(), "ask1");
    let entries: Vec<Arc<Entry>> = read_log(&stage.store, &session).await;
    let store = MemoryStore::new();
    let (workspace, model, mode) = (stage.workspace().to_owned(), "tour".into(), vocab::Mode::Prompt);
    let lease = store.create(NewSession { id: session, workspace, model, mode, at_ms: 0, parent: None });
    store.append(&lease, entries, Durability::Now).await.unwrap();
    store.release(lease).await.unwrap();
    (stage, Arc::new(store))
}

/// What a line is about.
fn brief(line: &Value) -> String {
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let update = &line["params"]["update"];
    let what = word(&line["type"]).or(word(&update["sessionUpdate"])).or(word(&line["method"]));
    let what = what.unwrap_or_else(|| "answer".into());
    let more = [&line["request_id"], &line["id"], &line["delta"], &line["stop_reason"], &update["status"]];
    let told = &line["assistantMessageEvent"];
    let more = more.into_iter().chain([&told["type"], &told["delta"], &update["content"]["text"]]);
    let more: String = more.filter(|value| !value.is_null()).map(|value| format!(" {value}")).collect();
    format!("{what}{more}\n")
}

/// Opens by `hello`, answers the question that is asked, and shows what came, and the log at the end.
async fn answered(
    stage: &Stage,
    dialect: Pipe,
    hello: Option<Value>,
    answer: fn(&Value) -> Option<Value>,
) -> (String, String) {
    let mut pipe = dialect;
    if let Some(hello) = hello {
        pipe.send(&hello.to_string()).await;
    }
    let mut told = String::new();
    let mut answers = Vec::new();
    for round in 0..2 {
        for line in pipe.heard(QUIET).await {
            let line: Value = serde_json::from_str(&line).expect("every line is JSON");
            told.push_str(&brief(&line));
            answers.extend(answer(&line));
        }
        if round == 0 {
            assert_eq!(answers.len(), 1, "one question is asked, once: {told}");
            told.push_str(&format!("> {}\n", answers[0]));
            pipe.send(&answers[0].to_string()).await;
        }
    }
    assert_eq!(answers.len(), 1, "{told}");
    let log = shown_log(&read_log(&stage.store, &"s1".into()).await);
    (told, log.join("\n"))
}

fn check(workspace: &Stage, told: (String, String), wire: Expect) {
    let (told, log) = told;
    wire.assert_eq(&told);
    assert_eq!(workspace.read("x").as_deref(), Some("1"), "{log}");
    for (what, times) in [("ask write_file needs", 1), ("recovered", 1)] {
        assert_eq!(log.matches(what).count(), times, "{what}: {log}");
    }
}

#[test]
fn a_controller_that_speaks_serve_is_asked_again() {
    paused(async {
        let (workspace, store) = left_asking(open_as_serve(Which::New)).await;
        let stage = stage(store);
        let which = Which::Id("s1".into());
        let dialect = Serve::new(ServeOptions { which, ..ServeOptions::new(testkit::stage::VERSION) });
        let pipe = Pipe::new(&stage.engine, Box::new(dialect), host::PumpOptions::default());
        let answer = |line: &Value| {
            let ask = line["request_id"].as_str().filter(|_| line["type"] == "permission_request")?;
            Some(json!({ "type": "permission_response", "request_id": ask, "decision": "allow" }))
        };
        check(
            &workspace,
            answered(&stage, pipe, None, answer).await,
            expect![[r#"
                ready
                turn_started
                tool_start
                permission_request "ask1"
                > {"decision":"allow","request_id":"ask1","type":"permission_response"}
                tool_result
                text_delta "done"
                turn_complete "end_turn"
            "#]],
        );
    });
}

#[test]
fn a_host_that_speaks_rpc_is_asked_again() {
    paused(async {
        let (workspace, store) = left_asking(open_as_rpc(Which::New)).await;
        let stage = stage(store);
        let which = Which::Id("s1".into());
        let dialect = Rpc::new(RpcOptions { which, ..RpcOptions::new(testkit::stage::VERSION) });
        let pipe = Pipe::new(&stage.engine, Box::new(dialect), host::PumpOptions::default());
        let answer = |line: &Value| {
            let ask = line["id"].as_str().filter(|_| line["type"] == "extension_ui_request")?;
            Some(json!({ "type": "extension_ui_response", "id": ask, "confirmed": true }))
        };
        check(
            &workspace,
            answered(&stage, pipe, None, answer).await,
            expect![[r#"
                ready
                agent_start
                turn_start
                tool_execution_start
                extension_ui_request "ask1"
                > {"confirmed":true,"id":"ask1","type":"extension_ui_response"}
                tool_execution_end
                message_start
                message_end
                turn_end
                turn_start
                message_start
                message_update "text_start"
                message_update "text_delta" "done"
                message_update "text_end"
                message_end
                turn_end
                agent_end
                session_settled
                agent_settled
            "#]],
        );
    });
}

#[test]
fn an_editor_that_speaks_acp_is_asked_again() {
    paused(async {
        let (workspace, store) = left_asking(open_as_rpc(Which::New)).await;
        let stage = stage(store);
        let dialect = Acp::new(AcpOptions { mode: None, ..acp_stage::options() });
        let pipe = Pipe::new(&stage.engine, Box::new(dialect), host::PumpOptions::default());
        let params = json!({ "sessionId": "s1", "cwd": workspace.workspace(), "mcpServers": [] });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "session/load", "params": params });
        let answer = |line: &Value| {
            let ask = line["id"].as_u64().filter(|_| line["method"] == "session/request_permission")?;
            let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } });
            Some(json!({ "jsonrpc": "2.0", "id": ask, "result": outcome }))
        };
        check(
            &workspace,
            answered(&stage, pipe, Some(hello), answer).await,
            expect![[r#"
                user_message_chunk "call write_file {\"path\":\"x\",\"content\":\"1\"} then say done"
                tool_call "in_progress"
                answer 1
                available_commands_update
                usage_update
                session_info_update
                session/request_permission 0
                > {"id":0,"jsonrpc":"2.0","result":{"outcome":{"optionId":"allow_once","outcome":"selected"}}}
                tool_call_update "in_progress"
                tool_call_update "completed"
                agent_message_chunk "done"
                usage_update
            "#]],
        );
    });
}
