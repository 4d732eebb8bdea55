//! `command.execute`: slash commands as people type them.

use serde_json::{Value, json};
use vocab::{Change, QueueVerb, Verb, Which};
use wire::Out;

use crate::frames::Call;
use crate::history::{Page, Selector};
use crate::methods::Method;
use crate::problem::Problem;
use crate::replies::{Compacting, Listing, Swap, Why};
use crate::seat::After;
use crate::{Loaf, prefer};

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
    pub(crate) fn command(&mut self, call: &Call, at: usize, raw: &str, out: &mut Out) -> Result<(), Problem> {
        if !raw.starts_with('/') {
            self.pen(out).result(call, json!({ "handled": false }));
            return Ok(());
        }
        let call = &Call { command: true, ..call.clone() };
        let (word, args) = raw.split_once(char::is_whitespace).map_or((raw, ""), |(word, args)| (word, args.trim()));
        let as_method = |method| Call { method, ..call.clone() };
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
            "/forgeteverything" => self.clear(at, After::ForgetAll(call.clone()), out)?,
            "/model" => self.want(Verb::Models, Why::Models(call.clone(), Listing::Command), out),
            "/limits" => self.want(Verb::Limits, Why::Limits(as_method(Method::LimitsGet)), out),
            "/history" => match args {
                "" | "list" | "all" => self.list_history(call, Page::new(None, None), out),
                selector => self.resume(call, at, selector, out)?,
            },
            "/compress" => self.compress(call, at, out)?,
            "/skills" => self.want(Verb::Skills, Why::Skills(Some(as_method(Method::SkillsList))), out),
            "/tools" => self.want(Verb::Tools, Why::Tools(call.clone()), out),
            "/clear" if self.seats[at].is_busy() => {
                let message = "session is busy; interrupt the turn before clearing";
                return Err(Problem::domain("session_busy", message));
            }
            "/clear" => self.clear(at, After::Clear(call.clone()), out)?,
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
    pub(crate) fn clear(&mut self, at: usize, after: After, out: &mut Out) -> Result<(), Problem> {
        let seat = &mut self.seats[at];
        if seat.turn.is_none() && seat.compacting {
            return Err(Problem::domain("session_busy", "session is busy; its context is being compressed"));
        }
        seat.locked = true;
        seat.queued.clear();
        if seat.turn.is_none() {
            self.swap_for(at, after, out);
            return Ok(());
        }
        seat.after = Some(after);
        self.tell_seat(at, Verb::Queue(QueueVerb::Clear), Why::Nothing, out);
        self.interrupt(at, out);
        Ok(())
    }

    pub(crate) fn swap_for(&mut self, at: usize, after: After, out: &mut Out) {
        let (call, swap) = match after {
            After::Clear(call) => (call, Swap::Clear),
            After::ForgetAll(call) => (call, Swap::ForgetAll),
        };
        let seat = self.seats[at].number;
        self.want(Verb::Open(self.open_new()), Why::Swap { call, seat, swap }, out);
    }

    fn resume(&mut self, call: &Call, at: usize, selector: &str, out: &mut Out) -> Result<(), Problem> {
        let seat = &mut self.seats[at];
        if seat.is_busy() {
            let message = "session is busy; interrupt the turn before resuming another chat";
            return Err(Problem::domain("session_busy", message));
        }
        seat.locked = true;
        let selector = match selector {
            "last" => Selector::Last,
            id => Selector::Id(id.to_owned()),
        };
        let (which, seat) = (selector.which(), seat.number);
        self.want(Verb::Recall(which), Why::Resume { call: call.clone(), seat, selector }, out);
        Ok(())
    }

    fn compress(&mut self, call: &Call, at: usize, out: &mut Out) -> Result<(), Problem> {
        if self.choice.model.is_none() {
            let message = "select a model first before running /compress";
            return Err(Problem::domain("no_model", message));
        }
        if self.seats[at].compacting {
            return Err(Problem::domain("session_busy", "session is busy; its context is being compressed"));
        }
        // In this order, or what waits would start between the two.
        self.compact(at, Compacting::Command(call.clone()), out);
        if self.seats[at].turn.is_some() {
            self.interrupt(at, out);
        }
        Ok(())
    }

    /// After the turn that runs, before what waits.
    pub(crate) fn compact(&mut self, at: usize, how: Compacting, out: &mut Out) {
        let seat = &mut self.seats[at];
        seat.compacting = true;
        let why = Why::Compact { seat: seat.number, before: seat.anchor, how: Box::new(how) };
        self.tell_seat(at, Verb::Compact { instructions: None, wait: true }, why, out);
    }

    /// Nothing is known of the user any more.
    pub(crate) fn forget_all(&mut self, call: Call, at: usize, out: &mut Out) {
        self.onboarded = false;
        self.choice.route = crate::models::ANY_ROUTE.into();
        for key in [prefer::MODEL, prefer::THINKING, prefer::ROUTE, prefer::ONBOARDED] {
            self.want(Verb::Prefer { key, value: "".into() }, Why::Nothing, out);
        }
        self.want(Verb::Route { to: None }, Why::Nothing, out);
        let mut pen = self.pen(out);
        let (seat, scene) = self.scene(at);
        seat.remark(&mut pen, scene.numbers, "all local configuration was cleared. run the setup again to go on.");
        self.want(Verb::Forget, Why::Forget(call), out);
    }

    /// The selection goes to every session.
    pub(crate) fn apply_choice(&mut self, out: &mut Out) {
        let Some(slug) = self.choice.model.as_ref().map(|info| info.slug.clone()) else { return };
        for at in 0..self.seats.len() {
            self.tell_seat(at, Verb::Set(Change::Model(slug.clone())), Why::Nothing, out);
            self.apply_thinking(at, out);
        }
    }

    /// Opens a saved chat; one that another session of ours is on is copied, because events could not tell the two apart.
    pub(crate) fn open_chat(&mut self, which: Which, model: Option<std::sync::Arc<str>>, why: Why, out: &mut Out) {
        let open = vocab::Open { model, ..self.open(which) };
        self.want(Verb::Open(open), why, out);
    }
}
