//! `--log-frames FILE`: both directions, timed. Debugger, bug report and next golden test in one.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;
use vocab::Keyring;

use crate::pump::Tap;

/// Frames longer than this are cut in the log; the wire is not.
const LOGGED_BYTES_MAX: usize = 1024 * 1024;

pub struct FrameLog {
    file: BufWriter<File>,
    since: Instant,
    keyring: Keyring,
    /// Keys that a client handed over in a frame: it is logged before anybody has learnt them.
    handed: Keyring,
}

impl FrameLog {
    /// Appends to `path`, which only its owner may read: frames hold whatever was said.
    /// Keys in them show as `***`.
    pub fn open(path: &Path, keyring: Keyring) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        Ok(Self { file: BufWriter::new(file), since: Instant::now(), keyring, handed: Keyring::default() })
    }

    fn line(&mut self, direction: u8, line: &[u8]) {
        let ms = self.since.elapsed().as_secs_f64() * 1000.0;
        // First the keys, then the cut: half a key is one too many.
        let mut line = Cow::Borrowed(line);
        for keyring in [&self.keyring, &self.handed] {
            if keyring.is_in(&line) {
                line = Cow::Owned(keyring.scrub(&String::from_utf8_lossy(&line)).into_owned().into_bytes());
            }
        }
        let shown = &line[..line.len().min(LOGGED_BYTES_MAX)];
        // A log that cannot be written must not disturb the conversation.
        let _ = write!(self.file, "{ms:12.3} {} ", char::from(direction));
        let _ = self.file.write_all(shown);
        let _ = self.file.write_all(b"\n");
        let _ = self.file.flush();
    }
}

impl Tap for FrameLog {
    fn inbound(&mut self, frame: &[u8]) {
        if let Ok(frame) = serde_json::from_slice(frame) {
            learn_secrets(&frame, &self.handed);
        }
        self.line(b'>', frame);
    }

    fn outbound(&mut self, frame: &[u8]) {
        // A piece of a terminal's text may hold lines; a frame of a protocol is one.
        for line in frame.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            self.line(b'<', line);
        }
    }
}

/// Whether what goes by this name is a key: `api_key`, `apiKey`, `Authorization`, `GITHUB_TOKEN`.
fn is_secret_name(name: &str) -> bool {
    const ENDS: [&str; 8] =
        ["apikey", "accesskey", "secretkey", "token", "secret", "password", "authorization", "credential"];
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    ENDS.iter().any(|end| name.ends_with(end))
}

/// Learns every text that a member with such a name has, and those of `{"name": ..., "value": ...}`, as variables and headers
/// are written. The value of a header is learnt whole and without its scheme (`Bearer`).
fn learn_secrets(value: &Value, into: &Keyring) {
    let learn = |text: &str| {
        into.learn(text);
        text.rsplit(' ').next().into_iter().for_each(|word| into.learn(word));
    };
    match value {
        Value::Array(items) => items.iter().for_each(|item| learn_secrets(item, into)),
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if is_secret_name(name) => learn(text),
                    value => learn_secrets(value, into),
                }
            }
            if let (Some(Value::String(name)), Some(Value::String(value))) = (members.get("name"), members.get("value"))
                && is_secret_name(name)
            {
                learn(value);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_a_client_hands_over_is_not_logged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("frames");
        let mut log = FrameLog::open(&path, Keyring::default()).unwrap();
        log.inbound(br#"{"method":"auth.set.openrouter_key","params":{"api_key":"canary-0123456789"}}"#);
        log.inbound(br#"{"env":[{"name":"GH_TOKEN","value":"canary-abcdefgh"}],"headers":{"Authorization":"Bearer canary-xyzxyzxyz"}}"#);
        log.inbound(br#"{"id":1,"params":{"max_tokens":5,"text":"tokens of canary birds"}}"#);
        log.outbound(b"{\"echo\":\"canary-0123456789 canary-xyzxyzxyz\"}\n");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("canary-") && text.contains(r#""api_key":"***""#), "{text}");
        assert!(text.contains("tokens of canary birds"), "{text}");
    }
}
