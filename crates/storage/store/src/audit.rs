//! The audit: who did what, one line each, in a chain in which each line's digest covers all before it. A projection of the
//! logs that is written with them. Knows nothing of SQLite.

use std::sync::Arc;

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use vocab::{
    Answer, AskEnd, AskEntry, AuditLine, Body, BranchEntry, CutBy, Deed, Entry, NoteEntry, QueueEntry, Scope,
    SessionId, SettingEntry, SettleReason, ShellEntry, Summary, TurnEntry, UserFrom,
};

pub const DIGEST_BYTES: usize = 32;
pub type Digest = [u8; DIGEST_BYTES];

/// What the first line is chained to.
pub const NO_LINE: Digest = [0; DIGEST_BYTES];

/// A newer message took the place of a turn.
pub const PREEMPT: &str = "queue.preempt";
/// As older versions wrote it.
const OLD_PREEMPT: &str = "preempt";

/// A line as it is kept.
#[derive(Serialize, Deserialize)]
pub struct AuditRecord {
    pub at_ms: i64,
    pub by: Arc<str>,
    pub session: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    pub action: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Arc<str>>,
    /// The message on whose behalf it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Arc<str>>,
    /// Of the entry's record, so that a changed entry shows, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<String>,
}

/// The first message to a sub-agent: a call of another session wrote it, and not the person for whom both work.
pub struct TaskOf<'a> {
    seq: u64,
    parent: &'a SessionId,
}

impl<'a> TaskOf<'a> {
    /// Whether one of these is that message. `said`: the messages in the session before them; `after`: what is known of it with
    /// them.
    pub fn find(said: u64, after: &'a Summary, entries: &[Arc<Entry>]) -> Option<Self> {
        let parent = after.child_of.as_ref().filter(|_| said == 0)?;
        let first = entries.iter().find(|entry| matches!(entry.body, Body::User { .. }))?;
        matches!(first.body, Body::User { from: UserFrom::Prompt, .. }).then_some(Self { seq: first.seq, parent })
    }
}

impl AuditRecord {
    /// Of an entry that is somebody's doing; `None`: it is nobody's, or nothing that is audited. `task`: see
    /// [`TaskOf::find`].
    pub fn of(
        session: &SessionId,
        entry: &Entry,
        kind: &str,
        payload: &[u8],
        task: Option<&TaskOf<'_>>,
    ) -> Option<Self> {
        let by = entry.by.as_ref()?;
        let (action, detail) = match task.filter(|task| task.seq == entry.seq) {
            Some(task) => ("task", Some(format!("sub-agent of {}", task.parent).into())),
            None => action_of(&entry.body)?,
        };
        Some(Self {
            at_ms: entry.at_ms,
            by: by.as_str().into(),
            session: session.as_str().into(),
            seq: Some(entry.seq),
            action: action.into(),
            detail,
            request: match &entry.body {
                Body::Turn(TurnEntry::Cut { item, .. }) => item.as_ref().map(|item| item.as_str().into()),
                _ => None,
            },
            // A title is short enough to be guessed from its sum when the session is long gone.
            sum: (action != "title").then(|| {
                let (seq, parent, at_ms) = (entry.seq, entry.parent, entry.at_ms);
                StoredRow { session: session.as_str(), seq, parent, at_ms, kind, by: by.as_str(), payload }.sum()
            }),
        })
    }

    /// Entries behind `seq` are gone, and others may come in their places: a damaged end, or what could not be synced.
    pub fn cut(session: &SessionId, seq: u64, at_ms: i64) -> Self {
        let (by, session, action) = ("".into(), session.as_str().into(), "cut".into());
        Self { at_ms, by, session, seq: Some(seq), action, detail: None, request: None, sum: None }
    }

    pub fn deleted(session: &SessionId, by: &str, at_ms: i64) -> Self {
        let (by, session, action) = (by.into(), session.as_str().into(), "delete".into());
        Self { at_ms, by, session, seq: None, action, detail: None, request: None, sum: None }
    }

    pub fn deed(deed: &Deed, at_ms: i64) -> Self {
        let (by, action, detail) = (deed.by.as_str().into(), deed.action.into(), deed.detail.clone());
        Self { at_ms, by, session: "".into(), seq: None, action, detail, request: None, sum: None }
    }

    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a line is plain text and numbers")
    }

    pub fn into_line(self, number: u64) -> AuditLine {
        let Self { at_ms, by, session, seq, action, detail, request, .. } = self;
        // The line stays as it was written: the chain is over that.
        let action = if &*action == OLD_PREEMPT { PREEMPT.into() } else { action };
        AuditLine { number, at_ms, by, session: SessionId::new(session), seq, action, detail, request }
    }
}

/// The digest of a line that follows `before`.
pub fn chained(before: &Digest, line: &str) -> Digest {
    let mut context = Context::new(&SHA256);
    context.update(before);
    context.update(line.as_bytes());
    as_array(context.finish().as_ref())
}

/// Begins a sum over all of a row. One without it is of an older version, which left out kind, parent, seq and session.
const WHOLE_ROW: &str = "2:";

/// An entry as it is kept.
#[derive(Clone, Copy)]
pub struct StoredRow<'a> {
    pub session: &'a str,
    pub seq: u64,
    pub parent: u64,
    pub at_ms: i64,
    pub kind: &'a str,
    /// Empty: nobody's.
    pub by: &'a str,
    pub payload: &'a [u8],
}

impl StoredRow<'_> {
    /// Over all of it. Each text is ended by a byte that it cannot have.
    pub fn sum(&self) -> String {
        let mut context = Context::new(&SHA256);
        for number in [self.seq.to_le_bytes(), self.parent.to_le_bytes(), self.at_ms.to_le_bytes()] {
            context.update(&number);
        }
        for text in [self.session, self.kind, self.by] {
            context.update(text.as_bytes());
            context.update(&[0xff]);
        }
        context.update(self.payload);
        format!("{WHOLE_ROW}{}", hex(&as_array(context.finish().as_ref())))
    }

    /// As older versions made it.
    pub fn old_sum(&self) -> String {
        let mut context = Context::new(&SHA256);
        context.update(&self.at_ms.to_le_bytes());
        context.update(self.by.as_bytes());
        context.update(&[0]);
        context.update(self.payload);
        hex(&as_array(context.finish().as_ref()))
    }

    /// Whether the row is as it was when a line got this sum.
    pub fn is_of(&self, sum: &str) -> bool {
        match sum.starts_with(WHOLE_ROW) {
            true => self.sum() == sum,
            false => self.old_sum() == sum,
        }
    }
}

pub fn hex(digest: &Digest) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |number: u8| char::from(DIGITS[usize::from(number)]);
    digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn as_array(bytes: &[u8]) -> Digest {
    let mut digest = NO_LINE;
    digest.copy_from_slice(bytes);
    digest
}

/// What somebody did, and with what, in words that are never what a message says.
fn action_of(body: &Body) -> Option<(&'static str, Option<Arc<str>>)> {
    let with = |detail: &str| Some(Arc::from(detail));
    Some(match body {
        Body::Opened { workspace, .. } => ("open", with(&workspace.to_string_lossy())),
        Body::User { from: UserFrom::Prompt, .. } => ("prompt", None),
        Body::User { from: UserFrom::Steer, .. } => ("steer", None),
        Body::User { from: UserFrom::FollowUp, .. } => ("follow_up", None),
        Body::User { from: UserFrom::Reminder | UserFrom::Extension, .. } => return None,
        Body::Queue(QueueEntry::Queued(_)) => ("queue", None),
        Body::Queue(QueueEntry::Settled { why: Some(SettleReason::TakenBack), .. }) => ("take_back", None),
        Body::Queue(QueueEntry::Settled { why: Some(SettleReason::Interrupted), .. }) => ("cancel", None),
        Body::Queue(QueueEntry::Settled { .. }) => return None,
        Body::Ask(AskEntry::Closed { end: AskEnd::Answered { answer, .. }, .. }) => ("answer", with(answered(answer))),
        Body::Setting(SettingEntry::Model { model, .. }) => ("model", Some(model.clone())),
        Body::Setting(SettingEntry::Mode { mode }) => ("mode", with(mode.as_str())),
        Body::Setting(SettingEntry::Thinking { level }) => ("thinking", level.clone()),
        Body::Setting(SettingEntry::Gadgets { off }) => ("gadgets", with(&format!("off: {}", off.join(", ")))),
        Body::Setting(SettingEntry::Title { .. }) => ("title", None),
        Body::Setting(SettingEntry::Lane { wish }) if wish.is_empty() => ("lane", with("usual")),
        Body::Setting(SettingEntry::Lane { .. }) => ("lane", None),
        Body::Setting(SettingEntry::Elevated { until_ms: Some(until) }) => ("elevate", with(&format!("until {until}"))),
        Body::Setting(SettingEntry::Elevated { until_ms: None }) => ("elevate", with("no more")),
        Body::Turn(TurnEntry::Cut { why: CutBy::Asked, .. }) => ("cancel", with("turn")),
        Body::Turn(TurnEntry::Cut { turn, why: CutBy::Newer, .. }) => (PREEMPT, with(turn.as_str())),
        Body::Branch(BranchEntry::Moved { to }) => ("move", with(&format!("to entry {to}"))),
        Body::Branch(BranchEntry::Compacted(_)) => ("compact", None),
        Body::Shell(ShellEntry::Started { .. }) => ("shell", None),
        Body::Shell(ShellEntry::Called { tool, .. }) => ("call", Some(tool.clone())),
        Body::Note(NoteEntry::Waived { tool, .. }) => ("elevated_call", Some(tool.clone())),
        Body::Assistant { .. }
        | Body::Turn(_)
        | Body::Call(_)
        | Body::Ask(_)
        | Body::Model(_)
        | Body::Branch(_)
        | Body::Setting(SettingEntry::Todos { .. })
        | Body::Shell(ShellEntry::Ended(_) | ShellEntry::Returned(_))
        | Body::Note(_) => return None,
    })
}

fn answered(answer: &Answer) -> &'static str {
    match answer {
        Answer::Allow(Scope::Once) => "allow once",
        Answer::Allow(Scope::Session) => "allow for the session",
        Answer::Deny(_) => "deny",
        Answer::Text(_) => "text",
        Answer::Confirmed(true) => "yes",
        Answer::Confirmed(false) => "no",
        Answer::Result { .. } => "result",
        Answer::Dismissed => "dismissed",
    }
}

/// Follows the chain line by line.
#[derive(Default)]
pub struct ChainCheck {
    lines: u64,
    head: Digest,
    wanted: Option<String>,
    knows: bool,
}

impl ChainCheck {
    /// `head`: one that somebody has kept.
    pub fn new(head: Option<String>) -> Self {
        let wanted = head.map(|head| head.trim().to_lowercase());
        let knows = wanted.as_deref() == Some(&*hex(&NO_LINE));
        Self { lines: 0, head: NO_LINE, knows, wanted }
    }

    /// The next line; an error says what is wrong with it.
    pub fn follow(&mut self, number: u64, line: &str, digest: &[u8]) -> Result<AuditRecord, String> {
        if number != self.lines + 1 {
            return Err(format!("line {} is missing", self.lines + 1));
        }
        let expected = chained(&self.head, line);
        if expected != digest {
            return Err("it is not what was written, or a line before it is not".to_owned());
        }
        self.lines = number;
        self.head = expected;
        self.knows |= self.wanted.as_ref().is_some_and(|wanted| *wanted == hex(&expected));
        serde_json::from_str(line).map_err(|error| format!("it cannot be read ({error})"))
    }

    pub fn whole(self) -> vocab::AuditVerdict {
        let knows = self.wanted.is_some().then_some(self.knows);
        vocab::AuditVerdict::Whole { lines: self.lines, head: hex(&self.head), knows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_over_all_of_a_row_and_an_old_one_is_still_known() {
        let row = StoredRow { session: "s", seq: 3, parent: 2, at_ms: 5, kind: "user", by: "user:ann", payload: b"{}" };
        let (sum, old) = (row.sum(), row.old_sum());
        assert!(row.is_of(&sum) && row.is_of(&old));
        let others = [
            StoredRow { session: "t", ..row },
            StoredRow { seq: 4, ..row },
            StoredRow { parent: 1, ..row },
            StoredRow { at_ms: 6, ..row },
            StoredRow { kind: "label", ..row },
            StoredRow { by: "user:bob", ..row },
            StoredRow { payload: b"[]", ..row },
        ];
        assert_eq!(others.map(|other| other.is_of(&sum)), [false; 7]);
        assert_eq!(others.map(|other| other.is_of(&old)), [true, true, true, false, true, false, false]);
    }

    #[test]
    fn a_line_of_an_older_version_is_read_and_stays_in_the_chain_as_it_was_written() {
        let old = r#"{"at_ms":5,"by":"user:ann","session":"s","seq":3,"action":"preempt","detail":"t1"}"#;
        let mut check = ChainCheck::new(None);
        let digest = chained(&NO_LINE, old);
        let line = check.follow(1, old, &digest).unwrap().into_line(1);
        assert_eq!((&*line.action, line.detail.as_deref(), line.request), (PREEMPT, Some("t1"), None));
        let cut = TurnEntry::Cut { turn: "t1".into(), why: CutBy::Newer, item: Some("i2".into()) };
        let by = Some(vocab::Principal::user("ann"));
        let entry = Entry { seq: 4, parent: 3, at_ms: 6, body: Body::Turn(cut), by };
        let record = AuditRecord::of(&"s".into(), &entry, "turn_cut", b"{}", None).unwrap();
        let new = record.to_text();
        let line = check.follow(2, &new, &chained(&digest, &new)).unwrap().into_line(2);
        assert_eq!((&*line.action, line.detail.as_deref(), line.request.as_deref()), (PREEMPT, Some("t1"), Some("i2")));
        assert!(matches!(check.whole(), vocab::AuditVerdict::Whole { lines: 2, .. }));
    }

    #[test]
    fn a_chain_shows_a_change_a_gap_and_a_head_that_it_had() {
        let lines: Vec<String> =
            (1..=3).map(|at_ms| AuditRecord::deleted(&"s".into(), "user:ann", at_ms).to_text()).collect();
        let mut digests = Vec::new();
        for line in &lines {
            digests.push(chained(digests.last().unwrap_or(&NO_LINE), line));
        }
        let check = |lines: &[(u64, &str)], head: Option<String>| {
            let mut check = ChainCheck::new(head);
            for (number, line) in lines {
                check.follow(*number, line, &digests[*number as usize - 1]).map_err(|why| (*number, why))?;
            }
            Ok::<_, (u64, String)>(check.whole())
        };
        let all = [(1, &*lines[0]), (2, &*lines[1]), (3, &*lines[2])];
        let head = hex(&digests[2]);
        let whole = |knows| Ok(vocab::AuditVerdict::Whole { lines: 3, head: head.clone(), knows });
        assert_eq!(check(&all, None), whole(None));
        assert_eq!(check(&all, Some(hex(&digests[1]))), whole(Some(true)));
        assert_eq!(check(&all, Some("ab".into())), whole(Some(false)));
        assert_eq!(check(&[all[0], all[2]], None).unwrap_err().0, 3);
        assert_eq!(check(&[all[0], (2, &lines[1].replace("ann", "bob")), all[2]], None).unwrap_err().0, 2);
    }
}
