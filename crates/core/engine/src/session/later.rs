//! What takes its time, as futures: they own what they need and know nothing of the session, whose one poll drives them
//! ([`super::poll`]). Nothing else below `session` awaits, so that nothing else can make the session wait.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Duration, timeout};
use vocab::{
    Briefing, Delivery, EditorReply, Entry, Exported, Fault, FitImage, Later, LogWindow, ModelInfo, Page, Part,
    Provider, Query, Reply, SessionId, Store, UsageSum,
};

use super::budget::{DayUsed, LostSpending, all_of};
use super::editor::EditorOrder;
use super::jobs::Finish;
use super::model_view::ReadLog;
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

/// A place for a turn, in the order in which they were asked for.
pub(super) fn place(turns: Arc<Semaphore>) -> Later<'static, Option<OwnedSemaphorePermit>> {
    Box::pin(async move { turns.acquire_owned().await.ok() })
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

/// All of a log, for a session that counts what was from the beginning on.
pub(super) fn whole(page: Later<'static, Result<Page, Fault>>, upto: u64) -> Later<'static, Result<LogWindow, Fault>> {
    Box::pin(async move { page.await.map(|page| LogWindow::whole(page, upto)) })
}

/// A log, and what the process before us has spent without writing it down; children have logs of their own.
pub(super) fn with_lost(
    window: Later<'static, Result<LogWindow, Fault>>,
    store: Arc<dyn Store>,
    session: SessionId,
) -> Later<'static, Result<ReadLog, Fault>> {
    Box::pin(async move {
        let window = window.await?;
        let mut lost = LostSpending::of(window.all());
        if lost.has_open_calls() {
            let query = Query { children: true, child_of: Some(session), ..Query::default() };
            for child in store.list(query).await? {
                lost.hear_child(&store.read(&child.id, 0, usize::MAX).await?.entries);
            }
        }
        Ok(ReadLog { window, lost })
    })
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
