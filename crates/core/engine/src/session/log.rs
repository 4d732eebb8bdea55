//! The log of one session and the gate behind it: an entry is told only after the store has it, and everything said
//! after an entry waits behind it. So the model can be called while a commit is in flight, and still no peer is told
//! what could be lost.

pub(crate) mod commands;
pub(crate) mod logged;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll};

use vocab::{
    AskEntry, Body, BranchEntry, CallEntry, Clock, CompactReason, CompactionEvent, Delta, Durability, EditorEvent,
    Entry, Event, Fault, ItemId, Later, Lease, NoteEntry, PeerId, Principal, QueueEntry, QueueEvent, SessionId, Stop,
    Store, SyncLevel, Tag, TurnEntry, TurnId,
};

use crate::outbox::{OUTBOX_BYTES_MAX, Outbox};
use crate::session::peers::Peers;
use commands::Commands;
use logged::Logged;

/// Appends of one session that are under way. What is logged meanwhile waits and goes out together, so a slow disk gets
/// fewer and larger appends.
const COMMITS_MAX: usize = 16;

/// Something to tell, in order.
pub(crate) enum Outgoing {
    All(Event),
    One(Arc<Outbox>, Event),
}

struct HeldEvent {
    /// Committed seq at which this may go out; 0 = as soon as it is first in line.
    need: u64,
    what: Outgoing,
}

struct PendingCommit {
    upto: u64,
    leaf: u64,
    done: Later<'static, Result<(), Fault>>,
}

/// What is left to say after a commit failed.
pub(crate) struct RolledBack {
    /// The turn that peers still believe to be running.
    pub(crate) told_turn: Option<TurnId>,
    /// The compaction that peers believe to be running.
    pub(crate) told_compaction: Option<CompactReason>,
    /// Peers heard a turn start and have not heard that everything settled.
    pub(crate) unsettled: bool,
    /// Who sent the items whose end is not in the log after all.
    pub(crate) senders: Vec<(ItemId, (PeerId, Tag))>,
    /// There are such items.
    pub(crate) reopened: bool,
    /// The turn that somebody has stopped, and whose end is not in the log.
    pub(crate) stopped: Option<TurnId>,
}

pub(crate) struct SessionLog {
    pub(crate) session: SessionId,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    lease: Lease,
    sync: SyncLevel,
    last_seq: u64,
    leaf: u64,
    committed: u64,
    committed_leaf: u64,
    batch: Vec<Arc<Entry>>,
    batch_durability: Durability,
    commits: VecDeque<PendingCommit>,
    held: VecDeque<HeldEvent>,
    /// Bytes of deltas among what is held.
    held_flow_bytes: usize,
    /// The store may take its time with what is under way.
    has_time: bool,
    /// Those it is told to.
    pub(crate) peers: Peers,
    /// The file that follows the log, where there is one.
    file: Option<PathBuf>,
    /// What the log says once everything on its way is written, and what it said as far as it was told.
    logged: Logged,
    told: Logged,
    /// The turn whose start was told and whose end was not.
    told_turn: Option<TurnId>,
    told_compaction: Option<CompactReason>,
    unsettled: bool,
    pub(crate) commands: Commands,
}

impl SessionLog {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        lease: Lease,
        sync: SyncLevel,
        last_seq: u64,
    ) -> Self {
        let (peers, file) = (Peers::new(lease.session.clone(), last_seq), store.file(&lease.session));
        Self {
            session: lease.session.clone(),
            store,
            clock,
            lease,
            sync,
            last_seq,
            leaf: last_seq,
            committed: last_seq,
            committed_leaf: last_seq,
            batch: Vec::new(),
            batch_durability: Durability::Commit,
            commits: VecDeque::new(),
            held: VecDeque::new(),
            held_flow_bytes: 0,
            has_time: false,
            peers,
            file,
            logged: Logged::default(),
            told: Logged::default(),
            told_turn: None,
            told_compaction: None,
            unsettled: false,
            commands: Commands::default(),
        }
    }

    /// What the log says about the session, with everything that is on its way to the store.
    pub(crate) fn logged(&self) -> &Logged {
        &self.logged
    }
    /// As [`SessionLog::logged`], as far as it is written.
    pub(crate) fn logged_told(&self) -> &Logged {
        &self.told
    }
    /// What was found in a log that was read back.
    pub(crate) fn found(&mut self, logged: Logged) {
        self.told = logged.clone();
        self.logged = logged;
    }
    /// The log ends in the middle of this turn, which goes on: whoever comes is told that it runs, and whoever watches.
    pub(crate) fn goes_on(&mut self, turn: TurnId) {
        self.told_turn = Some(turn);
        self.unsettled = true;
        self.peers.is_news = true;
    }
    /// The turn that peers believe to be running.
    pub(crate) fn told_turn(&self) -> Option<&TurnId> {
        self.told_turn.as_ref()
    }

    pub(crate) fn last_seq(&self) -> u64 {
        self.last_seq
    }
    pub(crate) fn committed(&self) -> u64 {
        self.committed
    }
    /// So much waits behind a commit that no more is pulled from the model; a slow disk must not fill the memory.
    pub(crate) fn is_congested(&self) -> bool {
        self.held_flow_bytes >= OUTBOX_BYTES_MAX
    }
    pub(crate) fn is_settled(&self) -> bool {
        self.batch.is_empty() && self.commits.is_empty()
    }
    /// Entries of this seq and below were told to every peer.
    pub(crate) fn told(&self, seq: u64) -> bool {
        seq <= self.committed
    }
    /// Entries that no peer was told yet; whatever is said now is said behind them.
    pub(crate) fn untold(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.held.iter().filter_map(|held| match &held.what {
            Outgoing::All(Event::Logged(entry)) => Some(entry),
            _ => None,
        })
    }
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        self.file.as_ref()
    }

    /// Appends an entry; it is written with the next [`SessionLog::flush`] and told once it is safe. The session alone calls
    /// this, so that the model's view stays in step, but for what no model sees. `at_ms`: `None` is now.
    pub(crate) fn append(&mut self, at_ms: Option<i64>, body: Body, by: Option<Principal>) -> Arc<Entry> {
        let parent = match body {
            Body::Branch(BranchEntry::Moved { to }) => to,
            _ => self.leaf,
        };
        self.last_seq += 1;
        self.leaf = self.last_seq;
        self.batch_durability = self.batch_durability.max(self.durability(&body));
        let at_ms = at_ms.unwrap_or_else(|| self.clock.now_ms());
        let entry = Arc::new(Entry { seq: self.last_seq, parent, at_ms, body, by });
        self.logged.take(&entry);
        self.batch.push(entry.clone());
        self.held.push_back(HeldEvent { need: entry.seq, what: Outgoing::All(Event::Logged(entry.clone())) });
        entry
    }

    /// What is logged since the last flush is on the disk before anything goes by it, and something waits to.
    pub(crate) fn sync_batch(&mut self) {
        if !self.batch.is_empty() && self.sync != SyncLevel::Off {
            self.batch_durability = Durability::Now;
        }
    }

    /// What is logged since the last flush and goes to the disk has no time to wait for company: the turn goes on only when
    /// it is there.
    pub(crate) fn hurry_batch(&mut self) {
        if self.batch_durability == Durability::Soon {
            self.batch_durability = Durability::Now;
        }
    }

    /// The points a controller relies on: prompt accepted, question answered, tool result, turn end, what a user did to
    /// the history or to what waits, and every setting whose change is acknowledged: a mode that was made tighter must
    /// not be the old one after a power cut.
    ///
    /// Behind a message and behind an answer the turn goes on at once and only the acknowledgement waits, so the store may
    /// take a moment: if the turn ends meanwhile, both are on the disk with one sync. A call that changes something, and
    /// with it the answer that allowed it, is not among them ([`SessionLog::sync_batch`]).
    fn durability(&self, body: &Body) -> Durability {
        match (self.sync, body) {
            (SyncLevel::Off, _) => Durability::Commit,
            (_, Body::User { .. } | Body::Queue(_) | Body::Ask(AskEntry::Closed { .. })) => Durability::Soon,
            // Whoever was given an answer under a key is given the same one again, whatever happened meanwhile.
            (_, Body::Note(NoteEntry::Keyed(_))) => Durability::Soon,
            (SyncLevel::Record, _)
            | (
                SyncLevel::Turn,
                Body::Call(CallEntry::Ended { .. })
                | Body::Turn(TurnEntry::Ended(_))
                | Body::Branch(BranchEntry::Compacted(_) | BranchEntry::Moved { .. })
                | Body::Setting(_)
                | Body::Shell(_),
            ) => Durability::Now,
            (SyncLevel::Turn, _) => Durability::Commit,
        }
    }

    /// Hands what was logged since the last flush to the store. The order of flushes is the order on disk.
    pub(crate) fn flush(&mut self) {
        if self.batch.is_empty() || self.commits.len() >= COMMITS_MAX {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        let durability = std::mem::take(&mut self.batch_durability);
        let done = self.store.append(&self.lease, batch, durability);
        self.has_time = match durability {
            Durability::Commit => self.has_time && !self.commits.is_empty(),
            Durability::Soon => true,
            Durability::Now => false,
        };
        self.commits.push_back(PendingCommit { upto: self.last_seq, leaf: self.leaf, done });
    }

    /// There is nothing more to do for now. What the model has said meanwhile is not kept from those who hear it, for the sake
    /// of a turn that might have been over at once.
    pub(crate) fn press(&mut self) {
        if self.has_time && self.held_flow_bytes > 0 && !self.commits.is_empty() {
            self.has_time = false;
            self.store.press(&self.lease);
        }
    }

    /// Nothing is on its way and nobody is told anything: the room for it goes.
    pub(crate) fn shrink(&mut self) {
        self.batch.shrink_to_fit();
        self.commits.shrink_to_fit();
        self.held.shrink_to_fit();
    }

    /// Tells every peer, in order with what is held.
    pub(crate) fn emit(&mut self, event: Event) {
        self.say(Outgoing::All(event));
    }
    /// Tells one peer, in order with what is held.
    fn say_to(&mut self, to: Arc<Outbox>, event: Event) {
        self.say(Outgoing::One(to, event));
    }

    /// Asks somebody who does nothing with it but answer ([`vocab::Hooks::only_looks`]), ahead of what is held: like the model,
    /// it may hear of what could be lost. Not ahead of what is held for itself, which says what it is asked about.
    pub(crate) fn ask_ahead(&mut self, to: &Arc<Outbox>, question: Event) {
        let is_for_it = |held: &HeldEvent| matches!(&held.what, Outgoing::One(other, _) if other.peer == to.peer);
        if self.held.iter().any(is_for_it) {
            self.hurry_batch();
            self.say_to(to.clone(), question);
        } else {
            self.peers.tell_one(to, question);
        }
    }

    fn say(&mut self, what: Outgoing) {
        if self.held.is_empty() {
            self.deliver(what);
        } else {
            self.held_flow_bytes += flow_bytes(&what);
            self.held.push_back(HeldEvent { need: 0, what });
        }
    }

    /// Ready when the session is somebody else's.
    pub(crate) fn poll_lost(&self, context: &mut Context<'_>) -> Poll<Fault> {
        self.lease.signal.poll_lost(context)
    }

    /// Ready when a commit ended.
    pub(crate) fn poll_commit(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let Some(commit) = self.commits.front_mut() else { return Poll::Pending };
        let Poll::Ready(result) = commit.done.as_mut().poll(context) else { return Poll::Pending };
        let commit = self.commits.pop_front().expect("the front was just polled");
        if result.is_ok() {
            self.lease.new = None;
            self.committed = commit.upto;
            self.committed_leaf = commit.leaf;
            self.release();
        }
        Poll::Ready(result)
    }

    fn release(&mut self) {
        while self.held.front().is_some_and(|held| held.need <= self.committed) {
            let held = self.held.pop_front().expect("the front was just seen");
            self.held_flow_bytes -= flow_bytes(&held.what);
            self.deliver(held.what);
        }
    }

    fn deliver(&mut self, what: Outgoing) {
        match what {
            Outgoing::One(to, event) => self.peers.tell_one(&to, event),
            Outgoing::All(event) => {
                self.remember(&event);
                self.peers.tell_all(event);
            }
        }
    }

    /// What would be left open for a peer that hears it, should the next commit fail.
    fn remember(&mut self, event: &Event) {
        match event {
            Event::Compaction(CompactionEvent::Started { reason }) => self.told_compaction = Some(*reason),
            Event::Compaction(CompactionEvent::Failed { .. }) => self.told_compaction = None,
            Event::Settled => self.unsettled = false,
            Event::Logged(entry) => {
                self.told.take(entry);
                match &entry.body {
                    Body::Turn(TurnEntry::Started { turn }) => {
                        self.told_turn = Some(turn.clone());
                        self.unsettled = true;
                    }
                    Body::Turn(TurnEntry::Ended(_)) => self.told_turn = None,
                    Body::Branch(BranchEntry::Compacted(_)) => self.told_compaction = None,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// A commit failed: nothing after it was told, and nothing of it is there. Replies that waited become failures.
    pub(crate) fn roll_back(&mut self, fault: &Fault) -> RolledBack {
        self.batch.clear();
        self.batch_durability = Durability::Commit;
        self.commits.clear();
        self.last_seq = self.committed;
        self.leaf = self.committed_leaf;
        self.logged = self.told.clone();
        self.held_flow_bytes = 0;
        let (mut senders, mut reopened, mut stopped) = (Vec::new(), false, None);
        for held in std::mem::take(&mut self.held) {
            match held.what {
                Outgoing::One(to, Event::Reply { tag, .. }) => {
                    let event = Event::Reply { tag, result: Err(fault.clone()) };
                    self.peers.tell_one(&to, event);
                }
                Outgoing::One(to, Event::Queue(QueueEvent::Ended { tag, item, .. })) => {
                    senders.push((item, (to.peer, tag)))
                }
                // The editor that was told of the request would work on for no call.
                Outgoing::One(to, event @ Event::Editor(EditorEvent::Dropped { .. })) => {
                    self.peers.tell_one(&to, event);
                }
                Outgoing::All(Event::Logged(entry)) => match &entry.body {
                    Body::Queue(QueueEntry::Settled { .. }) => reopened = true,
                    Body::Turn(TurnEntry::Ended(end)) if end.stop == Stop::Interrupted => {
                        stopped = Some(end.turn.clone());
                    }
                    _ => {}
                },
                Outgoing::One(..) | Outgoing::All(_) => {}
            }
        }
        RolledBack {
            reopened,
            told_turn: self.told_turn.take(),
            told_compaction: self.told_compaction.take(),
            unsettled: self.unsettled,
            senders,
            stopped,
        }
    }
}

fn flow_bytes(what: &Outgoing) -> usize {
    match what {
        Outgoing::All(
            Event::Delta(Delta::Text { delta, .. })
            | Event::Delta(Delta::Thinking { delta, .. })
            | Event::Delta(Delta::CallInput { delta, .. }),
        ) => delta.len(),
        _ => 0,
    }
}
