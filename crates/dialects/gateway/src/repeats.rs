//! A message that came before, by its key: the request that repeats it joins what became of it.

use std::sync::Arc;

use vocab::{Body, Entry, Fault, ItemId, QueueEntry, Recounted, Reply, SessionId, SettleReason};

use crate::Gateway;
use crate::events;
use crate::faults;
use crate::ledger::{Awaits, RequestId};
use crate::own::{GatewayRefusal, Out};
use crate::run::GatewayRun;
use crate::session_view::{How, InQueue};

impl Gateway {
    /// What the log has of it is known.
    pub(crate) fn joins(
        &mut self,
        session: Option<SessionId>,
        id: RequestId,
        result: Result<Reply, Fault>,
        out: &mut Out,
    ) {
        let at = session.as_ref().and_then(|session| self.view_at(session));
        let (recounted, at) = match (result, at) {
            (Ok(Reply::Recounted(recounted)), Some(at)) => (recounted, at),
            (Err(fault), _) => return self.faulty(id, &fault, out),
            _ => return self.refuse(id, &GatewayRefusal::mixed_up(), out),
        };
        let session = self.views[at].session.clone();
        let Recounted { turn, item, settled, ended, entries } = *recounted;
        let mut tails = Vec::new();
        match (turn, item) {
            (Some(turn), item) => {
                let told = GatewayRun::recounted(turn.clone(), &entries, &mut tails);
                let how = how(&told, &entries, item.as_ref());
                if ended {
                    return self.settle_recounted(at, id, how, &told, out);
                }
                self.starts(at, id, &turn, (how, true), out);
                let run = self.views[at].run_of(&turn);
                // What runs was told to those who were there, and its end is told to all.
                tails.extend(run.calls_under_way());
                let mut rest = Vec::new();
                if !run.reply_text().is_empty() {
                    events::content_tail(told.has_content(), run.reply_text(), &mut rest);
                    tails.push(rest);
                }
                tails.iter().for_each(|tail| self.ledger.event(id, tail, out));
                self.show_asks_to(at, id, out);
            }
            (None, Some(item)) if !ended => {
                let is_own = self.views[at].waiting.iter().any(|it| it.item == item && it.is_own);
                let waits = InQueue { id, item: item.clone(), is_own, is_repeat: true };
                self.views[at].waiting.push(waits);
                self.ledger.put(id, Awaits::Waiting { session, item });
            }
            (None, _) => return self.settle_refused(at, id, settled, out),
        }
        self.stop_as_said(id, out);
    }

    /// No run took it, and none will: what its sender was told, once more.
    fn settle_refused(&mut self, at: usize, id: RequestId, why: Option<SettleReason>, out: &mut Out) {
        let view = &self.views[at];
        let refusal = faults::never_began(why, &view.session, &view.usual_note()).with("replayed", true);
        self.refuse(id, &refusal, out);
    }
}

/// How a message came into a run that the log tells of. `item`: what it was called while it waited.
fn how(run: &GatewayRun, entries: &[Arc<Entry>], item: Option<&ItemId>) -> How {
    let count = run.taken.len();
    let place = item.and_then(|item| run.taken.iter().position(|taken| taken == item));
    let is_settled =
        |entry: &Entry| matches!(&entry.body, Body::Queue(QueueEntry::Settled { item: of, .. }) if Some(of) == item);
    match place {
        Some(place) if count > 1 => How::Collected { count, leader: place == 0 },
        Some(_) => How::Started,
        // It did not wait, so where others had waited it was the last of them.
        None if item.is_none() && count > 1 => How::Collected { count, leader: false },
        None if item.is_none() => How::Started,
        // It waited, and the run either began with it or had its first message by then.
        None => match entries.iter().find(|entry| is_settled(entry) || matches!(entry.body, Body::User { .. })) {
            Some(entry) if !is_settled(entry) => How::Steered,
            _ => How::Started,
        },
    }
}
