//! `models`: what can be used, what is chosen, and why.

use serde_json::json;
use vocab::{Mode, ModelInfo};

use super::listing::table;
use crate::args;
use crate::print::{say, warning};
use crate::{setup, wiring};

pub(crate) fn run(args: &args::Models) -> anyhow::Result<u8> {
    let basics = args::Basics { model: args.model.clone(), ..args::Basics::default() };
    let prepared = setup::prepare(&basics, Mode::Prompt)?;
    prepared.config.warnings.iter().for_each(|line| warning(line));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let wired = wiring::build(prepared.setup).await?;
        let chosen = wired.settings.model.clone();
        let mut models = wired.ports.provider.models().await?;
        if !models.iter().any(|model| model.slug == chosen) {
            // Servers need not list what they serve.
            models.insert(0, wired.ports.provider.resolve(&chosen)?);
        }
        match args.json {
            true => print_json(&models, &chosen),
            false => print_table(&models, &chosen, &wired.reason),
        }
    })
}

fn print_json(models: &[ModelInfo], chosen: &str) -> anyhow::Result<u8> {
    for model in models {
        let prices = model.prices.map(|it| {
            json!({ "input": it.input, "cache_read": it.cache_read, "cache_write": it.cache_write, "output": it.output })
        });
        let line = json!({
            "slug": &*model.slug,
            "chosen": &*model.slug == chosen,
            "context_window": model.context_window,
            "max_output": model.max_output,
            "prices": prices,
            "images": model.images,
            "thinking": model.thinking,
        });
        say(&format!("{line}\n"))?;
    }
    Ok(0)
}

fn print_table(models: &[ModelInfo], chosen: &str, reason: &str) -> anyhow::Result<u8> {
    let rows: Vec<Vec<String>> = models
        .iter()
        .map(|model| {
            let price = |it: f64| if it == 0.0 { "free".to_owned() } else { format!("${it:.2}") };
            let prices = model.prices.map(|it| format!("{} / {}", price(it.input), price(it.output)));
            vec![
                if &*model.slug == chosen { "*" } else { "" }.to_owned(),
                model.slug.to_string(),
                model.context_window.to_string(),
                model.max_output.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string()),
                prices.unwrap_or_else(|| "-".to_owned()),
            ]
        })
        .collect();
    say(&format!("{reason}\n\n{}", table(&["", "MODEL", "CONTEXT", "OUTPUT", "PRICE IN / OUT"], &rows)))?;
    Ok(0)
}
