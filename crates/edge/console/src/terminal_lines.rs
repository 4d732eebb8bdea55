//! Lines from a terminal on which nothing can be drawn: it edits and echoes them itself. One for each wish.

use std::io::{BufRead, BufReader};

use tokio::sync::mpsc;

use super::{Console, Typed, screen, tty};
use dialect_terminal::WantedLine;

/// A thread of its own, because it blocks. `None` where there is no terminal, or where it is not our turn.
pub fn terminal_lines(console: Console, typed: mpsc::Sender<Typed>) -> Option<mpsc::Sender<WantedLine>> {
    let (wish, mut wishes) = mpsc::channel(super::TYPED_MAX);
    let tty = tty::keyboard()?;
    rustix::io::ioctl_fionbio(&tty, false).ok()?;
    let read = move || {
        let mut lines = BufReader::new(&tty);
        while let Some(want) = wishes.blocking_recv() {
            // What was typed before a question is no answer to it.
            if want != WantedLine::Prompt {
                tty::forget_typed(&tty);
                lines.consume(lines.buffer().len());
            }
            let _ = console.text(screen::prompt_of(want));
            let mut line = String::new();
            let said = match lines.read_line(&mut line) {
                Ok(count) if count > 0 => {
                    let line = line.trim_end_matches(['\r', '\n']).to_owned();
                    if want == WantedLine::Prompt { Typed::Prompt(line) } else { Typed::Line(line) }
                }
                Ok(_) | Err(_) => Typed::End,
            };
            console.line_ended();
            let ends = said == Typed::End;
            if typed.blocking_send(said).is_err() || ends {
                return;
            }
        }
    };
    std::thread::Builder::new().name("lines".into()).spawn(read).ok()?;
    Some(wish)
}
