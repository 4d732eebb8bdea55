//! How a connection to a server is made: plain or with TLS, straight or through a proxy, to addresses that were checked.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use hyper::Uri;
use hyper::service::Service;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

use crate::fault::NetFault;
use crate::proxy::Proxy;
use crate::resolve::{self, AddressPolicy, Resolver};
use crate::tls::{self, TlsConnector, Trust};

pub(crate) type Io = MaybeHttpsStream<TokioIo<TcpStream>>;
pub(crate) type TcpConnector = HttpConnector<Resolver>;

/// Makes connections to one server.
pub(crate) struct Dialer {
    /// The server as people may see it.
    pub(crate) server: Arc<str>,
    /// `scheme://host:port/`
    pub(crate) origin: Uri,
    pub(crate) timeout: Duration,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) addresses: AddressPolicy,
    pub(crate) trust: Arc<Trust>,
    /// Made by the first https call: reading the system's roots costs more than anything else here.
    pub(crate) tls: OnceCell<TlsConnector>,
}

impl Dialer {
    /// Within the time that a connection may take.
    pub(crate) async fn connect(&self) -> Result<Io, NetFault> {
        match tokio::time::timeout(self.timeout, self.dial()).await {
            Ok(io) => io,
            Err(_) => {
                let text = format!("no connection within {} ms", self.timeout.as_millis());
                Err(self.unreachable(&*Box::<dyn Error>::from(text)))
            }
        }
    }

    async fn dial(&self) -> Result<Io, NetFault> {
        if self.is_plain() {
            let plain = TowerToHyperService::new(tcp(self.timeout, self.addresses));
            let stream = plain.call(self.origin.clone()).await;
            return stream.map(MaybeHttpsStream::Http).map_err(|error| self.unreachable(&error));
        }
        if let Some(proxy) = &self.proxy
            && self.addresses == AddressPolicy::Public
        {
            let host = self.origin.host().unwrap_or_default();
            resolve::check_before_proxy(host, proxy).await.map_err(|error| self.unreachable(&error))?;
        }
        let tls = self.tls.get_or_try_init(|| async {
            let config = self.trust.config().await?;
            Ok(TlsConnector::new(&config, self.timeout, self.proxy.as_ref(), self.addresses))
        });
        let dialled = match tls.await.map_err(NetFault::unsent)? {
            TlsConnector::Direct(connector) => connector.call(self.origin.clone()).await,
            TlsConnector::Proxied(connector) => connector.call(self.origin.clone()).await,
        };
        dialled.map_err(|error| self.unreachable(&*error))
    }

    fn is_plain(&self) -> bool {
        self.origin.scheme_str() == Some("http")
    }

    /// Why there is no connection, and what may help.
    fn unreachable(&self, error: &(dyn Error + 'static)) -> NetFault {
        if let Some(fault) = tls::distrusted(&self.server, error) {
            return fault;
        }
        let mut fault = NetFault::unreachable(&self.server, error);
        if let Some(proxy) = self.proxy.as_ref().filter(|_| !self.is_plain()) {
            fault.hint(format!("the way there goes through the proxy {proxy:?}: does it let us through?"));
        }
        fault
    }
}

pub(crate) fn tcp(timeout: Duration, addresses: AddressPolicy) -> TcpConnector {
    let mut tcp = HttpConnector::new_with_resolver(Resolver(addresses));
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(timeout));
    tcp.enforce_http(false);
    tcp
}
