//! What is given to us may panic: a tool, a model client. That ends a call and never the session that made it. Ports that
//! give back plain values are wrapped here, once; futures and streams are guarded where they are polled. A chat that breaks
//! while it is given a message has lost count of them: there the session breaks off, and is read back from its log.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;

use vocab::{
    CallContext, Chat, Fault, FaultKind, FileDiff, FileEdit, Gadget, Json, Later, ModelEvent, ModelFault, ModelInfo,
    Outcome, Plan, Progress, Provider, Required, SessionId, Shell, Tool, ToolSpec, Toolbox,
};

/// The panic's words, should it panic.
pub(crate) fn guarded<T>(step: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(step)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked".to_owned())
    })
}

pub(crate) fn client_failed(text: &str) -> ModelEvent {
    let fault = ModelFault::new(FaultKind::Internal, format!("the model client failed: {text}"));
    ModelEvent::Failed(ModelFault { retryable: false, ..fault })
}

fn or_fault<T>(whose: &str, step: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    guarded(step).unwrap_or_else(|text| Err(Fault::new(FaultKind::Internal, format!("{whose} failed: {text}"))))
}

pub(crate) struct GuardedProvider(pub(crate) Arc<dyn Provider>);

impl Provider for GuardedProvider {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        or_fault("the model client", || self.0.resolve(slug))
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        let failed = |text| Err(Fault::new(FaultKind::Internal, format!("the model client failed: {text}")));
        let mut models = match guarded(|| self.0.models()) {
            Ok(models) => models,
            Err(text) => return Box::pin(std::future::ready(failed(text))),
        };
        Box::pin(std::future::poll_fn(move |context| match guarded(|| models.as_mut().poll(context)) {
            Ok(polled) => polled,
            Err(text) => Poll::Ready(failed(text)),
        }))
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        or_fault("the model client", || self.0.chat(model))
    }
}

pub(crate) struct GuardedToolbox(pub(crate) Arc<dyn Toolbox>);

impl Toolbox for GuardedToolbox {
    fn open(&self, session: &SessionId, workspace: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        or_fault("the tools", || {
            let tools = self.0.open(session, workspace)?;
            let wrap = |inner: Arc<dyn Tool>| -> Arc<dyn Tool> {
                Arc::new(GuardedTool { spec: inner.spec().clone(), gadget: inner.gadget().map(Arc::from), inner })
            };
            Ok(tools.into_iter().map(wrap).collect())
        })
    }
    fn gadgets(&self) -> Vec<Gadget> {
        guarded(|| self.0.gadgets()).unwrap_or_default()
    }
    fn restore(&self, workspace: &Path, edits: &[FileEdit]) -> Vec<Arc<str>> {
        guarded(|| self.0.restore(workspace, edits)).unwrap_or_default()
    }
    fn shell(
        &self,
        session: &SessionId,
        workspace: &Path,
        command: &str,
        told: Progress,
        stop: Later<'static, ()>,
    ) -> Later<'static, Shell> {
        self.0.shell(session, workspace, command, told, stop)
    }
    fn diff(&self, edits: &[FileEdit]) -> Vec<FileDiff> {
        guarded(|| self.0.diff(edits)).unwrap_or_default()
    }
}

/// What a tool says about itself is asked once.
struct GuardedTool {
    spec: ToolSpec,
    gadget: Option<Arc<str>>,
    inner: Arc<dyn Tool>,
}

impl Tool for GuardedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn gadget(&self) -> Option<&str> {
        self.gadget.as_deref()
    }
    fn has_subagents(&self) -> bool {
        guarded(|| self.inner.has_subagents()).unwrap_or(false)
    }
    fn is_at_work(&self) -> bool {
        guarded(|| self.inner.is_at_work()).unwrap_or(false)
    }
    fn required(&self) -> Required {
        guarded(|| self.inner.required()).unwrap_or(Required::DangerFullAccess)
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        self.inner.plan(input)
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        self.inner.run(input, context)
    }
}
