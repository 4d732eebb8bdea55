//! A stage for one test: an issuer, a directory, a clock that is turned by hand, and a browser.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accounts::Account;
use accounts::{AccountsConfig, Auth, Environment, Issuer, Timer};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use vocab::{Clock, Fault, Later, SignInMode, SignInStep, SignedIn};

use crate::issuer::{IssuerReply, TestIssuer};

pub(crate) const NOW_MS: i64 = 1_700_000_000_000;
pub(crate) const TOKEN_PATH: &str = "/oauth/token";
pub(crate) const START_PATH: &str = "/api/accounts/deviceauth/usercode";
pub(crate) const POLL_PATH: &str = "/api/accounts/deviceauth/token";

/// A clock that only pauses move on; it remembers them.
pub(crate) struct HandTimer {
    now_ms: AtomicI64,
    pub(crate) pauses: Mutex<Vec<u64>>,
    /// Then a pause never ends.
    pub(crate) stopped: AtomicBool,
}

impl HandTimer {
    pub(crate) fn advance(&self, ms: i64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }
}
impl Clock for HandTimer {
    fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst)
    }
}
impl Timer for HandTimer {
    fn sleep(&self, pause: Duration) -> Later<'static, ()> {
        self.pauses.lock().unwrap().push(pause.as_secs());
        self.advance(pause.as_millis() as i64);
        if self.stopped.load(Ordering::SeqCst) {
            Box::pin(std::future::pending())
        } else {
            Box::pin(tokio::task::yield_now())
        }
    }
}

pub(crate) struct AccountsStage {
    pub(crate) issuer: TestIssuer,
    pub(crate) home: TempDir,
    pub(crate) timer: Arc<HandTimer>,
    pub(crate) auth: Auth,
}

/// An environment with a screen, so that `auto` means the browser.
pub(crate) fn environment(names: &'static [&'static str]) -> Environment {
    Environment(Arc::new(move |name| names.contains(&name).then(|| "1".to_owned())))
}

pub(crate) fn config(url: &str) -> AccountsConfig {
    let mut config = AccountsConfig { display_matters: true, ..AccountsConfig::vendors(environment(&["DISPLAY"])) };
    config.openai = Issuer::openai(url);
    config.openai.redirect.ports = vec![own_port()];
    config.antigravity = Issuer::google(url, url, url);
    config.antigravity.client_id = "google-client".into();
    config.antigravity.redirect.ports = vec![0];
    config.openai_usage_url = accounts::usage_url(url);
    config.antigravity_url = url.into();
    config.limits.request = Duration::from_secs(10);
    config
}

impl AccountsStage {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut AccountsConfig)) -> Self {
        let issuer = TestIssuer::start().await;
        let mut config = config(&issuer.url);
        change(&mut config);
        let home = tempfile::tempdir().unwrap();
        let timer = Arc::new(HandTimer {
            now_ms: AtomicI64::new(NOW_MS),
            pauses: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let auth = Auth::new(config, &home.path().join("auth"), timer.clone());
        Self { issuer, home, timer, auth }
    }

    pub(crate) fn directory(&self) -> std::path::PathBuf {
        self.home.path().join("auth")
    }

    pub(crate) fn saved(&self) -> Value {
        saved(&self.directory())
    }

    /// Puts a sign-in to OpenAI into the file, as a flow would have left it.
    pub(crate) fn sign_in(&self, access: &str, refresh: Option<&str>, expires_at_ms: Option<i64>) {
        let record = json!({ "access_token": access, "refresh_token": refresh, "expires_at_ms": expires_at_ms,
                             "login_method": "browser" });
        std::fs::create_dir_all(self.directory()).unwrap();
        let text = json!({ "version": 1, "openai": record }).to_string();
        std::fs::write(self.directory().join("credentials.json"), text).unwrap();
    }

    pub(crate) fn connect(&self, account: Account, mode: SignInMode) -> FlowRun {
        let (sender, events) = mpsc::unbounded_channel();
        let auth = self.auth.clone();
        let task = tokio::spawn(async move {
            let mut tell = move |event| sender.send(event).unwrap_or(());
            auth.connect(account, mode, Some("tests"), &mut tell).await
        });
        FlowRun { events, task }
    }
}

pub(crate) fn saved(directory: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(directory.join("credentials.json")).unwrap()).unwrap()
}

/// A flow somewhere on its way.
pub(crate) struct FlowRun {
    pub(crate) events: mpsc::UnboundedReceiver<SignInStep>,
    pub(crate) task: JoinHandle<Result<SignedIn, Fault>>,
}

impl FlowRun {
    pub(crate) async fn next(&mut self) -> SignInStep {
        let event = tokio::time::timeout(Duration::from_secs(10), self.events.recv());
        event.await.expect("an event in time").expect("the flow goes on")
    }

    /// Reads up to the URL of the browser flow.
    pub(crate) async fn url(&mut self) -> SignInPage {
        assert_eq!(self.next().await, SignInStep::Started);
        let SignInStep::Url(url) = self.next().await else { panic!("not a URL") };
        SignInPage { url }
    }

    pub(crate) async fn end(&mut self) -> Result<SignedIn, Fault> {
        let task = tokio::time::timeout(Duration::from_secs(10), &mut self.task);
        task.await.expect("an end in time").unwrap()
    }

    /// The end and the last event, which must agree; nothing comes after it.
    pub(crate) async fn failed(&mut self) -> Fault {
        let fault = self.end().await.expect_err("it fails");
        let mut last = None;
        while let Some(event) = self.events.recv().await {
            last = Some(event);
        }
        assert_eq!(last, Some(SignInStep::Failed { message: fault.message.clone() }));
        fault
    }
}

/// What the user got to open.
pub(crate) struct SignInPage {
    pub(crate) url: String,
}

impl SignInPage {
    pub(crate) fn value(&self, name: &str) -> String {
        query_value(self.url.split_once('?').unwrap().1, name).unwrap_or_default()
    }
    pub(crate) fn port(&self) -> u16 {
        self.value("redirect_uri").split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap()
    }
    pub(crate) fn path(&self) -> String {
        let uri = self.value("redirect_uri");
        uri[uri.find(&self.port().to_string()).unwrap() + self.port().to_string().len()..].to_owned()
    }
    /// What the browser sends when the issuer sends it back.
    pub(crate) async fn back(&self, query: &str) -> (u16, String) {
        get(self.port(), &format!("{}?{query}", self.path())).await
    }
    pub(crate) async fn back_with_code(&self, code: &str) -> (u16, String) {
        self.back(&format!("code={code}&state={}", self.value("state"))).await
    }
}

pub(crate) async fn get(port: u16, target: &str) -> (u16, String) {
    raw(port, &format!("GET {target} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await
}

/// Status and the whole answer; status 0 when there was none.
pub(crate) async fn raw(port: u16, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut answer));
    let _ = read.await.expect("an answer in time");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    (answer.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0), answer)
}

pub(crate) fn query_value(query: &str, name: &str) -> Option<String> {
    let pair = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    let mut bytes = Vec::new();
    let mut rest = pair.as_bytes();
    while let Some((byte, more)) = rest.split_first() {
        rest = more;
        if *byte == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&rest[..2]).unwrap(), 16).unwrap());
            rest = &rest[2..];
        } else {
            bytes.push(*byte);
        }
    }
    Some(String::from_utf8(bytes).unwrap())
}

pub(crate) fn jwt(payload: Value) -> String {
    format!("e30.{}.signature", URL_SAFE_NO_PAD.encode(payload.to_string()))
}

/// Tokens as OpenAI gives them.
pub(crate) fn granted(access: &str, refresh: &str) -> IssuerReply {
    let id = jwt(json!({ "https://api.openai.com/auth": { "chatgpt_account_id": "acct-7" } }));
    IssuerReply::json(
        200,
        json!({ "access_token": access, "refresh_token": refresh, "id_token": id, "expires_in": 3600 }),
    )
}

/// A port that nobody gets by chance: below those the system hands out, so that "free again" means what it says.
pub(crate) fn own_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = 10_000 + (std::process::id() % 200) as u16 * 100;
    (0..1000)
        .map(|_| base + NEXT.fetch_add(1, Ordering::SeqCst) % 2000)
        .find(|port| is_free(*port))
        .expect("some port is free")
}

pub(crate) fn is_free(port: u16) -> bool {
    std::net::TcpListener::bind(("127.0.0.1", port)).is_ok()
}
