//! Names of slash commands: what other agents call them, and what was probably meant.

use crate::BuiltinCommands;

/// `/skill:NAME` is no command: the session finds the skill in the prompt.
pub(super) fn calls_for_a_skill(rest: &str) -> bool {
    const CALL: &str = "skill:";
    rest.get(..CALL.len()).is_some_and(|start| start.eq_ignore_ascii_case(CALL))
}

/// How others call what we have under another name.
const OTHER_NAMES: [(&str, &str); 3] = [("q", "exit"), ("new", "clear"), ("reset", "clear")];

/// What the person may have meant.
pub(super) fn instead_of(name: &str, builtins: BuiltinCommands) -> String {
    match (builtins.nearest)(name) {
        Some(near) => format!("did you mean /{near}? /help lists what there is"),
        None => "/help lists what there is".to_owned(),
    }
}

/// The name that the engine knows it by.
pub(super) fn our_name(name: String) -> String {
    OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name, |(_, ours)| (*ours).to_owned())
}
