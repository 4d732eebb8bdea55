//! What the people of a town want: to be somewhere, to watch, and something of the sessions that they are on, with a key or
//! without one, for the first time or again.

use std::sync::Arc;

use vocab::{
    Abilities, Along, Answer, AskKind, Change, Command, Cursor, Delivery, EditorOffer, HostTool, Image, Json, Level,
    Mode, Open, Part, Position, Principal, QueueVerb, Required, Scope, SessionId, SessionVerb, Tag, Verb, Watched,
    Which,
};

use super::ports::{MARK, UNREADABLE};
use super::{Town, hosted};

impl Town {
    pub(super) fn send(
        &mut self,
        at: usize,
        session: Option<&SessionId>,
        verb: Verb,
        with: impl FnOnce(&mut Command),
    ) -> Option<Tag> {
        let text = crate::verb_text(&verb);
        let mut shown = String::new();
        let tag = self.residents[at].send(session, verb, |command| {
            with(command);
            let Command { by, key, .. } = command;
            shown = format!("{by:?} {key:?}");
        });
        let (name, tag_shown) = (self.residents[at].name, tag.map(|tag| tag.0));
        let session = session.map_or("", |session| session.as_str());
        self.note(format!("  peer {name} > {session} {tag_shown:?} {shown} {text:.200}"));
        tag
    }

    pub(super) fn opens(&mut self, at: usize) {
        let session = self.returns(at).unwrap_or_else(|| self.dice.pick(&self.sessions));
        if self.residents[at].view.is_changing(&session) {
            return;
        }
        let mut open = Open::new(Which::Named(session.clone()));
        open.after = self.cursor(at, &session);
        open.abilities = self.abilities();
        open.on_restart = if self.dice.chance(50) { Some(self.dice.pick(&self.on_restart)) } else { None };
        open.controller = self.dice.pick(&[None, Some("an editor".into())]);
        self.send(at, None, Verb::Open(open), |_| {});
    }

    /// A session that is telling it something.
    pub(super) fn in_mid_word(&self, at: usize) -> Option<SessionId> {
        let view = &self.residents[at].view;
        let found = view.sessions.iter().find(|(id, it)| it.is_in_mid_word() && !view.is_changing(id));
        found.map(|(id, _)| id.clone())
    }

    /// A session that it left in mid-word.
    fn returns(&mut self, at: usize) -> Option<SessionId> {
        let sessions = self.residents[at].view.sessions.iter();
        let left: Vec<SessionId> = sessions.filter(|(_, it)| it.left_in_mid_word()).map(|(id, _)| id.clone()).collect();
        (!left.is_empty() && self.dice.chance(70)).then(|| self.dice.pick(&left))
    }

    /// Where it says to be: where it is, where it or somebody else was once, or nowhere that there is.
    fn cursor(&mut self, at: usize, session: &SessionId) -> Option<Cursor> {
        let own = self.residents[at].view.sessions.get(session).and_then(|standpoint| standpoint.mark());
        let of = |dice: &mut super::Dice, at: Position| {
            Some(Cursor { session: dice.chance(50).then(|| session.clone()), at, along: Along::Branch })
        };
        match self.dice.below(20) {
            0..6 => None,
            6..14 if own.is_some() => of(&mut self.dice, own?),
            14..18 => {
                let marks: Vec<Position> =
                    self.heard.marks.iter().filter(|(of, _)| of == session).map(|(_, at)| *at).collect();
                if marks.is_empty() { Some(Cursor::at(0)) } else { of(&mut self.dice.clone(), self.dice.pick(&marks)) }
            }
            18 => Some(Cursor::at(self.dice.below(2_000))),
            _ => {
                let other = self.dice.pick(&self.sessions);
                Some(Cursor {
                    session: Some(other),
                    at: Position { seq: self.dice.below(9), offset: self.dice.below(9) },
                    along: Along::Branch,
                })
            }
        }
    }

    fn abilities(&mut self) -> Abilities {
        let level = self.dice.pick(&[Level::Deltas, Level::Deltas, Level::Deltas, Level::Entries, Level::Summaries]);
        let mut roll = || self.dice.chance(60);
        let editor = EditorOffer { read_text: roll(), write_text: roll(), terminal: roll() };
        let editor = self.dice.chance(30).then_some(editor);
        let tools = if self.dice.chance(25) { Some(self.tools()) } else { None };
        Abilities {
            answers: self.dice.chance(75),
            has_time: false,
            dialogs: true,
            level,
            editor,
            tools,
            only_listens: false,
        }
    }

    fn tools(&mut self) -> Vec<HostTool> {
        let names: &[&str] = self.dice.pick(&[&["host1"][..], &["host1", "host2"], &["host2"], &[]]);
        names.iter().map(|name| host_tool(name)).collect()
    }

    pub(super) fn watches(&mut self, at: usize) {
        let verb = if self.residents[at].view.is_watching() && self.dice.chance(25) {
            Verb::Unwatch
        } else {
            let ids = self.sessions.clone().into_iter().filter(|_| self.dice.chance(50)).collect();
            let sessions = if self.dice.chance(50) { Watched::All } else { Watched::Ids(ids) };
            Verb::Watch { sessions, level: self.dice.pick(&[Level::Deltas, Level::Entries, Level::Summaries]) }
        };
        self.send(at, None, verb, |_| {});
    }

    /// Something of a session that it is on.
    pub(super) fn wishes(&mut self, at: usize, action: u64) {
        let view = &self.residents[at].view;
        let on: Vec<SessionId> = self.sessions.iter().filter(|session| view.is_on(session)).cloned().collect();
        if on.is_empty() {
            return self.opens(at);
        }
        let session = self.dice.pick(&on);
        match action {
            36..44 if self.residents[at].view.is_changing(&session) => {}
            36..41 => _ = self.send(at, Some(&session), Verb::Leave, |_| {}),
            41..44 => {
                let abilities = self.abilities();
                self.send(at, Some(&session), Verb::Session(SessionVerb::Able(abilities)), |_| {});
            }
            44..58 => self.keyed(at, &session),
            58..74 => self.repeats(at, &session),
            74..86 => self.answers(at, &session),
            _ => {
                let verb = self.plain(&session);
                self.send(at, Some(&session), Verb::Session(verb), |_| {});
            }
        }
    }

    /// Looking at an image takes its time: meanwhile the prompt has no answer.
    fn with_image(&mut self, verb: &mut SessionVerb) {
        if let SessionVerb::Prompt { parts, .. } = verb
            && self.dice.chance(30)
        {
            let base64 = self.dice.pick(&["iVBORw0KGgo=", "iVBORw0KGgo=", "iVBORw0KGgo=", UNREADABLE]);
            parts.push(Part::Image(Image { mime: "image/png".into(), base64: base64.into() }));
        }
    }

    /// A prompt, and the word by which it is found in the log.
    pub(super) fn prompt(&mut self, session: &SessionId, delivery: Delivery) -> (SessionVerb, String) {
        self.said += 1;
        let token = format!("p{};", self.said);
        let parts = vec![Part::text(format!("{token} {MARK}{session} {}", "x".repeat(20)))];
        (SessionVerb::Prompt { parts, delivery }, token)
    }

    fn delivery(&mut self) -> Delivery {
        use Delivery::*;
        self.dice.pick(&[RejectIfBusy, RejectIfBusy, Steer, FollowUp, Enqueue, Queue, Policy])
    }

    fn speaker(&mut self, at: usize) -> Principal {
        match self.dice.chance(20) {
            true => Principal::sender("chat", "42"),
            false => self.residents[at].principal.clone(),
        }
    }

    /// Something that changes the session, under a new key.
    fn keyed(&mut self, at: usize, session: &SessionId) {
        self.said += 1;
        let by = self.speaker(at);
        let index = self.ledger.open(session, by, format!("k{}", self.said).into());
        let (verb, token) = match self.dice.below(10) {
            0..6 => {
                let delivery = self.delivery();
                let (mut verb, token) = self.prompt(session, delivery);
                self.with_image(&mut verb);
                (verb, Some(token))
            }
            6 => (self.answer(session).1, None),
            7 => (SessionVerb::Interrupt { turn: None }, None),
            8 => (SessionVerb::Set(self.change()), None),
            _ => {
                let items: Vec<_> = self.heard.items.iter().filter(|(of, _)| of == session).collect();
                let verb = match items.last() {
                    Some((_, item)) if self.dice.chance(50) => QueueVerb::TakeBack(item.clone()),
                    _ => QueueVerb::Clear,
                };
                (SessionVerb::Queue(verb), None)
            }
        };
        self.ledger.add(index, verb, token);
        self.sends_keyed(at, index, 0);
        // At once, before there is an answer.
        while self.dice.chance(25) {
            self.ledger.counts.repeats += 1;
            let others: Vec<usize> =
                (0..self.residents.len()).filter(|it| self.residents[*it].view.is_on(session)).collect();
            let other = self.dice.pick(&others);
            self.sends_keyed(other, index, 0);
        }
    }

    fn sends_keyed(&mut self, at: usize, index: usize, variant: usize) {
        let used = &self.ledger.uses[index];
        let (session, key, verb) = (used.session.clone(), used.key.clone(), used.verbs[variant].clone());
        let by = (used.by != self.residents[at].principal).then(|| used.by.clone());
        let tag = self.send(at, Some(&session), Verb::Session(verb), |command| {
            command.key = Some(key);
            command.by = by;
        });
        if let Some(tag) = tag {
            let log = self.ground.store.entries(&session);
            self.ledger.sends((at, tag), index, &log);
        }
    }

    /// Something that was sent before, of whichever process and life.
    fn repeats(&mut self, at: usize, session: &SessionId) {
        let mut uses: Vec<usize> = (0..self.ledger.uses.len())
            .filter(|it| self.ledger.uses[*it].session == *session && !self.ledger.uses[*it].is_buried)
            .collect();
        if uses.is_empty() {
            return self.keyed(at, session);
        }
        if self.dice.chance(60) {
            uses = uses.split_off(uses.len().saturating_sub(3));
        }
        let index = self.dice.pick(&uses);
        match self.dice.below(12) {
            // The same key of somebody else is another key.
            0 => {
                let used = &self.ledger.uses[index];
                let (key, of) = (used.key.clone(), used.by.clone());
                let by = self.dice.pick(&[Principal::token("ann"), Principal::token("bob")]);
                let is_new = |it: &super::keys::KeyUse| it.session == *session && it.key == key && it.by == by;
                if by == of || self.ledger.uses.iter().any(is_new) {
                    return;
                }
                let index = self.ledger.open(session, by, key);
                let (verb, token) = self.prompt(session, Delivery::Enqueue);
                self.ledger.add(index, verb, Some(token));
                self.sends_keyed(at, index, 0);
            }
            // The same key for something else is a mistake.
            1 if matches!(self.ledger.uses[index].verbs[..], [SessionVerb::Prompt { .. }]) => {
                let (verb, token) = self.prompt(session, Delivery::Enqueue);
                self.ledger.add(index, verb, Some(token));
                self.sends_keyed(at, index, 1);
            }
            _ => {
                self.ledger.counts.repeats += 1;
                self.sends_keyed(at, index, 0);
            }
        }
    }

    /// Whoever can answers something that it has heard of.
    fn answers(&mut self, at: usize, session: &SessionId) {
        if !self.residents[at].view.sessions.get(session).is_some_and(|standpoint| standpoint.answers) {
            return;
        }
        let (kind, verb) = self.answer(session);
        if let Some(tag) = self.send(at, Some(session), Verb::Session(verb), |_| {}) {
            self.heard.answers.extend(kind.map(|kind| (at, tag, kind)));
        }
    }

    fn answer(&mut self, session: &SessionId) -> (Option<AskKind>, SessionVerb) {
        let asks: Vec<_> = self.heard.asks.iter().filter(|(of, ..)| of == session).rev().take(3).cloned().collect();
        let (ask, kind) = match asks.is_empty() {
            true => ("ask-never".into(), None),
            false => {
                let (_, ask, kind) = self.dice.pick(&asks);
                (ask, Some(kind))
            }
        };
        let right = if matches!(kind, Some(AskKind::HostCall { .. })) { hosted() } else { Answer::Allow(Scope::Once) };
        let answer = match self.dice.below(10) {
            0..6 => right,
            6 => Answer::Allow(Scope::Session),
            7 => Answer::Deny(Some("because".into())),
            8 => Answer::Deny(None),
            _ => self.dice.pick(&[Answer::Dismissed, Answer::Text("hm".into()), hosted()]),
        };
        (kind, SessionVerb::Answer { ask, answer })
    }

    fn change(&mut self) -> Change {
        self.said += 1;
        match self.dice.below(4) {
            0 => Change::Mode(self.dice.pick(&[Mode::Prompt, Mode::Prompt, Mode::WorkspaceWrite])),
            1 => Change::Model(self.dice.pick(&["a", "b", "b", "zzz"]).into()),
            _ => Change::Title(format!("title {}", self.said).into()),
        }
    }

    fn plain(&mut self, session: &SessionId) -> SessionVerb {
        match self.dice.below(20) {
            0..8 => {
                let delivery = self.delivery();
                self.prompt(session, delivery).0
            }
            8 | 9 => SessionVerb::Interrupt { turn: self.dice.pick(&[None, Some("another".into())]) },
            10 => SessionVerb::Set(self.change()),
            11 => SessionVerb::Queue(self.dice.pick(&[QueueVerb::List, QueueVerb::ClearTurns])),
            12 => SessionVerb::Slash { name: "undo".into(), args: "".into() },
            13 => SessionVerb::Compact { instructions: None, wait: self.dice.chance(60) },
            14 => SessionVerb::Read { after: self.dice.below(30) },
            15 => SessionVerb::Inspect,
            16 | 17 => SessionVerb::OfferTools { tools: self.tools() },
            18 => SessionVerb::AbortRetry,
            _ => SessionVerb::Slash { name: "status".into(), args: "".into() },
        }
    }
}

pub(super) fn host_tool(name: &str) -> HostTool {
    let name: Arc<str> = name.into();
    HostTool { name, description: "host".into(), schema: Json::empty_object(), required: Required::DangerFullAccess }
}
