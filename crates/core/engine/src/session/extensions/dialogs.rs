//! Questions of extensions to people. They are asks like any other, but they belong to the extension and not to a turn:
//! a person's answer, the extension's time limit or its death ends them, an interrupt does not.

use std::sync::Arc;

use tokio::time::{Duration, Instant};
use vocab::{Answer, AskEnd, AskEntry, AskId, AskKind, Body, Event, Fault, FaultKind, PeerId, Reply, Tag};

use crate::outbox::Outbox;
use crate::session::Session;
use crate::session::verbs::Response;

/// Questions one extension may have open in a session; one more is refused.
const DIALOGS_MAX: usize = 16;
/// The longest time limit that is kept to; a longer one is this long.
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Who asked, and until when the answer is wanted.
pub(in crate::session) struct Dialog {
    outbox: Arc<Outbox>,
    tag: Tag,
    pub(in crate::session) timeout_ms: Option<u64>,
    pub(in crate::session) until: Option<Instant>,
}

impl Session {
    /// The reply comes when somebody has answered.
    pub(in crate::session) fn open_dialog(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        kind: AskKind,
        timeout_ms: Option<u64>,
    ) -> Response {
        match &kind {
            AskKind::Select { options, .. } if options.is_empty() => {
                return Response::Now(Err(Fault::new(FaultKind::Invalid, "a selection needs options")));
            }
            AskKind::Select { .. } | AskKind::Confirm { .. } | AskKind::Input { .. } | AskKind::Editor { .. } => {}
            AskKind::Permission(_) | AskKind::Budget(_) | AskKind::HostCall { .. } => {
                return Response::Now(Err(Fault::new(FaultKind::Invalid, "an extension asks people with a dialog")));
            }
        }
        if self.is_without_dialogs() {
            return Response::Now(Ok(Reply::Answered(Answer::Dismissed)));
        }
        if self.activity.is_ending() {
            return Response::Now(Err(self.closing()));
        }
        let of_it = |peer: PeerId| self.approvals.dialogs().filter(|(_, dialog)| dialog.outbox.peer == peer).count();
        if of_it(outbox.peer) >= DIALOGS_MAX {
            return Response::Now(Err(Fault::new(
                FaultKind::QueueFull,
                format!("{DIALOGS_MAX} questions are open already"),
            )));
        }
        let until = timeout_ms.map(|ms| Instant::now() + Duration::from_millis(ms).min(TIMEOUT_MAX));
        self.open_ask(kind, None, Some(Dialog { outbox: outbox.clone(), tag, timeout_ms, until }));
        Response::Later
    }

    /// Extensions that wait for a person.
    pub(in crate::session) fn askers(&self) -> Vec<PeerId> {
        self.approvals.dialogs().map(|(_, dialog)| dialog.outbox.peer).collect()
    }

    /// A person has answered, or nobody will.
    pub(in crate::session) fn dialog_answered(&mut self, dialog: Dialog, answer: Answer) {
        let answer = match answer {
            Answer::Deny(_) => Answer::Dismissed,
            answer => answer,
        };
        self.hooked_extension_rests(dialog.outbox.peer);
        self.log.reply(dialog.outbox, Event::Reply { tag: dialog.tag, result: Ok(Reply::Answered(answer)) });
    }

    /// Takes back the questions of one extension, or of all.
    pub(in crate::session) fn withdraw_dialogs(&mut self, of: Option<PeerId>) {
        let is_meant = |dialog: &Dialog| of.is_none_or(|peer| dialog.outbox.peer == peer);
        let ids: Vec<AskId> =
            self.approvals.dialogs().filter(|(_, it)| is_meant(it)).map(|(id, _)| id.clone()).collect();
        self.withdraw_these(ids);
    }

    pub(in crate::session) fn dialogs_due(&mut self, now: Instant) {
        let is_due = |dialog: &Dialog| dialog.until.is_some_and(|until| until <= now);
        let ids: Vec<AskId> = self.approvals.dialogs().filter(|(_, it)| is_due(it)).map(|(id, _)| id.clone()).collect();
        self.withdraw_these(ids);
    }

    fn withdraw_these(&mut self, mut ids: Vec<AskId>) {
        ids.sort();
        for id in ids {
            let Some(dialog) = self.approvals.take(&id).and_then(|open| open.dialog) else { continue };
            self.log(Body::Ask(AskEntry::Closed { ask: id, end: AskEnd::Withdrawn }));
            self.dialog_answered(dialog, Answer::Dismissed);
        }
    }

    /// The log that had the questions is gone; whoever asked must not wait for ever.
    pub(in crate::session) fn drop_asks(&mut self) {
        for open in self.approvals.take_all() {
            if let Some(dialog) = open.dialog {
                self.dialog_answered(dialog, Answer::Dismissed);
            }
        }
    }
}
