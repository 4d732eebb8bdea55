//! Slash commands that a session carries out itself.

use std::sync::Arc;

use vocab::{
    Body, BranchEntry, Call, Change, Compaction, Data, Entry, Fault, FaultKind, Mode, ModelInfo, QueueEntry, Reply,
    SlashReply, State, Tag, TurnEntry, map, thinking,
};

use super::jobs::Finish;
use super::perform::spec_bytes;
use super::{Session, guarded};
use crate::beyond;
use crate::commands::{self, failed, from_fault, ok, usage};
use crate::history::{self, History, MarkKind};
use crate::outbox::Outbox;

/// The tool whose calls are commands.
const COMMANDS: &str = "bash";

impl Session {
    /// `None`: the reply comes later.
    pub(super) async fn slash(&mut self, outbox: &Arc<Outbox>, tag: Tag, name: &str, args: &str) -> Option<SlashReply> {
        let Some(command) = commands::find(name) else { return Some(commands::unknown(name)) };
        let args = args.trim();
        let reply = match command.name {
            "status" => self.status(),
            "model" => {
                self.slash_model(outbox, tag, name, args);
                return None;
            }
            "mode" => self.slash_mode(args),
            "thinking" => self.slash_thinking(args),
            "context" => self.context().await,
            "compact" => {
                let wishes = (!args.is_empty()).then(|| Arc::from(args));
                match self.compact(outbox, tag, wishes, true).await {
                    Ok(()) => return None,
                    Err(fault) => compacted(Err(fault), &self.state()),
                }
            }
            "tools" => self.slash_tools(),
            "gadgets" => self.slash_gadgets(args),
            "export" if self.ledger.last_seq() == 0 => {
                failed("export", "not_found", "nothing to export yet: start a conversation first")
            }
            "export" => {
                self.export(outbox, tag, name, args);
                return None;
            }
            "undo" => self.undo(args).await,
            "cost" | "diff" => {
                let (name, tell) = (name.to_owned(), if command.name == "cost" { Self::cost } else { Self::diff });
                self.with_log(outbox, tag, 0, move |session, entries| {
                    let reply = tell(session, &entries);
                    Ok(Reply::Slash(Box::new(SlashReply { command: name, ..reply })))
                });
                return None;
            }
            "rename" if args.is_empty() => usage(command),
            "rename" => match self.set(Change::Title(args.into())) {
                Ok(()) => ok("rename", format!("title: {args}"), map! { "title" => args }),
                Err(fault) => from_fault("rename", &fault),
            },
            "save" => self.save(args, command),
            _ => commands::unknown(name),
        };
        // The name is echoed as it was given: `/permissions` is answered as `permissions`.
        Some(SlashReply { command: name.to_owned(), ..reply })
    }

    fn status(&self) -> SlashReply {
        let state = self.state();
        let text = format!(
            "session   {}\nmodel     {}\nmode      {}\nworkspace {}\nturn      {}\nmessages  {}\nsync      {}",
            state.session,
            state.model,
            state.mode.as_str(),
            state.workspace.display(),
            if state.turn.is_some() { "running" } else { "idle" },
            state.messages,
            self.settings.sync.as_str(),
        );
        let data = map! {
            "session_id" => state.session.as_str(),
            "model" => state.model.clone(),
            "mode" => state.mode.as_str(),
            "workspace" => state.workspace.display().to_string(),
            "turn_active" => state.turn.is_some(),
            "messages" => state.messages,
            "gadgets" => Data::texts(state.gadgets.clone()),
        };
        ok("status", text, data)
    }

    /// Whoever has the models may be far away: nobody waits for them but the one who asked.
    fn slash_model(&mut self, outbox: &Arc<Outbox>, tag: Tag, name: &str, args: &str) {
        let provider = self.shared.ports.provider.clone();
        let (name, args) = (name.to_owned(), args.to_owned());
        let job = async move {
            let models = provider.models().await;
            Finish::With(Box::new(move |session: &mut Session| {
                let reply = session.choose_model(&args, models);
                Ok(Reply::Slash(Box::new(SlashReply { command: name, ..reply })))
            }))
        };
        self.job(outbox, tag, Box::pin(job));
    }

    fn choose_model(&mut self, args: &str, models: Result<Vec<ModelInfo>, Fault>) -> SlashReply {
        let models: Vec<Arc<str>> = match models {
            Ok(models) => models.into_iter().map(|model| model.slug).collect(),
            Err(_) => vec![self.settings.model.clone()],
        };
        if args.is_empty() {
            let list = models.iter().map(|slug| format!("\n  {slug}")).collect::<String>();
            let text = format!("model: {}\navailable:{list}", self.settings.model);
            return ok("model", text, map! { "model" => self.settings.model.clone(), "models" => Data::texts(models) });
        }
        // A catalogue that knows names is believed: a typo must not become a model.
        // Other names may stand for one of its models.
        let meant = self.shared.ports.provider.resolve(args).map(|model| model.slug);
        let listed = |slug: &Arc<str>| **slug == *args || meant.as_ref().is_ok_and(|meant| meant == slug);
        if !models.is_empty() && !models.iter().any(listed) {
            let known: Vec<&str> = models.iter().map(|slug| &**slug).collect();
            return failed("model", "unknown_model", format!("unknown model: {args} (there is: {})", known.join(", ")));
        }
        let previous = self.settings.model.clone();
        match self.set(Change::Model(args.into())) {
            Ok(()) => ok(
                "model",
                format!("model: {previous} -> {}", self.settings.model),
                map! { "model" => self.settings.model.clone(), "previous" => previous, "models" => Data::texts(models) },
            ),
            Err(fault) => from_fault("model", &fault),
        }
    }

    fn slash_mode(&mut self, args: &str) -> SlashReply {
        let modes = Data::texts(Mode::ALL.map(Mode::as_str));
        let previous = self.settings.mode.as_str();
        if args.is_empty() {
            let text = format!("mode: {previous}\navailable: {}", Mode::ALL.map(Mode::as_str).join(", "));
            return ok("mode", text, map! { "mode" => previous, "modes" => modes });
        }
        let Some(mode) = Mode::parse(args) else {
            let known = Mode::ALL.map(Mode::as_str).join(", ");
            return failed("mode", "unknown_mode", format!("unknown mode: {args} (there is: {known})"));
        };
        match self.set(Change::Mode(mode)) {
            Ok(()) => ok(
                "mode",
                format!("mode: {previous} -> {}", mode.as_str()),
                map! { "mode" => mode.as_str(), "previous" => previous, "modes" => modes },
            ),
            Err(fault) => from_fault("mode", &fault),
        }
    }

    fn slash_thinking(&mut self, args: &str) -> SlashReply {
        let levels: Vec<Arc<str>> = match &self.model.levels {
            Some(levels) => levels.to_vec(),
            None => thinking::LEVELS.map(Arc::from).to_vec(),
        };
        let shown = |level: &Option<Arc<str>>| level.clone().unwrap_or_else(|| "the model's own".into());
        let previous = shown(&self.settings.thinking);
        let names: Vec<&str> = levels.iter().map(|level| &**level).collect();
        let known = names.join(", ");
        if args.is_empty() {
            let text = format!("thinking: {previous}\navailable: {known}");
            return ok("thinking", text, map! { "thinking" => previous, "levels" => Data::texts(levels) });
        }
        let Some(level) = thinking::clamp(&args.into(), Some(&levels)) else {
            return failed("thinking", "unknown_level", format!("unknown level: {args} (there is: {known})"));
        };
        match self.set(Change::Thinking(Some(level.clone()))) {
            Ok(()) => ok(
                "thinking",
                format!("thinking: {previous} -> {level}"),
                map! { "thinking" => level, "previous" => previous, "levels" => Data::texts(levels) },
            ),
            Err(fault) => from_fault("thinking", &fault),
        }
    }

    async fn context(&mut self) -> SlashReply {
        if let Err(fault) = self.load_at_rest().await {
            return from_fault("context", &fault);
        }
        self.brief_at_rest().await;
        let spec = self.spec.take().unwrap_or_else(|| self.make_spec());
        let system = vocab::estimate_tokens(spec.system.len());
        let tools = vocab::estimate_tokens(spec_bytes(&spec) - spec.system.len());
        self.spec = Some(spec);
        let history = self.history.as_ref().map_or(0, |history| vocab::estimate_tokens(history.bytes()));
        let state = self.state();
        // Nobody has counted before the first call.
        let used = match state.context_tokens {
            0 => system + tools + history,
            counted => counted,
        };
        let [system, tools, history] = shares(used, [system, tools, history]);
        let state = State { context_tokens: used, ..state };
        let text = format!(
            "context: {used} of {} tokens ({:.1} %)\nsystem about {system}, tools {tools}, history {history}",
            state.context_window,
            state.context_pct(),
        );
        let data = map! {
            "context_window" => state.context_window,
            "used_tokens" => used,
            "context_pct" => state.context_pct(),
            "max_tokens" => state.max_tokens,
            "messages" => state.messages,
            "breakdown" => map! { "system" => system, "tools" => tools, "history" => history },
        };
        ok("context", text, data)
    }

    fn slash_tools(&self) -> SlashReply {
        let family = self.settings.family;
        let rows: Vec<(String, &str, Option<&str>)> = self
            .offered_tools()
            .map(|tool| {
                let name = &tool.spec().name;
                (family.show(name).to_owned(), family.told(name, tool.required()).as_str(), tool.gadget())
            })
            .collect();
        let text =
            rows.iter().map(|(name, required, _)| format!("{name:20} {required}")).collect::<Vec<_>>().join("\n");
        let data = rows
            .into_iter()
            .map(|(name, required, gadget)| map! { "name" => name, "required_mode" => required, "gadget" => gadget });
        ok("tools", text, map! { "tools" => data.collect::<Vec<Data>>() })
    }

    fn slash_gadgets(&mut self, args: &str) -> SlashReply {
        let mut words = args.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (None, ..) => {}
            (Some(switch @ ("on" | "off")), Some(name), None) => {
                let change = Change::Gadget { name: name.into(), on: switch == "on" };
                if let Err(fault) = self.set(change) {
                    return failed("gadgets", "unknown_gadget", fault.message);
                }
            }
            _ => return failed("gadgets", "usage", "usage: /gadgets [on|off NAME]"),
        }
        let (off, family) = (&self.settings.gadgets_off, self.settings.family);
        let rows = self.gadgets.iter().map(|gadget| {
            let tools = self.tools.iter().filter(|tool| tool.gadget() == Some(&gadget.name));
            map! {
                "name" => gadget.name.clone(),
                "enabled" => !off.contains(&gadget.name),
                "description" => gadget.description.clone(),
                "tools" => Data::texts(tools.map(|tool| family.show(&tool.spec().name).to_owned())),
            }
        });
        let text = match self.gadgets.len() {
            0 => "no gadgets are configured".to_owned(),
            _ => self
                .gadgets
                .iter()
                .map(|it| format!("{} {}", if off.contains(&it.name) { "off" } else { "on " }, it.name))
                .collect::<Vec<_>>()
                .join("\n"),
        };
        ok("gadgets", text, map! { "gadgets" => rows.collect::<Vec<Data>>() })
    }

    fn export(&mut self, outbox: &Arc<Outbox>, tag: Tag, name: &str, args: &str) {
        let file = (!args.is_empty()).then(|| self.settings.workspace.join(args));
        let name = name.to_owned();
        self.export_job(outbox, tag, file, move |result| {
            let reply = match result {
                Ok(done) => ok(
                    "export",
                    format!("wrote {} ({} bytes)", done.path.display(), done.bytes),
                    map! { "path" => done.path.display().to_string(), "format" => done.format, "bytes" => done.bytes },
                ),
                Err(fault) => from_fault("export", &fault),
            };
            Ok(Reply::Slash(Box::new(SlashReply { command: name, ..reply })))
        });
    }

    async fn undo(&mut self, args: &str) -> SlashReply {
        let count: usize = match args {
            "" => 1,
            text => match text.parse() {
                Ok(count) if count > 0 => count,
                _ => return failed("undo", "usage", "usage: /undo [n]"),
            },
        };
        if self.lane.is_busy() {
            return failed("undo", "turn_in_progress", "a turn is running; interrupt it first");
        }
        match self.take_back(count).await {
            Ok(None) => failed("undo", "not_found", "there is nothing to undo"),
            Ok(Some(TakenBack { messages, files, told })) => {
                self.tell_state();
                ok(
                    "undo",
                    format!("took back {messages} message(s){told}"),
                    map! { "removed_messages" => messages, "restored_files" => Data::texts(files) },
                )
            }
            Err(fault) => from_fault("undo", &fault),
        }
    }

    /// The move is in the log before a file is touched, and that the files are back is said behind it: whatever ends us in
    /// between, the log does not say less than was done.
    async fn take_back(&mut self, count: usize) -> Result<Option<TakenBack>, Fault> {
        self.load().await?;
        let history = self.history.as_ref().expect("just loaded");
        let prompts: Vec<u64> =
            history.marks().iter().filter(|mark| mark.kind == MarkKind::User).map(|mark| mark.seq).collect();
        let Some(first) = prompts.len().checked_sub(count.min(prompts.len())).and_then(|at| prompts.get(at)).copied()
        else {
            return Ok(None);
        };
        let before = history.messages();
        // The branch goes on from what stood before the turn of that prompt.
        self.await_commits().await?;
        let mut entries = self.shared.ports.store.read(&self.id, 0, usize::MAX).await?.entries;
        entries.retain(|entry| self.ledger.told(entry.seq));
        let path = history::active_path(&entries);
        let to = path.iter().take_while(|entry| entry.seq < first).filter(|entry| !opens_turn(&entry.body)).last();
        let to = to.map_or(0, |entry| entry.seq);
        let edits = history::edits_after(&entries, to);
        let commands = beyond::commands_after(&entries, to, |call| self.would_change(call));
        self.ledger.log(Body::Branch(BranchEntry::Moved { to }));
        self.await_commits().await?;
        let files = self.shared.ports.toolbox.restore(&self.settings.workspace, &edits);
        if !edits.is_empty() {
            self.ledger.log(Body::Branch(BranchEntry::Restored { files: files.clone() }));
        }
        self.history = None;
        self.load().await?;
        let after = self.history.as_ref().map_or(0, History::messages);
        let mut told = beyond::undone(&edits, &files);
        let beyond = beyond::told(&commands, "; what they changed is not taken back");
        if !beyond.is_empty() {
            told.push('\n');
            told.push_str(&beyond);
        }
        Ok(Some(TakenBack { messages: before.saturating_sub(after), files, told }))
    }

    /// What a command changes beyond the files that are kept; other tools keep what they change.
    fn would_change(&self, call: &Call) -> Option<Arc<str>> {
        let tool = self.find_tool(&call.name).filter(|tool| &*tool.spec().name == COMMANDS)?;
        guarded(|| tool.plan(&call.input.json())).ok()?.ok()?.mutation
    }

    fn cost(&mut self, entries: &[Arc<Entry>]) -> SlashReply {
        let totals = vocab::Totals::of(entries);
        let spent = totals.usage();
        let (input, output) = (spent.prompt(), spent.output);
        let provider = &self.shared.ports.provider;
        let cost = totals.cost(|slug| provider.resolve(slug).ok()?.prices);
        // Before anything was used, nothing is known to have no price.
        let cost = cost.filter(|_| self.model.prices.is_some() || spent.context() > 0);
        let price = cost.map(|cost| format!(", about ${cost:.4}")).unwrap_or_default();
        let text = format!("{input} input and {output} output tokens in {} turn(s){price}", totals.turns());
        ok("cost", text, map! { "input_tokens" => input, "output_tokens" => output, "turns" => totals.turns() })
    }

    fn diff(&mut self, entries: &[Arc<Entry>]) -> SlashReply {
        let diffs = self.shared.ports.toolbox.diff(&history::edits_after(entries, 0));
        let patch: String = diffs.iter().map(|diff| diff.patch.as_str()).collect();
        let rows = diffs
            .iter()
            .map(|diff| map! { "path" => diff.path.clone(), "added" => diff.added, "removed" => diff.removed });
        let commands = beyond::commands_after(entries, 0, |call| self.would_change(call));
        let beyond = beyond::told(&commands, "; what they changed is not in here");
        let text = match (patch.is_empty(), beyond.is_empty()) {
            (true, true) => "no changes".to_owned(),
            (true, false) => format!("no changes by the tools that edit files\n{beyond}"),
            (false, true) => patch.clone(),
            (false, false) => format!("{patch}\n{beyond}"),
        };
        ok("diff", text, map! { "files" => rows.collect::<Vec<Data>>(), "patch" => patch })
    }

    fn save(&mut self, args: &str, command: &commands::SlashCommand) -> SlashReply {
        let (key, value) = match args {
            "model" => ("model", self.settings.model.to_string()),
            "mode" => ("mode", self.settings.mode.as_str().to_owned()),
            _ => return usage(command),
        };
        match self.shared.ports.preferences.save(key, &value) {
            Ok(path) => ok(
                "save",
                format!("saved {key} = {value} in {}", path.display()),
                map! { "path" => path.display().to_string(), "saved" => Data::Map(vec![(key, value.into())]) },
            ),
            Err(fault) => from_fault("save", &fault),
        }
    }
}

/// What an undo did.
struct TakenBack {
    messages: u64,
    /// Files that are as they were before.
    files: Vec<Arc<str>>,
    /// What became of the files, and what it could not reach; lines behind a first one.
    told: String,
}

fn opens_turn(body: &Body) -> bool {
    matches!(body, Body::Turn(TurnEntry::Started { .. }) | Body::User { .. } | Body::Queue(QueueEntry::Settled { .. }))
}

/// What of a whole falls to each of three estimates: they add up to it. What rounding leaves over goes to the last.
fn shares(whole: u64, [first, second, third]: [u64; 3]) -> [u64; 3] {
    let all = (u128::from(first) + u128::from(second) + u128::from(third)).max(1);
    // No more than the whole, so it fits.
    let share = |part: u64| (u128::from(whole) * u128::from(part) / all) as u64;
    let (first, second) = (share(first), share(second));
    [first, second, whole - first - second]
}

/// How a compaction is answered.
pub(super) fn compacted(result: Result<Compaction, Fault>, now: &State) -> SlashReply {
    match result {
        Ok(done) => ok(
            "compact",
            format!("compacted {} messages to {}", done.messages_before, done.messages_after),
            map! {
                "compacted" => true,
                "messages_before" => done.messages_before,
                "messages_after" => done.messages_after,
                "tokens_before" => done.tokens_before,
                "tokens_after" => done.tokens_after,
            },
        ),
        Err(fault) if fault.kind == FaultKind::NothingToDo => ok(
            "compact",
            fault.message,
            map! {
                "compacted" => false,
                "messages_before" => now.messages,
                "messages_after" => now.messages,
                "tokens_before" => now.context_tokens,
                "tokens_after" => now.context_tokens,
            },
        ),
        Err(fault) => from_fault("compact", &fault),
    }
}
