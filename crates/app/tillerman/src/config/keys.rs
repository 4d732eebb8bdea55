//! The one table of settings: reading, `config get`, `config set` and the manual follow it.

use vocab::{McpServer, Mode, SyncLevel, thinking};

use super::slugs::Slugs;
use super::tighten::Way;
use super::tree::{Node, Value};
use crate::nearest;

/// What a value must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Text,
    Mode,
    /// Of [`vocab::thinking`].
    Level,
    Sync,
    /// A whole number in these bounds.
    Count {
        min: u64,
        max: u64,
    },
    Bool,
    Texts,
    /// Tables with `slug` and more; see [`super::models`].
    Models,
    /// Tables of servers by name; see [`super::servers`].
    Servers,
    /// Tables of model servers by name; see [`super::providers`].
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
    Tightens(Way),
    /// A wish, granted where the provider that the user has anyway serves that model; see [`Config::suggestion`].
    ///
    /// [`Config::suggestion`]: super::Config::suggestion
    Suggests,
    /// It names programs: counts only where the user has said that the directory is trusted.
    Trusted,
}

pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(super) kind: Kind,
    pub(super) workspace: Workspace,
    /// The environment variable that overrides it.
    pub(super) env: Option<&'static str>,
    pub(crate) about: &'static str,
}

/// One that is the user's alone, unless its line says otherwise.
const fn key(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, workspace: Workspace::Never, env: None, about }
}

/// One that a workspace may tighten.
const fn tightened(way: Way, key: Key) -> Key {
    Key { workspace: Workspace::Tightens(way), ..key }
}

/// Where the user's accounts are: nobody else chooses who gets a token.
const fn account(name: &'static str, env: &'static str, about: &'static str) -> Key {
    Key { env: Some(env), ..key(name, Kind::Text, about) }
}

const fn count(name: &'static str, min: u64, max: u64, about: &'static str) -> Key {
    key(name, Kind::Count { min, max }, about)
}

/// Longer waits than a day are typing errors.
const DAY_S: u64 = 86_400;
const HOUR_MS: u64 = 3_600_000;
const TOKENS_MAX: u64 = 1_000_000_000;

/// Tool rounds of one turn where nobody says otherwise: no task needs them, and a model that goes round in circles while
/// nobody watches ends there. A person stops it before that with an interrupt.
pub(crate) const ROUNDS_USUAL: u32 = 1000;

pub(crate) const KEYS: &[Key] = &[
    Key {
        env: Some("TILLERMAN_MODEL"),
        workspace: Workspace::Suggests,
        ..key("model", Kind::Text, "Model to use; without it one is detected.")
    },
    Key {
        env: Some("TILLERMAN_MODE"),
        workspace: Workspace::Tightens(Way::Stricter),
        ..key("mode", Kind::Mode, "Permission mode: plan, read-only, prompt, workspace-write, danger-full-access.")
    },
    Key {
        env: Some("OPENAI_BASE_URL"),
        ..key("base_url", Kind::Text, "OpenAI-compatible server, up to and including /v1.")
    },
    // The usual value is the model's and not known here; hardly any model's is less than this.
    tightened(Way::Lower { usual: 4096 }, count("max_tokens", 1, TOKENS_MAX, "Most tokens of one answer.")),
    key("thinking", Kind::Level, "How much the model thinks before it answers."),
    tightened(
        Way::Lower { usual: ROUNDS_USUAL as u64 },
        count("max_iterations", 1, 100_000, "Most rounds of tool calls in one turn."),
    ),
    // A window or a price that is not true spends money or hides it.
    count("context_window", 1_000, TOKENS_MAX, "Context window of models that are not listed."),
    key("models", Kind::Models, "What is known about models: slug, context_window, max_output, prices."),
    key("providers", Kind::Providers, "Model servers by name: api, base_url, where the key is, models."),
    Key {
        env: Some("TILLERMAN_CA_FILE"),
        ..key("ca_file", Kind::Text, "Certificates (PEM) to trust besides the system's, for every server.")
    },
    key("aliases", Kind::Slugs(Slugs::Aliases), "Short names of models of your own."),
    key("tiers", Kind::Slugs(Slugs::Tiers), "What fast, default, complex and local mean: a model, or several."),
    tightened(Way::Safer, key("sync", Kind::Sync, "When records are forced to the disk: turn, record, off.")),
    tightened(
        Way::Lower { usual: 30 },
        count("shutdown_grace_s", 0, DAY_S, "How long a turn may go on after the controller left."),
    ),
    tightened(
        Way::Lower { usual: 120 },
        count("idle_timeout_s", 1, DAY_S, "Longest silence of a model before the call counts as failed."),
    ),
    tightened(Way::Lower { usual: 4 }, count("retry.retries_max", 0, 100, "Retries of one model call.")),
    tightened(
        Way::Raise { usual: 500 },
        count("retry.base_ms", 0, HOUR_MS, "First wait between two tries; it doubles."),
    ),
    // Shorter, it presses a server; longer, it keeps people waiting.
    count("retry.wait_ms_max", 0, HOUR_MS, "Longest wait we choose ourselves."),
    tightened(
        Way::Lower { usual: 120_000 },
        count("retry.server_wait_ms_max", 0, HOUR_MS, "Longest wait a server may ask for."),
    ),
    tightened(Way::On, key("retry.jitter", Kind::Bool, "Spread waits, so that many clients do not return at once.")),
    // Early or late, either way it decides what the model still knows of a conversation, and costs calls.
    key("compaction.auto", Kind::Bool, "Summarise older messages when the context fills up."),
    count("compaction.threshold_pct", 10, 100, "How full, in percent, before that happens."),
    count("compaction.keep_pct", 0, 90, "Percent of the window kept word for word."),
    tightened(Way::Fewer, key("tools.only", Kind::Texts, "Offer only these tools.")),
    Key {
        workspace: Workspace::Trusted,
        ..key("extensions", Kind::Texts, "Programs to start beside every conversation; paths from where the file is.")
    },
    Key {
        workspace: Workspace::Trusted,
        ..key("servers", Kind::Servers, "Servers of tools (MCP) that every session gets, as tables by name.")
    },
    key(
        "trusted_workspaces",
        Kind::Texts,
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
    Key {
        env: Some("TILLERMAN_OAUTH_PORT"),
        ..count("accounts.oauth_port", 0, 65_535, "Port on which a browser comes back from signing in; 0 is any.")
    },
];

/// A checked value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Setting {
    Text(String),
    Mode(Mode),
    Sync(SyncLevel),
    Count(u64),
    Bool(bool),
    Texts(Vec<String>),
    Models(Vec<super::ModelEntry>),
    Servers(Vec<McpServer>),
    Providers(Vec<super::ProviderEntry>),
    /// Names, each with one model or more.
    Slugs(Vec<(String, Vec<String>)>),
}

impl Setting {
    /// As `config get` prints it and `config set` takes it.
    pub(crate) fn show(&self) -> String {
        match self {
            Setting::Text(text) => text.clone(),
            Setting::Mode(mode) => mode.as_str().to_owned(),
            Setting::Sync(level) => level.as_str().to_owned(),
            Setting::Count(number) => number.to_string(),
            Setting::Bool(value) => value.to_string(),
            Setting::Texts(texts) => texts.join(","),
            Setting::Models(models) => models.iter().map(|model| &*model.slug).collect::<Vec<_>>().join(","),
            // What they are given may be secret.
            Setting::Servers(servers) => servers.iter().map(|server| &*server.name).collect::<Vec<_>>().join(","),
            Setting::Providers(entries) => entries.iter().map(|entry| &*entry.name).collect::<Vec<_>>().join(","),
            Setting::Slugs(names) => {
                let shown = |(name, slugs): &(String, Vec<String>)| format!("{name}={}", slugs.join(" "));
                names.iter().map(shown).collect::<Vec<_>>().join(",")
            }
        }
    }
}

pub(crate) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

impl Kind {
    /// What it wants to be, in words.
    pub(super) fn wants(self) -> String {
        match self {
            Kind::Text => "text".into(),
            Kind::Mode => "one of plan, read-only, prompt, workspace-write, danger-full-access".into(),
            Kind::Level => format!("one of {}", thinking::LEVELS.join(", ")),
            Kind::Sync => "one of turn, record, off".into(),
            Kind::Count { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Bool => "true or false".into(),
            Kind::Texts => "a list of names".into(),
            Kind::Models => "a list of tables, each with a slug".into(),
            Kind::Servers => "a table of servers".into(),
            Kind::Providers => "a table of model servers".into(),
            Kind::Slugs(_) => "a table of names and models".into(),
        }
    }

    /// `None`: the value is something else than the key wants.
    pub(super) fn check(self, node: &Node) -> Option<Setting> {
        Some(match (self, &node.value) {
            (Kind::Text, Value::Text(text)) if !text.trim().is_empty() => Setting::Text(text.trim().to_owned()),
            (Kind::Mode, Value::Text(text)) => Setting::Mode(Mode::parse(text.trim())?),
            (Kind::Level, Value::Text(text)) => {
                Setting::Text((*thinking::LEVELS.iter().find(|level| **level == text.trim())?).to_owned())
            }
            // As for `sync`, below.
            (Kind::Level, Value::Bool(false)) => Setting::Text(thinking::OFF.to_owned()),
            (Kind::Sync, Value::Text(text)) => Setting::Sync(SyncLevel::parse(text.trim())?),
            // YAML reads a bare `off` as a word, some writers turn it into false.
            (Kind::Sync, Value::Bool(false)) => Setting::Sync(SyncLevel::Off),
            (Kind::Count { min, max }, Value::Int(number)) => {
                Setting::Count(u64::try_from(*number).ok().filter(|number| (min..=max).contains(number))?)
            }
            (Kind::Bool, Value::Bool(value)) => Setting::Bool(*value),
            (Kind::Texts, Value::List(items)) => Setting::Texts(
                items
                    .iter()
                    .map(|item| match &item.value {
                        Value::Text(text) => Some(text.clone()),
                        _ => None,
                    })
                    .collect::<Option<_>>()?,
            ),
            _ => return None,
        })
    }

    /// A value as it is typed or put into the environment.
    pub(super) fn check_text(self, text: &str) -> Option<Setting> {
        let value = match self {
            Kind::Count { .. } => Value::Int(text.trim().replace('_', "").parse().ok()?),
            Kind::Bool => Value::Bool(match text.trim() {
                "true" | "on" | "yes" => true,
                "false" | "off" | "no" => false,
                _ => return None,
            }),
            Kind::Texts => {
                let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                Value::List(names.map(|name| Node { value: Value::Text(name.to_owned()), line: None }).collect())
            }
            Kind::Text | Kind::Mode | Kind::Level | Kind::Sync => Value::Text(text.to_owned()),
            Kind::Models | Kind::Servers | Kind::Providers | Kind::Slugs(_) => return None,
        };
        self.check(&Node { value, line: None })
    }
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
