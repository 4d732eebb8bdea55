//! What clients ask for. A handler answers at once where it can; otherwise it leaves word in `pending` what the engine's reply
//! is for.

use std::sync::Arc;

use acp_types::{
    AgentAuthCapabilities, AgentCapabilities, AuthMethod, AuthenticateRequest, CancelRequest, Implementation,
    InitializeRequest, InitializeResponse, ListSessionsRequest, McpCapabilities, NewSessionRequest, Other,
    PROTOCOL_VERSION, PromptCapabilities, PromptMeta, PromptRequest, SavedSessionRequest, SessionCapabilities,
    SessionRequest, SetConfigOptionRequest, SetModeRequest, SetModelRequest, method as methods, present,
};
use serde_json::value::RawValue;
use vocab::{
    AccountName, Change, Delivery, DirectoryVerb, Mode, Open, Query, QueueVerb, SessionVerb, SignInMode, Target, Verb,
    Which,
};
use wire::Out;
use wire::jsonrpc::RpcError;

use crate::config::{MODE, MODEL, OFF, THOUGHT};
use crate::faults::{cancelled, invalid, unknown_method};
use crate::frames::pen;
use crate::opening::replay_from;
use crate::params::{absolute, read, servers};
use crate::pending::{Pending, SessionOpening, SettingAnswer};
use crate::session_view::Closing;
use crate::tools::CallStyle;
use crate::{Acp, PAGE_ROWS_MAX, SESSIONS_MAX, UNNAMED, content};

/// The ways to sign in that are offered.
const OPENAI: &str = "openai";
const ANTIGRAVITY: &str = "antigravity";
const ENVIRONMENT: &str = "environment";
const LOGIN: &str = "login";
const ENVIRONMENT_HELP: &str = "Whatever model can be used already: the key of any vendor (OPENAI_API_KEY, \
    ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, ...), OPENAI_BASE_URL, a configured provider, a model server on \
    this machine, or an account that is signed in";

impl Acp {
    pub(crate) fn request(&mut self, call: &RawValue, method: &str, params: Option<&RawValue>, out: &mut Out) {
        if let Err(error) = self.ask(call, method, params, out) {
            pen(out).refuse(Some(call), &error);
        }
    }

    fn ask(&mut self, call: &RawValue, method: &str, params: Option<&RawValue>, out: &mut Out) -> Result<(), RpcError> {
        match method {
            methods::INITIALIZE => self.initialize(call, read(params)?, out),
            methods::AUTHENTICATE => self.authenticate(call, read(params)?, out)?,
            methods::LOGOUT => self.want(Verb::Directory(DirectoryVerb::Forget), Pending::Logout(call.to_owned()), out),
            methods::SESSION_NEW => self.new_session(call, read(params)?, out)?,
            methods::SESSION_LOAD => {
                let request: SavedSessionRequest = read(params)?;
                let after = replay_from(&request)?.unwrap_or_default();
                self.old_session(call, request, SessionOpening::Load { after }, out)?;
            }
            methods::SESSION_RESUME => {
                let request: SavedSessionRequest = read(params)?;
                let how = match replay_from(&request)? {
                    Some(after) => SessionOpening::Load { after },
                    None => SessionOpening::Resume,
                };
                self.old_session(call, request, how, out)?;
            }
            methods::SESSION_FORK => self.fork(call, read(params)?, out)?,
            methods::SESSION_LIST => self.list(call, read(params)?, out)?,
            methods::SESSION_CLOSE => self.close(call, &read(params)?, out)?,
            methods::SESSION_DELETE => self.delete(call, &read(params)?, out),
            methods::SESSION_PROMPT => self.prompt(call, read(params)?, params, out)?,
            methods::SESSION_CANCEL => {
                let params: SessionRequest = read(params)?;
                self.cancel(&params.session_id, out)?;
                pen(out).done(call);
            }
            methods::SESSION_SET_MODE => self.set_mode(call, &read(params)?, out)?,
            methods::SESSION_SET_MODEL => self.set_model(call, &read(params)?, out)?,
            methods::SESSION_SET_CONFIG_OPTION => self.set_option(call, &read(params)?, out)?,
            // Some clients look whether we are alive.
            methods::PING | "ping" | "health" => pen(out).done(call),
            _ => return Err(unknown_method(method)),
        }
        Ok(())
    }

    /// Nothing is ever answered here, whatever is wrong.
    pub(crate) fn notified(&mut self, method: &str, params: Option<&RawValue>, out: &mut Out) {
        match method {
            methods::SESSION_CANCEL => {
                if let Ok(params) = read::<SessionRequest>(params) {
                    let _ = self.cancel(&params.session_id, out);
                }
            }
            methods::CANCEL_REQUEST => {
                if let Ok(params) = read::<CancelRequest<Box<RawValue>>>(params) {
                    self.cancel_request(&params.request_id, out);
                }
            }
            crate::LAST if self.is_remote() => {
                self.stays_for_answers = true;
                self.part_remote(wire::Parting::Eof, out);
            }
            _ => {}
        }
    }

    fn initialize(&mut self, call: &RawValue, params: InitializeRequest, out: &mut Out) {
        self.client = params.client_capabilities;
        self.style = CallStyle::of(&params.client_info.name);
        self.client_name = wire::client_name(&params.client_info.name, UNNAMED);
        let answer = InitializeResponse {
            protocol_version: PROTOCOL_VERSION.into(),
            agent_capabilities: capabilities(self.options.strict),
            auth_methods: ways_to_sign_in(self.client.auth.terminal),
            agent_info: Some(Implementation {
                name: "tillerman".into(),
                title: Some("Tillerman".into()),
                version: self.options.version.clone(),
            }),
            other: self.options.remote.iter().map(|remote| connection_id(&remote.connection)).collect(),
        };
        pen(out).result(call, answer);
        for at in 0..self.views.len() {
            self.offer(at, out);
        }
    }

    fn authenticate(&mut self, call: &RawValue, params: AuthenticateRequest, out: &mut Out) -> Result<(), RpcError> {
        let account = match &*params.method_id {
            OPENAI => AccountName::new(OPENAI),
            ANTIGRAVITY => AccountName::new(ANTIGRAVITY),
            ENVIRONMENT => {
                self.want(Verb::Directory(DirectoryVerb::Accounts), Pending::Environment(call.to_owned()), out);
                return Ok(());
            }
            LOGIN => return Err(invalid("run `tillerman login` in a terminal, then connect again")),
            other => return Err(invalid(format!("unknown authentication method: {other}"))),
        };
        let verb = Verb::Directory(DirectoryVerb::SignIn { account, mode: SignInMode::Auto, originator: None });
        self.want(verb, Pending::SignIn(call.to_owned()), out);
        Ok(())
    }

    fn room(&self) -> Result<(), RpcError> {
        match self.views.len() < SESSIONS_MAX {
            true => Ok(()),
            false => Err(invalid(format!("{SESSIONS_MAX} sessions are open; close one first"))),
        }
    }

    fn new_session(&mut self, call: &RawValue, params: NewSessionRequest, out: &mut Out) -> Result<(), RpcError> {
        self.room()?;
        let servers = servers(params.mcp_servers)?;
        let open = Open {
            workspace: Some(absolute(params.cwd)?),
            model: self.options.model.clone(),
            servers,
            ..self.open(Which::New)
        };
        let pending = Pending::Open { call: Some(call.to_owned()), asked: None, how: SessionOpening::New };
        self.open_listed(Target::Current, Verb::Open(open), pending, out);
        Ok(())
    }

    fn old_session(
        &mut self,
        call: &RawValue,
        params: SavedSessionRequest,
        how: SessionOpening,
        out: &mut Out,
    ) -> Result<(), RpcError> {
        self.room()?;
        let servers = servers(params.mcp_servers)?;
        let workspace = params.cwd.map(absolute).transpose()?;
        let asked = params.session_id;
        let open = Open { workspace, servers, ..self.open(Which::Id(asked.clone())) };
        // Others may be on it: it stays as it is.
        let open = Open { mode: open.mode.filter(|_| !self.is_remote()), ..open };
        let pending = Pending::Open { call: Some(call.to_owned()), asked: Some(asked), how };
        self.open_listed(Target::Current, Verb::Open(open), pending, out);
        Ok(())
    }

    fn fork(&mut self, call: &RawValue, params: SavedSessionRequest, out: &mut Out) -> Result<(), RpcError> {
        self.room()?;
        let servers = servers(params.mcp_servers)?;
        let workspace = params.cwd.map(absolute).transpose()?;
        let open = Open { workspace, servers, ..self.open(Which::New) };
        let target = Target::Session(params.session_id.as_str().into());
        let pending = Pending::Fork { call: call.to_owned(), asked: params.session_id, open: Box::new(open) };
        self.open_listed(target, Verb::Fork { at: None }, pending, out);
        Ok(())
    }

    fn list(&mut self, call: &RawValue, params: ListSessionsRequest, out: &mut Out) -> Result<(), RpcError> {
        let offset = match params.cursor {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| invalid("unknown cursor"))?,
        };
        let workspace = params.cwd.map(absolute).transpose()?;
        let query = Query { workspace, non_empty: true, limit: Some(PAGE_ROWS_MAX), offset, ..Query::default() };
        self.want(
            Verb::Directory(DirectoryVerb::Sessions(query)),
            Pending::List { call: call.to_owned(), offset },
            out,
        );
        Ok(())
    }

    fn close(&mut self, call: &RawValue, params: &SessionRequest, out: &mut Out) -> Result<(), RpcError> {
        let at = self.view_named(&params.session_id)?;
        self.leave(at, Closing { call: call.to_owned(), delete: false }, out);
        Ok(())
    }

    fn delete(&mut self, call: &RawValue, params: &SessionRequest, out: &mut Out) {
        let closing = Closing { call: call.to_owned(), delete: true };
        match self.view_named(&params.session_id) {
            Ok(at) => self.leave(at, closing, out),
            Err(_) => self.delete_saved(&params.session_id, closing, out),
        }
    }

    fn prompt(
        &mut self,
        call: &RawValue,
        params: PromptRequest,
        raw: Option<&RawValue>,
        out: &mut Out,
    ) -> Result<(), RpcError> {
        let at = match (self.view_named(&params.session_id), raw) {
            (Err(_), Some(raw)) if self.is_remote() => {
                self.room()?;
                self.attach_to_prompt(call.to_owned(), params.session_id, raw.to_owned(), out);
                return Ok(());
            }
            (found, _) => found?,
        };
        // What a client on the network has said before it goes is carried out.
        let is_ending = self.ending && !self.is_remote();
        if is_ending || !self.views[at].closing.is_empty() {
            return Err(invalid("the session is being closed"));
        }
        let said = content::read(params.prompt);
        out.notes.extend(said.left_out.iter().map(|what| format!("left out of a prompt: {what}")));
        if said.parts.is_empty() {
            return Err(invalid("the prompt has no text and no picture"));
        }
        if let Some((name, args)) = content::slash(&said.parts)
            && self.options.commands.iter().any(|command| command.name == name)
        {
            let (name, args) = (name.to_string(), args.to_string());
            let pending = Pending::Slash { call: call.to_owned(), session: self.views[at].session.clone() };
            self.tell_session(at, Verb::Session(SessionVerb::Slash { name, args }), pending, out);
            return Ok(());
        }
        // A second one waits for the first; a cancel takes it back.
        let verb = Verb::Session(SessionVerb::Prompt { parts: said.parts, delivery: Delivery::Queue });
        let session = self.views[at].session.clone();
        let pending = Pending::Prompt { call: call.to_owned(), session, cancelled: false };
        self.tell_session(at, verb, pending, out);
        if let Some(command) = out.commands.last_mut() {
            command.trace = params.meta.and_then(trace);
        }
        Ok(())
    }

    fn cancel(&mut self, session: &str, out: &mut Out) -> Result<(), RpcError> {
        let at = self.view_named(session)?;
        self.tell_session(at, Verb::Session(SessionVerb::Interrupt { turn: None }), Pending::Nothing, out);
        Ok(())
    }

    /// A prompt is cancelled as such; whatever else is on its way is answered as taken back, and its outcome dropped.
    fn cancel_request(&mut self, id: &RawValue, out: &mut Out) {
        for at in 0..self.views.len() {
            let view = &self.views[at];
            if let Some((turn, _)) = view.prompts.iter().find(|(_, call)| call.get() == id.get()) {
                let turn = Some(turn.clone());
                return self.tell_session(at, Verb::Session(SessionVerb::Interrupt { turn }), Pending::Nothing, out);
            }
            if let Some((item, _)) = view.waiting.iter().find(|(_, call)| call.get() == id.get()) {
                let verb = Verb::Session(SessionVerb::Queue(QueueVerb::TakeBack(item.clone())));
                return self.tell_session(at, verb, Pending::Nothing, out);
            }
        }
        // One that the engine has not taken yet is stopped as soon as it has.
        for pending in self.pending.values_mut() {
            if let Pending::Prompt { call, cancelled, .. } = pending
                && call.get() == id.get()
            {
                *cancelled = true;
                return;
            }
        }
        // A command of ours is stopped as a turn is, unless a turn runs beside it: that one is not meant.
        let slash = self.pending.values().find_map(|pending| match pending {
            Pending::Slash { call, session } if call.get() == id.get() => self.view_of(session),
            _ => None,
        });
        if let Some(at) = slash {
            if !self.views[at].is_busy() {
                self.tell_session(at, Verb::Session(SessionVerb::Interrupt { turn: None }), Pending::Nothing, out);
            }
            return;
        }
        let waiting =
            self.pending.iter_mut().find(|(_, pending)| pending.may_drop().is_some_and(|call| call.get() == id.get()));
        if let Some((_, pending)) = waiting {
            *pending = Pending::Nothing;
            pen(out).refuse(Some(id), &cancelled());
        }
    }

    // ---- choosing -----------------------------------------------------------------------------------------------

    fn set(&mut self, call: &RawValue, at: usize, change: Change, answer: SettingAnswer, out: &mut Out) {
        let session = self.views[at].session.clone();
        self.tell_session(
            at,
            Verb::Session(SessionVerb::Set(change)),
            Pending::Set { call: call.to_owned(), session, answer },
            out,
        );
    }

    fn set_mode(&mut self, call: &RawValue, params: &SetModeRequest, out: &mut Out) -> Result<(), RpcError> {
        let at = self.view_named(&params.session_id)?;
        let mode = mode(&params.mode_id)?;
        self.set(call, at, Change::Mode(mode), SettingAnswer::Empty, out);
        Ok(())
    }

    fn set_model(&mut self, call: &RawValue, params: &SetModelRequest, out: &mut Out) -> Result<(), RpcError> {
        let at = self.view_named(&params.session_id)?;
        self.set(call, at, Change::Model(params.model_id.as_str().into()), SettingAnswer::Empty, out);
        Ok(())
    }

    fn set_option(&mut self, call: &RawValue, params: &SetConfigOptionRequest, out: &mut Out) -> Result<(), RpcError> {
        let value = params.value.as_str().ok_or_else(|| invalid("value must be a string"))?;
        let at = self.view_named(&params.session_id)?;
        let change = match &*params.config_id {
            MODE => Change::Mode(mode(value)?),
            MODEL => Change::Model(value.into()),
            THOUGHT => {
                let known = self.views[at].chosen.levels().iter().any(|level| level == value);
                if !known {
                    return Err(invalid(format!("unknown thinking level: {value}")));
                }
                Change::Thinking((value != OFF).then(|| Arc::from(value)))
            }
            other => return Err(invalid(format!("unknown option: {other}"))),
        };
        self.set(call, at, change, SettingAnswer::Options, out);
        Ok(())
    }
}

fn connection_id(id: &str) -> (String, serde_json::Value) {
    ("connectionId".to_owned(), id.into())
}

/// `fork` is not in the published protocol yet.
fn capabilities(strict: bool) -> AgentCapabilities {
    AgentCapabilities {
        load_session: Some(true),
        prompt_capabilities: Some(PromptCapabilities {
            image: Some(true),
            audio: Some(false),
            embedded_context: Some(true),
            other: Other::new(),
        }),
        mcp_capabilities: Some(McpCapabilities { http: Some(true), sse: Some(false), other: Other::new() }),
        session_capabilities: Some(SessionCapabilities {
            list: present(),
            resume: present(),
            close: present(),
            delete: present(),
            fork: present().filter(|_| !strict),
            other: Other::new(),
        }),
        auth: Some(AgentAuthCapabilities { logout: present(), other: Other::new() }),
        other: Other::new(),
    }
}

/// `terminal`: the client runs a command in one.
fn ways_to_sign_in(terminal: bool) -> Vec<AuthMethod> {
    let way = |id: &str, name: &str, description: &str| AuthMethod {
        id: id.into(),
        name: name.into(),
        description: Some(description.into()),
        kind: None,
        args: Vec::new(),
        other: Other::new(),
    };
    let mut ways = vec![
        way(ENVIRONMENT, "What is set up", ENVIRONMENT_HELP),
        way(OPENAI, "ChatGPT account", "Sign in with a browser or a device code"),
        way(ANTIGRAVITY, "Antigravity account", "Sign in with a browser"),
    ];
    if terminal {
        let login = way(LOGIN, "Sign in in a terminal", "Runs `tillerman login`");
        ways.push(AuthMethod { kind: Some("terminal".into()), args: vec!["login".into()], ..login });
    }
    ways
}

fn mode(id: &str) -> Result<Mode, RpcError> {
    Mode::parse(id).ok_or_else(|| {
        let known = Mode::ALL.map(Mode::as_str).join(", ");
        invalid(format!("unknown mode: {id} (there is: {known})"))
    })
}

/// Where a prompt belongs in its sender's trace.
fn trace(meta: PromptMeta) -> Option<Arc<str>> {
    let place = meta.traceparent?;
    Some(match meta.tracestate {
        Some(state) => format!("{place} {state}").into(),
        None => place.into(),
    })
}
