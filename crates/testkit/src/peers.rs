//! What stands between a client and a server in the world: TLS with a certificate, and a proxy that makes tunnels.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Ends the task behind it when it goes.
struct TaskGuard(AbortHandle);

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A certificate authority, and the file that makes others trust it.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub file: PathBuf,
    _folder: TempDir,
}

#[expect(clippy::new_without_default, reason = "it writes a file")]
impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let folder = tempfile::tempdir().unwrap();
        // No two authorities have one name.
        params.distinguished_name.push(DnType::CommonName, folder.path().to_string_lossy().into_owned());
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
        Self { issuer: Issuer::new(params, key), file, _folder: folder }
    }

    /// TLS for `name` on a port of its own, in front of the plain server on `port`.
    pub async fn front(&self, name: &str, port: u16) -> TlsFront {
        self.front_until(name, port, 2999).await
    }

    /// As above, with a certificate that ends with the year before `year`.
    pub async fn front_until(&self, name: &str, port: u16, year: i32) -> TlsFront {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(1990, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let own_port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(mut outside) = acceptor.accept(socket).await else { return };
                    let mut inside = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                });
            }
        });
        TlsFront { port: own_port, _task: TaskGuard(task.abort_handle()) }
    }
}

pub struct TlsFront {
    pub port: u16,
    _task: TaskGuard,
}

/// What a proxy has seen.
#[derive(Default)]
pub struct TunnelTraffic {
    /// The head of each request for a tunnel.
    pub heads: Vec<String>,
    /// Every byte that went through, in either direction.
    pub bytes: Vec<u8>,
}

pub struct Tunnels {
    pub port: u16,
    seen: Arc<Mutex<TunnelTraffic>>,
    _task: TaskGuard,
}

impl Tunnels {
    /// Makes a tunnel to `port` on this machine, wherever one is asked for; with `None` it refuses.
    pub async fn start(port: Option<u16>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let own_port = listener.local_addr().unwrap().port();
        let seen = Arc::<Mutex<TunnelTraffic>>::default();
        let told = seen.clone();
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(tunnel(socket, port, told.clone()));
            }
        });
        Self { port: own_port, seen, _task: TaskGuard(task.abort_handle()) }
    }

    pub fn seen(&self) -> std::sync::MutexGuard<'_, TunnelTraffic> {
        self.seen.lock().unwrap()
    }
}

async fn tunnel(mut socket: TcpStream, port: Option<u16>, seen: Arc<Mutex<TunnelTraffic>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    seen.lock().unwrap().heads.push(String::from_utf8_lossy(&head).into_owned());
    let Some(port) = port else {
        let _ = socket.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n").await;
        return;
    };
    let inside = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    let (from_client, to_client) = socket.into_split();
    let (from_server, to_server) = inside.into_split();
    tokio::join!(watched(from_client, to_server, &seen), watched(from_server, to_client, &seen));
}

async fn watched(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, seen: &Mutex<TunnelTraffic>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        seen.lock().unwrap().bytes.extend_from_slice(&buffer[..length]);
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}
