//! A typed line as the answer to a question. Only a clear yes is a yes.

use vocab::{Answer, AskKind, Scope};

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ParsedAnswer {
    Answer(Answer),
    /// `?`: tell me more.
    Explain,
    /// The text goes on in the next line.
    More,
    /// Neither; what would have been understood.
    Unclear(&'static str),
}

pub(crate) fn read(kind: &AskKind, line: &str) -> ParsedAnswer {
    let line = line.trim();
    match kind {
        AskKind::Permission(_) | AskKind::Budget(_) if line == "?" => ParsedAnswer::Explain,
        AskKind::Permission(_) | AskKind::Budget(_) => permission(line),
        AskKind::Confirm { .. } => confirm(line),
        AskKind::Select { options, .. } => {
            let chosen = line.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
            match chosen.or_else(|| options.iter().find(|option| ***option == *line)) {
                Some(option) => ParsedAnswer::Answer(Answer::Text(option.clone())),
                None if line.is_empty() => ParsedAnswer::Answer(Answer::Dismissed),
                None => ParsedAnswer::Unclear("type one of the numbers, or nothing to cancel"),
            }
        }
        AskKind::Input { .. } if line.is_empty() => ParsedAnswer::Answer(Answer::Dismissed),
        AskKind::Input { .. } => ParsedAnswer::Answer(Answer::Text(line.into())),
        // Read line by line, see [`edit`].
        AskKind::Editor { .. } | AskKind::HostCall { .. } => ParsedAnswer::Answer(Answer::Dismissed),
    }
}

/// Lines of a text; the lines beyond are not taken.
const DRAFT_LINES_MAX: usize = 10_000;
/// Ends a text of several lines.
pub(crate) const END_OF_TEXT: &str = ".";

/// One more line of a text. A lone dot ends it; a dot alone keeps the text as it was, and cancels where there is none.
pub(crate) fn edit(draft: &mut Vec<String>, prefill: Option<&str>, line: &str) -> ParsedAnswer {
    let lines = line.split(super::LINE_JOIN);
    if line.trim() != END_OF_TEXT {
        let room = DRAFT_LINES_MAX.saturating_sub(draft.len());
        draft.extend(lines.take(room).map(str::to_owned));
        return match room {
            0 => ParsedAnswer::Unclear("the text is too long; a lone `.` ends it"),
            _ => ParsedAnswer::More,
        };
    }
    ParsedAnswer::Answer(match (std::mem::take(draft), prefill) {
        (draft, _) if !draft.is_empty() => Answer::Text(draft.join("\n").into()),
        (_, Some(prefill)) => Answer::Text(prefill.into()),
        (_, None) => Answer::Dismissed,
    })
}

fn permission(line: &str) -> ParsedAnswer {
    let (word, rest) = line.split_once([' ', ',', ':']).unwrap_or((line, ""));
    match (word.to_lowercase().as_str(), rest.trim()) {
        ("y" | "yes", "") => ParsedAnswer::Answer(Answer::Allow(Scope::Once)),
        ("a" | "always", "") => ParsedAnswer::Answer(Answer::Allow(Scope::Session)),
        ("n" | "no", reason) => ParsedAnswer::Answer(Answer::Deny(because(reason))),
        _ => ParsedAnswer::Unclear("type y, n, a or ? (`n because ...` tells the model why)"),
    }
}

/// `n because it is generated` and `n it is generated` give the same reason.
fn because(reason: &str) -> Option<std::sync::Arc<str>> {
    let reason = reason.strip_prefix("because").map_or(reason, str::trim_start);
    (!reason.is_empty()).then(|| reason.into())
}

fn confirm(line: &str) -> ParsedAnswer {
    match line.to_lowercase().as_str() {
        "y" | "yes" => ParsedAnswer::Answer(Answer::Confirmed(true)),
        "n" | "no" => ParsedAnswer::Answer(Answer::Confirmed(false)),
        _ => ParsedAnswer::Unclear("type y or n"),
    }
}
