//! The statements path: many appends, one transaction.

use std::collections::HashSet;
use std::collections::hash_map::Entry as Slot;
use std::sync::Arc;
use std::time::Instant;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Statement, params, params_from_iter};
use vocab::{Durability, Entry, Fault, Lease, SessionId, Summary};

use super::audit::AuditStatements;
use super::leases::{CROWD_MIN, HeldLease, KnownLog, now_ms};
use super::log;
use super::owners::COUNT_TAKEN;
use super::row_writer::RowWriter;
use super::rows::{
    self, COUNTED, COUNTED_COLUMNS, DESCRIBED, DESCRIBED_COLUMNS, SUMMARY_COLUMNS, TOTALS, places, to_int,
};
use super::sync::SyncWish;
use super::usage::UsageStatements;
use super::writer::{Trust, Writer};
use super::{Attempt, Failure, ReplySender, contents, window};
use store::audit::{AuditRecord, TaskOf};
use store::rollup::PriceList;
use store::{records, summary, unfinished};

use crate::faults;

/// An encoding buffer larger than this is given back after the batch.
const BUFFER_BYTES_KEPT: usize = 64 * 1024;

pub(super) struct Append {
    pub(super) lease: Lease,
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) durability: Durability,
    pub(super) asked_at: Instant,
    /// Who is answered: one for each append that was joined to this.
    callers: Vec<Caller>,
}

/// Somebody who wants to hear of the entries up to here.
struct Caller {
    entries: usize,
    durability: Durability,
    asked_at: Instant,
    reply: ReplySender<()>,
}

impl Append {
    pub(super) fn new(lease: Lease, entries: Vec<Arc<Entry>>, durability: Durability, reply: ReplySender<()>) -> Self {
        let asked_at = Instant::now();
        let callers = vec![Caller { entries: entries.len(), durability, asked_at, reply }];
        Self { lease, entries, durability, asked_at, callers }
    }

    /// No entries: what was asked for before under this lease has no time any more.
    pub(super) fn press(lease: Lease) -> Self {
        Self { lease, entries: Vec::new(), durability: Durability::Now, asked_at: Instant::now(), callers: Vec::new() }
    }

    /// Nobody asks for anything to be written.
    pub(super) fn is_only_pressing(&self) -> bool {
        self.callers.is_empty()
    }

    /// When the last of what it is made of was asked for.
    pub(super) fn complete_since(&self) -> Instant {
        self.callers.last().map_or(self.asked_at, |caller| caller.asked_at)
    }

    /// Whether it was made with this very lease.
    pub(super) fn is_of(&self, lease: &Lease) -> bool {
        let is_same_new = match (&self.lease.new, &lease.new) {
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        };
        self.lease.epoch == lease.epoch && is_same_new
    }

    /// The next of its session and lease becomes part of this.
    pub(super) fn join(&mut self, next: Append) {
        let before = self.entries.len();
        self.entries.extend(next.entries);
        self.durability = self.durability.max(next.durability);
        self.callers
            .extend(next.callers.into_iter().map(|caller| Caller { entries: before + caller.entries, ..caller }));
    }

    /// As they came.
    pub(super) fn split(self) -> impl Iterator<Item = Append> {
        let Self { lease, mut entries, callers, .. } = self;
        let mut taken = 0;
        callers.into_iter().map(move |caller| {
            let its_own: Vec<_> = entries.drain(..caller.entries - taken).collect();
            taken = caller.entries;
            let Caller { durability, asked_at, .. } = caller;
            let callers = vec![Caller { entries: its_own.len(), ..caller }];
            Append { lease: lease.clone(), entries: its_own, durability, asked_at, callers }
        })
    }

    /// Whoever waits for several waits for the first of them, and finds the others answered when it wakes.
    pub(super) fn answer(self, answer: &Result<(), Fault>) {
        for caller in self.callers.into_iter().rev() {
            // The caller may have gone.
            let _ = caller.reply.send(answer.clone());
        }
    }
}

/// The statements that every append needs, prepared once per connection.
pub(super) struct AppendStatements<'c> {
    connection: &'c Connection,
    begin: Statement<'c>,
    commit: Statement<'c>,
    rows: RowWriter<'c>,
    insert_session: Statement<'c>,
    /// By what changes besides the totals; see [`Touched`].
    update_session: [Statement<'c>; 3],
    describe_session: Statement<'c>,
    use_session: Statement<'c>,
    count_taken: Statement<'c>,
    open_work: Statement<'c>,
    audit: AuditStatements<'c>,
    usage: UsageStatements<'c>,
    payload: Vec<u8>,
}

impl<'c> AppendStatements<'c> {
    pub(super) fn prepare(connection: &'c Connection, prices: PriceList) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            begin: connection.prepare("BEGIN IMMEDIATE")?,
            commit: connection.prepare("COMMIT")?,
            rows: RowWriter::prepare(connection)?,
            insert_session: connection.prepare(&format!(
                "INSERT INTO sessions (epoch, owned_by, id, {TOTALS}) VALUES (?1, ?2, {})",
                places(3, SUMMARY_COLUMNS)
            ))?,
            update_session: [
                update(connection, Touched::Totals)?,
                update(connection, Touched::Message)?,
                update(connection, Touched::MessageAndUse)?,
            ],
            describe_session: connection.prepare(&format!(
                "UPDATE sessions SET ({DESCRIBED}) = ({}) WHERE key = ?1",
                places(2, DESCRIBED_COLUMNS)
            ))?,
            use_session: connection.prepare(
                "UPDATE sessions SET used = 1 + (SELECT max(used) FROM sessions)
                 WHERE key = ?1 AND (used = 0 OR used < (SELECT max(used) FROM sessions))",
            )?,
            count_taken: connection.prepare(COUNT_TAKEN)?,
            open_work: connection.prepare(
                "UPDATE sessions SET open_turn = coalesce(?2, open_turn), open_items = open_items + ?3 WHERE key = ?1",
            )?,
            audit: AuditStatements::prepare(connection)?,
            usage: UsageStatements::prepare(connection, prices)?,
            payload: Vec::new(),
        })
    }

    /// Writes the entries of one append, and with each what the audit and the sums of its day say of it.
    fn insert(
        &mut self,
        session: &SessionId,
        key: i64,
        entries: &[Arc<Entry>],
        task: Option<&TaskOf<'_>>,
    ) -> rusqlite::Result<()> {
        self.rows.begin();
        for entry in entries {
            self.payload.clear();
            let mut apart = Vec::new();
            let kind = records::to_record_apart(&entry.body, &mut self.payload, &mut apart);
            if !apart.is_empty() {
                contents::keep(self.connection, key, &apart)?;
            }
            let (payload, by) = (self.payload.as_slice(), entry.by.as_ref().map(|by| by.as_str().as_bytes()));
            let crc = records::checksum(entry.seq, entry.parent, entry.at_ms, kind.as_bytes(), payload, by);
            self.rows.add(key, entry, kind, payload, crc)?;
            if let Some(record) = AuditRecord::of(session, entry, kind, payload, task) {
                self.audit.write(&record)?;
            }
            self.usage.add(session, entry)?;
        }
        self.rows.end()
    }

    /// Writes the new totals and what is open now; false when the row is not as `lease` and `last_seq` say.
    fn update(&mut self, key: i64, epoch: u64, last_seq: u64, new: &NewTotals<'_>) -> rusqlite::Result<bool> {
        let NewTotals { totals, open: (turn, items), is_other, touched } = *new;
        let id = ValueRef::Text(totals.id.as_str().as_bytes());
        let number = |number: Option<i64>| number.map_or(ValueRef::Null, ValueRef::Integer);
        let condition = [key, to_int(epoch), to_int(last_seq)].map(ValueRef::Integer);
        let open = [number(turn.map(Into::into)), ValueRef::Integer(items)];
        let said = (touched != Touched::Totals).then_some(number(totals.last_message_ms));
        let counted = rows::counted(totals).map(ValueRef::Integer);
        let values = condition.into_iter().chain([id]).chain(open).chain(counted).chain(said);
        let values = values.map(ToSqlOutput::Borrowed);
        if self.update_session[touched as usize].execute(params_from_iter(values))? != 1 {
            return Ok(false);
        }
        if is_other {
            let values = [Value::Integer(key)].into_iter().chain(rows::described(totals));
            self.describe_session.execute(params_from_iter(values))?;
        }
        Ok(true)
    }
}

/// What a session's row is to say behind an append.
struct NewTotals<'a> {
    totals: &'a Summary,
    /// As [`unfinished::fold`] gives it.
    open: (Option<bool>, i64),
    /// The row may describe the session otherwise than the totals do.
    is_other: bool,
    touched: Touched,
}

/// What a row has in indexes, which are written only where something of it may change; and each row once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touched {
    Totals = 0,
    /// The row may not have the newest message.
    Message = 1,
    /// Besides, others were used since this session was.
    MessageAndUse = 2,
}

/// Key, epoch, last seq, id, and what is open.
const UPDATE_KEYS: usize = 6;

/// The epoch makes a stale lease miss its row; so does a log that is not where its writer left it.
fn update(connection: &Connection, touched: Touched) -> rusqlite::Result<Statement<'_>> {
    let said = format!(", last_message_ms = ?{}", UPDATE_KEYS + COUNTED_COLUMNS + 1);
    let more = match touched {
        Touched::Totals => String::new(),
        Touched::Message => said,
        Touched::MessageAndUse => said + ", used = 1 + (SELECT max(used) FROM sessions)",
    };
    connection.prepare(&format!(
        "UPDATE sessions SET open_turn = coalesce(?5, open_turn), open_items = open_items + ?6, ({COUNTED}) = ({}){more}
         WHERE key = ?1 AND epoch = ?2 AND last_seq = ?3 AND id = ?4",
        places(UPDATE_KEYS + 1, COUNTED_COLUMNS)
    ))
}

impl Writer {
    /// Writes a batch in one transaction and answers it.
    pub(super) fn write(&mut self, statements: &mut AppendStatements<'_>, mut batch: Vec<Append>) -> Trust {
        let result = self.transact(statements, &mut batch);
        statements.payload.shrink_to(BUFFER_BYTES_KEPT);
        statements.rows.shrink();
        let error = match result {
            Ok((number, answers)) => {
                self.answer_all(number, batch, answers);
                return Trust::Keep;
            }
            Err(error) => error,
        };
        let reopen = faults::needs_reopen(&error);
        let fault = faults::from_sqlite(&self.place(), "write to", &error);
        // One that cannot be written (too large for what is left of the disk) must not take its neighbours with it.
        if batch.iter().map(|append| append.callers.len()).sum::<usize>() > 1 && !reopen {
            let mut trust = Trust::Keep;
            for append in batch.into_iter().flat_map(Append::split) {
                if trust == Trust::Keep {
                    trust = self.write(statements, vec![append]);
                } else {
                    append.answer(&Err(fault.clone()));
                }
            }
            return trust;
        }
        for append in batch {
            append.answer(&Err(fault.clone()));
        }
        if reopen { Trust::Reopen } else { Trust::Keep }
    }

    /// Behind a commit.
    fn answer_all(&mut self, number: u64, batch: Vec<Append>, answers: Vec<Result<(), Fault>>) {
        let (mut unsynced, mut followers) = (Vec::new(), Vec::new());
        for (append, answer) in batch.into_iter().zip(answers) {
            let after = self.held.get(&append.lease.session).and_then(|held| held.answered_after);
            match after {
                Some(sync) if answer.is_ok() && sync == number => unsynced.extend(append.callers),
                Some(sync) if answer.is_ok() => {
                    followers.extend(append.callers.into_iter().map(|caller| (sync, caller.reply)));
                }
                _ => append.answer(&answer),
            }
        }
        if !unsynced.is_empty() || !followers.is_empty() {
            let does_sync = self.does_sync();
            let wish = |Caller { reply, durability, asked_at, .. }| SyncWish { reply, durability, asked_at };
            self.syncs.wait(number, unsynced.into_iter().map(wish).collect(), followers, does_sync);
        }
    }

    /// One transaction. A refused append leaves the others alone; an error undoes them all. Gives the number of its sync,
    /// should it need one, and an answer for each of the batch, in which joined appends may stand one by one now.
    fn transact(
        &mut self,
        statements: &mut AppendStatements<'_>,
        batch: &mut Vec<Append>,
    ) -> rusqlite::Result<(u64, Vec<Result<(), Fault>>)> {
        statements.begin.execute([])?;
        statements.audit.begin();
        let result = self.append_all(statements, batch).and_then(|answers| {
            statements.commit.execute([])?;
            Ok(answers)
        });
        let committed = result.is_ok();
        self.settle_claim(committed);
        if committed {
            // A sync takes everything with it that was committed before.
            self.is_dirty = !batch.iter().any(|append| append.durability.is_synced());
            self.folds.unfolded += 1;
            self.bell.ring();
        }
        let (number, reached) = self.syncs.numbers();
        // Whatever of a session is committed together is answered together.
        self.for_each_lease(batch, |_, held| held.answered_after = held.unsynced_at(reached));
        self.for_each_lease(batch, |append, held| {
            if append.durability.is_synced() {
                held.answered_after = Some(number);
            }
        });
        self.for_each_lease(batch, |_, held| if committed { held.commit(number) } else { held.give_up() });
        if !committed && !statements.connection.is_autocommit() {
            // When even this fails, the error at hand closes the connection, which rolls back too.
            let _ = statements.connection.execute_batch("ROLLBACK");
        }
        Ok((number, result?))
    }

    fn for_each_lease(&mut self, batch: &[Append], then: impl Fn(&Append, &mut HeldLease)) {
        for append in batch {
            if let Some(held) = self.held.get_mut(&append.lease.session) {
                then(append, held);
            }
        }
    }

    fn append_all(
        &mut self,
        statements: &mut AppendStatements<'_>,
        batch: &mut Vec<Append>,
    ) -> rusqlite::Result<Vec<Result<(), Fault>>> {
        // One that is not ours any more is refused below, or not written to at all: its holder is told either way.
        if let Err(Failure::Sql(error)) = self.notice_losses_with(statements.connection, &mut statements.count_taken) {
            return Err(error);
        }
        let is_use = |append: &&Append| append.entries.iter().any(|entry| summary::is_use(&entry.body));
        let used: HashSet<&SessionId> = batch.iter().filter(is_use).map(|append| &append.lease.session).collect();
        let in_crowd = used.len() >= CROWD_MIN;
        let mut answers = Vec::with_capacity(batch.len());
        while let Some(append) = batch.get(answers.len()) {
            match self.append_one(statements, append, in_crowd) {
                Ok(()) => answers.push(Ok(())),
                // Whoever asked for one of them asked for that one alone: a session whose write has failed offers its entries
                // anew while what it had asked for behind them rests.
                Err(Failure::Fault(_)) if append.callers.len() > 1 => {
                    let joined = batch.remove(answers.len());
                    batch.splice(answers.len()..answers.len(), joined.split());
                }
                Err(Failure::Fault(fault)) => answers.push(Err(fault)),
                Err(Failure::Sql(error)) => return Err(error),
            }
        }
        Ok(answers)
    }

    /// Everything that can be refused is refused before the first write.
    fn append_one(&mut self, statements: &mut AppendStatements<'_>, append: &Append, in_crowd: bool) -> Attempt<()> {
        let Append { lease, entries, .. } = append;
        if entries.is_empty() {
            return Ok(());
        }
        if !self.held.contains_key(&lease.session) {
            self.begin(statements.connection, lease)?;
        }
        let owner = self.claim(statements.connection)?;
        let Slot::Occupied(mut slot) = self.held.entry(lease.session.clone()) else {
            return Err(faults::stale(&lease.session, lease.epoch).into());
        };
        let held = slot.get_mut();
        held.check(lease)?;
        let (known, mut totals) = match (held.latest(), &held.new) {
            (Some(log), _) => (Some((log.key, log.summary.last_seq)), log.summary.clone()),
            (None, Some(new)) => (None, summary::blank(new)),
            (None, None) => return Err(faults::stale(&lease.session, lease.epoch).into()),
        };
        let said = totals.messages;
        for entry in entries {
            if entry.seq != totals.last_seq + 1 {
                return Err(faults::gap(&lease.session, totals.last_seq, entry.seq).into());
            }
            summary::fold(&mut totals, entry);
        }
        let is_other = !held.latest().is_some_and(|log| rows::is_described_as(&totals, &log.summary));
        let open = unfinished::fold(entries.iter().map(|entry| &entry.body));
        let is_said = held.latest().is_none_or(|log| log.summary.last_message_ms != totals.last_message_ms);
        let is_used = entries.iter().any(|entry| summary::is_use(&entry.body)) && held.is_to_be_first(in_crowd);
        // Who used its session last of all, as far as we know, is most often right: the row is looked at all the same.
        let is_newest = known.is_some_and(|(key, _)| self.used_last == Some(key));
        let touched = match is_used && !is_newest {
            true => Touched::MessageAndUse,
            false if is_said => Touched::Message,
            false => Touched::Totals,
        };
        let new = NewTotals { totals: &totals, open, is_other, touched };
        let key = match known {
            Some((key, last_seq)) => {
                if !statements.update(key, lease.epoch, last_seq, &new)? {
                    mend(statements, &lease.session, key, lease.epoch, last_seq, &new)?;
                }
                key
            }
            None => {
                // Only after a failed commit can there be a row: a new id was free when its lock was taken.
                let returned = if held.uncertain { rows::find(statements.connection, &lease.session)? } else { None };
                match returned {
                    Some(found) => {
                        mend(statements, &lease.session, found.key, lease.epoch, 0, &new)?;
                        found.key
                    }
                    None => {
                        let values = [to_int(lease.epoch), owner].map(Value::Integer);
                        let values = values.into_iter().chain(rows::columns(&totals));
                        let key = statements.insert_session.insert(params_from_iter(values))?;
                        statements.open_work.execute(params![key, open.0, open.1])?;
                        key
                    }
                }
            }
        };
        let task = TaskOf::find(said, &totals, entries);
        statements.insert(&lease.session, key, entries, task.as_ref())?;
        if entries.iter().any(|entry| window::is_moved_by(entry)) {
            window::keep(statements.connection, key)?;
        }
        if known.is_none() || (is_used && touched != Touched::MessageAndUse) {
            statements.use_session.execute([key])?;
        }
        if is_used {
            self.used_last = Some(key);
        }
        held.pending = Some(KnownLog { key, summary: totals });
        Ok(())
    }
}

/// The row is not where its writer left it. Either the lease is stale, or a commit that was reported as failed (its
/// sync did) has come back when the database was opened again: what no caller was promised goes away.
fn mend(
    statements: &mut AppendStatements<'_>,
    id: &SessionId,
    key: i64,
    epoch: u64,
    last_seq: u64,
    new: &NewTotals<'_>,
) -> Attempt<()> {
    let Some(found) = rows::find(statements.connection, id)? else { return Err(faults::unknown_session(id).into()) };
    if found.epoch != epoch || found.key != key {
        return Err(faults::busy(id, &Writer::owner_name(statements.connection, &found)?).into());
    }
    if found.summary.last_seq < last_seq {
        return Err(faults::gap(id, found.summary.last_seq, last_seq + 1)
            .hint("entries that had been written are gone from the disk; open the session again")
            .into());
    }
    log::cut_behind(statements.connection, key, last_seq, None)?;
    statements.audit.write(&AuditRecord::cut(id, last_seq, now_ms()))?;
    log::count_open(statements.connection, key)?;
    if statements.update(key, epoch, found.summary.last_seq, &NewTotals { is_other: true, ..*new })? {
        Ok(())
    } else {
        Err(faults::stale(id, epoch).into())
    }
}
