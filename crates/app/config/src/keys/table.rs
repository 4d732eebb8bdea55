//! The rows: what can be set, what it must be, and who may set it.

use vocab::BudgetUnit;

use super::super::lanes;
use super::super::slugs::Slugs;
use super::super::tighten::Tightening;
use super::{SettingKey, SettingKind, Workspace};

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
const WEEK_S: u64 = 7 * DAY_S;
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
    key("compaction.proactive.enabled", SettingKind::Bool, "Whether the gateway says how full contexts are."),
    count("compaction.proactive.warn_pct", 1, 100, "From how full on, in percent, it says so."),
    count("compaction.proactive.checkpoint_pct", 1, 100, "From how full on it keeps a checkpoint of the session."),
    count("compaction.proactive.auto_compact_pct", 10, 100, "How full, at most, before older messages are summarised."),
    count("compaction.proactive.checkpoint_cooldown_ms", 0, DAY_S * 1_000, "Least time between two checkpoints."),
    key("compaction.proactive.memory_namespace", SettingKind::Text, "What names of checkpoints begin with."),
    tightened(Tightening::Fewer, key("tools.only", SettingKind::Texts, "Offer only these tools.")),
    key("tools.auto_approve", SettingKind::Texts, "Tools that the gateway runs without a question."),
    key("tools.confirm", SettingKind::Texts, "Tools that the gateway asks about, whatever the mode."),
    key("tools.deny", SettingKind::Texts, "Tools that the gateway never runs."),
    count("tools.ask_keep_s", 1, WEEK_S, "How long a question of the gateway stays open while nobody is there."),
    count("agent.stall_timeout_s", 1, DAY_S, "How long a run of the gateway may make no progress before it ends."),
    key("server.host", SettingKind::Text, "Address on which the gateway listens."),
    count("server.port", 0, 65_535, "Port on which the gateway listens; 0 is any."),
    key("server.token", SettingKind::Secret, "What a caller of the gateway has to show."),
    key("server.auth_http", SettingKind::Bool, "Whether reading its health, numbers and schema wants the token, too."),
    key("server.tailscale_identity", SettingKind::Bool, "Believe who `tailscale serve` says is calling."),
    key("server.tailscale_trust_header", SettingKind::Bool, "Believe it without asking `tailscale whois`."),
    key("server.tailscale_allowed_logins", SettingKind::Texts, "Only these logins, where any are listed."),
    key("server.allowed_origins", SettingKind::Texts, "Web pages that may call the gateway besides its own."),
    key("server.hostnames", SettingKind::Texts, "Names besides the address under which the gateway is reached."),
    count("server.max_body_bytes", 1_024, 64 * 1024 * 1024, "Longest body of an HTTP request."),
    count("server.max_concurrent_runs", 1, 10_000, "Runs of the gateway at the same time; others wait."),
    key(
        "server.on_disconnect",
        SettingKind::OneOf(&["continue", "cancel"]),
        "What becomes of a run whose caller is gone: continue, cancel.",
    ),
    count("acp.connection_grace_s", 1, DAY_S, "How long an ACP connection over HTTP is kept that nobody uses."),
    key("acp.remote_client_fs", SettingKind::Bool, "Use the files and terminals of ACP clients on other machines."),
    count("server.shutdown_grace_ms", 0, HOUR_MS, "How long runs may go on when the gateway is told to end."),
    key("server.tls.cert", SettingKind::Text, "Certificates of the gateway (PEM); paths from where the file is."),
    key("server.tls.key", SettingKind::Text, "The file with the private key that belongs to them."),
    key("server.queue.mode", SettingKind::OneOf(&lanes::MODES), "What a message does that comes while a run is on."),
    count("server.queue.cap", 1, lanes::CAP_MAX, "Messages that may wait for one session."),
    key("server.queue.overflow", SettingKind::OneOf(&lanes::OVERFLOWS), "Which one goes when there are more."),
    count("server.queue.debounce_ms", 0, lanes::DEBOUNCE_MS_MAX, "Pause after the last message before the next run."),
    key("server.queue.summarize_overflow", SettingKind::Bool, "Tell the next run what was dropped."),
    key("server.queue.coalesce", SettingKind::OneOf(&lanes::COALESCES), "Make one run of all that wait."),
    key("server.queue.resume_after_restart", SettingKind::Bool, "Run what waited when the process ended."),
    key("server.queue.overrides.channels", SettingKind::Lanes, "Other rules for a channel, as tables by its name."),
    key("server.queue.overrides.sessions", SettingKind::Lanes, "Other rules for a session, as tables by its id."),
    key("server.nodes.enabled", SettingKind::Bool, "Whether companion devices may register."),
    key("server.nodes.allowed_roles", SettingKind::Texts, "What they may register as."),
    key("server.nodes.location.enabled", SettingKind::Bool, "Whether they may say where they are."),
    key("server.nodes.push.enabled", SettingKind::Bool, "Whether they may leave a push token."),
    key("server.dashboard.enabled", SettingKind::Bool, "Whether `/` of the gateway is a page for browsers."),
    key("server.dashboard.public_shell", SettingKind::Bool, "Whether that page, empty, is given to who has no token."),
    key("server.feature_gates", SettingKind::Gates, "Features by name, each true or false."),
    count("server.presence.online_ms", 1_000, DAY_S * 1_000, "How long after a message its sender counts as online."),
    key("pairing.enabled", SettingKind::Bool, "Whether codes are given out by which unknown senders are let in."),
    count("pairing.code_ttl_s", 10, DAY_S, "How long such a code is good."),
    count("pairing.code_length", 6, 16, "Characters of such a code."),
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
