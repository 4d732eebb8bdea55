//! The arguments of the shell tools, as models write them.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use vocab::Json;

use process::leash::{COMMAND_BYTES_MAX, TerminalSize};

use super::background_state::{READ_BYTES_MAX, READ_BYTES_MIN};

/// How long a foreground command may run unless the call says otherwise.
pub(super) const TIMEOUT_DEFAULT: Duration = Duration::from_secs(120);
/// The longest a call may ask for; more is cut down to this.
pub(super) const TIMEOUT_MAX: Duration = Duration::from_secs(600);
/// The longest a read waits for output; more is cut down to this.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// The largest terminal; a larger one is refused. Programs that draw keep a buffer of that many characters.
const COLS_MAX: u16 = 500;
const ROWS_MAX: u16 = 300;
/// What a terminal has unless the call says otherwise.
const SIZE_DEFAULT: TerminalSize = TerminalSize { cols: 80, rows: 24 };
/// Keys in one call; more are refused.
const KEYS_MAX: usize = 256;

#[derive(Deserialize)]
pub(super) struct BashArgs {
    pub(super) command: String,
    /// Milliseconds.
    #[serde(alias = "timeout_ms")]
    timeout: Option<f64>,
    /// Seconds; wins over `timeout`.
    #[serde(alias = "timeout_secs", alias = "timeout_seconds")]
    timeout_s: Option<f64>,
    #[serde(default, alias = "background")]
    run_in_background: Option<bool>,
    #[serde(alias = "workdir")]
    pub(super) cwd: Option<String>,
    /// Run it on a pseudo-terminal.
    #[serde(alias = "full_terminal")]
    pty: Option<bool>,
    #[serde(alias = "terminal_cols")]
    cols: Option<f64>,
    #[serde(alias = "terminal_rows")]
    rows: Option<f64>,
}

#[derive(Deserialize)]
pub(super) struct ReadArgs {
    #[serde(alias = "bash_id", alias = "process_id", alias = "session_id", alias = "job_id", alias = "shell_id")]
    pub(super) id: Option<String>,
    pub(super) wait_ms: Option<f64>,
    #[serde(alias = "max_chars")]
    max_bytes: Option<f64>,
}

#[derive(Deserialize)]
pub(super) struct WriteArgs {
    #[serde(alias = "bash_id", alias = "process_id", alias = "session_id", alias = "job_id", alias = "shell_id")]
    pub(super) id: String,
    #[serde(default, alias = "text", alias = "data")]
    input: String,
    /// End the text's line as well.
    #[serde(default)]
    append_newline: bool,
    #[serde(alias = "key")]
    keys: Option<KeyNames>,
    /// How often the keys are pressed.
    repeat: Option<f64>,
    /// Close standard input afterwards.
    #[serde(default)]
    pub(super) eof: bool,
}

/// One key or several, as models write them.
#[derive(Deserialize)]
#[serde(untagged)]
enum KeyNames {
    One(String),
    Many(Vec<String>),
}

impl WriteArgs {
    /// The text, as it is to be written.
    pub(super) fn text(&self) -> String {
        let end = if self.append_newline && !self.input.is_empty() { "\n" } else { "" };
        format!("{}{end}", self.input)
    }

    /// The keys in the order in which they are pressed.
    pub(super) fn keys(&self) -> Result<Vec<&str>, String> {
        let names = match &self.keys {
            None => &[],
            Some(KeyNames::One(name)) => std::slice::from_ref(name),
            Some(KeyNames::Many(names)) => names.as_slice(),
        };
        let times = self.repeat.unwrap_or(1.0);
        if times.fract() != 0.0 || times < 1.0 {
            return Err("bash_write: `repeat` must be a whole number from 1 on".into());
        }
        // A float too large for the type becomes its largest number.
        let times = times as usize;
        if names.len().saturating_mul(times) > KEYS_MAX {
            return Err(format!("bash_write: at most {KEYS_MAX} keys at once"));
        }
        Ok(std::iter::repeat_n(names, times).flatten().map(String::as_str).collect())
    }
}

#[derive(Deserialize)]
pub(super) struct ResizeArgs {
    #[serde(alias = "bash_id", alias = "process_id", alias = "session_id", alias = "job_id", alias = "shell_id")]
    pub(super) id: String,
    cols: f64,
    rows: f64,
}

#[derive(Deserialize)]
pub(super) struct StopArgs {
    #[serde(alias = "bash_id", alias = "process_id", alias = "session_id", alias = "job_id", alias = "shell_id")]
    pub(super) id: String,
}

impl ReadArgs {
    pub(super) fn wait(&self) -> Duration {
        Duration::from_secs_f64((self.wait_ms.unwrap_or(0.0) / 1000.0).clamp(0.0, WAIT_MAX.as_secs_f64()))
    }

    pub(super) fn bytes_max(&self) -> usize {
        self.max_bytes.map_or(READ_BYTES_MAX, |bytes| (bytes as usize).clamp(READ_BYTES_MIN, READ_BYTES_MAX))
    }
}

impl ResizeArgs {
    pub(super) fn size(&self) -> Result<TerminalSize, String> {
        size("bash_resize", self.cols, self.rows)
    }
}

fn size(tool: &str, cols: f64, rows: f64) -> Result<TerminalSize, String> {
    let within = |value: f64, max: u16| value.fract() == 0.0 && value >= 1.0 && value <= f64::from(max);
    if !within(cols, COLS_MAX) || !within(rows, ROWS_MAX) {
        return Err(format!("{tool}: `cols` must be a whole number from 1 to {COLS_MAX}, `rows` from 1 to {ROWS_MAX}"));
    }
    Ok(TerminalSize { cols: cols as u16, rows: rows as u16 })
}

/// The arguments, or a sentence for the model that wrote them.
pub(super) fn parse<T: DeserializeOwned>(tool: &str, input: &Json) -> Result<T, String> {
    serde_json::from_str(input.as_str()).map_err(|error| format!("{tool}: invalid arguments: {error}"))
}

impl BashArgs {
    pub(super) fn parse(input: &Json) -> Result<Self, String> {
        let args: Self = parse("bash", input)?;
        if args.command.trim().is_empty() {
            return Err("bash: `command` is empty".into());
        }
        if args.command.contains('\0') {
            return Err("bash: `command` contains a NUL character, which no shell can take".into());
        }
        if args.command.len() > COMMAND_BYTES_MAX {
            return Err(format!(
                "bash: `command` has {} bytes, the limit is {COMMAND_BYTES_MAX}; write it to a file and run that",
                args.command.len()
            ));
        }
        args.asked_timeout()?;
        if args.terminal()?.is_some() && !args.in_background() {
            return Err(
                "bash: `pty` needs `run_in_background`: nobody could type into a command that is waited for".into()
            );
        }
        Ok(args)
    }

    pub(super) fn in_background(&self) -> bool {
        self.run_in_background == Some(true)
    }

    /// The size of the terminal it wants, if it wants one.
    pub(super) fn terminal(&self) -> Result<Option<TerminalSize>, String> {
        if self.pty != Some(true) {
            return Ok(None);
        }
        let default = SIZE_DEFAULT;
        let cols = self.cols.unwrap_or(f64::from(default.cols));
        size("bash", cols, self.rows.unwrap_or(f64::from(default.rows))).map(Some)
    }

    /// The timeout as asked for, cut to [`TIMEOUT_MAX`].
    pub(super) fn asked_timeout(&self) -> Result<Option<Duration>, String> {
        let seconds = match (self.timeout_s, self.timeout) {
            (Some(seconds), _) => seconds,
            (None, Some(ms)) => ms / 1000.0,
            (None, None) => return Ok(None),
        };
        if !(seconds.is_finite() && seconds > 0.0) {
            return Err("bash: the timeout must be a positive number (`timeout` in ms or `timeout_s`)".into());
        }
        Ok(Some(Duration::from_secs_f64(seconds.min(TIMEOUT_MAX.as_secs_f64()))))
    }

    pub(super) fn timeout(&self) -> Duration {
        self.asked_timeout().ok().flatten().unwrap_or(TIMEOUT_DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeout(json: &str) -> Duration {
        BashArgs::parse(&Json::trusted(json)).unwrap().timeout()
    }

    #[test]
    fn a_timeout_is_milliseconds_or_seconds_and_has_a_limit() {
        assert_eq!(timeout(r#"{"command":"x"}"#), TIMEOUT_DEFAULT);
        assert_eq!(timeout(r#"{"command":"x","timeout":1500}"#), Duration::from_millis(1500));
        assert_eq!(timeout(r#"{"command":"x","timeout_s":2.5}"#), Duration::from_millis(2500));
        assert_eq!(timeout(r#"{"command":"x","timeout_s":1e300}"#), TIMEOUT_MAX);
        for bad in ["0", "-1", "-0.5"] {
            assert!(BashArgs::parse(&Json::trusted(format!(r#"{{"command":"x","timeout":{bad}}}"#))).is_err());
        }
    }

    #[test]
    fn bad_arguments_say_what_is_wrong() {
        let error = |json: &str| BashArgs::parse(&Json::trusted(json)).err().unwrap();
        assert!(error("{}").contains("command"));
        assert!(error(r#"{"command":"  \n"}"#).contains("empty"));
        assert!(error(r#"{"command":"a\u0000b"}"#).contains("NUL"));
        assert!(error(&format!(r#"{{"command":"{}"}}"#, "x".repeat(COMMAND_BYTES_MAX + 1))).contains("limit"));
    }

    #[test]
    fn a_terminal_has_a_size_within_bounds_and_runs_in_the_background() {
        let parse = |more: &str| BashArgs::parse(&Json::trusted(format!(r#"{{"command":"x",{more}}}"#)));
        let size = |more: &str| parse(more).and_then(|args| args.terminal());
        assert_eq!(size(r#""run_in_background":true,"cols":9"#), Ok(None));
        assert_eq!(size(r#""run_in_background":true,"pty":true"#), Ok(Some(SIZE_DEFAULT)));
        assert_eq!(
            size(r#""background":true,"pty":true,"cols":500,"rows":1"#),
            Ok(Some(TerminalSize { cols: 500, rows: 1 }))
        );
        for bad in ["0", "-1", "501", "1.5", "1e300"] {
            let error = size(&format!(r#""background":true,"full_terminal":true,"cols":{bad}"#)).unwrap_err();
            assert!(error.contains("from 1 to 500"), "{bad}: {error}");
        }
        assert!(parse(r#""pty":true"#).err().unwrap().contains("run_in_background"));
    }

    #[test]
    fn a_read_waits_and_returns_no_more_than_allowed() {
        let args = |json: &str| parse::<ReadArgs>("bash_read", &Json::trusted(json)).unwrap();
        assert_eq!((args("{}").wait(), args("{}").bytes_max()), (Duration::ZERO, READ_BYTES_MAX));
        let most = args(r#"{"wait_ms":1e300,"max_bytes":1e300}"#);
        assert_eq!((most.wait(), most.bytes_max()), (WAIT_MAX, READ_BYTES_MAX));
        let least = args(r#"{"wait_ms":-5,"max_bytes":-5}"#);
        assert_eq!((least.wait(), least.bytes_max()), (Duration::ZERO, READ_BYTES_MIN));
    }
}
