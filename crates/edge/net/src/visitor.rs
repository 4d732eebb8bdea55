//! Servers whose URLs a model or a user names: one request on a connection of its own, nothing kept, nothing sent along
//! but what the caller gives. What is known of a name before it is asked, and where it may lead, is decided here.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use vocab::Fault;

use crate::credentials::{KeyHeader, KnownCredentials};
use crate::endpoint::Endpoint;
use crate::http::{Http, HttpConfig};
use crate::proxy::ProxyRules;
use crate::resolve::AddressPolicy;
use crate::tls::Trust;
use crate::url::Url;

/// The way out of this machine, as for model calls.
#[derive(Clone, Debug, Default)]
pub struct Route {
    pub proxies: ProxyRules,
    /// Authorities to trust beside the system's; `None` = as [`crate::trust_everywhere`] says.
    pub ca_file: Option<PathBuf>,
}

/// Asks servers by their URLs. Nothing is opened or read before the first request.
pub struct Visitor {
    addresses: AddressPolicy,
    proxies: ProxyRules,
    trust: Arc<Trust>,
    connect_timeout: Duration,
}

impl fmt::Debug for Visitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Visitor({:?}, {:?})", self.addresses, self.proxies)
    }
}

impl Visitor {
    pub fn new(addresses: AddressPolicy, route: Route, connect_timeout: Duration) -> Self {
        let trust = Arc::new(Trust::new(route.ca_file));
        Self { addresses, proxies: route.proxies, trust, connect_timeout }
    }

    /// A server that is asked without a key.
    pub fn endpoint(&self, url: &Url) -> Result<Endpoint, Fault> {
        self.endpoint_with(url, KeyHeader::Bearer, &KnownCredentials::default())
    }

    /// Fails on a key that no header can carry.
    pub fn endpoint_with(
        &self,
        url: &Url,
        key_header: KeyHeader,
        credentials: &KnownCredentials,
    ) -> Result<Endpoint, Fault> {
        // An address of this machine or of a private network is one of ours: what was asked for, and shown to the person
        // who granted it, is not the proxy's own machine and network.
        let is_ours = self.addresses == AddressPolicy::Public && url.host().special().is_some();
        let proxy = self.proxies.proxy(url.as_str()).filter(|_| !is_ours);
        Endpoint::with(url.as_str(), |origin| {
            let config = HttpConfig::new(origin, credentials, self.connect_timeout, proxy);
            let (addresses, trust) = (self.addresses, self.trust.clone());
            Http::new(HttpConfig { key_header, addresses, trust, ..config })
        })
    }
}
