//! `--list-models`: what a host can ask for, as a table for people.

use vocab::{ModelInfo, Provider};

use dialect_terminal::listing::table;

/// Rows whose provider, id or name has every word of `search` in it.
pub(super) async fn text(provider: &dyn Provider, search: Option<&str>) -> Result<String, vocab::Fault> {
    let words: Vec<String> = search.unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let fits = |model: &&ModelInfo| {
        let all = format!("{}/{} {}", model.provider, model.id, model.name).to_lowercase();
        words.iter().all(|word| all.contains(word))
    };
    let models = provider.models().await?;
    let rows: Vec<Vec<String>> = models.iter().filter(fits).map(row).collect();
    if rows.is_empty() {
        return Ok("no models\n".to_owned());
    }
    Ok(table(&["provider", "model", "context", "max-out", "thinking", "images"], &rows))
}

fn row(model: &ModelInfo) -> Vec<String> {
    let yes = |it: bool| if it { "yes" } else { "no" }.to_owned();
    vec![
        model.provider.to_string(),
        model.id.to_string(),
        model.context_window.to_string(),
        model.max_output.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string()),
        yes(model.thinking),
        yes(model.images),
    ]
}
