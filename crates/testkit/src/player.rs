//! The scripted model of all tests: it plays given replies and remembers what it was sent. What decides about replies
//! differently (dice, a recording) makes a [`Play`] and has it streamed by the same [`Playing`].

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::Sleep;
use vocab::{
    CallSpec, Chat, Fault, FaultKind, Finish, Later, Message, ModelEvent, ModelFault, ModelInfo, ModelStream, Provider,
    Usage, parts_text,
};

/// One step of a reply.
#[derive(Debug)]
pub enum Step {
    Event(ModelEvent),
    /// Milliseconds.
    Wait(u64),
    /// Nothing more comes, and no end either.
    Hold,
    Panic,
}

/// A reply.
pub type Play = Vec<Step>;

pub fn say(text: &str) -> Play {
    vec![Step::Event(ModelEvent::Text(text.into())), done(Finish::Stop)]
}
pub fn text(text: &str) -> Step {
    Step::Event(ModelEvent::Text(text.into()))
}
pub fn done(finish: Finish) -> Step {
    Step::Event(ModelEvent::Finished(finish))
}
pub fn used(input: u64, output: u64) -> Step {
    Step::Event(ModelEvent::Usage(Usage { input, output, ..Usage::default() }))
}
pub fn call_step(index: u32, name: &str, input: &str) -> Step {
    let id = Some(format!("c{}", index + 1));
    Step::Event(ModelEvent::Call { index, id, name: Some(name.into()), input: input.into() })
}
/// A reply that calls these tools.
pub fn calls(list: &[(&str, &str)]) -> Play {
    let steps = list.iter().enumerate().map(|(index, (name, input))| call_step(index as u32, name, input));
    steps.chain([done(Finish::ToolUse)]).collect()
}
pub fn fail(kind: FaultKind) -> Play {
    vec![fail_step(kind)]
}
pub fn fail_step(kind: FaultKind) -> Step {
    Step::Event(ModelEvent::Failed(ModelFault::new(kind, "it failed")))
}
pub fn held(first: &str) -> Play {
    vec![text(first), Step::Hold]
}

/// Plays its replies in order, whatever chat asks, and says `ok` when they are used up.
#[derive(Default)]
pub struct Player {
    plays: Mutex<VecDeque<Play>>,
    /// What each call was sent, sketched, and the names of the tools offered with it.
    pub sent: Mutex<Vec<(String, Vec<String>)>>,
    /// The system prompt of each call.
    pub system: Mutex<Vec<String>>,
}

impl Player {
    pub fn new(plays: impl IntoIterator<Item = Play>) -> Arc<Self> {
        Arc::new(Self {
            plays: Mutex::new(plays.into_iter().collect()),
            sent: Mutex::default(),
            system: Mutex::default(),
        })
    }
    pub fn last_sent(&self) -> String {
        self.sent
            .lock()
            .expect("nobody panics while holding this")
            .last()
            .map(|(sketch, _)| sketch.clone())
            .unwrap_or_default()
    }
    pub fn calls_made(&self) -> usize {
        self.sent.lock().expect("nobody panics while holding this").len()
    }
}

/// The provider in front of a player.
pub struct Front(pub Arc<Player>);

impl Provider for Front {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        match slug {
            "m1" | "m2" => Ok(tour::model(slug, if slug == "m1" { 1000 } else { 4000 })),
            // One with two that stand in for it, and one that is gone.
            "chain" => {
                Ok(ModelInfo { fallbacks: ["m2", "gone", "far1"].map(Arc::from).into(), ..tour::model(slug, 4000) })
            }
            // One that names itself, and another twice.
            "loop" => {
                Ok(ModelInfo { fallbacks: ["loop", "m2", "m2"].map(Arc::from).into(), ..tour::model(slug, 4000) })
            }
            // One that no conversation of a test fills.
            "wide" => Ok(tour::model(slug, 100_000)),
            // Another provider's.
            "far1" | "far2" => Ok(ModelInfo { provider: "far".into(), ..tour::model(slug, 4000) }),
            _ => Err(Fault::new(FaultKind::UnknownModel, format!("unknown model: {slug} (there is: m1, m2)"))),
        }
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async { Ok(vec![self.resolve("m1")?, self.resolve("m2")?]) })
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        Ok(Box::new(PlayerChat { player: self.0.clone(), model: model.slug.clone(), messages: Vec::new() }))
    }
}

struct PlayerChat {
    player: Arc<Player>,
    model: Arc<str>,
    messages: Vec<Message>,
}

impl Chat for PlayerChat {
    fn push(&mut self, message: &Message) {
        self.messages.push(message.clone());
    }
    fn clear(&mut self) {
        self.messages.clear();
    }
    fn bytes(&self) -> usize {
        sketch(&self.messages).len()
    }
    fn call(&mut self, spec: &CallSpec) -> ModelStream {
        crate::sim::check_history(&self.messages).expect("the history is one that a provider takes");
        let tools = spec.tools.iter().map(|tool| tool.name.to_string()).collect();
        let seen = format!("{}: {}", self.model, sketch(&self.messages));
        self.player.sent.lock().expect("nobody panics while holding this").push((seen, tools));
        self.player.system.lock().expect("nobody panics while holding this").push(spec.system.to_string());
        let play = self
            .player
            .plays
            .lock()
            .expect("nobody panics while holding this")
            .pop_front()
            .unwrap_or_else(|| say("ok"));
        Playing::stream(play)
    }
}

fn sketch(messages: &[Message]) -> String {
    let one = |message: &Message| match message {
        Message::User(parts) => format!("user {}", parts_text(parts)),
        Message::Assistant(message) => {
            let calls: String = message.calls().map(|call| format!(" {}({})", call.name, call.id)).collect();
            format!("assistant {}{calls}", message.text())
        }
        Message::Result(result) => format!("result {} {:?} {}", result.call, result.end, result.text()),
    };
    messages.iter().map(one).collect::<Vec<_>>().join(" | ")
}

/// A reply as a stream.
pub struct Playing {
    steps: std::vec::IntoIter<Step>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Playing {
    pub fn stream(play: Play) -> ModelStream {
        Box::pin(Self { steps: play.into_iter(), sleep: None })
    }
}

impl Stream for Playing {
    type Item = ModelEvent;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                if sleep.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                self.sleep = None;
            }
            match self.steps.next() {
                None => return Poll::Ready(None),
                Some(Step::Event(event)) => return Poll::Ready(Some(event)),
                Some(Step::Wait(ms)) => self.sleep = Some(Box::pin(tokio::time::sleep(Duration::from_millis(ms)))),
                Some(Step::Hold) => self.sleep = Some(Box::pin(tokio::time::sleep(Duration::from_secs(1_000_000)))),
                Some(Step::Panic) => panic!("a scripted panic of the stream"),
            }
        }
    }
}
