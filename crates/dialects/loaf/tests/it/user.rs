//! The user of a story: accounts, keys, skills and images as a test fills them in. Answers what the engine asks of its port
//! and what the dialect asks of its service.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use dialect_loaf::{KeyTried, Listed, LoadedImage, LoafAnswer, LoafLimits, LoafOwn, SkillList, account};
use host::OwnCalls;
use tokio::sync::watch;
use vocab::{
    AccountInfo, AccountList, AccountName, Accounts, Fault, FaultKind, Later, SignInMode, SignInStep, SignInTold,
    SignedIn,
};

/// Accounts of which these are ready.
pub(crate) fn ready(names: &[AccountName]) -> AccountList {
    let info = |name: &AccountName| AccountInfo { name: *name, is_ready: true, id: None, profile: None };
    AccountList { accounts: names.iter().map(info).collect(), has_model: !names.is_empty() }
}

pub(crate) struct Given {
    pub(crate) accounts: Result<AccountList, Fault>,
    /// The steps of the next sign-in and its end; `None` waits until sign-ins are cancelled.
    pub(crate) sign_in: (Vec<SignInStep>, Option<Result<SignedIn, Fault>>),
    pub(crate) key_set: Result<KeyTried, Fault>,
    pub(crate) limits: Result<LoafLimits, Fault>,
    pub(crate) routes: Result<Vec<Arc<str>>, Fault>,
    pub(crate) forget: Result<(), Fault>,
    pub(crate) skills: SkillList,
    /// By the names that users give.
    pub(crate) images: HashMap<String, Result<LoadedImage, Fault>>,
    /// How long reading an image takes.
    pub(crate) image_ms: u64,
}

/// Answers with what it is given, and writes down what was wanted of it.
pub(crate) struct User {
    given: Mutex<Given>,
    wanted: Mutex<Vec<String>>,
    /// What was to be kept, in order.
    pub(crate) kept: Mutex<Vec<(String, String)>>,
    cancelled: watch::Sender<Option<String>>,
}

impl Default for User {
    fn default() -> Self {
        let given = Given {
            accounts: Ok(ready(&[account::OPENAI])),
            sign_in: (vec![SignInStep::Started], None),
            key_set: Ok(KeyTried { models: 0, listed: Listed::Fallback }),
            limits: Ok(LoafLimits::default()),
            routes: Ok(Vec::new()),
            forget: Ok(()),
            skills: SkillList::default(),
            images: HashMap::new(),
            image_ms: 0,
        };
        let (given, wanted, kept) = (Mutex::new(given), Mutex::default(), Mutex::default());
        Self { given, wanted, kept, cancelled: watch::Sender::new(None) }
    }
}

impl User {
    fn given(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap()
    }
    pub(crate) fn fill(&self, fill: impl FnOnce(&mut Given)) {
        fill(&mut self.given());
    }
    fn note(&self, what: String) {
        self.wanted.lock().unwrap().push(what);
    }
    /// Everything that was wanted since the last look.
    pub(crate) fn take_wanted(&self) -> Vec<String> {
        std::mem::take(&mut self.wanted.lock().unwrap())
    }

    fn set_key(&self, key: AccountName, is_kept: bool) -> Result<KeyTried, Fault> {
        self.note(format!("{} {key}", if is_kept { "keep" } else { "remove" }));
        let set = self.given().key_set.clone()?;
        if let Ok(list) = &mut self.given().accounts {
            list.accounts.retain(|account| account.name != key);
            list.accounts.extend(ready(&[key]).accounts.into_iter().filter(|_| is_kept));
        }
        Ok(set)
    }
}

impl Accounts for User {
    fn list(&self) -> Later<'_, Result<AccountList, Fault>> {
        let accounts = self.given().accounts.clone();
        Box::pin(async { accounts })
    }

    fn sign_in(
        &self,
        account: AccountName,
        mode: SignInMode,
        originator: Option<Arc<str>>,
        told: SignInTold,
    ) -> Later<'static, Result<SignedIn, Fault>> {
        self.note(format!("sign in {account} {mode:?} {originator:?}"));
        let (steps, end) = self.given().sign_in.clone();
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

    fn forget(&self) -> Later<'_, Result<(), Fault>> {
        let forgotten = self.given().forget.clone();
        if forgotten.is_ok() {
            self.given().accounts = Ok(AccountList::default());
        }
        Box::pin(async { forgotten })
    }
}

/// The service that answers the dialect's own calls.
pub(crate) struct Service(pub(crate) Arc<User>);

impl OwnCalls<LoafOwn> for Service {
    fn call(&self, call: LoafOwn) -> Later<'static, Result<LoafAnswer, Fault>> {
        let user = &self.0;
        let answer = match call {
            LoafOwn::SetKey { account, value } => user.set_key(account, value.is_some()).map(LoafAnswer::KeySet),
            LoafOwn::Limits => user.given().limits.clone().map(|limits| LoafAnswer::Limits(Box::new(limits))),
            LoafOwn::Routes { model } => {
                user.note(format!("routes of {model}"));
                user.given().routes.clone().map(LoafAnswer::Routes)
            }
            LoafOwn::Route { to } => {
                user.note(format!("route {to:?}"));
                Ok(LoafAnswer::Done)
            }
            LoafOwn::Skills => Ok(LoafAnswer::Skills(Box::new(user.given().skills.clone()))),
            LoafOwn::Image { name } => {
                let missing = || Err(Fault::new(FaultKind::NotFound, format!("file not found: {name}")));
                let given = user.given();
                let (image, ms) = (given.images.get(&*name).cloned().unwrap_or_else(missing), given.image_ms);
                return Box::pin(async move {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    image.map(|image| LoafAnswer::Image(Box::new(image)))
                });
            }
            LoafOwn::Prefer { key, value } => {
                user.kept.lock().unwrap().push((key.to_owned(), value.to_string()));
                Ok(LoafAnswer::Done)
            }
        };
        Box::pin(async { answer })
    }
}
