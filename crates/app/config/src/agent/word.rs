//! A key or header as a models file writes it: the text itself, the name of an environment variable, or `!command`. Our own
//! configuration can also name a file.

use std::path::PathBuf;

use providers::Secret;

use crate::Env;

/// Shows as `***` in every form: a command may contain a key as well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Word {
    Plain(Secret),
    /// The value of the variable of this name.
    Variable(String, Secret),
    /// Run by a shell when the value is needed; its output is the value.
    Command(Secret),
    /// Read whenever the value is needed.
    File(PathBuf),
}

impl Word {
    /// `None` for blank text. A name that is set in the environment means its value, any other text means itself.
    pub fn read(text: &str, env: Env<'_>) -> Option<Word> {
        let text = text.trim();
        if let Some(command) = text.strip_prefix('!') {
            return Secret::new(command).map(Word::Command);
        }
        let value = env(text).as_deref().and_then(Secret::new);
        value.map(|value| Word::Variable(text.to_owned(), value)).or_else(|| Secret::new(text).map(Word::Plain))
    }

    /// The value, where it is known already.
    pub fn plain(&self) -> Option<&Secret> {
        match self {
            Word::Plain(secret) | Word::Variable(_, secret) => Some(secret),
            Word::Command(_) | Word::File(_) => None,
        }
    }
}
