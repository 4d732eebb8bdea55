//! Every key that this process knows, for those who must not let one out: what tools print, what is logged, what programs
//! find in their environment. Shared, because a key may be learnt late; what is learnt counts everywhere at once.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::spelling::{self, SCRUBBED_BYTES_MIN, Spelling};
use crate::{AskKind, Fact, FileEdit, Json, Notice, Outcome, Part, Snapshot};

/// Keys that are kept; of more the oldest is forgotten. Tokens of accounts change every hour or so.
pub const KEYS_MAX: usize = 256;

#[derive(Clone, Default)]
pub struct Keyring(Arc<RwLock<Vec<KnownKey>>>);

struct KnownKey {
    key: Arc<str>,
    spellings: Vec<Spelling>,
}

impl Keyring {
    pub fn learn(&self, key: &str) {
        let key = key.trim();
        if key.is_empty() || self.knows(key) {
            return;
        }
        let mut keys = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if keys.len() == KEYS_MAX {
            keys.remove(0);
        }
        keys.push(KnownKey { key: key.into(), spellings: spelling::spellings(key) });
    }

    pub fn knows(&self, key: &str) -> bool {
        self.keys().iter().any(|known| *known.key == *key)
    }

    /// Whether both have the same keys.
    pub fn is_same(&self, other: &Self) -> bool {
        // One lock at a time: both may be one ring.
        let own: Vec<Arc<str>> = self.keys().iter().map(|known| known.key.clone()).collect();
        let count = other.keys().len();
        own.len() == count && own.iter().all(|key| other.knows(key))
    }

    /// Whether the bytes are a key, or hold one that is long enough to be told from an ordinary word, in whatever spelling.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        let keys = self.keys();
        keys.iter().any(|known| bytes == known.key.as_bytes()) || spelling::is_in(bytes, told_apart(&keys))
    }

    /// The text without the keys that are in it.
    pub fn scrub<'a>(&self, text: &'a str) -> Cow<'a, str> {
        spelling::masked(text, told_apart(&self.keys())).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// The same for the beginning of a text that still grows: what may become a key is held back.
    pub fn scrub_growing<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let clean = self.scrub(text);
        match spelling::settled(&clean, told_apart(&self.keys())) {
            settled if settled == clean.len() => clean,
            settled => Cow::Owned(clean[..settled].to_owned()),
        }
    }

    /// A call's outcome as it may be told and kept. What a file held is not kept for undoing where it holds a key.
    pub fn scrub_outcome(&self, outcome: Outcome) -> Outcome {
        Outcome {
            parts: outcome.parts.into_iter().map(|part| self.scrub_part(part)).collect(),
            edits: outcome.edits.into_iter().map(|edit| self.scrub_edit(edit)).collect(),
            details: outcome.details.map(|details| match self.scrub(details.as_str()) {
                Cow::Borrowed(_) => details,
                Cow::Owned(clean) => Json::trusted(clean),
            }),
            ..outcome
        }
    }

    pub fn scrub_part(&self, part: Part) -> Part {
        match part {
            Part::Text(text) => Part::Text(self.scrub_shared(text)),
            Part::Image(image) => Part::Image(image),
        }
    }

    /// What a person is asked about; questions are kept, too.
    pub fn scrub_facts(&self, facts: &[Fact]) -> Arc<[Fact]> {
        facts.iter().cloned().map(|fact| Fact { text: self.scrub_shared(fact.text), ..fact }).collect()
    }

    /// What an extension shows.
    pub fn scrub_notice(&self, notice: Notice) -> Notice {
        match notice {
            Notice::Say { text, level } => Notice::Say { text: self.scrub_shared(text), level },
            Notice::Status { key, text } => Notice::Status { key, text: text.map(|text| self.scrub_shared(text)) },
            Notice::Widget { key, lines, below } => {
                let lines = lines.map(|lines| lines.into_iter().map(|line| self.scrub_shared(line)).collect());
                Notice::Widget { key, lines, below }
            }
            Notice::Title { text } => Notice::Title { text: self.scrub_shared(text) },
            Notice::EditorText { text } => Notice::EditorText { text: self.scrub_shared(text) },
            Notice::Exit => Notice::Exit,
        }
    }

    /// What an extension asks. A permission or a call is not its to ask.
    pub fn scrub_dialog(&self, kind: AskKind) -> AskKind {
        let scrub = |text| self.scrub_shared(text);
        match kind {
            AskKind::Select { title, options } => {
                AskKind::Select { title: scrub(title), options: options.into_iter().map(scrub).collect() }
            }
            AskKind::Confirm { title, message } => AskKind::Confirm { title: scrub(title), message: scrub(message) },
            AskKind::Input { title, placeholder } => {
                AskKind::Input { title: scrub(title), placeholder: placeholder.map(scrub) }
            }
            AskKind::Editor { title, prefill } => AskKind::Editor { title: scrub(title), prefill: prefill.map(scrub) },
            kind @ (AskKind::Permission(_) | AskKind::HostCall { .. } | AskKind::Budget(_)) => kind,
        }
    }

    fn scrub_edit(&self, edit: FileEdit) -> FileEdit {
        let kept = |snapshot: Snapshot| match snapshot {
            Snapshot::Text(text) if matches!(self.scrub(&text), Cow::Owned(_)) => Snapshot::NotKept,
            snapshot => snapshot,
        };
        FileEdit { path: edit.path, before: kept(edit.before), after: kept(edit.after) }
    }

    /// As it is, where there is nothing to take out.
    pub fn scrub_shared(&self, text: Arc<str>) -> Arc<str> {
        match self.scrub(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => clean.into(),
        }
    }

    fn keys(&self) -> std::sync::RwLockReadGuard<'_, Vec<KnownKey>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is long enough to be told from an ordinary word.
fn told_apart(keys: &[KnownKey]) -> impl Iterator<Item = &Spelling> {
    keys.iter().filter(|known| known.key.len() >= SCRUBBED_BYTES_MIN).flat_map(|known| &known.spellings)
}

impl<K: AsRef<str>> FromIterator<K> for Keyring {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let ring = Keyring::default();
        keys.into_iter().for_each(|key| ring.learn(key.as_ref()));
        ring
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyring({} keys)", self.keys().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> Keyring {
        Keyring::from_iter(["sk-canary-123456", "short", "clé-canary-789"])
    }

    #[test]
    fn what_an_extension_shows_and_asks_holds_no_key() {
        let keys: Keyring = ["sk-0123456789"].iter().collect();
        let (held, clean): (Arc<str>, Arc<str>) = ("a sk-0123456789".into(), "a ***".into());
        let level = crate::NoticeLevel::Info;
        let said = keys.scrub_notice(Notice::Say { text: held.clone(), level });
        assert_eq!(said, Notice::Say { text: clean.clone(), level });
        let widget = |line: &Arc<str>| Notice::Widget { key: "k".into(), lines: Some(vec![line.clone()]), below: true };
        assert_eq!(keys.scrub_notice(widget(&held)), widget(&clean));
        let status = |text: &Arc<str>| Notice::Status { key: "k".into(), text: Some(text.clone()) };
        assert_eq!(keys.scrub_notice(status(&held)), status(&clean));
        let confirm = |text: &Arc<str>| AskKind::Confirm { title: text.clone(), message: text.clone() };
        assert_eq!(keys.scrub_dialog(confirm(&held)), confirm(&clean));
    }

    #[test]
    fn keys_are_taken_out_of_texts_and_short_ones_are_words() {
        let ring = ring();
        assert_eq!(ring.scrub("a sk-canary-123456 b sk-canary-123456, short"), "a *** b ***, short");
        assert!(matches!(ring.scrub("nothing here"), Cow::Borrowed(_)));
        assert!(!format!("{ring:?}").contains("canary"));
    }

    /// `curl -u user:$KEY -v` prints what the server got.
    #[test]
    fn a_key_is_a_key_in_every_spelling() {
        let ring = ring();
        let basic = "Authorization: Basic dXNlcjpzay1jYW5hcnktMTIzNDU2";
        assert_eq!(ring.scrub(basic), "Authorization: Basic dXNlcj***");
        assert_eq!(ring.scrub("?k=sk%2Dcanary%2d123456&x"), "?k=***&x");
        assert!(ring.is_in(basic.as_bytes()) && ring.is_in(b"http://h/sk%2Dcanary-123456"));
        assert!(!ring.is_in(b"c2hvcnQ="), "a word in base64 is a word");
    }

    /// Whatever is told of a text that arrives piece by piece, no key can be put together from it.
    #[test]
    fn a_growing_text_never_shows_the_beginning_of_a_key() {
        let ring = ring();
        let whole = "out: sk-canary-123456 and clé-canary-789 sk-can end";
        for (at, _) in whole.char_indices() {
            let told = ring.scrub_growing(&whole[..at]);
            assert!(!told.contains("canary") && !told.ends_with("sk-can"), "{told}");
        }
        assert_eq!(ring.scrub_growing(whole), "out: *** and *** sk-can end");
    }

    #[test]
    fn of_too_many_the_oldest_is_forgotten() {
        let ring = Keyring::from_iter((0..=KEYS_MAX).map(|at| format!("key-number-{at}-")));
        assert!(!ring.knows("key-number-0-") && ring.knows("key-number-1-"));
        assert!(ring.knows(&format!("key-number-{KEYS_MAX}-")));
    }

    #[test]
    fn a_file_with_a_key_in_it_is_not_kept() {
        let edit = FileEdit {
            path: "a".into(),
            before: Snapshot::Text("k = sk-canary-123456".into()),
            after: Snapshot::Text("k = none".into()),
        };
        let outcome = ring().scrub_outcome(Outcome { edits: vec![edit], ..Outcome::text("x sk-canary-123456") });
        assert_eq!(outcome.parts, [Part::text("x ***")]);
        assert_eq!(
            (&outcome.edits[0].before, &outcome.edits[0].after),
            (&Snapshot::NotKept, &Snapshot::Text("k = none".into()))
        );
    }
}
