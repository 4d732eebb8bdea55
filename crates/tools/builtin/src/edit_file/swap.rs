//! Exact replacements in a text. Every one is matched against the text as it was. Pure.

#[derive(Clone, Debug)]
pub(crate) struct Swap {
    pub(crate) old: String,
    pub(crate) new: String,
}

/// Why nothing was replaced; numbers are indexes of swaps.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SwapProblem {
    Empty(usize),
    Same(usize),
    Missing(usize),
    Many { index: usize, lines: Vec<usize> },
    Overlap(usize, usize),
}

/// The new text and how many places changed. With `all` every occurrence counts, otherwise there must be one.
pub(crate) fn apply(text: &str, swaps: &[Swap], all: bool) -> Result<(String, usize), SwapProblem> {
    let mut places: Vec<(usize, usize)> = Vec::new(); // (where, which swap)
    for (index, swap) in swaps.iter().enumerate() {
        if swap.old.is_empty() {
            return Err(SwapProblem::Empty(index));
        }
        if swap.old == swap.new {
            return Err(SwapProblem::Same(index));
        }
        let found: Vec<usize> = text.match_indices(&swap.old).map(|(at, _)| at).collect();
        match found.len() {
            0 => return Err(SwapProblem::Missing(index)),
            2.. if !all => return Err(SwapProblem::Many { index, lines: line_numbers(text, &found) }),
            _ => places.extend(found.into_iter().map(|at| (at, index))),
        }
    }
    places.sort_unstable();
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    let mut last = 0;
    for (at, index) in &places {
        if *at < done {
            return Err(SwapProblem::Overlap(last.min(*index), last.max(*index)));
        }
        result.push_str(&text[done..*at]);
        result.push_str(&swaps[*index].new);
        done = at + swaps[*index].old.len();
        last = *index;
    }
    result.push_str(&text[done..]);
    Ok((result, places.len()))
}

/// Line numbers, from 1, of ascending byte positions.
fn line_numbers(text: &str, places: &[usize]) -> Vec<usize> {
    let mut line = 1;
    let mut done = 0;
    let number = |at: &usize| {
        line += text[done..*at].matches('\n').count();
        done = *at;
        line
    };
    places.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn swap(old: &str, new: &str) -> Swap {
        Swap { old: old.into(), new: new.into() }
    }

    #[test]
    fn several_swaps_see_the_text_as_it_was() {
        let swaps = [swap("a", "b"), swap("b", "a")];
        assert_eq!(apply("a b", &swaps, false), Ok(("b a".to_owned(), 2)));
    }

    #[test]
    fn swaps_that_touch_the_same_text_are_refused() {
        let swaps = [swap("bc", "x"), swap("ab", "y")];
        assert_eq!(apply("abc", &swaps, false), Err(SwapProblem::Overlap(0, 1)));
    }

    #[test]
    fn every_occurrence_is_named_by_its_line() {
        let problem = apply("x\n\nx x\n", &[swap("x", "y")], false);
        assert_eq!(problem, Err(SwapProblem::Many { index: 0, lines: vec![1, 3, 3] }));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// A small alphabet, so that texts overlap, repeat and miss.
        #[test]
        fn one_swap_means_what_replacen_means(text in "[abé\n]{0,40}", old in "[abé\n]{1,4}", new in "[abc\n]{0,4}") {
            prop_assume!(old != new);
            let count = text.matches(&old).count();
            let one = apply(&text, &[swap(&old, &new)], false);
            match count {
                0 => prop_assert_eq!(one, Err(SwapProblem::Missing(0))),
                1 => prop_assert_eq!(one, Ok((text.replacen(&old, &new, 1), 1))),
                _ => prop_assert!(matches!(one, Err(SwapProblem::Many { .. })), "{:?}", one),
            }
            if count > 0 {
                prop_assert_eq!(apply(&text, &[swap(&old, &new)], true), Ok((text.replace(&old, &new), count)));
            }
        }
    }
}
