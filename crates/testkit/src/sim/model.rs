//! A model that does whatever the dice say, and holds the engine to what every real one demands: each call of a reply
//! has its result before anything else is said.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use vocab::{
    CallId, CallSpec, Chat, Fault, FaultKind, Finish, Later, Message, ModelEvent, ModelFault, ModelInfo, ModelStream,
    Provider, Sent, Usage,
};

use super::dice::Dice;
use crate::player::{Play, Playing, Step};

/// Small, so that conversations of a few turns reach it.
const WINDOW: u64 = 600;

#[derive(Default)]
pub(super) struct Findings(pub(super) Mutex<Vec<String>>, Mutex<Vec<Message>>, Mutex<Vec<String>>);

impl Findings {
    pub(super) fn add(&self, what: String) {
        self.0.lock().expect("nobody panics while holding this").push(what);
    }
    /// Every body that was sent, in order.
    pub(super) fn bodies(&self) -> Vec<String> {
        self.2.lock().expect("nobody panics while holding this").clone()
    }
    /// What the model was last sent.
    pub(super) fn last_sent(&self) -> Vec<Message> {
        self.1.lock().expect("nobody panics while holding this").clone()
    }
}

pub(super) struct SimModel {
    pub dice: Arc<Mutex<Dice>>,
    /// Only plain answers from now on, so that a run can come to its end.
    pub calm: Arc<std::sync::atomic::AtomicBool>,
    pub findings: Arc<Findings>,
    /// It breaks where nobody expects it, too.
    pub brittle: bool,
}

impl Provider for SimModel {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        match slug {
            "a" | "b" => {
                let window = if slug == "a" { WINDOW } else { WINDOW * 4 };
                // Each is of a provider of its own.
                let fallbacks = if slug == "a" { Arc::from(["nowhere".into(), "b".into()]) } else { Arc::from([]) };
                Ok(ModelInfo { images: false, provider: slug.into(), fallbacks, ..ModelInfo::named(slug, window) })
            }
            _ => Err(Fault::new(FaultKind::UnknownModel, format!("unknown model: {slug} (there is: a, b)"))),
        }
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async { Ok(vec![self.resolve("a")?, self.resolve("b")?]) })
    }
    fn chat(&self, _: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        Ok(Box::new(SimChat {
            messages: Vec::new(),
            bytes: 0,
            dice: self.dice.clone(),
            calm: self.calm.clone(),
            findings: self.findings.clone(),
            brittle: self.brittle,
        }))
    }
}

struct SimChat {
    messages: Vec<Message>,
    bytes: usize,
    dice: Arc<Mutex<Dice>>,
    calm: Arc<std::sync::atomic::AtomicBool>,
    findings: Arc<Findings>,
    brittle: bool,
}

/// A conversation that is brittle breaks at one in so many messages.
const BREAKS_IN: u64 = 150;

impl Chat for SimChat {
    fn push(&mut self, message: &Message) {
        let wild = self.brittle && !self.calm.load(std::sync::atomic::Ordering::Relaxed);
        if wild && self.dice.lock().expect("nobody panics while holding this").below(BREAKS_IN) == 0 {
            panic!("a scripted panic of the conversation");
        }
        self.bytes += 20
            + match message {
                Message::User(parts) => vocab::parts_text(parts).len(),
                Message::Assistant(message) => message.text().len(),
                Message::Result(result) => result.text().len(),
            };
        self.messages.push(message.clone());
    }
    fn clear(&mut self) {
        self.messages.clear();
        self.bytes = 0;
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
    fn call(&mut self, spec: &CallSpec) -> ModelStream {
        if let Err(what) = check_history(&self.messages) {
            self.findings.add(format!("the model was sent a broken history: {what}\n{}", sketch(&self.messages)));
        }
        self.findings.1.lock().expect("nobody panics while holding this").clone_from(&self.messages);
        let sent = Arc::new(Sent {
            api: "sim".into(),
            url: "sim:".into(),
            headers: Vec::new(),
            manner: "".into(),
            head: format!("{} tools, {:?} ", spec.tools.len(), spec.thinking).into(),
            tail: ".".into(),
        });
        let body = body(&sent, &self.messages);
        let sent = Step::Event(ModelEvent::Sent { sent, bytes: body.len() as u64 });
        self.findings.2.lock().expect("nobody panics while holding this").push(body);
        let mut dice = self.dice.lock().expect("nobody panics while holding this");
        let calm = self.calm.load(std::sync::atomic::Ordering::Relaxed);
        let plain = calm || spec.tools.is_empty() && dice.chance(70);
        let mut steps = if plain { say(&mut dice, Finish::Stop) } else { reply(&mut dice) };
        steps.insert(0, sent);
        if !calm && dice.chance(1) {
            drop(dice);
            panic!("a scripted panic of the client");
        }
        Playing::stream(steps)
    }
}

/// A request as it is written here: everything that can be told apart.
fn body(sent: &Sent, messages: &[Message]) -> String {
    format!("{}{messages:?}{}", sent.head, sent.tail)
}

/// What the log says was sent, held against what was. A request whose record did not reach the store is not told; all
/// others are, in order and byte for byte. Gives their number.
pub(super) fn check_requests(entries: &[Arc<vocab::Entry>], findings: &Findings) -> Result<u64, String> {
    let mut sent = findings.bodies().into_iter();
    let mut checked = 0;
    for request in engine::requests::replay(entries, |_| Some(Rewritten::make())) {
        if let Some(problem) = request.problem() {
            return Err(format!("the request of entry {}: {problem}", request.seq));
        }
        let body = String::from_utf8(request.body.unwrap_or_default()).unwrap_or_default();
        if !sent.any(|sent| sent == body) {
            return Err(format!("the request of entry {} was never sent like this: {body}", request.seq));
        }
        checked += 1;
    }
    Ok(checked)
}

/// Keeps what is pushed, for whoever writes it down.
#[derive(Clone, Default)]
struct Rewritten(Arc<Mutex<Vec<Message>>>);

impl Rewritten {
    fn make() -> engine::requests::Rewriting {
        let pushed = Rewritten::default();
        let read = pushed.clone();
        let body =
            move |sent: &Sent| body(sent, &read.0.lock().expect("nobody panics while holding this")).into_bytes();
        engine::requests::Rewriting { chat: Box::new(pushed), body: Box::new(body) }
    }
}

impl Chat for Rewritten {
    fn push(&mut self, message: &Message) {
        self.0.lock().expect("nobody panics while holding this").push(message.clone());
    }
    fn clear(&mut self) {
        self.0.lock().expect("nobody panics while holding this").clear();
    }
    fn bytes(&self) -> usize {
        0
    }
    fn call(&mut self, _: &CallSpec) -> ModelStream {
        unreachable!("it is written, not sent")
    }
}

/// What every chat API demands of a history.
pub fn check_history(messages: &[Message]) -> Result<(), String> {
    let mut open: HashMap<CallId, u32> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::Result(result) => match open.get_mut(&result.call) {
                Some(left) if *left > 0 => *left -= 1,
                _ => return Err(format!("message {at} is a result of `{}`, which nobody called", result.call)),
            },
            Message::User(_) | Message::Assistant(_) => {
                if let Some((id, _)) = open.iter().find(|(_, left)| **left > 0) {
                    return Err(format!("message {at} comes before the result of call `{id}`"));
                }
                open.clear();
                if let Message::Assistant(message) = message {
                    for call in message.calls() {
                        *open.entry(call.id.clone()).or_default() += 1;
                    }
                }
            }
        }
    }
    if let Some((id, _)) = open.iter().find(|(_, left)| **left > 0) {
        return Err(format!("call `{id}` has no result"));
    }
    match (messages.first(), messages.last()) {
        (Some(Message::User(_)), Some(Message::User(_) | Message::Result(_))) => Ok(()),
        (None, _) => Err("it is empty".into()),
        (Some(Message::User(_)), _) => Err("it ends with a reply".into()),
        _ => Err("it does not begin with a user message".into()),
    }
}

pub(super) fn sketch(messages: &[Message]) -> String {
    let line = |message: &Message| match message {
        Message::User(parts) => format!("  user {:.40}\n", vocab::parts_text(parts)),
        Message::Assistant(message) => {
            let calls: Vec<&str> = message.calls().map(|call| call.id.as_str()).collect();
            format!("  assistant {:.20} calls {calls:?}\n", message.text())
        }
        Message::Result(result) => format!("  result {} {:?}\n", result.call, result.end),
    };
    messages.iter().map(line).collect()
}

fn words(dice: &mut Dice, into: &mut Play) {
    for n in 0..dice.below(8) {
        if dice.chance(40) {
            into.push(Step::Wait(dice.pick(&[0, 1, 20, 300])));
        }
        let kind = if dice.chance(15) { ModelEvent::Thinking } else { ModelEvent::Text };
        into.push(Step::Event(kind(format!("w{n} "))));
        if dice.chance(3) {
            into.push(Step::Event(ModelEvent::Seal("seal".into())));
        }
    }
}

fn usage(dice: &mut Dice, into: &mut Play) {
    if dice.chance(80) {
        let usage =
            Usage { input: 1 + dice.below(300), cache_read: dice.below(9), output: dice.below(50), ..Usage::default() };
        into.push(Step::Event(ModelEvent::Usage(usage)));
    }
}

fn say(dice: &mut Dice, finish: Finish) -> Play {
    let mut steps = vec![Step::Wait(dice.pick(&[0, 0, 5, 100]))];
    words(dice, &mut steps);
    steps.push(Step::Event(ModelEvent::Text("end".into())));
    usage(dice, &mut steps);
    steps.push(Step::Event(ModelEvent::Finished(finish)));
    steps
}

fn failure(dice: &mut Dice) -> Step {
    let kinds = [
        FaultKind::RateLimited,
        FaultKind::Provider,
        FaultKind::Network,
        FaultKind::StreamCut,
        FaultKind::Auth,
        FaultKind::BadRequest,
        FaultKind::ContextOverflow,
        FaultKind::ContextOverflow,
    ];
    let mut fault = ModelFault::new(dice.pick(&kinds), "as the dice said");
    if dice.chance(20) {
        fault.retry_after_ms = Some(dice.pick(&[0, 700, 500_000]));
    }
    Step::Event(ModelEvent::Failed(fault))
}

fn calls(dice: &mut Dice, into: &mut Play) {
    let many = if dice.chance(2) { 140 } else { 1 + dice.below(4) };
    for index in 0..many {
        let name = dice.pick(&["look", "look", "change", "danger", "nope", "host1", "host2", ""]);
        let input = dice.pick(&["{}", "{}", "{}", "", "{\"x\":1}", "{\"bad\":true}", "{\"broken", "[1]", "null"]);
        let id = dice.pick(&[Some("same".to_owned()), Some(format!("c{index}")), None, Some(String::new())]);
        let (head, tail) = input.split_at(input.len() / 2);
        let index = index as u32;
        into.push(Step::Event(ModelEvent::Call { index, id, name: Some(name.into()), input: head.into() }));
        if dice.chance(20) {
            into.push(Step::Wait(10));
        }
        into.push(Step::Event(ModelEvent::Call { index, id: None, name: None, input: tail.into() }));
    }
}

fn reply(dice: &mut Dice) -> Play {
    let mut steps = Vec::new();
    if dice.chance(40) {
        steps.push(Step::Wait(dice.pick(&[0, 1, 50, 800])));
    }
    match dice.below(100) {
        0..30 => return say(dice, Finish::Stop),
        30..62 => {
            words(dice, &mut steps);
            calls(dice, &mut steps);
            if dice.chance(20) {
                words(dice, &mut steps);
            }
            usage(dice, &mut steps);
            steps.push(Step::Event(ModelEvent::Finished(Finish::ToolUse)));
        }
        62..76 => {
            usage(dice, &mut steps);
            steps.push(failure(dice));
        }
        76..82 => {
            words(dice, &mut steps);
            if dice.chance(40) {
                calls(dice, &mut steps);
            }
            steps.push(failure(dice));
        }
        82..86 => {
            words(dice, &mut steps);
            steps.push(Step::Hold);
        }
        86..89 => words(dice, &mut steps),
        89..91 => {
            words(dice, &mut steps);
            steps.push(Step::Panic);
        }
        91..96 => {
            let finish = dice.pick(&[Finish::Length, Finish::Refusal]);
            words(dice, &mut steps);
            if dice.chance(50) {
                calls(dice, &mut steps);
            }
            usage(dice, &mut steps);
            steps.push(Step::Event(ModelEvent::Finished(finish)));
        }
        _ => steps.push(Step::Event(ModelEvent::Finished(dice.pick(&[Finish::Stop, Finish::ToolUse])))),
    }
    steps
}
