//! Drives a chat without a runtime: with no delay nothing sleeps, so a stream is ready or silent for ever.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tour::{Tour, TourOptions};
use vocab::{
    AssistantMessage, Block, Call, CallEnd, CallInput, CallResult, CallSpec, Chat, Finish, Json, Message, MessageEnd,
    ModelEvent, ModelFault, ModelStream, Part, Provider, ToolSpec, Usage,
    names::{self as spellings, ToolNames},
};

/// More events than any test needs; a stream that goes on longer is broken.
const EVENTS_MAX: usize = 200_000;

/// How one model call went.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) events: Vec<ModelEvent>,
    /// The stream fell silent for ever.
    pub(crate) silent: bool,
}

pub(crate) fn hear(mut stream: ModelStream) -> Heard {
    let mut heard = Heard::default();
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match stream.as_mut().poll_next(&mut context) {
            Poll::Ready(Some(event)) => heard.events.push(event),
            Poll::Ready(None) => return heard,
            Poll::Pending => {
                heard.silent = true;
                return heard;
            }
        }
        assert!(heard.events.len() < EVENTS_MAX, "the stream does not end");
    }
}

impl Heard {
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.events
            .iter()
            .filter_map(|event| if let ModelEvent::Text(text) = event { Some(&**text) } else { None })
            .collect()
    }

    pub(crate) fn text(&self) -> String {
        self.texts().concat()
    }

    pub(crate) fn thoughts(&self) -> Vec<&str> {
        let mut thoughts = Vec::new();
        for event in &self.events {
            if let ModelEvent::Thinking(text) = event {
                thoughts.push(&**text);
            }
        }
        thoughts
    }

    /// Id, name and joined arguments of each call, in order.
    pub(crate) fn calls(&self) -> Vec<(String, String, String)> {
        let mut calls: Vec<(String, String, String)> = Vec::new();
        for event in &self.events {
            if let ModelEvent::Call { index, id, name, input } = event {
                if let (Some(id), Some(name)) = (id, name) {
                    assert_eq!(*index as usize, calls.len(), "indexes count the calls");
                    calls.push((id.clone(), name.clone(), String::new()));
                }
                calls[*index as usize].2.push_str(input);
            }
        }
        calls
    }

    pub(crate) fn usage(&self) -> Option<Usage> {
        self.events.iter().find_map(|event| if let ModelEvent::Usage(usage) = event { Some(*usage) } else { None })
    }

    pub(crate) fn finish(&self) -> Option<Finish> {
        if let Some(ModelEvent::Finished(finish)) = self.events.last() { Some(*finish) } else { None }
    }

    pub(crate) fn fault(&self) -> Option<&ModelFault> {
        if let Some(ModelEvent::Failed(fault)) = self.events.last() { Some(fault) } else { None }
    }

    /// How many events say that the call is over.
    pub(crate) fn ends(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, ModelEvent::Finished(_) | ModelEvent::Failed(_))).count()
    }
}

/// One user, one tour, and a toolbox whose results the test makes up.
pub(crate) struct Talk {
    chat: Box<dyn Chat>,
    pub(crate) spec: CallSpec,
    /// Calls of the last reply that wait for a result.
    open: Vec<(String, String)>,
}

impl Talk {
    pub(crate) fn new() -> Self {
        Self::spelling(names::SERVE)
    }

    pub(crate) fn spelling(tool_names: ToolNames) -> Self {
        let tour = Tour::new(TourOptions::default());
        let model = tour.resolve("tour").unwrap();
        Self::with(tour.chat(&model).unwrap(), tool_names)
    }

    pub(crate) fn with(chat: Box<dyn Chat>, tool_names: ToolNames) -> Self {
        Self { chat, spec: spec(tool_names), open: Vec::new() }
    }

    pub(crate) fn prompt(&mut self, text: &str) -> Heard {
        self.push(&Message::User(vec![Part::text(text)]));
        self.call()
    }

    pub(crate) fn push(&mut self, message: &Message) {
        self.chat.push(message);
    }

    pub(crate) fn clear(&mut self) {
        self.chat.clear();
    }

    pub(crate) fn bytes(&self) -> usize {
        self.chat.bytes()
    }

    pub(crate) fn stream(&mut self) -> ModelStream {
        self.chat.call(&self.spec)
    }

    /// Calls the model and pushes what it said, as the engine does; nothing is pushed for a failed try.
    pub(crate) fn call(&mut self) -> Heard {
        let heard = hear(self.chat.call(&self.spec));
        if let Some(finish) = heard.finish() {
            self.chat.push(&Message::Assistant(message(&heard, finish)));
            self.open = heard.calls().into_iter().map(|(id, name, _)| (id, name)).collect();
        }
        heard
    }

    /// Gives every open call this result and calls the model again.
    pub(crate) fn result(&mut self, text: &str) -> Heard {
        self.outcome(text, CallEnd::Ran, false)
    }

    pub(crate) fn outcome(&mut self, text: &str, end: CallEnd, is_error: bool) -> Heard {
        assert!(!self.open.is_empty(), "no call waits for a result");
        for (id, name) in std::mem::take(&mut self.open) {
            self.chat.push(&Message::Result(result(&id, &name, text, end, is_error)));
        }
        self.call()
    }
}

pub(crate) fn message(heard: &Heard, finish: Finish) -> AssistantMessage {
    let mut blocks = vec![Block::Text(heard.text().into())];
    blocks.extend(heard.calls().into_iter().map(|(id, name, input)| {
        let input = CallInput::Object(Json::trusted(input));
        Block::Call(Call { id: id.as_str().into(), name: name.into(), input, seal: None })
    }));
    AssistantMessage {
        blocks,
        model: "tour".into(),
        end: MessageEnd::Finished(finish),
        usage: heard.usage().unwrap_or_default(),
    }
}

pub(crate) fn result(id: &str, name: &str, text: &str, end: CallEnd, is_error: bool) -> CallResult {
    CallResult {
        call: id.into(),
        tool: spellings::canonical(name).unwrap_or(name).into(),
        end,
        parts: vec![Part::text(text)],
        is_error,
        duration_ms: 1,
        mutation: None,
        edits: Vec::new(),
        details: None,
    }
}

/// The file and shell tools as a family spells them.
pub(crate) fn spec(tool_names: ToolNames) -> CallSpec {
    let tools = ["read_file", "write_file", "edit_file", "glob", "grep", "list_dir", "bash"];
    let tools = tools.map(|tool| tool_spec(tool_names.show(tool), "{}"));
    CallSpec { system: "".into(), tools: Arc::new(tools), max_tokens: 4096, thinking: None }
}

pub(crate) fn tool_spec(name: &str, schema: &str) -> ToolSpec {
    ToolSpec { name: name.into(), description: "".into(), schema: Json::trusted(schema) }
}

/// Spellings that a model may be shown.
pub(crate) mod names {
    pub(crate) use dialect_loaf::TOOL_NAMES as LOAF;
    pub(crate) use dialect_rpc::TOOL_NAMES as RPC;
    pub(crate) use dialect_serve::TOOL_NAMES as SERVE;
    pub(crate) use vocab::names::CANONICAL;
    use vocab::names::ToolNames;

    /// With dots, which model APIs forbid.
    pub(crate) const DOTTED: ToolNames = ToolNames {
        rows: &[
            ("read_file", "file.read"),
            ("write_file", "file.write"),
            ("edit_file", "file.edit"),
            ("glob", "file.glob"),
            ("grep", "file.grep"),
            ("list_dir", "file.list"),
            ("bash", "shell.exec"),
        ],
        told_at_least: &[],
    };
}
