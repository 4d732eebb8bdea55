//! The conversation's output: text goes to the screen or on its way, controls go where they belong. A control counts only when
//! everything before it has been written, so a prompt never overtakes an answer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio::sync::mpsc;

use super::Console;
use dialect_terminal::{OutputPiece, ScreenControl, WantedLine, first_piece};

/// Where what is written is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputPlace {
    /// On the console's screen.
    Screen,
    /// By a program, which may write to the same screen.
    Pipe,
    /// Later.
    File,
}

pub struct ConsoleOutput<W> {
    inner: W,
    console: Console,
    place: OutputPlace,
    /// Who is asked for lines where there is no keyboard.
    wishes: Option<mpsc::Sender<WantedLine>>,
}

impl<W> ConsoleOutput<W> {
    pub fn new(inner: W, console: Console, place: OutputPlace, wishes: Option<mpsc::Sender<WantedLine>>) -> Self {
        Self { inner, console, place, wishes }
    }

    fn obey(&self, cue: ScreenControl) {
        match cue {
            ScreenControl::Aside(line) => self.aside(&line),
            ScreenControl::Waits(what) => self.waits(what.as_deref()),
            ScreenControl::Want(want) => self.want(want),
        }
    }

    /// A line beside the answer.
    pub fn aside(&self, line: &str) {
        self.console.aside(line);
    }

    pub fn waits(&self, what: Option<&str>) {
        self.console.waits(what);
    }

    pub fn want(&self, want: WantedLine) {
        match &self.wishes {
            // The reader of wishes gone means that no line will come; the end of input is told another way.
            Some(wishes) => drop(wishes.try_send(want)),
            None => self.console.want(want),
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for ConsoleOutput<W> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match first_piece(bytes) {
            None => Poll::Ready(Ok(0)),
            Some((OutputPiece::Control(cue), used)) => {
                self.obey(cue);
                Poll::Ready(Ok(used))
            }
            Some((OutputPiece::Text(text), used)) if self.place == OutputPlace::Screen && self.console.exists() => {
                Poll::Ready(self.console.text(&String::from_utf8_lossy(text)).map(|()| used))
            }
            Some((OutputPiece::Text(text), _)) => {
                if self.place == OutputPlace::Pipe {
                    self.console.shares_screen();
                }
                Pin::new(&mut self.inner).poll_write(context, text)
            }
        }
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn wishes_are_heard_and_the_rest_is_written() {
        let (wishes, mut wished) = mpsc::channel(4);
        let mut output = ConsoleOutput::new(Vec::new(), Console::default(), OutputPlace::File, Some(wishes));
        output.write_all(b"one\x05two\n\x06\x0ewtour\x0f\x05").await.unwrap();
        assert_eq!(output.inner, b"onetwo\n");
        let all: Vec<WantedLine> = std::iter::from_fn(|| wished.try_recv().ok()).collect();
        assert_eq!(all, [WantedLine::Prompt, WantedLine::Answer, WantedLine::Prompt]);
    }
}
