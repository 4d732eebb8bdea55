//! Ports that behave the same every time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use vocab::{
    Account, Accounts, Archive, Around, Border, Chat, Clock, Exported, Fault, FaultKind, IdKind, Ids, Key, KeySet,
    Later, Limits, ModelInfo, ModelSource, Picture, Preferences, Provider, Secret, SessionId, SignInMode, SignInStep,
    SignInTold, SignedIn, Skills,
};

/// `s1`, `t1`, `t2`, `ask1` ..., or names that a test wants to read.
#[derive(Default)]
pub struct CountedIds {
    counts: Mutex<HashMap<IdKind, u64>>,
    /// Given out first, in order.
    chosen: Mutex<Vec<(IdKind, String)>>,
}

impl CountedIds {
    pub fn with_names(chosen: Vec<(IdKind, String)>) -> Self {
        Self { chosen: Mutex::new(chosen), ..Self::default() }
    }
}

impl Ids for CountedIds {
    fn mint(&self, kind: IdKind) -> String {
        let mut chosen = self.chosen.lock().expect("no test panics while it holds this");
        if let Some(at) = chosen.iter().position(|(of, _)| *of == kind) {
            return chosen.remove(at).1;
        }
        let mut counts = self.counts.lock().expect("no test panics while it holds this");
        let count = counts.entry(kind).or_default();
        *count += 1;
        let name = match kind {
            IdKind::Session => "s",
            IdKind::Turn => "t",
            IdKind::Call => "call",
            IdKind::Ask => "ask",
            IdKind::Item => "item",
        };
        format!("{name}{count}")
    }
}

/// One millisecond later each time somebody looks.
pub struct TickingClock(AtomicI64);

impl Default for TickingClock {
    fn default() -> Self {
        Self(AtomicI64::new(1_700_000_000_000))
    }
}

impl TickingClock {
    /// Somebody sets it, forwards or back.
    pub fn jump(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for TickingClock {
    fn now_ms(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Remembers what was saved.
#[derive(Default)]
pub struct Notebook(pub Mutex<Vec<(String, String)>>);

impl Preferences for Notebook {
    fn save(&self, key: &str, value: &str) -> Result<PathBuf, Fault> {
        self.0.lock().expect("no test panics while it holds this").push((key.into(), value.into()));
        Ok(PathBuf::from("config.toml"))
    }
}

/// Gives a provider's models other names, so that a script can play `mock/alpha`.
pub struct Renamed {
    pub inner: Arc<dyn Provider>,
    pub models: Vec<ModelInfo>,
    /// The inner slug that answers for all of them.
    pub plays: ModelInfo,
}

impl Provider for Renamed {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        self.models.iter().find(|model| &*model.slug == slug).cloned().ok_or_else(|| {
            let known: Vec<&str> = self.models.iter().map(|model| &*model.slug).collect();
            Fault::new(FaultKind::UnknownModel, format!("unknown model: {slug} (there is: {})", known.join(", ")))
        })
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async { Ok(self.models.clone()) })
    }
    fn chat(&self, _: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        self.inner.chat(&self.plays)
    }
}

/// No files around the session.
pub struct NoArchive;

impl Archive for NoArchive {
    fn export(&self, _: &SessionId, _: Option<&Path>) -> Later<'static, Result<Exported, Fault>> {
        Box::pin(async { Err(Fault::new(FaultKind::Unsupported, "no archive on this stage")) })
    }
    fn import(&self, file: &Path) -> Later<'static, Result<SessionId, Fault>> {
        let fault = Fault::new(FaultKind::NotFound, format!("no session file {}", file.display()));
        Box::pin(async { Err(fault) })
    }
    fn path_of(&self, session: &SessionId) -> PathBuf {
        PathBuf::from(format!("memory#{session}"))
    }
}

/// Takes everything over that a session file says.
pub struct OpenBorder {
    pub own: Arc<str>,
    pub here: PathBuf,
}

impl Border for OpenBorder {
    fn model(&self, _: &str) -> Result<(), String> {
        Ok(())
    }
    fn workspace(&self, named: &Path) -> Result<PathBuf, Fault> {
        Ok(named.to_owned())
    }
    fn own_model(&self) -> Arc<str> {
        self.own.clone()
    }
    fn here(&self) -> &Path {
        &self.here
    }
    fn note(&self, _: &str) {}
}

/// What stands around the sessions, as a test fills it in.
pub struct Given {
    pub accounts: Result<Accounts, Fault>,
    /// The steps of the next sign-in and its end; `None` waits until sign-ins are cancelled.
    pub sign_in: (Vec<SignInStep>, Option<Result<SignedIn, Fault>>),
    pub key_set: Result<KeySet, Fault>,
    pub limits: Result<Limits, Fault>,
    pub routes: Result<Vec<Arc<str>>, Fault>,
    pub forget: Result<(), Fault>,
    pub skills: Skills,
    /// By the names that users give.
    pub pictures: HashMap<String, Result<Picture, Fault>>,
    /// How long reading a picture takes.
    pub picture_ms: u64,
}

/// Answers with what it is given, and writes down what was wanted of it.
pub struct Filled {
    pub given: Mutex<Given>,
    pub wanted: Mutex<Vec<String>>,
    cancelled: watch::Sender<Option<String>>,
}

impl Default for Filled {
    fn default() -> Self {
        let given = Given {
            accounts: Ok(Accounts { openai: true, model: true, ..Accounts::default() }),
            sign_in: (vec![SignInStep::Started], None),
            key_set: Ok(KeySet { models: 0, source: ModelSource::Fallback }),
            limits: Ok(Limits::default()),
            routes: Ok(Vec::new()),
            forget: Ok(()),
            skills: Skills::default(),
            pictures: HashMap::new(),
            picture_ms: 0,
        };
        Self { given: Mutex::new(given), wanted: Mutex::default(), cancelled: watch::Sender::new(None) }
    }
}

impl Filled {
    pub fn fill(&self, fill: impl FnOnce(&mut Given)) {
        fill(&mut self.given.lock().expect("no test panics while it holds this"));
    }
    fn look<T>(&self, look: impl FnOnce(&Given) -> T) -> T {
        look(&self.given.lock().expect("no test panics while it holds this"))
    }
    fn note(&self, what: String) {
        self.wanted.lock().expect("no test panics while it holds this").push(what);
    }
    /// Everything that was wanted since the last look.
    pub fn take_wanted(&self) -> Vec<String> {
        std::mem::take(&mut self.wanted.lock().expect("no test panics while it holds this"))
    }
}

impl Around for Filled {
    fn accounts(&self) -> Later<'_, Result<Accounts, Fault>> {
        let accounts = self.look(|given| given.accounts.clone());
        Box::pin(async { accounts })
    }

    fn sign_in(
        &self,
        account: Account,
        mode: SignInMode,
        originator: Option<Arc<str>>,
        told: SignInTold,
    ) -> Later<'static, Result<SignedIn, Fault>> {
        self.note(format!("sign in {account:?} {mode:?} {originator:?}"));
        let (steps, end) = self.look(|given| given.sign_in.clone());
        let mut cancelled = self.cancelled.subscribe();
        Box::pin(async move {
            for step in steps {
                told(step);
                tokio::task::yield_now().await;
            }
            if let Some(end) = end {
                return end;
            }
            let why = cancelled.wait_for(Option::is_some).await.ok().and_then(|why| why.clone()).unwrap_or_default();
            told(SignInStep::Failed { message: why.clone() });
            Err(Fault::new(FaultKind::Cancelled, why))
        })
    }

    fn cancel_sign_ins(&self, why: &str) {
        self.cancelled.send_replace(Some(why.to_owned()));
    }

    fn set_key(&self, key: Key, value: Option<Secret>) -> Later<'_, Result<KeySet, Fault>> {
        let what = if value.is_some() { "keep" } else { "remove" };
        self.note(format!("{what} {key:?}"));
        let set = self.look(|given| given.key_set.clone());
        if set.is_ok() {
            self.fill(|given| {
                if let Ok(accounts) = &mut given.accounts {
                    match key {
                        Key::OpenRouter => accounts.openrouter = value.is_some(),
                        Key::Exa => accounts.exa = value.is_some(),
                    }
                }
            });
        }
        Box::pin(async { set })
    }

    fn limits(&self) -> Later<'_, Result<Limits, Fault>> {
        let limits = self.look(|given| given.limits.clone());
        Box::pin(async { limits })
    }

    fn routes(&self, model: &str) -> Later<'_, Result<Vec<Arc<str>>, Fault>> {
        self.note(format!("routes of {model}"));
        let routes = self.look(|given| given.routes.clone());
        Box::pin(async { routes })
    }

    fn route(&self, to: Option<Arc<str>>) {
        self.note(format!("route {to:?}"));
    }

    fn forget(&self) -> Later<'_, Result<(), Fault>> {
        let forgotten = self.look(|given| given.forget.clone());
        if forgotten.is_ok() {
            self.fill(|given| given.accounts = Ok(Accounts::default()));
        }
        Box::pin(async { forgotten })
    }

    fn skills(&self, _: &Path) -> Later<'static, Skills> {
        let skills = self.look(|given| given.skills.clone());
        Box::pin(async { skills })
    }

    fn picture(&self, _: &Path, name: &str) -> Later<'static, Result<Picture, Fault>> {
        let missing = || Err(Fault::new(FaultKind::NotFound, format!("file not found: {name}")));
        let (picture, wait) =
            self.look(|given| (given.pictures.get(name).cloned().unwrap_or_else(missing), given.picture_ms));
        Box::pin(async move {
            tokio::time::sleep(std::time::Duration::from_millis(wait)).await;
            picture
        })
    }
}
