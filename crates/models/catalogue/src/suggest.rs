//! Whose word about models counts how far. What the user says is a demand: a flag, the environment, their own file. What
//! came from elsewhere, with the code or in a session file, is a wish: it may choose among the models of the provider that
//! the user's own choice leads to, and never who else reads the prompts or which file plays the model.

use config::{Suggestion, is_script};
use vocab::{ModelInfo, Provider};

use crate::catalogue::Catalogue;
use crate::choose::Chosen;
use crate::pick::split_level;
use crate::settings::Wanted;

/// Goes with the workspace's wish where it may be granted; otherwise says why not.
pub(crate) fn follow(wanted: &Wanted, chosen: &mut Chosen) {
    let Some(Suggestion { model: asked, file }) = &wanted.suggested else { return };
    let file = file.display();
    let (catalogue, own) = (&chosen.catalogue, &chosen.model);
    let whole = granted(catalogue, own, asked).map(|model| (model, None));
    let (name, level) = split_level(asked);
    let granted = whole.or_else(|why| match level.filter(|_| wanted.loose) {
        Some(_) => granted(catalogue, own, name).map(|model| (model, level)),
        None => Err(why),
    });
    match granted {
        Ok((model, None)) if *model.slug == *chosen.model => {}
        Ok((model, level)) => {
            chosen.reason = format!("asked for by {file}, served by {}", model.provider);
            chosen.model = model.slug.to_string();
            chosen.thinking = level.map(Into::into);
        }
        Err(why) => {
            chosen.notes.push(format!("{file}: `model` is ignored: {why}; the model is {}", chosen.model));
        }
    }
}

/// The model of this name, if somebody who is not the user may choose it where the user has `own`.
pub(crate) fn granted(catalogue: &Catalogue, own: &str, asked: &str) -> Result<ModelInfo, String> {
    const PLAYED: &str = "a file is played only when you name it yourself: by flag, in the environment or in your own \
                          configuration";
    if is_script(asked) && asked != own {
        // Not even looked at.
        return Err(PLAYED.to_owned());
    }
    let unknown = |_| format!("there is no model `{asked}` here");
    let model = catalogue.resolve(asked).map_err(unknown)?;
    if is_script(&model.slug) && *model.slug != *own {
        return Err(PLAYED.to_owned());
    }
    let provider = catalogue.resolve(own).map_err(|fault| fault.message)?.provider;
    match model.provider == provider {
        true => Ok(model),
        false => Err(format!("`{asked}` is served by {}, and you use {provider}", model.provider)),
    }
}
