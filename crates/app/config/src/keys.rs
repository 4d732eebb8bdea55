//! The one table of settings: reading, `config get`, `config set` and the manual follow it.

mod table;

pub use table::{KEYS, ROUNDS_USUAL};
use vocab::{BudgetUnit, McpServer, Mode, Secret, SyncLevel, thinking};

use super::addresses::without_secrets;
use super::slugs::Slugs;
use super::tighten::Tightening;
use super::tree::{Node, TreeValue};
use vocab::nearest;

/// What a value must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SettingKind {
    Text,
    /// Text that is shown to nobody. Empty means that there is none.
    Secret,
    Mode,
    /// Of [`vocab::thinking`].
    Level,
    Sync,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number in these bounds.
    Count {
        min: u64,
        max: u64,
    },
    /// A limit of a budget, in this unit.
    Limit(BudgetUnit),
    Bool,
    Texts,
    /// Tables with `slug` and more; see [`super::model_entry`].
    Models,
    /// Tables of servers by name; see [`super::mcp_servers`].
    Servers,
    /// Tables of model servers by name; see [`super::provider_entry`].
    Providers,
    /// Names, and the models they stand for; see [`super::slugs`].
    Slugs(Slugs),
    /// Lane rules by the name of a channel or a session; see [`super::lanes`].
    Lanes,
    /// Switches by name.
    Gates,
}

/// What a file that came with the workspace may do with it: the code may be a stranger's, so nothing gets looser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Workspace {
    /// Nothing: it says where prompts, keys or tokens go, what is known about models, or what becomes of a conversation.
    Never,
    /// Only towards less than the user's own value allows, or the usual one where there is none.
    Tightens(Tightening),
    /// A wish, granted where the provider that the user has anyway serves that model; see [`Configuration::suggestion`].
    ///
    /// [`Configuration::suggestion`]: super::Configuration::suggestion
    Suggests,
    /// It names programs: counts only where the user has said that the directory is trusted.
    Trusted,
}

pub struct SettingKey {
    pub name: &'static str,
    pub(super) kind: SettingKind,
    pub(super) workspace: Workspace,
    /// The environment variable that overrides it.
    pub(super) env: Option<&'static str>,
    pub about: &'static str,
}

/// A checked value.
#[derive(Clone, PartialEq, Debug)]
pub enum SettingValue {
    Text(String),
    Secret(Option<Secret>),
    Mode(Mode),
    Sync(SyncLevel),
    Count(u64),
    /// A number as it is written, of which the unit has said that it is one.
    Limit(String),
    Bool(bool),
    Texts(Vec<String>),
    Models(Vec<super::ConfiguredModel>),
    Servers(Vec<McpServer>),
    Providers(Vec<super::ProviderEntry>),
    /// Names, each with one model or more.
    Slugs(Vec<(String, Vec<String>)>),
    Lanes(Vec<(String, vocab::LaneWish)>),
    Gates(Vec<(String, bool)>),
}

impl SettingValue {
    /// As `config set` takes it and a file keeps it.
    pub fn show(&self) -> String {
        match self {
            SettingValue::Text(text) | SettingValue::Limit(text) => text.clone(),
            SettingValue::Secret(secret) => secret.as_ref().map(Secret::to_string).unwrap_or_default(),
            SettingValue::Mode(mode) => mode.as_str().to_owned(),
            SettingValue::Sync(level) => level.as_str().to_owned(),
            SettingValue::Count(number) => number.to_string(),
            SettingValue::Bool(value) => value.to_string(),
            SettingValue::Texts(texts) => texts.join(","),
            SettingValue::Models(models) => models.iter().map(|model| &*model.slug).collect::<Vec<_>>().join(","),
            // What they are given may be secret.
            SettingValue::Servers(servers) => servers.iter().map(|server| &*server.name).collect::<Vec<_>>().join(","),
            SettingValue::Providers(entries) => entries.iter().map(|entry| &*entry.name).collect::<Vec<_>>().join(","),
            SettingValue::Slugs(names) => {
                let shown = |(name, slugs): &(String, Vec<String>)| format!("{name}={}", slugs.join(" "));
                names.iter().map(shown).collect::<Vec<_>>().join(",")
            }
            SettingValue::Lanes(lanes) => lanes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(","),
            SettingValue::Gates(gates) => {
                gates.iter().map(|(name, on)| format!("{name}={on}")).collect::<Vec<_>>().join(",")
            }
        }
    }

    /// As `config get` prints it: others may look on.
    pub fn show_safely(&self) -> String {
        match self {
            SettingValue::Texts(texts) => texts.iter().map(|it| without_secrets(it)).collect::<Vec<_>>().join(","),
            SettingValue::Text(text) => without_secrets(text),
            other => other.show(),
        }
    }
}

pub(crate) fn find(name: &str) -> Option<&'static SettingKey> {
    KEYS.iter().find(|key| key.name == name)
}

impl SettingKind {
    /// What it wants to be, in words.
    pub(super) fn wants(self) -> String {
        match self {
            SettingKind::Text | SettingKind::Secret => "text".into(),
            SettingKind::Mode => "one of plan, read-only, prompt, workspace-write, danger-full-access".into(),
            SettingKind::Level => format!("one of {}", thinking::LEVELS.join(", ")),
            SettingKind::Sync => "one of turn, record, off".into(),
            SettingKind::OneOf(words) => format!("one of {}", words.join(", ")),
            SettingKind::Count { min, max } => format!("a whole number from {min} to {max}"),
            SettingKind::Limit(unit) => unit.wants(),
            SettingKind::Bool => "true or false".into(),
            SettingKind::Texts => "a list of names".into(),
            SettingKind::Models => "a list of tables, each with a slug".into(),
            SettingKind::Servers => "a table of servers".into(),
            SettingKind::Providers => "a table of model servers".into(),
            SettingKind::Slugs(_) => "a table of names and models".into(),
            SettingKind::Lanes => "a table of lane rules by name".into(),
            SettingKind::Gates => "a table of names, each true or false".into(),
        }
    }

    /// `None`: the value is something else than the key wants.
    pub(super) fn check(self, node: &Node) -> Option<SettingValue> {
        Some(match (self, &node.value) {
            (SettingKind::Text, TreeValue::Text(text)) if !text.trim().is_empty() => {
                SettingValue::Text(text.trim().to_owned())
            }
            (SettingKind::Secret, TreeValue::Text(text)) => SettingValue::Secret(Secret::new(text)),
            (SettingKind::Mode, TreeValue::Text(text)) => SettingValue::Mode(Mode::parse(text.trim())?),
            (SettingKind::Level, TreeValue::Text(text)) => {
                SettingValue::Text((*thinking::LEVELS.iter().find(|level| **level == text.trim())?).to_owned())
            }
            // As for `sync`, below.
            (SettingKind::Level, TreeValue::Bool(false)) => SettingValue::Text(thinking::OFF.to_owned()),
            (SettingKind::OneOf(words), TreeValue::Text(text)) => {
                SettingValue::Text((*words.iter().find(|word| **word == text.trim())?).to_owned())
            }
            (SettingKind::Sync, TreeValue::Text(text)) => SettingValue::Sync(SyncLevel::parse(text.trim())?),
            // YAML reads a bare `off` as a word, some writers turn it into false.
            (SettingKind::Sync, TreeValue::Bool(false)) => SettingValue::Sync(SyncLevel::Off),
            (SettingKind::Count { min, max }, TreeValue::Int(number)) => {
                SettingValue::Count(u64::try_from(*number).ok().filter(|number| (min..=max).contains(number))?)
            }
            (SettingKind::Limit(unit), TreeValue::Int(number)) => checked_limit(unit, &number.to_string())?,
            (SettingKind::Limit(unit), TreeValue::Float(number)) => checked_limit(unit, &number.to_string())?,
            (SettingKind::Limit(unit), TreeValue::Text(text)) => checked_limit(unit, text.trim())?,
            (SettingKind::Bool, TreeValue::Bool(value)) => SettingValue::Bool(*value),
            (SettingKind::Texts, TreeValue::List(items)) => SettingValue::Texts(
                items
                    .iter()
                    .map(|item| match &item.value {
                        TreeValue::Text(text) => Some(text.clone()),
                        _ => None,
                    })
                    .collect::<Option<_>>()?,
            ),
            (SettingKind::Gates, TreeValue::Map(pairs)) => SettingValue::Gates(
                pairs
                    .iter()
                    .map(|(name, node)| match node.value {
                        TreeValue::Bool(on) => Some((name.clone(), on)),
                        _ => None,
                    })
                    .collect::<Option<_>>()?,
            ),
            _ => return None,
        })
    }

    /// Whether it is a table, which nobody types.
    pub(super) fn is_table(self) -> bool {
        use SettingKind::{Gates, Lanes, Models, Providers, Servers, Slugs};
        matches!(self, Models | Servers | Providers | Slugs(_) | Lanes | Gates)
    }

    /// A value as it is typed or put into the environment.
    pub(super) fn check_text(self, text: &str) -> Option<SettingValue> {
        let value = match self {
            SettingKind::Count { .. } => TreeValue::Int(text.trim().replace('_', "").parse().ok()?),
            SettingKind::Bool => TreeValue::Bool(match text.trim() {
                "true" | "on" | "yes" => true,
                "false" | "off" | "no" => false,
                _ => return None,
            }),
            SettingKind::Texts => {
                let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                TreeValue::List(
                    names.map(|name| Node { value: TreeValue::Text(name.to_owned()), line: None }).collect(),
                )
            }
            SettingKind::Text
            | SettingKind::Secret
            | SettingKind::Mode
            | SettingKind::Level
            | SettingKind::Sync
            | SettingKind::Limit(_)
            | SettingKind::OneOf(_) => TreeValue::Text(text.to_owned()),
            SettingKind::Models
            | SettingKind::Servers
            | SettingKind::Providers
            | SettingKind::Slugs(_)
            | SettingKind::Lanes
            | SettingKind::Gates => return None,
        };
        self.check(&Node { value, line: None })
    }
}

fn checked_limit(unit: BudgetUnit, text: &str) -> Option<SettingValue> {
    unit.amount(text).is_ok().then(|| SettingValue::Limit(text.to_owned()))
}

/// `maxTokens` and `max-tokens` mean `max_tokens`.
pub(super) fn snake(key: &str) -> String {
    let mut text = String::with_capacity(key.len() + 4);
    for (at, c) in key.char_indices() {
        if c.is_ascii_uppercase() && at > 0 && !text.ends_with(['_', '.']) {
            text.push('_');
        }
        text.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
    }
    text
}

/// Words that name a secret, whatever else the key says.
pub(super) fn is_secret(key: &str) -> bool {
    ["api_key", "apikey", "secret", "password", "access_token", "auth_token"].iter().any(|word| key.contains(word))
}

/// A setting's name, and before it those of the groups that it is in.
pub(super) fn with_groups(name: &'static str) -> impl Iterator<Item = &'static str> + Clone {
    name.match_indices('.').map(move |(at, _)| &name[..at]).chain([name])
}

/// The known name that a wrong one probably meant.
pub(super) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    // The last part alone counts too: `retries_max` probably means `retry.retries_max`.
    let tail = |name: &'a str| name.rsplit('.').next().unwrap_or(name);
    let whole = nearest::nearest(wrong, known.clone());
    let by_tail = || nearest::nearest(wrong, known.clone().map(tail));
    whole.or_else(|| by_tail().and_then(|near| known.clone().find(|name| tail(name) == near)))
}
