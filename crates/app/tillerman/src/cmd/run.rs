//! `run "PROMPT"`: one turn, shown as it happens, told by the exit code.

use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use host::FrameLog;
use rustix::fs::FileType;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use vocab::{Fault, FaultKind, Keyring, Mode, Part, Which};

use crate::args;
use crate::beside;
use crate::compose::{self, Wired};
use crate::console::{Console, Held, Keys, Look, Output, Place, TYPED_MAX, Typed, cooked_lines, tty};
use crate::print::{colours, warning};
use crate::setup::{self, Prepared};
use crate::terminal::{
    Answers, Face, INTERRUPT_LINE, JsonLines, PROMPT_MARK, Paint, People, PriceOf, Side, Talk, Terminal, Want, Window,
};
use catalogue::Lookout;

/// Piped input longer than this is refused: no model takes it.
const STDIN_BYTES_MAX: usize = 8 * 1024 * 1024;
/// After this long without the end of stdin, a note says what we wait for.
const STDIN_PATIENCE: Duration = Duration::from_secs(2);
/// A person's Ctrl-D or a slow pager must not cut a turn or its output short; Ctrl-C twice does.
pub(super) const GRACE: Duration = Duration::from_secs(24 * 3600);

/// Values of TERM whose terminals obey no escape sequences: everything is said once there, in lines.
const PLAIN_TERMINALS: [&str; 4] = ["", "dumb", "cons25", "emacs"];

/// What the streams are, looked at before the host takes them.
#[derive(Clone)]
pub(super) struct Streams {
    pub(super) stdin_terminal: bool,
    pub(super) stdout_terminal: bool,
    pub(super) paint: Paint,
    /// The terminal obeys escape sequences.
    pub(super) draws: bool,
    place: Place,
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
        let kind = rustix::fs::fstat(&stdout).map(|it| FileType::from_raw_mode(it.st_mode));
        let place = match kind {
            _ if stdout.is_terminal() => Place::Screen,
            Ok(FileType::Fifo | FileType::Socket) => Place::Pipe,
            _ => Place::File,
        };
        Self {
            stdin_terminal: std::io::stdin().is_terminal(),
            stdout_terminal: stdout.is_terminal(),
            paint: Paint { on: colours(&stdout) },
            draws: std::env::var("TERM").is_ok_and(|term| !PLAIN_TERMINALS.contains(&term.to_lowercase().as_str())),
            place,
            screen: screen.map(Arc::new),
        }
    }

    /// The size of the screen whenever it is asked for: people resize their windows.
    pub(super) fn window(&self) -> Window {
        let screen = self.screen.clone();
        Box::new(move || Some(tty::size(screen.as_ref()?)))
    }

    /// Somebody can read what is asked; whether they can answer, too, is the keyboard's affair.
    pub(super) fn person(&self) -> bool {
        self.stdin_terminal && self.screen.is_some()
    }

    pub(super) fn people(&self, talks: bool) -> People {
        let side = if self.stdout_terminal { Side::Inline } else { Side::Lines };
        People::new(self.paint, side, self.window(), talks)
    }

    /// The console at the screen that is read, if there is one.
    pub(super) fn console(&self, keys: Keys, typed: mpsc::Sender<Typed>) -> std::io::Result<(Console, Held)> {
        let screen = self.screen.as_ref().map(|screen| screen.try_clone()).transpose()?;
        let look = screen.map(|screen| Look { screen, paint: self.paint, draws: self.draws });
        Console::open(look, keys, typed)
    }

    /// What is written through the console. Without a keyboard, lines are asked for through `wishes`.
    pub(super) fn output<W>(&self, inner: W, console: &Console, wishes: Option<mpsc::Sender<Want>>) -> Output<W> {
        Output::new(inner, console.clone(), self.place, wishes)
    }
}

pub(crate) fn run(args: args::RunArgs) -> anyhow::Result<u8> {
    super::block_on(start(args))?
}

async fn start(args: args::RunArgs) -> anyhow::Result<u8> {
    let streams = Streams::look();
    let prepared = prepare(&args.basics, args.continues)?;
    let frame_log = frame_log(&args.basics, &prepared.setup.models.keyring)?;
    if streams.stdin_terminal && !is_stdin_alone(&args.prompt) {
        // It is not read; whoever tries would be stopped in the background.
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    }
    let (mut input, output) = host::take().context("cannot use stdin and stdout")?;
    let prompt = prompt(&args.prompt, &mut input, streams.stdin_terminal).await?;
    let Prepared { setup, config, mut open, home, extensions } = prepared;
    let (typed, lines) = mpsc::channel(TYPED_MAX);
    let asks = !args.yes && !args.json;
    let (console, _held) = match args.json {
        true => Console::none(),
        false => streams.console(if asks && streams.draws { Keys::Answers } else { Keys::Nothing }, typed.clone())?,
    };
    let sign = (!args.quiet).then_some(LOOKING);
    console.waits(sign);
    let wired = compose::build(setup).await?;
    console.waits(None);
    wired.notes.iter().for_each(|line| warning(line));
    console.waits(sign.map(|_| STARTING));
    // What the name stood for.
    open.model = open.model.map(|_| wired.settings.model.clone());
    let skills = beside::skill_places(&wired, &home, &config);
    let beside = beside::start(&wired, extensions, Some(skills)).await;
    let wishes =
        if asks && !console.has_keyboard() && !streams.draws { cooked_lines(console.clone(), typed) } else { None };
    let answers = match () {
        () if args.yes => Answers::AllowAll,
        () if console.has_keyboard() || wishes.is_some() => Answers::Person,
        () => Answers::Nobody,
    };
    let talk = Talk { open, once: Some(vec![Part::text(prompt)]), answers, kept: false, bound: args.basics.mode };
    let (feed, reader) = tokio::io::duplex(FEED_BYTES);
    tokio::spawn(feed_lines(lines, feed));
    let options = host::Options { grace: GRACE, frame_log, signals: true, ..host::Options::default() };
    console.waits(None);
    console.begins();
    let code = match args.json {
        true => {
            let lines = JsonLines::with_prices(price_of(&wired));
            converse(Terminal::new(talk, lines), wired, reader, output, options).await
        }
        false => {
            let output = streams.output(output, &console, wishes);
            let people = streams.people(false).with_prices(price_of(&wired));
            let people = if args.quiet { people.quiet() } else { people };
            converse(Terminal::new(talk, people), wired, reader, output, options).await
        }
    };
    beside.shutdown().await;
    code
}

/// Waited for before there is a conversation.
pub(super) const LOOKING: &str = "looking for models";
pub(super) const STARTING: &str = "starting extensions";

/// Bytes between the feeder and the pump.
pub(super) const FEED_BYTES: usize = 64 * 1024;

/// Puts what is typed into the conversation as frames; its end is the end of input.
pub(super) async fn feed_lines(mut lines: mpsc::Receiver<Typed>, mut feed: tokio::io::DuplexStream) {
    while let Some(typed) = lines.recv().await {
        let (mark, line) = match &typed {
            Typed::Prompt(line) => (PROMPT_MARK, line.as_bytes()),
            Typed::Line(line) => ("", line.as_bytes()),
            Typed::Interrupt => ("", INTERRUPT_LINE),
            Typed::End => return,
        };
        if feed.write_all(&[mark.as_bytes(), line, b"\n"].concat()).await.is_err() {
            return;
        }
    }
    // Where nobody types, there is no end of input either.
    std::future::pending().await
}

pub(super) fn price_of(wired: &Wired) -> PriceOf {
    let provider = wired.ports.provider.clone();
    Box::new(move |slug| provider.resolve(slug).ok()?.prices)
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

fn is_stdin_alone(words: &[String]) -> bool {
    matches!(words, [word] if word == "-")
}

/// The words of the command line, and what is piped in behind them.
async fn prompt(words: &[String], input: &mut host::Input, stdin_terminal: bool) -> anyhow::Result<String> {
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
