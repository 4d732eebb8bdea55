//! `login`, `logout`, `accounts`: who pays for the models, from a terminal. Keys come from stdin and never from the command
//! line, where every other program could read them; nothing secret is ever printed.

use std::sync::Arc;

use accounts::{Account, Key};
use vocab::{AccountInfo, AccountList, Accounts, Fault, FaultKind, Mode, Secret, SignInMode, SignInStep};

use crate::args::{self, SignInTo};
use crate::compose::{self, Wired};
use crate::print::say;
use crate::setup;
use catalogue::keyed_vendor;

pub(crate) fn login(args: &args::LoginArgs) -> anyhow::Result<u8> {
    let key = match args.account {
        SignInTo::Openai => return flow(Account::OpenAi, args.device),
        SignInTo::Antigravity => return flow(Account::Antigravity, args.device),
        SignInTo::Openrouter => Key::OpenRouter,
        SignInTo::Exa => Key::Exa,
        other => return Err(by_key(other).into()),
    };
    if args.device {
        let fault = Fault::new(FaultKind::Invalid, "--device is for accounts; this is a key");
        return Err(fault.hint("leave it out, and give the key on stdin").into());
    }
    let secret = read_key(&name_of(args.account))?;
    with(async |wired| {
        let set = wired.accounts.set_key(key, Some(secret)).await?;
        match key {
            Key::OpenRouter => say(&format!("The key is kept; it gives access to {} models.\n", set.models))?,
            Key::Exa => say("The key is kept; the tool web_search uses it.\n")?,
        }
        Ok(0)
    })
}

fn flow(account: Account, device: bool) -> anyhow::Result<u8> {
    let mode = if device { SignInMode::DeviceCode } else { SignInMode::Auto };
    with(async |wired| {
        // Nobody is left to tell when stdout is gone; the flow goes on.
        let tell = Arc::new(|text: &str| drop(say(&format!("{text}\n"))));
        let done = sign_in(&*wired.ports.accounts, account, mode, tell).await?;
        say(&format!("{done}\n"))?;
        Ok(0)
    })
}

/// Runs a sign-in and tells a person what to do; the last line says who is signed in.
pub(crate) async fn sign_in(
    accounts: &dyn Accounts,
    account: Account,
    mode: SignInMode,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
) -> Result<String, Fault> {
    let told = Arc::new(move |step: SignInStep| match step {
        SignInStep::Url(url) => tell(&format!("Open this address to sign in:\n\n  {url}\n")),
        SignInStep::DeviceCode { user_code, expires_in_seconds, .. } => {
            tell(&format!("and type the code {user_code} there, within {} minutes.", expires_in_seconds / 60));
        }
        SignInStep::Started | SignInStep::Completed(_) | SignInStep::Failed { .. } => {}
    });
    let done = accounts.sign_in(account.known_as(), mode, None, told).await?;
    let who = done.profile.map(|profile| profile.email).or(done.account_id);
    Ok(match who {
        Some(who) => format!("Signed in to {} as {who}.", account.name()),
        None => format!("Signed in to {}.", account.name()),
    })
}

/// A vendor that knows keys and no sign-ins.
fn by_key(account: SignInTo) -> Fault {
    let name = name_of(account);
    let variables: Vec<&str> =
        keyed_vendor(&name).iter().flat_map(|vendor| vendor.keys).map(|(name, _)| *name).collect();
    let variable = variables.first().copied().unwrap_or_default();
    let fault = Fault::new(FaultKind::Unsupported, format!("there is no sign-in to {name}: it takes a key"));
    let fault = fault.hint(format!("set {}: `export {variable}=...`", variables.join(" or ")));
    fault.hint("docs/models.md names other places for it, such as a password manager")
}

fn name_of(account: SignInTo) -> String {
    clap::ValueEnum::to_possible_value(&account).map(|it| it.get_name().to_owned()).unwrap_or_default()
}

pub(crate) fn logout(args: &args::LogoutArgs) -> anyhow::Result<u8> {
    let account = args.account;
    if let Some(fault) = account.filter(|it| is_elsewhere(*it)).map(by_key) {
        return Err(fault.into());
    }
    with(async |wired| {
        let accounts = &*wired.accounts;
        let name = match (account, args.all) {
            (_, true) => {
                accounts.forget().await?;
                say("Signed out; every token and key that was kept is gone.\n")?;
                return left(accounts, None).await;
            }
            (None, false) => return Err(unnamed(&accounts.list().await?).into()),
            (Some(account), false) => account,
        };
        match name {
            SignInTo::Openai => accounts.sign_out(Account::OpenAi).await?,
            SignInTo::Antigravity => accounts.sign_out(Account::Antigravity).await?,
            SignInTo::Openrouter => drop(accounts.set_key(Key::OpenRouter, None).await?),
            _ => drop(accounts.set_key(Key::Exa, None).await?),
        }
        say(&format!("Signed out of {}; what was kept for it is gone.\n", name_of(name)))?;
        left(accounts, Some(name)).await
    })
}

/// Nothing of it is ever kept here.
fn is_elsewhere(account: SignInTo) -> bool {
    !matches!(account, SignInTo::Openai | SignInTo::Antigravity | SignInTo::Openrouter | SignInTo::Exa)
}

/// The environment may still have what was forgotten here.
async fn left(accounts: &dyn Accounts, of: Option<SignInTo>) -> anyhow::Result<u8> {
    let is = |account: SignInTo| of.is_none_or(|of| of == account);
    let left = accounts.list().await?;
    let openai = left.is_ready(Account::OpenAi.known_as()) && is(SignInTo::Openai);
    let openrouter = left.is_ready(Key::OpenRouter.known_as()) && is(SignInTo::Openrouter);
    if openai || openrouter || (left.is_ready(Key::Exa.known_as()) && is(SignInTo::Exa)) {
        say("Keys of the environment still count.\n")?;
    }
    Ok(0)
}

fn unnamed(there: &AccountList) -> Fault {
    let ready = there.accounts.iter().filter(|account| account.is_ready);
    let names: Vec<&str> = ready.map(|account| account.name.as_str()).collect();
    let what = match names.is_empty() {
        true => "nothing is signed in".to_owned(),
        false => format!("signed in: {}", names.join(", ")),
    };
    Fault::new(FaultKind::Invalid, format!("which account? {what}"))
        .hint("`tillerman logout NAME`, or `tillerman logout --all` for all of them and every key")
}

pub(crate) fn accounts() -> anyhow::Result<u8> {
    with(async |wired| {
        say(&shown(&wired.ports.accounts.list().await?))?;
        Ok(0)
    })
}

fn shown(list: &AccountList) -> String {
    let row = |account: &AccountInfo| {
        let who = account.profile.as_ref().map(|profile| &profile.email).or(account.id.as_ref());
        let state = match (account.is_ready, who) {
            (true, Some(who)) => format!("yes ({who})"),
            (true, None) => "yes".to_owned(),
            (false, _) => "no".to_owned(),
        };
        format!("{:<12} {}\n", account.name.as_str(), dialect_terminal::clean(&state))
    };
    list.accounts.iter().map(row).collect()
}

/// Wired without a real model: whoever has to sign in first may have chosen one that is not there yet.
fn with(work: impl AsyncFnOnce(&Wired) -> anyhow::Result<u8>) -> anyhow::Result<u8> {
    let basics = args::Basics { model: Some("tour".into()), ..args::Basics::default() };
    let prepared = setup::prepare(&setup::in_project(&basics)?, Mode::Prompt)?;
    super::block_on(async {
        let wired = compose::build(prepared.setup).await?;
        work(&wired).await
    })?
}

/// From stdin: the command line is shown to every program of the machine.
fn read_key(account: &str) -> anyhow::Result<Secret> {
    let text = console::secret_line::read()?.ok_or_else(|| Fault::new(FaultKind::Cancelled, "nothing was changed"))?;
    if text.len() > console::secret_line::BYTES_MAX {
        return Err(Fault::new(FaultKind::Invalid, "this is too long for a key").into());
    }
    let nothing = || {
        let fault = Fault::new(FaultKind::Invalid, "no key was given");
        fault.hint(format!("type it, or pipe it: `tillerman login {account} < FILE`"))
    };
    Ok(Secret::new(text.trim()).ok_or_else(nothing)?)
}
