//! The command line as one table; help and shell completions are made from it. Knows no meaning beyond syntax.

mod conversations;
mod examples;
mod gateway;
mod inspection;
mod ledger;
mod sign_in;

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Parser, Subcommand, ValueHint};
use vocab::{Budget, BudgetSpan, BudgetUnit, Mode, OnRestart};

pub use conversations::*;
use examples::*;
pub use gateway::*;
pub use inspection::*;
pub use ledger::*;
pub use sign_in::*;

/// `rpc` has a page of its own: its flags are read by another table.
pub const RPC_HELP: &str = include_str!("rpc_help.txt");

const ABOUT: &str = "A coding agent that you, your editor or your scripts can drive.";

#[derive(Parser, Debug, Default)]
#[command(name = "tillerman", version, about = ABOUT, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Option<CommandArgs>,
    /// Answer once and leave, also where nothing is said but through a pipe.
    #[arg(short, long)]
    pub print: bool,
    /// Without a command.
    #[command(flatten)]
    pub bare: RunArgs,
}

#[derive(Subcommand, Debug)]
pub enum CommandArgs {
    /// Ask once and watch the answer.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Talk in the terminal.
    #[command(after_help = REPL_EXAMPLES)]
    Repl(Repl),
    /// Be driven by a program: one JSON object per line on stdin and stdout.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Be driven by a host of xcsh, oh-my-pi or pi: their `--mode rpc`.
    #[command(override_help = RPC_HELP, disable_help_flag = true)]
    Rpc(RpcArgs),
    /// Be driven by a client of loaf: JSON-RPC 2.0, one message per line on stdin and stdout.
    #[command(after_help = LOAF_EXAMPLES)]
    Loaf(LoafArgs),
    /// Be driven by an editor: the Agent Client Protocol on stdin and stdout.
    #[command(after_help = ACP_EXAMPLES)]
    Acp(AcpArgs),
    /// Hold all sessions in one process, for clients on this machine or elsewhere: WebSocket and HTTP.
    #[command(after_help = GATEWAY_EXAMPLES, args_conflicts_with_subcommands = true)]
    Gateway(GatewayArgs),
    /// Drive an agent that speaks ACP: hermes, opencode, gemini, claude, codex, or ourselves.
    #[command(after_help = DRIVE_EXAMPLES)]
    Drive(Drive),
    /// Find, read, export, fork, rename or delete saved conversations.
    #[command(after_help = SESSIONS_EXAMPLES)]
    Sessions(SessionsArgs),
    /// Show who did what, over all sessions, and check that nothing of it was changed.
    #[command(after_help = AUDIT_EXAMPLES)]
    Audit(AuditArgs),
    /// Show what was used and what it cost: by day, model, session, principal or tool.
    #[command(after_help = USAGE_EXAMPLES)]
    Usage(UsageArgs),
    /// Show which models can be used, which one is chosen, and why.
    #[command(after_help = MODELS_EXAMPLES)]
    Models(ModelsArgs),
    /// Show the tools a model is given, and the permission each of them needs.
    #[command(after_help = TOOLS_EXAMPLES)]
    Tools(ToolsArgs),
    /// Show or change settings.
    #[command(after_help = CONFIG_EXAMPLES)]
    Config(ConfigArgs),
    /// Sign in to an account, or give a key.
    #[command(after_help = LOGIN_EXAMPLES)]
    Login(LoginArgs),
    /// Sign out of an account, or forget a key.
    #[command(after_help = LOGOUT_EXAMPLES)]
    Logout(LogoutArgs),
    /// Show what is signed in.
    #[command(after_help = ACCOUNTS_EXAMPLES)]
    Accounts,
    /// Check what has to work: sessions, disk, configuration, keys, models, servers.
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Print the JSON Schema of a wire dialect.
    #[command(
        after_help = "Examples:\n  tillerman schema serve > serve.schema.json\n  tillerman schema loaf > loaf.schema.json"
    )]
    Schema(SchemaArgs),
    /// Print a completion script for your shell.
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Print the version.
    #[command(after_help = VERSION_EXAMPLES)]
    Version,
}

/// What every conversation can be told.
#[derive(Args, Debug, Default, Clone)]
pub struct Basics {
    /// Model to use: PROVIDER/NAME, an alias, or a tier (fast, default, complex, local); any name when a base URL is set,
    /// `script:FILE` plays recorded turns.
    #[arg(short, long, value_name = "NAME")]
    pub model: Option<String>,
    /// Directory to work in; in a terminal the repository around you without it.
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub workspace: Option<PathBuf>,
    /// What may be done without asking: read-only, plan, prompt, workspace-write, danger-full-access.
    #[arg(long, visible_alias = "permission-mode", value_name = "MODE", value_parser = ModeParser, hide_possible_values = true)]
    pub mode: Option<Mode>,
    /// Read this configuration file instead of your own (.toml, .json, .yaml).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// How much the model thinks before it answers: off, minimal, low, medium, high, xhigh.
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub thinking: Option<&'static str>,
    /// Most tokens of one answer.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    /// Most rounds of tool calls in one turn.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_iterations: Option<u32>,
    /// Replace the built-in system prompt.
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,
    /// Add to the system prompt.
    #[arg(long, value_name = "TEXT")]
    pub append_system_prompt: Option<String>,
    /// Read no AGENTS.md and no CLAUDE.md.
    #[arg(long)]
    pub no_context_files: bool,
    /// Go on with a session: an id, the start or end of one, `latest`, or an exported file.
    #[arg(long, value_name = "SESSION")]
    pub resume: Option<String>,
    /// What becomes of a turn that a crash cut off, when its session is resumed: close (it ends), continue (it goes on).
    #[arg(long, value_name = "RULE", value_parser = on_restart)]
    pub on_restart: Option<OnRestart>,
    /// Ask before more than this is spent: SPAN.WHAT=N, such as turn.usd=1; may be given more than once (docs/budgets.md).
    #[arg(long, value_name = "LIMIT", value_parser = Budget::read_limit)]
    pub budget: Vec<(BudgetSpan, BudgetUnit, u64)>,
    /// Keep the conversation in memory only.
    #[arg(long, conflicts_with = "resume")]
    pub no_session: bool,
    /// Append every frame, both directions and timed, to a file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub log_frames: Option<PathBuf>,
    /// Start this extension beside the conversation; may be given more than once (docs/extensions.md).
    #[arg(short = 'e', long = "extension", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub extensions: Vec<PathBuf>,
    /// Start only the extensions given with -e, none from the configuration.
    #[arg(long)]
    pub no_extensions: bool,
}

fn level(text: &str) -> Result<&'static str, String> {
    let known = vocab::thinking::LEVELS;
    known.into_iter().find(|level| *level == text).ok_or_else(|| format!("there is: {}", known.join(", ")))
}

fn on_restart(text: &str) -> Result<OnRestart, String> {
    OnRestart::parse(text).ok_or_else(|| "there is: close, continue".to_owned())
}

/// Reads a mode in any spelling, and lets a shell complete its names.
#[derive(Clone)]
struct ModeParser;

impl TypedValueParser for ModeParser {
    type Value = Mode;

    fn parse_ref(&self, table: &clap::Command, arg: Option<&Arg>, value: &OsStr) -> Result<Mode, clap::Error> {
        let read = |text: &str| {
            Mode::parse(text).ok_or_else(|| {
                let names: Vec<&str> = Mode::ALL.iter().map(|mode| mode.as_str()).collect();
                format!("there is: {}", names.join(", "))
            })
        };
        read.parse_ref(table, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Mode::ALL.iter().map(|mode| PossibleValue::new(mode.as_str()))))
    }
}
