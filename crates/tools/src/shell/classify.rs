//! What a command line needs: [`Required::ReadOnly`] for what is recognised, in full, as only reading inside the
//! workspace; [`Required::DangerFullAccess`] for everything else. Pure.
//!
//! Three steps, each of which may only say "not understood": a [lexer](lexer) for the plain part of the shell language,
//! a check of every word for paths that leave the workspace, and a [table](commands) of commands with the options that
//! are known to be harmless. An unknown word is never harmless.
//!
//! What this cannot see, and what the environment of read-only commands or a sandbox has to hold: symbolic links in
//! the workspace that point elsewhere, and programs named in a repository's `.git/config` (text conversion filters).
//! `cargo --version` and its like are not here: toolchain proxies obey files of the workspace before they answer.

mod commands;
mod lexer;

use std::path::Path;

use vocab::Required;

use lexer::Word;

/// Longer command lines are not looked at; they need full access.
pub const CLASSIFIED_BYTES_MAX: usize = 4096;
/// More simple commands than this in one line need full access.
pub const SIMPLE_COMMANDS_MAX: usize = 16;

/// The mode a command line needs when it runs in the workspace.
pub fn required(command: &str, workspace: &Path) -> Required {
    match is_read_only(command, workspace) {
        true => Required::ReadOnly,
        false => Required::DangerFullAccess,
    }
}

fn is_read_only(command: &str, workspace: &Path) -> bool {
    if command.len() > CLASSIFIED_BYTES_MAX {
        return false;
    }
    let Some(simple_commands) = lexer::split(command) else { return false };
    let few = !simple_commands.is_empty() && simple_commands.len() <= SIMPLE_COMMANDS_MAX;
    few && simple_commands
        .iter()
        .all(|words| words.iter().all(|word| stays_inside(word, workspace)) && commands::only_reads(words))
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
mod tests;
