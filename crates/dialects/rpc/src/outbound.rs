//! What the engine tells that is not the answer to a command: runs, questions, compactions, queues, notices.

pub(crate) mod run;

use vocab::{
    AskEnd, AskEntry, Body, BranchEntry, CompactReason, CompactionEvent, Event, ExtensionEvent, Fault, FaultKind,
    NoteEntry, QueueEvent, SessionVerb, Tag, TurnEntry, Verb,
};
use wire::Out;

use crate::frames::Writer;
use crate::outbound::run::Came;
use crate::pending::RpcPending;
use crate::{Rpc, answers, frames, models, ui};
use pi_format::messages;

impl Rpc {
    pub(crate) fn event(&mut self, event: &Event, out: &mut Out) {
        if let Event::State(state) = event {
            self.changed(state, out);
            self.view.known.learn(state);
        }
        if let Event::Logged(entry) = event {
            self.ask_logged(&entry.body, out);
        }
        // Their last words stand before `agent_settled`, behind which nothing is left to say.
        if matches!(event, Event::Settled) && self.view.run.is_unsettled() {
            self.settled(out);
        }
        match self.view.run.tell(event, &self.view.known, &mut out.frames) {
            Came::ToItsEnd => self.turn_over(event, out),
            Came::On => {}
        }
        match event {
            Event::Logged(entry) => {
                if let Body::Note(NoteEntry::Recovered { text }) = &entry.body {
                    // Hosts of this family have no word for it; people find it on stderr.
                    out.notes.push(text.to_string());
                }
                self.compaction_logged(&entry.body, out);
            }
            Event::Compaction(CompactionEvent::Started { reason }) => self.compaction_started(*reason, out),
            Event::Compaction(CompactionEvent::Failed { reason, fault }) => compaction_failed(*reason, fault, out),
            Event::ShellProgress { tag, text } => self.shell_grew(*tag, text, out),
            Event::Queue(QueueEvent::Waiting(items)) => {
                self.view.waiting = items.len();
                let (steering, follow_up) = answers::queued(items);
                Writer::event(&mut out.frames, "queue_update", |w| {
                    w.list("steering", steering.iter(), |text, out| wire::escape_into(text, out));
                    w.list("followUp", follow_up.iter(), |text, out| wire::escape_into(text, out));
                });
            }
            Event::Queue(QueueEvent::Ended { item, end, .. }) => {
                // The list without it is told next.
                self.view.waiting = self.view.waiting.saturating_sub(1);
                self.view.prompts.item_ended(item, *end, self.is_settled(), &mut out.frames);
            }
            // The reply that follows says it.
            Event::Queue(QueueEvent::Refused { .. }) => {}
            // After the command that is being carried out: the engine answers in order.
            Event::Extension(ExtensionEvent::Notice(vocab::Notice::Exit)) => {
                out.ending = true;
                self.end(out);
            }
            Event::Extension(ExtensionEvent::Notice(notice)) => {
                if !matches!(notice, vocab::Notice::Title { .. }) || self.options.emit_title {
                    let id = self.fresh_id();
                    ui::notice(&mut out.frames, &id, notice);
                }
            }
            Event::Extension(ExtensionEvent::Trouble { source, during, text }) => {
                Writer::event(&mut out.frames, "extension_error", |w| {
                    w.text("extensionPath", source).text("event", during).text("error", text);
                })
            }
            // A compaction that was asked to stop ends without a turn.
            Event::Settled => self.stopped(out),
            Event::Gone { fault } => self.lost(fault, out),
            Event::State(_)
            | Event::Delta(_)
            | Event::Watch(_)
            | Event::SignIn { .. }
            | Event::Editor(_)
            | Event::Retry(_)
            | Event::Extension(ExtensionEvent::Hook(_))
            | Event::Live { .. }
            | Event::Reply { .. }
            | Event::TurnLost(_) => {}
        }
    }

    /// What newer hosts are told of a change; the others ignore it.
    fn changed(&self, state: &vocab::State, out: &mut Out) {
        let Some(before) = &self.view.known.state else { return };
        if before.title != state.title {
            Writer::event(&mut out.frames, "session_info_changed", |w| {
                w.maybe("name", state.title.as_deref());
            });
        }
        if before.thinking != state.thinking {
            Writer::event(&mut out.frames, "thinking_level_changed", |w| {
                w.text("level", models::level(state));
            });
        }
    }

    fn turn_over(&mut self, event: &Event, out: &mut Out) {
        let end = match event {
            Event::Logged(entry) => match &entry.body {
                Body::Turn(TurnEntry::Ended(end)) => Some(end),
                _ => None,
            },
            Event::TurnLost(end) => Some(end),
            _ => None,
        };
        let fault = end.and_then(|end| end.fault.as_ref()).map(|fault| fault.kind);
        self.view.auth_failed = fault == Some(FaultKind::Auth) || (self.view.auth_failed && fault.is_some());
        // The answer to an abort stands before `agent_end`, where the originals have it.
        for call in std::mem::take(&mut self.aborts) {
            self.respond(&call, None, out);
        }
        self.view.run.close(&mut out.frames);
        self.stopped(out);
    }

    fn ask_logged(&mut self, body: &Body, out: &mut Out) {
        match body {
            Body::Ask(AskEntry::Opened(ask)) => {
                if let vocab::AskKind::HostCall { call, tool, input } = &ask.kind {
                    // Other tools that are no built-in belong to somebody else.
                    if self.has_tool(tool) {
                        self.view.host_calls.push(ask.id.clone());
                        Writer::event(&mut out.frames, "host_tool_call", |w| {
                            w.text("id", ask.id.as_str()).text("toolCallId", call.as_str()).text("toolName", tool);
                            w.key("arguments");
                            messages::object(w.out, input);
                        });
                    }
                } else if let Some(dialog) = ui::ask(&mut out.frames, ask.id.as_str(), &ask.kind, ask.timeout_ms) {
                    self.view.dialogs.push((ask.id.clone(), dialog));
                }
            }
            Body::Ask(AskEntry::Closed { ask, end }) => {
                let withdrawn = matches!(end, AskEnd::Withdrawn);
                let calls = self.view.host_calls.len();
                self.view.host_calls.retain(|open| open != ask);
                if withdrawn && self.view.host_calls.len() < calls {
                    let id = self.fresh_id();
                    Writer::event(&mut out.frames, "host_tool_cancel", |w| {
                        w.text("id", &id).text("targetId", ask.as_str());
                    });
                }
                let dialogs = self.view.dialogs.len();
                self.view.dialogs.retain(|(open, _)| open != ask);
                // Still open here means that somebody else answered, or nobody will.
                if self.view.dialogs.len() < dialogs {
                    let id = self.fresh_id();
                    ui::cancel(&mut out.frames, &id, ask.as_str());
                }
            }
            _ => {}
        }
    }

    /// Whether the host has brought this tool, or is about to: a call that waited for it is told before the answer to that.
    fn has_tool(&self, tool: &str) -> bool {
        let brought = self.pending.iter().filter_map(|pending| match pending {
            RpcPending::HostTools(_, registered) => Some(registered),
            _ => None,
        });
        brought.chain([&self.host_tools]).any(|registered| registered.names.iter().any(|name| name == tool))
    }

    /// Nothing runs, and nothing waits.
    pub(crate) fn is_settled(&self) -> bool {
        self.view.waiting == 0 && !self.view.run.is_unsettled()
    }

    fn settled(&mut self, out: &mut Out) {
        // The end of the process has cut the turn off, which goes on in the next one: what becomes of its prompts is said with
        // the end of the session.
        if self.view.run.is_in_turn() {
            return;
        }
        let settled = self.view.waiting == 0;
        self.view.prompts.over(&self.view.run.outcome(), settled, &mut out.frames);
        if settled {
            frames::bare(&mut out.frames, "session_settled");
        }
    }

    fn shell_grew(&mut self, tag: Tag, text: &str, out: &mut Out) {
        let Some(RpcPending::Shell(call)) = self.pending.get(tag) else { return };
        let delta = self.view.outputs.grown(tag, text);
        frames::bash_update(&mut out.frames, call.id.as_deref(), &delta);
    }

    /// The seed's lineage has words for what happens by itself, pi's for every compaction: each host reads its own.
    fn compaction_started(&mut self, reason: CompactReason, out: &mut Out) {
        if reason != CompactReason::Manual {
            Writer::event(&mut out.frames, "auto_compaction_start", |w| {
                w.text("reason", compact_reason(reason)).text("action", "context-full");
            });
        }
        Writer::event(&mut out.frames, "compaction_start", |w| {
            w.text("reason", compact_reason(reason));
        });
        // The first line that is kept may be older than this conversation; its name is asked for while the summary is
        // written.
        if self.view.resumed && self.view.past_names.is_empty() {
            self.send(Verb::Session(SessionVerb::Read { after: 0 }), RpcPending::Names, out);
        }
    }

    fn compaction_logged(&mut self, body: &Body, out: &mut Out) {
        let Body::Branch(BranchEntry::Compacted(compaction)) = body else { return };
        // Whoever asked for it is answered when the log was read, and told the same then.
        if self.pending.iter().any(|pending| matches!(pending, RpcPending::Compact(_) | RpcPending::Handoff(_))) {
            return;
        }
        let name = self.view.run.name_of(compaction.first_kept);
        let name = name.or_else(|| self.view.past_names.get(&compaction.first_kept).cloned());
        let mut result = Vec::new();
        answers::compaction(compaction, name.as_deref(), None, &mut result);
        compaction_ended(compaction.reason, &result, out);
    }
}

/// `result` is the finished object.
pub(crate) fn compaction_ended(reason: CompactReason, result: &[u8], out: &mut Out) {
    let end = |w: &mut Writer<'_>| {
        w.raw("result", result).flag("aborted", false).flag("willRetry", reason == CompactReason::Overflow);
    };
    if reason != CompactReason::Manual {
        Writer::event(&mut out.frames, "auto_compaction_end", |w| {
            w.text("action", "context-full");
            end(w);
        });
    }
    Writer::event(&mut out.frames, "compaction_end", |w| {
        w.text("reason", compact_reason(reason));
        end(w);
    });
}

fn compaction_failed(reason: CompactReason, fault: &Fault, out: &mut Out) {
    let aborted = fault.kind == FaultKind::Cancelled;
    let end = |w: &mut Writer<'_>, before: &str| {
        w.flag("aborted", aborted).flag("willRetry", false);
        if !aborted {
            w.text("errorMessage", &format!("{before}{}", fault.message));
        }
    };
    if reason != CompactReason::Manual {
        Writer::event(&mut out.frames, "auto_compaction_end", |w| {
            w.text("action", "context-full");
            end(w, "");
        });
    }
    Writer::event(&mut out.frames, "compaction_end", |w| {
        w.text("reason", compact_reason(reason));
        end(w, "Compaction failed: ");
    });
}

fn compact_reason(reason: CompactReason) -> &'static str {
    match reason {
        CompactReason::Manual => "manual",
        CompactReason::Threshold => "threshold",
        CompactReason::Overflow => "overflow",
        // This wire has no word of its own for it.
        CompactReason::Switch => "threshold",
    }
}
