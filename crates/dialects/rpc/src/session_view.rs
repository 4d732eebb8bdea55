//! The session that the host is on, as the engine last said it: what is known, what runs, what is asked.

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{AskId, SessionId};

use crate::RpcOptions;
use crate::models::KnownModels;
use crate::outbound::run::Run;
use crate::output::Outputs;
use crate::prompts::Prompts;
use crate::ui::Dialog;

pub(crate) struct SessionView {
    pub(crate) session: Option<SessionId>,
    pub(crate) known: KnownModels,
    pub(crate) run: Run,
    pub(crate) prompts: Prompts,
    pub(crate) outputs: Outputs,
    /// Messages that wait in the session, as it last said.
    pub(crate) waiting: usize,
    /// How lines of the log are called that were written before this conversation, once somebody needs it.
    pub(crate) past_names: HashMap<u64, Arc<str>>,
    /// The session had a log before this conversation.
    pub(crate) resumed: bool,
    /// A turn or a compaction was asked to stop and has not yet.
    pub(crate) stopping: bool,
    pub(crate) dialogs: Vec<(AskId, Dialog)>,
    pub(crate) host_calls: Vec<AskId>,
    /// The model's server refused our key the last time it was asked.
    pub(crate) auth_failed: bool,
}

impl SessionView {
    pub(crate) fn new(options: &RpcOptions) -> Self {
        Self {
            session: None,
            known: KnownModels::default(),
            run: Run::new(options.updates, options.reminders_max),
            prompts: Prompts::default(),
            outputs: Outputs::default(),
            waiting: 0,
            past_names: HashMap::new(),
            resumed: false,
            stopping: false,
            dialogs: Vec::new(),
            host_calls: Vec::new(),
            auth_failed: options.no_key,
        }
    }
}
