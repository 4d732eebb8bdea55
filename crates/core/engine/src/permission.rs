//! Who may do what. Pure: mode and requirement in, decision out.

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{Fact, Gate, Json, Mode, Required, ToolRule};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    Allow,
    Ask,
    Deny(String),
}

/// Of the gates of several peers the strictest holds: one that wants to see every call, then one that leaves nothing to be
/// asked.
pub fn strictness(gate: Gate) -> u8 {
    match gate {
        Gate::Ladder => 0,
        Gate::Alone => 1,
        Gate::Proxy => 2,
    }
}

/// Whether a mode grants a requirement by itself.
pub fn covers(mode: Mode, required: Required) -> bool {
    match mode {
        Mode::ReadOnly | Mode::Prompt | Mode::Plan => required == Required::ReadOnly,
        Mode::WorkspaceWrite => required <= Required::WorkspaceWrite,
        Mode::DangerFullAccess => true,
    }
}

/// Why a question is asked, in the words a controller sees; `None` when the mode would have covered it or asks for
/// everything anyway.
pub fn reason(mode: Mode, required: Required) -> Option<Arc<str>> {
    if mode == Mode::Prompt || covers(mode, required) {
        return None;
    }
    Some(format!("requires {}; active mode is {}", required.as_str(), mode.as_str()).into())
}

/// As [`decide`], of a tool that the session has a rule for.
pub fn decide_by(rule: Option<ToolRule>, gate: Gate, mode: Mode, required: Required) -> Decision {
    match rule {
        Some(ToolRule::Deny) => Decision::Deny("not allowed: the rules of this session deny this tool".to_owned()),
        _ if gate == Gate::Proxy => Decision::Ask,
        Some(ToolRule::Ask) if gate == Gate::Alone => {
            Decision::Deny("not allowed: this tool is to be asked about, and nobody can be asked".to_owned())
        }
        Some(ToolRule::Ask) => Decision::Ask,
        Some(ToolRule::Allow) => Decision::Allow,
        None => decide(gate, mode, required),
    }
}

pub fn decide(gate: Gate, mode: Mode, required: Required) -> Decision {
    if gate == Gate::Proxy {
        return Decision::Ask;
    }
    if covers(mode, required) {
        return Decision::Allow;
    }
    let denied = || {
        let (needed, active) = (required.as_str(), mode.as_str());
        Decision::Deny(format!("not allowed: this needs {needed}, and the session is in {active} mode"))
    };
    if gate == Gate::Alone {
        return denied();
    }
    match mode {
        // These two are chosen to keep the agent's hands off: asking would only wear the answer down.
        Mode::ReadOnly | Mode::Plan => denied(),
        Mode::WorkspaceWrite | Mode::Prompt | Mode::DangerFullAccess => Decision::Ask,
    }
}

/// Answers that hold for the rest of the session, each with the entry that has it: an answer whose record is lost was
/// never given.
#[derive(Default)]
pub(crate) struct Remembered {
    allowed: HashMap<Allowed, u64>,
}

/// A tool, the rung, and the very call where only that is meant.
type Allowed = (Arc<str>, Required, Option<ShownCall>);

/// A call as a person saw it when they allowed it. The same input can mean another file, directory or program later: a link
/// may have been put in its place. What is shown tells them apart, so that is what is compared.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ShownCall {
    input: Arc<str>,
    summary: Arc<str>,
    /// Label and text of each fact.
    facts: Option<Vec<(Arc<str>, Arc<str>)>>,
}

impl ShownCall {
    /// `facts`: as they are shown, without secrets.
    pub(crate) fn new(input: &Json, summary: &Arc<str>, facts: Option<&[Fact]>) -> Self {
        let pairs = |facts: &[Fact]| facts.iter().map(|fact| (fact.label.clone(), fact.text.clone())).collect();
        Self { input: input.as_str().into(), summary: summary.clone(), facts: facts.map(pairs) }
    }
    fn bytes(&self) -> usize {
        let facts = self.facts.iter().flatten().map(|(label, text)| label.len() + text.len());
        self.input.len() + self.summary.len() + facts.sum::<usize>()
    }
}

/// Session-wide allows kept; a session that collects more is asked again.
const REMEMBERED_MAX: usize = 256;

impl Remembered {
    /// All of it, or nothing where it weighs more: then people are asked again.
    pub(crate) fn within(self, bytes_max: usize) -> Self {
        let bytes_of = |(tool, _, call): &Allowed| {
            size_of::<(Allowed, u64)>() + tool.len() + call.as_ref().map_or(0, ShownCall::bytes)
        };
        let bytes: usize = self.allowed.keys().map(bytes_of).sum();
        if bytes <= bytes_max { self } else { Self::default() }
    }
    /// `seq`: the entry of the answer.
    pub(crate) fn allow(&mut self, seq: u64, tool: &Arc<str>, required: Required, call: ShownCall) {
        if self.allowed.len() < REMEMBERED_MAX {
            self.allowed.entry(Self::key(tool, required, call)).or_insert(seq);
        }
    }
    pub(crate) fn allows(&self, tool: &Arc<str>, required: Required, call: ShownCall) -> bool {
        self.allowed.contains_key(&Self::key(tool, required, call))
    }
    /// The log ends here after all.
    pub(crate) fn take_back(&mut self, committed: u64) {
        self.allowed.retain(|_, seq| *seq <= committed);
    }
    /// A remembered allow for a command covers that very command, as it was shown; for the rest, the tool at that rung. What lies
    /// outside the workspace is as particular as a command.
    fn key(tool: &Arc<str>, required: Required, call: ShownCall) -> Allowed {
        (tool.clone(), required, required.is_remembered_per_call().then_some(call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_in_one_table() {
        use Decision::*;
        let rungs = [Required::ReadOnly, Required::WorkspaceWrite, Required::DangerFullAccess];
        let row = |mode| {
            rungs.map(|required| match decide(Gate::Ladder, mode, required) {
                Allow => "allow",
                Ask => "ask",
                Deny(_) => "deny",
            })
        };
        assert_eq!(row(Mode::ReadOnly), ["allow", "deny", "deny"]);
        assert_eq!(row(Mode::WorkspaceWrite), ["allow", "allow", "ask"]);
        assert_eq!(row(Mode::DangerFullAccess), ["allow", "allow", "allow"]);
        assert_eq!(row(Mode::Prompt), ["allow", "ask", "ask"]);
        assert_eq!(row(Mode::Plan), ["allow", "deny", "deny"]);
    }

    #[test]
    fn a_proxy_asks_whatever_the_mode() {
        for mode in Mode::ALL {
            assert_eq!(decide(Gate::Proxy, mode, Required::ReadOnly), Decision::Ask);
        }
    }

    #[test]
    fn where_nobody_is_there_nothing_is_asked() {
        let ask = |mode, required| decide(Gate::Alone, mode, required);
        assert_eq!(ask(Mode::WorkspaceWrite, Required::WorkspaceWrite), Decision::Allow);
        let words = "not allowed: this needs danger-full-access, and the session is in workspace-write mode";
        assert_eq!(ask(Mode::WorkspaceWrite, Required::DangerFullAccess), Decision::Deny(words.into()));
        assert!(matches!(ask(Mode::Prompt, Required::WorkspaceWrite), Decision::Deny(_)));
    }

    #[test]
    fn the_reason_names_both_modes_only_when_they_disagree() {
        assert_eq!(reason(Mode::Prompt, Required::DangerFullAccess), None);
        assert_eq!(reason(Mode::DangerFullAccess, Required::DangerFullAccess), None);
        assert_eq!(
            reason(Mode::ReadOnly, Required::WorkspaceWrite).as_deref(),
            Some("requires workspace-write; active mode is read-only")
        );
    }

    fn shown(input: &str) -> ShownCall {
        ShownCall::new(&Json::trusted(input), &"x".into(), None)
    }

    #[test]
    fn a_remembered_command_is_that_command_only() {
        let mut remembered = Remembered::default();
        let bash: Arc<str> = "bash".into();
        let there =
            |place: &str| ShownCall::new(&Json::trusted("{}"), &"x".into(), Some(&[Fact::line("directory", place)]));
        remembered.allow(1, &bash, Required::DangerFullAccess, shown("ls"));
        remembered.allow(2, &bash, Required::DangerFullAccess, there("/a"));
        assert!(remembered.allows(&bash, Required::DangerFullAccess, shown("ls")));
        assert!(!remembered.allows(&bash, Required::DangerFullAccess, shown("rm")));
        assert!(remembered.allows(&bash, Required::DangerFullAccess, there("/a")));
        assert!(!remembered.allows(&bash, Required::DangerFullAccess, there("/b")), "the same input, another place");
    }

    #[test]
    fn a_remembered_allow_is_for_its_rung_only() {
        let tool: Arc<str> = "t".into();
        let rungs = [Required::ReadOnly, Required::WorkspaceWrite, Required::DangerFullAccess];
        for granted in rungs {
            let mut remembered = Remembered::default();
            remembered.allow(1, &tool, granted, shown("{}"));
            for wanted in rungs {
                assert_eq!(
                    remembered.allows(&tool, wanted, shown("{}")),
                    wanted == granted,
                    "{wanted:?} by {granted:?}"
                );
            }
        }
    }

    #[test]
    fn an_allow_whose_record_is_lost_was_never_given() {
        let mut remembered = Remembered::default();
        let tool: Arc<str> = "t".into();
        remembered.allow(7, &tool, Required::WorkspaceWrite, shown("{}"));
        remembered.allow(9, &tool, Required::ReadOnly, shown("{}"));
        remembered.take_back(8);
        assert!(remembered.allows(&tool, Required::WorkspaceWrite, shown("{}")));
        assert!(!remembered.allows(&tool, Required::ReadOnly, shown("{}")));
    }
}
