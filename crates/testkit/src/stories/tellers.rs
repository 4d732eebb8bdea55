//! Tells stories without any dialect: commands in, events out.

use vocab::{
    Answer, AskEnd, AskEntry, AskId, Body, Change, Delivery, Event, Later, Open, Opened, Part, QueueEvent, QueueVerb,
    Reply, Scope, SessionId, SessionVerb, Tag, TodoPhase, TodoStatus, TodoTask, Told, Verb,
};

use super::{Step, Teller};
use crate::stage::{Actor, Stage};

/// A peer that speaks the engine's own words.
pub struct EngineTeller {
    pub actor: Actor,
    pub opened: Opened,
    asks: Vec<AskId>,
    last_ask: Option<AskId>,
    items: Vec<vocab::ItemId>,
    /// Commands that were started and not waited for.
    shells: Vec<Tag>,
    gone: bool,
    /// How a follow-up is delivered; a dialect may know other ways to let one wait.
    pub follow_up: Delivery,
}

impl EngineTeller {
    pub async fn open(stage: &Stage, open: Open) -> Self {
        let mut actor = stage.actor();
        let opened = actor.open(open).await.expect("the session can be opened");
        Self {
            actor,
            opened,
            asks: Vec::new(),
            last_ask: None,
            items: Vec::new(),
            shells: Vec::new(),
            gone: false,
            follow_up: Delivery::FollowUp,
        }
    }

    fn verb(&self, step: &Step) -> Option<Verb> {
        let say = |text: &String, delivery| {
            Verb::Session(SessionVerb::Prompt { parts: vec![Part::text(text.as_str())], delivery })
        };
        let answer = |ask: Option<&AskId>, answer| {
            Verb::Session(SessionVerb::Answer { ask: ask.cloned().expect("a question"), answer })
        };
        let newest = self.asks.last();
        Some(match step {
            Step::Prompt(text) => say(text, Delivery::RejectIfBusy),
            Step::Steer(text) => say(text, Delivery::Steer),
            Step::FollowUp(text) => say(text, self.follow_up),
            Step::Allow => answer(newest, Answer::Allow(Scope::Once)),
            Step::Deny(reason) => answer(newest, Answer::Deny(reason.as_deref().map(Into::into))),
            Step::Again => answer(self.last_ask.as_ref(), Answer::Allow(Scope::Once)),
            Step::Interrupt => Verb::Session(SessionVerb::Interrupt { turn: None }),
            Step::AbortRetry => Verb::Session(SessionVerb::AbortRetry),
            Step::TakeBack => Verb::Session(SessionVerb::Queue(QueueVerb::TakeBack(
                self.items.first().cloned().expect("an item waits"),
            ))),
            Step::ClearQueue => Verb::Session(SessionVerb::Queue(QueueVerb::Clear)),
            Step::Slash { name, args } => Verb::Session(SessionVerb::Slash { name: name.clone(), args: args.clone() }),
            Step::Shell { command, aside, .. } => {
                Verb::Session(SessionVerb::Shell { command: command.as_str().into(), aside: *aside })
            }
            Step::AbortShell => Verb::Session(SessionVerb::AbortShell),
            Step::Todos(tasks) => Verb::Session(SessionVerb::Set(Change::Todos(list(tasks)))),
            Step::Leave => Verb::Leave,
            Step::Wait(_) => return None,
        })
    }

    /// Waits without a clock: with time paused, a limit would be over before a real process has begun.
    async fn answered(&mut self, tag: Tag) {
        let is_it = |told: &Told| matches!(&told.event, Event::Reply { tag: got, .. } if *got == tag);
        while !self.actor.told.iter().any(is_it) {
            assert!(self.actor.peer.events(&mut self.actor.told).await, "the engine has ended");
        }
    }

    fn note(&mut self, told: &Told, refused: &mut Vec<String>) {
        match &told.event {
            Event::Logged(entry) => match &entry.body {
                Body::Ask(AskEntry::Opened(ask)) => {
                    self.asks.push(ask.id.clone());
                    self.last_ask = Some(ask.id.clone());
                }
                Body::Ask(AskEntry::Closed { ask, end: AskEnd::Answered { .. } | AskEnd::Withdrawn }) => {
                    self.asks.retain(|open| open != ask);
                }
                _ => {}
            },
            Event::Queue(QueueEvent::Waiting(items)) => self.items = items.iter().map(|item| item.id.clone()).collect(),
            Event::Reply { result: Err(fault), .. } => refused.push(snake(&format!("{:?}", fault.kind))),
            Event::Reply { result: Ok(Reply::Slash(reply)), .. } => {
                if let Err(fault) = &reply.result {
                    refused.push(snake(&format!("{:?}", fault.code)));
                }
                if let Some(moved) = reply.moved_to() {
                    self.opened.session = moved.clone();
                }
            }
            _ => {}
        }
    }
}

impl Teller for EngineTeller {
    fn can(&self, _: &Step) -> bool {
        true
    }

    fn take<'a>(&'a mut self, step: &'a Step) -> Later<'a, Vec<String>> {
        Box::pin(async move {
            // Where the mode allows a call by itself there is nothing to answer.
            let unasked = matches!(step, Step::Allow | Step::Deny(_)) && self.asks.is_empty();
            match ((!unasked).then(|| self.verb(step)).flatten(), step) {
                (Some(verb), step) => {
                    let tag = self.actor.send(verb).await;
                    match step {
                        Step::Shell { to_its_end: true, .. } => self.answered(tag).await,
                        Step::Shell { .. } => self.shells.push(tag),
                        Step::AbortShell => {
                            for tag in std::mem::take(&mut self.shells) {
                                self.answered(tag).await;
                            }
                        }
                        _ => {}
                    }
                }
                (None, Step::Wait(ms)) => tokio::time::sleep(std::time::Duration::from_millis(*ms)).await,
                (None, _) => {}
            }
            self.gone |= *step == Step::Leave;
            if self.gone {
                // Nobody is told any more; the session still has to get to its end.
                tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            }
            self.actor.settle().await;
            let mut refused = Vec::new();
            for told in std::mem::take(&mut self.actor.told) {
                self.note(&told, &mut refused);
            }
            refused
        })
    }

    fn session(&self) -> SessionId {
        self.opened.session.clone()
    }
}

/// Open tasks, in one group.
fn list(tasks: &[String]) -> Vec<TodoPhase> {
    let task = |(at, content): (usize, &String)| TodoTask {
        id: format!("task-{}", at + 1).into(),
        content: content.as_str().into(),
        status: TodoStatus::Pending,
        notes: None,
    };
    let tasks = tasks.iter().enumerate().map(task).collect();
    vec![TodoPhase { id: "phase-1".into(), name: "Tasks".into(), tasks }]
}

/// `TurnInProgress` as `turn_in_progress`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}
