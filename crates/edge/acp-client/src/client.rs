//! The handle of a connection: typed requests. Cheap to copy; the connection ends with the last copy, or by [`AcpClient::stop`].

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use acp_types::error::NOT_FOUND;
use acp_types::{
    AgentCapabilities, AuthenticateRequest, ConfigOption, ContentBlock, EmptyResponse, Implementation,
    InitializeRequest, InitializeResponse, ListSessionsRequest, ListSessionsResponse, NewSessionRequest,
    PROTOCOL_VERSION, PromptRequest, PromptResponse, SavedSessionRequest, SessionRequest, SessionResponse,
    SetConfigOptionRequest, SetConfigOptionResponse, SetModeRequest, SetModelRequest, method, sorted,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::ConnectOptions;
use crate::connection::{About, Elicited};
use crate::error::{ClientError, ClientProblem};
use crate::event::AskId;
use crate::task::{ClientWish, ConnectionShared};

#[derive(Clone)]
pub struct AcpClient {
    wishes: mpsc::Sender<ClientWish>,
    shared: Arc<ConnectionShared>,
    agent: Arc<OnceLock<InitializeResponse>>,
    /// A session was opened; the next ones are quicker.
    warm: Arc<AtomicBool>,
    control_limit: Duration,
    start_limit: Duration,
    hello: Arc<InitializeRequest>,
}

impl AcpClient {
    pub(crate) fn new(
        wishes: mpsc::Sender<ClientWish>,
        shared: Arc<ConnectionShared>,
        options: &ConnectOptions,
    ) -> Self {
        let hello = InitializeRequest {
            protocol_version: PROTOCOL_VERSION.into(),
            client_capabilities: options.offers.capabilities(),
            client_info: Implementation { name: options.name.clone(), title: None, version: options.version.clone() },
        };
        Self {
            wishes,
            shared,
            agent: Arc::default(),
            warm: Arc::default(),
            control_limit: options.control_limit,
            start_limit: options.start_limit,
            hello: Arc::new(hello),
        }
    }

    // ---- the connection -----------------------------------------------------------------------------------------

    /// The first request. An agent of another version is let go.
    pub async fn initialize(&self) -> Result<InitializeResponse, ClientError> {
        let answer = self.ask(method::INITIALIZE, &*self.hello, About::Hello, Some(self.start_limit)).await?;
        let agent: InitializeResponse = self.read(method::INITIALIZE, answer)?;
        self.shared.learn_auth(agent.auth_methods.clone());
        if agent.version() != Some(PROTOCOL_VERSION) {
            self.stop().await;
            return Err(self.shared.error(ClientProblem::Version(agent.protocol_version.to_string())));
        }
        let _ = self.agent.set(agent.clone());
        Ok(agent)
    }

    /// What the agent said about itself, once it did.
    pub fn agent(&self) -> Option<&InitializeResponse> {
        self.agent.get()
    }

    /// Ends the agent: the end of its input, then INT, TERM and KILL for its group. Returns when it is gone.
    pub async fn stop(&self) {
        let (done, gone) = oneshot::channel();
        if self.wishes.send(ClientWish::Stop { done }).await.is_ok() {
            let _ = gone.await;
        }
    }

    /// The last lines the agent wrote to stderr.
    pub fn stderr(&self) -> Vec<String> {
        self.shared.stderr()
    }

    /// Signs in. Takes as long as it takes: a person may be looking at a browser. That it succeeds proves nothing yet; the
    /// next session does.
    pub async fn authenticate(&self, method: &str) -> Result<(), ClientError> {
        let terminal = self
            .agent()
            .is_some_and(|agent| agent.auth_methods.iter().any(|known| known.id == method && known.is_terminal()));
        self.shared.tried_auth(method);
        if terminal {
            // Its own command has to be run in a terminal; asking for it over the wire means nothing.
            return Err(self.shared.error(ClientProblem::SignInElsewhere(method.to_owned())));
        }
        let params = AuthenticateRequest { method_id: method.to_owned() };
        self.ask(method::AUTHENTICATE, params, About::Plain, None).await.map(drop)
    }

    pub async fn logout(&self) -> Result<(), ClientError> {
        self.needs(AgentCapabilities::can_logout, method::LOGOUT)?;
        self.control(method::LOGOUT, EmptyResponse {}).await.map(drop)
    }

    // ---- sessions -----------------------------------------------------------------------------------------------

    pub async fn new_session(&self, cwd: &Path) -> Result<SessionResponse, ClientError> {
        const METHOD: &str = method::SESSION_NEW;
        let limit = if self.warm.load(Ordering::Relaxed) { self.control_limit } else { self.start_limit };
        let params = NewSessionRequest { cwd: plain(cwd), mcp_servers: Vec::new() };
        let answer = self.ask(METHOD, params, About::Plain, Some(limit)).await?;
        let info: SessionResponse = self.read(METHOD, answer)?;
        if info.session_id.as_ref().is_none_or(String::is_empty) {
            return Err(self.shared.error(unreadable(METHOD, "there is no sessionId")));
        }
        self.warm.store(true, Ordering::Relaxed);
        Ok(info)
    }

    /// The whole conversation comes as events before this returns.
    pub async fn load(&self, session: &str, cwd: &Path) -> Result<SessionResponse, ClientError> {
        self.needs(AgentCapabilities::can_load, method::SESSION_LOAD)?;
        self.reopened(method::SESSION_LOAD, session, cwd, About::Load(session.into())).await
    }

    /// Without the conversation: what an agent replays all the same is swallowed.
    pub async fn resume(&self, session: &str, cwd: &Path) -> Result<SessionResponse, ClientError> {
        self.needs(|it| it.session(|can| &can.resume), method::SESSION_RESUME)?;
        self.reopened(method::SESSION_RESUME, session, cwd, About::Resume(session.into())).await
    }

    /// A copy with an id of its own.
    pub async fn fork(&self, session: &str, cwd: &Path) -> Result<SessionResponse, ClientError> {
        self.needs(|it| it.session(|can| &can.fork), method::SESSION_FORK)?;
        let params = saved(session, cwd);
        let answer = self.ask(method::SESSION_FORK, params, About::Plain, Some(self.start_limit)).await?;
        self.read(method::SESSION_FORK, answer)
    }

    async fn reopened(
        &self,
        method: &str,
        session: &str,
        cwd: &Path,
        about: About,
    ) -> Result<SessionResponse, ClientError> {
        let params = saved(session, cwd);
        let answer = self.ask(method, params, about, Some(self.start_limit)).await?;
        let mut info: SessionResponse = self.read(method, answer)?;
        if let Some(other) = info.actual_id().filter(|other| *other != session) {
            let message = format!("session not found: {other} was opened instead");
            let error = ::wire::jsonrpc::RpcError::new(NOT_FOUND, message);
            return Err(self.shared.error(ClientProblem::Refused { method: method.into(), error }));
        }
        info.session_id = Some(session.to_owned());
        self.warm.store(true, Ordering::Relaxed);
        Ok(info)
    }

    pub async fn list(&self, cwd: Option<&Path>, cursor: Option<&str>) -> Result<ListSessionsResponse, ClientError> {
        self.needs(|it| it.session(|can| &can.list), method::SESSION_LIST)?;
        let params = ListSessionsRequest { cwd: cwd.map(plain), cursor: cursor.map(str::to_owned) };
        let answer = self.control(method::SESSION_LIST, params).await?;
        self.read(method::SESSION_LIST, answer)
    }

    /// A session that is gone already is closed.
    pub async fn close(&self, session: &str) -> Result<(), ClientError> {
        self.needs(|it| it.session(|can| &can.close), method::SESSION_CLOSE)?;
        gone_is_fine(self.control(method::SESSION_CLOSE, SessionRequest { session_id: session.into() }).await)
    }

    pub async fn delete(&self, session: &str) -> Result<(), ClientError> {
        self.needs(|it| it.session(|can| &can.delete), method::SESSION_DELETE)?;
        gone_is_fine(self.control(method::SESSION_DELETE, SessionRequest { session_id: session.into() }).await)
    }

    // ---- turns --------------------------------------------------------------------------------------------------

    /// One turn. Takes as long as it takes; the same end is told as [`crate::ClientEvent::TurnEnded`].
    pub async fn prompt(&self, session: &str, blocks: Vec<ContentBlock>) -> Result<PromptResponse, ClientError> {
        let params = PromptRequest { session_id: session.into(), prompt: blocks, meta: None };
        let answer = self.ask(method::SESSION_PROMPT, params, About::Prompt(session.into()), None).await?;
        Ok(PromptResponse::read(&answer))
    }

    /// Asks the agent to end the turn, and closes its questions. The turn has ended when [`AcpClient::prompt`] returns.
    pub async fn cancel(&self, session: &str) {
        let _ = self.wishes.send(ClientWish::Cancel { session: session.into() }).await;
    }

    /// Answers a question with one of its options; `None` cancels. False: it was over already.
    pub async fn choose(&self, ask: AskId, option: Option<&str>) -> bool {
        let (done, answered) = oneshot::channel();
        let _ = self.wishes.send(ClientWish::Choose { ask, option: option.map(str::to_owned), done }).await;
        answered.await.unwrap_or(false)
    }

    pub async fn elicited(&self, ask: AskId, said: Elicited) -> bool {
        let (done, answered) = oneshot::channel();
        let _ = self.wishes.send(ClientWish::Elicited { ask, said, done }).await;
        answered.await.unwrap_or(false)
    }

    // ---- settings -----------------------------------------------------------------------------------------------

    pub async fn set_mode(&self, session: &str, mode: &str) -> Result<(), ClientError> {
        let params = SetModeRequest { session_id: session.into(), mode_id: mode.into() };
        self.control(method::SESSION_SET_MODE, params).await.map(drop)
    }

    /// The older way; [`AcpClient::set_option`] is the newer one.
    pub async fn set_model(&self, session: &str, model: &str) -> Result<(), ClientError> {
        let params = SetModelRequest { session_id: session.into(), model_id: model.into() };
        self.control(method::SESSION_SET_MODEL, params).await.map(drop)
    }

    /// Text, or a bool for a switch. Returns all options as they are now.
    pub async fn set_option(
        &self,
        session: &str,
        option: &str,
        value: Value,
    ) -> Result<Vec<ConfigOption>, ClientError> {
        const METHOD: &str = method::SESSION_SET_CONFIG_OPTION;
        let kind = value.is_boolean().then(|| "boolean".into());
        let params = SetConfigOptionRequest { session_id: session.into(), config_id: option.into(), value, kind };
        let answer = self.control(METHOD, params).await?;
        let now: SetConfigOptionResponse = self.read(METHOD, answer)?;
        Ok(now.config_options)
    }

    // ---- anything else ------------------------------------------------------------------------------------------

    /// A method of the agent's own, or one that is newer than we are.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, ClientError> {
        self.control(method, params).await
    }

    pub async fn notify(&self, method: &str, params: Value) {
        let _ = self.wishes.send(ClientWish::Notify { method: method.into(), params }).await;
    }

    async fn control(&self, method: &str, params: impl Serialize) -> Result<Value, ClientError> {
        self.ask(method, params, About::Plain, Some(self.control_limit)).await
    }

    async fn ask(
        &self,
        method: &str,
        params: impl Serialize,
        about: About,
        limit: Option<Duration>,
    ) -> Result<Value, ClientError> {
        let params = sorted(params);
        let (answer, answered) = oneshot::channel();
        let wish = ClientWish::Request { method: method.into(), params, about, limit, answer };
        if self.wishes.send(wish).await.is_err() {
            return Err(self.shared.late());
        }
        answered.await.unwrap_or_else(|_| Err(self.shared.late()))
    }

    fn needs(&self, has: impl Fn(&AgentCapabilities) -> bool, what: &'static str) -> Result<(), ClientError> {
        match self.agent().is_some_and(|agent| has(&agent.agent_capabilities)) {
            true => Ok(()),
            false => Err(self.shared.error(ClientProblem::Unsupported(what))),
        }
    }

    fn read<T: DeserializeOwned + Default>(&self, method: &str, answer: Value) -> Result<T, ClientError> {
        // `null` is how some agents say "nothing to add".
        if answer.is_null() {
            return Ok(T::default());
        }
        serde_json::from_value(answer).map_err(|error| self.shared.error(unreadable(method, &error.to_string())))
    }
}

fn unreadable(method: &str, what: &str) -> ClientProblem {
    ClientProblem::Unreadable { method: method.into(), what: what.into() }
}

fn saved(session: &str, cwd: &Path) -> SavedSessionRequest {
    SavedSessionRequest {
        session_id: session.into(),
        cwd: Some(plain(cwd)),
        mcp_servers: Vec::new(),
        replay_from: None,
        meta: None,
    }
}

/// A path that JSON can carry.
fn plain(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().into_owned())
}

fn gone_is_fine(answer: Result<Value, ClientError>) -> Result<(), ClientError> {
    match answer {
        Err(error) if error.is_session_gone() => Ok(()),
        other => other.map(drop),
    }
}
