//! Sixty awkward strings through every text member, both ways: nothing but strict JSON comes out, and it reads back equal.

use std::sync::Arc;

use serde_json::{Value, json};
use vocab::*;

use crate::talk::{Talk, inspected, opened, options, state};

/// How a text can be spelled on the wire: as it is, every character escaped, and with half a pair behind it.
fn spellings(text: &str) -> [(String, String); 3] {
    let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    let whole = format!("\"{units}\"");
    let half = format!("\"{units}\\ud800\"");
    [
        (serde_json::to_string(text).unwrap(), text.to_owned()),
        (whole, text.to_owned()),
        (half, format!("{text}\u{fffd}")),
    ]
}

/// Every member of every line that is text; `@` stands for it.
const LINES: &[&str] = &[
    r#"{"id":@,"type":"get_subagents"}"#,
    r#"{"type":@}"#,
    r#"{"type":"prompt","message":@,"locale":@,"streamingBehavior":@}"#,
    r#"{"type":"prompt","message":"x","images":[{"type":"image","data":@,"mimeType":@}]}"#,
    r#"{"type":"steer","message":@}"#,
    r#"{"type":"follow_up","message":@}"#,
    r#"{"type":"abort_and_prompt","message":@}"#,
    r#"{"type":"set_locale","locale":@}"#,
    r#"{"type":"set_todos","phases":[{"id":@,"name":@,"tasks":[{"id":@,"content":@,"status":@,"notes":@}]}]}"#,
    r#"{"type":"set_host_tools","tools":[{"name":@,"label":@,"description":@,"parameters":{"x":@}}]}"#,
    r#"{"type":"set_host_tools","tools":[{"name":@,"description":"d","parameters":[]}]}"#,
    r#"{"type":"set_model","provider":@,"modelId":@}"#,
    r#"{"type":"set_thinking_level","level":@}"#,
    r#"{"type":"set_steering_mode","mode":@}"#,
    r#"{"type":"set_follow_up_mode","mode":@}"#,
    r#"{"type":"set_interrupt_mode","mode":@}"#,
    r#"{"type":"compact","customInstructions":@}"#,
    r#"{"type":"bash","command":@}"#,
    r#"{"type":"export_html","outputPath":@}"#,
    r#"{"type":"switch_session","sessionPath":@}"#,
    r#"{"type":"branch","entryId":@}"#,
    r#"{"type":"set_session_name","name":@}"#,
    r#"{"type":"get_messages_page","cursor":@}"#,
    r#"{"type":"get_entries","since":@}"#,
    r#"{"type":"login","providerId":@}"#,
    r#"{"type":"set_host_uri_schemes","schemes":[@]}"#,
    r#"{"type":"extension_ui_response","id":@,"value":@}"#,
    r#"{"type":"host_tool_update","id":@,"partialResult":{"content":[{"type":"text","text":@}]}}"#,
    r#"{"type":"host_tool_result","id":@,"result":{"content":[{"type":"text","text":@}],"details":{"k":@}}}"#,
];

/// No member here is left out for being empty.
fn strings() -> Vec<String> {
    testkit::odd::strings().into_iter().chain([String::new()]).collect()
}

#[test]
fn whatever_is_heard_is_answered_in_strict_json() {
    for text in strings() {
        for (spelled, meant) in spellings(&text) {
            for line in LINES {
                // The harness checks every line that is said; the engine fails whatever it is asked, in these words.
                let mut talk = Talk::open();
                let (commands, _) = talk.hear(line.replace('@', &spelled));
                for command in commands {
                    talk.reply(command.tag, Err(Fault::new(FaultKind::Internal, meant.as_str()).hint(meant.as_str())));
                }
            }
            let mut talk = Talk::open();
            // An id has to come back byte for byte: one with half a pair cannot.
            let echoed =
                !wire::is_replaced(&wire::replace_lone_surrogates(&spelled), &wire::replace_lone_surrogates(&spelled));
            let id = if echoed { spelled.as_str() } else { "7" };
            let (commands, frames) = talk.hear(format!(r#"{{"id":{id},"type":"follow_up","message":{spelled}}}"#));
            let slash = meant.starts_with('/') && meant.len() > 1 && !meant[1..].contains('/');
            match commands.first().map(|command| &command.verb) {
                Some(Verb::Session(SessionVerb::Prompt { parts, .. })) => assert_eq!(parts_text(parts), meant),
                Some(Verb::Session(SessionVerb::Inspect)) if slash => {}
                other => panic!("{meant:?}: {other:?} {frames:?}"),
            }
            let (_, frames) = talk.reply(commands[0].tag, Ok(Reply::Done));
            assert!(slash || !echoed || frames[0]["id"] == meant, "{meant:?}: {frames:?}");
        }
    }
}

fn fault(text: &str) -> Fault {
    Fault::new(FaultKind::Provider, text)
}

fn ask(id: &str, kind: AskKind) -> Body {
    Body::Ask(AskEntry::Opened(Ask { id: id.into(), turn: None, kind, timeout_ms: Some(5) }))
}

fn message(blocks: Vec<Block>, model: &str) -> Body {
    let end = MessageEnd::Finished(Finish::ToolUse);
    let message = AssistantMessage { blocks, model: model.into(), end, usage: Usage::default() };
    Body::Assistant { turn: None, message }
}

/// Every entry of the log that has text in it, with this text everywhere.
fn bodies(s: &str) -> Vec<Body> {
    let arc: Arc<str> = s.into();
    let object = Json::trusted(json!({ s: s }).to_string());
    let call = Call { id: s.into(), name: arc.clone(), input: CallInput::Object(object.clone()), seal: None };
    let broken = CallInput::Broken { text: arc.clone(), detail: arc.clone() };
    let parts = vec![Part::text(s), Part::Image(Image { mime: arc.clone(), base64: arc.clone() })];
    let result = CallResult {
        call: s.into(),
        tool: arc.clone(),
        end: CallEnd::Ran,
        parts: parts.clone(),
        is_error: false,
        duration_ms: 1,
        mutation: None,
        edits: vec![],
        details: Some(object.clone()),
    };
    let end = |stop, fault| {
        Body::Turn(TurnEntry::Ended(TurnEnd {
            turn: s.into(),
            stop,
            iterations: 0,
            usage: Usage::default(),
            mutations: vec![(arc.clone(), arc.clone())],
            fault,
        }))
    };
    let permission = PermissionAsk {
        call: s.into(),
        tool: arc.clone(),
        input: object.clone(),
        active: Mode::Prompt,
        required: Required::ReadOnly,
        reason: Some(arc.clone()),
        summary: arc.clone(),
        preview: Some([Fact::text("x", &arc)].into()),
        may_have_run: false,
    };
    let compaction = Compaction {
        reason: CompactReason::Overflow,
        summary: arc.clone(),
        first_kept: 1,
        tokens_before: 1,
        tokens_after: 1,
        messages_before: 1,
        messages_after: 1,
        usage: Usage::default(),
        model: "".into(),
    };
    vec![
        Body::Turn(TurnEntry::Started { turn: s.into() }),
        Body::User { turn: None, parts, from: UserFrom::Prompt },
        message(
            vec![
                Block::Text(arc.clone()),
                Block::Thinking { text: arc.clone(), opaque: Some(arc.clone()) },
                Block::Call(call.clone()),
                Block::Call(Call { input: broken, ..call.clone() }),
            ],
            s,
        ),
        Body::Call(CallEntry::Started { turn: s.into(), call, tool: arc.clone() }),
        ask("a0", AskKind::Permission(permission)),
        ask("a1", AskKind::HostCall { call: s.into(), tool: arc.clone(), input: object }),
        ask("a2", AskKind::Select { title: arc.clone(), options: vec![arc.clone()] }),
        ask("a3", AskKind::Confirm { title: arc.clone(), message: arc.clone() }),
        ask("a4", AskKind::Input { title: arc.clone(), placeholder: Some(arc.clone()) }),
        ask(s, AskKind::Editor { title: arc.clone(), prefill: Some(arc.clone()) }),
        Body::Call(CallEntry::Ended { turn: s.into(), result }),
        Body::Model(ModelEntry::Retrying { turn: s.into(), attempt: 1, attempts_max: 3, wait_ms: 1, fault: fault(s) }),
        Body::Branch(BranchEntry::Compacted(compaction)),
        Body::Setting(SettingEntry::Title { title: arc.clone() }),
        end(Stop::Error, Some(fault(s))),
        end(Stop::Interrupted, None),
    ]
}

fn notices(s: &str) -> Vec<Notice> {
    let arc: Arc<str> = s.into();
    vec![
        Notice::Say { text: arc.clone(), level: NoticeLevel::Error },
        Notice::Status { key: arc.clone(), text: Some(arc.clone()) },
        Notice::Widget { key: arc.clone(), lines: Some(vec![arc.clone()]), below: true },
        Notice::Title { text: arc.clone() },
        Notice::EditorText { text: arc },
    ]
}

/// How often a text occurs in a value.
fn count(value: &Value, text: &str) -> usize {
    match value {
        Value::String(it) => usize::from(it == text),
        Value::Array(items) => items.iter().map(|item| count(item, text)).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| usize::from(name == text) + count(value, text)).sum()
        }
        _ => 0,
    }
}

#[test]
fn what_is_said_reads_back_equal() {
    for text in strings() {
        let s = text.as_str();
        let arc: Arc<str> = s.into();
        let mut talk = Talk::with(dialect_rpc::RpcOptions { emit_title: true, version: s.into(), ..options() });
        let mut said = Vec::new();
        let turn = || TurnId::from(s);
        for event in [
            Event::Delta(Delta::Text { turn: turn(), delta: s.into() }),
            Event::Delta(Delta::Thinking { turn: turn(), delta: s.into() }),
            Event::Delta(Delta::CallInput {
                turn: turn(),
                index: 0,
                id: Some(s.into()),
                name: Some(arc.clone()),
                delta: s.into(),
            }),
            Event::Extension(ExtensionEvent::Trouble { source: arc.clone(), during: arc.clone(), text: arc.clone() }),
            Event::Compaction(CompactionEvent::Failed { reason: CompactReason::Threshold, fault: fault(s) }),
            Event::Queue(QueueEvent::Waiting(vec![Item {
                id: s.into(),
                parts: vec![Part::text(s)],
                delivery: Delivery::Steer,
                at_ms: 1,
                sender: None,
                by: None,
                until_ms: None,
            }])),
        ] {
            said.extend(talk.tell(event).1);
            said.extend(talk.pause());
        }
        for notice in notices(s) {
            said.extend(talk.tell(Event::Extension(ExtensionEvent::Notice(notice))).1);
        }
        for body in bodies(s) {
            said.extend(talk.log(body));
            let progress =
                Event::Delta(Delta::CallProgress { turn: turn(), call: s.into(), parts: vec![Part::text(s)] });
            said.extend(talk.tell(progress).1);
        }
        assert!(said.len() > 30, "{}", said.len());
        let found: usize = said.iter().map(|frame| count(frame, s)).sum();
        assert!(s.is_empty() || found > 40, "{s:?} came back {found} times");
    }
}

#[test]
fn answers_read_back_equal() {
    for text in strings() {
        let s = text.as_str();
        let arc: Arc<str> = s.into();
        let entries: Vec<Arc<Entry>> = bodies(s)
            .into_iter()
            .enumerate()
            .map(|(at, body)| Arc::new(Entry { seq: at as u64 + 1, parent: at as u64, at_ms: 1, body, by: None }))
            .collect();
        let model = ModelInfo {
            provider: arc.clone(),
            id: arc.clone(),
            name: arc.clone(),
            api: arc.clone(),
            base_url: arc.clone(),
            ..ModelInfo::named(s, 1000)
        };
        let task =
            TodoTask { id: arc.clone(), content: arc.clone(), status: TodoStatus::Pending, notes: Some(arc.clone()) };
        let full = State {
            title: Some(arc.clone()),
            thinking: Some(arc.clone()),
            file: Some(s.into()),
            todos: Arc::from([TodoPhase { id: arc.clone(), name: arc.clone(), tasks: vec![task] }]),
            model_info: Arc::new(model.clone()),
            ..state("s1")
        };
        let shell = Shell {
            command: arc.clone(),
            output: arc.clone(),
            exit_code: Some(0),
            cancelled: false,
            truncated: true,
            total_lines: 1,
            total_bytes: 1,
            spilled: Some(arc.clone()),
            aside: false,
        };
        let exported = Exported { path: s.into(), format: "html", bytes: 1 };
        let read = |name: &'static str| (name, Reply::Entries(entries.clone()));
        for (name, reply) in [
            read("get_messages"),
            read("get_entries"),
            read("get_tree"),
            read("get_session_stats"),
            read("get_branch_messages"),
            read("get_last_assistant_text"),
            ("get_state", inspected(full.clone())),
            ("get_available_models", Reply::Models(vec![model])),
            (r#"bash","command":"x"#, Reply::Shell(Box::new(shell))),
            ("export_html", Reply::Exported(exported)),
        ] {
            let mut talk = Talk::open();
            talk.tell(Event::State(Arc::new(full.clone())));
            let (commands, _) = talk.hear(format!(r#"{{"type":"{name}"}}"#));
            let (_, mut frames) = talk.reply(commands[0].tag, Ok(reply));
            if frames[0]["type"] == "bash_execution_update" {
                assert_eq!(frames.remove(0)["delta"], s);
            }
            assert_eq!((frames.len(), &frames[0]["success"]), (1, &true.into()), "{name}: {frames:?}");
            let bare = ["get_last_assistant_text", "get_branch_messages"].contains(&name);
            assert!(bare || s.is_empty() || count(&frames[0], s) > 0, "{name} {s:?}: {frames:?}");
        }
        let mut talk = Talk::open();
        let (commands, _) = talk.hear(r#"{"type":"new_session"}"#);
        let (commands, _) = talk.reply(commands[0].tag, Ok(Reply::Interrupted { was_running: false }));
        let (_, frames) = talk.reply(commands[0].tag, Ok(opened(State { session: s.into(), ..state("s2") })));
        assert_eq!(frames[0]["success"], true);
    }
}

/// JSON that is carried as it came: arguments of a model, details of a tool.
#[test]
fn half_a_pair_in_carried_json_becomes_a_mark() {
    let carried = Json::trusted("{\"k\":\"\\ud800 \\udc00x\",\r\n \"n\":1}");
    let call = Call { id: "c1".into(), name: "x".into(), input: CallInput::Object(carried.clone()), seal: None };
    let mut talk = Talk::open();
    let mut said = Vec::new();
    for body in bodies("s") {
        said.extend(talk.log(match body {
            Body::Assistant { .. } => message(vec![Block::Call(call.clone())], "m"),
            Body::Call(CallEntry::Started { turn, tool, .. }) => {
                Body::Call(CallEntry::Started { turn, call: call.clone(), tool })
            }
            Body::Call(CallEntry::Ended { turn, result }) => Body::Call(CallEntry::Ended {
                turn,
                result: CallResult { call: "c1".into(), details: Some(carried.clone()), ..result },
            }),
            body => body,
        }));
    }
    let marks: usize = said.iter().map(|frame| count(frame, "\u{fffd} \u{fffd}x")).sum();
    assert!(marks >= 6, "{marks}: {said:#?}");
}
