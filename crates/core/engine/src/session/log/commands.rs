//! Commands under way: who wants each, and the key by which a repeat of it is known.

use std::sync::Arc;

use vocab::{Event, Fault, KeptReply, Keyed, NumberedMap, PeerId, Principal, Reply, Tag};

use super::SessionLog;
use crate::outbox::Outbox;

/// Repeats that wait for the answer of one command.
const REPEATS_MAX: usize = 64;

/// What a command comes with beside its verb.
pub(crate) struct Provenance {
    pub(crate) by: Principal,
    pub(crate) key: Option<Arc<str>>,
    pub(crate) trace: Option<Arc<str>>,
    /// See [`vocab::Command::model`].
    pub(crate) model: Option<Arc<str>>,
    /// The end of the time that it has ([`vocab::Command::limit_ms`]).
    pub(crate) until_ms: Option<i64>,
}

#[derive(Default)]
pub(crate) struct Commands {
    under_way: NumberedMap<(PeerId, Tag), CommandUnderWay>,
    /// The one that is being looked at and has no answer yet, should the session break on it.
    answering: Option<(Arc<Outbox>, Tag)>,
    /// Who wants what is being done now.
    acting: Option<Principal>,
    /// The trace that it belongs to.
    tracing: Option<Arc<str>>,
    /// The model that it chooses if it is taken.
    model: Option<Arc<str>>,
    /// The end of the time that it has.
    until_ms: Option<i64>,
}

/// A command without an answer.
struct CommandUnderWay {
    by: Principal,
    key: Option<Arc<str>>,
    trace: Option<Arc<str>>,
    model: Option<Arc<str>>,
    until_ms: Option<i64>,
    /// What it asks for ([`Keyed::of`]), once it is being carried out under its key.
    of: Option<u64>,
    /// Repeats of it, which are answered with it.
    repeats: Vec<(Arc<Outbox>, Tag)>,
}

/// What a command with a key turns out to be.
pub(crate) enum KeyedCommand {
    First,
    /// The answer comes with the first one's.
    Repeats,
    /// The key stands for something else.
    Clashes,
    /// So many wait for the first one's answer that this one is refused.
    TooMany,
}

impl Commands {
    pub(crate) fn begin(&mut self, outbox: &Outbox, tag: Tag, provenance: Provenance) {
        let Provenance { by, key, trace, model, until_ms } = provenance;
        let command = CommandUnderWay { by, key, trace, model, until_ms, of: None, repeats: Vec::new() };
        self.under_way.insert((outbox.peer, tag), command);
    }
    /// What the peer asked for is not carried out for it any more. Gives back its repeats that waited for an answer.
    pub(crate) fn leave(&mut self, peer: PeerId) -> Vec<(Arc<Outbox>, Tag)> {
        self.under_way.retain(|(sender, _), _| *sender != peer);
        let waiting = self.under_way.values_mut().map(|command| &mut command.repeats);
        let mut left: Vec<_> =
            waiting.flat_map(|repeats| repeats.extract_if(.., |(outbox, _)| outbox.peer == peer)).collect();
        left.sort_unstable_by_key(|(_, tag)| tag.0);
        left
    }

    pub(crate) fn key_of(&self, outbox: &Outbox, tag: Tag) -> Option<&Arc<str>> {
        self.under_way.get(&(outbox.peer, tag)).and_then(|command| command.key.as_ref())
    }
    /// Its answer is known: nothing of it is kept for a repeat.
    pub(crate) fn forget_key(&mut self, outbox: &Outbox, tag: Tag) {
        if let Some(command) = self.under_way.get_mut(&(outbox.peer, tag)) {
            command.key = None;
        }
    }
    /// Carries it out under its key, unless that is being done. `of`: what it asks for.
    pub(crate) fn claim(&mut self, outbox: &Arc<Outbox>, tag: Tag, of: u64) -> KeyedCommand {
        let this = (outbox.peer, tag);
        let Some(key) = self.key_of(outbox, tag).cloned() else { return KeyedCommand::First };
        let by = self.under_way.get(&this).map(|command| command.by.clone());
        let is_first = |command: &CommandUnderWay| {
            command.of.is_some() && command.key.as_ref() == Some(&key) && Some(&command.by) == by.as_ref()
        };
        let first = self.under_way.iter_mut().find(|(sender, command)| **sender != this && is_first(command));
        if let Some((_, first)) = first {
            if first.of != Some(of) {
                self.forget_key(outbox, tag);
                return KeyedCommand::Clashes;
            }
            if first.repeats.len() >= REPEATS_MAX {
                self.forget_key(outbox, tag);
                return KeyedCommand::TooMany;
            }
            first.repeats.push((outbox.clone(), tag));
            self.under_way.remove(&this);
            return KeyedCommand::Repeats;
        }
        if let Some(command) = self.under_way.get_mut(&this) {
            command.of = Some(of);
        }
        KeyedCommand::First
    }

    /// Who wants what is being done now.
    pub(crate) fn acting(&self) -> Option<&Principal> {
        self.acting.as_ref()
    }
    pub(crate) fn trace(&self) -> Option<&Arc<str>> {
        self.tracing.as_ref()
    }
    pub(crate) fn model(&self) -> Option<&Arc<str>> {
        self.model.as_ref()
    }
    pub(crate) fn until_ms(&self) -> Option<i64> {
        self.until_ms
    }
    /// Whatever is logged from now on is this one's doing, without being a command.
    pub(crate) fn act_for(&mut self, by: Option<Principal>) {
        self.acting = by;
    }
    pub(crate) fn take_answering(&mut self) -> Option<(Arc<Outbox>, Tag)> {
        self.answering.take()
    }
}

impl SessionLog {
    /// Whatever is logged until [`SessionLog::looked_at`] is the doing of whoever sent this command.
    pub(crate) fn look_at(&mut self, outbox: &Arc<Outbox>, tag: Tag) {
        let commands = &mut self.commands;
        commands.answering = Some((outbox.clone(), tag));
        let command = commands.under_way.get(&(outbox.peer, tag));
        commands.acting = command.map(|command| command.by.clone());
        commands.tracing = command.and_then(|command| command.trace.clone());
        commands.model = command.and_then(|command| command.model.clone());
        commands.until_ms = command.and_then(|command| command.until_ms);
    }
    /// As [`SessionLog::look_at`], of what a command has led to, which is `by`'s doing also when the sender is gone by now.
    pub(crate) fn look_at_end(&mut self, outbox: &Arc<Outbox>, tag: Tag, by: Option<Principal>) {
        self.look_at(outbox, tag);
        self.commands.acting = by;
    }
    pub(crate) fn looked_at(&mut self) {
        self.commands.answering = None;
        self.commands.acting = None;
        self.commands.tracing = None;
        self.commands.model = None;
        self.commands.until_ms = None;
    }

    /// Answers behind everything said so far. The answer of a command with a key is logged with what the command did, so that
    /// a repeat of it finds both or neither.
    pub(crate) fn reply(&mut self, to: Arc<Outbox>, event: Event) {
        let mut repeats = Vec::new();
        if let Event::Reply { tag, result } = &event {
            self.commands.answering.take_if(|(outbox, answered)| outbox.peer == to.peer && answered == tag);
            if let Some(command) = self.commands.under_way.remove(&(to.peer, *tag)) {
                self.keep_answer(&command, result);
                let again = || result.clone().map(|reply| Reply::Again(Box::new(reply)));
                repeats = command.repeats.into_iter().map(|(outbox, tag)| (outbox, tag, again())).collect();
            }
        }
        self.say_to(to, event);
        for (outbox, tag, result) in repeats {
            self.say_to(outbox, Event::Reply { tag, result });
        }
    }

    /// Answers what no log keeps: that is not undone where a commit fails.
    pub(crate) fn reply_at_once(&mut self, to: &Arc<Outbox>, tag: Tag, result: Result<Reply, Fault>) {
        self.commands.answering.take_if(|(outbox, answered)| outbox.peer == to.peer && *answered == tag);
        self.commands.under_way.remove(&(to.peer, tag));
        self.peers.tell_one(to, Event::Reply { tag, result });
    }

    fn keep_answer(&mut self, command: &CommandUnderWay, result: &Result<Reply, Fault>) {
        let (Some(key), Some(of), Ok(reply)) = (&command.key, command.of, result) else { return };
        if let Some(reply) = KeptReply::of(reply) {
            let keyed = Keyed { key: key.clone(), of, reply };
            self.append(None, vocab::Body::Note(vocab::NoteEntry::Keyed(keyed)), Some(command.by.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::Slow;

    fn begun(commands: &mut Commands, peer: u64, tag: u64, key: &str) -> (Arc<Outbox>, Tag) {
        let (outbox, tag) = (Outbox::new(PeerId(peer), Slow::Wait), Tag(tag));
        commands.begin(
            &outbox,
            tag,
            Provenance { by: Principal::user("ann"), key: Some(key.into()), trace: None, model: None, until_ms: None },
        );
        (outbox, tag)
    }

    #[test]
    fn one_key_is_carried_out_once_at_a_time() {
        let mut commands = Commands::default();
        let (first, tag) = begun(&mut commands, 1, 7, "k");
        assert!(matches!(commands.claim(&first, tag, 5), KeyedCommand::First));
        assert!(matches!(commands.claim(&first, tag, 5), KeyedCommand::First), "it had to wait, and comes again");
        let (second, tag) = begun(&mut commands, 2, 7, "k");
        assert!(matches!(commands.claim(&second, tag, 5), KeyedCommand::Repeats));
        for number in 1..REPEATS_MAX as u64 {
            let (more, tag) = begun(&mut commands, 2, 100 + number, "k");
            assert!(matches!(commands.claim(&more, tag, 5), KeyedCommand::Repeats));
        }
        let (more, tag) = begun(&mut commands, 2, 1000, "k");
        assert!(matches!(commands.claim(&more, tag, 5), KeyedCommand::TooMany));
        let (third, tag) = begun(&mut commands, 2, 8, "k");
        assert!(matches!(commands.claim(&third, tag, 6), KeyedCommand::Clashes));
        let (other, tag) = begun(&mut commands, 2, 9, "other");
        assert!(matches!(commands.claim(&other, tag, 6), KeyedCommand::First));
        commands.leave(PeerId(1));
        let (later, tag) = begun(&mut commands, 3, 1, "k");
        assert!(matches!(commands.claim(&later, tag, 5), KeyedCommand::First), "the first one's sender is gone");
    }
}
