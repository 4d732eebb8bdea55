//! What events and commands weigh in memory, roughly: texts, images and lists by their bytes, everything else by a flat
//! price. Inbox, outbox and log count with it, so that a bound in bytes holds whatever stands in the queue.

use vocab::{
    Abilities, Answer, AskEntry, Body, BranchEntry, CallEntry, CallResult, Delta, EditorEvent, EditorRequest,
    EditorRequestKind, Entry, Event, ExtensionEvent, ExtensionVerb, HookCall, HookKind, HostTool, Item, KeptReply,
    Keyed, ModelEntry, NoteEntry, Notice, Open, Part, QueueEntry, QueueEvent, Reply, Saved, SessionVerb, SettingEntry,
    ShellEntry, SlashOutcome, SlashReply, Snapshot, State, ToolSpec, Verb,
};

/// What an event costs besides its text.
pub(crate) const EVENT_BYTES: usize = 96;
/// An entry, an item or a row of a list, besides its text.
const ROW_BYTES: usize = 256;
/// A model in a list.
const MODEL_BYTES: usize = 512;

pub(crate) fn event(event: &Event) -> usize {
    let text = match event {
        Event::Delta(Delta::Text { delta, .. })
        | Event::Delta(Delta::Thinking { delta, .. })
        | Event::Delta(Delta::CallInput { delta, .. }) => delta.len(),
        Event::Delta(Delta::CallProgress { parts: it, .. }) => parts(it),
        Event::ShellProgress { text, .. } => text.len(),
        Event::Logged(entry) => body(&entry.body),
        Event::Editor(EditorEvent::Request(EditorRequest { kind, .. })) => match kind {
            EditorRequestKind::WriteText { content, .. } => content.len(),
            EditorRequestKind::Run { args, .. } => args.iter().map(|arg| arg.len()).sum(),
            EditorRequestKind::ReadText { .. } => 0,
        },
        Event::Extension(ExtensionEvent::Hook(HookCall { kind, .. })) => match kind {
            HookKind::Turn { parts: it } | HookKind::Result { parts: it, .. } => parts(it),
            HookKind::Call { input, .. } => input.as_str().len(),
            HookKind::Command { args, .. } => args.len(),
        },
        Event::Queue(QueueEvent::Ended { lane: Some(note), .. } | QueueEvent::Refused { lane: note, .. }) => {
            note.texts.iter().map(|text| text.len()).sum()
        }
        Event::Queue(QueueEvent::Waiting(waiting)) => waiting.iter().map(item).sum(),
        Event::Extension(ExtensionEvent::Notice(it)) => notice(it),
        Event::Extension(ExtensionEvent::Trouble { source, during, text }) => source.len() + during.len() + text.len(),
        Event::Reply { result, .. } => result.as_ref().map_or(0, reply),
        Event::State(_)
        | Event::Delta(Delta::Sealed { .. })
        | Event::Delta(Delta::ModelCalled { .. })
        | Event::Compaction(_)
        | Event::Retry(_)
        | Event::Settled
        | Event::Watch(_)
        | Event::Editor(EditorEvent::Dropped { .. })
        | Event::SignIn { .. }
        | Event::Delta(Delta::CallBegan { .. })
        | Event::Queue(QueueEvent::Ended { lane: None, .. })
        | Event::Live { .. }
        | Event::TurnLost(_)
        | Event::Gone { .. } => 0,
    };
    EVENT_BYTES + text
}

fn slash_bytes(reply: &SlashReply) -> usize {
    match &reply.result {
        Ok(SlashOutcome::Diff { files, commands }) => {
            let patches: usize = files.iter().map(|file| file.patch.len() + ROW_BYTES).sum();
            patches + commands.iter().map(|command| command.len()).sum::<usize>()
        }
        Ok(SlashOutcome::Sessions(list)) => list.iter().map(saved).sum(),
        Ok(SlashOutcome::Model { models, .. }) => models.iter().map(|slug| slug.len()).sum(),
        Ok(_) => ROW_BYTES,
        Err(fault) => fault.message.len(),
    }
}

fn reply(given: &Reply) -> usize {
    match given {
        Reply::Entries(them) => entries(them),
        Reply::Recalled(it) => saved(&it.saved) + entries(&it.entries),
        Reply::Inspected(it) => {
            let commands = it.commands.len() * ROW_BYTES;
            state(&it.state) + it.spec.system.len() + tools(&it.spec.tools) + items(&it.waiting) + commands
        }
        Reply::Opened(it) => {
            state(&it.state) + items(&it.present.waiting) + entries(&it.present.asks) + entries(&it.present.round)
        }
        Reply::Slash(it) => slash_bytes(it) + ROW_BYTES,
        Reply::Queue(waiting) => items(waiting),
        Reply::Compacted(it) => it.summary.len(),
        Reply::Forked { text, .. } => text.len(),
        Reply::Shell(it) => it.output.len(),
        Reply::Models(list) => list.len() * MODEL_BYTES,
        Reply::Answered(it) => answer(it),
        Reply::Tools(list) => tools(list),
        Reply::Sessions(page) => page.list.iter().map(saved).sum(),
        Reply::Called(it) => result(it),
        Reply::Again(it) => reply(it),
        Reply::Recounted(it) => entries(&it.entries),
        Reply::Done
        | Reply::Found(_)
        | Reply::Started { .. }
        | Reply::Waiting { .. }
        | Reply::Interrupted { .. }
        | Reply::Exported(_)
        | Reply::Accounts(_)
        | Reply::SignedIn(_) => ROW_BYTES,
    }
}

/// What a command brings along.
pub(crate) fn verb(verb: &Verb) -> usize {
    let text = match verb {
        Verb::Session(SessionVerb::Prompt { parts: it, .. })
        | Verb::Session(SessionVerb::Progress { parts: it, .. }) => parts(it),
        Verb::Session(SessionVerb::Answer { answer: it, .. }) => answer(it),
        Verb::Session(SessionVerb::Slash { args, .. }) => args.len(),
        Verb::Session(SessionVerb::Shell { command, .. }) => command.len(),
        Verb::Session(SessionVerb::Call { input, .. }) => input.as_str().len(),
        Verb::Session(SessionVerb::OfferTools { tools }) => host_tools(tools),
        Verb::Session(SessionVerb::Able(Abilities { tools: Some(tools), .. })) => host_tools(tools),
        Verb::Open(Open { abilities: Abilities { tools: Some(tools), .. }, .. }) => host_tools(tools),
        Verb::Session(SessionVerb::Extension(ExtensionVerb::Show(it))) => notice(it),
        _ => 0,
    };
    ROW_BYTES + text
}

fn host_tools(tools: &[HostTool]) -> usize {
    tools.iter().map(|tool| ROW_BYTES + tool.description.len()).sum()
}

fn entries(entries: &[std::sync::Arc<Entry>]) -> usize {
    entries.iter().map(|entry| ROW_BYTES + body(&entry.body)).sum()
}

fn body(body: &Body) -> usize {
    match body {
        Body::User { parts: it, .. } => parts(it),
        Body::Assistant { message, .. } => message.blocks.iter().map(block).sum(),
        Body::Call(CallEntry::Started { call, .. }) | Body::Shell(ShellEntry::Called { call, .. }) => {
            call.input.json().as_str().len()
        }
        Body::Call(CallEntry::Ended { result: it, .. }) | Body::Shell(ShellEntry::Returned(it)) => result(it),
        Body::Queue(QueueEntry::Queued(it)) => item(it),
        Body::Branch(BranchEntry::Compacted(it)) => it.summary.len(),
        Body::Shell(ShellEntry::Ended(shell)) => shell.output.len() + shell.command.len(),
        Body::Branch(BranchEntry::Summary { summary, .. }) => summary.len(),
        Body::Note(NoteEntry::Imported { raws, names, .. }) => {
            raws.iter().map(|(_, raw)| raw.as_str().len()).sum::<usize>() + names.len() * EVENT_BYTES
        }
        Body::Note(NoteEntry::Keyed(it)) => keyed(it),
        Body::Ask(AskEntry::Opened(_))
        | Body::Model(ModelEntry::Requested(_))
        | Body::Setting(SettingEntry::Todos { .. }) => ROW_BYTES,
        _ => 0,
    }
}

fn result(result: &CallResult) -> usize {
    let edits = result.edits.iter().map(|edit| snapshot(&edit.before) + snapshot(&edit.after));
    parts(&result.parts) + edits.sum::<usize>()
}

/// A command's answer that is kept for its repeats.
pub(crate) fn keyed(keyed: &Keyed) -> usize {
    let kept = match &keyed.reply {
        KeptReply::Queue(waiting) => items(waiting),
        KeptReply::Done | KeptReply::Started { .. } | KeptReply::Waiting { .. } | KeptReply::Interrupted { .. } => 0,
    };
    ROW_BYTES + keyed.key.len() + kept
}

fn snapshot(snapshot: &Snapshot) -> usize {
    match snapshot {
        Snapshot::Text(text) => text.len(),
        _ => 0,
    }
}

fn items(items: &[Item]) -> usize {
    items.iter().map(item).sum()
}

fn item(item: &Item) -> usize {
    ROW_BYTES + parts(&item.parts)
}

fn notice(notice: &Notice) -> usize {
    match notice {
        Notice::Say { text, .. } | Notice::Title { text } | Notice::EditorText { text } => text.len(),
        Notice::Status { text, .. } => text.as_ref().map_or(0, |text| text.len()),
        Notice::Widget { lines, .. } => lines.iter().flatten().map(|line| line.len()).sum(),
        Notice::Exit => 0,
    }
}

fn answer(answer: &Answer) -> usize {
    match answer {
        Answer::Result { parts: it, .. } => parts(it),
        _ => ROW_BYTES,
    }
}

fn state(state: &State) -> usize {
    ROW_BYTES + state.todos.iter().map(|phase| phase.tasks.len() * ROW_BYTES).sum::<usize>()
}

fn saved(saved: &Saved) -> usize {
    ROW_BYTES + saved.summary.title.as_ref().map_or(0, |title| title.len())
}

fn tools(tools: &[ToolSpec]) -> usize {
    tools.iter().map(|tool| ROW_BYTES + tool.description.len() + tool.schema.as_str().len()).sum()
}

fn parts(parts: &[Part]) -> usize {
    let part = |part: &Part| match part {
        Part::Text(text) => text.len(),
        Part::Image(image) => image.base64.len(),
    };
    parts.iter().map(part).sum()
}

fn block(block: &vocab::Block) -> usize {
    match block {
        vocab::Block::Text(text) | vocab::Block::Thinking { text, .. } | vocab::Block::Redacted(text) => text.len(),
        vocab::Block::Call(call) => call.input.json().as_str().len(),
    }
}
