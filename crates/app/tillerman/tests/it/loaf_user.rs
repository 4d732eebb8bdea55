//! The user of a `loaf` conversation on a stage: an account that is signed in, keys that are kept in memory, a sign-in that
//! is over as soon as it began or never, no skills. Every file of the workspace is the same image.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use dialect_loaf::{
    KeyTried, Listed, LoadedImage, LoafAnswer, LoafLimits, LoafOwn, PlanUse, SkillList, WindowUse, account,
};
use host::OwnCalls;
use tokio::sync::watch;
use vocab::{
    AccountInfo, AccountList, AccountName, Accounts, Fault, FaultKind, Image, Later, LoginMethod, Profile, SignInMode,
    SignInStep, SignInTold, SignedIn,
};

/// See the module.
pub(crate) struct LoafUser {
    accounts: Mutex<AccountList>,
    /// Why sign-ins that wait are to end.
    ended: watch::Sender<Option<String>>,
}

impl Default for LoafUser {
    fn default() -> Self {
        let user = Self { accounts: Mutex::default(), ended: watch::Sender::new(None) };
        user.set(account::OPENAI, true, None);
        user
    }
}

impl LoafUser {
    fn set(&self, name: AccountName, is_ready: bool, profile: Option<Profile>) {
        let mut list = self.accounts.lock().unwrap();
        list.accounts.retain(|account| account.name != name);
        list.accounts.push(AccountInfo { name, is_ready, id: None, profile });
        list.has_model = true;
    }

    /// Answers the dialect's own calls, for a session that works in this directory.
    pub(crate) fn service(self: &Arc<Self>, workspace: PathBuf) -> impl OwnCalls<LoafOwn> + use<> {
        let user = self.clone();
        move |call: LoafOwn| std::future::ready(user.answer(call, &workspace))
    }

    fn answer(&self, call: LoafOwn, workspace: &std::path::Path) -> Result<LoafAnswer, Fault> {
        Ok(match call {
            LoafOwn::SetKey { account, value } => {
                self.set(account, value.is_some(), None);
                LoafAnswer::KeySet(KeyTried { models: 0, listed: Listed::Fallback })
            }
            LoafOwn::Limits => {
                let window = WindowUse { used_percent: 25.0, window_seconds: Some(18_000), resets_at: None };
                let openai = PlanUse { plan: Some("plus".into()), primary: Some(window), secondary: None };
                LoafAnswer::Limits(Box::new(LoafLimits { openai: Some(Ok(openai)), antigravity: None }))
            }
            LoafOwn::Routes { .. } => LoafAnswer::Routes(vec!["alpha".into(), "beta".into()]),
            LoafOwn::Route { .. } | LoafOwn::Prefer { .. } => LoafAnswer::Done,
            LoafOwn::Skills => {
                let directories = ["/people/u/.loaf/skills", "/people/u/.agents/skills"].map(PathBuf::from).to_vec();
                LoafAnswer::Skills(Box::new(SkillList { directories, ..SkillList::default() }))
            }
            LoafOwn::Image { name } => {
                let path = workspace.join(&*name);
                if !path.is_file() {
                    return Err(Fault::new(FaultKind::NotFound, format!("file not found: {name}")));
                }
                let image = Image { mime: "image/png".into(), base64: "iVBORw0KGgo=".into() };
                LoafAnswer::Image(Box::new(LoadedImage { path: path.display().to_string().into(), image, bytes: 8 }))
            }
        })
    }
}

impl Accounts for LoafUser {
    fn list(&self) -> Later<'_, Result<AccountList, Fault>> {
        let accounts = self.accounts.lock().unwrap().clone();
        Box::pin(async { Ok(accounts) })
    }

    /// The browser comes back at once; a device code is never entered.
    fn sign_in(
        &self,
        account: AccountName,
        mode: SignInMode,
        _originator: Option<Arc<str>>,
        told: SignInTold,
    ) -> Later<'static, Result<SignedIn, Fault>> {
        told(SignInStep::Started);
        told(SignInStep::Url(format!("https://issuer.test/{account}")));
        if mode != SignInMode::DeviceCode {
            let has_profile = account == account::ANTIGRAVITY;
            let profile = Profile { email: "u@example.test".into(), name: "U".into(), image: None };
            let profile = has_profile.then_some(profile);
            let account_id = (!has_profile).then(|| "acct-1".to_owned());
            self.set(account, true, profile.clone());
            let signed_in = SignedIn { login_method: LoginMethod::Browser, account_id, profile };
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

    fn forget(&self) -> Later<'_, Result<(), Fault>> {
        *self.accounts.lock().unwrap() = AccountList::default();
        Box::pin(async { Ok(()) })
    }
}
