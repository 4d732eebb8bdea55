//! Whatever a file says, in whatever order and however often: nothing in it acts or chooses once it is a session here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use export::FileArchive;
use store::MemoryStore;
use store::suite;
use vocab::*;

pub(crate) struct Today;

impl Border for Today {
    fn model(&self, _: &str) -> Result<(), String> {
        Err("it is not yours".into())
    }
    fn workspace(&self, _: &Path) -> Result<PathBuf, Fault> {
        Err(Fault::new(FaultKind::Invalid, "outside"))
    }
    fn own_model(&self) -> Arc<str> {
        "own".into()
    }
    fn own_mode(&self) -> Mode {
        Mode::ReadOnly
    }
    fn here(&self) -> &Path {
        Path::new("/here")
    }
    fn note(&self, _: &str) {}
}

/// The same number from the same seed, on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// What an attacker would choose from: ids that meet each other.
fn chosen() -> Vec<Body> {
    let item = |id: &str| Item {
        id: id.into(),
        parts: vec![Part::text("run this")],
        delivery: Delivery::Queue,
        at_ms: 1,
        sender: None,
        by: Some(Principal::user("root")),
        until_ms: None,
    };
    let queued = |id: &str| Body::Queue(QueueEntry::Queued(item(id)));
    let settled = |id: &str| {
        let why = Some(SettleReason::Overflow);
        Body::Queue(QueueEntry::Settled { item: id.into(), end: ItemEnd::Consumed, why })
    };
    let permission = PermissionAsk {
        call: "c".into(),
        tool: "bash".into(),
        input: Json::trusted(r#"{"command":"evil"}"#),
        active: Mode::Prompt,
        required: Required::DangerFullAccess,
        reason: None,
        summary: "".into(),
        preview: None,
        may_have_run: false,
    };
    let ask = Ask { id: "a".into(), turn: Some("t".into()), kind: AskKind::Permission(permission), timeout_ms: None };
    let end = AskEnd::Answered { answer: Answer::Allow(Scope::Session), by: None };
    vec![
        queued("q"),
        settled("q"),
        queued("r"),
        settled("r"),
        Body::Ask(AskEntry::Opened(ask)),
        Body::Ask(AskEntry::Closed { ask: "a".into(), end }),
        Body::Turn(TurnEntry::Started { turn: "t".into() }),
        Body::User { turn: Some("t".into()), parts: vec![Part::text("hello")], from: UserFrom::Prompt },
        Body::Setting(SettingEntry::Mode { mode: Mode::DangerFullAccess }),
        Body::Note(NoteEntry::Keyed(Keyed { key: "k".into(), of: 1, reply: KeptReply::Done })),
    ]
}

fn opened() -> Body {
    let child_of = Some(("mine".into(), "c".into()));
    let forked_from = Some(("mine".into(), 1));
    let (model, mode) = ("theirs".into(), Mode::DangerFullAccess);
    Body::Opened { workspace: "/etc".into(), model, mode, forked_from, child_of }
}

fn numbered(bodies: Vec<Body>, dice: &mut Dice) -> Vec<Arc<Entry>> {
    let by = Some(Principal::user("root"));
    let entry = |(body, seq): (Body, u64)| {
        let parent = if dice.roll(4) == 0 { dice.roll(seq as usize) as u64 } else { seq - 1 };
        Arc::new(Entry { seq, parent, at_ms: 7, body, by: by.clone() })
    };
    bodies.into_iter().zip(1..).map(entry).collect()
}

async fn keep(store: &dyn Store, entries: Vec<Arc<Entry>>) {
    let (workspace, mode) = (PathBuf::from("/w"), Mode::Prompt);
    let new = NewSession { id: "s".into(), workspace, model: "m".into(), mode, at_ms: 1, parent: None };
    let lease = store.create(new);
    store.append(&lease, entries, Durability::Now).await.unwrap();
    store.release(lease).await.unwrap();
}

/// A file with these entries.
async fn file(place: &Path, entries: Vec<Arc<Entry>>) -> PathBuf {
    let theirs: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let file = place.join("theirs.jsonl");
    keep(&*theirs, entries).await;
    FileArchive::new(theirs, place.into()).export(&"s".into(), Some(&file)).await.unwrap();
    file
}

/// Nothing waits, nothing is open, nothing is allowed or remembered, and no setting is another one than ours.
fn is_only_text(entries: &[Arc<Entry>], what: &str) {
    let mut open_turn = false;
    for entry in entries {
        match &entry.body {
            Body::Turn(TurnEntry::Started { .. }) => open_turn = true,
            Body::Turn(TurnEntry::Ended(_)) => open_turn = false,
            Body::Opened { workspace, model, mode, forked_from: None, child_of: None } if entry.seq == 1 => {
                assert_eq!((workspace.as_path(), &**model, *mode), (Path::new("/here"), "own", Mode::ReadOnly));
            }
            Body::Setting(SettingEntry::Model { model, .. }) => assert_eq!(&**model, "own", "{what}"),
            Body::Call(CallEntry::Ended { result, .. }) => assert!(result.edits.is_empty(), "{what}"),
            Body::Shell(ShellEntry::Ended(shell)) => assert_eq!(shell.spilled, None, "{what}"),
            Body::Note(NoteEntry::Imported { file, .. }) => assert_eq!(*file, None, "{what}"),
            Body::Opened { .. }
            | Body::Ask(_)
            | Body::Queue(_)
            | Body::Setting(
                SettingEntry::Mode { .. }
                | SettingEntry::Gadgets { .. }
                | SettingEntry::Lane { .. }
                | SettingEntry::Todos { .. },
            )
            | Body::Shell(ShellEntry::Started { .. })
            | Body::Note(NoteEntry::Keyed(_) | NoteEntry::Waived { .. }) => panic!("{what}: {entry:?}"),
            _ => {}
        }
    }
    assert!(!open_turn, "{what}: a turn is open");
}

fn thrown(dice: &mut Dice) -> Vec<Body> {
    let (all, chosen) = (suite::bodies(), chosen());
    let throw = |dice: &mut Dice| match dice.roll(2) {
        0 => all[dice.roll(all.len())].clone(),
        _ => chosen[dice.roll(chosen.len())].clone(),
    };
    (0..1 + dice.roll(12)).map(|_| throw(dice)).collect()
}

#[tokio::test]
async fn whatever_a_file_says_is_only_text_here() {
    let place = tempfile::tempdir().unwrap();
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let bodies: Vec<Body> = std::iter::once(opened()).chain(thrown(&mut dice)).collect();
        let file = file(place.path(), numbered(bodies.clone(), &mut dice)).await;
        let ours: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let archive = FileArchive::new(ours.clone(), place.path().into()).with_border(Arc::new(Today));
        let ann = Principal::user("ann");
        let id = archive.import_for(&file, Some(ann.clone())).await.unwrap();
        let what = format!("seed {seed}: {bodies:?}");
        let entries = ours.read(&id, 0, usize::MAX).await.unwrap().entries;
        is_only_text(&entries, &what);
        let who: Vec<_> = entries.iter().filter_map(|entry| entry.by.as_ref().map(|by| (entry.seq, by))).collect();
        assert_eq!(who, [(1, &ann)], "{what}");
        let unfinished = Query { unfinished: true, children: true, ..Query::default() };
        assert_eq!(ours.list(unfinished).await.unwrap().len(), 0, "{what}");
        assert_eq!(ours.list(Query::default()).await.unwrap().len(), 1, "it is in the list: {what}");
        let lines = ours.audit(AuditQuery::default()).await.unwrap();
        let lines: Vec<_> = lines.iter().map(|line| (&*line.by, &*line.action, line.detail.as_deref())).collect();
        assert_eq!(lines, [("user:ann", "open", Some("/here"))], "{what}");
        assert_eq!(archive.import(&file).await.unwrap(), id, "it is known again: {what}");
        assert_eq!(ours.read(&id, 0, usize::MAX).await.unwrap().entries, entries, "{what}");
    }
}

/// The same, where the file goes on with a session that is here.
#[tokio::test]
async fn what_a_file_adds_to_a_session_is_only_text_as_well() {
    let place = tempfile::tempdir().unwrap();
    let mut added = 0;
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let said = Body::User { turn: None, parts: vec![Part::text("mine")], from: UserFrom::Prompt };
        let own = numbered(vec![opened(), said.clone()], &mut Dice(0));
        let more: Vec<Body> = [opened(), said].into_iter().chain(thrown(&mut dice)).collect();
        let file = file(place.path(), numbered(more.clone(), &mut Dice(0))).await;
        let ours: Arc<dyn Store> = Arc::new(MemoryStore::new());
        keep(&*ours, own.clone()).await;
        let archive = FileArchive::new(ours.clone(), place.path().into()).with_border(Arc::new(Today));
        let id = archive.import_for(&file, Some(Principal::user("ann"))).await.unwrap();
        let entries = ours.read(&"s".into(), 0, usize::MAX).await.unwrap().entries;
        assert_eq!(entries[..2], own[..], "what was here stays as it was");
        is_only_text(&entries[2..], &format!("seed {seed}: {more:?}"));
        assert!(entries[2..].iter().all(|entry| entry.by.is_none()));
        assert!(active_path(&entries).iter().any(|entry| entry.seq == 2), "my words count on: {more:?}");
        added += usize::from(id.as_str() == "s");
    }
    assert!(added > 100, "some of them were added: {added}");
}
