//! Audit and sums of a store in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use vocab::{AUDIT_LINES_MAX, AuditLine, AuditQuery, AuditVerdict, Entry, SessionId, UsageBy, UsageQuery, UsageSum};

use crate::audit::{AuditRecord, ChainCheck, Digest, NO_LINE, TaskOf, chained};
use crate::records;
use crate::rollup::{PriceList, Used, UsedWhat, cost_of, sorted};

#[derive(Default)]
pub(super) struct Ledger {
    lines: Vec<(String, Digest)>,
    /// By day, session, principal, and model or tool.
    used: BTreeMap<(i64, Arc<str>, Arc<str>, UsedKind), UsageSum>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum UsedKind {
    Model(Arc<str>),
    Tool(Arc<str>),
    Message,
}

impl Ledger {
    pub(super) fn take(&mut self, session: &SessionId, entry: &Entry, task: Option<&TaskOf<'_>>, prices: &PriceList) {
        let mut payload = Vec::new();
        let kind = records::to_record(&entry.body, &mut payload);
        if let Some(record) = AuditRecord::of(session, entry, kind, &payload, task) {
            self.write(&record);
        }
        let Some(Used { day, by, what }) = Used::of(entry) else { return };
        let kind = match &what {
            UsedWhat::Model { model, .. } => UsedKind::Model(model.clone()),
            UsedWhat::Tool { tool, .. } => UsedKind::Tool(tool.clone()),
            UsedWhat::Message => UsedKind::Message,
        };
        let sum =
            self.used.entry((day, session.as_str().into(), by, kind)).or_insert_with(|| UsageSum::none("".into()));
        sum.calls += 1;
        match what {
            UsedWhat::Model { model, usage } => {
                let (cost_nanos, unpriced) = cost_of(prices(&model).as_ref(), &usage);
                sum.usage.add(&usage);
                sum.cost_nanos = sum.cost_nanos.saturating_add(cost_nanos);
                sum.unpriced = sum.unpriced.saturating_add(unpriced);
            }
            UsedWhat::Message => {}
            UsedWhat::Tool { failed, .. } => sum.failed += u64::from(failed),
        }
    }

    pub(super) fn write(&mut self, record: &AuditRecord) {
        let text = record.to_text();
        let digest = chained(self.lines.last().map_or(&NO_LINE, |(_, digest)| digest), &text);
        self.lines.push((text, digest));
    }

    pub(super) fn audit(&self, query: &AuditQuery) -> Vec<AuditLine> {
        let numbered = self
            .lines
            .iter()
            .enumerate()
            .rev()
            .map(|(at, line)| (line, at as u64 + 1))
            .skip_while(|(_, n)| query.before.is_some_and(|it| *n >= it));
        let lines = numbered.filter_map(|((text, _), n)| Some(AuditRecord::parse(text)?.into_line(n)));
        let fits = |line: &AuditLine| {
            query.session.as_ref().is_none_or(|session| *session == line.session)
                && query.by.as_ref().is_none_or(|by| *by == line.by)
        };
        lines.filter(fits).take(query.limit.unwrap_or(AUDIT_LINES_MAX).min(AUDIT_LINES_MAX)).collect()
    }

    pub(super) fn verify(&self, head: Option<String>) -> AuditVerdict {
        let mut check = ChainCheck::new(head);
        for ((text, digest), number) in self.lines.iter().zip(1..) {
            if let Err(why) = check.follow(number, text, digest) {
                return AuditVerdict::Broken { line: number, why };
            }
        }
        check.whole()
    }

    pub(super) fn used_by(&self, sessions: &[SessionId]) -> Vec<UsageSum> {
        let mut sums: BTreeMap<Arc<str>, UsageSum> = BTreeMap::new();
        for ((_, session, _, kind), used) in &self.used {
            let is_meant = matches!(kind, UsedKind::Model(_)) && sessions.iter().any(|it| it.as_str() == &**session);
            if is_meant {
                sums.entry(session.clone()).or_insert_with(|| UsageSum::none(session.clone())).add(used);
            }
        }
        sums.into_values().collect()
    }

    pub(super) fn used_since(&self) -> Option<i64> {
        let of_models = self.used.keys().filter(|(.., kind)| matches!(kind, UsedKind::Model(_)));
        of_models.map(|(day, ..)| *day).next()
    }

    pub(super) fn usage(&self, query: &UsageQuery) -> Vec<UsageSum> {
        let mut sums: BTreeMap<Arc<str>, UsageSum> = BTreeMap::new();
        let mut written_in: BTreeMap<Arc<str>, BTreeSet<&Arc<str>>> = BTreeMap::new();
        for ((day, session, by, kind), used) in &self.used {
            let is_meant = (query.from..=query.to).contains(day)
                && query.session.as_ref().is_none_or(|wanted| wanted.as_str() == &**session);
            let name = match (query.by, kind) {
                _ if !is_meant => continue,
                (UsageBy::Tool, UsedKind::Tool(tool)) => tool.clone(),
                (UsageBy::Message, UsedKind::Message) => session.clone(),
                (UsageBy::MessageDay, UsedKind::Message) => {
                    let name: Arc<str> = day.to_string().into();
                    written_in.entry(name.clone()).or_default().insert(session);
                    name
                }
                (UsageBy::Tool | UsageBy::Message | UsageBy::MessageDay, _)
                | (_, UsedKind::Tool(_) | UsedKind::Message) => continue,
                (UsageBy::Model, UsedKind::Model(model)) => model.clone(),
                (UsageBy::Day, _) => day.to_string().into(),
                (UsageBy::Session, _) => session.clone(),
                (UsageBy::Principal, _) => by.clone(),
            };
            sums.entry(name.clone()).or_insert_with(|| UsageSum::none(name)).add(used);
        }
        for (name, sessions) in written_in {
            sums.entry(name).and_modify(|sum| sum.sessions = sessions.len() as u64);
        }
        sorted(query.by, sums.into_values().collect())
    }
}
