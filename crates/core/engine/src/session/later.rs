//! What takes its time, as futures: they own what they need and know nothing of the session, whose one poll drives them
//! ([`super::poll`]). Nothing else below `session` awaits, so that nothing else can make the session wait.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Duration, timeout};
use vocab::{
    Briefing, Delivery, EditorReply, Entry, Exported, Fault, FitImage, Later, ModelInfo, Page, Part, Provider, Query,
    Reply, SessionId, Store, UsageSum,
};

use super::budget::{DayUsed, LostSpending, Spending, all_of};
use super::editor::EditorOrder;
use super::jobs::Finish;
use super::model_view::ReadLog;
use super::recount::RunSearch;
use super::{Mail, Session};
use crate::images;

/// Images are made small enough before the message is the queue's.
pub(super) fn fitted_prompt(parts: Vec<Part>, delivery: Delivery, fit: FitImage) -> Later<'static, Finish> {
    Box::pin(async move {
        match images::fitted(parts, fit).await {
            Ok(parts) => Finish::Prompt { parts, delivery },
            Err(fault) => Finish::Reply(Err(fault)),
        }
    })
}

/// The models there are, for a step of the session.
pub(super) fn models(
    provider: Arc<dyn Provider>,
    then: impl FnOnce(&mut Session, Result<Vec<ModelInfo>, Fault>) -> Result<Reply, Fault> + Send + 'static,
) -> Later<'static, Finish> {
    Box::pin(async move {
        let models = provider.models().await;
        Finish::With(Box::new(move |session: &mut Session| then(session, models)))
    })
}

/// A log up to this entry, and what the process before us has spent without writing it down; children have logs of their own.
/// `counts`: what was spent is counted from the beginning on, which no window has: page by page, and nothing of it is kept.
pub(super) fn with_lost(
    store: Arc<dyn Store>,
    session: SessionId,
    upto: u64,
    counts: bool,
) -> Later<'static, Result<ReadLog, Fault>> {
    Box::pin(async move {
        let window = store.window(&session, upto).await?;
        let spending = if counts { spent(&*store, &session, upto).await? } else { Spending::default() };
        let mut lost = LostSpending::of(window.all());
        if lost.has_open_calls() {
            let query = Query { children: true, child_of: Some(session), ..Query::default() };
            for child in store.list(query).await? {
                lost.hear_child(&store.read(&child.id, 0, usize::MAX).await?.entries);
            }
        }
        Ok(ReadLog { window, lost, spending })
    })
}

async fn spent(store: &dyn Store, session: &SessionId, upto: u64) -> Result<Spending, Fault> {
    let (mut spending, mut read) = (Spending::default(), 0);
    while read < upto {
        let page = store.read(session, read, PAGE_ENTRIES_MAX).await?;
        let Some(last) = page.entries.last() else { break };
        read = last.seq;
        page.entries.iter().filter(|entry| entry.seq <= upto).for_each(|entry| spending.follow(entry));
    }
    Ok(spending)
}

/// The entries of a page, for a step of the session: as far as they were told by then.
pub(super) fn entries(
    page: Later<'static, Result<Page, Fault>>,
    then: impl FnOnce(&mut Session, Vec<Arc<Entry>>) -> Result<Reply, Fault> + Send + 'static,
) -> Later<'static, Finish> {
    Box::pin(async move {
        match page.await {
            Ok(mut page) => Finish::With(Box::new(move |session: &mut Session| {
                // What no peer was told yet comes live.
                page.entries.retain(|entry| session.log.told(entry.seq));
                then(session, page.entries)
            })),
            Err(fault) => Finish::Reply(Err(fault)),
        }
    })
}

/// Entries that are read at once of a log in which something is looked for or counted: so much is in memory.
const PAGE_ENTRIES_MAX: usize = 512;
/// Each time the run is not among the last entries, so many times as many are looked at: a log is read little more than once.
const FURTHER_BACK: u64 = 8;

/// A run, with everything of it that is told before the answer.
pub(super) fn recounted(store: Arc<dyn Store>, id: SessionId, search: RunSearch, upto: u64) -> Later<'static, Finish> {
    Box::pin(async move {
        let mut back = PAGE_ENTRIES_MAX as u64;
        loop {
            let after = upto.saturating_sub(back);
            let mut search = search.anew(after);
            if let Err(fault) = read_on(&*store, &id, &mut search).await {
                return Finish::Reply(Err(fault));
            }
            if after == 0 || search.is_found() {
                return recounted_so_far(store, id, search);
            }
            back = back.saturating_mul(FURTHER_BACK);
        }
    })
}

async fn read_on(store: &dyn Store, id: &SessionId, search: &mut RunSearch) -> Result<(), Fault> {
    loop {
        let page = store.read(id, search.read, PAGE_ENTRIES_MAX).await?;
        page.entries.iter().for_each(|entry| search.take(entry));
        if page.entries.len() < PAGE_ENTRIES_MAX {
            return Ok(());
        }
    }
}

fn recounted_so_far(store: Arc<dyn Store>, id: SessionId, mut search: RunSearch) -> Finish {
    Finish::Unless(Box::new(move |session: &mut Session| {
        // Something was written, and told, since the last page was read.
        if search.read < session.log.committed() {
            return Err(Box::pin(async move {
                match read_on(&*store, &id, &mut search).await {
                    Ok(()) => recounted_so_far(store, id, search),
                    Err(fault) => Finish::Reply(Err(fault)),
                }
            }));
        }
        let read = search.read;
        session.log.untold().filter(|entry| entry.seq > read).for_each(|entry| search.take(entry));
        Ok(search.reply())
    }))
}

/// As [`entries`], with what a day has used.
pub(super) fn log_and_day(
    page: Later<'static, Result<Page, Fault>>,
    used: Later<'static, DayUsed>,
    then: impl FnOnce(&mut Session, Vec<Arc<Entry>>, Result<UsageSum, Fault>) -> Result<Reply, Fault> + Send + 'static,
) -> Later<'static, Finish> {
    Box::pin(async move {
        let used = used.await.map(all_of);
        entries(page, move |session, entries| then(session, entries, used)).await
    })
}

pub(super) fn exported(
    exported: Later<'static, Result<Exported, Fault>>,
    then: impl FnOnce(Result<Exported, Fault>) -> Result<Reply, Fault> + Send + 'static,
) -> Later<'static, Finish> {
    Box::pin(async move { Finish::Reply(then(exported.await)) })
}

/// A look around the workspace, for a command that waits for it.
pub(super) fn briefed(look: Later<'static, Briefing>, mail: Mail) -> Later<'static, Finish> {
    Box::pin(async move { Finish::Briefed(look.await, Box::new(mail)) })
}

/// Ready when a command is to be stopped. The other end is dropped only together with the command.
pub(super) fn stopped(stop: oneshot::Receiver<()>) -> Later<'static, ()> {
    Box::pin(async move {
        let _ = stop.await;
    })
}

/// Hands an order of a call to its session, and waits for what the controller says; `gone` where it will say nothing.
pub(super) fn editor_reply(
    orders: mpsc::Sender<EditorOrder>,
    order: EditorOrder,
    answer: oneshot::Receiver<EditorReply>,
    limit: Option<Duration>,
    gone: &'static str,
) -> Later<'static, EditorReply> {
    let answer = async move {
        let sent = orders.send(order).await.is_ok();
        let gone = || EditorReply::Failed(gone.into());
        if sent { answer.await.unwrap_or_else(|_| gone()) } else { gone() }
    };
    match limit {
        None => Box::pin(answer),
        Some(limit) => Box::pin(async move {
            timeout(limit, answer).await.unwrap_or_else(|_| {
                EditorReply::Failed(format!("the controller did not answer within {} s", limit.as_secs()).into())
            })
        }),
    }
}
