//! The steps of an answer put together: what a client that reads to the end knows.

use super::steps::Step;

/// A block of the answer.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Said {
    Text(String),
    Thinking { text: String, seal: Option<String> },
    Redacted(String),
    Call { id: Option<String>, name: String, arguments: String, seal: Option<String> },
}

/// Token counts; `prompt` holds the cached and the written ones too.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Tokens {
    pub(super) prompt: u64,
    pub(super) cached: u64,
    pub(super) written: u64,
    pub(super) completion: u64,
}

#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Answer {
    pub(super) blocks: Vec<Said>,
    /// The block each step belongs to.
    pub(super) block_of: Vec<Option<usize>>,
    /// The first and the last count that was reported.
    pub(super) tokens: Option<(Tokens, Tokens)>,
    /// How many of the tokens said were thoughts: one for each delta.
    pub(super) thoughts: u64,
    /// In neutral words; empty when the answer ends without one.
    pub(super) finish: String,
}

impl Answer {
    pub(super) fn of(steps: &[Step]) -> Self {
        let mut answer = Answer::default();
        let mut calls: Vec<(Option<usize>, usize)> = Vec::new();
        // The block that was added to last.
        let mut now = None;
        for step in steps {
            let block = answer.block(step, now, &mut calls);
            now = block.or(now);
            answer.block_of.push(block);
        }
        if let Some((_, last)) = answer.tokens {
            answer.thoughts = answer.thoughts.min(last.completion);
        }
        answer
    }

    fn block(&mut self, step: &Step, now: Option<usize>, calls: &mut Vec<(Option<usize>, usize)>) -> Option<usize> {
        let current = now.map(|at| &mut self.blocks[at]);
        match step {
            Step::Text(more) => match current {
                Some(Said::Text(text)) => text.push_str(more),
                _ => return Some(self.add(Said::Text(more.clone()))),
            },
            Step::Thinking(more) => {
                self.thoughts += 1;
                match current {
                    Some(Said::Thinking { text, seal: None }) => text.push_str(more),
                    _ => return Some(self.add(Said::Thinking { text: more.clone(), seal: None })),
                }
            }
            Step::Seal(given) => match current {
                Some(Said::Thinking { seal: seal @ None, .. } | Said::Call { seal: seal @ None, .. }) => {
                    *seal = Some(given.clone());
                }
                _ => return Some(self.add(Said::Thinking { text: String::new(), seal: Some(given.clone()) })),
            },
            Step::Redacted(sealed) => return Some(self.add(Said::Redacted(sealed.clone()))),
            Step::Call { index, id, name, arguments } => {
                let more = arguments.as_deref().unwrap_or_default();
                let known = match index {
                    Some(_) => calls.iter().find(|(have, _)| have == index),
                    None if id.is_none() => calls.last(),
                    None => None,
                };
                if let Some((_, at)) = known {
                    if let Said::Call { arguments, .. } = &mut self.blocks[*at] {
                        arguments.push_str(more);
                    }
                    return Some(*at);
                }
                let name = name.clone().unwrap_or_default();
                let at = self.add(Said::Call { id: id.clone(), name, arguments: more.into(), seal: None });
                calls.push((*index, at));
                return Some(at);
            }
            Step::Usage { prompt, cached, written, completion } => {
                let now = Tokens { prompt: *prompt, cached: *cached, written: *written, completion: *completion };
                self.tokens = Some((self.tokens.map_or(now, |(first, _)| first), now));
                return None;
            }
            Step::Finish(reason) => {
                self.finish.clone_from(reason);
                return None;
            }
            _ => return None,
        }
        now
    }

    fn add(&mut self, block: Said) -> usize {
        self.blocks.push(block);
        self.blocks.len() - 1
    }

    /// Whether no later step belongs to the block of this one.
    pub(super) fn is_last_of_block(&self, at: usize) -> bool {
        !self.block_of[at + 1..].contains(&self.block_of[at])
    }

    pub(super) fn last_tokens(&self) -> Tokens {
        self.tokens.map(|(_, last)| last).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_become_blocks_in_the_order_of_their_beginnings() {
        let call = |index, id: &str, arguments: &str| Step::Call {
            index,
            id: (!id.is_empty()).then(|| id.into()),
            name: (!id.is_empty()).then(|| "f".into()),
            arguments: Some(arguments.into()),
        };
        let answer = Answer::of(&[
            Step::Thinking("a".into()),
            Step::Thinking("b".into()),
            Step::Seal("s".into()),
            Step::text("c"),
            Step::Comment,
            Step::text("d"),
            Step::Seal("t".into()),
            call(Some(0), "x", "1"),
            call(Some(1), "y", "2"),
            call(Some(0), "", "3"),
            Step::Seal("u".into()),
            call(None, "z", "4"),
            call(None, "", "5"),
            Step::usage(9, 1, 2),
            Step::finish("length"),
            Step::usage(9, 1, 7),
        ]);
        let said = |id: &str, arguments: &str, seal: Option<&str>| Said::Call {
            id: Some(id.into()),
            name: "f".into(),
            arguments: arguments.into(),
            seal: seal.map(Into::into),
        };
        assert_eq!(
            answer.blocks,
            [
                Said::Thinking { text: "ab".into(), seal: Some("s".into()) },
                Said::Text("cd".into()),
                Said::Thinking { text: "".into(), seal: Some("t".into()) },
                said("x", "13", Some("u")),
                said("y", "2", None),
                said("z", "45", None),
            ]
        );
        assert_eq!(answer.block_of[7..13], [3, 4, 3, 3, 5, 5].map(Some));
        assert!(answer.is_last_of_block(8) && !answer.is_last_of_block(9) && answer.is_last_of_block(10));
        let (first, last) = answer.tokens.unwrap();
        assert_eq!((first.completion, last.completion, answer.thoughts), (2, 7, 2));
        assert_eq!(answer.finish, "length");
    }
}
