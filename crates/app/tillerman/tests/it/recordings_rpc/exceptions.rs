//! Where a recording shows a lineage that we deliberately do not follow. The seed's text is above its source, that above
//! oh-my-pi, that above pi. Each exception rewrites the recording to what we say instead, and says why; one that rewrites
//! nothing any more fails the test.

use serde_json::{Value, json};

use super::Record;

pub(crate) struct Exception {
    pub(crate) name: &'static str,
    /// How the names of the recordings begin.
    pub(crate) recordings: &'static str,
    #[allow(dead_code, reason = "for the reader of this table")]
    pub(crate) reason: &'static str,
    /// Returns how many places it changed.
    pub(crate) rewrite: fn(&mut Vec<Record>) -> usize,
}

pub(crate) const TABLE: &[Exception] = &[
    Exception {
        name: "ready comes first",
        recordings: "pi-",
        reason: "the clients of the seed wait for `ready`; pi's passes it on as one more event",
        rewrite: |records| {
            records.insert(0, Record::Out(json!({"type": "ready"})));
            1
        },
    },
    Exception {
        name: "interrupt mode is `wait`",
        recordings: "omp-",
        reason: "the seed's text and its schema say `wait`; oh-my-pi 14 reports `immediate`",
        rewrite: |records| {
            each_out(records, |frame| {
                let mode = frame.pointer_mut("/data/interruptMode");
                mode.map(|mode| *mode = "wait".into()).is_some()
            })
        },
    },
    Exception {
        name: "the acknowledgement before the refusal",
        recordings: "omp-prompt_while_streaming",
        reason: "the seed's text acknowledges first and says later, under the same id, what came of it",
        rewrite: |records| {
            let refused = |record: &Record| matches!(record, Record::Out(frame) if frame["success"] == false);
            let at = records.iter().position(refused);
            at.map_or(0, |at| {
                records.swap(at, at + 1);
                1
            })
        },
    },
    Exception {
        name: "a command of an extension is acknowledged at once",
        recordings: "omp-ext_ui",
        reason: "`prompt` is answered first, as the seed says of every prompt; a dialog may take longer than a host waits",
        rewrite: |records| {
            let asked: Vec<usize> = (0..records.len()).filter(|at| is_in(&records[*at], "prompt")).collect();
            for from in &asked {
                let is_ack = |record: &Record| is_out(record, "response");
                let to = from + records[*from..].iter().position(is_ack).expect("every prompt is answered");
                records[from + 1..=to].rotate_right(1);
            }
            asked.len()
        },
    },
    Exception {
        name: "a dialog whose time is over is taken back",
        recordings: "omp-ext_ui",
        reason: "`cancel` exists for editors; a host that still shows a dead confirmation is helped by it too",
        rewrite: |records| {
            let late =
                records.iter().position(|record| matches!(record, Record::Out(frame) if frame["title"] == "Late"));
            late.map_or(0, |at| {
                let Record::Out(frame) = &records[at] else { return 0 };
                let target = frame["id"].clone();
                let cancel =
                    json!({"type": "extension_ui_request", "id": "<cancel>", "method": "cancel", "targetId": target});
                records.insert(at + 1, Record::Out(cancel));
                1
            })
        },
    },
    Exception {
        name: "a host is called when the call has begun",
        recordings: "omp-host_tools",
        reason: "the reference tells hosts not to rely on the early call of oh-my-pi, and agents to call after the start",
        rewrite: |records| {
            let called: Vec<usize> = (0..records.len()).filter(|at| is_out(&records[*at], "host_tool_call")).collect();
            for at in &called {
                let updated = usize::from(is_in(&records[at + 1], "host_tool_update"));
                let is_start = |record: &Record| is_out(record, "tool_execution_start");
                let start = at + records[*at..].iter().position(is_start).expect("every call has a start");
                records[*at..=start].rotate_left(1 + updated);
            }
            called.len()
        },
    },
    Exception {
        name: "the empty message of an abort is not counted",
        recordings: "omp-host_tools",
        reason: "it is made for the wire and for the file; `messageCount` counts what user, model and tools said",
        rewrite: |records| {
            each_out(records, |frame| {
                let count = frame.pointer_mut("/data/messageCount").filter(|count| **count == 12);
                count.map(|count| *count = 11.into()).is_some()
            })
        },
    },
    Exception {
        name: "tasks keep their ids",
        recordings: "omp-todos",
        reason: "the seed's phases and tasks have ids; oh-my-pi 14 drops them",
        rewrite: |records| {
            each_out(records, |frame| {
                each_object(frame, &mut |it| {
                    let named = it.get_mut("todoPhases").is_some_and(|phases| name_all(phases, "phase"));
                    let tasks = it.get_mut("tasks").is_some_and(|tasks| name_all(tasks, "task"));
                    it.get_mut("todos").is_some_and(|todos| name_all(todos, "task")) || tasks || named
                })
            })
        },
    },
    Exception {
        name: "`read` writes what is in the file",
        recordings: "omp-tool_read",
        reason: "what a built-in tool answers belongs to the product: oh-my-pi numbers lines and adds a display text",
        rewrite: plain_read,
    },
    Exception {
        name: "`read` writes what is in the file, also in the list of messages",
        recordings: "omp-messages_stats",
        reason: "as above",
        rewrite: plain_read,
    },
    Exception {
        name: "an aborted reply has cost something",
        recordings: "omp-abort_midstream",
        reason: "a provider that was cut off reports nothing; we count what was sent and said instead of zeros",
        rewrite: |records| each_out(records, estimate),
    },
    Exception {
        name: "`get_branch_messages` and `get_fork_messages` are one",
        recordings: "pi-branch",
        reason: "the seed's name; pi has only the other",
        rewrite: |records| {
            let is_unknown =
                |record: &Record| matches!(record, Record::Out(frame) if frame["command"] == "get_branch_messages");
            let is_known = |frame: &Value| frame["command"] == "get_fork_messages";
            let known = records.iter().find_map(|record| match record {
                Record::Out(frame) if is_known(frame) => Some(frame.clone()),
                _ => None,
            });
            let (Some(mut known), Some(at)) = (known, records.iter().position(is_unknown)) else { return 0 };
            known["id"] = "bm".into();
            known["command"] = "get_branch_messages".into();
            records[at] = Record::Out(known);
            1
        },
    },
    Exception {
        name: "a compaction that does not begin has no events",
        recordings: "pi-compact",
        reason: "where there is nothing to compact the response says so; pi tells of a beginning and an end around that",
        rewrite: |records| {
            let before = records.len();
            let failed = |record: &Record| matches!(record, Record::Out(frame) if frame["type"] == "compaction_end" && frame["result"].is_null());
            while let Some(at) = records.iter().position(failed) {
                records.drain(at - 1..=at);
            }
            before - records.len()
        },
    },
    Exception {
        name: "words that an abort cuts have their end",
        recordings: "omp-abort_midstream",
        reason: "newer hosts close a block at its end; the older ones pass over one that they did not wait for",
        rewrite: |records| {
            let is_cut = |record: &Record| {
                is_out(record, "message_end")
                    && matches!(record, Record::Out(frame) if frame["message"]["stopReason"] == "aborted")
            };
            let at = records.iter().position(is_cut);
            at.map_or(0, |at| {
                let Record::Out(frame) = &records[at] else { return 0 };
                let text = frame["message"]["content"][0]["text"].clone();
                let event = json!({"type": "text_end", "contentIndex": 0, "content": text});
                records.insert(at, Record::Out(json!({"type": "message_update", "assistantMessageEvent": event})));
                1
            })
        },
    },
    Exception {
        name: "a command that fails is answered under its id",
        recordings: "omp-",
        reason: "without it a host with two open requests cannot tell which of them failed",
        rewrite: |records| {
            let (mut asked, mut failures) = (Value::Null, 0);
            for record in records {
                match record {
                    Record::In(frame) => asked = frame["id"].clone(),
                    Record::Out(frame) if frame["command"] == "parse" && !asked.is_null() => {
                        frame["id"] = asked.clone();
                        failures += 1;
                    }
                    _ => {}
                }
            }
            failures
        },
    },
    Exception {
        name: "a parser has its own words",
        recordings: "pi-malformed",
        reason: "the detail behind `Failed to parse command: ` is the JSON parser's",
        rewrite: |records| {
            each_out(records, |frame| {
                let parse = frame["command"] == "parse";
                if parse {
                    frame["error"] = "Failed to parse command: <words>".into();
                }
                parse
            })
        },
    },
];

fn each_out(records: &mut [Record], mut change: impl FnMut(&mut Value) -> bool) -> usize {
    let frames = records.iter_mut().filter_map(|record| match record {
        Record::Out(frame) => Some(frame),
        _ => None,
    });
    frames.filter_map(|frame| change(frame).then_some(())).count()
}

fn is_out(record: &Record, kind: &str) -> bool {
    matches!(record, Record::Out(frame) if frame["type"] == kind)
}

fn is_in(record: &Record, kind: &str) -> bool {
    matches!(record, Record::In(frame) if frame["type"] == kind)
}

fn remove(frame: &mut Value, member: &str) -> bool {
    frame.as_object_mut().and_then(|members| members.remove(member)).is_some()
}

/// `phase-1`, `phase-2` ... for those that have no id.
fn name_all(list: &mut Value, word: &str) -> bool {
    let items = list.as_array_mut().into_iter().flatten().enumerate();
    items.map(|(at, item)| item["id"] = format!("{word}-{}", at + 1).into()).count() > 0
}

/// Every object inside a value, the value itself too.
fn each_object(value: &mut Value, change: &mut impl FnMut(&mut Value) -> bool) -> bool {
    let mut changed = value.is_object() && change(value);
    match value {
        Value::Object(members) => members.values_mut().for_each(|value| changed |= each_object(value, change)),
        Value::Array(items) => items.iter_mut().for_each(|value| changed |= each_object(value, change)),
        _ => {}
    }
    changed
}

#[allow(clippy::ptr_arg, reason = "all exceptions have one type")]
fn plain_read(records: &mut Vec<Record>) -> usize {
    each_out(records, |frame| {
        each_object(frame, &mut |it| {
            if it["text"] == "1tk|alpha beta\n2lb|" {
                it["text"] = "alpha beta\n".into();
            }
            !it["details"]["displayContent"].is_null() && remove(it, "details")
        })
    })
}

fn estimate(frame: &mut Value) -> bool {
    each_object(frame, &mut |it| {
        let aborted = it["stopReason"] == "aborted";
        if aborted {
            it["usage"] = "<estimated>".into();
        }
        aborted
    })
}
