//! Looks a host up once; the connection goes to the addresses that were checked. A host that is an address already is not
//! looked up: whoever asked for it has named it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::host;

/// Where a name may lead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// The user's own configuration named the host.
    Anywhere,
    /// A model named it: not into the user's own networks by a name that does not show it.
    Public,
}

#[derive(Clone, Debug)]
pub(super) struct Resolver(pub(super) Reach);

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let reach = self.0;
        Box::pin(async move {
            // The port is filled in by the connector.
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if reach == Reach::Public {
                let addresses: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
                host::check(name.as_str(), &addresses).map_err(io::Error::other)?;
            }
            Ok(found.into_iter())
        })
    }
}
