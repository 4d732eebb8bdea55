//! `--record`: every message, both ways, one JSON object per line: `{"dir":"c2a","msg":{...}}`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use acp_client::{Direction, Tap};
use serde_json::value::RawValue;

pub struct Recorder(Mutex<Option<File>>);

impl Recorder {
    /// Never over a file that is there; private, for prompts and files are in it.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        Ok(Self(Mutex::new(Some(file))))
    }
}

impl Tap for Recorder {
    fn line(&self, direction: Direction, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if text.trim().is_empty() {
            return;
        }
        let dir = match direction {
            Direction::ClientToAgent => "c2a",
            Direction::AgentToClient => "a2c",
        };
        let row = match serde_json::from_str::<&RawValue>(&text) {
            Ok(message) => format!("{{\"dir\":\"{dir}\",\"msg\":{}}}\n", message.get()),
            // A banner, a stray print.
            Err(_) => format!("{}\n", serde_json::json!({ "dir": dir, "text": text })),
        };
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if file.as_mut().is_some_and(|file| file.write_all(row.as_bytes()).is_err()) {
            host::note("the recording cannot be written any more");
            *file = None;
        }
    }
}
