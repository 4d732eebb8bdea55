//! The router in front of the sessions: one per peer, handling that peer's commands in order. It knows which session the
//! peer is on. What changes that takes its time ([`moves`]); meanwhile whatever is for another session is passed on, so
//! that no interrupt waits for something that is none of its business.

mod moves;

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use vocab::{
    Command, Event, Fault, FaultKind, Later, Level, Principal, Reply, SessionId, SessionVerb, Tag, Target, Told, Verb,
    Watched,
};

use crate::Shared;
use crate::commands::{self, Scope};
use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::registry::Handle;
use crate::session::Mail;
use crate::session::log::commands::Provenance;
use moves::{Manners, Moved, Visit};

/// Commands that wait for a change; then no more are taken until it is over.
const WAITING_MAX: usize = 64;

pub(crate) struct Router {
    pub(crate) shared: Arc<Shared>,
    pub(crate) outbox: Arc<Outbox>,
    /// Every session this peer is on.
    on: HashMap<SessionId, Handle>,
    pub(crate) current: Option<SessionId>,
    /// What the peer said about itself when it opened a session last; it holds for every session it is moved to.
    manners: Manners,
    /// Who the peer is, and who it says to be.
    principal: Principal,
    named: Option<Principal>,
    /// What is under way, and what has to wait for it.
    change: Option<PendingMove>,
    waiting: VecDeque<Command>,
    /// It did not read: it is on no session any more, and what it sends is not heard.
    is_let_go: bool,
}

/// Something that is not done at once.
struct PendingMove {
    /// Later commands for this session come after it.
    about: Option<SessionId>,
    /// Afterwards the peer may be on another session.
    moves: bool,
    done: Later<'static, MoveDone>,
}

/// How a change came out.
enum MoveDone {
    Opened(Handle),
    Moved(Box<Moved>),
    /// Nothing is different; the answer waits behind everything the session was asked before.
    Answer {
        target: Target,
        tag: Tag,
        result: Result<Reply, Fault>,
    },
    /// Nothing is different, and it was told.
    Told,
    /// The session had no room for this, or is gone.
    Passed {
        session: SessionId,
        tag: Tag,
        is_gone: bool,
    },
}

#[allow(clippy::large_enum_variant)] // One at a time, and it is taken apart at once.
enum RouterStep {
    Command(Command),
    Done(MoveDone),
    /// The peer was let go, and may not know it yet.
    LetGo,
    Over,
}

impl Router {
    pub(crate) fn new(shared: Arc<Shared>, outbox: Arc<Outbox>, principal: Principal) -> Self {
        let (on, waiting) = (HashMap::new(), VecDeque::new());
        let manners = Manners::default();
        let (current, named, change, is_let_go) = (None, None, None, false);
        Self { shared, outbox, on, current, manners, principal, named, change, waiting, is_let_go }
    }

    /// Runs until the peer lets go of its end.
    pub(crate) async fn run(mut self, commands: mpsc::Receiver<Command>) {
        let mut inbox = Inbox::new(commands, self.outbox.clone());
        loop {
            match self.step(&mut inbox).await {
                RouterStep::LetGo => self.depart().await,
                RouterStep::Command(_) if self.is_let_go => {}
                RouterStep::Command(command) if self.must_wait(&command) => self.waiting.push_back(command),
                RouterStep::Command(command) => self.handle(command).await,
                RouterStep::Done(done) => {
                    self.changed(done).await;
                    if self.is_let_go {
                        self.depart().await;
                    }
                    while self.change.is_none()
                        && let Some(command) = self.waiting.pop_front()
                    {
                        self.handle(command).await;
                    }
                }
                RouterStep::Over => break,
            }
        }
        self.outbox.close();
        self.shared.watching.unwatch(self.outbox.peer);
        for handle in self.on.values() {
            let _ = handle.mail.send(Mail::Leave { peer: self.outbox.peer }).await;
        }
    }

    /// No session waits for an answer of a peer that was let go, or keeps its tools, though whoever has its end does not read
    /// that it was.
    async fn depart(&mut self) {
        self.is_let_go = true;
        self.waiting.clear();
        self.shared.watching.unwatch(self.outbox.peer);
        for (_, handle) in std::mem::take(&mut self.on) {
            let _ = handle.mail.send(Mail::Leave { peer: self.outbox.peer }).await;
        }
    }

    /// What comes next. It is over when nothing is left to do and no command will come.
    async fn step(&mut self, inbox: &mut Inbox) -> RouterStep {
        poll_fn(|context| {
            if !self.is_let_go && self.outbox.poll_let_go(context).is_ready() {
                return Poll::Ready(RouterStep::LetGo);
            }
            if let Some(change) = &mut self.change
                && let Poll::Ready(done) = change.done.as_mut().poll(context)
            {
                self.change = None;
                return Poll::Ready(RouterStep::Done(done));
            }
            if self.waiting.len() >= WAITING_MAX {
                return Poll::Pending;
            }
            match inbox.poll_next(context) {
                Poll::Ready(Some(command)) => Poll::Ready(RouterStep::Command(command)),
                Poll::Ready(None) if self.change.is_none() => Poll::Ready(RouterStep::Over),
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Whether it may mean something else once the change is over. What is for a session that the change does not touch
    /// does not wait, and neither does what ends or answers something that runs.
    fn must_wait(&self, command: &Command) -> bool {
        let Some(change) = &self.change else { return false };
        let id = match &command.target {
            _ if !self.is_for_session(&command.verb) => return true,
            Target::Session(id) => id,
            Target::Current if change.moves || !self.waiting.is_empty() => return true,
            Target::Current => match &self.current {
                Some(id) => id,
                None => return true,
            },
        };
        let is_before = |waiting: &Command| match &waiting.target {
            Target::Session(other) => other == id,
            Target::Current => self.current.as_ref() == Some(id),
        };
        !self.on.contains_key(id)
            || self.waiting.iter().any(is_before)
            || (change.about.as_ref() == Some(id) && !command.verb.is_urgent())
    }

    fn is_for_session(&self, verb: &Verb) -> bool {
        match verb {
            Verb::Session(SessionVerb::Slash { name, .. }) => !self.is_ours(name),
            Verb::Session(_) => true,
            Verb::Open(_) | Verb::Leave | Verb::Fork { .. } | Verb::Directory(_) => false,
            Verb::Watch { .. } | Verb::Unwatch => false,
        }
    }

    async fn handle(&mut self, command: Command) {
        let Command { tag, target, verb, by, key, trace, model, limit_ms } = command;
        match verb {
            Verb::Open(open) => {
                self.manners = Manners::of(&open);
                // What a peer calls itself is worth more than the name of whoever runs us, and less than what it has proved.
                if let Some(name) = open.controller.as_ref().filter(|_| self.principal.is_local_user()) {
                    self.named = Some(Principal::controller(name));
                }
                self.begin(None, true, self.visit(by).open(tag, open));
            }
            Verb::Session(SessionVerb::Slash { name, args }) if self.is_ours(&name) => {
                let from = self.resolve(&target).map(|id| self.on[&id].clone());
                let about = from.as_ref().ok().map(|handle| handle.id.clone());
                self.begin(about, true, self.visit(by).slash(target, tag, from, name, args));
            }
            Verb::Leave => {
                let result = match self.resolve(&target) {
                    Ok(session) => {
                        self.leave(&session).await;
                        Ok(Reply::Done)
                    }
                    Err(fault) => Err(fault),
                };
                self.reply(None, tag, result);
            }
            Verb::Fork { at } => {
                let on = self.resolve(&target).map(|id| self.on[&id].clone());
                let from = match &target {
                    Target::Session(id) => Some(id.clone()),
                    Target::Current => on.as_ref().ok().map(|handle| handle.id.clone()),
                };
                self.begin(from.clone(), false, self.visit(by).fork(target, tag, from, on, at));
            }
            Verb::Watch { sessions, level } => self.watch(tag, sessions, level),
            Verb::Unwatch => {
                self.shared.watching.unwatch(self.outbox.peer);
                self.reply(None, tag, Ok(Reply::Done));
            }
            Verb::Session(verb) => {
                let until_ms = limit_ms.map(|ms| self.shared.ports.clock.now_ms().saturating_add_unsigned(ms));
                self.pass_on(target, tag, verb, Provenance { by: self.speaker(by), key, trace, model, until_ms });
            }
            Verb::Directory(verb) => self.directory(tag, verb, self.speaker(by)),
        }
    }

    fn watch(&self, tag: Tag, sessions: Watched, level: Level) {
        let result = self.shared.watching.watch(&self.outbox, sessions, level);
        self.reply(None, tag, result.map(|()| Reply::Done));
        // One that has no room for this has much to do, and says so by itself.
        for handle in self.shared.registry.live() {
            let _ = handle.mail.try_send(Mail::Glance);
        }
    }

    /// Who wants what the peer sent.
    fn speaker(&self, by: Option<Principal>) -> Principal {
        by.or_else(|| self.named.clone()).unwrap_or_else(|| self.principal.clone())
    }

    fn visit(&self, by: Option<Principal>) -> Visit {
        let (shared, outbox, manners) = (self.shared.clone(), self.outbox.clone(), self.manners.clone());
        Visit { shared, outbox, manners, by: self.speaker(by) }
    }

    fn begin(&mut self, about: Option<SessionId>, moves: bool, done: impl Future<Output = MoveDone> + Send + 'static) {
        self.change = Some(PendingMove { about, moves, done: Box::pin(done) });
    }

    async fn changed(&mut self, done: MoveDone) {
        match done {
            MoveDone::Opened(handle) => {
                self.current = Some(handle.id.clone());
                self.on.insert(handle.id.clone(), handle);
            }
            MoveDone::Moved(moved) => self.move_in(*moved).await,
            MoveDone::Answer { target, tag, result } => self.answer_in_turn(&target, tag, result).await,
            MoveDone::Passed { session, tag, is_gone: true } => self.session_gone(session, tag),
            MoveDone::Passed { .. } | MoveDone::Told => {}
        }
    }

    fn pass_on(&mut self, target: Target, tag: Tag, verb: SessionVerb, provenance: Provenance) {
        let handle = match self.find(&target) {
            Ok(handle) => handle,
            Err(fault) => return self.reply(None, tag, Err(fault)),
        };
        let mail = Mail::Verb { outbox: self.outbox.clone(), tag, verb, provenance: Some(Box::new(provenance)) };
        let Err(refused) = handle.mail.try_send(mail) else { return };
        let (session, mailbox) = (handle.id.clone(), handle.mail.clone());
        match refused {
            TrySendError::Closed(_) => self.session_gone(session, tag),
            TrySendError::Full(mail) if self.change.is_some() => {
                if let Mail::Verb { verb, provenance, .. } = *mail {
                    let command = Command::of(tag, Target::Session(session), Verb::Session(verb));
                    self.waiting.push_back(match provenance.map(|it| *it) {
                        Some(Provenance { by, key, trace, model, until_ms }) => {
                            let now_ms = || self.shared.ports.clock.now_ms();
                            let limit_ms = until_ms.map(|until| until.saturating_sub(now_ms()).max(0) as u64);
                            Command { by: Some(by), key, trace, model, limit_ms, ..command }
                        }
                        None => command,
                    });
                }
            }
            // The session waits for something; no other session waits for it.
            TrySendError::Full(mail) => {
                let about = session.clone();
                let sent = async move {
                    let is_gone = mailbox.send_boxed(mail).await.is_err();
                    MoveDone::Passed { session, tag, is_gone }
                };
                self.begin(Some(about), false, sent);
            }
        }
    }

    fn session_gone(&mut self, session: SessionId, tag: Tag) {
        let fault = match self.shared.registry.is_removing(&session) {
            true => Fault::new(FaultKind::UnknownSession, "the session is deleted"),
            false => Fault::new(FaultKind::Internal, "the session ended unexpectedly").hint("open it again"),
        };
        self.on.remove(&session);
        self.reply(Some(session), tag, Err(fault));
    }

    /// Answers behind everything the session was asked before: a quick command must not overtake a slow one.
    async fn answer_in_turn(&mut self, target: &Target, tag: Tag, result: Result<Reply, Fault>) {
        let session = self.resolve(target).ok();
        if let Some(handle) = session.as_ref().and_then(|session| self.on.get(session)) {
            let event = Event::Reply { tag, result: result.clone() };
            if handle.mail.send(Mail::Say { outbox: self.outbox.clone(), event }).await.is_ok() {
                return;
            }
        }
        self.reply(session, tag, result);
    }

    fn resolve(&self, target: &Target) -> Result<SessionId, Fault> {
        self.find(target).map(|handle| handle.id.clone())
    }

    /// The session that is meant, where the peer is on it.
    fn find(&self, target: &Target) -> Result<&Handle, Fault> {
        let session = match target {
            Target::Current => self.current.as_ref(),
            Target::Session(id) => Some(id),
        };
        let unknown = |text: String| Fault::new(FaultKind::UnknownSession, text);
        let id = session.ok_or_else(|| unknown("no session is open".to_owned()))?;
        self.on.get(id).ok_or_else(|| unknown(format!("unknown session: {id}")))
    }

    pub(crate) fn reply(&self, session: Option<SessionId>, tag: Tag, result: Result<Reply, Fault>) {
        let session = session.unwrap_or_else(|| SessionId::from(""));
        self.outbox.push(Told::new(session, Event::Reply { tag, result }));
    }

    async fn leave(&mut self, session: &SessionId) {
        if let Some(handle) = self.on.remove(session) {
            let _ = handle.mail.send(Mail::Leave { peer: self.outbox.peer }).await;
        }
        // It may end before it has answered.
        self.outbox.expect_nothing();
        if self.current.as_ref() == Some(session) {
            self.current = None;
        }
    }

    /// The peer leaves one session for another. First it is told where it is, then what the new session has to say, from
    /// the beginning on.
    async fn move_in(&mut self, moved: Moved) {
        let Moved { target, tag, from, to, aside, state, reply, shown } = moved;
        let id = to.id.clone();
        self.on.insert(id.clone(), to.clone());
        self.leave(&from).await;
        self.current = Some(id.clone());
        self.outbox.push(Told::new(id, Event::State(Arc::new(state))));
        self.reply(self.resolve(&target).ok(), tag, Ok(Reply::Slash(Box::new(reply))));
        shown.into_iter().for_each(|told| self.outbox.push(told));
        let _ = to.mail.send(Mail::Rebind { outbox: self.outbox.clone(), aside }).await;
    }

    fn is_ours(&self, name: &str) -> bool {
        commands::find(name).is_none_or(|command| command.scope == Scope::Router)
    }
}
