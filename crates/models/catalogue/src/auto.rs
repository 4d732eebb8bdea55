//! The model `auto`: the first one of a server that has not said yet what it serves. A server on this machine is asked from
//! the start, in the background; a conversation waits for that when it has something to say. One that was named and gave no
//! list is asked again by every prompt until it does, and a prompt that it gives none fails with the reason.

mod waiting;

use std::sync::{Arc, OnceLock};

use providers::Client;
use providers::detect::{Candidate, Choice, Env, Server, decide, look};
use tokio::sync::watch;
use tour::Tour;
use vocab::{Chat, Fault, Later, ModelInfo, Provider};

use crate::built_in::TOUR;
use crate::names::AUTO;
use crate::server;
use crate::source::{Source, SourceKind};
use waiting::WaitingChat;

/// Whose model it is while nobody has answered.
const LOCAL: &str = "local";

/// What came of asking.
enum Landed {
    At {
        client: Client,
        model: Arc<str>,
    },
    /// The built-in tour answers.
    Nobody,
    /// The next prompt asks again.
    Failed(Fault),
}

#[derive(Clone)]
pub(crate) struct Auto {
    search: AutoSearch,
    before: Arc<ModelInfo>,
}

#[derive(Clone)]
enum AutoSearch {
    /// Asked in the background.
    Local(watch::Receiver<Option<Arc<Landed>>>),
    /// Asked when somebody needs it; the model, once it was told.
    Server(Client, Arc<OnceLock<Arc<str>>>),
}

impl Auto {
    /// Asks whoever listens. `make` turns a server into a client; `note` is told in one line where nobody is one.
    pub(crate) fn start(
        open: Vec<Candidate>,
        window: u64,
        make: impl FnOnce(&Server) -> Result<Client, Fault> + Send + 'static,
        note: impl FnOnce(&str) + Send + 'static,
    ) -> Self {
        let (tell, landed) = watch::channel(None);
        let before = ModelInfo {
            provider: LOCAL.into(),
            name: "the first local model that answers".into(),
            base_url: open.first().map(Candidate::base_url).unwrap_or_default().into(),
            ..ModelInfo::named(AUTO, window)
        };
        tokio::spawn(async move {
            let Choice { server, reason } = decide(&Env::default(), &look(&open).await);
            let found = server.and_then(|server| Some((make(&server).ok()?, server.model?)));
            let landed = match found {
                Some((client, model)) => Landed::At { client, model: model.into() },
                None => {
                    note(&format!("model auto is the built-in tour: {reason}"));
                    Landed::Nobody
                }
            };
            // Whoever waited may be gone.
            let _ = tell.send(Some(Arc::new(landed)));
        });
        Self { search: AutoSearch::Local(landed), before: Arc::new(before) }
    }

    /// The first model of a server that was named.
    pub(crate) fn of(client: Client, window: u64) -> Self {
        let before = ModelInfo {
            provider: client.provider().clone(),
            name: format!("the first model that {} will list", client.server()).into(),
            base_url: client.server().into(),
            ..ModelInfo::named(AUTO, window)
        };
        Self { search: AutoSearch::Server(client, Arc::default()), before: Arc::new(before) }
    }

    fn now(&self) -> Option<Arc<Landed>> {
        match &self.search {
            AutoSearch::Local(landed) => landed.borrow().clone(),
            AutoSearch::Server(client, found) => found.get().map(|model| at(client, model)),
        }
    }

    async fn landed(&self) -> Arc<Landed> {
        match &self.search {
            AutoSearch::Local(landed) => match landed.clone().wait_for(Option::is_some).await {
                Ok(landed) => landed.clone().expect("that is what was waited for"),
                // The runtime is ending, and whoever asked ends with it.
                Err(_) => Arc::new(Landed::Nobody),
            },
            AutoSearch::Server(client, found) => match client.first_model().await {
                Ok(model) => at(client, found.get_or_init(|| model)),
                Err(fault) => Arc::new(Landed::Failed(fault)),
            },
        }
    }

    /// The server that answered, if one has by now.
    pub(crate) fn client(&self) -> Option<Client> {
        match &*self.now()? {
            Landed::At { client, .. } => Some(client.clone()),
            Landed::Nobody | Landed::Failed(_) => None,
        }
    }

    /// Whether somebody is there. One that was named is, whether or not it answers.
    pub(crate) async fn is_somebody(&self) -> bool {
        match &self.search {
            AutoSearch::Local(_) => matches!(&*self.landed().await, Landed::At { .. }),
            AutoSearch::Server(..) => true,
        }
    }

    /// The models of the server that answers; one that was named is asked by whoever named it.
    pub(crate) async fn models(&self) -> Vec<ModelInfo> {
        let AutoSearch::Local(_) = &self.search else { return Vec::new() };
        match &*self.landed().await {
            Landed::At { client, .. } => client.models().await.unwrap_or_else(|_| client.known()),
            Landed::Nobody | Landed::Failed(_) => Vec::new(),
        }
    }

    pub(crate) fn info(&self) -> ModelInfo {
        let found = self.now().and_then(|landed| match &*landed {
            Landed::At { client, model } => client.resolve(model).ok(),
            Landed::Nobody | Landed::Failed(_) => None,
        });
        found.map_or_else(|| (*self.before).clone(), |model| ModelInfo { slug: AUTO.into(), unlisted: false, ..model })
    }

    pub(crate) fn chat(&self) -> Box<dyn Chat> {
        Box::new(WaitingChat::new(self.clone()))
    }
}

fn at(client: &Client, model: &Arc<str>) -> Arc<Landed> {
    Arc::new(Landed::At { client: client.clone(), model: model.clone() })
}

impl Landed {
    fn chat(&self) -> Result<Box<dyn Chat>, Fault> {
        match self {
            Landed::At { client, model } => client.chat(&client.resolve(model)?),
            Landed::Nobody => {
                let tour = Tour::default();
                tour.chat(&tour.resolve(TOUR)?)
            }
            Landed::Failed(fault) => Err(fault.clone()),
        }
    }
}

/// The name `auto` itself, which is looked up before all others that could have it.
pub(crate) struct AutoName(pub(crate) Auto);

impl Source for AutoName {
    fn kind(&self) -> SourceKind {
        SourceKind::Local
    }

    fn resolve(&self, slug: &str) -> Option<Result<ModelInfo, Fault>> {
        (slug == AUTO).then(|| Ok(self.0.info()))
    }

    fn chat(&self, model: &ModelInfo) -> Option<Result<Box<dyn Chat>, Fault>> {
        (&*model.slug == AUTO).then(|| Ok(self.0.chat()))
    }

    fn answers(&self) -> Later<'_, bool> {
        Box::pin(self.0.is_somebody())
    }
}

/// The other models of the server that answered: once it has, it takes any name that nobody else does.
pub(crate) struct LocalServer(pub(crate) Auto);

impl Source for LocalServer {
    fn kind(&self) -> SourceKind {
        SourceKind::Local
    }

    fn resolve(&self, slug: &str) -> Option<Result<ModelInfo, Fault>> {
        self.0.client().map(|client| server::resolve(&client, slug))
    }

    fn chat(&self, model: &ModelInfo) -> Option<Result<Box<dyn Chat>, Fault>> {
        let client = self.0.client().filter(|client| client.server() == &*model.base_url)?;
        Some(client.chat(model))
    }

    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async { Ok(self.0.models().await) })
    }
}
