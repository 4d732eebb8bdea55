//! Slash commands that a session carries out itself.

use std::sync::Arc;

use vocab::{
    BudgetSpan, Call, Change, CompactedTo, Compaction, ContextUse, Entry, Fault, FaultKind, GadgetRow, Mode, ModelInfo,
    Reply, SlashCode, SlashOutcome, State, Tag, ToolRow, UsageSum, thinking,
};

use super::toolset::spec_bytes;
use super::{Session, guarded, later};
use crate::beyond;
use crate::commands::{self, SlashResult, failed, from_fault, usage};
use crate::outbox::Outbox;
use crate::session::model_view;

/// The tool whose calls are commands.
const COMMANDS: &str = "bash";

impl Session {
    /// `None`: the reply comes later.
    pub(super) fn slash(&mut self, outbox: &Arc<Outbox>, tag: Tag, name: &str, args: &str) -> Option<SlashResult> {
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
            "context" => self.context(),
            "compact" => {
                let wishes = (!args.is_empty()).then(|| Arc::from(args));
                match self.compact(outbox, tag, wishes, true) {
                    Ok(()) => return None,
                    Err(fault) => compacted(Err(fault), &self.state()),
                }
            }
            "tools" => Ok(self.slash_tools()),
            "gadgets" => self.slash_gadgets(args),
            "export" if self.log.last_seq() == 0 => {
                Err(failed(SlashCode::NotFound, "nothing to export yet: start a conversation first"))
            }
            "export" => {
                self.export(outbox, tag, name, args);
                return None;
            }
            "undo" => match self.undo(outbox, tag, name, args) {
                Err(fault) => Err(fault),
                Ok(()) => return None,
            },
            "cost" if self.settings.budget.has(BudgetSpan::Day) && self.log.last_seq() > 0 => {
                let name = name.to_owned();
                self.with_day(outbox, tag, move |session, entries, day| {
                    let cost = day.map(|day| session.cost_on(&entries, Some(day)));
                    Ok(Reply::Slash(Box::new(commands::reply(&name, cost.map_err(from_fault)))))
                });
                return None;
            }
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

    /// The list of models may come from far away: only the peer that asked waits for it.
    fn slash_model(&mut self, outbox: &Arc<Outbox>, tag: Tag, name: &str, args: &str) {
        let provider = self.shared.ports.provider.clone();
        let (name, args) = (name.to_owned(), args.to_owned());
        let job = later::models(provider, move |session, models| {
            let result = session.choose_model(&args, models);
            Ok(Reply::Slash(Box::new(commands::reply(&name, result))))
        });
        self.job(outbox, tag, job);
    }

    fn choose_model(&mut self, args: &str, models: Result<Vec<ModelInfo>, Fault>) -> SlashResult {
        let models: Vec<Arc<str>> = match models {
            Ok(models) => models.into_iter().map(|model| model.slug).collect(),
            Err(_) => vec![self.settings.model.clone()],
        };
        if args.is_empty() {
            return Ok(SlashOutcome::Model { model: self.settings.model.clone(), previous: None, models });
        }
        // Whether it is a model is for the provider to say, as for every other way to set one: a server takes names that
        // it does not list.
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
        let levels: Vec<Arc<str>> = match &self.settings.asked().levels {
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

    fn context(&mut self) -> SlashResult {
        self.view_at_rest().map_err(from_fault)?;
        let spec = self.tools.spec(&self.settings);
        let system = vocab::estimate_tokens(spec.system.len());
        let tools = vocab::estimate_tokens(spec_bytes(spec) - spec.system.len());
        let history = self.view.history().map_or(0, |history| vocab::estimate_tokens(history.bytes()));
        let state = self.state();
        // No provider has counted before the first call.
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
        SlashOutcome::Tools(self.tools.offered(&self.settings).map(row).collect())
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
        let rows = self.tools.gadgets().iter().map(|gadget| {
            let tools = self.tools.own().iter().filter(|tool| tool.gadget() == Some(&gadget.name));
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

    /// What a command changes beyond the files that are kept; other tools keep what they change.
    pub(super) fn would_change(&self, call: &Call) -> Option<Arc<str>> {
        let tool = self.tools.find(&self.settings, &call.name).filter(|tool| &*tool.spec().name == COMMANDS)?;
        guarded(|| tool.plan(&call.input.json())).ok()?.ok()?.mutation
    }

    fn cost(&mut self, entries: &[Arc<Entry>]) -> SlashOutcome {
        self.cost_on(entries, None)
    }

    /// `day`: what the day has used.
    fn cost_on(&mut self, entries: &[Arc<Entry>], day: Option<UsageSum>) -> SlashOutcome {
        let totals = vocab::Totals::of(entries);
        let spent = totals.usage();
        let provider = &self.shared.ports.provider;
        let cost = totals.cost(|slug| provider.resolve(slug).ok()?.prices);
        // Before anything was used, nothing is known to have no price.
        let dollars = cost.filter(|_| self.settings.asked().prices.is_some() || spent.context() > 0);
        let (input_tokens, output_tokens, turns) = (spent.prompt(), spent.output, totals.turns());
        let limits = if self.purse.is_some() { self.budget_rows(entries, day) } else { Vec::new() };
        SlashOutcome::Cost { input_tokens, output_tokens, turns, dollars, limits }
    }

    fn diff(&mut self, entries: &[Arc<Entry>]) -> SlashOutcome {
        let files = self.shared.ports.toolbox.diff(&model_view::edits_after(entries, 0));
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
