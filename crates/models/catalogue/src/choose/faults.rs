//! What is said of names that lead nowhere.

use std::sync::Arc;

use providers::openrouter;
use vocab::{Fault, FaultKind, ModelInfo};

use crate::built_in::TOUR;
use crate::pick;
use crate::vendors::{built_in, keyed_vendor};

pub(super) const SET_A_KEY: &str =
    "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or another vendor's key, or OPENAI_BASE_URL, for a real model";

/// A vendor of that name, which nobody has a key for.
pub(super) fn keyless(name: &str) -> Option<Fault> {
    let vendor = keyed_vendor(name).filter(|vendor| vendor.name != openrouter::NAME)?;
    let variables: Vec<&str> = vendor.keys.iter().map(|(name, _)| *name).collect();
    let fault = Fault::new(FaultKind::Auth, format!("there is no key for {}", vendor.name));
    Some(fault.hint(format!("set {}; docs/config.md names other places for it", variables.join(" or "))))
}

/// A model of a vendor that nobody has a key for, by the vendor's own short name or id.
pub(super) fn keyless_model(name: &str) -> Option<Fault> {
    let model = built_in(pick::split_level(name).0)?;
    let fault = keyless(&model.provider)?;
    Some(Fault { message: format!("`{name}` is {}, and {}", model.slug, fault.message), ..fault })
}

pub(super) fn unknown_model(model: &str, there_is: &str) -> Fault {
    Fault::new(FaultKind::UnknownModel, format!("no model `{model}`; there is: {there_is}"))
}

pub(super) fn ambiguous(model: &str, infos: &[ModelInfo]) -> Fault {
    let lower = pick::split_level(model).0.to_lowercase();
    let part = lower.rsplit('/').next().unwrap_or(&lower);
    let fits = |info: &&ModelInfo| info.slug.to_lowercase().contains(part) || info.name.to_lowercase().contains(part);
    let names = pick::names(infos.iter().filter(fits));
    Fault::new(FaultKind::UnknownModel, format!("`{model}` could be any of: {names}"))
}

pub(super) fn unknown_provider(provider: &str, infos: &[ModelInfo], others: &[Arc<str>]) -> Fault {
    let mut names: Vec<&str> = Vec::new();
    for name in infos.iter().map(|info| &*info.provider).chain(others.iter().map(|name| &**name)).chain([TOUR]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Fault::new(FaultKind::UnknownModel, format!("unknown provider `{provider}`; there is: {}", names.join(", ")))
}

/// A name that is nobody's, where models are known.
pub(super) fn no_such_model(model: &str, infos: &[ModelInfo], near: Option<String>) -> Fault {
    let mut fault = unknown_model(model, &pick::names(infos.iter()));
    if let Some(near) = near {
        fault = fault.hint(format!("did you mean `{near}`?"));
    }
    fault.hint("`tillerman models` lists all there are")
}
