//! What every [`Store`] has to keep, whatever it is made of. An implementation runs all of it in its own tests:
//! [`run`] for the promises of a living store, [`run_owners`] for those to several owners of one, [`run_durable`] for those
//! that must outlive it.
//!
//! Checks panic with a sentence. They use nothing but the trait.

mod durable;
mod examples;
mod leases;
mod ledger;
mod lists;
mod logs;
mod looks;
mod owners;
mod shelf;
mod sums;
mod watching;

use std::sync::Arc;

use vocab::{Body, Durability, Entry, Fault, Lease, Mode, NewSession, Part, SessionId, SettingEntry, Store, UserFrom};

pub use durable::run_durable;
pub use examples::{as_stored, bodies};
pub use owners::{TwoOwners, run_owners};
pub use shelf::run_shelf;

/// Runs every check, each on a fresh and empty store.
pub async fn run<S: Store>(make: impl Fn() -> S) {
    logs::entries_come_back_in_order_and_by_page(&make()).await;
    logs::every_body_comes_back(&make()).await;
    logs::gaps_and_repeats_are_refused_whole(&make()).await;
    logs::the_order_of_calls_is_the_order_of_the_log(&make()).await;
    logs::many_sessions_do_not_mix(&make()).await;
    logs::an_unknown_session_is_named(&make()).await;
    logs::a_window_has_the_end_and_what_counts_of_the_rest(&make()).await;
    leases::a_session_appears_with_its_first_append(&make()).await;
    leases::one_writer_at_a_time(&make()).await;
    leases::an_old_lease_is_refused(&make()).await;
    leases::a_new_id_is_given_once(&make()).await;
    leases::any_text_is_an_id(&make()).await;
    leases::delete_removes_all_of_it(&make()).await;
    sums::a_summary_adds_up(&make()).await;
    sums::a_new_lease_goes_on_counting(&make()).await;
    lists::a_preview_ends_on_a_character(&make()).await;
    lists::newest_first_filtered_and_paged(&make()).await;
    lists::a_name_does_not_make_a_session_the_latest(&make()).await;
    lists::a_child_is_listed_when_asked_for_and_goes_with_its_parent(&make()).await;
    lists::a_prefix_is_taken_literally(&make()).await;
    lists::what_is_unfinished_is_found(&make()).await;
    lists::the_last_message_is_an_order_and_wishes_are_shown(&make()).await;
    let store = make();
    watching::a_reader_is_told_of_new_entries(&store, &store).await;
    let store = make();
    watching::a_reader_of_all_is_told_who_was_used(&store, &store).await;
    ledger::the_audit_has_a_line_for_what_somebody_did(&make()).await;
    ledger::a_sub_agents_task_is_no_prompt_and_its_session_goes_with_a_line(&make()).await;
    ledger::usage_is_added_up_by_day_model_session_principal_and_tool(&make()).await;
    ledger::messages_of_people_are_counted_by_session(&make()).await;
    looks::a_text_is_found_in_ids_and_titles(&make()).await;
    looks::a_list_goes_on_behind_a_session(&make()).await;
    looks::what_sessions_have_used_is_known_over_all_days(&make()).await;
    looks::a_log_is_looked_through_from_its_end(&make()).await;
    looks::kinds_and_bodies_agree();
}

pub fn new_session(id: &str) -> NewSession {
    NewSession {
        id: SessionId::from(id),
        workspace: "/work/space".into(),
        model: "tour".into(),
        mode: Mode::Prompt,
        at_ms: 1_000,
        parent: None,
    }
}

/// An entry that says its own number.
pub fn note(seq: u64) -> Arc<Entry> {
    entry(seq, Body::Setting(SettingEntry::Title { title: format!("entry {seq}").into() }))
}

pub fn prompt(seq: u64, text: &str) -> Arc<Entry> {
    entry(seq, Body::User { turn: None, parts: vec![Part::text(text)], from: UserFrom::Prompt })
}

pub fn entry(seq: u64, body: Body) -> Arc<Entry> {
    Arc::new(Entry { seq, parent: seq - 1, at_ms: 1_000 + i64::try_from(seq).unwrap_or(0), body, by: None })
}

pub async fn append(store: &impl Store, lease: &Lease, entries: Vec<Arc<Entry>>) {
    store.append(lease, entries, Durability::Commit).await.expect("the append works");
}

pub async fn seqs(store: &impl Store, session: &SessionId) -> Vec<u64> {
    let page = store.read(session, 0, usize::MAX).await.expect("the session can be read");
    assert_eq!(page.recovered, None, "nothing was damaged");
    page.entries.iter().map(|entry| entry.seq).collect()
}

pub fn refused<T: std::fmt::Debug>(result: Result<T, Fault>, kind: vocab::FaultKind, what: &str) {
    let fault = result.expect_err(what);
    assert_eq!(fault.kind, kind, "{what}: {fault}");
}
