//! Who the other side is, as far as this dialect knows: whoever checks tokens is elsewhere.

use wire::{Close, CloseCode};

use crate::own::{Code, GatewayRefusal, Scopes};

/// A connection that has not said who it is ends after this.
pub(crate) const LOGIN_MS_MAX: u64 = 10_000;
/// The wrong token that ends the connection.
pub(crate) const LOGIN_FAILURES_MAX: u32 = 3;

/// Who may ask for something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MayAsk {
    /// Also who has not logged in.
    Anybody,
    /// Who may do this much.
    Needs(Scopes),
}

impl MayAsk {
    /// What its caller must be allowed to do.
    pub fn scopes(self) -> Scopes {
        match self {
            MayAsk::Anybody => Scopes::NONE,
            MayAsk::Needs(scopes) => scopes,
        }
    }
}

/// How a connection begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthState {
    /// Somebody who may do this much.
    Known { scopes: Scopes },
    /// Nobody yet: they may log in.
    Unknown,
}

/// The same, while the connection lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Auth {
    state: AuthState,
    failures: u32,
}

impl Auth {
    pub(crate) fn new(state: AuthState) -> Self {
        Self { state, failures: 0 }
    }
    pub(crate) fn scopes(&self) -> Scopes {
        match self.state {
            AuthState::Known { scopes } => scopes,
            AuthState::Unknown => Scopes::NONE,
        }
    }
    pub(crate) fn allows(&self, may_ask: MayAsk) -> Result<(), GatewayRefusal> {
        match (may_ask, self.state) {
            (MayAsk::Anybody, _) => Ok(()),
            (MayAsk::Needs(needed), AuthState::Known { scopes }) if scopes.has(needed) => Ok(()),
            (MayAsk::Needs(needed), AuthState::Known { .. }) => Err(out_of_scope(needed)),
            (MayAsk::Needs(_), AuthState::Unknown) => {
                Err(GatewayRefusal::new(Code::AuthRequired, "log in first: auth.login {\"token\"}")
                    .because("auth_required"))
            }
        }
    }
    /// A token was good.
    pub(crate) fn known(&mut self, scopes: Scopes) {
        self.state = AuthState::Known { scopes };
    }
    /// A token was wrong. How it ends where that was once too often. Who is known stays so.
    pub(crate) fn failed(&mut self) -> Option<Close> {
        self.failures += 1;
        (self.failures >= LOGIN_FAILURES_MAX).then(|| Close::new(CloseCode::PolicyViolation, "too many wrong tokens"))
    }
    /// When the connection ends unless somebody logs in.
    pub(crate) fn due(&self) -> Option<u64> {
        (self.state == AuthState::Unknown).then_some(LOGIN_MS_MAX)
    }
    pub(crate) fn tick(&self, now_ms: u64) -> Option<Close> {
        let late = self.due().is_some_and(|at| at <= now_ms);
        late.then(|| Close::new(CloseCode::PolicyViolation, "nobody logged in"))
    }
}

pub(crate) fn refused() -> GatewayRefusal {
    GatewayRefusal::new(Code::AuthFailed, "this token, cookie or identity is not known here").because("auth_failed")
}

pub(crate) fn out_of_scope(needed: Scopes) -> GatewayRefusal {
    let message = format!("this token may not do that: it lacks the scope {}", needed.words().join(", "));
    GatewayRefusal::new(Code::AuthFailed, message).because("scope").with("scope", needed.words())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_known_may_do_what_their_scopes_say() {
        let code = |state, may_ask| Auth::new(state).allows(may_ask).err().map(|it| (it.code, it.reason));
        let reader = AuthState::Known { scopes: Scopes::READ };
        assert_eq!(code(reader, MayAsk::Needs(Scopes::READ)), None);
        assert_eq!(code(reader, MayAsk::Needs(Scopes::CHAT)), Some((Code::AuthFailed, Some("scope"))));
        assert_eq!(code(AuthState::Known { scopes: Scopes::NONE }, MayAsk::Needs(Scopes::NONE)), None);
        let stranger = Some((Code::AuthRequired, Some("auth_required")));
        assert_eq!(code(AuthState::Unknown, MayAsk::Needs(Scopes::NONE)), stranger);
        assert_eq!(code(AuthState::Unknown, MayAsk::Anybody), None);
    }

    #[test]
    fn the_third_wrong_token_and_ten_silent_seconds_end_it() {
        let mut auth = Auth::new(AuthState::Unknown);
        assert_eq!((auth.failed(), auth.failed()), (None, None));
        assert_eq!(auth.failed().map(|close| close.code), Some(CloseCode::PolicyViolation));
        let mut auth = Auth::new(AuthState::Unknown);
        assert_eq!((auth.due(), auth.tick(9_999)), (Some(10_000), None));
        assert!(auth.tick(10_000).is_some());
        auth.known(Scopes::ALL);
        assert_eq!((auth.due(), auth.tick(10_000), auth.scopes()), (None, None, Scopes::ALL));
    }
}
