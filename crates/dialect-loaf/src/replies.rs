//! What the engine's answers mean: each belongs to one thing that was wanted, and each request ends in one response.

use std::sync::Arc;

use serde_json::json;
use vocab::names::Family;
use vocab::{
    Account, Compaction, Fault, FaultKind, Inspection, Item, Limits, ModelInfo, Opened, Reply, SessionId, Tag, Target,
    ToolSpec, Verb, Which,
};
use wire::Out;

use crate::accounts::{self, Then};
use crate::compaction::{COMPRESSING, outcome};
use crate::context::Fixed;
use crate::frames::Call;
use crate::history::{self, Page, Selector};
use crate::messages::{Said, said};
use crate::methods::Method;
use crate::models::{self, ANY_ROUTE, Thinking};
use crate::problem::Problem;
use crate::seat::{READY, Seat};
use crate::send::Sending;
use crate::{Loaf, prefer};

/// What a reply is for.
pub(crate) enum Why {
    /// Nobody waits for it.
    Nothing,
    Accounts(Then),
    /// For `state.get` or `skills.list`; without a request at the beginning.
    Skills(Option<Call>),
    Create {
        call: Call,
        id: Arc<str>,
        title: Option<Arc<str>>,
    },
    Inspect {
        call: Call,
        seat: u64,
        created: bool,
    },
    Log {
        call: Call,
        seat: u64,
        waiting: Vec<Item>,
        /// It was read before, and was older than what had been told by then.
        again: bool,
    },
    Picture(Box<Sending>),
    Send(Box<Sending>),
    Steer {
        call: Call,
        seat: u64,
    },
    QueueList {
        call: Call,
        seat: u64,
    },
    QueueClear {
        call: Call,
        seat: u64,
    },
    Sessions(Call, Page),
    Recall {
        call: Call,
        selector: Selector,
    },
    Resume {
        call: Call,
        seat: u64,
        selector: Selector,
    },
    Copied {
        call: Call,
        seat: u64,
        resume: Resume,
    },
    /// The log of a copy, which has numbers of its own.
    Reread {
        call: Call,
        seat: u64,
        resume: Resume,
    },
    /// The queue was emptied for [`crate::seat::After`].
    Emptied {
        seat: u64,
    },
    Swap {
        call: Call,
        seat: u64,
        swap: Swap,
    },
    Models(Call, Listing),
    Tools(Call),
    Limits(Call),
    Routes(Call, String),
    SignIn(Call, Account),
    OpenRouterKey(Call),
    ExaKey {
        call: Call,
        skipped: bool,
    },
    Forget {
        call: Call,
        seat: u64,
    },
    Compact {
        seat: u64,
        before: u64,
        how: Box<Compacting>,
    },
}

/// What a list of models is wanted for.
pub(crate) enum Listing {
    List {
        only: Option<&'static str>,
    },
    Select(Box<Select>),
    /// `/model`
    Command,
}

pub(crate) struct Select {
    pub(crate) model: String,
    pub(crate) provider: &'static str,
    pub(crate) thinking: String,
    pub(crate) route: String,
    /// The session whose context is compressed at once.
    pub(crate) compress: Option<u64>,
}

/// Which chat a session goes on with.
pub(crate) enum Swap {
    Clear,
    ForgetAll,
    Resume(Resume),
}

pub(crate) struct Resume {
    /// As the user knows it.
    chat: SessionId,
    /// What is opened: the same, or a copy of it.
    opens: SessionId,
    said: Vec<Said>,
    /// Its own model is not there any more; the selected one takes over.
    other_model: bool,
}

pub(crate) enum Compacting {
    /// `/compress`
    Command(Call),
    /// `model.select`, from one provider to another or not.
    Select { call: Call, switched: bool },
}

impl Why {
    /// The request that waits for it.
    pub(crate) fn call(&self) -> Option<&Call> {
        match self {
            Why::Nothing | Why::Emptied { .. } => None,
            Why::Accounts(then) => then.call(),
            Why::Skills(call) => call.as_ref(),
            Why::Picture(sending) | Why::Send(sending) => Some(&sending.call),
            Why::Compact { how, .. } => match &**how {
                Compacting::Command(call) | Compacting::Select { call, .. } => Some(call),
            },
            Why::Create { call, .. }
            | Why::Inspect { call, .. }
            | Why::Log { call, .. }
            | Why::Steer { call, .. }
            | Why::QueueList { call, .. }
            | Why::QueueClear { call, .. }
            | Why::Sessions(call, _)
            | Why::Recall { call, .. }
            | Why::Resume { call, .. }
            | Why::Copied { call, .. }
            | Why::Reread { call, .. }
            | Why::Swap { call, .. }
            | Why::Models(call, _)
            | Why::Tools(call)
            | Why::Limits(call)
            | Why::Routes(call, _)
            | Why::SignIn(call, _)
            | Why::OpenRouterKey(call)
            | Why::ExaKey { call, .. }
            | Why::Forget { call, .. } => Some(call),
        }
    }

    /// The session that it is about.
    pub(crate) fn seat(&self) -> Option<u64> {
        match self {
            Why::Picture(sending) | Why::Send(sending) => Some(sending.seat),
            Why::Inspect { seat, .. }
            | Why::Log { seat, .. }
            | Why::Steer { seat, .. }
            | Why::QueueList { seat, .. }
            | Why::QueueClear { seat, .. }
            | Why::Resume { seat, .. }
            | Why::Copied { seat, .. }
            | Why::Reread { seat, .. }
            | Why::Emptied { seat }
            | Why::Swap { seat, .. }
            | Why::Compact { seat, .. } => Some(*seat),
            Why::Nothing
            | Why::Accounts(_)
            | Why::Skills(_)
            | Why::Create { .. }
            | Why::Sessions(..)
            | Why::Recall { .. }
            | Why::Models(..)
            | Why::Tools(_)
            | Why::Limits(_)
            | Why::Routes(..)
            | Why::SignIn(..)
            | Why::OpenRouterKey(_)
            | Why::ExaKey { .. }
            | Why::Forget { .. } => None,
        }
    }
}

impl Loaf {
    pub(crate) fn replied(&mut self, tag: Tag, result: &Result<Reply, Fault>, out: &mut Out) {
        let Some(why) = self.pending.remove(&tag) else { return };
        match (why, result) {
            (Why::Nothing, _) => {}
            (Why::Accounts(then), Ok(Reply::Accounts(accounts))) => self.accounts_known(then, Ok(accounts), out),
            (Why::Accounts(then), Err(fault)) => self.accounts_known(then, Err(fault), out),
            (Why::Accounts(then), Ok(_)) => self.accounts_known(then, Err(&something_else()), out),
            (Why::Skills(call), Ok(Reply::Skills(skills))) => {
                self.skills = vocab::Skills::clone(skills);
                self.skills_known(call, out);
            }
            // Skills that cannot be looked for are none.
            (Why::Skills(call), _) => self.skills_known(call, out),
            (Why::Create { call, id, title }, Ok(Reply::Opened(opened))) => self.created(&call, id, title, opened, out),
            (Why::Inspect { call, seat, created }, Ok(Reply::Inspected(inspection))) => {
                self.inspected(&call, seat, created, inspection, out);
            }
            (Why::Log { call, seat, waiting, again }, Ok(Reply::Recalled(recalled))) => {
                let told = self.seat_at(seat).map_or(0, |at| self.seats[at].newest());
                if !again && recalled.entries.last().is_none_or(|entry| entry.seq < told) {
                    // Read before the controller was told more; it would miss what it has seen already.
                    return self.read_log_again(call, seat, waiting, out);
                }
                let said = said(&recalled.entries);
                self.show(&call, seat, &said, &waiting, out);
            }
            (Why::Log { call, seat, waiting, .. }, Err(fault)) if fault.kind == FaultKind::NotFound => {
                self.show(&call, seat, &[], &waiting, out);
            }
            (Why::Picture(sending), Ok(Reply::Picture(picture))) => self.picture(*sending, Ok(picture), out),
            (Why::Picture(sending), Err(fault)) => self.picture(*sending, Err(fault), out),
            (Why::Picture(sending), Ok(_)) => self.picture(*sending, Err(&something_else()), out),
            (Why::Send(sending), result) => self.sent(*sending, result, out),
            (Why::Steer { call, seat }, result) => {
                let Some(at) = self.seat_at(seat) else { return };
                if let Ok(Reply::Waiting { item, .. }) = result {
                    self.seats[at].steers.push(item.clone());
                }
                self.steered(&call, at, result.is_ok(), out);
            }
            (Why::QueueList { call, seat }, Ok(Reply::Queue(items))) => {
                let Some(at) = self.seat_at(seat) else { return };
                let seat = &self.seats[at];
                let answer = json!({ "session_id": seat.id, "queue": seat.queue(items) });
                self.pen(out).result(&call, answer);
            }
            (Why::QueueClear { call, seat }, Ok(Reply::Queue(items))) => {
                let Some(at) = self.seat_at(seat) else { return };
                let answer = json!({ "session_id": self.seats[at].id, "cleared_count": items.len() });
                self.pen(out).result(&call, answer);
            }
            (Why::Sessions(call, page), Ok(Reply::Sessions(found))) => {
                let answer = page.show(found, &self.known_models());
                self.pen(out).result(&call, answer);
            }
            (Why::Recall { call, .. }, Ok(Reply::Recalled(recalled))) => {
                let answer = history::whole(recalled, &self.known_models());
                self.pen(out).result(&call, answer);
            }
            (Why::Recall { call, selector }, Err(fault)) => {
                self.pen(out).fail(&call, &selector.problem(fault));
            }
            (Why::Resume { call, seat, .. }, Ok(Reply::Recalled(recalled))) => {
                let said = said(&recalled.entries);
                let chat = recalled.saved.summary.id.clone();
                let resume = Resume { opens: chat.clone(), chat, said, other_model: false };
                self.resume_found(call, seat, resume, out);
            }
            (Why::Resume { call, seat, selector }, Err(fault)) => {
                self.pen(out).fail(&call, &selector.problem(fault));
                self.unlock(seat, out);
            }
            (Why::Copied { call, seat, resume }, Ok(Reply::Forked { session, .. })) => {
                let which = Which::Id(session.as_str().to_owned());
                let resume = Resume { opens: session.clone(), ..resume };
                self.want(Verb::Recall(which), Why::Reread { call, seat, resume }, out);
            }
            (Why::Reread { call, seat, resume }, Ok(Reply::Recalled(recalled))) => {
                self.open_chat(call, seat, Resume { said: said(&recalled.entries), ..resume }, out);
            }
            (Why::Swap { call, seat, swap }, Ok(Reply::Opened(opened))) => self.swapped(call, seat, swap, opened, out),
            (Why::Swap { call, seat, swap: Swap::Resume(resume) }, Err(fault))
                if fault.kind == FaultKind::UnknownModel && !resume.other_model && self.choice.model.is_some() =>
            {
                self.open_chat(call, seat, Resume { other_model: true, ..resume }, out);
            }
            (Why::Emptied { seat }, _) => self.emptied(seat, out),
            (Why::Models(call, listing), Ok(Reply::Models(list))) => {
                self.models.clone_from(list);
                self.models_known(&call, listing, out);
            }
            (Why::Models(call, _), Err(fault)) => {
                self.pen(out).fail(&call, &Problem::because("upstream_error", fault));
            }
            (Why::Tools(call), Ok(Reply::Tools(tools))) => {
                let answer = shown_tools(tools);
                self.pen(out).result(&call, answer);
            }
            (Why::Limits(call), Ok(Reply::Limits(limits))) if **limits == Limits::default() => {
                let problem = Problem::domain("no_oauth_provider", "limits requires at least one oauth provider");
                self.pen(out).fail(&call, &problem);
            }
            (Why::Limits(call), Ok(Reply::Limits(limits))) => {
                self.pen(out).result(&call, accounts::limits(limits));
            }
            (Why::Limits(call), Err(fault)) if fault.kind == FaultKind::Auth => {
                self.pen(out).fail(&call, &Problem::because("no_oauth_provider", fault));
            }
            (Why::Routes(call, model), Ok(Reply::Routes(providers))) => {
                self.pen(out).result(&call, json!({ "model_id": model, "providers": providers }));
            }
            (Why::Routes(call, _), Err(fault)) if fault.kind == FaultKind::Auth => {
                self.pen(out).fail(&call, &Problem::because("missing_credentials", fault));
            }
            (Why::SignIn(call, account), Ok(Reply::SignedIn(signed_in))) => {
                self.look_again(Then::SignedIn { call, account, signed_in: signed_in.clone() }, out);
            }
            (Why::SignIn(call, _), Err(fault)) => {
                self.pen(out).fail(&call, &Problem::because("auth_failed", fault));
            }
            (Why::OpenRouterKey(call), Ok(Reply::KeySet(set))) => {
                self.look_again(Then::OpenRouterKey { call, set: *set }, out);
            }
            (Why::ExaKey { call, skipped }, Ok(_)) => self.look_again(Then::ExaKey { call, skipped }, out),
            (Why::Forget { call, seat }, Ok(_)) => self.forgotten(call, seat, out),
            (Why::Compact { seat, before, how }, result) => self.compacted(seat, before, *how, result, out),
            (why, Err(fault)) => self.refused(&why, &fault.into(), out),
            (why, Ok(_)) => self.refused(&why, &(&something_else()).into(), out),
        }
    }

    /// A request that came to nothing.
    fn refused(&mut self, why: &Why, problem: &Problem, out: &mut Out) {
        match why.call() {
            Some(call) => self.pen(out).fail(call, problem),
            None => out.notes.push(problem.message.clone()),
        }
        match why {
            Why::Inspect { seat, created: true, .. } => self.uncreate(*seat, out),
            Why::Resume { seat, .. } | Why::Copied { seat, .. } | Why::Reread { seat, .. } | Why::Swap { seat, .. } => {
                self.unlock(*seat, out)
            }
            _ => {}
        }
    }

    /// A session whose controller never learned its id.
    fn uncreate(&mut self, seat: u64, out: &mut Out) {
        if let Some(at) = self.seat_at(seat) {
            let seat = self.seats.remove(at);
            self.submit(Target::Session(seat.session), Verb::Leave, Why::Nothing, out);
        }
    }

    fn unlock(&mut self, seat: u64, out: &mut Out) {
        if let Some(at) = self.seat_at(seat) {
            self.release(at, out);
        }
    }

    fn skills_known(&mut self, call: Option<Call>, out: &mut Out) {
        let Some(call) = call else {
            self.to_learn = self.to_learn.saturating_sub(1);
            return;
        };
        let answer = match call.method {
            Method::StateGet => self.snapshot(),
            _ => {
                let one = |skill: &vocab::SkillInfo| {
                    json!({
                        "name": skill.name,
                        "description": skill.description,
                        "description_preview": skill.preview,
                        "source_path": skill.source,
                    })
                };
                let found = &self.skills;
                let rows: Vec<_> = found.skills.iter().map(one).collect();
                json!({ "directories": found.directories, "errors": found.errors, "skills": rows })
            }
        };
        self.pen(out).result(&call, answer);
    }

    // ---- sessions -----------------------------------------------------------------------------------------------

    fn created(&mut self, call: &Call, id: Arc<str>, title: Option<Arc<str>>, opened: &Opened, out: &mut Out) {
        self.seats_made += 1;
        let number = self.seats_made;
        let mut seat = Seat::new(number, id, opened, self.options.clock.now_ms());
        seat.title = title;
        seat.locked = true;
        self.seats.push(seat);
        let at = self.seats.len() - 1;
        self.apply_selection(at, out);
        self.tell_seat(at, Verb::Inspect, Why::Inspect { call: call.clone(), seat: number, created: true }, out);
    }

    fn inspected(&mut self, call: &Call, seat: u64, created: bool, inspection: &Inspection, out: &mut Out) {
        let Some(at) = self.seat_at(seat) else { return };
        self.seats[at].fixed = Fixed::of(&inspection.spec);
        self.seats[at].state = Arc::new(inspection.state.clone());
        if !created {
            let why = Why::Log { call: call.clone(), seat, waiting: inspection.waiting.clone(), again: false };
            return match inspection.state.last_seq {
                0 => self.show(call, seat, &[], &inspection.waiting, out),
                _ => self.read_log(at, why, out),
            };
        }
        let id = self.seats[at].id.clone();
        self.state_changed("session_created", Some(&id), out);
        let mut pen = self.pen(out);
        let state = self.seats[at].show(&[], &[], &self.choice);
        pen.result(call, json!({ "session_id": id, "state": state }));
        self.release(at, out);
    }

    fn read_log_again(&mut self, call: Call, seat: u64, waiting: Vec<Item>, out: &mut Out) {
        if let Some(at) = self.seat_at(seat) {
            self.read_log(at, Why::Log { call, seat, waiting, again: true }, out);
        }
    }

    fn show(&mut self, call: &Call, seat: u64, said: &[Said], waiting: &[Item], out: &mut Out) {
        let Some(at) = self.seat_at(seat) else { return };
        let mut pen = self.pen(out);
        pen.result(call, self.seats[at].show(said, waiting, &self.choice));
    }

    /// The chat is there: this session's own, another's, or nobody's.
    fn resume_found(&mut self, call: Call, seat: u64, resume: Resume, out: &mut Out) {
        let Some(at) = self.seat_at(seat) else { return };
        let being_opened = |why: &Why| match why {
            Why::Swap { swap: Swap::Resume(other), .. } => other.opens == resume.chat,
            _ => false,
        };
        match self.seat_of(&resume.chat) {
            Some(own) if own == at => self.resumed(&call, at, &resume.chat, out),
            None if !self.pending.values().any(being_opened) => self.open_chat(call, seat, resume, out),
            // Events carry the id of their chat; two sessions on one could not be told apart, so this one gets a copy.
            _ => {
                let target = Target::Session(resume.chat.clone());
                self.submit(target, Verb::Fork { at: None }, Why::Copied { call, seat, resume }, out);
            }
        }
    }

    /// Goes on with a saved chat, with its own model or the selected one.
    fn open_chat(&mut self, call: Call, seat: u64, resume: Resume, out: &mut Out) {
        let selected = self.choice.model.as_ref().filter(|_| resume.other_model);
        let model = selected.map(|info| info.slug.clone());
        let open = vocab::Open { model, ..self.open(Which::Id(resume.opens.as_str().to_owned())) };
        self.want(Verb::Open(open), Why::Swap { call, seat, swap: Swap::Resume(resume) }, out);
    }

    fn resumed(&mut self, call: &Call, at: usize, chat: &SessionId, out: &mut Out) {
        self.state_changed("session_resumed", None, out);
        self.pen(out).result(call, json!({ "resumed": chat.as_str() }));
        self.release(at, out);
    }

    /// Another chat is behind the session now.
    fn swapped(&mut self, call: Call, seat: u64, swap: Swap, opened: &Opened, out: &mut Out) {
        let Some(at) = self.seat_at(seat) else { return };
        let old = std::mem::replace(&mut self.seats[at].session, opened.session.clone());
        self.submit(Target::Session(old), Verb::Leave, Why::Nothing, out);
        self.seats[at].move_to(opened);
        match swap {
            Swap::Clear => {
                self.apply_selection(at, out);
                let answer = match call.command {
                    true => json!({ "cleared": true }),
                    false => json!({ "session_id": self.seats[at].id, "cleared": true }),
                };
                self.pen(out).result(&call, answer);
                self.release(at, out);
            }
            Swap::ForgetAll => {
                self.apply_selection(at, out);
                self.forget_all(call, at, out);
                self.release(at, out);
            }
            Swap::Resume(resume) => {
                let info = &opened.state.model_info;
                self.choice.model = Some(info.clone());
                self.choice.thinking = Thinking::of_level(opened.state.thinking.as_deref());
                let seat = &mut self.seats[at];
                seat.provider = (!resume.said.is_empty()).then(|| models::provider(info));
                seat.adopt(&mut self.messages, &resume.said);
                self.apply_choice(out);
                self.resumed(&call, at, &resume.chat, out);
            }
        }
    }

    // ---- models -------------------------------------------------------------------------------------------------

    fn models_known(&mut self, call: &Call, listing: Listing, out: &mut Out) {
        match listing {
            Listing::List { only } => {
                let answer = models::list(&self.models, only, &self.accounts, &self.choice);
                self.pen(out).result(call, answer);
            }
            Listing::Command => {
                let mut answer = self.choice.selected();
                answer["available"] = models::list(&self.models, None, &self.accounts, &self.choice);
                self.pen(out).result(call, answer);
            }
            Listing::Select(select) => self.selected(call, *select, out),
        }
    }

    fn selected(&mut self, call: &Call, select: Select, out: &mut Out) {
        let Select { model, provider, thinking, route, compress } = select;
        let fits =
            |info: &&ModelInfo| models::provider(info) == provider && (*info.id == *model || *info.slug == *model);
        let Some(info) = self.models.iter().find(fits).cloned() else {
            let message = format!("unknown model for provider {provider}: {model}");
            return self.pen(out).fail(call, &Problem::domain("unknown_model", message));
        };
        self.choice.thinking = models::fitting(&info, Some(&thinking));
        self.choice.route = route.into();
        self.choice.model = Some(Arc::new(info));
        self.keep_choice(out);
        self.apply_choice(out);
        self.state_changed("model_selected", None, out);
        match compress.and_then(|seat| self.seat_at(seat)) {
            Some(at) if !self.seats[at].compacting => {
                let switched = self.seats[at].provider.is_some_and(|before| before != provider);
                self.compact(at, Compacting::Select { call: call.clone(), switched }, out);
            }
            busy => {
                let mut answer = self.choice.selected();
                if let Some(at) = busy {
                    let seat = &self.seats[at];
                    answer["compression"] = compression(seat, "none", seat.anchor, None);
                }
                self.pen(out).result(call, answer);
            }
        }
    }

    /// What was listed last, and what is selected.
    fn known_models(&self) -> Vec<&ModelInfo> {
        self.models.iter().chain(self.choice.model.as_deref()).collect()
    }

    /// For this process and the next ones.
    fn keep_choice(&mut self, out: &mut Out) {
        let slug = self.choice.model.as_ref().map_or_else(|| "".into(), |info| info.slug.clone());
        let (thinking, route) = (self.choice.thinking.as_str(), self.choice.route.clone());
        for (key, value) in [(prefer::MODEL, slug), (prefer::THINKING, thinking.into()), (prefer::ROUTE, route.clone())]
        {
            self.want(Verb::Prefer { key, value }, Why::Nothing, out);
        }
        let to = Some(route).filter(|route| **route != *ANY_ROUTE);
        self.want(Verb::Route { to }, Why::Nothing, out);
    }

    // ---- compaction ---------------------------------------------------------------------------------------------

    fn compacted(&mut self, seat: u64, before: u64, how: Compacting, result: &Result<Reply, Fault>, out: &mut Out) {
        let Some(at) = self.seat_at(seat) else { return };
        let mut pen = self.pen(out);
        let (seat, scene) = self.scene(at);
        seat.compacting = false;
        seat.halting = false;
        let done = match result {
            Ok(Reply::Compacted(done)) => Ok(Some(&**done)),
            Ok(_) => Err(Problem::internal("the engine answered something else")),
            Err(fault) if fault.kind == FaultKind::NothingToDo => {
                seat.status(&mut pen, COMPRESSING);
                seat.remark(&mut pen, scene.numbers, "there is nothing to compress yet.");
                Ok(None)
            }
            Err(fault) => {
                let message = format!("context compaction failed: {}", fault.message);
                Err(Problem::domain("compaction_failed", message))
            }
        };
        // One that was refused at once leaves the turn alone that it would have waited for.
        if seat.turn.is_none() {
            seat.say_status(&mut pen, false, READY, false);
        }
        let answer = done.map(|done| match &how {
            Compacting::Command(_) => {
                let mut answer = outcome(seat, "manual", before, done);
                answer["compressed"] = json!(done.is_some());
                answer
            }
            Compacting::Select { switched, .. } => {
                let reason = match (done, switched) {
                    (None, _) => "none",
                    (Some(_), true) => "provider_switch",
                    (Some(_), false) => "auto",
                };
                let mut answer = scene.choice.selected();
                answer["compression"] = compression(seat, reason, before, done);
                answer
            }
        });
        let (Compacting::Command(call) | Compacting::Select { call, .. }) = how;
        pen.answer(&call, answer);
    }
}

/// What `model.select` says of the compression that was to come with it.
fn compression(seat: &Seat, reason: &str, before: u64, done: Option<&Compaction>) -> serde_json::Value {
    let mut compression = outcome(seat, reason, before, done);
    compression["requested"] = json!(true);
    compression["applied"] = json!(done.is_some());
    compression
}

fn something_else() -> Fault {
    Fault::new(FaultKind::Internal, "the engine answered something else")
}

/// Sorted by the names that models of this family know.
fn shown_tools(tools: &[ToolSpec]) -> serde_json::Value {
    let name = |tool: &ToolSpec| Family::Loaf.show(&tool.name).to_owned();
    let mut tools: Vec<(String, &ToolSpec)> = tools.iter().map(|tool| (name(tool), tool)).collect();
    tools.sort_by(|one, other| one.0.cmp(&other.0));
    let one = |(name, tool): &(String, &ToolSpec)| {
        let schema: serde_json::Value = serde_json::from_str(tool.schema.as_str()).unwrap_or_default();
        json!({ "name": name, "description": tool.description, "input_schema": schema })
    };
    json!({ "tools": tools.iter().map(one).collect::<Vec<_>>() })
}
