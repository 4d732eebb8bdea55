//! What the text of a command line says: whether it is recognised, in full, as only reading inside the workspace. Pure.
//!
//! Three steps, each of which may only say "not understood": a [lexer](lexer) for the plain part of the shell language,
//! a check of every word for paths that leave the workspace, and a [table](commands) of commands, each with a closed
//! [grammar](grammar) of the options that are known to be harmless. An unknown word is never harmless.
//!
//! The text is half of it: where links lead and what a repository tells git to run is [`super::disk_check`]'s question.
//! `cargo --version` and its like are not here: toolchain proxies obey files of the workspace before they answer.

mod commands;
mod formats;
mod git;
mod grammar;
mod lexer;
mod special;

use std::path::Path;

pub(super) use lexer::Word;

/// Longer command lines are not looked at; they need full access.
const CLASSIFIED_BYTES_MAX: usize = 4096;
/// More simple commands than this in one line need full access.
const SIMPLE_COMMANDS_MAX: usize = 16;

/// A command line that only reads, as far as its text can tell.
pub(super) struct ReadOnlyLine {
    /// The words of each simple command.
    pub(super) commands: Vec<Vec<Word>>,
}

/// Reads the text of a command line; `None` for everything that is not known to only read.
pub(super) fn reading(command: &str, workspace: &Path) -> Option<ReadOnlyLine> {
    if command.len() > CLASSIFIED_BYTES_MAX {
        return None;
    }
    let commands = lexer::split(command)?;
    let few = !commands.is_empty() && commands.len() <= SIMPLE_COMMANDS_MAX;
    let inside = |words: &Vec<Word>| words.iter().all(|word| stays_inside(word, workspace));
    let reads = few && commands.iter().all(|words| inside(words) && commands::only_reads(words));
    reads.then_some(ReadOnlyLine { commands })
}

/// Whether no reading of this word, as a path or as an option with a path in it, leads out of the workspace.
fn stays_inside(word: &Word, workspace: &Path) -> bool {
    let text = word.text.as_str();
    if text == "/dev/null" {
        return true;
    }
    // `--file=PATH`, `host:PATH`, `a,PATH` and a PATH right behind a short option.
    let parts = text.split(['=', ':', ',']).filter(|part| !part.is_empty());
    for part in parts {
        let path = match part.starts_with('-') {
            true => part.find('/').map_or("", |at| &part[at..]),
            false => part,
        };
        if path.starts_with('/') && !Path::new(path).starts_with(workspace) {
            return false;
        }
        if part.split('/').any(|piece| piece.ends_with("..")) {
            return false;
        }
    }
    !word.may_glob_upwards
}

#[cfg(test)]
mod attacked;
#[cfg(test)]
mod tests;
