//! What is typed, put into the conversation as frames.

use dialect_terminal::{INTERRUPT_LINE, PROMPT_MARK};
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;

use crate::Typed;

/// Bytes between the feeder and the pump.
pub const FEED_BYTES: usize = 64 * 1024;

/// Puts what is typed into the conversation as frames; its end is the end of input.
pub async fn feed_lines(mut lines: mpsc::Receiver<Typed>, mut feed: DuplexStream) {
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
    // Without a keyboard there is no end of input either.
    std::future::pending().await
}
