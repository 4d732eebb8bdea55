//! What a peer can ask without being on a session. Each answer may take its time; nothing else waits for it.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::{Duration, timeout};
use vocab::{
    DirectoryVerb, Event, Fault, FaultKind, Principal, Query, Recalled, Reply, Saved, SavedPage, SessionId, Summary,
    Tag, Told, ToolSpec, Which,
};

use crate::Shared;
use crate::outbox::Outbox;
use crate::registry::Claim;
use crate::router::Router;
use crate::session::Mail;

impl Router {
    /// Answers what no session can.
    pub(crate) fn directory(&self, tag: Tag, verb: DirectoryVerb, by: Principal) {
        let shared = self.shared.clone();
        match verb {
            DirectoryVerb::Models => {
                self.later(tag, async move { shared.ports.provider.models().await.map(Reply::Models) })
            }
            DirectoryVerb::ModelsWithin { limit_ms } => self.later(tag, async move {
                let listed = timeout(Duration::from_millis(limit_ms), shared.ports.provider.models()).await;
                let late = || Fault::new(FaultKind::Network, format!("no list of models within {limit_ms} ms"));
                listed.unwrap_or_else(|_| Err(late())).map(Reply::Models)
            }),
            DirectoryVerb::Tools => self.later(tag, async move { shared.tools().map(Reply::Tools) }),
            DirectoryVerb::Sessions(query) => {
                self.later(tag, async move { shared.saved(query).await.map(Reply::Sessions) });
            }
            DirectoryVerb::Delete { session, open_too } => self.later(tag, async move {
                if open_too {
                    return shared.remove(&session, by).await;
                }
                shared.let_go(&session).await?;
                match shared.ports.store.delete(&session, Some(by)).await? {
                    true => {
                        shared.registry.forget_parked(&session);
                        Ok(Reply::Done)
                    }
                    false => Err(Fault::new(FaultKind::NotFound, format!("no session matches `{session}`"))),
                }
            }),
            DirectoryVerb::Recall(which) => self.later(tag, async move {
                shared.recall(which).await.map(|recalled| Reply::Recalled(Box::new(recalled)))
            }),
            DirectoryVerb::Find(which) => {
                self.later(tag, async move { shared.which(&which, None, Some(by)).await.map(Reply::Found) });
            }
            DirectoryVerb::Accounts => self.later(tag, async move {
                shared.ports.accounts.list().await.map(|accounts| Reply::Accounts(Box::new(accounts)))
            }),
            DirectoryVerb::SignIn { account, mode, originator } => {
                let outbox = self.outbox.clone();
                let told = Arc::new(move |step| {
                    let event = Event::SignIn { tag, account, step };
                    outbox.push(Told::new(nobody(), event));
                });
                let flow = shared.ports.accounts.sign_in(account, mode, originator, told);
                self.later(tag, async move { flow.await.map(|signed_in| Reply::SignedIn(Box::new(signed_in))) });
            }
            DirectoryVerb::CancelSignIns => {
                shared.ports.accounts.cancel_sign_ins("the process is shutting down");
                self.reply(None, tag, Ok(Reply::Done));
            }
            DirectoryVerb::Forget => {
                self.later(tag, async move { shared.ports.accounts.forget().await.map(|()| Reply::Done) });
            }
        }
    }

    fn later(&self, tag: Tag, answer: impl Future<Output = Result<Reply, Fault>> + Send + 'static) {
        let session = self.current.clone().unwrap_or_else(nobody);
        let owed = Owed { outbox: self.outbox.clone(), session, tag, result: None };
        tokio::spawn(async move {
            let mut owed = owed;
            owed.result = Some(answer.await);
        });
    }
}

/// An answer that is given whatever becomes of the task that works on it.
struct Owed {
    outbox: Arc<Outbox>,
    session: SessionId,
    tag: Tag,
    result: Option<Result<Reply, Fault>>,
}

impl Drop for Owed {
    fn drop(&mut self) {
        let broken = || Err(Fault::new(FaultKind::Internal, "the answer could not be made"));
        let event = Event::Reply { tag: self.tag, result: self.result.take().unwrap_or_else(broken) };
        self.outbox.push(Told::new(self.session.clone(), event));
    }
}

fn nobody() -> SessionId {
    SessionId::from("")
}

impl Shared {
    /// Opened for a look and closed again.
    fn tools(&self) -> Result<Vec<ToolSpec>, Fault> {
        let defaults = self.defaults();
        let tools = self.ports.toolbox.open(&SessionId::from("no-session"), &defaults.workspace)?;
        let specs = tools.iter().map(|tool| tool.spec());
        Ok(specs.filter(|spec| defaults.offers(&spec.name)).cloned().collect())
    }

    fn show(&self, summary: Summary) -> Saved {
        let place = self.ports.archive.path_of(&summary.id);
        Saved { summary, place }
    }

    async fn saved(&self, query: Query) -> Result<SavedPage, Fault> {
        let list = self.ports.store.list(query.clone()).await?;
        let upto = query.offset as u64 + list.len() as u64;
        // A page that is not full is the last one.
        let is_last = query.limit.is_some_and(|limit| list.len() < limit) && (query.offset == 0 || !list.is_empty());
        let total = if is_last { upto } else { self.ports.store.count(query).await? };
        Ok(SavedPage { list: list.into_iter().map(|summary| self.show(summary)).collect(), total })
    }

    async fn recall(&self, which: Which) -> Result<Recalled, Fault> {
        let id = match which {
            Which::Id(text) => self.find_by_part(&text).await?,
            Which::Path(path) => self.find_by_place(&path)?,
            Which::Latest => {
                let query = Query { non_empty: true, limit: Some(1), ..Query::default() };
                let newest = self.ports.store.list(query).await?.pop();
                newest.ok_or_else(|| Fault::new(FaultKind::NotFound, "no saved session yet"))?.id
            }
            // Exactly this one; it need not be more than a name.
            Which::Named(id) => id,
            Which::New => {
                return Err(Fault::new(FaultKind::Invalid, "only a saved session can be read"));
            }
        };
        let unknown = || Fault::new(FaultKind::NotFound, format!("no session matches `{id}`"));
        let summary = self.ports.store.summary(&id).await?.ok_or_else(unknown)?;
        let entries = self.ports.store.conversation(&id, summary.last_seq).await?;
        Ok(Recalled { saved: self.show(summary), entries })
    }

    /// Ends a session that is open here, and deletes it before anybody can open it again.
    async fn remove(self: &Arc<Self>, id: &SessionId, by: Principal) -> Result<Reply, Fault> {
        let mut was_open = false;
        let removing = self.registry.remove(id).await;
        loop {
            match self.registry.claim_for(id, Some(&removing)).await {
                Claim::Live(handle) => {
                    was_open = true;
                    let _ = handle.mail.send(Mail::Remove { by: Some(by.clone()) }).await;
                    handle.gone().await;
                }
                // While this is held nobody opens it.
                Claim::Free(mut permit) => {
                    let is_gone = self.ports.store.delete(id, Some(by)).await?;
                    permit.parked = None;
                    return match is_gone || was_open {
                        true => Ok(Reply::Done),
                        false => Err(Fault::new(FaultKind::NotFound, format!("no session matches `{id}`"))),
                    };
                }
                Claim::Closing => return Err(Fault::new(FaultKind::ShuttingDown, "the engine is being closed")),
            }
        }
    }

    /// Waits for the end of a session that no peer is on any more; refuses while one is.
    async fn let_go(&self, id: &SessionId) -> Result<(), Fault> {
        let Some(handle) = self.registry.find(id).await else { return Ok(()) };
        let (reply, answer) = oneshot::channel();
        // One that ended before it heard us is let go already.
        if handle.mail.send(Mail::Deserted(reply)).await.is_ok() && matches!(answer.await, Ok(false)) {
            return Err(Fault::new(FaultKind::SessionBusy, format!("session {id} is open"))
                .hint("close it everywhere first, and interrupt what runs in it"));
        }
        handle.gone().await;
        Ok(())
    }

    /// A place is where [`vocab::Archive::path_of`] says, and nothing else: reading a session must not read any file.
    fn find_by_place(&self, path: &Path) -> Result<SessionId, Fault> {
        let text = path.to_string_lossy();
        let id = text.rsplit_once('#').map(|(_, id)| SessionId::from(id));
        id.filter(|id| self.ports.archive.path_of(id) == path)
            .ok_or_else(|| Fault::new(FaultKind::NotFound, format!("no saved session at {}", path.display())))
    }
}
