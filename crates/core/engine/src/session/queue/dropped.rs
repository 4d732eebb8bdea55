//! What overflow cost: a count for whoever was dropped, and a note for the turn that comes instead.

use std::collections::VecDeque;

use vocab::{Item, parts_text};

/// Dropped texts a note quotes; of more, the newest stay, being nearest to what survived.
const QUOTES_MAX: usize = 10;
/// Characters kept of each.
const QUOTE_CHARS_MAX: usize = 120;

#[derive(Default, Debug)]
pub(super) struct Dropped {
    since_idle: u64,
    /// Dropped and not yet told to a turn.
    untold: u64,
    quotes: VecDeque<String>,
    /// Of those that found no room: for who is refused, not for a turn.
    refused: VecDeque<String>,
}

impl Dropped {
    pub(super) fn since_idle(&self) -> u64 {
        self.since_idle
    }
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let newest = (self.quotes.len() + self.refused.len()).saturating_sub(QUOTES_MAX);
        self.quotes.iter().chain(&self.refused).skip(newest).map(String::as_str)
    }

    pub(super) fn count(&mut self, item: &Item, summarise: bool) {
        self.since_idle += 1;
        if !summarise {
            return;
        }
        self.untold += 1;
        keep(&mut self.quotes, item);
    }

    /// A new message that found no room. Its sender has it still, and no turn has to hear of it.
    pub(super) fn count_refused(&mut self, item: &Item, summarise: bool) {
        self.since_idle += 1;
        if summarise {
            keep(&mut self.refused, item);
        }
    }

    /// A newer message took its place: that one is heard instead.
    pub(super) fn count_superseded(&mut self) {
        self.since_idle += 1;
    }

    pub(super) fn lane_was_idle(&mut self) {
        self.since_idle = 0;
        self.refused.clear();
    }

    /// The note for the turn that starts now; told once.
    pub(super) fn take_note(&mut self) -> Option<String> {
        let count = std::mem::take(&mut self.untold);
        let quotes: Vec<String> = self.quotes.drain(..).collect();
        (count > 0).then(|| {
            let (messages, were) = if count == 1 { ("message", "was") } else { ("messages", "were") };
            format!("{count} earlier {messages} {were} dropped: {}", quotes.join("; "))
        })
    }
}

fn keep(quotes: &mut VecDeque<String>, item: &Item) {
    if quotes.len() == QUOTES_MAX {
        quotes.pop_front();
    }
    quotes.push_back(quote(&parts_text(&item.parts)));
}

/// The beginning of a text, on one line.
fn quote(text: &str) -> String {
    let mut words = text.split_whitespace().flat_map(|word| [" ", word]).skip(1).flat_map(str::chars);
    let mut quote: String = words.by_ref().take(QUOTE_CHARS_MAX).collect();
    if words.next().is_some() {
        quote.pop();
        quote.push('…');
    }
    quote
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::{Delivery, Part};

    #[test]
    fn who_found_no_room_is_quoted_to_senders_and_to_no_turn() {
        let item = |text: &str| Item {
            id: text.into(),
            parts: vec![Part::text(text)],
            delivery: Delivery::Policy,
            at_ms: 0,
            sender: None,
            by: None,
            until_ms: None,
        };
        let mut dropped = Dropped::default();
        dropped.count_refused(&item("a"), true);
        dropped.count_superseded();
        dropped.count_refused(&item("b"), false);
        assert_eq!((dropped.since_idle(), dropped.texts().collect::<Vec<_>>()), (3, vec!["a"]));
        assert_eq!(dropped.take_note(), None);
        (0..12).for_each(|n| dropped.count_refused(&item(&n.to_string()), true));
        assert_eq!((dropped.texts().count(), dropped.texts().last()), (QUOTES_MAX, Some("11")));
        dropped.lane_was_idle();
        assert_eq!((dropped.since_idle(), dropped.texts().count()), (0, 0));
    }
}
