//! A client on the network: it is told as much as it takes, from the place that it has, and knows of the others that are on its
//! sessions. Its transport says how much may be said ([`FlowWord`]); each update carries its place.

use std::sync::Arc;

use acp_types::{Other, SessionUpdate, method};
use serde_json::json;
use vocab::{
    Along, AssistantMessage, Block, Body, Cursor, Delta, DirectoryVerb, Entry, Event, Opened, Position, SessionId,
    SessionVerb, TurnEntry, TurnId, Verb, Which,
};
use wire::{FlowWord, FrameBuf, Out, Parting, escape_plain_into};

use crate::Acp;
use crate::bounded::{bounded, pieces};
use crate::flow::{FlowState, Place};
use crate::frames::{PLACE, pen};
use crate::pending::{Pending, SessionOpening};
use crate::session_view::{Spoken, turn_or_place};
use crate::untold_calls::UntoldCalls;

/// Sessions that somebody listens to before they are opened; more are not remembered.
const LISTENED_MAX: usize = 512;

/// What is different for a client on the network.
#[derive(Clone, Default)]
pub struct RemoteOptions {
    /// Told in the answer to `initialize`.
    pub connection: Arc<str>,
    /// The client's files and terminals are used, which are those of another machine.
    pub client_fs: bool,
    /// What runs is stopped when the last client of a session is gone.
    pub cancel_on_disconnect: bool,
}

impl Acp {
    pub(crate) fn is_remote(&self) -> bool {
        self.options.remote.is_some()
    }

    /// Bytes that may be said of a session that is opened now.
    pub(crate) fn window_of(&self, session: &SessionId) -> Option<usize> {
        let listened = self.listened.contains(session).then_some(crate::WINDOW_BYTES);
        self.is_remote().then(|| listened.unwrap_or(self.window_usual))
    }

    pub(crate) fn hear_word(&mut self, word: FlowWord, out: &mut Out) {
        match word {
            FlowWord::Credit { session, bytes } if session.is_empty() => self.window_usual = bytes,
            FlowWord::Credit { session, bytes } => {
                let session = SessionId::from(session);
                match self.view_of(&session) {
                    Some(at) => {
                        self.views[at].flow.earn(bytes);
                        self.go_on(at, out);
                    }
                    None if self.listened.len() < LISTENED_MAX => {
                        self.listened.insert(session);
                    }
                    None => {}
                }
            }
            FlowWord::Closed { session } => {
                let session = SessionId::from(session);
                self.listened.remove(&session);
                if let Some(at) = self.view_of(&session) {
                    self.pause(at, out);
                    self.views[at].flow.close();
                }
            }
            FlowWord::From { session, place } => self.go_on_from(&SessionId::from(session), &place, out),
            // That is our own word.
            FlowWord::Rejoined { .. } | FlowWord::CaughtUp { .. } => {}
        }
    }

    /// There is room again.
    fn go_on(&mut self, at: usize, out: &mut Out) {
        if !self.views[at].flow.has_room() {
            return;
        }
        if self.views[at].replaying.is_some() {
            return self.replay_on(at, out);
        }
        // What is on its way to a load or a resume comes first.
        if self.views[at].flow.state == FlowState::Paused && self.views[at].early.is_none() {
            self.rejoin(at, out);
        }
    }

    /// The engine tells on from the client's place.
    pub(crate) fn rejoin(&mut self, at: usize, out: &mut Out) {
        let view = &mut self.views[at];
        let session = view.session.clone();
        let after = Cursor { session: Some(session.clone()), at: Position::at(view.flow.at.seq), along: Along::Log };
        let open = vocab::Open { after: Some(after), mode: None, ..self.open(Which::Id(session.as_str().to_owned())) };
        self.want(Verb::Open(open), Pending::Rejoin { session }, out);
        self.views[at].flow.state = FlowState::Rejoining(self.last_tag());
    }

    /// What is told next is behind the client's place.
    pub(crate) fn rejoined(&mut self, tag: vocab::Tag, session: &SessionId, opened: &Opened, out: &mut Out) {
        let Some(at) = self.view_of(session) else { return };
        // It was closed meanwhile, or asked again.
        if self.views[at].flow.state != FlowState::Rejoining(tag) {
            return;
        }
        self.views[at].flow.state = FlowState::CatchingUp;
        self.views[at].flow.rejoins();
        self.changed(at, &opened.state, out);
    }

    /// The client has everything up to this place, or says so: from there it is told on. What it calls a place and is none is
    /// passed over.
    fn go_on_from(&mut self, session: &SessionId, place: &str, out: &mut Out) {
        let place = Place::parse(place);
        match self.view_of(session) {
            Some(at) => {
                self.pause(at, out);
                let flow = &mut self.views[at].flow;
                flow.earn(usize::MAX);
                let known = place.filter(|place| *place <= flow.at).unwrap_or(flow.at);
                out.frames.raw(&FlowWord::Rejoined { session: session.to_string() }.frame());
                if self.views[at].replaying.is_some() || self.views[at].early.is_some() {
                    return;
                }
                self.views[at].flow.state = FlowState::Paused;
                let which = Which::Id(session.as_str().to_owned());
                let pending = Pending::Stands { session: session.clone(), place: known };
                self.want(Verb::Directory(DirectoryVerb::Recall(which)), pending, out);
            }
            None => {
                self.listened.insert(session.clone());
                out.frames.raw(&FlowWord::Rejoined { session: session.to_string() }.frame());
                let Some(place) = place else { return };
                let open = vocab::Open { mode: None, ..self.open(Which::Id(session.as_str().to_owned())) };
                let how = SessionOpening::Attach { place };
                let pending = Pending::Open { call: None, asked: Some(session.to_string()), how };
                self.open_listed(vocab::Target::Current, Verb::Open(open), pending, out);
            }
        }
    }

    /// Which turn ran at a place, and which reply was its next: then it is told on from there.
    pub(crate) fn stands(&mut self, session: &SessionId, place: Place, entries: &[Arc<Entry>], out: &mut Out) {
        let Some(at) = self.view_of(session) else { return };
        let view = &mut self.views[at];
        let (turn, reply) = standing(entries, place.seq);
        (view.flow.at, view.flow.reply) = (place, reply);
        view.turn = turn.map(crate::session_view::RunningTurn::new);
        view.untold_calls = UntoldCalls::behind(entries.iter().take_while(|entry| entry.seq <= place.seq));
        view.flow.close();
        view.flow.earn(usize::MAX);
        let (commands, usage) = (self.available_commands(), self.views[at].usage_update(&self.models));
        let mut pen = pen(out);
        pen.update(session, commands);
        pen.update(session, usage);
        self.rejoin(at, out);
    }

    /// It is told nothing more for now. What only waited for the next word is said.
    fn pause(&mut self, at: usize, out: &mut Out) {
        if self.views[at].flow.is_told() {
            self.views[at].flow.state = FlowState::Paused;
            self.answer_over(at, out);
        }
    }

    fn answer_over(&mut self, at: usize, out: &mut Out) {
        if let Some(end) = self.views[at].over.take() {
            let view = &self.views[at];
            let update = view.usage_update(&self.models);
            pen(out).update(&view.session, update);
            self.turn_over(at, &end, out);
        }
    }

    // ---- what happens -------------------------------------------------------------------------------------------

    /// An event of a session, as far as its client takes it now.
    pub(crate) fn told_remote(&mut self, at: usize, event: &Event, out: &mut Out) {
        let session = self.views[at].session.clone();
        match event {
            // What the log does not say again.
            Event::Gone { .. } | Event::TurnLost(_) | Event::Editor(_) => self.event(at, event, out),
            Event::Logged(entry) if !self.views[at].flow.is_told() => return self.kept(at, entry),
            _ if !self.views[at].flow.is_told() => return,
            Event::Live { .. } => self.caught_up(at, out),
            Event::Delta(Delta::ModelCalled { turn, reply }) => {
                self.views[at].flow.reply_begins(*reply);
                self.views[at].reply_begins(turn);
            }
            Event::Delta(Delta::Text { turn, delta }) => self.spoken(at, Spoken::Text, turn, delta, out),
            Event::Delta(Delta::Thinking { turn, delta }) => self.spoken(at, Spoken::Thought, turn, delta, out),
            Event::Logged(entry) => self.logged_remote(at, entry, out),
            event => self.event(at, event, out),
        }
        self.stamp_rest(out);
        if let Some(at) = self.view_of(&session)
            && !self.views[at].flow.has_room()
        {
            self.pause(at, out);
            self.stamp_rest(out);
        }
    }

    /// While it is told nothing: an open question that lies before its place would not come again.
    fn kept(&mut self, at: usize, entry: &Entry) {
        if let Body::Ask(vocab::AskEntry::Opened(ask)) = &entry.body
            && (entry.seq <= self.views[at].flow.at.seq || self.views[at].replaying.is_some())
            && self.place_of(&ask.id).is_none()
        {
            self.views[at].flow.keep_ask(ask);
        }
    }

    /// A piece of the running reply.
    fn spoken(&mut self, at: usize, what: Spoken, turn: &TurnId, text: &str, out: &mut Out) {
        let news = self.views[at].flow.news(text);
        self.say(at, what, turn, news, out);
    }

    /// Text that was not told, in pieces, as long as there is room. Says whether all of it was told.
    fn say(&mut self, at: usize, what: Spoken, turn: &TurnId, text: &str, out: &mut Out) -> bool {
        for piece in pieces(text) {
            let view = &mut self.views[at];
            if !view.flow.has_room() {
                return false;
            }
            view.speak(&mut pen(out), what, turn, piece);
            view.flow.at.bytes += piece.len() as u64;
            self.stamp_rest(out);
        }
        true
    }

    fn logged_remote(&mut self, at: usize, entry: &Arc<Entry>, out: &mut Out) {
        let is_past = entry.seq <= self.views[at].flow.at.seq;
        if is_past {
            // A question that is open is shown to whoever comes in.
            if let Body::Ask(vocab::AskEntry::Opened(ask)) = &entry.body {
                self.asked_by_engine(at, ask, out);
            }
            return;
        }
        if let Body::Assistant { turn, message } = &entry.body
            && self.views[at].flow.state == FlowState::CatchingUp
            && !self.say_rest(at, turn.as_ref(), entry.seq, message, out)
        {
            return;
        }
        let session = self.views[at].session.clone();
        let before = self.views[at].flow.at;
        self.event(at, &Event::Logged(entry.clone()), out);
        self.state_of(&session, entry, out);
        let Some(at) = self.view_of(&session) else { return };
        self.views[at].flow.take(entry);
        let after = self.views[at].flow.at;
        self.stamp_entry(at, before, after, out);
        if self.views[at].flow.state == FlowState::CatchingUp {
            self.answer_over(at, out);
        }
    }

    /// What was not told of a reply that is in the log. Says whether all of it was told.
    pub(crate) fn say_rest(
        &mut self,
        at: usize,
        turn: Option<&TurnId>,
        seq: u64,
        message: &AssistantMessage,
        out: &mut Out,
    ) -> bool {
        let named = turn_or_place(turn, &self.views[at].session, seq);
        self.views[at].flow.rejoins();
        for block in &message.blocks {
            let (what, text) = match block {
                Block::Text(text) => (Spoken::Text, text),
                Block::Thinking { text, .. } => (Spoken::Thought, text),
                Block::Call(_) | Block::Redacted(_) => continue,
            };
            let news = self.views[at].flow.news(text);
            if !self.say(at, what, &named, news, out) {
                return false;
            }
        }
        true
    }

    /// Everything of the past was told.
    pub(crate) fn caught_up(&mut self, at: usize, out: &mut Out) {
        self.views[at].flow.state = FlowState::Live;
        self.answer_over(at, out);
        self.stamp_rest(out);
        out.frames.raw(&FlowWord::CaughtUp { session: self.views[at].session.to_string() }.frame());
        for ask in std::mem::take(&mut self.views[at].flow.asks) {
            self.asked_by_engine(at, &ask, out);
        }
    }

    /// Whoever has not sent the prompt learns how the session stands, and what was said.
    fn state_of(&mut self, session: &SessionId, entry: &Entry, out: &mut Out) {
        let Some(at) = self.view_of(session) else { return };
        let view = &self.views[at];
        let (state, stop) = match &entry.body {
            Body::Turn(TurnEntry::Started { .. }) => ("running", None),
            Body::Turn(TurnEntry::Ended(end)) => ("idle", Some(crate::responses::stop_word(end))),
            Body::Ask(vocab::AskEntry::Opened(_)) => ("requires_action", None),
            Body::Ask(vocab::AskEntry::Closed { .. }) if view.turn.is_some() => ("running", None),
            _ => return,
        };
        let mut told = json!({ "state": state });
        if let Some(stop) = stop {
            told["stopReason"] = stop.into();
        }
        let update = SessionUpdate::SessionInfoUpdate {
            title: None,
            updated_at: Some(vocab::iso8601(entry.at_ms)),
            other: Other::from_iter([("_meta".to_owned(), json!({ "tillerman": told }))]),
        };
        pen(out).update(session, update);
    }

    // ---- places -------------------------------------------------------------------------------------------------

    /// The updates of one entry: each has its place, and those that were told are left out.
    pub(crate) fn stamp_entry(&mut self, at: usize, before: Place, after: Place, out: &mut Out) {
        let head = head_of(&self.views[at].session);
        let mine = |frame: &[u8]| frame.starts_with(&head);
        let count = frames_from(&out.frames, self.stamped).filter(|frame| mine(frame)).count() as u64;
        let stamps = self.stamps();
        let (mut number, mut bytes) = (0, 0);
        out.frames.rewrite(self.stamped, |frame, into| {
            if !mine(frame) {
                return push(into, frame, None);
            }
            number += 1;
            if number <= before.updates {
                return;
            }
            let place = if number == count { after } else { Place { updates: number, ..before } };
            bytes += frame.len();
            push(into, frame, stamps.then_some(place));
        });
        self.views[at].flow.spend(bytes);
        self.stamped = out.frames.len();
    }

    /// Whatever was said since the last stamp is at the place where its session is.
    pub(crate) fn stamp_rest(&mut self, out: &mut Out) {
        if out.frames.len() == self.stamped {
            return;
        }
        let stamps = self.stamps();
        let heads: Vec<_> = self.views.iter().map(|view| (head_of(&view.session), view.flow.at)).collect();
        let mut spent = vec![0; heads.len()];
        out.frames.rewrite(self.stamped, |frame, into| {
            let of = heads.iter().position(|(head, _)| frame.starts_with(head));
            if let Some(of) = of {
                spent[of] += frame.len();
            }
            push(into, frame, of.filter(|_| stamps).map(|of| heads[of].1));
        });
        for (view, bytes) in self.views.iter_mut().zip(spent) {
            view.flow.spend(bytes);
        }
        self.stamped = out.frames.len();
    }

    /// A transport of streams has no other way to know places; a client may ask for them.
    fn stamps(&self) -> bool {
        let asked = self.client.meta.as_ref().and_then(|meta| meta.get("tillerman")).and_then(|it| it.get("seq"));
        self.window_usual == 0 || asked.and_then(serde_json::Value::as_bool) == Some(true)
    }

    // ---- the end ------------------------------------------------------------------------------------------------

    /// The client is gone; its sessions are not. What runs goes on, unless it is to stop with the last who hears it.
    pub(crate) fn part_remote(&mut self, why: Parting, out: &mut Out) {
        match why {
            Parting::Asked { .. } => return,
            // It has nothing more to say; it goes with the answers to what it has said.
            Parting::Eof if !self.ending => self.ending = true,
            _ => self.now = true,
        }
        if self.options.remote.as_ref().is_some_and(|remote| remote.cancel_on_disconnect) {
            for at in 0..self.views.len() {
                self.tell_session(at, Verb::Session(SessionVerb::InterruptIfAlone), Pending::Nothing, out);
            }
        }
        self.settle(out);
    }
}

/// How updates of a session begin.
fn head_of(session: &SessionId) -> Vec<u8> {
    let mut head =
        format!(r#"{{"jsonrpc":"2.0","method":"{}","params":{{"sessionId":""#, method::SESSION_UPDATE).into_bytes();
    escape_plain_into(session.as_str(), &mut head);
    head.push(b'"');
    head
}

fn frames_from(frames: &FrameBuf, from: usize) -> impl Iterator<Item = &[u8]> {
    let first = frames.ends().partition_point(|end| *end <= from);
    frames.frames().skip(first)
}

/// A frame within its bound, with its place.
fn push(into: &mut FrameBuf, frame: &[u8], place: Option<Place>) {
    let short = bounded(frame);
    let frame = short.as_deref().unwrap_or(frame);
    into.line(|out| match place.and_then(|place| Some((place, frame.strip_suffix(b"}}")?))) {
        Some((place, open)) => {
            out.extend_from_slice(open);
            let is_whole = place.bytes == 0 && place.updates == 0;
            let place = if is_whole { place.to_string() } else { format!("\"{place}\"") };
            out.extend_from_slice(format!(",\"_meta\":{{\"{PLACE}\":{place}}}}}}}").as_bytes());
        }
        None => out.extend_from_slice(frame),
    });
}

/// The turn that ran at an entry, and which reply of it was the next.
pub(crate) fn standing(entries: &[Arc<Entry>], upto: u64) -> (Option<TurnId>, u32) {
    let (mut turn, mut reply) = (None, 0);
    for entry in entries.iter().take_while(|entry| entry.seq <= upto) {
        reply = vocab::next_reply(reply, &entry.body);
        match &entry.body {
            Body::Turn(TurnEntry::Started { turn: begun }) => turn = Some(begun.clone()),
            Body::Turn(TurnEntry::Ended(_)) => turn = None,
            _ => {}
        }
    }
    (turn, reply)
}
