//! What the engine tells unasked. Everything of a turn is written before the answer to its prompt.

mod logged;

pub(crate) use logged::plan;

use acp_types::{CompactionStatus, ContentBlock, Other, Readable, SessionUpdate, ToolCall, ToolCallStatus};
use vocab::{CompactionEvent, Delta, EditorEvent, Event, ExtensionEvent, Notice, NoticeLevel, SignInStep, TurnEnd};
use wire::Out;

use crate::Acp;
use crate::asks::OpenRequest;
use crate::config::Chosen;
use crate::faults::{from_fault, invalid, text};
use crate::frames::pen;
use crate::responses::prompt_response;
use crate::session_view::{Spoken, call_id};

impl Acp {
    pub(crate) fn event(&mut self, at: usize, event: &Event, out: &mut Out) {
        for lost in self.views[at].open_calls.lost_by(event) {
            self.event(at, &lost, out);
        }
        let view = &mut self.views[at];
        match event {
            Event::Delta(Delta::Text { turn, delta }) if view.is_running(turn) => {
                view.speak(&mut pen(out), Spoken::Text, turn, delta);
            }
            Event::Delta(Delta::Thinking { turn, delta }) if view.is_running(turn) => {
                view.speak(&mut pen(out), Spoken::Thought, turn, delta);
            }
            Event::Delta(Delta::ModelCalled { turn, reply }) => {
                view.flow.reply = *reply;
                view.reply_begins(turn);
            }
            Event::Logged(entry) => self.logged(at, entry, out),
            Event::Delta(Delta::CallProgress { turn, call, parts }) => {
                let running = ToolCall {
                    tool_call_id: call_id(turn, call),
                    status: Some(ToolCallStatus::InProgress),
                    content: Some(vec![self.cards(at).output(&vocab::parts_text(parts))]),
                    ..ToolCall::default()
                };
                pen(out).update(&self.views[at].session, SessionUpdate::ToolCallUpdate(running));
            }
            Event::State(state) => self.state_told(at, state, out),
            Event::TurnLost(end) => self.lost(at, end, out),
            Event::Extension(ExtensionEvent::Notice(Notice::Say { text, level })) => self.notice(at, *level, text, out),
            Event::Extension(ExtensionEvent::Trouble { source, during, text }) => {
                out.notes.push(format!("{source}: {during}: {text}"))
            }
            Event::Compaction(CompactionEvent::Started { .. }) => {
                self.compaction(at, CompactionStatus::InProgress, None, None, out)
            }
            Event::Compaction(CompactionEvent::Failed { fault, .. }) => {
                self.compaction(at, CompactionStatus::Failed, None, Some(fault.message.clone()), out);
            }
            Event::Editor(EditorEvent::Request(editor_request)) => self.editor_request(at, editor_request, out),
            Event::Editor(EditorEvent::Dropped { editor_request }) => {
                self.editor_request_dropped(at, *editor_request, out)
            }
            Event::Gone { fault } => self.gone(at, fault, out),
            // A client sees these in the answers and updates that follow.
            Event::Extension(ExtensionEvent::Notice(_))
            | Event::Delta(Delta::CallInput { .. } | Delta::CallBegan { .. })
            | Event::Delta(Delta::Sealed { .. })
            | Event::Delta(Delta::Text { .. } | Delta::Thinking { .. })
            | Event::Retry(_)
            | Event::Settled
            | Event::Watch(_)
            | Event::ShellProgress { .. }
            | Event::Extension(ExtensionEvent::Hook(_))
            | Event::SignIn { .. }
            | Event::Queue(_)
            | Event::Live { .. }
            | Event::Reply { .. } => {}
        }
    }

    /// The store has failed, and with it the turn: nothing of it is logged any more, so its end is told here. When what
    /// waits will run is not known, so no client is left waiting for it.
    fn lost(&mut self, at: usize, end: &TurnEnd, out: &mut Out) {
        self.forget_asked(at, |asked| matches!(asked, OpenRequest::Permission { .. }), out);
        let error = prompt_response(end, true).err().unwrap_or_else(|| invalid("the turn was lost"));
        let view = &mut self.views[at];
        let mut pen = pen(out);
        for (item, call) in std::mem::take(&mut view.waiting) {
            pen.refuse(Some(&call), &error);
            view.lost.push(item);
        }
        self.turn_over(at, end, out);
    }

    /// How full the context is comes before the answer to the prompt.
    fn state_told(&mut self, at: usize, state: &vocab::State, out: &mut Out) {
        self.changed(at, state, out);
        let view = &mut self.views[at];
        if let Some(end) = view.over.take() {
            let update = view.usage_update(&self.models);
            pen(out).update(&view.session, update);
            self.turn_over(at, &end, out);
        }
    }

    /// All views of what can be chosen are told together.
    pub(crate) fn changed(&mut self, at: usize, state: &vocab::State, out: &mut Out) {
        let view = &mut self.views[at];
        let chosen = Chosen::of(state);
        view.state = state.clone();
        view.cost.choose(&chosen.model);
        let before = std::mem::replace(&mut view.chosen, chosen);
        if before.mode != view.chosen.mode {
            let current_mode_id = view.chosen.mode.as_str().into();
            let update = SessionUpdate::CurrentModeUpdate { current_mode_id, other: Other::new() };
            pen(out).update(&view.session, update);
        }
        if before != view.chosen {
            self.tell_options(at, out);
        }
    }

    /// To clients that know notices; people find the others on stderr.
    pub(crate) fn notice(&mut self, at: usize, level: NoticeLevel, text: &str, out: &mut Out) {
        if self.client.session.notices.is_none() {
            return out.notes.push(text.to_owned());
        }
        let severity = match level {
            NoticeLevel::Info => "info",
            NoticeLevel::Warning => "warning",
            NoticeLevel::Error => "error",
        };
        let update = SessionUpdate::Notice {
            severity: severity.into(),
            title: text.into(),
            description: None,
            other: Other::new(),
        };
        pen(out).update(&self.views[at].session, update);
    }

    /// To clients that know compactions.
    pub(crate) fn compaction(
        &mut self,
        at: usize,
        status: CompactionStatus,
        summary: Option<ContentBlock>,
        error: Option<String>,
        out: &mut Out,
    ) {
        if self.client.session.compaction.is_none() {
            return;
        }
        let view = &mut self.views[at];
        view.compactions += u64::from(status == CompactionStatus::InProgress);
        let update = SessionUpdate::CompactionUpdate {
            compaction_id: format!("compaction-{}", view.compactions),
            status: Some(status),
            summary: summary.map(|summary| Readable::Known(vec![summary])),
            error: error.map(Readable::Known),
            other: Other::new(),
        };
        pen(out).update(&view.session, update);
    }

    /// The session is lost. Every request that waits in it is told.
    pub(crate) fn gone(&mut self, at: usize, fault: &vocab::Fault, out: &mut Out) {
        self.forget_asked(at, |_| true, out);
        let view = self.views.remove(at);
        let error = from_fault(fault, None);
        let calls =
            view.prompts.into_iter().map(|(_, call)| call).chain(view.waiting.into_iter().map(|(_, call)| call));
        for call in calls.chain(view.closing.into_iter().map(|closing| closing.call)) {
            pen(out).refuse(Some(&call), &error);
        }
        out.notes.push(text(fault));
    }

    /// Where a person has to go: as an elicitation where the client knows that, else on stderr.
    pub(crate) fn sign_in_step(&mut self, step: &SignInStep, out: &mut Out) {
        match step {
            SignInStep::Url(url) => self.show_url(url, out),
            SignInStep::DeviceCode { verification_url, user_code, .. } => {
                out.notes.push(format!("type the code {user_code} at {verification_url}"));
            }
            SignInStep::Started | SignInStep::Completed(_) | SignInStep::Failed { .. } => {}
        }
    }
}
