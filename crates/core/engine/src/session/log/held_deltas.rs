//! The flow of a running reply: how much of it waits behind a commit, and what of it a peer that comes in has missed.

use std::collections::{HashMap, HashSet};

use vocab::{Delta, Event, TurnId};

use crate::session::turn::Effect;

/// Deltas that were emitted and not told yet: they are the end of what the model has said.
#[derive(Default, Debug)]
pub(crate) struct HeldDeltas {
    text: usize,
    thinking: usize,
    seals: usize,
    /// Bytes of each call's arguments.
    inputs: HashMap<u32, usize>,
    /// Calls whose beginning is among them.
    begun: HashSet<u32>,
}

impl HeldDeltas {
    pub(crate) fn add(&mut self, event: &Event) {
        match event {
            Event::Delta(Delta::Text { delta, .. }) => self.text += delta.len(),
            Event::Delta(Delta::Thinking { delta, .. }) => self.thinking += delta.len(),
            Event::Delta(Delta::Sealed { .. }) => self.seals += 1,
            Event::Delta(Delta::CallInput { index, id, name, delta, .. }) => {
                *self.inputs.entry(*index).or_default() += delta.len();
                if id.is_some() || name.is_some() {
                    self.begun.insert(*index);
                }
            }
            _ => {}
        }
    }

    /// What is left of `said` without what is held. `untold`: seals at its end that nobody has emitted yet.
    pub(crate) fn told(&self, turn: &TurnId, said: Vec<Effect>, untold: usize) -> Vec<Event> {
        let bytes = |of: fn(&Effect) -> usize| said.iter().map(of).sum::<usize>();
        let mut text = bytes(|it| if let Effect::Text(delta) = it { delta.len() } else { 0 }).saturating_sub(self.text);
        let mut thinking = bytes(|it| if let Effect::Thinking(delta) = it { delta.len() } else { 0 });
        thinking = thinking.saturating_sub(self.thinking);
        let mut seals = bytes(|it| usize::from(matches!(it, Effect::Sealed(_)))).saturating_sub(self.seals + untold);
        let mut told = Vec::new();
        for effect in said {
            let turn = turn.clone();
            match effect {
                Effect::Text(delta) => {
                    let delta = start(delta, &mut text);
                    told.extend(delta.map(|delta| Event::Delta(Delta::Text { turn, delta })));
                }
                Effect::Thinking(delta) => {
                    let delta = start(delta, &mut thinking);
                    told.extend(delta.map(|delta| Event::Delta(Delta::Thinking { turn, delta })));
                }
                Effect::Sealed(what) if seals > 0 => {
                    seals -= 1;
                    told.push(Event::Delta(Delta::Sealed { turn, what }));
                }
                Effect::CallInput { index, id, name, delta } if !self.begun.contains(&index) => {
                    let held = self.inputs.get(&index).copied().unwrap_or_default();
                    let mut room = delta.len().saturating_sub(held);
                    let delta = start(delta, &mut room).unwrap_or_default();
                    told.push(Event::Delta(Delta::CallInput { turn, index, id, name, delta }));
                }
                _ => {}
            }
        }
        told
    }
}

/// The first `room` bytes, which are whole deltas and so end at the end of a character; less room for the next.
fn start(mut text: String, room: &mut usize) -> Option<String> {
    let kept = text.len().min(*room);
    *room -= kept;
    if !text.is_char_boundary(kept) {
        return None;
    }
    text.truncate(kept);
    (!text.is_empty()).then_some(text)
}
