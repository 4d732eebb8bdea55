//! Whether the servers of models answer, all asked at once.

use std::sync::Arc;
use std::time::Duration;

use providers::Client;
use tokio::task::JoinSet;
use vocab::Fault;

use super::catalogue::Catalogue;

/// A server that has not listed its models by then does not answer. A command that prints its key has its own time besides.
const REACH_TIME_MAX: Duration = Duration::from_secs(5);

/// What came of one question.
pub(crate) struct Reached {
    pub(crate) name: Arc<str>,
    /// How many models it lists.
    pub(crate) listed: Result<usize, Fault>,
}

impl Catalogue {
    /// Asks every source for its models, with the key it would be asked with for an answer.
    pub(crate) async fn checkup(&self) -> Vec<Reached> {
        let clients = self.custom().clients().into_iter();
        let named = |client: &Client| (client.provider().clone(), Ok(client.clone()));
        let clients = clients.chain(self.sources().iter().map(|source| named(source.client())));
        let clients = clients.chain(self.remote().map(named)).chain(self.links().active().map(named));
        let mut asked = JoinSet::new();
        for (at, (name, client)) in clients.enumerate() {
            asked.spawn(async move {
                let listed = match client {
                    Ok(client) => client.reach(REACH_TIME_MAX).await,
                    Err(fault) => Err(fault),
                };
                (at, Reached { name, listed })
            });
        }
        let mut reached = asked.join_all().await;
        reached.sort_by_key(|(at, _)| *at);
        reached.into_iter().map(|(_, it)| it).collect()
    }
}
