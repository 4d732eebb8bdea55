//! The floor's memory: messages in the model's own format, one per line in a file and joined by commas in a buffer.
//! Appended, never synced.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use serde::Deserialize;

use super::Said;
use super::frames::quoted;

pub(super) struct Session {
    id: String,
    path: PathBuf,
    /// Made with the first message.
    file: Option<File>,
    history: Vec<u8>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[allow(dead_code, reason = "being there is what is checked")]
    role: &'a str,
}

impl Session {
    pub(super) fn open(home: &Path, resume: bool) -> anyhow::Result<Self> {
        let dir = home.join("relay");
        if resume {
            return Self::latest(&dir);
        }
        fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let id = format!("{now:020}-{}", std::process::id());
        Ok(Self { path: dir.join(format!("{id}.jsonl")), id, file: None, history: Vec::new() })
    }

    fn latest(dir: &Path) -> anyhow::Result<Self> {
        // Names begin with the time, so the greatest name is the newest file.
        let newest = fs::read_dir(dir)
            .with_context(|| format!("read {}", dir.display()))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .max()
            .context("no session to resume")?;
        let text = fs::read_to_string(&newest)?;
        let mut history = Vec::with_capacity(text.len());
        for line in text.lines() {
            let _: Message<'_> = serde_json::from_str(line).with_context(|| format!("damaged {}", newest.display()))?;
            push(&mut history, line);
        }
        let file = File::options().append(true).open(&newest)?;
        let id = newest.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { id, path: newest, file: Some(file), history })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }
    /// All messages, joined by commas.
    pub(super) fn history(&self) -> &[u8] {
        &self.history
    }

    pub(super) fn user(&mut self, text: &str) -> anyhow::Result<()> {
        self.append(format!(r#"{{"role":"user","content":{}}}"#, quoted(text)))
    }

    pub(super) fn assistant(&mut self, said: &Said) -> anyhow::Result<()> {
        let content = if said.text.is_empty() { "null".into() } else { quoted(&said.text) };
        let calls: Vec<String> = said
            .calls
            .iter()
            .map(|call| {
                format!(
                    r#"{{"id":{},"type":"function","function":{{"name":{},"arguments":{}}}}}"#,
                    quoted(&call.id),
                    quoted(&call.name),
                    quoted(&call.arguments)
                )
            })
            .collect();
        let calls = if calls.is_empty() { String::new() } else { format!(r#","tool_calls":[{}]"#, calls.join(",")) };
        self.append(format!(r#"{{"role":"assistant","content":{content}{calls}}}"#))
    }

    pub(super) fn result(&mut self, id: &str, output: &str) -> anyhow::Result<()> {
        self.append(format!(r#"{{"role":"tool","tool_call_id":{},"content":{}}}"#, quoted(id), quoted(output)))
    }

    fn append(&mut self, mut message: String) -> anyhow::Result<()> {
        push(&mut self.history, &message);
        message.push('\n');
        if self.file.is_none() {
            self.file = Some(File::options().create(true).append(true).open(&self.path)?);
        }
        let file = self.file.as_mut().expect("made above");
        Ok(file.write_all(message.as_bytes())?)
    }
}

fn push(history: &mut Vec<u8>, message: &str) {
    if !history.is_empty() {
        history.push(b',');
    }
    history.extend_from_slice(message.as_bytes());
}
