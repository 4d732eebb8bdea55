//! Frames of the extension: answers to what we asked, and what it wants itself.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use vocab::{
    Answer, AskKind, CommandInfo, Delivery, ExtensionVerb, Hears, HookVerdict, Hooks, HostTool, Json, Notice,
    NoticeLevel, Part, Required, SessionId, SessionVerb, Verb,
};
use wire::jsonrpc::{self, Frame, Version};

use super::{ConnectionOutput, ExtensionConnection, OFFERS_MAX, OurRequest, REQUESTS_MAX, ReplyShape, TheirRequest};
use crate::frames::{
    self, About, CallVerdict, CommandDef, Commands, EVENTS, Empty, HOOKS, HookNames, INVALID_PARAMS, Log,
    METHOD_NOT_FOUND, Prompt, REFUSED, Registration, ResultVerdict, RpcError, ToolDef, ToolProgress, ToolResult, Tools,
    TurnVerdict, Ui,
};

/// What a tool may say it needs.
const RUNGS: [Required; 3] = [Required::ReadOnly, Required::WorkspaceWrite, Required::DangerFullAccess];

/// Why a frame of theirs was not carried out.
struct RefusedRequest {
    code: i64,
    message: String,
}

impl RefusedRequest {
    fn params(what: impl Into<String>) -> Self {
        Self { code: INVALID_PARAMS, message: what.into() }
    }
}

/// What a method leads to.
enum MethodOutcome {
    /// Answered with nothing.
    Now,
    /// The engine's reply is the answer.
    Later(SessionId, Box<SessionVerb>, ReplyShape),
}

impl MethodOutcome {
    fn later(session: SessionId, verb: SessionVerb, answer: ReplyShape) -> Self {
        Self::Later(session, Box::new(verb), answer)
    }
}

impl ExtensionConnection {
    pub(crate) fn hear(&mut self, line: wire::Frame<'_>, out: &mut ConnectionOutput) {
        let bytes = match line {
            wire::Frame::Whole(bytes) => bytes,
            wire::Frame::TooLong { limit } => {
                return self.bad_frame(format!("a frame is longer than {limit} bytes"), out);
            }
        };
        if bytes.trim_ascii().is_empty() {
            return;
        }
        let text = match wire::check(bytes) {
            Ok(text) => wire::replace_lone_surrogates(text),
            Err(error) => return self.bad_frame(format!("not JSON: {error}: {}", start_of(bytes)), out),
        };
        match jsonrpc::read(&text, Version::Optional) {
            Frame::Request { id, method, params } => self.wants_something(&method, Some(id), params, out),
            Frame::Notification { method, params } => self.wants_something(&method, None, params, out),
            Frame::Response { id, outcome: Ok(result) } => self.answered(id, Some(result), None, out),
            Frame::Response { id, outcome: Err(error) } => self.answered(id, None, Some(error), out),
            Frame::Batch => self.bad_frame("batches are not taken: one frame per line".into(), out),
            Frame::Invalid => self.bad_frame(format!("not a frame of JSON-RPC 2.0: {}", start_of(bytes)), out),
        }
    }

    // ---- answers ------------------------------------------------------------------------------------------------

    fn answered(
        &mut self,
        id: &RawValue,
        result: Option<&RawValue>,
        error: Option<RpcError>,
        out: &mut ConnectionOutput,
    ) {
        let number: Option<u64> = id.get().parse().ok();
        let Some(asked) = number.and_then(|id| self.ours.remove(&id)) else {
            // One that we took back, unless we never asked it.
            if number.is_none_or(|id| id == 0 || id > self.next_id) {
                self.bad_frame(format!("an answer to a request that was never made: {}", id.get()), out);
            }
            return;
        };
        let text = result.map_or("null", |result| result.get());
        match asked {
            OurRequest::Initialize => self.register(text, error, out),
            OurRequest::Shutdown => out.may_end = true,
            OurRequest::Tool { session, ask, .. } => {
                let answer = match error {
                    Some(error) => failed_tool(&error.message),
                    None => tool_answer(text).unwrap_or_else(|what| {
                        self.bad_frame(format!("the answer to tool/call {what}"), out);
                        failed_tool("the extension gave no result that can be read")
                    }),
                };
                self.command(session, Verb::Session(SessionVerb::Answer { ask, answer }), out);
            }
            OurRequest::Turn { session, hook } => {
                self.hook_done(session, hook, verdict(error, || turn_verdict(text)), out);
            }
            OurRequest::Call { session, hook } => {
                self.hook_done(session, hook, verdict(error, || call_verdict(text)), out);
            }
            OurRequest::Result { session, hook, parts, is_error } => {
                let verdict = verdict(error, || result_verdict(text, parts, is_error));
                self.hook_done(session, hook, verdict, out);
            }
            OurRequest::Command { session, hook } => {
                self.hook_done(session, hook, verdict(error, || Ok(HookVerdict::Fine)), out);
            }
        }
    }

    fn hook_done(&mut self, session: SessionId, hook: u64, verdict: HookVerdict, out: &mut ConnectionOutput) {
        self.command(session, Verb::Session(SessionVerb::Extension(ExtensionVerb::HookDone { hook, verdict })), out);
    }

    fn register(&mut self, text: &str, error: Option<RpcError>, out: &mut ConnectionOutput) {
        if let Some(error) = error {
            out.stop = Some(format!("refused to start: {}", error.message));
            return;
        }
        let registration: Registration<'_> = match read(text) {
            Ok(registration) => registration,
            Err(refused) => {
                out.stop = Some(format!("answered `initialize` with something that {}", refused.message));
                return;
            }
        };
        if let Some(name) = registration.name.filter(|name| !name.trim().is_empty()) {
            self.name = name.trim().chars().take(NAME_CHARS_MAX).collect();
        }
        for event in &registration.events {
            match EVENTS.iter().position(|known| known == event) {
                Some(at) => self.wanted[at] = true,
                None => out.troubles.push(("register", format!("there is no event `{event}`"))),
            }
        }
        let wants_flow = self.wants("text_delta") || self.wants("thinking_delta");
        self.offers.hears = if wants_flow { Hears::Flow } else { Hears::Log };
        let set = self
            .set_tools(registration.tools)
            .and_then(|()| self.set_commands(registration.commands))
            .and_then(|()| self.set_hooks(&registration.hooks));
        if let Err(refused) = set {
            out.stop = Some(format!("cannot be registered: {}", refused.message));
            return;
        }
        self.registered = true;
        out.offers = true;
    }

    fn set_tools(&mut self, tools: Vec<ToolDef<'_>>) -> Result<(), RefusedRequest> {
        if tools.len() > OFFERS_MAX {
            return Err(RefusedRequest::params(format!(
                "{} tools are too many; {OFFERS_MAX} are the limit",
                tools.len()
            )));
        }
        let one = |tool: ToolDef<'_>| {
            let usable = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if tool.name.is_empty() || tool.name.len() > NAME_CHARS_MAX || !tool.name.chars().all(usable) {
                let text = format!("`{}` is no name for a tool: letters, digits, `_` and `-`, at most 64", tool.name);
                return Err(RefusedRequest::params(text));
            }
            let schema = match tool.parameters {
                None => Json::trusted(r#"{"type":"object","properties":{}}"#),
                Some(schema) => wire::read_object(schema.get())
                    .map_err(|what| RefusedRequest::params(format!("the parameters of `{}`: {what}", tool.name)))?,
            };
            let required = match tool.required.as_deref() {
                None => Required::DangerFullAccess,
                Some(text) => Required::parse(text).ok_or_else(|| {
                    let text = format!(
                        "`{}` requires `{text}`; there is: {}",
                        tool.name,
                        RUNGS.map(Required::as_str).join(", ")
                    );
                    RefusedRequest::params(text)
                })?,
            };
            Ok(HostTool { name: tool.name.into(), description: tool.description.into(), schema, required })
        };
        self.offers.tools = tools.into_iter().map(one).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn set_commands(&mut self, commands: Vec<CommandDef>) -> Result<(), RefusedRequest> {
        if commands.len() > OFFERS_MAX {
            return Err(RefusedRequest::params(format!(
                "{} commands are too many; {OFFERS_MAX} are the limit",
                commands.len()
            )));
        }
        let one = |command: CommandDef| {
            let name = command.name.trim_start_matches('/').to_lowercase();
            if name.is_empty() || name.len() > NAME_CHARS_MAX || name.contains(char::is_whitespace) {
                return Err(RefusedRequest::params(format!("`{}` is no name for a command", command.name)));
            }
            let source: Arc<str> = self.source.as_str().into();
            Ok(CommandInfo { name: name.into(), description: command.description.map(Arc::from), source })
        };
        self.offers.commands = commands.into_iter().map(one).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn set_hooks(&mut self, names: &[String]) -> Result<(), RefusedRequest> {
        if let Some(unknown) = names.iter().find(|name| !HOOKS.contains(&name.as_str())) {
            let text = format!("there is no hook `{unknown}` (there is: {})", HOOKS.join(", "));
            return Err(RefusedRequest::params(text));
        }
        let has = |name: &str| names.iter().any(|it| it == name);
        self.offers.hooks = Hooks {
            before_turn: has("before_turn"),
            before_call: has("before_call"),
            after_call: has("after_call"),
            // A program does what it likes with what it hears, so it hears of nothing that could be lost.
            only_looks: false,
        };
        Ok(())
    }

    // ---- wishes -------------------------------------------------------------------------------------------------

    fn wants_something(
        &mut self,
        method: &str,
        id: Option<&RawValue>,
        params: Option<&RawValue>,
        out: &mut ConnectionOutput,
    ) {
        if let Some(id) = id
            && !id.get().starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit())
        {
            return self.bad_frame(format!("the id of a request must be a string or a number: {}", id.get()), out);
        }
        let params = params.map_or("{}", |params| params.get());
        let done = match self.registered {
            true => self.carry_out(method, params, out),
            false => Err(RefusedRequest { code: REFUSED, message: "answer `initialize` first".into() }),
        };
        match (done, id) {
            (Ok(MethodOutcome::Now), Some(id)) => frames::result(&mut out.bytes, id, Empty {}),
            (Ok(MethodOutcome::Now), None) => {}
            (Ok(MethodOutcome::Later(..)), Some(id)) if self.theirs.len() >= REQUESTS_MAX => {
                let text = format!("{REQUESTS_MAX} requests are open already");
                frames::error(&mut out.bytes, id, REFUSED, text);
            }
            (Ok(MethodOutcome::Later(session, verb, answer)), id) => {
                let is_question = matches!(*verb, SessionVerb::Extension(ExtensionVerb::Ask { .. }));
                if is_question && id.is_none() {
                    return self
                        .bad_frame(format!("`{method}` is a request: without an `id` nobody hears the answer"), out);
                }
                let tag = self.command(session, Verb::Session(*verb), out);
                if let Some(id) = id {
                    self.theirs.insert(tag, TheirRequest { id: id.to_owned(), answer });
                }
            }
            (Err(refused), Some(id)) => frames::error(&mut out.bytes, id, refused.code, refused.message),
            (Err(refused), None) => self.bad_frame(format!("{method}: {}", refused.message), out),
        }
    }

    fn carry_out(
        &mut self,
        method: &str,
        params: &str,
        out: &mut ConnectionOutput,
    ) -> Result<MethodOutcome, RefusedRequest> {
        match method {
            "tools/set" => {
                self.set_tools(read::<Tools<'_>>(params)?.tools)?;
                out.offers = true;
                Ok(MethodOutcome::Now)
            }
            "commands/set" => {
                self.set_commands(read::<Commands>(params)?.commands)?;
                out.offers = true;
                Ok(MethodOutcome::Now)
            }
            "hooks/set" => {
                self.set_hooks(&read::<HookNames>(params)?.hooks)?;
                out.offers = true;
                Ok(MethodOutcome::Now)
            }
            "log" => {
                out.log.push(read::<Log>(params)?.message);
                Ok(MethodOutcome::Now)
            }
            "tool/progress" => {
                let progress: ToolProgress = read(params)?;
                // Of a call that is over: it cannot know that yet.
                let Some(OurRequest::Tool { session, ask, .. }) = self.ours.get(&progress.id) else {
                    return Ok(MethodOutcome::Now);
                };
                let (session, ask) = (session.clone(), ask.clone());
                let verb = SessionVerb::Progress { ask, parts: progress.content.parts() };
                Ok(MethodOutcome::later(session, verb, ReplyShape::Nothing))
            }
            "session/exit" => {
                let session = self.session(params)?;
                Ok(MethodOutcome::later(
                    session,
                    SessionVerb::Extension(ExtensionVerb::Show(Notice::Exit)),
                    ReplyShape::Nothing,
                ))
            }
            "session/prompt" => {
                let session = self.session(params)?;
                let prompt: Prompt = read(params)?;
                let delivery = match prompt.deliver.as_deref().unwrap_or("prompt") {
                    "prompt" => Delivery::Enqueue,
                    "steer" => Delivery::Steer,
                    "followUp" => Delivery::FollowUp,
                    other => {
                        return Err(RefusedRequest::params(format!(
                            "`deliver` is prompt, steer or followUp, not `{other}`"
                        )));
                    }
                };
                let verb = SessionVerb::Prompt { parts: vec![Part::text(prompt.text)], delivery };
                Ok(MethodOutcome::later(session, verb, ReplyShape::Nothing))
            }
            // Taking a question back: its time limit does that.
            "$/cancel" => Ok(MethodOutcome::Now),
            _ => self.ui(method, params),
        }
    }

    fn ui(&mut self, method: &str, params: &str) -> Result<MethodOutcome, RefusedRequest> {
        let Some(what) = method.strip_prefix("ui/").filter(|_| frames::UI.contains(&method)) else {
            return Err(RefusedRequest { code: METHOD_NOT_FOUND, message: format!("there is no method `{method}`") });
        };
        let session = self.session(params)?;
        let ui: Ui = read(params)?;
        let timeout_ms = ui.timeout_ms;
        let need = |text: Option<String>, name: &str| -> Result<Arc<str>, RefusedRequest> {
            text.map(Arc::from).ok_or_else(|| RefusedRequest::params(format!("`{name}` is missing")))
        };
        let arcs = |lines: Vec<String>| lines.into_iter().map(Arc::from).collect::<Vec<Arc<str>>>();
        let ask = |kind, answer| {
            Ok(MethodOutcome::later(
                session.clone(),
                SessionVerb::Extension(ExtensionVerb::Ask { kind, timeout_ms }),
                answer,
            ))
        };
        let show = |notice| {
            Ok(MethodOutcome::later(
                session.clone(),
                SessionVerb::Extension(ExtensionVerb::Show(notice)),
                ReplyShape::Nothing,
            ))
        };
        match what {
            "select" => {
                let options = ui.options.ok_or_else(|| RefusedRequest::params("`options` is missing"))?;
                let kind = AskKind::Select { title: need(ui.title, "title")?, options: arcs(options) };
                ask(kind, ReplyShape::Text)
            }
            "confirm" => {
                let message = ui.message.unwrap_or_default().into();
                ask(AskKind::Confirm { title: need(ui.title, "title")?, message }, ReplyShape::Confirmed)
            }
            "input" => {
                let placeholder = ui.placeholder.map(Arc::from);
                ask(AskKind::Input { title: need(ui.title, "title")?, placeholder }, ReplyShape::Text)
            }
            "editor" => {
                let prefill = ui.prefill.map(Arc::from);
                ask(AskKind::Editor { title: need(ui.title, "title")?, prefill }, ReplyShape::Text)
            }
            "notify" => {
                let level = match ui.level.as_deref().unwrap_or("info") {
                    "info" => NoticeLevel::Info,
                    "warning" => NoticeLevel::Warning,
                    "error" => NoticeLevel::Error,
                    other => {
                        return Err(RefusedRequest::params(format!(
                            "`level` is info, warning or error, not `{other}`"
                        )));
                    }
                };
                show(Notice::Say { text: need(ui.message, "message")?, level })
            }
            "setStatus" => show(Notice::Status { key: need(ui.key, "key")?, text: ui.text.map(Arc::from) }),
            "setWidget" => {
                let below = match ui.placement.as_deref().unwrap_or("aboveEditor") {
                    "aboveEditor" => false,
                    "belowEditor" => true,
                    other => {
                        let text = format!("`placement` is aboveEditor or belowEditor, not `{other}`");
                        return Err(RefusedRequest::params(text));
                    }
                };
                show(Notice::Widget { key: need(ui.key, "key")?, lines: ui.lines.map(arcs), below })
            }
            "setTitle" => show(Notice::Title { text: need(ui.title, "title")? }),
            "setEditorText" => show(Notice::EditorText { text: need(ui.text, "text")? }),
            _ => Err(RefusedRequest { code: METHOD_NOT_FOUND, message: format!("there is no method `{method}`") }),
        }
    }

    fn session(&self, params: &str) -> Result<SessionId, RefusedRequest> {
        match read::<About>(params)?.session {
            Some(session) => Ok(SessionId::from(session)),
            None => self.sessions.last().cloned().ok_or_else(|| RefusedRequest {
                code: REFUSED,
                message: "no session is open; wait for `session_start`".into(),
            }),
        }
    }
}

/// Characters of a name.
const NAME_CHARS_MAX: usize = 64;

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, RefusedRequest> {
    serde_json::from_str(text).map_err(|error| RefusedRequest::params(format!("cannot be read: {error}")))
}

/// What the engine is told about an answer that is an error, or none that can be read.
fn verdict(error: Option<RpcError>, read: impl FnOnce() -> Result<HookVerdict, String>) -> HookVerdict {
    match error {
        Some(error) => HookVerdict::Failed(error.message.into()),
        None => read().unwrap_or_else(|what| HookVerdict::Failed(what.into())),
    }
}

fn turn_verdict(text: &str) -> Result<HookVerdict, String> {
    let said: Option<TurnVerdict> = read(text).map_err(|refused| refused.message)?;
    Ok(match said.unwrap_or_default() {
        TurnVerdict { system: None, message: None } => HookVerdict::Fine,
        TurnVerdict { system, message } => {
            HookVerdict::Context { system: system.map(Arc::from), message: message.map(Arc::from) }
        }
    })
}

fn call_verdict(text: &str) -> Result<HookVerdict, String> {
    let said: Option<CallVerdict<'_>> = read(text).map_err(|refused| refused.message)?;
    Ok(match said.unwrap_or_default() {
        CallVerdict { block: true, reason, .. } => {
            HookVerdict::Veto(reason.unwrap_or_else(|| "blocked by an extension".into()).into())
        }
        CallVerdict { input: Some(input), .. } => {
            HookVerdict::Input(wire::read_object(input.get()).map_err(|what| format!("`input`: {what}"))?)
        }
        _ => HookVerdict::Fine,
    })
}

fn result_verdict(text: &str, parts: Vec<Part>, is_error: bool) -> Result<HookVerdict, String> {
    let said: Option<ResultVerdict> = read(text).map_err(|refused| refused.message)?;
    Ok(match said.unwrap_or_default() {
        ResultVerdict { content: None, is_error: None } => HookVerdict::Fine,
        said => HookVerdict::Result {
            parts: said.content.map_or(parts, frames::Content::parts),
            is_error: said.is_error.unwrap_or(is_error),
        },
    })
}

fn tool_answer(text: &str) -> Result<Answer, String> {
    let result: ToolResult<'_> = read(text).map_err(|refused| refused.message)?;
    Ok(Answer::Result {
        parts: result.content.parts(),
        is_error: result.is_error,
        details: result.details.map(|details| Json::trusted(details.get())),
    })
}

fn failed_tool(message: &str) -> Answer {
    Answer::Result { parts: vec![Part::text(message)], is_error: true, details: None }
}

/// Enough of a bad frame to recognise it.
fn start_of(bytes: &[u8]) -> String {
    const SHOWN_CHARS: usize = 80;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN_CHARS)]);
    text.chars().take(SHOWN_CHARS).collect()
}
