//! Sessions as files: `.jsonl` (whole, can be read back), `.md` and `.html` (for people). An export and an import, never
//! a second truth beside the store.

mod html;
mod markdown;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use vocab::{
    Archive, Body, Border, CallEntry, CallResult, Entry, Exported, Fault, FaultKind, Later, NewSession, NoteEntry,
    QueueEntry, SessionId, SettingEntry, Store, Summary,
};

use safefile::private_dir;
use store::records::{from_record, to_record};
use store::{data_dir, faults, private_write};

/// Stands between the database's path and a session's id in what `/sessions` shows.
const ID_MARK: char = '#';
/// Larger files are not read as sessions.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Reads and writes session files; the sessions themselves live in `store`.
pub struct FileArchive {
    store: Arc<dyn Store>,
    home: PathBuf,
    border: Option<Arc<dyn Border>>,
}

impl FileArchive {
    /// One that believes what files say; see [`FileArchive::with_border`].
    pub fn new(store: Arc<dyn Store>, home: PathBuf) -> Self {
        Self { store, home, border: None }
    }

    /// Asks `border` about models and directories that files name.
    #[must_use]
    pub fn with_border(self, border: Arc<dyn Border>) -> Self {
        Self { border: Some(border), ..self }
    }
}

#[derive(Serialize, Deserialize)]
struct JsonlHead {
    #[serde(rename = "type")]
    kind: String,
    version: u32,
    id: String,
}

const HEAD_KIND: &str = "tillerman_session";
const HEAD_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct JsonlRow<'a> {
    seq: u64,
    parent: u64,
    at_ms: i64,
    kind: String,
    #[serde(borrow)]
    body: &'a RawValue,
}

impl Archive for FileArchive {
    fn export(&self, session: &SessionId, file: Option<&Path>) -> Later<'static, Result<Exported, Fault>> {
        let (store, session) = (self.store.clone(), session.clone());
        let exports = data_dir::exports_dir(&self.home);
        let own = exports.join(format!("{}.md", data_dir::file_stem(&session)));
        let is_own = file.is_none();
        let file = file.map_or(own, Path::to_owned);
        Box::pin(async move {
            if is_own {
                private_dir(&exports).map_err(|error| faults::from_io("make", &exports, &error))?;
            }
            let unknown = || Fault::new(FaultKind::UnknownSession, format!("unknown session: {session}"));
            let summary = store.summary(&session).await?.ok_or_else(unknown)?;
            let entries = store.read(&session, 0, usize::MAX).await?.entries;
            // A long session takes a second to write down; other sessions share this thread.
            let written = tokio::task::spawn_blocking(move || write_file(file, &summary, &entries)).await;
            written.map_err(|error| Fault::new(FaultKind::Internal, format!("the export failed: {error}")))?
        })
    }

    fn import(&self, file: &Path) -> Later<'static, Result<SessionId, Fault>> {
        let (store, file, border) = (self.store.clone(), file.to_owned(), self.border.clone());
        let named = file
            .to_str()
            .and_then(|text| text.rsplit_once(ID_MARK))
            .map(|(place, id)| (place.to_owned(), id.to_owned()));
        Box::pin(async move {
            if let Some((place, id)) = named
                && store.place() == Path::new(&place)
            {
                return Ok(SessionId::from(id));
            }
            let (id, mut entries) = read_jsonl(&file)?;
            if store.summary(&id).await?.is_some() {
                return Ok(id);
            }
            if let Some(border) = border {
                entries = admitted(entries, &*border, &file);
            }
            adopt(&*store, &file, &id, entries).await?;
            Ok(id)
        })
    }

    fn path_of(&self, session: &SessionId) -> PathBuf {
        PathBuf::from(format!("{}{ID_MARK}{session}", self.store.place().display()))
    }
}

/// The ending of the name says which kind of file it becomes.
fn write_file(file: PathBuf, summary: &Summary, entries: &[Arc<Entry>]) -> Result<Exported, Fault> {
    let ending = file.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    let (format, bytes) = match ending.as_deref() {
        Some("jsonl") => ("jsonl", write_jsonl(&summary.id, entries)),
        Some("html" | "htm") => ("html", html::render(summary, entries, None).into_bytes()),
        _ => ("md", as_markdown(summary, entries).into_bytes()),
    };
    private_write(&file, &bytes)?;
    Ok(Exported { path: file, format, bytes: bytes.len() as u64 })
}

/// A conversation as plain Markdown, as an export without an ending writes it.
pub fn as_markdown(summary: &Summary, entries: &[Arc<Entry>]) -> String {
    markdown::render(summary, entries)
}

fn write_jsonl(session: &SessionId, entries: &[Arc<Entry>]) -> Vec<u8> {
    let head = JsonlHead { kind: HEAD_KIND.into(), version: HEAD_VERSION, id: session.to_string() };
    let mut bytes = serde_json::to_vec(&head).expect("a head is plain text");
    bytes.push(b'\n');
    let mut payload = Vec::new();
    for entry in entries {
        payload.clear();
        let kind = to_record(&entry.body, &mut payload).to_owned();
        let body: &RawValue = serde_json::from_slice(&payload).expect("a record is JSON");
        let row = JsonlRow { seq: entry.seq, parent: entry.parent, at_ms: entry.at_ms, kind, body };
        serde_json::to_writer(&mut bytes, &row).expect("a row is JSON");
        bytes.push(b'\n');
    }
    bytes
}

fn read_jsonl(file: &Path) -> Result<(SessionId, Vec<Arc<Entry>>), Fault> {
    let missing = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Fault::new(FaultKind::NotFound, format!("no session file {}", file.display())),
        _ => faults::from_io("read", file, &error),
    };
    if std::fs::metadata(file).map_err(missing)?.len() > FILE_BYTES_MAX {
        return Err(Fault::new(FaultKind::Store, format!("{} is too large for a session file", file.display())));
    }
    let text = std::fs::read_to_string(file).map_err(missing)?;
    let wrong = |line: usize, what: String| {
        Fault::new(FaultKind::Store, format!("{} line {line}: {what}", file.display()))
            .hint("a session file is what `/export NAME.jsonl` writes")
    };
    let mut lines =
        text.lines().enumerate().map(|(at, line)| (at + 1, line)).filter(|(_, line)| !line.trim().is_empty());
    let (_, first) = lines.next().ok_or_else(|| wrong(1, "the file is empty".into()))?;
    let head: JsonlHead = serde_json::from_str(first).map_err(|_| wrong(1, "not a session file".into()))?;
    if head.kind != HEAD_KIND || head.version != HEAD_VERSION {
        return Err(wrong(1, format!("a `{}` of version {}, which this version cannot read", head.kind, head.version)));
    }
    let mut entries: Vec<Arc<Entry>> = Vec::new();
    for (number, line) in lines {
        let row: JsonlRow<'_> = serde_json::from_str(line).map_err(|error| wrong(number, error.to_string()))?;
        if row.seq != entries.len() as u64 + 1 || row.parent >= row.seq {
            return Err(wrong(number, format!("seq {} is out of order", row.seq)));
        }
        let body =
            from_record(&row.kind, row.body.get().as_bytes()).map_err(|error| wrong(number, error.to_string()))?;
        entries.push(Arc::new(Entry { seq: row.seq, parent: row.parent, at_ms: row.at_ms, body }));
    }
    Ok((SessionId::from(head.id), entries))
}

/// The entries with nothing in them that a file may not decide. Their number and order stay: others point at them. The
/// directory is another machine's as often as not, so one outside of ours becomes ours. What waits to be said is the
/// word of whoever wrote the file, not of the user who opens it.
fn admitted(entries: Vec<Arc<Entry>>, border: &dyn Border, file: &Path) -> Vec<Arc<Entry>> {
    let settled = entries.iter().filter_map(|entry| match &entry.body {
        Body::Queue(QueueEntry::Settled { item, .. }) => Some(item.clone()),
        _ => None,
    });
    let settled: HashSet<_> = settled.collect();
    let mut model: Option<Arc<str>> = None;
    let mut judge = |slug: &Arc<str>| {
        if border.admits(file, slug) {
            model = Some(slug.clone());
        }
        model.clone().unwrap_or_else(|| border.own_model())
    };
    let admit = |entry: Arc<Entry>| {
        let body = match &entry.body {
            Body::Opened { workspace, model, mode, forked_from, child_of } => Body::Opened {
                workspace: border.workspace(workspace).unwrap_or_else(|_| border.here().to_owned()),
                model: judge(model),
                mode: *mode,
                forked_from: forked_from.clone(),
                child_of: child_of.clone(),
            },
            Body::Setting(SettingEntry::Model { model }) => Body::Setting(SettingEntry::Model { model: judge(model) }),
            // What the file says it changed would be put "back" by an undo, wherever it says.
            Body::Call(CallEntry::Ended { turn, result }) if !result.edits.is_empty() => {
                let result = CallResult { edits: Vec::new(), ..result.clone() };
                Body::Call(CallEntry::Ended { turn: turn.clone(), result })
            }
            Body::Queue(QueueEntry::Queued(item)) if !settled.contains(&item.id) => Body::Note(NoteEntry::Recovered {
                text: "a message that waited in the session file was not taken over".into(),
            }),
            _ => return entry,
        };
        Arc::new(Entry { body, seq: entry.seq, parent: entry.parent, at_ms: entry.at_ms })
    };
    entries.into_iter().map(admit).collect()
}

async fn adopt(store: &dyn Store, file: &Path, id: &SessionId, entries: Vec<Arc<Entry>>) -> Result<(), Fault> {
    let Some(Body::Opened { workspace, model, mode, .. }) = entries.first().map(|entry| &entry.body) else {
        return Err(Fault::new(FaultKind::Store, format!("{} holds no session", file.display())));
    };
    let new = NewSession {
        id: id.clone(),
        workspace: workspace.clone(),
        model: model.clone(),
        mode: *mode,
        at_ms: entries[0].at_ms,
        parent: None,
    };
    let lease = store.create(new);
    store.append(&lease, entries, true).await?;
    store.release(lease).await
}

/// What a person calls the session.
fn title(summary: &Summary) -> &str {
    summary.title.as_deref().or(summary.preview.as_deref()).unwrap_or("Session")
}
