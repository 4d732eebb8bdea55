//! What was sent to the engine and has no reply yet: each command left word here what its reply is for.

use vocab::{Command, NumberedMap, Tag, Target, Verb};

use crate::{Out, OwnRequest};

/// Requests without a reply so far; at the bound frames stay in the pipe until the engine has caught up.
pub const PENDING_MAX: usize = 1024;

/// The open requests of one peer, by tag. `W` says what each was for.
#[derive(Debug)]
pub struct Pending<W> {
    open: NumberedMap<Tag, W>,
    made: u64,
}

impl<W> Default for Pending<W> {
    fn default() -> Self {
        Self { open: NumberedMap::default(), made: 0 }
    }
}

impl<W> Pending<W> {
    /// Sends a command under a fresh tag.
    pub fn submit<Own>(&mut self, target: Target, verb: Verb, what: W, out: &mut Out<Own>) -> Tag {
        let tag = self.tag(what);
        out.commands.push(Command::of(tag, target, verb));
        tag
    }

    /// The same with a call of the dialect's own.
    pub fn call<Own>(&mut self, call: Own, what: W, out: &mut Out<Own>) {
        let tag = self.tag(what);
        out.own.push(OwnRequest { tag, call });
    }

    fn tag(&mut self, what: W) -> Tag {
        self.made += 1;
        let tag = Tag(self.made);
        self.open.insert(tag, what);
        tag
    }

    /// The reply is here: what it was for. `None` for a tag that is none of ours, or was answered before.
    pub fn answered(&mut self, tag: Tag) -> Option<W> {
        self.open.remove(&tag)
    }

    /// What the reply with this tag will be for.
    pub fn get(&self, tag: Tag) -> Option<&W> {
        self.open.get(&tag)
    }

    /// Takes back what fits, in the order in which it was sent. The replies are still waited for; each finds `nothing`.
    pub fn withdraw(&mut self, fits: impl Fn(&W) -> bool, nothing: impl Fn() -> W) -> Vec<W> {
        let mut found: Vec<(&Tag, &mut W)> = self.open.iter_mut().filter(|(_, what)| fits(what)).collect();
        found.sort_by_key(|(tag, _)| tag.0);
        found.into_iter().map(|(_, what)| std::mem::replace(what, nothing())).collect()
    }

    /// No more frames may be heard until a reply has come.
    pub fn is_full(&self) -> bool {
        self.open.len() >= PENDING_MAX
    }
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
    /// What is open, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &W> {
        self.open.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reply_finds_once_what_it_is_for() {
        let (mut pending, mut out) = (Pending::default(), Out::<crate::NoOwn>::new());
        pending.submit(Target::Current, Verb::Leave, "first", &mut out);
        pending.submit(Target::Current, Verb::Leave, "second", &mut out);
        let tags: Vec<Tag> = out.commands.iter().map(|command| command.tag).collect();
        assert_eq!(tags, [Tag(1), Tag(2)]);
        assert_eq!((pending.answered(tags[1]), pending.answered(tags[1])), (Some("second"), None));
        assert_eq!((pending.answered(Tag(9)), pending.iter().count()), (None, 1));
    }

    #[test]
    fn what_is_taken_back_is_still_answered() {
        let (mut pending, mut out) = (Pending::default(), Out::<crate::NoOwn>::new());
        for number in [5, 2, 9, 4] {
            pending.submit(Target::Current, Verb::Leave, number, &mut out);
        }
        assert_eq!(pending.withdraw(|number| *number > 3, || 0), [5, 9, 4]);
        assert_eq!((pending.answered(Tag(1)), pending.answered(Tag(2)), pending.iter().count()), (Some(0), Some(2), 2));
    }

    #[test]
    fn it_is_full_at_the_bound_and_has_room_after_a_reply() {
        let (mut pending, mut out) = (Pending::default(), Out::<crate::NoOwn>::new());
        for _ in 0..PENDING_MAX {
            assert!(!pending.is_full());
            pending.submit(Target::Current, Verb::Leave, (), &mut out);
        }
        assert!(pending.is_full());
        pending.answered(Tag(7));
        assert!(!pending.is_full());
    }

    #[test]
    fn an_own_call_shares_the_tags_of_commands() {
        let (mut pending, mut out) = (Pending::default(), Out::new());
        pending.submit(Target::Current, Verb::Leave, "command", &mut out);
        pending.call("ring the bell", "own", &mut out);
        assert_eq!((out.own[0].tag, out.own[0].call), (Tag(2), "ring the bell"));
        assert_eq!(pending.answered(Tag(2)), Some("own"));
    }
}
