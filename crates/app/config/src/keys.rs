//! The one table of settings: reading, `config get`, `config set` and the manual follow it.

use vocab::{BudgetUnit, McpServer, Mode, SyncLevel, thinking};

use super::slugs::Slugs;
use super::tighten::Tightening;
use super::tree::{Node, TreeValue};
use vocab::nearest;

/// What a value must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SettingKind {
    Text,
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

/// One that is the user's alone, unless its line says otherwise.
const fn key(name: &'static str, kind: SettingKind, about: &'static str) -> SettingKey {
    SettingKey { name, kind, workspace: Workspace::Never, env: None, about }
}

/// One that a workspace may tighten.
const fn tightened(way: Tightening, key: SettingKey) -> SettingKey {
    SettingKey { workspace: Workspace::Tightens(way), ..key }
}

/// Where the user's accounts are: nobody else chooses who gets a token.
const fn account(name: &'static str, env: &'static str, about: &'static str) -> SettingKey {
    SettingKey { env: Some(env), ..key(name, SettingKind::Text, about) }
}

const fn count(name: &'static str, min: u64, max: u64, about: &'static str) -> SettingKey {
    key(name, SettingKind::Count { min, max }, about)
}

/// A limit of a budget; who may spend is the user's to say.
const fn limit(name: &'static str, unit: BudgetUnit, about: &'static str) -> SettingKey {
    key(name, SettingKind::Limit(unit), about)
}

/// Longer waits than a day are typing errors.
const DAY_S: u64 = 86_400;
const HOUR_MS: u64 = 3_600_000;
const TOKENS_MAX: u64 = 1_000_000_000;

/// Tool rounds of one turn where nobody says otherwise: no task needs them, and a model that goes round in circles while
/// nobody watches ends there. A person stops it before that with an interrupt.
pub const ROUNDS_USUAL: u32 = 1000;

pub const KEYS: &[SettingKey] = &[
    SettingKey {
        env: Some("TILLERMAN_MODEL"),
        workspace: Workspace::Suggests,
        ..key("model", SettingKind::Text, "Model to use; without it one is detected.")
    },
    SettingKey {
        env: Some("TILLERMAN_MODE"),
        workspace: Workspace::Tightens(Tightening::Stricter),
        ..key(
            "mode",
            SettingKind::Mode,
            "Permission mode: plan, read-only, prompt, workspace-write, danger-full-access.",
        )
    },
    SettingKey {
        env: Some("OPENAI_BASE_URL"),
        ..key("base_url", SettingKind::Text, "OpenAI-compatible server, up to and including /v1.")
    },
    // The usual value is the model's and not known here; hardly any model's is less than this.
    tightened(Tightening::Lower { usual: 4096 }, count("max_tokens", 1, TOKENS_MAX, "Most tokens of one answer.")),
    key("thinking", SettingKind::Level, "How much the model thinks before it answers."),
    tightened(
        Tightening::Lower { usual: ROUNDS_USUAL as u64 },
        count("max_iterations", 1, 100_000, "Most rounds of tool calls in one turn."),
    ),
    // A window or a price that is not true spends money or hides it.
    count("context_window", 1_000, TOKENS_MAX, "Context window of models that are not listed."),
    key("models", SettingKind::Models, "What is known about models: slug, context_window, max_output, prices."),
    key("providers", SettingKind::Providers, "Model servers by name: api, base_url, where the key is, models."),
    SettingKey {
        env: Some("TILLERMAN_CA_FILE"),
        ..key("ca_file", SettingKind::Text, "Certificates (PEM) to trust besides the system's, for every server.")
    },
    key("aliases", SettingKind::Slugs(Slugs::Aliases), "Short names of models of your own."),
    key("tiers", SettingKind::Slugs(Slugs::Tiers), "What fast, default, complex and local mean: a model, or several."),
    tightened(
        Tightening::Safer,
        key("sync", SettingKind::Sync, "When records are forced to the disk: turn, record, off."),
    ),
    key(
        "on_restart",
        SettingKind::OneOf(&["close", "continue"]),
        "What becomes of a turn that the end of a process cut off: close, continue.",
    ),
    key(
        "unanswered",
        SettingKind::OneOf(&["deny", "keep"]),
        "What becomes of a question while nobody is there to answer it: deny, keep.",
    ),
    limit("budget.turn.usd", BudgetUnit::Money, "Dollars that one turn may cost before you are asked."),
    limit("budget.turn.tokens", BudgetUnit::Tokens, "Tokens that one turn may use before you are asked."),
    limit("budget.turn.minutes", BudgetUnit::Time, "Minutes that one turn may work before you are asked."),
    limit("budget.turn.rounds", BudgetUnit::Rounds, "Tool rounds of one turn before you are asked."),
    limit("budget.session.usd", BudgetUnit::Money, "Dollars that one session may cost before you are asked."),
    limit("budget.session.tokens", BudgetUnit::Tokens, "Tokens that one session may use before you are asked."),
    limit("budget.session.minutes", BudgetUnit::Time, "Minutes that one session may work before you are asked."),
    limit("budget.session.rounds", BudgetUnit::Rounds, "Tool rounds of one session before you are asked."),
    limit("budget.day.usd", BudgetUnit::Money, "Dollars that all sessions of a day may cost before you are asked."),
    limit("budget.day.tokens", BudgetUnit::Tokens, "Tokens that all sessions of a day may use before you are asked."),
    tightened(
        Tightening::Lower { usual: 30 },
        count("shutdown_grace_s", 0, DAY_S, "How long a turn may go on after the controller left."),
    ),
    tightened(
        Tightening::Lower { usual: 120 },
        count("idle_timeout_s", 1, DAY_S, "Longest silence of a model before the call counts as failed."),
    ),
    tightened(Tightening::Lower { usual: 4 }, count("retry.retries_max", 0, 100, "Retries of one model call.")),
    tightened(
        Tightening::Raise { usual: 500 },
        count("retry.base_ms", 0, HOUR_MS, "First wait between two tries; it doubles."),
    ),
    // Shorter, it presses a server; longer, it keeps people waiting.
    count("retry.wait_ms_max", 0, HOUR_MS, "Longest wait we choose ourselves."),
    tightened(
        Tightening::Lower { usual: 120_000 },
        count("retry.server_wait_ms_max", 0, HOUR_MS, "Longest wait a server may ask for."),
    ),
    tightened(
        Tightening::On,
        key("retry.jitter", SettingKind::Bool, "Spread waits, so that many clients do not return at once."),
    ),
    // Early or late, either way it decides what the model still knows of a conversation, and costs calls.
    key("compaction.auto", SettingKind::Bool, "Summarise older messages when the context fills up."),
    count("compaction.threshold_pct", 10, 100, "How full, in percent, before that happens."),
    count("compaction.keep_pct", 0, 90, "Percent of the window kept word for word."),
    tightened(Tightening::Fewer, key("tools.only", SettingKind::Texts, "Offer only these tools.")),
    SettingKey {
        workspace: Workspace::Trusted,
        ..key(
            "extensions",
            SettingKind::Texts,
            "Programs to start beside every conversation; paths from where the file is.",
        )
    },
    SettingKey {
        workspace: Workspace::Trusted,
        ..key("servers", SettingKind::Servers, "Servers of tools (MCP) that every session gets, as tables by name.")
    },
    key(
        "trusted_workspaces",
        SettingKind::Texts,
        "Directories whose own settings may start extensions and servers, whose instructions (AGENTS.md) are read, and \
         whose skills apply by themselves.",
    ),
    account("accounts.openai_issuer", "TILLERMAN_OPENAI_ISSUER", "Where a ChatGPT account is signed in to."),
    account("accounts.openai_url", "TILLERMAN_OPENAI_URL", "Models of a ChatGPT account."),
    account(
        "accounts.openai_api",
        "TILLERMAN_OPENAI_API",
        "The format spoken there: openai-responses or openai-completions.",
    ),
    account(
        "accounts.openai_usage_url",
        "TILLERMAN_OPENAI_USAGE_URL",
        "Where the limits of a ChatGPT account are told.",
    ),
    account(
        "accounts.antigravity_issuer",
        "TILLERMAN_ANTIGRAVITY_ISSUER",
        "Where an Antigravity account is signed in to: one address for accounts, tokens and profiles.",
    ),
    account("accounts.antigravity_url", "TILLERMAN_ANTIGRAVITY_URL", "Antigravity's own API."),
    account("accounts.antigravity_client_id", "TILLERMAN_ANTIGRAVITY_CLIENT_ID", "OAuth client to sign in as."),
    account("accounts.openrouter_url", "OPENROUTER_BASE_URL", "OpenRouter, up to and including /v1."),
    account("accounts.exa_url", "EXA_BASE_URL", "Exa, which searches the web."),
    SettingKey {
        env: Some("TILLERMAN_OAUTH_PORT"),
        ..count("accounts.oauth_port", 0, 65_535, "Port on which a browser comes back from signing in; 0 is any.")
    },
];

/// A checked value.
#[derive(Clone, PartialEq, Debug)]
pub enum SettingValue {
    Text(String),
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
}

impl SettingValue {
    /// As `config set` takes it and a file keeps it.
    pub fn show(&self) -> String {
        match self {
            SettingValue::Text(text) | SettingValue::Limit(text) => text.clone(),
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
        }
    }

    /// As `config get` prints it: others may look on.
    pub fn show_safely(&self) -> String {
        match self {
            SettingValue::Text(text) => without_password(text),
            other => other.show(),
        }
    }
}

/// An address as people may see it: who is signed in there is nobody else's business.
fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    match host.rsplit_once('@') {
        Some((user, _)) => format!("{scheme}://***{}", &rest[user.len()..]),
        None => text.to_owned(),
    }
}

pub(crate) fn find(name: &str) -> Option<&'static SettingKey> {
    KEYS.iter().find(|key| key.name == name)
}

impl SettingKind {
    /// What it wants to be, in words.
    pub(super) fn wants(self) -> String {
        match self {
            SettingKind::Text => "text".into(),
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
        }
    }

    /// `None`: the value is something else than the key wants.
    pub(super) fn check(self, node: &Node) -> Option<SettingValue> {
        Some(match (self, &node.value) {
            (SettingKind::Text, TreeValue::Text(text)) if !text.trim().is_empty() => {
                SettingValue::Text(text.trim().to_owned())
            }
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
            _ => return None,
        })
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
            | SettingKind::Mode
            | SettingKind::Level
            | SettingKind::Sync
            | SettingKind::Limit(_)
            | SettingKind::OneOf(_) => TreeValue::Text(text.to_owned()),
            SettingKind::Models | SettingKind::Servers | SettingKind::Providers | SettingKind::Slugs(_) => return None,
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

/// The known name that a wrong one probably meant.
pub(super) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    // The last part alone counts too: `retries_max` probably means `retry.retries_max`.
    let tail = |name: &'a str| name.rsplit('.').next().unwrap_or(name);
    let whole = nearest::nearest(wrong, known.clone());
    let by_tail = || nearest::nearest(wrong, known.clone().map(tail));
    whole.or_else(|| by_tail().and_then(|near| known.clone().find(|name| tail(name) == near)))
}
