//! `command.execute`: slash commands as people type them.

use serde_json::{Value, json};
use vocab::{Change, QueueVerb, Verb};
use wire::Out;

use crate::accounts::Then;
use crate::frames::Call;
use crate::history::{Page, Selector};
use crate::methods::Method;
use crate::problem::Problem;
use crate::seat::After;
use crate::why::{Compacting, Listing, Swap, Why};
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
            "/forgeteverything" => self.clear(call, at, true, out)?,
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
    pub(crate) fn clear(&mut self, call: &Call, at: usize, forget_all: bool, out: &mut Out) -> Result<(), Problem> {
        let seat = &mut self.seats[at];
        if seat.compacting {
            return Err(Problem::domain("session_busy", "session is busy; its context is being compressed"));
        }
        seat.locked = true;
        let idle = seat.turn.is_none();
        seat.after = Some(After { call: call.clone(), forget_all, emptied: idle });
        if idle {
            self.swap_if_due(at, out);
            return Ok(());
        }
        let seat = seat.number;
        self.tell_seat(at, Verb::Queue(QueueVerb::Clear), Why::Emptied { seat }, out);
        self.interrupt(at, out);
        Ok(())
    }

    /// Nothing waits any more. A turn that was faster than we is stopped as well.
    pub(crate) fn emptied(&mut self, seat: u64, out: &mut Out) {
        let Some(at) = self.seat_at(seat) else { return };
        if let Some(after) = &mut self.seats[at].after {
            after.emptied = true;
            self.interrupt(at, out);
            self.swap_if_due(at, out);
        }
    }

    /// Once nothing runs and nothing waits.
    pub(crate) fn swap_if_due(&mut self, at: usize, out: &mut Out) {
        let seat = &mut self.seats[at];
        let idle = seat.turn.is_none();
        let Some(After { call, forget_all, .. }) = seat.after.take_if(|after| after.emptied && idle) else { return };
        let swap = if forget_all { Swap::ForgetAll } else { Swap::Clear };
        let seat = seat.number;
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
        // Wanted first: what waits for the end of the turn comes after it.
        let in_turn = self.seats[at].turn.is_some();
        self.compact(at, Compacting::Command(call.clone()), out);
        if in_turn {
            self.interrupt(at, out);
        }
        Ok(())
    }

    /// After the turn that runs, before what waits.
    pub(crate) fn compact(&mut self, at: usize, how: Compacting, out: &mut Out) {
        let seat = &mut self.seats[at];
        seat.compacting = true;
        seat.halting = false;
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
        let seat = self.seats[at].number;
        self.want(Verb::Forget, Why::Forget { call, seat }, out);
    }

    pub(crate) fn forgotten(&mut self, call: Call, seat: u64, out: &mut Out) {
        if let Some(at) = self.seat_at(seat) {
            let mut pen = self.pen(out);
            let (seat, scene) = self.scene(at);
            seat.remark(&mut pen, scene.numbers, "all local configuration was cleared. run the setup again to go on.");
        }
        self.look_again(Then::Forgotten { call }, out);
    }

    /// The selection goes to every session.
    pub(crate) fn apply_choice(&mut self, out: &mut Out) {
        let Some(slug) = self.choice.model.as_ref().map(|info| info.slug.clone()) else { return };
        for at in 0..self.seats.len() {
            self.tell_seat(at, Verb::Set(Change::Model(slug.clone())), Why::Nothing, out);
            self.apply_thinking(at, out);
        }
    }
}
