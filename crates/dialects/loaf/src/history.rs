//! Saved chats: lists that page, and one by name.

use serde_json::{Value, json};
use vocab::{Fault, FaultKind, ModelInfo, Recalled, Saved, SavedPage, Which, iso8601};

use crate::faults::RpcFault;
use crate::messages::{chat, said};
use crate::models::Thinking;
use crate::params::Params;

/// Rows of a list when nobody says how many.
const LIMIT_DEFAULT: usize = 100;
/// The most rows of one list; the rest is on the next page.
const LIMIT_MAX: usize = 10_000;
/// The longest title in a list.
const TITLE_CHARS_MAX: usize = 80;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HistoryPage {
    pub(crate) limit: usize,
    pub(crate) cursor: usize,
}

impl HistoryPage {
    /// 0 and nothing are the default, less is 1, fractions are cut off.
    pub(crate) fn new(limit: Option<f64>, cursor: Option<f64>) -> Self {
        let limit = match limit.map(f64::floor) {
            None | Some(0.0) => LIMIT_DEFAULT,
            // What is too large for the type ends at its top.
            Some(limit) => (limit.max(1.0) as usize).min(LIMIT_MAX),
        };
        Self { limit, cursor: cursor.map_or(0, |cursor| cursor.max(0.0) as usize) }
    }

    pub(crate) fn show(self, page: &SavedPage, models: &[&ModelInfo]) -> Value {
        let next = self.cursor.saturating_add(page.list.len());
        let more = (next as u64) < page.total && !page.list.is_empty();
        json!({
            "total": page.total,
            "cursor": self.cursor,
            "limit": self.limit,
            "sessions": page.list.iter().map(|saved| summary(saved, models)).collect::<Vec<_>>(),
            "next_cursor": more.then_some(next),
        })
    }
}

/// One saved chat, by what a controller knows of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Selector {
    Last,
    Place(String),
    Id(String),
}

impl Selector {
    pub(crate) fn read(params: &Params) -> Result<Self, RpcFault> {
        let (id, place) = (params.text_maybe("id")?, params.text_maybe("rollout_path")?);
        match (params.flag_maybe("last")?, place, id) {
            (true, _, _) => Ok(Selector::Last),
            (false, Some(place), _) => Ok(Selector::Place(place)),
            (false, None, Some(id)) => Ok(Selector::Id(id)),
            (false, None, None) => {
                let message = "history.get requires one of: id, last, rollout_path";
                Err(RpcFault::domain("history_selector_missing", message))
            }
        }
    }

    pub(crate) fn which(&self) -> Which {
        match self {
            Selector::Last => Which::Latest,
            Selector::Place(place) => Which::Path(place.into()),
            Selector::Id(id) => Which::Id(id.clone()),
        }
    }

    pub(crate) fn problem(&self, fault: &Fault) -> RpcFault {
        let text = match self {
            _ if fault.kind != FaultKind::NotFound => return fault.into(),
            Selector::Last => "no saved chat history yet".to_owned(),
            Selector::Place(place) => format!("failed to load chat: {place}"),
            Selector::Id(id) => format!("no saved chat matched id: {id}"),
        };
        RpcFault::domain("history_not_found", text)
    }
}

fn summary(saved: &Saved, models: &[&ModelInfo]) -> Value {
    let summary = &saved.summary;
    let title = summary.title.as_ref().or(summary.preview.as_ref()).map_or("", |text| text.trim());
    let info = models.iter().copied().find(|info| info.slug == summary.model);
    json!({
        "id": summary.id.as_str(),
        "title": title.chars().take(TITLE_CHARS_MAX).collect::<String>(),
        "provider": provider(info, &summary.model),
        "model": info.map_or(&*summary.model, |info| &*info.id),
        "thinkingLevel": Thinking::of_level(summary.thinking.as_deref()),
        "createdAt": iso8601(summary.created_ms),
        "updatedAt": iso8601(summary.updated_ms),
        "messageCount": summary.messages,
        "rolloutPath": saved.place,
    })
}

/// A model that is not in our list any more is known by its name alone.
fn provider(info: Option<&ModelInfo>, slug: &str) -> &'static str {
    match (info, slug.split_once('/')) {
        (Some(info), _) => crate::models::provider(info),
        (None, Some(("openrouter", _))) => "openrouter",
        (None, Some(("antigravity", _))) => "antigravity",
        (None, _) => "openai",
    }
}

pub(crate) fn whole(recalled: &Recalled, models: &[&ModelInfo]) -> Value {
    let mut answer = summary(&recalled.saved, models);
    let said = said(&recalled.entries);
    answer["messages"] = json!(chat(&said));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_cursors_are_put_right() {
        for (limit, cursor, want) in [
            (None, None, (100, 0)),
            (Some(0.0), Some(-3.0), (100, 0)),
            (Some(-5.0), Some(2.9), (1, 2)),
            (Some(2.7), None, (2, 0)),
            (Some(0.5), None, (100, 0)),
            (Some(1e300), Some(1e300), (LIMIT_MAX, usize::MAX)),
        ] {
            let page = HistoryPage::new(limit, cursor);
            assert_eq!((page.limit, page.cursor), want, "{limit:?} {cursor:?}");
        }
    }
}
