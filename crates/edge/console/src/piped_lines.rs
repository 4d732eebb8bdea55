//! Lines from a pipe or a file, one whenever one is wanted. A line that ends in a backslash goes on in the next.

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc;

use crate::{TYPED_MAX, Typed};
use dialect_terminal::{LINE_JOIN, WantedLine};

pub(crate) fn piped_lines(input: host::Input, typed: mpsc::Sender<Typed>) -> mpsc::Sender<WantedLine> {
    let (wish, wishes) = mpsc::channel(TYPED_MAX);
    tokio::spawn(read(input, wishes, typed));
    wish
}

async fn read(input: host::Input, mut wishes: mpsc::Receiver<WantedLine>, typed: mpsc::Sender<Typed>) {
    let mut lines = BufReader::new(input).lines();
    'wishes: while wishes.recv().await.is_some() {
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
        while wishes.try_recv().is_ok() {}
        if typed.send(Typed::Line(whole)).await.is_err() {
            return;
        }
    }
    let _ = typed.send(Typed::End).await;
}
