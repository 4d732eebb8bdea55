//! One sign-in from its start to its end: which way it goes, what is told, and that there is one per account.
//!
//! A newer flow of an account replaces the older one. No wire has a word for giving a flow up, so asking again is how a
//! user who closed the browser window starts over; refusing would lock them out until the time is up. The listener of a
//! flow lies in its flow and not in its future: whoever ends the flow closes it, polled or not.

use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use vocab::{Fault, FaultKind, LoginMethod, SignInMode, SignInStep, SignedIn};

use crate::Account;
use crate::auth::AccountsState;
use crate::browser::Browser;
use crate::credentials::Login;
use crate::tokens::{IssuerClient, Tokens};
use crate::{AccountsConfig, cloud_code, device};

pub(crate) type Tell<'a> = &'a mut (dyn FnMut(SignInStep) + Send);

impl AccountsState {
    pub(crate) async fn connect(
        &self,
        account: Account,
        mode: SignInMode,
        originator: Option<&str>,
        tell: Tell<'_>,
    ) -> Result<SignedIn, Fault> {
        let flow = self.flows.begin(account);
        tell(SignInStep::Started);
        let limit = self.config.limits.flow;
        let ended = flow.0.ended();
        let run = tokio::time::timeout(limit, self.run(account, mode, originator, &flow.0, tell));
        let result = tokio::select! {
            biased;
            why = ended => Err(why),
            done = run => done.unwrap_or_else(|_| {
                Err(Fault::new(FaultKind::Auth, format!("nobody signed in within {} s", limit.as_secs_f64())))
            }),
        };
        // Before anybody hears of the end: who starts again on hearing it finds the port free.
        drop(flow);
        match &result {
            Ok(connected) => tell(SignInStep::Completed(connected.clone())),
            Err(fault) => tell(SignInStep::Failed { message: fault.message.clone() }),
        }
        result
    }

    async fn run(
        &self,
        account: Account,
        mode: SignInMode,
        originator: Option<&str>,
        flow: &RunningFlow,
        tell: Tell<'_>,
    ) -> Result<SignedIn, Fault> {
        let issuer = self.config.issuer(account);
        issuer.check(account)?;
        let client = IssuerClient { config: &self.config, issuer, clock: &*self.timer };
        let by_device = match mode {
            SignInMode::Browser => false,
            SignInMode::DeviceCode => true,
            SignInMode::Auto => issuer.device.is_some() && no_browser_here(&self.config),
        };
        if by_device {
            match device::start(&client).await? {
                Some(started) => {
                    let tokens = device::wait(&client, &*self.timer, started, tell).await?;
                    return self.keep(account, &client, tokens, LoginMethod::DeviceCode).await;
                }
                None if mode == SignInMode::DeviceCode => {
                    let message = format!("{} offers no sign-in by device code here", account.name());
                    return Err(Fault::new(FaultKind::Unsupported, message).hint("sign in with the browser"));
                }
                None => {}
            }
        }
        let browser = Browser::open(&client, flow, originator, tell).await?;
        browser.finish(&client, |tokens| self.keep(account, &client, tokens, LoginMethod::Browser)).await
    }

    async fn keep(
        &self,
        account: Account,
        client: &IssuerClient<'_>,
        tokens: Tokens,
        method: LoginMethod,
    ) -> Result<SignedIn, Fault> {
        let profile = client.profile(&tokens).await;
        let account_id = tokens.account_id();
        let connected = SignedIn { login_method: method, account_id: account_id.clone(), profile: profile.clone() };
        let project = match account {
            Account::OpenAi => None,
            Account::Antigravity => cloud_code::project(&self.config, &tokens.access).await,
        };
        let login = Login { tokens, method, account_id, profile, project };
        self.file.update(move |saved| *saved.login_mut(account) = Some(login)).await?;
        Ok(connected)
    }
}

/// Whether a browser on this machine is unlikely to be the user's: a build server, a shell from elsewhere, no screen.
/// `SSH_AUTH_SOCK` says nothing: an agent runs on desktops, too.
fn no_browser_here(config: &AccountsConfig) -> bool {
    let set = |name: &str| config.environment.get(name).is_some();
    ["CI", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"].iter().any(|name| set(name))
        || (config.display_matters && !["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| set(name)))
}

// ---- one flow per account ---------------------------------------------------------------------------------------

/// Who is signing in.
#[derive(Default)]
pub(crate) struct RunningFlows(Arc<Mutex<[Option<Arc<RunningFlow>>; Account::ALL.len()]>>);

/// Ports that the system chooses and that are taken on the other address; then the sign-in fails.
const ANY_PORT_TRIES_MAX: usize = 8;

/// One running flow: how it can be ended, and its listeners.
pub(crate) struct RunningFlow {
    ended: watch::Sender<Option<Fault>>,
    listeners: Mutex<Vec<TcpListener>>,
}

/// Leaves the flow when the flow ends, however it does.
pub(crate) struct FlowGuard(Arc<RunningFlow>, Account, Arc<Mutex<[Option<Arc<RunningFlow>>; Account::ALL.len()]>>);

impl Drop for FlowGuard {
    fn drop(&mut self) {
        // The listeners go with the last owner of the flow, which is this one.
        let mut flows = self.2.lock().expect("nothing panics while holding it");
        let place = &mut flows[self.1 as usize];
        if place.as_ref().is_some_and(|flow| Arc::ptr_eq(flow, &self.0)) {
            *place = None;
        }
    }
}

impl RunningFlows {
    fn begin(&self, account: Account) -> FlowGuard {
        let flow = Arc::new(RunningFlow { ended: watch::Sender::new(None), listeners: Mutex::default() });
        let mut flows = self.0.lock().expect("nothing panics while holding it");
        if let Some(older) = flows[account as usize].replace(flow.clone()) {
            older.end("a newer sign-in took its place");
        }
        FlowGuard(flow, account, self.0.clone())
    }

    pub(crate) fn cancel_all(&self, why: &str) {
        let flows = self.0.lock().expect("nothing panics while holding it");
        flows.iter().flatten().for_each(|flow| flow.end(why));
    }
}

impl RunningFlow {
    fn end(&self, why: &str) {
        self.ended.send_replace(Some(Fault::new(FaultKind::Cancelled, why)));
        self.close();
    }

    fn close(&self) {
        self.listeners.lock().expect("nothing panics while holding it").clear();
    }

    fn ended(&self) -> impl Future<Output = Fault> + Send + use<> {
        let mut told = self.ended.subscribe();
        async move {
            let fault = told.wait_for(Option::is_some).await.ok().and_then(|fault| fault.clone());
            fault.unwrap_or_else(|| Fault::new(FaultKind::Cancelled, "the sign-in has ended"))
        }
    }

    /// Listens on the first of these ports that is free, on loopback only; returns which.
    pub(crate) async fn listen(&self, ports: &[u16]) -> io::Result<u16> {
        let mut failed = io::Error::from(io::ErrorKind::InvalidInput);
        for port in ports {
            match both_families(*port).await {
                Ok((port, listeners)) => {
                    let mut place = self.listeners.lock().expect("nothing panics while holding it");
                    // A flow that was ended meanwhile must not open a port again.
                    if self.ended.borrow().is_none() {
                        *place = listeners;
                    }
                    return Ok(port);
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// The next connection; waits forever once the listeners are closed, for then the flow is over.
    pub(crate) async fn accept(&self) -> io::Result<TcpStream> {
        poll_fn(|cx| {
            for listener in &*self.listeners.lock().expect("nothing panics while holding it") {
                if let Poll::Ready(accepted) = listener.poll_accept(cx) {
                    return Poll::Ready(accepted.map(|(stream, _)| stream));
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// `localhost` is two addresses, and a browser takes either: somebody else on the other one would be given the code. So a
/// port counts as free when it is free on both; a machine without IPv6 has only one.
async fn both_families(port: u16) -> io::Result<(u16, Vec<TcpListener>)> {
    let mut tries = 1..=ANY_PORT_TRIES_MAX;
    loop {
        let four = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let bound = four.local_addr()?.port();
        match TcpListener::bind((Ipv6Addr::LOCALHOST, bound)).await {
            Ok(six) => return Ok((bound, vec![four, six])),
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => return Ok((bound, vec![four])),
            // Any port will do: the next one may be free on both.
            Err(_) if port == 0 && tries.next().is_some() => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;

    #[test]
    fn auto_means_a_code_where_no_browser_can_be_expected() {
        for (set, display_matters, want) in [
            (&["DISPLAY"][..], true, false),
            (&["WAYLAND_DISPLAY", "SSH_AUTH_SOCK"], true, false),
            (&["DISPLAY", "CI"], true, true),
            (&["DISPLAY", "SSH_CONNECTION"], true, true),
            (&["DISPLAY", "SSH_TTY"], true, true),
            (&["SSH_CLIENT"], false, true),
            (&[], true, true),
            (&[], false, false),
        ] {
            let names: Vec<String> = set.iter().map(|it| (*it).to_owned()).collect();
            let environment = Environment(Arc::new(move |name| names.iter().any(|it| it == name).then(|| "1".into())));
            let config = AccountsConfig { display_matters, ..AccountsConfig::vendors(environment) };
            assert_eq!(no_browser_here(&config), want, "{set:?}");
        }
        let blank = AccountsConfig::vendors(Environment(Arc::new(|name| {
            Some(if name == "DISPLAY" { ":0" } else { " " }.into())
        })));
        assert!(!no_browser_here(&blank), "a blank variable is not set");
    }

    #[tokio::test]
    async fn a_flow_that_has_ended_opens_no_port() {
        let flows = RunningFlows::default();
        let flow = flows.begin(Account::OpenAi);
        flows.cancel_all("too late");
        let port = flow.0.listen(&[0]).await.unwrap();
        assert!(std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok());
        assert_eq!(flow.0.ended().await.message, "too late");
    }
}
