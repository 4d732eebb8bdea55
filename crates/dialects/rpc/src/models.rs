//! What is known of models and of the session, as the engine last said it; and how a model is written down here.

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{ModelInfo, Prices, State, TodoPhase, TurnId};

use crate::frames::Writer;
use pi_format::messages::{Face, Faces};

/// Levels of thinking, from none to most.
pub(crate) const LEVELS: [&str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];
/// Levels of a model that can reason; the last of [`LEVELS`] is clamped to the one before it.
const LEVELS_USUAL: usize = 5;

/// The engine's last word about the session.
#[derive(Default)]
pub(crate) struct KnownModels {
    pub(crate) state: Option<Arc<State>>,
    pub(crate) todos: Arc<[TodoPhase]>,
    faces: HashMap<Arc<str>, Face>,
}

impl KnownModels {
    pub(crate) fn learn(&mut self, state: &Arc<State>) {
        self.meet(&state.model_info);
        self.todos = state.todos.clone();
        self.state = Some(state.clone());
    }

    pub(crate) fn meet(&mut self, model: &ModelInfo) {
        if !self.faces.contains_key(&model.slug) {
            self.faces.insert(model.slug.clone(), face(model));
        }
    }

    /// What the engine calls the model that hosts call so, when it was met.
    pub(crate) fn slug_of(&self, provider: &str, id: &str) -> Option<Arc<str>> {
        let is_it = |face: &Face| *face.provider == *provider && *face.id == *id;
        self.faces.iter().find(|(_, face)| is_it(face)).map(|(slug, _)| slug.clone())
    }

    pub(crate) fn model(&self) -> Option<&Arc<ModelInfo>> {
        self.state.as_ref().map(|state| &state.model_info)
    }

    /// The turn that runs, as far as the session's state says.
    pub(crate) fn turn(&self) -> Option<&TurnId> {
        self.state.as_ref().and_then(|state| state.turn.as_ref())
    }

    pub(crate) fn current_face(&self) -> Face {
        self.model().map_or_else(|| Face::guess(""), |model| self.face(&model.slug))
    }

    /// Whether the model reasons at all.
    pub(crate) fn levels(&self) -> &'static [&'static str] {
        match self.model() {
            Some(model) if model.thinking => &LEVELS[..LEVELS_USUAL],
            _ => &LEVELS[..1],
        }
    }

    pub(crate) fn level(&self) -> &str {
        self.state.as_deref().map_or(LEVELS[0], level)
    }

    /// The level that will be in force when this one is asked for; `None` for a word that is no level.
    pub(crate) fn clamp(&self, level: &str) -> Option<&'static str> {
        let wanted = LEVELS.iter().position(|known| *known == level)?;
        Some(LEVELS[wanted.min(self.levels().len() - 1)])
    }
}

impl Faces for KnownModels {
    fn face(&self, slug: &str) -> Face {
        self.faces.get(slug).cloned().unwrap_or_else(|| Face::guess(slug))
    }
}

fn face(model: &ModelInfo) -> Face {
    let guess = Face::guess(&model.slug);
    let or = |own: &Arc<str>, guess: Arc<str>| if own.is_empty() { guess } else { own.clone() };
    Face {
        provider: or(&model.provider, guess.provider),
        id: or(&model.id, guess.id),
        api: or(&model.api, guess.api),
        prices: model.prices,
    }
}

/// The level in force; none that was set is one, too.
pub(crate) fn level(state: &State) -> &str {
    state.thinking.as_deref().unwrap_or(LEVELS[0])
}

/// A `Model` as the family writes it, the same wherever it is told.
pub(crate) fn write(model: &ModelInfo, out: &mut Vec<u8>) {
    const NOTHING: Prices = Prices { input: 0.0, cache_read: 0.0, cache_write: 0.0, output: 0.0 };
    let face = face(model);
    let prices = model.prices.unwrap_or(NOTHING);
    Writer::object(out, |w| {
        w.text("id", &face.id).text("name", &model.name).text("api", &face.api).text("provider", &face.provider);
        w.text("baseUrl", &model.base_url).flag("reasoning", model.thinking);
        w.raw("input", if model.images { br#"["text","image"]"# } else { br#"["text"]"# });
        w.key("cost");
        Writer::object(w.out, |w| {
            w.float("input", prices.input).float("output", prices.output);
            w.float("cacheRead", prices.cache_read).float("cacheWrite", prices.cache_write);
        });
        w.number("contextWindow", model.context_window);
        // Without a limit of its own a model can fill what is left of the window.
        w.number("maxTokens", model.max_output.unwrap_or(model.context_window));
    });
}

/// Who serves it, in the family's words.
pub(crate) fn provider(model: &ModelInfo) -> Arc<str> {
    face(model).provider
}

/// `PROVIDER/ID`, as clients name a model.
pub(crate) fn full_name(model: &ModelInfo) -> String {
    let face = face(model);
    format!("{}/{}", face.provider, face.id)
}
