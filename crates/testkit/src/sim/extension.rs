//! An extension of the simulation: it does with what it is asked whatever the dice say, late, never or wrongly, asks people
//! things nobody wanted to know, and dies in the middle. None of it may break a promise made to anybody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::{Engine, Extension};
use vocab::{
    Answer, AskEntry, AskKind, Body, Command, CommandInfo, Delivery, Event, ExtensionEvent, ExtensionVerb, Hears,
    HookKind, HookVerdict, Hooks, HostTool, Json, Notice, Offers, Part, Required, SessionId, SessionVerb, Tag, Target,
    TurnFilter, Verb,
};

use super::dice::Dice;

/// Puts one beside every session; it lives until the dice or the process end it.
pub(super) fn spawn(engine: &Engine, mut dice: Dice, calm: Arc<AtomicBool>) {
    let extension = engine.extension("sim", "sim", offers(&mut dice));
    tokio::spawn(Fate { extension, dice, calm, tag: 0 }.live());
}

fn offers(dice: &mut Dice) -> Offers {
    let names = dice.pick(&[&["beside1"][..], &["beside1", "host1"], &["look"], &[]]);
    let tool = |name: &&str| HostTool {
        name: (*name).into(),
        description: "beside".into(),
        schema: Json::empty_object(),
        required: Required::ReadOnly,
    };
    let command = CommandInfo { name: "beside".into(), description: None, source: "sim".into() };
    let hooks = Hooks {
        before_turn: dice.chance(50),
        before_call: dice.chance(50),
        after_call: dice.chance(50),
        only_looks: dice.chance(30),
    };
    let hears = *dice.one(&[Hears::Questions, Hears::Log, Hears::Flow]);
    // One that wants to hear of no turn is never asked, whatever it hooks.
    let turns = dice.chance(30).then(|| TurnFilter::new(|_, opening| opening.len() > 1));
    Offers { tools: names.iter().map(tool).collect(), commands: vec![command], hooks, hears, turns }
}

struct Fate {
    extension: Extension,
    dice: Dice,
    calm: Arc<AtomicBool>,
    tag: u64,
}

impl Fate {
    async fn live(mut self) {
        let mut told = Vec::new();
        while self.extension.events(&mut told).await {
            for told in std::mem::take(&mut told) {
                if self.is_wild() && self.dice.below(200) == 0 {
                    return;
                }
                self.hear(told.session, told.event).await;
            }
        }
    }

    fn is_wild(&self) -> bool {
        !self.calm.load(Ordering::Relaxed)
    }

    async fn send(&mut self, session: SessionId, verb: Verb) {
        self.tag += 1;
        self.extension.submit(Command::of(Tag(self.tag), Target::Session(session), verb)).await;
    }

    async fn hear(&mut self, session: SessionId, event: Event) {
        let answer = match event {
            Event::Extension(ExtensionEvent::Hook(hook)) => {
                let verdict = if self.is_wild() { self.verdict(&hook.kind) } else { HookVerdict::Fine };
                Verb::Session(SessionVerb::Extension(ExtensionVerb::HookDone { hook: hook.id, verdict }))
            }
            Event::Logged(entry) => match &entry.body {
                Body::Ask(AskEntry::Opened(ask)) if matches!(ask.kind, AskKind::HostCall { .. }) => {
                    let answer = Answer::Result { parts: vec![Part::text("beside")], is_error: false, details: None };
                    Verb::Session(SessionVerb::Answer { ask: ask.id.clone(), answer })
                }
                _ if self.is_wild() && self.dice.chance(6) => self.wish(),
                _ => return,
            },
            _ => return,
        };
        if self.is_wild() {
            if self.dice.chance(10) {
                return;
            }
            let ms = self.dice.pick(&[0, 0, 0, 5, 100, 3_000, 7_000]);
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        // What it wanted while everything was wild is forgotten once it is not; an answer is still owed.
        if !self.is_wild()
            && !matches!(
                answer,
                Verb::Session(SessionVerb::Extension(ExtensionVerb::HookDone { .. }))
                    | Verb::Session(SessionVerb::Answer { .. })
            )
        {
            return;
        }
        self.send(session, answer).await;
    }

    fn verdict(&mut self, kind: &HookKind) -> HookVerdict {
        let right = match kind {
            HookKind::Turn { .. } => HookVerdict::Context {
                system: Some("mind".into()),
                message: self.dice.pick(&[None, Some("hm".into())]),
            },
            HookKind::Call { .. } => {
                self.dice.pick(&[HookVerdict::Veto("no".into()), HookVerdict::Input(Json::trusted(r#"{"other":1}"#))])
            }
            HookKind::Result { .. } => HookVerdict::Result { parts: vec![Part::text("changed")], is_error: true },
            HookKind::Command { .. } => HookVerdict::Fine,
        };
        match self.dice.below(10) {
            0..5 => HookVerdict::Fine,
            5..8 => right,
            8 => HookVerdict::Failed("broken".into()),
            _ => HookVerdict::Veto("whatever".into()),
        }
    }

    fn wish(&mut self) -> Verb {
        match self.dice.below(10) {
            0..5 => {
                let kind = self.dice.pick(&[
                    AskKind::Confirm { title: "sure?".into(), message: "".into() },
                    AskKind::Select { title: "which?".into(), options: vec!["a".into()] },
                    AskKind::Input { title: "what?".into(), placeholder: None },
                ]);
                Verb::Session(SessionVerb::Extension(ExtensionVerb::Ask {
                    kind,
                    timeout_ms: self.dice.pick(&[None, Some(0), Some(50), Some(5_000)]),
                }))
            }
            5 => Verb::Session(SessionVerb::Extension(ExtensionVerb::Show(Notice::Status {
                key: "k".into(),
                text: self.dice.pick(&[None, Some("t".into())]),
            }))),
            6 => Verb::Session(SessionVerb::Prompt {
                parts: vec![Part::text("from beside")],
                delivery: Delivery::Enqueue,
            }),
            7 => Verb::Session(SessionVerb::Interrupt { turn: None }),
            8 => Verb::Session(SessionVerb::Extension(ExtensionVerb::HookDone {
                hook: self.dice.below(20),
                verdict: HookVerdict::Fine,
            })),
            _ => {
                let offers = offers(&mut self.dice);
                self.extension.offer(offers);
                Verb::Session(SessionVerb::Inspect)
            }
        }
    }
}
