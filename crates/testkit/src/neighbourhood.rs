//! What stands around the sessions of a test: an account that is signed in, keys that are kept in memory, a sign-in that
//! is over as soon as it began or never, no skills. Every file of the workspace is the same picture.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use vocab::{
    Account, Accounts, Around, Fault, FaultKind, Image, Key, KeySet, Later, LimitWindow, Limits, LoginMethod,
    ModelSource, OpenAiLimits, Picture, Profile, Secret, SignInMode, SignInStep, SignInTold, SignedIn, Skills,
};

/// See the module. What it has can be looked at and changed by a test.
pub struct Neighbourhood {
    pub accounts: Mutex<Accounts>,
    pub skills: Mutex<Skills>,
    /// Why sign-ins that wait are to end.
    ended: watch::Sender<Option<String>>,
}

impl Default for Neighbourhood {
    fn default() -> Self {
        let directories = ["/people/u/.loaf/skills", "/people/u/.agents/skills"].map(PathBuf::from).to_vec();
        Self {
            accounts: Mutex::new(Accounts { openai: true, model: true, ..Accounts::default() }),
            skills: Mutex::new(Skills { directories, ..Skills::default() }),
            ended: watch::Sender::new(None),
        }
    }
}

impl Neighbourhood {
    fn change(&self, change: impl FnOnce(&mut Accounts)) {
        change(&mut self.accounts.lock().expect("no test panics while it holds this"));
    }
}

impl Around for Neighbourhood {
    fn accounts(&self) -> Later<'_, Result<Accounts, Fault>> {
        let accounts = self.accounts.lock().expect("no test panics while it holds this").clone();
        Box::pin(async { Ok(accounts) })
    }

    /// The browser comes back at once; a device code is never entered.
    fn sign_in(
        &self,
        account: Account,
        mode: SignInMode,
        _originator: Option<Arc<str>>,
        told: SignInTold,
    ) -> Later<'static, Result<SignedIn, Fault>> {
        told(SignInStep::Started);
        told(SignInStep::Url(format!("https://issuer.test/{}", account.name())));
        if mode != SignInMode::DeviceCode {
            let profile = Profile { email: "u@example.test".into(), name: "U".into(), picture: None };
            let signed_in = match account {
                Account::OpenAi => {
                    SignedIn { login_method: LoginMethod::Browser, account_id: Some("acct-1".into()), profile: None }
                }
                Account::Antigravity => {
                    SignedIn { login_method: LoginMethod::Browser, account_id: None, profile: Some(profile.clone()) }
                }
            };
            self.change(|accounts| match account {
                Account::OpenAi => accounts.openai = true,
                Account::Antigravity => {
                    accounts.antigravity = true;
                    accounts.antigravity_profile = Some(profile);
                }
            });
            told(SignInStep::Completed(signed_in.clone()));
            return Box::pin(async { Ok(signed_in) });
        }
        told(SignInStep::DeviceCode {
            verification_url: "https://issuer.test/device".into(),
            user_code: "AAAA-BBBB".into(),
            interval_seconds: 5,
            expires_in_seconds: 900,
        });
        let mut ended = self.ended.subscribe();
        Box::pin(async move {
            let why = ended.wait_for(Option::is_some).await.ok().and_then(|why| why.clone()).unwrap_or_default();
            told(SignInStep::Failed { message: why.clone() });
            Err(Fault::new(FaultKind::Cancelled, why))
        })
    }

    fn cancel_sign_ins(&self, why: &str) {
        self.ended.send_replace(Some(why.to_owned()));
    }

    fn set_key(&self, key: Key, value: Option<Secret>) -> Later<'_, Result<KeySet, Fault>> {
        self.change(|accounts| match key {
            Key::OpenRouter => accounts.openrouter = value.is_some(),
            Key::Exa => accounts.exa = value.is_some(),
        });
        Box::pin(async { Ok(KeySet { models: 0, source: ModelSource::Fallback }) })
    }

    fn limits(&self) -> Later<'_, Result<Limits, Fault>> {
        let window = LimitWindow { used_percent: 25.0, window_seconds: Some(18_000), resets_at: None };
        let openai = OpenAiLimits { plan: Some("plus".into()), primary: Some(window), secondary: None };
        Box::pin(async { Ok(Limits { openai: Some(Ok(openai)), antigravity: None }) })
    }

    fn routes(&self, _model: &str) -> Later<'_, Result<Vec<Arc<str>>, Fault>> {
        Box::pin(async { Ok(vec!["alpha".into(), "beta".into()]) })
    }

    fn forget(&self) -> Later<'_, Result<(), Fault>> {
        self.change(|accounts| *accounts = Accounts::default());
        Box::pin(async { Ok(()) })
    }

    fn skills(&self, _workspace: &Path) -> Later<'static, Skills> {
        let skills = self.skills.lock().expect("no test panics while it holds this").clone();
        Box::pin(async { skills })
    }

    fn picture(&self, base: &Path, name: &str) -> Later<'static, Result<Picture, Fault>> {
        let path = base.join(name);
        let is_there = path.is_file();
        let missing = Fault::new(FaultKind::NotFound, format!("file not found: {name}"));
        let image = Image { mime: "image/png".into(), base64: "iVBORw0KGgo=".into() };
        Box::pin(async move { if is_there { Ok(Picture { path, image, bytes: 8 }) } else { Err(missing) } })
    }
}
