//! Whether the servers of models answer, all asked at once.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use vocab::Fault;

use crate::catalogue::Catalogue;

/// A server that has not listed its models by then does not answer. A command that prints its key has its own time besides.
const REACH_TIME_MAX: Duration = Duration::from_secs(5);

/// What came of one question.
pub struct Reached {
    pub name: Arc<str>,
    /// How many models it lists.
    pub listed: Result<usize, Fault>,
}

impl Catalogue {
    /// Asks every source for its models, with the key it would be asked with for an answer.
    pub async fn checkup(&self) -> Vec<Reached> {
        let mut asked = JoinSet::new();
        for (at, (name, client)) in self.servers().into_iter().enumerate() {
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
