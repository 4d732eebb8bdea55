//! Leaving a session: what runs in it is stopped and answered first.

use vocab::{DirectoryVerb, QueueVerb, SessionVerb, Verb};
use wire::Out;

use crate::Acp;
use crate::pending::Pending;
use crate::session_view::Closing;

impl Acp {
    pub(crate) fn delete_saved(&mut self, session: &str, closing: Closing, out: &mut Out) {
        let verb = DirectoryVerb::Delete { session: session.into(), open_too: self.is_remote() };
        self.want(Verb::Directory(verb), Pending::Deleted(closing.call), out);
    }

    /// What runs is stopped first, and its prompt answered.
    pub(crate) fn leave(&mut self, at: usize, closing: Closing, out: &mut Out) {
        self.views[at].closing.push(closing);
        if self.is_remote() {
            self.stop_own(at, out);
        } else if self.is_busy(at) {
            self.tell_session(at, Verb::Session(SessionVerb::Interrupt { turn: None }), Pending::Nothing, out);
        }
        self.close_if_due(at, out);
    }

    /// Others may be on the session: what this client has begun is stopped, and all of it where nobody else is there.
    fn stop_own(&mut self, at: usize, out: &mut Out) {
        let view = &self.views[at];
        let turns: Vec<_> = view.prompts.iter().map(|(turn, _)| turn.clone()).collect();
        let items: Vec<_> = view.waiting.iter().map(|(item, _)| item.clone()).collect();
        for item in items {
            let verb = Verb::Session(SessionVerb::Queue(QueueVerb::TakeBack(item)));
            self.tell_session(at, verb, Pending::Nothing, out);
        }
        for turn in turns {
            let verb = Verb::Session(SessionVerb::Interrupt { turn: Some(turn) });
            self.tell_session(at, verb, Pending::Nothing, out);
        }
        self.tell_session(at, Verb::Session(SessionVerb::InterruptIfAlone), Pending::Nothing, out);
    }

    fn left(&mut self, at: usize, closing: Vec<Closing>, out: &mut Out) {
        // What others began goes on with its questions, and this client is none that can answer them any more.
        self.forget_asked(at, |_| true, out);
        let session = self.views[at].session.clone();
        self.tell_session(at, Verb::Leave, Pending::Left { session, closing }, out);
        self.views.remove(at);
    }

    /// Nothing runs any more in a session that is being left.
    pub(crate) fn close_if_due(&mut self, at: usize, out: &mut Out) {
        if !self.is_busy(at) && !self.views[at].closing.is_empty() {
            let closing = std::mem::take(&mut self.views[at].closing);
            self.left(at, closing, out);
        }
    }

    /// Something runs, or was asked for and has no answer yet.
    fn is_busy(&self, at: usize) -> bool {
        let view = &self.views[at];
        let needs = |pending: &Pending| pending.needs().is_some_and(|session| *session == view.session);
        let is_watched = !self.is_remote() && view.turn.is_some();
        is_watched || view.has_prompts() || self.pending.values().any(needs)
    }
}
