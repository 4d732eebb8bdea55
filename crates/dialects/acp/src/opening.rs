//! Sessions that come in: new ones, saved ones with what was said in them, and those that a client only listens to.

use std::collections::VecDeque;
use std::sync::Arc;

use vocab::{
    AskEntry, Body, DirectoryVerb, Entry, Event, FaultKind, Opened, Reply, SessionId, Tag, Target, Verb, Which,
};
use wire::Out;

use crate::early::EarlyEvents;
use crate::faults::{invalid, unknown_session};
use crate::flow::{FlowState, Place};
use crate::frames::{CallId, pen};
use crate::pending::{Pending, SessionOpening};
use crate::remote::standing;
use crate::replies::{EngineResult, refuse, refuse_gone};
use crate::responses::title;
use crate::session_view::{Replaying, SessionView};
use crate::untold_calls::UntoldCalls;
use crate::{Acp, params, replay};

/// How a session is called, and since when.
pub(crate) type Titled = Option<(String, i64)>;

impl Acp {
    pub(crate) fn open_replied(
        &mut self,
        call: Option<CallId>,
        asked: Option<&str>,
        how: SessionOpening,
        result: &EngineResult,
        out: &mut Out,
    ) {
        match result {
            Ok(Reply::Opened(opened)) => self.opened(call, asked, how, opened, out),
            other => call.iter().for_each(|call| refuse(call, asked, other, out)),
        }
    }

    fn opened(
        &mut self,
        call: Option<CallId>,
        asked: Option<&str>,
        how: SessionOpening,
        opened: &Opened,
        out: &mut Out,
    ) {
        let (session, upto) = (opened.session.clone(), opened.state.last_seq);
        let is_ahead = matches!(&how, SessionOpening::Attach { place } if place.seq > upto);
        // The engine takes the beginning of an id for the whole; this protocol does not.
        if is_ahead || asked.is_some_and(|asked| asked != session.as_str()) {
            self.submit(Target::Session(session), Verb::Leave, Pending::Nothing, out);
            let error = unknown_session(asked.unwrap_or_default());
            return call.iter().for_each(|call| pen(out).refuse(Some(call), &error));
        }
        let at = match self.view_of(&session) {
            Some(at) => at,
            None => {
                self.views.push(SessionView::new(opened, self.window_of(&session)));
                self.views.len() - 1
            }
        };
        self.offer(at, out);
        let which = Which::Id(session.as_str().to_owned());
        let recall = Verb::Directory(DirectoryVerb::Recall(which));
        match (how, call) {
            (SessionOpening::New, call) => self.welcome(call.as_ref(), at, false, out),
            (SessionOpening::Attach { place }, _) => {
                self.views[at].flow.close();
                self.want(recall, Pending::Stands { session, place }, out);
            }
            (SessionOpening::Prompt { params }, Some(call)) => {
                self.request(&call, acp_types::method::SESSION_PROMPT, Some(&*params), out);
            }
            (how, call) => {
                self.views[at].early.get_or_insert_default();
                self.want(recall, Pending::Replay { call, session, how, upto }, out);
            }
        }
    }

    /// The log of a session that is not new.
    pub(crate) fn recalled(
        &mut self,
        call: Option<CallId>,
        session: &SessionId,
        (how, upto): (SessionOpening, u64),
        result: &EngineResult,
        out: &mut Out,
    ) {
        let recalled = match result {
            Ok(Reply::Recalled(recalled)) => Some(recalled),
            // Nothing was said in it yet.
            Err(fault) if fault.kind == FaultKind::NotFound => None,
            other => {
                call.iter().for_each(|call| refuse(call, Some(session.as_str()), other, out));
                return self.catch_up(session, out);
            }
        };
        let Some(at) = self.view_of(session) else {
            return call.iter().for_each(|call| refuse_gone(call, session, out));
        };
        let known = matches!(how, SessionOpening::Load { .. } | SessionOpening::Resume);
        let entries = recalled.map_or(&[][..], |recalled| &recalled.entries[..]);
        let view = &mut self.views[at];
        if recalled.is_some() {
            view.state.context_tokens = replay::context_tokens(entries);
        }
        let titled = recalled.and_then(|it| Some((title(&it.saved.summary)?, it.saved.summary.updated_ms)));
        // What came later was told to this peer, and is told behind the answer.
        let before = entries.iter().take_while(|entry| entry.seq <= upto);
        let after = match how {
            SessionOpening::Load { after } if after.seq > upto => {
                let error = invalid(format!("unknown place: the session is at {upto}"));
                call.iter().for_each(|call| pen(out).refuse(Some(call), &error));
                return self.catch_up(session, out);
            }
            SessionOpening::Load { after } => after,
            _ => Place::at(upto),
        };
        view.untold_calls = UntoldCalls::behind(entries.iter().take_while(|entry| entry.seq <= after.seq));
        let entries: VecDeque<Arc<Entry>> = before.filter(|entry| entry.seq > after.seq).cloned().collect();
        let (_, reply) = standing(recalled.map_or(&[][..], |it| &it.entries[..]), after.seq);
        view.flow.at = after;
        view.flow.reply = reply;
        view.replaying = Some(Box::new(Replaying { call, known, entries, upto, titled, was_held: false }));
        self.replay_on(at, out);
    }

    /// What was said, as long as there is room; then the answer, and what came meanwhile.
    pub(crate) fn replay_on(&mut self, at: usize, out: &mut Out) {
        let Some(mut replaying) = self.views[at].replaying.take() else { return };
        while let Some(entry) = replaying.entries.pop_front() {
            if !self.views[at].flow.has_room() || !self.replay_entry(at, &entry, out) {
                replaying.entries.push_front(entry);
                replaying.was_held = true;
                // The log has what comes meanwhile; of what is asked it has no more than that.
                self.keep_asks(at);
                self.views[at].replaying = Some(replaying);
                return;
            }
        }
        let Replaying { call, known, upto, titled, was_held, .. } = *replaying;
        let view = &mut self.views[at];
        view.flow.at.seq = view.flow.at.seq.max(upto);
        let session = view.session.clone();
        if self.is_remote() {
            return self.enter(at, (call, known), titled, was_held, out);
        }
        self.welcome(call.as_ref(), at, known, out);
        self.call_it(at, titled, out);
        self.catch_up(&session, out);
    }

    /// Says whether all of it was told.
    fn replay_entry(&mut self, at: usize, entry: &Arc<Entry>, out: &mut Out) -> bool {
        let (style, reply) = (self.style, self.views[at].flow.reply);
        let before = self.views[at].flow.at;
        let untold = self.views[at].untold_calls.take(&entry.body);
        if let Body::Assistant { turn, message } = &entry.body
            && before.bytes > 0
        {
            if !self.say_rest(at, turn.as_ref(), entry.seq, message, out) {
                return false;
            }
            replay::tell_calls(&mut pen(out), &self.views[at], style, entry);
        } else {
            replay::tell_entry(&mut pen(out), &self.views[at], style, entry, (reply, untold.as_ref()));
        }
        self.views[at].calls_replayed(entry);
        self.views[at].flow.take(entry);
        if self.is_remote() {
            let after = self.views[at].flow.at;
            self.stamp_entry(at, before, after, out);
        }
        true
    }

    /// A remote client: the running turn as far as it is, the answer, the open questions, and then what happens.
    fn enter(&mut self, at: usize, (call, known): (Option<CallId>, bool), titled: Titled, held: bool, out: &mut Out) {
        let session = self.views[at].session.clone();
        let has_room = self.views[at].flow.has_room();
        if held || !has_room {
            self.keep_asks(at);
        }
        let early = self.views[at].early.take();
        if !held && has_room {
            self.views[at].flow.state = FlowState::CatchingUp;
            self.views[at].flow.rejoins();
            for event in early.into_iter().flatten() {
                if let Some(at) = self.view_of(&session) {
                    self.told_remote(at, &event, out);
                }
            }
        }
        let Some(at) = self.view_of(&session) else {
            return call.iter().for_each(|call| refuse_gone(call, &session, out));
        };
        self.welcome(call.as_ref(), at, known, out);
        self.call_it(at, titled, out);
        match self.views[at].flow.state {
            FlowState::CatchingUp => self.caught_up(at, out),
            _ if self.views[at].flow.has_room() => self.rejoin(at, out),
            _ => self.views[at].flow.state = FlowState::Paused,
        }
    }

    /// Of what came early, the open questions are kept: they may lie before the place where the client goes on.
    fn keep_asks(&mut self, at: usize) {
        let view = &mut self.views[at];
        for event in view.early.take().into_iter().flatten() {
            if let Event::Logged(entry) = &event
                && let Body::Ask(AskEntry::Opened(ask)) = &entry.body
            {
                view.flow.keep_ask(ask);
            }
        }
        view.flow.state = FlowState::Paused;
    }

    fn call_it(&mut self, at: usize, titled: Titled, out: &mut Out) {
        if let Some((title, updated_ms)) = titled {
            self.views[at].named(&mut pen(out), title, updated_ms);
        }
    }

    /// The answer first: a client may drop updates of a session that it does not know yet. `known`: it has named it.
    fn welcome(&mut self, call: Option<&CallId>, at: usize, known: bool, out: &mut Out) {
        let (answer, commands) = (self.session_answer(at, known), self.available_commands());
        let view = &self.views[at];
        let mut pen = pen(out);
        call.into_iter().for_each(|call| pen.result(call, &answer));
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
                match self.is_remote() {
                    true => self.told_remote(at, &event, out),
                    false => self.event(at, &event, out),
                }
            }
        }
    }

    pub(crate) fn rejoin_replied(&mut self, tag: Tag, session: &SessionId, result: &EngineResult, out: &mut Out) {
        match result {
            Ok(Reply::Opened(opened)) => self.rejoined(tag, session, opened, out),
            Ok(_) => {}
            Err(fault) => {
                if let Some(at) = self.view_of(session)
                    && self.views[at].flow.state == FlowState::Rejoining(tag)
                {
                    self.event(at, &Event::Gone { fault: fault.clone() }, out);
                }
            }
        }
    }

    /// A prompt brings its client to the session.
    pub(crate) fn attach_to_prompt(&mut self, call: CallId, session: String, params: CallId, out: &mut Out) {
        let open = vocab::Open { mode: None, ..self.open(Which::Id(session.clone())) };
        let pending = Pending::Open { call: Some(call), asked: Some(session), how: SessionOpening::Prompt { params } };
        self.open_listed(Target::Current, Verb::Open(open), pending, out);
    }
}

/// From where on a request wants to be told again what was said. `Err`: it names a place that is none.
pub(crate) fn replay_from(request: &acp_types::SavedSessionRequest) -> Result<Option<Place>, wire::jsonrpc::RpcError> {
    let wrong = || invalid("unknown place to replay from");
    let after = request.meta.as_ref().and_then(|meta| meta.get(crate::frames::AFTER));
    if let Some(after) = after {
        return params::place(after).map(Some).ok_or_else(wrong);
    }
    let Some(from) = request.replay_from.as_ref().filter(|from| !from.is_null()) else { return Ok(None) };
    match from.get("type").and_then(serde_json::Value::as_str) {
        Some("start") => Ok(Some(Place::default())),
        Some("_tillerman_seq") => from.get("seq").and_then(params::place).map(Some).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}
