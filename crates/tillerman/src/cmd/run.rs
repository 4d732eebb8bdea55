//! `run "PROMPT"`: one turn, shown as it happens, told by the exit code.

use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use host::FrameLog;
use tokio::io::{AsyncRead, AsyncReadExt};
use vocab::{Fault, FaultKind, Keyring, Mode, Part, Which};

use crate::args;
use crate::beside;
use crate::print::{colours, warning};
use crate::setup::{self, Prepared};
use crate::terminal::{Answers, Face, JsonLines, Paint, People, Side, Size, Talk, Terminal, Window};
use crate::wiring::{self, Lookout, Wired};

/// Piped input longer than this is refused: no model takes it.
const STDIN_BYTES_MAX: usize = 8 * 1024 * 1024;
/// After this long without the end of stdin, a note says what we wait for.
const STDIN_PATIENCE: Duration = Duration::from_secs(2);
/// A person's Ctrl-D or a slow pager must not cut a turn or its output short; Ctrl-C twice does.
pub(super) const GRACE: Duration = Duration::from_secs(24 * 3600);

/// Values of TERM whose terminals the line editor does not know; it would read from a stdin that is not its own.
const PLAIN_TERMINALS: [&str; 3] = ["dumb", "cons25", "emacs"];

/// What the streams are, looked at before the host takes them.
#[derive(Clone)]
pub(super) struct Streams {
    pub(super) stdin_terminal: bool,
    pub(super) stdout_terminal: bool,
    stderr_terminal: bool,
    pub(super) paint: Paint,
    /// The screen that is read, kept at hand: the host moves the descriptors about.
    screen: Option<Arc<OwnedFd>>,
}

impl Streams {
    pub(super) fn look() -> Self {
        let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
        let screen = match (stdout.is_terminal(), stderr.is_terminal()) {
            (true, _) => stdout.as_fd().try_clone_to_owned().ok(),
            (false, true) => stderr.as_fd().try_clone_to_owned().ok(),
            (false, false) => None,
        };
        Self {
            stdin_terminal: std::io::stdin().is_terminal(),
            stdout_terminal: stdout.is_terminal(),
            stderr_terminal: stderr.is_terminal(),
            paint: Paint { on: colours(&stdout) },
            screen: screen.map(Arc::new),
        }
    }

    /// The size of the screen whenever it is asked for: people resize their windows.
    pub(super) fn window(&self) -> Window {
        let screen = self.screen.clone();
        Box::new(move || {
            let size = rustix::termios::tcgetwinsize(screen.as_ref()?).ok()?;
            let size = Size { cols: size.ws_col.into(), rows: size.ws_row.into() };
            // A serial line does not know how large its screen is.
            (size.cols > 0 && size.rows > 0).then_some(size)
        })
    }

    /// Lines can be edited where they are typed. What the editor cannot draw on is read as it is.
    pub(super) fn edits(&self) -> bool {
        let term = std::env::var("TERM").unwrap_or_default();
        let is_plain = PLAIN_TERMINALS.iter().any(|plain| plain.eq_ignore_ascii_case(&term));
        self.stdin_terminal && self.stdout_terminal && !is_plain
    }

    /// Somebody can read a question and type an answer.
    pub(super) fn person(&self) -> bool {
        self.stdin_terminal && (self.stdout_terminal || self.stderr_terminal)
    }

    pub(super) fn people(&self, marks: bool) -> People {
        let side = if self.stdout_terminal { Side::Inline } else { Side::Lines(Box::new(host::note)) };
        People::new(self.paint, side, self.window(), marks)
    }
}

pub(crate) fn run(args: args::Run) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(start(args))
}

async fn start(args: args::Run) -> anyhow::Result<u8> {
    let streams = Streams::look();
    let prepared = prepare(&args.basics, args.continues)?;
    let frame_log = frame_log(&args.basics, &prepared.setup.keyring)?;
    let (mut input, output) = host::take().context("cannot use stdin and stdout")?;
    let prompt = prompt(&args.prompt, &mut input, streams.stdin_terminal).await?;
    let Prepared { setup, config, mut open, home, extensions } = prepared;
    let wired = wiring::build(setup).await?;
    wired.notes.iter().for_each(|line| warning(line));
    // What the name stood for.
    open.model = open.model.map(|_| wired.settings.model.clone());
    let skills = beside::skill_places(&wired, &home, &config);
    let beside = beside::start(&wired, extensions, Some(skills)).await;
    let answers = match () {
        () if args.yes => Answers::AllowAll,
        () if streams.person() && !args.json => Answers::Person,
        () => Answers::Nobody,
    };
    let talk = Talk { open, once: Some(vec![Part::text(prompt)]), answers, bound: args.basics.mode };
    // Kept open: where nobody types, there is no end of input either.
    let (_silence, nothing) = tokio::io::duplex(1);
    let input: Box<dyn AsyncRead + Send + Unpin> =
        if answers == Answers::Person { Box::new(input) } else { Box::new(nothing) };
    let options = host::Options { grace: GRACE, frame_log, signals: true, ..host::Options::default() };
    let code = match args.json {
        true => {
            let provider = wired.ports.provider.clone();
            let prices = JsonLines::with_prices(Box::new(move |slug| provider.resolve(slug).ok()?.prices));
            converse(Terminal::new(talk, prices), wired, input, output, options).await
        }
        false => converse(Terminal::new(talk, streams.people(false)), wired, input, output, options).await,
    };
    beside.shutdown().await;
    code
}

async fn converse<F: Face>(
    terminal: Terminal<F>,
    wired: Wired,
    input: impl AsyncRead + Unpin,
    output: impl tokio::io::AsyncWrite + Unpin,
    options: host::Options,
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
    prepared.setup.lookout = Lookout::Wait;
    prepared.setup.briefing.skills = true;
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

/// The words of the command line, and what is piped in behind them.
async fn prompt(words: &[String], input: &mut host::Input, stdin_terminal: bool) -> anyhow::Result<String> {
    let stdin_alone = matches!(words, [word] if word == "-");
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
