//! The tools that a model is offered, whoever brings them, and what every model call is sent with: the session's own, those of
//! controllers, of extensions and of MCP servers, the gadgets, and what is told of the workspace.
//!
//! What is sent is made once and kept for as long as nothing that is in it has changed. That is known from two counters, the
//! toolset's own and that of the settings ([`InForce::revision`]), so that no part of the session has to remember to drop it.

use std::sync::Arc;

use vocab::{
    Briefing, CallSpec, Fault, FaultKind, Gadget, HostTool, ModelInfo, PeerId, Settings, Tool, ToolSpec, names,
};

use super::settings::InForce;
use super::system_prompt;
use crate::extensions::{RegisteredExtension, RegisteredExtensions};

pub(super) struct Toolset {
    own: Vec<Arc<dyn Tool>>,
    gadgets: Vec<Gadget>,
    /// Of controllers, which run them themselves.
    host: Vec<(PeerId, HostTool)>,
    /// Of MCP servers, with the controller that brought the server; the user's own were brought by none.
    mcp: Vec<(Option<PeerId>, Arc<dyn Tool>)>,
    extensions: RegisteredExtensions,
    /// What is known of the workspace: looked up once, so that the system prompt stays as it is.
    briefing: Option<Briefing>,
    /// What extensions add to the system prompt of the running turn.
    added: String,
    /// Grows with every change of the above.
    revision: u64,
    /// What is sent, and the revisions it is made of.
    spec: Option<((u64, u64), CallSpec)>,
}

/// A name that an extension brings and another owner has.
pub(super) struct Conflict {
    pub(super) extension: Arc<RegisteredExtension>,
    pub(super) name: Arc<str>,
    pub(super) text: String,
}

impl Toolset {
    pub(super) fn new(own: Vec<Arc<dyn Tool>>, gadgets: Vec<Gadget>) -> Self {
        Self {
            own,
            gadgets,
            host: Vec::new(),
            mcp: Vec::new(),
            extensions: Arc::from([]),
            briefing: None,
            added: String::new(),
            revision: 0,
            spec: None,
        }
    }

    /// The session's own, after they were closed.
    pub(super) fn open(&mut self, own: Vec<Arc<dyn Tool>>, gadgets: Vec<Gadget>) {
        (self.own, self.gadgets) = (own, gadgets);
        self.changed();
    }
    /// Lets go of the session's own tools, which ends what they left running, of those of servers, and of whatever is known
    /// or made of them.
    pub(super) fn close(&mut self) {
        (self.own, self.gadgets, self.mcp) = (Vec::new(), Vec::new(), Vec::new());
        self.briefing = None;
        self.forget_spec();
        self.changed();
    }
    /// It is made again when it is next sent.
    pub(super) fn forget_spec(&mut self) {
        self.spec = None;
    }

    /// Something would end with them: a command in the background, a server.
    pub(super) fn are_at_work(&self) -> bool {
        !self.mcp.is_empty() || self.own.iter().any(|tool| tool.is_at_work())
    }

    // ---- what there is ------------------------------------------------------------------------------------------

    pub(super) fn own(&self) -> &[Arc<dyn Tool>] {
        &self.own
    }
    pub(super) fn gadgets(&self) -> &[Gadget] {
        &self.gadgets
    }
    pub(super) fn gadgets_on<'a>(&'a self, settings: &'a Settings) -> impl Iterator<Item = &'a Gadget> {
        self.gadgets.iter().filter(|gadget| !settings.gadgets_off.contains(&gadget.name))
    }
    pub(super) fn has_extensions(&self) -> bool {
        !self.extensions.is_empty()
    }

    /// The session's own and those of MCP servers, as far as they are wanted.
    pub(super) fn offered<'a>(&'a self, settings: &'a Settings) -> impl Iterator<Item = &'a Arc<dyn Tool>> {
        let own = self.own.iter().filter(move |tool| {
            let on = tool.gadget().is_none_or(|gadget| self.gadgets_on(settings).any(|it| *it.name == *gadget));
            on && is_wanted(settings, tool)
        });
        own.chain(self.mcp(settings))
    }

    /// A controller that brought a server wants its tools; those of the user's own are chosen like any other.
    pub(super) fn mcp<'a>(&'a self, settings: &'a Settings) -> impl Iterator<Item = &'a Arc<dyn Tool>> {
        let wanted =
            move |(owner, tool): &&'a (Option<PeerId>, Arc<dyn Tool>)| owner.is_some() || is_wanted(settings, tool);
        self.mcp.iter().filter(wanted).map(|(_, tool)| tool)
    }

    pub(super) fn find(&self, settings: &Settings, name: &str) -> Option<Arc<dyn Tool>> {
        let canonical = names::canonical(name).unwrap_or(name);
        self.offered(settings).find(|tool| &*tool.spec().name == canonical).cloned()
    }

    /// Tools of extensions, as far as their names are free: the built-in ones and those of controllers come first, then
    /// those of the extension that was registered earlier.
    pub(super) fn of_extensions<'a>(
        &'a self,
        settings: &'a Settings,
    ) -> impl Iterator<Item = (&'a Arc<RegisteredExtension>, &'a HostTool)> {
        self.extensions.iter().enumerate().flat_map(move |(at, extension)| {
            let tools = extension.offers.tools.iter();
            tools.filter(move |tool| !self.is_taken(settings, at, &tool.name)).map(move |tool| (extension, tool))
        })
    }

    /// Whether a name belongs to an owner that comes before the extension at `at`.
    fn is_taken(&self, settings: &Settings, at: usize, name: &str) -> bool {
        let canonical = names::canonical(name).unwrap_or(name);
        self.offered(settings).any(|own| &*own.spec().name == canonical)
            || self.is_hosted(name)
            || self.extensions[..at].iter().any(|it| it.offers.tools.iter().any(|tool| &*tool.name == name))
    }

    /// Whether it is a tool of a controller's.
    pub(super) fn is_hosted(&self, name: &str) -> bool {
        self.host.iter().any(|(_, tool)| &*tool.name == name)
    }

    /// The controller or extension that runs the tool itself.
    pub(super) fn owner_of(&self, settings: &Settings, name: &str) -> Option<PeerId> {
        let hosted = self.host.iter().find(|(_, tool)| &*tool.name == name).map(|(owner, _)| *owner);
        let of_extension = || self.of_extensions(settings).find(|(_, tool)| &*tool.name == name);
        hosted.or_else(|| of_extension().map(|(extension, _)| extension.peer))
    }

    /// Each tool that cannot be offered, and each command that cannot be typed.
    pub(super) fn conflicts(&self, settings: &Settings) -> Vec<Conflict> {
        let mut found = Vec::new();
        for (at, extension) in self.extensions.iter().enumerate() {
            for tool in extension.offers.tools.iter().filter(|tool| self.is_taken(settings, at, &tool.name)) {
                let text = format!("tool \"{}\" conflicts with an existing tool and is not offered", tool.name);
                found.push(Conflict { extension: extension.clone(), name: tool.name.clone(), text });
            }
            for command in &extension.offers.commands {
                let same =
                    |other: &&Arc<RegisteredExtension>| other.offers.commands.iter().any(|it| it.name == command.name);
                if let Some(first) = self.extensions[..at].iter().find(same) {
                    let text = format!("command /{} is already brought by {}", command.name, first.name);
                    let name = format!("/{}", command.name).into();
                    found.push(Conflict { extension: extension.clone(), name, text });
                }
            }
        }
        found
    }

    // ---- what changes -------------------------------------------------------------------------------------------

    /// Replaces what this controller offered before. Names that others have cannot be taken.
    pub(super) fn offer_host(&mut self, settings: &Settings, peer: PeerId, tools: Vec<HostTool>) -> Result<(), Fault> {
        for (at, tool) in tools.iter().enumerate() {
            let taken = self.offered(settings).any(|own| own.spec().name == tool.name)
                || self.host.iter().any(|(owner, other)| *owner != peer && other.name == tool.name);
            if taken {
                let text = format!("tool \"{}\" conflicts with an existing tool", tool.name);
                return Err(Fault::new(FaultKind::Invalid, text));
            }
            if tools[..at].iter().any(|other| other.name == tool.name) {
                return Err(Fault::new(FaultKind::Invalid, format!("tool \"{}\" is offered twice", tool.name)));
            }
        }
        self.host.retain(|(owner, _)| *owner != peer);
        self.host.extend(tools.into_iter().map(|tool| (peer, tool)));
        self.changed();
        Ok(())
    }

    /// The controller left, and with it what it offered.
    pub(super) fn drop_host(&mut self, peer: PeerId) {
        let offered = self.host.len();
        self.host.retain(|(owner, _)| *owner != peer);
        if self.host.len() != offered {
            self.changed();
        }
    }

    pub(super) fn add_mcp(&mut self, owner: Option<PeerId>, tool: Arc<dyn Tool>) {
        self.mcp.push((owner, tool));
        self.changed();
    }
    /// Drops the tools of servers whose owner is not kept.
    pub(super) fn retain_mcp(&mut self, keeps: impl Fn(Option<PeerId>) -> bool) {
        self.mcp.retain(|(owner, _)| keeps(*owner));
        self.changed();
    }
    pub(super) fn mcp_owners(&self) -> impl Iterator<Item = Option<PeerId>> {
        self.mcp.iter().map(|(owner, _)| *owner)
    }

    pub(super) fn set_extensions(&mut self, extensions: RegisteredExtensions) {
        self.extensions = extensions;
        self.changed();
    }

    pub(super) fn is_briefed(&self) -> bool {
        self.briefing.is_some()
    }
    pub(super) fn brief(&mut self, briefing: Briefing) {
        self.briefing = Some(briefing);
        self.changed();
    }

    /// More of the system prompt, for one turn.
    pub(super) fn add_to_prompt(&mut self, text: &str) {
        self.added.push_str("\n\n");
        self.added.push_str(text);
        self.changed();
    }
    pub(super) fn drop_added(&mut self) {
        if !self.added.is_empty() {
            self.added.clear();
            self.changed();
        }
    }

    fn changed(&mut self) {
        self.revision += 1;
    }

    // ---- what is sent -------------------------------------------------------------------------------------------

    /// What every model call is sent with, as things are now.
    pub(super) fn spec(&mut self, settings: &InForce) -> &CallSpec {
        let revisions = (self.revision, settings.revision());
        if self.spec.as_ref().is_none_or(|(of, _)| *of != revisions) {
            self.spec = Some((revisions, self.make_spec(settings)));
        }
        self.spec.as_ref().map(|(_, spec)| spec).expect("made above where it was missing")
    }

    /// Roughly what it weighs; nothing where it is not made yet.
    pub(super) fn spec_bytes(&self, settings: &InForce) -> usize {
        let revisions = (self.revision, settings.revision());
        self.spec.as_ref().filter(|(of, _)| *of == revisions).map_or(0, |(_, spec)| spec_bytes(spec))
    }

    fn make_spec(&self, settings: &InForce) -> CallSpec {
        let gadgets: Vec<_> = self.gadgets_on(settings).cloned().collect();
        let own = self.offered(settings).map(|tool| {
            let spec = tool.spec();
            // Model APIs take no dots in names; every spelling resolves when the call comes back.
            ToolSpec {
                name: settings.tool_names.show(&spec.name).replace('.', "_").into(),
                description: spec.description.clone(),
                schema: spec.schema.on_one_line(),
            }
        });
        let hosted = self.host.iter().map(|(_, tool)| host_spec(tool));
        let of_extensions = self.of_extensions(settings).map(|(_, tool)| host_spec(tool));
        let mut system = system_prompt::system(settings, &gadgets, self.briefing.as_ref());
        system.push_str(&self.added);
        CallSpec {
            system: system.into(),
            tools: own.chain(hosted).chain(of_extensions).collect(),
            max_tokens: max_tokens(settings, settings.asked()),
            thinking: settings.thinking.clone(),
        }
    }
}

fn host_spec(tool: &HostTool) -> ToolSpec {
    ToolSpec { name: tool.name.clone(), description: tool.description.clone(), schema: tool.schema.on_one_line() }
}

fn is_wanted(settings: &Settings, tool: &Arc<dyn Tool>) -> bool {
    settings.offers(&tool.spec().name)
}

/// Roughly what a call sends besides its messages.
pub(super) fn spec_bytes(spec: &CallSpec) -> usize {
    let tool_bytes = |tool: &ToolSpec| tool.name.len() + tool.description.len() + tool.schema.as_str().len();
    spec.system.len() + spec.tools.iter().map(tool_bytes).sum::<usize>()
}

pub(super) fn max_tokens(settings: &Settings, model: &ModelInfo) -> u64 {
    settings.max_tokens.unwrap_or_else(|| default_max_tokens(model))
}

/// A quarter of the window, at most 16384, and never more than the model can give.
fn default_max_tokens(model: &ModelInfo) -> u64 {
    const MAX_TOKENS_DEFAULT: u64 = 16_384;
    let share = MAX_TOKENS_DEFAULT.min(model.context_window / 4).max(1);
    model.max_output.map_or(share, |most| share.min(most))
}

#[cfg(test)]
mod tests;
