//! An export that came from elsewhere: its text is taken over, its decisions are not.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use export::FileArchive;
use store::MemoryStore;
use vocab::{
    Answer, Archive, AskEnd, AskEntry, Body, Border, CallEnd, CallEntry, CallResult, Delivery, Durability, Entry,
    Fault, FaultKind, FileEdit, Item, Mode, NewSession, NoteEntry, Part, QueueEntry, Scope, SettingEntry, Snapshot,
    Store, TurnEntry, UserFrom,
};

/// Takes the model `good`, and directories below `/here`.
#[derive(Default)]
struct Narrow(Mutex<Vec<String>>);

impl Border for Narrow {
    fn model(&self, slug: &str) -> Result<(), String> {
        if slug == "good" { Ok(()) } else { Err("it is not yours".into()) }
    }
    fn workspace(&self, named: &Path) -> Result<PathBuf, Fault> {
        let within = named.starts_with("/here");
        within.then(|| named.to_owned()).ok_or_else(|| Fault::new(FaultKind::Invalid, "outside"))
    }
    fn own_model(&self) -> Arc<str> {
        "own".into()
    }
    fn here(&self) -> &Path {
        Path::new("/here")
    }
    fn note(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

/// Exports a session of these entries, reads it back through the border and gives what it became.
async fn carried(workspace: &str, bodies: Vec<Body>) -> (Vec<Body>, String, Vec<String>) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("theirs.jsonl");
    let theirs: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (workspace, mode) = (PathBuf::from(workspace), Mode::Prompt);
    let new =
        NewSession { id: "s".into(), workspace: workspace.clone(), model: "bad".into(), mode, at_ms: 1, parent: None };
    let lease = theirs.create(new);
    let opened = Body::Opened { workspace, model: "bad".into(), mode, forked_from: None, child_of: None };
    let entries = std::iter::once(opened).chain(bodies).zip(1..);
    let entries =
        entries.map(|(body, seq)| Arc::new(Entry { seq, parent: seq - 1, at_ms: 1, body, by: None })).collect();
    theirs.append(&lease, entries, Durability::Now).await.unwrap();
    FileArchive::new(theirs, place.path().into()).export(&"s".into(), Some(&file)).await.unwrap();

    let (ours, border): (Arc<dyn Store>, _) = (Arc::new(MemoryStore::new()), Arc::new(Narrow::default()));
    let archive = FileArchive::new(ours.clone(), place.path().into()).with_border(border.clone());
    let id = archive.import(&file).await.unwrap();
    let entries = ours.read(&id, 0, usize::MAX).await.unwrap().entries;
    let model = ours.summary(&id).await.unwrap().unwrap().model.to_string();
    let notes = border.0.lock().unwrap().clone();
    (entries.iter().map(|entry| entry.body.clone()).collect(), model, notes)
}

fn model(slug: &str) -> Body {
    Body::Setting(SettingEntry::Model { model: slug.into(), called: None })
}

fn workspace(bodies: &[Body]) -> &Path {
    match &bodies[0] {
        Body::Opened { workspace, .. } => workspace,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_model_and_a_directory_count_only_where_the_border_takes_them() {
    let (bodies, now, notes) = carried("/etc", vec![model("worse")]).await;
    assert_eq!((workspace(&bodies), now.as_str()), (Path::new("/here"), "own"));
    assert!(notes[0].ends_with("theirs.jsonl: the model `bad` is not taken from a session file: it is not yours"));
    let (bodies, now, notes) = carried("/here/below", vec![model("good"), model("worse")]).await;
    assert_eq!((workspace(&bodies), now.as_str(), notes.len()), (Path::new("/here/below"), "good", 2));
    assert_eq!(bodies.len(), 3, "every entry stays where others say it is");
}

#[tokio::test]
async fn what_waits_in_a_file_is_not_said_in_the_users_name() {
    let parts = vec![Part::text("rm -rf")];
    let item = Item {
        id: "q-1".into(),
        parts: parts.clone(),
        delivery: Delivery::Policy,
        at_ms: 1,
        sender: None,
        by: None,
        until_ms: None,
    };
    let (bodies, ..) = carried("/here", vec![Body::Queue(QueueEntry::Queued(item))]).await;
    assert!(matches!(bodies[1], Body::Note(NoteEntry::Recovered { .. })), "{bodies:?}");
    let said = Body::User { turn: None, parts, from: UserFrom::Prompt };
    let (bodies, ..) = carried("/here", vec![said.clone()]).await;
    assert_eq!(bodies[1], said, "what was said is history");
}

#[tokio::test]
async fn what_a_file_says_it_changed_is_nothing_to_undo() {
    let edit = FileEdit { path: "../.bashrc".into(), before: Snapshot::Text("evil".into()), after: Snapshot::Absent };
    let result = CallResult {
        call: "c".into(),
        tool: "write_file".into(),
        end: CallEnd::Ran,
        parts: vec![Part::text("wrote it")],
        is_error: false,
        duration_ms: 1,
        mutation: None,
        edits: vec![edit],
        details: None,
    };
    let (bodies, ..) = carried("/here", vec![Body::Call(CallEntry::Ended { turn: "t".into(), result })]).await;
    let Body::Call(CallEntry::Ended { result, .. }) = &bodies[1] else { panic!("{bodies:?}") };
    assert_eq!((result.edits.len(), &*vocab::parts_text(&result.parts)), (0, "wrote it"));
}

#[tokio::test]
async fn nothing_goes_on_and_nothing_is_allowed_because_a_file_says_so() {
    let answer = Answer::Allow(Scope::Session);
    let end = AskEnd::Answered { answer, by: Some("them".into()) };
    let started = Body::Turn(TurnEntry::Started { turn: "t".into() });
    let (bodies, ..) = carried("/here", vec![started, Body::Ask(AskEntry::Closed { ask: "a".into(), end })]).await;
    assert!(matches!(bodies[2], Body::Note(NoteEntry::Label { label: None, .. })), "{bodies:?}");
    assert!(matches!(&bodies[3], Body::Turn(TurnEntry::Ended(end)) if end.turn.as_str() == "t"), "{bodies:?}");
}
