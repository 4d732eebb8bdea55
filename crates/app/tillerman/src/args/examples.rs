//! What stands below the help of each command.

pub(super) const EXAMPLES: &str = "\
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

pub(super) const AUDIT_EXAMPLES: &str = "\
Examples:
  tillerman audit                              what was done last, by whom
  tillerman audit --by user:ann --json
  tillerman audit verify                       prints a head; keep it elsewhere
  tillerman audit verify --head HEAD           later: whether lines were cut off

What was said is not in the audit; the session's log has it.";

pub(super) const USAGE_EXAMPLES: &str = "\
Examples:
  tillerman usage                              the last 30 days, day by day
  tillerman usage --by model --days 7
  tillerman usage --by tool

Deleted sessions are counted: they were paid for. Costs are by the prices of the day.";

pub(super) const RUN_EXAMPLES: &str = "\
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

pub(super) const REPL_EXAMPLES: &str = "\
Examples:
  tillerman repl
  tillerman repl --resume latest      or an end of its id, as `tillerman sessions` shows it
  printf '/status\\n/exit\\n' | tillerman repl

Type /help inside. A line that ends in \\ goes on in the next.
Ctrl-C interrupts a turn, Ctrl-D leaves.";

pub(super) const SERVE_EXAMPLES: &str = "\
Examples:
  tillerman serve --workspace ~/src/project
  tillerman serve --resume latest --log-frames frames.log
  echo '{\"type\":\"prompt\",\"text\":\"hello\"}' | tillerman serve

Every permission is put to the controller. `tillerman schema serve` prints the messages.";

pub(super) const LOAF_EXAMPLES: &str = "\
Examples:
  tillerman loaf --workspace ~/src/project
  OPENAI_BASE_URL=http://localhost:11434/v1 tillerman loaf --log-frames frames.log
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"system.ping\"}' | tillerman loaf

Nothing is said before the first request. Tools run without asking; `--mode` tightens that, and
what it leaves open is denied. A client opens its sessions itself and resumes chats with
`/history`. `tillerman schema loaf` prints the messages.";

pub(super) const ACP_EXAMPLES: &str = "\
Examples:
  tillerman acp                          what an editor runs; docs/dialects/acp.md has its settings
  tillerman acp --model sonnet --mode workspace-write
  tillerman acp --log-frames frames.log

Whatever is more than reading is put to the client, unless `--mode` or the client says otherwise.";

pub(super) const LOGIN_EXAMPLES: &str = "\
Examples:
  tillerman login                      a ChatGPT account: an address to open, here or elsewhere
  tillerman login --device             the same with a code to type, for machines without a browser
  tillerman login openrouter           asks for the key, which is not shown
  tillerman login exa < key.txt        a key from a file; never as an argument

Tokens and keys are kept for you alone; `tillerman accounts` says what is there. docs/auth.md";

pub(super) const LOGOUT_EXAMPLES: &str = "\
Examples:
  tillerman logout openrouter
  tillerman logout --all               every token and key that is kept here";

pub(super) const DRIVE_EXAMPLES: &str = "\
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

pub(super) const SESSIONS_EXAMPLES: &str = "\
Examples:
  tillerman sessions                           newest first, with as much of each id as names it
  tillerman sessions search rust files         which one was it? words of a title or of what was said
  tillerman sessions show latest
  tillerman sessions export latest talk.html   .html or .md to read, .jsonl to import again
  tillerman sessions export latest -           Markdown on stdout
  tillerman sessions export latest --requests  every request to a model, as it was sent
  tillerman sessions fork latest               a new session with everything before the last prompt";

pub(super) const MODELS_EXAMPLES: &str = "\
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

pub(super) const CONFIG_EXAMPLES: &str = "\
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

pub(super) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(tillerman completions bash)
  tillerman completions zsh > ~/.zfunc/_tillerman
  tillerman completions fish > ~/.config/fish/completions/tillerman.fish";

pub(super) const TOOLS_EXAMPLES: &str = "\
Examples:
  tillerman tools                        every tool, and the permission it needs
  tillerman tools --json | jq -r .name";

pub(super) const ACCOUNTS_EXAMPLES: &str = "\
Examples:
  tillerman accounts                     what is signed in, and until when
  tillerman login                        signs in to another one";

pub(super) const DOCTOR_EXAMPLES: &str = "\
Examples:
  tillerman doctor                       what works here, and what does not
  tillerman doctor --workspace ~/src/project";

pub(super) const VERSION_EXAMPLES: &str = "\
Examples:
  tillerman version
  tillerman --version                    the same";
