//! What clients ask for. A handler answers at once where it can; otherwise it leaves word in `pending` what the engine's reply
//! is for.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use vocab::{
    Account, Change, Delivery, DirectoryVerb, Mode, Open, Query, QueueVerb, SessionVerb, SignInMode, Target, Verb,
    Which,
};
use wire::Out;
use wire::jsonrpc::RpcError;

use crate::config::{MODE, MODEL, OFF, THOUGHT};
use crate::frames::{CANCELLED, Pen, invalid, unknown_method};
use crate::params::{self, absolute, read};
use crate::replies::{Opening, Setting, Why};
use crate::seat::Closing;
use crate::tools::Manner;
use crate::{Acp, PAGE_ROWS_MAX, PROTOCOL, SESSIONS_MAX, content};

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
            Pen { frames: &mut out.frames }.refuse(Some(call), &error);
        }
    }

    fn ask(&mut self, call: &RawValue, method: &str, params: Option<&RawValue>, out: &mut Out) -> Result<(), RpcError> {
        match method {
            "initialize" => self.initialize(call, read(params)?, out),
            "authenticate" => self.authenticate(call, read(params)?, out)?,
            "logout" => self.want(Verb::Directory(DirectoryVerb::Forget), Why::Logout(call.to_owned()), out),
            "session/new" => self.new_session(call, read(params)?, out)?,
            "session/load" => self.old_session(call, read(params)?, Opening::Load, out)?,
            "session/resume" => self.old_session(call, read(params)?, Opening::Resume, out)?,
            "session/fork" => self.fork(call, read(params)?, out)?,
            "session/list" => self.list(call, read(params)?, out)?,
            "session/close" => self.close(call, &read(params)?, out)?,
            "session/delete" => self.delete(call, &read(params)?, out),
            "session/prompt" => self.prompt(call, read(params)?, out)?,
            "session/cancel" => {
                let params: params::OneSession = read(params)?;
                self.cancel(&params.session_id, out)?;
                Pen { frames: &mut out.frames }.result(call, json!({}));
            }
            "session/set_mode" => self.set_mode(call, &read(params)?, out)?,
            "session/set_model" => self.set_model(call, &read(params)?, out)?,
            "session/set_config_option" => self.set_option(call, &read(params)?, out)?,
            // Some clients look whether we are alive.
            "$/ping" | "ping" | "health" => Pen { frames: &mut out.frames }.result(call, json!({})),
            _ => return Err(unknown_method(method)),
        }
        Ok(())
    }

    /// Nothing is ever answered here, whatever is wrong.
    pub(crate) fn notified(&mut self, method: &str, params: Option<&RawValue>, out: &mut Out) {
        match method {
            "session/cancel" => {
                if let Ok(params) = read::<params::OneSession>(params) {
                    let _ = self.cancel(&params.session_id, out);
                }
            }
            "$/cancel_request" => {
                if let Ok(params) = read::<params::CancelRequest>(params) {
                    self.cancel_request(&params.request_id, out);
                }
            }
            _ => {}
        }
    }

    fn initialize(&mut self, call: &RawValue, params: params::Initialize, out: &mut Out) {
        self.client = params.client_capabilities;
        self.manner = Manner::of(&params.client_info.name);
        let mut methods = vec![
            json!({ "id": ENVIRONMENT, "name": "What is set up",
                "description": ENVIRONMENT_HELP }),
            json!({ "id": OPENAI, "name": "ChatGPT account", "description": "Sign in with a browser or a device code" }),
            json!({ "id": ANTIGRAVITY, "name": "Antigravity account", "description": "Sign in with a browser" }),
        ];
        if self.client.auth.terminal {
            methods.push(json!({ "type": "terminal", "id": LOGIN, "name": "Sign in in a terminal",
                "description": "Runs `tillerman login`", "args": ["login"] }));
        }
        let mut answer = json!({
            "protocolVersion": PROTOCOL,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
                "mcpCapabilities": { "http": true, "sse": false },
                "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "delete": {} },
                "auth": { "logout": {} },
            },
            "authMethods": methods,
            "agentInfo": { "name": "tillerman", "title": "Tillerman", "version": self.options.version },
        });
        if !self.options.strict {
            answer["agentCapabilities"]["sessionCapabilities"]["fork"] = json!({});
        }
        Pen { frames: &mut out.frames }.result(call, answer);
        for at in 0..self.seats.len() {
            self.offer(at, out);
        }
    }

    fn authenticate(&mut self, call: &RawValue, params: params::Authenticate, out: &mut Out) -> Result<(), RpcError> {
        let account = match &*params.method_id {
            OPENAI => Account::OpenAi,
            ANTIGRAVITY => Account::Antigravity,
            ENVIRONMENT => {
                self.want(Verb::Directory(DirectoryVerb::Accounts), Why::Environment(call.to_owned()), out);
                return Ok(());
            }
            LOGIN => return Err(invalid("run `tillerman login` in a terminal, then connect again")),
            other => return Err(invalid(format!("unknown authentication method: {other}"))),
        };
        let verb = Verb::Directory(DirectoryVerb::SignIn { account, mode: SignInMode::Auto, originator: None });
        self.want(verb, Why::SignIn(call.to_owned()), out);
        Ok(())
    }

    fn room(&self) -> Result<(), RpcError> {
        match self.seats.len() < SESSIONS_MAX {
            true => Ok(()),
            false => Err(invalid(format!("{SESSIONS_MAX} sessions are open; close one first"))),
        }
    }

    fn new_session(&mut self, call: &RawValue, params: params::NewSession, out: &mut Out) -> Result<(), RpcError> {
        self.room()?;
        let servers = params.servers()?;
        let open = Open {
            workspace: Some(absolute(params.cwd)?),
            model: self.options.model.clone(),
            servers,
            ..self.open(Which::New)
        };
        let why = Why::Open { call: call.to_owned(), asked: None, how: Opening::New };
        self.open_listed(Target::Current, Verb::Open(open), why, out);
        Ok(())
    }

    fn old_session(
        &mut self,
        call: &RawValue,
        params: params::OldSession,
        how: Opening,
        out: &mut Out,
    ) -> Result<(), RpcError> {
        self.room()?;
        let servers = params.servers()?;
        let workspace = params.cwd.map(absolute).transpose()?;
        let asked = params.session_id;
        let open = Open { workspace, servers, ..self.open(Which::Id(asked.clone())) };
        let why = Why::Open { call: call.to_owned(), asked: Some(asked), how };
        self.open_listed(Target::Current, Verb::Open(open), why, out);
        Ok(())
    }

    fn fork(&mut self, call: &RawValue, params: params::OldSession, out: &mut Out) -> Result<(), RpcError> {
        self.room()?;
        let servers = params.servers()?;
        let workspace = params.cwd.map(absolute).transpose()?;
        let open = Open { workspace, servers, ..self.open(Which::New) };
        let target = Target::Session(params.session_id.as_str().into());
        let why = Why::Fork { call: call.to_owned(), asked: params.session_id, open: Box::new(open) };
        self.open_listed(target, Verb::Fork { at: None }, why, out);
        Ok(())
    }

    fn list(&mut self, call: &RawValue, params: params::List, out: &mut Out) -> Result<(), RpcError> {
        let offset = match params.cursor {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| invalid("unknown cursor"))?,
        };
        let workspace = params.cwd.map(absolute).transpose()?;
        let query = Query { workspace, non_empty: true, limit: Some(PAGE_ROWS_MAX), offset, ..Query::default() };
        self.want(Verb::Directory(DirectoryVerb::Sessions(query)), Why::List { call: call.to_owned(), offset }, out);
        Ok(())
    }

    fn close(&mut self, call: &RawValue, params: &params::OneSession, out: &mut Out) -> Result<(), RpcError> {
        let at = self.seat_named(&params.session_id)?;
        self.leave(at, Closing { call: call.to_owned(), delete: false }, out);
        Ok(())
    }

    fn delete(&mut self, call: &RawValue, params: &params::OneSession, out: &mut Out) {
        let closing = Closing { call: call.to_owned(), delete: true };
        match self.seat_named(&params.session_id) {
            Ok(at) => self.leave(at, closing, out),
            Err(_) => self.delete_saved(&params.session_id, closing, out),
        }
    }

    pub(crate) fn delete_saved(&mut self, session: &str, closing: Closing, out: &mut Out) {
        self.want(Verb::Directory(DirectoryVerb::Delete(session.into())), Why::Deleted(closing.call), out);
    }

    /// What runs is stopped first, and its prompt answered.
    fn leave(&mut self, at: usize, closing: Closing, out: &mut Out) {
        self.seats[at].closing.push(closing);
        if self.is_busy(at) {
            self.tell_seat(at, Verb::Session(SessionVerb::Interrupt { turn: None }), Why::Nothing, out);
        }
        self.close_if_due(at, out);
    }

    pub(crate) fn left(&mut self, at: usize, closing: Vec<Closing>, out: &mut Out) {
        let session = self.seats[at].session.clone();
        self.tell_seat(at, Verb::Leave, Why::Left { session, closing }, out);
        self.seats.remove(at);
    }

    fn prompt(&mut self, call: &RawValue, params: params::Prompt, out: &mut Out) -> Result<(), RpcError> {
        let at = self.seat_named(&params.session_id)?;
        if self.ending || !self.seats[at].closing.is_empty() {
            return Err(invalid("the session is being closed"));
        }
        let said = content::read(&params.prompt);
        out.notes.extend(said.left_out.iter().map(|what| format!("left out of a prompt: {what}")));
        if said.parts.is_empty() {
            return Err(invalid("the prompt has no text and no picture"));
        }
        if let Some((name, args)) = content::slash(&said.parts)
            && self.options.commands.iter().any(|command| command.name == name)
        {
            let (name, args) = (name.to_string(), args.to_string());
            let why = Why::Slash { call: call.to_owned(), session: self.seats[at].session.clone() };
            self.tell_seat(at, Verb::Session(SessionVerb::Slash { name, args }), why, out);
            return Ok(());
        }
        // A second one waits for the first; a cancel takes it back.
        let verb = Verb::Session(SessionVerb::Prompt { parts: said.parts, delivery: Delivery::Queue });
        let session = self.seats[at].session.clone();
        let why = Why::Prompt { call: call.to_owned(), session, cancelled: false };
        self.tell_seat(at, verb, why, out);
        Ok(())
    }

    fn cancel(&mut self, session: &str, out: &mut Out) -> Result<(), RpcError> {
        let at = self.seat_named(session)?;
        self.tell_seat(at, Verb::Session(SessionVerb::Interrupt { turn: None }), Why::Nothing, out);
        Ok(())
    }

    /// A prompt is cancelled as such; whatever else is on its way is answered as taken back, and its outcome dropped.
    fn cancel_request(&mut self, id: &RawValue, out: &mut Out) {
        for at in 0..self.seats.len() {
            let seat = &self.seats[at];
            if let Some((turn, _)) = seat.prompts.iter().find(|(_, call)| call.get() == id.get()) {
                let turn = Some(turn.clone());
                return self.tell_seat(at, Verb::Session(SessionVerb::Interrupt { turn }), Why::Nothing, out);
            }
            if let Some((item, _)) = seat.waiting.iter().find(|(_, call)| call.get() == id.get()) {
                let verb = Verb::Session(SessionVerb::Queue(QueueVerb::TakeBack(item.clone())));
                return self.tell_seat(at, verb, Why::Nothing, out);
            }
        }
        // One that the engine has not taken yet is stopped as soon as it has.
        for why in self.pending.values_mut() {
            if let Why::Prompt { call, cancelled, .. } = why
                && call.get() == id.get()
            {
                *cancelled = true;
                return;
            }
        }
        // A command of ours is stopped as a turn is, unless a turn runs beside it: that one is not meant.
        let slash = self.pending.values().find_map(|why| match why {
            Why::Slash { call, session } if call.get() == id.get() => self.seat_of(session),
            _ => None,
        });
        if let Some(at) = slash {
            if !self.seats[at].is_busy() {
                self.tell_seat(at, Verb::Session(SessionVerb::Interrupt { turn: None }), Why::Nothing, out);
            }
            return;
        }
        let waiting =
            self.pending.iter_mut().find(|(_, why)| why.may_drop().is_some_and(|call| call.get() == id.get()));
        if let Some((_, why)) = waiting {
            *why = Why::Nothing;
            let error = RpcError::new(CANCELLED, "request cancelled");
            Pen { frames: &mut out.frames }.refuse(Some(id), &error);
        }
    }

    // ---- choosing -----------------------------------------------------------------------------------------------

    fn set(&mut self, call: &RawValue, at: usize, change: Change, answer: Setting, out: &mut Out) {
        let session = self.seats[at].session.clone();
        self.tell_seat(
            at,
            Verb::Session(SessionVerb::Set(change)),
            Why::Set { call: call.to_owned(), session, answer },
            out,
        );
    }

    fn set_mode(&mut self, call: &RawValue, params: &params::SetMode, out: &mut Out) -> Result<(), RpcError> {
        let at = self.seat_named(&params.session_id)?;
        let mode = mode(&params.mode_id)?;
        self.set(call, at, Change::Mode(mode), Setting::Empty, out);
        Ok(())
    }

    fn set_model(&mut self, call: &RawValue, params: &params::SetModel, out: &mut Out) -> Result<(), RpcError> {
        let at = self.seat_named(&params.session_id)?;
        self.set(call, at, Change::Model(params.model_id.as_str().into()), Setting::Empty, out);
        Ok(())
    }

    fn set_option(&mut self, call: &RawValue, params: &params::SetOption, out: &mut Out) -> Result<(), RpcError> {
        let value = params.value.as_str().ok_or_else(|| invalid("value must be a string"))?;
        let at = self.seat_named(&params.session_id)?;
        let change = match &*params.config_id {
            MODE => Change::Mode(mode(value)?),
            MODEL => Change::Model(value.into()),
            THOUGHT => {
                let known = self.seats[at].chosen.levels().iter().any(|level| level == value);
                if !known {
                    return Err(invalid(format!("unknown thinking level: {value}")));
                }
                Change::Thinking((value != OFF).then(|| Arc::from(value)))
            }
            other => return Err(invalid(format!("unknown option: {other}"))),
        };
        self.set(call, at, change, Setting::Options, out);
        Ok(())
    }

    // ---- telling ------------------------------------------------------------------------------------------------

    /// What a client learns about a session that it has opened.
    pub(crate) fn session_answer(&self, at: usize, known: bool) -> Value {
        let seat = &self.seats[at];
        let mut answer = json!({
            "modes": seat.chosen.modes(),
            "configOptions": seat.chosen.options(&self.models),
        });
        if !known || !self.options.strict {
            answer["sessionId"] = json!(seat.session.as_str());
        }
        if !self.options.strict {
            answer["models"] = seat.chosen.legacy_models(&self.models);
        }
        answer
    }

    pub(crate) fn available_commands(&self) -> Value {
        let one = |command: &crate::SlashInfo| {
            let mut shown = json!({ "name": command.name, "description": command.description });
            if let Some(hint) = &command.hint {
                shown["input"] = json!({ "hint": hint });
            }
            shown
        };
        let all: Vec<Value> = self.options.commands.iter().map(one).collect();
        json!({ "sessionUpdate": "available_commands_update", "availableCommands": all })
    }
}

fn mode(id: &str) -> Result<Mode, RpcError> {
    Mode::parse(id).ok_or_else(|| {
        let known = Mode::ALL.map(Mode::as_str).join(", ");
        invalid(format!("unknown mode: {id} (there is: {known})"))
    })
}
