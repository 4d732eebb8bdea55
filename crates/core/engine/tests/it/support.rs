//! A model that plays given replies and remembers what it was sent, tools that do what their arguments say, and logs as
//! text.

use std::collections::VecDeque;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use testkit::stage::Actor;
use testkit::{Stage, StageOptions};
use tokio::time::Sleep;
use vocab::*;

pub(crate) enum Step {
    Event(ModelEvent),
    Wait(u64),
    Hold,
    Panic,
}

pub(crate) type Play = Vec<Step>;

pub(crate) fn say(text: &str) -> Play {
    vec![Step::Event(ModelEvent::Text(text.into())), done(Finish::Stop)]
}
pub(crate) fn text(text: &str) -> Step {
    Step::Event(ModelEvent::Text(text.into()))
}
pub(crate) fn done(finish: Finish) -> Step {
    Step::Event(ModelEvent::Finished(finish))
}
pub(crate) fn used(input: u64, output: u64) -> Step {
    Step::Event(ModelEvent::Usage(Usage { input, output, ..Usage::default() }))
}
pub(crate) fn call_step(index: u32, name: &str, input: &str) -> Step {
    let id = Some(format!("c{}", index + 1));
    Step::Event(ModelEvent::Call { index, id, name: Some(name.into()), input: input.into() })
}
/// A reply that calls these tools.
pub(crate) fn calls(list: &[(&str, &str)]) -> Play {
    let steps = list.iter().enumerate().map(|(index, (name, input))| call_step(index as u32, name, input));
    steps.chain([done(Finish::ToolUse)]).collect()
}
pub(crate) fn fail(kind: FaultKind) -> Play {
    vec![fail_step(kind)]
}
pub(crate) fn fail_step(kind: FaultKind) -> Step {
    Step::Event(ModelEvent::Failed(ModelFault::new(kind, "it failed")))
}
pub(crate) fn held(first: &str) -> Play {
    vec![text(first), Step::Hold]
}

/// Plays its replies in order, whatever chat asks, and says `ok` when they are used up.
#[derive(Default)]
pub(crate) struct Player {
    plays: Mutex<VecDeque<Play>>,
    /// What each call was sent, sketched, and the names of the tools offered with it.
    pub(crate) sent: Mutex<Vec<(String, Vec<String>)>>,
    /// The system prompt of each call.
    pub(crate) system: Mutex<Vec<String>>,
}

impl Player {
    pub(crate) fn new(plays: impl IntoIterator<Item = Play>) -> Arc<Self> {
        Arc::new(Self {
            plays: Mutex::new(plays.into_iter().collect()),
            sent: Mutex::default(),
            system: Mutex::default(),
        })
    }
    pub(crate) fn last_sent(&self) -> String {
        self.sent.lock().unwrap().last().map(|(sketch, _)| sketch.clone()).unwrap_or_default()
    }
    pub(crate) fn calls_made(&self) -> usize {
        self.sent.lock().unwrap().len()
    }
}

/// The provider in front of a player.
pub(crate) struct Front(pub(crate) Arc<Player>);

impl Provider for Front {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        match slug {
            "m1" | "m2" => Ok(tour::model(slug, if slug == "m1" { 1000 } else { 4000 })),
            // One with two that stand in for it, and one that is gone.
            "chain" => {
                Ok(ModelInfo { fallbacks: ["m2", "gone", "far1"].map(Arc::from).into(), ..tour::model(slug, 4000) })
            }
            // One that names itself, and another twice.
            "loop" => {
                Ok(ModelInfo { fallbacks: ["loop", "m2", "m2"].map(Arc::from).into(), ..tour::model(slug, 4000) })
            }
            // Another provider's.
            "far1" | "far2" => Ok(ModelInfo { provider: "far".into(), ..tour::model(slug, 4000) }),
            _ => Err(Fault::new(FaultKind::UnknownModel, format!("unknown model: {slug} (there is: m1, m2)"))),
        }
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async { Ok(vec![self.resolve("m1")?, self.resolve("m2")?]) })
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        Ok(Box::new(PlayerChat { player: self.0.clone(), model: model.slug.clone(), messages: Vec::new() }))
    }
}

struct PlayerChat {
    player: Arc<Player>,
    model: Arc<str>,
    messages: Vec<Message>,
}

impl Chat for PlayerChat {
    fn push(&mut self, message: &Message) {
        self.messages.push(message.clone());
    }
    fn clear(&mut self) {
        self.messages.clear();
    }
    fn bytes(&self) -> usize {
        sketch(&self.messages).len()
    }
    fn call(&mut self, spec: &CallSpec) -> ModelStream {
        testkit::sim::check_history(&self.messages).expect("the history is one that a provider takes");
        let tools = spec.tools.iter().map(|tool| tool.name.to_string()).collect();
        let seen = format!("{}: {}", self.model, sketch(&self.messages));
        self.player.sent.lock().unwrap().push((seen, tools));
        self.player.system.lock().unwrap().push(spec.system.to_string());
        let play = self.player.plays.lock().unwrap().pop_front().unwrap_or_else(|| say("ok"));
        Box::pin(Playing { steps: play.into_iter(), sleep: None })
    }
}

fn sketch(messages: &[Message]) -> String {
    let one = |message: &Message| match message {
        Message::User(parts) => format!("user {}", parts_text(parts)),
        Message::Assistant(message) => {
            let calls: String = message.calls().map(|call| format!(" {}({})", call.name, call.id)).collect();
            format!("assistant {}{calls}", message.text())
        }
        Message::Result(result) => format!("result {} {:?} {}", result.call, result.end, result.text()),
    };
    messages.iter().map(one).collect::<Vec<_>>().join(" | ")
}

struct Playing {
    steps: std::vec::IntoIter<Step>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Stream for Playing {
    type Item = ModelEvent;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                if sleep.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                self.sleep = None;
            }
            match self.steps.next() {
                None => return Poll::Ready(None),
                Some(Step::Event(event)) => return Poll::Ready(Some(event)),
                Some(Step::Wait(ms)) => self.sleep = Some(Box::pin(tokio::time::sleep(Duration::from_millis(ms)))),
                Some(Step::Hold) => self.sleep = Some(Box::pin(tokio::time::sleep(Duration::from_secs(1_000_000)))),
                Some(Step::Panic) => panic!("a scripted panic of the stream"),
            }
        }
    }
}

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
            preview: None,
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
        Body::Queue(QueueEntry::Settled { item, end }) => format!("  {item} {end:?}"),
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
        Body::Setting(SettingEntry::Model { model }) => format!("model {model}"),
        Body::Setting(SettingEntry::Mode { mode }) => format!("mode {}", mode.as_str()),
        Body::Setting(SettingEntry::Thinking { level }) => format!("thinking {level:?}"),
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
        Body::Note(NoteEntry::Label { target, label }) => format!("label {target} {label:?}"),
        Body::Branch(BranchEntry::Summary { summary, .. }) => format!("branch summary {summary:?}"),
        Body::Note(NoteEntry::Recovered { text }) => format!("recovered: {text}"),
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
            Event::Delta(Delta::ModelCalled { turn }) => format!("{turn} calls"),
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
