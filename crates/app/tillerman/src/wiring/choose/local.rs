//! Servers that were not configured but may be there: on this machine; and the client of one that takes any name.

use providers::detect::{Choice, Env, Server, decide, detect, knock, look, talks};
use providers::{Client, Config};
use vocab::{Fault, FaultKind};

use super::{AUTO, Auto, Chooser, Chosen, Found};
use crate::wiring::{Lookout, Setup};

/// The window of a local model of which nothing is known yet.
const LOCAL_WINDOW: u64 = 128_000;

/// What listens on this machine.
pub(super) enum Local {
    At(Server, String),
    /// Somebody who has not said yet what it serves.
    Perhaps(Auto),
    /// And why.
    Nobody(String),
}

impl From<Choice> for Local {
    fn from(Choice { server, reason }: Choice) -> Self {
        match server {
            Some(server) => Local::At(server, reason),
            None => Local::Nobody(reason),
        }
    }
}

impl Chooser<'_> {
    /// Who listens on this machine. Where nobody may wait, a remembered list counts, and whoever listens is asked later.
    pub(super) async fn local(&mut self, wanted: Option<&str>) -> Result<Local, Fault> {
        let none = Env::default();
        if self.setup.lookout == Lookout::Wait {
            return Ok(Local::from(detect(&none, self.candidates).await));
        }
        let open = knock(self.candidates).await;
        if open.is_empty() {
            return Ok(Local::from(decide(&none, &[])));
        }
        if wanted.is_some_and(|wanted| wanted != AUTO) {
            return Ok(Local::from(decide(&none, &look(&open).await)));
        }
        for candidate in &open {
            let mut server = Server { base_url: candidate.base_url(), api_key: None, model: None };
            let known = remote(self.setup, &server)?.known();
            server.model = known.iter().map(|model| model.slug.to_string()).find(|slug| talks(slug));
            if server.model.is_some() {
                let reason = format!("{} listens on port {}, as before", candidate.name, candidate.port);
                return Ok(Local::At(server, reason));
            }
        }
        let window = self.setup.default_context_window.unwrap_or(LOCAL_WINDOW);
        let ready = Ready::of(self.setup);
        Ok(Local::Perhaps(Auto::start(open, window, move |server| ready.client(server), host::note)))
    }

    pub(super) async fn local_or_none(mut self) -> Result<Chosen, Fault> {
        match self.local(None).await? {
            Local::At(server, reason) => self.served(server, reason, None, None).await,
            Local::Perhaps(auto) => Ok(self.perhaps(auto)),
            Local::Nobody(_) => {
                let names: Vec<&str> = self.candidates.iter().map(|candidate| candidate.name).collect();
                let message = format!("no local server answers; looked for {}", names.join(", "));
                Err(Fault::new(FaultKind::UnknownModel, message).hint("start one, or name another model"))
            }
        }
    }

    pub(super) fn perhaps(self, auto: Auto) -> Chosen {
        let reason = "the first local model that answers".to_owned();
        let (custom, tour) = (self.custom(None), !self.setup.wanted.loose);
        let info = auto.info();
        let found = Found { model: AUTO.to_owned(), provider: info.provider, thinking: None, reason };
        let mut chosen = self.finish(custom, None, tour, found);
        chosen.catalogue.set_auto(auto);
        chosen
    }

    /// A server that was named and has not said yet what it serves.
    pub(super) fn unlisted(self, remote: Client, reason: &str) -> Chosen {
        let reason = format!("{reason}; the first model that {} will list", remote.server());
        let auto = Auto::of(remote.clone(), self.setup.default_context_window.unwrap_or(LOCAL_WINDOW));
        let (custom, tour) = (self.custom(None), !self.setup.wanted.loose);
        let found = Found { model: AUTO.to_owned(), provider: remote.provider().clone(), thinking: None, reason };
        let mut chosen = self.finish(custom, Some(remote), tour, found);
        chosen.catalogue.set_auto(auto);
        chosen
    }
}

/// One that takes any name.
pub(super) fn remote(setup: &Setup, server: &Server) -> Result<Client, Fault> {
    Ready::of(setup).client(server)
}

/// What a client of a server needs of the settings.
struct Ready(Config);

impl Ready {
    fn of(setup: &Setup) -> Self {
        let mut config = Config::new("");
        config.keyring = setup.keyring.clone();
        config.key_name = Some("OPENAI_API_KEY".into());
        config.models = setup.known_models.clone();
        config.cache_file = (!setup.settings.ephemeral).then(|| setup.data.join("cache").join("models.json"));
        if let Some(window) = setup.default_context_window {
            config.default_context_window = window;
        }
        if let Some(ms) = setup.idle_timeout_ms {
            config.idle_timeout_ms = ms;
        }
        Self(config)
    }

    fn client(self, server: &Server) -> Result<Client, Fault> {
        let mut config = self.0;
        config.base_url = server.base_url.clone();
        config.api_key = server.api_key.clone();
        config.proxy = net::Proxy::from_env(&server.base_url, |name| std::env::var(name).ok());
        Client::new(config)
    }
}
