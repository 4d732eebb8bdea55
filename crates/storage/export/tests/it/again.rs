//! A file that is read when its session is here already, and files that call their session something odd.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use export::FileArchive;
use store::MemoryStore;
use vocab::{
    Archive, AssistantMessage, Block, Body, Border, Durability, Entry, Fault, FaultKind, Finish, MessageEnd, Mode,
    NewSession, Part, Principal, Query, SessionId, Stop, Store, TurnEnd, TurnEntry, Usage, UserFrom,
};

fn entry(seq: u64, body: Body) -> Arc<Entry> {
    Arc::new(Entry { seq, parent: seq - 1, at_ms: seq as i64, body, by: None })
}

fn said(seq: u64, text: &str) -> Arc<Entry> {
    entry(seq, Body::User { turn: None, parts: vec![Part::text(text)], from: UserFrom::Prompt })
}

/// A store with a session in which this was said.
async fn talked(id: &str, texts: &[&str]) -> Arc<dyn Store> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (workspace, mode) = (PathBuf::from("/w"), Mode::Prompt);
    let new =
        NewSession { id: id.into(), workspace: workspace.clone(), model: "m".into(), mode, at_ms: 1, parent: None };
    let lease = store.create(new);
    let opened = Body::Opened { workspace, model: "m".into(), mode, forked_from: None, child_of: None };
    let said = texts.iter().zip(2..).map(|(text, seq)| said(seq, text));
    store.append(&lease, std::iter::once(entry(1, opened)).chain(said).collect(), Durability::Now).await.unwrap();
    store.release(lease).await.unwrap();
    store
}

async fn file(place: &Path, id: &str, texts: &[&str]) -> PathBuf {
    let file = place.join(format!("{}.jsonl", texts.join("-")));
    let store = talked(id, texts).await;
    FileArchive::new(store, place.into()).export(&id.into(), Some(&file)).await.unwrap();
    file
}

async fn texts(store: &Arc<dyn Store>, id: &SessionId) -> Vec<String> {
    let entries = store.read(id, 0, usize::MAX).await.unwrap().entries;
    let text = |entry: &Arc<Entry>| match &entry.body {
        Body::User { parts, .. } => match &parts[0] {
            Part::Text(text) => Some(text.to_string()),
            _ => None,
        },
        _ => None,
    };
    entries.iter().filter_map(text).collect()
}

#[tokio::test]
async fn whichever_log_has_more_is_gone_on_with() {
    let place = tempfile::tempdir().unwrap();
    let (long, short) = (file(place.path(), "s", &["a", "b", "c"]).await, file(place.path(), "s", &["a"]).await);
    let ours = talked("s", &["a", "b"]).await;
    let archive = FileArchive::new(ours.clone(), place.path().into());
    assert_eq!(archive.import(&short).await.unwrap().as_str(), "s");
    assert_eq!(texts(&ours, &"s".into()).await, ["a", "b"], "the file says nothing new");
    assert_eq!(archive.import(&long).await.unwrap().as_str(), "s");
    assert_eq!(texts(&ours, &"s".into()).await, ["a", "b", "c"], "what the file has more is taken");
    assert_eq!(archive.import(&long).await.unwrap().as_str(), "s");
    assert_eq!(texts(&ours, &"s".into()).await, ["a", "b", "c"], "once");
}

#[tokio::test]
async fn a_file_that_went_another_way_is_a_session_of_its_own() {
    let place = tempfile::tempdir().unwrap();
    let other = file(place.path(), "s", &["a", "x", "y"]).await;
    let ours = talked("s", &["a", "b"]).await;
    let archive = FileArchive::new(ours.clone(), place.path().into());
    let copy = archive.import(&other).await.unwrap();
    assert_ne!(copy.as_str(), "s");
    assert!(copy.is_plain(), "{copy}");
    assert_eq!(texts(&ours, &copy).await, ["a", "x", "y"]);
    assert_eq!(texts(&ours, &"s".into()).await, ["a", "b"]);
    assert_eq!(archive.import(&other).await.unwrap(), copy, "the same file is the same session");
    assert_eq!(ours.list(Query::default()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_session_that_somebody_works_in_takes_nothing_from_a_file() {
    let place = tempfile::tempdir().unwrap();
    let long = file(place.path(), "s", &["a", "b"]).await;
    let ours = talked("s", &["a"]).await;
    let busy = ours.acquire(&"s".into()).await.unwrap();
    let archive = FileArchive::new(ours.clone(), place.path().into());
    assert_eq!(archive.import(&long).await.unwrap_err().kind, FaultKind::SessionBusy);
    ours.release(busy.lease).await.unwrap();
    archive.import(&long).await.unwrap();
    assert_eq!(texts(&ours, &"s".into()).await, ["a", "b"]);
}

#[tokio::test]
async fn a_file_does_not_choose_an_id_that_cannot_be_named() {
    let place = tempfile::tempdir().unwrap();
    let long = "x".repeat(5000);
    for odd in ["../../victim", "a/b", "..", "", "latest", "last", "a b", "é", "-x", "a\u{1b}[2J", &long] {
        let ours: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let archive = FileArchive::new(ours.clone(), place.path().into());
        let file = file(place.path(), odd, &["hello"]).await;
        let id = archive.import(&file).await.unwrap();
        assert!(id.is_plain() && id.as_str() != odd, "{odd:?} became {id}");
        assert_eq!(texts(&ours, &id).await, ["hello"]);
        assert_eq!(archive.import(&file).await.unwrap(), id, "the same file is the same session");
    }
}

/// Takes everything.
struct Wide;

impl Border for Wide {
    fn model(&self, _: &str) -> Result<(), String> {
        Ok(())
    }
    fn workspace(&self, named: &Path) -> Result<PathBuf, Fault> {
        Ok(named.to_owned())
    }
    fn own_model(&self) -> Arc<str> {
        "own".into()
    }
    fn here(&self) -> &Path {
        Path::new("/here")
    }
    fn note(&self, _: &str) {}
}

/// A session's file, as it is after so many entries of one turn.
async fn in_mid_turn(place: &Path, entries: usize) -> PathBuf {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (workspace, mode) = (PathBuf::from("/w"), Mode::Prompt);
    let new =
        NewSession { id: "s".into(), workspace: workspace.clone(), model: "m".into(), mode, at_ms: 1, parent: None };
    let lease = store.create(new);
    let turn = || "t1".into();
    let message = AssistantMessage {
        blocks: vec![Block::Text("and more".into())],
        model: "m".into(),
        end: MessageEnd::Finished(Finish::Stop),
        usage: Usage::default(),
    };
    let end = TurnEnd {
        turn: turn(),
        stop: Stop::EndTurn,
        iterations: 0,
        usage: Usage::default(),
        mutations: Vec::new(),
        fault: None,
    };
    let bodies = [
        Body::Opened { workspace, model: "m".into(), mode, forked_from: None, child_of: None },
        Body::Turn(TurnEntry::Started { turn: turn() }),
        Body::User { turn: Some(turn()), parts: vec![Part::text("a")], from: UserFrom::Prompt },
        Body::Assistant { turn: Some(turn()), message },
        Body::Turn(TurnEntry::Ended(end)),
        Body::User { turn: None, parts: vec![Part::text("b")], from: UserFrom::Prompt },
    ];
    let all = bodies.into_iter().zip(1..).map(|(body, seq)| entry(seq, body)).take(entries).collect();
    store.append(&lease, all, Durability::Now).await.unwrap();
    store.release(lease).await.unwrap();
    let file = place.join(format!("after-{entries}.jsonl"));
    FileArchive::new(store, place.into()).export(&"s".into(), Some(&file)).await.unwrap();
    file
}

#[tokio::test]
async fn a_file_that_was_written_in_mid_turn_is_gone_on_with_when_it_has_more() {
    let place = tempfile::tempdir().unwrap();
    let (half, more, whole) =
        (in_mid_turn(place.path(), 3).await, in_mid_turn(place.path(), 4).await, in_mid_turn(place.path(), 6).await);
    let ours: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let archive = FileArchive::new(ours.clone(), place.path().into()).with_border(Arc::new(Wide));
    let id = SessionId::from("s");
    let ends = async || ours.read(&id, 0, usize::MAX).await.unwrap().entries.last().unwrap().body.clone();
    for file in [&half, &half, &more, &half] {
        assert_eq!(archive.import(file).await.unwrap(), id);
        let end = ends().await;
        assert!(matches!(&end, Body::Turn(TurnEntry::Ended(end)) if end.stop == Stop::Interrupted), "{end:?}");
    }
    assert_eq!(ours.summary(&id).await.unwrap().unwrap().last_seq, 5, "the shorter one takes nothing away");
    assert_eq!(archive.import(&whole).await.unwrap(), id);
    assert_eq!(texts(&ours, &id).await, ["a", "b"]);
    assert_eq!(ours.list(Query::default()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_somebody_did_behind_a_closed_turn_is_not_given_up_for_a_file() {
    let place = tempfile::tempdir().unwrap();
    let (half, whole) = (in_mid_turn(place.path(), 3).await, in_mid_turn(place.path(), 6).await);
    for by in [None, Some(Principal::user("ann"))] {
        let ours: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let archive = FileArchive::new(ours.clone(), place.path().into()).with_border(Arc::new(Wide));
        let id = archive.import(&half).await.unwrap();
        let acquired = ours.acquire(&id).await.unwrap();
        let body = match &by {
            // Nobody's words are words all the same, and somebody's doing is one whatever it is.
            None => said(5, "mine").body.clone(),
            Some(_) => Body::Note(vocab::NoteEntry::Recovered { text: "mine".into() }),
        };
        let entry = Entry { seq: 5, parent: 4, at_ms: 9, body, by };
        ours.append(&acquired.lease, vec![Arc::new(entry)], Durability::Now).await.unwrap();
        ours.release(acquired.lease).await.unwrap();
        let copy = archive.import(&whole).await.unwrap();
        assert_ne!(copy, id);
        assert_eq!(ours.summary(&id).await.unwrap().unwrap().last_seq, 5);
        assert_eq!(texts(&ours, &copy).await, ["a", "b"]);
    }
}
