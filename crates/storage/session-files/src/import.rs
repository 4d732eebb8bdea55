//! Rows of a file as entries of a log. The names that the rows have in their file come along, so that what is appended
//! later hangs on them. Nothing is judged: a call without a result is closed by the engine when it opens the session.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_format::transcript::LineName;
use vocab::{
    Body, Border, BranchEntry, CallEntry, CompactReason, Compaction, Entry, Json, Mode, NoteEntry, Part, SettingEntry,
    ShellEntry, TurnId, Usage, UserFrom,
};

use crate::ModelNames;
use crate::content::{self, ForeignMessage};
use crate::fields::{Fields, line_text, parse_iso};
use crate::read::{FileRow, NAMELESS, ScannedFile};

/// Bytes of messages kept as they stood, per run of entries; of a longer one the rest is told in our words only.
const RAW_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Who reads a file: what its names mean here, and what it may decide.
#[derive(Clone, Copy)]
pub struct ImportContext<'a> {
    pub models: &'a dyn ModelNames,
    pub border: &'a dyn Border,
    /// Where the file is.
    pub file: &'a Path,
}

impl ImportContext<'_> {
    /// The model that a file names, if a session may go on with it.
    fn admitted(&self, slug: Arc<str>) -> Option<Arc<str>> {
        self.border.admits(self.file, &slug).then_some(slug)
    }
}

/// How a session of a new file starts.
pub struct ImportDefaults {
    pub mode: Mode,
    /// Where it works.
    pub workspace: PathBuf,
    /// Where its file is, to know it from its copies.
    pub file: Option<PathBuf>,
}

/// A whole file as a new log.
pub fn whole(
    bytes: &[u8],
    scan: &ScannedFile,
    reader: ImportContext<'_>,
    defaults: &ImportDefaults,
) -> Vec<Arc<Entry>> {
    let head = &scan.head;
    let first_model = head.model.as_ref().map(|(provider, id)| reader.models.slug(provider, id));
    let first_model = first_model.or_else(|| model_in(bytes, scan, reader.models));
    let mut importer = Importer::new(reader);
    importer.push(
        0,
        head.at_ms,
        Body::Opened {
            workspace: defaults.workspace.clone(),
            model: first_model.and_then(|it| reader.admitted(it)).unwrap_or_else(|| reader.border.own_model()),
            mode: defaults.mode,
            forked_from: None,
            child_of: None,
        },
    );
    let root = importer.push(
        1,
        head.at_ms,
        Body::Note(NoteEntry::Imported { file: defaults.file.clone(), names: Vec::new(), raws: Vec::new() }),
    );
    importer.root = root;
    importer.run_from = root as usize - 1;
    if let Some(title) = &head.title {
        let title = Body::Setting(SettingEntry::Title { title: title.as_str().into() });
        let seq = importer.add(root, head.at_ms, format!("{NAMELESS}title").into(), title);
        importer.root = seq;
    }
    importer.rows(bytes, scan, 0);
    importer.finish(scan.bad)
}

/// The rows whose names the log does not have yet, as entries that go on behind `last`.
pub fn more(
    bytes: &[u8],
    scan: &ScannedFile,
    reader: ImportContext<'_>,
    known: &HashMap<LineName, u64>,
    last: u64,
) -> Vec<Arc<Entry>> {
    let mut importer = Importer::new(reader);
    importer.base = last;
    importer.seq_of = known.clone();
    importer.rows(bytes, scan, last);
    importer.finish(0)
}

/// The model that the file speaks of first.
fn model_in(bytes: &[u8], scan: &ScannedFile, models: &dyn ModelNames) -> Option<Arc<str>> {
    scan.rows.iter().find_map(|row| {
        let text = line_text(&bytes[row.bytes.clone()]);
        let fields = Fields::parse(&text)?;
        match row.kind.as_str() {
            "model_change" => model_change(&fields, models),
            "message" => {
                let message = fields.object("message")?;
                Some(models.slug(&message.text("provider")?, &message.text("model")?))
            }
            _ => None,
        }
    })
}

struct Importer<'a> {
    reader: ImportContext<'a>,
    entries: Vec<Entry>,
    /// Entries that are in the log already.
    base: u64,
    /// What a row without a parent hangs on.
    root: u64,
    /// The entry that a row stands for or, where it stands for none, the one it hangs on.
    seq_of: HashMap<LineName, u64>,
    /// Index of the `Imported` entry that names the entries being added.
    run_from: usize,
    /// Which reply made a call: the newest of that id.
    made_by: HashMap<String, TurnId>,
    /// Bytes of messages that the current run keeps as they stood.
    raw_bytes: usize,
}

impl<'a> Importer<'a> {
    fn new(reader: ImportContext<'a>) -> Self {
        Self {
            reader,
            entries: Vec::new(),
            base: 0,
            root: 0,
            seq_of: HashMap::new(),
            run_from: 0,
            made_by: HashMap::new(),
            raw_bytes: 0,
        }
    }

    fn last_seq(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    fn push(&mut self, parent: u64, at_ms: i64, body: Body) -> u64 {
        let seq = self.last_seq() + 1;
        self.entries.push(Entry { seq, parent, at_ms, body, by: None });
        seq
    }

    /// Adds a named entry. Names travel in runs: each run is announced on its own branch, so that a fork, which copies
    /// one branch, takes the names along.
    fn add(&mut self, parent: u64, at_ms: i64, name: LineName, body: Body) -> u64 {
        let goes_on = parent == self.last_seq() && !self.entries.is_empty();
        let parent = match goes_on {
            true => parent,
            false => self.announce(parent, at_ms),
        };
        let seq = self.push(parent, at_ms, body);
        if let Some(Body::Note(NoteEntry::Imported { names, .. })) =
            self.entries.get_mut(self.run_from).map(|entry| &mut entry.body)
        {
            names.push((seq, name.clone()));
        }
        self.seq_of.insert(name, seq);
        seq
    }

    fn announce(&mut self, parent: u64, at_ms: i64) -> u64 {
        self.run_from = self.entries.len();
        self.push(parent, at_ms, Body::Note(NoteEntry::Imported { file: None, names: Vec::new(), raws: Vec::new() }))
    }

    fn rows(&mut self, bytes: &[u8], scan: &ScannedFile, last: u64) {
        let known = if last > 0 { self.seq_of.clone() } else { HashMap::new() };
        let mut previous = self.root;
        for at in parents_first(&scan.rows) {
            let row = &scan.rows[at];
            let parent = match &row.parent {
                None => self.root,
                // A parent that is not there, or hangs on the row itself: the line before is the likeliest.
                Some(parent) => self.seq_of.get(parent).copied().unwrap_or(previous),
            };
            if let Some(seq) = known.get(&row.name) {
                previous = *seq;
                continue;
            }
            let text = line_text(&bytes[row.bytes.clone()]);
            let taken = Fields::parse(&text).and_then(|fields| self.row(row, &fields, parent));
            previous = taken.unwrap_or(parent);
            // What hangs on a row that says nothing to us hangs on that row's parent.
            self.seq_of.entry(row.name.clone()).or_insert(previous);
        }
    }

    fn row(&mut self, row: &FileRow, fields: &Fields<'_>, parent: u64) -> Option<u64> {
        let at_ms = fields.text("timestamp").and_then(|text| parse_iso(&text));
        let here = at_ms.unwrap_or_else(|| self.entries.last().map_or(0, |entry| entry.at_ms));
        let body = match row.kind.as_str() {
            "message" => return self.message(row, &fields.object("message")?, parent, here),
            "custom_message" => {
                let body = Body::User { turn: None, parts: content::parts(fields), from: UserFrom::Extension };
                let seq = self.add(parent, here, row.name.clone(), body);
                self.keep_raw(seq, Some(content::custom(fields, here)));
                return Some(seq);
            }
            "model_change" => Body::Setting(SettingEntry::Model {
                model: self.reader.admitted(model_change(fields, self.reader.models)?)?,
                called: None,
            }),
            "thinking_level_change" => {
                let level = fields.text("thinkingLevel").filter(|level| level != "off");
                Body::Setting(SettingEntry::Thinking { level: level.map(Arc::from) })
            }
            "session_info" => {
                Body::Setting(SettingEntry::Title { title: fields.text("name").unwrap_or_default().trim().into() })
            }
            "label" => {
                let target = *self.seq_of.get(fields.text("targetId")?.as_str())?;
                Body::Note(NoteEntry::Label {
                    target,
                    label: fields.text("label").filter(|it| !it.is_empty()).map(Arc::from),
                })
            }
            "branch_summary" => {
                let from = fields.text("fromId").and_then(|from| self.seq_of.get(from.as_str()).copied());
                Body::Branch(BranchEntry::Summary { from, summary: fields.text("summary")?.into() })
            }
            "compaction" => {
                let kept = row.first_kept.as_ref().and_then(|name| self.seq_of.get(name).copied());
                Body::Branch(BranchEntry::Compacted(Compaction {
                    reason: CompactReason::Manual,
                    summary: fields.text("summary")?.into(),
                    // Its own number, which is greater than that of everything before it: nothing is kept.
                    first_kept: kept.unwrap_or(u64::MAX),
                    tokens_before: fields.natural("tokensBefore").unwrap_or(0),
                    tokens_after: 0,
                    messages_before: 0,
                    messages_after: 0,
                    usage: Usage::default(),
                    model: "".into(),
                }))
            }
            _ => return None,
        };
        let seq = self.add(parent, here, row.name.clone(), body);
        if let Body::Branch(BranchEntry::Compacted(compaction)) = &mut self.entries[(seq - self.base - 1) as usize].body
            && compaction.first_kept == u64::MAX
        {
            compaction.first_kept = seq;
        }
        Some(seq)
    }

    fn message(&mut self, row: &FileRow, fields: &Fields<'_>, parent: u64, here: i64) -> Option<u64> {
        let (said, said_ms) = content::message(fields, self.reader.models)?;
        let name = row.name.clone();
        let at_ms = said_ms.unwrap_or(here);
        let body = match said {
            ForeignMessage::User(parts, from) => {
                let parts = if parts.is_empty() { vec![Part::text("")] } else { parts };
                Body::User { turn: None, parts, from }
            }
            ForeignMessage::Shell(shell) => Body::Shell(ShellEntry::Ended(shell)),
            ForeignMessage::Result(result) => {
                let turn = self.made_by.get(result.call.as_str()).cloned();
                Body::Call(CallEntry::Ended { turn: turn.unwrap_or_else(|| content::turn_of(&name)), result })
            }
            ForeignMessage::Assistant(message) => {
                let turn = content::turn_of(&name);
                for call in message.calls() {
                    self.made_by.insert(call.id.to_string(), turn.clone());
                }
                // A reply is dated by the entry before it: one that says when it began.
                let parent = match self.moment_of(parent) == Some(at_ms) {
                    true => parent,
                    false => self.announce(parent, at_ms),
                };
                let seq = self.add(parent, here, name, Body::Assistant { turn: Some(turn), message });
                self.keep_raw(seq, content::raw(fields));
                return Some(seq);
            }
        };
        let seq = self.add(parent, at_ms, name, body);
        self.keep_raw(seq, content::raw(fields));
        Some(seq)
    }

    /// Keeps a message as it stands in the file, as long as the run it belongs to does not become a burden.
    fn keep_raw(&mut self, seq: u64, json: Option<Json>) {
        let Some(json) = json else { return };
        if let Some(Body::Note(NoteEntry::Imported { raws, .. })) =
            self.entries.get_mut(self.run_from).map(|entry| &mut entry.body)
        {
            let kept: usize = if raws.is_empty() { 0 } else { self.raw_bytes };
            if kept + json.as_str().len() <= RAW_BYTES_MAX {
                self.raw_bytes = kept + json.as_str().len();
                raws.push((seq, json));
            }
        }
    }

    /// When an entry of this import was made, if it is one that a reply is dated by.
    fn moment_of(&self, seq: u64) -> Option<i64> {
        let entry = self.entries.get(usize::try_from(seq.checked_sub(self.base + 1)?).ok()?)?;
        let dates = matches!(
            entry.body,
            Body::User { .. }
                | Body::Assistant { .. }
                | Body::Call(CallEntry::Ended { .. })
                | Body::Branch(BranchEntry::Compacted(_))
        );
        (dates && seq == self.last_seq()).then_some(entry.at_ms)
    }

    fn finish(mut self, bad: u64) -> Vec<Arc<Entry>> {
        if bad > 0 {
            let text = format!("{bad} line(s) of the session file could not be read and were left out");
            let at_ms = self.entries.last().map_or(0, |entry| entry.at_ms);
            self.push(self.last_seq(), at_ms, Body::Note(NoteEntry::Recovered { text: text.into() }));
        }
        self.entries.into_iter().map(Arc::new).collect()
    }
}

/// The rows in their order, but none before the one that it hangs on: a line that was damaged comes again further down.
/// Walks with a list, because a conversation is as deep as it is long.
fn parents_first(rows: &[FileRow]) -> Vec<usize> {
    let places: HashMap<&str, usize> = rows.iter().enumerate().map(|(at, row)| (&*row.name, at)).collect();
    let (mut order, mut met) = (Vec::with_capacity(rows.len()), vec![false; rows.len()]);
    let mut waiting = Vec::new();
    for at in 0..rows.len() {
        let mut next = Some(at);
        while let Some(row) = next.filter(|row| !met[*row]) {
            met[row] = true;
            waiting.push(row);
            next = rows[row].parent.as_ref().and_then(|parent| places.get(&**parent).copied());
        }
        if next.is_some_and(|row| waiting.contains(&row)) {
            // A circle has no first one but that of the file.
            waiting.sort_unstable_by_key(|row| std::cmp::Reverse(*row));
        }
        order.extend(waiting.drain(..).rev());
    }
    order
}

/// pi writes provider and id apart, its relatives in one text.
fn model_change(fields: &Fields<'_>, models: &dyn ModelNames) -> Option<Arc<str>> {
    if let (Some(provider), Some(id)) = (fields.text("provider"), fields.text("modelId")) {
        return Some(models.slug(&provider, &id));
    }
    let both = fields.text("model")?;
    let (provider, id) = both.split_once('/')?;
    Some(models.slug(provider, id))
}
