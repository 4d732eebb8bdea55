//! Sessions come and go, and the chats behind them change.

use std::sync::Arc;

use serde_json::json;
use vocab::{Entry, Inspection, Item, Opened, SessionId, Target, Verb, Which};
use wire::Out;

use crate::Loaf;
use crate::context::Fixed;
use crate::frames::Call;
use crate::messages::{gist, said};
use crate::models::{self, Thinking};
use crate::seat::Seat;
use crate::why::{Resume, Swap, Why};

impl Loaf {
    pub(crate) fn created(
        &mut self,
        call: &Call,
        id: Arc<str>,
        title: Option<Arc<str>>,
        opened: &Opened,
        out: &mut Out,
    ) {
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

    pub(crate) fn inspected(&mut self, call: &Call, seat: u64, created: bool, inspection: &Inspection, out: &mut Out) {
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
        let state = self.seats[at].show(&[], None, &[], &self.choice);
        pen.result(call, json!({ "session_id": id, "state": state }));
        self.release(at, out);
    }

    pub(crate) fn read_log_again(&mut self, call: Call, seat: u64, waiting: Vec<Item>, out: &mut Out) {
        if let Some(at) = self.seat_at(seat) {
            self.read_log(at, Why::Log { call, seat, waiting, again: true }, out);
        }
    }

    pub(crate) fn show(&mut self, call: &Call, seat: u64, log: &[Arc<Entry>], waiting: &[Item], out: &mut Out) {
        let Some(at) = self.seat_at(seat) else { return };
        let mut pen = self.pen(out);
        let (said, gist) = (said(log), gist(log));
        pen.result(call, self.seats[at].show(&said, gist.as_ref(), waiting, &self.choice));
    }

    /// The chat is there: this session's own, another's, or nobody's.
    pub(crate) fn resume_found(&mut self, call: Call, seat: u64, resume: Resume, out: &mut Out) {
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
    pub(crate) fn open_chat(&mut self, call: Call, seat: u64, resume: Resume, out: &mut Out) {
        let selected = self.choice.model.as_ref().filter(|_| resume.other_model);
        let model = selected.map(|info| info.slug.clone());
        let open = vocab::Open { model, ..self.open(Which::Id(resume.opens.as_str().to_owned())) };
        self.want(Verb::Open(open), Why::Swap { call, seat, swap: Swap::Resume(resume) }, out);
    }

    pub(crate) fn resumed(&mut self, call: &Call, at: usize, chat: &SessionId, out: &mut Out) {
        self.state_changed("session_resumed", None, out);
        self.pen(out).result(call, json!({ "resumed": chat.as_str() }));
        self.release(at, out);
    }

    /// Another chat is behind the session now.
    pub(crate) fn swapped(&mut self, call: Call, seat: u64, swap: Swap, opened: &Opened, out: &mut Out) {
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
}
