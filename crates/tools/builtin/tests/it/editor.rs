//! A controller that shows, takes and runs, as a test wants it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use vocab::*;

/// An editor: buffers that may differ from the disk, and a note of everything that was asked of it.
#[derive(Default)]
pub(crate) struct Editor {
    pub(crate) offers: EditorOffer,
    pub(crate) buffers: Mutex<HashMap<PathBuf, String>>,
    pub(crate) noted: Mutex<Vec<String>>,
    /// The n-th write from now fails.
    pub(crate) failing_write: Mutex<Option<usize>>,
    /// It keeps what it takes in its buffer.
    pub(crate) keeps: bool,
    /// It ends every line with CR LF when it saves.
    pub(crate) crlf: bool,
    /// Done just before a write.
    pub(crate) before_write: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    pub(crate) runs: Mutex<Option<EditorReply>>,
    /// The program of the last command and what it was given before the command itself.
    pub(crate) shell: Mutex<(PathBuf, String)>,
}

pub(crate) const TEXTS: EditorOffer = EditorOffer { read_text: true, write_text: true, terminal: false };

impl Editor {
    pub(crate) fn new(offers: EditorOffer) -> Self {
        Self { offers, ..Self::default() }
    }
    pub(crate) fn with(self, path: &Path, text: &str) -> Self {
        self.buffers.lock().unwrap().insert(path.to_owned(), text.to_owned());
        self
    }
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.noted.lock().unwrap())
    }
    fn note(&self, what: &str, path: &Path) {
        let name = path.file_name().unwrap().to_string_lossy();
        self.noted.lock().unwrap().push(format!("{what} {name}"));
    }

    fn read(&self, path: &Path) -> EditorReply {
        self.note("read", path);
        match self.buffers.lock().unwrap().get(path) {
            Some(text) if text == "locked" => EditorReply::Failed("it is locked".into()),
            Some(text) => EditorReply::Text(text.as_str().into()),
            None => EditorReply::NotFound,
        }
    }

    fn write(&self, path: &Path, content: &str) -> EditorReply {
        self.note("write", path);
        if let Some(left) = self.failing_write.lock().unwrap().as_mut() {
            *left = left.wrapping_sub(1);
            if *left == 0 {
                return EditorReply::Failed("the disk is full".into());
            }
        }
        if let Some(step) = self.before_write.lock().unwrap().take() {
            step();
        }
        self.buffers.lock().unwrap().insert(path.to_owned(), content.to_owned());
        let saved = if self.crlf { content.replace('\n', "\r\n") } else { content.to_owned() };
        if !self.keeps {
            std::fs::write(path, saved).unwrap();
        }
        EditorReply::Written
    }
}

/// The way to an editor.
pub(crate) struct EditorWay(pub(crate) Arc<Editor>);

impl vocab::Editor for EditorWay {
    fn offered(&self) -> EditorOffer {
        self.0.offers
    }
    fn run(&self, kind: EditorRequestKind) -> Later<'static, EditorReply> {
        let editor = self.0.clone();
        Box::pin(async move {
            tokio::task::yield_now().await;
            match kind {
                EditorRequestKind::ReadText { path } => editor.read(&path),
                EditorRequestKind::WriteText { path, content } => editor.write(&path, &content),
                EditorRequestKind::Run { program, args, cwd, env, output_bytes_max } => {
                    let command = args.last().unwrap();
                    *editor.shell.lock().unwrap() = (program, args[..args.len() - 1].join(" "));
                    let env = env.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
                    let cwd = cwd.file_name().unwrap().to_string_lossy().into_owned();
                    editor.noted.lock().unwrap().push(format!("run {command} in {cwd}, {output_bytes_max}: {env}"));
                    let result = editor.runs.lock().unwrap().take();
                    match result {
                        Some(result) => result,
                        None => std::future::pending().await,
                    }
                }
            }
        })
    }
}

/// The answer as one text, errors marked.
pub(crate) fn text(outcome: &Outcome) -> String {
    let text = parts_text(&outcome.parts);
    if outcome.is_error { format!("ERROR {text}") } else { text }
}
