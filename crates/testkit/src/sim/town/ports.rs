//! The model and the tools of a town: those of the simulation, under a witness's eyes.

use std::future::poll_fn;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use vocab::{
    CallContext, CallSpec, Chat, Fault, FileDiff, FileEdit, Gadget, Image, Json, Later, Message, ModelEvent, ModelInfo,
    ModelStream, Outcome, Plan, Progress, Provider, Required, SessionId, Shell, Tool, ToolRule, ToolRules, ToolSpec,
    Toolbox,
};

use super::talk::talk;
use super::witness::TownWitness;
use crate::player::Playing;
use crate::sim::dice::Dice;
use crate::sim::model::SimModel;
use crate::sim::tools::SimTools;

/// Stands before the session's name in every prompt of a town, so that a model knows for whom it is asked.
pub(super) const MARK: char = '@';

/// An image that cannot be looked at.
pub(super) const UNREADABLE: &str = "iVBORw0KGgobad=";
/// How long it takes to look at one.
const LOOK_WAIT: Duration = Duration::from_millis(40);

pub(super) fn look_at(image: Image) -> Later<'static, Result<Image, String>> {
    Box::pin(async move {
        tokio::time::sleep(LOOK_WAIT).await;
        if &*image.base64 == UNREADABLE { Err("the picture cannot be read".to_owned()) } else { Ok(image) }
    })
}

fn session_in(message: &Message) -> Option<SessionId> {
    let Message::User(parts) = message else { return None };
    let text = vocab::parts_text(parts);
    let (_, rest) = text.split_once(MARK)?;
    rest.split_whitespace().next().map(SessionId::from)
}

pub(super) struct WitnessedModel {
    pub(super) inner: SimModel,
    pub(super) process: u64,
    pub(super) witness: Arc<TownWitness>,
}

impl Provider for WitnessedModel {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        self.inner.resolve(slug)
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        self.inner.models()
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        let (process, witness) = (self.process, self.witness.clone());
        let (dice, calm) = (self.inner.dice.clone(), self.inner.calm.clone());
        Ok(Box::new(WitnessedChat { inner: self.inner.chat(model)?, session: None, process, witness, dice, calm }))
    }
}

struct WitnessedChat {
    inner: Box<dyn Chat>,
    /// Known from its messages.
    session: Option<SessionId>,
    process: u64,
    witness: Arc<TownWitness>,
    dice: Arc<Mutex<Dice>>,
    calm: Arc<AtomicBool>,
}

/// So many of a hundred replies are those of a town.
const TALKS_PCT: u64 = 60;

impl WitnessedChat {
    fn talks(&self, spec: &CallSpec) -> Option<ModelStream> {
        let mut dice = self.dice.lock().expect("nobody panics while holding this");
        let talks = !spec.tools.is_empty() && !self.calm.load(Ordering::Relaxed) && dice.chance(TALKS_PCT);
        talks.then(|| Playing::stream(talk(&mut dice)))
    }
}

impl Chat for WitnessedChat {
    fn push(&mut self, message: &Message) {
        if let Some(session) = session_in(message)
            && let Some(known) = self.session.replace(session.clone())
            && known != session
            && self.witness.is_strict
        {
            self.witness.findings.add(format!("the model of {known} is told of {session}"));
        }
        self.inner.push(message);
    }
    fn clear(&mut self) {
        self.inner.clear();
    }
    fn bytes(&self) -> usize {
        self.inner.bytes()
    }
    fn call(&mut self, spec: &CallSpec) -> ModelStream {
        if let Some(session) = &self.session {
            self.witness.has_asked(self.process, session, "asks the model");
        }
        let (session, process, witness) = (self.session.clone(), self.process, self.witness.clone());
        let (inner, instead) = (self.inner.call(spec), self.talks(spec));
        Box::pin(WitnessedStream { inner, instead, session, process, witness })
    }
    fn keeps_time(&self) -> bool {
        self.inner.keeps_time()
    }
}

struct WitnessedStream {
    inner: ModelStream,
    /// What it says after its first word, which is what was sent.
    instead: Option<ModelStream>,
    session: Option<SessionId>,
    process: u64,
    witness: Arc<TownWitness>,
}

impl Stream for WitnessedStream {
    type Item = ModelEvent;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        if let Some(session) = &self.session {
            self.witness.has_asked(self.process, session, "listens to the model");
        }
        let next = self.inner.as_mut().poll_next(context);
        if next.is_ready()
            && let Some(instead) = self.instead.take()
        {
            self.inner = instead;
        }
        next
    }
}

pub(super) struct WitnessedTools {
    pub(super) inner: SimTools,
    /// What this process lets nobody call.
    pub(super) rules: ToolRules,
    pub(super) process: u64,
    pub(super) witness: Arc<TownWitness>,
}

impl Toolbox for WitnessedTools {
    fn open(&self, session: &SessionId, workspace: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let wrap = |inner: Arc<dyn Tool>| -> Arc<dyn Tool> {
            let is_denied = self.rules.of(&inner.spec().name) == Some(ToolRule::Deny);
            Arc::new(WitnessedTool { inner, is_denied, process: self.process, witness: self.witness.clone() })
        };
        Ok(self.inner.open(session, workspace)?.into_iter().map(wrap).collect())
    }
    fn gadgets(&self) -> Vec<Gadget> {
        self.inner.gadgets()
    }
    fn restore(&self, workspace: &Path, edits: &[FileEdit]) -> Vec<Arc<str>> {
        self.inner.restore(workspace, edits)
    }
    fn shell(
        &self,
        session: &SessionId,
        workspace: &Path,
        command: &str,
        told: Progress,
        stop: Later<'static, ()>,
    ) -> Later<'static, Shell> {
        self.inner.shell(session, workspace, command, told, stop)
    }
    fn diff(&self, edits: &[FileEdit]) -> Vec<FileDiff> {
        self.inner.diff(edits)
    }
}

struct WitnessedTool {
    inner: Arc<dyn Tool>,
    is_denied: bool,
    process: u64,
    witness: Arc<TownWitness>,
}

impl Tool for WitnessedTool {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }
    fn gadget(&self) -> Option<&str> {
        self.inner.gadget()
    }
    fn required(&self) -> Required {
        self.inner.required()
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        self.inner.plan(input)
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let (session, process, witness) = (context.session.clone(), self.process, self.witness.clone());
        witness.acts(process, &session, "runs a tool");
        if self.is_denied {
            let name = &self.spec().name;
            witness.findings.add(format!("process {process} runs {name} in {session}, which its rules deny"));
        }
        if self.required() > Required::ReadOnly {
            witness.begins(&session, &context.call);
        }
        let mut running = self.inner.run(input, context);
        Box::pin(poll_fn(move |cx| {
            witness.acts(process, &session, "goes on with a tool");
            running.as_mut().poll(cx)
        }))
    }
}
