//! What the person waits for, in words.

use std::collections::HashMap;

use vocab::CallId;

use crate::paint::clean;

/// What the session is about, beside the calls that run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum WaitingFor {
    Nothing,
    /// A prompt was given; what the turn needs is being made ready.
    Starting,
    /// The model was asked and has not said anything.
    Asking,
    Answering,
    /// It could not answer and is asked again after a pause.
    Pausing,
    Summarising,
    Command(String),
    Stopping,
}

impl WaitingFor {
    /// `None` where nothing is waited for. `calls` are the lines of those that have no result yet.
    pub(super) fn words(&self, model: &str, calls: &HashMap<CallId, String>) -> Option<String> {
        let model = if model.is_empty() { "the model" } else { model };
        let words = match (self, calls.len()) {
            (WaitingFor::Nothing, _) => return None,
            (WaitingFor::Stopping, _) => "stopping".to_owned(),
            (WaitingFor::Command(name), _) => format!("/{name}"),
            (WaitingFor::Summarising, _) => "summarising older messages".to_owned(),
            (_, 1) => {
                let line = calls.values().next().map(String::as_str).unwrap_or_default();
                format!("running {}", line.trim_start_matches("● "))
            }
            (_, count @ 2..) => format!("running {count} calls"),
            (WaitingFor::Starting, _) => "getting tools and extensions ready".to_owned(),
            (WaitingFor::Asking, _) => format!("waiting for {model}"),
            (WaitingFor::Answering, _) => format!("answering: {model}"),
            (WaitingFor::Pausing, _) => format!("waiting before {model} is asked again"),
        };
        Some(clean(&words).replace('\n', " "))
    }
}
