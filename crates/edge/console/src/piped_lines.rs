//! Lines from a pipe or a file, one whenever one is wanted. A line that ends in a backslash goes on in the next.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::mpsc;

use crate::{TYPED_MAX, Typed};
use dialect_terminal::{LINE_JOIN, WantedLine};

pub(crate) fn piped_lines(input: host::Input, typed: mpsc::Sender<Typed>) -> mpsc::Sender<WantedLine> {
    let (wish, wishes) = mpsc::channel(TYPED_MAX);
    tokio::spawn(read(input, wishes, typed));
    wish
}

async fn read(input: impl AsyncRead + Unpin, mut wishes: mpsc::Receiver<WantedLine>, typed: mpsc::Sender<Typed>) {
    let mut lines = BufReader::new(input).lines();
    'wishes: while let Some(mut want) = wishes.recv().await {
        let mut whole = String::new();
        loop {
            match lines.next_line().await {
                Ok(Some(line)) => match line.strip_suffix('\\') {
                    Some(part) => {
                        whole.push_str(part);
                        whole.push(LINE_JOIN);
                    }
                    None => {
                        whole.push_str(&line);
                        break;
                    }
                },
                Ok(None) if whole.is_empty() => break 'wishes,
                Ok(None) => break,
                Err(error) => {
                    host::note(&format!("cannot read stdin: {error}"));
                    break 'wishes;
                }
            }
        }
        // Whatever was wanted meanwhile, it was this line.
        while let Ok(newer) = wishes.try_recv() {
            want = newer;
        }
        let said = if want == WantedLine::Prompt { Typed::Prompt(whole) } else { Typed::Line(whole) };
        if typed.send(said).await.is_err() {
            return;
        }
    }
    let _ = typed.send(Typed::End).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_is_what_was_wanted_last_when_it_came() {
        let (wish, wishes) = mpsc::channel(TYPED_MAX);
        let (typed, mut lines) = mpsc::channel(TYPED_MAX);
        for want in [WantedLine::Prompt, WantedLine::Answer] {
            wish.send(want).await.unwrap();
        }
        tokio::spawn(read(&b"y\nsay \\\nhi\n"[..], wishes, typed));
        assert_eq!(lines.recv().await, Some(Typed::Line("y".into())));
        wish.send(WantedLine::Prompt).await.unwrap();
        assert_eq!(lines.recv().await, Some(Typed::Prompt("say \x1ehi".into())));
        wish.send(WantedLine::Prompt).await.unwrap();
        assert_eq!(lines.recv().await, Some(Typed::End));
    }
}
