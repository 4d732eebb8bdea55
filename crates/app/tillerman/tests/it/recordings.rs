//! What the replays of recorded conversations share: where the recordings are, and what their placeholders stand for.
//! Each dialect has its own rules for when a recorded line and ours mean the same.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

/// One recorded conversation: the name of its file, and its lines.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The recordings of a dialect. They live outside the repository; where they are not, the list is empty and a note says so.
#[allow(clippy::print_stderr, reason = "a skipped test must say so")]
pub(crate) fn recordings(dialect: &str) -> Vec<Recording> {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = Path::new("shared/spec/transcripts").join(dialect);
    let Some(folder) = from.ancestors().map(|up| up.join(&place)).find(|folder| folder.is_dir()) else {
        eprintln!("SKIP: no recorded conversations beside the repository");
        return Vec::new();
    };
    let files = std::fs::read_dir(folder).expect("a readable folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "jsonl")).collect();
    files.sort();
    let read = |file: std::path::PathBuf| Recording {
        name: file.file_stem().expect("a file has a name").to_string_lossy().into_owned(),
        text: std::fs::read_to_string(&file).expect("a readable recording"),
    };
    files.into_iter().map(read).collect()
}

/// What placeholders stand for.
#[derive(Default)]
pub(crate) struct Bindings {
    ids: HashMap<String, Value>,
}

impl Bindings {
    pub(crate) fn get(&self, word: &str) -> Option<&Value> {
        self.ids.get(word)
    }

    pub(crate) fn set(&mut self, word: &str, value: Value) {
        self.ids.insert(word.to_owned(), value);
    }

    /// The first time a placeholder is bound, after that it must repeat; two that the recording tells apart are two.
    pub(crate) fn is(&mut self, word: &str, got: &Value) -> bool {
        match self.ids.get(word) {
            Some(bound) => bound == got,
            None => {
                let fresh = got.as_str().is_some_and(|id| !id.is_empty()) && !self.ids.values().any(|it| it == got);
                self.set(word, got.clone());
                fresh
            }
        }
    }

    /// A message to send, with every string passed through `fill`.
    pub(crate) fn fill(&self, message: &Value, fill: &impl Fn(&Self, &str) -> Value) -> Value {
        match message {
            Value::String(word) => fill(self, word),
            Value::Object(members) => {
                Value::Object(members.iter().map(|(name, value)| (name.clone(), self.fill(value, fill))).collect())
            }
            Value::Array(items) => Value::Array(items.iter().map(|item| self.fill(item, fill)).collect()),
            _ => message.clone(),
        }
    }
}
