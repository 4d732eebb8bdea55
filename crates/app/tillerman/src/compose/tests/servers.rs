//! A server of tools that comes with a session, from the controller's word to the model's call.

use vocab::*;

use super::stage::SetupPlace;
use catalogue::Wanted;

/// Lets this test binary be its own leash: the argument `__leash` is, for the test harness, a filter that selects
/// exactly this function.
#[test]
fn __leash() {
    // In an ordinary test run this is one of many tests and has nothing to do.
    if std::env::args().nth(1).as_deref() == Some(process::leash::ARG) {
        std::process::exit(process::leash::run());
    }
}

fn scripted(name: &str, kind: &str) -> McpServer {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/mcp/tests/scripted.py");
    let way =
        McpTransport::Process { command: "python3".into(), args: vec![script.into(), kind.into()], env: Vec::new() };
    McpServer { name: name.into(), way, trust_hints: false }
}

async fn prompt(stage: &mut super::stage::BuiltStage, text: &str) -> (CallEnd, String) {
    let parts = vec![Part::text(text)];
    stage.ask(Verb::Session(SessionVerb::Prompt { parts, delivery: Delivery::RejectIfBusy })).await.unwrap();
    let result = |event: &Event| match event {
        Event::Logged(entry) => match &entry.body {
            Body::Call(CallEntry::Ended { result, .. }) => Some((result.end, result.text())),
            _ => None,
        },
        _ => None,
    };
    let found = stage.until(result).await;
    let ended = |event: &Event| {
        matches!(event, Event::Logged(it) if matches!(it.body, Body::Turn(TurnEntry::Ended(_)))).then_some(())
    };
    stage.until(ended).await;
    found
}

#[tokio::test]
async fn its_tools_are_called_and_it_ends_with_the_session() {
    let wanted = Wanted { model: Some("tour".into()), ..Wanted::default() };
    let mut stage = SetupPlace::new(wanted).await.stage().await;
    let servers = vec![scripted("py", "good"), scripted("bad", "crash")];
    let open = Open { servers, mode: Some(Mode::DangerFullAccess), ..Open::new(Which::New) };
    stage.ask(Verb::Open(open)).await.unwrap();
    let (end, text) = prompt(&mut stage, r#"call mcp__py__add {"a":2,"b":3}"#).await;
    assert_eq!((end, text.as_str()), (CallEnd::Ran, "5"));
    let warned = |event: &Event| match event {
        Event::Extension(ExtensionEvent::Notice(Notice::Say { text, .. })) if text.contains("bad") => {
            Some(text.clone())
        }
        _ => None,
    };
    let warning = stage.until(warned).await;
    assert!(warning.contains("exited with code 7") && warning.contains("line 59"), "{warning}");
    let (_, pids) = prompt(&mut stage, "call mcp__py__children {}").await;
    let pids: Vec<&str> = pids.split(' ').collect();
    let is_alive =
        |pid: &&&str| std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|it| !it.contains(") Z "));
    assert_eq!(pids.iter().filter(is_alive).count(), 2, "{pids:?}");
    drop(stage);
    for _ in 0..1000 {
        if pids.iter().filter(is_alive).count() == 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{pids:?} live on");
}
