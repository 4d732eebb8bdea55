//! Tools whose processes are looked at, ours and those of servers.

use std::path::Path;
use std::sync::Arc;

use vocab::{
    CallContext, Fault, FileDiff, FileEdit, Gadget, Json, Later, McpServer, McpServers, McpStarted, Outcome, Plan,
    ProcessWatch, Progress, Required, SessionId, Shell, Tool, ToolSpec, Toolbox,
};

/// Says who looks at the processes of a call, and at what else works for it.
pub trait ToolWatch: Send + Sync {
    fn processes(&self, context: &CallContext) -> Option<Arc<dyn ProcessWatch>>;
}

pub struct WatchedToolbox {
    below: Arc<dyn Toolbox>,
    watch: Arc<dyn ToolWatch>,
}

impl WatchedToolbox {
    pub fn new(below: Arc<dyn Toolbox>, watch: Arc<dyn ToolWatch>) -> Self {
        Self { below, watch }
    }
}

impl Toolbox for WatchedToolbox {
    fn open(&self, session: &SessionId, workspace: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let wrap = |below| -> Arc<dyn Tool> { Arc::new(WatchedTool { below, watch: self.watch.clone() }) };
        Ok(self.below.open(session, workspace)?.into_iter().map(wrap).collect())
    }
    fn gadgets(&self) -> Vec<Gadget> {
        self.below.gadgets()
    }
    fn restore(&self, workspace: &Path, edits: &[FileEdit]) -> Vec<Arc<str>> {
        self.below.restore(workspace, edits)
    }
    fn shell(
        &self,
        session: &SessionId,
        workspace: &Path,
        command: &str,
        told: Progress,
        stop: Later<'static, ()>,
    ) -> Later<'static, Shell> {
        self.below.shell(session, workspace, command, told, stop)
    }
    fn diff(&self, edits: &[FileEdit]) -> Vec<FileDiff> {
        self.below.diff(edits)
    }
}

/// Servers of tools, whose calls are looked at like those of our own.
pub struct WatchedServers {
    below: Arc<dyn McpServers>,
    watch: Arc<dyn ToolWatch>,
}

impl WatchedServers {
    pub fn new(below: Arc<dyn McpServers>, watch: Arc<dyn ToolWatch>) -> Self {
        Self { below, watch }
    }
}

impl McpServers for WatchedServers {
    fn start(&self, session: &SessionId, workspace: &Path, servers: Vec<McpServer>) -> Later<'static, Vec<McpStarted>> {
        let (starting, watch) = (self.below.start(session, workspace, servers), self.watch.clone());
        let wrap = move |below| -> Arc<dyn Tool> { Arc::new(WatchedTool { below, watch: watch.clone() }) };
        Box::pin(async move {
            let wrapped = |started: McpStarted| McpStarted {
                tools: started.tools.map(|tools| tools.into_iter().map(&wrap).collect()),
                ..started
            };
            starting.await.into_iter().map(wrapped).collect()
        })
    }
    fn own(&self) -> Vec<McpServer> {
        self.below.own()
    }
}

struct WatchedTool {
    below: Arc<dyn Tool>,
    watch: Arc<dyn ToolWatch>,
}

impl Tool for WatchedTool {
    fn spec(&self) -> &ToolSpec {
        self.below.spec()
    }
    fn gadget(&self) -> Option<&str> {
        self.below.gadget()
    }
    fn has_subagents(&self) -> bool {
        self.below.has_subagents()
    }
    fn is_at_work(&self) -> bool {
        self.below.is_at_work()
    }
    fn required(&self) -> Required {
        self.below.required()
    }
    fn most(&self) -> Required {
        self.below.most()
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        self.below.plan(input)
    }
    fn run(&self, input: Json, mut context: CallContext) -> Later<'static, Outcome> {
        context.processes = self.watch.processes(&context);
        self.below.run(input, context)
    }
}
