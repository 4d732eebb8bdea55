//! The scripted model that the recordings were made with, as a provider: `TEXT ...`, `SLOW:n:ms`, `TOOL:name:{json}`,
//! `E500`, `E429:n`. Knows no dialect.

use std::sync::Arc;

use testkit::player::{Play, Playing, Step};
use vocab::{
    CallSpec, Chat, Fault, FaultKind, Finish, Later, Message, ModelEvent, ModelFault, ModelInfo, ModelStream, Prices,
    Provider, Usage,
};

/// How a request for a summary begins (`docs/tour.md`).
const SUMMARY_REQUEST: &str = "Summarise this conversation";
pub(crate) const SLUG: &str = "mock/mock-1";
/// The client library of that peer tried this often before it called an attempt failed.
const TRIES_PER_ATTEMPT: u64 = 3;

pub(crate) struct PeerModel;

fn info() -> ModelInfo {
    ModelInfo {
        slug: SLUG.into(),
        provider: "mock".into(),
        id: "mock-1".into(),
        name: "Mock One".into(),
        api: "openai-completions".into(),
        base_url: "http://127.0.0.1:1/v1".into(),
        context_window: 128_000,
        max_output: Some(4096),
        prices: Some(Prices { input: 1.0, cache_read: 0.1, cache_write: 1.25, output: 2.0 }),
        images: true,
        thinking: false,
        levels: None,
        fallbacks: Arc::from([]),
        unlisted: false,
    }
}

impl Provider for PeerModel {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        let known = slug == SLUG;
        known.then(info).ok_or_else(|| Fault::new(FaultKind::UnknownModel, format!("no model `{slug}`")))
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async { Ok(vec![info()]) })
    }
    fn chat(&self, _: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        Ok(Box::new(PeerChat::default()))
    }
}

#[derive(Default)]
struct PeerChat {
    messages: Vec<Message>,
    calls_made: Arc<std::sync::atomic::AtomicU64>,
    /// Attempts at the newest user message.
    attempts: u64,
}

impl Chat for PeerChat {
    fn push(&mut self, message: &Message) {
        self.attempts = 0;
        self.messages.push(message.clone());
    }
    fn clear(&mut self) {
        self.messages.clear();
    }
    fn bytes(&self) -> usize {
        let text = |message: &Message| match message {
            Message::User(parts) => vocab::parts_text(parts).len(),
            Message::Assistant(message) => message.text().len(),
            Message::Result(result) => result.text().len(),
        };
        self.messages.iter().map(text).sum()
    }
    fn call(&mut self, _: &CallSpec) -> ModelStream {
        self.attempts += 1;
        let number = self.calls_made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Playing::stream(self.reply(number))
    }
}

impl PeerChat {
    fn reply(&self, number: u64) -> Play {
        let asked = match self.messages.last() {
            Some(Message::User(parts)) => vocab::parts_text(parts),
            Some(Message::Result(_)) => return said(&["Tool f", "inished."], 0),
            _ => String::new(),
        };
        if asked.starts_with(SUMMARY_REQUEST) {
            return said(&["## Goal\n", "mock summary"], 0);
        }
        if let Some(slow) = asked.strip_prefix("SLOW:") {
            let (count, ms) = slow.split_once(':').expect("SLOW:n:ms");
            let words: Vec<String> = (0..count.parse::<u32>().expect("n")).map(|n| format!("w{n} ")).collect();
            return said(&words, ms.parse().expect("ms"));
        }
        if let Some(tool) = asked.strip_prefix("TOOL:") {
            let (name, input) = tool.split_once(':').expect("TOOL:name:{json}");
            return called(name, input, number);
        }
        if asked == "E500" {
            let text = "500 mock internal failure\nmock internal failure (type=server_error param=server_error)";
            return failed(FaultKind::Provider, 500, text);
        }
        if let Some(rest) = asked.strip_prefix("E429:") {
            let count: u64 = rest.split(' ').next().expect("a count").parse().expect("a number");
            if self.attempts * TRIES_PER_ATTEMPT <= count {
                return failed(FaultKind::RateLimited, 429, "429 Rate limit reached, please slow down");
            }
        }
        said(&["Hello ", "from mock."], 0)
    }
}

fn finished(finish: Finish) -> [Step; 2] {
    let usage = Usage { input: 100, output: 20, ..Usage::default() };
    [Step::Event(ModelEvent::Usage(usage)), Step::Event(ModelEvent::Finished(finish))]
}

fn said(words: &[impl ToString], ms: u64) -> Play {
    let word = |(at, word): (usize, String)| {
        let wait = (at > 0 && ms > 0).then_some(Step::Wait(ms));
        wait.into_iter().chain([Step::Event(ModelEvent::Text(word))])
    };
    words.iter().map(ToString::to_string).enumerate().flat_map(word).chain(finished(Finish::Stop)).collect()
}

fn called(name: &str, input: &str, number: u64) -> Play {
    // The peer's model wrote a space behind each colon.
    let input = input.replace("\":", "\": ");
    let (id, name) = (format!("call_{number}"), name.to_owned());
    let begun = ModelEvent::Call { index: 0, id: Some(id), name: Some(name), input: String::new() };
    let more = |input: &str| ModelEvent::Call { index: 0, id: None, name: None, input: input.to_owned() };
    let (start, end) = input.split_at(input.len() / 2);
    let text = ["Callin", "g."].map(|text| ModelEvent::Text(text.into()));
    let events = text.into_iter().chain([begun, more(start), more(end)]).map(Step::Event);
    events.chain(finished(Finish::ToolUse)).collect()
}

fn failed(kind: FaultKind, status: u16, text: &str) -> Play {
    let mut fault = ModelFault::new(kind, text);
    fault.fault.status = Some(status);
    vec![Step::Event(ModelEvent::Failed(fault))]
}
