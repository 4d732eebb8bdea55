//! What is done against what the log knows: nothing that can change something begins before its record is written.

use std::path::Path;
use std::sync::{Arc, Mutex};
use testkit::slash_text;

use store::MemoryStore;
use testkit::Stage;
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use tokio::time::Instant;
use vocab::*;

use crate::mcp::{Fake, bringing};
use crate::subagents::Family;
use crate::support::*;

/// The tools of these tests, and when each of them was begun.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<Vec<(String, Instant)>>>);

impl Witness {
    fn saw(&self, what: &str) {
        self.0.lock().unwrap().push((what.to_owned(), Instant::now()));
    }
    /// Seconds from `since` to the beginning of each.
    fn begun(&self, since: Instant) -> Vec<(String, u64)> {
        let begun = self.0.lock().unwrap();
        begun.iter().map(|(what, at)| (what.clone(), at.duration_since(since).as_secs())).collect()
    }
}

impl Toolbox for Witness {
    fn open(&self, session: &SessionId, workspace: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let seen = |tool: Arc<dyn Tool>| -> Arc<dyn Tool> { Arc::new(Seen(tool, self.clone())) };
        Ok(Family.open(session, workspace)?.into_iter().map(seen).collect())
    }
    fn restore(&self, workspace: &Path, edits: &[FileEdit]) -> Vec<Arc<str>> {
        self.saw("restore");
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
        self.saw("shell");
        Tools.shell(session, workspace, command, told, stop)
    }
}

struct Seen(Arc<dyn Tool>, Witness);

impl Tool for Seen {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }
    fn has_subagents(&self) -> bool {
        self.0.has_subagents()
    }
    fn required(&self) -> Required {
        self.0.required()
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        self.0.plan(input)
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        self.1.saw(&self.0.spec().name);
        self.0.run(input, context)
    }
}

/// Every write takes three seconds.
fn slow() -> Arc<FaultyStore> {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    store.slow(vec![3000]);
    store
}

fn on(store: &Arc<FaultyStore>, witness: &Witness, mode: Mode, plays: impl IntoIterator<Item = Play>) -> Stage {
    let (store, witness) = (store.clone(), witness.clone());
    stage_with(&Player::new(plays), |options| {
        options.store = store;
        options.toolbox = Some(Arc::new(witness));
        options.mode = mode;
    })
}

fn shell(command: &str) -> Verb {
    Verb::Session(SessionVerb::Shell { command: command.into(), aside: false })
}

async fn allow(actor: &mut Actor) {
    let ask = actor.ask().await.id;
    actor.send(Verb::Session(SessionVerb::Answer { ask, answer: Answer::Allow(Scope::Once) })).await;
}

#[tokio::test(start_paused = true)]
async fn what_changes_something_waits_for_its_record_and_what_reads_does_not() {
    let (store, witness) = (slow(), Witness::default());
    let plays = [calls(&[("look", "{}"), ("change", "{}")]), say("done")];
    let stage = on(&store, &witness, Mode::DangerFullAccess, plays);
    let mut actor = stage.open().await;
    let start = Instant::now();
    actor.prompt("go").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    // Behind the writes of the prompt, of the first call, and of its own record.
    assert_eq!(witness.begun(start), [("look".to_owned(), 0), ("change".to_owned(), 9)]);
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_waits_for_the_record_of_the_answer() {
    let (store, witness) = (slow(), Witness::default());
    let stage = on(&store, &witness, Mode::Prompt, [calls(&[("danger", "{}")]), say("done")]);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.ask().await;
    let start = Instant::now();
    allow(&mut actor).await;
    actor.turn_end().await;
    assert_eq!(witness.begun(start), [("danger".to_owned(), 3)]);
}

#[tokio::test(start_paused = true)]
async fn what_has_no_record_never_runs() {
    // The prompt is the first write, what was called the second, the answer the third.
    for (mode, failing) in [(Mode::DangerFullAccess, 2), (Mode::Prompt, 3)] {
        let (store, witness) = (slow(), Witness::default());
        store.fail_append(failing);
        let stage = on(&store, &witness, mode, [calls(&[("change", "{}")]), say("done")]);
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        if mode == Mode::Prompt {
            allow(&mut actor).await;
        }
        let end = actor.turn_end().await;
        assert_eq!(end.fault.map(|fault| fault.kind), Some(FaultKind::Store), "{mode:?}");
        actor.settle().await;
        assert_eq!(witness.begun(Instant::now()), [], "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_does_not_wait_for_the_record_and_the_call_never_runs() {
    let (store, witness) = (slow(), Witness::default());
    let stage = on(&store, &witness, Mode::DangerFullAccess, [calls(&[("change", "{}")])]);
    let mut actor = stage.open().await;
    let prompt = actor.prompt("go").await;
    // Told when the prompt is written; the call is not yet.
    actor.reply(prompt).await.unwrap();
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
    assert_eq!(witness.begun(Instant::now()), []);
    let log = log(&stage).await;
    assert!(log.contains("c1 Interrupted"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_server_and_children_are_not_believed_to_only_read() {
    let (store, witness, fake) = (slow(), Witness::default(), Arc::new(Fake::default()));
    let stage = {
        let (store, witness, fake) = (store.clone(), witness.clone(), fake.clone());
        let plays = [calls(&[("mcp__s__list_all", "{}"), ("crowd", "{}")])];
        stage_with(&Player::new(plays), |options| {
            options.store = store;
            options.toolbox = Some(Arc::new(witness));
            options.servers = fake;
        })
    };
    let mut actor = stage.actor();
    let start = Instant::now();
    actor.open(bringing(Which::New, &["s"])).await.unwrap();
    actor.prompt("go").await;
    actor.turn_end().await;
    let served: Vec<u64> = fake.ran.lock().unwrap().iter().map(|at| at.duration_since(start).as_secs()).collect();
    assert_eq!(served, [6]);
    assert_eq!(witness.begun(start), [("crowd".to_owned(), 9)]);
}

#[tokio::test(start_paused = true)]
async fn a_host_hears_of_a_call_when_it_is_written() {
    let (store, witness) = (slow(), Witness::default());
    let stage = on(&store, &witness, Mode::DangerFullAccess, [calls(&[("mine", "{}")])]);
    let mut actor = stage.open().await;
    let tool = HostTool {
        name: "mine".into(),
        description: "".into(),
        schema: Json::empty_object(),
        required: Required::DangerFullAccess,
    };
    ask_for(&mut actor, Verb::Session(SessionVerb::OfferTools { tools: vec![tool] })).await.unwrap();
    let start = Instant::now();
    actor.prompt("go").await;
    actor.ask().await;
    assert_eq!(start.elapsed().as_secs(), 6);
    let batch = store
        .appended()
        .into_iter()
        .find(|(entries, _)| entries.iter().any(|entry| matches!(&entry.body, Body::Ask(AskEntry::Opened(_)))));
    assert!(
        batch.is_some_and(|(_, durability)| durability == Durability::Now),
        "whatever the host does outlives a power cut"
    );
}

#[tokio::test(start_paused = true)]
async fn a_command_of_the_user_waits_for_its_record() {
    let (store, witness) = (slow(), Witness::default());
    let stage = on(&store, &witness, Mode::DangerFullAccess, []);
    let mut actor = stage.open().await;
    let start = Instant::now();
    assert!(matches!(ask_for(&mut actor, shell("ls")).await, Ok(Reply::Shell(_))));
    assert_eq!(witness.begun(start), [("shell".to_owned(), 3)]);
    // One whose record is lost does not run, nor one that is stopped before.
    store.fail_append(1);
    assert_eq!(ask_for(&mut actor, shell("rm")).await.unwrap_err().kind, FaultKind::Store);
    let tag = actor.send(shell("rm")).await;
    actor.send(Verb::Session(SessionVerb::AbortShell)).await;
    let Ok(Reply::Shell(stopped)) = actor.reply(tag).await else { panic!("no shell") };
    assert!(stopped.cancelled);
    assert_eq!(witness.begun(start).len(), 1);
    assert!(!log(&stage).await.contains("no output"), "nothing is lost");
}

#[test]
fn after_a_crash_a_command_that_did_not_end_is_said_to_be_lost() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    crate::recovery::life(&store, async || {
        let stage = on(&store, &Witness::default(), Mode::DangerFullAccess, []);
        let mut actor = stage.open().await;
        actor.send(shell("hang")).await;
        actor.until(|event| matches!(event, Event::ShellProgress { .. })).await;
    });
    crate::recovery::life(&store, async || {
        let player = Player::new([]);
        let stage = {
            let store = store.clone();
            stage_with(&player, |options| options.store = store)
        };
        let mut actor = stage.actor();
        actor.open(Open::new(Which::Id("s1".into()))).await.unwrap();
        actor.prompt("go").await;
        actor.turn_end().await;
        let log = log(&stage).await;
        assert!(
            log.contains("shell \"hang\" starts\nshell \"hang\" None \"no output: what came of this command"),
            "{log}"
        );
        assert!(player.last_sent().contains("The user ran `hang`"), "{}", player.last_sent());
    });
}

#[tokio::test(start_paused = true)]
async fn an_undo_is_written_before_a_file_is_touched() {
    let (store, witness) = (slow(), Witness::default());
    let stage = on(&store, &witness, Mode::DangerFullAccess, [calls(&[("change", "{}")]), say("done")]);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    witness.0.lock().unwrap().clear();
    store.fail_append(1);
    let refused = ask_for(&mut actor, slash("undo", "")).await;
    let text = format!("{refused:?}");
    assert!(text.contains("disk is full"), "{text}");
    assert_eq!(witness.begun(Instant::now()), [], "what is not undone in the log is not undone on the disk");
    let start = Instant::now();
    let Ok(Reply::Slash(undone)) = ask_for(&mut actor, slash("undo", "")).await else { panic!("no undo") };
    assert!(slash_text(&undone).contains("removed file"), "{}", slash_text(&undone));
    assert_eq!(witness.begun(start), [("restore".to_owned(), 3)]);
    let log = log(&stage).await;
    assert!(log.ends_with("moved to 1\nrestored file\n"), "{log}");
}

#[test]
fn an_undo_that_was_cut_short_is_said_once() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    crate::recovery::life(&store, async || {
        let plays = [calls(&[("change", "{}")]), say("done")];
        let stage = on(&store, &Witness::default(), Mode::DangerFullAccess, plays);
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        actor.turn_end().await;
        // The move is written, and what follows it is not: as if the process had died while files were put back.
        store.fail_append(2);
        let _ = ask_for(&mut actor, slash("undo", "")).await;
    });
    for _ in 0..2 {
        crate::recovery::life(&store, async || {
            let kept = store.clone();
            let stage = stage_with(&Player::new([]), |options| options.store = kept);
            let mut actor = stage.actor();
            actor.open(Open::new(Which::Id("s1".into()))).await.unwrap();
            ask_for(&mut actor, slash("context", "")).await.unwrap();
            actor.settle().await;
            let log = log(&stage).await;
            let said = "recovered: an undo was cut short; these files may still be as they were before it: file\n";
            assert_eq!(log.matches(said).count(), 1, "{log}");
        });
    }
}

/// When an extension that hooks the beginning of turns was asked, in seconds after the prompt; `None`: never.
async fn asked_at(store: &Arc<FaultyStore>, only_looks: bool) -> Option<u64> {
    let stage = on(store, &Witness::default(), Mode::Prompt, [say("done")]);
    let hooks = Hooks { before_turn: true, only_looks, ..Hooks::default() };
    let extension = stage.engine.extension("beside", "/ext/beside", Offers { hooks, ..Offers::default() });
    let mut actor = stage.open().await;
    let start = Instant::now();
    actor.prompt("go").await;
    let mut told = Vec::new();
    let asked = async {
        while extension.events(&mut told).await {
            for Told { session, event, .. } in told.drain(..) {
                let Event::Extension(ExtensionEvent::Hook(hook)) = event else { continue };
                let verb = ExtensionVerb::HookDone { hook: hook.id, verdict: HookVerdict::Fine };
                let verb = Verb::Session(SessionVerb::Extension(verb));
                extension.submit(Command::of(Tag(1), Target::Session(session), verb)).await;
                return;
            }
        }
    };
    let at =
        tokio::time::timeout(std::time::Duration::from_secs(100), asked).await.ok().map(|()| start.elapsed().as_secs());
    actor.settle().await;
    at
}

#[tokio::test(start_paused = true)]
async fn who_can_act_on_a_prompt_hears_of_it_when_it_is_written_and_who_only_looks_at_once() {
    assert_eq!(asked_at(&slow(), true).await, Some(0));
    assert_eq!(asked_at(&slow(), false).await, Some(3));
}

#[tokio::test(start_paused = true)]
async fn of_a_prompt_that_is_lost_nobody_hears_who_can_act_on_it() {
    for (only_looks, asked) in [(true, Some(0)), (false, None)] {
        let store = slow();
        store.fail_append(1);
        assert_eq!(asked_at(&store, only_looks).await, asked, "only looks: {only_looks}");
    }
}
