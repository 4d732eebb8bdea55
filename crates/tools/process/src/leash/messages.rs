//! What the two ends of the control socket say to each other. Pure, except that descriptors ride along.
//!
//! A request goes down (a length with the descriptors attached, then the fields), later at most the byte [`STOP`].
//! Reports of a fixed size come up. After [`Report::Empty`] the next request may follow.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;

use super::pty::TerminalSize;

/// Longest command text. The kernel takes 128 KiB per argument and `bash -c` gets it as one; longer ones are refused.
pub const COMMAND_BYTES_MAX: usize = 100 * 1024;
/// Largest request (command, environment); beyond it the leash refuses and ends.
pub(super) const REQUEST_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Sent to end everything under the leash.
pub(super) const STOP: u8 = b'S';

/// What to run.
#[derive(Clone, Debug)]
pub struct LeashRequest {
    pub command: String,
    /// Where: a handle, which goes along as it is. Renaming directories meanwhile moves no command.
    pub cwd: Arc<OwnedFd>,
    /// The whole environment of the command; nothing else is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// More processes than this under one leash end them all.
    pub pids_max: u32,
    /// Run it on a terminal of this size, as the leader of a session of its own.
    pub terminal: Option<TerminalSize>,
}

impl LeashRequest {
    /// The fields behind the length.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(4096 + self.command.len());
        out.extend_from_slice(&self.pids_max.to_le_bytes());
        // No terminal is one without columns.
        let TerminalSize { cols, rows } = self.terminal.unwrap_or(TerminalSize { cols: 0, rows: 0 });
        out.extend_from_slice(&cols.to_le_bytes());
        out.extend_from_slice(&rows.to_le_bytes());
        field(&mut out, self.command.as_bytes());
        for (name, value) in &self.env {
            field(&mut out, name.as_bytes());
            field(&mut out, value.as_bytes());
        }
        out
    }

    /// `None` when the bytes are not what [`LeashRequest::encode`] makes.
    pub(super) fn decode(mut bytes: &[u8], cwd: OwnedFd) -> Option<LeashRequest> {
        let pids_max = u32::from_le_bytes(take(&mut bytes, 4)?.try_into().ok()?);
        let cols = u16::from_le_bytes(take(&mut bytes, 2)?.try_into().ok()?);
        let rows = u16::from_le_bytes(take(&mut bytes, 2)?.try_into().ok()?);
        let terminal = (cols > 0).then_some(TerminalSize { cols, rows });
        let command = String::from_utf8(take_field(&mut bytes)?.to_vec()).ok()?;
        let mut env = Vec::new();
        while !bytes.is_empty() {
            let name = OsString::from_vec(take_field(&mut bytes)?.to_vec());
            env.push((name, OsString::from_vec(take_field(&mut bytes)?.to_vec())));
        }
        Some(LeashRequest { command, cwd: Arc::new(cwd), env, pids_max, terminal })
    }
}

fn field(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(head)
}

fn take_field<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?);
    take(bytes, len as usize)
}

/// What the leash tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Report {
    /// The command runs with this pid, the leader of its own process group.
    Started(i32),
    /// It could not be started; the operating system's error number.
    Failed(i32),
    /// The direct child exited. `left`: processes it started still run.
    Exited { code: i32, left: bool },
    /// The direct child died of a signal.
    Killed { signal: i32, left: bool },
    /// There were this many processes, more than allowed; all are being ended.
    TooMany(i32),
    /// Nothing is left. A leash that was told to stop ends now; without this report it was killed.
    Empty,
}

impl Report {
    pub(super) const BYTES: usize = 6;

    pub(super) fn encode(self) -> [u8; Self::BYTES] {
        let (tag, value, flag) = match self {
            Report::Started(pid) => (b'P', pid, false),
            Report::Failed(errno) => (b'F', errno, false),
            Report::Exited { code, left } => (b'X', code, left),
            Report::Killed { signal, left } => (b'K', signal, left),
            Report::TooMany(count) => (b'N', count, false),
            Report::Empty => (b'E', 0, false),
        };
        let [a, b, c, d] = value.to_le_bytes();
        [tag, a, b, c, d, u8::from(flag)]
    }

    pub(super) fn decode(frame: [u8; Self::BYTES]) -> Option<Report> {
        let [tag, a, b, c, d, flag] = frame;
        let value = i32::from_le_bytes([a, b, c, d]);
        let left = flag != 0;
        Some(match tag {
            b'P' => Report::Started(value),
            b'F' => Report::Failed(value),
            b'X' => Report::Exited { code: value, left },
            b'K' => Report::Killed { signal: value, left },
            b'N' => Report::TooMany(value),
            b'E' => Report::Empty,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_the_socket() {
        let root = || OwnedFd::from(std::fs::File::open("/").unwrap());
        let fields = |request: LeashRequest| (request.command, request.env, request.pids_max, request.terminal);
        let request = LeashRequest {
            command: "echo 'ü'\n".into(),
            cwd: Arc::new(root()),
            env: vec![("A".into(), "1=2".into()), (OsString::from_vec(vec![0xff]), "".into())],
            pids_max: 7,
            terminal: Some(TerminalSize { cols: 300, rows: 2 }),
        };
        let bytes = request.encode();
        assert_eq!(LeashRequest::decode(&bytes, root()).map(fields), Some(fields(request.clone())));
        let plain = LeashRequest { terminal: None, ..request };
        assert_eq!(LeashRequest::decode(&plain.encode(), root()).map(fields), Some(fields(plain)));
        for cut in 0..bytes.len() {
            // A cut between two environment fields may still be well-formed; it must never panic or invent fields.
            if let Some(part) = LeashRequest::decode(&bytes[..cut], root()) {
                assert!(part.env.len() < 2);
            }
        }
    }

    #[test]
    fn a_report_survives_the_socket() {
        for report in [
            Report::Started(9),
            Report::Failed(2),
            Report::Exited { code: 3, left: true },
            Report::Killed { signal: 9, left: false },
            Report::TooMany(5000),
            Report::Empty,
        ] {
            assert_eq!(Report::decode(report.encode()), Some(report));
        }
        assert_eq!(Report::decode(*b"?12345"), None);
    }
}
