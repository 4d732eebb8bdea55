//! The whole program but its dialect: what is built from settings, driven by verbs, with a vendor on loopback.

use std::time::Duration;

use accounts::Account;
use engine::{Peer, Slow};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use vocab::{
    AccountList, AccountName, Body, Command, Delivery, DirectoryVerb, Event, Open, Part, Reply, SessionVerb,
    SignInMode, SignInStep, Tag, Target, Told, TurnEntry, Verb, Which,
};

use catalogue::Wanted;
use config::agent;

use super::super::*;
use super::vendor::FakeVendor;

/// Far longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A place for a setup, before it is built.
pub(super) struct SetupPlace {
    pub(super) vendor: FakeVendor,
    pub(super) home: TempDir,
    pub(super) setup: Setup,
}

impl SetupPlace {
    pub(super) async fn new(wanted: Wanted) -> Self {
        let (vendor, home) = (FakeVendor::start().await, tempfile::tempdir().unwrap());
        let mut setup = super::setup(wanted);
        setup.models.described = agent::models(&home.path().join("nothing"), &|_| None);
        setup.models.known_models = Vec::new();
        setup.settings.workspace = home.path().to_owned();
        (setup.data, setup.config) = (home.path().join("data"), home.path().join("config"));
        let accounts = &mut setup.models.accounts;
        let at = |path: &str| Some(format!("{}{path}", vendor.url));
        accounts.openai_issuer = at("/openai");
        accounts.openai_url = at("/chatgpt/v1");
        accounts.openai_usage_url = at("/usage");
        accounts.antigravity_issuer = at("/google");
        accounts.antigravity_url = at("/antigravity");
        accounts.antigravity_client_id = Some("client".into());
        accounts.openrouter_url = at("/router/v1");
        accounts.oauth_port = Some(0);
        Self { vendor, home, setup }
    }

    /// What earlier runs have left in the file of credentials.
    pub(super) fn stored(self, value: Value) -> Self {
        let directory = self.setup.config.join("auth");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("credentials.json"), value.to_string()).unwrap();
        self
    }

    pub(super) async fn build(self) -> Result<(Wired, FakeVendor, TempDir), Fault> {
        Ok((build(self.setup).await?, self.vendor, self.home))
    }

    pub(super) async fn stage(self) -> BuiltStage {
        let (wired, vendor, home) = self.build().await.unwrap();
        let peer = wired.engine.connect(Slow::Wait);
        BuiltStage { wired, vendor, home, peer, tag: 0, waiting: Vec::new(), open: false }
    }
}

/// Signed in to OpenAI.
pub(super) fn login(access: &str) -> Value {
    let openai = json!({ "access_token": access, "refresh_token": "CANARY-refresh-1", "login_method": "browser" });
    json!({ "version": 1, "openai": openai })
}

pub(super) struct BuiltStage {
    pub(super) wired: Wired,
    pub(super) vendor: FakeVendor,
    pub(super) home: TempDir,
    peer: Peer,
    tag: u64,
    waiting: Vec<Event>,
    open: bool,
}

impl BuiltStage {
    pub(super) async fn send(&mut self, verb: Verb) -> Tag {
        self.tag += 1;
        let tag = Tag(self.tag);
        self.peer.submit(Command::of(tag, Target::Current, verb)).await;
        tag
    }

    /// The next event that fits; the others wait for whoever wants them.
    pub(super) async fn until<T>(&mut self, mut fits: impl FnMut(&Event) -> Option<T>) -> T {
        let mut seen = 0;
        loop {
            while seen < self.waiting.len() {
                if let Some(found) = fits(&self.waiting[seen]) {
                    self.waiting.remove(seen);
                    return found;
                }
                seen += 1;
            }
            let mut told: Vec<Told> = Vec::new();
            let more = tokio::time::timeout(PATIENCE, self.peer.events(&mut told));
            assert!(more.await.expect("an event in time"), "the engine is gone");
            self.waiting.extend(told.into_iter().map(|told| told.event));
        }
    }

    pub(super) async fn reply(&mut self, wanted: Tag) -> Result<Reply, Fault> {
        let fits = |event: &Event| match event {
            Event::Reply { tag, result } if *tag == wanted => Some(result.clone()),
            _ => None,
        };
        self.until(fits).await
    }

    pub(super) async fn ask(&mut self, verb: Verb) -> Result<Reply, Fault> {
        let tag = self.send(verb).await;
        self.reply(tag).await
    }

    pub(super) async fn step(&mut self, of: Tag) -> SignInStep {
        let fits = |event: &Event| match event {
            Event::SignIn { tag, step, .. } if *tag == of => Some(step.clone()),
            _ => None,
        };
        self.until(fits).await
    }

    pub(super) async fn sign_in(&mut self, account: Account, mode: SignInMode) -> Tag {
        let tag = self
            .send(Verb::Directory(DirectoryVerb::SignIn {
                account: account.known_as(),
                mode,
                originator: Some("tests".into()),
            }))
            .await;
        assert_eq!(self.step(tag).await, SignInStep::Started);
        tag
    }

    pub(super) async fn accounts(&mut self) -> AccountList {
        match self.ask(Verb::Directory(DirectoryVerb::Accounts)).await.unwrap() {
            Reply::Accounts(accounts) => *accounts,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn is_ready(&mut self, name: &'static str) -> bool {
        self.accounts().await.is_ready(AccountName::new(name))
    }

    pub(super) async fn models(&mut self) -> Vec<vocab::ModelInfo> {
        match self.ask(Verb::Directory(DirectoryVerb::Models)).await.unwrap() {
            Reply::Models(models) => models,
            other => panic!("{other:?}"),
        }
    }

    /// `PROVIDER SLUG` of everything that is offered.
    pub(super) async fn offered(&mut self) -> Vec<String> {
        let models = self.models().await;
        models.iter().map(|model| format!("{} {}", model.provider, model.slug)).collect()
    }

    /// What the model says to a prompt, or why not.
    pub(super) async fn prompt(&mut self, model: &str) -> String {
        if !self.open {
            let open = Open { model: Some(model.into()), ..Open::new(Which::New) };
            self.ask(Verb::Open(open)).await.unwrap();
            self.open = true;
        }
        let parts = vec![Part::text("hello")];
        if let Err(fault) =
            self.ask(Verb::Session(SessionVerb::Prompt { parts, delivery: Delivery::RejectIfBusy })).await
        {
            return format!("failed: {}", fault.message);
        }
        let ended = |event: &Event| match event {
            Event::Logged(entry) => match &entry.body {
                Body::Turn(TurnEntry::Ended(end)) => Some(end.fault.clone()),
                _ => None,
            },
            _ => None,
        };
        let fault = self.until(ended).await;
        let text = |event: Event| match event {
            Event::Logged(entry) => match &entry.body {
                Body::Assistant { message, .. } => Some(message.text()),
                _ => None,
            },
            _ => None,
        };
        let said: String = self.waiting.drain(..).filter_map(text).collect();
        fault.map_or(said, |fault| format!("failed: {}", fault.message))
    }
}

/// A value of a query, without escapes.
pub(super) fn value(url: &str, name: &str) -> String {
    let query = url.split_once('?').unwrap().1;
    let text = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).unwrap();
    text.replace("%3A", ":").replace("%2F", "/")
}

/// Plays the browser that comes back from this page.
pub(super) async fn come_back(url: &str, query: &str) -> String {
    let redirect = value(url, "redirect_uri");
    let (host, path) = redirect.trim_start_matches("http://").split_once('/').unwrap();
    let port: u16 = host.split(':').nth(1).unwrap().parse().unwrap();
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("GET /{path}?{query}&state={} HTTP/1.1\r\nhost: {host}\r\n\r\n", value(url, "state"));
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}
