//! A question that is being read: what of it was on the screen, and what has to be before an allow counts.

use vocab::{Fact, Missing};

use crate::fact_rows::{FactRows, ScreenSize};
use crate::paint::Paint;

pub struct QuestionPager {
    facts: FactRows,
    /// The whole input, where the facts do not have all of it and it was not shown yet.
    input: Option<FactRows>,
    /// What the facts do not have.
    missing: Missing,
    size: Option<ScreenSize>,
    paint: Paint,
}

impl QuestionPager {
    /// `input` is asked for only where the facts are not everything.
    pub fn new(facts: &[Fact], input: impl FnOnce() -> Vec<Fact>, size: Option<ScreenSize>, paint: Paint) -> Self {
        let missing = facts.iter().map(|fact| fact.missing).fold(Missing::default(), sum);
        let input = (missing != Missing::default()).then(|| FactRows::new(&input(), size, paint));
        Self { facts: FactRows::new(facts, size, paint), input, missing, size, paint }
    }

    /// One screen of it, together with the lines that stand around it.
    pub fn first(&mut self, beside: &[&str]) -> Vec<String> {
        self.facts.first(self.size, beside)
    }

    /// What comes next: the rest, then the whole input where there is more in it, then everything once more.
    pub fn more(&mut self) -> Vec<String> {
        match self.facts.unseen() {
            Some(_) => self.facts.rest(),
            None => self.input.take().map_or_else(|| self.facts.all(), |mut input| input.all()),
        }
    }

    /// Says loudly that something was not shown yet; `None` when all of it was.
    pub fn warning(&self) -> Option<String> {
        if self.is_whole() {
            return None;
        }
        let cut = if self.input.is_some() { self.missing } else { Missing::default() };
        let Missing { lines, bytes } = sum(self.facts.unseen().unwrap_or_default(), cut);
        let what = if self.facts.unseen().is_some() { "all" } else { "the whole input" };
        let lines = if lines == 1 { "1 more line".to_owned() } else { format!("{lines} more lines") };
        Some(self.paint.loud(&format!("▲ {lines}, {bytes} bytes not shown: type ? to see {what}")))
    }

    pub fn is_whole(&self) -> bool {
        self.facts.unseen().is_none() && self.input.is_none()
    }
}

fn sum(one: Missing, other: Missing) -> Missing {
    Missing { lines: one.lines + other.lines, bytes: one.bytes + other.bytes }
}

/// Said where the person allows what they have not seen.
pub const NOT_TAKEN: &str = "nothing is allowed yet: these lines were not shown before. Answer again";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_whole_when_its_rest_and_its_input_were_shown() {
        let size = Some(ScreenSize { cols: 80, rows: 12 });
        let cut = Fact { missing: Missing { lines: 1, bytes: 2 }, ..Fact::text("new contents", &"a\n".repeat(20)) };
        let input = || vec![Fact::text("content", &"a\n".repeat(21))];
        let mut reading = QuestionPager::new(&[cut], input, size, Paint { on: false });
        assert_eq!(reading.first(&["one", "two"]).len(), 8);
        assert_eq!(reading.warning().unwrap(), "▲ 15 more lines, 15 bytes not shown: type ? to see all");
        assert_eq!(reading.more().len(), 14);
        assert_eq!(reading.warning().unwrap(), "▲ 1 more line, 2 bytes not shown: type ? to see the whole input");
        assert!(!reading.is_whole());
        assert_eq!(reading.more().len(), 22);
        assert!(reading.warning().is_none() && reading.is_whole());
        assert_eq!(reading.more().len(), 22, "the facts once more");
    }

    #[test]
    fn what_fits_is_whole_at_once() {
        let facts = [Fact::text("command", "ls")];
        for size in [None, Some(ScreenSize { cols: 40, rows: 15 })] {
            let mut reading = QuestionPager::new(&facts, Vec::new, size, Paint { on: false });
            assert_eq!(reading.first(&[]), ["  command:", "  │ ls"]);
            assert!(reading.is_whole());
        }
    }
}
