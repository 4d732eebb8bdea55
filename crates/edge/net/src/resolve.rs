//! Looks a host up once; the connection goes to the addresses that were checked. A host that is an address already is not
//! looked up: the person or the model that asked for it has named it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use crate::host::{self, Host};
use crate::proxy::Proxy;

/// Where a name may lead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressPolicy {
    /// The user's own configuration named the host.
    Anywhere,
    /// A model named it: not into the user's own networks by a name that does not show it.
    Public,
}

#[derive(Clone, Debug)]
pub(crate) struct Resolver(pub(crate) AddressPolicy);

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let policy = self.0;
        Box::pin(async move { lookup(name.as_str(), policy).await.map(Vec::into_iter) })
    }
}

async fn lookup(name: &str, policy: AddressPolicy) -> io::Result<Vec<SocketAddr>> {
    // The port is filled in by the connector.
    let found: Vec<SocketAddr> = tokio::net::lookup_host((name, 0)).await?.collect();
    if policy == AddressPolicy::Public {
        check(name, &found)?;
    }
    Ok(found)
}

fn check(name: &str, found: &[SocketAddr]) -> io::Result<()> {
    let addresses: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
    host::check(name, &addresses).map_err(io::Error::other)
}

/// The guard where a proxy makes the connection. The proxy looks the name up by itself, so the name is looked up here
/// first, and refused like one that is reached straight: when it leads into a private network, and also when nothing here
/// knows it, for then nothing says that it does not. What the proxy finds may still be another address. That reaches no
/// further than a handshake: only https goes through a proxy, and the host at that address has to prove with a
/// certificate that it is the name which was asked for, before a byte of the request is sent.
pub(crate) async fn check_before_proxy(host: &str, proxy: &Proxy) -> io::Result<()> {
    match Host::parse(host).map_err(io::Error::other)? {
        Host::Address(_) => Ok(()),
        Host::Name(name) => {
            let why = match lookup(&name, AddressPolicy::Anywhere).await {
                Ok(found) if !found.is_empty() => return check(&name, &found),
                Ok(_) => "it has no address".to_owned(),
                Err(error) => error.to_string(),
            };
            Err(io::Error::other(format!(
                "{name} cannot be looked up here ({why}), so nothing says that it is public; \
                 the proxy {proxy:?} was not asked for it"
            )))
        }
    }
}
