//! What Exa is asked and how its answers read. Pure.

use serde::Deserialize;
use serde_json::json;

/// How much of a page's text is asked for and shown, in characters.
const PAGE_CHARS: usize = 3000;
/// The longest title and date that are shown, in characters.
const TITLE_CHARS: usize = 300;
const DATE_CHARS: usize = 40;
/// The longest address that is shown, in characters.
const URL_CHARS: usize = 2000;
/// The whole list; results that do not fit any more are only counted.
const LIST_BYTES_MAX: usize = 48 * 1024;
/// How much is shown of what a server says about a failure, in characters.
const REFUSAL_CHARS: usize = 300;

#[derive(Deserialize)]
struct ExaAnswer {
    results: Vec<ExaPage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExaPage {
    url: String,
    title: Option<String>,
    published_date: Option<String>,
    text: Option<String>,
}

/// The list for the model.
pub(super) struct ResultList {
    pub(super) text: String,
    pub(super) results: usize,
    /// Not all results are in it.
    pub(super) truncated: bool,
}

/// The body of the request.
pub(super) fn request(query: &str, results: u64) -> String {
    json!({ "query": query, "numResults": results, "contents": { "text": { "maxCharacters": PAGE_CHARS } } })
        .to_string()
}

/// Reads an answer, of which no more than `results` are shown.
pub(super) fn show(body: &str, results: u64) -> Result<ResultList, String> {
    let answer: ExaAnswer = serde_json::from_str(body)
        .map_err(|error| format!("the search service's answer cannot be read: {error}; try again"))?;
    let pages = answer.results.iter().take(usize::try_from(results).unwrap_or(usize::MAX));
    let entries: Vec<String> = pages.enumerate().map(|(at, page)| entry(at + 1, page)).collect();
    if entries.is_empty() {
        return Ok(ResultList { text: "No results.".to_owned(), results: 0, truncated: false });
    }
    let mut text = String::new();
    let mut shown = 0;
    for entry in &entries {
        if text.len() + entry.len() > LIST_BYTES_MAX {
            break;
        }
        text.push_str(entry);
        shown += 1;
    }
    let left = entries.len() - shown;
    if left > 0 {
        text.push_str(&format!("[{left} more left out: the list would be too long; ask for fewer results]"));
    }
    Ok(ResultList { text: text.trim_end().to_owned(), results: shown, truncated: left > 0 })
}

fn entry(number: usize, page: &ExaPage) -> String {
    let title = page.title.as_deref().map(one_line).filter(|title| !title.is_empty());
    let title = title.unwrap_or_else(|| "(no title)".to_owned());
    let mut text = format!("{number}. {}\n{}\n", short(&title, TITLE_CHARS), short(&one_line(&page.url), URL_CHARS));
    if let Some(date) = page.published_date.as_deref().map(one_line).filter(|date| !date.is_empty()) {
        text.push_str(&format!("published {}\n", short(&date, DATE_CHARS)));
    }
    if let Some(page) = page.text.as_deref().map(str::trim).filter(|page| !page.is_empty()) {
        text.push_str(&format!("{}\n", short(page, PAGE_CHARS)));
    }
    text.push('\n');
    text
}

fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// At most so many characters; `…` says that there were more.
pub(super) fn short(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Why there is no list, for the model.
pub(super) fn refusal(status: u16, body: &str, how_to_set: &str) -> String {
    match status {
        401 | 403 => format!("the search service refused the key (status {status}); {how_to_set}"),
        429 => {
            "the search service has had too many requests (status 429); wait a while before the next search".to_owned()
        }
        500.. => format!("the search service has a problem of its own (status {status}); try again later"),
        _ => {
            let said = short(&one_line(body), REFUSAL_CHARS);
            let said = if said.is_empty() { "nothing more".to_owned() } else { said };
            format!("the search service answered with status {status} and said: {said}")
        }
    }
}
