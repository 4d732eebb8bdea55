//! A peer that reads the past: from the position that it named, page by page, as fast as it takes it. Before it is told
//! anything it is looked whether what it has still holds. Where the branch was moved or shortened since, it starts anew.

use std::sync::Arc;
use std::task::{Context, Poll};

use vocab::{
    Along, Attached, Body, BranchEntry, Cursor, Entry, Event, Fault, FaultKind, Later, Level, ModelEntry, Opened, Page,
    Position, Reply, SessionId, Tag, Told, TurnEnd, TurnEntry, ends_reply,
};

use super::least_level;
use crate::outbox::Outbox;

pub(super) struct CatchingUp {
    pub(super) outbox: Arc<Outbox>,
    pub(super) at: Position,
    pub(super) level: Level,
    /// The last entry that it had before.
    from: u64,
    session: SessionId,
    looking: Option<Looking>,
    /// The turn that was lost while it reads; those who are live were told.
    lost: Option<TurnEnd>,
    page: Option<Later<'static, Result<Page, Fault>>>,
}

/// The peer waits for the answer to its opening.
struct Looking {
    tag: Tag,
    opened: Box<Opened>,
    /// Up to this entry what the peer has still holds.
    upto: u64,
    /// What became of the reply that it has a part of.
    part: ReplyPart,
    /// What it is to be told behind the answer, in order: before that it does not know that it is here.
    behind: Vec<Event>,
    /// Until this entry is written there is no answer.
    least: u64,
}

/// A peer has read everything up to `at`, from behind the entry `from` on.
pub(in crate::session) struct ReadAll {
    pub(in crate::session) outbox: Arc<Outbox>,
    pub(in crate::session) at: Position,
    pub(in crate::session) from: u64,
    /// What the past does not say: this turn is over.
    pub(in crate::session) lost: Option<TurnEnd>,
}

/// Whether a peer that has a part of a reply can go on with that.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyPart {
    /// The reply does not run; the log may have it.
    Unknown,
    /// It runs, or the log has it.
    Holds,
    /// It died with the process that told it: the model was asked again.
    Void,
}

impl Looking {
    fn follow_reply(&mut self, body: &Body) {
        self.part = match (self.part, body) {
            (ReplyPart::Unknown, body) if ends_reply(body) => ReplyPart::Holds,
            (ReplyPart::Unknown, Body::Model(ModelEntry::Requested(it))) if it.summary.is_none() => ReplyPart::Void,
            (part, _) => part,
        };
    }
}

/// What became of a peer that reads the past.
pub(in crate::session) enum CaughtUp {
    /// It got further.
    Further,
    Whole(ReadAll),
    /// It cannot read on.
    Lost(Arc<Outbox>, Fault),
}

impl CatchingUp {
    pub(super) fn new(
        outbox: Arc<Outbox>,
        level: Level,
        session: SessionId,
        (after, part): (Cursor, ReplyPart),
        tag: Tag,
        opened: Opened,
        least: u64,
    ) -> Self {
        let is_other = after.session.is_some_and(|named| named != session);
        let (opened, upto, behind) = (Box::new(opened), after.at.seq, Vec::new());
        let looking = Some(Looking { tag, opened, upto, part, behind, least });
        let from = after.at.seq;
        let mut catching = Self { outbox, at: after.at, level, from, session, looking, lost: None, page: None };
        if is_other {
            catching.answer(Some("the position is one of another session"));
        } else if least == 0 && (catching.at == Position::default() || after.along == Along::Log) {
            // It has nothing that might not hold, or wants what was written and not how things are.
            catching.answer(None);
        }
        catching
    }

    /// Answers the opening, if that was not done yet. `stale`: why what the peer has does not hold.
    pub(super) fn answer(&mut self, stale: Option<&str>) {
        let Some(Looking { tag, mut opened, part, behind, .. }) = self.looking.take() else { return };
        if stale.is_some() {
            (self.at, self.from) = (Position::default(), 0);
        } else if part != ReplyPart::Holds {
            self.at.offset = 0;
        }
        opened.present.attached = match stale {
            Some(why) => Attached::Anew { why: why.into() },
            None => Attached::After(self.at),
        };
        self.answered(tag, Ok(Reply::Opened(opened)), behind);
    }

    /// The peer reads no further. Its opening is answered, if that was not done yet: a session that is to be saved first and is
    /// not (`told`: the last entry that is) has not been opened.
    pub(super) fn dismiss(&mut self, told: u64, fault: &Fault) {
        match self.looking.take_if(|looking| looking.least > told) {
            Some(Looking { tag, behind, .. }) => self.answered(tag, Err(fault.clone()), behind),
            None => self.answer(None),
        }
    }

    fn answered(&self, tag: Tag, result: Result<Reply, Fault>, behind: Vec<Event>) {
        self.tell(Event::Reply { tag, result });
        for event in behind {
            self.outbox.admit(&event);
            self.tell(event);
        }
    }

    /// To this peer alone. Nothing overtakes the answer to its opening.
    pub(super) fn tell_one(&mut self, event: Event) {
        match &mut self.looking {
            // The command's answer has all of it.
            Some(_) if matches!(event, Event::ShellProgress { .. }) => {}
            Some(looking) => {
                self.outbox.keep_back(&event);
                looking.behind.push(event);
            }
            None => self.tell(event),
        }
    }

    /// Told to everybody else; of this peer's past it is no part.
    pub(super) fn misses(&mut self, event: &Event) {
        if let Event::TurnLost(end) = event {
            self.lost = Some(end.clone());
        }
    }

    fn tell(&self, event: Event) {
        self.outbox.push(Told { session: self.session.clone(), event, at: self.at, shared: None });
    }

    /// Ready when it got further, is done or is lost.
    pub(super) fn poll(
        &mut self,
        (committed, last_seq): (u64, u64),
        read: impl Fn(u64) -> Later<'static, Result<Page, Fault>>,
        context: &mut Context<'_>,
    ) -> Poll<CaughtUp> {
        if let Some(looking) = self.looking.take_if(|looking| looking.least > last_seq) {
            let fault = Fault::new(FaultKind::Store, "the session could not be saved");
            self.tell(Event::Reply { tag: looking.tag, result: Err(fault.clone()) });
            return Poll::Ready(CaughtUp::Lost(self.outbox.clone(), fault));
        }
        if self.looking.as_ref().is_some_and(|looking| looking.least > committed) {
            return Poll::Pending;
        }
        if self.at == Position::default() && self.looking.is_some() {
            self.answer(None);
        }
        let at = self.looking.as_ref().map_or(self.at.seq, |looking| looking.upto);
        if at >= committed {
            if self.looking.is_some() {
                self.answer(None);
                return Poll::Ready(CaughtUp::Further);
            }
            let (outbox, lost) = (self.outbox.clone(), self.lost.take());
            return Poll::Ready(CaughtUp::Whole(ReadAll { outbox, at: self.at, from: self.from, lost }));
        }
        // It is told nothing while it is only looked at what it has, and what waits behind that needs the room.
        if self.looking.is_none() && self.outbox.poll_room_to_read(context).is_pending() {
            return Poll::Pending;
        }
        let page = self.page.get_or_insert_with(|| read(at));
        let Poll::Ready(result) = page.as_mut().poll(context) else { return Poll::Pending };
        self.page = None;
        Poll::Ready(match result.and_then(|page| entries(page, at, committed)) {
            Ok(entries) => {
                // What the store has beyond `committed` will come live.
                self.take(entries.into_iter().filter(|entry| entry.seq <= committed));
                CaughtUp::Further
            }
            Err(fault) => {
                if let Some(Looking { tag, behind, .. }) = self.looking.take() {
                    self.answered(tag, Err(fault.clone()), behind);
                }
                CaughtUp::Lost(self.outbox.clone(), fault)
            }
        })
    }

    fn take(&mut self, entries: impl Iterator<Item = Arc<Entry>>) {
        for entry in entries {
            if let Body::Turn(TurnEntry::Ended(end)) = &entry.body {
                self.lost.take_if(|lost| lost.turn == end.turn);
            }
            if let Some(looking) = &mut self.looking {
                looking.upto = entry.seq;
                looking.follow_reply(&entry.body);
                if let Some(why) = unsettles(&entry.body) {
                    return self.answer(Some(why));
                }
                continue;
            }
            let event = Event::Logged(entry);
            self.at.take(&event);
            if self.level >= least_level(&event) {
                self.outbox.push_past(Told { session: self.session.clone(), event, at: self.at, shared: None });
            }
        }
    }
}

fn entries(page: Page, after: u64, committed: u64) -> Result<Vec<Arc<Entry>>, Fault> {
    // The next page would be empty, too.
    if page.entries.is_empty() {
        let text = format!("the log ends at entry {after}, before entry {committed}");
        let fault = Fault::new(FaultKind::Store, page.recovered.unwrap_or(text));
        return Err(fault.hint("close the session everywhere and open it again"));
    }
    Ok(page.entries)
}

/// Why a peer that has what was before this entry has something that does not hold any more.
fn unsettles(body: &Body) -> Option<&'static str> {
    match body {
        Body::Branch(BranchEntry::Moved { .. }) => Some("the conversation went back to an earlier place since"),
        Body::Branch(BranchEntry::Compacted(_)) => Some("the conversation was compacted since"),
        _ => None,
    }
}
