//! Another model for the rest of a turn, when the chosen one cannot answer. The choice itself stays: the next turn begins
//! with it again.

use std::collections::VecDeque;
use std::sync::Arc;

use vocab::{FellBack, ModelFault, ModelInfo};

use super::Session;

/// Where a turn stands whose own model could not answer.
pub(super) struct Fallback {
    /// The chosen model.
    home: Arc<ModelInfo>,
    /// Who is still to be asked.
    left: VecDeque<Arc<str>>,
    /// Who could not answer or could not be asked, and why.
    failed: Vec<(Arc<str>, String)>,
}

impl Session {
    /// The next of the chain takes over, or the turn fails with what all of them said.
    pub(super) fn fall_back(&mut self, failed: ModelFault) {
        let Some(turn) = self.activity.turn() else { return };
        let (turn, from) = (turn.id().clone(), turn.model().clone());
        let chosen = self.settings.asked().clone();
        let fallback = self.settings.fallback.get_or_insert_with(|| Fallback {
            home: chosen.clone(),
            // One that was chosen while the call ran comes before those that stand in for it.
            left: (chosen.slug != from)
                .then(|| chosen.slug.clone())
                .into_iter()
                .chain(chosen.fallbacks.iter().cloned())
                .collect(),
            failed: Vec::new(),
        });
        fallback.failed.push((from.clone(), failed.fault.message.clone()));
        let provider = &self.shared.ports.provider;
        let mut skipped: Vec<(Arc<str>, Arc<str>)> = Vec::new();
        while let Some(slug) = fallback.left.pop_front() {
            if fallback.failed.iter().any(|(tried, _)| *tried == slug) {
                continue;
            }
            // A model that no provider can talk to is found out before anything is given up for it.
            match provider.resolve(&slug).and_then(|model| provider.chat(&model).map(|_| model)) {
                Ok(model) => {
                    let to = model.slug.clone();
                    self.speak_to(Arc::new(model));
                    let fell = FellBack { turn, from, to, fault: failed.fault, skipped };
                    return self.with_turn(|turn, fx| turn.fell_back(Ok(fell), fx));
                }
                Err(fault) => {
                    skipped.push((slug.clone(), fault.message.as_str().into()));
                    fallback.failed.push((slug, fault.message));
                }
            }
        }
        let fault = fallback.explain(failed);
        self.with_turn(|turn, fx| turn.fell_back(Err(fault), fx));
    }
}

impl Session {
    /// The model that stood in when the process ended stands in for the rest of the turn, where it can still be asked.
    pub(super) fn restore_fallback(&mut self, fell_back: &[FellBack]) {
        // The log may be read more than once until it can be.
        let Some(last) = fell_back.last().filter(|_| self.settings.fallback.is_none()) else { return };
        let Ok(model) = self.shared.ports.provider.resolve(&last.to) else { return };
        let home = self.settings.asked().clone();
        let said = |fell: &FellBack| (fell.from.clone(), fell.fault.message.clone());
        let skipped =
            fell_back.iter().flat_map(|fell| fell.skipped.iter().map(|(slug, why)| (slug.clone(), why.to_string())));
        let failed: Vec<_> = fell_back.iter().map(said).chain(skipped).collect();
        let left = home.fallbacks.iter().filter(|slug| **slug != last.to).cloned().collect();
        self.settings.fallback = Some(Fallback { home, left, failed });
        self.speak_to(Arc::new(model));
    }
}

impl Fallback {
    /// The chosen model.
    pub(super) fn home(&self) -> &Arc<ModelInfo> {
        &self.home
    }
    pub(super) fn into_home(self) -> Arc<ModelInfo> {
        self.home
    }

    /// One model's own words, or what each of them said.
    fn explain(&self, mut last: ModelFault) -> ModelFault {
        if self.failed.len() > 1 {
            let each: Vec<String> = self.failed.iter().map(|(slug, why)| format!("{slug}: {why}")).collect();
            last.fault.message = format!("no model could answer: {}", each.join("; "));
        }
        last
    }
}
