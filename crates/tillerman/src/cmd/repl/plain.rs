//! Lines from a pipe or a file, one for each wish. A line that ends in a backslash goes on in the next.

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc;

use super::Typed;
use crate::terminal::{LINE_JOIN, Want};

pub(super) async fn read(input: host::Input, mut wishes: mpsc::Receiver<Want>, typed: mpsc::Sender<Typed>) {
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
        if typed.send(Typed::Line(whole)).await.is_err() {
            return;
        }
    }
    let _ = typed.send(Typed::End).await;
}
