//! What a typed line is: a prompt, a command of ours, or one that nobody has. Pure.

use acp_types::AvailableCommand;

use super::choices::{Choices, What};

#[derive(PartialEq, Debug)]
pub(super) enum Slash<'a> {
    Prompt(&'a str),
    Choose(What, &'a str),
    Commands,
    Exit,
    /// Its name, without the slash.
    Unknown(&'a str),
}

/// `listed` is what the agent says it knows; one that has said nothing yet may know anything.
pub(super) fn read<'a>(line: &'a str, listed: Option<&[AvailableCommand]>, choices: &Choices) -> Slash<'a> {
    let Some(rest) = line.strip_prefix('/') else { return Slash::Prompt(line) };
    if rest.starts_with('/') {
        return Slash::Prompt(rest);
    }
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_listed = |name: &str| listed.is_some_and(|all| all.iter().any(|it| it.name == name));
    let choose = |what: What| match is_listed(name) && choices.offered(what).is_none() {
        // Its own command may do what it does not offer as a choice.
        true => Slash::Prompt(line),
        false => Slash::Choose(what, words.trim()),
    };
    match name {
        "exit" | "quit" => Slash::Exit,
        "commands" => Slash::Commands,
        "model" => choose(What::Model),
        "mode" => choose(What::Mode),
        _ if is_listed(name) => Slash::Prompt(line),
        "help" => Slash::Commands,
        // The beginning of a path is no command.
        _ if listed.is_none() || name.contains('/') => Slash::Prompt(line),
        _ => Slash::Unknown(name),
    }
}

/// Every command once, with whoever carries it out.
pub(super) fn list(listed: &[AvailableCommand], choices: &Choices) -> Vec<String> {
    let offered: Vec<What> =
        [What::Model, What::Mode].into_iter().filter(|what| choices.offered(*what).is_some()).collect();
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
        assert_eq!(read("hello /there"), Slash::Prompt("hello /there"));
        assert_eq!(read("/init now"), Slash::Prompt("/init now"));
        assert_eq!(read("/model"), Slash::Choose(What::Model, ""));
        assert_eq!(read("/model  big one "), Slash::Choose(What::Model, "big one"));
        assert_eq!(read("/mode x"), Slash::Prompt("/mode x"), "no choice, but a command of the agent's");
        assert_eq!(read("/foo bar"), Slash::Unknown("foo"));
        assert_eq!(read("//foo bar"), Slash::Prompt("/foo bar"));
        assert_eq!(read("/etc/hosts is what?"), Slash::Prompt("/etc/hosts is what?"));
        assert_eq!((read("/quit"), read("/help")), (Slash::Exit, Slash::Commands));
    }

    #[test]
    fn an_agent_without_a_choice_or_a_list_is_told_apart() {
        let (nothing, empty) = (Choices::default(), Vec::new());
        assert_eq!(read("/mode x", Some(&empty), &nothing), Slash::Choose(What::Mode, "x"));
        assert_eq!(read("/model", None, &nothing), Slash::Choose(What::Model, ""));
        assert_eq!(read("/foo", None, &nothing), Slash::Prompt("/foo"));
        assert_eq!(read("/foo", Some(&empty), &nothing), Slash::Unknown("foo"));
    }

    #[test]
    fn each_command_is_listed_once() {
        let all = list(&listed(), &choices());
        assert_eq!(all[..3], ["/init  Starts", "/mode  ", "/model [NAME]  show or choose the model"]);
        assert_eq!(all.len(), 6, "{all:?}");
    }
}
