//! `run "PROMPT"`: one turn, shown as it happens, told by the exit code.

use std::time::Duration;

use anyhow::Context;
use console::{Console, FEED_BYTES, KeyboardUse, StandardStreams, TYPED_MAX, feed_lines, terminal_lines};
use dialect_terminal::{
    AnswerPolicy, BuiltinCommands, JsonRenderer, PriceOf, Renderer, TerminalDialect, TerminalOptions,
};
use host::FrameLog;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use vocab::{Fault, FaultKind, Keyring, Mode, Part, Which};

use crate::args;
use crate::compose::{self, Wired};
use crate::extension_host;
use crate::print::warning;
use crate::setup::{self, Prepared};
use catalogue::Lookout;
use vocab::nearest::nearest;

/// Piped input longer than this is refused: no model takes it.
const STDIN_BYTES_MAX: usize = 8 * 1024 * 1024;
/// After this long without the end of stdin, a note says what we wait for.
const STDIN_PATIENCE: Duration = Duration::from_secs(2);
/// A person's Ctrl-D or a slow pager must not cut a turn or its output short; Ctrl-C twice does.
pub(super) const GRACE: Duration = Duration::from_secs(24 * 3600);

/// The engine's own commands, as a typed line has to know them.
pub(super) const BUILTINS: BuiltinCommands = BuiltinCommands {
    is_builtin: |name| engine::COMMANDS.iter().any(|command| command.name == name),
    nearest: |name| {
        let known = engine::COMMANDS.iter().flat_map(|it| std::iter::once(it.name).chain(it.aliases.iter().copied()));
        nearest(name, known)
    },
};

pub(crate) fn run(args: args::RunArgs) -> anyhow::Result<u8> {
    match super::attached::gateway(args.attach.attach.as_ref())? {
        Some(found) => super::block_on(super::attached::run(&found, args))?,
        None => super::block_on(start(args))?,
    }
}

async fn start(args: args::RunArgs) -> anyhow::Result<u8> {
    let streams = StandardStreams::look();
    let prepared = prepare(&args.basics, args.continues)?;
    let frame_log = frame_log(&args.basics, &prepared.setup.models.keyring)?;
    if streams.stdin_terminal && !is_stdin_alone(&args.prompt) {
        // It is not read; a read from the background would stop the process.
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    }
    let (mut input, output) = host::take().context("cannot use stdin and stdout")?;
    let prompt = prompt(&args.prompt, &mut input, streams.stdin_terminal).await?;
    let Prepared { setup, config, mut open, home, extensions } = prepared;
    let (typed, lines) = mpsc::channel(TYPED_MAX);
    let asks = !args.yes && !args.json;
    let (console, _guard) = match args.json {
        true => Console::none(),
        false => streams
            .console(if asks && streams.draws { KeyboardUse::Answers } else { KeyboardUse::Nothing }, typed.clone())?,
    };
    let sign = (!args.quiet).then_some(LOOKING);
    console.waits(sign);
    let wired = compose::build(setup).await?;
    console.waits(None);
    wired.notes.iter().for_each(|line| warning(line));
    console.waits(sign.map(|_| STARTING));
    // What the name stood for.
    open.model = open.model.map(|_| wired.settings.model.clone());
    let skills = extension_host::skill_places(&wired, &home, &config);
    let extension_host = extension_host::start(&wired, extensions, Some(skills)).await;
    let wishes =
        if asks && !console.has_keyboard() && !streams.draws { terminal_lines(console.clone(), typed) } else { None };
    let answers = match () {
        () if args.yes => AnswerPolicy::AllowAll,
        () if console.has_keyboard() || wishes.is_some() => AnswerPolicy::Person,
        () => AnswerPolicy::Nobody,
    };
    let once = Some(vec![Part::text(prompt)]);
    let terminal = TerminalOptions {
        open,
        once,
        answers,
        way_back: None,
        bound: args.basics.mode,
        is_shared: false,
        builtins: BUILTINS,
    };
    let (feed, reader) = tokio::io::duplex(FEED_BYTES);
    tokio::spawn(feed_lines(lines, feed));
    let options = host::PumpOptions { grace: GRACE, frame_log, signals: true, ..host::PumpOptions::default() };
    console.waits(None);
    console.begins();
    let code = match args.json {
        true => {
            let lines = JsonRenderer::with_prices(price_of(&wired));
            converse(TerminalDialect::new(terminal, lines), wired, reader, output, options).await
        }
        false => {
            let output = streams.output(output, &console, wishes);
            let text = streams.text_renderer(false).with_prices(price_of(&wired));
            let text = if args.quiet { text.quiet() } else { text };
            converse(TerminalDialect::new(terminal, text), wired, reader, output, options).await
        }
    };
    extension_host.shutdown().await;
    code
}

/// Waited for before there is a conversation.
pub(super) const LOOKING: &str = "looking for models";
pub(super) const STARTING: &str = "starting extensions";

pub(super) fn price_of(wired: &Wired) -> PriceOf {
    let provider = wired.ports.provider.clone();
    Box::new(move |slug| provider.resolve(slug).ok()?.prices)
}

async fn converse<R: Renderer>(
    terminal: TerminalDialect<R>,
    wired: Wired,
    input: impl AsyncRead + Unpin,
    output: impl tokio::io::AsyncWrite + Unpin,
    options: host::PumpOptions,
) -> anyhow::Result<u8> {
    let ended = host::pump(terminal, &wired.engine, input, output, options).await;
    wired.engine.shutdown().await;
    Ok(ended.exit_code)
}

/// Settings for a conversation with a person; what is wrong with them is said before anything else.
pub(super) fn prepare(basics: &args::Basics, continues: bool) -> anyhow::Result<Prepared> {
    let mut prepared = setup::prepare(&setup::in_project(basics)?, Mode::Prompt)?;
    prepared.config.warnings.iter().for_each(|line| warning(line));
    // A person does not notice the fifth of a second that a look around takes.
    prepared.setup.models.lookout = Lookout::Wait;
    prepared.setup.briefing.skills = true;
    prepared.setup.briefing.here = std::env::current_dir().ok().and_then(|here| std::fs::canonicalize(here).ok());
    if continues {
        prepared.open.which = Which::Latest;
    }
    // A session that a controller drove may remember full access, with every call put to that controller. Here the mode
    // itself decides, so it is always today's.
    prepared.open.mode = Some(prepared.setup.settings.mode);
    Ok(prepared)
}

pub(super) fn frame_log(basics: &args::Basics, keyring: &Keyring) -> anyhow::Result<Option<FrameLog>> {
    let open = |path: &std::path::PathBuf| {
        FrameLog::open(path, keyring.clone()).with_context(|| format!("cannot write the frame log {}", path.display()))
    };
    basics.log_frames.as_ref().map(open).transpose()
}

pub(super) fn is_stdin_alone(words: &[String]) -> bool {
    matches!(words, [word] if word == "-")
}

/// The words of the command line, and what is piped in behind them.
pub(super) async fn prompt(words: &[String], input: &mut host::Input, stdin_terminal: bool) -> anyhow::Result<String> {
    let stdin_alone = is_stdin_alone(words);
    let words = if stdin_alone { String::new() } else { words.join(" ") };
    let piped = match stdin_terminal && !stdin_alone {
        true => String::new(),
        false => piped(input).await?,
    };
    let prompt = match (words.trim(), piped.trim_end()) {
        ("", "") => {
            let fault = Fault::new(FaultKind::EmptyPrompt, "there is no prompt");
            return Err(fault.hint("tillerman run \"what does this project do?\"").into());
        }
        (words, "") => words.to_owned(),
        ("", piped) => piped.to_owned(),
        (words, piped) => format!("{words}\n\n{piped}"),
    };
    Ok(prompt)
}

async fn piped(input: &mut host::Input) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let mut limited = input.take(STDIN_BYTES_MAX as u64 + 1);
    let mut reading = std::pin::pin!(limited.read_to_end(&mut bytes));
    let read = match tokio::time::timeout(STDIN_PATIENCE, &mut reading).await {
        Ok(read) => read,
        Err(_) => {
            host::note("waiting for the end of stdin, which is added to the prompt; `< /dev/null` skips it");
            reading.await
        }
    };
    read.context("cannot read stdin")?;
    if bytes.len() > STDIN_BYTES_MAX {
        anyhow::bail!("stdin is longer than {STDIN_BYTES_MAX} bytes");
    }
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("stdin is not UTF-8 text"))
}
