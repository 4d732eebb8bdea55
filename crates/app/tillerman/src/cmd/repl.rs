//! `repl`: line after line. On a terminal they are typed at a console with history and completion, also ahead; otherwise
//! they come from stdin as it is, so that a script can talk too. Either way a line is taken only when the conversation
//! wants one.

mod plain;
mod words;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::args;
use crate::beside;
use crate::compose;
use crate::console::{Console, Held, Keys, Output, TYPED_MAX, Typed, cooked_lines};
use crate::print::warning;
use crate::setup::Prepared;
use crate::terminal::{Answers, Talk, Terminal};

use super::run::{FEED_BYTES, GRACE, LOOKING, STARTING, Streams, feed_lines, frame_log, prepare, price_of};
use words::Words;

pub(crate) fn run(args: args::Repl) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(start(args))?;
    // Somebody may still sit in a read that nothing can end.
    runtime.shutdown_background();
    Ok(code)
}

async fn start(args: args::Repl) -> anyhow::Result<u8> {
    let streams = Streams::look();
    let Prepared { setup, config, mut open, home, extensions } = prepare(&args.basics, args.continues)?;
    let frame_log = frame_log(&args.basics, &setup.models.keyring)?;
    let history = (!args.basics.no_session).then(|| home.history_file());
    let seat = Seat::take(&streams, Keys::All { history })?;
    seat.console.waits(Some(LOOKING));
    let wired = compose::build(setup).await?;
    seat.console.waits(None);
    wired.notes.iter().for_each(|line| warning(line));
    seat.console.waits(Some(STARTING));
    open.model = open.model.map(|_| wired.settings.model.clone());
    let skills = beside::skill_places(&wired, &home, &config);
    let beside = beside::start(&wired, extensions, Some(skills)).await;
    let words = Words::fetch(&wired.ports, wired.engine.extension_commands());
    seat.console.completes_with(Box::new(move |line| words.complete(line)));
    let answers = match () {
        () if args.yes => Answers::AllowAll,
        // A script knows what it answers; a person who cannot read the question does not.
        () if streams.stdin_terminal && !streams.stdout_terminal => Answers::Nobody,
        () => Answers::Person,
    };
    let talk = Talk { open, once: None, answers, kept: !args.basics.no_session, bound: args.basics.mode };
    let terminal = Terminal::new(talk, streams.people(true).with_prices(price_of(&wired)));
    let options = host::Options { grace: GRACE, frame_log, ..host::Options::default() };
    seat.console.waits(None);
    seat.begins();
    let (_held, output, lines) = seat.parts();
    let (feed, reader) = tokio::io::duplex(FEED_BYTES);
    tokio::spawn(feed_lines(lines, feed));
    let ended = host::pump(terminal, &wired.engine, reader, output, options).await;
    wired.engine.shutdown().await;
    beside.shutdown().await;
    Ok(ended.exit_code)
}

/// Where somebody talks line after line: at a console, at a terminal that cannot be drawn on, or through a pipe.
pub(super) struct Seat {
    pub(super) console: Console,
    /// The terminal is given back when this goes.
    held: Held,
    output: Output<host::Output>,
    lines: mpsc::Receiver<Typed>,
    typed: mpsc::Sender<Typed>,
}

impl Seat {
    /// Takes stdin and stdout.
    pub(super) fn take(streams: &Streams, keys: Keys) -> anyhow::Result<Self> {
        let (typed, lines) = mpsc::channel(TYPED_MAX);
        let person = streams.stdin_terminal && (streams.stdout_terminal || matches!(keys, Keys::Answers));
        let keys = if person && streams.draws { keys } else { Keys::Nothing };
        let (console, held) = streams.console(keys, typed.clone())?;
        let mut wishes = match person && !console.has_keyboard() {
            true => cooked_lines(console.clone(), typed.clone()),
            false => None,
        };
        let from_keys = console.has_keyboard() || wishes.is_some();
        if from_keys {
            // A second reader would take every other line.
            rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
        }
        let (input, output) = host::take().context("cannot use stdin and stdout")?;
        if !from_keys {
            wishes = Some(plain::lines_of(input, typed.clone()));
        }
        let output = streams.output(output, &console, wishes);
        Ok(Self { console, held, output, lines, typed })
    }

    /// What holds the terminal, what is written, what is said.
    pub(super) fn parts(self) -> (Held, Output<host::Output>, mpsc::Receiver<Typed>) {
        (self.held, self.output, self.lines)
    }

    /// From here on interrupts are heard where lines are.
    pub(super) fn begins(&self) {
        self.console.begins();
        tokio::spawn(pass_signals(self.console.clone(), self.typed.clone()));
    }
}

/// Ctrl-C interrupts a turn and the conversation goes on; the other two end it in order.
async fn pass_signals(console: Console, typed: mpsc::Sender<Typed>) {
    let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else { return };
    loop {
        let ends = tokio::select! {
            _ = interrupt.recv() => false,
            _ = terminate.recv() => true,
            _ = hangup.recv() => true,
        };
        match console.has_keyboard() && !ends {
            true => console.interrupt(),
            false => drop(typed.send(Typed::Interrupt).await),
        }
        if ends {
            let _ = typed.send(Typed::End).await;
        }
    }
}
