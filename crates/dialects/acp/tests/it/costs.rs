//! What a session has cost: each model's calls at its own price, and no sum where a price is not known.

use std::sync::Arc;

use serde_json::json;
use vocab::{
    AssistantMessage, Body, Event, Fault, FaultKind, FellBack, Finish, MessageEnd, ModelEntry, ModelInfo, Prices,
    State, Stop, TurnEnd, TurnEntry, Usage,
};

use crate::talk::{AcpTalk, ended, opened, state};

fn model(slug: &str, dollars: Option<f64>) -> ModelInfo {
    let prices = dollars.map(|output| Prices { input: 0.0, cache_read: 0.0, cache_write: 0.0, output });
    ModelInfo { prices, ..ModelInfo::named(slug, 1000) }
}

fn output(millions: u64) -> Usage {
    Usage { output: millions * 1_000_000, ..Usage::default() }
}

/// What is told when `chosen` is the model (`alpha` is one dollar a million).
fn now(chosen: &str, dollars: Option<f64>) -> Event {
    Event::State(Arc::new(State { model_info: Arc::new(model(chosen, dollars)), ..state("c1") }))
}

fn spent(talk: &mut AcpTalk, turn: &str, call: Option<&str>, slug: &str, millions: u64) {
    let (turn, call, model) = (Some(turn.into()), call.map(Into::into), slug.into());
    talk.logged(Body::Model(ModelEntry::Spent { turn, call, model, usage: output(millions) }));
}

fn answered(talk: &mut AcpTalk, turn: &str, slug: &str, millions: u64) {
    let end = MessageEnd::Finished(Finish::Stop);
    let message = AssistantMessage { blocks: Vec::new(), model: slug.into(), end, usage: output(millions) };
    talk.logged(Body::Assistant { turn: Some(turn.into()), message });
}

/// The turn ends, having used `all`; what is said of the cost behind it.
fn cost_at_end(talk: &mut AcpTalk, turn: &str, all: u64, now: Event) -> Option<f64> {
    talk.said.clear();
    talk.logged(Body::Turn(TurnEntry::Ended(TurnEnd { usage: output(all), ..ended(turn, Stop::EndTurn) })))
        .tell("c1", now);
    let line = talk.said.iter().find(|line| line.contains("usage_update")).expect("an update");
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    line["params"]["update"]["cost"]["amount"].as_f64()
}

/// One turn of `alpha`, part of which was used by sub-agents.
fn after_turn(talk: &mut AcpTalk, turn: &str, all: u64, children: &[(&str, u64)]) -> Option<f64> {
    talk.tell("c1", now("alpha", Some(1.0))).begin(turn);
    for (slug, millions) in children {
        spent(talk, turn, Some("c1"), slug, *millions);
    }
    answered(talk, turn, "alpha", all - children.iter().map(|(_, millions)| millions).sum::<u64>());
    cost_at_end(talk, turn, all, now("alpha", Some(1.0)))
}

fn talk() -> AcpTalk {
    let mut talk = AcpTalk::knowing(vec![model("beta", Some(10.0)), model("gamma", None)]);
    talk.ask("initialize", json!({ "protocolVersion": 1 }));
    talk.ask("session/new", json!({ "cwd": "/w", "mcpServers": [] })).reply(Ok(opened("c1")));
    talk
}

#[test]
fn a_sub_agent_costs_what_its_model_costs() {
    let mut talk = talk();
    assert_eq!(after_turn(&mut talk, "t1", 5, &[]), Some(5.0));
    assert_eq!(after_turn(&mut talk, "t2", 5, &[("beta", 1), ("alpha", 2)]), Some(5.0 + 10.0 + 2.0 + 2.0));
    assert_eq!(after_turn(&mut talk, "t3", 1, &[]), Some(20.0), "each turn is charged once");
}

#[test]
fn a_price_that_is_not_known_leaves_no_sum() {
    for slug in ["gamma", "unheard-of"] {
        let mut talk = talk();
        assert_eq!(after_turn(&mut talk, "t1", 5, &[(slug, 1)]), None);
        assert_eq!(after_turn(&mut talk, "t2", 1, &[]), None);
    }
}

#[test]
fn a_change_of_the_model_leaves_what_was_paid_at_its_price() {
    let mut talk = talk();
    assert_eq!(after_turn(&mut talk, "t1", 5, &[]), Some(5.0));
    talk.tell("c1", now("beta", Some(10.0))).begin("t2");
    answered(&mut talk, "t2", "beta", 1);
    assert_eq!(cost_at_end(&mut talk, "t2", 1, now("beta", Some(10.0))), Some(15.0));
    // The turn ran with the model before; what was chosen meanwhile is for the next.
    talk.begin("t3");
    answered(&mut talk, "t3", "beta", 1);
    assert_eq!(cost_at_end(&mut talk, "t3", 1, now("gamma", None)), Some(25.0));
}

#[test]
fn a_fallback_is_paid_at_its_own_price() {
    let mut talk = talk();
    talk.tell("c1", now("alpha", Some(1.0))).begin("t1");
    spent(&mut talk, "t1", None, "alpha", 1);
    let fault = Fault::new(FaultKind::Provider, "overloaded");
    talk.logged(Body::Model(ModelEntry::FellBack(FellBack {
        turn: "t1".into(),
        from: "alpha".into(),
        to: "beta".into(),
        fault,
        skipped: Vec::new(),
    })));
    answered(&mut talk, "t1", "beta", 1);
    assert_eq!(cost_at_end(&mut talk, "t1", 2, now("alpha", Some(1.0))), Some(11.0));
}
