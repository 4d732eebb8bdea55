//! Rows of the sessions table: finding, listing, and the way between columns and [`Summary`].

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use store::records::wishes;
use store::summary::named;
use vocab::{Mode, Needle, Order, Query, SessionId, Summary, Usage};

use super::Attempt;

/// The columns that entries change; behind `id` they are all that a summary has.
pub(crate) const TOTALS: &str = "workspace, model, mode, title, preview, created_ms, updated_ms, messages, turns, \
     last_seq, tokens_input, tokens_cache_read, tokens_cache_write, tokens_output, tokens_estimated, \
     thinking, wishes, child_of, last_message_ms";

/// Of [`TOTALS`], those that every append changes.
pub(crate) const COUNTED: &str = "updated_ms, messages, turns, last_seq, \
     tokens_input, tokens_cache_read, tokens_cache_write, tokens_output, tokens_estimated";
pub(crate) const COUNTED_COLUMNS: usize = 9;

/// Of [`TOTALS`], those that few do: what a session is, and is called. Some are in an index, which is left alone.
pub(crate) const DESCRIBED: &str = "workspace, model, mode, title, preview, created_ms, thinking, wishes, child_of";
pub(crate) const DESCRIBED_COLUMNS: usize = 9;

/// How many columns a summary has: `id` and [`TOTALS`], in the order in which [`summary`] reads and [`columns`] gives.
pub(crate) const SUMMARY_COLUMNS: usize = 20;

/// A list is cut here; the rest is reached with an offset.
const LIST_ROWS_MAX: usize = 100_000;

/// A session's row.
pub(crate) struct SessionRow {
    pub(crate) key: i64,
    pub(crate) epoch: u64,
    /// The owner that has it, if it still lives.
    pub(crate) owned_by: Option<i64>,
    pub(crate) summary: Summary,
}

pub(crate) fn find(connection: &Connection, id: &SessionId) -> Attempt<Option<SessionRow>> {
    let sql = format!("SELECT id, {TOTALS}, key, epoch, owned_by FROM sessions WHERE id = ?1");
    let found = connection
        .prepare(&sql)?
        .query_row([id.as_str()], |row| {
            Ok(SessionRow {
                summary: summary(row)?,
                key: row.get(20)?,
                epoch: from_int(number(row, 21)?),
                owned_by: match row.get_ref(22)? {
                    ValueRef::Integer(owner) => Some(owner),
                    _ => None,
                },
            })
        })
        .optional()?;
    Ok(found)
}

/// Those that are there, in their order.
pub(crate) fn summaries(connection: &Connection, ids: &[SessionId]) -> Attempt<Vec<Summary>> {
    let mut statement = connection.prepare(&format!("SELECT id, {TOTALS} FROM sessions WHERE id = ?1"))?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        found.extend(statement.query_row([id.as_str()], summary).optional()?);
    }
    Ok(found)
}

/// The sessions that worked for calls of this one.
pub(crate) fn children(connection: &Connection, of: &SessionId) -> Attempt<Vec<SessionId>> {
    let mut statement = connection.prepare("SELECT id FROM sessions WHERE child_of = ?1")?;
    let rows = statement.query_map([of.as_str()], |row| Ok(SessionId::from(text(row, 0)?.unwrap_or_default())))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The condition of a query and its values.
fn filter(query: &Query) -> (String, Vec<Value>) {
    let mut wanted = Vec::new();
    let mut values = Vec::new();
    if let Some(workspace) = &query.workspace {
        wanted.push("workspace = ?");
        values.push(path_value(workspace));
    }
    if let Some(part) = query.id_part.as_ref().filter(|part| !part.is_empty()) {
        let text = |text: &str| Value::Text(text.to_owned());
        let end = Value::Integer(-to_int(part.chars().count() as u64));
        match after_prefix(part) {
            Some(after) => {
                wanted.push("((id >= ? AND id < ?) OR substr(id, ?) = ?)");
                values.extend([text(part), text(&after), end, text(part)]);
            }
            None => {
                wanted.push("(id >= ? OR substr(id, ?) = ?)");
                values.extend([text(part), end, text(part)]);
            }
        }
    }
    if let Some(prefix) = query.id_prefix.as_ref().filter(|prefix| !prefix.is_empty()) {
        let after = after_prefix(prefix);
        let without = query.or_without.map(|mark| Value::Text(mark.to_string()));
        wanted.push(match (&after, &without) {
            (Some(_), None) => "(id >= ? AND id < ?)",
            (None, None) => "id >= ?",
            (Some(_), Some(_)) => "((id >= ? AND id < ?) OR instr(id, ?) = 0)",
            (None, Some(_)) => "(id >= ? OR instr(id, ?) = 0)",
        });
        values.push(Value::Text(prefix.clone()));
        values.extend(after.map(Value::Text).into_iter().chain(without));
    }
    if query.non_empty {
        wanted.push("messages > 0");
    }
    if query.unfinished {
        wanted.push("(open_turn > 0 OR open_items > 0)");
    }
    if !query.children {
        wanted.push("child_of IS NULL");
    }
    if let Some(text) = query.text.as_ref().filter(|text| text.is_ascii()) {
        wanted.push("(id LIKE ? ESCAPE '\\' OR title LIKE ? ESCAPE '\\')");
        let part = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let part = Value::Text(format!("%{part}%"));
        values.extend([part.clone(), part]);
    }
    if let Some((at_ms, id)) = &query.behind {
        wanted.push("last_message_ms <= ? AND (last_message_ms < ? OR id > ?)");
        values.extend([Value::Integer(*at_ms), Value::Integer(*at_ms), Value::Text(id.to_string())]);
    }
    if let Some(parent) = &query.child_of {
        wanted.push("child_of = ?");
        values.push(Value::Text(parent.to_string()));
    }
    let filter = if wanted.is_empty() { String::new() } else { format!("WHERE {}", wanted.join(" AND ")) };
    (filter, values)
}

pub(crate) fn count(connection: &Connection, query: &Query) -> Attempt<u64> {
    let (filter, values) = filter(query);
    if let Some(text) = other_letters(query) {
        let sql = format!("SELECT id, title FROM sessions {filter}");
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += u64::from(mentions(row, (0, 1), &text)?);
        }
        return Ok(count);
    }
    let sql = format!("SELECT count(*) FROM sessions {filter}");
    Ok(from_int(connection.query_row(&sql, params_from_iter(values), |row| row.get(0))?))
}

pub(crate) fn list(connection: &Connection, query: &Query) -> Attempt<Vec<Summary>> {
    let (filter, mut values) = filter(query);
    let limit = query.limit.unwrap_or(LIST_ROWS_MAX).min(LIST_ROWS_MAX);
    // Where we look for the text, the page is cut here, too.
    let text = other_letters(query);
    let (passed, taken) = if text.is_some() { (query.offset, limit) } else { (0, usize::MAX) };
    let cut = if text.is_some() { (LIST_ROWS_MAX, 0) } else { (limit, query.offset) };
    values.extend([Value::Integer(to_int(cut.0 as u64)), Value::Integer(to_int(cut.1 as u64))]);
    let order = match query.order {
        Order::Used => "used DESC, key DESC",
        Order::LastMessage => "last_message_ms DESC, id",
    };
    let sql = format!("SELECT id, {TOTALS} FROM sessions {filter} ORDER BY {order} LIMIT ? OFFSET ?");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let (mut found, mut list) = (0, Vec::new());
    while list.len() < taken
        && let Some(row) = rows.next()?
    {
        if text.as_ref().map_or(Ok(true), |text| mentions(row, (0, 4), text))? {
            found += 1;
            if found > passed {
                list.push(summary(row)?);
            }
        }
    }
    Ok(list)
}

/// A text that has to be looked for here: SQLite knows the case of ASCII's letters alone.
fn other_letters(query: &Query) -> Option<Needle> {
    query.text.as_deref().filter(|text| !text.is_ascii()).map(Needle::new)
}

/// Whether the id or the title has it; where they stand in the row.
fn mentions(row: &Row<'_>, (id, title): (usize, usize), text: &Needle) -> rusqlite::Result<bool> {
    let shown = |at| -> rusqlite::Result<Option<&str>> { Ok(row.get_ref(at)?.as_str().ok()) };
    Ok(named(shown(id)?.unwrap_or_default(), shown(title)?, text))
}

/// The least text behind all texts that start with `prefix`, in byte order; `None` when there is none.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        // Stepping over the surrogates, which are no characters.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            end.push(next);
            return Some(end);
        }
    }
    None
}

/// SQLite keeps what it is given in a column of any type; what is no number counts as none.
fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<i64> {
    Ok(match row.get_ref(at)? {
        ValueRef::Integer(number) => number,
        ValueRef::Real(number) => number as i64,
        ValueRef::Text(_) | ValueRef::Blob(_) | ValueRef::Null => 0,
    })
}

/// A list must not fail because one row is odd: text is taken as far as it is text, and a number where there is one.
fn summary(row: &Row<'_>) -> rusqlite::Result<Summary> {
    let arc = |at| -> rusqlite::Result<Option<Arc<str>>> { Ok(text(row, at)?.map(Into::into)) };
    let count = |at| -> rusqlite::Result<u64> { Ok(from_int(number(row, at)?)) };
    let wishes = wishes::read(text(row, 17)?.as_deref());
    Ok(Summary {
        id: text(row, 0)?.unwrap_or_default().into(),
        workspace: path(row, 1)?,
        model: arc(2)?.unwrap_or_default(),
        // A mode of a later version: the mode that asks is a safe reading of it.
        mode: text(row, 3)?.and_then(|word| Mode::parse(&word)).unwrap_or(Mode::Prompt),
        title: arc(4)?,
        thinking: arc(16)?,
        preview: arc(5)?,
        created_ms: number(row, 6)?,
        updated_ms: number(row, 7)?,
        messages: count(8)?,
        turns: count(9)?,
        last_seq: count(10)?,
        usage: Usage {
            input: count(11)?,
            cache_read: count(12)?,
            cache_write: count(13)?,
            output: count(14)?,
            estimated: number(row, 15)? != 0,
        },
        child_of: arc(18)?.map(SessionId::new),
        last_message_ms: match row.get_ref(19)? {
            ValueRef::Integer(at_ms) => Some(at_ms),
            _ => None,
        },
        lane: wishes.lane,
        elevated_until_ms: wishes.elevated_until_ms,
        model_called: wishes.model_called,
    })
}

/// `?4, ?5, ...`
pub(crate) fn places(from: usize, count: usize) -> String {
    (from..from + count).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ")
}

/// The values of `id` and [`TOTALS`].
pub(crate) fn columns(summary: &Summary) -> [Value; SUMMARY_COLUMNS] {
    let text = |text: &Option<Arc<str>>| text.as_ref().map_or(Value::Null, |text| Value::Text(text.to_string()));
    let count = |number| Value::Integer(to_int(number));
    [
        Value::Text(summary.id.to_string()),
        path_value(&summary.workspace),
        Value::Text(summary.model.to_string()),
        Value::Text(summary.mode.as_str().to_owned()),
        text(&summary.title),
        text(&summary.preview),
        Value::Integer(summary.created_ms),
        Value::Integer(summary.updated_ms),
        count(summary.messages),
        count(summary.turns),
        count(summary.last_seq),
        count(summary.usage.input),
        count(summary.usage.cache_read),
        count(summary.usage.cache_write),
        count(summary.usage.output),
        Value::Integer(summary.usage.estimated.into()),
        text(&summary.thinking),
        wishes::write(summary).map_or(Value::Null, Value::Text),
        summary.child_of.as_ref().map_or(Value::Null, |id| Value::Text(id.to_string())),
        summary.last_message_ms.map_or(Value::Null, Value::Integer),
    ]
}

/// The values of [`COUNTED`].
pub(crate) fn counted(summary: &Summary) -> [i64; COUNTED_COLUMNS] {
    let Summary { updated_ms, messages, turns, last_seq, usage, .. } = summary;
    let [messages, turns, last_seq] = [*messages, *turns, *last_seq].map(to_int);
    let [input, cache_read, cache_write, output] =
        [usage.input, usage.cache_read, usage.cache_write, usage.output].map(to_int);
    [*updated_ms, messages, turns, last_seq, input, cache_read, cache_write, output, usage.estimated.into()]
}

/// The values of [`DESCRIBED`].
pub(crate) fn described(summary: &Summary) -> [Value; DESCRIBED_COLUMNS] {
    let [_, workspace, model, mode, title, preview, created_ms, .., thinking, wishes, child_of, _] = columns(summary);
    [workspace, model, mode, title, preview, created_ms, thinking, wishes, child_of]
}

/// Whether the values of [`DESCRIBED`] are those of another summary of the session.
pub(crate) fn is_described_as(summary: &Summary, other: &Summary) -> bool {
    // All fields are named, so that a new one is not forgotten.
    let Summary {
        workspace,
        model,
        mode,
        title,
        thinking,
        preview,
        created_ms,
        child_of,
        lane,
        elevated_until_ms,
        model_called,
        id: _,
        updated_ms: _,
        messages: _,
        turns: _,
        last_seq: _,
        usage: _,
        last_message_ms: _,
    } = summary;
    (workspace, model, mode, title, thinking)
        == (&other.workspace, &other.model, &other.mode, &other.title, &other.thinking)
        && (preview, created_ms, child_of) == (&other.preview, &other.created_ms, &other.child_of)
        && (lane, elevated_until_ms, model_called) == (&other.lane, &other.elevated_until_ms, &other.model_called)
}

fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    })
}

/// A path that is not UTF-8 is kept as a blob; it equals no text, as it should.
fn path_value(path: &Path) -> Value {
    match path.to_str() {
        Some(text) => Value::Text(text.to_owned()),
        None => Value::Blob(path.as_os_str().as_bytes().to_vec()),
    }
}

fn path(row: &Row<'_>, at: usize) -> rusqlite::Result<PathBuf> {
    Ok(match row.get_ref(at)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => OsString::from_vec(bytes.to_vec()).into(),
        _ => PathBuf::new(),
    })
}

/// SQLite's integers are signed; counters stop at their top.
pub(crate) fn to_int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
pub(crate) fn from_int(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_the_next_text_that_does_not_have_it() {
        assert_eq!(after_prefix("ab").as_deref(), Some("ac"));
        assert_eq!(after_prefix("a\u{d7ff}").as_deref(), Some("a\u{e000}"));
        assert_eq!(after_prefix("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(after_prefix("\u{10ffff}"), None);
        assert_eq!(after_prefix(""), None);
    }
}
