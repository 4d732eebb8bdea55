//! An agent at an address. By a WebSocket each message is a line; to the client it is a process whose pipes end there. What is
//! spoken over HTTP is the client's own affair.

use std::io;
use std::sync::Arc;

use acp_client::{Channel, Exit, MemoryPeer, WebChannel, memory};
use attach::{AtEnd, AttachTo, FoundGateway, GatewayPlace, Relay, RelayLines, SentWords};
use process::Launched;
use tokio::io::AsyncWriteExt;
use vocab::{Fault, Later, Secret};

/// Where the protocol is spoken by an address that names no path.
const PATH: &str = "/acp";

pub(super) struct RemoteChannel {
    found: FoundGateway,
    shown: String,
    /// The address says http or https, and that is what is spoken.
    over_http: bool,
    token_env: String,
}

impl RemoteChannel {
    /// `token_env`: the variable that has the token, where one is wanted.
    pub(super) fn new(url: &str, token_env: &str) -> anyhow::Result<Self> {
        let place = match url.parse().map_err(|why: String| anyhow::anyhow!("--url {url}: {why}"))? {
            AttachTo::Place(place @ GatewayPlace::Url(_)) => place,
            AttachTo::Place(GatewayPlace::Socket(_)) | AttachTo::Here | AttachTo::Auto => {
                anyhow::bail!("--url {url}: an address begins with ws://, wss://, http:// or https://")
            }
        };
        let token = std::env::var(token_env).ok().as_deref().and_then(Secret::new);
        let over_http = url.starts_with("http");
        let (shown, token_env) = (place.to_string(), token_env.to_owned());
        Ok(Self { shown, found: FoundGateway { place, token }, over_http, token_env })
    }

    /// The way to it.
    pub(super) fn channel(self) -> anyhow::Result<Arc<dyn Channel>> {
        if !self.over_http {
            return Ok(Arc::new(self));
        }
        self.found.keeps_token().map_err(|fault| anyhow::anyhow!("{}", fault.explained()))?;
        let url = format!("{}{}", self.shown, self.path());
        let proxy = net::Proxy::from_env(&url, |name| std::env::var(name).ok());
        let token_hint = format!("put its token into {}", self.token_env);
        Ok(Arc::new(WebChannel { url, token: self.found.token, token_hint, proxy }))
    }

    /// Its files may be ours.
    pub(super) fn is_here(&self) -> bool {
        matches!(&self.found.place, GatewayPlace::Url(url) if url.is_loopback())
    }

    fn path(&self) -> &'static str {
        match &self.found.place {
            GatewayPlace::Url(url) if url.as_str().trim_end_matches('/') == url.origin() => PATH,
            GatewayPlace::Url(_) | GatewayPlace::Socket(_) => "",
        }
    }
}

impl Channel for RemoteChannel {
    fn open(&self) -> Later<'_, io::Result<Launched>> {
        Box::pin(async {
            let failed = |fault: Fault| io::Error::other(fault.explained());
            let attached = attach::dial(&self.found, self.path(), &SentWords::default()).await.map_err(failed)?;
            let (ours, theirs) = memory(false);
            let MemoryPeer { input, output, mut errors, life } = theirs;
            let asked = Box::pin(std::future::pending());
            let (lines, at_end) = (RelayLines::Whole, AtEnd::Leave);
            let relay = Relay { input, output, gone: None, lines, first: None, at_end, asked };
            tokio::spawn(async move {
                let ended = attached.relay(relay).await;
                if let Some(note) = ended.note {
                    let _ = errors.write_all(format!("{note}\n").as_bytes()).await;
                }
                drop(errors);
                life.exit(Exit { code: Some(ended.exit_code.into()), signal: None });
            });
            ours.open().await
        })
    }

    fn command(&self) -> Vec<String> {
        vec![self.shown.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_path_means_the_usual_one() {
        for (url, path) in [
            ("ws://127.0.0.1:18800", "/acp"),
            ("wss://box.example/", "/acp"),
            ("https://box.example/acp", ""),
            ("ws://box.example/agents/one", ""),
        ] {
            assert_eq!(RemoteChannel::new(url, "NO_SUCH_VARIABLE").unwrap().path(), path, "{url}");
        }
        for (url, shown) in [
            ("ws://127.0.0.1:18800", "http://127.0.0.1:18800"),
            ("http://127.0.0.1:18800/", "http://127.0.0.1:18800/acp"),
            ("https://box.example/agents/one", "https://box.example/agents/one"),
        ] {
            let channel = RemoteChannel::new(url, "NO_SUCH_VARIABLE").unwrap().channel().unwrap();
            assert_eq!(channel.command(), [shown], "{url}");
        }
        for wrong in ["auto", "here", "box.example", "/run/g.sock", "unix:/run/g.sock", "ftp://box", "ws://a/?token=x"]
        {
            let refused = RemoteChannel::new(wrong, "NO_SUCH_VARIABLE").err().map(|why| why.to_string());
            assert!(refused.is_some_and(|why| why.starts_with("--url ")), "{wrong}");
        }
    }
}
