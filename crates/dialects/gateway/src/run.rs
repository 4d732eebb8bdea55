//! One run as frames: what its ids are told, in which order, and what its content is. Pure: what the engine says of a turn goes
//! in, frames behind an id come out.

use std::sync::Arc;

use vocab::{
    Body, BranchEntry, Call, CallEntry, CallId, CallResult, CutBy, Entry, ItemId, Json, TurnEnd, TurnEntry, TurnId,
};

use crate::events::{self, RunStateWord, ToolEndData, ToolStartData, run_state};
use crate::shape::AnyJson;
use crate::tool_names::TOOL_NAMES;

/// Between two messages of one run.
pub(crate) const GAP: &str = "\n\n";

/// Frames behind an id, in order.
pub(crate) type Tails = Vec<Vec<u8>>;

/// A turn as it is told.
#[derive(Debug)]
pub(crate) struct GatewayRun {
    pub(crate) turn: TurnId,
    /// It was heard from its start: `content` is all of it.
    pub(crate) is_whole: bool,
    /// Nothing but its start was heard: who joins it now began it.
    pub(crate) is_fresh: bool,
    /// Messages that it began with, where there were several.
    pub(crate) taken: Vec<ItemId>,
    content: String,
    /// Where the text of the running reply begins in it, and how much of that text there is.
    reply_from: usize,
    reply_len: usize,
    calls: Vec<RunCall>,
    /// What the newest reply asked for.
    asked: Vec<Call>,
    cancel_told: bool,
    pub(crate) cut: Option<CutBy>,
    pub(crate) end: Option<TurnEnd>,
    /// The end is not in the log.
    pub(crate) is_lost: bool,
    pub(crate) model: Option<Arc<str>>,
    pub(crate) compacted: bool,
}

#[derive(Debug)]
struct RunCall {
    id: CallId,
    tool: Arc<str>,
    args: Json,
    told: bool,
}

impl GatewayRun {
    pub(crate) fn new(turn: TurnId, is_whole: bool) -> Self {
        Self {
            turn,
            is_whole,
            is_fresh: is_whole,
            taken: Vec::new(),
            content: String::new(),
            reply_from: 0,
            reply_len: 0,
            calls: Vec::new(),
            asked: Vec::new(),
            cancel_told: false,
            cut: None,
            end: None,
            is_lost: false,
            model: None,
            compacted: false,
        }
    }

    /// What its newest reply asked for, where this connection comes in behind that.
    pub(crate) fn joins_round(&mut self, round: &[Arc<Entry>]) {
        let calls = |entry: &Arc<Entry>| match &entry.body {
            Body::Assistant { message, .. } => message.calls().cloned().collect(),
            _ => Vec::new(),
        };
        self.asked = round.iter().flat_map(calls).collect();
    }

    /// Rebuilds a run from its log entries; the frames they would have made go to `tails`.
    pub(crate) fn recounted(turn: TurnId, entries: &[Arc<Entry>], tails: &mut Tails) -> Self {
        let mut run = Self::new(turn, true);
        entries.iter().for_each(|entry| run.logged(entry, tails));
        run
    }

    pub(crate) fn content(&self) -> Arc<str> {
        self.content.as_str().into()
    }
    /// The text of the reply that is being made, as far as it was heard.
    pub(crate) fn reply_text(&self) -> &str {
        &self.content[self.reply_from..]
    }
    pub(crate) fn has_content(&self) -> bool {
        !self.content.is_empty()
    }
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Somebody has told it to end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.cancel_told || self.cut.is_some()
    }

    /// More text; its frame is written into `tail`.
    pub(crate) fn text(&mut self, text: &str, tail: &mut Vec<u8>) {
        self.is_fresh = false;
        if text.is_empty() {
            return tail.clear();
        }
        let gap = self.reply_len == 0 && !self.content.is_empty();
        if gap {
            self.content.push_str(GAP);
        }
        if self.reply_len == 0 {
            self.reply_from = self.content.len();
        }
        self.content.push_str(text);
        self.reply_len += text.len();
        events::content_tail(gap, text, tail);
    }

    /// A call was allowed and runs.
    pub(crate) fn call_began(&mut self, id: &CallId, tails: &mut Tails) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == *id && !call.told) {
            call.told = true;
            tails.push(call.start());
        }
    }

    /// Somebody wants it to end.
    pub(crate) fn cancel_requested(&mut self, at_ms: i64, tails: &mut Tails) {
        if !std::mem::replace(&mut self.cancel_told, true) {
            tails.push(run_state(RunStateWord::CancelRequested, at_ms));
        }
    }

    /// An entry of this turn.
    pub(crate) fn logged(&mut self, entry: &Entry, tails: &mut Tails) {
        match &entry.body {
            Body::Turn(TurnEntry::Taken { items, .. }) => self.taken.clone_from(items),
            Body::User { .. } => self.is_fresh = false,
            Body::Assistant { message, .. } => {
                self.is_fresh = false;
                // What the deltas did not say. Where they said something else, they stay.
                let text = message.text();
                let rest = text.strip_prefix(&self.content[self.reply_from..][..self.reply_len]).unwrap_or_default();
                let mut tail = Vec::new();
                self.text(rest, &mut tail);
                if !tail.is_empty() {
                    tails.push(tail);
                }
                (self.reply_from, self.reply_len) = (self.content.len(), 0);
                self.model = Some(message.model.clone());
                self.asked = message.calls().cloned().collect();
            }
            Body::Call(CallEntry::Started { call, tool, .. }) => {
                let (id, tool, args) = (call.id.clone(), tool.clone(), call.input.json().on_one_line());
                self.calls.push(RunCall { id, tool, args, told: false });
            }
            Body::Call(CallEntry::Ended { result, .. }) => self.call_ended(result, tails),
            Body::Branch(BranchEntry::Compacted(_)) => self.compacted = true,
            Body::Turn(TurnEntry::Cut { why, .. }) => {
                self.cut = Some(*why);
                if *why != CutBy::Stalled {
                    self.cancel_requested(entry.at_ms, tails);
                }
            }
            Body::Turn(TurnEntry::Ended(end)) => self.ended(end, tails),
            // Nothing that a run's own ids are told.
            Body::Turn(TurnEntry::Started { .. })
            | Body::Opened { .. }
            | Body::Ask(_)
            | Body::Queue(_)
            | Body::Model(_)
            | Body::Branch(_)
            | Body::Setting(_)
            | Body::Shell(_)
            | Body::Note(_) => {}
        }
    }

    fn call_ended(&mut self, result: &CallResult, tails: &mut Tails) {
        let known = self.calls.iter().position(|call| call.id == result.call);
        // One that was kept from its start, or whose start was before we came: it has its pair all the same.
        let call = known.map(|at| self.calls.remove(at)).unwrap_or_else(|| {
            let asked = self.asked.iter().find(|call| call.id == result.call);
            let args = asked.map_or_else(Json::empty_object, |call| call.input.json().on_one_line());
            RunCall { id: result.call.clone(), tool: result.tool.clone(), args, told: false }
        });
        if !call.told {
            tails.push(call.start());
        }
        tails.push(events::tail("tool_end", &tool_end(result)));
        tails.extend(events::attachments(&result.parts).map(|it| events::tail("attachment", &it)));
    }

    /// The turn ended. A call whose start was told and that has no result gets its `tool_end` here.
    pub(crate) fn ended(&mut self, end: &TurnEnd, tails: &mut Tails) {
        for call in std::mem::take(&mut self.calls).into_iter().filter(|call| call.told) {
            tails.push(events::tail("tool_end", &call.lost()));
        }
        self.end = Some(end.clone());
    }

    /// A request goes out of it before its end: its last states, and what is owed to the calls that were told.
    pub(crate) fn withdrawn(&self, at_ms: i64) -> Tails {
        let calls = self.calls.iter().filter(|call| call.told);
        let mut tails: Tails = calls.map(|call| events::tail("tool_end", &call.lost())).collect();
        if !self.cancel_told {
            tails.push(run_state(RunStateWord::CancelRequested, at_ms));
        }
        tails.push(run_state(RunStateWord::Cancelled, at_ms));
        tails
    }

    /// The starts of the calls that were told and go on, for who was not there.
    pub(crate) fn calls_under_way(&self) -> impl Iterator<Item = Vec<u8>> {
        self.calls.iter().filter(|call| call.told).map(RunCall::start)
    }

    /// It will not end by itself any more: what is owed to the calls that were told.
    pub(crate) fn vanished(&mut self, tails: &mut Tails) {
        for call in std::mem::take(&mut self.calls).into_iter().filter(|call| call.told) {
            tails.push(events::tail("tool_end", &call.lost()));
        }
    }
}

impl RunCall {
    fn start(&self) -> Vec<u8> {
        events::tail("tool_start", &tool_start(&self.tool, &self.args, &self.id))
    }
    fn lost(&self) -> ToolEndData {
        tool_end(&CallResult {
            call: self.id.clone(),
            tool: self.tool.clone(),
            end: vocab::CallEnd::Lost,
            parts: vec![vocab::Part::text(wire::UNTOLD)],
            is_error: true,
            duration_ms: 0,
            mutation: None,
            edits: Vec::new(),
            details: None,
        })
    }
}

pub(crate) fn tool_start(tool: &str, args: &Json, id: &CallId) -> ToolStartData {
    ToolStartData { tool: TOOL_NAMES.show(tool).to_owned(), args: AnyJson(args.on_one_line()), call_id: id.to_string() }
}

pub(crate) fn tool_end(result: &CallResult) -> ToolEndData {
    let shown = events::shown(result);
    ToolEndData {
        tool: TOOL_NAMES.show(&result.tool).to_owned(),
        call_id: result.call.to_string(),
        result: shown.outcome,
        duration_ms: result.duration_ms,
        truncated: shown.truncated,
        full_bytes: shown.full_bytes,
    }
}

#[cfg(test)]
mod tests {
    use vocab::{AssistantMessage, CallEnd, CallInput, Finish, MessageEnd, Part, Stop, Usage};

    use super::*;

    fn entry(body: Body) -> Entry {
        Entry { seq: 1, parent: 0, at_ms: 7, body, by: None }
    }
    fn reply(text: &str) -> Entry {
        let blocks = vec![vocab::Block::Text(text.into())];
        let end = MessageEnd::Finished(Finish::Stop);
        let message = AssistantMessage { blocks, model: "m".into(), end, usage: Usage::default() };
        entry(Body::Assistant { turn: Some("t".into()), message })
    }
    fn asking(ids: &[&str]) -> Entry {
        let call = |id: &&str| {
            let input = CallInput::Object(Json::trusted(format!("{{\"of\":\"{id}\"}}")));
            vocab::Block::Call(Call { id: (*id).into(), name: "bash".into(), input, seal: None })
        };
        let (blocks, end) = (ids.iter().map(call).collect(), MessageEnd::Finished(Finish::ToolUse));
        let message = AssistantMessage { blocks, model: "m".into(), end, usage: Usage::default() };
        entry(Body::Assistant { turn: Some("t".into()), message })
    }
    fn started(id: &str) -> Entry {
        let input = CallInput::Object(Json::trusted("{\n\"a\":1}"));
        let call = Call { id: id.into(), name: "bash".into(), input, seal: None };
        entry(Body::Call(CallEntry::Started { turn: "t".into(), call, tool: "bash".into() }))
    }
    fn result(id: &str, is_error: bool, end: CallEnd) -> Entry {
        let result = CallResult {
            call: id.into(),
            tool: "bash".into(),
            end,
            parts: vec![Part::text("out")],
            is_error,
            duration_ms: 3,
            mutation: None,
            edits: Vec::new(),
            details: None,
        };
        entry(Body::Call(CallEntry::Ended { turn: "t".into(), result }))
    }
    fn end(stop: Stop) -> TurnEnd {
        let (mutations, usage) = (Vec::new(), Usage::default());
        TurnEnd { turn: "t".into(), stop, iterations: 0, usage, mutations, fault: None }
    }
    fn cut(why: CutBy) -> Entry {
        entry(Body::Turn(TurnEntry::Cut { turn: "t".into(), why, item: None }))
    }

    enum Heard {
        Text(&'static str),
        Began(&'static str),
        CancelAsked,
        Entry(Entry),
    }
    use Heard::{Began, CancelAsked, Text};

    /// What is told of it, and its content.
    fn told(heard: Vec<Heard>) -> (Vec<String>, String) {
        let mut run = GatewayRun::new("t".into(), true);
        let mut tails = Tails::new();
        for it in heard {
            match it {
                Text(text) => {
                    let mut tail = Vec::new();
                    run.text(text, &mut tail);
                    tails.extend((!tail.is_empty()).then_some(tail));
                }
                Began(call) => run.call_began(&call.into(), &mut tails),
                CancelAsked => run.cancel_requested(7, &mut tails),
                Heard::Entry(entry) => run.logged(&entry, &mut tails),
            }
        }
        let shown = |tail: Vec<u8>| {
            let frame: serde_json::Value =
                serde_json::from_str(&format!("{{{}", String::from_utf8(tail).unwrap())).unwrap();
            let (event, data) = (frame["event"].as_str().unwrap(), &frame["data"]);
            match event {
                "content" => format!("+{}", data["text"].as_str().unwrap()),
                "run_state" => data["state"].as_str().unwrap().to_owned(),
                "tool_start" => format!("start {} {}", data["callId"].as_str().unwrap(), data["args"]),
                "tool_end" => format!("end {} {}", data["callId"].as_str().unwrap(), data["result"]["success"]),
                other => other.to_owned(),
            }
        };
        (tails.into_iter().map(shown).collect(), run.content().to_string())
    }

    #[test]
    fn what_is_heard_of_a_run_and_what_is_told() {
        let ended = |stop| Heard::Entry(entry(Body::Turn(TurnEntry::Ended(end(stop)))));
        type Case = (&'static str, Vec<Heard>, &'static [&'static str], &'static str);
        let cases: Vec<Case> = vec![
            ("nothing", vec![ended(Stop::EndTurn)], &[], ""),
            ("deltas, then their entry", vec![Text("a"), Text("b"), Heard::Entry(reply("ab"))], &["+a", "+b"], "ab"),
            ("an entry alone", vec![Heard::Entry(reply("ab"))], &["+ab"], "ab"),
            ("an entry says the rest", vec![Text("a"), Heard::Entry(reply("abc"))], &["+a", "+bc"], "abc"),
            ("an entry says something else", vec![Text("x"), Heard::Entry(reply("abc"))], &["+x"], "x"),
            (
                "messages stand apart",
                vec![Text("a"), Heard::Entry(reply("a")), Text(""), Text("b"), Text("c"), Heard::Entry(reply("bc"))],
                &["+a", "+\n\nb", "+c"],
                "a\n\nbc",
            ),
            (
                "a message without words makes no gap",
                vec![
                    Heard::Entry(reply("")),
                    Heard::Entry(reply("a")),
                    Heard::Entry(reply("")),
                    Heard::Entry(reply("b")),
                ],
                &["+a", "+\n\nb"],
                "a\n\nb",
            ),
            (
                "a call runs",
                vec![
                    Heard::Entry(started("c")),
                    Began("c"),
                    Began("c"),
                    Heard::Entry(result("c", false, CallEnd::Ran)),
                ],
                &["start c {\"a\":1}", "end c true"],
                "",
            ),
            (
                "a call is denied before it began",
                vec![Heard::Entry(started("c")), Heard::Entry(result("c", true, CallEnd::Denied))],
                &["start c {\"a\":1}", "end c false"],
                "",
            ),
            (
                "a call whose start was not heard has its pair",
                vec![Began("c"), Heard::Entry(result("c", false, CallEnd::Ran))],
                &["start c {}", "end c true"],
                "",
            ),
            (
                "calls that an interrupt kept from starting have their pairs, and say what they were to do",
                vec![
                    Heard::Entry(asking(&["c", "d"])),
                    Heard::Entry(started("c")),
                    Began("c"),
                    Heard::Entry(result("c", true, CallEnd::Interrupted)),
                    Heard::Entry(result("d", true, CallEnd::Interrupted)),
                ],
                &["start c {\"a\":1}", "end c false", "start d {\"of\":\"d\"}", "end d false"],
                "",
            ),
            (
                "a call whose result is nowhere has its pair",
                vec![Heard::Entry(started("c")), Heard::Entry(started("d")), Began("c"), ended(Stop::Error)],
                &["start c {\"a\":1}", "end c false"],
                "",
            ),
            ("a cut is asked for once", vec![CancelAsked, Heard::Entry(cut(CutBy::Asked))], &["cancel_requested"], ""),
            ("a cut by others is told", vec![Heard::Entry(cut(CutBy::Newer))], &["cancel_requested"], ""),
            ("a stall is nobody's wish", vec![Heard::Entry(cut(CutBy::Stalled))], &[], ""),
        ];
        for (name, heard, frames, content) in cases {
            let (got, text) = told(heard);
            assert_eq!(
                (got.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), text.as_str()),
                (frames, content),
                "{name}"
            );
        }
    }

    #[test]
    fn a_run_is_fresh_until_its_message_is_heard() {
        let mut run = GatewayRun::new("t".into(), true);
        assert!(run.is_fresh && !GatewayRun::new("t".into(), false).is_fresh);
        let user = Body::User { turn: Some("t".into()), parts: Vec::new(), from: vocab::UserFrom::Prompt };
        run.logged(&entry(user), &mut Tails::new());
        assert!(!run.is_fresh && !run.is_over());
        run.logged(&entry(Body::Turn(TurnEntry::Ended(end(Stop::EndTurn)))), &mut Tails::new());
        assert!(run.is_over());
    }
}
