//! What a session has cost: each model's calls at its own price, and no sum where a price is not known.

use std::sync::Arc;

use serde_json::json;
use vocab::{Body, Event, ModelEntry, ModelInfo, Prices, State, Stop, TurnEnd, TurnEntry, Usage};

use crate::talk::{AcpTalk, ended, opened, state};

fn model(slug: &str, dollars: Option<f64>) -> ModelInfo {
    let prices = dollars.map(|output| Prices { input: 0.0, cache_read: 0.0, cache_write: 0.0, output });
    ModelInfo { prices, ..ModelInfo::named(slug, 1000) }
}

fn output(millions: u64) -> Usage {
    Usage { output: millions * 1_000_000, ..Usage::default() }
}

/// One turn of `alpha` (one dollar a million), part of which was used by sub-agents; what is said of the cost behind it.
fn after_turn(talk: &mut AcpTalk, turn: &str, all: u64, children: &[(&str, u64)]) -> Option<f64> {
    let now = || Event::State(Arc::new(State { model_info: Arc::new(model("alpha", Some(1.0))), ..state("c1") }));
    talk.tell("c1", now()).begin(turn);
    for (slug, millions) in children {
        let (turn, call, model) = (Some(turn.into()), Some("c1".into()), (*slug).into());
        talk.logged(Body::Model(ModelEntry::Spent { turn, call, model, usage: output(*millions) }));
    }
    talk.said.clear();
    talk.logged(Body::Turn(TurnEntry::Ended(TurnEnd { usage: output(all), ..ended(turn, Stop::EndTurn) })))
        .tell("c1", now());
    let line = talk.said.iter().find(|line| line.contains("usage_update")).expect("an update");
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    line["params"]["update"]["cost"]["amount"].as_f64()
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
