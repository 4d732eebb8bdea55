//! What a session is made from.

use std::sync::Arc;

use vocab::{ModelInfo, OnRestart, Settings, Tool};

use super::Session;
use super::activity::Activity;
use super::approvals::Approvals;
use super::asides::Asides;
use super::budget::Purse;
use super::editor::EditorRequests;
use super::extensions::Extensions;
use super::idle::Idleness;
use super::jobs::Jobs;
use super::log::SessionLog;
use super::log::logged::Logged;
use super::mcp::Mcp;
use super::model_view::ModelView;
use super::prompts::Prompts;
use super::recovery::Recovery;
use super::reminders::Reminders;
use super::settings::InForce;
use super::shell::Shells;
use super::subagents::{Inherited, SubagentPool};
use super::toolset::Toolset;
use crate::Shared;
use crate::mailbox::Mailbox;
use crate::permission::Remembered;

/// What a session that was there before has behind it.
pub(crate) struct Past {
    pub(crate) summary: vocab::Summary,
    /// What had to be repaired when it was taken over.
    pub(crate) recovered: Option<String>,
    /// The peer that opens it has named another thinking level.
    pub(crate) thinking_asked: bool,
}

/// The model that a session is to have.
pub(crate) enum SessionModel {
    Here(ModelInfo),
    /// The one that it was left with, of which nothing is known now.
    Gone,
}

/// What a session is made from.
pub(crate) struct Seed {
    pub(crate) settings: Settings,
    pub(crate) model: SessionModel,
    pub(crate) log: SessionLog,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// `None` for a new session.
    pub(crate) past: Option<Past>,
    /// Answers that hold for the rest of the session, of one that was parked.
    pub(crate) remembered: Remembered,
    /// For a child.
    pub(crate) inherited: Option<Inherited>,
}

impl Session {
    pub(crate) fn new(shared: Arc<Shared>, mut seed: Seed, mailbox: Mailbox) -> Self {
        let (mut mcp, mut subagents) = (Mcp::default(), SubagentPool::default());
        if seed.inherited.is_some() {
            seed.tools.retain(|tool| !tool.has_subagents());
        }
        let mut tools = Toolset::new(seed.tools, shared.ports.toolbox.gadgets());
        if let Some(Inherited { child_of, mcp_tools, editor, watcher, .. }) = seed.inherited {
            mcp.inherit();
            mcp_tools.into_iter().for_each(|tool| tools.add_mcp(None, tool));
            subagents.child_of = Some(child_of);
            subagents.watcher = watcher;
            subagents.inherited_editor = editor;
        }
        let remembered = std::mem::take(&mut seed.remembered);
        seed.log.peers.watched_by(shared.watching.clone());
        let thinking_asked = seed.past.as_ref().is_some_and(|past| past.thinking_asked);
        let (summary, recovered) = seed.past.map(|past| (past.summary, past.recovered)).unzip();
        let summary = summary.as_ref();
        let purse = (!seed.settings.budget.is_empty()).then(Box::<Purse>::default);
        let continues = summary.is_some() && seed.settings.on_restart == OnRestart::Continue;
        seed.log.found(Logged {
            model: summary.map_or_else(|| seed.settings.model.clone(), |it| it.model.clone()),
            model_called: summary.and_then(|it| it.model_called.clone()),
            mode: summary.map_or(seed.settings.mode, |it| it.mode),
            // What an old log says is known when it is read, and so are its tasks.
            thinking: seed.settings.thinking.clone(),
            title: summary.and_then(|it| it.title.clone()),
            ..Logged::default()
        });
        let mut settings = InForce::new(seed.settings, seed.model, thinking_asked);
        settings.set_lane(summary.map(|it| it.lane).unwrap_or_default());
        settings.set_elevated(summary.and_then(|it| it.elevated_until_ms));
        // Who opens it with another model has not chosen that by this name.
        let as_left = summary.filter(|it| it.model == settings.model);
        settings.set_called(as_left.and_then(|it| it.model_called.clone()));
        Self {
            id: seed.log.session.clone(),
            shared,
            mailbox,
            prompts: Prompts::new(settings.lane),
            settings,
            log: seed.log,
            view: ModelView::unread(summary.map_or(0, |it| it.messages)),
            tools,
            activity: Activity::default(),
            approvals: Approvals::remembering(remembered),
            purse,
            jobs: Jobs::default(),
            shells: Shells::default(),
            asides: Asides::default(),
            recovery: Recovery::new(recovered.flatten(), continues),
            extensions: Extensions::default(),
            editor: EditorRequests::default(),
            mcp,
            subagents,
            reminders: Reminders::default(),
            idle: Idleness::default(),
            limits: None,
        }
    }
}
