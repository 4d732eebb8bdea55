//! TLS to a server, straight or through a proxy: whom we trust, and what may help when a server is not trusted.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::sync::OnceCell;
use vocab::{Fault, FaultKind};

use crate::dial::{TcpConnector, tcp};
use crate::fault::NetFault;
use crate::proxy::Proxy;
use crate::resolve::AddressPolicy;

/// Certificates for servers of which nothing else is said.
static EVERYWHERE: OnceLock<PathBuf> = OnceLock::new();

/// Trusts the authorities in this PEM file from now on, beside the system's: for every server whose configuration names no
/// file of its own. To be said once, at the start; `false` when something else was said before.
pub fn trust_everywhere(ca_file: PathBuf) -> bool {
    EVERYWHERE.get_or_init(|| ca_file.clone()) == &ca_file
}

/// Whom we trust; read by the first https call, and shared by all that share this.
#[derive(Default)]
pub struct Trust {
    ca_file: Option<PathBuf>,
    config: OnceCell<Arc<ClientConfig>>,
}

impl Trust {
    /// `None` = as [`trust_everywhere`] says.
    pub(crate) fn new(ca_file: Option<PathBuf>) -> Self {
        Self { ca_file, config: OnceCell::new() }
    }

    pub(crate) async fn config(&self) -> Result<Arc<ClientConfig>, Fault> {
        let read = || async {
            let ca_file = self.ca_file.clone().or_else(|| EVERYWHERE.get().cloned());
            // Off the runtime's thread: it reads some hundred files.
            let made = tokio::task::spawn_blocking(move || config(ca_file.as_deref())).await;
            made.unwrap_or_else(|error| Err(Fault::new(FaultKind::Internal, error.to_string())))
        };
        self.config.get_or_try_init(read).await.cloned()
    }
}

fn config(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, Fault> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Fault::new(FaultKind::Internal, format!("TLS cannot be set up: {error}")))?
        .with_root_certificates(roots(ca_file)?)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

pub(crate) enum TlsConnector {
    Direct(TowerToHyperService<HttpsConnector<TcpConnector>>),
    Proxied(TowerToHyperService<HttpsConnector<Tunnel<TcpConnector>>>),
}

impl TlsConnector {
    pub(crate) fn new(
        config: &ClientConfig,
        timeout: Duration,
        proxy: Option<&Proxy>,
        addresses: AddressPolicy,
    ) -> Self {
        let builder = HttpsConnectorBuilder::new().with_tls_config(config.clone()).https_only().enable_http1();
        match proxy {
            None => Self::Direct(TowerToHyperService::new(builder.wrap_connector(tcp(timeout, addresses)))),
            Some(proxy) => {
                // The user named the proxy, so it may be anywhere.
                let mut tunnel = Tunnel::new(proxy.uri.clone(), tcp(timeout, AddressPolicy::Anywhere));
                if let Some(auth) = proxy.authorization() {
                    tunnel = tunnel.with_auth(auth);
                }
                Self::Proxied(TowerToHyperService::new(builder.wrap_connector(tunnel)))
            }
        }
    }
}

/// The system's authorities (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others) and those of the file.
fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, Fault> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    if let Some(file) = ca_file {
        let unusable = |why: String| {
            Fault::new(FaultKind::Invalid, format!("the CA file {} cannot be used: {why}", file.display()))
                .hint("it should hold one or more certificates in PEM format")
        };
        let certificates = CertificateDer::pem_file_iter(file).map_err(|error| unusable(error.to_string()))?;
        let mut any = false;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
            roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
            any = true;
        }
        if !any {
            return Err(unusable("no certificate is in it".to_owned()));
        }
    }
    if roots.is_empty() {
        let why = system.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
        return Err(Fault::new(FaultKind::Invalid, format!("this machine trusts no certificate authority{why}"))
            .hint("install the system's CA certificates, or name a file of them in SSL_CERT_FILE"));
    }
    Ok(roots)
}

/// What may help when there was no connection. `None`: it has nothing to do with certificates.
pub(crate) fn distrusted(server: &str, error: &(dyn Error + 'static)) -> Option<NetFault> {
    let mut cause = Some(error);
    let wrong = loop {
        let one = cause?;
        if let Some(rustls::Error::InvalidCertificate(wrong)) = one.downcast_ref::<rustls::Error>() {
            break wrong;
        }
        // An I/O error shows its content, not itself, as what is behind it.
        let inner = one.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        cause = match inner {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => one.source(),
        };
    };
    let (what, advice) = match wrong {
        CertificateError::UnknownIssuer | CertificateError::UnknownRevocationStatus => (
            "is signed by nobody this machine trusts".to_owned(),
            "name the authority's file in SSL_CERT_FILE or in the configuration".to_owned(),
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            ("is for another name".to_owned(), format!("is {server} the right address?"))
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            ("has expired".to_owned(), "is the clock of this machine right?".to_owned())
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("is not valid yet".to_owned(), "is the clock of this machine right?".to_owned())
        }
        other => (format!("cannot be trusted: {other}"), "ask whoever runs the server".to_owned()),
    };
    Some(NetFault::distrusted(server, &what, advice))
}
