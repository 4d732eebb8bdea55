//! `sessions search`: which conversation it was. Titles first, then what was said.

use std::sync::Arc;

use vocab::{Block, Body, Entry, Query, SettingEntry, Store, Summary, parts_text};

use super::list::{Shorts, title};
use crate::print::{one_line, say};
use dialect_terminal::listing::ago;

/// Sessions that are looked through, newest first; what is older has to be named.
const SESSIONS_MAX: usize = 2_000;
/// Characters of the line that is shown, around what was found.
const LINE_CHARS_MAX: usize = 100;
/// Nothing was found.
const NOTHING: u8 = 1;

pub(super) async fn search(store: &dyn Store, words: &[String], limit: usize) -> anyhow::Result<u8> {
    let words: Vec<String> = words.iter().flat_map(|it| it.split_whitespace()).map(str::to_lowercase).collect();
    let newest = store.list(Query { limit: Some(SESSIONS_MAX), non_empty: true, ..Query::default() }).await?;
    let shorts = Shorts::of(store).await?;
    let (now, mut shown) = (host::now_ms(), 0);
    for summary in &newest {
        let Some(line) = matching(store, summary, &words).await? else { continue };
        let head =
            format!("{}  {}  {}", shorts.short(summary.id.as_str()), ago(summary.updated_ms, now), title(summary));
        let head: String = head.chars().take(LINE_CHARS_MAX).collect();
        say(&format!("{}\n    {}\n", one_line(&head), one_line(&line)))?;
        shown += 1;
        if shown == limit {
            break;
        }
    }
    if shown == 0 {
        say(&format!("no session has {}\n", words.join(" ")))?;
        return Ok(NOTHING);
    }
    Ok(0)
}

/// A line of the title, of a prompt or of an answer that has all the words, in any case and order.
async fn matching(store: &dyn Store, summary: &Summary, words: &[String]) -> anyhow::Result<Option<String>> {
    if let Some(line) = line_with(title(summary), words) {
        return Ok(Some(line));
    }
    let entries = match store.read(&summary.id, 0, usize::MAX).await {
        Ok(page) => page.entries,
        // It was deleted since it was listed.
        Err(_) if store.summary(&summary.id).await?.is_none() => return Ok(None),
        Err(fault) => return Err(fault.into()),
    };
    Ok(entries.iter().flat_map(said).find_map(|text| line_with(&text, words)))
}

fn said(entry: &Arc<Entry>) -> Vec<String> {
    match &entry.body {
        Body::User { parts, .. } => vec![parts_text(parts).to_string()],
        Body::Assistant { message, .. } => {
            let text = |block: &Block| match block {
                Block::Text(text) => Some(text.to_string()),
                _ => None,
            };
            message.blocks.iter().filter_map(text).collect()
        }
        Body::Setting(SettingEntry::Title { title }) => vec![title.to_string()],
        _ => Vec::new(),
    }
}

/// The line where the first word stands, of a text that has all of them.
fn line_with(text: &str, words: &[String]) -> Option<String> {
    let lower = text.to_lowercase();
    if !words.iter().all(|word| lower.contains(word)) {
        return None;
    }
    let first = words.first()?;
    let line = text.lines().find(|line| line.to_lowercase().contains(first)).unwrap_or(text).trim();
    let at = line.to_lowercase().find(first).map_or(0, |at| line.char_indices().take_while(|(it, _)| *it < at).count());
    let skipped = at.saturating_sub(LINE_CHARS_MAX / 2);
    let cut: String = line.chars().skip(skipped).take(LINE_CHARS_MAX).collect();
    let before = if skipped > 0 { "…" } else { "" };
    let behind = if line.chars().count() > skipped + LINE_CHARS_MAX { "…" } else { "" };
    Some(format!("{before}{cut}{behind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, words: &str) -> Option<String> {
        line_with(text, &words.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[tokio::test]
    async fn a_session_that_was_deleted_since_it_was_listed_has_nothing() {
        let store = store::MemoryStore::new();
        let new = vocab::NewSession {
            id: "gone".into(),
            workspace: "/w".into(),
            model: "m".into(),
            mode: vocab::Mode::Prompt,
            at_ms: 0,
            parent: None,
        };
        let found = matching(&store, &store::summary::blank(&new), &["x".to_owned()]).await.unwrap();
        assert_eq!(found, None);
    }

    #[test]
    fn the_line_of_the_first_word_is_shown_where_all_words_are() {
        let text = "first line\nThe Parser fails\non empty input";
        assert_eq!(found(text, "parser").as_deref(), Some("The Parser fails"));
        assert_eq!(found(text, "empty parser").as_deref(), Some("on empty input"));
        assert_eq!(found(text, "parser lexer"), None);
        let long = format!("{}needle{}", "a".repeat(200), "b".repeat(200));
        let shown = found(&long, "needle").unwrap();
        assert!(shown.starts_with("…a") && shown.contains("needle") && shown.ends_with("b…"), "{shown}");
        assert_eq!(shown.chars().count(), LINE_CHARS_MAX + 2);
    }
}
