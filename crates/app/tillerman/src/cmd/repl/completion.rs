//! What Tab knows: commands, models and modes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{COMMANDS, Ports};
use serde::{Deserialize, Serialize};
use vocab::{CommandInfo, Mode};

/// Words that only whoever holds the conversation knows.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(in crate::cmd) struct CompletionWords {
    /// Commands that are not built in.
    pub(in crate::cmd) commands: Vec<String>,
    pub(in crate::cmd) models: Vec<String>,
}

impl CompletionWords {
    /// Takes its time: lists of models may come from servers.
    pub(in crate::cmd) async fn gather(ports: &Ports, commands: &[CommandInfo]) -> Self {
        let commands = commands.iter().map(|command| command.name.to_string()).collect();
        let models = ports.provider.models().await.unwrap_or_default();
        Self { commands, models: models.iter().map(|model| model.slug.to_string()).collect() }
    }
}

/// What completion knows.
#[derive(Clone, Default)]
pub(in crate::cmd) struct Completion {
    words: Arc<Mutex<CompletionWords>>,
}

impl Completion {
    /// Asks for the models on the side; until they are known there are none to complete.
    pub(super) fn fetch(ports: &Ports, more: Vec<CommandInfo>) -> Self {
        let ports = ports.clone();
        let completion = Self::default();
        completion.words().commands = more.iter().map(|command| command.name.to_string()).collect();
        completion.learn(async move { Some(CompletionWords::gather(&ports, &more).await) });
        completion
    }

    /// Knows these words, too, once they are there.
    pub(in crate::cmd) fn learn(&self, words: impl Future<Output = Option<CompletionWords>> + Send + 'static) {
        let completion = self.clone();
        tokio::spawn(async move {
            if let Some(words) = words.await {
                *completion.words() = words;
            }
        });
    }

    fn words(&self) -> MutexGuard<'_, CompletionWords> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the word under the cursor starts, and what it could become.
    pub(in crate::cmd) fn complete(&self, line: &str) -> (usize, Vec<String>) {
        let Some(rest) = line.strip_prefix('/') else { return (0, Vec::new()) };
        let words = self.words();
        let Some((name, args)) = rest.split_once(' ') else {
            let names = COMMANDS.iter().map(|command| command.name).chain(words.commands.iter().map(String::as_str));
            let names = names.filter(|name| name.starts_with(rest));
            return (1, names.map(|name| format!("{name} ")).collect());
        };
        let known: Vec<String> = match name {
            "model" => words.models.clone(),
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
        let models = vec!["tour".into(), "tour-mini".into(), "big".into()];
        let words = CompletionWords { models, commands: vec!["guard".into()] };
        let words = Completion { words: Arc::new(Mutex::new(words)) };
        assert_eq!(words.complete("/gu"), (1, vec!["guard ".to_owned()]));
        assert_eq!(words.complete("/sta"), (1, vec!["status ".to_owned()]));
        assert_eq!(words.complete("/model to"), (7, vec!["tour".to_owned(), "tour-mini".to_owned()]));
        assert_eq!(words.complete("/mode wo"), (6, vec!["workspace-write".to_owned()]));
        assert_eq!(words.complete("hello /sta").1, Vec::<String>::new());
    }
}
