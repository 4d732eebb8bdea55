//! A provider that notes what the model is sent, and whether a real one would take it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use vocab::{CallSpec, Chat, Fault, Later, Message, ModelInfo, ModelStream, Provider};

use super::log::{shown_blocks, shown_parts};

#[derive(Default)]
struct Notes {
    calls: Vec<Sent>,
    broken: Vec<String>,
}

/// One model call.
#[derive(Clone)]
pub struct Sent {
    pub model: Arc<str>,
    pub messages: Vec<Message>,
    pub tools: Vec<Arc<str>>,
}

/// Passes everything on to another provider and remembers it.
pub struct Recorder {
    inner: Arc<dyn Provider>,
    notes: Arc<Mutex<Notes>>,
}

impl Recorder {
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner, notes: Arc::default() }
    }

    /// Each call in one line: the model, a letter per message, the last message.
    pub fn calls(&self) -> Vec<String> {
        self.sent().iter().map(line).collect()
    }
    /// Each call, whole.
    pub fn sent(&self) -> Vec<Sent> {
        self.notes.lock().expect("no test panics while it holds this").calls.clone()
    }
    /// Histories that no provider takes: a call without a result right behind its reply, a result without a call.
    pub fn broken(&self) -> Vec<String> {
        self.notes.lock().expect("no test panics while it holds this").broken.clone()
    }
}

impl Provider for Recorder {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        self.inner.resolve(slug)
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        self.inner.models()
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        let inner = self.inner.chat(model)?;
        let notes = self.notes.clone();
        Ok(Box::new(RecordedChat { inner, notes, model: model.slug.clone(), messages: Vec::new() }))
    }
}

struct RecordedChat {
    inner: Box<dyn Chat>,
    notes: Arc<Mutex<Notes>>,
    model: Arc<str>,
    messages: Vec<Message>,
}

impl Chat for RecordedChat {
    fn push(&mut self, message: &Message) {
        self.messages.push(message.clone());
        self.inner.push(message);
    }
    fn clear(&mut self) {
        self.messages.clear();
        self.inner.clear();
    }
    fn bytes(&self) -> usize {
        self.inner.bytes()
    }
    fn call(&mut self, spec: &CallSpec) -> ModelStream {
        let sent = Sent {
            model: self.model.clone(),
            messages: self.messages.clone(),
            tools: spec.tools.iter().map(|tool| tool.name.clone()).collect(),
        };
        let mut notes = self.notes.lock().expect("no test panics while it holds this");
        notes.broken.extend(trouble(&self.messages));
        notes.calls.push(sent);
        drop(notes);
        self.inner.call(spec)
    }
}

fn line(sent: &Sent) -> String {
    let letters: String = sent
        .messages
        .iter()
        .map(|message| match message {
            Message::User(_) => 'U',
            Message::Assistant(_) => 'A',
            Message::Result(_) => 'R',
        })
        .collect();
    let last = match sent.messages.last() {
        Some(Message::User(parts)) => shown_parts(parts),
        Some(Message::Assistant(message)) => shown_blocks(&message.blocks),
        Some(Message::Result(result)) => shown_parts(&result.parts),
        None => String::new(),
    };
    format!("{} {letters} {last}", sent.model)
}

fn trouble(messages: &[Message]) -> Option<String> {
    let mut open: HashSet<&str> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::Result(result) if !open.remove(result.call.as_str()) => {
                return Some(format!("message {at}: result of {} without an open call", result.call));
            }
            Message::Result(_) => {}
            Message::User(_) | Message::Assistant(_) if !open.is_empty() => {
                return Some(format!("message {at}: calls {open:?} have no result"));
            }
            Message::User(_) => {}
            Message::Assistant(message) => open = message.calls().map(|call| call.id.as_str()).collect(),
        }
    }
    (!open.is_empty()).then(|| format!("the last calls {open:?} have no result"))
}
