//! Sessions that work for a running call. The call gets a way to them ([`SubagentRunner`]); each child is an ordinary session with one
//! peer, its [`SubagentWatcher`], which hears how it goes, counts what it costs and closes it when its turn is over or when nobody
//! waits for it any more.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Duration, timeout};
use vocab::{
    Abilities, Answer, AskEntry, AskKind, Body, BranchEntry, CallEntry, CallId, Change, Delivery, Delta, Editor, Entry,
    Event, Fault, FaultKind, FileEdit, Gate, Later, Mode, ModelEntry, OnRestart, Open, Part, PeerId, Principal,
    Progress, Required, SessionId, SessionVerb, Settings, SubagentEnd, SubagentTask, Subagents, Tag, Tool, TurnEnd,
    TurnEntry, Unanswered, Usage, Which,
};

use crate::Shared;
use crate::outbox::{Outbox, Slow};
use crate::registry::Handle;
use crate::session::Mail;
use crate::session::log::commands::Provenance;

/// Subagents of one session at the same time; another one is refused.
const SUBAGENTS_MAX: u32 = 4;
/// Tool rounds of a child, unless its parent has fewer; then it ends and says so.
const SUBAGENT_ROUNDS_MAX: u32 = 40;
/// How long a session whose turn is stopped waits for the ends of its children. What one spends later is in its own log.
const CLOSE_WAIT: Duration = Duration::from_secs(5);
/// Progress shows the end of what a child is saying.
const PROGRESS_BYTES_MAX: usize = 2 * 1024;

/// Added to a child's system prompt.
const ABOUT_SUBAGENTS: &str = "You are a sub-agent: another agent gave you one task. Nobody can answer questions or grant \
                              anything, so decide yourself, and do not ask. What you say last is all that the other agent \
                              reads: end with a complete account of what you found or did.";

const PROMPT: Tag = Tag(1);

/// The children of one session.
#[derive(Default)]
pub(crate) struct SubagentPool {
    /// The call this session works for, where it is a subagent itself.
    pub(crate) child_of: Option<(SessionId, CallId)>,
    /// The peer that has the task for it.
    pub(crate) watcher: Option<PeerId>,
    /// The controller of its parent, for its own calls.
    pub(crate) inherited_editor: Option<Arc<dyn Editor>>,
    /// The running call, or one before it, may have subagents whose cost was not charged yet.
    pub(crate) is_lent: bool,
    running: RunningSubagents,
}

/// Those that work for this session's running call.
struct RunningSubagents {
    /// One for each child, from before its start until it is gone.
    slots: Arc<Semaphore>,
    tally: Arc<Tally>,
}

impl Default for RunningSubagents {
    fn default() -> Self {
        Self { slots: Arc::new(Semaphore::new(SUBAGENTS_MAX as usize)), tally: Arc::default() }
    }
}

impl SubagentPool {
    pub(crate) fn is_empty(&self) -> bool {
        self.running.slots.available_permits() == SUBAGENTS_MAX as usize
    }
    /// For the next call; what children of an earlier one still spend is not its.
    pub(crate) fn start_over(&mut self) {
        self.running.tally = Arc::default();
    }
    /// What the children of the call have left so far.
    pub(crate) fn take(&self) -> SubagentTotals {
        std::mem::take(&mut *self.running.tally.left())
    }
    /// Ready when every child is gone, or has taken too long.
    pub(crate) fn emptied(&self) -> Later<'static, ()> {
        let slots = self.running.slots.clone();
        Box::pin(async move {
            let _ = timeout(CLOSE_WAIT, slots.acquire_many_owned(SUBAGENTS_MAX)).await;
        })
    }
}

/// What children have cost and changed. Kept apart from their calls, because a call may be dropped at any moment, and what
/// was spent stays true.
#[derive(Default)]
struct Tally(Mutex<SubagentTotals>);

#[derive(Default)]
pub(crate) struct SubagentTotals {
    /// By model, in the order of their first call.
    pub(crate) spent: Vec<(Arc<str>, Usage)>,
    pub(crate) edits: Vec<FileEdit>,
}

impl Tally {
    fn left(&self) -> MutexGuard<'_, SubagentTotals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SubagentTotals {
    fn spend(&mut self, model: &Arc<str>, usage: &Usage) {
        match self.spent.iter_mut().find(|(known, _)| known == model) {
            Some((_, sum)) => sum.add(usage),
            None => self.spent.push((model.clone(), *usage)),
        }
    }
    /// Each file once: as it was before the first change and after the last one.
    fn change(&mut self, edit: &FileEdit) {
        match self.edits.iter_mut().find(|known| known.path == edit.path) {
            Some(known) => known.after = edit.after.clone(),
            None => self.edits.push(edit.clone()),
        }
    }
}

/// What a child has from its parent.
pub(crate) struct Inherited {
    pub(crate) child_of: (SessionId, CallId),
    /// Of servers that the parent has started.
    pub(crate) mcp_tools: Vec<Arc<dyn Tool>>,
    pub(crate) editor: Option<Arc<dyn Editor>>,
    /// Who wanted the turn that it works for.
    pub(crate) by: Option<Principal>,
    /// The peer that has the task for it, once there is one.
    pub(crate) watcher: Option<PeerId>,
}

/// How a child of this session behaves.
pub(crate) fn settings_of(parent: &Settings, granted: Required) -> Settings {
    let about = match &parent.append_system_prompt {
        Some(text) => format!("{text}\n\n{ABOUT_SUBAGENTS}"),
        None => ABOUT_SUBAGENTS.to_owned(),
    };
    Settings {
        mode: match granted {
            Required::ReadOnly => Mode::ReadOnly,
            Required::WorkspaceWrite => Mode::WorkspaceWrite,
            Required::DangerFullAccess => Mode::DangerFullAccess,
        },
        gate: Gate::Alone,
        max_iterations: parent.max_iterations.min(SUBAGENT_ROUNDS_MAX),
        append_system_prompt: Some(about.into()),
        reminders_max: 0,
        // It ends with the call that it works for, and asks nothing.
        on_restart: OnRestart::Close,
        unanswered: Some(Unanswered::Deny),
        ..parent.clone()
    }
}

/// One call's way to sessions of its own.
pub(crate) struct SubagentRunner(Arc<SubagentParent>);

struct SubagentParent {
    shared: Arc<Shared>,
    settings: Settings,
    inherited: Inherited,
    slots: Arc<Semaphore>,
    tally: Arc<Tally>,
}

impl SubagentRunner {
    pub(crate) fn new(shared: Arc<Shared>, settings: Settings, inherited: Inherited, pool: &SubagentPool) -> Self {
        let (slots, tally) = (pool.running.slots.clone(), pool.running.tally.clone());
        Self(Arc::new(SubagentParent { shared, settings, inherited, slots, tally }))
    }
}

impl Subagents for SubagentRunner {
    fn run(&self, task: SubagentTask, progress: Progress) -> Later<'static, Result<SubagentEnd, Fault>> {
        let parent = self.0.clone();
        Box::pin(async move { parent.run(task, progress).await })
    }
}

impl SubagentParent {
    async fn run(&self, task: SubagentTask, progress: Progress) -> Result<SubagentEnd, Fault> {
        let Ok(slot) = self.slots.clone().try_acquire_owned() else {
            return Err(Fault::new(FaultKind::QueueFull, format!("{SUBAGENTS_MAX} sub-agents are running already"))
                .hint("wait until one of them has ended"));
        };
        let mut settings = self.settings.clone();
        if let Some(model) = &task.model {
            settings.model = model.clone();
        }
        let model = settings.model.clone();
        let outbox = Outbox::new(self.shared.mint_peer(), Slow::Wait);
        let inherited = Inherited {
            child_of: self.inherited.child_of.clone(),
            mcp_tools: self.inherited.mcp_tools.clone(),
            editor: self.inherited.editor.clone(),
            by: self.inherited.by.clone(),
            watcher: Some(outbox.peer),
        };
        let child = self.shared.start_subagent(settings, inherited).await?;
        let watcher = SubagentWatcher {
            outbox,
            child,
            by: self.inherited.by.clone(),
            model,
            tally: self.tally.clone(),
            own: SubagentTotals::default(),
            progress,
            saying: String::new(),
            said: Arc::from(""),
            doing: None,
            ended: None,
            is_stopped: false,
            asked: VecDeque::new(),
        };
        let (done, end) = oneshot::channel();
        // Apart from the call, so that a child whose call was dropped is still closed in order.
        tokio::spawn(watcher.keep(task, done, slot));
        end.await.unwrap_or_else(|_| Err(gone()))
    }
}

fn gone() -> Fault {
    Fault::new(FaultKind::Internal, "the sub-agent's session ended unexpectedly")
}

/// The one peer of a child.
struct SubagentWatcher {
    child: Handle,
    outbox: Arc<Outbox>,
    by: Option<Principal>,
    model: Arc<str>,
    /// Of all children of the call.
    tally: Arc<Tally>,
    /// Of this one.
    own: SubagentTotals,
    progress: Progress,
    /// The running reply, the end of it.
    saying: String,
    said: Arc<str>,
    /// The tool that runs.
    doing: Option<Arc<str>>,
    ended: Option<Result<TurnEnd, Fault>>,
    is_stopped: bool,
    /// Questions of extensions, which nobody will answer.
    asked: VecDeque<vocab::AskId>,
}

enum WatcherEvent {
    Told(bool),
    Unwanted,
    Gone,
}

impl SubagentWatcher {
    async fn keep(
        mut self,
        task: SubagentTask,
        mut done: oneshot::Sender<Result<SubagentEnd, Fault>>,
        slot: OwnedSemaphorePermit,
    ) {
        self.begin(task).await;
        let child = self.child.clone();
        let mut is_gone = pin!(child.gone());
        let mut told = Vec::new();
        loop {
            let heard = poll_fn(|context| {
                if !self.is_stopped && done.poll_closed(context).is_ready() {
                    return Poll::Ready(WatcherEvent::Unwanted);
                }
                if let Poll::Ready(more) = self.outbox.poll_drain(context, &mut told) {
                    return Poll::Ready(WatcherEvent::Told(more));
                }
                is_gone.as_mut().poll(context).map(|()| WatcherEvent::Gone)
            })
            .await;
            match heard {
                WatcherEvent::Told(true) => {
                    for told in told.drain(..) {
                        self.hear(told.event);
                    }
                    while let Some(ask) = self.asked.pop_front() {
                        self.say(Tag(0), SessionVerb::Answer { ask, answer: Answer::Dismissed }).await;
                    }
                }
                WatcherEvent::Unwanted => self.stop().await,
                WatcherEvent::Told(false) | WatcherEvent::Gone => break,
            }
            if self.ended.is_some() {
                self.stop().await;
            }
        }
        let end = self.end();
        drop(slot);
        let _ = done.send(end);
    }

    async fn begin(&mut self, task: SubagentTask) {
        let (joined, _) = oneshot::channel();
        let outbox = self.outbox.clone();
        let abilities = Abilities { answers: false, ..Abilities::default() };
        let open = Open { abilities, gate: Some(Gate::Alone), ..Open::new(Which::Named(self.child.id.clone())) };
        let join = Mail::Join { outbox, tag: Tag(0), resumed: false, open: Box::new(open), by: None, joined };
        let _ = self.child.mail.send(join).await;
        if let Some(title) = task.title {
            self.say(Tag(0), SessionVerb::Set(Change::Title(title))).await;
        }
        let parts = vec![Part::text(task.prompt)];
        self.say(PROMPT, SessionVerb::Prompt { parts, delivery: Delivery::RejectIfBusy }).await;
    }

    /// To one that is gone nothing needs to be said.
    async fn say(&self, tag: Tag, verb: SessionVerb) {
        let provenance =
            self.by.clone().map(|by| Box::new(Provenance { by, key: None, trace: None, model: None, until_ms: None }));
        let _ = self.child.mail.send(Mail::Verb { outbox: self.outbox.clone(), tag, verb, provenance }).await;
    }

    async fn stop(&mut self) {
        if !std::mem::replace(&mut self.is_stopped, true) {
            let (stopped, _) = oneshot::channel();
            let _ = self.child.mail.send(Mail::Stop(stopped)).await;
        }
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Logged(entry) => self.hear_entry(&entry),
            Event::Delta(Delta::ModelCalled { .. }) => self.saying.clear(),
            Event::Delta(Delta::Text { delta, .. }) => {
                self.saying.push_str(&delta);
                let from = self.saying.ceil_char_boundary(self.saying.len().saturating_sub(PROGRESS_BYTES_MAX));
                self.saying.drain(..from);
                self.show();
            }
            Event::Reply { tag: PROMPT, result: Err(fault) } => self.over(Err(fault)),
            Event::TurnLost(end) => self.over(Ok(end)),
            Event::Gone { fault } => self.over(Err(fault)),
            // The rest is for people.
            _ => {}
        }
    }

    fn hear_entry(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Assistant { message, .. } => {
                self.spend(&message.model, &message.usage);
                let text = message.text();
                if !text.trim().is_empty() {
                    self.said = text.into();
                }
            }
            Body::Model(ModelEntry::Spent { model, usage, .. }) => self.spend(model, usage),
            Body::Branch(BranchEntry::Compacted(compaction)) => self.spend(&compaction.model, &compaction.usage),
            Body::Call(CallEntry::Started { tool, .. }) => {
                self.doing = Some(tool.clone());
                self.show();
            }
            Body::Call(CallEntry::Ended { result, .. }) => {
                self.doing = None;
                for edit in &result.edits {
                    self.own.change(edit);
                    self.tally.left().change(edit);
                }
            }
            Body::Ask(AskEntry::Opened(ask)) => match ask.kind {
                AskKind::Permission(_) | AskKind::Budget(_) | AskKind::HostCall { .. } => {}
                AskKind::Select { .. } | AskKind::Confirm { .. } | AskKind::Input { .. } | AskKind::Editor { .. } => {
                    self.asked.push_back(ask.id.clone());
                }
            },
            Body::Turn(TurnEntry::Ended(end)) => self.over(Ok(end.clone())),
            _ => {}
        }
    }

    fn spend(&mut self, model: &Arc<str>, usage: &Usage) {
        self.own.spend(model, usage);
        self.tally.left().spend(model, usage);
    }

    /// The first word about the end counts.
    fn over(&mut self, end: Result<TurnEnd, Fault>) {
        self.ended.get_or_insert(end);
    }

    fn show(&self) {
        let said = self.saying.trim_end();
        match &self.doing {
            None => (self.progress)(said),
            Some(tool) if said.is_empty() => (self.progress)(&format!("[running {tool}]")),
            Some(tool) => (self.progress)(&format!("{said}\n[running {tool}]")),
        }
    }

    fn end(self) -> Result<SubagentEnd, Fault> {
        let end = self.ended.unwrap_or_else(|| Err(gone()))?;
        let mut usage = Usage::default();
        self.own.spent.iter().for_each(|(_, spent)| usage.add(spent));
        Ok(SubagentEnd {
            session: self.child.id,
            model: self.model,
            stop: end.stop,
            fault: end.fault,
            text: self.said,
            rounds: end.iterations,
            usage,
            edits: self.own.edits,
        })
    }
}
