//! The friendly layer: a few plain sentences that lead to real tool calls, and an honest answer to everything else.
//! It understands by pattern ([`intent`]), never guesses, and says what tools said ([`answer`]).

mod answer;
mod guide;
mod intent;

use vocab::ToolSpec;

use crate::beat::{Beat, Reply};
use crate::chat::say;
use crate::memory::Memory;
use crate::offer;
use crate::parts::Trouble;
use intent::Intent;

/// How to go on, said at the end of the tour and in the help.
const NEXT_STEPS: &str = "try \"list the rust files\" or \"run git status\", and connect a real model: set \
    OPENAI_BASE_URL and OPENAI_API_KEY and start again with --model NAME.";

const HELP: &str = "I am `tour`, the built-in model: a set of rules, not an intelligence. I stream, call the real tools \
    and ask for permission like any model, so you can see how everything works.\n\n\
    You can write to me:\n\
    \x20 tour\n\
    \x20 list the rust files, find *.toml, list the directory\n\
    \x20 read README.md\n\
    \x20 search for TODO\n\
    \x20 create notes.txt with hello\n\
    \x20 replace hello with goodbye in notes.txt\n\
    \x20 run git status\n\n\
    To connect a real model set OPENAI_BASE_URL and OPENAI_API_KEY and start again with --model NAME.";

const GREETING: &str = "Hello! I am `tour`, the built-in scripted model. Write \"tour\" for a short walk, or \"help\" \
    for all I can do.";

const SORRY: &str = "I am `tour`, a built-in scripted model that follows a few rules, and none of them fits what you \
    wrote. Prompts that work are \"list the rust files\", \"read README.md\" and \"tour\". For a real model set \
    OPENAI_BASE_URL and OPENAI_API_KEY and start again with --model NAME.";

/// The reply to the newest user message. `trouble`: it began like a script and then was none.
pub(crate) fn reply(memory: &Memory, tools: &[ToolSpec], trouble: Option<&Trouble>) -> Reply {
    match intent::understand(&memory.prompt) {
        Some(Intent::Tour) => guide::reply(memory, tools),
        Some(Intent::Help) => vec![say(HELP)],
        Some(Intent::Greet) => vec![say(GREETING)],
        Some(intent) => one_call(&intent, memory, tools),
        None => vec![say(sorry(memory, trouble))],
    }
}

/// Says what it is about to do and does it; in the next round answers with what came of it.
fn one_call(intent: &Intent, memory: &Memory, tools: &[ToolSpec]) -> Reply {
    if memory.replies > 0 {
        // Answers in every case, so that a missing result cannot make it call for ever.
        let answer = memory.results.last().map(|result| answer::answer(intent, result));
        return vec![say(answer.unwrap_or_else(|| "I made a call and got no result for it.".to_owned()))];
    }
    let (tool, lead, call) = plan(intent, tools);
    match call {
        Some(call) => vec![say(lead), call],
        None => vec![say(format!("I would use the tool `{tool}` for that, but this session does not offer it."))],
    }
}

/// The tool, what is said before it is called, and the call, if the tool is on offer.
fn plan(intent: &Intent, tools: &[ToolSpec]) -> (&'static str, String, Option<Beat>) {
    let (tool, lead, arguments): (_, _, Vec<(&str, &str)>) = match intent {
        Intent::Glob { pattern, .. } => {
            let short = pattern.strip_prefix("**/").unwrap_or(pattern);
            ("glob", format!("I'll glob for {short}."), vec![("pattern", pattern)])
        }
        Intent::ListDir { path } => ("list_dir", format!("I'll list {path}."), vec![("path", path)]),
        Intent::Read { path } => ("read_file", format!("I'll read {path}."), vec![("path", path)]),
        Intent::Search { text, path } => {
            let mut arguments = vec![("pattern", text.as_str())];
            arguments.extend(path.as_deref().map(|path| ("path", path)));
            ("grep", format!("I'll search for \"{}\".", answer::clip(text)), arguments)
        }
        Intent::Write { path, content } => {
            ("write_file", format!("I'll write {path}."), vec![("path", path), ("content", content)])
        }
        Intent::Replace { old, new, path } => {
            let arguments = vec![("path", path.as_str()), ("old_string", old), ("new_string", new)];
            ("edit_file", format!("I'll edit {path}."), arguments)
        }
        Intent::Run { command } => {
            ("bash", format!("I'll run `{}`.", answer::clip(command)), vec![("command", command)])
        }
        Intent::Tour | Intent::Help | Intent::Greet => return ("", String::new(), None),
    };
    (tool, lead, offer::call(tools, tool, &arguments))
}

fn sorry(memory: &Memory, trouble: Option<&Trouble>) -> String {
    let mut text = String::new();
    if let Some(trouble) = trouble {
        let column = memory.prompt.get(..trouble.at).unwrap_or(&memory.prompt).chars().count() + 1;
        text.push_str(&format!("This begins like a script for me, but at character {column}: {}. ", trouble.why));
    }
    if trouble.is_none() && memory.prompt_has_images {
        text.push_str("I cannot see pictures. ");
    }
    text + SORRY
}
