//! The arguments of the shell tools, as models write them.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use vocab::Json;

use crate::leash::COMMAND_BYTES_MAX;

/// How long a foreground command may run unless the call says otherwise.
pub(super) const TIMEOUT_DEFAULT: Duration = Duration::from_secs(120);
/// The longest a call may ask for; more is cut down to this.
pub(super) const TIMEOUT_MAX: Duration = Duration::from_secs(600);
/// Longest one-line summary of a command, in characters.
const SUMMARY_CHARS: usize = 100;

#[derive(Deserialize)]
pub(super) struct BashArgs {
    pub(super) command: String,
    /// Milliseconds.
    #[serde(alias = "timeout_ms")]
    timeout: Option<f64>,
    /// Seconds; wins over `timeout`.
    #[serde(alias = "timeout_secs")]
    timeout_s: Option<f64>,
    #[serde(default, alias = "background")]
    pub(super) run_in_background: Option<bool>,
    pub(super) cwd: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ReadArgs {
    #[serde(alias = "bash_id", alias = "process_id")]
    pub(super) id: Option<String>,
    pub(super) wait_ms: Option<f64>,
}

#[derive(Deserialize)]
pub(super) struct WriteArgs {
    #[serde(alias = "bash_id", alias = "process_id")]
    pub(super) id: String,
    pub(super) input: String,
    /// Close standard input afterwards.
    #[serde(default)]
    pub(super) eof: bool,
}

#[derive(Deserialize)]
pub(super) struct StopArgs {
    #[serde(alias = "bash_id", alias = "process_id")]
    pub(super) id: String,
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
        Ok(args)
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

/// The first line, shortened, for people.
pub(super) fn summary(command: &str) -> String {
    let mut lines = command.trim().lines();
    let line = lines.next().unwrap_or_default();
    let mut text: String = line.chars().take(SUMMARY_CHARS).collect();
    if lines.next().is_some() || text.len() < line.len() {
        text.push('…');
    }
    text
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
    fn a_summary_is_one_short_line() {
        assert_eq!(summary("  ls -la\n"), "ls -la");
        assert_eq!(summary("a\nb"), "a…");
        assert_eq!(summary(&"ü".repeat(300)).chars().count(), SUMMARY_CHARS + 1);
    }
}
