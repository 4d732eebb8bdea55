//! Who wrote how much, from the sums of days that the store keeps. No log is read.

use std::collections::BTreeMap;

use dialect_gateway::services::system::*;
use dialect_gateway::shape::Nullable;
use dialect_gateway::{GatewayRefusal, TOOL_NAMES};
use vocab::{DAY_MS, Query, SessionId, UsageBy, UsageQuery, day_of};

use super::reports::show_day;
use super::{SharedServices, refused};

/// Sessions whose titles are looked at, the newest first.
const TITLES_MAX: usize = 1_000;
/// Letters of a word that says something.
const WORD_CHARS_MIN: usize = 4;

pub(super) async fn analytics(
    services: &SharedServices,
    days: i64,
    top: usize,
) -> Result<AnalyticsResult, GatewayRefusal> {
    let store = &services.parts.store;
    let to = day_of(services.now_ms());
    let from = to - days + 1;
    let sums = |by, from, to| store.usage(UsageQuery { by, from, to, session: None });
    let days = sums(UsageBy::MessageDay, from, to).await.map_err(refused)?;
    let day = |row: &vocab::UsageSum| {
        let day = show_day(row.name.parse().ok()?);
        Some(AnalyticsDay { day, sessions: row.sessions, messages: row.calls })
    };
    let daily = days.iter().filter_map(day).collect();
    let by_session = sums(UsageBy::Message, from, to).await.map_err(refused)?;
    let mut busiest: Vec<(SessionId, u64)> =
        by_session.iter().map(|row| (SessionId::from(&*row.name), row.calls)).collect();
    let (total_sessions, total_messages) =
        (busiest.len() as u64, busiest.iter().map(|(_, messages)| messages).sum::<u64>());
    busiest.sort_by(|(one, its), (two, others)| others.cmp(its).then_with(|| one.cmp(two)));
    let mut top_sessions = Vec::new();
    for (session, messages) in busiest.into_iter().take(top) {
        // One that was deleted has still been written to.
        let last = store.summary(&session).await.map_err(refused)?.and_then(|summary| summary.last_message_ms);
        let last_activity = Nullable(last.map(|at_ms| at_ms / 1000));
        top_sessions.push(TopSession { session_id: session.to_string(), messages, last_activity });
    }
    let tools = sums(UsageBy::Tool, from, to).await.map_err(refused)?;
    let tool =
        |row: &vocab::UsageSum| TopTool { tool_name: TOOL_NAMES.show(&row.name).to_string(), executions: row.calls };
    let average = if total_sessions == 0 { 0.0 } else { total_messages as f64 / total_sessions as f64 };
    Ok(AnalyticsResult {
        daily,
        top_sessions,
        top_tools: tools.iter().take(top).map(tool).collect(),
        top_topics: topics(services, from * DAY_MS, top).await?,
        average_messages_per_session: (average * 100.0).round() / 100.0,
        total_sessions,
        total_messages,
    })
}

/// Words of titles of sessions that were used since then.
async fn topics(services: &SharedServices, since_ms: i64, top: usize) -> Result<Vec<TopTopic>, GatewayRefusal> {
    let query = Query { limit: Some(TITLES_MAX), ..Query::default() };
    let sessions = services.parts.store.list(query).await.map_err(refused)?;
    let titles = sessions.iter().filter(|it| it.updated_ms >= since_ms).filter_map(|it| it.title.as_deref());
    Ok(counted(titles, top))
}

fn counted<'a>(titles: impl Iterator<Item = &'a str>, top: usize) -> Vec<TopTopic> {
    let mut words = BTreeMap::<String, u64>::new();
    for title in titles {
        let mut of_title: Vec<String> = title
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| word.chars().count() >= WORD_CHARS_MIN)
            .map(str::to_lowercase)
            .collect();
        of_title.sort();
        of_title.dedup();
        of_title.into_iter().for_each(|word| *words.entry(word).or_default() += 1);
    }
    let mut all: Vec<(String, u64)> = words.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all.into_iter().take(top).map(|(topic, occurrences)| TopTopic { topic, occurrences }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_once_per_title_and_short_ones_not_at_all() {
        let titles = ["Fix the parser", "Parser: parser speed", "Über-Größe", "a b c"];
        let found = counted(titles.into_iter(), 3);
        let shown: Vec<(&str, u64)> = found.iter().map(|it| (it.topic.as_str(), it.occurrences)).collect();
        assert_eq!(shown, [("parser", 2), ("größe", 1), ("speed", 1)]);
    }
}
