//! A dialect over a pipe in memory: the real host and engine, lines in and lines out.

use std::time::Duration;

use engine::Engine;
use host::Ended;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use wire::Dialect;

/// What the pipe holds before the writer waits.
const PIPE_BYTES: usize = 1 << 20;

pub struct Pipe {
    from: ReadHalf<DuplexStream>,
    into: Option<WriteHalf<DuplexStream>>,
    /// The beginning of a line whose end has not come yet.
    rest: Vec<u8>,
    host: JoinHandle<Ended>,
}

impl Pipe {
    pub fn new<D: Dialect + 'static>(engine: &Engine, dialect: D, options: host::PumpOptions<D::Own>) -> Self {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let (reader, writer) = tokio::io::split(theirs);
        let engine = engine.clone();
        let host = tokio::spawn(async move { host::pump(dialect, &engine, reader, writer, options).await });
        let (from, into) = tokio::io::split(ours);
        Self { from, into: Some(into), rest: Vec::new(), host }
    }

    pub async fn send(&mut self, line: &str) {
        let into = self.into.as_mut().expect("nothing is sent after EOF");
        // A host that has ended does not read any more; what that looks like is the test's to say.
        let _ = into.write_all(format!("{line}\n").as_bytes()).await;
    }

    /// No more input.
    pub async fn eof(&mut self) {
        if let Some(mut into) = self.into.take() {
            let _ = into.shutdown().await;
        }
    }

    /// The lines that arrive until nothing has come for `quiet`.
    pub async fn heard(&mut self, quiet: Duration) -> Vec<String> {
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(Ok(count)) = tokio::time::timeout(quiet, self.from.read(&mut chunk)).await {
            if count == 0 {
                break;
            }
            self.rest.extend_from_slice(&chunk[..count]);
        }
        self.whole_lines()
    }

    /// The lines that arrive up to one that is wanted, and those behind it that are there already. Waits without a clock:
    /// with time paused, a limit would be over before a real process has begun.
    pub async fn until(&mut self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let mut chunk = vec![0; 64 * 1024];
        let mut lines = Vec::new();
        loop {
            let fresh = self.whole_lines();
            let found = fresh.iter().any(|line| wanted(line));
            lines.extend(fresh);
            if found {
                return lines;
            }
            loop {
                let count = self.from.read(&mut chunk).await.unwrap_or(0);
                assert!(count > 0, "it ended, and what was waited for is not among {lines:?}");
                self.rest.extend_from_slice(&chunk[..count]);
                if chunk[..count].contains(&b'\n') {
                    break;
                }
            }
        }
    }

    fn whole_lines(&mut self) -> Vec<String> {
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let bytes: Vec<u8> = self.rest.drain(..whole).collect();
        let text = String::from_utf8(bytes).expect("output is strict UTF-8");
        text.split_terminator('\n').map(str::to_owned).collect()
    }

    /// How it ended, if it did; nothing may be left of an unfinished line then.
    pub async fn ended(self) -> Option<Ended> {
        if !self.host.is_finished() {
            return None;
        }
        assert!(self.rest.is_empty(), "the output ends in the middle of a line");
        Some(self.host.await.expect("the host does not panic"))
    }
}
