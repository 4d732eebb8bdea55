//! The services that the agent works with, as far as it is known without touching the network: its model's provider, and the other
//! services that were described.

use std::sync::Arc;

use catalogue::{Catalogue, Standing};
use config::agent::Unspoken;
use dialect_rpc::{Service, ServiceState};

/// How things stand. The version is the caller's to add.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Integrations {
    pub(crate) model: Standing,
    /// Whose model it is, where there is one.
    pub(crate) provider: Option<Arc<str>>,
    pub(crate) services: Vec<Service>,
}

impl Integrations {
    pub(super) fn look(catalogue: &Catalogue, model: &str, unspoken: &[Unspoken]) -> Integrations {
        let (standing, provider) = catalogue.standing(model);
        let mut services: Vec<Service> = Vec::new();
        let others = catalogue.sources_report().into_iter().map(|source| (source.name, source.failed));
        for (name, failed) in others.filter(|(name, _)| Some(name) != provider.as_ref()) {
            let (state, hint) = match failed {
                true => (ServiceState::Unauthenticated, Some("its key could not be had".into())),
                false => (ServiceState::Connected, None),
            };
            services.push(Service { name, state, hint });
        }
        for Unspoken { provider, api } in unspoken {
            let hint = Some(format!("the api {api} is not spoken").into());
            services.push(Service { name: provider.clone(), state: ServiceState::Unavailable, hint });
        }
        Integrations { model: standing, provider, services }
    }
}
