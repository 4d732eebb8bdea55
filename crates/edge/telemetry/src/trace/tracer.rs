//! Looks at models, logs and tools, and makes spans of what it sees.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vocab::{
    CallAbout, CallContext, CallSpec, Entry, Message, ModelEvent, ModelInfo, ProcessEnd, ProcessWatch, SessionId,
    TracePlace, Usage, WatchedProcess,
};

use super::export::Exporter;
use super::ids::TraceClock;
use super::open_spans::{
    OpenSpan, OpenSpans, SpanParent, SpanText, TurnPlace, fault_kind, finish_reason, message_json, model_fields, usage,
};
use super::settings::TraceSettings;
use super::span::{AttributeValue, Span, SpanKind};
use crate::watch::{CallWatch, LogWatch, ModelWatch, ToolWatch};
use vocab::Keyring;

/// The most of what a model says that is kept for a span.
const SAID_BYTES_MAX: usize = 32 * 1024;
/// The newest messages of a call that a span has.
const MESSAGES_MAX: usize = 50;

pub(super) struct Tracer {
    exporter: Arc<Exporter>,
    clock: Arc<TraceClock>,
    text: SpanText,
    open: Arc<Mutex<OpenSpans>>,
    propagates: bool,
}

impl Tracer {
    pub(super) fn new(settings: &TraceSettings, exporter: Arc<Exporter>, keyring: Keyring) -> Self {
        let text = || SpanText { keyring: keyring.clone(), content: settings.content };
        let above = settings.above.as_ref().map(|(place, state)| SpanParent {
            place: *place,
            state: state.as_deref().map(Arc::from),
            is_remote: true,
        });
        let open = OpenSpans::new(settings.sampler, text(), above, settings.propagates);
        Self {
            exporter,
            clock: Arc::new(TraceClock::new()),
            text: text(),
            open: Arc::new(Mutex::new(open)),
            propagates: settings.propagates,
        }
    }

    fn open(&self) -> MutexGuard<'_, OpenSpans> {
        // Every change of it is whole before anything could panic.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is open, and sends what came to its end.
    fn change<T>(&self, change: impl FnOnce(&mut OpenSpans, u64, &mut Vec<Span>) -> T) -> T {
        let mut done = Vec::new();
        let changed = change(&mut self.open(), self.clock.now(), &mut done);
        done.into_iter().for_each(|span| self.exporter.send(span));
        changed
    }

    fn begin_call(&self, model: &ModelInfo, about: Option<&CallAbout>) -> OpenSpan {
        self.change(|open, now, done| {
            let parent = match about {
                Some(CallAbout { session, turn: Some(turn), trace, child_of, .. }) => {
                    let place = TurnPlace { session, turn, trace: trace.as_deref(), child_of: child_of.as_ref() };
                    open.turn_of(&place, now, done)
                }
                // A summary, within a turn or beside it.
                Some(about) => open.turn(&about.session),
                None => None,
            };
            let span = open.begin(parent.as_ref(), format!("chat {}", model.id), SpanKind::Client, now);
            if let Some(about) = about {
                open.model_called(&about.session, span.place, now);
            }
            span
        })
    }
}

impl ModelWatch for Tracer {
    fn wants_messages(&self) -> bool {
        self.text.content
    }

    fn called(
        &self,
        model: &ModelInfo,
        spec: &CallSpec,
        about: Option<&CallAbout>,
        messages: &[Message],
    ) -> Box<dyn CallWatch> {
        let OpenSpan { place, span, .. } = self.begin_call(model, about);
        let mut call = TracedCall {
            exporter: self.exporter.clone(),
            clock: self.clock.clone(),
            text: SpanText { keyring: self.text.keyring.clone(), content: self.text.content },
            open: self.open.clone(),
            of: about.filter(|about| about.turn.is_some()).map(|about| (about.session.clone(), place)),
            trace: self.propagates.then(|| place.to_string().into()),
            span,
            has_begun: false,
            usage: None,
            said: String::new(),
        };
        if let Some(span) = &mut call.span {
            span.set("gen_ai.operation.name", "chat");
            if about.is_some_and(|it| it.turn.is_none()) {
                span.set("tillerman.purpose", "summary");
            }
            model_fields(span, model);
            span.set("gen_ai.request.max_tokens", spec.max_tokens);
            span.set("gen_ai.request.stream", AttributeValue::Bool(true));
            if let Some(level) = &spec.thinking {
                span.set("gen_ai.request.reasoning.level", &**level);
            }
            if let Some(about) = about {
                span.set("gen_ai.conversation.id", about.session.as_str());
            }
            if self.text.content {
                span.set("gen_ai.system_instructions", self.text.content_of(&spec.system));
                span.set("gen_ai.input.messages", input_messages(messages, &self.text));
            }
        }
        Box::new(call)
    }
}

fn input_messages(messages: &[Message], text: &SpanText) -> String {
    let newest = &messages[messages.len().saturating_sub(MESSAGES_MAX)..];
    let list = newest.iter().map(|message| match message {
        Message::User(parts) => ("user", vocab::parts_text(parts)),
        Message::Assistant(message) => ("assistant", message.text()),
        Message::Result(result) => ("tool", result.text()),
    });
    let list = list.map(|(role, said)| {
        let said = text.content_of(&said);
        serde_json::json!({ "role": role, "parts": [{ "type": "text", "content": said }] })
    });
    serde_json::Value::Array(list.collect()).to_string()
}

/// One call of a model.
struct TracedCall {
    exporter: Arc<Exporter>,
    clock: Arc<TraceClock>,
    text: SpanText,
    open: Arc<Mutex<OpenSpans>>,
    /// Whose it is.
    of: Option<(SessionId, TracePlace)>,
    trace: Option<Arc<str>>,
    /// `None`: it is not kept, or has ended.
    span: Option<Box<Span>>,
    has_begun: bool,
    usage: Option<Usage>,
    /// Only where the user wants to have it.
    said: String,
}

impl TracedCall {
    fn end(&mut self, fill: impl FnOnce(&mut Span, &SpanText)) {
        let Some(mut span) = self.span.take() else { return };
        span.end_ns = self.clock.now();
        if let Some(used) = &self.usage {
            usage(&mut span, used);
        }
        if self.text.content {
            span.set("gen_ai.output.messages", message_json("assistant", &self.text.content_of(&self.said)));
        }
        fill(&mut span, &self.text);
        self.exporter.send(*span);
    }
}

impl CallWatch for TracedCall {
    fn trace(&self) -> Option<Arc<str>> {
        self.trace.clone()
    }

    fn heard(&mut self, event: &ModelEvent) {
        let Some(span) = &mut self.span else { return };
        if let (ModelEvent::Finished(_), Some((session, place))) = (event, &self.of) {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.model_answered(session, *place, self.clock.now());
        }
        match event {
            ModelEvent::Sent { bytes, .. } => {
                span.event(self.clock.now(), "request.sent", vec![("http.request.body.size", (*bytes).into())])
            }
            ModelEvent::Text(_) | ModelEvent::Thinking(_) | ModelEvent::Call { .. } => {
                if !std::mem::replace(&mut self.has_begun, true) {
                    let waited = self.clock.now().saturating_sub(span.start_ns) as f64 / 1e9;
                    span.set("gen_ai.response.time_to_first_chunk", AttributeValue::Float(waited));
                }
                if let ModelEvent::Text(text) = event
                    && self.text.content
                    && self.said.len() < SAID_BYTES_MAX
                {
                    self.said.push_str(text);
                }
            }
            ModelEvent::Usage(usage) => self.usage = Some(*usage),
            ModelEvent::Finished(finish) => self.end(|span, _| {
                let reasons = AttributeValue::Texts(vec![finish_reason(*finish).to_owned()]);
                span.set("gen_ai.response.finish_reasons", reasons);
            }),
            ModelEvent::Failed(failed) => self.end(|span, text| match failed.fault.status {
                Some(status) => {
                    span.set("http.response.status_code", u64::from(status));
                    span.fail(&status.to_string(), text.fault(&failed.fault));
                }
                None => span.fail(fault_kind(failed.fault.kind), text.fault(&failed.fault)),
            }),
            ModelEvent::Seal(_) | ModelEvent::Redacted(_) => {}
        }
    }
}

impl Drop for TracedCall {
    fn drop(&mut self) {
        self.end(|span, _| span.fail("interrupted", "the call was given up".to_owned()));
    }
}

impl LogWatch for Tracer {
    fn offered(&self, session: &SessionId, entries: &[Arc<Entry>]) {
        self.change(|open, now, done| open.offered(session, entries, now, done));
    }
    fn released(&self, session: &SessionId) {
        self.change(|open, now, done| open.gone(session, now, done));
    }
    fn deleted(&self, session: &SessionId) {
        self.change(|open, now, done| open.gone(session, now, done));
    }
}

impl ToolWatch for Arc<Tracer> {
    fn processes(&self, context: &CallContext) -> Option<Arc<dyn ProcessWatch>> {
        Some(Arc::new(CallProcesses {
            tracer: self.clone(),
            session: context.session.clone(),
            call: context.call.clone(),
        }))
    }
}

/// Of one call. Its span is looked up when a process starts: by then the log has said that there is a call.
struct CallProcesses {
    tracer: Arc<Tracer>,
    session: SessionId,
    call: vocab::CallId,
}

impl ProcessWatch for CallProcesses {
    fn starts(&self, program: &str, command: &str) -> Box<dyn WatchedProcess> {
        let tracer = &self.tracer;
        let now = tracer.clock.now();
        let mut open = {
            let spans = tracer.open();
            let parent = spans.call(&self.session, &self.call).or_else(|| spans.turn(&self.session));
            spans.begin(parent.as_ref(), program.to_owned(), SpanKind::Client, now)
        };
        if let Some(span) = &mut open.span {
            span.set("process.executable.name", program);
            if tracer.text.content {
                span.set("process.command_line", tracer.text.content_of(command));
            }
        }
        Box::new(TracedProcess { tracer: tracer.clone(), open })
    }

    fn trace(&self) -> Option<Arc<str>> {
        let tracer = &self.tracer;
        let parent = tracer.propagates.then(|| tracer.open().call(&self.session, &self.call)).flatten()?;
        Some(match &parent.state {
            Some(state) => format!("{} {state}", parent.place).into(),
            None => parent.place.to_string().into(),
        })
    }
}

struct TracedProcess {
    tracer: Arc<Tracer>,
    open: OpenSpan,
}

impl TracedProcess {
    fn finish(&mut self, fill: impl FnOnce(&mut Span)) {
        if let Some(mut span) = self.open.span.take() {
            span.end_ns = self.tracer.clock.now();
            fill(&mut span);
            self.tracer.exporter.send(*span);
        }
    }
}

impl WatchedProcess for TracedProcess {
    /// As the specification of OpenTelemetry names them. A program that traces goes on with our trace.
    fn variables(&self) -> Vec<(Arc<str>, Arc<str>)> {
        if !self.tracer.propagates {
            return Vec::new();
        }
        let place: (Arc<str>, Arc<str>) = ("TRACEPARENT".into(), self.open.place.to_string().into());
        let state = self.open.state.clone().map(|state| ("TRACESTATE".into(), state));
        std::iter::once(place).chain(state).collect()
    }

    fn ended(mut self: Box<Self>, end: ProcessEnd) {
        self.finish(|span| match end {
            ProcessEnd::Exited(code) => {
                span.set("process.exit.code", code);
                if code != 0 {
                    span.fail("exit_code", format!("exit code {code}"));
                }
            }
            ProcessEnd::Killed(signal) => span.fail("signal", format!("killed by signal {signal}")),
            ProcessEnd::GivenUp => span.fail("timeout", "its time was over".to_owned()),
            ProcessEnd::NotStarted => span.fail("not_started", "it could not be started".to_owned()),
            ProcessEnd::LeftRunning => span.set("tillerman.process.background", AttributeValue::Bool(true)),
        });
    }
}

impl Drop for TracedProcess {
    fn drop(&mut self) {
        self.finish(|span| span.fail("interrupted", "the call was given up".to_owned()));
    }
}
