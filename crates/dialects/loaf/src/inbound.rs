//! What each method wants from the engine, or from the service beside it. A handler answers at once where it can; otherwise
//! it leaves word in `pending` what the reply is for.

use serde_json::{Value, json};
use vocab::{DirectoryVerb, IdKind, Query, QueueVerb, Secret, SessionVerb, SignInMode, Verb, Which, iso8601};

use crate::faults::RpcFault;
use crate::frames::LoafCall;
use crate::history::{HistoryPage, Selector};
use crate::methods::{METHODS, Method};
use crate::models::{ANY_ROUTE, PROVIDERS};
use crate::own::{LoafOwn, Out, account, prefer};
use crate::params::Params;
use crate::pending::{Listing, LoafPending, Select};
use crate::session_view::HELD_MAX;
use crate::{Loaf, PROTOCOL, SESSIONS_MAX, UNNAMED};

impl Loaf {
    pub(crate) fn ask(&mut self, call: &LoafCall, params: Params, out: &mut Out) -> Result<(), RpcFault> {
        match call.method {
            Method::RpcHandshake => self.handshake(call, &params, out)?,
            Method::SystemPing => {
                let pen = &mut self.pen(out);
                pen.result(call, json!({ "ok": true, "time": iso8601(pen.now_ms) }));
            }
            Method::SystemShutdown => self.shutdown_asked(call, params.text_maybe("reason")?, out),
            Method::StateGet => self.call(LoafOwn::Skills, LoafPending::Skills(Some(call.clone())), out),
            Method::SessionCreate => self.create(call, params.text_maybe("title")?, out)?,
            Method::AuthStatus => {
                let status = self.auth_status();
                self.pen(out).result(call, status);
            }
            Method::AuthConnectOpenAi => self.connect_openai(call, &params, out)?,
            Method::AuthConnectAntigravity => {
                self.sign_in(call, account::ANTIGRAVITY, SignInMode::Auto, None, out);
            }
            Method::AuthSetOpenRouterKey => {
                let value = Secret::new(&params.text("api_key")?);
                self.call(
                    LoafOwn::SetKey { account: account::OPENROUTER, value },
                    LoafPending::OpenRouterKey(call.clone()),
                    out,
                );
            }
            Method::AuthSetExaKey => self.set_exa_key(call, &params.text("api_key")?, out),
            Method::OnboardingStatus => {
                let completed = self.onboarded;
                self.pen(out).result(call, json!({ "completed": completed }));
            }
            Method::OnboardingComplete => {
                self.onboarded = true;
                self.call(LoafOwn::Prefer { key: prefer::ONBOARDED, value: "true".into() }, LoafPending::Nothing, out);
                self.state_changed("onboarding_complete", None, out);
                self.pen(out).result(call, json!({ "completed": true }));
            }
            Method::ModelList => {
                let only = params.text_maybe("provider")?.map(|name| known_provider(&name)).transpose()?;
                self.want(
                    Verb::Directory(DirectoryVerb::Models),
                    LoafPending::Models(call.clone(), Listing::List { only }),
                    out,
                );
            }
            Method::ModelSelect => self.select(call, &params, out)?,
            Method::ModelOpenRouterProviders => {
                let model = params.text("model_id")?;
                self.need_openrouter()?;
                self.call(
                    LoafOwn::Routes { model: model.as_str().into() },
                    LoafPending::Routes(call.clone(), model),
                    out,
                );
            }
            Method::LimitsGet => self.call(LoafOwn::Limits, LoafPending::Limits(call.clone()), out),
            Method::HistoryList => {
                let page = HistoryPage::new(params.number_maybe("limit")?, params.number_maybe("cursor")?);
                self.list_history(call, page, out);
            }
            Method::HistoryGet => {
                let selector = Selector::read(&params)?;
                self.recall(call, selector, out);
            }
            Method::SkillsList => self.call(LoafOwn::Skills, LoafPending::Skills(Some(call.clone())), out),
            Method::ToolsList => {
                self.want(Verb::Directory(DirectoryVerb::Tools), LoafPending::Tools(call.clone()), out)
            }
            Method::DebugSet => {
                self.debug = params.flag("super_debug")?;
                let on = self.debug;
                self.pen(out).result(call, json!({ "super_debug": on }));
            }
            Method::SessionGet
            | Method::SessionSend
            | Method::SessionSteer
            | Method::SessionInterrupt
            | Method::SessionQueueList
            | Method::SessionQueueClear
            | Method::HistoryClearSession
            | Method::CommandExecute => self.ask_session(call, params, out)?,
        }
        Ok(())
    }

    /// A request to one session: now, or after the one that is being decided.
    fn ask_session(&mut self, call: &LoafCall, params: Params, out: &mut Out) -> Result<(), RpcFault> {
        let at = self.view_named(&params.text("session_id")?)?;
        let view = &mut self.views[at];
        if !view.locked {
            return self.act(call, at, params, out);
        }
        if view.held.len() >= HELD_MAX {
            let message = format!("{HELD_MAX} requests wait for this session already");
            return Err(RpcFault::domain("queue_full", message));
        }
        view.held.push_back((call.clone(), params));
        Ok(())
    }

    fn act(&mut self, call: &LoafCall, at: usize, params: Params, out: &mut Out) -> Result<(), RpcFault> {
        let view = self.views[at].number;
        match call.method {
            Method::SessionGet => {
                let why = LoafPending::Inspect { call: call.clone(), view, created: false };
                self.tell_view(at, Verb::Session(SessionVerb::Inspect), why, out);
            }
            Method::SessionSend => self.send(call, at, params, out)?,
            Method::SessionSteer => self.steer(call, at, &params.text("text")?, out),
            Method::SessionInterrupt => {
                let interrupted = self.interrupt(at, out);
                let session_id = self.views[at].id.clone();
                self.pen(out).result(call, json!({ "session_id": session_id, "interrupted": interrupted }));
            }
            Method::SessionQueueList => {
                self.tell_view(
                    at,
                    Verb::Session(SessionVerb::Queue(QueueVerb::List)),
                    LoafPending::QueueList { call: call.clone(), view },
                    out,
                );
            }
            Method::SessionQueueClear => {
                let why = LoafPending::QueueClear { call: call.clone(), view };
                self.tell_view(at, Verb::Session(SessionVerb::Queue(QueueVerb::ClearTurns)), why, out);
            }
            Method::HistoryClearSession => self.clear(call, at, false, out)?,
            Method::CommandExecute => self.command(call, at, &params.text("raw_command")?, out)?,
            _ => return Err(RpcFault::internal("this method belongs to no session")),
        }
        Ok(())
    }

    /// What waited for the session, in its order, up to the next one that must be waited for.
    pub(crate) fn release(&mut self, at: usize, out: &mut Out) {
        self.views[at].locked = false;
        while let Some((call, params)) = self.views[at].held.pop_front() {
            let asked = match self.end.ending {
                true => Err(RpcFault::shutting_down()),
                false => self.act(&call, at, params, out),
            };
            if let Err(problem) = asked {
                self.pen(out).fail(&call, &problem);
            }
            if self.views[at].locked {
                return;
            }
        }
    }

    fn handshake(&mut self, call: &LoafCall, params: &Params, out: &mut Out) -> Result<(), RpcFault> {
        // Who it is is not asked, but kept where it is said: any type of name passes.
        if let Ok(Some(name)) = params.text_maybe("client_name") {
            self.client_name = wire::client_name(&name, UNNAMED);
        }
        let (version, strict) = (params.text_maybe("protocol_version")?, params.flag_maybe("strict")?);
        if let Some(asked) = version.filter(|asked| strict && asked != PROTOCOL) {
            return Err(RpcFault::version(&asked, PROTOCOL));
        }
        let methods: Vec<&str> = METHODS.iter().map(|entry| entry.name).collect();
        let answer = json!({
            "protocol_version": PROTOCOL,
            "server_name": "loaf",
            "server_version": format!("tillerman {}", self.options.version),
            "capabilities": {
                "events": true,
                "command_execute": true,
                "multi_session": true,
                "image_inputs": ["path", "data_url"],
            },
            "methods": methods,
        });
        self.pen(out).result(call, answer);
        Ok(())
    }

    fn create(&mut self, call: &LoafCall, title: Option<String>, out: &mut Out) -> Result<(), RpcFault> {
        let coming = self.pending.iter().filter(|pending| matches!(pending, LoafPending::Create { .. })).count();
        if self.views.len() + coming >= SESSIONS_MAX {
            let message =
                format!("{SESSIONS_MAX} sessions are open; this wire cannot close one: start another process");
            return Err(RpcFault::domain("too_many_sessions", message));
        }
        let why =
            LoafPending::Create { call: call.clone(), id: self.mint(IdKind::Session), title: title.map(Into::into) };
        self.want(Verb::Open(self.open_new()), why, out);
        Ok(())
    }

    fn set_exa_key(&mut self, call: &LoafCall, key: &str, out: &mut Out) {
        let value = Secret::new(key).filter(|_| !key.eq_ignore_ascii_case("skip"));
        let skipped = value.is_none();
        let why = LoafPending::ExaKey { call: call.clone(), skipped };
        self.call(LoafOwn::SetKey { account: account::EXA, value }, why, out);
    }

    pub(crate) fn need_openrouter(&self) -> Result<(), RpcFault> {
        match self.accounts.is_ready(account::OPENROUTER) {
            true => Ok(()),
            false => Err(RpcFault::domain("missing_credentials", "openrouter api key is not configured")),
        }
    }

    fn select(&mut self, call: &LoafCall, params: &Params, out: &mut Out) -> Result<(), RpcFault> {
        let (model, provider) = (params.text("model_id")?, params.text("provider")?);
        let thinking = params.text("thinking_level")?;
        let provider = known_provider(&provider)?;
        let route = params.text_maybe("openrouter_provider")?;
        let session = params.text_maybe("session_id")?;
        let compress = params.flag_maybe("compress_immediately")?;
        let view = session.map(|id| self.view_named(&id)).transpose()?.map(|at| self.views[at].number);
        if compress && view.is_none() {
            let message = "session_id is required when compress_immediately is true";
            return Err(RpcFault::domain("session_required", message));
        }
        if provider == "openrouter" {
            self.need_openrouter()?;
        }
        let route = route.unwrap_or_else(|| ANY_ROUTE.to_owned());
        let select = Select { model, provider, thinking, route, compress: view.filter(|_| compress) };
        self.want(
            Verb::Directory(DirectoryVerb::Models),
            LoafPending::Models(call.clone(), Listing::Select(Box::new(select))),
            out,
        );
        Ok(())
    }

    pub(crate) fn list_history(&mut self, call: &LoafCall, page: HistoryPage, out: &mut Out) {
        let query = Query { non_empty: true, limit: Some(page.limit), offset: page.cursor, ..Query::default() };
        self.want(Verb::Directory(DirectoryVerb::Sessions(query)), LoafPending::Sessions(call.clone(), page), out);
    }

    pub(crate) fn recall(&mut self, call: &LoafCall, selector: Selector, out: &mut Out) {
        let which = selector.which();
        self.want(
            Verb::Directory(DirectoryVerb::Recall(which)),
            LoafPending::Recall { call: call.clone(), selector },
            out,
        );
    }

    /// Reads the log of a session that is open here.
    pub(crate) fn read_log(&mut self, at: usize, why: LoafPending, out: &mut Out) {
        let session = self.views[at].session.as_str().to_owned();
        self.want(Verb::Directory(DirectoryVerb::Recall(Which::Id(session))), why, out);
    }

    /// Everything about the process.
    pub(crate) fn snapshot(&self) -> Value {
        let accounts = &self.accounts;
        let ids: Vec<&str> = self.views.iter().map(|view| &*view.id).collect();
        json!({
            "auth": {
                "enabledProviders": crate::models::enabled(accounts, &self.choice),
                "hasOpenAiToken": accounts.is_ready(account::OPENAI),
                "hasOpenRouterKey": accounts.is_ready(account::OPENROUTER),
                "hasAntigravityToken": accounts.is_ready(account::ANTIGRAVITY),
                "antigravityProfile": crate::accounts::profile_of(accounts, account::ANTIGRAVITY),
            },
            "onboarding": { "completed": self.onboarded },
            "model": {
                "selectedModel": self.choice.model_id(),
                "selectedThinking": self.choice.thinking,
                "selectedOpenRouterProvider": self.choice.route,
                "selectedProvider": self.choice.provider(),
            },
            "sessions": { "count": ids.len(), "ids": ids },
            "skills": { "count": self.skills.skills.len(), "directories": self.skills.directories },
        })
    }

    pub(crate) fn state_changed(&mut self, reason: &str, session: Option<&str>, out: &mut Out) {
        let mut payload = json!({ "reason": reason, "snapshot": self.snapshot() });
        if let Some(session) = session {
            payload["session_id"] = json!(session);
        }
        self.pen(out).event("state.changed", payload);
    }
}

fn known_provider(name: &str) -> Result<&'static str, RpcFault> {
    let known = PROVIDERS.into_iter().find(|known| *known == name);
    known.ok_or_else(|| RpcFault::bad_field("provider", "provider must be one of: openai, openrouter, antigravity"))
}
