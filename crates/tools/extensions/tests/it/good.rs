//! What an extension can do, with small programs.

use vocab::*;

use crate::support::*;

#[tokio::test]
async fn it_learns_who_we_are_and_what_there_is() {
    let mut scene = ExtensionScene::new();
    let path =
        scene.python("a.py", "json.dump(register(), open(sys.argv[0] + '.out', 'w'))\nfor _ in frames(): pass\n");
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    actor.settle().await;
    let seen: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(format!("{}.out", path.display())).unwrap()).unwrap();
    assert_eq!((seen["protocol"].as_i64(), seen["name"].as_str()), (Some(1), Some("tillerman")));
    assert_eq!(seen["workspace"].as_str(), scene.stage.workspace().to_str());
    assert!(seen["capabilities"]["hooks"].as_array().unwrap().contains(&"before_call".into()));
    scene.shutdown().await;
}

#[tokio::test]
async fn a_tool_is_called_with_progress_and_a_result() {
    let mut scene = ExtensionScene::new();
    let path = scene.python(
        "sum.py",
        r#"
register(tools=[{"name": "add", "description": "adds", "parameters": {"type": "object"}}])
for frame in frames():
    if frame["method"] == "tool/call":
        params = frame["params"]
        send(method="tool/progress", params={"id": frame["id"], "content": "adding"})
        send(id=frame["id"], result={"content": str(sum(params["input"]["numbers"])), "details": {"n": 2}})
"#,
    );
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    turn(&mut actor, r#"call add {"numbers":[2,3]} then say "done""#).await;
    assert_eq!(results(&actor), [(CallEnd::Ran, "5".to_owned())]);
    assert!(actor.told.iter().any(|told| matches!(&told.event, Event::Delta(Delta::CallProgress { .. }))));
    scene.shutdown().await;
}

#[tokio::test]
async fn a_tool_needs_what_it_says_and_full_access_where_it_says_nothing() {
    let mut scene = ExtensionScene::with(|options| options.mode = Mode::Plan);
    let path = scene.python(
        "ops.py",
        r#"
register(tools=[{"name": "peek", "required": "read-only"}, {"name": "deploy"}])
send(id=9, method="tools/set", params={"tools": [{"name": "x", "required": "root"}]})
for frame in frames():
    if frame.get("method") == "tool/call":
        send(id=frame["id"], result={"content": frame["params"]["tool"] + " ran"})
    if frame.get("id") == 9:
        assert "danger-full-access" in frame["error"]["message"], frame
"#,
    );
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    turn(&mut actor, r#"call peek {} then call deploy {} then say "done""#).await;
    let results = results(&actor);
    assert_eq!(results[0], (CallEnd::Ran, "peek ran".to_owned()));
    assert!(results[1].0 == CallEnd::Denied && results[1].1.contains("plan mode"), "{results:?}");
    scene.shutdown().await;
}

#[tokio::test]
async fn several_calls_wait_for_it_at_once_and_each_gets_its_own_answer() {
    let mut scene = ExtensionScene::new();
    // It answers the first session's call only when the second session's has come, in reverse order.
    let path = scene.python(
        "swap.py",
        r#"
register(tools=[{"name": "swap"}])
waiting = []
for frame in frames():
    if frame["method"] == "tool/call":
        waiting.append(frame)
        if len(waiting) == 2:
            for it in reversed(waiting):
                send(id=it["id"], result={"content": it["params"]["input"]["who"]})
"#,
    );
    scene.start(&[&path]).await;
    let (mut one, mut two) = (scene.stage.open().await, scene.stage.open().await);
    one.prompt(r#"call swap {"who":"one"}"#).await;
    two.prompt(r#"call swap {"who":"two"}"#).await;
    one.turn_end().await;
    two.turn_end().await;
    assert_eq!(results(&one), [(CallEnd::Ran, "one".to_owned())]);
    assert_eq!(results(&two), [(CallEnd::Ran, "two".to_owned())]);
    scene.shutdown().await;
}

#[tokio::test]
async fn a_cancelled_call_is_told_and_a_late_answer_is_nobodys_mistake() {
    let mut scene = ExtensionScene::new();
    let path = scene.python(
        "slow.py",
        r#"
register(tools=[{"name": "slow"}])
for frame in frames():
    if frame["method"] == "tool/call":
        call = frame["id"]
    if frame["method"] == "$/cancel":
        assert frame["params"]["id"] == call
        send(id=call, result={"content": "too late"})
        send(method="ui/notify", params={"message": "it was cancelled"})
"#,
    );
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    actor.prompt("call slow {}").await;
    actor.ask().await;
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
    notice(&mut actor, "it was cancelled").await;
    actor.settle().await;
    assert!(
        !actor.told.iter().any(|told| matches!(told.event, Event::Extension(ExtensionEvent::Trouble { .. }))),
        "{:#?}",
        actor.told
    );
    scene.shutdown().await;
}

#[tokio::test]
async fn hooks_change_what_runs_and_what_is_read() {
    let mut scene = ExtensionScene::new();
    let path = scene.python(
        "hooks.py",
        r#"
register(hooks=["before_turn", "before_call", "after_call"])
for frame in frames():
    if frame["method"] == "hook/before_turn":
        assert frame["params"]["prompt"].startswith("call read_file"), frame
        send(id=frame["id"], result={"system": "a word before"})
    if frame["method"] == "hook/before_call":
        send(id=frame["id"], result={"input": {"path": "b.txt"}})
    if frame["method"] == "hook/after_call":
        text = frame["params"]["content"][0]["text"]
        send(id=frame["id"], result={"content": [{"type": "text", "text": text.replace("secret", "******")}]})
"#,
    );
    scene.stage.write("a.txt", "nothing");
    scene.stage.write("b.txt", "the secret word");
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    turn(&mut actor, r#"call read_file {"path":"a.txt"} then say "done""#).await;
    let results = results(&actor);
    assert!(results[0].1.contains("the ****** word"), "{results:?}");
    scene.shutdown().await;
}

#[tokio::test]
async fn dialogs_come_back_with_what_people_said() {
    let mut scene = ExtensionScene::new();
    let path = scene.python(
        "ask.py",
        r#"
register(commands=[{"name": "/Ask"}])
answers = []
for frame in frames():
    if frame.get("method") == "command/run":
        run = frame
        send(id="s", method="ui/select", params={"title": "Which?", "options": ["a", "b"]})
        send(id="c", method="ui/confirm", params={"title": "Sure?", "message": "m"})
        send(id="i", method="ui/input", params={"title": "Name?", "placeholder": "p"})
        send(id="e", method="ui/editor", params={"title": "Text?", "prefill": "x"})
        send(id="t", method="ui/input", params={"title": "Quick?", "timeoutMs": 30})
        send(id="x", method="ui/nothing")
    elif "method" not in frame:
        answers.append((frame["id"], frame.get("result", frame.get("error", {}).get("code"))))
        if len(answers) == 6:
            send(method="ui/notify", params={"message": json.dumps(sorted(answers)), "level": "warning"})
            send(id=run["id"], result=None)
"#,
    );
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    assert_eq!(command(&mut actor, "ask", "").await, Ok(Reply::Done));
    for _ in 0..5 {
        let ask = dialog(&mut actor).await;
        actor.told.retain(|told| !matches!(&told.event, Event::Logged(entry) if matches!(&entry.body, Body::Ask(AskEntry::Opened(it)) if it.id == ask.id)));
        match &ask.kind {
            AskKind::Select { options, .. } => answer(&mut actor, &ask, Answer::Text(options[1].clone())).await,
            AskKind::Confirm { .. } => answer(&mut actor, &ask, Answer::Confirmed(true)).await,
            AskKind::Input { title, .. } if &**title == "Quick?" => {}
            AskKind::Input { .. } => answer(&mut actor, &ask, Answer::Text("me".into())).await,
            AskKind::Editor { prefill, .. } => {
                assert_eq!(prefill.as_deref(), Some("x"));
                answer(&mut actor, &ask, Answer::Dismissed).await;
            }
            other => panic!("not a dialog: {other:?}"),
        }
    }
    let Notice::Say { text, level } = notice(&mut actor, "[[").await else { panic!("not a word") };
    assert_eq!(level, NoticeLevel::Warning);
    assert_eq!(
        &*text,
        r#"[["c", {"confirmed": true}], ["e", {"value": null}], ["i", {"value": "me"}], ["s", {"value": "b"}], ["t", {"value": null}], ["x", -32601]]"#
    );
    scene.shutdown().await;
}

#[tokio::test]
async fn it_hears_the_events_it_asked_for_and_no_others() {
    let mut scene = ExtensionScene::new();
    let path = scene.python(
        "ear.py",
        r#"
register(events=["session_start", "turn_start", "turn_end", "message", "tool_call", "tool_result", "text_delta", "nonsense"])
heard = []
for frame in frames():
    if frame["method"] == "event":
        p = frame["params"]
        heard.append(p["type"] if p["type"] != "message" else p["role"] + ":" + p["text"])
        if p["type"] == "turn_end":
            send(method="ui/notify", params={"message": "|".join(heard)})
"#,
    );
    scene.stage.write("a.txt", "x");
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    assert_eq!(trouble(&mut actor).await, ("register".to_owned(), "there is no event `nonsense`".to_owned()));
    let prompt = r#"call read_file {"path":"a.txt"} then say "done""#;
    turn(&mut actor, prompt).await;
    let Notice::Say { text, .. } = notice(&mut actor, "turn_end").await else { panic!("not a word") };
    let expected = format!(
        "session_start|turn_start|user:{prompt}|assistant:|tool_call|tool_result|text_delta|assistant:done|turn_end"
    );
    assert_eq!(&*text, expected);
    scene.shutdown().await;
}

#[tokio::test]
async fn it_can_speak_to_the_model_and_change_what_it_brings() {
    let mut scene = ExtensionScene::new();
    let path = scene.python(
        "grow.py",
        r#"
register(commands=[{"name": "grow"}])
for frame in frames():
    if frame.get("method") == "command/run":
        send(id=1, method="tools/set", params={"tools": [{"name": "late"}]})
        send(id=2, method="commands/set", params={"commands": [{"name": "shrink"}]})
        send(id=3, method="tools/set", params={"tools": [{"name": "bad name"}]})
        send(method="session/prompt", params={"session": frame["params"]["session"], "text": "call late {}"})
        send(id=frame["id"], result=None)
    if frame.get("method") == "tool/call":
        send(id=frame["id"], result={"content": "better late"})
    if frame.get("id") == 3:
        send(method="log", params={"message": "refused as it should be"})
        assert frame["error"]["code"] == -32602, frame
"#,
    );
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    command(&mut actor, "grow", "").await.unwrap();
    actor.turn_end().await;
    assert_eq!(results(&actor), [(CallEnd::Ran, "better late".to_owned())]);
    assert_eq!(command(&mut actor, "grow", "").await.unwrap_err().kind, FaultKind::UnknownCommand);
    assert_eq!(command(&mut actor, "shrink", "").await, Ok(Reply::Done));
    scene.shutdown().await;
}

#[tokio::test]
async fn it_can_ask_for_the_end() {
    let mut scene = ExtensionScene::new();
    let path = scene.python(
        "leave.py",
        r#"
register(commands=[{"name": "leave"}])
for frame in frames():
    if frame.get("method") == "command/run":
        send(method="session/exit", params={})
        send(id=frame["id"], result=None)
"#,
    );
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    command(&mut actor, "leave", "").await.unwrap();
    actor.until(|event| matches!(event, Event::Extension(ExtensionEvent::Notice(Notice::Exit)))).await;
    scene.shutdown().await;
}

#[tokio::test]
async fn they_are_asked_in_the_order_of_the_list_whoever_was_ready_first() {
    let mut scene = ExtensionScene::new();
    let program = |wait: &str, mark: &str| {
        format!(
            r#"
time.sleep({wait})
register(hooks=["after_call"])
for frame in frames():
    if frame["method"] == "hook/after_call":
        send(id=frame["id"], result={{"content": frame["params"]["content"][0]["text"] + "{mark}"}})
"#
        )
    };
    let slow = scene.python("slow.py", &program("0.3", " first"));
    let quick = scene.python("quick.py", &program("0", " second"));
    scene.stage.write("a.txt", "x");
    scene.start(&[&slow, &quick]).await;
    let mut actor = scene.stage.open().await;
    turn(&mut actor, r#"call read_file {"path":"a.txt"}"#).await;
    assert!(results(&actor)[0].1.ends_with(" first second"), "{:?}", results(&actor));
    scene.shutdown().await;
}

#[tokio::test]
async fn a_shell_script_and_a_program_that_runs_by_itself_are_extensions_too() {
    use std::os::unix::fs::PermissionsExt;
    let mut scene = ExtensionScene::new();
    let text = r#"#!/bin/sh
read -r line
echo '{"jsonrpc":"2.0","id":1,"result":{"commands":[{"name":"NAME"}]}}'
while read -r line; do :; done
"#;
    let script = scene.write("one.sh", &text.replace("NAME", "one"));
    let runs = scene.write("two", &text.replace("NAME", "two"));
    std::fs::set_permissions(&runs, std::fs::Permissions::from_mode(0o755)).unwrap();
    scene.start(&[&script, &runs]).await;
    let mut actor = scene.stage.open().await;
    assert_eq!(command(&mut actor, "one", "").await, Ok(Reply::Done));
    assert_eq!(command(&mut actor, "two", "").await, Ok(Reply::Done));
    scene.shutdown().await;
}
