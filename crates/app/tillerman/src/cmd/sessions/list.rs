//! `sessions list`: newest first, each with an end of its id that is short enough to type.

use std::path::{Path, PathBuf};

use serde_json::json;
use vocab::{Mode, Prices, Query, Store, Summary, UsageBy, UsageQuery, short_id};

use crate::args;
use crate::compose::{self, Wired};
use crate::print::{exactly, say};
use crate::setup;
use dialect_terminal::listing::{ago, table};

/// Characters of a title in the table.
const TITLE_CHARS_MAX: usize = 60;
/// A longer log is not read for the sake of one number in a list.
const COSTED_ENTRIES_MAX: u64 = 20_000;

pub(super) async fn list(store: &dyn Store, args: &args::SessionsList) -> anyhow::Result<u8> {
    let mut found = found(store, args).await?;
    count_unended(store, &mut found).await?;
    if args.json {
        let lines: String = found.iter().map(|it| format!("{}\n", summary_json(it))).collect();
        exactly(&lines)?;
        return Ok(0);
    }
    if found.is_empty() {
        say("no saved sessions\n")?;
        return Ok(0);
    }
    let shorts = Shorts::of(store).await?;
    let prices = KnownPrices::look().await?;
    let mut costs = Vec::with_capacity(found.len());
    for summary in &found {
        costs.push(cost(store, summary, &prices).await?);
    }
    let now = host::now_ms();
    let row = |(it, cost): (&Summary, Option<f64>)| {
        vec![
            shorts.short(it.id.as_str()),
            ago(it.updated_ms, now),
            it.messages.to_string(),
            cost.map_or_else(|| "-".to_owned(), dollars),
            it.model.to_string(),
            short_path(&it.workspace),
            title(it).chars().take(TITLE_CHARS_MAX).collect(),
        ]
    };
    let rows: Vec<Vec<String>> = found.iter().zip(costs).map(row).collect();
    say(&table(&["ID", "UPDATED", "MSGS", "COST", "MODEL", "WORKSPACE", "TITLE"], &rows))?;
    Ok(0)
}

/// Those of a directory are those that were started in it, and those of the project enclosing it.
async fn found(store: &dyn Store, args: &args::SessionsList) -> anyhow::Result<Vec<Summary>> {
    let query = |workspace: Option<PathBuf>| Query {
        workspace,
        limit: Some(args.limit),
        children: args.all,
        ..Query::default()
    };
    let Some(directory) = &args.workspace else { return Ok(store.list(query(None)).await?) };
    let named = setup::project(Some(directory))?;
    let enclosing = builtin_tools::project::enclosing(&named).filter(|root| *root != named);
    let mut found = store.list(query(Some(named))).await?;
    if let Some(root) = enclosing {
        found.extend(store.list(query(Some(root))).await?);
        found.sort_by_key(|it| std::cmp::Reverse(it.updated_ms));
        found.truncate(args.limit);
    }
    Ok(found)
}

/// The tokens of a turn are in its end; one that a crash cut off has none yet, for a sub-agent that nobody takes up again
/// never. The ledger has counted each answer when it came.
async fn count_unended(store: &dyn Store, found: &mut [Summary]) -> anyhow::Result<()> {
    if found.iter().all(|it| it.messages == 0 || it.usage.context() > 0) {
        return Ok(());
    }
    let all = UsageQuery { by: UsageBy::Session, from: i64::MIN, to: i64::MAX, session: None };
    let counted = store.usage(all).await?;
    for it in found.iter_mut().filter(|it| it.usage.context() == 0) {
        if let Some(sum) = counted.iter().find(|sum| *sum.name == *it.id.as_str()) {
            it.usage = sum.usage;
        }
    }
    Ok(())
}

/// Every id there is, to tell how much of one is enough.
pub(super) struct Shorts(Vec<Summary>);

impl Shorts {
    pub(super) async fn of(store: &dyn Store) -> anyhow::Result<Self> {
        Ok(Self(store.list(Query { children: true, ..Query::default() }).await?))
    }

    pub(super) fn short(&self, id: &str) -> String {
        let all: Vec<&str> = self.0.iter().map(|it| it.id.as_str()).collect();
        short_id(id, &all)
    }
}

pub(super) fn title(summary: &Summary) -> &str {
    summary.title.as_deref().or(summary.preview.as_deref()).unwrap_or_default()
}

/// `~/src/x` for what is under the home directory.
fn short_path(path: &Path) -> String {
    match std::env::home_dir().and_then(|home| Some(path.strip_prefix(home).ok()?.to_owned())) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

fn summary_json(it: &Summary) -> serde_json::Value {
    json!({
        "id": it.id.as_str(),
        "title": it.title.as_deref(),
        "preview": it.preview.as_deref(),
        "workspace": it.workspace.display().to_string(),
        "model": &*it.model,
        "mode": it.mode.as_str(),
        "created_at": vocab::iso8601(it.created_ms),
        "updated_at": vocab::iso8601(it.updated_ms),
        "messages": it.messages,
        "turns": it.turns,
        "child_of": it.child_of.as_ref().map(|id| id.as_str()),
        "usage": {
            "input_tokens": it.usage.input,
            "cache_read_tokens": it.usage.cache_read,
            "cache_write_tokens": it.usage.cache_write,
            "output_tokens": it.usage.output,
        },
    })
}

// ---- what they cost ---------------------------------------------------------------------------------------------------

/// Prices that are known without asking anybody.
struct KnownPrices(Wired);

impl KnownPrices {
    async fn look() -> anyhow::Result<Self> {
        let basics = args::Basics { model: Some("tour".into()), ..args::Basics::default() };
        Ok(Self(compose::build(setup::prepare(&setup::in_project(&basics)?, Mode::Prompt)?.setup).await?))
    }

    fn prices(&self, slug: &str) -> Option<Prices> {
        let configured = self.0.ports.provider.resolve(slug).ok().and_then(|model| model.prices);
        configured.or_else(|| catalogue::built_in(slug)?.prices)
    }
}

/// In dollars, over all models it used; `None` where a price is not known.
async fn cost(store: &dyn Store, summary: &Summary, known: &KnownPrices) -> anyhow::Result<Option<f64>> {
    let nothing = summary.usage.context() == 0;
    if nothing || summary.last_seq > COSTED_ENTRIES_MAX || known.prices(&summary.model).is_none() {
        return Ok(None);
    }
    let entries = match store.read(&summary.id, 0, usize::MAX).await {
        Ok(page) => page.entries,
        // It was deleted since it was listed.
        Err(_) if store.summary(&summary.id).await?.is_none() => return Ok(None),
        Err(fault) => return Err(fault.into()),
    };
    Ok(vocab::Totals::of(&entries).cost(|slug| known.prices(slug)))
}

fn dollars(cost: f64) -> String {
    match cost {
        0.0 => "free".to_owned(),
        cost if cost < 0.01 => "<$0.01".to_owned(),
        cost => format!("${cost:.2}"),
    }
}
