//! Sessions come and go, and the chats behind them change.

use std::sync::Arc;

use serde_json::json;
use vocab::{Entry, IdKind, Inspection, Item, Opened, SessionId, SessionVerb, Target, Verb, Which};

use crate::Loaf;
use crate::context::FixedContext;
use crate::frames::LoafCall;
use crate::messages::{gist, said};
use crate::models::{self, Thinking};
use crate::own::Out;
use crate::pending::{LoafPending, Resume, Swap};
use crate::session_view::SessionView;

impl Loaf {
    pub(crate) fn created(
        &mut self,
        call: &LoafCall,
        id: Arc<str>,
        title: Option<Arc<str>>,
        opened: &Opened,
        out: &mut Out,
    ) {
        self.views_made += 1;
        let number = self.views_made;
        let mut view = SessionView::new(number, id, opened, self.options.clock.now_ms());
        view.title = title;
        view.locked = true;
        self.views.push(view);
        let at = self.views.len() - 1;
        self.apply_selection(at, out);
        self.tell_view(
            at,
            Verb::Session(SessionVerb::Inspect),
            LoafPending::Inspect { call: call.clone(), view: number, created: true },
            out,
        );
    }

    pub(crate) fn inspected(
        &mut self,
        call: &LoafCall,
        view: u64,
        created: bool,
        inspection: &Inspection,
        out: &mut Out,
    ) {
        let Some(at) = self.view_at(view) else { return };
        self.views[at].fixed = FixedContext::of(&inspection.spec);
        self.views[at].state = Arc::new(inspection.state.clone());
        if !created {
            let why = LoafPending::Log { call: call.clone(), view, waiting: inspection.waiting.clone(), again: false };
            return match inspection.state.last_seq {
                0 => self.show(call, view, &[], &inspection.waiting, out),
                _ => self.read_log(at, why, out),
            };
        }
        let id = self.views[at].id.clone();
        self.state_changed("session_created", Some(&id), out);
        let mut pen = self.pen(out);
        let state = self.views[at].show(&[], None, &[], &self.choice);
        pen.result(call, json!({ "session_id": id, "state": state }));
        self.release(at, out);
    }

    pub(crate) fn read_log_again(&mut self, call: LoafCall, view: u64, waiting: Vec<Item>, out: &mut Out) {
        if let Some(at) = self.view_at(view) {
            self.read_log(at, LoafPending::Log { call, view, waiting, again: true }, out);
        }
    }

    pub(crate) fn show(&mut self, call: &LoafCall, view: u64, log: &[Arc<Entry>], waiting: &[Item], out: &mut Out) {
        let Some(at) = self.view_at(view) else { return };
        let mut pen = self.pen(out);
        let (said, gist) = (said(log), gist(log));
        pen.result(call, self.views[at].show(&said, gist.as_ref(), waiting, &self.choice));
    }

    /// The chat is there: this session's own, another's, or nobody's.
    pub(crate) fn resume_found(&mut self, call: LoafCall, view: u64, resume: Resume, out: &mut Out) {
        let Some(at) = self.view_at(view) else { return };
        let being_opened = |why: &LoafPending| match why {
            LoafPending::Swap { swap: Swap::Resume(other), .. } => other.opens == resume.chat,
            _ => false,
        };
        match self.view_of(&resume.chat) {
            Some(own) if own == at => self.resumed(&call, at, &resume.chat, out),
            None if !self.pending.iter().any(being_opened) => self.open_chat(call, view, resume, out),
            // Events carry the id of their chat; two sessions on one could not be told apart, so this one gets a copy.
            _ => {
                let target = Target::Session(resume.chat.clone());
                self.submit(target, Verb::Fork { at: None }, LoafPending::Copied { call, view, resume }, out);
            }
        }
    }

    /// Goes on with a saved chat, with its own model or the selected one.
    pub(crate) fn open_chat(&mut self, call: LoafCall, view: u64, resume: Resume, out: &mut Out) {
        let selected = self.choice.model.as_ref().filter(|_| resume.other_model);
        let model = selected.map(|info| info.slug.clone());
        let open = vocab::Open { model, ..self.open(Which::Id(resume.opens.as_str().to_owned())) };
        self.want(Verb::Open(open), LoafPending::Swap { call, view, swap: Swap::Resume(resume) }, out);
    }

    pub(crate) fn resumed(&mut self, call: &LoafCall, at: usize, chat: &SessionId, out: &mut Out) {
        self.state_changed("session_resumed", None, out);
        self.pen(out).result(call, json!({ "resumed": chat.as_str() }));
        self.release(at, out);
    }

    /// Another chat is behind the session now.
    pub(crate) fn swapped(&mut self, call: LoafCall, view: u64, swap: Swap, opened: &Opened, out: &mut Out) {
        let Some(at) = self.view_at(view) else { return };
        let old = std::mem::replace(&mut self.views[at].session, opened.session.clone());
        self.submit(Target::Session(old), Verb::Leave, LoafPending::Nothing, out);
        self.views[at].move_to(opened);
        match swap {
            Swap::Clear => {
                self.apply_selection(at, out);
                let answer = match call.command {
                    true => json!({ "cleared": true }),
                    false => json!({ "session_id": self.views[at].id, "cleared": true }),
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
                let view = &mut self.views[at];
                view.provider = (!resume.said.is_empty()).then(|| models::provider(info));
                view.adopt(&mut self.messages, &resume.said);
                self.apply_choice(out);
                self.resumed(&call, at, &resume.chat, out);
                if let Some(turn) = opened.state.turn.clone() {
                    // It goes on since before this process, or another controller is at it.
                    let id = self.mint(IdKind::Turn);
                    let mut pen = self.pen(out);
                    let (view, scene) = self.scene(at);
                    view.prepare(&mut pen, &scene, turn, id);
                    opened.present.round.iter().for_each(|entry| self.logged(at, entry, out));
                }
            }
        }
    }
}
