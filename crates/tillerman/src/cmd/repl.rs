//! `repl`: line after line. On a terminal lines come from an editor with history and completion; otherwise from stdin as
//! it is, so that a script can talk too. Either way a line is taken only when the conversation wants one.

mod editor;
mod marked;
mod plain;

use std::path::PathBuf;

use tokio::io::AsyncWriteExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::args;
use crate::beside;
use crate::print::warning;
use crate::setup::Prepared;
use crate::terminal::{Answers, INTERRUPT_LINE, Talk, Terminal, Want};
use crate::wiring;

pub(super) use editor::{Screen, forget_typed};

use super::run::{GRACE, Streams, frame_log, prepare};

/// Lines on their way; the source waits for a wish before each, so this never fills.
const LINES_MAX: usize = 16;
/// Bytes between the feeder and the pump.
const FEED_BYTES: usize = 64 * 1024;

/// What a source of lines says.
pub(super) enum Typed {
    Line(String),
    Interrupt,
    End,
}

pub(crate) fn run(args: args::Repl) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(start(args))?;
    // A line editor may still sit in a read that nothing can end.
    runtime.shutdown_background();
    Ok(code)
}

async fn start(args: args::Repl) -> anyhow::Result<u8> {
    let streams = Streams::look();
    let edited = streams.stdin_terminal && streams.stdout_terminal;
    let saved = edited.then(Screen::save).flatten();
    let Prepared { setup, config, mut open, home, extensions } = prepare(&args.basics, args.continues)?;
    let frame_log = frame_log(&args.basics, &setup.keyring)?;
    if edited {
        // The editor opens the terminal itself; a second reader would take every other line from it.
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    }
    let (input, output) = host::take()?;
    let wired = wiring::build(setup).await?;
    wired.notes.iter().for_each(|line| warning(line));
    open.model = open.model.map(|_| wired.settings.model.clone());
    let skills = beside::skill_places(&wired, &home, &config);
    let beside = beside::start(&wired, extensions, Some(skills)).await;
    let (typed, lines) = mpsc::channel(LINES_MAX);
    let (wish, wishes) = mpsc::channel(LINES_MAX);
    if edited {
        let words = editor::Words::fetch(&wired.ports, wired.engine.companion_commands());
        let history = (!args.basics.no_session).then(|| home.history_file());
        editor::spawn(editor::Editor { history, words }, wishes, typed.clone())?;
    } else {
        tokio::spawn(plain::read(input, wishes, typed.clone()));
    }
    tokio::spawn(pass_signals(typed));
    let (feed, reader) = tokio::io::duplex(FEED_BYTES);
    tokio::spawn(feed_lines(lines, feed));
    let answers = if args.yes { Answers::AllowAll } else { Answers::Person };
    let terminal = Terminal::new(Talk { open, once: None, answers, bound: args.basics.mode }, streams.people(true));
    let options = host::Options { grace: GRACE, frame_log, ..host::Options::default() };
    let output = marked::Marked::new(output, wish);
    let ended = host::pump(terminal, &wired.engine, reader, output, options).await;
    wired.engine.shutdown().await;
    beside.shutdown().await;
    if let Some(screen) = saved {
        screen.restore();
    }
    Ok(ended.exit_code)
}

/// Lines for a conversation with somebody else's agent: from the editor, or from stdin as it is. One for each wish.
pub(super) fn lines_of(
    input: host::Input,
    edited: bool,
    history: Option<PathBuf>,
) -> anyhow::Result<(mpsc::Sender<Want>, mpsc::Receiver<Typed>)> {
    let (typed, lines) = mpsc::channel(LINES_MAX);
    let (wish, wishes) = mpsc::channel(LINES_MAX);
    match edited {
        true => editor::spawn(editor::Editor { history, words: editor::Words::default() }, wishes, typed.clone())?,
        false => drop(tokio::spawn(plain::read(input, wishes, typed.clone()))),
    }
    tokio::spawn(pass_signals(typed));
    Ok((wish, lines))
}

/// Puts what is typed into the conversation as frames; its end is the end of input.
async fn feed_lines(mut lines: mpsc::Receiver<Typed>, mut feed: tokio::io::DuplexStream) {
    while let Some(typed) = lines.recv().await {
        let line = match &typed {
            Typed::Line(line) => line.as_bytes(),
            Typed::Interrupt => INTERRUPT_LINE,
            Typed::End => return,
        };
        if feed.write_all(&[line, b"\n"].concat()).await.is_err() {
            return;
        }
    }
}

/// Ctrl-C interrupts a turn and the conversation goes on; the other two end it in order.
async fn pass_signals(typed: mpsc::Sender<Typed>) {
    let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else { return };
    loop {
        let ends = tokio::select! {
            _ = interrupt.recv() => false,
            _ = terminate.recv() => true,
            _ = hangup.recv() => true,
        };
        let _ = typed.send(Typed::Interrupt).await;
        if ends {
            let _ = typed.send(Typed::End).await;
        }
    }
}

/// What is shown in front of the cursor.
pub(super) fn prompt_of(want: Want) -> &'static str {
    match want {
        Want::Prompt => "> ",
        Want::Answer => crate::terminal::CHOICES,
        Want::Line => ": ",
        Want::Choice => "your choice (a number, y, n, ? for more): ",
    }
}
