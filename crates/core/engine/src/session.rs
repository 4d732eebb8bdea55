//! One session: the only place that awaits. It owns the log, the lane and the running turn, performs what the turn
//! asks for, and races everything against its mailbox, so that an interrupt never waits for a model or a tool.

mod activity;
mod approvals;
mod briefing;
mod calls;
pub(crate) mod compaction;
mod editor;
mod ending;
mod extensions;
mod fallback;
mod hooks;
mod inspect;
mod jobs;
mod later;
pub(crate) mod log;
mod mcp;
pub(crate) mod model_view;
mod needs;
mod peers;
mod perform;
mod poll;
pub(crate) mod queue;
mod recovery;
mod reminders;
mod settings;
mod shell;
mod slash;
pub(crate) mod subagents;
mod system_prompt;
mod toolset;
pub(crate) mod turn;
mod undo;
mod verbs;

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Duration, Instant, Sleep};
use vocab::{
    AskId, Body, CallId, Editor, Entry, Event, Fault, FaultKind, ItemId, McpServer, ModelEvent, ModelFault, ModelInfo,
    PeerId, SessionId, Settings, State, Tag, Tool, TurnId, Verb,
};

use crate::Shared;
use crate::outbox::Outbox;
use crate::permission::Remembered;
use crate::session::log::SessionLog;
use crate::session::log::logged::Logged;
use crate::session::queue::Queue;
use crate::session::subagents::{Inherited, SubagentPool};
use crate::session::turn::{Effect, Turn};
use activity::{Activity, STALL, Waiting};
use approvals::OpenAsk;
use editor::EditorRequests;
use extensions::Extensions;
use jobs::Jobs;
use mcp::Servers;
use model_view::ModelView;
use peers::Catcher;
use poll::{Happening, client_failed, guarded};
use settings::{InForce, Stance};
use toolset::Toolset;

/// Commands waiting for a session; a peer that sends faster waits for the session, never the other way round.
pub(crate) const MAILBOX_MAX: usize = 64;
/// Model events handled before others get a turn on the thread.
const EVENTS_PER_SLICE: u32 = 32;

pub(crate) enum Mail {
    Join {
        outbox: Arc<Outbox>,
        tag: Tag,
        after: Option<u64>,
        resumed: bool,
        /// Whether the peer can answer questions.
        answers: bool,
        servers: Vec<McpServer>,
        /// What the log calls it.
        controller: Option<Arc<str>>,
        /// Whether the peer is on the session now. Dropped unanswered when the session ends first.
        joined: oneshot::Sender<bool>,
    },
    Leave {
        peer: PeerId,
    },
    Verb {
        outbox: Arc<Outbox>,
        tag: Tag,
        verb: Verb,
    },
    /// The peer's real outbox takes the place of the private one it came in with, and gets what that one holds.
    Rebind {
        outbox: Arc<Outbox>,
        aside: Arc<Outbox>,
    },
    State(oneshot::Sender<State>),
    /// To be told behind everything that came before it.
    Say {
        outbox: Arc<Outbox>,
        event: Event,
    },
    /// Who stands beside the sessions has changed.
    Extensions,
    /// For the controllers that are here.
    Trouble(Event),
    /// Whether nobody is here and nothing runs, so that the session ends by itself.
    Deserted(oneshot::Sender<bool>),
    /// Whether a turn or a compaction runs; answered when everything said so far is written.
    Busy(oneshot::Sender<bool>),
    /// End the turn, write everything, let go of the lease.
    Stop(oneshot::Sender<()>),
}

pub(crate) struct Session {
    id: SessionId,
    shared: Arc<Shared>,
    settings: InForce,
    /// The file that follows the log, where there is one.
    file: Option<PathBuf>,
    tools: Toolset,
    /// What the log calls those who are here.
    controllers: HashMap<PeerId, Arc<str>>,
    extensions: Extensions,
    editor: EditorRequests,
    servers: Servers,
    subagents: SubagentPool,
    /// The call this session works for, and whom its calls may ask for editor_requests.
    child_of: Option<(SessionId, CallId)>,
    inherited_editor_requests: Option<Arc<dyn Editor>>,
    log: SessionLog,
    /// What had to be repaired before the session was ours, until it is logged.
    recovered: Option<String>,
    view: ModelView,
    queue: Queue,
    queued_in_log: HashSet<ItemId>,
    /// Who sent the items that a failed store made us forget; the log does not say.
    senders: HashMap<ItemId, (PeerId, Tag)>,
    activity: Activity,
    /// Commands of users that run beside all this.
    shells: Vec<shell::Running>,
    /// How often we went on by ourselves since the last message of somebody.
    reminded: u32,
    /// The last turn ended well, and whether to go on by ourselves is still to be decided.
    may_remind: bool,
    asks: HashMap<AskId, OpenAsk>,
    /// Peers that hear questions and cannot answer them.
    mute: HashSet<PeerId>,
    remembered: Remembered,
    /// What verbs wait for.
    jobs: Jobs,
    /// When to take up what a failed write left waiting in the log, and how long that wait was.
    mending: Option<Pin<Box<Sleep>>>,
    mend_wait: Option<Duration>,
    /// They are taken up when the log is read.
    mends: bool,
    catchers: Vec<Catcher>,
    mailbox: mpsc::Receiver<Mail>,
    lane_timer: Option<Pin<Box<Sleep>>>,
    born: Instant,
    /// Somebody came. Until then whoever opened the session is on the way.
    was_joined: bool,
    /// It cannot go on, and everybody was told.
    is_over: bool,
    asked_busy: Vec<oneshot::Sender<bool>>,
}

/// What a session that was there before has behind it.
pub(crate) struct Past {
    pub(crate) summary: vocab::Summary,
    /// What had to be repaired when it was taken over.
    pub(crate) recovered: Option<String>,
    /// Whoever opens it has named another thinking level.
    pub(crate) thinking_asked: bool,
}

/// What a session is made from.
pub(crate) struct Seed {
    pub(crate) settings: Settings,
    pub(crate) model: ModelInfo,
    pub(crate) log: SessionLog,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// `None` for a new session.
    pub(crate) past: Option<Past>,
    /// For a child.
    pub(crate) inherited: Option<Inherited>,
}

impl Session {
    pub(crate) fn new(shared: Arc<Shared>, mut seed: Seed, mailbox: mpsc::Receiver<Mail>) -> Self {
        let mut servers = Servers::default();
        let inherited = seed.inherited.take();
        if inherited.is_some() {
            seed.tools.retain(|tool| !tool.has_subagents());
        }
        let mut tools = Toolset::new(seed.tools, shared.ports.toolbox.gadgets());
        let (child_of, inherited_editor_requests) = match inherited {
            Some(Inherited { child_of, served, editor_requests }) => {
                servers.inherit();
                served.into_iter().for_each(|tool| tools.add_mcp(None, tool));
                (Some(child_of), editor_requests)
            }
            None => (None, None),
        };
        let thinking_asked = seed.past.as_ref().is_some_and(|past| past.thinking_asked);
        let (summary, recovered) = seed.past.map(|past| (past.summary, past.recovered)).unzip();
        let summary = summary.as_ref();
        seed.log.found(Logged {
            model: summary.map_or_else(|| seed.settings.model.clone(), |it| it.model.clone()),
            mode: summary.map_or(seed.settings.mode, |it| it.mode),
            // What an old log says is known when it is read, and so are its tasks.
            thinking: seed.settings.thinking.clone(),
            title: summary.and_then(|it| it.title.clone()),
            ..Logged::default()
        });
        Self {
            id: seed.log.session.clone(),
            view: ModelView::unread(summary.map_or(0, |it| it.messages)),
            tools,
            file: shared.ports.store.file(&seed.log.session),
            queue: Queue::new(seed.settings.lane),
            shared,
            settings: InForce::new(seed.settings, seed.model, thinking_asked),
            controllers: HashMap::new(),
            extensions: Extensions::default(),
            editor: EditorRequests::default(),
            servers,
            subagents: SubagentPool::default(),
            child_of,
            inherited_editor_requests,
            log: seed.log,
            recovered: recovered.flatten(),
            queued_in_log: HashSet::new(),
            senders: HashMap::new(),
            activity: Activity::default(),
            shells: Vec::new(),
            reminded: 0,
            may_remind: false,
            asks: HashMap::new(),
            mute: HashSet::new(),
            remembered: Remembered::default(),
            jobs: Jobs::default(),
            mending: None,
            mend_wait: None,
            mends: false,
            catchers: Vec::new(),
            mailbox,
            lane_timer: None,
            born: Instant::now(),
            was_joined: false,
            is_over: false,
            asked_busy: Vec::new(),
        }
    }

    /// The session's task. It awaits once: everything that can happen is polled in one place.
    pub(crate) async fn run(mut self) {
        let step = |context: &mut Context<'_>| match guarded(|| self.live(context)) {
            Ok(Poll::Ready(())) => Poll::Ready(None),
            Ok(Poll::Pending) => Poll::Pending,
            Err(text) => Poll::Ready(Some(text)),
        };
        let broken = poll_fn(step).await;
        if let Some(text) = broken {
            self.break_off(&text);
        }
        self.refuse_the_rest();
        self.say_goodbye();
        self.activity.tell_ended();
    }

    /// Until nobody needs it any more, or until it cannot go on.
    fn live(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut slice = 0;
        loop {
            let Poll::Ready(happening) = self.poll(context) else { return Poll::Pending };
            if matches!(happening, Happening::Model(_)) {
                slice += 1;
            }
            if matches!(happening, Happening::Abandoned) && self.can_end() {
                return Poll::Ready(());
            }
            self.happen(happening);
            if !self.is_over {
                self.settle();
            }
            if self.is_over {
                return Poll::Ready(());
            }
            self.read_if_wanted();
            self.drop_editor_requests();
            self.tell_servers();
            self.tell_settled();
            self.log.flush();
            self.arm_lane_timer();
            self.arm_beside_timer();
            if self.log.is_settled() && !self.jobs.is_awaited() {
                let busy = self.queue.is_busy();
                for asked in self.asked_busy.drain(..) {
                    let _ = asked.send(busy);
                }
            }
            if self.can_end() && (self.activity.is_ending() || self.retire()) {
                return Poll::Ready(());
            }
            if slice >= EVENTS_PER_SLICE {
                // Others get their turn on the thread.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// Nothing runs and nothing is unwritten.
    fn can_end(&self) -> bool {
        self.activity.is_idle() && self.activity.next.is_none() && self.shells.is_empty() && self.log.is_settled()
    }

    /// Nobody is here, nothing runs and nothing waits.
    fn is_deserted(&self) -> bool {
        self.was_joined
            && self.log.peers().is_empty()
            && self.catchers.is_empty()
            && self.queue.due().is_none()
            && self.mending.is_none()
            && !self.mends
            && !self.jobs.is_awaited()
            && self.activity.next.is_none()
            && self.activity.is_idle()
            && self.shells.is_empty()
    }

    /// Nobody is here, nothing waits, and nobody can find the session in the registry any more.
    fn retire(&mut self) -> bool {
        self.is_deserted() && self.close_if_unheard()
    }

    /// Under the registry's lock, so that nobody finds the session between the look and the closing.
    fn close_if_unheard(&mut self) -> bool {
        let shared = self.shared.clone();
        shared.registry.alone(|| {
            let free = self.mailbox.is_empty();
            if free {
                self.mailbox.close();
            }
            free
        })
    }

    fn now_ms(&self) -> i64 {
        self.born.elapsed().as_millis() as i64
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Commit(Ok(())) => {
                self.mend_wait = None;
                return;
            }
            Happening::Caught | Happening::Abandoned => return,
            Happening::Job(event) => return self.job_event(event),
            Happening::Undo(step) => return self.undo_goes_on(step),
            Happening::MendDue => return self.mend(),
            Happening::Commit(Err(fault)) => return self.store_failed(fault),
            Happening::Mail(mail) => return self.mail(mail),
            Happening::Shell(index, result) => return self.shell_done(index, result),
            Happening::EditorRequest(order) => {
                if let Some(order) = order {
                    self.tell_editor_request(order);
                }
                return;
            }
            Happening::McpStarted(peer, served) => return self.served(peer, served),
            Happening::ServersDue => self.servers_awaited(),
            Happening::Briefed(briefing) => self.briefed(briefing),
            Happening::Progress(text) => self.tell_progress(&text),
            Happening::LaneDue => {
                let acts = self.queue.tick(self.now_ms());
                self.act(acts);
            }
            Happening::Model(event) => self.model_said(event),
            Happening::Tool(outcome) => {
                if let Waiting::Tool { since, .. } = self.activity.stop_waiting() {
                    self.charge_children();
                    self.call_ran(outcome, since.elapsed().as_millis() as u64);
                }
            }
            Happening::Written => self.written(),
            Happening::Read(page) => self.log_read(page),
            Happening::ChildrenClosed => self.children_closed(),
            Happening::BesideDue => return self.beside_due(),
            Happening::RetryDue => {
                self.activity.stop_waiting();
                self.with_turn(|turn, fx| turn.retry_due(fx));
            }
            Happening::Compacted(result) => self.compaction_done(result),
            Happening::Stalled => {
                let fault = Fault::new(FaultKind::Network, format!("nothing happened for {} s", STALL.as_secs()));
                self.cancel_compaction(fault.clone());
                self.stop_work();
                self.with_turn(|turn, fx| {
                    turn.abort(fault, fx);
                });
            }
        }
        self.activity.moved();
    }

    fn model_said(&mut self, event: Option<ModelEvent>) {
        // A stream that just ends has been cut, whatever its maker meant.
        let event = event.unwrap_or_else(|| {
            ModelEvent::Failed(ModelFault::new(FaultKind::StreamCut, "the model stream ended without a finish"))
        });
        if matches!(event, ModelEvent::Finished(_) | ModelEvent::Failed(_)) {
            self.activity.stop_waiting();
            self.estimate_usage();
        }
        self.with_turn(|turn, fx| turn.model_event(event, fx));
    }

    fn estimate_usage(&mut self) {
        let bytes = self.view.bytes() + self.tools.spec_bytes(&self.settings);
        self.with_turn(|turn, _| turn.estimate_prompt(vocab::estimate_tokens(bytes)));
    }

    fn with_turn(&mut self, step: impl FnOnce(&mut Turn, &mut Vec<Effect>)) {
        self.activity.with_turn(step);
    }

    /// Drops whatever the turn waits for: the model connection closes, the tool's processes end.
    fn stop_work(&mut self) {
        match self.activity.stop_waiting() {
            Waiting::Tool { since, .. } | Waiting::Host { since } => {
                self.with_turn(|turn, _| turn.ran_for(since.elapsed().as_millis() as u64));
                self.charge_children();
            }
            Waiting::Subagents(_) => self.charge_children(),
            Waiting::Hook(running_hook) => self.stop_hook(*running_hook),
            Waiting::Model(_) => self.estimate_usage(),
            Waiting::Nothing
            | Waiting::Written { .. }
            | Waiting::View { .. }
            | Waiting::Retry(_)
            | Waiting::Servers(_)
            | Waiting::Briefing(_)
            | Waiting::Compaction(..) => {}
        }
        self.withdraw_asks();
    }

    fn arm_lane_timer(&mut self) {
        self.lane_timer = self.queue.due().map(|at_ms| {
            let at = self.born + Duration::from_millis(at_ms.max(0) as u64);
            Box::pin(tokio::time::sleep_until(at))
        });
    }

    /// Writes to the log and keeps the model's view in step. Everything that a session logs goes through here.
    fn log(&mut self, body: Body) -> Arc<Entry> {
        self.log_at(None, body)
    }

    /// As [`Session::log`], of something that was a moment ago.
    fn log_at(&mut self, at_ms: Option<i64>, mut body: Body) -> Arc<Entry> {
        if self.log.last_seq() == 0 && !matches!(body, Body::Opened { .. }) {
            self.log_opened();
        }
        self.view.shorten(&mut body);
        let entry = self.log.append(at_ms, body);
        if let Some(beside) = self.view.follow(&entry)
            && let Some(summarising) = self.activity.summarising()
        {
            summarising.meanwhile.push(beside);
        }
        entry
    }

    fn current_turn(&self) -> Option<TurnId> {
        self.activity.turn_id()
    }

    pub(crate) fn state(&self) -> State {
        self.state_of(&self.settings.stance(), self.log.logged(), self.current_turn(), self.log.last_seq())
    }

    /// As [`Session::state`], without what is still on its way to the store: that comes live.
    fn told_state(&self) -> State {
        let turn = self.log.told_turn().cloned();
        self.state_of(&self.settings.settled(self.log.committed()), self.log.logged_told(), turn, self.log.committed())
    }

    fn state_of(&self, stance: &Stance, logged: &Logged, turn: Option<TurnId>, last_seq: u64) -> State {
        let counted = self.view.counted();
        let Stance { settings, model } = stance;
        State {
            session: self.id.clone(),
            workspace: settings.workspace.clone(),
            model: settings.model.clone(),
            mode: settings.mode,
            thinking: settings.thinking.clone(),
            context_window: model.context_window,
            max_tokens: toolset::max_tokens(&self.settings, model),
            context_tokens: counted.context_tokens,
            gadgets: self.tools.gadgets_on(settings).map(|gadget| gadget.name.clone()).collect(),
            title: logged.title.clone(),
            turn,
            messages: counted.messages,
            results: counted.results,
            last_seq,
            model_info: model.clone(),
            todos: logged.todos.clone(),
            file: self.file.clone(),
        }
    }

    fn tell_state(&mut self) {
        let state = Arc::new(self.state());
        self.log.emit(Event::State(state));
    }
}
