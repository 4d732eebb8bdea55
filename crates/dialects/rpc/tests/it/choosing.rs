//! Models and levels: what a host may choose, and that it always learns what is chosen.

use std::sync::Arc;

use serde_json::{Value, json};
use vocab::{Event, Fault, FaultKind, ModelInfo, Reply, State};

use crate::talk::{Talk, inspected, state};

fn model(provider: &str, id: &str, slug: &str) -> ModelInfo {
    ModelInfo { provider: provider.into(), id: id.into(), ..ModelInfo::named(slug, 128_000) }
}

fn on(model: ModelInfo) -> State {
    State { model: model.slug.clone(), model_info: Arc::new(model), ..state("s1") }
}

/// The one server, with a list or without.
fn served(listed: Result<Vec<ModelInfo>, Fault>, line: &str) -> (Vec<String>, Vec<Value>) {
    let mut talk = Talk::open();
    talk.tell(Event::State(Arc::new(on(model("openai", "mock/alpha", "openai/mock/alpha")))));
    let (commands, frames) = talk.hear(line);
    assert!(frames.is_empty(), "{frames:?}");
    let verb = testkit::verb_text(&commands[0].verb);
    if verb != "Models" {
        return (vec![verb], frames);
    }
    let (commands, frames) = talk.reply(commands[0].tag, listed.map(Reply::Models));
    (commands.iter().map(|command| testkit::verb_text(&command.verb)).collect(), frames)
}

fn two() -> Result<Vec<ModelInfo>, Fault> {
    Ok(vec![model("openai", "mock/alpha", "openai/mock/alpha"), model("openai", "mock/beta", "mock/beta")])
}

fn set(provider: &str, id: &str) -> String {
    format!(r#"{{"id":"b","type":"set_model","provider":"{provider}","modelId":"{id}"}}"#)
}

#[test]
fn a_model_that_is_not_listed_is_not_found() {
    for (provider, id) in [("nope", "x"), ("openai", "x"), ("mock", "alpha"), ("nope", "mock/beta")] {
        let (commands, frames) = served(two(), &set(provider, id));
        let error = format!("Model not found: {provider}/{id}");
        assert_eq!(frames, [json!({"id":"b","type":"response","command":"set_model","success":false,"error":error})]);
        assert!(commands.is_empty(), "{commands:?}");
    }
}

#[test]
fn what_is_no_name_of_a_model_is_said_to_be_none_and_nobody_is_asked() {
    let long = "x".repeat(201);
    for (id, said) in [
        (
            "a\\u0007b",
            "no model \"openai/a\\u{7}b\": a name of a model has no control or invisible characters (U+0007)",
        ),
        ("a\\u202eb", "no control or invisible characters (U+202E)"),
        (long.as_str(), "xxx…`: a name of a model has at most 200 characters"),
    ] {
        let mut talk = Talk::open();
        let (commands, frames) = talk.hear(set("openai", id));
        assert!(commands.is_empty(), "{commands:?}");
        let error = frames[0]["error"].as_str().unwrap();
        assert!(error.contains(said) && error.len() < 200 && !error.contains(char::is_control), "{error:?}");
    }
    // One that is on a list all the same: its source says what is wrong with it.
    let (odd, mut talk) = (model("openai", "a\u{7}b", "openai/a\u{7}b"), Talk::open());
    talk.tell(Event::State(Arc::new(on(odd))));
    let (commands, _) = talk.hear(set("openai", "a\\u0007b"));
    let wrong = Fault::new(FaultKind::UnknownModel, "no model \"openai/a\\u{7}b\": it has control characters");
    let (_, frames) = talk.reply(commands[0].tag, Err(wrong.clone()));
    assert_eq!(frames[0]["error"], wrong.message);
}

#[test]
fn a_model_that_is_listed_or_in_use_is_taken_by_its_own_name() {
    assert_eq!(served(two(), &set("openai", "mock/beta")).0, [r#"Set(Model("mock/beta"))"#]);
    assert_eq!(
        served(two(), &set("openai", "mock/alpha")).0,
        [r#"Set(Model("openai/mock/alpha"))"#],
        "nobody is asked"
    );
    assert_eq!(
        served(two(), &set(" openai ", " mock/beta\\t")).0,
        [r#"Set(Model("mock/beta"))"#],
        "blanks are nobody's"
    );
}

#[test]
fn where_there_is_no_list_the_server_in_use_decides() {
    let down = || Err(Fault::new(FaultKind::Network, "no list"));
    assert_eq!(served(down(), &set("openai", "x")).0, [r#"Set(Model("openai/x"))"#]);
    let (commands, frames) = served(down(), &set("nope", "x"));
    assert_eq!((commands.len(), &frames[0]["error"]), (0, &json!("Model not found: nope/x")));
}

#[test]
fn a_prompt_behind_a_choice_goes_to_the_model_that_was_chosen() {
    let mut talk = Talk::open();
    let (asked, _) = talk.hear(set("openai", "mock/beta"));
    let (held, _) = talk.hear(r#"{"id":"p","type":"prompt","message":"hi"}"#);
    assert!(held.is_empty(), "{held:?}");
    let (stop, _) = talk.hear(r#"{"type":"abort"}"#);
    assert_eq!(stop.len(), 1, "what stops something never waits");
    let (commands, _) = talk.reply(asked[0].tag, two().map(Reply::Models));
    let verbs: Vec<String> = commands.iter().map(|command| testkit::verb_text(&command.verb)).collect();
    assert!(verbs[0].starts_with("Set(Model(") && verbs[1].starts_with("Prompt {"), "{verbs:?}");
}

#[test]
fn the_level_is_always_told() {
    for (thinking, told) in [(None, "off"), (Some("high"), "high")] {
        let state = State { thinking: thinking.map(Into::into), ..on(model("lab", "a", "lab/a")) };
        let mut talk = Talk::open();
        talk.tell(Event::State(Arc::new(state.clone())));
        let (commands, _) = talk.hear(r#"{"id":1,"type":"get_state"}"#);
        let (_, frames) = talk.reply(commands[0].tag, Ok(inspected(state.clone())));
        assert_eq!(frames[0]["data"]["thinkingLevel"], told);

        let (commands, _) = talk.hear(r#"{"id":2,"type":"cycle_model"}"#);
        let listed = vec![model("lab", "a", "lab/a"), model("lab", "b", "lab/b")];
        let (commands, _) = talk.reply(commands[0].tag, Ok(Reply::Models(listed)));
        let (_, frames) = talk.reply(commands[0].tag, Ok(Reply::Done));
        assert_eq!((&frames[0]["command"], &frames[0]["data"]["thinkingLevel"]), (&json!("cycle_model"), &json!(told)));
    }
}

#[test]
fn a_model_is_described_alike_wherever_it_is_told() {
    let here = on(model("lab", "a", "lab/a"));
    let mut talk = Talk::open();
    talk.tell(Event::State(Arc::new(here.clone())));
    let (commands, _) = talk.hear(r#"{"id":1,"type":"get_state"}"#);
    let (_, state) = talk.reply(commands[0].tag, Ok(inspected(here.clone())));
    let (commands, _) = talk.hear(r#"{"id":2,"type":"get_available_models"}"#);
    let (_, list) = talk.reply(commands[0].tag, Ok(Reply::Models(vec![(*here.model_info).clone()])));
    assert_eq!(state[0]["data"]["model"], list[0]["data"]["models"][0]);
}
