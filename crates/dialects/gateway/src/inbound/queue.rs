//! What waits in a lane: a list, and taking one message back.

use vocab::{Fault, FaultKind, Item, ItemId, QueueVerb, Reply, SessionVerb};

use crate::Gateway;
use crate::ledger::{Awaits, RequestId};
use crate::own::{GatewayRefusal, Out};
use crate::params::{QueueParams, RemoveParams};
use crate::pending::{AfterOpen, Wanted};
use crate::projection::queued_text;
use crate::results::{QueueResult, QueuedItem, RemoveResult};

pub(crate) fn list(
    gateway: &mut Gateway,
    id: RequestId,
    params: QueueParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    gateway.on_known_session(params.session_id.0, AfterOpen::Queue { id, remove: None }, out);
    Ok(())
}

pub(crate) fn remove(
    gateway: &mut Gateway,
    id: RequestId,
    params: RemoveParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let remove = Some(ItemId::from(&*params.item_id.0));
    gateway.on_known_session(params.session_id.0, AfterOpen::Queue { id, remove }, out);
    Ok(())
}

impl Gateway {
    pub(crate) fn queue_on(&mut self, at: usize, id: RequestId, remove: Option<ItemId>, out: &mut Out) {
        let session = self.views[at].session.clone();
        self.ledger.put(id, Awaits::Asked { session: Some(session.clone()), aside: None });
        let (verb, what) = match remove {
            Some(item) => (QueueVerb::TakeBack(item), Wanted::TakenBack(id)),
            None => (QueueVerb::List, Wanted::Queue(id)),
        };
        self.want(&session, SessionVerb::Queue(verb), what, out);
    }

    pub(crate) fn queue_told(&mut self, id: RequestId, result: Result<Reply, Fault>, out: &mut Out) {
        match result {
            Ok(Reply::Queue(items)) => {
                let items = items.iter().zip(0..).map(|(item, position)| shown(item, position)).collect();
                self.answer(id, &QueueResult { items }, out);
            }
            Ok(_) => self.refuse(id, &GatewayRefusal::mixed_up(), out),
            Err(fault) => self.faulty(id, &fault, out),
        }
    }

    /// Whoever sent it is told by the end of what waited, as with a cancel.
    pub(crate) fn taken_back(&mut self, id: RequestId, result: Result<Reply, Fault>, out: &mut Out) {
        match result {
            Ok(Reply::Queue(items)) => self.answer(id, &RemoveResult { removed: !items.is_empty() }, out),
            Ok(_) => self.refuse(id, &GatewayRefusal::mixed_up(), out),
            // A run has taken it, or it has ended otherwise.
            Err(fault) if matches!(fault.kind, FaultKind::NotFound | FaultKind::NothingToDo) => {
                self.answer(id, &RemoveResult { removed: false }, out);
            }
            Err(fault) => self.faulty(id, &fault, out),
        }
    }
}

fn shown(item: &Item, position: u64) -> QueuedItem {
    QueuedItem {
        item_id: item.id.to_string(),
        text: queued_text(&item.parts),
        at: (item.at_ms > 0).then_some(item.at_ms),
        by: item.by.as_ref().map(ToString::to_string),
        position,
        attachments: item.parts.iter().filter(|part| matches!(part, vocab::Part::Image(_))).count() as u64,
    }
}
