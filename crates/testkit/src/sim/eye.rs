//! One peer of the simulation: what it sent, what it was told, and whether that fits together.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::Peer;
use tokio::time::Instant;
use vocab::{
    AskEntry, Body, BranchEntry, Command, CompactionEvent, Delta, EditorEvent, Entry, Event, FaultKind, ItemId,
    ModelEntry, QueueEvent, Reply, RetryEvent, SessionVerb, ShellEntry, Tag, Target, Told, TurnEntry, TurnId, Verb,
};

use super::log::{live_turn, turn_of};
use super::stored;

pub(super) enum Seen {
    Sent { tag: Tag, what: What },
    Told(Told),
}

/// What was sent, as far as the answer is judged by it.
#[derive(Clone, PartialEq, Default)]
pub(super) enum What {
    /// After which seq.
    Open(Option<u64>),
    Leave,
    /// After which seq.
    Read(u64),
    Shell(Arc<str>),
    EditorReplied(u64),
    /// A compaction that waits for the running turn.
    CompactLater,
    /// What is no session's, and slash commands, which may be none.
    Elsewhere,
    #[default]
    Other,
}

impl What {
    fn of(verb: &Verb) -> What {
        match verb {
            Verb::Open(open) => What::Open(open.after.as_ref().map(|after| after.at.seq)),
            Verb::Leave => What::Leave,
            Verb::Session(SessionVerb::Read { after }) => What::Read(*after),
            Verb::Session(SessionVerb::Shell { command, .. }) => What::Shell(command.clone()),
            Verb::Session(SessionVerb::EditorReplied { editor_request, .. }) => What::EditorReplied(*editor_request),
            Verb::Session(SessionVerb::Compact { wait: true, .. }) => What::CompactLater,
            Verb::Session(SessionVerb::Slash { .. }) => What::Elsewhere,
            Verb::Session(_) => What::Other,
            _ => What::Elsewhere,
        }
    }
}

pub(super) struct Eye {
    pub(super) name: usize,
    pub(super) peer: Option<Peer>,
    pub(super) seen: Vec<Seen>,
    /// It stayed until the engine had come to rest: nothing that is owed to it may be missing.
    pub(super) saw_the_end: bool,
    /// Items waiting when it saw the end.
    pub(super) listed: HashSet<ItemId>,
    /// It does not read before this.
    pub(super) stopped: Option<Instant>,
    tag: u64,
}

impl Eye {
    pub(super) fn new(name: usize, peer: Peer) -> Self {
        Self {
            name,
            peer: Some(peer),
            seen: Vec::new(),
            saw_the_end: false,
            listed: HashSet::new(),
            stopped: None,
            tag: 0,
        }
    }

    /// `None` when the engine does not take it now.
    pub(super) fn send(&mut self, verb: Verb) -> Option<Tag> {
        let peer = self.peer.as_ref()?;
        let tag = Tag(self.tag + 1);
        let what = What::of(&verb);
        peer.try_submit(Command::of(tag, Target::Current, verb)).ok()?;
        self.tag += 1;
        self.seen.push(Seen::Sent { tag, what });
        Some(tag)
    }

    /// Takes what is there.
    pub(super) async fn drain(&mut self) -> Vec<Told> {
        let mut told = Vec::new();
        if let Some(peer) = &self.peer {
            let _ = tokio::time::timeout(std::time::Duration::ZERO, peer.events(&mut told)).await;
        }
        self.seen.extend(told.iter().cloned().map(Seen::Told));
        told
    }

    pub(super) fn result_of(&self, tag: Tag) -> Option<&Result<Reply, vocab::Fault>> {
        self.seen.iter().rev().find_map(|seen| match seen {
            Seen::Told(Told { event: Event::Reply { tag: got, result }, .. }) if *got == tag => Some(result),
            _ => None,
        })
    }

    /// How this turn was told to have ended.
    pub(super) fn turn_end(&self, turn: &TurnId) -> Option<vocab::Stop> {
        self.seen.iter().find_map(|seen| match seen {
            Seen::Told(Told { event: Event::Logged(entry), .. }) => match &entry.body {
                Body::Turn(TurnEntry::Ended(end)) if end.turn == *turn => Some(end.stop),
                _ => None,
            },
            _ => None,
        })
    }

    /// Holds everything told against the log. Returns how many turns were told as lost, how many compactions were asked
    /// for in a turn and done after it, and how many editor_requests were done.
    pub(super) fn check(&self, entries: &[Arc<Entry>]) -> Result<(u64, u64, u64), String> {
        let mut view = View { entries, ..View::default() };
        for seen in &self.seen {
            view.take(seen)?;
        }
        for (tag, sent) in &view.sent {
            if sent.replies > 1 || self.saw_the_end && sent.replies == 0 {
                return Err(format!("command {} got {} replies", tag.0, sent.replies));
            }
            if let What::Shell(command) = &sent.what {
                view.check_shell(command, sent)?;
            }
        }
        if self.saw_the_end && view.never_left && view.unsettled {
            return Err("a turn ended, nothing followed, and nobody said so".into());
        }
        for (item, ends) in &view.items {
            let listed = self.listed.contains(item);
            if *ends > 1 || self.saw_the_end && view.never_left && *ends + u32::from(listed) != 1 {
                return Err(format!("item {item} was told to have ended {ends} times; still listed: {listed}"));
            }
        }
        // Whoever still reads the past when the engine ends is told no more of it.
        if self.saw_the_end
            && view.live
            && !view.has_left()
            && let Some(turn) = &view.owed
        {
            return Err(format!("turn {turn} was told to run, and never to be over"));
        }
        if self.saw_the_end
            && view.never_left
            && let Some(editor_request) = view.editor_requests.first()
        {
            return Err(format!("editor_request {editor_request} was neither done nor withdrawn"));
        }
        Ok((view.lost, view.waited, view.done))
    }
}

#[derive(Default)]
struct Sent {
    what: What,
    replies: u32,
    /// It was answered, and not with a fault.
    done: bool,
    /// A turn was known to run.
    in_turn: bool,
}

/// Where the next log entry has to continue.
#[derive(Clone, Copy, PartialEq, Default)]
enum Place {
    #[default]
    Away,
    /// Live from here on; open questions before that may be shown again first.
    Joined { last_seq: u64 },
    /// This one comes next.
    Next(u64),
}

#[derive(Default)]
struct View<'a> {
    entries: &'a [Arc<Entry>],
    sent: HashMap<Tag, Sent>,
    place: Place,
    never_left: bool,
    items: HashMap<ItemId, u32>,
    ended: HashSet<TurnId>,
    lost_turns: HashSet<TurnId>,
    lost: u64,
    waited: u64,
    /// Told, and neither done nor withdrawn.
    editor_requests: Vec<u64>,
    done: u64,
    text: String,
    /// The running reply was seen from its start.
    whole: bool,
    /// Not while reading the past: that has the messages, not the deltas they were made of.
    live: bool,
    /// Told to have begun and not yet how it came out.
    retrying: bool,
    compacting: bool,
    /// Turns that were told live: the one that runs, and whether it is still to be said that nothing follows.
    running: Option<TurnId>,
    unsettled: bool,
    /// The turn that it believes to be running: it was told of the start, or came in and was told that it runs.
    owed: Option<TurnId>,
    /// A session that it was on broke.
    broke: bool,
    /// It came in since anything settled: a turn may run of which it was told nothing.
    came_in: bool,
}

impl View<'_> {
    fn take(&mut self, seen: &Seen) -> Result<(), String> {
        match seen {
            Seen::Sent { tag, what } => {
                let stays = !matches!(what, What::Open(_) | What::Leave);
                self.never_left = self.sent.is_empty() || self.never_left && stays;
                let in_turn = self.running.is_some();
                self.sent.insert(*tag, Sent { what: what.clone(), in_turn, ..Sent::default() });
                Ok(())
            }
            Seen::Told(told) => {
                if let (Event::Reply { tag, .. }, false) = (&told.event, told.session.as_str().is_empty()) {
                    self.check_order(*tag)?;
                }
                self.told(&told.event)
            }
        }
    }

    /// What is said to a session behind an opening is not answered before that is.
    fn check_order(&self, tag: Tag) -> Result<(), String> {
        let is_elsewhere = |sent: &Sent| matches!(sent.what, What::Elsewhere | What::Leave);
        if self.sent.get(&tag).is_none_or(is_elsewhere) {
            return Ok(());
        }
        let is_open =
            |(other, sent): &(&Tag, &Sent)| matches!(sent.what, What::Open(_)) && sent.replies == 0 && other.0 < tag.0;
        match self.sent.iter().find(is_open) {
            None => Ok(()),
            Some((opening, _)) => Err(format!("{} was answered before the opening {}", tag.0, opening.0)),
        }
    }

    fn told(&mut self, event: &Event) -> Result<(), String> {
        if let Event::Reply { tag, result } = event {
            return self.reply(*tag, result);
        }
        if let Event::ShellProgress { tag, .. } = event {
            let sent = self.sent.get(tag);
            return match sent.is_some_and(|sent| matches!(sent.what, What::Shell(_)) && sent.replies == 0) {
                true => Ok(()),
                false => Err(format!("progress of {}, which runs no command", tag.0)),
            };
        }
        if self.place == Place::Away {
            return Ok(());
        }
        if let Some(turn) = live_turn(event)
            && (self.ended.contains(turn) || self.lost_turns.contains(turn))
        {
            return Err(format!("told of turn {turn} after its end: {event:?}"));
        }
        match event {
            Event::Logged(entry) => self.logged(entry)?,
            Event::Delta(Delta::Text { delta, .. }) => self.text.push_str(delta),
            Event::TurnLost(end) => {
                self.lost += 1;
                if self.ended.contains(&end.turn) || !self.lost_turns.insert(end.turn.clone()) {
                    return Err(format!("turn {} was told to be over twice", end.turn));
                }
                self.text.clear();
                self.whole = true;
                self.retrying = false;
                self.compacting = false;
                self.running = None;
                self.over(&end.turn);
            }
            Event::Settled => {
                if let Some(turn) = &self.running {
                    return Err(format!("settled while turn {turn} runs"));
                }
                let (due, unknown) = (std::mem::take(&mut self.unsettled), std::mem::take(&mut self.came_in));
                if !due && !unknown {
                    return Err("settled twice, or without a turn".into());
                }
            }
            Event::Queue(QueueEvent::Ended { item, .. }) => match self.items.get_mut(item) {
                Some(ends) => *ends += 1,
                None => return Err(format!("item {item} ended and was never told to wait")),
            },
            Event::Editor(EditorEvent::Request(editor_request)) => {
                if self.editor_requests.contains(&editor_request.id) {
                    return Err(format!("editor_request {} was told twice", editor_request.id));
                }
                self.editor_requests.push(editor_request.id);
            }
            // The editor_request itself may have been lost with the log.
            Event::Editor(EditorEvent::Dropped { editor_request }) => {
                self.editor_requests.retain(|open| open != editor_request)
            }
            Event::Retry(RetryEvent::Ended { .. }) => self.retrying = false,
            Event::Compaction(CompactionEvent::Started { .. }) if std::mem::replace(&mut self.compacting, true) => {
                return Err("a compaction starts while another runs".into());
            }
            Event::Compaction(CompactionEvent::Failed { .. }) => self.compacting = false,
            Event::Live { .. } => {
                self.text.clear();
                self.whole = false;
                self.live = true;
                self.running = None;
                self.came_in = true;
            }
            // Of what it waited for it is told no more: it can come back and look.
            Event::Gone { fault } => {
                self.broke |= fault.kind == FaultKind::Internal;
                self.is_away();
                self.never_left = false;
            }
            _ => {}
        }
        Ok(())
    }

    fn reply(&mut self, tag: Tag, result: &Result<Reply, vocab::Fault>) -> Result<(), String> {
        let Some(sent) = self.sent.get_mut(&tag) else { return Err(format!("a reply to {}, never sent", tag.0)) };
        sent.replies += 1;
        sent.done = result.is_ok();
        // Who has left is not told of the end, but for what it had asked for before.
        self.broke |= result.as_ref().is_err_and(|fault| fault.message.starts_with("the session failed"));
        match (result, &sent.what) {
            (Ok(Reply::Entries(read)), What::Read(after)) => {
                let known = self.entries.iter().skip(*after as usize);
                if !read.iter().zip(known).all(|(read, known)| stored(read) == stored(known)) {
                    return Err(format!("what was read after {after} is not what the store has"));
                }
            }
            (Ok(Reply::Shell(shell)), What::Shell(command)) if shell.command != *command => {
                return Err(format!("`{command}` was answered with {shell:?}"));
            }
            (Ok(Reply::Opened(opened)), What::Open(after)) => {
                // What the peer had does not hold any more: it is told everything.
                let anew = matches!(opened.present.attached, vocab::Attached::Anew { .. });
                let after = if anew { Some(0) } else { *after };
                self.place = match after {
                    Some(after) => Place::Next(after + 1),
                    None => Place::Joined { last_seq: opened.state.last_seq },
                };
                self.editor_requests.clear();
                self.text.clear();
                self.whole = false;
                self.live = after.is_none();
                self.ended.clear();
                self.lost_turns.clear();
                self.retrying = false;
                self.compacting = false;
                self.running = None;
                self.owed = opened.state.turn.clone();
                self.unsettled = false;
                self.came_in = true;
            }
            (Ok(_), What::EditorReplied(editor_request)) => {
                let open = self.editor_requests.len();
                self.editor_requests.retain(|other| other != editor_request);
                if self.editor_requests.len() == open {
                    return Err(format!("editor_request {editor_request} was not this peer's to do, or over"));
                }
                self.done += 1;
            }
            (Ok(Reply::Compacted(_)), What::CompactLater) => self.waited += u64::from(sent.in_turn),
            (Err(fault), What::CompactLater)
                if fault.kind == FaultKind::TurnInProgress && !fault.message.contains("already waiting") =>
            {
                return Err(format!("a compaction that can wait was refused: {fault}"));
            }
            (Ok(Reply::Waiting { item, .. }), _) => {
                self.items.insert(item.clone(), 0);
            }
            (Ok(Reply::Started { turn }), _) => {
                let begun = |entry: &Arc<Entry>| matches!(&entry.body, Body::Turn(TurnEntry::Started { turn: it }) if it == turn);
                if !self.entries.iter().any(begun) {
                    return Err(format!("a prompt was said to start turn {turn}, which is not in the log"));
                }
            }
            (Ok(_), What::Leave) => self.is_away(),
            _ => {}
        }
        Ok(())
    }

    fn is_away(&mut self) {
        self.place = Place::Away;
        self.running = None;
        self.owed = None;
        self.unsettled = false;
    }

    /// Who comes and goes is where its last command that was granted brought it, whichever was answered first: the router answers
    /// a leaving at once, and the session an opening when it has looked at what the peer has.
    fn has_left(&self) -> bool {
        let moves = |sent: &Sent| sent.done && matches!(sent.what, What::Open(_) | What::Leave);
        let last = self.sent.iter().filter(|(_, sent)| moves(sent)).max_by_key(|(tag, _)| tag.0);
        last.is_some_and(|(_, sent)| sent.what == What::Leave)
    }

    fn over(&mut self, turn: &TurnId) {
        self.owed.take_if(|owed| owed == turn);
    }

    /// A command that was answered is in the log once; one that was refused is not, unless as one of which nobody knows
    /// what came.
    fn check_shell(&self, command: &str, sent: &Sent) -> Result<(), String> {
        let is_it = |entry: &&Arc<Entry>| match &entry.body {
            Body::Shell(ShellEntry::Ended(shell)) => {
                &*shell.command == command && !shell.output.starts_with("no output: what came of this command")
            }
            _ => false,
        };
        let logged = self.entries.iter().filter(is_it).count();
        let fits = match sent.replies {
            0 => logged <= 1,
            // What was on its way to the store when the session broke may be there, though its owner was refused.
            _ if self.broke && !sent.done => logged <= 1,
            _ => logged == usize::from(sent.done),
        };
        match fits {
            true => Ok(()),
            false => Err(format!("`{command}` is {logged} times in the log; answered well: {}", sent.done)),
        }
    }

    fn logged(&mut self, entry: &Arc<Entry>) -> Result<(), String> {
        let known = self.entries.get(entry.seq as usize - 1);
        if known.is_none_or(|known| stored(known) != stored(entry)) {
            return Err(format!("told entry {} is not what the store has: {entry:?} / {known:?}", entry.seq));
        }
        match self.place {
            Place::Joined { last_seq } if entry.seq <= last_seq => {
                if !matches!(entry.body, Body::Ask(AskEntry::Opened(_))) {
                    return Err(format!("told entry {} after joining at {last_seq}", entry.seq));
                }
                return Ok(());
            }
            Place::Joined { last_seq } if entry.seq != last_seq + 1 => {
                return Err(format!("joined at {last_seq}, then told entry {}", entry.seq));
            }
            Place::Next(next) if entry.seq != next => {
                return Err(format!("told entry {} where {next} was due", entry.seq));
            }
            Place::Joined { .. } | Place::Next(_) | Place::Away => self.place = Place::Next(entry.seq + 1),
        }
        if let Some(turn) = turn_of(&entry.body).filter(|turn| self.ended.contains(*turn)) {
            return Err(format!("entry {} belongs to turn {turn}, which is over", entry.seq));
        }
        match &entry.body {
            Body::Turn(TurnEntry::Started { turn }) => {
                self.text.clear();
                self.whole = true;
                if self.live {
                    self.owed = Some(turn.clone());
                    self.running = Some(turn.clone());
                    self.unsettled = true;
                    self.came_in = false;
                }
            }
            Body::Assistant { message, .. } => {
                let said = message.text();
                let fits = if self.whole { said == self.text } else { said.ends_with(&self.text) };
                if !fits && self.live {
                    return Err(format!("deltas {:?} became the message {said:?} (whole: {})", self.text, self.whole));
                }
                self.text.clear();
                self.whole = true;
            }
            Body::Model(ModelEntry::Retrying { .. }) => self.retrying = self.live,
            Body::Branch(BranchEntry::Compacted(_)) => self.compacting = false,
            Body::Turn(TurnEntry::Ended(end)) => {
                if self.live && (self.retrying || self.compacting) {
                    return Err(format!("turn {} ended in the middle of a retry or a compaction", end.turn));
                }
                self.ended.insert(end.turn.clone());
                self.running = None;
                self.over(&end.turn);
                if !self.text.is_empty() {
                    return Err(format!("turn {} ended and {:?} is in no message", end.turn, self.text));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
