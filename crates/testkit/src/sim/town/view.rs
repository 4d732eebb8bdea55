//! What one peer of a town was told, held against the logs as it comes: of each session that it is on or watches every
//! entry once and in order, deltas that make up the reply, and one answer to each command.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use vocab::{
    AskKind, Body, Command, Delta, Entry, Event, Level, Open, Reply, SessionId, SessionVerb, Tag, Target, Told, Verb,
    WatchEvent, Watched, Which,
};

use super::standing::Standpoint;
use super::witness::TownWitness;
use crate::sim::stored;

/// Every log of the town as the store has it now.
pub(super) type Logs = BTreeMap<SessionId, Vec<Arc<Entry>>>;

/// What the peers of a town were told in all.
#[derive(Clone, Copy, Default)]
pub(super) struct ToldCounts {
    pub(super) entries: u64,
    pub(super) watched: u64,
    pub(super) glances: u64,
    /// Replies that were told delta by delta, and of these, by a peer that left in the middle and came back.
    pub(super) replies: u64,
    pub(super) mid_word: u64,
    pub(super) anew: u64,
}

pub(super) struct View {
    process: u64,
    sent: HashMap<Tag, SentCommand>,
    watch: Option<(Watched, Level)>,
    ever_watched: Vec<Watched>,
    pub(super) sessions: BTreeMap<SessionId, Standpoint>,
    pub(super) counts: ToldCounts,
}

struct SentCommand {
    command: Command,
    replies: u32,
}

/// The session that a command of a town is for.
pub(super) fn session_of(command: &Command) -> Option<SessionId> {
    match (&command.verb, &command.target) {
        (Verb::Open(Open { which: Which::Named(id), .. }), _) => Some(id.clone()),
        (_, Target::Session(id)) => Some(id.clone()),
        _ => None,
    }
}

fn covers(watched: &Watched, session: &SessionId) -> bool {
    match watched {
        Watched::All => true,
        Watched::Ids(ids) => ids.contains(session),
    }
}

impl View {
    pub(super) fn new(process: u64) -> Self {
        let (sent, sessions) = (HashMap::new(), BTreeMap::new());
        let (watch, ever_watched, counts) = (None, Vec::new(), ToldCounts::default());
        Self { process, sent, watch, ever_watched, sessions, counts }
    }

    /// It was let go: what it knows when it comes back.
    pub(super) fn let_go(&mut self) -> Self {
        let mut sessions = std::mem::take(&mut self.sessions);
        sessions.values_mut().for_each(Standpoint::let_go);
        Self { sessions, ..Self::new(self.process) }
    }
    /// Whatever is told of this session from now on is of another one.
    pub(super) fn buries(&mut self, session: &SessionId) {
        self.sessions.get_mut(session).into_iter().for_each(Standpoint::buries);
    }
    pub(super) fn is_on(&self, session: &SessionId) -> bool {
        self.sessions.get(session).is_some_and(|it| it.is_on)
    }
    pub(super) fn is_watching(&self) -> bool {
        self.watch.is_some()
    }
    /// The level at which it watches a session.
    pub(super) fn watches(&self, session: &SessionId) -> Option<Level> {
        self.watch.as_ref().filter(|(watched, _)| covers(watched, session)).map(|(_, level)| *level)
    }
    pub(super) fn command(&self, tag: Tag) -> Option<&Command> {
        self.sent.get(&tag).map(|sent| &sent.command)
    }
    /// Commands without an answer.
    pub(super) fn unanswered(&self) -> Vec<&Command> {
        let mut commands: Vec<_> = self.sent.values().filter(|it| it.replies == 0).map(|it| &it.command).collect();
        commands.sort_by_key(|command| command.tag.0);
        commands
    }
    /// Whether some command is under way of which it is not known in which order it is carried out with another such one.
    pub(super) fn is_changing(&self, session: &SessionId) -> bool {
        let is_it = |command: &Command| match &command.verb {
            Verb::Watch { .. } | Verb::Unwatch => true,
            Verb::Open(_) | Verb::Leave | Verb::Session(SessionVerb::Able(_)) => {
                session_of(command).as_ref() == Some(session)
            }
            _ => false,
        };
        self.sent.values().any(|sent| sent.replies == 0 && is_it(&sent.command))
    }
    /// Whether it might answer a question of this session.
    pub(super) fn may_answer(&self, session: &SessionId) -> bool {
        let under_way = |sent: &SentCommand| {
            sent.replies == 0
                && session_of(&sent.command).as_ref() == Some(session)
                && matches!(sent.command.verb, Verb::Open(_) | Verb::Leave | Verb::Session(SessionVerb::Able(_)))
        };
        self.sent.values().any(under_way) || self.sessions.get(session).is_some_and(|it| it.is_on && it.answers)
    }

    pub(super) fn sent(&mut self, command: &Command) {
        if let Some(session) = session_of(command) {
            let watched = self.watches(&session);
            let standpoint = self.sessions.entry(session).or_default();
            match &command.verb {
                Verb::Open(open) => {
                    standpoint.asked = true;
                    standpoint.offers(open.abilities.tools.as_deref().unwrap_or_default());
                }
                Verb::Session(SessionVerb::Able(abilities)) => {
                    standpoint.offers(abilities.tools.as_deref().unwrap_or_default());
                    standpoint.is_to_be(abilities.level);
                }
                Verb::Session(SessionVerb::OfferTools { tools }) => standpoint.offers(tools),
                // Until it is answered it may be told as a peer or as one who watches.
                Verb::Leave => watched.into_iter().for_each(|level| standpoint.may_be(level)),
                _ => {}
            }
        }
        if let Verb::Watch { sessions, .. } = &command.verb {
            self.ever_watched.push(sessions.clone());
        }
        self.sent.insert(command.tag, SentCommand { command: command.clone(), replies: 0 });
    }

    pub(super) fn told(&mut self, told: &Told, logs: &Logs, witness: &TownWitness) -> Result<(), String> {
        let session = &told.session;
        if let Event::Reply { tag, result } = &told.event {
            return self.reply(told, *tag, result);
        }
        let is_watched = self.ever_watched.iter().any(|watched| covers(watched, session));
        let standpoint = self.sessions.entry(session.clone()).or_default();
        if !standpoint.asked && !is_watched {
            return Err(format!("told of {session}, which it never asked for: {:?}", told.event));
        }
        match &told.event {
            Event::Logged(entry) => self.logged(told, entry, logs, witness),
            // Of the one that was deleted.
            Event::Delta(_) if standpoint.is_buried => Ok(()),
            Event::Delta(delta) => self.delta(told, delta),
            Event::Watch(WatchEvent::Missed) => Err(format!("something of {session} is missing for a watcher")),
            Event::Watch(event) => {
                if !is_watched {
                    return Err(format!("told how {session} stands, which it does not watch"));
                }
                self.counts.glances += 1;
                standpoint.stands = Some(event.clone());
                Ok(())
            }
            Event::State(state) if state.session != *session => {
                Err(format!("the state of {} is told as that of {session}", state.session))
            }
            Event::Live { seq } => match standpoint.is_on {
                true => standpoint.goes_live(*seq, entries_of(logs, session)),
                false => Ok(()),
            },
            Event::TurnLost(_) => {
                standpoint.turn_lost(told);
                Ok(())
            }
            Event::Gone { .. } => {
                standpoint.is_gone();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn reply(&mut self, told: &Told, tag: Tag, result: &Result<Reply, vocab::Fault>) -> Result<(), String> {
        let Some(sent) = self.sent.get_mut(&tag) else { return Err(format!("a reply to {}, never sent", tag.0)) };
        sent.replies += 1;
        if sent.replies > 1 {
            return Err(format!("command {} got {} replies", tag.0, sent.replies));
        }
        let command = sent.command.clone();
        let session = session_of(&command);
        if let Some(session) = session.as_ref().filter(|it| **it != told.session && !told.session.as_str().is_empty()) {
            return Err(format!("command {} was for {session}, its reply is of {}", tag.0, told.session));
        }
        match (&command.verb, result) {
            (Verb::Watch { sessions, level }, Ok(_)) => {
                self.watch = Some((sessions.clone(), *level));
                self.sessions.values_mut().filter(|it| !it.is_on).for_each(Standpoint::forget_place);
            }
            (Verb::Unwatch, Ok(_)) => {
                self.watch = None;
                self.sessions.values_mut().filter(|it| !it.is_on).for_each(Standpoint::forget_place);
            }
            (Verb::Session(SessionVerb::Able(abilities)), result) => {
                let standpoint = self.sessions.entry(session.unwrap_or_else(|| "".into())).or_default();
                standpoint.is_now(abilities, result.as_ref().map(|_| ()).map_err(|fault| fault.kind));
            }
            (Verb::Open(open), Ok(Reply::Opened(opened))) => {
                if session.as_ref() != Some(&opened.session) || opened.state.session != opened.session {
                    return Err(format!("{session:?} was opened and is {}", opened.session));
                }
                let standpoint = self.sessions.entry(opened.session.clone()).or_default();
                standpoint.attach(open, opened, &mut self.counts)?;
            }
            (Verb::Open(_), Ok(other)) => return Err(format!("an opening was answered with {other:?}")),
            (Verb::Leave, Ok(_)) => {
                let level = session.as_ref().and_then(|it| self.watches(it));
                let standpoint = self.sessions.entry(session.unwrap_or_else(|| "".into())).or_default();
                standpoint.leave(level);
            }
            _ => {}
        }
        Ok(())
    }

    fn logged(&mut self, told: &Told, entry: &Arc<Entry>, logs: &Logs, witness: &TownWitness) -> Result<(), String> {
        let session = &told.session;
        let entries = entries_of(logs, session);
        let known = entries.get(entry.seq as usize - 1);
        if known.is_none_or(|known| stored(known) != stored(entry)) {
            return Err(format!(
                "told entry {} of {session} is not what the store has: {entry:?} / {known:?}",
                entry.seq
            ));
        }
        let (watched, process) = (self.watches(session), self.process);
        let standpoint = self.sessions.entry(session.clone()).or_default();
        standpoint.is_buried = false;
        if standpoint.is_on {
            self.counts.entries += 1;
            return standpoint.logged(told, entry, entries, &mut self.counts);
        }
        match watched {
            Some(level) if level >= Level::Entries => {
                self.counts.watched += 1;
                let is_ours = |seq: u64| witness.writer(session, seq).is_some_and(|writer| writer.process == process);
                standpoint.watched(told, entry, level, is_ours, &mut self.counts)
            }
            // What was said before the session heard that it has left.
            _ if standpoint.was_on => Ok(()),
            _ => Err(format!("told entry {} of {session}, which it watches at {watched:?}", entry.seq)),
        }
    }

    fn delta(&mut self, told: &Told, delta: &Delta) -> Result<(), String> {
        let session = &told.session;
        let watched = self.watches(session);
        let standpoint = self.sessions.entry(session.clone()).or_default();
        let level = if standpoint.is_on { Some(standpoint.high) } else { watched };
        match level {
            Some(Level::Deltas) => standpoint.delta(told, delta),
            // As above.
            _ if !standpoint.is_on && standpoint.was_on => Ok(()),
            _ => Err(format!("told a delta of {session} at level {level:?}")),
        }
    }

    /// Whether an answer that was taken could be this peer's to give.
    pub(super) fn may_have_run_tool(&self, session: &SessionId, kind: &AskKind) -> bool {
        match kind {
            AskKind::HostCall { tool, .. } => {
                self.sessions.get(session).is_some_and(|it| it.tools.iter().any(|name| **name == **tool))
            }
            _ => true,
        }
    }
}

fn entries_of<'a>(logs: &'a Logs, session: &SessionId) -> &'a [Arc<Entry>] {
    logs.get(session).map_or(&[], Vec::as_slice)
}

/// From which level on an entry is told. Said here once more, and not asked of the engine.
pub(super) fn least_level(body: &Body) -> Level {
    match body {
        Body::Turn(_) | Body::Ask(_) | Body::Opened { .. } => Level::Summaries,
        _ => Level::Entries,
    }
}
