//! The peers of one session, and what is told to all of them: those that hear everything as it happens, those that still read
//! the past page by page, and the extensions beside them. Everything is told with the position that it brings its peer to. How
//! peers come and go is in `joining.rs`.

mod catching_up;
mod open_round;
mod running_reply;

use std::sync::Arc;
use std::task::{Context, Poll};

use vocab::names::ToolNames;
use vocab::{
    Body, CallEntry, Cursor, Delta, EncodedOnce, Entry, Event, ExtensionEvent, Fault, FaultKind, Gate, Hears, Later,
    Level, ModelEntry, NumberedMap, Opened, Page, PeerId, Position, Present, QueueEvent, RunningNow, SessionId, Tag,
    Told, Usage, WatchEvent,
};

use super::jobs::left_too_soon;
use super::state::LastGlance;
use crate::outbox::Outbox;
use crate::permission;
use crate::watching::WatchBus;
use catching_up::{CatchingUp, ReplyPart};
pub(super) use catching_up::{CaughtUp, ReadAll};
use open_round::OpenRound;
use running_reply::RunningReply;

/// Entries read at once for a peer that catches up.
pub(super) const PAGE_ENTRIES: usize = 256;

pub(crate) struct Peers {
    session: SessionId,
    /// Where those are that hear everything.
    at: Position,
    reply: RunningReply,
    /// Calls whose start was told and whose end was not.
    running: Vec<RunningNow>,
    round: OpenRound,
    live: Vec<LivePeer>,
    /// They hear what peers hear, and the session neither waits for them nor counts them. The flag: whether they want deltas.
    extensions: Vec<(Arc<Outbox>, Hears)>,
    catching_up: Vec<CatchingUp>,
    /// What those who are here said about themselves.
    facts: NumberedMap<PeerId, PeerFacts>,
    /// How the session stands may be different from what watchers know.
    pub(super) is_news: bool,
    pub(super) glanced: LastGlance,
    usage: Usage,
    watching: Arc<WatchBus>,
    /// A peer came. Until then the one that opened the session is on the way.
    pub(super) was_joined: bool,
}

struct LivePeer {
    outbox: Arc<Outbox>,
    level: Level,
}

/// What a peer said about itself when it came.
#[derive(Clone)]
pub(super) struct PeerFacts {
    /// What the log calls it.
    pub(super) name: Option<Arc<str>>,
    pub(super) level: Level,
    /// Who decides about calls while it is here.
    pub(super) gate: Gate,
    pub(super) tool_names: ToolNames,
}

impl Peers {
    /// `last_seq`: the entry that the log ends with.
    pub(crate) fn new(session: SessionId, last_seq: u64) -> Self {
        let (reply, running, live, extensions, catching_up, facts) = Default::default();
        let (usage, watching, round) = Default::default();
        let at = Position::at(last_seq);
        Self {
            session,
            at,
            reply,
            running,
            round,
            live,
            extensions,
            catching_up,
            facts,
            is_news: false,
            glanced: LastGlance::default(),
            usage,
            watching,
            was_joined: false,
        }
    }

    /// Those that hear everything as it happens.
    pub(super) fn live(&self) -> impl Iterator<Item = &Arc<Outbox>> {
        self.live.iter().map(|peer| &peer.outbox)
    }
    pub(super) fn is_anybody_live(&self) -> bool {
        !self.live.is_empty()
    }
    /// Those, and those that will when they have read the past.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Outbox>> {
        self.live().chain(self.catching_up.iter().map(|catching| &catching.outbox))
    }
    /// No peer is here, neither live nor reading the past.
    pub(super) fn is_empty(&self) -> bool {
        self.live.is_empty() && self.catching_up.is_empty()
    }
    pub(super) fn is_here(&self, peer: PeerId) -> bool {
        self.outbox_of(peer).is_some()
    }
    /// The way to a peer or an extension that is on this session, also while it still reads the past.
    pub(super) fn outbox_of(&self, peer: PeerId) -> Option<&Arc<Outbox>> {
        self.all().chain(self.extensions()).find(|outbox| outbox.peer == peer)
    }
    /// What the log calls a peer.
    pub(super) fn name_of(&self, peer: PeerId) -> Option<Arc<str>> {
        self.facts.get(&peer)?.name.clone()
    }
    pub(super) fn know(&mut self, peer: PeerId, facts: PeerFacts) {
        self.facts.insert(peer, facts);
    }
    /// The strictest gate of those who are here, and how the peer spells the tools that brought it.
    pub(super) fn gate(&self) -> Option<(Gate, ToolNames)> {
        let gates = self.facts.values().map(|facts| (facts.gate, facts.tool_names));
        gates.max_by_key(|(gate, _)| permission::strictness(*gate))
    }
    fn level_of(&self, peer: PeerId) -> Level {
        self.facts.get(&peer).map_or_else(Level::default, |facts| facts.level)
    }
    pub(super) fn set_level(&mut self, peer: PeerId, level: Level) {
        if let Some(facts) = self.facts.get_mut(&peer) {
            facts.level = level;
        }
        self.live.iter_mut().filter(|live| live.outbox.peer == peer).for_each(|live| live.level = level);
        self.catching_up.iter_mut().filter(|it| it.outbox.peer == peer).for_each(|it| it.level = level);
    }

    /// Why no peer can be at this position, where that is so: it lies in the future.
    pub(super) fn is_ahead(&self, at: Position) -> Option<Fault> {
        let Position { seq, offset } = self.at;
        if at.seq > seq {
            let text = format!("seq {} is in the future; the last one is {seq}", at.seq);
            return Some(Fault::new(FaultKind::Invalid, text));
        }
        let known = self.reply.known_at(at);
        let text = || format!("offset {known} is in the future; the running reply is at {offset}");
        (known > offset).then(|| Fault::new(FaultKind::Invalid, text()))
    }

    /// What was told of what goes on, besides the reply.
    pub(super) fn present(&self) -> Present {
        let (running, round) = (self.running.clone(), self.round.entries());
        Present { at: self.at, running, round, ..Present::default() }
    }

    /// An earlier process told this of the turn that goes on.
    pub(super) fn was_told(&mut self, entries: &[Arc<Entry>]) {
        for entry in entries {
            self.follow_calls(&entry.body);
            self.round.logged(entry);
        }
    }

    /// Follows which calls run, and what is used.
    fn follow(&mut self, event: &Event) {
        self.round.take(event);
        match event {
            Event::Logged(entry) => match &entry.body {
                Body::Assistant { message, .. } => self.usage.add(&message.usage),
                Body::Model(ModelEntry::Spent { usage, .. }) => self.usage.add(usage),
                body => self.follow_calls(body),
            },
            Event::Delta(Delta::CallProgress { call, parts, .. }) => {
                let running = self.running.iter_mut().find(|it| it.call == *call);
                running.into_iter().for_each(|it| it.output.clone_from(parts));
            }
            Event::TurnLost(_) => self.running.clear(),
            _ => {}
        }
    }

    fn follow_calls(&mut self, body: &Body) {
        match body {
            Body::Call(CallEntry::Started { call, tool, .. }) => {
                let (call, tool) = (call.id.clone(), tool.clone());
                self.running.push(RunningNow { call, tool, output: Vec::new() });
            }
            Body::Call(CallEntry::Ended { result, .. }) => self.running.retain(|it| it.call != result.call),
            Body::Turn(_) => self.running.clear(),
            _ => {}
        }
    }

    /// The tool whose call runs, as it was told.
    pub(super) fn tool_in_hand(&self) -> Option<Arc<str>> {
        self.running.last().map(|it| it.tool.clone())
    }

    /// What was used since the session came into memory.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }
    /// Those who watch learn of this session from now on.
    pub(super) fn watched_by(&mut self, watching: Arc<WatchBus>) {
        self.watching = watching;
    }
    /// Whether somebody answers its questions who is not on it.
    pub(super) fn is_answered_elsewhere(&self) -> bool {
        self.watching.is_answered()
    }
    pub(super) fn is_watched(&self) -> bool {
        self.watching.is_wanted(Level::Summaries)
    }
    pub(super) fn tell_watchers(&self, event: WatchEvent) {
        let told = Told {
            session: self.session.clone(),
            event: Event::Watch(event),
            at: self.at,
            shared: Some(EncodedOnce::default()),
        };
        self.watching.tell(&told, Level::Summaries, |_| false);
    }

    /// Tells a peer that hears deltas what it has missed of the running reply.
    pub(super) fn tell_reply_so_far(&self, outbox: &Outbox, from: Position) {
        if self.level_of(outbox.peer) < Level::Deltas {
            return;
        }
        let mut at = Position { seq: self.at.seq, offset: self.reply.known_at(from) };
        for delta in self.reply.beyond(at.offset) {
            let event = Event::Delta(delta);
            at.take(&event);
            self.tell_at(outbox, event, at);
        }
    }

    /// From here on the peer gets everything.
    pub(super) fn go_live(&mut self, outbox: Arc<Outbox>) {
        self.live.retain(|other| other.outbox.peer != outbox.peer);
        let level = self.level_of(outbox.peer);
        self.live.push(LivePeer { outbox, level });
    }
    /// The peer reads what comes after this, and is live then.
    pub(super) fn catch_up(&mut self, outbox: Arc<Outbox>, after: Cursor, tag: Tag, opened: Opened, least: u64) {
        let level = self.level_of(outbox.peer);
        // Of a reply that had only begun it has nothing that could be wrong.
        let holds = after.at.offset <= 1 || self.reply.known_at(after.at) == after.at.offset;
        let after = (after, if holds { ReplyPart::Holds } else { ReplyPart::Unknown });
        let catching = CatchingUp::new(outbox, level, self.session.clone(), after, tag, opened, least);
        self.catching_up.push(catching);
    }
    /// Nobody who waits for the answer to an opening waits any longer. `fault`: why the session was not saved, for who waits for
    /// that.
    pub(super) fn answer_all(&mut self, fault: &Fault) {
        let told = self.at.seq;
        self.catching_up.iter_mut().for_each(|catching| catching.dismiss(told, fault));
    }
    /// The peer is told nothing more; it may be about to start over.
    pub(super) fn mute(&mut self, peer: PeerId) {
        self.live.retain(|other| other.outbox.peer != peer);
        let told = self.at.seq;
        for mut catching in self.catching_up.extract_if(.., |catching| catching.outbox.peer == peer) {
            catching.dismiss(told, &left_too_soon());
        }
    }
    pub(super) fn leave(&mut self, peer: PeerId) {
        self.mute(peer);
        self.facts.remove(&peer);
    }

    pub(super) fn extensions(&self) -> impl Iterator<Item = &Arc<Outbox>> {
        self.extensions.iter().map(|(outbox, _)| outbox)
    }
    pub(super) fn set_extensions(&mut self, extensions: Vec<(Arc<Outbox>, Hears)>) {
        self.extensions = extensions;
    }

    /// To one peer. That does not bring it further than it is.
    pub(super) fn tell_one(&mut self, to: &Outbox, event: Event) {
        match self.catching_up.iter_mut().find(|catching| catching.outbox.peer == to.peer) {
            Some(catching) => catching.tell_one(event),
            None => self.tell_at(to, event, self.at),
        }
    }
    pub(super) fn tell_at(&self, to: &Outbox, event: Event, at: Position) {
        to.push(Told { session: self.session.clone(), event, at, shared: None });
    }
    /// To all who hear everything, and to those who watch. The text and the bytes of what more than one is told are shared.
    pub(super) fn tell_all(&mut self, mut event: Event) {
        self.at.take(&event);
        self.reply.take(&event, self.at);
        self.follow(&event);
        self.catching_up.iter_mut().for_each(|catching| catching.misses(&event));
        let level = least_level(&event);
        // What waits is part of how a session stands, and so is the tool in hand.
        self.is_news |= level == Level::Summaries || matches!(event, Event::Queue(_)) || is_of_call(&event);
        // How a session stands is told in its place to who wants no more than that.
        let watched = level.max(Level::Entries);
        let is_watched = self.watching.is_wanted(watched);
        let is_overheard = self.extensions.iter().any(|(_, hears)| *hears > Hears::Questions);
        let is_shared = is_watched || self.live.len() + usize::from(is_overheard) > 1;
        if let Event::Delta(delta) = &mut event
            && is_shared
        {
            delta.share();
        }
        let shared = is_shared.then(EncodedOnce::default);
        let told = Told { session: self.session.clone(), event, at: self.at, shared };
        if is_watched {
            self.watching.tell(&told, watched, |peer| self.facts.contains_key(&peer));
        }
        for (extension, _) in self.extensions.iter().filter(|(_, hears)| concerns_extensions(&told.event, *hears)) {
            extension.push(told.clone());
        }
        let mut hearers = self.live.iter().filter(|peer| peer.level >= level);
        // The last one gets the event itself, so that the only one costs no copy.
        let Some(mut hearer) = hearers.next() else { return };
        for next in hearers {
            hearer.outbox.push(told.clone());
            hearer = next;
        }
        hearer.outbox.push(told);
    }

    /// Whether a peer still reads the past.
    pub(super) fn is_reading(&self, peer: PeerId) -> bool {
        self.catching_up.iter().any(|catching| catching.outbox.peer == peer)
    }
    pub(super) fn is_catching_up(&self) -> bool {
        !self.catching_up.is_empty()
    }

    /// Ready when some of those who read the past got further. `read` begins a page behind an entry.
    pub(super) fn poll_catching_up(
        &mut self,
        written: (u64, u64),
        read: impl Fn(u64) -> Later<'static, Result<Page, Fault>>,
        context: &mut Context<'_>,
    ) -> Poll<Vec<CaughtUp>> {
        let mut steps = Vec::new();
        let mut index = 0;
        while index < self.catching_up.len() {
            let catching = &mut self.catching_up[index];
            if !catching.outbox.is_open() {
                self.catching_up.swap_remove(index);
                continue;
            }
            let step = catching.poll(written, &read, context);
            if matches!(step, Poll::Ready(CaughtUp::Whole(..) | CaughtUp::Lost(..))) {
                self.catching_up.swap_remove(index);
            } else {
                index += 1;
            }
            if let Poll::Ready(step) = step {
                steps.push(step);
            }
        }
        if steps.is_empty() { Poll::Pending } else { Poll::Ready(steps) }
    }
}

/// From which level on an event is told.
pub(super) fn least_level(event: &Event) -> Level {
    match event {
        Event::Delta(_) | Event::ShellProgress { .. } => Level::Deltas,
        Event::Logged(entry) => match entry.body {
            Body::Turn(_) | Body::Ask(_) | Body::Opened { .. } => Level::Summaries,
            _ => Level::Entries,
        },
        Event::Queue(_) | Event::Retry(_) | Event::Compaction(_) | Event::Extension(_) => Level::Entries,
        Event::State(_)
        | Event::Settled
        | Event::Watch(_)
        | Event::Editor(_)
        | Event::SignIn { .. }
        | Event::Live { .. }
        | Event::Reply { .. }
        | Event::TurnLost(_)
        | Event::Gone { .. } => Level::Summaries,
    }
}

/// A call begins or has ended.
fn is_of_call(event: &Event) -> bool {
    matches!(event, Event::Logged(entry) if matches!(entry.body, Body::Call(_)))
}

/// What is shown to people does not concern extensions, and the flow only those who asked for it.
fn concerns_extensions(event: &Event, hears: Hears) -> bool {
    match event {
        _ if hears == Hears::Questions => false,
        Event::Delta(Delta::Text { .. })
        | Event::Delta(Delta::Thinking { .. })
        | Event::Delta(Delta::Sealed { .. })
        | Event::Delta(Delta::CallInput { .. })
        | Event::Delta(Delta::CallProgress { .. }) => hears == Hears::Flow,
        Event::Extension(ExtensionEvent::Notice(_))
        | Event::Extension(ExtensionEvent::Trouble { .. })
        | Event::Queue(QueueEvent::Waiting(_)) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
