//! `models show`: everything known about one model, without asking anybody.

use serde_json::json;
use vocab::ModelInfo;

use super::{dash, facts, levels, price, wired};
use crate::compose::Wired;
use crate::print::{exactly, say};
use catalogue::{built_in, keyed_vendor};

pub(super) async fn run(model: Option<&str>, as_json: bool) -> anyhow::Result<u8> {
    let shown = match (wired(model).await, model.and_then(built_in)) {
        (Ok(wired), _) => {
            let model = wired.ports.provider.resolve(&wired.settings.model)?;
            ShownModel { key: key(&wired, &model), why: wired.reason, model }
        }
        // Nobody can be asked for it yet, but what it is can be told.
        (Err(_), Some(model)) => {
            let key = format!("there is none: set {}", variables(&model).join(" or "));
            ShownModel { key, why: "the built-in table has it".to_owned(), model }
        }
        (Err(error), None) => return Err(error),
    };
    if as_json {
        let mut facts = facts(&shown.model);
        facts["key"] = json!(shown.key);
        facts["reason"] = json!(shown.why);
        exactly(&format!("{facts}\n"))?;
        return Ok(0);
    }
    say(&text(&shown))?;
    Ok(0)
}

struct ShownModel {
    model: ModelInfo,
    /// Where its key comes from.
    key: String,
    /// How we came to it.
    why: String,
}

fn variables(model: &ModelInfo) -> Vec<&'static str> {
    keyed_vendor(&model.provider).iter().flat_map(|vendor| vendor.keys).map(|(name, _)| *name).collect()
}

/// Where its key comes from; never the key.
fn key(wired: &Wired, model: &ModelInfo) -> String {
    let source = wired.sources.iter().find(|source| source.name == model.provider);
    source.map_or_else(|| "it needs none".to_owned(), |source| source.key.clone())
}

fn text(shown: &ShownModel) -> String {
    let model = &shown.model;
    let tokens = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| format!("{count} tokens"));
    let prices = model.prices.map_or_else(
        || "unknown".to_owned(),
        |it| {
            let [input, read, write, output] = [it.input, it.cache_read, it.cache_write, it.output].map(price);
            format!("{input} input, {read} cache read, {write} cache write, {output} output; per million tokens")
        },
    );
    let yes = |it: bool| if it { "yes" } else { "no" }.to_owned();
    let thinking = match (levels(model).as_str(), model.thinking) {
        ("-", true) => "levels unknown".to_owned(),
        ("-" | "none", _) => "no".to_owned(),
        (levels, _) => levels.to_owned(),
    };
    let fallbacks = model.fallbacks.iter().map(|slug| &**slug).collect::<Vec<_>>().join(", ");
    let rows = [
        ("why", shown.why.clone()),
        ("name", model.name.to_string()),
        ("provider", dash(&model.provider)),
        ("id", model.id.to_string()),
        ("api", dash(&model.api)),
        ("base url", dash(&model.base_url)),
        ("key", shown.key.clone()),
        ("context", tokens(Some(model.context_window))),
        ("output", tokens(model.max_output)),
        ("prices", prices),
        ("images", yes(model.images)),
        ("thinking", thinking),
        ("fallbacks", dash(&fallbacks)),
    ];
    let mut text = format!("{}\n", model.slug);
    for (what, value) in rows {
        text.push_str(&format!("  {what:<10} {}\n", dialect_terminal::clean(&value)));
    }
    text
}
