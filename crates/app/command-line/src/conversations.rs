//! What the commands take that hold a conversation: with a person, a program, an editor, another agent.

use std::ffi::OsString;
use std::path::PathBuf;

use attach::AttachTo;
use clap::{Args, Subcommand, ValueHint};

use super::{Basics, LoginArgs};

/// Where the conversation is held.
#[derive(Args, Debug, Default, Clone)]
pub struct AttachArgs {
    /// Go on in a gateway that runs, this home's or the one at a URL or socket; `auto` works alone where none runs
    /// (docs/gateway.md).
    #[arg(long, value_name = "PLACE", num_args = 0..=1, require_equals = true, default_missing_value = "here", value_parser = place)]
    pub attach: Option<AttachTo>,
}

fn place(text: &str) -> Result<AttachTo, String> {
    text.parse()
}

#[derive(Args, Debug, Default)]
pub struct RunArgs {
    /// What to do; several words need no quotes. `-` takes it from stdin alone.
    #[arg(value_name = "PROMPT")]
    pub prompt: Vec<String>,
    /// Ask nothing: allow everything or, where --mode is given, what that mode allows.
    #[arg(short, long)]
    pub yes: bool,
    /// One JSON object per event on stdout (docs/cli.md).
    #[arg(long)]
    pub json: bool,
    /// Print the answer alone; only questions and errors are said beside it.
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
    /// Go on with the newest session of this project.
    #[arg(short, long = "continue", conflicts_with_all = ["resume", "no_session"])]
    pub continues: bool,
    #[command(flatten)]
    pub attach: AttachArgs,
    #[command(flatten)]
    pub basics: Basics,
}

#[derive(Args, Debug)]
pub struct Repl {
    /// Ask nothing: allow everything or, where --mode is given, what that mode allows.
    #[arg(short, long)]
    pub yes: bool,
    /// Go on with the newest session of this project.
    #[arg(short, long = "continue", conflicts_with_all = ["resume", "no_session"])]
    pub continues: bool,
    #[command(flatten)]
    pub attach: AttachArgs,
    #[command(flatten)]
    pub basics: Basics,
}

#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Several sessions in one process (protocol 2).
    #[arg(long)]
    pub multi: bool,
    /// How long a running turn may go on after the controller ended.
    #[arg(long, value_name = "SECS")]
    pub shutdown_grace: Option<u64>,
    #[command(flatten)]
    pub attach: AttachArgs,
    #[command(flatten)]
    pub basics: Basics,
}

#[derive(Args, Debug)]
pub struct Drive {
    /// Ask this once and leave.
    #[arg(short, long, value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// One JSON object per event on stdout (docs/client.md).
    #[arg(long, requires = "prompt")]
    pub json: bool,
    /// Allow everything the agent asks for, whatever its mode.
    #[arg(short, long)]
    pub yes: bool,
    /// Deny everything the agent asks for, without asking you.
    #[arg(long, conflicts_with = "yes")]
    pub deny: bool,
    /// Go on with this session of the agent's.
    #[arg(long, value_name = "ID")]
    pub resume: Option<String>,
    /// Model to choose at the start.
    #[arg(short, long, value_name = "NAME")]
    pub model: Option<String>,
    /// Mode of the agent's to choose at the start.
    #[arg(long, value_name = "NAME")]
    pub mode: Option<String>,
    /// Directory to work in; with --ssh and --url one of that machine.
    #[arg(long, visible_alias = "workspace", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,
    /// Run the agent on another machine.
    #[arg(long, value_name = "HOST")]
    pub ssh: Option<String>,
    /// One more word for ssh itself: `--ssh-flag=-p2222`; may be given more than once.
    #[arg(long, value_name = "FLAG", requires = "ssh", allow_hyphen_values = true)]
    pub ssh_flag: Vec<String>,
    /// An agent at an address: ws:// and wss:// by a WebSocket, http:// and https:// by streamable HTTP.
    #[arg(long, value_name = "URL", conflicts_with_all = ["ssh", "command"])]
    pub url: Option<String>,
    /// The variable that has the token for --url.
    #[arg(long, value_name = "NAME", requires = "url", default_value = "TILLERMAN_GATEWAY_TOKEN")]
    pub token_env: String,
    /// Sign in with this method of the agent's first.
    #[arg(long, value_name = "METHOD")]
    pub auth: Option<String>,
    /// Let the agent read and write files through us, inside the directory.
    #[arg(long, conflicts_with = "ssh")]
    pub files: bool,
    /// Let the agent run commands through us.
    #[arg(long, conflicts_with = "ssh")]
    pub terminals: bool,
    /// Write every message, both ways, to a new file, one JSON object per line.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,
    /// Do not send `$/ping` every 30 seconds.
    #[arg(long)]
    pub no_ping: bool,
    /// The agent's command, behind `--`; ourselves without it.
    #[arg(last = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

#[derive(Args, Debug)]
pub struct LoafArgs {
    #[command(flatten)]
    pub attach: AttachArgs,
    #[command(flatten)]
    pub basics: Basics,
}

#[derive(Args, Debug)]
pub struct AcpArgs {
    /// Say only what the published protocol knows; some clients need more.
    #[arg(long, visible_alias = "acp-strict")]
    pub strict: bool,
    #[command(flatten)]
    pub attach: AttachArgs,
    #[command(flatten)]
    pub basics: Basics,
    #[command(subcommand)]
    pub instead: Option<AcpInstead>,
}

/// Clients put the arguments of a terminal sign-in behind the command that they start us with.
#[derive(Subcommand, Debug)]
pub enum AcpInstead {
    /// Sign in to an account, or give a key; as `tillerman login`.
    #[command(hide = true)]
    Login(LoginArgs),
}

/// Read by `cmd::rpc` itself: flags that are unknown here must not keep a host from starting us.
#[derive(Args, Debug)]
pub struct RpcArgs {
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}
