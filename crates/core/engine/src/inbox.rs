//! The commands of one peer, in order, as fast as the peer takes what they lead to. A peer that asks and does not read waits
//! for room in its outbox; what it says to stop or to answer something is heard all the same.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::mpsc;
use vocab::{Command, DirectoryVerb, SessionVerb, Verb};

use crate::outbox::Outbox;
use crate::weight;

/// Commands that wait for room. More than a dialect has on their way; a peer that sends more is served without waiting, because
/// one that speaks and listens in one task would wait for ever.
const HELD_MAX: usize = 2048;
/// What they may bring along in bytes; likewise.
const HELD_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(crate) struct Inbox {
    commands: mpsc::Receiver<Command>,
    outbox: Arc<Outbox>,
    /// To be handed out before anything else.
    next: VecDeque<Command>,
    held: VecDeque<Command>,
    held_bytes: usize,
}

impl Inbox {
    pub(crate) fn new(commands: mpsc::Receiver<Command>, outbox: Arc<Outbox>) -> Self {
        Self { commands, outbox, next: VecDeque::new(), held: VecDeque::new(), held_bytes: 0 }
    }

    /// The next command to carry out; `None` when the peer has let go of its end.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Command>> {
        loop {
            if let Some(command) = self.next.pop_front() {
                return Poll::Ready(Some(command));
            }
            // No command overtakes what need not wait.
            if let Poll::Ready(command) = self.poll_held(context) {
                return Poll::Ready(Some(command));
            }
            match self.commands.poll_recv(context) {
                Poll::Ready(Some(command)) if command.verb.is_urgent() => self.let_pass(command),
                Poll::Ready(Some(command)) => {
                    self.held_bytes += weight::verb(&command.verb);
                    self.held.push_back(command);
                }
                // Nothing is kept for who is gone, so nothing has to wait.
                Poll::Ready(None) if !self.held.is_empty() => self.next.append(&mut self.held),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// What was said before it and costs little goes along: who says "this" and then "stop" means to stop this.
    fn let_pass(&mut self, command: Command) {
        for command in std::mem::take(&mut self.held) {
            match is_costly(&command.verb) {
                true => self.held.push_back(command),
                false => {
                    self.held_bytes -= weight::verb(&command.verb);
                    self.next.push_back(command);
                }
            }
        }
        self.next.push_back(command);
    }

    fn poll_held(&mut self, context: &mut Context<'_>) -> Poll<Command> {
        let Some(first) = self.held.front() else { return Poll::Pending };
        let costly = is_costly(&first.verb).then_some(first.tag);
        let is_full = self.held.len() > HELD_MAX || self.held_bytes > HELD_BYTES_MAX;
        if !is_full && self.outbox.poll_turn(context, costly).is_pending() {
            return Poll::Pending;
        }
        let Some(first) = self.held.pop_front() else { return Poll::Pending };
        self.held_bytes = self.held_bytes.saturating_sub(weight::verb(&first.verb));
        Poll::Ready(first)
    }
}

/// Whose answer may be as long as a log: one of them at a time is on its way.
fn is_costly(verb: &Verb) -> bool {
    matches!(
        verb,
        Verb::Session(SessionVerb::Read { .. })
            | Verb::Directory(DirectoryVerb::Recall(_))
            | Verb::Session(SessionVerb::Inspect)
            | Verb::Directory(DirectoryVerb::ModelsWithin { .. })
            | Verb::Directory(DirectoryVerb::Tools)
            | Verb::Directory(DirectoryVerb::Sessions(_))
    )
}

#[cfg(test)]
mod tests;
