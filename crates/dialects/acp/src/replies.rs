//! What the engine's answers mean: each belongs to one thing that was wanted, and each request ends in one response.

use serde_json::{Value, json};
use vocab::{
    DirectoryVerb, Fault, FaultKind, Open, Opened, QueueVerb, Reply, SavedPage, SessionId, SessionVerb, Stop, Summary,
    Tag, TurnEnd, Verb, Which, iso8601,
};
use wire::Out;
use wire::jsonrpc::{INTERNAL_ERROR, RpcError};

use crate::frames::{CallId, Pen, from_fault, no_model, turn_failed, unknown_session};
use crate::seat::{Closing, Seat};
use crate::{Acp, content, replay};

/// What a reply is for.
pub(crate) enum Why {
    /// Nobody waits for it.
    Nothing,
    Models,
    /// Sessions wait for it to be opened.
    ModelsSoon,
    Environment(CallId),
    SignIn(CallId),
    Logout(CallId),
    Open {
        call: CallId,
        asked: Option<String>,
        how: Opening,
    },
    /// The log of a session that is not new.
    Replay {
        call: CallId,
        session: SessionId,
        how: Opening,
    },
    Fork {
        call: CallId,
        asked: String,
        open: Box<Open>,
    },
    List {
        call: CallId,
        offset: usize,
    },
    Left {
        session: SessionId,
        closing: Vec<Closing>,
    },
    Deleted(CallId),
    Prompt {
        call: CallId,
        session: SessionId,
        /// It was taken back before the engine had it.
        cancelled: bool,
    },
    Slash {
        call: CallId,
        session: SessionId,
    },
    Set {
        call: CallId,
        session: SessionId,
        answer: Setting,
    },
}

/// How a session comes in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    New,
    /// Everything that was said is told again, before the answer.
    Load,
    Resume,
    /// A copy, under an id that its client does not know yet.
    Fork,
}

/// What a changed setting is answered with.
#[derive(Clone, Copy)]
pub(crate) enum Setting {
    Empty,
    Options,
}

impl Why {
    /// The request, where its outcome may be dropped without harm.
    pub(crate) fn may_drop(&self) -> Option<&CallId> {
        match self {
            Why::Environment(call) | Why::SignIn(call) | Why::List { call, .. } => Some(call),
            _ => None,
        }
    }

    /// The session that has to stay until the request is answered.
    fn needs(&self) -> Option<&SessionId> {
        match self {
            Why::Replay { session, .. }
            | Why::Prompt { session, .. }
            | Why::Slash { session, .. }
            | Why::Set { session, .. } => Some(session),
            _ => None,
        }
    }
}

impl Acp {
    pub(crate) fn replied(&mut self, tag: Tag, result: &Result<Reply, Fault>, out: &mut Out) {
        let Some(why) = self.pending.remove(&tag) else { return };
        let session = why.needs().cloned();
        self.understood(why, result, out);
        if let Some(at) = session.and_then(|session| self.seat_of(&session)) {
            self.close_if_due(at, out);
        }
    }

    fn understood(&mut self, why: Why, result: &Result<Reply, Fault>, out: &mut Out) {
        match (why, result) {
            (Why::Nothing, _) => {}
            (Why::Models, Ok(Reply::Models(models))) => self.models_known(models, out),
            // A list that cannot be got leaves the model that is used.
            (Why::Models, _) => {}
            (Why::ModelsSoon, Ok(Reply::Models(models))) => {
                self.models_known(models, out);
                self.open_held(out);
            }
            // It is late, or could not be got just now: whoever waited goes on, and it is told when it comes.
            (Why::ModelsSoon, late) => {
                out.notes.extend(late.as_ref().err().map(|fault| format!("no list of models yet: {}", fault.message)));
                self.want(Verb::Directory(DirectoryVerb::Models), Why::Models, out);
                self.open_held(out);
            }
            (Why::Environment(call), Ok(Reply::Accounts(accounts))) => match accounts.model {
                true => pen(out).result(&call, json!({})),
                false => pen(out).refuse(Some(&call), &no_model()),
            },
            (Why::SignIn(call), Ok(Reply::SignedIn(_))) => {
                pen(out).result(&call, json!({}));
                self.list_models(out);
            }
            (Why::Logout(call), Ok(_)) => pen(out).result(&call, json!({})),
            (Why::Open { call, asked, how }, Ok(Reply::Opened(opened))) => {
                self.opened(call, asked.as_deref(), how, opened, out);
            }
            (Why::Open { call, asked, .. }, Err(fault)) => {
                pen(out).refuse(Some(&call), &from_fault(fault, asked.as_deref()));
            }
            (Why::Replay { call, session, how }, Ok(Reply::Recalled(recalled))) => {
                let Some(at) = self.seat_of(&session) else { return refuse_gone(&call, &session, out) };
                let (seat, manner) = (&mut self.seats[at], self.manner);
                seat.state.context_tokens = replay::context_tokens(&recalled.entries);
                if how == Opening::Load {
                    replay::tell(&mut pen(out), seat, manner, &recalled.entries);
                }
                self.welcome(&call, at, how, out);
                let summary = &recalled.saved.summary;
                if let Some(title) = title(summary) {
                    self.seats[at].named(&mut pen(out), title, summary.updated_ms);
                }
            }
            // Nothing was said in it yet.
            (Why::Replay { call, session, how }, Err(fault)) if fault.kind == FaultKind::NotFound => {
                match self.seat_of(&session) {
                    Some(at) => self.welcome(&call, at, how, out),
                    None => refuse_gone(&call, &session, out),
                }
            }
            (Why::Fork { call, open, .. }, Ok(Reply::Forked { session, .. })) => {
                let open = Open { which: Which::Id(session.as_str().to_owned()), ..*open };
                self.want(Verb::Open(open), Why::Open { call, asked: None, how: Opening::Fork }, out);
            }
            (Why::Fork { call, asked, .. }, Err(fault)) => {
                pen(out).refuse(Some(&call), &from_fault(fault, Some(&asked)));
            }
            (Why::List { call, offset }, Ok(Reply::Sessions(page))) => pen(out).result(&call, listed(page, offset)),
            (Why::Left { session, closing }, Ok(_)) => {
                for closing in closing {
                    match closing.delete {
                        true => self.delete_saved(session.as_str(), closing, out),
                        false => pen(out).result(&closing.call, json!({})),
                    }
                }
            }
            // Who wants it gone has it gone.
            (Why::Deleted(call), Ok(_)) => pen(out).result(&call, json!({})),
            (Why::Deleted(call), Err(fault))
                if matches!(fault.kind, FaultKind::NotFound | FaultKind::UnknownSession) =>
            {
                pen(out).result(&call, json!({}));
            }
            (Why::Prompt { call, session, cancelled }, result) => self.taken(call, &session, cancelled, result, out),
            (Why::Slash { call, session }, Ok(Reply::Slash(reply))) => {
                let said = json!({ "sessionUpdate": "agent_message_chunk", "content": content::text(&wire::slash::text(&reply, &vocab::names::CANONICAL)) });
                let cancelled = reply.failed_with(vocab::SlashCode::Cancelled);
                let mut pen = pen(out);
                pen.update(&session, said);
                pen.result(&call, json!({ "stopReason": if cancelled { "cancelled" } else { "end_turn" } }));
            }
            (Why::Set { call, session, answer }, Ok(_)) => {
                let Some(at) = self.seat_of(&session) else { return refuse_gone(&call, &session, out) };
                let options = self.seats[at].chosen.options(&self.models);
                match answer {
                    Setting::Empty => pen(out).result(&call, json!({})),
                    Setting::Options => pen(out).result(&call, json!({ "configOptions": options })),
                }
            }
            (why, Err(fault)) => refuse(&why, |session| from_fault(fault, session), out),
            (why, Ok(_)) => {
                refuse(&why, |_| RpcError::new(INTERNAL_ERROR, "the engine answered something else"), out);
            }
        }
    }

    /// What has become of a prompt: a turn, a place in the queue, or nothing.
    fn taken(
        &mut self,
        call: CallId,
        session: &SessionId,
        cancelled: bool,
        result: &Result<Reply, Fault>,
        out: &mut Out,
    ) {
        let Some(at) = self.seat_of(session) else { return refuse_gone(&call, session, out) };
        let seat = &mut self.seats[at];
        let stop = match result {
            Ok(Reply::Started { turn }) => {
                seat.prompts.push((turn.clone(), call));
                Verb::Session(SessionVerb::Interrupt { turn: Some(turn.clone()) })
            }
            Ok(Reply::Waiting { item, .. }) => {
                seat.waiting.push((item.clone(), call));
                Verb::Session(SessionVerb::Queue(QueueVerb::TakeBack(item.clone())))
            }
            other => {
                let odd = || RpcError::new(INTERNAL_ERROR, "the engine answered something else");
                let error = other.as_ref().err().map_or_else(odd, |fault| from_fault(fault, Some(session.as_str())));
                return pen(out).refuse(Some(&call), &error);
            }
        };
        if cancelled {
            self.tell_seat(at, stop, Why::Nothing, out);
        }
    }

    fn models_known(&mut self, models: &[vocab::ModelInfo], out: &mut Out) {
        self.models = models.to_vec();
        for at in 0..self.seats.len() {
            self.tell_options(at, out);
        }
    }

    pub(crate) fn tell_options(&mut self, at: usize, out: &mut Out) {
        let options = self.seats[at].chosen.options(&self.models);
        let update = json!({ "sessionUpdate": "config_option_update", "configOptions": options });
        pen(out).update(&self.seats[at].session, update);
    }

    fn opened(&mut self, call: CallId, asked: Option<&str>, how: Opening, opened: &Opened, out: &mut Out) {
        // The engine takes the beginning of an id for the whole; this protocol does not.
        if let Some(asked) = asked.filter(|asked| *asked != opened.session.as_str()) {
            let target = vocab::Target::Session(opened.session.clone());
            self.submit(target, Verb::Leave, Why::Nothing, out);
            return pen(out).refuse(Some(&call), &unknown_session(asked));
        }
        let at = match self.seat_of(&opened.session) {
            Some(at) => at,
            None => {
                self.seats.push(Seat::new(opened));
                self.seats.len() - 1
            }
        };
        self.offer(at, out);
        match how {
            Opening::New => self.welcome(&call, at, how, out),
            Opening::Load | Opening::Resume | Opening::Fork => {
                let session = opened.session.clone();
                let which = Which::Id(session.as_str().to_owned());
                self.want(Verb::Directory(DirectoryVerb::Recall(which)), Why::Replay { call, session, how }, out);
            }
        }
    }

    /// The answer first: a client may drop updates of a session that it does not know yet.
    fn welcome(&mut self, call: &CallId, at: usize, how: Opening, out: &mut Out) {
        let known = matches!(how, Opening::Load | Opening::Resume);
        let (answer, commands) = (self.session_answer(at, known), self.available_commands());
        let seat = &self.seats[at];
        let mut pen = pen(out);
        pen.result(call, answer);
        pen.update(&seat.session, commands);
        pen.update(&seat.session, seat.usage_update());
    }

    /// A turn is over: its prompt is answered, and what waited for it is done.
    pub(crate) fn turn_over(&mut self, at: usize, end: &TurnEnd, out: &mut Out) {
        let strict = self.options.strict;
        let seat = &mut self.seats[at];
        seat.turn = None;
        let place = seat.prompts.iter().position(|(turn, _)| *turn == end.turn);
        let call = place.map(|place| seat.prompts.remove(place).1);
        if let Some(call) = call {
            pen(out).answer(&call, ended(end, strict));
        }
        self.close_if_due(at, out);
    }

    /// Nothing runs any more in a session that is being left.
    pub(crate) fn close_if_due(&mut self, at: usize, out: &mut Out) {
        if !self.is_busy(at) && !self.seats[at].closing.is_empty() {
            let closing = std::mem::take(&mut self.seats[at].closing);
            self.left(at, closing, out);
        }
    }

    /// Something runs, or was asked for and has no answer yet.
    pub(crate) fn is_busy(&self, at: usize) -> bool {
        let seat = &self.seats[at];
        seat.is_busy() || self.pending.values().any(|why| why.needs().is_some_and(|session| *session == seat.session))
    }
}

fn pen(out: &mut Out) -> Pen<'_> {
    Pen { frames: &mut out.frames }
}

/// The session was left while something was on its way.
fn refuse_gone(call: &CallId, session: &SessionId, out: &mut Out) {
    pen(out).refuse(Some(call), &unknown_session(session.as_str()));
}

fn refuse(why: &Why, error: impl FnOnce(Option<&str>) -> RpcError, out: &mut Out) {
    let (call, session) = match why {
        Why::Nothing | Why::Models | Why::ModelsSoon => return,
        Why::Environment(call)
        | Why::SignIn(call)
        | Why::Logout(call)
        | Why::List { call, .. }
        | Why::Deleted(call) => (call, None),
        Why::Open { call, asked, .. } => (call, asked.as_deref()),
        Why::Fork { call, asked, .. } => (call, Some(&**asked)),
        Why::Replay { call, session, .. }
        | Why::Prompt { call, session, .. }
        | Why::Slash { call, session }
        | Why::Set { call, session, .. } => (call, Some(session.as_str())),
        Why::Left { session, closing } => {
            let error = error(Some(session.as_str()));
            return closing.iter().for_each(|closing| pen(out).refuse(Some(&closing.call), &error));
        }
    };
    pen(out).refuse(Some(call), &error(session));
}

/// How a turn ended, as the answer to its prompt.
pub(crate) fn ended(end: &TurnEnd, strict: bool) -> Result<Value, RpcError> {
    let reason = match end.stop {
        Stop::EndTurn => "end_turn",
        Stop::MaxTokens => "max_tokens",
        Stop::MaxIterations => "max_turn_requests",
        Stop::Refusal => "refusal",
        Stop::Interrupted => "cancelled",
        Stop::Error => return Err(turn_failed(end.fault.as_ref())),
    };
    let usage = &end.usage;
    let mut answer = json!({ "stopReason": reason });
    if !strict {
        answer["usage"] = json!({
            "totalTokens": usage.context(),
            "inputTokens": usage.input,
            "outputTokens": usage.output,
            "cachedReadTokens": usage.cache_read,
            "cachedWriteTokens": usage.cache_write,
        });
    }
    Ok(answer)
}

/// What a saved session is called.
fn title(summary: &Summary) -> Option<String> {
    let named = summary.title.as_deref().map(content::one_line).filter(|title| !title.is_empty());
    named.or_else(|| content::title_of_prompt(summary.preview.as_deref()?))
}

fn listed(page: &SavedPage, offset: usize) -> Value {
    let row = |saved: &vocab::Saved| {
        let summary = &saved.summary;
        let mut row = json!({
            "sessionId": summary.id.as_str(),
            "cwd": summary.workspace,
            "updatedAt": iso8601(summary.updated_ms),
        });
        if let Some(title) = title(summary) {
            row["title"] = json!(title);
        }
        row
    };
    let mut answer = json!({ "sessions": page.list.iter().map(row).collect::<Vec<Value>>() });
    let next = offset.saturating_add(page.list.len());
    if (next as u64) < page.total && !page.list.is_empty() {
        answer["nextCursor"] = json!(next.to_string());
    }
    answer
}
