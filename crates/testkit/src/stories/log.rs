//! A log as text that people compare: everything that matters, without ids and clocks.

use std::sync::Arc;

use vocab::{
    Answer, AskEnd, AskEntry, AskKind, Block, Body, BranchEntry, CallEntry, CallInput, Entry, MessageEnd, ModelEntry,
    NoteEntry, Part, QueueEntry, SessionId, SettingEntry, ShellEntry, Store, TurnEntry,
};

/// The whole log of a session.
pub async fn read_log(store: &Arc<dyn Store>, session: &SessionId) -> Vec<Arc<Entry>> {
    store.read(session, 0, usize::MAX).await.expect("the log can be read").entries
}

/// One line per entry.
pub fn shown_log(entries: &[Arc<Entry>]) -> Vec<String> {
    entries.iter().map(|entry| shown(&entry.body)).collect()
}

pub(super) fn shown_parts(parts: &[Part]) -> String {
    let shown: Vec<String> = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => format!("{text:?}"),
            Part::Image(image) => format!("[{}]", image.mime),
        })
        .collect();
    shown.join(" ")
}

pub(super) fn shown_blocks(blocks: &[Block]) -> String {
    let shown: Vec<String> = blocks
        .iter()
        .map(|block| match block {
            Block::Text(text) => format!("{text:?}"),
            Block::Thinking { text, .. } => format!("thinking {text:?}"),
            Block::Redacted(_) => "thinking, redacted".to_owned(),
            Block::Call(call) => match &call.input {
                CallInput::Object(json) => format!("{}{}", call.name, json.as_str()),
                CallInput::Broken { text, .. } => format!("{} broken {text:?}", call.name),
            },
        })
        .collect();
    shown.join(" ")
}

fn shown(body: &Body) -> String {
    match body {
        Body::Opened { model, mode, forked_from, child_of, .. } => {
            let fork = if forked_from.is_some() { " as a fork" } else { "" };
            let child = if child_of.is_some() { " as a child" } else { "" };
            format!("opened {model} {}{fork}{child}", mode.as_str())
        }
        Body::Turn(TurnEntry::Started { .. }) => "turn".into(),
        Body::User { parts, from, .. } => format!("user {from:?} {}", shown_parts(parts)),
        Body::Assistant { message, .. } => {
            let end = match &message.end {
                MessageEnd::Finished(finish) => format!("{finish:?}"),
                MessageEnd::Interrupted => "Interrupted".into(),
                MessageEnd::Failed(fault) => format!("Failed {:?}", fault.fault.kind),
            };
            format!("assistant {} {end}", shown_blocks(&message.blocks))
        }
        Body::Call(CallEntry::Started { tool, .. }) => format!("call {tool}"),
        Body::Call(CallEntry::Ended { result, .. }) => {
            let error = if result.is_error { " error" } else { "" };
            let changed = result.mutation.as_ref().map(|target| format!(" changed {target}")).unwrap_or_default();
            format!("result {} {:?}{error} {}{changed}", result.tool, result.end, shown_parts(&result.parts))
        }
        Body::Turn(TurnEntry::Taken { items, .. }) => format!("takes {} messages", items.len()),
        Body::Turn(TurnEntry::Cut { why, .. }) => format!("cut {why:?}"),
        Body::Turn(TurnEntry::Ended(end)) => {
            let fault = end.fault.as_ref().map(|fault| format!(" {:?}", fault.kind)).unwrap_or_default();
            let changed: String = end.mutations.iter().map(|(tool, target)| format!(" {tool}:{target}")).collect();
            let usage = if end.usage.estimated {
                "estimated".into()
            } else {
                format!("{}/{}", end.usage.prompt(), end.usage.output)
            };
            format!("end {:?}{fault} rounds {} tokens {usage}{changed}", end.stop, end.iterations)
        }
        Body::Ask(AskEntry::Opened(ask)) => match &ask.kind {
            AskKind::Permission(ask) => format!("ask {} needs {}", ask.tool, ask.required.as_str()),
            AskKind::HostCall { tool, input, .. } => format!("ask host {tool}{}", input.as_str()),
            AskKind::Budget(ask) => format!("ask budget {}: {}", ask.name(), ask.unit.shown(ask.spent)),
            other => format!("ask {other:?}"),
        },
        Body::Ask(AskEntry::Closed { end, .. }) => match end {
            AskEnd::Withdrawn => "withdrawn".into(),
            AskEnd::Answered { answer: Answer::Allow(scope), .. } => format!("answer allow {scope:?}"),
            // The reason is in the result; whether a fixed text was ours or the dialect's is nobody's business.
            AskEnd::Answered { answer: Answer::Deny(_), .. } => "answer deny".into(),
            AskEnd::Answered { answer: Answer::Result { is_error, .. }, .. } => {
                format!("answer result{}", if *is_error { " error" } else { "" })
            }
            AskEnd::Answered { answer, .. } => format!("answer {answer:?}"),
        },
        Body::Queue(QueueEntry::Queued(item)) => format!("queued {:?} {}", item.delivery, shown_parts(&item.parts)),
        Body::Queue(QueueEntry::Settled { end, .. }) => format!("settled {end:?}"),
        Body::Model(ModelEntry::Requested(it)) => format!("requested {} {}", it.model, it.bytes),
        Body::Model(ModelEntry::FellBack(it)) => {
            let skipped: String = it.skipped.iter().map(|(slug, why)| format!(", not {slug}: {why}")).collect();
            format!("{} could not ({:?}), {} is asked{skipped}", it.from, it.fault.kind, it.to)
        }
        Body::Model(ModelEntry::Spent { model, usage, .. }) => {
            format!("spent {model} {}+{}", usage.prompt(), usage.output)
        }
        Body::Model(ModelEntry::Retrying { attempt, attempts_max, wait_ms, fault, .. }) => {
            format!("retry {attempt} of {attempts_max} after {wait_ms} ms: {:?}", fault.kind)
        }
        Body::Branch(BranchEntry::Compacted(done)) => {
            format!("compacted {:?} {} -> {} messages", done.reason, done.messages_before, done.messages_after)
        }
        Body::Branch(BranchEntry::Moved { to }) => format!("moved to {to}"),
        Body::Branch(BranchEntry::Restored { files }) => format!("restored {}", files.join(", ")),
        Body::Shell(ShellEntry::Started { command, .. }) => format!("shell {command:?} starts"),
        Body::Shell(ShellEntry::Called { tool, .. }) => format!("{tool} is called by hand"),
        Body::Shell(ShellEntry::Returned(result)) => format!("{} by hand {:?}", result.tool, result.end),
        Body::Setting(SettingEntry::Model { model, .. }) => format!("model {model}"),
        Body::Setting(SettingEntry::Mode { mode }) => format!("mode {}", mode.as_str()),
        Body::Setting(SettingEntry::Thinking { level }) => format!("thinking {level:?}"),
        Body::Setting(SettingEntry::Lane { wish }) if wish.is_empty() => "lane as usual".into(),
        Body::Setting(SettingEntry::Lane { wish }) => format!("lane {:?}", wish.mode),
        Body::Setting(SettingEntry::Elevated { until_ms }) => format!("elevated until {until_ms:?}"),
        Body::Setting(SettingEntry::Gadgets { off }) => format!("gadgets off {off:?}"),
        Body::Setting(SettingEntry::Title { title }) => format!("title {title:?}"),
        Body::Shell(ShellEntry::Ended(shell)) => {
            format!("shell {:?} {:?} {:?}", shell.command, shell.exit_code, shell.output)
        }
        Body::Setting(SettingEntry::Todos { phases }) => {
            let open = vocab::open_tasks(phases).count();
            format!("todos {} open {open}", phases.iter().map(|phase| phase.tasks.len()).sum::<usize>())
        }
        Body::Note(NoteEntry::Imported { names, .. }) => format!("imported {} names", names.len()),
        Body::Note(NoteEntry::Label { target, label }) => format!("label {target} {label:?}"),
        Body::Branch(BranchEntry::Summary { summary, .. }) => format!("branch summary {summary:?}"),
        Body::Note(NoteEntry::Keyed(keyed)) => format!("keyed {}", keyed.key),
        Body::Note(NoteEntry::Waived { tool, .. }) => format!("waived {tool}"),
        Body::Note(NoteEntry::Recovered { text }) => format!("recovered {text:?}"),
    }
}
