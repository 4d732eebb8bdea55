//! `/subagents`: the sessions that worked for calls of this one. A sub-agent ends with the call that it works for, so what runs is
//! stopped with that call.

use std::sync::Arc;

use serde_json::{Value, json};
use vocab::{
    Block, Body, DirectoryVerb, Fault, MessageEnd, Query, Recalled, Reply, SavedPage, SessionId, Target, Verb, Which,
};

use super::CommandPlan;
use crate::Gateway;
use crate::faults;
use crate::own::Out;
use crate::pending::{GatewayPending, Wanted, WorkEnd, WorkId};

/// Sub-agents that are shown, the newest; older ones are counted.
const SHOWN_MAX: usize = 100;
/// Bytes of an id that is typed.
const ID_BYTES_MAX: usize = 200;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum SubagentWish {
    List,
    /// What it said last.
    Summary(Arc<str>),
    Delete(Arc<str>),
}

/// What came of it.
pub(crate) enum SubagentsFound {
    Listed(SavedPage),
    Log(Box<Recalled>),
    Deleted,
    Unknown,
}

pub(super) fn plan(args: &str) -> Result<CommandPlan, String> {
    let words: Vec<&str> = args.split_whitespace().collect();
    let id = |id: &str| Arc::from(&id[..id.floor_char_boundary(ID_BYTES_MAX)]);
    Ok(CommandPlan::Subagents(match words.as_slice() {
        [] | ["list"] => SubagentWish::List,
        ["summary", it] => SubagentWish::Summary(id(it)),
        ["delete", it] => SubagentWish::Delete(id(it)),
        ["cancel", _] => {
            let text = "a sub-agent ends with the call that it works for: /stop stops both".to_owned();
            return Ok(CommandPlan::Refused { shown: "/subagents", text });
        }
        _ => return Err("that is not understood".to_owned()),
    }))
}

impl Gateway {
    /// First which there are: one that is not this session's is none of its business.
    pub(super) fn ask_for_subagents(&mut self, session: SessionId, wish: &SubagentWish, work: WorkId, out: &mut Out) {
        let own = Query { children: true, child_of: Some(session), ..Query::default() };
        let query = match wish {
            SubagentWish::List => Query { limit: Some(SHOWN_MAX), ..own },
            // However many there were since.
            SubagentWish::Summary(id) | SubagentWish::Delete(id) => Query { id_part: Some(id.to_string()), ..own },
        };
        self.work(work, |work| work.left += 1);
        self.directory_part(DirectoryVerb::Sessions(query), work, out);
    }

    fn directory_part(&mut self, verb: DirectoryVerb, work: WorkId, out: &mut Out) {
        let what = GatewayPending::apart(Wanted::Subagents(work));
        self.pending.submit(Target::Current, Verb::Directory(verb), what, out);
    }

    pub(crate) fn subagents_answered(&mut self, number: WorkId, result: Result<Reply, Fault>, out: &mut Out) {
        let mut next = None;
        self.work(number, |work| {
            let wish = match &work.then {
                WorkEnd::Command { plan: CommandPlan::Subagents(wish), .. } => wish.clone(),
                _ => SubagentWish::List,
            };
            match result {
                Ok(Reply::Sessions(page)) => {
                    next = step(&wish, &page);
                    let known = matches!(wish, SubagentWish::List);
                    work.subagents = Some(if known { SubagentsFound::Listed(page) } else { SubagentsFound::Unknown });
                }
                Ok(Reply::Recalled(recalled)) => work.subagents = Some(SubagentsFound::Log(recalled)),
                Ok(_) => work.subagents = Some(SubagentsFound::Deleted),
                Err(fault) => work.refused = Some(faults::refusal(&fault, None)),
            }
            work.left -= usize::from(next.is_none());
        });
        match next {
            Some(verb) => self.directory_part(verb, number, out),
            None => self.work_done(number, out),
        }
    }
}

/// What is done with the one that is meant.
fn step(wish: &SubagentWish, page: &SavedPage) -> Option<DirectoryVerb> {
    let named = |id: &str| page.list.iter().map(|saved| &saved.summary.id).find(|it| it.as_str() == id).cloned();
    match wish {
        SubagentWish::List => None,
        SubagentWish::Summary(id) => named(id).map(|id| DirectoryVerb::Recall(Which::Id(id.to_string()))),
        SubagentWish::Delete(id) => named(id).map(|session| DirectoryVerb::Delete { session, open_too: false }),
    }
}

/// Whether it was done, the text, and the same for programs.
pub(super) fn said(found: &SubagentsFound) -> (bool, String, Value) {
    match found {
        SubagentsFound::Listed(page) => {
            let row = |saved: &vocab::Saved| {
                let it = &saved.summary;
                json!({"id": it.id.as_str(), "title": it.title, "messages": it.messages, "model": it.model})
            };
            let line = |saved: &vocab::Saved| {
                let it = &saved.summary;
                let title = vocab::visible::visible_line(it.title.as_deref().unwrap_or("without a title"));
                format!("{}  {title} ({} messages)", it.id, it.messages)
            };
            let rows: Vec<Value> = page.list.iter().map(row).collect();
            let head = format!("{} sub-agent(s)", page.total);
            let lines: Vec<String> = std::iter::once(head).chain(page.list.iter().map(line)).collect();
            (true, lines.join("\n"), json!({"subagents": rows, "total": page.total}))
        }
        SubagentsFound::Log(recalled) => {
            let text = last_words(recalled).unwrap_or_else(|| "it has said nothing yet".to_owned());
            let id = recalled.saved.summary.id.as_str();
            let data = json!({"id": id, "summary": text});
            (true, text, data)
        }
        SubagentsFound::Deleted => (true, "it is deleted".to_owned(), json!({"deleted": true})),
        SubagentsFound::Unknown => (false, "this session has no such sub-agent".to_owned(), json!({})),
    }
}

fn last_words(recalled: &Recalled) -> Option<String> {
    recalled.entries.iter().rev().find_map(|entry| {
        let Body::Assistant { message, .. } = &entry.body else { return None };
        let texts = message.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(&**text),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n\n");
        (!text.is_empty() && !matches!(message.end, MessageEnd::Failed(_))).then_some(text)
    })
}
