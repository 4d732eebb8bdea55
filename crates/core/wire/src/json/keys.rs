//! Finds repeated keys. Small objects are compared pairwise in a fixed array, so an ordinary frame allocates nothing;
//! an object with more keys moves to a hash set, so that time stays linear.

use std::borrow::Cow;
use std::collections::HashSet;

use super::DEPTH_MAX;
use super::unescape::{same, unescaped};

/// Keys of all open objects together that fit without allocation; an object that finds no room moves to a set.
const INLINE_MAX: usize = 48;
/// Keys of one object that are compared pairwise; the next one moves the object to a set.
const PAIRWISE_MAX: usize = 16;

pub(super) struct Keys<'a> {
    /// The keys of all open objects, outermost first, as written between their quotes.
    inline: [&'a str; INLINE_MAX],
    used: usize,
    /// Where each open object's keys start in `inline`.
    starts: [u8; DEPTH_MAX],
    open: usize,
    /// Objects that grew: how many objects were open with it, and its keys without escapes.
    grown: Vec<(usize, HashSet<Cow<'a, str>>)>,
}

impl<'a> Keys<'a> {
    pub(super) fn new() -> Self {
        Self { inline: [""; INLINE_MAX], used: 0, starts: [0; DEPTH_MAX], open: 0, grown: Vec::new() }
    }

    pub(super) fn open(&mut self) {
        self.starts[self.open] = self.used as u8;
        self.open += 1;
    }

    pub(super) fn close(&mut self) {
        if self.grown.last().is_some_and(|(open, _)| *open == self.open) {
            self.grown.pop();
        }
        self.open -= 1;
        self.used = usize::from(self.starts[self.open]);
    }

    /// Adds a key to the innermost object; false when it is there already.
    pub(super) fn add(&mut self, key: &'a str) -> bool {
        if let Some((open, set)) = self.grown.last_mut()
            && *open == self.open
        {
            return set.insert(unescaped(key));
        }
        let start = usize::from(self.starts[self.open - 1]);
        let own = &self.inline[start..self.used];
        if own.iter().any(|other| same(other, key)) {
            return false;
        }
        if own.len() < PAIRWISE_MAX && self.used < INLINE_MAX {
            self.inline[self.used] = key;
            self.used += 1;
            return true;
        }
        let mut set: HashSet<_> = own.iter().map(|other| unescaped(other)).collect();
        self.used = start;
        set.insert(unescaped(key));
        self.grown.push((self.open, set));
        true
    }
}
