//! What was used and who did what, from the sums and lines that the store keeps.

use dialect_gateway::results::UsageSum as UsageShown;
use dialect_gateway::services::reports::*;
use dialect_gateway::shape::Text;
use dialect_gateway::{GatewayRefusal, TOOL_NAMES};
use vocab::{AuditQuery, AuditVerdict, DAY_MS, UsageBy, UsageQuery, day_of};

use super::{SharedServices, refused};

/// Days of a report where none are named.
const DAYS_USUAL: i64 = 30;

pub(super) async fn usage(services: &SharedServices, params: UsageParams) -> Result<UsageResult, GatewayRefusal> {
    let (from, to) = days(services, params.from.as_ref(), params.to.as_ref())?;
    let by = match params.group_by {
        GroupBy::Day => UsageBy::Day,
        GroupBy::Session => UsageBy::Session,
        GroupBy::Model => UsageBy::Model,
        GroupBy::Tool => UsageBy::Tool,
        GroupBy::Principal => UsageBy::Principal,
    };
    let query = UsageQuery { by, from, to, session: params.session_id.map(|name| name.0) };
    let sums = services.parts.store.usage(query).await.map_err(refused)?;
    let rows = sums.into_iter().map(|sum| UsageRow {
        key: match (by, sum.name.parse()) {
            (UsageBy::Day, Ok(day)) => show_day(day).into(),
            (UsageBy::Tool, _) => TOOL_NAMES.show(&sum.name).into(),
            _ => sum.name.clone(),
        },
        calls: sum.calls,
        failed: (by == UsageBy::Tool).then_some(sum.failed),
        usage: UsageShown::of(&sum.usage, (by != UsageBy::Tool).then_some(sum.cost_nanos as f64 / 1e9)),
        unpriced: sum.unpriced,
    });
    let since = services.parts.store.used_since().await.map_err(refused)?.map(show_day);
    Ok(UsageResult { rows: rows.collect(), from: show_day(from), to: show_day(to), since })
}

type DayText = Text<10, 10>;

/// The days of a report, both included.
pub(super) fn days(
    services: &SharedServices,
    from: Option<&DayText>,
    to: Option<&DayText>,
) -> Result<(i64, i64), GatewayRefusal> {
    let day = |name: &str, text: Option<&DayText>| match text {
        None => Ok(None),
        Some(text) => read_day(&text.0)
            .map(Some)
            .ok_or_else(|| GatewayRefusal::wrong_param(name, format!("`{name}` must be a day like 2026-01-31"))),
    };
    let to = day("to", to)?.unwrap_or_else(|| day_of(services.now_ms()));
    Ok((day("from", from)?.unwrap_or(to - DAYS_USUAL + 1), to))
}

pub(super) async fn audit(services: &SharedServices, params: AuditParams) -> Result<AuditResult, GatewayRefusal> {
    let query = AuditQuery {
        session: params.session_id.map(|name| name.0),
        by: params.by.map(|by| by.0),
        before: params.before.map(|before| before.number()),
        limit: Some(params.limit.size()),
    };
    let lines = services.parts.store.audit(query).await.map_err(refused)?;
    let row = |line: vocab::AuditLine| AuditRow {
        data: preempted(&line),
        number: line.number,
        at: line.at_ms,
        by: line.by,
        session_id: line.session.to_string(),
        seq: line.seq,
        // What was called; on this wire it has another name.
        detail: match &*line.action {
            "call" | "elevated_call" => line.detail.map(|tool| TOOL_NAMES.show(&tool).into()),
            _ => line.detail,
        },
        action: line.action,
    };
    let mut result = AuditResult { lines: lines.into_iter().map(row).collect(), head: None, whole: None, broken: None };
    if params.verify {
        match services.parts.store.verify_audit(None).await.map_err(refused)? {
            AuditVerdict::Whole { head, .. } => (result.head, result.whole) = (Some(head), Some(true)),
            AuditVerdict::Broken { line, why } => {
                result.whole = Some(false);
                result.broken = Some(format!("line {line}: {why}"));
            }
        }
    }
    Ok(result)
}

fn preempted(line: &vocab::AuditLine) -> Option<PreemptData> {
    let run = line.detail.clone().filter(|_| &*line.action == PreemptData::ACTION)?;
    let (lane_id, by_request) = (line.session.to_string(), line.request.clone());
    Some(PreemptData { lane_id, preempted_run_id: run, by_request, ts: line.at_ms })
}

/// `2026-01-31`
pub(super) fn show_day(day: i64) -> String {
    let (year, month, day) = vocab::civil(day.saturating_mul(DAY_MS));
    format!("{year:04}-{month:02}-{day:02}")
}

/// From the March of the year 0 on.
const DAYS_BEFORE_1970: i64 = 719_468;

/// Days since 1970. A day that no calendar has is none.
fn read_day(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-');
    let mut number = |digits: usize| {
        let part =
            parts.next().filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()))?;
        part.parse::<i64>().ok()
    };
    let called = (number(4)?, number(2)?, number(2)?);
    let (year, month, day) = called;
    // A year of the calendar begins in March, so that its last day is the one that comes and goes.
    let (from_march, year) = ((month + 9) % 12, year - i64::from(month < 3));
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let day = days + (from_march * 153 + 2) / 5 + day - 1 - DAYS_BEFORE_1970;
    (vocab::civil(day.saturating_mul(DAY_MS)) == called).then_some(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_as_they_are_shown_and_others_are_refused() {
        for day in (-719_528..2_932_897).step_by(7).chain(-1_000..60_000) {
            assert_eq!(read_day(&show_day(day)), Some(day), "{}", show_day(day));
        }
        assert_eq!((read_day("1970-01-01"), read_day("9999-12-31")), (Some(0), Some(2_932_896)));
        for wrong in ["2026-02-30", "2026-13-01", "2026-1-01", "20260101", "today", "2026-01-0x", "-026-01-01"] {
            assert_eq!(read_day(wrong), None, "{wrong}");
        }
    }
}
