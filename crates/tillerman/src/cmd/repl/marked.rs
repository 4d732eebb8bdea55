//! An output that notices the marks with which the conversation asks for a line. A mark counts only when everything
//! before it has been written, so a prompt never overtakes an answer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio::sync::mpsc;

use crate::terminal::{MARK_ANSWER, MARK_LINE, MARK_PROMPT, Want};

pub(super) struct Marked<W> {
    inner: W,
    wishes: mpsc::Sender<Want>,
}

impl<W> Marked<W> {
    pub(super) fn new(inner: W, wishes: mpsc::Sender<Want>) -> Self {
        Self { inner, wishes }
    }
}

fn mark(byte: u8) -> Option<Want> {
    match byte {
        MARK_PROMPT => Some(Want::Prompt),
        MARK_ANSWER => Some(Want::Answer),
        MARK_LINE => Some(Want::Line),
        _ => None,
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Marked<W> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match bytes.iter().position(|byte| mark(*byte).is_some()) {
            Some(0) => {
                // The reader of wishes gone means that no line will come; the end of input is told another way.
                let _ = mark(bytes[0]).map(|want| self.wishes.try_send(want));
                Poll::Ready(Ok(1))
            }
            Some(at) => Pin::new(&mut self.inner).poll_write(context, &bytes[..at]),
            None => Pin::new(&mut self.inner).poll_write(context, bytes),
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
    async fn marks_become_wishes_and_the_rest_is_written() {
        let (wishes, mut wished) = mpsc::channel(4);
        let mut marked = Marked::new(Vec::new(), wishes);
        marked.write_all(b"one\x05two\n\x06\x05").await.unwrap();
        assert_eq!(marked.inner, b"onetwo\n");
        let all: Vec<Want> = std::iter::from_fn(|| wished.try_recv().ok()).collect();
        assert_eq!(all, [Want::Prompt, Want::Answer, Want::Prompt]);
    }
}
