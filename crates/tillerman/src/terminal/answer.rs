//! A typed line as the answer to a question. Only a clear yes is a yes.

use vocab::{Answer, AskKind, Scope};

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Heard {
    Answer(Answer),
    /// `?`: tell me more.
    Explain,
    /// Neither; what would have been understood.
    Unclear(&'static str),
}

pub(crate) fn read(kind: &AskKind, line: &str) -> Heard {
    let line = line.trim();
    if line == "?" {
        return Heard::Explain;
    }
    match kind {
        AskKind::Permission(_) => permission(line),
        AskKind::Confirm { .. } => confirm(line),
        AskKind::Select { options, .. } => {
            let chosen = line.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
            match chosen.or_else(|| options.iter().find(|option| ***option == *line)) {
                Some(option) => Heard::Answer(Answer::Text(option.clone())),
                None if line.is_empty() => Heard::Answer(Answer::Dismissed),
                None => Heard::Unclear("type one of the numbers, or nothing to cancel"),
            }
        }
        AskKind::Input { .. } | AskKind::Editor { .. } if line.is_empty() => Heard::Answer(Answer::Dismissed),
        AskKind::Input { .. } | AskKind::Editor { .. } => Heard::Answer(Answer::Text(line.into())),
        AskKind::HostCall { .. } => Heard::Answer(Answer::Dismissed),
    }
}

fn permission(line: &str) -> Heard {
    let (word, rest) = line.split_once([' ', ',', ':']).unwrap_or((line, ""));
    match (word.to_lowercase().as_str(), rest.trim()) {
        ("y" | "yes", "") => Heard::Answer(Answer::Allow(Scope::Once)),
        ("a" | "always", "") => Heard::Answer(Answer::Allow(Scope::Session)),
        ("n" | "no", reason) => Heard::Answer(Answer::Deny(because(reason))),
        _ => Heard::Unclear("type y, n, a or ? (`n because ...` tells the model why)"),
    }
}

/// `n because it is generated` and `n it is generated` give the same reason.
fn because(reason: &str) -> Option<std::sync::Arc<str>> {
    let reason = reason.strip_prefix("because").map_or(reason, str::trim_start);
    (!reason.is_empty()).then(|| reason.into())
}

fn confirm(line: &str) -> Heard {
    match line.to_lowercase().as_str() {
        "y" | "yes" => Heard::Answer(Answer::Confirmed(true)),
        "n" | "no" => Heard::Answer(Answer::Confirmed(false)),
        _ => Heard::Unclear("type y or n"),
    }
}
