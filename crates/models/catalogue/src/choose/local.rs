//! Servers that were not configured but may be there: on this machine.

use providers::detect::{Choice, Env, Server, decide, detect, knock, look, talks};
use vocab::{Fault, FaultKind};

use super::{AskedModel, Chooser, FoundModel};
use crate::auto::Auto;
use crate::names::AUTO;
use crate::server::ServerClients;
use crate::settings::Lookout;

/// The window of a local model of which nothing is known yet.
const LOCAL_WINDOW: u64 = 128_000;

/// What listens on this machine.
enum Listener {
    At(Server, String),
    /// It has not said yet what it serves.
    Perhaps(Auto),
    /// And why.
    Nobody(String),
}

impl From<Choice> for Listener {
    fn from(Choice { server, reason }: Choice) -> Self {
        match server {
            Some(server) => Listener::At(server, reason),
            None => Listener::Nobody(reason),
        }
    }
}

impl Chooser<'_> {
    /// `auto` is whatever answers on this machine, unless the environment names a server.
    pub(super) async fn local_by_name(&mut self, asked: &AskedModel) -> Result<Option<FoundModel>, Fault> {
        if asked.model() != Some(AUTO) || self.settled().is_some() {
            return Ok(None);
        }
        match self.listener(None).await? {
            Listener::At(server, reason) => self.served(server, reason, None, None).await.map(Some),
            Listener::Perhaps(auto) => Ok(Some(perhaps(auto))),
            Listener::Nobody(_) => {
                let names: Vec<&str> = self.settings.candidates.iter().map(|candidate| candidate.name).collect();
                let message = format!("no local server answers; looked for {}", names.join(", "));
                Err(Fault::new(FaultKind::UnknownModel, message).hint("start one, or name another model"))
            }
        }
    }

    /// A model of whatever answers on this machine, where no provider was named.
    pub(super) async fn local_server(&mut self, asked: &AskedModel) -> Result<Option<FoundModel>, Fault> {
        if asked.provider().is_some() {
            return Ok(None);
        }
        match self.listener(asked.model()).await? {
            Listener::At(server, reason) => self.served(server, reason, asked.model(), None).await.map(Some),
            Listener::Perhaps(auto) => Ok(Some(perhaps(auto))),
            Listener::Nobody(reason) => {
                self.nobody = reason;
                Ok(None)
            }
        }
    }

    /// What listens on this machine. Where nothing may wait, a remembered list counts, and what listens is asked later.
    async fn listener(&self, model: Option<&str>) -> Result<Listener, Fault> {
        let none = Env::default();
        let candidates = &self.settings.candidates;
        if self.settings.lookout == Lookout::Wait {
            return Ok(Listener::from(detect(&none, candidates).await));
        }
        let open = knock(candidates).await;
        if open.is_empty() {
            return Ok(Listener::from(decide(&none, &[])));
        }
        if model.is_some_and(|model| model != AUTO) {
            return Ok(Listener::from(decide(&none, &look(&open).await)));
        }
        for candidate in &open {
            let mut server = Server { base_url: candidate.base_url(), api_key: None, model: None };
            let known = self.client(&server)?.known();
            server.model = known.iter().map(|model| model.slug.to_string()).find(|slug| talks(slug));
            if server.model.is_some() {
                let reason = format!("{} listens on port {}, as before", candidate.name, candidate.port);
                return Ok(Listener::At(server, reason));
            }
        }
        let clients = ServerClients::of(self.settings);
        let make = move |server: &Server| clients.client(server);
        Ok(Listener::Perhaps(Auto::start(open, self.unknown_window(), make, self.settings.note)))
    }

    /// For a model that has not said how much it takes.
    pub(super) fn unknown_window(&self) -> u64 {
        self.settings.default_context_window.unwrap_or(LOCAL_WINDOW)
    }
}

fn perhaps(auto: Auto) -> FoundModel {
    let reason = "the first local model that answers".to_owned();
    let choice = FoundModel::named(AUTO.to_owned(), auto.info().provider, reason);
    FoundModel { auto: Some(auto), ..choice }
}
