//! What the engine's answers mean: each belongs to one thing that was wanted, and each request ends in one response.

use acp_types::{
    ContentBlock, MessageChunk, Other, PromptResponse, SessionUpdate, SetConfigOptionResponse, StopReason,
};
use vocab::{
    DirectoryVerb, Fault, FaultKind, ModelInfo, Open, QueueVerb, Reply, SessionId, SessionVerb, SlashCode, Tag,
    TurnEnd, Verb, Which,
};
use wire::Out;

use crate::Acp;
use crate::faults::{from_fault, no_model, odd_reply, unknown_session};
use crate::frames::{CallId, pen};
use crate::pending::{Pending, SessionOpening, SettingAnswer};
use crate::responses::{listed, prompt_response};
use crate::session_view::Closing;

pub(crate) type EngineResult = Result<Reply, Fault>;

impl Acp {
    pub(crate) fn replied(&mut self, tag: Tag, result: &EngineResult, out: &mut Out) {
        let Some(pending) = self.pending.remove(&tag) else { return };
        let session = pending.needs().cloned();
        self.settle_pending(tag, pending, result, out);
        if let Some(at) = session.and_then(|session| self.view_of(&session)) {
            self.close_if_due(at, out);
        }
    }

    fn settle_pending(&mut self, tag: Tag, pending: Pending, result: &EngineResult, out: &mut Out) {
        match pending {
            Pending::Nothing => {}
            Pending::Models => self.models_came(result, out),
            Pending::ModelsSoon => self.models_came_soon(result, out),
            Pending::Environment(call) => environment_looked_at(&call, result, out),
            Pending::SignIn(call) => self.signed_in(&call, result, out),
            Pending::Logout(call) => signed_out(&call, result, out),
            Pending::Open { call, asked, how } => self.open_replied(call, asked.as_deref(), how, result, out),
            Pending::Replay { call, session, how, upto } => self.recalled(call, &session, (how, upto), result, out),
            Pending::Rejoin { session } => self.rejoin_replied(tag, &session, result, out),
            Pending::Stands { session, place } => {
                let entries = match result {
                    Ok(Reply::Recalled(recalled)) => &recalled.entries[..],
                    _ => &[],
                };
                self.stands(&session, place, entries, out);
            }
            Pending::Fork { call, asked, open } => self.forked(call, &asked, *open, result, out),
            Pending::List { call, offset } => sessions_listed(&call, offset, result, out),
            Pending::Left { session, closing } => self.session_left(&session, closing, result, out),
            Pending::Deleted(call) => session_deleted(&call, result, out),
            Pending::Prompt { call, session, cancelled } => self.prompt_taken(call, &session, cancelled, result, out),
            Pending::Slash { call, session } => {
                let message = self.options.ids.mint(vocab::IdKind::Session);
                slash_done(&call, &session, message, result, out);
            }
            Pending::Set { call, session, answer } => self.setting_changed(&call, &session, answer, result, out),
        }
    }

    // ---- models and accounts ------------------------------------------------------------------------------------

    /// A list that cannot be got leaves the model that is used.
    fn models_came(&mut self, result: &EngineResult, out: &mut Out) {
        if let Ok(Reply::Models(models)) = result {
            self.models_known(models, out);
        }
    }

    /// Sessions wait for the list. Where it is late, or could not be got just now, they are opened without it, and it is told
    /// when it comes.
    fn models_came_soon(&mut self, result: &EngineResult, out: &mut Out) {
        match result {
            Ok(Reply::Models(models)) => self.models_known(models, out),
            late => {
                out.notes.extend(late.as_ref().err().map(|fault| format!("no list of models yet: {}", fault.message)));
                self.want(Verb::Directory(DirectoryVerb::Models), Pending::Models, out);
            }
        }
        self.open_held(out);
    }

    fn models_known(&mut self, models: &[ModelInfo], out: &mut Out) {
        self.models = models.to_vec();
        for at in 0..self.views.len() {
            self.tell_options(at, out);
        }
    }

    pub(crate) fn tell_options(&mut self, at: usize, out: &mut Out) {
        let view = &self.views[at];
        let config_options = view.chosen.options(&self.models);
        pen(out).update(&view.session, SessionUpdate::ConfigOptionUpdate { config_options, other: Other::new() });
    }

    fn signed_in(&mut self, call: &CallId, result: &EngineResult, out: &mut Out) {
        let Ok(Reply::SignedIn(_)) = result else { return refuse(call, None, result, out) };
        pen(out).done(call);
        self.list_models(out);
    }

    /// The copy is there; it is opened like any other.
    fn forked(&mut self, call: CallId, asked: &str, open: Open, result: &EngineResult, out: &mut Out) {
        let Ok(Reply::Forked { session, .. }) = result else { return refuse(&call, Some(asked), result, out) };
        let open = Open { which: Which::Id(session.as_str().to_owned()), ..open };
        self.want(Verb::Open(open), Pending::Open { call: Some(call), asked: None, how: SessionOpening::Fork }, out);
    }

    fn session_left(&mut self, session: &SessionId, closing: Vec<Closing>, result: &EngineResult, out: &mut Out) {
        for closing in closing {
            match result {
                Err(_) => refuse(&closing.call, Some(session.as_str()), result, out),
                Ok(_) if closing.delete => self.delete_saved(session.as_str(), closing, out),
                Ok(_) => pen(out).done(&closing.call),
            }
        }
    }

    fn setting_changed(
        &mut self,
        call: &CallId,
        session: &SessionId,
        answer: SettingAnswer,
        result: &EngineResult,
        out: &mut Out,
    ) {
        if result.is_err() {
            return refuse(call, Some(session.as_str()), result, out);
        }
        let Some(at) = self.view_of(session) else { return refuse_gone(call, session, out) };
        match answer {
            SettingAnswer::Empty => pen(out).done(call),
            SettingAnswer::Options => {
                let config_options = self.views[at].chosen.options(&self.models);
                pen(out).result(call, SetConfigOptionResponse { config_options });
            }
        }
    }

    // ---- turns --------------------------------------------------------------------------------------------------

    /// What has become of a prompt: a turn, a place in the queue, or nothing.
    fn prompt_taken(
        &mut self,
        call: CallId,
        session: &SessionId,
        cancelled: bool,
        result: &EngineResult,
        out: &mut Out,
    ) {
        let Some(at) = self.view_of(session) else { return refuse_gone(&call, session, out) };
        let view = &mut self.views[at];
        let stop = match result {
            Ok(Reply::Started { turn }) => {
                view.flow.owns(turn);
                view.prompts.push((turn.clone(), call));
                Verb::Session(SessionVerb::Interrupt { turn: Some(turn.clone()) })
            }
            Ok(Reply::Waiting { item, .. }) => {
                view.waiting.push((item.clone(), call));
                Verb::Session(SessionVerb::Queue(QueueVerb::TakeBack(item.clone())))
            }
            other => return refuse(&call, Some(session.as_str()), other, out),
        };
        if cancelled {
            self.tell_session(at, stop, Pending::Nothing, out);
        }
        // It was told that the turn is over before it was known whose turn it is.
        let ended = self.views[at].flow.ended.clone();
        if let Some(end) = ended.filter(|end| self.views[at].prompts.iter().any(|(turn, _)| *turn == end.turn)) {
            self.turn_over(at, &end, out);
        }
    }

    /// A turn is over: its prompt is answered, and what waited for it is done.
    pub(crate) fn turn_over(&mut self, at: usize, end: &TurnEnd, out: &mut Out) {
        let strict = self.options.strict;
        let view = &mut self.views[at];
        view.turn = None;
        view.flow.ended = Some(end.clone());
        let place = view.prompts.iter().position(|(turn, _)| *turn == end.turn);
        let call = place.map(|place| view.prompts.remove(place).1);
        if let Some(call) = call {
            pen(out).answer(&call, prompt_response(end, strict));
        }
        self.close_if_due(at, out);
    }
}

/// Whether any model can be used as things are.
fn environment_looked_at(call: &CallId, result: &EngineResult, out: &mut Out) {
    match result {
        Ok(Reply::Accounts(accounts)) if accounts.has_model => pen(out).done(call),
        Ok(Reply::Accounts(_)) => pen(out).refuse(Some(call), &no_model()),
        other => refuse(call, None, other, out),
    }
}

fn signed_out(call: &CallId, result: &EngineResult, out: &mut Out) {
    match result {
        Ok(_) => pen(out).done(call),
        Err(_) => refuse(call, None, result, out),
    }
}

fn sessions_listed(call: &CallId, offset: usize, result: &EngineResult, out: &mut Out) {
    match result {
        Ok(Reply::Sessions(page)) => pen(out).result(call, listed(page, offset)),
        other => refuse(call, None, other, out),
    }
}

/// A client that wants it gone has it gone, also where it was not there.
fn session_deleted(call: &CallId, result: &EngineResult, out: &mut Out) {
    match result {
        Ok(_) => pen(out).done(call),
        Err(fault) if matches!(fault.kind, FaultKind::NotFound | FaultKind::UnknownSession) => pen(out).done(call),
        Err(_) => refuse(call, None, result, out),
    }
}

/// A slash command is a turn without a model: what it says is a message.
fn slash_done(call: &CallId, session: &SessionId, message: String, result: &EngineResult, out: &mut Out) {
    let Ok(Reply::Slash(reply)) = result else { return refuse(call, Some(session.as_str()), result, out) };
    let cancelled = reply.failed_with(SlashCode::Cancelled);
    let text = wire::slash::text(reply, &vocab::names::CANONICAL);
    let stop_reason = if cancelled { StopReason::Cancelled } else { StopReason::EndTurn };
    let mut pen = pen(out);
    for piece in crate::bounded::pieces(&text) {
        let message_id = Some(message.clone());
        let chunk = MessageChunk { content: ContentBlock::text(piece), message_id, other: Other::new() };
        pen.update(session, SessionUpdate::AgentMessageChunk(chunk));
    }
    pen.result(call, PromptResponse { stop_reason, usage: None });
}

/// The engine refused, or answered something else; `session` is what the request was about.
pub(crate) fn refuse(call: &CallId, session: Option<&str>, result: &EngineResult, out: &mut Out) {
    let error = match result {
        Err(fault) => from_fault(fault, session),
        Ok(_) => odd_reply(),
    };
    pen(out).refuse(Some(call), &error);
}

/// The session was left while something was on its way.
pub(crate) fn refuse_gone(call: &CallId, session: &SessionId, out: &mut Out) {
    pen(out).refuse(Some(call), &unknown_session(session.as_str()));
}
