//! `command.execute`: slash commands as people type them.

use serde_json::{Value, json};
use vocab::{Change, DirectoryVerb, QueueVerb, SessionVerb, Verb};

use crate::Loaf;
use crate::accounts::Then;
use crate::faults::RpcFault;
use crate::frames::LoafCall;
use crate::history::{HistoryPage, Selector};
use crate::methods::Method;
use crate::own::{LoafOwn, Out, prefer};
use crate::pending::{Compacting, Listing, LoafPending, Swap};
use crate::session_view::After;

/// As `/help` shows them.
const COMMANDS: &[(&str, &str)] = &[
    ("/auth", "add auth provider"),
    ("/onboarding", "open setup flow (auth + exa key)"),
    ("/forgeteverything", "wipe local config and restart onboarding"),
    ("/model", "choose model and thinking level"),
    ("/limits", "show oauth usage limits"),
    ("/history", "resume a saved chat (/history, /history last, /history <id>)"),
    ("/compress", "compress conversation context to reduce token usage"),
    ("/skills", "list available skills"),
    ("/tools", "list registered tools"),
    ("/clear", "clear conversation messages"),
    ("/quit", "exit loaf"),
    ("/help", "show available commands"),
    ("/exit", "exit loaf"),
];

impl Loaf {
    pub(crate) fn command(&mut self, call: &LoafCall, at: usize, raw: &str, out: &mut Out) -> Result<(), RpcFault> {
        if !raw.starts_with('/') {
            self.pen(out).result(call, json!({ "handled": false }));
            return Ok(());
        }
        let call = &LoafCall { command: true, ..call.clone() };
        let (word, args) = raw.split_once(char::is_whitespace).map_or((raw, ""), |(word, args)| (word, args.trim()));
        let as_method = |method| LoafCall { method, ..call.clone() };
        match &*word.to_lowercase() {
            "/auth" => {
                let hint = "use auth.connect.* and auth.set.* methods for explicit RPC auth flows";
                let status = self.auth_status();
                self.pen(out).result(call, json!({ "auth_status": status, "hint": hint }));
            }
            "/onboarding" => {
                let completed = self.onboarded;
                self.pen(out).result(call, json!({ "completed": completed }));
            }
            "/forgeteverything" => self.clear(call, at, true, out)?,
            "/model" => self.want(
                Verb::Directory(DirectoryVerb::Models),
                LoafPending::Models(call.clone(), Listing::Command),
                out,
            ),
            "/limits" => self.call(LoafOwn::Limits, LoafPending::Limits(as_method(Method::LimitsGet)), out),
            "/history" => match args {
                "" | "list" | "all" => self.list_history(call, HistoryPage::new(None, None), out),
                selector => self.resume(call, at, selector, out)?,
            },
            "/compress" => self.compress(call, at, out)?,
            "/skills" => self.call(LoafOwn::Skills, LoafPending::Skills(Some(as_method(Method::SkillsList))), out),
            "/tools" => self.want(Verb::Directory(DirectoryVerb::Tools), LoafPending::Tools(call.clone()), out),
            "/clear" if self.views[at].is_busy() => {
                let message = "session is busy; interrupt the turn before clearing";
                return Err(RpcFault::domain("session_busy", message));
            }
            "/clear" => self.clear(call, at, false, out)?,
            "/help" => {
                let row = |(name, description): &(&str, &str)| json!({ "name": name, "description": description });
                self.pen(out).result(call, json!({ "commands": COMMANDS.iter().map(row).collect::<Vec<Value>>() }));
            }
            "/quit" | "/exit" => self.quit(call, out),
            _ => self.pen(out).result(call, json!({ "error": format!("unknown command: {word}") })),
        }
        Ok(())
    }

    /// Another, empty chat behind this session; what runs is stopped first.
    pub(crate) fn clear(
        &mut self,
        call: &LoafCall,
        at: usize,
        forget_all: bool,
        out: &mut Out,
    ) -> Result<(), RpcFault> {
        self.views[at].works_here()?;
        let view = &mut self.views[at];
        if view.compacting {
            return Err(RpcFault::domain("session_busy", "session is busy; its context is being compressed"));
        }
        view.locked = true;
        let idle = view.turn.is_none();
        view.after = Some(After { call: call.clone(), forget_all, emptied: idle });
        if idle {
            self.swap_if_due(at, out);
            return Ok(());
        }
        let view = view.number;
        self.tell_view(at, Verb::Session(SessionVerb::Queue(QueueVerb::Clear)), LoafPending::Emptied { view }, out);
        self.interrupt(at, out);
        Ok(())
    }

    /// Nothing waits any more. A turn that was faster than we is stopped as well.
    pub(crate) fn emptied(&mut self, view: u64, out: &mut Out) {
        let Some(at) = self.view_at(view) else { return };
        if let Some(after) = &mut self.views[at].after {
            after.emptied = true;
            self.interrupt(at, out);
            self.swap_if_due(at, out);
        }
    }

    /// Once nothing runs and nothing waits.
    pub(crate) fn swap_if_due(&mut self, at: usize, out: &mut Out) {
        let view = &mut self.views[at];
        let idle = view.turn.is_none();
        let Some(After { call, forget_all, .. }) = view.after.take_if(|after| after.emptied && idle) else { return };
        let swap = if forget_all { Swap::ForgetAll } else { Swap::Clear };
        let view = view.number;
        self.want(Verb::Open(self.open_new()), LoafPending::Swap { call, view, swap }, out);
    }

    fn resume(&mut self, call: &LoafCall, at: usize, selector: &str, out: &mut Out) -> Result<(), RpcFault> {
        let view = &mut self.views[at];
        if view.is_busy() {
            let message = "session is busy; interrupt the turn before resuming another chat";
            return Err(RpcFault::domain("session_busy", message));
        }
        view.locked = true;
        let selector = match selector {
            "last" => Selector::Last,
            id => Selector::Id(id.to_owned()),
        };
        let (which, view) = (selector.which(), view.number);
        self.want(
            Verb::Directory(DirectoryVerb::Recall(which)),
            LoafPending::Resume { call: call.clone(), view, selector },
            out,
        );
        Ok(())
    }

    fn compress(&mut self, call: &LoafCall, at: usize, out: &mut Out) -> Result<(), RpcFault> {
        if self.choice.model.is_none() {
            let message = "select a model first before running /compress";
            return Err(RpcFault::domain("no_model", message));
        }
        self.views[at].works_here()?;
        if self.views[at].compacting {
            return Err(RpcFault::domain("session_busy", "session is busy; its context is being compressed"));
        }
        // Wanted first: what waits for the end of the turn comes after it.
        let in_turn = self.views[at].turn.is_some();
        self.compact(at, Compacting::Command(call.clone()), out);
        if in_turn {
            self.interrupt(at, out);
        }
        Ok(())
    }

    /// After the turn that runs, before what waits.
    pub(crate) fn compact(&mut self, at: usize, how: Compacting, out: &mut Out) {
        let view = &mut self.views[at];
        view.compacting = true;
        view.halting = false;
        let pending = LoafPending::Compact { view: view.number, before: view.anchor, how: Box::new(how) };
        self.tell_view(at, Verb::Session(SessionVerb::Compact { instructions: None, wait: true }), pending, out);
    }

    /// Nothing is known of the user any more.
    pub(crate) fn forget_all(&mut self, call: LoafCall, at: usize, out: &mut Out) {
        self.onboarded = false;
        self.choice.route = crate::models::ANY_ROUTE.into();
        for key in [prefer::MODEL, prefer::THINKING, prefer::ROUTE, prefer::ONBOARDED] {
            self.call(LoafOwn::Prefer { key, value: "".into() }, LoafPending::Nothing, out);
        }
        self.call(LoafOwn::Route { to: None }, LoafPending::Nothing, out);
        let view = self.views[at].number;
        self.want(Verb::Directory(DirectoryVerb::Forget), LoafPending::Forget { call, view }, out);
    }

    pub(crate) fn forgotten(&mut self, call: LoafCall, view: u64, out: &mut Out) {
        if let Some(at) = self.view_at(view) {
            let mut pen = self.pen(out);
            let (view, scene) = self.scene(at);
            view.remark(&mut pen, scene.numbers, "all local configuration was cleared. run the setup again to go on.");
        }
        self.look_again(Then::Forgotten { call }, out);
    }

    /// The selection goes to every session.
    pub(crate) fn apply_choice(&mut self, out: &mut Out) {
        let Some(slug) = self.choice.model.as_ref().map(|info| info.slug.clone()) else { return };
        for at in 0..self.views.len() {
            self.tell_view(at, Verb::Session(SessionVerb::Set(Change::Model(slug.clone()))), LoafPending::Chosen, out);
            self.apply_thinking(at, out);
        }
    }
}
