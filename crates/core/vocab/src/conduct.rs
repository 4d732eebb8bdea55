//! How a session conducts itself while nobody says otherwise: what it may do unasked, and how long it waits.

use std::sync::Arc;

use crate::settings::fits;

/// Without tool output or result for this long, a turn that nothing else would ever end is given up, so that the queue goes
/// on. Longer than the longest time that a call can be given, so that what has a clock is ended by that.
pub const STALL_MS_DEFAULT: u64 = 11 * 60 * 1000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conduct {
    pub rules: ToolRules,
    pub ask_wait: AskWait,
    /// Nothing moves in a turn for so long: it is cut.
    pub stall_ms: u64,
    /// A model that says nothing counts as well, whatever its client would let it; else that has its own limit.
    pub models_stall: bool,
    pub waiting_on_restart: WaitingOnRestart,
}

impl Default for Conduct {
    fn default() -> Self {
        let waiting_on_restart = WaitingOnRestart::default();
        Self {
            rules: ToolRules::default(),
            ask_wait: AskWait::default(),
            stall_ms: STALL_MS_DEFAULT,
            models_stall: false,
            waiting_on_restart,
        }
    }
}

/// What is decided about tools before a mode is asked: canonical names, or patterns in which `*` stands for anything.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ToolRules {
    pub allow: Vec<Arc<str>>,
    pub ask: Vec<Arc<str>>,
    pub deny: Vec<Arc<str>>,
}

/// What the rules say of one tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolRule {
    Allow,
    Ask,
    Deny,
}

impl ToolRules {
    /// The strictest rule that fits; `None`: the mode decides.
    pub fn of(&self, tool: &str) -> Option<ToolRule> {
        let fits_any = |patterns: &[Arc<str>]| patterns.iter().any(|pattern| fits(pattern, tool));
        if fits_any(&self.deny) {
            return Some(ToolRule::Deny);
        }
        if fits_any(&self.ask) {
            return Some(ToolRule::Ask);
        }
        fits_any(&self.allow).then_some(ToolRule::Allow)
    }
}

/// How long a question about a call waits for an answer; then it is a no. `None`: for ever.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AskWait {
    /// While somebody is here who can answer, and nobody who has time ([`crate::Abilities::has_time`]).
    pub answerable_ms: Option<u64>,
    /// While nobody is here at all.
    pub alone_ms: Option<u64>,
}

/// What becomes of messages that waited when a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum WaitingOnRestart {
    /// They wait on.
    #[default]
    GoesOn,
    /// They are settled as dropped.
    Dropped,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_rule_that_fits_counts() {
        let names = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
        let rules = ToolRules { allow: names(&["*"]), ask: names(&["bash*"]), deny: names(&["bash_stop"]) };
        assert_eq!(
            ["read_file", "bash", "bash_stop"].map(|tool| rules.of(tool)),
            [Some(ToolRule::Allow), Some(ToolRule::Ask), Some(ToolRule::Deny)]
        );
        assert_eq!(ToolRules::default().of("bash"), None);
    }
}
