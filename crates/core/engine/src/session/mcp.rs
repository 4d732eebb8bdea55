//! Tools of servers that a controller brought along, and of the user's own (MCP). They start beside the session; opening it
//! does not wait. A turn's first model call does, for a while; what is ready later joins the next call. The servers end with the session,
//! because their tools do.

use std::collections::HashSet;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::Duration;
use vocab::{
    CallContext, Event, ExtensionEvent, Fault, FaultKind, Json, Later, McpServer, McpStarted, Notice, NoticeLevel,
    Outcome, PeerId, Plan, Required, Tool, ToolSpec,
};

use super::{Session, TurnWaits, guarded};
use crate::session::turn::Effect;

/// How long a turn waits for servers that are still starting.
const START_WAIT: Duration = Duration::from_secs(10);
/// Servers one controller may bring to a session; those beyond are not started, and that is said.
const SERVERS_MAX: usize = 32;
/// Tools taken from one server; the rest is left out, and that is said.
const TOOLS_MAX: usize = 256;
/// Model APIs take no longer name of a tool.
const NAME_CHARS_MAX: usize = 64;

/// The servers of one session.
#[derive(Default)]
pub(super) struct Mcp {
    pub(super) starting: Vec<Starting>,
    /// The user's own are started, which happens once.
    has_own: bool,
    /// What went wrong and was told to no peer yet.
    pub(super) untold: Vec<Event>,
    /// The running turn has not called its model yet, nor waited for servers.
    pub(super) first_call: bool,
}

pub(super) struct Starting {
    peer: Option<PeerId>,
    name: Arc<str>,
    started: Later<'static, Vec<McpStarted>>,
}

impl Mcp {
    /// Ready when a server has started, or has not.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<(Option<PeerId>, Vec<McpStarted>)> {
        for at in 0..self.starting.len() {
            let starting = &mut self.starting[at];
            let started = match guarded(|| starting.started.as_mut().poll(context)) {
                Ok(Poll::Pending) => continue,
                Ok(Poll::Ready(started)) => started,
                Err(text) => {
                    let fault = Fault::new(FaultKind::Internal, format!("its client failed: {text}"));
                    vec![McpStarted { name: starting.name.clone(), tools: Err(fault) }]
                }
            };
            return Poll::Ready((self.starting.swap_remove(at).peer, started));
        }
        Poll::Pending
    }

    /// A subagent has the tools of its parent's servers, and starts none.
    pub(super) fn inherit(&mut self) {
        self.has_own = true;
    }

    fn warn(&mut self, text: String) {
        let notice = Notice::Say { text: text.into(), level: NoticeLevel::Warning };
        self.untold.push(Event::Extension(ExtensionEvent::Notice(notice)));
    }
}

impl Session {
    /// Starts them. They take the place of what this peer brought before, and of what peers brought that are gone. With the
    /// first peer the user's own are started, too.
    pub(super) fn start_servers(&mut self, peer: PeerId, servers: Vec<McpServer>) {
        self.start_own_servers();
        if servers.is_empty() {
            return;
        }
        let owners = self.tools.mcp_owners().chain(self.mcp.starting.iter().map(|starting| starting.peer));
        let stays = |owner: &Option<PeerId>| owner.is_none_or(|owner| owner != peer && self.log.peers.is_here(owner));
        let kept: HashSet<Option<PeerId>> = owners.filter(stays).collect();
        self.tools.retain_mcp(|owner| kept.contains(&owner));
        self.mcp.starting.retain(|starting| kept.contains(&starting.peer));
        self.launch_servers(Some(peer), servers);
    }

    /// The user's own, once.
    pub(super) fn start_own_servers(&mut self) {
        if std::mem::replace(&mut self.mcp.has_own, true) {
            return;
        }
        let port = self.shared.ports.servers.clone();
        match guarded(|| port.own()) {
            Ok(own) => self.launch_servers(None, own),
            Err(text) => self.mcp.warn(format!("your own tool servers could not be started: {text}")),
        }
    }

    fn launch_servers(&mut self, peer: Option<PeerId>, servers: Vec<McpServer>) {
        for (at, server) in servers.into_iter().enumerate() {
            let name = server.name.clone();
            if at >= SERVERS_MAX {
                self.mcp.warn(format!("the tool server {name} is not started: {SERVERS_MAX} are the limit"));
                continue;
            }
            // One by one, so that a slow one costs the others nothing.
            let port = self.shared.ports.servers.clone();
            match guarded(|| port.start(&self.id, &self.settings.workspace, vec![server])) {
                Ok(started) => self.mcp.starting.push(Starting { peer, name, started }),
                Err(text) => self.mcp.warn(format!("the tool server {name} could not be started: {text}")),
            }
        }
    }

    pub(super) fn mcp_started(&mut self, peer: Option<PeerId>, started: Vec<McpStarted>) {
        for McpStarted { name: server, tools } in started {
            let tools = match tools {
                Ok(tools) => tools,
                Err(fault) => {
                    self.mcp.warn(format!("the tool server {server} could not be started: {fault}"));
                    continue;
                }
            };
            if tools.len() > TOOLS_MAX {
                let count = tools.len();
                self.mcp.warn(format!("the tool server {server} has {count} tools; {TOOLS_MAX} are offered"));
            }
            for inner in tools.into_iter().take(TOOLS_MAX) {
                let name = free_name(&server, &inner.spec().name, |name| self.is_tool(name));
                let spec = ToolSpec { name: name.into(), ..inner.spec().clone() };
                self.tools.add_mcp(peer, Arc::new(McpTool { spec, inner }));
            }
        }
        self.tell_conflicts();
        if matches!(self.activity.waiting(), TurnWaits::Servers { .. }) && !self.are_servers_due() {
            self.servers_awaited();
        }
    }

    fn is_tool(&self, name: &str) -> bool {
        self.tools.offered(&self.settings).any(|tool| &*tool.spec().name == name)
            || self.tools.owner_of(&self.settings, name).is_some()
    }

    pub(super) fn tell_servers(&mut self) {
        for event in std::mem::take(&mut self.mcp.untold) {
            self.log.emit(event);
        }
    }

    /// Whether this is about a call of a tool that nobody knows yet and that a server may bring. Only a turn that goes on
    /// after a restart has calls before its first model call.
    pub(super) fn needs_servers(&self, effect: &Effect) -> bool {
        if !self.are_servers_due() {
            return false;
        }
        match effect {
            Effect::Judge(call) => !self.is_tool(&call.name),
            Effect::TakeUp { call, begun } => begun.is_to_judge() && !self.is_tool(&call.name),
            Effect::Run { tool, .. } => !self.is_tool(tool),
            _ => false,
        }
    }

    /// The first model call of a turn waits for them, or the first call that needs them: once in a turn. It comes again when
    /// the waiting is over.
    pub(super) fn await_servers(&mut self, then: Effect) {
        self.mcp.first_call = false;
        let sleep = Box::pin(tokio::time::sleep(START_WAIT));
        self.activity.wait(TurnWaits::Servers { sleep, then });
    }

    pub(super) fn servers_awaited(&mut self) {
        if let TurnWaits::Servers { then, .. } = self.activity.stop_waiting() {
            self.activity.push_effect(then);
        }
    }
}

/// A server's tool under the name it has in the session.
struct McpTool {
    spec: ToolSpec,
    inner: Arc<dyn Tool>,
}

/// What a server's tool does is known to its server alone: unless it only reads, it may do anything.
fn least(said: Required) -> Required {
    match said {
        Required::ReadOnly => Required::ReadOnly,
        Required::WorkspaceWrite | Required::DangerFullAccess => Required::DangerFullAccess,
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn required(&self) -> Required {
        least(self.inner.required())
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let plan = self.inner.plan(input)?;
        let required = least(plan.required.max(self.inner.required()));
        // What changes something has to be shown as a change.
        let changes = (required > Required::ReadOnly).then(|| self.spec.name.clone());
        Ok(Plan { required, mutation: plan.mutation.or(changes), ..plan })
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        self.inner.run(input, context)
    }
}

/// `mcp__SERVER__TOOL` as model APIs take it, and as no other tool is called.
fn free_name(server: &str, tool: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = format!("mcp__{server}__{tool}").chars().map(clean).collect();
    let cut = |room: usize| &name[..name.len().min(room)];
    let first = cut(NAME_CHARS_MAX).to_owned();
    if !is_taken(&first) {
        return first;
    }
    let numbered = (2u64..).map(|n| {
        let end = format!("_{n}");
        format!("{}{end}", cut(NAME_CHARS_MAX - end.len()))
    });
    numbered.into_iter().find(|name| !is_taken(name)).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_clean_short_and_free() {
        assert_eq!(free_name("git hub", "issues/list", |_| false), "mcp__git_hub__issues_list");
        assert_eq!(free_name("grüße", "é", |_| false), "mcp__gr__e___");
        let long = free_name("s", &"x".repeat(100), |_| false);
        assert_eq!((long.len(), &long[..10]), (64, "mcp__s__xx"));
        let taken = long.clone();
        let next = free_name("s", &"x".repeat(100), |name| name == taken);
        assert_eq!((next.len(), &next[60..]), (64, "xx_2"));
        let both = free_name("s", "t", |name| ["mcp__s__t", "mcp__s__t_2"].contains(&name));
        assert_eq!(both, "mcp__s__t_3");
    }
}
