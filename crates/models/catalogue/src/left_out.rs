//! Providers that the user has configured and that cannot be asked. Their names stay theirs: whoever names one means that
//! server, and what they say must not go to another one that takes any name.

use std::sync::Arc;

use vocab::{Fault, FaultKind};

use crate::settings::ModelSettings;

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftOut {
    pub name: Arc<str>,
    /// What is wrong with it, for people.
    pub why: String,
    pub hints: Vec<String>,
    kind: FaultKind,
}

impl LeftOut {
    /// By `[providers.NAME]`, or by a vendor's variables.
    pub(crate) fn configured(name: &str, why: impl Into<String>) -> Self {
        let hint = format!("mend providers.{name} of your configuration; `tillerman doctor` says what else is wrong");
        Self { name: name.into(), why: why.into(), hints: vec![hint], kind: FaultKind::UnknownModel }
    }

    /// The same, because no client can be made of it.
    pub(crate) fn refused(name: &str, fault: Fault) -> Self {
        let mut left = Self::configured(name, fault.message);
        left.hints.extend(fault.hints.iter().map(ToString::to_string));
        left
    }

    /// A vendor with a table but without a key.
    pub(crate) fn keyless(name: &str, variable: &str) -> Self {
        let hint = format!("set {variable}; docs/config.md names other places for a key");
        Self { name: name.into(), why: format!("there is no key for {name}"), hints: vec![hint], kind: FaultKind::Auth }
    }

    /// What is said to who asks for this provider, by the name of a model or by its own.
    pub(crate) fn fault(&self, asked: &str) -> Fault {
        let LeftOut { name, why, hints, kind } = self;
        let message = format!("`{asked}` would be a model of {name}, which is left out: {why}");
        hints.iter().fold(Fault::new(*kind, message), |fault, hint| fault.hint(hint.clone()))
    }
}

/// Those that are known to be wrong before a client is made.
pub(crate) fn of(settings: &ModelSettings) -> Vec<LeftOut> {
    let described = |(name, why): (&Arc<str>, String)| {
        let hint = format!("mend the provider {name} in the models file of the agent directory");
        LeftOut { name: name.clone(), why, hints: vec![hint], kind: FaultKind::UnknownModel }
    };
    let wrong = settings.described.left_out.iter().map(|(name, why)| (name, why.clone()));
    let unspoken = settings.described.unspoken.iter().map(|it| (&it.provider, it.note()));
    // Another file may describe it rightly, or only some of its models are unspoken.
    let is_there = |name: &Arc<str>| settings.described.providers.iter().any(|it| it.name == *name);
    let described = wrong.chain(unspoken).filter(|(name, _)| !is_there(name)).map(described);
    settings.left_out.iter().cloned().chain(described).collect()
}

/// What is said of a name that nobody is known to have, where a file that may describe it says nothing to us; `None`: all
/// files were read.
pub(crate) fn unread(asked: &str, files: &[String]) -> Option<Fault> {
    let why = files.first()?;
    let message = format!("`{asked}` is not known, and may be described in a file that was left out: {why}");
    Some(
        Fault::new(FaultKind::UnknownModel, message)
            .hint("mend that file, or move it away; then other servers are asked"),
    )
}
