//! Signing in with a browser: authorisation code with PKCE (S256), brought back to a loopback listener.

use vocab::{Fault, FaultKind, SignInStep};

use crate::callback::{Arrived, Callback, CallbackOutcome};
use crate::flow::{RunningFlow, Tell};
use crate::form;
use crate::pkce::{OAuthState, Pkce};
use crate::tokens::{IssuerClient, Tokens};

/// A flow that waits for its browser.
pub(crate) struct Browser<'a> {
    callback: Callback<'a>,
    pkce: Pkce,
    redirect_uri: String,
}

impl<'a> Browser<'a> {
    /// Opens the listener and tells the URL.
    pub(crate) async fn open(
        client: &IssuerClient<'_>,
        flow: &'a RunningFlow,
        originator: Option<&str>,
        tell: Tell<'_>,
    ) -> Result<Self, Fault> {
        let issuer = client.issuer;
        let (pkce, state) = (Pkce::new()?, OAuthState::new()?);
        let port = flow.listen(&issuer.redirect.ports).await.map_err(|error| {
            let ports: Vec<String> = issuer.redirect.ports.iter().map(u16::to_string).collect();
            let message =
                format!("cannot listen for the browser on port {} of this machine: {error}", ports.join(", "));
            Fault::new(FaultKind::Network, message).hint("end the program that uses the port, or use a device code")
        })?;
        let redirect_uri = format!("http://{}:{port}{}", issuer.redirect.host, issuer.redirect.path);
        let mut url = issuer.authorize_url.clone();
        url.push(if url.contains('?') { '&' } else { '?' });
        let fixed = [
            ("response_type", "code"),
            ("client_id", &issuer.client_id),
            ("redirect_uri", &redirect_uri),
            ("scope", &issuer.scope),
            ("code_challenge", &pkce.challenge),
            ("code_challenge_method", "S256"),
            ("state", &state.text),
        ];
        let extra = issuer.extra.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let originator = originator.map(|it| ("originator", it));
        for (name, value) in fixed.into_iter().chain(extra).chain(originator) {
            form::push(&mut url, name, value);
        }
        let callback = Callback::new(flow, &issuer.redirect.path, state, client.config.limits.callback);
        tell(SignInStep::Url(url));
        Ok(Self { callback, pkce, redirect_uri })
    }

    /// Waits for the browser, trades its code, lets `keep` do what makes the sign-in count, and only then shows the
    /// browser how it went.
    pub(crate) async fn finish<T, F>(
        mut self,
        client: &IssuerClient<'_>,
        keep: impl FnOnce(Tokens) -> F,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let Arrived { outcome, browser } = self.callback.arrival().await;
        let work = async {
            let code = match outcome {
                CallbackOutcome::Code(code) => code,
                CallbackOutcome::Denied(message) => return Err(Fault::new(FaultKind::Auth, message)),
            };
            keep(client.redeem(&code, &self.pkce.verifier, &self.redirect_uri).await?).await
        };
        let result = tokio::select! {
            // Others who knock meanwhile are answered, or a second click would wait for nothing.
            never = self.callback.turn_away() => match never {},
            result = work => result,
        };
        browser.show(result.as_ref().err().map(|fault| fault.message.as_str())).await;
        result
    }
}
