//! `models`: what can be used, what is chosen, and why; everything known about one; one tiny request.

mod show;
mod test;

use serde_json::{Value, json};
use vocab::{Mode, ModelInfo};

use crate::args::{self, ModelsVerb};
use crate::compose::{self, Wired};
use crate::print::{exactly, say, warning};
use crate::setup;
use catalogue::Lookout;
use dialect_terminal::listing::table;

pub(crate) fn run(args: &args::ModelsArgs) -> anyhow::Result<u8> {
    super::block_on(async {
        match &args.verb {
            None => list(&args.list).await,
            Some(ModelsVerb::List(args)) => list(args).await,
            Some(ModelsVerb::Show { model, json }) => show::run(model.as_deref(), *json).await,
            Some(ModelsVerb::Test { model, all }) => test::run(model.as_deref(), *all).await,
        }
    })?
}

/// As a conversation would have it.
async fn wired(model: Option<&str>) -> anyhow::Result<Wired> {
    let basics = args::Basics { model: model.map(str::to_owned), ..args::Basics::default() };
    let mut prepared = setup::prepare(&setup::in_project(&basics)?, Mode::Prompt)?;
    prepared.config.warnings.iter().for_each(|line| warning(line));
    prepared.setup.models.lookout = Lookout::Wait;
    let wired = compose::build(prepared.setup).await?;
    wired.notes.iter().for_each(|line| warning(line));
    Ok(wired)
}

async fn list(args: &args::ModelsList) -> anyhow::Result<u8> {
    let wired = wired(args.model.as_deref()).await?;
    let provider = &wired.ports.provider;
    let chosen = provider.resolve(&wired.settings.model)?;
    let mut models = provider.models().await?;
    if !models.iter().any(|model| model.slug == chosen.slug) {
        // Servers need not list what they serve.
        models.insert(0, chosen.clone());
    }
    if let Some(name) = &args.provider {
        models.retain(|model| model.provider.eq_ignore_ascii_case(name));
        anyhow::ensure!(!models.is_empty(), "no models of `{name}`; `tillerman models` lists all there are");
    }
    match args.json {
        true => print_json(&models, &chosen.slug),
        false => print_table(&models, &chosen.slug, &wired.reason),
    }
}

/// Everything that is known about a model.
fn facts(model: &ModelInfo) -> Value {
    let prices = model.prices.map(|it| {
        json!({ "input": it.input, "cache_read": it.cache_read, "cache_write": it.cache_write, "output": it.output })
    });
    json!({
        "slug": &*model.slug,
        "provider": &*model.provider,
        "id": &*model.id,
        "name": &*model.name,
        "api": &*model.api,
        "base_url": &*model.base_url,
        "context_window": model.context_window,
        "max_output": model.max_output,
        "prices": prices,
        "images": model.images,
        "thinking": model.thinking,
        "levels": model.levels.as_deref().map(|levels| levels.iter().map(|level| &**level).collect::<Vec<_>>()),
        "fallbacks": model.fallbacks.iter().map(|slug| &**slug).collect::<Vec<_>>(),
    })
}

fn print_json(models: &[ModelInfo], chosen: &str) -> anyhow::Result<u8> {
    for model in models {
        let mut line = facts(model);
        line["chosen"] = json!(&*model.slug == chosen);
        exactly(&format!("{line}\n"))?;
    }
    Ok(0)
}

fn print_table(models: &[ModelInfo], chosen: &str, reason: &str) -> anyhow::Result<u8> {
    let row = |model: &ModelInfo| {
        vec![
            if &*model.slug == chosen { "*" } else { "" }.to_owned(),
            dash(&model.provider),
            model.slug.to_string(),
            model.context_window.to_string(),
            model.max_output.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string()),
            model.prices.map_or_else(|| "-".to_owned(), |it| format!("{} / {}", price(it.input), price(it.output))),
            levels(model),
        ]
    };
    let rows: Vec<Vec<String>> = models.iter().map(row).collect();
    let head = ["", "PROVIDER", "MODEL", "CONTEXT", "OUTPUT", "PRICE IN / OUT", "THINKING"];
    say(&format!("{reason}\n\n{}", table(&head, &rows)))?;
    Ok(0)
}

fn dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}

/// Dollars per million tokens: cents always, more digits where there are any.
fn price(dollars: f64) -> String {
    if dollars == 0.0 {
        return "free".to_owned();
    }
    let (cents, all) = (format!("{dollars:.2}"), format!("{dollars:.4}"));
    let more = all.trim_end_matches('0');
    format!("${}", if more.len() > cents.len() { more } else { &cents })
}

/// The levels of thinking that a model takes; `-` where nobody knows.
fn levels(model: &ModelInfo) -> String {
    match model.levels.as_deref() {
        None => "-".to_owned(),
        Some([]) => "none".to_owned(),
        Some(levels) => levels.iter().map(|level| &**level).collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_price_has_the_digits_that_it_needs() {
        for (dollars, want) in
            [(0.0, "free"), (2.0, "$2.00"), (0.125, "$0.125"), (0.01, "$0.01"), (0.0375, "$0.0375"), (12.5, "$12.50")]
        {
            assert_eq!(super::price(dollars), want);
        }
    }
}
