//! The payloads of responses.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use vocab::{
    Body, CallEntry, CommandInfo, Compaction, Delivery, Drain, Entry, Inspection, Item, ModelInfo, Opened, Shell,
    State, SteerPoint, parts_text,
};

use crate::frames::{self, Writer};
use crate::models;
use crate::templates::Template;
use pi_format::transcript::Transcript;

/// Messages of one page when nobody says how many.
const PAGE_DEFAULT: u64 = 50;
/// Messages of one page at most.
const PAGE_MAX: u64 = 500;

pub(crate) fn state(it: &Inspection, out: &mut Vec<u8>) {
    let state = &it.state;
    Writer::object(out, |w| {
        w.key("model");
        models::write(&state.model_info, w.out);
        w.text("thinkingLevel", models::level(state));
        w.flag("isStreaming", state.turn.is_some()).flag("isCompacting", it.compacting);
        w.text("steeringMode", drain(it.lane.steer_drain)).text("followUpMode", drain(it.lane.follow_up_drain));
        let point = match it.lane.steer_point {
            SteerPoint::Wait => "wait",
            SteerPoint::Immediate => "immediate",
        };
        w.text("interruptMode", point);
        if let Some(file) = &state.file {
            w.text("sessionFile", &file.display().to_string());
        }
        w.text("sessionId", state.session.as_str()).maybe("sessionName", state.title.as_deref());
        w.flag("autoCompactionEnabled", it.compaction.auto);
        w.number("messageCount", state.messages + state.results);
        // Both words for it: the lineages differ.
        let waiting = it.waiting.len() as u64;
        w.number("queuedMessageCount", waiting).number("pendingMessageCount", waiting);
        // Nothing of ours wakes a session by itself; there is one speed, and nobody measures it.
        w.flag("hasPendingAsyncWork", false);
        w.flag("isSettled", state.turn.is_none() && !it.compacting && waiting == 0);
        w.flag("fastModeEnabled", false).flag("fastModeActive", false).raw("tokensPerSecond", b"null");
        w.key("todoPhases");
        frames::todo_phases(&state.todos, w.out);
        w.text("systemPrompt", &it.spec.system);
        w.list("dumpTools", it.spec.tools.iter(), |tool, out| {
            Writer::object(out, |w| {
                w.text("name", &tool.name).text("description", &tool.description);
                w.key("parameters");
                pi_format::messages::object(w.out, &tool.schema);
            });
        });
        context_usage(w, state);
    });
}

fn context_usage(w: &mut Writer<'_>, state: &State) {
    w.key("contextUsage");
    Writer::object(w.out, |w| {
        w.number("tokens", state.context_tokens).number("contextWindow", state.context_window);
        w.float("percent", state.context_pct());
    });
}

fn drain(drain: Drain) -> &'static str {
    match drain {
        Drain::OneAtATime => "one-at-a-time",
        Drain::All => "all",
    }
}

/// `sourceInfo` is pi's: nothing here comes in a package, and all of it is the user's own.
pub(crate) fn commands(commands: &[CommandInfo], templates: &[Template], out: &mut Vec<u8>) {
    let extensions = commands.iter().map(|it| ("extension", &it.name, &it.description, &it.source));
    let prompts = templates.iter().map(|it| ("prompt", &it.name, &it.description, &it.source));
    Writer::object(out, |w| {
        w.list("commands", extensions.chain(prompts), |(kind, name, description, source), out| {
            Writer::object(out, |w| {
                w.text("name", name).maybe("description", description.as_deref()).text("source", kind);
                w.key("sourceInfo");
                Writer::object(w.out, |w| {
                    w.text("path", source).text("source", "local").text("scope", "user").text("origin", "top-level");
                });
            });
        });
    });
}

pub(crate) fn tool_names(names: &[String], out: &mut Vec<u8>) {
    Writer::object(out, |w| w.list("toolNames", names.iter(), |name, out| wire::escape_into(name, out)));
}

pub(crate) fn models(list: &[ModelInfo], out: &mut Vec<u8>) {
    Writer::object(out, |w| w.list("models", list.iter(), models::write));
}

/// `files` where the log was read for it.
pub(crate) fn compaction(it: &Compaction, first_kept: Option<&str>, files: Option<&Files>, out: &mut Vec<u8>) {
    Writer::object(out, |w| {
        w.text("summary", &it.summary).maybe("firstKeptEntryId", first_kept).number("tokensBefore", it.tokens_before);
        w.number("estimatedTokensAfter", it.tokens_after);
        if let Some(files) = files {
            w.key("details");
            Writer::object(w.out, |w| {
                w.list("readFiles", files.read.iter(), |path, out| wire::escape_into(path, out));
                w.list("modifiedFiles", files.modified.iter(), |path, out| wire::escape_into(path, out));
            });
        }
    });
}

/// Files that a session had to do with before it was compacted; one that was changed is not among those read.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Files {
    read: BTreeSet<String>,
    modified: BTreeSet<String>,
}

impl Files {
    pub(crate) fn before(seq: u64, entries: &[Arc<Entry>]) -> Self {
        let mut files = Files::default();
        for entry in entries.iter().filter(|entry| entry.seq < seq) {
            match &entry.body {
                Body::Call(CallEntry::Ended { result, .. }) => {
                    files.modified.extend(result.edits.iter().map(|edit| edit.path.to_string()));
                }
                Body::Call(CallEntry::Started { call, tool, .. }) if &**tool == "read_file" => {
                    let read: Option<ReadArgs> = serde_json::from_str(call.input.json().as_str()).ok();
                    files.read.extend(read.map(|args| args.path));
                }
                _ => {}
            }
        }
        files.read = files.read.difference(&files.modified).cloned().collect();
        files
    }
}

#[derive(Deserialize)]
struct ReadArgs {
    #[serde(alias = "file_path")]
    path: String,
}

pub(crate) fn shell(it: &Shell, out: &mut Vec<u8>) {
    Writer::object(out, |w| {
        w.text("output", &it.output);
        if let Some(code) = it.exit_code {
            w.raw("exitCode", code.to_string().as_bytes());
        }
        w.flag("cancelled", it.cancelled).flag("truncated", it.truncated);
        w.number("totalLines", it.total_lines).number("totalBytes", it.total_bytes);
        w.number("outputLines", it.output.split('\n').count() as u64).number("outputBytes", it.output.len() as u64);
        w.maybe("fullOutputPath", it.spilled.as_deref());
    });
}

/// The session that a command led to, and the text that a branch gives back. oh-my-pi's `open_session` says which it is.
pub(crate) fn moved(opened: &Opened, says_which: bool, text: Option<&str>, out: &mut Vec<u8>) {
    Writer::object(out, |w| {
        w.maybe("text", text).flag("cancelled", false);
        if says_which {
            w.flag("resumed", opened.resumed).text("sessionId", opened.session.as_str());
            let file = opened.state.file.as_ref().map(|file| file.display().to_string());
            w.maybe("sessionFile", file.as_deref());
        }
    });
}

/// What waits, by kind.
pub(crate) fn queued(items: &[Item]) -> (Vec<String>, Vec<String>) {
    let of = |steers: bool| {
        let wanted = items.iter().filter(|item| (item.delivery == Delivery::Steer) == steers);
        wanted.map(|item| parts_text(&item.parts)).collect()
    };
    (of(true), of(false))
}

pub(crate) fn cleared(items: &[Item], out: &mut Vec<u8>) {
    let (steering, follow_up) = queued(items);
    Writer::object(out, |w| {
        w.list("steering", steering.iter(), |text, out| wire::escape_into(text, out));
        w.list("followUp", follow_up.iter(), |text, out| wire::escape_into(text, out));
    });
}

pub(crate) fn messages(transcript: &Transcript, out: &mut Vec<u8>) {
    Writer::object(out, |w| {
        w.list("messages", transcript.context().iter(), |said, out| out.extend_from_slice(said.json.as_bytes()));
    });
}

/// A cursor is the number of messages that came before.
pub(crate) fn page(transcript: &Transcript, cursor: Option<&str>, limit: Option<u64>, out: &mut Vec<u8>) {
    let from = cursor.and_then(|cursor| cursor.parse::<usize>().ok()).unwrap_or(0);
    let limit = limit.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE_MAX) as usize;
    let all = transcript.context();
    let end = from.saturating_add(limit).min(all.len());
    let shown = all.get(from..end).unwrap_or_default();
    Writer::object(out, |w| {
        w.list("messages", shown.iter(), |said, out| out.extend_from_slice(said.json.as_bytes()));
        if end < all.len() {
            w.text("nextCursor", &end.to_string());
        }
        // The second is older than oh-my-pi's own word for it.
        w.number("totalMessages", all.len() as u64).number("total", all.len() as u64);
    });
}

pub(crate) fn stats(transcript: &Transcript, session: &str, state: Option<&State>, out: &mut Vec<u8>) {
    let it = transcript.stats();
    Writer::object(out, |w| {
        if let Some(file) = state.and_then(|state| state.file.as_ref()) {
            w.text("sessionFile", &file.display().to_string());
        }
        w.text("sessionId", session);
        w.number("userMessages", it.user_messages).number("assistantMessages", it.assistant_messages);
        w.number("toolCalls", it.tool_calls).number("toolResults", it.tool_results);
        w.number("totalMessages", it.total_messages);
        w.key("tokens");
        Writer::object(w.out, |w| {
            w.number("input", it.usage.input).number("output", it.usage.output);
            w.number("cacheRead", it.usage.cache_read).number("cacheWrite", it.usage.cache_write);
            w.number("total", it.usage.context());
        });
        w.float("cost", it.cost).number("premiumRequests", 0u64);
        if let Some(state) = state {
            context_usage(w, state);
        }
    });
}

pub(crate) fn users(transcript: &Transcript, out: &mut Vec<u8>) {
    Writer::object(out, |w| {
        w.list("messages", transcript.users().iter(), |(name, text), out| {
            Writer::object(out, |w| {
                w.text("entryId", name).text("text", text);
            });
        });
    });
}

pub(crate) fn last_text(transcript: &Transcript, out: &mut Vec<u8>) {
    Writer::object(out, |w| {
        w.maybe("text", transcript.last_assistant_text().as_deref());
    });
}

pub(crate) fn entries(transcript: &Transcript, since: Option<&str>, out: &mut Vec<u8>) -> Result<(), String> {
    let lines = transcript.lines();
    let from = match since {
        None => 0,
        Some(name) => match lines.iter().position(|line| *line.name == *name) {
            Some(at) => at + 1,
            None => return Err(format!("Entry not found: {name}")),
        },
    };
    Writer::object(out, |w| {
        w.list("entries", lines[from..].iter(), |line, out| line.write(out));
        leaf(transcript, w);
    });
    Ok(())
}

pub(crate) fn tree(transcript: &Transcript, out: &mut Vec<u8>) {
    Writer::object(out, |w| {
        w.key("tree");
        transcript.tree_json(w.out);
        leaf(transcript, w);
    });
}

fn leaf(transcript: &Transcript, w: &mut Writer<'_>) {
    match transcript.leaf() {
        Some(name) => w.text("leafId", name),
        None => w.raw("leafId", b"null"),
    };
}
