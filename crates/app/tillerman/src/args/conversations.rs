//! What the commands take that hold a conversation: with a person, a program, an editor, another agent.

use std::ffi::OsString;
use std::path::PathBuf;

use attach::AttachTo;
use clap::{Args, Subcommand, ValueHint};

use super::{Basics, LoginArgs};

/// Where the conversation is held.
#[derive(Args, Debug, Default, Clone)]
pub(crate) struct AttachArgs {
    /// Go on in a gateway that runs, this home's or the one at a URL or socket; `auto` works alone where none runs
    /// (docs/gateway.md).
    #[arg(long, value_name = "PLACE", num_args = 0..=1, require_equals = true, default_missing_value = "here", value_parser = place)]
    pub(crate) attach: Option<AttachTo>,
}

fn place(text: &str) -> Result<AttachTo, String> {
    text.parse()
}

#[derive(Args, Debug, Default)]
pub(crate) struct RunArgs {
    /// What to do; several words need no quotes. `-` takes it from stdin alone.
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,
    /// Ask nothing: allow everything or, where --mode is given, what that mode allows.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// One JSON object per event on stdout (docs/cli.md).
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the answer alone; only questions and errors are said beside it.
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Go on with the newest session of this project.
    #[arg(short, long = "continue", conflicts_with_all = ["resume", "no_session"])]
    pub(crate) continues: bool,
    #[command(flatten)]
    pub(crate) attach: AttachArgs,
    #[command(flatten)]
    pub(crate) basics: Basics,
}

#[derive(Args, Debug)]
pub(crate) struct Repl {
    /// Ask nothing: allow everything or, where --mode is given, what that mode allows.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Go on with the newest session of this project.
    #[arg(short, long = "continue", conflicts_with_all = ["resume", "no_session"])]
    pub(crate) continues: bool,
    #[command(flatten)]
    pub(crate) attach: AttachArgs,
    #[command(flatten)]
    pub(crate) basics: Basics,
}

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Several sessions in one process (protocol 2).
    #[arg(long)]
    pub(crate) multi: bool,
    /// How long a running turn may go on after the controller ended.
    #[arg(long, value_name = "SECS")]
    pub(crate) shutdown_grace: Option<u64>,
    #[command(flatten)]
    pub(crate) attach: AttachArgs,
    #[command(flatten)]
    pub(crate) basics: Basics,
}

#[derive(Args, Debug)]
pub(crate) struct Drive {
    /// Ask this once and leave.
    #[arg(short, long, value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// One JSON object per event on stdout (docs/client.md).
    #[arg(long, requires = "prompt")]
    pub(crate) json: bool,
    /// Allow everything the agent asks for, whatever its mode.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Deny everything the agent asks for, without asking you.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) deny: bool,
    /// Go on with this session of the agent's.
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// Model to choose at the start.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Mode of the agent's to choose at the start.
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// Directory to work in; with --ssh one of that machine.
    #[arg(long, visible_alias = "workspace", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Run the agent on another machine.
    #[arg(long, value_name = "HOST")]
    pub(crate) ssh: Option<String>,
    /// One more word for ssh itself: `--ssh-flag=-p2222`; may be given more than once.
    #[arg(long, value_name = "FLAG", requires = "ssh", allow_hyphen_values = true)]
    pub(crate) ssh_flag: Vec<String>,
    /// Sign in with this method of the agent's first.
    #[arg(long, value_name = "METHOD")]
    pub(crate) auth: Option<String>,
    /// Let the agent read and write files through us, inside the directory.
    #[arg(long, conflicts_with = "ssh")]
    pub(crate) files: bool,
    /// Let the agent run commands through us.
    #[arg(long, conflicts_with = "ssh")]
    pub(crate) terminals: bool,
    /// Write every message, both ways, to a new file, one JSON object per line.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,
    /// Do not send `$/ping` every 30 seconds.
    #[arg(long)]
    pub(crate) no_ping: bool,
    /// The agent's command, behind `--`; ourselves without it.
    #[arg(last = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct LoafArgs {
    #[command(flatten)]
    pub(crate) attach: AttachArgs,
    #[command(flatten)]
    pub(crate) basics: Basics,
}

#[derive(Args, Debug)]
pub(crate) struct AcpArgs {
    /// Say only what the published protocol knows; some clients need more.
    #[arg(long, visible_alias = "acp-strict")]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) attach: AttachArgs,
    #[command(flatten)]
    pub(crate) basics: Basics,
    #[command(subcommand)]
    pub(crate) instead: Option<AcpInstead>,
}

/// Clients put the arguments of a terminal sign-in behind the command that they start us with.
#[derive(Subcommand, Debug)]
pub(crate) enum AcpInstead {
    /// Sign in to an account, or give a key; as `tillerman login`.
    #[command(hide = true)]
    Login(LoginArgs),
}

/// Read by `cmd::rpc` itself: flags that are unknown here must not keep a host from starting us.
#[derive(Args, Debug)]
pub(crate) struct RpcArgs {
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}
