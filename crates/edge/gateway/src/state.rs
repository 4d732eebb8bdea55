//! What all connections share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use dialect_gateway::services::access::AttemptKind;
use host::DaemonEnding;
use telemetry::metrics::Counter;
use vocab::Secret;

use crate::acp::AcpConnections;
use crate::attempts::{Attempt, Attempts, CameFrom};
use crate::cookies::Cookies;
use crate::credentials::{Basis, Credential, KnownCaller, TokenBook};
use crate::entrance::Entrance;
use crate::failures::{Failures, GuessKind, Guesser, WrongGuess};
use crate::guards;
use crate::login::LoginRefused;
use crate::options::{Access, HealthReport, ServerHooks};
use crate::owner::OwnerLookup;
use crate::places::ConnectionCounts;
use crate::sockets::{OpenSockets, SocketEnd, SocketEntry, SocketFacts};
use crate::tailscale::Tailnet;
use crate::tokens::{TokenDigest, TokenStore, TokensStamp};

/// How often in a second an unknown token makes us look at the files of tokens; further ones are judged by what is known.
const LOOKS_PER_S: u32 = 10;

/// For how long what was seen of our health is told again.
const LOOKED_FOR: Duration = Duration::from_secs(1);

pub(crate) struct ServerState {
    pub(crate) hooks: Arc<dyn ServerHooks>,
    pub(crate) entrances: Vec<(&'static str, Arc<dyn Entrance>)>,
    pub(crate) ending: DaemonEnding,
    pub(crate) places: Arc<ConnectionCounts>,
    pub(crate) sockets: Arc<OpenSockets>,
    pub(crate) acp: AcpConnections,
    pub(crate) owner: OwnerLookup,
    pub(crate) tailnet: Tailnet,
    tokens_kept: Box<dyn TokenStore>,
    access: RwLock<Arc<Access>>,
    tokens: RwLock<Arc<TokenBook>>,
    failures: Mutex<Failures>,
    attempts: Mutex<Attempts>,
    pub(crate) auth_failures: Counter,
    pub(crate) auth_limited: Counter,
    cookies: Mutex<Cookies>,
    /// Held while they are written: the last to write has the newest.
    keeping: Mutex<()>,
    /// The second in which unknown tokens made us look, and how often.
    looked_for: Mutex<(u64, u32)>,
    /// What the files of tokens were when they were read last.
    tokens_read: Mutex<Option<TokensStamp>>,
    ready: AtomicBool,
    /// When we last looked whether we are well, and what we saw; `None`: whoever looked did not wait for it.
    looked: tokio::sync::Mutex<Option<(Instant, Option<HealthReport>)>>,
    began: Instant,
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half-done by a panic inside.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The configuration's token, else the one that `gateway token` made; and the named ones. Whoever keeps secrets out of texts
/// hears of it before anybody can show it.
fn book(access: &Access, kept: &dyn TokenStore, hooks: &dyn ServerHooks) -> std::io::Result<TokenBook> {
    let main = match &access.token {
        Some(token) => Some(token.clone()),
        None => kept.main()?,
    };
    main.iter().for_each(|token| hooks.hide(token));
    Ok(TokenBook::new(main.as_ref(), kept.load()?))
}

impl ServerState {
    pub(crate) fn new(
        hooks: Arc<dyn ServerHooks>,
        entrances: Vec<(&'static str, Arc<dyn Entrance>)>,
        tokens_kept: Box<dyn TokenStore>,
        access: Access,
    ) -> std::io::Result<Self> {
        let tokens_read = Mutex::new(Some(tokens_kept.stamp()));
        let book = book(&access, &*tokens_kept, &*hooks)?;
        let kept = tokens_kept.load_cookies().unwrap_or_else(|error| {
            hooks.note(&format!("all browsers have to log in again: {error}"));
            Vec::new()
        });
        let cookies = Cookies::again(&kept, &book, 0, vocab::unix_ms(SystemTime::now()));
        let has_all = cookies.len() == kept.len();
        let state = Self {
            hooks,
            entrances,
            ending: DaemonEnding::default(),
            places: Arc::default(),
            sockets: Arc::default(),
            acp: AcpConnections::default(),
            owner: OwnerLookup::default(),
            tailnet: Tailnet::default(),
            tokens_kept,
            access: RwLock::new(Arc::new(access)),
            tokens: RwLock::new(Arc::new(book)),
            failures: Mutex::default(),
            attempts: Mutex::default(),
            auth_failures: Counter::default(),
            auth_limited: Counter::default(),
            cookies: Mutex::new(cookies),
            keeping: Mutex::default(),
            looked_for: Mutex::default(),
            tokens_read,
            ready: AtomicBool::new(false),
            looked: tokio::sync::Mutex::default(),
            began: Instant::now(),
        };
        // Should their token come back, they do not.
        if !has_all {
            state.keep_cookies();
        }
        Ok(state)
    }

    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn access(&self) -> Arc<Access> {
        self.access.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a page of another origin may speak with us.
    pub(crate) fn allows_page(&self, origin: &str) -> bool {
        guards::known_page(origin, "", false, &self.access().allowed_origins).is_some()
    }

    fn tokens(&self) -> Arc<TokenBook> {
        self.tokens.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed) && self.ending.asked().is_none()
    }

    /// How we are. A look is a write, and anybody may ask: it is done once a while and no more often, whoever asks and however
    /// soon they leave.
    pub(crate) async fn health(&self) -> HealthReport {
        let mut looked = self.looked.lock().await;
        match &*looked {
            Some((at, Some(report))) if at.elapsed() < LOOKED_FOR => return report.clone(),
            Some((at, None)) => tokio::time::sleep(LOOKED_FOR.saturating_sub(at.elapsed())).await,
            _ => {}
        }
        *looked = Some((Instant::now(), None));
        let report = self.hooks.health().await;
        *looked = Some((Instant::now(), Some(report.clone())));
        report
    }

    /// Whether it was not before.
    pub(crate) fn set_ready(&self) -> bool {
        !self.ready.swap(true, Ordering::Relaxed)
    }

    /// From now on this holds. Sockets and browser sessions whose token is gone end, and sockets of logins that are taken off.
    pub(crate) fn set_access(&self, access: Access) -> std::io::Result<()> {
        let book = Arc::new(book(&access, &*self.tokens_kept, &*self.hooks)?);
        *self.access.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(access);
        self.set_tokens(book);
        Ok(())
    }

    /// Looks whether tokens came or went. Reads files.
    pub(crate) fn look_at_tokens(&self) -> std::io::Result<()> {
        // Before they are read: what is written meanwhile is another.
        let stamp = self.tokens_kept.stamp();
        let book = book(&self.access(), &*self.tokens_kept, &*self.hooks)?;
        if *self.tokens() != book {
            self.set_tokens(Arc::new(book));
        }
        *held(&self.tokens_read) = Some(stamp);
        Ok(())
    }

    /// Whether everybody has to show a token.
    pub(crate) fn has_main_token(&self) -> bool {
        self.tokens().main.is_some()
    }

    fn set_tokens(&self, book: Arc<TokenBook>) {
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = book.clone();
        let token_holds = |basis: Basis| match basis {
            Basis::Token(digest) => book.holds(&digest),
            Basis::Cookie(_) | Basis::Login { .. } | Basis::Place => true,
        };
        if held(&self.cookies).keep(token_holds) {
            self.keep_cookies();
        }
        self.end_without_basis();
    }

    /// Whether what somebody was known by still counts.
    fn holds(&self, basis: Basis) -> bool {
        match basis {
            Basis::Token(digest) => self.tokens().holds(&digest),
            Basis::Cookie(digest) => held(&self.cookies).holds(&digest, self.now_ms()),
            Basis::Login { login, asked } => self.access().tailscale.still_admits(&login, asked),
            Basis::Place => true,
        }
    }

    /// Ends sockets whose token or cookie is gone, or whose login is not let in any more.
    fn end_without_basis(&self) {
        self.sockets.keep(|basis| self.holds(basis));
    }

    /// One more socket. A client can delay its handshake past a revocation, so the credential is checked again once the socket is
    /// listed.
    pub(crate) fn add_socket(&self, basis: Basis, end: SocketEnd, facts: SocketFacts) -> SocketEntry {
        let entry = self.sockets.add(basis, end, facts, self.now_ms());
        if !self.holds(basis) {
            self.end_without_basis();
        }
        entry
    }

    // ---- who it is ----------------------------------------------------------------------------------------------

    /// For how long this one has to wait before it may try that again.
    pub(crate) fn wait_ms(&self, guesser: &Guesser, kind: GuessKind) -> Option<u64> {
        let wait = held(&self.failures).wait_ms(guesser, kind, self.now_ms());
        if wait.is_some() {
            self.auth_limited.one();
        }
        wait
    }

    pub(crate) fn failed(&self, guesser: &Guesser, guess: WrongGuess, from: &CameFrom, kind: AttemptKind) {
        self.auth_failures.one();
        self.hooks.note(&format!("wrong credential from {guesser}"));
        held(&self.failures).failed(guesser.clone(), guess, self.now_ms());
        self.attempted(from, kind, false);
    }

    /// Operators can look at it for a while.
    pub(crate) fn attempted(&self, from: &CameFrom, kind: AttemptKind, ok: bool) {
        held(&self.attempts).add(Attempt { at_ms: self.now_ms(), from: from.clone(), kind, ok });
    }

    /// Whether somebody is connected under this name.
    pub(crate) fn has_connection(&self, connection: &str) -> bool {
        self.sockets.has(connection) || self.acp.has(connection)
    }

    /// The newest first.
    pub(crate) fn attempts(&self, limit: usize) -> Vec<Attempt> {
        held(&self.attempts).newest(limit)
    }

    pub(crate) fn token_of(
        &self,
        token: &Secret,
        guesser: &Guesser,
        from: &CameFrom,
        kind: AttemptKind,
    ) -> Result<KnownCaller, LoginRefused> {
        if let Some(retry_after_ms) = self.wait_ms(guesser, GuessKind::Token) {
            return Err(LoginRefused::TooMany { retry_after_ms });
        }
        self.token_holder(token).ok_or_else(|| {
            self.failed(guesser, WrongGuess::Token, from, kind);
            LoginRefused::Wrong
        })
    }

    /// One that is not known may have been made a moment ago.
    fn token_holder(&self, token: &Secret) -> Option<KnownCaller> {
        let known = self.tokens().find(token);
        // Strangers bring us here, on a thread that serves everybody: files are read only where they are others by now.
        if known.is_some() || !self.may_look() || *held(&self.tokens_read) == Some(self.tokens_kept.stamp()) {
            return known;
        }
        if let Err(error) = self.look_at_tokens() {
            self.hooks.note(&format!("the gateway's tokens stay as they were: {error}"));
        }
        self.tokens().find(token)
    }

    fn may_look(&self) -> bool {
        let second = self.now_ms() / 1000;
        let mut looked = held(&self.looked_for);
        if looked.0 != second {
            *looked = (second, 0);
        }
        looked.1 += 1;
        looked.1 <= LOOKS_PER_S
    }

    /// Whose credential this is; `None` where it is wrong, or none.
    pub(crate) fn holder(&self, credential: &Credential) -> Option<KnownCaller> {
        match credential {
            Credential::Token(token) => self.token_holder(token),
            Credential::Cookie(values) => {
                let (cookies, now_ms) = (held(&self.cookies), self.now_ms());
                values.iter().find_map(|value| cookies.find(value, now_ms)).map(|(caller, _)| caller)
            }
            Credential::None | Credential::Unreadable => None,
        }
    }

    pub(crate) async fn make_cookie(self: &Arc<Self>, of: KnownCaller) -> std::io::Result<Secret> {
        let (value, ended) = held(&self.cookies).make(of, self.now_ms())?;
        self.end_sockets(&ended);
        self.cookies_kept().await;
        Ok(value)
    }

    /// Ends a browser session and its sockets; `everywhere`: and all others that were made with the same token.
    pub(crate) async fn end_cookie(self: &Arc<Self>, value: &Secret, everywhere: bool) {
        let ended: Vec<TokenDigest> = match everywhere {
            false => held(&self.cookies).end(value).into_iter().collect(),
            true => held(&self.cookies).end_all_like(value, self.now_ms()),
        };
        if !ended.is_empty() {
            self.end_sockets(&ended);
            self.cookies_kept().await;
        }
    }

    /// Ends browser sessions whose time is over, and their sockets.
    pub(crate) fn look_at_cookies(&self) {
        let ended = held(&self.cookies).expire(self.now_ms());
        if !ended.is_empty() {
            self.end_sockets(&ended);
            self.keep_cookies();
        }
    }

    /// Of browser sessions that have ended.
    fn end_sockets(&self, of: &[TokenDigest]) {
        if !of.is_empty() {
            self.sockets.keep(|basis| !of.iter().any(|digest| basis == Basis::Cookie(*digest)));
        }
    }

    /// Writes browser sessions down: whoever is told that they are logged out is so after a restart, too.
    async fn cookies_kept(self: &Arc<Self>) {
        let state = self.clone();
        let _ = tokio::task::spawn_blocking(move || state.keep_cookies()).await;
    }

    fn keep_cookies(&self) {
        let _turn = held(&self.keeping);
        let kept = held(&self.cookies).kept(self.now_ms(), vocab::unix_ms(SystemTime::now()));
        if let Err(error) = self.tokens_kept.save_cookies(&kept) {
            self.hooks.note(&format!("browsers have to log in again after a restart: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use dialect_gateway::Scopes;
    use dialect_gateway::services::access::CredentialKind;

    use super::*;
    use crate::cookies::KeptCookie;
    use crate::entrance::PeerAddress;
    use crate::no_hooks::NoHooks;
    use crate::sse;
    use crate::tokens::{NamedToken, TokenFile, add_token, digest, make_main_token, revoke_token};

    fn state(home: &std::path::Path, access: Access) -> (Arc<NoHooks>, ServerState) {
        let hooks = Arc::<NoHooks>::default();
        let kept = Box::new(TokenFile::new(home));
        let state = ServerState::new(hooks.clone(), Vec::new(), kept, access).unwrap();
        (hooks, state)
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_admitted_by_a_token_that_is_gone_meanwhile_does_not_stay() {
        let home = tempfile::tempdir().unwrap();
        let store = TokenFile::new(home.path());
        let [gone, good] = ["gone", "good"].map(|name| add_token(&store, name, Scopes::ALL).unwrap());
        let (_, state) = state(home.path(), Access::default());
        let known = |token: &Secret| state.holder(&Credential::Token(token.clone())).unwrap();
        let (late, stays) = (known(&gone), known(&good));
        assert!(revoke_token(&store, "gone").unwrap());
        state.look_at_tokens().unwrap();
        // Only now they let us finish the handshake.
        let peer = PeerAddress::Tcp("127.0.0.1:1".parse().unwrap());
        let facts = || SocketFacts {
            connection: "c".into(),
            name: "".into(),
            scopes: Scopes::ALL,
            credential: CredentialKind::Token,
            came: Arc::new(CameFrom::new(peer, None, "/")),
        };
        let (_, _late_sink, mut late_body, late_end) = sse::pipe(Vec::new());
        let (_, _good_sink, mut good_body, good_end) = sse::pipe(Vec::new());
        let _rows = [
            state.add_socket(late.basis, late_end.into(), facts()),
            state.add_socket(stays.basis, good_end.into(), facts()),
        ];
        let has_ended = async |body: &mut sse::SseBody| {
            let ends = tokio::time::timeout(Duration::from_millis(1), body.first());
            matches!(ends.await, Ok(None))
        };
        assert!(has_ended(&mut late_body).await && !has_ended(&mut good_body).await);
    }

    /// Counts how often the files are read.
    struct CountedReads(TokenFile, Arc<AtomicUsize>);

    impl TokenStore for CountedReads {
        fn main(&self) -> std::io::Result<Option<Secret>> {
            self.0.main()
        }
        fn stamp(&self) -> TokensStamp {
            self.0.stamp()
        }
        fn load(&self) -> std::io::Result<Vec<NamedToken>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.load()
        }
        fn load_cookies(&self) -> std::io::Result<Vec<KeptCookie>> {
            self.0.load_cookies()
        }
        fn save_cookies(&self, cookies: &[KeptCookie]) -> std::io::Result<()> {
            self.0.save_cookies(cookies)
        }
    }

    #[test]
    fn a_stranger_has_no_file_read_that_is_as_it_was() {
        let (home, reads) = (tempfile::tempdir().unwrap(), Arc::<AtomicUsize>::default());
        let kept = Box::new(CountedReads(TokenFile::new(home.path()), reads.clone()));
        let state = ServerState::new(Arc::<NoHooks>::default(), Vec::new(), kept, Access::default()).unwrap();
        let wrong = Secret::new("wrong").unwrap();
        (0..5).for_each(|_| assert!(state.token_holder(&wrong).is_none()));
        assert_eq!(reads.load(Ordering::Relaxed), 1, "at the start");
        let made = add_token(&TokenFile::new(home.path()), "new", Scopes::READ).unwrap();
        assert!(state.token_holder(&made).is_some(), "made while we run");
        assert_eq!(reads.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_token_is_hidden_from_the_moment_on_in_which_it_counts() {
        let home = tempfile::tempdir().unwrap();
        let (hooks, state) = state(home.path(), Access::default());
        let made = make_main_token(home.path()).unwrap();
        assert!(state.token_holder(&made).is_some() && hooks.hides(made.expose()), "made while we run");
        let newer = make_main_token(home.path()).unwrap();
        state.look_at_tokens().unwrap();
        assert!(state.tokens().holds(&digest(newer.expose())) && hooks.hides(newer.expose()), "replaced");
        state.set_access(Access { token: Secret::new("of-the-configuration"), ..Access::default() }).unwrap();
        assert!(hooks.hides("of-the-configuration"), "read again");
    }
}
