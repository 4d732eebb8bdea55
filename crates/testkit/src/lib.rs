//! What tests are made of: counted ids, a fixed clock, an engine on a stage with a scripted model, the golden runner,
//! the simulator, a schema validator, garbage, a real HTTP mock model, and what drives the binary into faults. A dev-dependency only.

pub mod fakes;
pub mod faults;
pub mod faulty;
pub mod golden;
pub mod lossy;
pub mod mock_model;
pub mod odd;
pub mod openrpc;
pub mod peers;
pub mod pipe;
pub mod player;
pub mod schema;
pub mod sim;
pub mod stage;
pub mod stories;

pub use stage::{Stage, StageOptions};

/// Limits as they are typed.
pub fn budget<'a>(limits: impl Iterator<Item = &'a str>) -> vocab::Budget {
    let mut budget = vocab::Budget::default();
    for text in limits {
        let (span, unit, limit) = vocab::Budget::read_limit(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        budget.set(span, unit, Some(limit));
    }
    budget
}

/// The answer of a slash command as people read it.
pub fn slash_text(reply: &vocab::SlashReply) -> String {
    wire::slash::text(reply, &vocab::names::CANONICAL)
}

/// A verb as tests show it: what is wanted, without where it belongs.
pub fn verb_text(verb: &vocab::Verb) -> String {
    use vocab::{SessionVerb, Verb};
    match verb {
        Verb::Session(SessionVerb::Extension(verb)) => format!("{verb:?}"),
        Verb::Session(verb) => format!("{verb:?}"),
        Verb::Directory(verb) => format!("{verb:?}"),
        Verb::Open(open) => open_text(open),
        verb => format!("{verb:?}"),
    }
}

/// What is asked for at an opening, and nothing of what is left to the defaults.
fn open_text(open: &vocab::Open) -> String {
    fn named<T: std::fmt::Debug>(name: &str, value: &Option<T>) -> String {
        value.as_ref().map_or(String::new(), |value| format!(", {name} {value:?}"))
    }
    let vocab::Open {
        which,
        workspace,
        model,
        mode,
        thinking,
        gate,
        tool_names,
        controller,
        parent,
        abilities,
        servers,
        after,
        on_restart,
        usual,
        keep,
        // A session whose model is here opens the same way.
        without_model: _,
    } = open;
    let set = [
        named("workspace", workspace),
        named("model", model),
        named("mode", mode),
        named("thinking", thinking),
        named("gate", gate),
        named("names", tool_names),
        named("controller", controller),
        named("parent", parent),
        named("after", after),
        named("on_restart", on_restart),
        named("usual", usual),
        named("keep", &keep.then_some(true)),
        named("servers", &(!servers.is_empty()).then_some(servers)),
    ];
    let usual = vocab::Abilities { answers: abilities.answers, ..vocab::Abilities::default() };
    let able = if *abilities == usual { String::new() } else { format!(", {abilities:?}") };
    let answers = if abilities.answers { "" } else { ", answers nothing" };
    format!("Open {which:?}{}{able}{answers}", set.concat())
}
