//! Which spans are open: one turn per session and the calls in it, from what is written to logs. Pure: entries and times go
//! in, finished spans come out. A turn is known by its first model call or by its first entry, whichever comes first: the
//! model is called while the entry is still on its way.

mod fields;

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{
    AskEntry, AskKind, Body, BranchEntry, CallEntry, CallId, Entry, ModelEntry, SessionId, ShellEntry, TracePlace,
    TurnEntry, TurnId,
};

use super::ids::{random, random_trace};
use super::sampler::SamplerChoice;
use super::span::{ParentSpan, Span, SpanKind};
pub(super) use fields::{SpanText, fault_kind, finish_reason, message_json, model_fields, usage};

/// Sessions with open spans; what begins in further ones is not traced.
const SESSIONS_MAX: usize = 10_000;
/// Calls that are open in one session at once.
const CALLS_MAX: usize = 1_000;

/// What a span hangs on.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SpanParent {
    pub(super) place: TracePlace,
    pub(super) state: Option<Arc<str>>,
    pub(super) is_remote: bool,
}

impl SpanParent {
    /// As a sender has written it.
    pub(super) fn of_sender(text: &str) -> Option<Self> {
        let place = TracePlace::parse(text)?;
        Some(Self { place, state: TracePlace::state(text).map(Arc::from), is_remote: true })
    }
}

/// An open span. Where the trace is not kept there is no more than its place.
pub(super) struct OpenSpan {
    pub(super) place: TracePlace,
    pub(super) state: Option<Arc<str>>,
    pub(super) span: Option<Box<Span>>,
}

impl OpenSpan {
    pub(super) fn as_parent(&self) -> SpanParent {
        SpanParent { place: self.place, state: self.state.clone(), is_remote: false }
    }
}

struct TurnSpan {
    id: TurnId,
    open: OpenSpan,
    /// The newest model call.
    last_model_call: Option<TracePlace>,
    /// The newest one that has answered, and when: what is called is called by it.
    answered: Option<(TracePlace, u64)>,
    /// When the next one began. Entries of calls that wait for nothing may be offered only after that.
    next_began: Option<u64>,
    usage_model: Option<Arc<str>>,
}

#[derive(Default)]
struct SessionSpans {
    turn: Option<TurnSpan>,
    calls: HashMap<CallId, OpenSpan>,
    /// The call that this session works for.
    above: Option<SpanParent>,
}

impl SessionSpans {
    fn is_empty(&self) -> bool {
        self.turn.is_none() && self.calls.is_empty() && self.above.is_none()
    }
}

pub(super) struct OpenSpans {
    sessions: HashMap<SessionId, SessionSpans>,
    sampler: SamplerChoice,
    text: SpanText,
    /// What turns hang on that nobody else has a place for.
    process: Option<SpanParent>,
    /// Places are taken from senders.
    takes: bool,
}

/// Where a turn belongs.
pub(super) struct TurnPlace<'a> {
    pub(super) session: &'a SessionId,
    pub(super) turn: &'a TurnId,
    pub(super) trace: Option<&'a str>,
    pub(super) child_of: Option<&'a (SessionId, CallId)>,
}

impl OpenSpans {
    pub(super) fn new(sampler: SamplerChoice, text: SpanText, process: Option<SpanParent>, takes: bool) -> Self {
        Self { sessions: HashMap::new(), sampler, text, process, takes }
    }

    /// A span below this one, or the first of a trace.
    pub(super) fn begin(&self, parent: Option<&SpanParent>, name: String, kind: SpanKind, now: u64) -> OpenSpan {
        let trace = parent.map_or_else(random_trace, |parent| parent.place.trace);
        let sampled = match parent {
            Some(parent) if !parent.is_remote => parent.place.sampled,
            parent => self.sampler.keeps(trace, parent.map(|parent| &parent.place)),
        };
        let place = TracePlace { trace, span: random(), sampled };
        let state = parent.and_then(|parent| parent.state.clone());
        let span = sampled.then(|| {
            Box::new(Span {
                place,
                parent: parent.map(|parent| ParentSpan { id: parent.place.span, is_remote: parent.is_remote }),
                state: state.clone(),
                name,
                kind,
                start_ns: now,
                end_ns: now,
                attributes: Vec::new(),
                events: Vec::new(),
                events_dropped: 0,
                link: None,
                error: None,
            })
        });
        OpenSpan { place, state, span }
    }

    /// What a model call or a tool of this session hangs on.
    pub(super) fn turn(&self, session: &SessionId) -> Option<SpanParent> {
        let turn = self.sessions.get(session)?.turn.as_ref()?;
        Some(turn.open.as_parent())
    }

    pub(super) fn call(&self, session: &SessionId, call: &CallId) -> Option<SpanParent> {
        Some(self.sessions.get(session)?.calls.get(call)?.as_parent())
    }

    pub(super) fn model_called(&mut self, session: &SessionId, place: TracePlace, now: u64) {
        if let Some(turn) = self.sessions.get_mut(session).and_then(|session| session.turn.as_mut()) {
            turn.last_model_call = Some(place);
            turn.next_began.get_or_insert(now);
        }
    }

    pub(super) fn model_answered(&mut self, session: &SessionId, place: TracePlace, now: u64) {
        if let Some(turn) = self.sessions.get_mut(session).and_then(|session| session.turn.as_mut()) {
            turn.answered = Some((place, now));
            turn.next_began = None;
        }
    }

    /// The turn, begun now where it is not open yet. `None`: there is no room for it.
    pub(super) fn turn_of(&mut self, place: &TurnPlace<'_>, now: u64, out: &mut Vec<Span>) -> Option<SpanParent> {
        if !self.sessions.contains_key(place.session) && self.sessions.len() >= SESSIONS_MAX {
            return None;
        }
        let known = self.sessions.get(place.session);
        if let Some(turn) = known.and_then(|session| session.turn.as_ref()).filter(|turn| turn.id == *place.turn) {
            return Some(turn.open.as_parent());
        }
        let above = known.and_then(|session| session.above.clone());
        let above = above.or_else(|| place.child_of.and_then(|(session, call)| self.call(session, call)));
        let sender = place.trace.filter(|_| self.takes).and_then(SpanParent::of_sender);
        let parent = above.clone().or(sender).or_else(|| self.process.clone());
        let mut open = self.begin(parent.as_ref(), "invoke_agent tillerman".to_owned(), SpanKind::Internal, now);
        if let Some(span) = &mut open.span {
            fields::begin_turn(span, place);
        }
        let parent = open.as_parent();
        let turn = TurnSpan {
            id: place.turn.clone(),
            open,
            last_model_call: None,
            answered: None,
            next_began: None,
            usage_model: None,
        };
        let session = self.sessions.entry(place.session.clone()).or_default();
        session.above = above;
        if let Some(lost) = session.turn.replace(turn) {
            close(lost.open, now, "lost", out);
        }
        Some(parent)
    }

    /// What is on its way into a log.
    pub(super) fn offered(&mut self, session: &SessionId, entries: &[Arc<Entry>], now: u64, out: &mut Vec<Span>) {
        for (at, entry) in entries.iter().enumerate() {
            match &entry.body {
                Body::Opened { child_of: Some(child_of), .. } => {
                    if let Some(above) = self.call(&child_of.0, &child_of.1)
                        && self.sessions.len() < SESSIONS_MAX
                    {
                        self.sessions.entry(session.clone()).or_default().above.get_or_insert(above);
                    }
                }
                Body::Turn(TurnEntry::Started { turn }) => {
                    let trace = match entries.get(at + 1).map(|next| &next.body) {
                        Some(Body::Turn(TurnEntry::Taken { trace, .. })) => trace.as_deref(),
                        _ => None,
                    };
                    self.turn_of(&TurnPlace { session, turn, trace, child_of: None }, now, out);
                }
                _ => self.follow(session, entry, now, out),
            }
        }
        // One in which nothing is open takes nobody's place.
        if self.sessions.get(session).is_some_and(SessionSpans::is_empty) {
            self.sessions.remove(session);
        }
    }

    /// Everything but the first entry of a session and of a turn.
    fn follow(&mut self, id: &SessionId, entry: &Entry, now: u64, out: &mut Vec<Span>) {
        match &entry.body {
            Body::Call(CallEntry::Started { call, tool, .. }) => {
                let parent = self.turn(id);
                let start = self.call_start(id, u64::try_from(entry.at_ms).unwrap_or(0), now);
                self.begin_call(id, parent, (call, tool), start);
            }
            Body::Shell(ShellEntry::Called { call, tool }) => {
                let process = self.process.clone();
                self.begin_call(id, process, (call, tool), now);
            }
            _ => {}
        }
        let text = &self.text;
        let Some(session) = self.sessions.get_mut(id) else { return };
        match &entry.body {
            Body::Call(CallEntry::Ended { result, .. }) | Body::Shell(ShellEntry::Returned(result)) => {
                if let Some(open) = session.calls.remove(&result.call)
                    && let Some(mut span) = open.span
                {
                    fields::end_call(&mut span, result, text);
                    // A call has ended before the model is asked again.
                    let next = session.turn.as_ref().and_then(|turn| turn.next_began);
                    let end = next.filter(|next| *next >= span.start_ns).unwrap_or(now);
                    finish(span, end, out);
                }
            }
            Body::Ask(ask) => ask_event(session, ask, now),
            Body::Turn(TurnEntry::Ended(end)) => {
                let Some(turn) = session.turn.take_if(|turn| turn.id == end.turn) else { return };
                session.calls.drain().for_each(|(_, open)| close(open, now, "interrupted", out));
                if let Some(mut span) = turn.open.span {
                    fields::end_turn(&mut span, end, turn.usage_model.as_deref(), text);
                    finish(span, now, out);
                }
            }
            body => {
                if let Some(turn) = &mut session.turn {
                    if let Body::Assistant { message, .. } = body {
                        turn.usage_model = Some(message.model.clone());
                    }
                    if let Some(span) = &mut turn.open.span {
                        turn_event(span, body, now, text);
                    }
                }
            }
        }
    }

    /// When a call began: as its entry says, between the answer that asked for it and the next question to the model.
    fn call_start(&self, session: &SessionId, at_ms: u64, now: u64) -> u64 {
        let turn = self.sessions.get(session).and_then(|session| session.turn.as_ref());
        let Some((turn, (_, answered))) = turn.and_then(|turn| Some((turn, turn.answered?))) else { return now };
        let latest = turn.next_began.unwrap_or(now);
        at_ms.saturating_mul(1_000_000).min(latest).max(answered)
    }

    fn begin_call(
        &mut self,
        session: &SessionId,
        parent: Option<SpanParent>,
        (call, tool): (&vocab::Call, &Arc<str>),
        now: u64,
    ) {
        if !self.sessions.contains_key(session) && self.sessions.len() >= SESSIONS_MAX {
            return;
        }
        let mut open = self.begin(parent.as_ref(), format!("execute_tool {tool}"), SpanKind::Internal, now);
        let sessions = self.sessions.entry(session.clone()).or_default();
        if sessions.calls.len() >= CALLS_MAX {
            return;
        }
        if let Some(span) = &mut open.span {
            fields::begin_call(span, session, (call, tool), &self.text);
            span.link = sessions.turn.as_ref().and_then(|turn| {
                let answered = turn.answered.map(|(place, _)| place);
                answered.or(turn.last_model_call)
            });
        }
        sessions.calls.insert(call.id.clone(), open);
    }

    /// The session is not in memory any more: what is open ends here.
    pub(super) fn gone(&mut self, session: &SessionId, now: u64, out: &mut Vec<Span>) {
        let Some(session) = self.sessions.remove(session) else { return };
        session.calls.into_values().for_each(|open| close(open, now, "interrupted", out));
        if let Some(turn) = session.turn {
            close(turn.open, now, "interrupted", out);
        }
    }
}

fn finish(mut span: Box<Span>, now: u64, out: &mut Vec<Span>) {
    span.end_ns = now;
    out.push(*span);
}

fn close(open: OpenSpan, now: u64, why: &str, out: &mut Vec<Span>) {
    if let Some(mut span) = open.span {
        span.fail(why, why.to_owned());
        finish(span, now, out);
    }
}

/// A question is told with the call that it is about, else with the turn.
fn ask_event(session: &mut SessionSpans, ask: &AskEntry, now: u64) {
    let call = match ask {
        AskEntry::Opened(ask) => match &ask.kind {
            AskKind::Permission(ask) => Some(&ask.call),
            AskKind::HostCall { call, .. } => Some(call),
            _ => None,
        },
        // The turn stands still while a question is open: there is one call that waits.
        AskEntry::Closed { .. } => None,
    };
    let of_call = match call {
        Some(call) => session.calls.get_mut(call),
        None if session.calls.len() == 1 => session.calls.values_mut().next(),
        None => None,
    };
    let span = of_call.and_then(|open| open.span.as_mut());
    let span = match span {
        Some(span) => Some(span),
        None => session.turn.as_mut().and_then(|turn| turn.open.span.as_mut()),
    };
    if let Some(span) = span {
        fields::ask_event(span, ask, now);
    }
}

fn turn_event(span: &mut Span, body: &Body, now: u64, text: &SpanText) {
    match body {
        Body::Model(ModelEntry::Retrying { attempt, wait_ms, fault, .. }) => span.event(
            now,
            "retry",
            vec![
                ("tillerman.retry.attempt", u64::from(*attempt).into()),
                ("tillerman.retry.wait_ms", (*wait_ms).into()),
                ("error.type", fault_kind(fault.kind).into()),
                ("exception.message", text.fault(fault).into()),
            ],
        ),
        Body::Model(ModelEntry::FellBack(fallback)) => span.event(
            now,
            "fallback",
            vec![
                ("tillerman.fallback.from", (*fallback.from).into()),
                ("tillerman.fallback.to", (*fallback.to).into()),
                ("error.type", fault_kind(fallback.fault.kind).into()),
            ],
        ),
        Body::Turn(TurnEntry::Cut { why, .. }) => {
            span.event(now, "cut", vec![("tillerman.cut.by", fields::cut_by(*why).into())]);
        }
        Body::Branch(BranchEntry::Compacted(compaction)) => span.event(
            now,
            "compaction",
            vec![
                ("tillerman.compaction.tokens_before", compaction.tokens_before.into()),
                ("tillerman.compaction.tokens_after", compaction.tokens_after.into()),
            ],
        ),
        Body::User { parts, .. } if text.content => {
            let said = vocab::parts_text(parts);
            span.set("gen_ai.input.messages", message_json("user", &text.content_of(&said)));
        }
        Body::Assistant { message, .. } if text.content => {
            span.attributes.retain(|(key, _)| *key != "gen_ai.output.messages");
            let said = text.content_of(&message.text());
            span.set("gen_ai.output.messages", message_json("assistant", &said));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
