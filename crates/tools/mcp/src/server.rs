//! One server of one session: how it is reached, whether it lives, and calls of its tools.

use std::ffi::OsString;
use std::sync::Arc;

use net::Proxy;
use process::{Launcher, Program};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout, timeout_at};
use vocab::{Fault, FaultKind, Json, Keyring, McpServer, McpTransport, Outcome, Progress};

use crate::content;
use crate::frames::{McpRequest, McpToolResult, ToolInfo, Us};
use crate::handshake;
use crate::link::{Link, LinkTrouble};
use crate::pipe::Pipe;
use crate::web::Web;
use crate::{CALL_LIMIT, START_LIMIT, ServerPlace};

/// What every server of a session is started with.
pub(crate) struct ServerSetup {
    pub(crate) launcher: Arc<dyn Launcher>,
    pub(crate) place: ServerPlace,
    pub(crate) us: Arc<Us>,
    pub(crate) version: String,
}

pub(crate) struct ToolServer {
    pub(crate) name: Arc<str>,
    pub(crate) trust_hints: bool,
    way: McpTransport,
    setup: Arc<ServerSetup>,
    /// The connection that calls go through. One that is over is replaced by the next call.
    link: Mutex<Option<Arc<dyn Link>>>,
}

/// What is asked for once a server knows us.
enum AfterHandshake {
    Tools,
    /// Its tools are known already.
    Nothing,
}

impl ToolServer {
    /// Starts it and asks for its tools. A failure reads like the rest of a sentence about the server.
    pub(crate) async fn start(
        server: McpServer,
        setup: Arc<ServerSetup>,
    ) -> Result<(Arc<ToolServer>, Vec<ToolInfo>), Fault> {
        let McpServer { name, way, trust_hints } = server;
        let server = ToolServer { name, trust_hints, way, setup, link: Mutex::default() };
        let (link, tools) = server.connect(AfterHandshake::Tools).await?;
        *server.link.lock().await = Some(link);
        Ok((Arc::new(server), tools))
    }

    /// Calls a tool. Dropping the future cancels the call.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Json,
        trace: Option<Arc<str>>,
        progress: Progress,
    ) -> Outcome {
        let trace = self.told_of(trace);
        let request =
            || McpRequest::CallTool { name: tool.to_owned(), arguments: arguments.clone(), trace: trace.clone() };
        match timeout(CALL_LIMIT, self.try_call(request, progress)).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(text)) => Outcome::error(text),
            Err(_) => {
                let minutes = CALL_LIMIT.as_secs() / 60;
                Outcome::error(self.said(&format!("gave no result within {minutes} minutes")))
            }
        }
    }

    async fn try_call(&self, request: impl Fn() -> McpRequest, progress: Progress) -> Result<Outcome, String> {
        let mut answer = self.living().await?.ask(request(), Some(progress.clone())).await;
        if matches!(answer, Err(LinkTrouble::Forgotten)) {
            answer = self.living().await?.ask(request(), Some(progress)).await;
        }
        let raw = answer.map_err(|trouble| match trouble {
            LinkTrouble::Refused(error) => format!("{} (error {})", error.message, error.code),
            LinkTrouble::Failed(text) => self.said(&text),
            LinkTrouble::Forgotten => self.said("keeps forgetting the connection"),
        })?;
        let result = serde_json::from_str::<McpToolResult>(raw.get());
        let result =
            result.map_err(|error| format!("the server `{}` gave a result that cannot be read: {error}", self.name))?;
        Ok(content::outcome(result))
    }

    /// What a server learns of a trace. What the sender's tracing carries along is the sender's: it stays on this machine.
    fn told_of(&self, trace: Option<Arc<str>>) -> Option<Arc<str>> {
        match &self.way {
            McpTransport::Process { .. } => trace,
            McpTransport::Http { .. } => trace?.split(' ').next().map(Arc::from),
        }
    }

    fn said(&self, what: &str) -> String {
        format!("the server `{}` {what}", self.name)
    }

    /// The connection, or a new one where it is over: tried once per call. Tools stay as they were listed.
    async fn living(&self) -> Result<Arc<dyn Link>, String> {
        let mut link = self.link.lock().await;
        if let Some(link) = link.as_ref().filter(|link| !link.is_over()) {
            return Ok(link.clone());
        }
        let (fresh, _) = self.connect(AfterHandshake::Nothing).await.map_err(|fault| self.said(&fault.message))?;
        Ok(link.insert(fresh).clone())
    }

    /// Connects, introduces us, and asks for what is wanted, all within [`START_LIMIT`].
    async fn connect(&self, wanted: AfterHandshake) -> Result<(Arc<dyn Link>, Vec<ToolInfo>), Fault> {
        let sealed = |fault: Fault| Fault { message: self.secrets().scrub(&fault.message).into_owned(), ..fault };
        let late = |last_words: String| {
            let text = format!("was not ready within {} s{last_words}", START_LIMIT.as_secs());
            Fault::new(FaultKind::Network, text)
        };
        let until = Instant::now() + START_LIMIT;
        let opened = timeout_at(until, self.open()).await;
        let link = opened.unwrap_or_else(|_| Err(late(String::new()))).map_err(sealed)?;
        let talk = async {
            let has_tools = handshake::introduce(&*link, &self.setup.version).await?;
            match wanted {
                AfterHandshake::Tools if has_tools => handshake::list(&*link).await,
                AfterHandshake::Tools | AfterHandshake::Nothing => Ok(Vec::new()),
            }
        };
        let talked = timeout_at(until, talk).await.unwrap_or_else(|_| Err(late(link.last_words())));
        talked.map(|tools| (link, tools)).map_err(sealed)
    }

    async fn open(&self) -> Result<Arc<dyn Link>, Fault> {
        match &self.way {
            McpTransport::Process { command, args, .. } => {
                let program = self.program();
                let started = self.setup.launcher.launch(&program).await.map_err(|error| {
                    let text = format!("cannot be started: {command}: {error}");
                    let fault = Fault::new(FaultKind::NotFound, text);
                    if args.is_empty() && command.contains(' ') {
                        return fault.hint("the command is one program; its arguments go into a list of their own");
                    }
                    fault.hint("a full path to the program always works")
                })?;
                Ok(Arc::new(Pipe::new(started, self.setup.us.clone(), self.secrets())))
            }
            McpTransport::Http { url, headers } => {
                let headers = headers.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
                let proxy = Proxy::from_env(url, |name| std::env::var(name).ok());
                Ok(Arc::new(Web::new(url, headers, proxy, self.setup.us.clone())?))
            }
        }
    }

    fn program(&self) -> Program {
        let ServerPlace { workspace, env } = &self.setup.place;
        let mut env = env.clone();
        let mut argv: Vec<OsString> = Vec::new();
        if let McpTransport::Process { command, args, env: given } = &self.way {
            argv.push((**command).into());
            argv.extend(args.iter().map(|arg| OsString::from(&**arg)));
            // Behind the others: what is given wins.
            env.extend(given.iter().map(|(name, value)| ((**name).into(), value.expose().into())));
        }
        Program { argv, cwd: workspace.clone(), env, joined: false }
    }

    /// What is given to it alone; masked wherever it prints that.
    fn secrets(&self) -> Keyring {
        let (McpTransport::Process { env: pairs, .. } | McpTransport::Http { headers: pairs, .. }) = &self.way;
        pairs.iter().map(|(_, value)| value.expose()).collect()
    }
}
