//! `sessions ...`: saved conversations, through the store alone where that is enough.

mod requests;
mod show;

use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use vocab::{
    Archive, Body, Command, Entry, Event, Fault, FaultKind, Mode, Open, Query, Reply, Store, Summary, Tag, Target,
    Told, Verb, Which,
};

use super::config::{home, workspace};
use super::listing::{ago, now_ms, table};
use crate::args::{self, SessionsVerb};
use crate::print::{exactly, say};
use crate::{setup, wiring};

/// Characters of a title in the table.
const TITLE_CHARS_MAX: usize = 60;

pub(crate) fn run(args: args::Sessions) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(start(args.verb))
}

async fn start(verb: SessionsVerb) -> anyhow::Result<u8> {
    let data = home()?.data;
    let store: Arc<dyn Store> = Arc::new(store::SqliteStore::new(data.clone()).telling(Arc::new(host::note)));
    match verb {
        SessionsVerb::List { workspace, limit, all, json } => {
            let directory = workspace.map(|directory| self::workspace(Some(&directory))).transpose()?;
            let query = Query { workspace: directory, limit: Some(limit), children: all, ..Query::default() };
            list(&*store, query, json).await
        }
        SessionsVerb::Show { session, json } => {
            let summary = find(&*store, &session).await?;
            let page = store.read(&summary.id, 0, usize::MAX).await?;
            exactly(&show::render(&summary, &page.entries, json))?;
            Ok(0)
        }
        SessionsVerb::Export { session, requests: true, out, .. } => {
            let summary = find(&*store, &session).await?;
            let page = store.read(&summary.id, 0, usize::MAX).await?;
            requests::export(&page.entries, out.as_deref())
        }
        SessionsVerb::Export { session, file, .. } => {
            let summary = find(&*store, &session).await?;
            let file = file.map(std::path::absolute).transpose()?;
            let exported = store::FileArchive::new(store, data).export(&summary.id, file.as_deref()).await?;
            say(&format!("{}  ({}, {} bytes)\n", exported.path.display(), exported.format, exported.bytes))?;
            Ok(0)
        }
        SessionsVerb::Fork { session, at } => fork(&*store, &session, at).await,
        SessionsVerb::Rename { session, title } => rename(&*store, &session, &title.join(" ")).await,
        SessionsVerb::Delete { sessions, yes } => delete(&*store, &sessions, yes).await,
    }
}

/// By id, the beginning of one, or `latest` of this directory.
async fn find(store: &dyn Store, text: &str) -> Result<Summary, Fault> {
    let hint = "`tillerman sessions list` shows what there is";
    let query = match Which::parse(text) {
        Which::Latest => {
            let here = workspace(None).map_err(|error| Fault::new(FaultKind::Invalid, format!("{error:#}")))?;
            Query { workspace: Some(here), non_empty: true, limit: Some(1), ..Query::default() }
        }
        Which::Id(prefix) => Query { id_prefix: Some(prefix), limit: Some(2), ..Query::default() },
        _ => return Err(Fault::new(FaultKind::Invalid, format!("`{text}` is not a session id")).hint(hint)),
    };
    let mut found = store.list(query.clone()).await?;
    if found.is_empty() && query.id_prefix.is_some() {
        found = store.list(Query { children: true, ..query }).await?;
    }
    match (found.len(), found.pop()) {
        (1, Some(summary)) => Ok(summary),
        (0, _) => Err(Fault::new(FaultKind::NotFound, format!("no session matches `{text}`")).hint(hint)),
        _ => Err(Fault::new(FaultKind::NotFound, format!("more than one session starts with `{text}`"))
            .hint("give more characters of the id")),
    }
}

async fn list(store: &dyn Store, query: Query, json: bool) -> anyhow::Result<u8> {
    let found = store.list(query).await?;
    if json {
        let lines: String = found.iter().map(|it| format!("{}\n", summary_json(it))).collect();
        exactly(&lines)?;
        return Ok(0);
    }
    if found.is_empty() {
        say("no saved sessions\n")?;
        return Ok(0);
    }
    let now = now_ms();
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|it| {
            vec![
                it.id.to_string(),
                ago(it.updated_ms, now),
                it.messages.to_string(),
                it.model.to_string(),
                short_path(&it.workspace),
                title(it).chars().take(TITLE_CHARS_MAX).collect(),
            ]
        })
        .collect();
    say(&table(&["ID", "UPDATED", "MSGS", "MODEL", "WORKSPACE", "TITLE"], &rows))?;
    Ok(0)
}

fn title(summary: &Summary) -> &str {
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

/// One more entry; the store keeps the title of the list in step.
async fn rename(store: &dyn Store, session: &str, title: &str) -> anyhow::Result<u8> {
    let title = title.trim();
    if title.is_empty() {
        return Err(Fault::new(FaultKind::Invalid, "the title is empty").into());
    }
    let id = find(store, session).await?.id;
    let acquired = store.acquire(&id).await?;
    let notice = acquired.notice(now_ms());
    let last = notice.as_ref().map_or(acquired.summary.last_seq, |entry| entry.seq);
    let body = Body::Title { title: title.into() };
    let renamed = Arc::new(Entry { seq: last + 1, parent: last, at_ms: now_ms(), body });
    let renamed = store.append(&acquired.lease, notice.into_iter().chain([renamed]).collect(), true).await;
    store.release(acquired.lease).await?;
    renamed?;
    if let Some(text) = acquired.recovered {
        host::note(&text);
    }
    say(&format!("{id}  {title}\n"))?;
    Ok(0)
}

async fn delete(store: &dyn Store, sessions: &[String], yes: bool) -> anyhow::Result<u8> {
    // All of them are found before the first is deleted: a typing error deletes nothing.
    let mut found = Vec::new();
    for session in sessions {
        found.push(find(store, session).await?);
    }
    if !yes {
        let lines: String = found.iter().map(|it| format!("  {}  {}\n", it.id, title(it))).collect();
        if !std::io::stdin().is_terminal() {
            let fault = Fault::new(FaultKind::Invalid, format!("would delete for good:\n{lines}"));
            return Err(fault.hint("add --yes to do it").into());
        }
        say(&format!("{}Delete for good? [y/N] ", crate::terminal::clean(&lines)))?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Ok(crate::terminal::INTERRUPTED);
        }
    }
    for summary in found {
        let all = Query { children: true, ..Query::default() };
        let is_child = |it: &Summary| it.child_of.as_ref() == Some(&summary.id);
        let children = store.list(all).await?.into_iter().filter(is_child).count();
        // Refused while another process owns it, so nobody loses a session under their hands.
        if !store.delete(&summary.id).await? {
            return Err(Fault::new(FaultKind::NotFound, format!("{} is gone already", summary.id)).into());
        }
        match children {
            0 => say(&format!("deleted {}\n", summary.id))?,
            1 => say(&format!("deleted {} and the session of its sub-agent\n", summary.id))?,
            more => say(&format!("deleted {} and {more} sessions of its sub-agents\n", summary.id))?,
        }
    }
    Ok(0)
}

/// The engine knows how to cut a branch; it is given the built-in model, because none is needed.
async fn fork(store: &dyn Store, session: &str, at: Option<u64>) -> anyhow::Result<u8> {
    let summary = find(store, session).await?;
    let at = match at {
        Some(at) => at,
        None => show::last_prompt(&store.read(&summary.id, 0, usize::MAX).await?.entries)
            .ok_or_else(|| Fault::new(FaultKind::NothingToDo, "this session has no user message to fork at"))?,
    };
    let basics = args::Basics { model: Some("tour".into()), ..args::Basics::default() };
    let wired = wiring::build(setup::prepare(&basics, Mode::Prompt)?.setup).await?;
    let peer = wired.engine.connect(engine::Slow::Wait);
    let id = summary.id.as_str().to_owned();
    let open = Open { model: Some("tour".into()), ..Open::new(Which::Id(id)) };
    for (tag, verb) in [(1, Verb::Open(open)), (2, Verb::Fork { at: Some(at) })] {
        peer.submit(Command { tag: Tag(tag), target: Target::Current, verb }).await;
    }
    let outcome = forked(&peer).await;
    drop(peer);
    wired.engine.shutdown().await;
    let (id, text) = outcome?;
    let first = text.lines().next().unwrap_or_default();
    say(&format!("{id}\n"))?;
    host::note(&format!("everything before entry {at} is there; the message was: {first}"));
    Ok(0)
}

async fn forked(peer: &engine::Peer) -> Result<(vocab::SessionId, String), Fault> {
    let mut told: Vec<Told> = Vec::new();
    loop {
        let more = peer.events(&mut told).await;
        for told in told.drain(..) {
            match told.event {
                Event::Reply { result: Ok(Reply::Forked { session, text }), .. } => return Ok((session, text)),
                Event::Reply { result: Err(fault), .. } => return Err(fault),
                _ => {}
            }
        }
        if !more {
            return Err(Fault::new(FaultKind::Internal, "the engine ended before it answered"));
        }
    }
}
