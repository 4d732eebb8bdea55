//! One session: its parts and the loop that drives them. Each part owns its state and knows no other; what needs several of them
//! is a method of [`Session`], in the file of what it is about. The loop takes what has happened ([`poll`]), does what is to be
//! done about it, and performs what the turn asks for ([`perform`]). It never waits for anything but the next happening, so that
//! an interrupt never waits for a model, a tool or the disk.

mod activity;
mod approvals;
mod asides;
mod briefing;
mod budget;
mod calls;
pub(crate) mod compaction;
mod editor;
mod ending;
mod extensions;
mod fallback;
mod hooks;
mod idle;
mod inspect;
mod jobs;
mod joining;
mod keys;
mod later;
mod limits;
pub(crate) mod log;
mod mail;
mod mcp;
mod model_call;
mod model_gone;
pub(crate) mod model_view;
mod needs;
mod peers;
mod perform;
mod places;
mod poll;
mod prompts;
pub(crate) mod queue;
mod recount;
mod recovery;
mod reminders;
mod resuming;
mod seed;
mod settings;
mod shell;
mod slash;
mod state;
pub(crate) mod subagents;
mod system_prompt;
mod toolset;
pub(crate) mod turn;
mod undo;
mod verbs;

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use vocab::{AskEntry, Body, BranchEntry, Entry, ModelEntry, Principal, Requested, SessionId, TurnId};

pub(crate) use mail::{Mail, TakenUp};
pub(crate) use seed::{Past, Seed, SessionModel};

use crate::Shared;
use crate::idle::Parked;
use crate::mailbox::Mailbox;
use crate::session::log::SessionLog;
use crate::session::subagents::SubagentPool;
use activity::{Activity, TurnWaits};
use approvals::Approvals;
use asides::Asides;
use budget::Purse;
use editor::EditorRequests;
use extensions::Extensions;
use idle::Idleness;
use jobs::Jobs;
use limits::Limits;
use mcp::Mcp;
use model_view::ModelView;
use poll::{Happening, client_failed, guarded};
use prompts::Prompts;
use recovery::Recovery;
use reminders::Reminders;
use settings::InForce;
use shell::Shells;
use toolset::Toolset;

/// Model events handled before others get a turn on the thread.
const EVENTS_PER_SLICE: u32 = 32;

pub(crate) struct Session {
    id: SessionId,
    shared: Arc<Shared>,
    mailbox: Mailbox,
    settings: InForce,
    log: SessionLog,
    view: ModelView,
    tools: Toolset,
    prompts: Prompts,
    activity: Activity,
    approvals: Approvals,
    /// What was spent, where that is limited.
    purse: Option<Box<Purse>>,
    /// What commands wait for.
    jobs: Jobs,
    /// Commands of users that run beside all this.
    shells: Shells,
    asides: Asides,
    recovery: Recovery,
    extensions: Extensions,
    editor: EditorRequests,
    mcp: Mcp,
    subagents: SubagentPool,
    reminders: Reminders,
    idle: Idleness,
    /// Where a message has a time to end at.
    limits: Option<Box<Limits>>,
}

impl Session {
    /// The session's task. It awaits once: everything that can happen is polled in one place. Gives back what is to be kept
    /// of a session that was parked.
    pub(crate) async fn run(mut self: Box<Self>) -> Option<Box<Parked>> {
        let (mut slice, mut is_over) = (0, false);
        let step = |context: &mut Context<'_>| {
            if !is_over {
                match guarded(|| self.live(context, &mut slice)) {
                    Ok(Poll::Pending) => return Poll::Pending,
                    Ok(Poll::Ready(())) => {}
                    Err(text) => self.break_off(&text),
                }
                is_over = true;
                self.close();
            }
            self.poll_refuse_the_rest(context)
        };
        poll_fn(step).await;
        self.tell_gone();
        if self.log.peers.is_watched() {
            self.log.peers.tell_watchers(vocab::WatchEvent::Ended);
        }
        self.say_goodbye();
        self.activity.tell_ended();
        self.parked()
    }

    /// Until no peer needs it any more, or until it cannot go on. `slice`: model events since others got their turn.
    fn live(&mut self, context: &mut Context<'_>, slice: &mut u32) -> Poll<()> {
        loop {
            let Poll::Ready(happening) = self.poll(context) else {
                self.log.press();
                return Poll::Pending;
            };
            if matches!(happening, Happening::Model(_)) {
                *slice += 1;
            }
            if matches!(happening, Happening::Abandoned) && self.can_end() {
                return Poll::Ready(());
            }
            self.hear_of_conduct();
            self.happen(happening);
            if !self.activity.is_over {
                self.settle();
            }
            if self.activity.is_draining() {
                self.leave_question();
            }
            if self.activity.is_over {
                return Poll::Ready(());
            }
            self.leave_place();
            self.read_if_wanted();
            self.drop_what_is_over();
            self.tell_settled();
            self.log.flush();
            self.arm_queue();
            self.recovery.let_go();
            if self.limits.is_some() {
                self.arm_limits();
            }
            self.tell_busy();
            self.tell_watchers();
            if self.can_end() && (self.activity.is_ending() || self.retire()) {
                return Poll::Ready(());
            }
            if *slice >= EVENTS_PER_SLICE {
                *slice = 0;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// What no call waits for any more, and what there is to say of servers: each behind its own door.
    fn drop_what_is_over(&mut self) {
        if !self.editor.open.is_empty() {
            self.drop_editor_requests();
        }
        if !self.mcp.untold.is_empty() && self.log.peers.is_anybody_live() {
            self.tell_servers();
        }
        if self.settings.conduct.ask_wait != vocab::AskWait::default() {
            self.arm_asks();
        }
        if self.tools.has_extensions() {
            self.arm_extension_timer();
        }
    }

    /// Takes over what the owner has said since the session was started.
    fn hear_of_conduct(&mut self) {
        if let Some(conduct) = self.shared.other_conduct(&self.settings.conduct) {
            self.settings.set_conduct(conduct);
        }
    }

    /// Looks at the extensions when they have changed. Before a controller has come, there are none for this session.
    fn hear_of_extensions(&mut self) {
        if self.extensions.met && self.shared.extensions.version.load(Ordering::Acquire) != self.extensions.seen {
            self.meet_extensions();
        }
    }

    /// Writes to the log and keeps the model's view in step. Everything that a session logs goes through here.
    fn log(&mut self, body: Body) -> Arc<Entry> {
        let by = self.doer_of(&body);
        self.log_entry(None, body, by)
    }

    /// As [`Session::log`], of something that was a moment ago.
    fn log_at(&mut self, at_ms: i64, body: Body) -> Arc<Entry> {
        let by = self.doer_of(&body);
        self.log_entry(Some(at_ms), body, by)
    }

    /// As [`Session::log`], of what this principal wants.
    fn log_by(&mut self, by: Option<Principal>, body: Body) -> Arc<Entry> {
        self.log_entry(None, body, by)
    }

    fn log_entry(&mut self, at_ms: Option<i64>, mut body: Body, by: Option<Principal>) -> Arc<Entry> {
        if self.log.last_seq() == 0 && !matches!(body, Body::Opened { .. }) {
            self.log_opened();
        }
        self.view.shorten(&mut body);
        let entry = self.log.append(at_ms, body, by);
        if let Some(purse) = &mut self.purse {
            purse.spending.follow(&entry);
        }
        if let Some(beside) = self.view.follow(&entry)
            && let Some(summarising) = self.activity.summarising()
        {
            summarising.meanwhile.push(beside);
        }
        entry
    }

    /// Whose doing an entry is: what happens in a turn is done for whoever wanted the turn, the rest for whoever acts now.
    fn doer_of(&self, body: &Body) -> Option<Principal> {
        let of_turn = match body {
            Body::Model(ModelEntry::Spent { turn: None, .. })
            | Body::Model(ModelEntry::Requested(Requested { turn: None, .. })) => self.log.commands.acting().is_none(),
            Body::Assistant { .. } | Body::Turn(_) | Body::Call(_) | Body::Model(_) => true,
            Body::Ask(ask) => matches!(ask, AskEntry::Opened(_)),
            Body::Branch(BranchEntry::Compacted(_)) => self.log.commands.acting().is_none(),
            Body::Opened { .. }
            | Body::User { .. }
            | Body::Queue(_)
            | Body::Branch(_)
            | Body::Setting(_)
            | Body::Shell(_)
            | Body::Note(_) => false,
        };
        if of_turn { self.prompts.turn_by.clone() } else { self.log.commands.acting().cloned() }
    }

    fn current_turn(&self) -> Option<TurnId> {
        self.activity.turn_id()
    }
}
