//! What can go wrong, written for people: what happened, the last words of the agent, and a hint where one is known.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use acp_types::error::{AUTH_REQUIRED, NOT_FOUND};
use acp_types::method::{AUTHENTICATE, INITIALIZE};
use process::Exit;
use wire::jsonrpc::{METHOD_NOT_FOUND, RpcError};

use crate::hints::{self, Evidence, SignIns};

/// The connection is over.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Terminated {
    /// `None` on both: it closed its output and was still running, or it cannot be told.
    pub exit: Exit,
    /// What we saw, where it was not simply its end: a failed write, a peer that does not read.
    pub why: Option<String>,
    /// The last lines of its stderr.
    pub stderr: Vec<String>,
    /// It never answered `initialize`.
    pub before_hello: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ClientProblem {
    /// The program or the connection could not be started.
    Start(String),
    ProcessTerminated(Terminated),
    /// We ended the connection ourselves.
    Stopped,
    TimedOut {
        method: String,
        after: Duration,
    },
    /// The agent answered with an error.
    Refused {
        method: String,
        error: RpcError,
    },
    /// The agent does not say that it can do this; it was not asked.
    Unsupported(&'static str),
    /// It speaks another version.
    Version(String),
    /// It sends back what it is sent: a program that copies its input, not an agent.
    Echo,
    /// This way of signing in is a command for a terminal, not a request.
    SignInElsewhere(String),
    /// An answer that makes no sense.
    Unreadable {
        method: String,
        what: String,
    },
    /// Too many requests wait already.
    Busy,
}

impl ClientProblem {
    /// Nothing shows yet that the program is an agent.
    fn is_before_hello(&self) -> bool {
        match self {
            ClientProblem::ProcessTerminated(end) => end.before_hello,
            ClientProblem::TimedOut { method, .. } | ClientProblem::Unreadable { method, .. } => method == INITIALIZE,
            // Any other refusal comes from an agent that understood the question.
            ClientProblem::Refused { method, error } => method == INITIALIZE && error.code == METHOD_NOT_FOUND,
            ClientProblem::Version(_) | ClientProblem::Echo => true,
            ClientProblem::Start(_)
            | ClientProblem::Stopped
            | ClientProblem::Unsupported(_)
            | ClientProblem::SignInElsewhere(_)
            | ClientProblem::Busy => false,
        }
    }

    fn is_about_sign_in(&self) -> bool {
        match self {
            ClientProblem::SignInElsewhere(_) => true,
            ClientProblem::Refused { method, error } => error.code == AUTH_REQUIRED || method == AUTHENTICATE,
            _ => false,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct ClientError {
    pub problem: ClientProblem,
    pub hint: Option<String>,
    /// The last lines of the agent's stderr, where it ended or never became one. Shared: an error stays small to hand on.
    pub stderr: Arc<Vec<String>>,
}

impl ClientError {
    /// With a hint from what is known.
    pub(crate) fn new(problem: ClientProblem, command: &[String], auth: &SignIns, stderr: &[String]) -> Self {
        let (exit, stderr) = match &problem {
            ClientProblem::ProcessTerminated(end) => (Some(&end.exit), end.stderr.as_slice()),
            _ => (None, stderr),
        };
        let not_found = matches!(&problem, ClientProblem::Start(_));
        let evidence = Evidence {
            message: &said(&problem),
            stderr,
            exit,
            before_hello: problem.is_before_hello(),
            echoes: problem == ClientProblem::Echo,
            not_found,
            wants_sign_in: problem.is_about_sign_in(),
            command,
            auth,
        };
        let hint = hints::hint(&evidence);
        let is_end = matches!(&problem, ClientProblem::ProcessTerminated(_)) || problem.is_before_hello();
        let stderr = if is_end { stderr.to_vec() } else { Vec::new() };
        Self { stderr: Arc::new(stderr), hint, problem }
    }

    /// The session asked for does not exist there (any more). Agents say it in many ways.
    pub fn is_session_gone(&self) -> bool {
        match &self.problem {
            ClientProblem::Refused { error, .. } => match error.code {
                NOT_FOUND => true,
                wire::jsonrpc::INVALID_PARAMS | wire::jsonrpc::INTERNAL_ERROR => {
                    let text = whole(error).to_lowercase();
                    let missing = ["not found", "no such", "does not exist", "not a uuid", "unknown session"];
                    text.contains("session") && missing.iter().any(|word| text.contains(word))
                }
                _ => false,
            },
            _ => false,
        }
    }

    pub(crate) fn is_method_unknown(&self) -> bool {
        matches!(&self.problem, ClientProblem::Refused { error, .. } if error.code == METHOD_NOT_FOUND)
    }
}

/// Some agents say "Internal error" and hide the cause in `data`.
fn whole(error: &RpcError) -> String {
    let data = error.data.as_ref();
    let detail = data.and_then(|data| match data {
        serde_json::Value::String(text) => Some(text.clone()),
        data => ["details", "message", "error"].iter().find_map(|key| Some(data.get(key)?.as_str()?.to_owned())),
    });
    match detail {
        Some(detail) if !error.message.contains(&detail) => format!("{}: {detail}", error.message),
        _ => error.message.clone(),
    }
}

fn said(problem: &ClientProblem) -> String {
    match problem {
        ClientProblem::Start(text) => format!("cannot start: {text}"),
        ClientProblem::ProcessTerminated(end) => end.to_string(),
        ClientProblem::Stopped => "the connection was ended from here".into(),
        ClientProblem::TimedOut { method, after } => format!("no answer to {method} within {} s", after.as_secs()),
        ClientProblem::Refused { method, error } => format!("{method}: {} ({})", whole(error), error.code),
        ClientProblem::Unsupported(what) => format!("the agent does not offer {what}"),
        ClientProblem::Version(theirs) if theirs == "null" => {
            "its answer to initialize names no protocol version".into()
        }
        ClientProblem::Version(theirs) => format!("the agent speaks protocol version {theirs}, we speak 1"),
        ClientProblem::Echo => "it sends back what it is sent".into(),
        ClientProblem::SignInElsewhere(method) => {
            format!("{method} is a way to sign in from a terminal, not from here")
        }
        ClientProblem::Unreadable { method, what } => format!("the answer to {method} cannot be read: {what}"),
        ClientProblem::Busy => "too many requests wait for an answer already".into(),
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&said(&self.problem))
    }
}

impl std::error::Error for ClientError {}

impl fmt::Display for Terminated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.why, self.exit.code, self.exit.signal) {
            (Some(why), ..) => write!(f, "the connection is lost: {why}"),
            (None, Some(code), _) => write!(f, "the agent exited with code {code}"),
            (None, None, Some(signal)) => write!(f, "the agent was killed by signal {signal}"),
            (None, None, None) => write!(f, "the agent closed the connection"),
        }
    }
}
