//! Kept connections to the model, one per call that runs.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;

use anyhow::{Context, ensure};
use rustix::event::epoll::{self, EventData, EventFlags};

use super::MODELS;
use crate::relay::Chunk;
use crate::sse::{self, Answer};

const HEAD: &[u8] = br#"{"model":"mock/alpha","stream":true,"stream_options":{"include_usage":true},"messages":["#;

pub(super) struct Models {
    authority: String,
    path: String,
    calls: Vec<Call>,
    idle: Vec<usize>,
    /// Room for what one read brings.
    pub(super) deltas: Vec<String>,
}

struct Call {
    stream: TcpStream,
    answer: Answer,
    session: usize,
}

impl Models {
    pub(super) fn new(base: &str) -> anyhow::Result<Self> {
        let (authority, path) = sse::place(base)?;
        Ok(Self { authority, path, calls: Vec::new(), idle: Vec::new(), deltas: Vec::new() })
    }

    pub(super) fn ask(&mut self, epoll: &OwnedFd, session: usize, history: &[u8]) -> anyhow::Result<()> {
        let at = match self.idle.pop() {
            Some(at) => at,
            None => self.connect(epoll)?,
        };
        let call = &mut self.calls[at];
        call.session = session;
        call.answer.clear();
        let request = sse::request(&self.path, &self.authority, &[HEAD, history, b"]}"]);
        send(&mut call.stream, &request).context("asking the model")
    }

    fn connect(&mut self, epoll: &OwnedFd) -> anyhow::Result<usize> {
        let stream = TcpStream::connect(&self.authority).with_context(|| format!("connect {}", self.authority))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let at = self.calls.len();
        epoll::add(epoll, &stream, EventData::new_u64(MODELS + at as u64), EventFlags::IN)?;
        self.calls.push(Call { stream, answer: Answer::default(), session: 0 });
        Ok(at)
    }

    /// What one read brought: whose it is, and whether the answer is over.
    pub(super) fn read(
        &mut self,
        at: usize,
        scratch: &mut [u8],
        deltas: &mut Vec<String>,
    ) -> anyhow::Result<(usize, bool)> {
        let call = &mut self.calls[at];
        let read = match call.stream.read(scratch) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok((call.session, false));
            }
            read => read.context("reading the model's answer")?,
        };
        ensure!(read > 0, "the model closed the connection");
        call.answer.feed(&scratch[..read]);
        let last = call.answer.events(&mut |event| {
            if event == b"[DONE]" {
                return Ok(());
            }
            let chunk: Chunk<'_> = serde_json::from_slice(event).context("a chunk that is not understood")?;
            let texts = chunk.choices.into_iter().filter_map(|choice| choice.delta.content);
            deltas.extend(texts.filter(|text| !text.is_empty()).map(|text| text.into_owned()));
            Ok(())
        })?;
        if last {
            self.idle.push(at);
        }
        Ok((call.session, last))
    }
}

/// A long history may be more than the system takes at once; then this one write waits.
fn send(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let written = match stream.write(bytes) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        written => written?,
    };
    if written < bytes.len() {
        stream.set_nonblocking(false)?;
        stream.write_all(&bytes[written..])?;
        stream.set_nonblocking(true)?;
    }
    Ok(())
}
