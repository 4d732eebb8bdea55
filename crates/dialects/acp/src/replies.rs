//! What the engine's answers mean: each belongs to one thing that was wanted, and each request ends in one response.

use acp_types::{
    ContentBlock, MessageChunk, Other, PromptResponse, SessionUpdate, SetConfigOptionResponse, StopReason,
};
use vocab::{
    DirectoryVerb, Fault, FaultKind, ModelInfo, Open, Opened, QueueVerb, Reply, SessionId, SessionVerb, SlashCode, Tag,
    Target, TurnEnd, Verb, Which,
};
use wire::Out;

use crate::early::EarlyEvents;
use crate::faults::{from_fault, no_model, odd_reply, unknown_session};
use crate::frames::{CallId, pen};
use crate::pending::{Pending, SessionOpening, SettingAnswer};
use crate::responses::{listed, prompt_response, title};
use crate::session_view::{Closing, SessionView};
use crate::{Acp, replay};

type EngineResult = Result<Reply, Fault>;

impl Acp {
    pub(crate) fn replied(&mut self, tag: Tag, result: &EngineResult, out: &mut Out) {
        let Some(pending) = self.pending.remove(&tag) else { return };
        let session = pending.needs().cloned();
        self.settle_pending(pending, result, out);
        if let Some(at) = session.and_then(|session| self.view_of(&session)) {
            self.close_if_due(at, out);
        }
    }

    fn settle_pending(&mut self, pending: Pending, result: &EngineResult, out: &mut Out) {
        match pending {
            Pending::Nothing => {}
            Pending::Models => self.models_came(result, out),
            Pending::ModelsSoon => self.models_came_soon(result, out),
            Pending::Environment(call) => environment_looked_at(&call, result, out),
            Pending::SignIn(call) => self.signed_in(&call, result, out),
            Pending::Logout(call) => signed_out(&call, result, out),
            Pending::Open { call, asked, how } => self.open_replied(call, asked.as_deref(), how, result, out),
            Pending::Replay { call, session, how, upto } => {
                self.recalled(&call, &session, (how, upto), result, out);
                self.catch_up(&session, out);
            }
            Pending::Fork { call, asked, open } => self.forked(call, &asked, *open, result, out),
            Pending::List { call, offset } => sessions_listed(&call, offset, result, out),
            Pending::Left { session, closing } => self.session_left(&session, closing, result, out),
            Pending::Deleted(call) => session_deleted(&call, result, out),
            Pending::Prompt { call, session, cancelled } => self.prompt_taken(call, &session, cancelled, result, out),
            Pending::Slash { call, session } => slash_done(&call, &session, result, out),
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

    // ---- sessions -----------------------------------------------------------------------------------------------

    fn open_replied(
        &mut self,
        call: CallId,
        asked: Option<&str>,
        how: SessionOpening,
        result: &EngineResult,
        out: &mut Out,
    ) {
        match result {
            Ok(Reply::Opened(opened)) => self.opened(call, asked, how, opened, out),
            other => refuse(&call, asked, other, out),
        }
    }

    fn opened(&mut self, call: CallId, asked: Option<&str>, how: SessionOpening, opened: &Opened, out: &mut Out) {
        // The engine takes the beginning of an id for the whole; this protocol does not.
        if let Some(asked) = asked.filter(|asked| *asked != opened.session.as_str()) {
            let target = Target::Session(opened.session.clone());
            self.submit(target, Verb::Leave, Pending::Nothing, out);
            return pen(out).refuse(Some(&call), &unknown_session(asked));
        }
        let at = match self.view_of(&opened.session) {
            Some(at) => at,
            None => {
                self.views.push(SessionView::new(opened));
                self.views.len() - 1
            }
        };
        self.offer(at, out);
        match how {
            SessionOpening::New => self.welcome(&call, at, how, out),
            SessionOpening::Load | SessionOpening::Resume | SessionOpening::Fork => {
                let (session, upto) = (opened.session.clone(), opened.state.last_seq);
                let which = Which::Id(session.as_str().to_owned());
                self.views[at].early.get_or_insert_default();
                let pending = Pending::Replay { call, session, how, upto };
                self.want(Verb::Directory(DirectoryVerb::Recall(which)), pending, out);
            }
        }
    }

    /// The log of a session that is not new.
    fn recalled(
        &mut self,
        call: &CallId,
        session: &SessionId,
        (how, upto): (SessionOpening, u64),
        result: &EngineResult,
        out: &mut Out,
    ) {
        let recalled = match result {
            Ok(Reply::Recalled(recalled)) => Some(recalled),
            // Nothing was said in it yet.
            Err(fault) if fault.kind == FaultKind::NotFound => None,
            other => return refuse(call, Some(session.as_str()), other, out),
        };
        let Some(at) = self.view_of(session) else { return refuse_gone(call, session, out) };
        let Some(recalled) = recalled else { return self.welcome(call, at, how, out) };
        let (view, style) = (&mut self.views[at], self.style);
        view.state.context_tokens = replay::context_tokens(&recalled.entries);
        if how == SessionOpening::Load {
            // What came later was told to this peer, and is told behind the answer.
            let before = recalled.entries.iter().take_while(|entry| entry.seq <= upto);
            replay::tell(&mut pen(out), view, style, before);
        }
        self.welcome(call, at, how, out);
        let summary = &recalled.saved.summary;
        if let Some(title) = title(summary) {
            self.views[at].named(&mut pen(out), title, summary.updated_ms);
        }
    }

    /// The answer first: a client may drop updates of a session that it does not know yet.
    fn welcome(&mut self, call: &CallId, at: usize, how: SessionOpening, out: &mut Out) {
        let known = matches!(how, SessionOpening::Load | SessionOpening::Resume);
        let (answer, commands) = (self.session_answer(at, known), self.available_commands());
        let view = &self.views[at];
        let mut pen = pen(out);
        pen.result(call, answer);
        pen.update(&view.session, commands);
        pen.update(&view.session, view.usage_update(&self.models));
    }

    /// A session in which more happens than can be kept until its past is read.
    pub(crate) fn give_up_late(&mut self, at: usize, out: &mut Out) {
        let Some(view) = self.views.get(at) else { return };
        if let Some(fault) = view.early.as_ref().and_then(EarlyEvents::overflow) {
            let target = Target::Session(view.session.clone());
            self.submit(target, Verb::Leave, Pending::Nothing, out);
            self.gone(at, &fault, out);
        }
    }

    /// What came while the past was read, in its order. That is no more than [`crate::early`] keeps.
    fn catch_up(&mut self, session: &SessionId, out: &mut Out) {
        let early = self.view_of(session).and_then(|at| self.views[at].early.take());
        for event in early.into_iter().flatten() {
            if let Some(at) = self.view_of(session) {
                self.event(at, &event, out);
            }
        }
    }

    /// The copy is there; it is opened like any other.
    fn forked(&mut self, call: CallId, asked: &str, open: Open, result: &EngineResult, out: &mut Out) {
        let Ok(Reply::Forked { session, .. }) = result else { return refuse(&call, Some(asked), result, out) };
        let open = Open { which: Which::Id(session.as_str().to_owned()), ..open };
        self.want(Verb::Open(open), Pending::Open { call, asked: None, how: SessionOpening::Fork }, out);
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
    }

    /// A turn is over: its prompt is answered, and what waited for it is done.
    pub(crate) fn turn_over(&mut self, at: usize, end: &TurnEnd, out: &mut Out) {
        let strict = self.options.strict;
        let view = &mut self.views[at];
        view.turn = None;
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
fn slash_done(call: &CallId, session: &SessionId, result: &EngineResult, out: &mut Out) {
    let Ok(Reply::Slash(reply)) = result else { return refuse(call, Some(session.as_str()), result, out) };
    let cancelled = reply.failed_with(SlashCode::Cancelled);
    let text = wire::slash::text(reply, &vocab::names::CANONICAL);
    let stop_reason = if cancelled { StopReason::Cancelled } else { StopReason::EndTurn };
    let chunk = MessageChunk { content: ContentBlock::text(text), message_id: None, other: Other::new() };
    let mut pen = pen(out);
    pen.update(session, SessionUpdate::AgentMessageChunk(chunk));
    pen.result(call, PromptResponse { stop_reason, usage: None });
}

/// The engine refused, or answered something else; `session` is what the request was about.
fn refuse(call: &CallId, session: Option<&str>, result: &EngineResult, out: &mut Out) {
    let error = match result {
        Err(fault) => from_fault(fault, session),
        Ok(_) => odd_reply(),
    };
    pen(out).refuse(Some(call), &error);
}

/// The session was left while something was on its way.
fn refuse_gone(call: &CallId, session: &SessionId, out: &mut Out) {
    pen(out).refuse(Some(call), &unknown_session(session.as_str()));
}
