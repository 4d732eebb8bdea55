//! A world with a store in memory, a directory of files, and a session to talk in.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use export::FileArchive;
use pi_format::messages::{Face, Faces};
use pi_format::transcript::Transcript;
use session_files::{MirrorSetup, Mirrored, ModelNames};
use store::MemoryStore;
use store_sqlite::SqliteStore;
use tempfile::TempDir;
use testkit::fakes::OpenBorder;
use vocab::*;

pub(crate) struct PricedFaces;
impl Faces for PricedFaces {
    fn face(&self, slug: &str) -> Face {
        Face::guess(slug)
    }
}
impl ModelNames for PricedFaces {}

struct Counted(AtomicU64);
impl Ids for Counted {
    fn mint(&self, _kind: IdKind) -> String {
        format!("minted-{}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

pub(crate) struct MirrorWorld {
    pub(crate) dir: SessionDir,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) notes: Arc<Mutex<Vec<String>>>,
}

pub(crate) enum SessionDir {
    Passing(TempDir),
    Lasting(PathBuf),
}

impl SessionDir {
    pub(crate) fn path(&self) -> &Path {
        match self {
            SessionDir::Passing(dir) => dir.path(),
            SessionDir::Lasting(path) => path,
        }
    }
}

pub(crate) const NOON: i64 = 1_794_781_912_000;
pub(crate) const ID: &str = "0198f00d-0000-7000-8000-000000000001";

impl MirrorWorld {
    pub(crate) fn new() -> Self {
        let dir = SessionDir::Passing(tempfile::tempdir().unwrap());
        Self { dir, store: Arc::new(MemoryStore::new()), notes: Arc::default() }
    }

    pub(crate) fn on_disk() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::new(dir.path().join("data")));
        Self { dir: SessionDir::Passing(dir), store, notes: Arc::default() }
    }

    /// One that others find again.
    pub(crate) fn at(home: &Path) -> Self {
        let store = Arc::new(SqliteStore::new(home.join("data")));
        Self { dir: SessionDir::Lasting(home.to_owned()), store, notes: Arc::default() }
    }

    pub(crate) fn files(&self) -> PathBuf {
        self.dir.path().join("sessions")
    }

    /// What a process that starts now has.
    pub(crate) fn process(&self) -> Mirrored {
        self.process_behind(Arc::new(OpenBorder { own: "mock/default".into(), here: self.dir.path().to_owned() }))
    }

    /// The same, with a border of its own.
    pub(crate) fn process_behind(&self, border: Arc<dyn Border>) -> Mirrored {
        let notes = self.notes.clone();
        Mirrored::new(MirrorSetup {
            store: self.store.clone(),
            archive: Arc::new(FileArchive::new(self.store.clone(), self.dir.path().to_owned())),
            models: Arc::new(PricedFaces),
            ids: Arc::new(Counted(AtomicU64::new(1))),
            dir: self.files(),
            dir_is_fixed: false,
            mode: Mode::Prompt,
            border,
            note: Arc::new(move |text| notes.lock().unwrap().push(text.to_owned())),
        })
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }

    pub(crate) async fn entries(&self, id: &str) -> Vec<Arc<Entry>> {
        self.store.read(&id.into(), 0, usize::MAX).await.unwrap().entries
    }

    pub(crate) async fn transcript(&self, id: &str) -> Transcript {
        Transcript::new(&self.entries(id).await, &PricedFaces)
    }

    /// The live messages, one per line.
    pub(crate) async fn context(&self, id: &str) -> Vec<String> {
        self.transcript(id).await.context().iter().map(|said| said.json.to_string()).collect()
    }
}

/// Somebody who talks in a session.
pub(crate) struct RunningSession {
    pub(crate) mirrored: Mirrored,
    pub(crate) lease: Lease,
    seq: u64,
    leaf: u64,
}

impl RunningSession {
    pub(crate) fn begin(mirrored: &Mirrored, id: &str) -> Self {
        Self::begin_from(mirrored, id, None)
    }

    pub(crate) fn begin_from(mirrored: &Mirrored, id: &str, parent: Option<&str>) -> Self {
        let new = NewSession {
            id: id.into(),
            workspace: "/work".into(),
            model: "mock/mock-1".into(),
            mode: Mode::Prompt,
            at_ms: NOON,
            parent: parent.map(Into::into),
        };
        Self { mirrored: mirrored.clone(), lease: mirrored.create(new), seq: 0, leaf: 0 }
    }

    pub(crate) async fn resume(mirrored: &Mirrored, id: &str) -> Self {
        let lease = mirrored.acquire(&id.into()).await.unwrap().lease;
        let seq = mirrored.summary(&id.into()).await.unwrap().unwrap().last_seq;
        Self { mirrored: mirrored.clone(), lease, seq, leaf: seq }
    }

    pub(crate) fn entry(&mut self, body: Body) -> Arc<Entry> {
        let parent = match body {
            Body::Branch(BranchEntry::Moved { to }) => to,
            _ => self.leaf,
        };
        self.seq += 1;
        self.leaf = self.seq;
        Arc::new(Entry { seq: self.seq, parent, at_ms: NOON + self.seq as i64, body, by: None })
    }

    pub(crate) async fn log(&mut self, bodies: Vec<Body>) {
        let entries = bodies.into_iter().map(|body| self.entry(body)).collect();
        self.mirrored.append(&self.lease, entries, Durability::Now).await.unwrap();
        self.lease.new = None;
    }

    pub(crate) async fn end(self) {
        self.mirrored.release(self.lease).await.unwrap();
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.mirrored.file(&self.lease.session).unwrap()
    }
}

pub(crate) fn opened() -> Body {
    Body::Opened {
        workspace: "/work".into(),
        model: "mock/mock-1".into(),
        mode: Mode::Prompt,
        forked_from: None,
        child_of: None,
    }
}

pub(crate) fn user(text: &str) -> Body {
    Body::User { turn: Some("t".into()), parts: vec![Part::text(text)], from: UserFrom::Prompt }
}

pub(crate) fn reply(blocks: Vec<Block>, end: MessageEnd) -> Body {
    let usage = Usage { input: 100, output: 20, cache_read: 3, ..Usage::default() };
    let message = AssistantMessage { blocks, model: "mock/mock-1".into(), end, usage };
    Body::Assistant { turn: Some("t".into()), message }
}

pub(crate) fn says(text: &str) -> Body {
    reply(vec![Block::Text(text.into())], MessageEnd::Finished(Finish::Stop))
}

pub(crate) fn calls(id: &str) -> Body {
    let input = CallInput::Object(Json::trusted(r#"{"path":"a.txt","b":[1,{"z":1,"a":2}]}"#));
    let blocks = vec![
        Block::Thinking { text: "hm".into(), opaque: Some("seal".into()) },
        Block::Thinking { text: "".into(), opaque: Some("sealed".into()) },
        Block::Text("Calling.".into()),
        Block::Call(Call { id: id.into(), name: "read".into(), input, seal: None }),
    ];
    reply(blocks, MessageEnd::Finished(Finish::ToolUse))
}

pub(crate) fn result(id: &str, is_error: bool) -> Body {
    let result = CallResult {
        call: id.into(),
        tool: "read_file".into(),
        end: CallEnd::Ran,
        parts: vec![
            Part::text("alpha\n\u{2028}\"beta\""),
            Part::Image(Image { mime: "image/png".into(), base64: "iVBO".into() }),
        ],
        is_error,
        duration_ms: 0,
        mutation: None,
        edits: Vec::new(),
        details: Some(Json::trusted(r#"{"z":1,"a":{"n":null}}"#)),
    };
    Body::Call(CallEntry::Ended { turn: "t".into(), result })
}

pub(crate) fn shell(aside: bool) -> Body {
    Body::Shell(ShellEntry::Ended(Shell {
        command: "echo hi".into(),
        output: "hi\n".into(),
        exit_code: Some(0),
        cancelled: false,
        truncated: false,
        total_lines: 2,
        total_bytes: 3,
        spilled: None,
        aside,
    }))
}

pub(crate) fn compacted(first_kept: u64) -> Body {
    Body::Branch(BranchEntry::Compacted(Compaction {
        reason: CompactReason::Manual,
        summary: "so far".into(),
        first_kept,
        tokens_before: 120,
        tokens_after: 7,
        messages_before: 4,
        messages_after: 2,
        usage: Usage::default(),
        model: "".into(),
    }))
}

/// A conversation with everything in it.
pub(crate) fn everything() -> Vec<Body> {
    vec![
        opened(),
        Body::Setting(SettingEntry::Thinking { level: Some("high".into()) }),
        Body::Turn(TurnEntry::Started { turn: "t".into() }),
        user("first"),
        says("1"),
        user("second"),
        Body::Setting(SettingEntry::Title { title: "beside".into() }),
        calls("c1"),
        result("c1", false),
        calls("c2"),
        result("c2", true),
        reply(vec![], MessageEnd::Interrupted),
        shell(false),
        shell(true),
        Body::Note(NoteEntry::Label { target: 4, label: Some("here".into()) }),
        compacted(6),
        Body::Setting(SettingEntry::Model { model: "other/m/2".into(), called: None }),
        user("third"),
        says("3"),
        Body::Branch(BranchEntry::Moved { to: 17 }),
        Body::Branch(BranchEntry::Summary { from: Some(17), summary: "went wrong".into() }),
        user("fourth"),
        Body::User { turn: None, parts: vec![Part::text("tasks are open")], from: UserFrom::Reminder },
        says("4"),
    ]
}

pub(crate) fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "whole lines only");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn texts(context: &[String]) -> Vec<String> {
    let text = |json: &String| {
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        // Foreign messages are told as they stand, and some have a plain text.
        let content = &value["content"];
        content.as_str().or(content[0]["text"].as_str()).unwrap_or_default().to_owned()
    };
    context.iter().map(text).collect()
}
