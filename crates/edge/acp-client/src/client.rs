//! The handle of a connection: typed requests. Cheap to copy; the connection ends with the last copy, or by [`Client::stop`].

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::desk::{About, Elicited, turn};
use crate::error::{AUTHENTICATE, Error, INITIALIZE, NOT_FOUND, Problem};
use crate::event::{AskId, Turn};
use crate::life::{Shared, Wish};
use crate::wire::{Agent, Block, Capabilities, ConfigOption, Page, SessionInfo};
use crate::{Options, PROTOCOL};

#[derive(Clone)]
pub struct Client {
    wishes: mpsc::Sender<Wish>,
    shared: Arc<Shared>,
    agent: Arc<OnceLock<Agent>>,
    /// A session was opened; the next ones are quicker.
    warm: Arc<AtomicBool>,
    control_limit: Duration,
    start_limit: Duration,
    hello: Arc<Value>,
}

impl Client {
    pub(crate) fn new(wishes: mpsc::Sender<Wish>, shared: Arc<Shared>, options: &Options) -> Self {
        let hello = json!({
            "protocolVersion": PROTOCOL,
            "clientCapabilities": options.offers.capabilities(),
            "clientInfo": { "name": options.name, "version": options.version },
        });
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
    pub async fn initialize(&self) -> Result<Agent, Error> {
        let answer = self.ask(INITIALIZE, (*self.hello).clone(), About::Hello, Some(self.start_limit)).await?;
        let agent: Agent = self.read(INITIALIZE, answer)?;
        self.shared.learn_auth(agent.auth_methods.clone());
        if agent.version() != Some(PROTOCOL) {
            self.stop().await;
            return Err(self.shared.error(Problem::Version(agent.protocol_version.to_string())));
        }
        let _ = self.agent.set(agent.clone());
        Ok(agent)
    }

    /// What the agent said about itself, once it did.
    pub fn agent(&self) -> Option<&Agent> {
        self.agent.get()
    }

    /// Ends the agent: the end of its input, then INT, TERM and KILL for its group. Returns when it is gone.
    pub async fn stop(&self) {
        let (done, gone) = oneshot::channel();
        if self.wishes.send(Wish::Stop { done }).await.is_ok() {
            let _ = gone.await;
        }
    }

    /// The last lines the agent wrote to stderr.
    pub fn stderr(&self) -> Vec<String> {
        self.shared.stderr()
    }

    /// Signs in. Takes as long as it takes: a person may be looking at a browser. That it succeeds proves nothing yet; the
    /// next session does.
    pub async fn authenticate(&self, method: &str) -> Result<(), Error> {
        let terminal = self
            .agent()
            .is_some_and(|agent| agent.auth_methods.iter().any(|known| known.id == method && known.is_terminal()));
        self.shared.tried_auth(method);
        if terminal {
            // Its own command has to be run in a terminal; asking for it over the wire means nothing.
            return Err(self.shared.error(Problem::SignInElsewhere(method.to_owned())));
        }
        self.ask(AUTHENTICATE, json!({ "methodId": method }), About::Plain, None).await.map(drop)
    }

    pub async fn logout(&self) -> Result<(), Error> {
        self.needs(Capabilities::logout, "logout")?;
        self.control("logout", json!({})).await.map(drop)
    }

    // ---- sessions -----------------------------------------------------------------------------------------------

    pub async fn new_session(&self, cwd: &Path) -> Result<SessionInfo, Error> {
        const METHOD: &str = "session/new";
        let limit = if self.warm.load(Ordering::Relaxed) { self.control_limit } else { self.start_limit };
        let answer = self.ask(METHOD, place(cwd), About::Plain, Some(limit)).await?;
        let info: SessionInfo = self.read(METHOD, answer)?;
        if info.session_id.as_ref().is_none_or(String::is_empty) {
            return Err(self.shared.error(unreadable(METHOD, "there is no sessionId")));
        }
        self.warm.store(true, Ordering::Relaxed);
        Ok(info)
    }

    /// The whole conversation comes as events before this returns.
    pub async fn load(&self, session: &str, cwd: &Path) -> Result<SessionInfo, Error> {
        self.needs(Capabilities::load, "session/load")?;
        self.reopened("session/load", session, cwd, About::Load(session.into())).await
    }

    /// Without the conversation: what an agent replays all the same is swallowed.
    pub async fn resume(&self, session: &str, cwd: &Path) -> Result<SessionInfo, Error> {
        self.needs(|it| it.session("resume"), "session/resume")?;
        self.reopened("session/resume", session, cwd, About::Resume(session.into())).await
    }

    /// A copy with an id of its own.
    pub async fn fork(&self, session: &str, cwd: &Path) -> Result<SessionInfo, Error> {
        self.needs(|it| it.session("fork"), "session/fork")?;
        let mut params = place(cwd);
        params["sessionId"] = session.into();
        let answer = self.ask("session/fork", params, About::Plain, Some(self.start_limit)).await?;
        self.read("session/fork", answer)
    }

    async fn reopened(&self, method: &str, session: &str, cwd: &Path, about: About) -> Result<SessionInfo, Error> {
        let mut params = place(cwd);
        params["sessionId"] = session.into();
        let answer = self.ask(method, params, about, Some(self.start_limit)).await?;
        let mut info: SessionInfo = self.read(method, answer)?;
        if let Some(other) = info.actual_id().filter(|other| *other != session) {
            let message = format!("session not found: {other} was opened instead");
            let error = ::wire::jsonrpc::RpcError::new(NOT_FOUND, message);
            return Err(self.shared.error(Problem::Refused { method: method.into(), error }));
        }
        info.session_id = Some(session.to_owned());
        self.warm.store(true, Ordering::Relaxed);
        Ok(info)
    }

    pub async fn list(&self, cwd: Option<&Path>, cursor: Option<&str>) -> Result<Page, Error> {
        self.needs(|it| it.session("list"), "session/list")?;
        let mut params = json!({});
        if let Some(cwd) = cwd {
            params["cwd"] = cwd.to_string_lossy().into();
        }
        if let Some(cursor) = cursor {
            params["cursor"] = cursor.into();
        }
        let answer = self.control("session/list", params).await?;
        self.read("session/list", answer)
    }

    /// A session that is gone already is closed.
    pub async fn close(&self, session: &str) -> Result<(), Error> {
        self.needs(|it| it.session("close"), "session/close")?;
        gone_is_fine(self.control("session/close", json!({ "sessionId": session })).await)
    }

    pub async fn delete(&self, session: &str) -> Result<(), Error> {
        self.needs(|it| it.session("delete"), "session/delete")?;
        gone_is_fine(self.control("session/delete", json!({ "sessionId": session })).await)
    }

    // ---- turns --------------------------------------------------------------------------------------------------

    /// One turn. Takes as long as it takes; the same end is told as [`crate::Event::TurnEnded`].
    pub async fn prompt(&self, session: &str, blocks: Vec<Block>) -> Result<Turn, Error> {
        let params = json!({ "sessionId": session, "prompt": blocks });
        self.ask("session/prompt", params, About::Prompt(session.into()), None).await.map(|answer| turn(&answer))
    }

    /// Asks the agent to end the turn, and closes its questions. The turn has ended when [`Client::prompt`] returns.
    pub async fn cancel(&self, session: &str) {
        let _ = self.wishes.send(Wish::Cancel { session: session.into() }).await;
    }

    /// Answers a question with one of its options; `None` cancels. False: it was over already.
    pub async fn choose(&self, ask: AskId, option: Option<&str>) -> bool {
        let (done, answered) = oneshot::channel();
        let _ = self.wishes.send(Wish::Choose { ask, option: option.map(str::to_owned), done }).await;
        answered.await.unwrap_or(false)
    }

    pub async fn elicited(&self, ask: AskId, said: Elicited) -> bool {
        let (done, answered) = oneshot::channel();
        let _ = self.wishes.send(Wish::Elicited { ask, said, done }).await;
        answered.await.unwrap_or(false)
    }

    // ---- settings -----------------------------------------------------------------------------------------------

    pub async fn set_mode(&self, session: &str, mode: &str) -> Result<(), Error> {
        self.control("session/set_mode", json!({ "sessionId": session, "modeId": mode })).await.map(drop)
    }

    /// The older way; [`Client::set_option`] is the newer one.
    pub async fn set_model(&self, session: &str, model: &str) -> Result<(), Error> {
        self.control("session/set_model", json!({ "sessionId": session, "modelId": model })).await.map(drop)
    }

    /// Text, or a bool for a switch. Returns all options as they are now.
    pub async fn set_option(&self, session: &str, option: &str, value: Value) -> Result<Vec<ConfigOption>, Error> {
        const METHOD: &str = "session/set_config_option";
        let mut params = json!({ "sessionId": session, "configId": option, "value": value });
        if params["value"].is_boolean() {
            params["type"] = "boolean".into();
        }
        let answer = self.control(METHOD, params).await?;
        let info: SessionInfo = self.read(METHOD, answer)?;
        Ok(info.config_options.unwrap_or_default())
    }

    // ---- anything else ------------------------------------------------------------------------------------------

    /// A method of the agent's own, or one that is newer than we are.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, Error> {
        self.control(method, params).await
    }

    pub async fn notify(&self, method: &str, params: Value) {
        let _ = self.wishes.send(Wish::Notify { method: method.into(), params }).await;
    }

    async fn control(&self, method: &str, params: Value) -> Result<Value, Error> {
        self.ask(method, params, About::Plain, Some(self.control_limit)).await
    }

    async fn ask(&self, method: &str, params: Value, about: About, limit: Option<Duration>) -> Result<Value, Error> {
        let (answer, answered) = oneshot::channel();
        let wish = Wish::Request { method: method.into(), params, about, limit, answer };
        if self.wishes.send(wish).await.is_err() {
            return Err(self.shared.late());
        }
        answered.await.unwrap_or_else(|_| Err(self.shared.late()))
    }

    fn needs(&self, has: impl Fn(&Capabilities) -> bool, what: &'static str) -> Result<(), Error> {
        match self.agent().is_some_and(|agent| has(&agent.agent_capabilities)) {
            true => Ok(()),
            false => Err(self.shared.error(Problem::Unsupported(what))),
        }
    }

    fn read<T: DeserializeOwned + Default>(&self, method: &str, answer: Value) -> Result<T, Error> {
        // `null` is how some agents say "nothing to add".
        if answer.is_null() {
            return Ok(T::default());
        }
        serde_json::from_value(answer).map_err(|error| self.shared.error(unreadable(method, &error.to_string())))
    }
}

fn unreadable(method: &str, what: &str) -> Problem {
    Problem::Unreadable { method: method.into(), what: what.into() }
}

/// Some agents refuse a session without a list of servers, even an empty one.
fn place(cwd: &Path) -> Value {
    json!({ "cwd": cwd.to_string_lossy(), "mcpServers": [] })
}

fn gone_is_fine(answer: Result<Value, Error>) -> Result<(), Error> {
    match answer {
        Err(error) if error.is_session_gone() => Ok(()),
        other => other.map(drop),
    }
}
