//! Slash commands that a session carries out itself.

use std::sync::Arc;

use vocab::{
    Call, Change, Compaction, Data, Entry, Fault, FaultKind, Mode, ModelInfo, Reply, SlashReply, State, Tag, map,
    thinking,
};

use super::toolset::spec_bytes;
use super::{Session, guarded, later};
use crate::beyond;
use crate::bill::Bill;
use crate::commands::{self, failed, from_fault, ok, usage};
use crate::outbox::Outbox;
use crate::session::model_view;

/// The tool whose calls are commands.
const COMMANDS: &str = "bash";

impl Session {
    /// `None`: the reply comes later.
    pub(super) fn slash(&mut self, outbox: &Arc<Outbox>, tag: Tag, name: &str, args: &str) -> Option<SlashReply> {
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
            "context" => self.context(),
            "compact" => {
                let wishes = (!args.is_empty()).then(|| Arc::from(args));
                match self.compact(outbox, tag, wishes, true) {
                    Ok(()) => return None,
                    Err(fault) => compacted(Err(fault), &self.state()),
                }
            }
            "tools" => self.slash_tools(),
            "gadgets" => self.slash_gadgets(args),
            "export" if self.log.last_seq() == 0 => {
                failed("export", "not_found", "nothing to export yet: start a conversation first")
            }
            "export" => {
                self.export(outbox, tag, name, args);
                return None;
            }
            "undo" => match self.undo(outbox, tag, name, args) {
                Some(reply) => reply,
                None => return None,
            },
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
        let job = later::models(provider, move |session, models| {
            let reply = session.choose_model(&args, models);
            Ok(Reply::Slash(Box::new(SlashReply { command: name, ..reply })))
        });
        self.job(outbox, tag, job);
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
        let levels: Vec<Arc<str>> = match &self.settings.asked().levels {
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

    fn context(&mut self) -> SlashReply {
        if let Err(fault) = self.view_at_rest() {
            return from_fault("context", &fault);
        }
        let spec = self.tools.spec(&self.settings);
        let system = vocab::estimate_tokens(spec.system.len());
        let tools = vocab::estimate_tokens(spec_bytes(spec) - spec.system.len());
        let history = self.view.history().map_or(0, |history| vocab::estimate_tokens(history.bytes()));
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
            .tools
            .offered(&self.settings)
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
        let rows = self.tools.gadgets().iter().map(|gadget| {
            let tools = self.tools.own().iter().filter(|tool| tool.gadget() == Some(&gadget.name));
            map! {
                "name" => gadget.name.clone(),
                "enabled" => !off.contains(&gadget.name),
                "description" => gadget.description.clone(),
                "tools" => Data::texts(tools.map(|tool| family.show(&tool.spec().name).to_owned())),
            }
        });
        let text = match self.tools.gadgets().len() {
            0 => "no gadgets are configured".to_owned(),
            _ => self
                .tools
                .gadgets()
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

    /// What a command changes beyond the files that are kept; other tools keep what they change.
    pub(super) fn would_change(&self, call: &Call) -> Option<Arc<str>> {
        let tool = self.tools.find(&self.settings, &call.name).filter(|tool| &*tool.spec().name == COMMANDS)?;
        guarded(|| tool.plan(&call.input.json())).ok()?.ok()?.mutation
    }

    fn cost(&mut self, entries: &[Arc<Entry>]) -> SlashReply {
        let bill = Bill::of(entries);
        let spent = bill.total();
        let (input, output) = (spent.prompt(), spent.output);
        let provider = &self.shared.ports.provider;
        let cost = bill.cost(|slug| provider.resolve(slug).ok()?.prices);
        // Before anything was used, nothing is known to have no price.
        let cost = cost.filter(|_| self.settings.asked().prices.is_some() || spent.context() > 0);
        let price = cost.map(|cost| format!(", about ${cost:.4}")).unwrap_or_default();
        let text = format!("{input} input and {output} output tokens in {} turn(s){price}", bill.turns);
        ok("cost", text, map! { "input_tokens" => input, "output_tokens" => output, "turns" => bill.turns })
    }

    fn diff(&mut self, entries: &[Arc<Entry>]) -> SlashReply {
        let diffs = self.shared.ports.toolbox.diff(&model_view::edits_after(entries, 0));
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
