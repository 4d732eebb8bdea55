//! What a controller does for the tools of its session. A running call asks through [`vocab::Editor`]; the one peer that
//! serves is told, and its word is the answer. Nothing of it is in the log: an editor_request lives as long as its call.

use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::{mpsc, oneshot};
use tokio::time::Duration;
use vocab::{
    CallId, Editor, EditorEvent, EditorOffer, EditorReply, EditorRequest, EditorRequestKind, Event, Fault, FaultKind,
    Later, PeerId, Reply,
};

use super::{Session, TurnWaits, later};

/// How long a controller may take to show or to take a text; then the tool goes on as if it had failed. A command has
/// no limit but its tool's.
const TEXT_LIMIT: Duration = Duration::from_secs(30);
/// Editor that wait to be told; a call that asks faster waits.
const ORDERS_MAX: usize = 16;
/// What a tool reads when no editor will answer any more.
const GONE: &str = "the controller went away";

/// Who serves, and what is under way.
#[derive(Default)]
pub(super) struct EditorRequests {
    /// In the order of the offers; the last one serves.
    offers: Vec<(PeerId, EditorOffer)>,
    next: u64,
    /// Made with the first offer: few sessions ever have one.
    orders: Option<(mpsc::Sender<EditorOrder>, mpsc::Receiver<EditorOrder>)>,
    pub(super) open: Vec<OpenEditorRequest>,
    /// A controller has offered something: calls may ask for it from then on.
    pub(super) was_offered: bool,
}

/// Something that a call wants to be done.
pub(super) struct EditorOrder {
    peer: PeerId,
    call: CallId,
    kind: EditorRequestKind,
    /// Closed when the call does not wait any more.
    done: oneshot::Sender<EditorReply>,
}

pub(super) struct OpenEditorRequest {
    id: u64,
    peer: PeerId,
    kind: EditorRequestKind,
    done: oneshot::Sender<EditorReply>,
}

impl EditorRequests {
    /// Whether a controller is doing something for a call.
    pub(super) fn is_out(&self) -> bool {
        !self.open.is_empty()
    }

    /// Ready when there is an order, or when no call waits for some request any more.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<EditorOrder>> {
        if let Some((_, orders)) = &mut self.orders
            && let Poll::Ready(order) = orders.poll_recv(context)
        {
            return Poll::Ready(order);
        }
        let given_up = self.open.iter_mut().any(|editor_request| editor_request.done.poll_closed(context).is_ready());
        if given_up { Poll::Ready(None) } else { Poll::Pending }
    }
}

/// One call's way to the controller that served when it began.
struct CallEditor {
    peer: PeerId,
    call: CallId,
    offered: EditorOffer,
    order: mpsc::Sender<EditorOrder>,
}

impl Editor for CallEditor {
    fn offered(&self) -> EditorOffer {
        self.offered
    }

    fn run(&self, kind: EditorRequestKind) -> Later<'static, EditorReply> {
        let (offered, limit) = match kind {
            EditorRequestKind::ReadText { .. } => (self.offered.read_text, Some(TEXT_LIMIT)),
            EditorRequestKind::WriteText { .. } => (self.offered.write_text, Some(TEXT_LIMIT)),
            EditorRequestKind::Run { .. } => (self.offered.terminal, None),
        };
        if !offered {
            return Box::pin(async { EditorReply::Failed("the controller does not offer this".into()) });
        }
        let (done, answer) = oneshot::channel();
        let (orders, order) =
            (self.order.clone(), EditorOrder { peer: self.peer, call: self.call.clone(), kind, done });
        later::editor_reply(orders, order, answer, limit, GONE)
    }
}

impl Session {
    pub(super) fn offer_editor(&mut self, peer: PeerId, services: EditorOffer) {
        self.editor.offers.retain(|(owner, _)| *owner != peer);
        if services != EditorOffer::default() {
            self.editor.was_offered = true;
            self.editor.orders.get_or_insert_with(|| mpsc::channel(ORDERS_MAX));
            self.editor.offers.push((peer, services));
        }
    }

    /// For one call; `None` where no editor is here.
    pub(super) fn editor_for(&self, call: &CallId) -> Option<Arc<dyn Editor>> {
        let Some((&(peer, offered), (order, _))) = self.editor.offers.last().zip(self.editor.orders.as_ref()) else {
            return self.subagents.inherited_editor.clone();
        };
        Some(Arc::new(CallEditor { peer, call: call.clone(), offered, order: order.clone() }))
    }

    /// Tells the one who serves. An order that comes after its call, or whose peer went, is dropped, and that is its answer.
    pub(super) fn tell_editor_request(&mut self, order: EditorOrder) {
        let EditorOrder { peer, call, kind, done } = order;
        let runs = matches!(self.activity.waiting(), TurnWaits::Tool { call: running, .. } if *running == call);
        let Some(outbox) = self.log.peers.outbox_of(peer).cloned().filter(|_| runs && !done.is_closed()) else {
            return;
        };
        self.editor.next += 1;
        let id = self.editor.next;
        self.editor.open.push(OpenEditorRequest { id, peer, kind: kind.clone(), done });
        self.log.reply(outbox, Event::Editor(EditorEvent::Request(EditorRequest { id, call, kind })));
    }

    /// Withdraws what no call waits for any more: its call was interrupted, or its time was over.
    pub(super) fn drop_editor_requests(&mut self) {
        let dropped: Vec<_> =
            self.editor.open.extract_if(.., |editor_request| editor_request.done.is_closed()).collect();
        for editor_request in dropped {
            if let Some(outbox) = self.log.peers.outbox_of(editor_request.peer).cloned() {
                self.log.reply(outbox, Event::Editor(EditorEvent::Dropped { editor_request: editor_request.id }));
            }
        }
    }

    pub(super) fn editor_replied(&mut self, peer: PeerId, id: u64, result: EditorReply) -> Result<Reply, Fault> {
        let open = &mut self.editor.open;
        let Some(at) = open.iter().position(|it| it.id == id && it.peer == peer && !it.done.is_closed()) else {
            return Err(Fault::new(FaultKind::UnknownAsk, format!("no open editor_request {id}"))
                .hint("it was done, withdrawn, or never yours"));
        };
        if !fits(&open[at].kind, &result) {
            return Err(Fault::new(FaultKind::Invalid, format!("that is no answer to editor_request {id}")));
        }
        let _ = open.swap_remove(at).done.send(result);
        self.activity.moved();
        Ok(Reply::Done)
    }

    /// The peer left, and with it what it offered.
    pub(super) fn editor_left(&mut self, peer: PeerId) {
        self.editor.offers.retain(|(owner, _)| *owner != peer);
        self.forget_editor_requests(peer);
    }

    /// The peer does not know of what it was asked to do any more; nobody else's clock would end it.
    pub(super) fn forget_editor_requests(&mut self, peer: PeerId) {
        for editor_request in self.editor.open.extract_if(.., |editor_request| editor_request.peer == peer) {
            let _ = editor_request.done.send(EditorReply::Failed(GONE.into()));
        }
    }
}

/// An editor request can always fail; otherwise the result must be of its kind.
fn fits(kind: &EditorRequestKind, result: &EditorReply) -> bool {
    match (kind, result) {
        (_, EditorReply::Failed(_)) => true,
        (EditorRequestKind::ReadText { .. }, EditorReply::Text(_) | EditorReply::NotFound) => true,
        (EditorRequestKind::WriteText { .. }, EditorReply::Written | EditorReply::NotFound) => true,
        (EditorRequestKind::Run { .. }, EditorReply::Ran { .. }) => true,
        (_, _) => false,
    }
}
