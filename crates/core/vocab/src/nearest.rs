//! What a wrong word was probably meant to be: a setting, a flag, a command, a model. Pure.

/// The known word that is nearest to a wrong one, if any is near: at most a third of its letters differ. Of two that are
/// equally near it is the one with the same letters (`modle` is `model` and not `mode`), then the first.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |name: &&'a str| distance(wrong, name) * 3 <= name.len().max(wrong.len());
    let far = |name: &&'a str| (distance(wrong, name), letters(name) != letters(wrong));
    known.into_iter().filter(near).min_by_key(far)
}

fn letters(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.sort_unstable();
    letters
}

/// Edits between two words: a letter more, less or other, or two neighbours that changed places.
pub fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let replaced = row[j] + usize::from(a != b);
            let mut best = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_hand_is_one_edit() {
        for (left, right, edits) in [
            ("", "abc", 3),
            ("run", "run", 0),
            ("rum", "run", 1),
            ("modle", "model", 1),
            ("modle", "mode", 1),
            ("ab", "ba", 1),
        ] {
            assert_eq!((distance(left, right), distance(right, left)), (edits, edits), "{left} {right}");
        }
    }

    #[test]
    fn the_nearest_is_the_one_with_the_same_letters() {
        assert_eq!(nearest("modle", ["mode", "model"]), Some("model"));
        assert_eq!(nearest("modell", ["model", "models"]), Some("model"));
        assert_eq!(nearest("sonet", ["opus", "sonnet"]), Some("sonnet"));
        assert_eq!(nearest("hello", ["help", "login"]), None);
        assert_eq!(nearest("x", ["run"]), None);
    }
}
