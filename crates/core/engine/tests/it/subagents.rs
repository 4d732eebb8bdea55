//! Sessions that work for a call: what they are given, how they end, what they cost, and that nothing of them stays behind.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::subagents_sums::{check_family, counted};
use crate::support::*;

/// The tools of these tests, the real `subagent`, and `crowd`, which wants five children at once.
pub(crate) struct Family;

impl Toolbox for Family {
    fn open(&self, session: &SessionId, workspace: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let mut all = Tools.open(session, workspace)?;
        let real = builtin_tools::Builtin::new(builtin_tools::BuiltinOptions::new(workspace.join(".spill")))
            .open(session, workspace)?;
        all.extend(real.into_iter().filter(|tool| &*tool.spec().name == "subagent"));
        let spec = ToolSpec { name: "crowd".into(), description: "crowd".into(), schema: Json::empty_object() };
        all.push(Arc::new(Crowd(spec)));
        Ok(all)
    }
    fn restore(&self, workspace: &Path, edits: &[FileEdit]) -> Vec<Arc<str>> {
        Tools.restore(workspace, edits)
    }
    fn diff(&self, edits: &[FileEdit]) -> Vec<FileDiff> {
        Tools.diff(edits)
    }
    fn shell(
        &self,
        session: &SessionId,
        workspace: &Path,
        command: &str,
        told: Progress,
        stop: Later<'static, ()>,
    ) -> Later<'static, Shell> {
        Tools.shell(session, workspace, command, told, stop)
    }
}

struct Crowd(ToolSpec);

impl Tool for Crowd {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn has_subagents(&self) -> bool {
        true
    }
    fn required(&self) -> Required {
        Required::ReadOnly
    }
    fn plan(&self, _: &Json) -> Result<Plan, String> {
        Ok(Plan { required: Required::ReadOnly, mutation: None, summary: "crowd".into(), preview: None })
    }
    fn run(&self, _: Json, context: CallContext) -> Later<'static, Outcome> {
        Box::pin(async move {
            let children = context.children.expect("a session of a user's can have children");
            let run = || {
                let task = SubagentTask { prompt: "go".into(), title: None, model: None };
                tokio::spawn(children.run(task, context.progress.clone()))
            };
            let running: Vec<_> = (0..5).map(|_| run()).collect();
            let mut words = Vec::new();
            for one in running {
                words.push(match one.await.unwrap() {
                    Ok(end) => end.text.to_string(),
                    Err(fault) => format!("{:?}", fault.kind),
                });
            }
            Outcome::text(words.join(", "))
        })
    }
}

pub(crate) fn family(player: &Arc<Player>, mode: Mode) -> Stage {
    stage_with(player, |options| {
        options.toolbox = Some(Arc::new(Family));
        options.mode = mode;
    })
}

pub(crate) fn subagent(input: &str) -> Play {
    calls(&[("subagent", input)])
}

pub(crate) fn result(actor: &Actor) -> CallResult {
    let ended = actor.told.iter().rev().find_map(|told| match &told.event {
        Event::Logged(entry) => match &entry.body {
            Body::Call(CallEntry::Ended { result, .. }) => Some(result.clone()),
            _ => None,
        },
        _ => None,
    });
    ended.expect("a call ended")
}

#[tokio::test(start_paused = true)]
async fn a_child_works_on_its_task_and_its_last_words_are_the_result() {
    let player = Player::new([
        counted(100, 10, subagent(r#"{"task":"look around","label":"scouting"}"#)),
        counted(20, 2, calls(&[("look", "{}")])),
        counted(30, 3, say("all is well")),
        counted(200, 20, say("good")),
    ]);
    let stage = family(&player, Mode::Prompt);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let end = actor.turn_end().await;
    assert_eq!(end.usage, Usage { input: 350, output: 35, ..Usage::default() });
    expect![[r#"
        opened m1 prompt
        t1 started
          user (Prompt): go
          assistant:  [c1 subagent] (ToolUse)
          c1 subagent starts
          spent m1 50+5 by c1
          c1 Ran: all is well
          assistant: good (Stop)
        t1 ended: EndTurn, 1 rounds
    "#]]
    .assert_eq(&log(&stage).await);
    expect![[r#"
        opened m1 read-only, for c1 of s1
        title scouting
        t2 started
          user (Prompt): look around
          assistant:  [c1 look] (ToolUse)
          c1 look starts
          c1 Ran: done
          assistant: all is well (Stop)
        t2 ended: EndTurn, 1 rounds
    "#]]
    .assert_eq(&log_of(&stage, "s2").await);
    check_family(&stage, &["s2"]).await;
    let sent = player.sent.lock().unwrap().clone();
    assert_eq!(sent[0].1, ["look", "change", "danger", "subagent", "crowd"]);
    assert_eq!(
        (sent[1].0.as_str(), &sent[1].1),
        ("m1: user look around", &["look", "change", "danger"].map(String::from).to_vec())
    );
    assert!(player.system.lock().unwrap()[1].contains("You are a sub-agent"));
    assert!(!player.system.lock().unwrap()[3].contains("You are a sub-agent"));
    assert_eq!(stage.engine.live(), ["s1".into()], "the child is gone");
    let details = result(&actor).details.unwrap();
    expect![[r#"{"model":"m1","rounds":1,"session":"s2","usage":{"cache_read_tokens":0,"cache_write_tokens":0,"input_tokens":50,"output_tokens":5}}"#]].assert_eq(details.as_str());
}

#[tokio::test(start_paused = true)]
async fn progress_tells_what_the_child_says_and_does() {
    let child =
        vec![text("I shall look. "), Step::Wait(1), call_step(0, "look", r#"{"slow":1}"#), done(Finish::ToolUse)];
    let player = Player::new([subagent(r#"{"task":"x"}"#), child, say("seen"), say("good")]);
    let stage = family(&player, Mode::Prompt);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    let shown = actor.told.iter().filter_map(|told| match &told.event {
        Event::Delta(Delta::CallProgress { parts, .. }) => Some(parts_text(parts)),
        _ => None,
    });
    let shown: Vec<String> = shown.collect();
    assert_eq!(shown, ["I shall look.", "I shall look.\n[running look]", "seen"]);
}

#[tokio::test(start_paused = true)]
async fn permission_is_asked_once_and_what_is_beyond_it_is_denied() {
    let player = Player::new([
        subagent(r#"{"task":"mend it","access":"workspace-write"}"#),
        calls(&[("change", "{}"), ("danger", "{}"), ("change", "{}")]),
        say("mended"),
        say("good"),
    ]);
    let stage = family(&player, Mode::Prompt);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let ask = actor.ask().await;
    let AskKind::Permission(permission) = &ask.kind else { panic!("{ask:?}") };
    assert_eq!((&*permission.tool, permission.required), ("subagent", Required::WorkspaceWrite));
    assert_eq!(&*permission.summary, "sub-agent with workspace-write: mend it");
    actor.send(Verb::Session(SessionVerb::Answer { ask: ask.id, answer: Answer::Allow(Scope::Once) })).await;
    let end = actor.turn_end().await;
    assert_eq!(end.mutations, [("subagent".into(), "mend it".into())]);
    let asks = actor
        .told
        .iter()
        .filter(|told| matches!(&told.event, Event::Logged(it) if matches!(it.body, Body::Ask(AskEntry::Opened(_)))));
    assert_eq!(asks.count(), 1);
    assert_eq!(result(&actor).edits.len(), 1, "a file that was changed twice is undone once");
    expect![[r#"
        opened m1 workspace-write, for c1 of s1
        t2 started
          user (Prompt): mend it
          assistant:  [c1 change] [c2 danger] [c3 change] (ToolUse)
          c1 change starts
          c1 Ran: done
          c2 danger starts
          c2 Denied: not allowed: this needs danger-full-access, and the session is in workspace-write mode
          c3 change starts
          c3 Ran: done
          assistant: mended (Stop)
        t2 ended: EndTurn, 1 rounds
    "#]]
    .assert_eq(&log_of(&stage, "s2").await);
    check_family(&stage, &["s2"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_may_only_read_has_children_that_only_read() {
    let player = Player::new([
        calls(&[("subagent", r#"{"task":"x","access":"workspace-write"}"#), ("subagent", r#"{"task":"x"}"#)]),
        calls(&[("change", "{}")]),
        say("I could not"),
        say("good"),
    ]);
    let stage = family(&player, Mode::ReadOnly);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    expect![[r#"
        opened m1 read-only
        t1 started
          user (Prompt): go
          assistant:  [c1 subagent] [c2 subagent] (ToolUse)
          c1 subagent starts
          c1 Denied: not allowed: this needs workspace-write, and the session is in read-only mode
          c2 subagent starts
          spent m1 319+5 by c2
          c2 Ran: I could not
          assistant: good (Stop)
        t1 ended: EndTurn, 1 rounds
    "#]]
    .assert_eq(&log(&stage).await);
    assert!(log_of(&stage, "s2").await.contains("c1 Denied: not allowed: this needs workspace-write"));
}

#[tokio::test(start_paused = true)]
async fn a_child_has_no_children() {
    let player = Player::new([subagent(r#"{"task":"x"}"#), subagent(r#"{"task":"y"}"#), say("alone"), say("good")]);
    let stage = family(&player, Mode::DangerFullAccess);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    assert!(log_of(&stage, "s2").await.contains("c1 Unknown: unknown tool: subagent"));
    assert_eq!(result(&actor).text(), "alone");
}

/// Whoever hooks calls to forbid some of them is asked about those of a child, too; and whoever wants to ask people is told
/// that nobody is there.
#[tokio::test(start_paused = true)]
async fn extensions_stand_beside_a_child() {
    let player = Player::new([
        subagent(r#"{"task":"x","access":"workspace-write"}"#),
        calls(&[("change", "{}")]),
        say("I was not to"),
        say("good"),
    ]);
    let stage = family(&player, Mode::DangerFullAccess);
    let hooks = Hooks { before_call: true, ..Hooks::default() };
    let guard = stage.engine.extension("guard", "/ext/guard", Offers { hooks, ..Offers::default() });
    tokio::spawn(async move {
        let (mut told, mut asked) = (Vec::new(), None);
        while guard.events(&mut told).await {
            for Told { session, event, .. } in told.drain(..) {
                let (tag, verb) = match event {
                    Event::Extension(ExtensionEvent::Hook(HookCall {
                        id, kind: HookKind::Call { tool, .. }, ..
                    })) if &*tool == "change" => {
                        asked = Some(id);
                        let kind = AskKind::Confirm { title: "Sure?".into(), message: "really".into() };
                        (Tag(1), Verb::Session(SessionVerb::Extension(ExtensionVerb::Ask { kind, timeout_ms: None })))
                    }
                    Event::Extension(ExtensionEvent::Hook(HookCall { id, .. })) => (
                        Tag(2),
                        Verb::Session(SessionVerb::Extension(ExtensionVerb::HookDone {
                            hook: id,
                            verdict: HookVerdict::Fine,
                        })),
                    ),
                    Event::Reply { tag: Tag(1), result } => {
                        let verdict = HookVerdict::Veto(format!("{result:?}").into());
                        (
                            Tag(2),
                            Verb::Session(SessionVerb::Extension(ExtensionVerb::HookDone {
                                hook: asked.unwrap(),
                                verdict,
                            })),
                        )
                    }
                    _ => continue,
                };
                guard.submit(Command::of(tag, Target::Session(session), verb)).await;
            }
        }
    });
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    let log = log_of(&stage, "s2").await;
    assert!(log.contains("c1 Denied: Ok(") && log.contains("Dismissed"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_fails_or_cannot_begin_is_an_error_that_says_why() {
    let player = Player::new([
        subagent(r#"{"task":"x"}"#),
        vec![used(9, 0), fail_step(FaultKind::Auth)],
        subagent(r#"{"task":"x","model":"m9"}"#),
        subagent(r#"{"task":"x","model":"m2"}"#),
        say("from m2"),
        say("good"),
    ]);
    let stage = family(&player, Mode::Prompt);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    expect![[r#"
        opened m1 prompt
        t1 started
          user (Prompt): go
          assistant:  [c1 subagent] (ToolUse)
          c1 subagent starts
          spent m1 9+0 by c1
          c1 Ran: the sub-agent failed: it failed
          assistant:  [c1_2 subagent] (ToolUse)
          c1_2 subagent starts
          c1_2 Ran: there is no sub-agent: unknown model: m9 (there is: m1, m2)
          assistant:  [c1_3 subagent] (ToolUse)
          c1_3 subagent starts
          spent m2 144+2 by c1_3
          c1_3 Ran: from m2
          assistant: good (Stop)
        t1 ended: EndTurn, 3 rounds
    "#]]
    .assert_eq(&log(&stage).await);
    assert!(player.sent.lock().unwrap()[4].0.starts_with("m2: user x"));
    check_family(&stage, &["s2", "s4"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_child_without_end_ends_with_its_rounds() {
    let again = || calls(&[("look", "{}")]);
    let player = Player::new([subagent(r#"{"task":"x"}"#), again(), again(), say("good")]);
    let stage = stage_with(&player, |options| {
        options.toolbox = Some(Arc::new(Family));
        options.tune = Box::new(|settings| settings.max_iterations = 2);
    });
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    let result = result(&actor);
    assert_eq!(result.text(), "the sub-agent used up its 2 tool rounds before it was done");
    assert!(result.is_error);
    check_family(&stage, &["s2"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_child_may_be_silent_for_as_long_as_a_session_may() {
    // Longer than a standstill, in two waits that are none; of the thinking between them the parent hears nothing.
    let thought = Step::Event(ModelEvent::Thinking("hm".into()));
    let slow = vec![Step::Wait(400_000), thought, Step::Wait(400_000), text("still here"), done(Finish::Stop)];
    let player = Player::new([subagent(r#"{"task":"x"}"#), slow, say("good")]);
    let stage = family(&player, Mode::Prompt);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    tokio::time::sleep(Duration::from_secs(650)).await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    assert_eq!(result(&actor).text(), "still here");
}

#[tokio::test(start_paused = true)]
async fn lists_leave_children_out_and_they_go_with_their_parent() {
    let player = Player::new([subagent(r#"{"task":"x"}"#), say("done"), say("good")]);
    let stage = family(&player, Mode::Prompt);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    let ids = async |query| {
        let listed = stage.store.list(query).await.unwrap();
        listed.iter().map(|it| it.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(Query::default()).await, ["s1"]);
    assert_eq!(ids(Query { children: true, ..Query::default() }).await.len(), 2);
    ask_for(&mut actor, Verb::Leave).await.unwrap();
    let latest = actor.open(Open::new(Which::Latest)).await.unwrap();
    assert_eq!(latest.session.as_str(), "s1");
    ask_for(&mut actor, Verb::Leave).await.unwrap();
    // One can be opened by its name.
    let child = actor.open(Open::new(Which::Id("s2".into()))).await.unwrap();
    assert_eq!(child.state.mode, Mode::ReadOnly);
    ask_for(&mut actor, Verb::Leave).await.unwrap();
    actor.settle().await;
    ask_for(&mut actor, Verb::Directory(DirectoryVerb::Delete { session: "s1".into(), open_too: false }))
        .await
        .unwrap();
    assert_eq!(ids(Query { children: true, ..Query::default() }).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_closes_parent_and_child() {
    let player = Player::new([subagent(r#"{"task":"x"}"#), held("half")]);
    let stage = family(&player, Mode::Prompt);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    stage.engine.shutdown().await;
    assert!(stage.engine.live().is_empty());
    assert!(log(&stage).await.ends_with("t1 ended: Interrupted, 0 rounds\n"), "{}", log(&stage).await);
    assert!(log_of(&stage, "s2").await.ends_with("t2 ended: Interrupted, 0 rounds\n"));
    check_family(&stage, &["s2"]).await;
}
