//! Tools that do what their arguments say, a stage with them and a scripted model, and logs as text.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use testkit::player::*;
use testkit::stage::Actor;
use testkit::{Stage, StageOptions};
use vocab::*;

/// `look`, `change` and `danger`: one tool for each rung of the ladder. The arguments say what happens.
pub(crate) struct Tools;

impl Toolbox for Tools {
    fn open(&self, _: &SessionId, _: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let rungs = [
            ("look", Required::ReadOnly),
            ("change", Required::WorkspaceWrite),
            ("danger", Required::DangerFullAccess),
        ];
        let make = |(name, required): (&str, Required)| -> Arc<dyn Tool> {
            let spec = ToolSpec { name: name.into(), description: name.into(), schema: Json::empty_object() };
            Arc::new(OneTool { spec, required })
        };
        Ok(rungs.map(make).into())
    }
    fn restore(&self, _: &Path, edits: &[FileEdit]) -> Vec<Arc<str>> {
        edits.iter().map(|edit| edit.path.clone()).collect()
    }
    fn diff(&self, _: &[FileEdit]) -> Vec<FileDiff> {
        Vec::new()
    }
    /// Says `started` and the command. `hang` runs until it is stopped, `deaf` does not hear that, `wait` takes two
    /// seconds, `bang` panics.
    fn shell(
        &self,
        _: &SessionId,
        _: &Path,
        command: &str,
        told: Progress,
        stop: Later<'static, ()>,
    ) -> Later<'static, Shell> {
        let command: Arc<str> = command.into();
        Box::pin(async move {
            told("started\n");
            let mut cancelled = false;
            match &*command {
                "hang" => {
                    stop.await;
                    cancelled = true;
                }
                "deaf" => std::future::pending().await,
                "wait" => tokio::time::sleep(Duration::from_secs(2)).await,
                "bang" => panic!("a scripted panic of a command"),
                _ => {}
            }
            let output = if cancelled { "started\n".to_owned() } else { format!("started\n{command}\n") };
            Shell {
                command,
                exit_code: (!cancelled).then_some(0),
                cancelled,
                truncated: false,
                total_lines: output.matches('\n').count() as u64 + 1,
                total_bytes: output.len() as u64,
                output: output.into(),
                spilled: None,
                aside: false,
            }
        })
    }
}

thread_local! {
    /// Where a call leads whose input names a `place`.
    pub(crate) static PLACE: std::cell::Cell<&'static str> = const { std::cell::Cell::new("/here") };
}

struct OneTool {
    spec: ToolSpec,
    required: Required,
}

impl Tool for OneTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn required(&self) -> Required {
        self.required
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        match input.as_str() {
            text if text.contains("wrong") => return Err("`wrong` is no field of this tool".into()),
            text if text.contains("panic_plan") => panic!("a scripted panic of a plan"),
            _ => {}
        }
        let changes = self.required > Required::ReadOnly;
        Ok(Plan {
            required: self.required,
            mutation: changes.then(|| "file".into()),
            summary: self.spec.name.clone(),
            preview: input.as_str().contains("place").then(|| [Fact::line("directory", PLACE.get())].into()),
        })
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let input = input.as_str().to_owned();
        assert!(!input.contains("panic_start"), "a scripted panic of a tool");
        let changes = self.required > Required::ReadOnly;
        Box::pin(async move {
            if !input.contains("quiet") {
                (context.progress)(&format!("working on {input}"));
            }
            if input.contains("hangs") {
                std::future::pending::<()>().await;
            }
            if input.contains("slow") {
                tokio::time::sleep(Duration::from_secs(30)).await;
            }
            assert!(!input.contains("panic_run"), "a scripted panic of a tool");
            if input.contains("fails") {
                return Outcome::error("it did not work");
            }
            if input.contains("odd") {
                return Outcome::text("nul \0 line \u{2028} lone \u{fffd} smile \u{1f600}");
            }
            let mut outcome = Outcome::text("done");
            if changes {
                let after = Snapshot::Text("new".into());
                outcome.edits.push(FileEdit { path: "file".into(), before: Snapshot::Absent, after });
            }
            outcome
        })
    }
}

pub(crate) fn stage(player: &Arc<Player>) -> Stage {
    stage_with(player, |_| {})
}
pub(crate) fn stage_with(player: &Arc<Player>, change: impl FnOnce(&mut StageOptions)) -> Stage {
    let mut options = StageOptions {
        provider: Arc::new(Front(player.clone())),
        model: "m1".into(),
        toolbox: Some(Arc::new(Tools)),
        ..StageOptions::default()
    };
    change(&mut options);
    Stage::new(options)
}

/// The log as the store has it, one line for each entry.
pub(crate) async fn log(stage: &Stage) -> String {
    log_of(stage, "s1").await
}
pub(crate) async fn log_of(stage: &Stage, session: &str) -> String {
    let page = stage.store.read(&session.into(), 0, usize::MAX).await.expect("a log");
    page.entries.iter().map(|entry| format!("{}\n", line(&entry.body))).collect()
}

pub(crate) fn line(body: &Body) -> String {
    let parts = |parts: &[Part]| parts_text(parts);
    match body {
        Body::Opened { model, mode, forked_from, child_of, .. } => {
            let from = forked_from.as_ref().map(|(id, at)| format!(", from {id} at {at}")).unwrap_or_default();
            let of = child_of.as_ref().map(|(id, call)| format!(", for {call} of {id}")).unwrap_or_default();
            format!("opened {model} {}{from}{of}", mode.as_str())
        }
        Body::Turn(TurnEntry::Started { turn }) => format!("{turn} started"),
        Body::User { parts: said, from, .. } => format!("  user ({from:?}): {}", parts(said)),
        Body::Assistant { message, .. } => {
            let calls: String = message.calls().map(|call| format!(" [{} {}]", call.id, call.name)).collect();
            let end = match &message.end {
                MessageEnd::Finished(finish) => format!("{finish:?}"),
                MessageEnd::Interrupted => "cut by an interrupt".into(),
                MessageEnd::Failed(fault) => format!("cut by {:?}", fault.fault.kind),
            };
            format!("  assistant: {}{calls} ({end})", message.text())
        }
        Body::Call(CallEntry::Started { call, tool, .. }) => format!("  {} {tool} starts", call.id),
        Body::Call(CallEntry::Ended { result, .. }) => format!("  {} {:?}: {}", result.call, result.end, result.text()),
        Body::Turn(TurnEntry::Taken { items, trace, .. }) => {
            let items: Vec<&str> = items.iter().map(|item| item.as_str()).collect();
            let trace = trace.as_ref().map(|trace| format!(", trace {trace}")).unwrap_or_default();
            format!("  takes {}{trace}", items.join(" "))
        }
        Body::Turn(TurnEntry::Cut { turn, why, item: None }) => format!("{turn} cut: {why:?}"),
        Body::Turn(TurnEntry::Cut { turn, why, item: Some(item) }) => format!("{turn} cut: {why:?} for {item}"),
        Body::Turn(TurnEntry::Ended(end)) => {
            let fault = end.fault.as_ref().map(|fault| format!(", {:?}: {fault}", fault.kind)).unwrap_or_default();
            format!("{} ended: {:?}, {} rounds{fault}", end.turn, end.stop, end.iterations)
        }
        Body::Ask(AskEntry::Opened(ask)) => match &ask.kind {
            AskKind::Permission(it) => format!("  {} may {} run?", ask.id, it.tool),
            AskKind::HostCall { tool, .. } => format!("  {} run {tool} for us", ask.id),
            other => format!("  {} {other:?}", ask.id),
        },
        Body::Ask(AskEntry::Closed { ask, end }) => match end {
            AskEnd::Answered { answer, by } => {
                format!("  {ask} answered {answer:?} by {}", by.as_deref().unwrap_or("nobody"))
            }
            AskEnd::Withdrawn => format!("  {ask} withdrawn"),
        },
        Body::Queue(QueueEntry::Queued(item)) => {
            format!("  {} waits ({:?}): {}", item.id, item.delivery, parts(&item.parts))
        }
        Body::Queue(QueueEntry::Settled { item, end, .. }) => format!("  {item} {end:?}"),
        Body::Model(ModelEntry::Requested(it)) => format!("  requested {} {}", it.model, it.bytes),
        Body::Model(ModelEntry::FellBack(it)) => {
            let skipped: String = it.skipped.iter().map(|(slug, why)| format!(", not {slug}: {why}")).collect();
            format!("  {} could not ({:?}), {} is asked{skipped}", it.from, it.fault.kind, it.to)
        }
        Body::Model(ModelEntry::Spent { call, model, usage, .. }) => {
            let by = call.as_ref().map(|call| format!(" by {call}")).unwrap_or_default();
            format!("  spent {model} {}+{}{by}", usage.prompt(), usage.output)
        }
        Body::Model(ModelEntry::Retrying { attempt, attempts_max, wait_ms, fault, .. }) => {
            format!("  try {attempt} of {attempts_max} in {wait_ms} ms: {:?}", fault.kind)
        }
        Body::Branch(BranchEntry::Compacted(it)) => {
            format!("  compacted ({:?}), {} -> {}", it.reason, it.messages_before, it.messages_after)
        }
        Body::Branch(BranchEntry::Moved { to }) => format!("moved to {to}"),
        Body::Branch(BranchEntry::Restored { files }) => format!("restored {}", files.join(", ")),
        Body::Shell(ShellEntry::Started { command, .. }) => format!("shell {command:?} starts"),
        Body::Setting(SettingEntry::Model { model, called: None }) => format!("model {model}"),
        Body::Setting(SettingEntry::Model { model, called: Some(called) }) => format!("model {model} as {called}"),
        Body::Setting(SettingEntry::Mode { mode }) => format!("mode {}", mode.as_str()),
        Body::Setting(SettingEntry::Thinking { level }) => format!("thinking {level:?}"),
        Body::Setting(SettingEntry::Lane { wish }) if wish.is_empty() => "lane as usual".to_owned(),
        Body::Setting(SettingEntry::Lane { wish }) => match wish.mode {
            Some(mode) => format!("lane: {mode:?}"),
            None => "lane of its own".to_owned(),
        },
        Body::Setting(SettingEntry::Elevated { until_ms }) => format!("elevated until {until_ms:?}"),
        Body::Shell(ShellEntry::Called { call, tool }) => format!("{} {tool} by hand starts", call.id),
        Body::Shell(ShellEntry::Returned(result)) => {
            format!("{} by hand {:?}: {}", result.call, result.end, result.text())
        }
        Body::Setting(SettingEntry::Gadgets { off }) => format!("gadgets off: {off:?}"),
        Body::Setting(SettingEntry::Title { title }) => format!("title {title}"),
        Body::Shell(ShellEntry::Ended(shell)) => {
            format!("shell {:?} {:?} {:?}", shell.command, shell.exit_code, shell.output)
        }
        Body::Setting(SettingEntry::Todos { phases }) => {
            let open = open_tasks(phases).count();
            format!("todos {} open {open}", phases.iter().map(|phase| phase.tasks.len()).sum::<usize>())
        }
        Body::Note(NoteEntry::Imported { names, .. }) => format!("imported {} names", names.len()),
        Body::Note(NoteEntry::Keyed(keyed)) => format!("keyed {}", keyed.key),
        Body::Note(NoteEntry::Label { target, label }) => format!("label {target} {label:?}"),
        Body::Branch(BranchEntry::Summary { summary, .. }) => format!("branch summary {summary:?}"),
        Body::Note(NoteEntry::Recovered { text }) => format!("recovered: {text}"),
        Body::Note(NoteEntry::Waived { call, tool, .. }) => format!("{call} waived: {tool}"),
    }
}

pub(crate) async fn text_of(actor: &mut Actor, wanted: &str) {
    actor.until(|event| matches!(event, Event::Delta(Delta::Text { delta, .. }) if delta == wanted)).await;
}

/// Sends and waits for the reply.
pub(crate) async fn ask_for(actor: &mut Actor, verb: Verb) -> Result<Reply, Fault> {
    let tag = actor.send(verb).await;
    actor.reply(tag).await
}

/// What a peer was told, one word for each event, as far as the order of a turn goes.
pub(crate) fn order(actor: &Actor) -> Vec<String> {
    let word = |told: &Told| {
        Some(match &told.event {
            Event::Logged(entry) => match &entry.body {
                Body::Turn(TurnEntry::Started { turn }) => format!("{turn} started"),
                Body::Turn(TurnEntry::Ended(end)) => format!("{} ended", end.turn),
                Body::User { parts, .. } => format!("user {}", parts_text(parts)),
                Body::Assistant { .. } => "reply".into(),
                Body::Branch(BranchEntry::Compacted(it)) => format!("compacted ({:?})", it.reason),
                _ => return None,
            },
            Event::Delta(Delta::ModelCalled { turn, .. }) => format!("{turn} calls"),
            Event::Queue(QueueEvent::Ended { item, end, .. }) => format!("{item} {end:?}"),
            Event::Compaction(CompactionEvent::Started { reason }) => format!("compacting ({reason:?})"),
            Event::Compaction(CompactionEvent::Failed { .. }) => "not compacted".into(),
            Event::Reply { tag, result: Ok(Reply::Compacted(_)) } => format!("#{} compacted", tag.0),
            Event::Reply { tag, result: Err(fault) } => format!("#{} {:?}", tag.0, fault.kind),
            Event::Settled => "settled".into(),
            _ => return None,
        })
    };
    actor.told.iter().filter_map(word).collect()
}

pub(crate) fn slash(name: &str, args: &str) -> Verb {
    Verb::Session(SessionVerb::Slash { name: name.into(), args: args.into() })
}
