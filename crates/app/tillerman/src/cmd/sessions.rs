//! `sessions ...`: saved conversations, through the store alone where that is enough.

mod list;
mod requests;
mod search;
mod show;

use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use vocab::{
    Archive, Body, Command, Durability, Entry, Event, Fault, FaultKind, Mode, Open, Principal, Query, Reply,
    SettingEntry, Store, Summary, Tag, Target, Told, Verb, Which,
};

use super::config::home;
use crate::args::{self, SessionsVerb};
use crate::print::{exactly, say};
use crate::{compose, setup};
use list::title;

/// As a name of a file: write to stdout.
const STDOUT: &str = "-";

pub(crate) fn run(args: args::SessionsArgs) -> anyhow::Result<u8> {
    super::block_on(start(args.verb.unwrap_or(SessionsVerb::List(args.list))))?
}

async fn start(verb: SessionsVerb) -> anyhow::Result<u8> {
    let data = home()?.data;
    let store: Arc<dyn Store> = Arc::new(store_sqlite::SqliteStore::new(data.clone()).telling(Arc::new(host::note)));
    match verb {
        SessionsVerb::List(args) => list::list(&*store, &args).await,
        SessionsVerb::Search { words, limit } => search::search(&*store, &words, limit).await,
        SessionsVerb::Show { session, json } => {
            let summary = find(&*store, &session).await?;
            let page = store.read(&summary.id, 0, usize::MAX).await?;
            if let Some(text) = &page.recovered {
                host::note(text);
            }
            exactly(&show::render(&summary, &page.entries, json))?;
            Ok(0)
        }
        SessionsVerb::Export { session, requests: true, out, .. } => {
            let summary = find(&*store, &session).await?;
            let page = store.read(&summary.id, 0, usize::MAX).await?;
            requests::export(&page.entries, out.as_deref())
        }
        SessionsVerb::Export { session, file: Some(file), .. } if file == Path::new(STDOUT) => {
            let summary = find(&*store, &session).await?;
            let page = store.read(&summary.id, 0, usize::MAX).await?;
            exactly(&export::as_markdown(&summary, &page.entries))?;
            Ok(0)
        }
        SessionsVerb::Export { session, file, .. } => {
            let summary = find(&*store, &session).await?;
            let file = file.map(std::path::absolute).transpose()?;
            let exported = export::FileArchive::new(store, data).export(&summary.id, file.as_deref()).await?;
            say(&format!("{}  ({}, {} bytes)\n", exported.path.display(), exported.format, exported.bytes))?;
            Ok(0)
        }
        SessionsVerb::Fork { session, at } => fork(&*store, &session, at).await,
        SessionsVerb::Rename { session, title } => rename(&*store, &session, &title.join(" ")).await,
        SessionsVerb::Delete { sessions, yes } => delete(&*store, &sessions, yes).await,
    }
}

/// By id, the start or the end of one, or `latest` of this project.
pub(super) async fn find(store: &dyn Store, text: &str) -> Result<Summary, Fault> {
    let hint = "`tillerman sessions list` shows what there is";
    match Which::parse(text) {
        Which::Latest => {
            let here = setup::project(None)?;
            let query = Query { workspace: Some(here.clone()), non_empty: true, limit: Some(1), ..Query::default() };
            let none = || Fault::new(FaultKind::NotFound, format!("no saved session in {}", here.display())).hint(hint);
            store.list(query).await?.pop().ok_or_else(none)
        }
        // Sessions of older versions may be called anything, also what looks like a path.
        _ => match store.summary(&text.into()).await? {
            Some(summary) => Ok(summary),
            None => vocab::find_session(store, text).await,
        },
    }
}

/// One more entry; the store keeps the title of the list in step.
async fn rename(store: &dyn Store, session: &str, title: &str) -> anyhow::Result<u8> {
    let title = title.trim();
    if title.is_empty() {
        return Err(Fault::new(FaultKind::Invalid, "the title is empty").into());
    }
    let id = find(store, session).await?.id;
    let acquired = store.acquire(&id).await?;
    let notice = acquired.notice(host::now_ms());
    let last = notice.as_ref().map_or(acquired.summary.last_seq, |entry| entry.seq);
    let body = Body::Setting(SettingEntry::Title { title: title.into() });
    let renamed = Arc::new(Entry {
        seq: last + 1,
        parent: last,
        at_ms: host::now_ms(),
        body,
        by: Some(Principal::user(&host::user_name())),
    });
    let renamed = store.append(&acquired.lease, notice.into_iter().chain([renamed]).collect(), Durability::Now).await;
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
        say(&format!("{}Delete for good? [y/N] ", dialect_terminal::clean(&lines)))?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Ok(dialect_terminal::exit_code::INTERRUPTED);
        }
    }
    for summary in found {
        let all = Query { children: true, ..Query::default() };
        let is_child = |it: &Summary| it.child_of.as_ref() == Some(&summary.id);
        let children = store.list(all).await?.into_iter().filter(is_child).count();
        // Refused while another process owns it, so nobody loses a session under their hands.
        if !store.delete(&summary.id, Some(Principal::user(&host::user_name()))).await? {
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
    let prompts = show::prompts(&store.read(&summary.id, 0, usize::MAX).await?.entries);
    let nothing = || Fault::new(FaultKind::NothingToDo, "this session has no user message to fork at");
    let at = match at {
        Some(at) if prompts.iter().all(|(seq, _)| *seq != at) => return Err(not_a_prompt(at, &prompts).into()),
        Some(at) => at,
        None => prompts.last().ok_or_else(nothing)?.0,
    };
    let basics = args::Basics { model: Some("tour".into()), ..args::Basics::default() };
    let wired = compose::build(setup::prepare(&setup::in_project(&basics)?, Mode::Prompt)?.setup).await?;
    let peer = wired.engine.connect(engine::Slow::Wait);
    let id = summary.id.as_str().to_owned();
    let open = Open { model: Some("tour".into()), ..Open::new(Which::Id(id)) };
    for (tag, verb) in [(1, Verb::Open(open)), (2, Verb::Fork { at: Some(at) })] {
        peer.submit(Command::of(Tag(tag), Target::Current, verb)).await;
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

/// User messages that are named where another number was given.
const PROMPTS_TOLD_MAX: usize = 20;

fn not_a_prompt(at: u64, prompts: &[(u64, String)]) -> Fault {
    let fault = Fault::new(FaultKind::Invalid, format!("entry {at} is not a user message of this session"));
    let skipped = prompts.len().saturating_sub(PROMPTS_TOLD_MAX);
    let told: Vec<String> = prompts[skipped..].iter().map(|(seq, text)| format!("{seq} ({text})")).collect();
    let before = if skipped > 0 { "the last ones are " } else { "these are: " };
    fault.hint(format!("{before}{}", told.join(", ")))
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
