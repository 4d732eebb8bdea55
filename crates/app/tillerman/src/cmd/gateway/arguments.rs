//! What somebody asks for with the words of a command line, read by the tables of the commands themselves; and what of it
//! cannot be had in a process that many share. What cannot is refused and never passed over.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dialect_gateway::Scopes;
use gateway::Caller;
use serde::Deserialize;
use vocab::{Mode, Settings, Which};

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

/// `usual`: what the gateway's owner has decided for every session.
pub(super) fn wished(
    basics: &Basics,
    from: Option<&Path>,
    mut usual: Settings,
    scopes: Scopes,
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
    let model = model.as_deref().map(may_choose).transpose()?;
    may_have(*mode, usual.mode, scopes)?;
    for (span, unit, limit) in budget {
        if usual.budget.limit(*span, *unit).is_some_and(|owners| owners < *limit) && !scopes.has(Scopes::ADMIN) {
            return Err(format!("--budget {}.{}: the gateway's owner allows less", span.as_str(), unit.as_str()));
        }
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
    Ok(Wished { which, workspace, model, mode: *mode, usual })
}

/// A directory of this machine: as it was typed, or the gateway's own.
pub(super) fn directory(asked: Option<&Path>, from: Option<&Path>, own: &Path) -> Result<PathBuf, String> {
    let base = from.unwrap_or(own);
    let asked = asked.map_or_else(|| base.to_owned(), |asked| base.join(asked));
    config::workspace(Some(&asked)).map_err(|fault| fault.message)
}

/// A file that is played as a model says which commands are run.
pub(super) fn may_choose(model: &str) -> Result<Arc<str>, String> {
    match catalogue::is_script(model) {
        true => Err("--model script:FILE names a file of the gateway's machine: its owner alone may".to_owned()),
        false => Ok(model.into()),
    }
}

/// Nobody but an administrator gets more than the owner gives to everybody.
pub(super) fn may_have(asked: Option<Mode>, owners: Mode, scopes: Scopes) -> Result<(), String> {
    let width = |mode: Mode| match mode {
        Mode::ReadOnly | Mode::Plan => 0,
        Mode::Prompt => 1,
        Mode::WorkspaceWrite => 2,
        Mode::DangerFullAccess => 3,
    };
    match asked {
        Some(mode) if width(mode) > width(owners) && !scopes.has(Scopes::ADMIN) => {
            Err(format!("--mode {}: this gateway gives {} to all but administrators", mode.as_str(), owners.as_str()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::ServeArgs;

    const CHAT_AND_TOOLS: Scopes = Scopes::CHAT.and(Scopes::TOOLS);

    fn wish(words: &[&str], owners: Mode, scopes: Scopes) -> Result<Wished, String> {
        let arguments = Arguments { words: words.iter().map(OsString::from).collect(), from: None };
        let args: ServeArgs = arguments.read()?;
        let mut usual = Settings::new(std::env::temp_dir(), "m");
        usual.mode = owners;
        wished(&args.basics, None, usual, scopes)
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
            (&["--model", "script:/etc/passwd"], "its owner alone"),
            (&["--model", "tour/script:/etc/passwd"], "its owner alone"),
            (&["--workspace", "/no/such"], "no such workspace"),
            (&["--frob"], "unexpected argument '--frob'"),
            (&["--help"], "not shown over a wire"),
            (&["--max-tokens", "0"], "invalid value '0'"),
        ] {
            let refused = wish(words, Mode::DangerFullAccess, Scopes::ALL).err().unwrap_or_default();
            assert!(refused.contains(why), "{words:?}: {refused}");
        }
    }

    #[test]
    fn a_token_gets_no_wider_mode_than_the_owner_gives() {
        let mode = |asked: &str, owners, scopes| wish(&["--mode", asked], owners, scopes).map(|it| it.mode);
        assert!(mode("danger-full-access", Mode::Prompt, CHAT_AND_TOOLS).is_err());
        assert!(mode("workspace-write", Mode::Prompt, CHAT_AND_TOOLS).is_err());
        assert_eq!(mode("plan", Mode::Prompt, CHAT_AND_TOOLS), Ok(Some(Mode::Plan)));
        assert_eq!(mode("danger-full-access", Mode::Prompt, Scopes::ALL), Ok(Some(Mode::DangerFullAccess)));
        assert_eq!(wish(&[], Mode::Prompt, CHAT_AND_TOOLS).map(|it| it.mode), Ok(None));
    }

    #[test]
    fn a_budget_is_only_made_smaller() {
        let arguments = |limit: &str| ["--budget".to_owned(), format!("day.usd={limit}")].map(OsString::from).to_vec();
        let ask = |limit: &str, scopes| {
            let args: ServeArgs = Arguments { words: arguments(limit), from: None }.read()?;
            let mut usual = Settings::new(std::env::temp_dir(), "m");
            usual.budget.set(vocab::BudgetSpan::Day, vocab::BudgetUnit::Money, Some(5_000_000_000));
            wished(&args.basics, None, usual, scopes).map(|_| ())
        };
        assert_eq!(ask("4", CHAT_AND_TOOLS), Ok(()));
        assert!(ask("6", CHAT_AND_TOOLS).is_err() && ask("6", Scopes::ALL).is_ok());
    }
}
