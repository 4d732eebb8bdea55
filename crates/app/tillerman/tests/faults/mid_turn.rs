//! A turn that a kill met, taken up by each command with `--on-restart continue`: what every page promises of a turn holds for
//! one that was begun elsewhere. Its start comes first, each call has one start and one result, and its end is told.

use std::collections::HashMap;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::faults::{PATIENCE, Process, World, brief, has, within};

use crate::skip;
use crate::worlds::tour;

/// Nothing more comes when this long nothing has come.
const QUIET: Duration = Duration::from_millis(300);
const GO_ON: [&str; 2] = ["--on-restart", "continue"];
const EFFECT: &str = r#"call bash {"command":"echo x >> effect; sleep 1"} then say fin"#;
/// A server of one tool that changes something, as far as anybody knows.
const SERVER: &str = r#"
import sys, json
for line in sys.stdin:
    m = json.loads(line)
    if 'id' not in m: continue
    r = {}
    if m['method'] == 'initialize':
        r = {'protocolVersion': '2025-06-18', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'x', 'version': '1'}}
    elif m['method'] == 'tools/list':
        r = {'tools': [{'name': 'hit', 'description': 'd', 'inputSchema': {'type': 'object'}}]}
    elif m['method'] == 'tools/call':
        r = {'content': [{'type': 'text', 'text': 'hit done'}]}
    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)
"#;

/// Where the kill met the turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Met {
    Reply,
    Tool,
    Ask,
    HostTool,
    ServerAsk,
    Queued,
}

impl Met {
    /// Its last word, and how many calls it has.
    fn ending(self) -> (&'static str, usize) {
        match self {
            Met::Reply => ("w6", 0),
            Met::Queued => ("second", 0),
            Met::Tool | Met::Ask | Met::HostTool | Met::ServerAsk => ("fin", 1),
        }
    }
}

fn of_type<'a>(seen: &'a [Value], kind: &str) -> Vec<&'a Value> {
    seen.iter().filter(|value| value["type"] == kind).collect()
}

fn place(seen: &[Value], is_it: impl Fn(&Value) -> bool) -> Option<usize> {
    seen.iter().position(is_it)
}

fn dial() -> Value {
    let parameters = json!({ "type": "object", "properties": {} });
    json!({ "type": "set_host_tools", "tools": [{ "name": "dial", "description": "Dials", "parameters": parameters }] })
}

/// A world with a session that a kill left there; its id.
fn left(met: Met) -> Option<(World, String)> {
    let world = tour();
    let mut config = "mode = \"prompt\"\n".to_owned();
    if met == Met::ServerAsk {
        if !has("python3") {
            skip("mid_turn", "no python3 for a server of tools");
            return None;
        }
        let server = world.root().join("server.py");
        fs::write(&server, SERVER).unwrap();
        config.push_str(&format!("[servers.m]\ncommand = \"python3\"\nargs = [{:?}]\n", server.display().to_string()));
    }
    world.config(&config);
    let args = [&GO_ON[..], &["--permission-mode", "prompt"]].concat();
    let mut rpc = Process::start(world.dialect_command("rpc", &[], &args).stderr(world.stderr_log()));
    rpc.until_one("ready", |_, value| value["type"] == "ready");
    rpc.send(&json!({ "type": "get_state", "id": "s" }));
    let state = rpc.until_one("state", |_, value| value["id"] == "s").pop().unwrap();
    let session = state["data"]["sessionId"].as_str().unwrap().to_owned();
    rpc.send(&dial());
    let prompt = match met {
        Met::Reply | Met::Queued => "slow 150 say 6 words",
        Met::Tool | Met::Ask => EFFECT,
        Met::HostTool => "call dial {} then say fin",
        Met::ServerAsk => "call mcp__m__hit {} then say fin",
    };
    rpc.send(&json!({ "type": "prompt", "message": prompt }));
    let until = match met {
        Met::Reply | Met::Queued => "message_update",
        Met::Tool | Met::Ask | Met::ServerAsk => "extension_ui_request",
        Met::HostTool => "host_tool_call",
    };
    let asked = rpc.until_one(until, |_, value| value["type"] == until).pop().unwrap();
    if met == Met::Tool {
        rpc.send(&json!({ "type": "extension_ui_response", "id": asked["id"], "confirmed": true }));
        assert!(within(PATIENCE, || world.workspace.join("effect").exists()).is_some());
    }
    if met == Met::Queued {
        rpc.send(&json!({ "type": "follow_up", "message": "say second", "id": "f" }));
        rpc.until_one("acknowledgement", |_, value| value["id"] == "f");
    }
    rpc.kill();
    rpc.ended(PATIENCE);
    Some((world, session))
}

/// Everything up to the wanted message and what still comes behind it.
fn all_of(process: &mut Process, about: &str, wanted: impl FnMut(&mut Process, &Value) -> bool) -> Vec<Value> {
    let mut seen = process.until_one(about, wanted);
    while let Some(value) = process.next(QUIET) {
        seen.push(value);
    }
    seen
}

/// Each has one start and one end.
fn paired<'a>(
    starts: impl Iterator<Item = &'a Value>,
    ends: impl Iterator<Item = &'a Value>,
    calls: usize,
    seen: &[Value],
) {
    let mut told: HashMap<String, (usize, usize)> = HashMap::new();
    starts.for_each(|id| told.entry(id.to_string()).or_default().0 += 1);
    ends.for_each(|id| told.entry(id.to_string()).or_default().1 += 1);
    assert!(told.values().all(|count| *count == (1, 1)) && told.len() == calls, "{told:?} in {}", brief(seen));
}

fn in_serve(met: Met) {
    let Some((world, session)) = left(met) else { return };
    let args = [&GO_ON[..], &["--resume", &session]].concat();
    let mut serve = Process::start(world.dialect_command("serve", &[], &args).stderr(world.stderr_log()));
    let seen = all_of(&mut serve, "turn_complete", |serve, value| {
        if value["type"] == "permission_request" {
            let id = &value["request_id"];
            serve.send(&json!({ "type": "permission_response", "request_id": id, "decision": "allow" }));
        }
        value["type"] == "turn_complete"
    });
    let (last, calls) = met.ending();
    let said: String = seen.iter().filter_map(|value| value["delta"].as_str()).collect();
    assert!(said.trim_end().ends_with(last), "{}", brief(&seen));
    let (started, ended) = (of_type(&seen, "turn_started"), of_type(&seen, "turn_complete"));
    assert_eq!((started.len(), ended.len()), (1, 1), "{}", brief(&seen));
    assert_eq!((&seen[1]["type"], &started[0]["turn_id"]), (&json!("turn_started"), &ended[0]["turn_id"]));
    let (starts, results) = (of_type(&seen, "tool_start"), of_type(&seen, "tool_result"));
    paired(starts.iter().map(|it| &it["tool_id"]), results.iter().map(|it| &it["tool_id"]), calls, &seen);
}

fn in_rpc(met: Met) {
    let Some((world, session)) = left(met) else { return };
    let args = [&GO_ON[..], &["--permission-mode", "prompt", "--session", &session]].concat();
    let mut rpc = Process::start(world.dialect_command("rpc", &[], &args).stderr(world.stderr_log()));
    rpc.send(&dial());
    let seen = all_of(&mut rpc, "agent_settled", |rpc, value| {
        if value["type"] == "extension_ui_request" {
            rpc.send(&json!({ "type": "extension_ui_response", "id": value["id"], "confirmed": true }));
        }
        if value["type"] == "host_tool_call" {
            let result = json!({ "content": [{ "type": "text", "text": "answered" }] });
            rpc.send(&json!({ "type": "host_tool_result", "id": value["id"], "result": result }));
        }
        value["type"] == "agent_settled"
    });
    let (last, calls) = met.ending();
    let begins = place(&seen, |value| value["type"] == "agent_start").expect("the run begins");
    let of_run = ["extension_ui_request", "host_tool_call", "tool_execution_start", "turn_start", "message_start"];
    let first = place(&seen, |value| of_run.iter().any(|kind| value["type"] == *kind)).unwrap();
    assert!(begins < first, "{}", brief(&seen));
    for once in ["agent_start", "agent_end", "agent_settled"] {
        assert_eq!(of_type(&seen, once).len(), 1, "{once} in {}", brief(&seen));
    }
    let (starts, ends) = (of_type(&seen, "tool_execution_start"), of_type(&seen, "tool_execution_end"));
    paired(starts.iter().map(|it| &it["toolCallId"]), ends.iter().map(|it| &it["toolCallId"]), calls, &seen);
    let results = |value: &Value| value["toolResults"].as_array().map_or(0, Vec::len);
    assert_eq!(of_type(&seen, "turn_end").into_iter().map(results).sum::<usize>(), calls, "{}", brief(&seen));
    assert_eq!(of_type(&seen, "turn_start").len(), of_type(&seen, "turn_end").len(), "{}", brief(&seen));
    let message = of_type(&seen, "message_end").pop().unwrap();
    assert!(message["message"]["content"].to_string().contains(last), "{message}");
}

fn in_loaf(met: Met) {
    let Some((world, session)) = left(met) else { return };
    let mut loaf = Process::speaking(world.dialect_command("loaf", &[], &GO_ON).stderr(world.stderr_log()), |_| true);
    let request = |id: u64, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    loaf.send(&request(1, "session.create", json!({})));
    let created = loaf.until_one("a session", |_, value| value["id"] == 1).pop().unwrap();
    let own = &created["result"]["session_id"];
    let resume = json!({ "session_id": own, "raw_command": format!("/history {session}") });
    loaf.send(&request(2, "command.execute", resume));
    let seen = all_of(&mut loaf, "the end", |_, value| value["params"]["type"] == "session.completed");
    let (last, calls) = met.ending();
    let events = |kind: &str| -> Vec<&Value> {
        let of_kind = seen.iter().filter(|value| value["params"]["type"] == kind);
        of_kind.map(|value| &value["params"]["payload"]).collect()
    };
    let ended = events("session.completed");
    assert_eq!(ended.len(), 1, "{}", brief(&seen));
    let of_other =
        |value: &&Value| value["params"]["payload"].get("turn_id").is_some_and(|turn| *turn != ended[0]["turn_id"]);
    assert_eq!(seen.iter().find(of_other), None, "one turn has one id: {}", brief(&seen));
    let (starts, ends) = (events("session.tool.call.started"), events("session.tool.call.completed"));
    let started = starts.iter().map(|it| &it["data"]["call"]["callId"]);
    paired(started, ends.iter().map(|it| &it["data"]["executed"]["callId"]), calls, &seen);
    let answers = events("session.message.appended");
    assert!(answers.iter().any(|it| it["message"]["text"].as_str().unwrap().ends_with(last)), "{}", brief(&seen));
}

fn in_acp(met: Met) {
    let Some((world, session)) = left(met) else { return };
    let mut acp = Process::speaking(world.dialect_command("acp", &[], &GO_ON).stderr(world.stderr_log()), |_| true);
    let request = |id: u64, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    acp.send(&request(1, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })));
    acp.until_one("an answer", |_, value| value["id"] == 1);
    acp.send(&request(2, "session/load", json!({ "sessionId": session, "cwd": world.workspace, "mcpServers": [] })));
    let (last, calls) = met.ending();
    let mut said = String::new();
    let chunk = |value: &Value| value["params"]["update"]["sessionUpdate"] == "agent_message_chunk";
    let seen = all_of(&mut acp, "the last word", |acp, value| {
        if value["method"] == "session/request_permission" {
            let outcome = json!({ "outcome": "selected", "optionId": "allow_once" });
            acp.send(&json!({ "jsonrpc": "2.0", "id": value["id"], "result": { "outcome": outcome } }));
        }
        if chunk(value) {
            said.push_str(value["params"]["update"]["content"]["text"].as_str().unwrap());
        }
        said.trim_end().ends_with(last)
    });
    let is_answer = |value: &Value| value["id"] == 2 && value.get("method").is_none();
    let answer = place(&seen, is_answer).expect("the load is answered");
    let prompt = place(&seen, |value| value["params"]["update"]["sessionUpdate"] == "user_message_chunk").unwrap();
    let live = place(&seen, chunk).unwrap();
    assert!(prompt < answer && answer < live, "the past, the answer, and what comes: {}", brief(&seen));
    assert_eq!(said.trim_end().matches(last).count(), 1, "{said}");
    let updates = |kind: &'static str| {
        let updates = seen.iter().map(|value| &value["params"]["update"]);
        updates.filter(move |update| update["sessionUpdate"] == kind)
    };
    let is_over = |update: &&Value| update["status"] == "completed" || update["status"] == "failed";
    let (starts, ends) = (updates("tool_call"), updates("tool_call_update").filter(is_over));
    paired(starts.map(|it| &it["toolCallId"]), ends.map(|it| &it["toolCallId"]), calls, &seen);
}

fn in_run(met: Met) {
    let Some((world, session)) = left(met) else { return };
    let args = [&GO_ON[..], &["--yes", "--resume", &session, "say more"]].concat();
    let mut command = world.dialect_command("run", &[], &args);
    let ran = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let (last, _) = met.ending();
    assert_eq!(ran.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.ends_with(&format!("{last}\nmore\n")), "{said}");
    let log = world.exported(&session);
    assert_eq!(log.matches("\"turn_started\"").count(), log.matches("\"turn_ended\"").count(), "{log}");
}

macro_rules! matrix {
    ($($name:ident: $take_up:path, $met:expr;)*) => {
        $(#[test]
        fn $name() {
            $take_up($met);
        })*
    };
}

matrix! {
    serve_takes_up_a_reply: in_serve, Met::Reply;
    serve_takes_up_a_tool: in_serve, Met::Tool;
    serve_takes_up_a_question: in_serve, Met::Ask;
    serve_takes_up_a_question_about_a_servers_tool: in_serve, Met::ServerAsk;
    serve_takes_up_what_waits: in_serve, Met::Queued;
    rpc_takes_up_a_reply: in_rpc, Met::Reply;
    rpc_takes_up_a_tool: in_rpc, Met::Tool;
    rpc_takes_up_a_question: in_rpc, Met::Ask;
    rpc_takes_up_a_call_of_its_own: in_rpc, Met::HostTool;
    rpc_takes_up_a_question_about_a_servers_tool: in_rpc, Met::ServerAsk;
    rpc_takes_up_what_waits: in_rpc, Met::Queued;
    loaf_takes_up_a_reply: in_loaf, Met::Reply;
    loaf_takes_up_a_tool: in_loaf, Met::Tool;
    loaf_takes_up_a_question: in_loaf, Met::Ask;
    loaf_takes_up_a_call_of_a_controller: in_loaf, Met::HostTool;
    loaf_takes_up_a_question_about_a_servers_tool: in_loaf, Met::ServerAsk;
    loaf_takes_up_what_waits: in_loaf, Met::Queued;
    acp_takes_up_a_reply: in_acp, Met::Reply;
    acp_takes_up_a_tool: in_acp, Met::Tool;
    acp_takes_up_a_question: in_acp, Met::Ask;
    acp_takes_up_a_question_about_a_servers_tool: in_acp, Met::ServerAsk;
    acp_takes_up_what_waits: in_acp, Met::Queued;
    run_takes_up_a_reply: in_run, Met::Reply;
    run_takes_up_a_tool: in_run, Met::Tool;
    run_takes_up_a_question: in_run, Met::Ask;
    run_takes_up_a_question_about_a_servers_tool: in_run, Met::ServerAsk;
    run_takes_up_what_waits: in_run, Met::Queued;
}

/// Neither command opens what it copies: nothing of it goes on, and its log stays as it is.
#[test]
fn a_copy_leaves_the_turn_that_was_cut_off_where_it_is() {
    let Some((world, session)) = left(Met::Reply) else { return };
    world.config("on_restart = \"continue\"\nmode = \"danger-full-access\"\n");
    let before = world.exported(&session);
    let forked = world.command(&[]).args(["sessions", "fork", &session]).output().unwrap();
    assert!(forked.status.success(), "{}", String::from_utf8_lossy(&forked.stderr));
    assert_eq!(world.exported(&session), before, "sessions fork");
    let mut rpc = Process::start(world.dialect_command("rpc", &[], &["--fork", &session]).stderr(world.stderr_log()));
    rpc.until_one("ready", |_, value| value["type"] == "ready");
    assert_eq!(rpc.next(QUIET), None, "nothing runs");
    assert_eq!(world.exported(&session), before, "rpc --fork");
}

/// Messages that were taken in come before one that is sent after the restart, also where nothing goes on by itself.
#[test]
fn a_new_prompt_does_not_overtake_what_waits() {
    let Some((world, session)) = left(Met::Queued) else { return };
    let mut rpc =
        Process::start(world.dialect_command("rpc", &[], &["--session", &session]).stderr(world.stderr_log()));
    rpc.until_one("ready", |_, value| value["type"] == "ready");
    rpc.send(&json!({ "type": "prompt", "message": "say third" }));
    let is_third = |value: &Value| value["type"] == "message_end" && value.to_string().contains(r#""text":"third""#);
    let seen = rpc.until_one("its answer", |_, value| is_third(value));
    let users = seen.iter().filter(|value| value["type"] == "message_end" && value["message"]["role"] == "user");
    let said: Vec<&str> = users.filter_map(|value| value["message"]["content"][0]["text"].as_str()).collect();
    assert_eq!(said, ["say second", "say third"], "{}", brief(&seen));
}

/// Those that are delivered otherwise than they were sent are delivered in their order all the same.
#[test]
fn messages_keep_the_order_in_which_a_host_sent_them() {
    let world = tour();
    let mut rpc = Process::start(world.dialect_command("rpc", &[], &[]).stderr(world.stderr_log()));
    rpc.send(&json!({ "type": "prompt", "message": "slow 100 say 5 words" }));
    rpc.until_one("a start", |_, value| value["type"] == "agent_start");
    let mut lines = String::new();
    for number in 0..5 {
        let prompt = json!({ "type": "prompt", "message": format!("say p{number}"), "streamingBehavior": "followUp" });
        let follow_up = json!({ "type": "follow_up", "message": format!("say f{number}") });
        lines.push_str(&format!("{prompt}\n{follow_up}\n"));
    }
    rpc.send_raw(lines.as_bytes());
    let seen = rpc.until_one("agent_settled", |_, value| value["type"] == "agent_settled");
    let users = seen.iter().filter(|value| value["type"] == "message_end" && value["message"]["role"] == "user");
    let said: Vec<&str> = users.filter_map(|value| value["message"]["content"][0]["text"].as_str()).collect();
    let wanted: Vec<String> = (0..5).flat_map(|number| [format!("say p{number}"), format!("say f{number}")]).collect();
    assert_eq!(said[said.len() - wanted.len()..], wanted[..], "{}", brief(&seen));
}
