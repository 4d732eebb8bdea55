//! What somebody asks for with the words of a command line, read by the tables of the commands themselves; and what of it
//! cannot be had in a process that many share. What cannot is refused and never passed over.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gateway::Caller;
use serde::Deserialize;
use vocab::{Fault, Mode, Settings, Which};

use crate::args::{self, Basics};

/// The words, and the directory that they were typed in where that is one of this machine.
#[derive(Deserialize)]
#[serde(untagged)]
enum Sent {
    Words(Vec<String>),
    From { words: Vec<String>, from: PathBuf },
}

#[derive(Default)]
pub(super) struct Arguments {
    pub(super) words: Vec<OsString>,
    pub(super) from: Option<PathBuf>,
}

impl Arguments {
    pub(super) fn of(caller: &Caller) -> Result<Self, String> {
        let Some(text) = &caller.arguments else { return Ok(Self::default()) };
        let (words, from) = match serde_json::from_str(text) {
            Ok(Sent::Words(words)) => (words, None),
            Ok(Sent::From { words, from }) => (words, Some(from)),
            Err(_) => return Err("Tillerman-Arguments is a JSON array of strings".to_owned()),
        };
        Ok(Self { words: words.into_iter().map(OsString::from).collect(), from })
    }

    /// By the flags of one command.
    pub(super) fn read<T: clap::Args>(&self) -> Result<T, String> {
        args::only(&self.words).map_err(|error| first_line(&error))
    }
}

pub(super) fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    match error.use_stderr() {
        true => text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
        false => "help is not shown over a wire".to_owned(),
    }
}

/// What a session that somebody opens here starts with.
pub(super) struct Wished {
    pub(super) which: Which,
    pub(super) workspace: PathBuf,
    pub(super) model: Option<Arc<str>>,
    /// Only where somebody asked for it: whoever comes to a session does not change it for the others.
    pub(super) mode: Option<Mode>,
    pub(super) usual: Settings,
}

/// `usual`: what the gateway's owner has decided for every session. `may_name`: which models others may name.
pub(super) fn wished(
    basics: &Basics,
    from: Option<&Path>,
    mut usual: Settings,
    may_name: impl Fn(&str) -> Result<(), Fault>,
) -> Result<Wished, String> {
    let Basics {
        model,
        workspace,
        mode,
        config,
        thinking,
        max_tokens,
        max_iterations,
        system_prompt,
        append_system_prompt,
        no_context_files,
        resume,
        on_restart,
        budget,
        no_session,
        log_frames,
        extensions,
        no_extensions,
    } = basics;
    let refused = [
        (config.is_some(), "--config: a gateway has one configuration, its owner's"),
        (*no_context_files, "--no-context-files is for the gateway itself to be started with"),
        (on_restart.is_some(), "--on-restart: what a gateway holds goes on after a restart"),
        (*no_session, "--no-session: a gateway keeps its sessions"),
        (log_frames.is_some(), "--log-frames would write a file on the gateway's machine"),
        (!extensions.is_empty(), "--extension starts a program: the gateway's owner names those"),
        (*no_extensions, "--no-extensions: the gateway's owner names the extensions"),
    ];
    if let Some((_, why)) = refused.iter().find(|(asked, _)| *asked) {
        return Err((*why).to_owned());
    }
    let workspace = directory(workspace.as_deref(), from, &usual.workspace)?;
    if let Some(model) = model {
        may_name(model).map_err(|fault| fault.message)?;
    }
    for (span, unit, limit) in budget {
        usual.budget.set(*span, *unit, Some(*limit));
    }
    usual.workspace = workspace.clone();
    usual.thinking = thinking.map(Arc::from).or(usual.thinking);
    usual.max_tokens = max_tokens.or(usual.max_tokens);
    usual.max_iterations = max_iterations.unwrap_or(usual.max_iterations);
    usual.system_prompt = system_prompt.as_deref().map(Arc::from).or(usual.system_prompt);
    usual.append_system_prompt = append_system_prompt.as_deref().map(Arc::from).or(usual.append_system_prompt);
    let which = resume.as_deref().map_or(Which::New, |text| config::resumed(text, from.unwrap_or(&workspace)));
    let which = match (which, from) {
        (Which::Path(file), Some(from)) if from.join(&file).is_file() => Which::Path(from.join(file)),
        (which, _) => which,
    };
    let model = model.as_deref().map(Arc::from);
    Ok(Wished { which, workspace, model, mode: *mode, usual })
}

/// A directory of this machine: as it was typed, or the gateway's own.
pub(super) fn directory(asked: Option<&Path>, from: Option<&Path>, own: &Path) -> Result<PathBuf, String> {
    let base = from.unwrap_or(own);
    let asked = asked.map_or_else(|| base.to_owned(), |asked| base.join(asked));
    config::workspace(Some(&asked)).map_err(|fault| fault.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::ServeArgs;

    fn wish(words: &[&str]) -> Result<Wished, String> {
        let arguments = Arguments { words: words.iter().map(OsString::from).collect(), from: None };
        let args: ServeArgs = arguments.read()?;
        wished(&args.basics, None, Settings::new(std::env::temp_dir(), "m"), |_| Ok(()))
    }

    #[test]
    fn what_cannot_hold_for_all_is_refused_with_its_reason() {
        for (words, why) in [
            (&["--config", "/x"][..], "one configuration"),
            (&["--no-session"], "keeps its sessions"),
            (&["--log-frames", "/x"], "would write a file"),
            (&["-e", "/bin/sh"], "starts a program"),
            (&["--no-extensions"], "owner names the extensions"),
            (&["--on-restart", "close"], "after a restart"),
            (&["--workspace", "/no/such"], "no such workspace"),
            (&["--frob"], "unexpected argument '--frob'"),
            (&["--help"], "not shown over a wire"),
            (&["--max-tokens", "0"], "invalid value '0'"),
        ] {
            let refused = wish(words).err().unwrap_or_default();
            assert!(refused.contains(why), "{words:?}: {refused}");
        }
    }

    #[test]
    fn a_mode_is_changed_only_where_somebody_asks_for_it() {
        let wished = wish(&["--mode", "plan", "--budget", "day.usd=6"]).unwrap();
        let limit = wished.usual.budget.limit(vocab::BudgetSpan::Day, vocab::BudgetUnit::Money);
        assert_eq!((wished.mode, limit), (Some(Mode::Plan), Some(6_000_000_000)));
        assert_eq!(wish(&[]).unwrap().mode, None);
    }
}
