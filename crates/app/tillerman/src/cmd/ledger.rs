//! `audit` and `usage`: who did what, and what was used, over all sessions.

use serde_json::json;
use vocab::{AuditLine, AuditQuery, AuditVerdict, DAY_MS, FaultKind, Store, UsageBy, UsageQuery, UsageSum, day_of};

use super::config::home;
use super::sessions;
use crate::args::{AuditArgs, AuditVerb, UsageArgs, UsageSumsBy};
use crate::print::{error, exactly, say};
use dialect_terminal::listing::table;

/// The check has found something; an audit that could not be looked at is another thing.
const CHANGED: u8 = 1;

pub(crate) fn audit(args: AuditArgs) -> anyhow::Result<u8> {
    super::block_on(async {
        let store = store_sqlite::SqliteStore::new(home()?.data);
        if let Some(AuditVerb::Verify { head }) = args.verb {
            return verify(&store, head).await;
        }
        let session = match &args.session {
            Some(word) => Some(match sessions::find(&store, word).await {
                Ok(found) => found.id,
                // One that was deleted has no row any more, and its lines are still there.
                Err(fault) if fault.kind == FaultKind::NotFound => word.as_str().into(),
                Err(fault) => return Err(fault.into()),
            }),
            None => None,
        };
        let by = args.by.as_deref().map(Into::into);
        let mut lines =
            store.audit(AuditQuery { session, by, before: args.before, limit: Some(args.limit as usize) }).await?;
        // The newest is read first where it stands last.
        lines.reverse();
        if args.json {
            lines.iter().try_for_each(|line| exactly(&format!("{}\n", audit_json(line))))?;
        } else {
            say(&table(
                &["LINE", "WHEN (UTC)", "WHO", "WHAT", "WITH", "SESSION"],
                &lines.iter().map(row).collect::<Vec<_>>(),
            ))?;
        }
        Ok(0)
    })?
}

fn row(line: &AuditLine) -> Vec<String> {
    let at = vocab::iso8601(line.at_ms).chars().take(19).collect::<String>().replace('T', " ");
    let detail = line.detail.as_deref().unwrap_or("-").to_owned();
    vec![line.number.to_string(), at, line.by.to_string(), line.action.to_string(), detail, line.session.to_string()]
}

fn audit_json(line: &AuditLine) -> serde_json::Value {
    json!({
        "line": line.number, "at_ms": line.at_ms, "by": &*line.by, "action": &*line.action,
        "detail": line.detail.as_deref(), "session": line.session.as_str(), "seq": line.seq,
        "request": line.request.as_deref(),
    })
}

async fn verify(store: &impl Store, head: Option<String>) -> anyhow::Result<u8> {
    match store.verify_audit(head).await? {
        AuditVerdict::Whole { lines, head, knows } if knows != Some(false) => {
            say(&format!("{lines} lines, none was changed\nhead {head}\n"))?;
            Ok(0)
        }
        AuditVerdict::Whole { lines, .. } => {
            let text = format!("the audit has {lines} lines that fit together, and the given head is none of them");
            error(&text, &["lines were cut off, or the whole audit was written anew".to_owned()]);
            Ok(CHANGED)
        }
        AuditVerdict::Broken { line, why } => {
            error(&format!("line {line} of the audit: {why}"), &[]);
            Ok(CHANGED)
        }
    }
}

pub(crate) fn usage(args: &UsageArgs) -> anyhow::Result<u8> {
    let today = day_of(host::now_ms());
    let (by, head) = match args.by {
        UsageSumsBy::Day => (UsageBy::Day, "DAY"),
        UsageSumsBy::Model => (UsageBy::Model, "MODEL"),
        UsageSumsBy::Session => (UsageBy::Session, "SESSION"),
        UsageSumsBy::Principal => (UsageBy::Principal, "WHO"),
        UsageSumsBy::Tool => (UsageBy::Tool, "TOOL"),
    };
    // A clock that was wrong once has put work into days to come; it was paid for, too.
    let query = UsageQuery { by, from: today - i64::from(args.days.max(1)) + 1, to: i64::MAX, session: None };
    let store = store_sqlite::SqliteStore::new(home()?.data);
    let sums = super::block_on(store.usage(query))??;
    let name = |sum: &UsageSum| match (by, sum.name.parse::<i64>()) {
        (UsageBy::Day, Ok(day)) => vocab::iso8601(day * DAY_MS).chars().take(10).collect(),
        _ => sum.name.to_string(),
    };
    if args.json {
        sums.iter().try_for_each(|sum| exactly(&format!("{}\n", usage_json(&name(sum), sum))))?;
        return Ok(0);
    }
    let rows = sums.iter().map(|sum| match by {
        UsageBy::Tool => vec![name(sum), sum.calls.to_string(), sum.failed.to_string()],
        _ => {
            let tokens = [sum.usage.input, sum.usage.cache_read, sum.usage.cache_write, sum.usage.output];
            let cost = sum.cost().map_or_else(|| "unknown".to_owned(), |cost| format!("${cost:.4}"));
            let head = [name(sum), sum.calls.to_string()].into_iter();
            head.chain(tokens.map(|count| count.to_string())).chain([cost]).collect()
        }
    });
    let columns: &[&str] = match by {
        UsageBy::Tool => &[head, "CALLS", "FAILED"],
        _ => &[head, "ANSWERS", "INPUT", "CACHE READ", "CACHE WRITE", "OUTPUT", "COST"],
    };
    say(&table(columns, &rows.collect::<Vec<_>>()))?;
    Ok(0)
}

fn usage_json(name: &str, sum: &UsageSum) -> serde_json::Value {
    json!({
        "name": name, "calls": sum.calls, "failed": sum.failed, "input": sum.usage.input, "cache_read": sum.usage.cache_read,
        "cache_write": sum.usage.cache_write, "output": sum.usage.output, "cost": sum.cost(), "unpriced_tokens": sum.unpriced,
    })
}
