//! Slash commands that a session carries out itself.

use std::sync::Arc;

use vocab::{
    Body, BranchEntry, Call, Change, CompactedTo, Compaction, ContextUse, Entry, Fault, FaultKind, GadgetRow, Mode,
    ModelInfo, QueueEntry, Reply, SlashCode, SlashOutcome, State, Tag, ToolRow, TurnEntry, Undone, thinking,
};

use super::jobs::Finish;
use super::perform::spec_bytes;
use super::{Session, guarded};
use crate::beyond;
use crate::bill::Bill;
use crate::commands::{self, SlashResult, failed, from_fault, usage};
use crate::history::{self, History, MarkKind};
use crate::outbox::Outbox;

/// The tool whose calls are commands.
const COMMANDS: &str = "bash";

impl Session {
    /// `None`: the reply comes later.
    pub(super) async fn slash(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        name: &str,
        args: &str,
    ) -> Option<SlashResult> {
        let Some(command) = commands::find(name) else { return Some(Err(commands::unknown(name))) };
        let args = args.trim();
        Some(match command.name {
            "status" => Ok(SlashOutcome::Status { state: Box::new(self.state()), sync: self.settings.sync }),
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
            "tools" => Ok(self.slash_tools()),
            "gadgets" => self.slash_gadgets(args),
            "export" if self.ledger.last_seq() == 0 => {
                Err(failed(SlashCode::NotFound, "nothing to export yet: start a conversation first"))
            }
            "export" => {
                self.export(outbox, tag, name, args);
                return None;
            }
            "undo" => self.undo(args).await,
            "cost" | "diff" => {
                let (name, tell) = (name.to_owned(), if command.name == "cost" { Self::cost } else { Self::diff });
                self.with_log(outbox, tag, 0, move |session, entries| {
                    Ok(Reply::Slash(Box::new(commands::reply(&name, Ok(tell(session, &entries))))))
                });
                return None;
            }
            "rename" if args.is_empty() => Err(usage(command)),
            "rename" => {
                let set = self.set(Change::Title(args.into()));
                set.map(|()| SlashOutcome::Renamed { title: args.to_owned() }).map_err(from_fault)
            }
            "save" => self.save(args, command),
            _ => Err(commands::unknown(name)),
        })
    }

    /// The list of models may come from far away: nobody waits for it but the one who asked.
    fn slash_model(&mut self, outbox: &Arc<Outbox>, tag: Tag, name: &str, args: &str) {
        let provider = self.shared.ports.provider.clone();
        let (name, args) = (name.to_owned(), args.to_owned());
        let job = async move {
            let models = provider.models().await;
            Finish::With(Box::new(move |session: &mut Session| {
                let result = session.choose_model(&args, models);
                Ok(Reply::Slash(Box::new(commands::reply(&name, result))))
            }))
        };
        self.job(outbox, tag, Box::pin(job));
    }

    fn choose_model(&mut self, args: &str, models: Result<Vec<ModelInfo>, Fault>) -> SlashResult {
        let models: Vec<Arc<str>> = match models {
            Ok(models) => models.into_iter().map(|model| model.slug).collect(),
            Err(_) => vec![self.settings.model.clone()],
        };
        if args.is_empty() {
            return Ok(SlashOutcome::Model { model: self.settings.model.clone(), previous: None, models });
        }
        // A catalogue that knows names is believed: a typo must not become a model.
        // Other names may stand for one of its models.
        let meant = self.shared.ports.provider.resolve(args).map(|model| model.slug);
        let listed = |slug: &Arc<str>| **slug == *args || meant.as_ref().is_ok_and(|meant| meant == slug);
        if !models.is_empty() && !models.iter().any(listed) {
            let known: Vec<&str> = models.iter().map(|slug| &**slug).collect();
            let text = format!("unknown model: {args} (there is: {})", known.join(", "));
            return Err(failed(SlashCode::UnknownModel, text));
        }
        let previous = Some(self.settings.model.clone());
        self.set(Change::Model(args.into())).map_err(from_fault)?;
        Ok(SlashOutcome::Model { model: self.settings.model.clone(), previous, models })
    }

    fn slash_mode(&mut self, args: &str) -> SlashResult {
        let previous = self.settings.mode;
        if args.is_empty() {
            return Ok(SlashOutcome::Mode { mode: previous, previous: None });
        }
        let Some(mode) = Mode::parse(args) else {
            let known = Mode::ALL.map(Mode::as_str).join(", ");
            return Err(failed(SlashCode::UnknownMode, format!("unknown mode: {args} (there is: {known})")));
        };
        self.set(Change::Mode(mode)).map_err(from_fault)?;
        Ok(SlashOutcome::Mode { mode, previous: Some(previous) })
    }

    fn slash_thinking(&mut self, args: &str) -> SlashResult {
        let levels: Vec<Arc<str>> = match &self.model.levels {
            Some(levels) => levels.to_vec(),
            None => thinking::LEVELS.map(Arc::from).to_vec(),
        };
        let previous = self.settings.thinking.clone();
        if args.is_empty() {
            return Ok(SlashOutcome::Thinking { level: previous, previous: None, levels });
        }
        let Some(level) = thinking::clamp(&args.into(), Some(&levels)) else {
            let names: Vec<&str> = levels.iter().map(|level| &**level).collect();
            let text = format!("unknown level: {args} (there is: {})", names.join(", "));
            return Err(failed(SlashCode::UnknownLevel, text));
        };
        self.set(Change::Thinking(Some(level.clone()))).map_err(from_fault)?;
        Ok(SlashOutcome::Thinking { level: Some(level), previous: Some(previous), levels })
    }

    async fn context(&mut self) -> SlashResult {
        self.load_at_rest().await.map_err(from_fault)?;
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
        let (window, percent) = (state.context_window, state.context_pct());
        let (max_tokens, messages) = (state.max_tokens, state.messages);
        Ok(SlashOutcome::Context(ContextUse { window, used, percent, max_tokens, messages, system, tools, history }))
    }

    fn slash_tools(&self) -> SlashOutcome {
        let row = |tool: &Arc<dyn vocab::Tool>| ToolRow {
            name: tool.spec().name.clone(),
            required: tool.required(),
            gadget: tool.gadget().map(str::to_owned),
        };
        SlashOutcome::Tools(self.offered_tools().map(row).collect())
    }

    fn slash_gadgets(&mut self, args: &str) -> SlashResult {
        let mut words = args.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (None, ..) => {}
            (Some(switch @ ("on" | "off")), Some(name), None) => {
                let change = Change::Gadget { name: name.into(), on: switch == "on" };
                self.set(change).map_err(|fault| failed(SlashCode::UnknownGadget, fault.message))?;
            }
            _ => return Err(failed(SlashCode::Usage, "usage: /gadgets [on|off NAME]")),
        }
        let rows = self.gadgets.iter().map(|gadget| {
            let tools = self.tools.iter().filter(|tool| tool.gadget() == Some(&gadget.name));
            GadgetRow {
                name: gadget.name.clone(),
                description: gadget.description.clone(),
                is_on: !self.settings.gadgets_off.contains(&gadget.name),
                tools: tools.map(|tool| tool.spec().name.clone()).collect(),
            }
        });
        Ok(SlashOutcome::Gadgets(rows.collect()))
    }

    fn export(&mut self, outbox: &Arc<Outbox>, tag: Tag, name: &str, args: &str) {
        let file = (!args.is_empty()).then(|| self.settings.workspace.join(args));
        let name = name.to_owned();
        self.export_job(outbox, tag, file, move |exported| {
            let result = exported.map(SlashOutcome::Exported).map_err(from_fault);
            Ok(Reply::Slash(Box::new(commands::reply(&name, result))))
        });
    }

    async fn undo(&mut self, args: &str) -> SlashResult {
        let count: usize = match args {
            "" => 1,
            text => match text.parse() {
                Ok(count) if count > 0 => count,
                _ => return Err(failed(SlashCode::Usage, "usage: /undo [n]")),
            },
        };
        if self.lane.is_busy() {
            return Err(commands::busy());
        }
        let undone = self.take_back(count).await.map_err(from_fault)?;
        let undone = undone.ok_or_else(|| failed(SlashCode::NotFound, "there is nothing to undo"))?;
        self.tell_state();
        Ok(SlashOutcome::Undone(undone))
    }

    /// The move is in the log before a file is touched, and that the files are back is said behind it: whatever ends us in
    /// between, the log does not say less than was done.
    async fn take_back(&mut self, count: usize) -> Result<Option<Undone>, Fault> {
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
        let messages = before.saturating_sub(after);
        Ok(Some(Undone { messages, files: beyond::undone(&edits, &files), commands }))
    }

    /// What a command changes beyond the files that are kept; other tools keep what they change.
    fn would_change(&self, call: &Call) -> Option<Arc<str>> {
        let tool = self.find_tool(&call.name).filter(|tool| &*tool.spec().name == COMMANDS)?;
        guarded(|| tool.plan(&call.input.json())).ok()?.ok()?.mutation
    }

    fn cost(&mut self, entries: &[Arc<Entry>]) -> SlashOutcome {
        let bill = Bill::of(entries);
        let spent = bill.total();
        let provider = &self.shared.ports.provider;
        let cost = bill.cost(|slug| provider.resolve(slug).ok()?.prices);
        // Before anything was used, nothing is known to have no price.
        let dollars = cost.filter(|_| self.model.prices.is_some() || spent.context() > 0);
        let (input_tokens, output_tokens, turns) = (spent.prompt(), spent.output, bill.turns);
        SlashOutcome::Cost { input_tokens, output_tokens, turns, dollars }
    }

    fn diff(&mut self, entries: &[Arc<Entry>]) -> SlashOutcome {
        let files = self.shared.ports.toolbox.diff(&history::edits_after(entries, 0));
        let commands = beyond::commands_after(entries, 0, |call| self.would_change(call));
        SlashOutcome::Diff { files, commands }
    }

    fn save(&mut self, args: &str, command: &commands::SlashCommand) -> SlashResult {
        let (key, value) = match args {
            "model" => ("model", self.settings.model.to_string()),
            "mode" => ("mode", self.settings.mode.as_str().to_owned()),
            _ => return Err(usage(command)),
        };
        let path = self.shared.ports.preferences.save(key, &value).map_err(from_fault)?;
        Ok(SlashOutcome::Saved { key, value, path })
    }
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
pub(super) fn compacted(result: Result<Compaction, Fault>, now: &State) -> SlashResult {
    match result {
        Ok(done) => Ok(SlashOutcome::Compacted(CompactedTo {
            nothing: None,
            messages_before: done.messages_before,
            messages_after: done.messages_after,
            tokens_before: done.tokens_before,
            tokens_after: done.tokens_after,
        })),
        Err(fault) if fault.kind == FaultKind::NothingToDo => Ok(SlashOutcome::Compacted(CompactedTo {
            nothing: Some(fault.message),
            messages_before: now.messages,
            messages_after: now.messages,
            tokens_before: now.context_tokens,
            tokens_after: now.context_tokens,
        })),
        Err(fault) => Err(from_fault(fault)),
    }
}
