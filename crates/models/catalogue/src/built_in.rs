//! Models that need no server: the tour, and files that are played as models.

use std::path::Path;
use std::sync::Arc;

use config::{SCRIPT_PREFIX, TOUR_PREFIX};
use tour::{Script, Tour};
use vocab::{Chat, Fault, Later, ModelInfo, Provider};

use crate::source::{Source, SourceKind};

pub(crate) const TOUR: &str = "tour";

/// Names that need no server.
pub fn is_built_in(slug: &str) -> bool {
    slug.starts_with(SCRIPT_PREFIX) || matches!(slug, TOUR | "tour-mini")
}

/// `tour/tour-mini` is `tour-mini`; every other name is what it is. `None`: somebody else's.
pub(crate) fn bare(slug: &str) -> Option<&str> {
    let name = slug.strip_prefix(TOUR_PREFIX).unwrap_or(slug);
    is_built_in(name).then_some(name)
}

/// What there is, for those who looked for something else.
pub(crate) fn names() -> [ModelInfo; 3] {
    ["tour", "tour-mini", "script:FILE"].map(|slug| ModelInfo::named(slug, 0))
}

#[derive(Default)]
pub(crate) struct BuiltInModels {
    tour: Tour,
}

impl Source for BuiltInModels {
    fn kind(&self) -> SourceKind {
        SourceKind::BuiltIn
    }

    fn resolve(&self, slug: &str) -> Option<Result<ModelInfo, Fault>> {
        let name = bare(slug)?;
        Some(match script(name) {
            Some(script) => script.and_then(|script| script.resolve(name)),
            None => self.tour.resolve(name),
        })
    }

    fn chat(&self, model: &ModelInfo) -> Option<Result<Box<dyn Chat>, Fault>> {
        is_built_in(&model.slug).then(|| match script(&model.slug) {
            Some(script) => script?.chat(model),
            None => self.tour.chat(model),
        })
    }

    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        self.tour.models()
    }

    fn slug(&self, provider: &str, id: &str) -> Option<Arc<str>> {
        (provider == TOUR && is_built_in(id)).then(|| id.into())
    }
}

fn script(slug: &str) -> Option<Result<Script, Fault>> {
    slug.strip_prefix(SCRIPT_PREFIX).map(|file| Script::load(Path::new(file)))
}
