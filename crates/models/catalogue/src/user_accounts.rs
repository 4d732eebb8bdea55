//! The user's accounts and keys: what the engine asks of its port, and what only commands and the service of a dialect ask.

use std::sync::Arc;
use std::time::Duration;

use accounts::{Account, Key, ModelLimit, OpenAiLimits};
use vocab::{
    AccountInfo, AccountList, AccountName, Accounts, Fault, FaultKind, Later, Profile, Secret, SignInMode, SignInTold,
    SignedIn,
};

use crate::account_keys::exa_key;
use crate::{AccountModels, Catalogue, KeySet, ModelSettings, UserKey, is_built_in};

/// How long a provider may take to say what a new key is good for; then the key counts without that.
const KEY_TIME_MAX: Duration = Duration::from_secs(10);

pub struct UserAccounts {
    models: Arc<AccountModels>,
    exa: Arc<UserKey>,
    /// A server or a key of the environment stands for OpenAI.
    openai_stands: bool,
    catalogue: Arc<Catalogue>,
    /// The model to start with is built in, and somebody asked for it.
    built_in: bool,
    guard: fn(),
}

/// How much of each account is used up; `None` where nobody is signed in.
pub struct UsedUp {
    pub openai: Option<Result<OpenAiLimits, Fault>>,
    pub antigravity: Option<Result<Vec<ModelLimit>, Fault>>,
}

impl Accounts for UserAccounts {
    fn list(&self) -> Later<'_, Result<AccountList, Fault>> {
        Box::pin(async {
            let stored = self.models.auth().status().await?;
            let has_model = stored.has_model() || self.built_in || self.catalogue.has_any().await;
            let openai = stored.openai || self.openai_stands;
            let openrouter = stored.openrouter || self.models.has_openrouter();
            let exa = stored.exa || self.exa.is_there();
            let accounts = vec![
                info(Account::OpenAi.known_as(), openai, stored.openai_account_id, None),
                info(Account::Antigravity.known_as(), stored.antigravity, None, stored.antigravity_profile),
                info(Key::OpenRouter.known_as(), openrouter, None, None),
                info(Key::Exa.known_as(), exa, None, None),
            ];
            Ok(AccountList { accounts, has_model })
        })
    }

    fn sign_in(
        &self,
        account: AccountName,
        mode: SignInMode,
        originator: Option<Arc<str>>,
        told: SignInTold,
    ) -> Later<'static, Result<SignedIn, Fault>> {
        let (auth, guard) = (self.models.auth().clone(), self.guard);
        Box::pin(async move {
            let flowless = || Fault::new(FaultKind::Unsupported, format!("there is no sign-in to {account}"));
            let account = Account::of(account).ok_or_else(flowless)?;
            // From now on there are tokens in our memory.
            guard();
            let mut tell = |step| told(step);
            auth.connect(account, mode, originator.as_deref(), &mut tell).await
        })
    }

    fn cancel_sign_ins(&self, why: &str) {
        self.models.auth().cancel_flows(why);
    }

    fn forget(&self) -> Later<'_, Result<(), Fault>> {
        Box::pin(async {
            self.models.route(None);
            self.models.auth().forget_everything().await
        })
    }
}

fn info(name: AccountName, is_ready: bool, id: Option<String>, profile: Option<Profile>) -> AccountInfo {
    AccountInfo { name, is_ready, id, profile }
}

impl UserAccounts {
    /// `guard` is called before a secret comes into our memory.
    pub fn new(settings: &ModelSettings, catalogue: Arc<Catalogue>, models: Arc<AccountModels>, guard: fn()) -> Self {
        let exa = Arc::new(exa_key(&settings.accounts, models.auth()));
        let asked = settings.wanted.model.as_deref();
        let built_in = asked.is_some_and(|asked| is_built_in(asked.trim()));
        Self { models, exa, openai_stands: settings.openai_stands(), catalogue, built_in, guard }
    }

    /// The key that the web is searched with.
    pub fn exa(&self) -> Arc<UserKey> {
        self.exa.clone()
    }

    /// `None` removes it.
    pub async fn set_key(&self, key: Key, value: Option<Secret>) -> Result<KeySet, Fault> {
        (self.guard)();
        let is_set = value.is_some();
        self.models.auth().set_key(key, value).await?;
        Ok(match key {
            Key::OpenRouter if is_set => self.models.try_key(KEY_TIME_MAX).await,
            Key::OpenRouter | Key::Exa => KeySet::UNTRIED,
        })
    }

    /// Forgets what is kept of one account.
    pub async fn sign_out(&self, account: Account) -> Result<(), Fault> {
        self.models.auth().sign_out(account).await
    }

    pub async fn limits(&self) -> Result<UsedUp, Fault> {
        let auth = self.models.auth();
        let stored = auth.status().await?;
        if !stored.openai && !stored.antigravity {
            return Err(Fault::new(FaultKind::Auth, "limits requires at least one oauth provider"));
        }
        let openai = async { if stored.openai { Some(auth.openai_limits().await) } else { None } };
        let antigravity = async { if stored.antigravity { Some(auth.antigravity_limits().await) } else { None } };
        let (openai, antigravity) = tokio::join!(openai, antigravity);
        Ok(UsedUp { openai, antigravity })
    }

    /// Which servers OpenRouter can send a model's requests to, by their short names, sorted.
    pub async fn routes(&self, model: &str) -> Result<Vec<Arc<str>>, Fault> {
        self.models.routes(model.trim()).await
    }

    /// All its models go through this route from now on; `None`: OpenRouter decides.
    pub fn route(&self, to: Option<Arc<str>>) {
        self.models.route(to);
    }
}
