//! The command line as one table; help and shell completions are made from it. Knows no meaning beyond syntax.

mod reading;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Parser, Subcommand, ValueEnum, ValueHint};
use vocab::Mode;

pub(crate) use reading::{line, parse};

const ABOUT: &str = "A coding agent that you, your editor or your scripts can drive.";

const EXAMPLES: &str = "\
Examples:
  tillerman                                    a conversation in this terminal
  tillerman -c                                 go on with the last one of this project
  tillerman \"list the rust files\"              one question, one answer; the same as `tillerman run`
  git diff | tillerman \"review this\"           piped text is added to the prompt
  tillerman -y \"fix the failing test\"          ask nothing, allow everything
  tillerman serve                              speak NDJSON on stdin and stdout
  tillerman doctor                             what works here, and what does not

Exit codes:
  0    it worked
  1    the turn failed: the model or its server gave an error
  2    it could not start: wrong usage, bad configuration, no such session
  3    the turn ended before the work was done: a limit, a refusal, nobody to allow a call
  130  interrupted

Without a key and a local model server the built-in `tour` answers; `tillerman models` says why.";

#[derive(Parser, Debug, Default)]
#[command(name = "tillerman", version, about = ABOUT, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Line {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Answer once and leave, also where nothing is said but through a pipe.
    #[arg(short, long)]
    pub(crate) print: bool,
    /// Without a command.
    #[command(flatten)]
    pub(crate) bare: Run,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Ask once and watch the answer.
    #[command(after_help = RUN_EXAMPLES)]
    Run(Run),
    /// Talk in the terminal.
    #[command(after_help = REPL_EXAMPLES)]
    Repl(Repl),
    /// Be driven by a program: one JSON object per line on stdin and stdout.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Be driven by a host of xcsh, oh-my-pi or pi: their `--mode rpc`.
    #[command(override_help = crate::cmd::rpc::HELP, disable_help_flag = true)]
    Rpc(Rpc),
    /// Be driven by a client of loaf: JSON-RPC 2.0, one message per line on stdin and stdout.
    #[command(after_help = LOAF_EXAMPLES)]
    Loaf(Loaf),
    /// Be driven by an editor: the Agent Client Protocol on stdin and stdout.
    #[command(after_help = ACP_EXAMPLES)]
    Acp(Acp),
    /// Drive an agent that speaks ACP: hermes, opencode, gemini, claude, codex, or ourselves.
    #[command(after_help = DRIVE_EXAMPLES)]
    Drive(Drive),
    /// Find, read, export, fork, rename or delete saved conversations.
    #[command(after_help = SESSIONS_EXAMPLES)]
    Sessions(Sessions),
    /// Show which models can be used, which one is chosen, and why.
    #[command(after_help = MODELS_EXAMPLES)]
    Models(Models),
    /// Show the tools a model is given, and the permission each of them needs.
    Tools(Tools),
    /// Show or change settings.
    #[command(after_help = CONFIG_EXAMPLES)]
    Config(Config),
    /// Sign in to an account, or give a key.
    #[command(after_help = LOGIN_EXAMPLES)]
    Login(Login),
    /// Sign out of an account, or forget a key.
    #[command(after_help = LOGOUT_EXAMPLES)]
    Logout(Logout),
    /// Show what is signed in.
    Accounts,
    /// Check what has to work: sessions, disk, configuration, keys, models, servers.
    Doctor(Doctor),
    /// Print the JSON Schema of a wire dialect.
    #[command(
        after_help = "Examples:\n  tillerman schema serve > serve.schema.json\n  tillerman schema loaf > loaf.schema.json"
    )]
    Schema(Schema),
    /// Print a completion script for your shell.
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(Completions),
    /// Print the version.
    Version,
}

const RUN_EXAMPLES: &str = "\
Examples:
  tillerman run \"what does this project do?\"
  tillerman run \"explain\" < src/main.rs          the file is added to the prompt
  echo \"list the rust files\" | tillerman run -   the prompt comes from stdin alone
  tillerman run \"...\" > answer.md                stdout gets the answer, stderr the rest
  tillerman run --json \"...\" | jq -rj 'select(.type==\"text\").delta'
  tillerman run -c \"and now the tests\"           go on where the last one ended

Permission is asked for on the terminal. Where nobody can be asked the call is denied, and the exit
code is 3. `--yes` allows everything, `--mode workspace-write` changes inside the workspace; with
both, what could leave the workspace (most commands can) is denied without a question.";

const REPL_EXAMPLES: &str = "\
Examples:
  tillerman repl
  tillerman repl --resume latest      or an end of its id, as `tillerman sessions` shows it
  printf '/status\\n/exit\\n' | tillerman repl

Type /help inside. A line that ends in \\ goes on in the next.
Ctrl-C interrupts a turn, Ctrl-D leaves.";

const SERVE_EXAMPLES: &str = "\
Examples:
  tillerman serve --workspace ~/src/project
  tillerman serve --resume latest --log-frames frames.log
  echo '{\"type\":\"prompt\",\"text\":\"hello\"}' | tillerman serve

Every permission is put to the controller. `tillerman schema serve` prints the messages.";

const LOAF_EXAMPLES: &str = "\
Examples:
  tillerman loaf --workspace ~/src/project
  OPENAI_BASE_URL=http://localhost:11434/v1 tillerman loaf --log-frames frames.log
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"system.ping\"}' | tillerman loaf

Nothing is said before the first request. Tools run without asking; `--mode` tightens that, and
what it leaves open is denied. A client opens its sessions itself and resumes chats with
`/history`. `tillerman schema loaf` prints the messages.";

const ACP_EXAMPLES: &str = "\
Examples:
  tillerman acp                          what an editor runs; docs/dialects/acp.md has its settings
  tillerman acp --model sonnet --mode workspace-write
  tillerman acp --log-frames frames.log

Whatever is more than reading is put to the client, unless `--mode` or the client says otherwise.";

const LOGIN_EXAMPLES: &str = "\
Examples:
  tillerman login                      a ChatGPT account: an address to open, here or elsewhere
  tillerman login --device             the same with a code to type, for machines without a browser
  tillerman login openrouter           asks for the key, which is not shown
  tillerman login exa < key.txt        a key from a file; never as an argument

Tokens and keys are kept for you alone; `tillerman accounts` says what is there. docs/auth.md";

const LOGOUT_EXAMPLES: &str = "\
Examples:
  tillerman logout openrouter
  tillerman logout --all               every token and key that is kept here";

const DRIVE_EXAMPLES: &str = "\
Examples:
  tillerman drive -- opencode acp
  tillerman drive -p \"list the rust files\" -- hermes-acp
  tillerman drive --json --yes -p \"fix the test\" -- gemini --acp > events.jsonl
  tillerman drive --ssh me@box --cwd /srv/project -- claude-agent-acp
  tillerman drive --resume SESSION --record talk.jsonl -- opencode acp

Inside, a line is a prompt; /commands lists what the agent knows, /model and /mode show and choose,
/exit leaves. Ctrl-C cancels the turn, twice leaves. Without a command it drives `tillerman acp`.
Permission is asked for on the terminal; where nobody can be asked it is denied. docs/client.md
describes the lines of `--json`. Exit codes are those of `run`.";

const SESSIONS_EXAMPLES: &str = "\
Examples:
  tillerman sessions                           newest first, with as much of each id as names it
  tillerman sessions search rust files         which one was it? words of a title or of what was said
  tillerman sessions show latest
  tillerman sessions export latest talk.html   .html or .md to read, .jsonl to import again
  tillerman sessions export latest -           Markdown on stdout
  tillerman sessions export latest --requests  every request to a model, as it was sent
  tillerman sessions fork latest               a new session with everything before the last prompt";

const MODELS_EXAMPLES: &str = "\
Examples:
  tillerman models                                which one is chosen, and why
  tillerman models list --provider anthropic
  tillerman models show sonnet                    window, prices, levels, where the key comes from
  tillerman models test                           one tiny request: does the key work?
  tillerman models test --all                     the same for every tier
  OPENAI_BASE_URL=http://localhost:11434/v1 tillerman models
  tillerman config set model anthropic/claude-sonnet-5-5

Keys come from ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY,
DEEPSEEK_API_KEY, XAI_API_KEY, MISTRAL_API_KEY, GROQ_API_KEY, or from where [providers.NAME] in your
configuration says. `--model` takes PROVIDER/NAME, an alias (sonnet, gpt, gemini; your own in
[aliases]) or a tier: fast, default, complex, local.";

const CONFIG_EXAMPLES: &str = "\
Examples:
  tillerman config get                   everything, and where it comes from
  tillerman config get model
  tillerman config set mode workspace-write
  tillerman config add trusted_workspaces .
  tillerman config set aliases.mine anthropic/claude-haiku-5-5
  tillerman config unset mode
  tillerman config path

docs/config.md explains every setting. Keys of model servers come from the environment, from a file
or from a command ([providers.NAME]), and are never written here.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(tillerman completions bash)
  tillerman completions zsh > ~/.zfunc/_tillerman
  tillerman completions fish > ~/.config/fish/completions/tillerman.fish";

/// What every conversation can be told.
#[derive(Args, Debug, Default, Clone)]
pub(crate) struct Basics {
    /// Model to use: PROVIDER/NAME, an alias, or a tier (fast, default, complex, local); any name when a base URL is set,
    /// `script:FILE` plays recorded turns.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Directory to work in; in a terminal the repository around you without it.
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// What may be done without asking: read-only, plan, prompt, workspace-write, danger-full-access.
    #[arg(long, visible_alias = "permission-mode", value_name = "MODE", value_parser = ModeParser, hide_possible_values = true)]
    pub(crate) mode: Option<Mode>,
    /// Read this configuration file instead of your own (.toml, .json, .yaml).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// How much the model thinks before it answers: off, minimal, low, medium, high, xhigh.
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) thinking: Option<&'static str>,
    /// Most tokens of one answer.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Most rounds of tool calls in one turn.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_iterations: Option<u32>,
    /// Replace the built-in system prompt.
    #[arg(long, value_name = "TEXT")]
    pub(crate) system_prompt: Option<String>,
    /// Add to the system prompt.
    #[arg(long, value_name = "TEXT")]
    pub(crate) append_system_prompt: Option<String>,
    /// Read no AGENTS.md and no CLAUDE.md.
    #[arg(long)]
    pub(crate) no_context_files: bool,
    /// Go on with a session: an id, the start or end of one, `latest`, or an exported file.
    #[arg(long, value_name = "SESSION")]
    pub(crate) resume: Option<String>,
    /// Keep the conversation in memory only.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) no_session: bool,
    /// Append every frame, both directions and timed, to a file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) log_frames: Option<PathBuf>,
    /// Start this extension beside the conversation; may be given more than once (docs/extensions.md).
    #[arg(short = 'e', long = "extension", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) extensions: Vec<PathBuf>,
    /// Start only the extensions given with -e, none from the configuration.
    #[arg(long)]
    pub(crate) no_extensions: bool,
}

fn level(text: &str) -> Result<&'static str, String> {
    let known = vocab::thinking::LEVELS;
    known.into_iter().find(|level| *level == text).ok_or_else(|| format!("there is: {}", known.join(", ")))
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

#[derive(Args, Debug, Default)]
pub(crate) struct Run {
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
    pub(crate) basics: Basics,
}

#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Several sessions in one process (protocol 2).
    #[arg(long)]
    pub(crate) multi: bool,
    /// How long a running turn may go on after the controller ended.
    #[arg(long, value_name = "SECS")]
    pub(crate) shutdown_grace: Option<u64>,
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
pub(crate) struct Loaf {
    #[command(flatten)]
    pub(crate) basics: Basics,
}

#[derive(Args, Debug)]
pub(crate) struct Acp {
    /// Say only what the published protocol knows; some clients need more.
    #[arg(long, visible_alias = "acp-strict")]
    pub(crate) strict: bool,
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
    Login(Login),
}

/// Read by `cmd::rpc` itself: flags that are unknown here must not keep a host from starting us.
#[derive(Args, Debug)]
pub(crate) struct Rpc {
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) verb: Option<SessionsVerb>,
    #[command(flatten)]
    pub(crate) list: SessionsList,
}

/// What `sessions` and `sessions list` take.
#[derive(Args, Debug, Default, Clone)]
pub(crate) struct SessionsList {
    /// Only those of this directory and the project around it (`.` is here); all of them without it.
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// Most rows shown.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Also those of sub-agents.
    #[arg(short, long)]
    pub(crate) all: bool,
    /// One JSON object per session.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand, Debug)]
pub(crate) enum SessionsVerb {
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
pub(crate) struct Models {
    #[command(subcommand)]
    pub(crate) verb: Option<ModelsVerb>,
    #[command(flatten)]
    pub(crate) list: ModelsList,
}

/// What `models` and `models list` take.
#[derive(Args, Debug, Default, Clone)]
pub(crate) struct ModelsList {
    /// One JSON object per model.
    #[arg(long)]
    pub(crate) json: bool,
    /// Only the models of this provider: anthropic, openai, google, or a name of your own.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Model to check, as `run --model` would take it.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ModelsVerb {
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
pub(crate) struct Tools {
    /// One JSON object per tool, with the schema of its arguments.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also start the servers of the configuration (MCP), and list theirs.
    #[arg(long)]
    pub(crate) servers: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// Directory to look at.
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) verb: ConfigVerb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ConfigVerb {
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
}

#[derive(Args, Debug)]
pub(crate) struct Login {
    #[arg(default_value = "openai")]
    pub(crate) account: SignInTo,
    /// With a code to type, instead of a browser that comes back here.
    #[arg(long)]
    pub(crate) device: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Logout {
    /// Which one; `tillerman accounts` says what is there.
    #[arg(conflicts_with = "all")]
    pub(crate) account: Option<SignInTo>,
    /// All of them, and every key.
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum SignInTo {
    Openai,
    Antigravity,
    /// A key.
    Openrouter,
    /// A key, for the tool web_search.
    Exa,
    // Who asks for these is told where their keys go.
    #[value(hide = true)]
    Anthropic,
    #[value(hide = true, alias = "gemini")]
    Google,
    #[value(hide = true)]
    Deepseek,
    #[value(hide = true)]
    Xai,
    #[value(hide = true)]
    Mistral,
    #[value(hide = true)]
    Groq,
}

#[derive(Args, Debug)]
pub(crate) struct Schema {
    pub(crate) dialect: SchemaOf,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
pub(crate) enum SchemaOf {
    Serve,
    Rpc,
    Loaf,
    #[value(hide = true)]
    Acp,
    /// What an extension and its host say to each other.
    Extension,
}

#[derive(Args, Debug)]
pub(crate) struct Completions {
    pub(crate) shell: clap_complete::Shell,
}
