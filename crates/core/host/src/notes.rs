//! Notes for people, on stderr. A full pipe may stand behind it, so a note that does not fit is dropped and counted; the
//! protocol never waits for it. A daemon's notes are its log: they have a level, and may be written as JSON.

use std::io::Write;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use vocab::Keyring;
use vocab::visible::visible_line;

use vocab::masking::mask;

/// A pipe that reports itself writable takes this much without blocking (POSIX's lower bound for PIPE_BUF is smaller,
/// Linux's is this).
const NOTE_BYTES_MAX: usize = 4096;
/// The most of a text that one note has; JSON writes a character in up to six bytes.
const TEXT_BYTES_MAX: usize = NOTE_BYTES_MAX - 512;
/// How long the reader of a question may take for each line of it.
const WHOLE_WAIT_MAX: Duration = Duration::from_secs(5);
/// What an incident's note begins with; its id stands behind it, and before a colon.
const INCIDENT: &str = "incident ";

static DROPPED: AtomicU64 = AtomicU64::new(0);
static LOG: OnceLock<DaemonLog> = OnceLock::new();

/// How much a note matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoteLevel {
    Error,
    Warn,
    Info,
    Debug,
}

impl NoteLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            NoteLevel::Error => "error",
            NoteLevel::Warn => "warn",
            NoteLevel::Info => "info",
            NoteLevel::Debug => "debug",
        }
    }
}

impl FromStr for NoteLevel {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        let known = [NoteLevel::Error, NoteLevel::Warn, NoteLevel::Info, NoteLevel::Debug];
        let found = known.into_iter().find(|level| level.as_str() == word);
        found.ok_or_else(|| "there is error, warn, info and debug".to_owned())
    }
}

/// How a line is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoteFormat {
    /// `tillerman: what happened`
    Text,
    /// One object per line: `ts`, `level`, `msg`, and `incident` where there is one.
    Json,
}

impl FromStr for NoteFormat {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "text" => Ok(NoteFormat::Text),
            "json" => Ok(NoteFormat::Json),
            _ => Err("there is text and json".to_owned()),
        }
    }
}

/// Hears a line and how much it matters.
pub type NoteListener = Box<dyn Fn(NoteLevel, &str) + Send + Sync>;

/// A daemon's log.
pub struct DaemonLog {
    pub format: NoteFormat,
    /// What matters less is not written.
    pub level: NoteLevel,
    /// Values that stand in no line; none are known before somebody has read them.
    pub keyring: Arc<OnceLock<Keyring>>,
    /// Hears every line that is written, as it is written.
    pub listener: NoteListener,
}

/// From now on notes are this log's; the first one counts.
pub fn keep_log(log: DaemonLog) {
    let _ = LOG.set(log);
}

/// Notes that could not be written.
pub fn notes_dropped() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// Writes one line to stderr if that is possible right now.
pub fn note(text: &str) {
    let level = if text.starts_with(INCIDENT) { NoteLevel::Error } else { NoteLevel::Warn };
    note_at(level, text);
}

/// Whether anything of this level is said at all; for who would take some trouble to say it.
pub fn is_noted(level: NoteLevel) -> bool {
    level <= LOG.get().map_or(NoteLevel::Warn, |log| log.level)
}

/// Writes a line about something that matters this much. Where nobody keeps a log, only what matters is said.
pub fn note_at(level: NoteLevel, text: &str) {
    if !is_noted(level) {
        return;
    }
    let log = LOG.get();
    let text = readable(text, log.and_then(|log| log.keyring.get()));
    let line = match log.map_or(NoteFormat::Text, |log| log.format) {
        NoteFormat::Text => format!("tillerman: {text}\n"),
        NoteFormat::Json => json_line(&vocab::iso8601(crate::now_ms()), level, &text),
    };
    if let Some(log) = log {
        (log.listener)(level, &text);
    }
    write_if_possible(line.as_bytes());
}

/// Writes all of it, in as many lines as that takes: somebody decides by what they read here, and what is missing would be what they
/// allow unseen. A reader who is behind is waited for, a while.
pub fn note_whole(text: &str) {
    let text = visible(text, LOG.get().and_then(|log| log.keyring.get()));
    for piece in pieces(&text) {
        if !wait_until_writable(WHOLE_WAIT_MAX) {
            // Whoever does not read this reads no question.
            DROPPED.fetch_add(1, Ordering::Relaxed);
            return;
        }
        write_if_possible(format!("tillerman: {piece}\n").as_bytes());
    }
}

/// One note is one line.
fn readable(text: &str, keyring: Option<&Keyring>) -> String {
    let mut text = visible(text, keyring);
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}

/// A terminal obeys nothing in it that came from outside, and no secret stands in it.
fn visible(text: &str, keyring: Option<&Keyring>) -> String {
    let text = keyring.map_or(text.into(), |keyring| keyring.scrub(text));
    visible_line(&mask(&text))
}

/// The text, broken where a line is full.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let (piece, behind) = rest?.split_at(rest?.floor_char_boundary(TEXT_BYTES_MAX));
        rest = (!behind.is_empty()).then_some(behind);
        Some(piece)
    })
}

fn json_line(time: &str, level: NoteLevel, text: &str) -> String {
    let mut text = text;
    loop {
        let mut line = serde_json::json!({ "ts": time, "level": level.as_str(), "msg": text });
        if let Some((incident, _)) = text.strip_prefix(INCIDENT).and_then(|rest| rest.split_once(':')) {
            line["incident"] = incident.into();
        }
        let line = format!("{line}\n");
        if line.len() <= NOTE_BYTES_MAX {
            return line;
        }
        text = &text[..text.floor_char_boundary(text.len() / 2)];
    }
}

fn wait_until_writable(at_most: Duration) -> bool {
    let stderr = std::io::stderr();
    let mut fds = [PollFd::new(&stderr, PollFlags::OUT)];
    let at_most = Timespec { tv_sec: at_most.as_secs().cast_signed(), tv_nsec: i64::from(at_most.subsec_nanos()) };
    poll(&mut fds, Some(&at_most)).is_ok_and(|ready| ready > 0) && fds[0].revents().contains(PollFlags::OUT)
}

fn write_if_possible(line: &[u8]) {
    if !wait_until_writable(Duration::ZERO) || std::io::stderr().lock().write_all(line).is_err() {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_broken_and_nothing_of_it_is_missing() {
        let text = format!("{}\u{e9}; touch HIDDEN", "x".repeat(2 * TEXT_BYTES_MAX - 1));
        let all: Vec<&str> = pieces(&text).collect();
        assert_eq!((all.len(), all.concat()), (3, text.clone()));
        assert!(all.iter().all(|piece| piece.len() <= TEXT_BYTES_MAX));
        assert_eq!(pieces("").collect::<Vec<_>>(), [""]);
    }

    /// Each of them would write a second line, move the cursor, or make a line read differently from what it says.
    const HOSTILE: [&str; 20] = [
        "\r\n",
        "\n",
        "\r",
        "\x1b[31m",
        "\x1b]0;title\x07",
        "\x1b[2J",
        "\u{9b}31m",
        "\x07",
        "\x08\x08\x08",
        "\0",
        "\u{202e}",
        "\u{202a}",
        "\u{2066}",
        "\u{2069}",
        "\u{200b}",
        "\u{feff}",
        "\u{2028}",
        "\u{2029}",
        "\u{85}",
        "\u{e0041}",
    ];

    #[test]
    fn g13_nothing_from_outside_writes_a_line_of_its_own() {
        for hostile in HOSTILE {
            let outside = format!("a{hostile}tillerman: forged{hostile}b");
            let line = readable(&outside, None);
            let shows =
                |c: char| !c.is_control() && !vocab::visible::is_ignorable(c) && !matches!(c, '\u{2028}' | '\u{2029}');
            assert!(line.chars().all(shows), "{hostile:?} -> {line:?}");
            assert!(line.len() > "atillerman: forgedb".len(), "{hostile:?} shows as something: {line:?}");
            let json = json_line("T", NoteLevel::Warn, &line);
            assert_eq!((json.lines().count(), json.ends_with("}\n")), (1, true), "{json:?}");
            let read: serde_json::Value = serde_json::from_str(&json).expect("an object");
            assert_eq!(read["msg"], line.as_str());
        }
    }

    #[test]
    fn a_line_fits_whatever_it_says_and_an_incident_has_its_id() {
        for long in ["x".repeat(100_000), "\"".repeat(100_000), "\u{1f600}".repeat(50_000)] {
            let line = json_line("T", NoteLevel::Info, &readable(&long, None));
            assert!(line.len() <= NOTE_BYTES_MAX && serde_json::from_str::<serde_json::Value>(&line).is_ok());
        }
        let line = json_line("T", NoteLevel::Error, "incident ab12: the disk is full");
        assert!(line.contains("\"incident\":\"ab12\""), "{line}");
    }

    #[test]
    fn keys_that_are_known_stand_in_no_line() {
        let keyring = Keyring::default();
        keyring.learn("canary-that-looks-like-nothing");
        let line = readable("refused: canary-that-looks-like-nothing, ghp_canary0123456789", Some(&keyring));
        assert!(!line.contains("canary"), "{line}");
    }
}
