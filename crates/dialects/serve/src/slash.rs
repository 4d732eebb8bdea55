//! Results of slash commands as this protocol writes them: a text for people, and `data` for programs.

use vocab::{
    GadgetRow, Mode, Saved, SlashCode, SlashFault, SlashOutcome, SlashReply, State, ToolRow, UndoneEnd, iso8601,
};
use wire::slash::{level_name, message, title_of};

use crate::data::{Data, map};
use crate::tool_names::TOOL_NAMES;

const PROTOCOL: i64 = 1;

pub(crate) fn data(reply: &SlashReply) -> Data {
    match &reply.result {
        // There is nothing to know about a farewell.
        Ok(SlashOutcome::Exit) => Data::Null,
        Ok(outcome) => {
            let mut pairs = vec![("ok", Data::Bool(true))];
            if let Data::Map(more) = outcome_data(outcome) {
                pairs.extend(more);
            }
            Data::Map(pairs)
        }
        Err(fault) => failed(code(fault), &message(fault)),
    }
}

pub(crate) fn failed(code: &str, message: &str) -> Data {
    map! { "ok" => false, "error" => code, "message" => message }
}

fn code(fault: &SlashFault) -> &'static str {
    match fault.code {
        SlashCode::Usage => "usage",
        SlashCode::UnknownCommand => "unknown_command",
        SlashCode::UnknownModel => "unknown_model",
        SlashCode::UnknownMode => "unknown_mode",
        SlashCode::UnknownLevel => "unknown_level",
        SlashCode::UnknownGadget => "unknown_gadget",
        SlashCode::NotFound => "not_found",
        SlashCode::NothingToDo => "nothing_to_do",
        SlashCode::TurnInProgress => "turn_in_progress",
        SlashCode::WorksForCall => "works_for_call",
        SlashCode::SessionBusy => "session_busy",
        SlashCode::Cancelled => "cancelled",
        SlashCode::Failed => "failed",
    }
}

/// `previous` stands where something was changed.
fn with_previous(first: (&'static str, Data), previous: Option<Data>, last: (&'static str, Data)) -> Data {
    let previous = previous.map(|previous| ("previous", previous));
    Data::Map([Some(first), previous, Some(last)].into_iter().flatten().collect())
}

fn outcome_data(outcome: &SlashOutcome) -> Data {
    match outcome {
        SlashOutcome::Help { commands, .. } => {
            let row = |it: &vocab::SlashRow| map! { "name" => it.name, "args" => it.args, "summary" => it.summary };
            map! { "commands" => commands.iter().map(row).collect::<Vec<Data>>() }
        }
        SlashOutcome::Version { version } => map! { "version" => version.as_str(), "protocol" => PROTOCOL },
        SlashOutcome::Exit => Data::Null,
        SlashOutcome::Sessions(list) => map! { "sessions" => list.iter().map(session).collect::<Vec<Data>>() },
        SlashOutcome::Cleared { session, previous } => {
            map! { "session_id" => session.as_str(), "previous_session_id" => previous.as_str() }
        }
        SlashOutcome::Resumed { session, messages, model, .. } => {
            map! { "session_id" => session.as_str(), "messages" => *messages, "model" => model.clone() }
        }
        SlashOutcome::Status { state, .. } => status(state),
        SlashOutcome::Model { model, previous, models } => with_previous(
            ("model", model.clone().into()),
            previous.clone().map(Data::from),
            ("models", Data::texts(models.iter().cloned())),
        ),
        SlashOutcome::Mode { mode, previous } => with_previous(
            ("mode", mode.as_str().into()),
            previous.map(|previous| previous.as_str().into()),
            ("modes", Data::texts(Mode::ALL.map(Mode::as_str))),
        ),
        SlashOutcome::Thinking { level, previous, levels } => with_previous(
            ("thinking", level_name(level).into()),
            previous.as_ref().map(|previous| level_name(previous).into()),
            ("levels", Data::texts(levels.iter().cloned())),
        ),
        SlashOutcome::Context(it) => map! {
            "context_window" => it.window,
            "used_tokens" => it.used,
            "context_pct" => it.percent,
            "max_tokens" => it.max_tokens,
            "messages" => it.messages,
            "breakdown" => map! { "system" => it.system, "tools" => it.tools, "history" => it.history },
        },
        SlashOutcome::Compacted(it) => map! {
            "compacted" => it.nothing.is_none(),
            "messages_before" => it.messages_before,
            "messages_after" => it.messages_after,
            "tokens_before" => it.tokens_before,
            "tokens_after" => it.tokens_after,
        },
        SlashOutcome::Tools(rows) => map! { "tools" => rows.iter().map(tool).collect::<Vec<Data>>() },
        SlashOutcome::Gadgets(rows) => map! { "gadgets" => rows.iter().map(gadget).collect::<Vec<Data>>() },
        SlashOutcome::Exported(done) => {
            map! { "path" => done.path.display().to_string(), "format" => done.format, "bytes" => done.bytes }
        }
        SlashOutcome::Undone(undone) => {
            let back = undone.files.iter().filter(|file| matches!(file.end, UndoneEnd::Removed | UndoneEnd::Restored));
            let files = Data::texts(back.map(|file| file.path.clone()));
            map! { "removed_messages" => undone.messages, "restored_files" => files }
        }
        SlashOutcome::Cost { input_tokens, output_tokens, turns, .. } => {
            map! { "input_tokens" => *input_tokens, "output_tokens" => *output_tokens, "turns" => *turns }
        }
        SlashOutcome::Diff { files, .. } => {
            let row = |file: &vocab::FileDiff| {
                map! { "path" => file.path.clone(), "added" => file.added, "removed" => file.removed }
            };
            let patch: String = files.iter().map(|file| file.patch.as_str()).collect();
            map! { "files" => files.iter().map(row).collect::<Vec<Data>>(), "patch" => patch }
        }
        SlashOutcome::Renamed { title } => map! { "title" => title.as_str() },
        SlashOutcome::Saved { key, value, path } => {
            let saved = Data::Map(vec![(key, value.as_str().into())]);
            map! { "path" => path.display().to_string(), "saved" => saved }
        }
    }
}

fn session(saved: &Saved) -> Data {
    map! {
        "id" => saved.summary.id.as_str(),
        "title" => title_of(saved),
        "updated_at" => iso8601(saved.summary.updated_ms),
        "messages" => saved.summary.messages,
        "path" => saved.place.display().to_string(),
    }
}

fn status(state: &State) -> Data {
    map! {
        "session_id" => state.session.as_str(),
        "model" => state.model.clone(),
        "mode" => state.mode.as_str(),
        "workspace" => state.workspace.display().to_string(),
        "turn_active" => state.turn.is_some(),
        "messages" => state.messages,
        "gadgets" => Data::texts(state.gadgets.clone()),
    }
}

fn tool(row: &ToolRow) -> Data {
    let required = TOOL_NAMES.told(&row.name, row.required).as_str();
    map! { "name" => TOOL_NAMES.show(&row.name), "required_mode" => required, "gadget" => row.gadget.clone() }
}

fn gadget(row: &GadgetRow) -> Data {
    map! {
        "name" => row.name.clone(),
        "enabled" => row.is_on,
        "description" => row.description.clone(),
        "tools" => Data::texts(row.tools.iter().map(|name| TOOL_NAMES.show(name))),
    }
}
