//! Open questions of a session.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::{Duration, Instant, Sleep};
use vocab::{
    Answer, Ask, AskEnd, AskEntry, AskId, AskKind, AskWait, Body, BudgetAsk, Call, Entry, Fault, FaultKind, IdKind,
    NumberedMap, Outcome, PeerId, PermissionAsk, Scope,
};

use super::extensions::dialogs::Dialog;
use super::{Session, TurnWaits};
use crate::images;
use crate::permission::{Remembered, ShownCall};

/// What the model is told when a call was allowed that is not the one the question was about.
const CHANGED: &str = "not run: what it would do has changed since it was asked about; look again, then try again";

pub(super) struct OpenAsk {
    pub(super) kind: AskKind,
    pub(super) entry: Arc<Entry>,
    /// The one peer that can answer, for calls of its own tools.
    pub(super) owner: Option<PeerId>,
    /// An extension's question: it does not belong to a turn.
    pub(super) dialog: Option<Dialog>,
}

impl OpenAsk {
    /// A call of a controller's tool, and no controller is here that has it.
    pub(super) fn is_left(&self) -> bool {
        self.owner.is_none() && matches!(self.kind, AskKind::HostCall { .. })
    }
}

/// How a peer deals with questions; the names are those of [`vocab::Abilities`].
#[derive(Clone, Copy)]
pub(super) struct Answering {
    pub(super) answers: bool,
    pub(super) has_time: bool,
    pub(super) dialogs: bool,
    pub(super) only_listens: bool,
}

impl Default for Answering {
    fn default() -> Self {
        Self { answers: true, has_time: true, dialogs: true, only_listens: false }
    }
}

/// What people were asked and have not answered yet, who could answer, and what was answered for good.
#[derive(Default)]
pub(super) struct Approvals {
    open: HashMap<AskId, OpenAsk>,
    /// What each peer said about itself when it came; who said nothing can answer everything.
    answering: NumberedMap<PeerId, Answering>,
    /// Since when questions wait that have a time, and when the next of them is over.
    asked_at: HashMap<AskId, Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Calls that became a peer's while it reads the past, by their entries: it may know them as another one's.
    given: HashSet<(PeerId, u64)>,
    pub(super) remembered: Remembered,
}

/// What the model is told of a question that nobody has answered in time.
const UNANSWERED: &str = "nobody answered";

impl Approvals {
    pub(super) fn remembering(remembered: Remembered) -> Self {
        Self { remembered, ..Self::default() }
    }
    /// A call that was allowed for the rest of the session; `seq`: the entry of the answer.
    pub(super) fn remember(&mut self, seq: u64, asked: &PermissionAsk) {
        let call = ShownCall::new(&asked.input, &asked.summary, asked.preview.as_deref());
        self.remembered.allow(seq, &asked.tool, asked.required, call);
    }
    pub(super) fn get(&self, id: &AskId) -> Option<&OpenAsk> {
        self.open.get(id)
    }
    pub(super) fn open(&self) -> impl Iterator<Item = &OpenAsk> {
        self.open.values()
    }
    pub(super) fn insert(&mut self, id: AskId, ask: OpenAsk) {
        self.open.insert(id, ask);
    }
    pub(super) fn take(&mut self, id: &AskId) -> Option<OpenAsk> {
        self.open.remove(id)
    }
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = OpenAsk> + use<> {
        std::mem::take(&mut self.open).into_values()
    }
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
    /// Those of the turn; what extensions ask is not the turn's.
    fn take_of_turn(&mut self) -> Vec<AskId> {
        self.open.extract_if(|_, open| open.dialog.is_none()).map(|(id, _)| id).collect()
    }
    /// Questions by the one peer that can answer them.
    pub(super) fn owned(&self, is_meant: impl Fn(Option<PeerId>) -> bool) -> Vec<AskId> {
        self.open.iter().filter(|(_, ask)| is_meant(ask.owner)).map(|(id, _)| id.clone()).collect()
    }
    /// Calls that no controller has now and that are this peer's, by the name of their tool.
    pub(super) fn give(&mut self, peer: PeerId, is_its: impl Fn(&str) -> bool) -> Vec<Arc<Entry>> {
        let mut given = Vec::new();
        for open in self.open.values_mut().filter(|open| open.is_left()) {
            if matches!(&open.kind, AskKind::HostCall { tool, .. } if is_its(tool)) {
                open.owner = Some(peer);
                given.push(open.entry.clone());
            }
        }
        given
    }
    /// The peer is to be told of these when it has read the past.
    pub(super) fn tell_later(&mut self, peer: PeerId, given: &[Arc<Entry>]) {
        self.given.extend(given.iter().map(|entry| (peer, entry.seq)));
    }
    /// Those of them that are still open, and that it knows: it is at `upto`.
    pub(super) fn take_given(&mut self, peer: PeerId, upto: u64) -> Vec<Arc<Entry>> {
        let given: HashSet<u64> = self.given.extract_if(|(owner, _)| *owner == peer).map(|(_, seq)| seq).collect();
        let is_meant = |open: &&OpenAsk| open.owner == Some(peer) && given.contains(&open.entry.seq);
        let meant = self.open.values().filter(is_meant).map(|open| open.entry.clone());
        meant.filter(|entry| entry.seq <= upto).collect()
    }
    /// The peer is gone; its calls wait for another one with tools of these names.
    pub(super) fn leave(&mut self, peer: PeerId) {
        self.open.values_mut().for_each(|open| open.owner = open.owner.filter(|owner| *owner != peer));
    }
    /// The one about a budget.
    pub(super) fn budget(&self) -> Option<(&AskId, &BudgetAsk)> {
        self.open.iter().find_map(|(id, ask)| match &ask.kind {
            AskKind::Budget(budget) => Some((id, budget)),
            _ => None,
        })
    }
    /// Questions of extensions.
    pub(super) fn dialogs(&self) -> impl Iterator<Item = (&AskId, &Dialog)> {
        self.open.iter().filter_map(|(id, ask)| Some((id, ask.dialog.as_ref()?)))
    }

    /// What a peer said about itself when it came.
    pub(super) fn set_answering(&mut self, peer: PeerId, how: Answering) {
        self.answering.insert(peer, how);
    }
    /// The peer is gone.
    pub(super) fn forget_answering(&mut self, peer: PeerId) {
        self.answering.remove(&peer);
    }
    fn answering(&self, peer: PeerId) -> Answering {
        self.answering.get(&peer).copied().unwrap_or_default()
    }
    pub(super) fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.timer {
            Some(timer) => timer.as_mut().poll(context),
            None => Poll::Pending,
        }
    }
    pub(super) fn is_mute(&self, peer: PeerId) -> bool {
        let how = self.answering(peer);
        !how.answers || how.only_listens
    }
}

impl Session {
    pub(super) fn open_permission(&mut self, permission: PermissionAsk) {
        self.open_ask(AskKind::Permission(permission), None, None);
    }

    /// The peer that brought the tool runs the call.
    pub(super) fn delegate(&mut self, call: Call, tool: Arc<str>) {
        let owner = self.tools.owner_of(&self.settings, &tool);
        self.tell_begun(&call.id);
        let kind = AskKind::HostCall { call: call.id, tool, input: call.input.json() };
        self.activity.wait(TurnWaits::Host { since: Instant::now() });
        // The peer that runs it learns of it when this is written.
        self.open_ask(kind, owner, None);
        self.log.sync_batch();
    }

    pub(super) fn open_ask(&mut self, kind: AskKind, owner: Option<PeerId>, dialog: Option<Dialog>) {
        let id = AskId::from(self.shared.ports.ids.mint(IdKind::Ask));
        let turn = if dialog.is_some() { None } else { self.current_turn() };
        let timeout_ms = dialog.as_ref().and_then(|dialog| dialog.timeout_ms);
        let ask = Ask { id: id.clone(), turn, kind: kind.clone(), timeout_ms };
        let entry = self.log(Body::Ask(AskEntry::Opened(ask)));
        self.approvals.insert(id, OpenAsk { kind, entry, owner, dialog });
    }

    /// Only the first valid answer counts; everything else is an error and changes nothing.
    pub(super) fn answer(&mut self, id: &AskId, answer: Answer, by: Option<PeerId>) -> Result<(), Fault> {
        let Some(open) = self.approvals.get(id) else {
            return Err(Fault::new(FaultKind::UnknownAsk, format!("no open question `{id}`"))
                .hint("it was answered, withdrawn, or never asked"));
        };
        if by.is_some() && (open.is_left() || open.owner.is_some() && open.owner != by) {
            return Err(Fault::new(
                FaultKind::Invalid,
                format!("question `{id}` is for the controller whose tool it is"),
            ));
        }
        if !fits(&open.kind, &answer) {
            return Err(Fault::new(FaultKind::Invalid, format!("that is no answer to question `{id}`")));
        }
        let open = self.approvals.take(id).expect("it was just found");
        let answer = match &open.kind {
            AskKind::Permission(permission) if !self.is_as_asked(permission) => Answer::Deny(Some(CHANGED.into())),
            _ => answer,
        };
        self.activity.moved();
        let by = by.and_then(|peer| self.log.peers.name_of(peer));
        let end = AskEnd::Answered { answer: answer.clone(), by };
        let closed = self.log(Body::Ask(AskEntry::Closed { ask: id.clone(), end }));
        match open.kind {
            AskKind::Permission(permission) => {
                if answer == Answer::Allow(Scope::Session) {
                    self.approvals.remember(closed.seq, &permission);
                }
                self.with_turn(|turn, fx| turn.answered(&answer, fx));
            }
            AskKind::Budget(asked) => self.budget_answered(&asked, &answer),
            AskKind::HostCall { tool, call, .. } => {
                let is_hosted = |waiting: &TurnWaits| matches!(waiting, TurnWaits::Host { .. });
                let Some(TurnWaits::Host { since }) = self.activity.stop_waiting_if(is_hosted) else { return Ok(()) };
                let outcome = host_outcome(&tool, answer);
                if images::has_any(&outcome.parts) {
                    // Pictures are made small enough, as those of our own tools are.
                    let future = images::shown(Box::pin(std::future::ready(outcome)), self.shared.ports.fit_image);
                    self.activity.wait(TurnWaits::Tool { future, call, since, progress: Arc::default() });
                } else {
                    self.call_ran(outcome, since.elapsed().as_millis() as u64);
                }
            }
            AskKind::Select { .. } | AskKind::Confirm { .. } | AskKind::Input { .. } | AskKind::Editor { .. } => {
                if let Some(dialog) = open.dialog {
                    self.dialog_answered(dialog, answer);
                }
            }
        }
        Ok(())
    }

    /// Whether the call would still do what the question showed. A file, a directory or a link may have been put in its place
    /// while the user thought about it. A call that cannot be planned any more says why when it runs.
    fn is_as_asked(&self, asked: &PermissionAsk) -> bool {
        let Ok((_, plan)) = self.planned(&asked.tool, &asked.input) else { return true };
        let facts = plan.preview.map(|facts| self.shared.ports.keyring.scrub_facts(&facts));
        plan.summary == asked.summary && facts == asked.preview
    }

    /// The turn that asked is over. Extensions' questions stay: they are not the turn's.
    pub(super) fn withdraw_asks(&mut self) {
        for ask in self.approvals.take_of_turn() {
            self.log(Body::Ask(AskEntry::Closed { ask, end: AskEnd::Withdrawn }));
        }
    }

    /// One of them has no point any more.
    pub(super) fn withdraw_ask(&mut self, ask: AskId) {
        if self.approvals.take(&ask).is_some() {
            self.log(Body::Ask(AskEntry::Closed { ask, end: AskEnd::Withdrawn }));
        }
    }

    /// Whether no peer could answer a question, so that it would wait for ever.
    pub(super) fn is_unanswerable(&self) -> bool {
        // One that was let go has not left yet, and hears no question any more.
        self.log.peers.all().all(|outbox| self.approvals.is_mute(outbox.peer) || outbox.was_let_go())
    }

    /// Whether no peer could show the dialog of an extension to anybody.
    pub(super) fn is_without_dialogs(&self) -> bool {
        let cannot = |peer: PeerId| self.approvals.is_mute(peer) || !self.approvals.answering(peer).dialogs;
        self.log.peers.all().all(|outbox| cannot(outbox.peer))
    }

    /// Whether a new question is a no at once: nobody can answer it, and it is not kept for whoever comes. Where questions have
    /// a time, those who are here and cannot answer are as good as a no.
    pub(super) fn is_no_use_asking(&self) -> bool {
        let is_timed = self.settings.conduct.ask_wait != AskWait::default();
        let is_nobody = self.is_unanswerable() && !self.log.peers.is_answered_elsewhere();
        is_nobody && (!self.settings.keeps_asks() || is_timed && !self.is_alone())
    }

    /// Nobody is here, or only those who listen.
    fn is_alone(&self) -> bool {
        self.log.peers.all().all(|outbox| self.approvals.answering(outbox.peer).only_listens)
    }

    /// How long a question about a call or a budget waits now.
    fn ask_limit(&self) -> Option<Duration> {
        let AskWait { answerable_ms, alone_ms } = self.settings.conduct.ask_wait;
        let is_nobody = self.is_unanswerable() && !self.log.peers.is_answered_elsewhere();
        let limit = match is_nobody {
            true => alone_ms,
            false if self.has_somebody_time() => None,
            false => answerable_ms,
        };
        limit.map(Duration::from_millis)
    }

    /// Somebody is here who can answer, and whose wire sets no time for that.
    fn has_somebody_time(&self) -> bool {
        let approvals = &self.approvals;
        let has_time = |peer: PeerId| !approvals.is_mute(peer) && approvals.answering(peer).has_time;
        self.log.peers.all().any(|outbox| has_time(outbox.peer) && !outbox.was_let_go())
    }

    /// Sets the timer for the question that has waited longest.
    pub(super) fn arm_asks(&mut self) {
        // Nothing waits, and nothing has since the timer was set last.
        if self.approvals.open.is_empty() && self.approvals.asked_at.is_empty() {
            return;
        }
        let is_timed = |ask: &OpenAsk| matches!(ask.kind, AskKind::Permission(_) | AskKind::Budget(_));
        let open = self.approvals.open.iter().filter(|(_, ask)| is_timed(ask));
        let open: Vec<AskId> = open.map(|(id, _)| id.clone()).collect();
        let now = Instant::now();
        self.approvals.asked_at.retain(|id, _| open.contains(id));
        for id in open {
            self.approvals.asked_at.entry(id).or_insert(now);
        }
        let oldest = self.approvals.asked_at.values().min().copied();
        let due = oldest.zip(self.ask_limit()).map(|(since, limit)| since + limit);
        self.approvals.timer = due.map(|due| Box::pin(tokio::time::sleep_until(due)));
    }

    /// A question has waited long enough: it is a no.
    pub(super) fn asks_due(&mut self) {
        self.approvals.timer = None;
        let Some(limit) = self.ask_limit() else { return };
        let is_over = |since: &Instant| since.elapsed() >= limit;
        let over: Vec<AskId> =
            self.approvals.asked_at.iter().filter(|(_, since)| is_over(since)).map(|(id, _)| id.clone()).collect();
        for id in over {
            let _ = self.answer(&id, Answer::Deny(Some(UNANSWERED.into())), None);
        }
    }

    /// Whether a controller, and not an extension, runs the call.
    pub(super) fn is_with_controller(&self) -> bool {
        let mut owners = self.approvals.open().filter(|ask| matches!(ask.kind, AskKind::HostCall { .. }));
        owners.any(|ask| ask.owner.is_none_or(|owner| self.extension(owner).is_none()))
    }

    pub(super) fn host_progress(&mut self, id: &AskId, parts: Vec<vocab::Part>) -> Result<(), Fault> {
        match (self.approvals.get(id).map(|open| &open.kind), self.current_turn()) {
            (Some(AskKind::HostCall { call, .. }), Some(turn)) => {
                let call = call.clone();
                self.activity.moved();
                let keyring = &self.shared.ports.keyring;
                let parts = parts.into_iter().map(|part| keyring.scrub_part(part)).collect();
                self.log.emit(vocab::Event::Delta(vocab::Delta::CallProgress { turn, call, parts }));
                Ok(())
            }
            _ => Err(Fault::new(FaultKind::UnknownAsk, format!("no open call `{id}`"))),
        }
    }
}

/// A question can always be declined; otherwise the answer must be of its kind.
fn fits(kind: &AskKind, answer: &Answer) -> bool {
    let accepts = match kind {
        AskKind::Permission(_) | AskKind::Budget(_) => matches!(answer, Answer::Allow(_) | Answer::Confirmed(_)),
        AskKind::HostCall { .. } => matches!(answer, Answer::Result { .. }),
        AskKind::Confirm { .. } => matches!(answer, Answer::Confirmed(_)),
        AskKind::Select { .. } | AskKind::Input { .. } | AskKind::Editor { .. } => matches!(answer, Answer::Text(_)),
    };
    accepts || matches!(answer, Answer::Deny(_) | Answer::Dismissed)
}

pub(super) fn host_outcome(tool: &str, answer: Answer) -> Outcome {
    match answer {
        Answer::Result { parts, is_error, details } => {
            Outcome { parts: images::worded(parts), is_error, edits: Vec::new(), details, todos: None }
        }
        Answer::Deny(Some(reason)) => Outcome::error(reason),
        _ => Outcome::error(format!("Host tool \"{tool}\" was aborted")),
    }
}

#[cfg(test)]
mod tests;
