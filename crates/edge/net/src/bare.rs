//! A connection with nothing on it yet, for protocols that begin as HTTP and go on as something else.

use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OnceCell;
use vocab::{Fault, FaultKind};

use crate::dial::Dialer;
use crate::proxy::ProxyRules;
use crate::resolve::AddressPolicy;
use crate::url::Url;

/// Connects to the server of this URL: with TLS where it says https, and then through the proxy that the rules name.
pub async fn connect(
    url: &Url,
    proxies: &ProxyRules,
    timeout: Duration,
) -> Result<impl AsyncRead + AsyncWrite + Unpin + Send + 'static, Fault> {
    let origin = url.origin();
    let invalid = |_| Fault::new(FaultKind::Invalid, format!("{origin} is not a URL"));
    let dialer = Dialer {
        server: origin.into(),
        origin: format!("{origin}/").parse().map_err(invalid)?,
        timeout,
        proxy: proxies.proxy(url.as_str()),
        addresses: AddressPolicy::Anywhere,
        trust: Arc::default(),
        tls: OnceCell::new(),
    };
    Ok(TokioIo::new(dialer.connect().await.map_err(|fault| fault.fault)?))
}
