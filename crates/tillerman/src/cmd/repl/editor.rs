//! The line editor: history, completion, a thread of its own because it blocks. It draws on the terminal only while a
//! line is wanted, so it never disturbs what a turn writes.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use engine::{COMMANDS, Ports};
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{Behavior, Config, Context, Helper};
use tokio::sync::mpsc;
use vocab::{CommandInfo, Mode};

use super::{Typed, prompt_of};
use crate::terminal::{LINE_JOIN, Want};

/// Lines of history kept.
const HISTORY_LINES_MAX: usize = 1000;

pub(super) struct Editor {
    /// `None` keeps no history.
    pub(super) history: Option<PathBuf>,
    pub(super) words: Words,
}

/// What completion knows.
#[derive(Clone, Default)]
pub(super) struct Words {
    models: Arc<Mutex<Vec<String>>>,
    /// Commands that are not built in.
    more: Vec<String>,
    /// The built-in commands are meant: nobody else's agent is at the other end.
    ours: bool,
}

impl Words {
    /// Asks for the models on the side; until they are known there are none to complete.
    pub(super) fn fetch(ports: &Ports, more: Vec<CommandInfo>) -> Self {
        let more = more.iter().map(|command| command.name.to_string()).collect();
        let words = Self { more, ours: true, ..Self::default() };
        let (models, provider) = (words.models.clone(), ports.provider.clone());
        tokio::spawn(async move {
            if let Ok(found) = provider.models().await {
                let slugs = found.iter().map(|model| model.slug.to_string()).collect();
                *models.lock().unwrap_or_else(PoisonError::into_inner) = slugs;
            }
        });
        words
    }

    /// Where the word under the cursor starts, and what it could become.
    fn complete(&self, line: &str) -> (usize, Vec<String>) {
        let Some(rest) = line.strip_prefix('/').filter(|_| self.ours) else { return (0, Vec::new()) };
        let Some((name, args)) = rest.split_once(' ') else {
            let names = COMMANDS.iter().map(|command| command.name).chain(self.more.iter().map(String::as_str));
            let names = names.filter(|name| name.starts_with(rest));
            return (1, names.map(|name| format!("{name} ")).collect());
        };
        let known: Vec<String> = match name {
            "model" => self.models.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            "mode" | "permissions" => Mode::ALL.iter().map(|mode| mode.as_str().to_owned()).collect(),
            "resume" => vec!["latest".to_owned()],
            "save" => vec!["model".to_owned(), "mode".to_owned()],
            "gadgets" => vec!["on ".to_owned(), "off ".to_owned()],
            _ => Vec::new(),
        };
        (line.len() - args.len(), known.into_iter().filter(|word| word.starts_with(args)).collect())
    }
}

impl Completer for Words {
    type Candidate = String;
    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(Words::complete(self, &line[..pos]))
    }
}
impl Hinter for Words {
    type Hint = String;
}
impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

pub(super) fn spawn(
    editor: Editor,
    mut wishes: mpsc::Receiver<Want>,
    typed: mpsc::Sender<Typed>,
) -> anyhow::Result<()> {
    // Stdin and stdout belong to the host now; the editor opens the terminal itself.
    let config = Config::builder().behavior(Behavior::PreferTerm).max_history_size(HISTORY_LINES_MAX)?.build();
    let mut lines: rustyline::Editor<Words, DefaultHistory> = rustyline::Editor::with_config(config)?;
    lines.set_helper(Some(editor.words));
    if let Some(file) = &editor.history {
        make_private_directory(file);
        // A first start has no history; a broken one must not keep anybody from working.
        let _ = lines.load_history(file);
    }
    std::thread::Builder::new().name("lines".into()).spawn(move || {
        while let Some(want) = wishes.blocking_recv() {
            let said = next(&mut lines, want, editor.history.as_deref());
            let ends = matches!(said, Typed::End);
            if typed.blocking_send(said).is_err() || ends {
                return;
            }
        }
    })?;
    Ok(())
}

/// One line, or several joined by a backslash at the end.
fn next(lines: &mut rustyline::Editor<Words, DefaultHistory>, want: Want, history: Option<&Path>) -> Typed {
    let mut whole = String::new();
    let mut prompt = prompt_of(want);
    // The choices are the prompt: nobody has seen them yet.
    if want == Want::Answer {
        forget_typed();
    }
    loop {
        match lines.readline(prompt) {
            Ok(line) => {
                let line = line.replace('\n', LINE_JOIN.encode_utf8(&mut [0; 4]));
                if let Some(part) = line.strip_suffix('\\') {
                    whole.push_str(part);
                    whole.push(LINE_JOIN);
                    prompt = "… ";
                    continue;
                }
                whole.push_str(&line);
                if want == Want::Prompt && !whole.trim().is_empty() {
                    let _ = lines.add_history_entry(whole.replace(LINE_JOIN, " "));
                    if let Some(file) = history {
                        let _ = lines.append_history(file);
                    }
                }
                return Typed::Line(whole);
            }
            // At a question Ctrl-C means the turn; in a line it clears the line.
            Err(ReadlineError::Interrupted) if want != Want::Prompt => return Typed::Interrupt,
            Err(ReadlineError::Interrupted) => {
                whole.clear();
                prompt = prompt_of(want);
            }
            Err(_) => return Typed::End,
        }
    }
}

/// What was typed before a question was there is no answer to it. To be called before the question is shown.
pub(crate) fn forget_typed() {
    if let Ok(tty) = File::options().read(true).write(true).open("/dev/tty") {
        let _ = tcflush(&tty, QueueSelector::IFlush);
    }
}

fn make_private_directory(file: &Path) {
    if let Some(directory) = file.parent() {
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    }
}

/// The terminal's settings as they were, for an end that finds the editor in the middle of a line.
pub(crate) struct Screen {
    tty: File,
    settings: Termios,
}

impl Screen {
    pub(crate) fn save() -> Option<Self> {
        let tty = File::options().read(true).write(true).open("/dev/tty").ok()?;
        let settings = tcgetattr(&tty).ok()?;
        Some(Self { tty, settings })
    }
    pub(crate) fn restore(&self) {
        let _ = tcsetattr(&self.tty, OptionalActions::Drain, &self.settings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_models_and_modes_are_completed() {
        let models = Arc::new(Mutex::new(vec!["tour".into(), "tour-mini".into(), "big".into()]));
        let words = Words { models, more: vec!["guard".into()], ours: true };
        assert_eq!(words.complete("/gu"), (1, vec!["guard ".to_owned()]));
        assert_eq!(words.complete("/sta"), (1, vec!["status ".to_owned()]));
        assert_eq!(words.complete("/model to"), (7, vec!["tour".to_owned(), "tour-mini".to_owned()]));
        assert_eq!(words.complete("/mode wo"), (6, vec!["workspace-write".to_owned()]));
        assert_eq!(words.complete("hello /sta").1, Vec::<String>::new());
    }
}
