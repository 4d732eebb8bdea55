//! What a typed line is: a prompt, a command of ours, or one that neither we nor the agent have. Pure.

use acp_types::AvailableCommand;

use super::choices::{Choices, SessionSetting};

#[derive(PartialEq, Debug)]
pub(super) enum TypedLine<'a> {
    Prompt(&'a str),
    Choose(SessionSetting, &'a str),
    Commands,
    Exit,
    /// Its name, without the slash.
    Unknown(&'a str),
}

/// `listed` is what the agent says it knows; one that has said nothing yet may know anything.
pub(super) fn read<'a>(line: &'a str, listed: Option<&[AvailableCommand]>, choices: &Choices) -> TypedLine<'a> {
    let Some(rest) = line.strip_prefix('/') else { return TypedLine::Prompt(line) };
    if rest.starts_with('/') {
        return TypedLine::Prompt(rest);
    }
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_listed = |name: &str| listed.is_some_and(|all| all.iter().any(|it| it.name == name));
    let choose = |what: SessionSetting| match is_listed(name) && choices.offered(what).is_none() {
        // Its own command may do what it does not offer as a choice.
        true => TypedLine::Prompt(line),
        false => TypedLine::Choose(what, words.trim()),
    };
    match name {
        "exit" | "quit" => TypedLine::Exit,
        "commands" => TypedLine::Commands,
        "model" => choose(SessionSetting::Model),
        "mode" => choose(SessionSetting::Mode),
        _ if is_listed(name) => TypedLine::Prompt(line),
        "help" => TypedLine::Commands,
        // The beginning of a path is no command.
        _ if listed.is_none() || name.contains('/') => TypedLine::Prompt(line),
        _ => TypedLine::Unknown(name),
    }
}

/// Every command once, ours and the agent's.
pub(super) fn list(listed: &[AvailableCommand], choices: &Choices) -> Vec<String> {
    let offered: Vec<SessionSetting> = [SessionSetting::Model, SessionSetting::Mode]
        .into_iter()
        .filter(|what| choices.offered(*what).is_some())
        .collect();
    let is_ours =
        |name: &str| ["commands", "exit", "quit"].contains(&name) || offered.iter().any(|what| what.word() == name);
    let theirs = listed.iter().filter(|it| !is_ours(&it.name)).map(|it| format!("/{}  {}", it.name, it.description));
    let chosen = offered.iter().map(|what| format!("/{0} [NAME]  show or choose the {0}", what.word()));
    let fixed = ["/commands  this list", "/exit  leave", "//...  send a line that begins with a slash as it is"];
    theirs.chain(chosen).chain(fixed.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn choices() -> Choices {
        let models = json!({ "currentModelId": "a", "availableModels": [{ "modelId": "a" }] });
        Choices::new(serde_json::from_value(json!({ "models": models })).unwrap())
    }

    fn listed() -> Vec<AvailableCommand> {
        let all = json!([{ "name": "init", "description": "Starts" }, { "name": "model" }, { "name": "mode" }]);
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn a_command_is_ours_the_agents_or_nobodys() {
        let (choices, listed) = (choices(), listed());
        let read = |line| read(line, Some(&listed), &choices);
        assert_eq!(read("hello /there"), TypedLine::Prompt("hello /there"));
        assert_eq!(read("/init now"), TypedLine::Prompt("/init now"));
        assert_eq!(read("/model"), TypedLine::Choose(SessionSetting::Model, ""));
        assert_eq!(read("/model  big one "), TypedLine::Choose(SessionSetting::Model, "big one"));
        assert_eq!(read("/mode x"), TypedLine::Prompt("/mode x"), "no choice, but a command of the agent's");
        assert_eq!(read("/foo bar"), TypedLine::Unknown("foo"));
        assert_eq!(read("//foo bar"), TypedLine::Prompt("/foo bar"));
        assert_eq!(read("/etc/hosts is what?"), TypedLine::Prompt("/etc/hosts is what?"));
        assert_eq!((read("/quit"), read("/help")), (TypedLine::Exit, TypedLine::Commands));
    }

    #[test]
    fn an_agent_without_a_choice_or_a_list_is_told_apart() {
        let (nothing, empty) = (Choices::default(), Vec::new());
        assert_eq!(read("/mode x", Some(&empty), &nothing), TypedLine::Choose(SessionSetting::Mode, "x"));
        assert_eq!(read("/model", None, &nothing), TypedLine::Choose(SessionSetting::Model, ""));
        assert_eq!(read("/foo", None, &nothing), TypedLine::Prompt("/foo"));
        assert_eq!(read("/foo", Some(&empty), &nothing), TypedLine::Unknown("foo"));
    }

    #[test]
    fn each_command_is_listed_once() {
        let all = list(&listed(), &choices());
        assert_eq!(all[..3], ["/init  Starts", "/mode  ", "/model [NAME]  show or choose the model"]);
        assert_eq!(all.len(), 6, "{all:?}");
    }
}
