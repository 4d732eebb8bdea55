//! Makes one user message of the items a turn starts with.

use vocab::{Item, Part, parts_text};

/// The parts of a turn's first user message. One item keeps its parts as they are; of several the texts are joined
/// with a blank line, and the attachments follow in order. A note goes first.
pub(crate) fn opening(items: &[Item], note: Option<&str>) -> Vec<Part> {
    let parts = match items {
        [one] => one.parts.clone(),
        _ => joined(items),
    };
    note.map(|note| Part::text(format!("{note}\n\n"))).into_iter().chain(parts).collect()
}

fn joined(items: &[Item]) -> Vec<Part> {
    let texts: Vec<String> = items.iter().map(|item| parts_text(&item.parts)).filter(|text| !text.is_empty()).collect();
    let text = (!texts.is_empty()).then(|| Part::text(texts.join("\n\n")));
    let attachments = items.iter().flat_map(|item| &item.parts).filter(|part| !matches!(part, Part::Text(_)));
    text.into_iter().chain(attachments.cloned()).collect()
}
