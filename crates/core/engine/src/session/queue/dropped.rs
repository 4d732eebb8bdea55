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
}

impl Dropped {
    pub(super) fn since_idle(&self) -> u64 {
        self.since_idle
    }
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.quotes.iter().map(String::as_str)
    }

    pub(super) fn count(&mut self, item: &Item, summarise: bool) {
        self.since_idle += 1;
        if !summarise {
            return;
        }
        self.untold += 1;
        if self.quotes.len() == QUOTES_MAX {
            self.quotes.pop_front();
        }
        self.quotes.push_back(quote(&parts_text(&item.parts)));
    }

    /// A new message that found no room. Its sender knows its text, and no turn has to hear of it.
    pub(super) fn count_refused(&mut self) {
        self.since_idle += 1;
    }

    pub(super) fn lane_was_idle(&mut self) {
        self.since_idle = 0;
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
