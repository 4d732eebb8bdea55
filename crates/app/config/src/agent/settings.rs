//! `settings.json` of an agent directory: what maps to something here. The rest belongs to other programs and is passed
//! over in silence. The file is never written.

use vocab::{Drain, SteerPoint};

use crate::tree::{Node, TreeValue};

/// Levels of thinking, from none to most.
pub const LEVELS: [&str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];

/// Longer waits than an hour are typing errors.
const WAIT_MS_MAX: u64 = 3_600_000;
const RETRIES_MAX: u64 = 100;
/// No context window is that large.
const TOKENS_MAX: u64 = 1_000_000_000;
/// Names and paths kept of a list; the rest is passed over.
const LIST_MAX: usize = 1000;

/// `None` and empty = not said.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AgentSettings {
    pub default_provider: Option<String>,
    pub default_model: Option<String>,
    pub thinking: Option<&'static str>,
    pub steering: Option<Drain>,
    pub follow_up: Option<Drain>,
    pub interrupt: Option<SteerPoint>,
    pub compaction: Option<bool>,
    pub reserve_tokens: Option<u64>,
    pub keep_recent_tokens: Option<u64>,
    pub retry: Option<bool>,
    pub retries_max: Option<u32>,
    pub retry_base_ms: Option<u64>,
    pub enabled_models: Vec<String>,
    pub extensions: Vec<String>,
    pub session_dir: Option<String>,
    /// For stderr, one line each.
    pub notes: Vec<String>,
}

impl AgentSettings {
    /// A value of the wrong kind is pointed out and not obeyed. `file` is only for people.
    pub(super) fn read(file: &str, root: &Node) -> AgentSettings {
        let mut reader = SettingsReader { file, notes: Vec::new() };
        if !matches!(root.value, TreeValue::Map(_)) {
            reader.wrong("the file", root, "a table of settings");
        }
        let drain = |text: &str| match text {
            "all" => Some(Drain::All),
            "one-at-a-time" => Some(Drain::OneAtATime),
            _ => None,
        };
        let point = |text: &str| match text {
            "immediate" => Some(SteerPoint::Immediate),
            "wait" => Some(SteerPoint::Wait),
            _ => None,
        };
        let level = |text: &str| LEVELS.into_iter().find(|level| *level == text);
        let own = |text: &str| Some(text.to_owned());
        // Older files have one key for both queues.
        let queue = reader.one_of(root, "queueMode", "all or one-at-a-time", drain);
        let steering = reader.one_of(root, "steeringMode", "all or one-at-a-time", drain).or(queue);
        let settings = AgentSettings {
            default_provider: reader.one_of(root, "defaultProvider", "text", own),
            default_model: reader.one_of(root, "defaultModel", "text", own),
            thinking: reader.one_of(root, "defaultThinkingLevel", "a level from off to xhigh", level),
            steering,
            follow_up: reader.one_of(root, "followUpMode", "all or one-at-a-time", drain),
            interrupt: reader.one_of(root, "interruptMode", "immediate or wait", point),
            compaction: reader.switch(root, "compaction.enabled"),
            reserve_tokens: reader.count(root, "compaction.reserveTokens", TOKENS_MAX),
            keep_recent_tokens: reader.count(root, "compaction.keepRecentTokens", TOKENS_MAX),
            retry: reader.switch(root, "retry.enabled"),
            retries_max: reader.count(root, "retry.maxRetries", RETRIES_MAX).and_then(|it| u32::try_from(it).ok()),
            retry_base_ms: reader.count(root, "retry.baseDelayMs", WAIT_MS_MAX),
            enabled_models: reader.texts(root, "enabledModels"),
            extensions: reader.texts(root, "extensions"),
            session_dir: reader.one_of(root, "sessionDir", "text", own),
            notes: Vec::new(),
        };
        AgentSettings { notes: reader.notes, ..settings }
    }
}

struct SettingsReader<'a> {
    file: &'a str,
    notes: Vec<String>,
}

impl SettingsReader<'_> {
    fn wrong(&mut self, key: &str, node: &Node, wants: &str) {
        self.notes.push(format!("{}: {key} wants {wants}, has {}; it is ignored", self.file, node.value.kind()));
    }

    /// The node under a key; `a.b` is `b` in the table `a`.
    fn find<'n>(&mut self, root: &'n Node, key: &str) -> Option<&'n Node> {
        match key.split_once('.') {
            None => root.get(key),
            Some((table, key)) => root.get(table)?.get(key),
        }
    }

    fn one_of<T>(&mut self, root: &Node, key: &str, wants: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let node = self.find(root, key)?;
        match &node.value {
            TreeValue::Text(text) if text.trim().is_empty() => None,
            TreeValue::Text(text) => {
                let value = read(text.trim());
                if value.is_none() {
                    self.notes.push(format!("{}: {key} wants {wants}; it is ignored", self.file));
                }
                value
            }
            _ => {
                self.wrong(key, node, wants);
                None
            }
        }
    }

    fn switch(&mut self, root: &Node, key: &str) -> Option<bool> {
        let node = self.find(root, key)?;
        match node.value {
            TreeValue::Bool(yes) => Some(yes),
            _ => {
                self.wrong(key, node, "true or false");
                None
            }
        }
    }

    fn count(&mut self, root: &Node, key: &str, max: u64) -> Option<u64> {
        let node = self.find(root, key)?;
        let number = match node.value {
            TreeValue::Int(number) => u64::try_from(number).ok(),
            TreeValue::Float(number) if number >= 0.0 => Some(number as u64),
            _ => None,
        };
        let number = number.filter(|number| *number <= max);
        if number.is_none() {
            self.wrong(key, node, &format!("a number from 0 to {max}"));
        }
        number
    }

    fn texts(&mut self, root: &Node, key: &str) -> Vec<String> {
        let Some(node) = self.find(root, key) else { return Vec::new() };
        let TreeValue::List(items) = &node.value else {
            self.wrong(key, node, "a list of texts");
            return Vec::new();
        };
        let text = |item: &Node| match &item.value {
            TreeValue::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            _ => None,
        };
        items.iter().take(LIST_MAX).filter_map(text).collect()
    }
}
