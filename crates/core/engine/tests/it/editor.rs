//! What a controller does for the tools of its session.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use testkit::Stage;
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

/// One tool that has done what its arguments name, and answers with what came of it.
struct Sender;

impl Toolbox for Sender {
    fn open(&self, _: &SessionId, _: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let spec = ToolSpec { name: "send".into(), description: "send".into(), schema: Json::empty_object() };
        Ok(vec![Arc::new(Send(spec))])
    }
    fn restore(&self, _: &Path, _: &[FileEdit]) -> Vec<Arc<str>> {
        Vec::new()
    }
    fn diff(&self, _: &[FileEdit]) -> Vec<FileDiff> {
        Vec::new()
    }
    fn shell(&self, _: &SessionId, _: &Path, _: &str, _: Progress, _: Later<'static, ()>) -> Later<'static, Shell> {
        unreachable!("nobody runs a command here")
    }
}

struct Send(ToolSpec);

impl Tool for Send {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn required(&self) -> Required {
        Required::ReadOnly
    }
    fn plan(&self, _: &Json) -> Result<Plan, String> {
        Ok(Plan { required: Required::ReadOnly, mutation: None, summary: "send".into(), preview: None })
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let Some(editor_requests) = context.editor_requests else {
            return Box::pin(async { Outcome::text("nobody serves") });
        };
        let input = input.as_str().to_owned();
        let kind = match &input {
            it if it.contains("run") => {
                let (program, cwd) = ("make".into(), "/w".into());
                EditorRequestKind::Run { program, args: Vec::new(), cwd, env: Vec::new(), output_bytes_max: 9 }
            }
            it if it.contains("write") => EditorRequestKind::WriteText { path: "/w/a".into(), content: "new".into() },
            _ => EditorRequestKind::ReadText { path: "/w/a".into() },
        };
        let first = editor_requests.run(kind);
        // Somebody else's task still has the way to the controller when the call is long over.
        if input.contains("late") {
            let more = editor_requests.run(EditorRequestKind::ReadText { path: "/w/late".into() });
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(5)).await;
                more.await
            });
            return Box::pin(async { Outcome::text("left") });
        }
        Box::pin(async move { Outcome::text(format!("{:?} {:?}", editor_requests.offered().terminal, first.await)) })
    }
}

const TEXTS: EditorOffer = EditorOffer { read_text: true, write_text: true, terminal: false };
const ALL: EditorOffer = EditorOffer { read_text: true, write_text: true, terminal: true };

fn on_stage(inputs: &[&str]) -> Stage {
    let plays: Vec<Play> = inputs.iter().flat_map(|input| [calls(&[("send", input)]), say("ok")]).collect();
    stage_with(&Player::new(plays), |options| options.toolbox = Some(Arc::new(Sender)))
}

async fn serves(actor: &mut Actor, services: EditorOffer) {
    assert_eq!(ask_for(actor, Verb::Session(SessionVerb::OfferEditor(services))).await, Ok(Reply::Done));
}

async fn editor_request(actor: &mut Actor) -> EditorRequest {
    match actor.until(|event| matches!(event, Event::Editor(EditorEvent::Request(_)))).await {
        Event::Editor(EditorEvent::Request(editor_request)) => editor_request,
        other => panic!("no editor_request: {other:?}"),
    }
}

async fn done(actor: &mut Actor, editor_request: u64, result: EditorReply) -> Result<Reply, Fault> {
    ask_for(actor, Verb::Session(SessionVerb::EditorReplied { editor_request, result })).await
}

/// What the tool said, when the turn is over.
async fn said(actor: &mut Actor) -> String {
    actor.turn_end().await;
    let ended = actor.told.iter().rev().find_map(|told| match &told.event {
        Event::Logged(entry) => match &entry.body {
            Body::Call(CallEntry::Ended { result, .. }) => Some(result.text()),
            _ => None,
        },
        _ => None,
    });
    ended.expect("the call has ended")
}

fn was_told_of_editor_requests(actor: &Actor) -> bool {
    actor.told.iter().any(|told| matches!(told.event, Event::Editor(_)))
}

#[tokio::test(start_paused = true)]
async fn an_editor_request_goes_to_the_peer_that_serves_and_its_word_is_the_result() {
    let stage = on_stage(&["{}"]);
    let mut actor = stage.open().await;
    let mut other = stage.actor();
    other.open(Open::new(Which::Named("s1".into()))).await.unwrap();
    serves(&mut actor, TEXTS).await;
    actor.prompt("go").await;
    let editor_request = editor_request(&mut actor).await;
    assert_eq!(
        (editor_request.call.as_str(), &editor_request.kind),
        ("c1", &EditorRequestKind::ReadText { path: "/w/a".into() })
    );
    let text = || EditorReply::Text("unsaved".into());
    assert_eq!(done(&mut other, editor_request.id, text()).await.unwrap_err().kind, FaultKind::UnknownAsk);
    assert_eq!(done(&mut actor, editor_request.id + 1, text()).await.unwrap_err().kind, FaultKind::UnknownAsk);
    assert_eq!(done(&mut actor, editor_request.id, EditorReply::Written).await.unwrap_err().kind, FaultKind::Invalid);
    assert_eq!(done(&mut actor, editor_request.id, text()).await, Ok(Reply::Done));
    assert_eq!(
        done(&mut actor, editor_request.id, text()).await.unwrap_err().kind,
        FaultKind::UnknownAsk,
        "answered once"
    );
    assert_eq!(said(&mut actor).await, "false Text(\"unsaved\")");
    other.settle().await;
    assert!(!was_told_of_editor_requests(&other), "it is one peer's business");
    assert!(!actor.told.iter().any(|told| matches!(told.event, Event::Editor(EditorEvent::Dropped { .. }))));
    assert!(!log(&stage).await.contains("/w/a"), "nothing but the tool's own result is logged");
}

#[tokio::test(start_paused = true)]
async fn the_peer_that_offered_last_serves_and_an_empty_offer_takes_it_back() {
    let stage = on_stage(&["{}", "{}", "{}"]);
    let mut first = stage.open().await;
    let mut second = stage.actor();
    second.open(Open::new(Which::Named("s1".into()))).await.unwrap();
    serves(&mut first, ALL).await;
    serves(&mut second, TEXTS).await;
    first.prompt("one").await;
    let id = editor_request(&mut second).await.id;
    done(&mut second, id, EditorReply::NotFound).await.unwrap();
    assert_eq!(said(&mut first).await, "false NotFound");
    serves(&mut second, EditorOffer::default()).await;
    first.forget();
    first.prompt("two").await;
    let id = editor_request(&mut first).await.id;
    done(&mut first, id, EditorReply::NotFound).await.unwrap();
    assert_eq!(said(&mut first).await, "true NotFound");
    serves(&mut first, EditorOffer::default()).await;
    first.forget();
    first.prompt("three").await;
    assert_eq!(said(&mut first).await, "nobody serves");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_offered_is_not_asked_for() {
    let stage = on_stage(&[r#"{"do":"run"}"#]);
    let mut actor = stage.open().await;
    serves(&mut actor, TEXTS).await;
    actor.prompt("go").await;
    assert_eq!(said(&mut actor).await, "false Failed(\"the controller does not offer this\")");
    assert!(!was_told_of_editor_requests(&actor));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_withdraws_the_editor_request() {
    let stage = on_stage(&[r#"{"do":"run"}"#]);
    let mut actor = stage.open().await;
    serves(&mut actor, ALL).await;
    actor.prompt("go").await;
    let id = editor_request(&mut actor).await.id;
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    actor.until(|event| *event == Event::Editor(EditorEvent::Dropped { editor_request: id })).await;
    assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
    let ran = EditorReply::Ran { output: "".into(), truncated: false, exit_code: Some(0), signal: None };
    assert_eq!(done(&mut actor, id, ran).await.unwrap_err().kind, FaultKind::UnknownAsk);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_withdraws_the_editor_request() {
    let stage = on_stage(&[r#"{"do":"run"}"#]);
    let mut actor = stage.open().await;
    serves(&mut actor, ALL).await;
    actor.prompt("go").await;
    let id = editor_request(&mut actor).await.id;
    stage.engine.shutdown().await;
    actor.until(|event| *event == Event::Editor(EditorEvent::Dropped { editor_request: id })).await;
}

#[tokio::test(start_paused = true)]
async fn the_withdrawal_of_an_editor_request_survives_a_store_that_fails() {
    let store = Arc::new(FaultyStore::new(Arc::new(store::MemoryStore::new())));
    let kept = store.clone();
    let stage = stage_with(&Player::new([calls(&[("send", r#"{"do":"run"}"#)])]), |options| {
        options.toolbox = Some(Arc::new(Sender));
        options.store = kept;
    });
    let mut actor = stage.open().await;
    serves(&mut actor, ALL).await;
    actor.prompt("go").await;
    let id = editor_request(&mut actor).await.id;
    store.fail_append(1);
    store.slow(vec![100]);
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    actor.until(|event| *event == Event::Editor(EditorEvent::Dropped { editor_request: id })).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_done_is_done_also_where_the_store_fails() {
    let store = Arc::new(FaultyStore::new(Arc::new(store::MemoryStore::new())));
    let kept = store.clone();
    let stage = stage_with(&Player::new([calls(&[("send", "{}")])]), |options| {
        options.toolbox = Some(Arc::new(Sender));
        options.store = kept;
    });
    let mut actor = stage.open().await;
    serves(&mut actor, TEXTS).await;
    actor.prompt("go").await;
    let id = editor_request(&mut actor).await.id;
    store.fail_append(1);
    store.slow(vec![100]);
    let title = actor.send(Verb::Session(SessionVerb::Set(Change::Title("x".into())))).await;
    assert_eq!(done(&mut actor, id, EditorReply::NotFound).await, Ok(Reply::Done));
    assert_eq!(actor.reply(title).await.unwrap_err().kind, FaultKind::Store);
    actor.settle().await;
    let dropped = |told: &Told| matches!(told.event, Event::Editor(EditorEvent::Dropped { .. }));
    assert!(!actor.told.iter().any(dropped), "it was answered");
}

#[tokio::test(start_paused = true)]
async fn an_editor_request_comes_behind_the_answer_to_the_opening() {
    let store = Arc::new(FaultyStore::new(Arc::new(store::MemoryStore::new())));
    let kept = store.clone();
    let stage = stage_with(&Player::new([say("ok"), calls(&[("send", "{}")])]), |options| {
        options.toolbox = Some(Arc::new(Sender));
        options.store = kept;
    });
    let mut first = stage.open().await;
    first.prompt("one").await;
    first.turn_end().await;
    first.forget();
    store.slow_reads(300);
    let mut second = stage.actor();
    let abilities = Abilities { editor: Some(TEXTS), ..Abilities::default() };
    let open = Open { after: Some(Cursor::at(2)), abilities, ..Open::new(Which::Named("s1".into())) };
    let open = second.send(Verb::Open(open)).await;
    first.prompt("two").await;
    let id = editor_request(&mut second).await.id;
    assert!(matches!(second.told[0].event, Event::Reply { tag, .. } if tag == open), "{:#?}", second.told);
    done(&mut second, id, EditorReply::NotFound).await.unwrap();
    assert_eq!(said(&mut first).await, "false NotFound");
}

#[tokio::test(start_paused = true)]
async fn a_text_has_a_time_limit_and_a_command_has_none() {
    let stage = on_stage(&[r#"{"do":"write"}"#, r#"{"do":"run"}"#]);
    let mut actor = stage.open().await;
    serves(&mut actor, ALL).await;
    actor.prompt("go").await;
    let id = editor_request(&mut actor).await.id;
    let asked = tokio::time::Instant::now();
    actor.until(|event| *event == Event::Editor(EditorEvent::Dropped { editor_request: id })).await;
    assert_eq!(asked.elapsed().as_secs(), 30);
    assert_eq!(said(&mut actor).await, "true Failed(\"the controller did not answer within 30 s\")");
    actor.forget();
    actor.prompt("again").await;
    let id = editor_request(&mut actor).await.id;
    tokio::time::sleep(Duration::from_secs(300)).await;
    let ran = EditorReply::Ran { output: "built".into(), truncated: false, exit_code: Some(0), signal: None };
    done(&mut actor, id, ran).await.unwrap();
    assert!(said(&mut actor).await.contains("built"));
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_leaves_fails_its_editor_requests_and_serves_no_more() {
    let stage = on_stage(&["{}", "{}"]);
    let mut actor = stage.open().await;
    let mut server = stage.actor();
    server.open(Open::new(Which::Named("s1".into()))).await.unwrap();
    serves(&mut server, TEXTS).await;
    actor.prompt("go").await;
    editor_request(&mut server).await;
    drop(server);
    assert_eq!(said(&mut actor).await, "false Failed(\"the controller went away\")");
    actor.forget();
    actor.prompt("again").await;
    assert_eq!(said(&mut actor).await, "nobody serves");
}

#[tokio::test(start_paused = true)]
async fn an_editor_request_that_comes_after_its_call_is_not_told() {
    let stage = on_stage(&[r#"{"do":"late"}"#]);
    let mut actor = stage.open().await;
    serves(&mut actor, TEXTS).await;
    actor.prompt("go").await;
    assert_eq!(said(&mut actor).await, "left");
    tokio::time::sleep(Duration::from_secs(10)).await;
    actor.settle().await;
    assert!(!was_told_of_editor_requests(&actor));
}

#[tokio::test(start_paused = true)]
async fn an_extension_neither_serves_nor_answers() {
    let stage = on_stage(&["{}"]);
    let mut actor = stage.open().await;
    let extension = stage.engine.extension("beside", "ext:beside", Offers::default());
    serves(&mut actor, TEXTS).await;
    actor.prompt("go").await;
    let id = editor_request(&mut actor).await.id;
    for (tag, verb) in [
        (1, Verb::Session(SessionVerb::OfferEditor(ALL))),
        (
            2,
            Verb::Session(SessionVerb::EditorReplied {
                editor_request: id,
                result: EditorReply::Text("forged".into()),
            }),
        ),
    ] {
        extension.submit(Command::of(Tag(tag), Target::Session("s1".into()), verb)).await;
    }
    let mut told = Vec::new();
    while !told.iter().any(|told: &Told| matches!(told.event, Event::Reply { tag: Tag(2), .. })) {
        assert!(extension.events(&mut told).await);
    }
    let refused = told.iter().filter(
        |told| matches!(&told.event, Event::Reply { result: Err(fault), .. } if fault.kind == FaultKind::Unsupported),
    );
    assert_eq!(refused.count(), 2);
    assert!(!told.iter().any(|told| matches!(told.event, Event::Editor(EditorEvent::Request(_)))));
    done(&mut actor, id, EditorReply::Text("real".into())).await.unwrap();
    assert!(said(&mut actor).await.contains("real"));
}

/// [`Sender`] with sub-agents.
struct Family;

impl Toolbox for Family {
    fn open(&self, session: &SessionId, workspace: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let mut all = Sender.open(session, workspace)?;
        let more = crate::subagents::Family.open(session, workspace)?;
        all.extend(more.into_iter().filter(|tool| &*tool.spec().name == "subagent"));
        Ok(all)
    }
    fn restore(&self, workspace: &Path, edits: &[FileEdit]) -> Vec<Arc<str>> {
        Sender.restore(workspace, edits)
    }
    fn diff(&self, edits: &[FileEdit]) -> Vec<FileDiff> {
        Sender.diff(edits)
    }
    fn shell(&self, _: &SessionId, _: &Path, _: &str, _: Progress, _: Later<'static, ()>) -> Later<'static, Shell> {
        unreachable!("nobody runs a command here")
    }
}

#[tokio::test(start_paused = true)]
async fn a_sub_agents_editor_requests_are_those_of_its_call() {
    let plays =
        [calls(&[("subagent", r#"{"task":"x"}"#)]), calls(&[("send", r#"{"read":1}"#)]), say("done"), say("ok")];
    let stage = stage_with(&Player::new(plays), |options| options.toolbox = Some(Arc::new(Family)));
    let mut actor = stage.open().await;
    serves(&mut actor, TEXTS).await;
    actor.prompt("go").await;
    let editor_request = editor_request(&mut actor).await;
    assert_eq!(editor_request.call.as_str(), "c1");
    done(&mut actor, editor_request.id, EditorReply::Text("unsaved".into())).await.unwrap();
    assert_eq!(said(&mut actor).await, "done");
    let child = log_of(&stage, "s2").await;
    assert!(child.contains("unsaved"), "{child}");
}
