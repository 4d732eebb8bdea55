//! What Tab knows: commands, models and modes.

use std::sync::{Arc, Mutex, PoisonError};

use engine::{COMMANDS, Ports};
use vocab::{CommandInfo, Mode};

/// What completion knows.
#[derive(Clone, Default)]
pub(super) struct Completion {
    models: Arc<Mutex<Vec<String>>>,
    /// Commands that are not built in.
    more: Vec<String>,
}

impl Completion {
    /// Asks for the models on the side; until they are known there are none to complete.
    pub(super) fn fetch(ports: &Ports, more: Vec<CommandInfo>) -> Self {
        let more = more.iter().map(|command| command.name.to_string()).collect();
        let words = Self { more, ..Self::default() };
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
    pub(super) fn complete(&self, line: &str) -> (usize, Vec<String>) {
        let Some(rest) = line.strip_prefix('/') else { return (0, Vec::new()) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_models_and_modes_are_completed() {
        let models = Arc::new(Mutex::new(vec!["tour".into(), "tour-mini".into(), "big".into()]));
        let words = Completion { models, more: vec!["guard".into()] };
        assert_eq!(words.complete("/gu"), (1, vec!["guard ".to_owned()]));
        assert_eq!(words.complete("/sta"), (1, vec!["status ".to_owned()]));
        assert_eq!(words.complete("/model to"), (7, vec!["tour".to_owned(), "tour-mini".to_owned()]));
        assert_eq!(words.complete("/mode wo"), (6, vec!["workspace-write".to_owned()]));
        assert_eq!(words.complete("hello /sta").1, Vec::<String>::new());
    }
}
