//! The sums of each day, written with the entries that they are made of.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, Statement, params, params_from_iter};
use vocab::{Entry, Prices, SessionId, Usage, UsageBy, UsageQuery, UsageSum};

use super::Attempt;
use super::rows::{from_int, to_int};
use store::rollup::{PriceList, Used, UsedWhat, cost_of, sorted};

/// How long a price is taken for the one of now.
const PRICE_KEPT: Duration = Duration::from_secs(10);

/// What is too large for a whole number becomes another one, and is read as the largest.
const SUMS: &str = "total(calls), 0, total(tokens_input), total(tokens_cache_read), total(tokens_cache_write), \
     total(tokens_output), max(tokens_estimated), total(cost_nanos), total(unpriced), 0";

/// The statements that write them.
pub(super) struct UsageStatements<'c> {
    prices: PriceList,
    /// The newest answer of the list: it looks at files, and is asked within the write of every reply.
    last_price: Option<(Instant, Arc<str>, Option<Prices>)>,
    model: Statement<'c>,
    tool: Statement<'c>,
    message: Statement<'c>,
}

impl<'c> UsageStatements<'c> {
    pub(super) fn prepare(connection: &'c Connection, prices: PriceList) -> rusqlite::Result<Self> {
        // Sums stop at SQLite's largest number instead of becoming another type.
        let sum = |column: &str| {
            format!("{column} = min({column}, 9223372036854775807 - excluded.{column}) + excluded.{column}")
        };
        let counted = [
            "calls",
            "tokens_input",
            "tokens_cache_read",
            "tokens_cache_write",
            "tokens_output",
            "cost_nanos",
            "unpriced",
        ];
        let sums = counted.map(sum).join(", ");
        Ok(Self {
            prices,
            last_price: None,
            model: connection.prepare(&format!(
                "INSERT INTO used VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
                 ON CONFLICT DO UPDATE SET {sums}, tokens_estimated = tokens_estimated OR excluded.tokens_estimated"
            ))?,
            tool: connection.prepare(
                "INSERT INTO used_tools VALUES (?1, ?2, ?3, ?4, 1, ?5)
                 ON CONFLICT DO UPDATE SET calls = calls + 1, failed = failed + excluded.failed",
            )?,
            message: connection
                .prepare("INSERT INTO said VALUES (?1, ?2, ?3, 1) ON CONFLICT DO UPDATE SET messages = messages + 1")?,
        })
    }

    fn price(&mut self, model: &Arc<str>) -> Option<&Prices> {
        let is_known = |(at, of, _): &(Instant, Arc<str>, _)| of == model && at.elapsed() < PRICE_KEPT;
        if !self.last_price.as_ref().is_some_and(is_known) {
            self.last_price = Some((Instant::now(), model.clone(), (self.prices)(model)));
        }
        self.last_price.as_ref().and_then(|(_, _, price)| price.as_ref())
    }

    /// Within the transaction that writes the entry.
    pub(super) fn add(&mut self, session: &SessionId, entry: &Entry) -> rusqlite::Result<()> {
        let Some(Used { day, by, what }) = Used::of(entry) else { return Ok(()) };
        match what {
            UsedWhat::Model { model, usage } => {
                let (cost, unpriced) = cost_of(self.price(&model), &usage);
                let [input, cache_read, cache_write, output] =
                    [usage.input, usage.cache_read, usage.cache_write, usage.output].map(to_int);
                let (cost, unpriced) = (to_int(cost), to_int(unpriced));
                self.model.execute(params![
                    day,
                    session.as_str(),
                    &*by,
                    &*model,
                    input,
                    cache_read,
                    cache_write,
                    output,
                    usage.estimated,
                    cost,
                    unpriced
                ])?;
            }
            UsedWhat::Message => _ = self.message.execute(params![day, session.as_str(), &*by])?,
            UsedWhat::Tool { tool, failed } => {
                self.tool.execute(params![day, session.as_str(), &*by, &*tool, failed])?;
            }
        }
        Ok(())
    }
}

pub(super) fn sums(connection: &Connection, query: &UsageQuery) -> Attempt<Vec<UsageSum>> {
    let name = match query.by {
        UsageBy::Day | UsageBy::MessageDay => "day",
        UsageBy::Model => "model",
        UsageBy::Session | UsageBy::Message => "session",
        UsageBy::Principal => "principal",
        UsageBy::Tool => "tool",
    };
    let of_session = if query.session.is_some() { "AND session = ?3" } else { "" };
    let filter = format!("WHERE day BETWEEN ?1 AND ?2 {of_session} GROUP BY {name}");
    let sql = match query.by {
        UsageBy::Message => format!("SELECT session, sum(messages), 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM said {filter}"),
        UsageBy::MessageDay => {
            let sessions = "count(DISTINCT session)";
            format!("SELECT day, sum(messages), 0, 0, 0, 0, 0, 0, 0, 0, {sessions} FROM said {filter}")
        }
        UsageBy::Tool => {
            format!("SELECT tool, sum(calls), sum(failed), 0, 0, 0, 0, 0, 0, 0, 0 FROM used_tools {filter}")
        }
        _ => format!("SELECT {name}, {SUMS} FROM used {filter}"),
    };
    let mut values = vec![Value::Integer(query.from), Value::Integer(query.to)];
    values.extend(query.session.as_ref().map(|session| Value::Text(session.to_string())));
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map(params_from_iter(values), sum)?;
    Ok(sorted(query.by, rows.collect::<rusqlite::Result<_>>()?))
}

/// Over all days, by an index: a session costs one look.
pub(super) fn used_by(connection: &Connection, sessions: &[SessionId]) -> Attempt<Vec<UsageSum>> {
    let mut statement =
        connection.prepare(&format!("SELECT session, {SUMS} FROM used WHERE session = ?1 GROUP BY session"))?;
    let mut sums = Vec::new();
    for session in sessions {
        sums.extend(statement.query_row([session.as_str()], sum).optional()?);
    }
    Ok(sums)
}

pub(super) fn since(connection: &Connection) -> Attempt<Option<i64>> {
    Ok(connection.query_row("SELECT min(day) FROM used", [], |row| row.get(0))?)
}

/// A row of a name and [`SUMS`].
fn sum(row: &Row<'_>) -> rusqlite::Result<UsageSum> {
    let number = |at: usize| -> rusqlite::Result<u64> {
        Ok(match row.get_ref(at)? {
            ValueRef::Integer(number) => from_int(number),
            ValueRef::Real(number) => number as u64,
            _ => 0,
        })
    };
    let name = match row.get_ref(0)? {
        ValueRef::Integer(day) => day.to_string(),
        other => other.as_str().unwrap_or_default().to_owned(),
    };
    Ok(UsageSum {
        name: name.into(),
        calls: number(1)?,
        failed: number(2)?,
        usage: Usage {
            input: number(3)?,
            cache_read: number(4)?,
            cache_write: number(5)?,
            output: number(6)?,
            estimated: number(7)? != 0,
        },
        cost_nanos: number(8)?,
        unpriced: number(9)?,
        sessions: number(10)?,
    })
}
