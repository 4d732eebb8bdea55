//! What the commands take that show or change what is there: sessions, models, tools, settings.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SessionsArgs {
    #[command(subcommand)]
    pub verb: Option<SessionsVerb>,
    #[command(flatten)]
    pub list: SessionsList,
}

/// What `sessions` and `sessions list` take.
#[derive(Args, Debug, Default, Clone)]
pub struct SessionsList {
    /// Only those of this directory and the project around it (`.` is here); all of them without it.
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub workspace: Option<PathBuf>,
    /// Most rows shown.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub limit: usize,
    /// Also those of sub-agents.
    #[arg(short, long)]
    pub all: bool,
    /// One JSON object per session.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand, Debug)]
pub enum SessionsVerb {
    /// Newest first. The same as `sessions` alone.
    #[command(visible_alias = "ls")]
    List(SessionsList),
    /// Find conversations by words of their title or of what was said, newest first.
    Search {
        #[arg(required = true, value_name = "WORDS")]
        words: Vec<String>,
        /// Most sessions shown.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Read a conversation, with the number of each entry.
    Show {
        /// An id, the start or end of one, or `latest`.
        session: String,
        /// One JSON object per message.
        #[arg(long)]
        json: bool,
    },
    /// Write a conversation to a file.
    Export {
        /// An id, the start or end of one, or `latest`.
        session: String,
        /// Ends in .html, .md or .jsonl; `-` is Markdown on stdout; a place of its own without it.
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// What was sent to models instead, without secrets: one JSON object per request.
        #[arg(long, conflicts_with = "file")]
        requests: bool,
        /// Where to write them; stdout without it.
        #[arg(long, requires = "requests", value_name = "FILE", value_hint = ValueHint::FilePath)]
        out: Option<PathBuf>,
    },
    /// Make a new session with everything before one user message.
    Fork {
        /// An id, the start or end of one, or `latest`.
        session: String,
        /// Number of the user message, as `show` prints it; the last one without it.
        #[arg(long, value_name = "ENTRY")]
        at: Option<u64>,
    },
    /// Give a session a title.
    Rename {
        /// An id, the start or end of one, or `latest`.
        session: String,
        #[arg(required = true, value_name = "TITLE")]
        title: Vec<String>,
    },
    /// Delete sessions for good.
    #[command(visible_alias = "rm")]
    Delete {
        /// Ids, or their starts or ends.
        #[arg(required = true, value_name = "SESSION")]
        sessions: Vec<String>,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ModelsArgs {
    #[command(subcommand)]
    pub verb: Option<ModelsVerb>,
    #[command(flatten)]
    pub list: ModelsList,
}

/// What `models` and `models list` take.
#[derive(Args, Debug, Default, Clone)]
pub struct ModelsList {
    /// One JSON object per model.
    #[arg(long)]
    pub json: bool,
    /// Only the models of this provider: anthropic, openai, google, or a name of your own.
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Model to check, as `run --model` would take it.
    #[arg(short, long, value_name = "NAME")]
    pub model: Option<String>,
}

#[derive(Subcommand, Debug)]
pub enum ModelsVerb {
    /// All models of all providers that can be asked; their lists are fetched. The same as `models` alone.
    List(ModelsList),
    /// Everything that is known about one model, and where its key comes from. Asks nobody.
    Show {
        /// A model, an alias or a tier; without it the one that would be used.
        model: Option<String>,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Send one tiny real request: what was sent where, how fast the answer came, what it cost.
    Test {
        /// A model, an alias or a tier; without it the one that would be used.
        #[arg(conflicts_with = "all")]
        model: Option<String>,
        /// Each model of the tiers fast, default, complex and local.
        #[arg(long)]
        all: bool,
    },
}

#[derive(Args, Debug)]
pub struct ToolsArgs {
    /// One JSON object per tool, with the schema of its arguments.
    #[arg(long)]
    pub json: bool,
    /// Also start the servers of the configuration (MCP), and list theirs.
    #[arg(long)]
    pub servers: bool,
}

#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Directory to look at.
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub workspace: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub verb: ConfigVerb,
}

#[derive(Subcommand, Debug)]
pub enum ConfigVerb {
    /// Show one setting, or all of them with their source.
    Get {
        key: Option<String>,
        /// Directory whose settings count.
        #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        workspace: Option<PathBuf>,
    },
    /// Change a setting in your configuration file; comments stay.
    Set { key: String, value: String },
    /// Add to a list in your configuration file; comments stay.
    Add { key: String, value: String },
    /// Take a setting out of your configuration file.
    Unset { key: String },
    /// Print where your configuration file is.
    Path,
    /// Print what can be set, as a JSON Schema.
    Schema,
}

#[derive(Args, Debug)]
pub struct SchemaArgs {
    pub dialect: SchemaOf,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
pub enum SchemaOf {
    Serve,
    Rpc,
    Loaf,
    /// As an OpenRPC document.
    Gateway,
    #[value(hide = true)]
    Acp,
    /// What an extension and its host say to each other.
    Extension,
}

#[derive(Args, Debug)]
pub struct CompletionsArgs {
    pub shell: clap_complete::Shell,
}
