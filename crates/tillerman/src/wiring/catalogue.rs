//! All models under one roof: the server's, the built-in tour, and scripts.

use std::path::Path;

use providers::openai::OpenAi;
use tour::{Script, Tour};
use vocab::{Chat, Fault, FaultKind, Later, ModelInfo, Provider};

const SCRIPT_PREFIX: &str = "script:";

/// Names that need no server.
pub(super) fn is_built_in(slug: &str) -> bool {
    slug.starts_with(SCRIPT_PREFIX) || matches!(slug, "tour" | "tour-mini")
}

pub(crate) struct Catalogue {
    remote: Option<OpenAi>,
    tour: Tour,
}

impl Catalogue {
    pub(super) fn new(remote: Option<OpenAi>) -> Self {
        Self { remote, tour: Tour::default() }
    }

    fn remote(&self, slug: &str) -> Result<&OpenAi, Fault> {
        self.remote.as_ref().ok_or_else(|| {
            Fault::new(
                FaultKind::UnknownModel,
                format!("unknown model: {slug} (there is: tour, tour-mini, script:FILE)"),
            )
            .hint("set OPENAI_BASE_URL (and OPENAI_API_KEY) for other models")
        })
    }
}

fn script(slug: &str) -> Option<Result<Script, Fault>> {
    slug.strip_prefix(SCRIPT_PREFIX).map(|file| Script::load(Path::new(file)))
}

impl Provider for Catalogue {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        match script(slug) {
            Some(script) => script?.resolve(slug),
            None if is_built_in(slug) => self.tour.resolve(slug),
            None => self.remote(slug)?.resolve(slug),
        }
    }

    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async {
            let mut models = match &self.remote {
                Some(remote) => remote.models().await?,
                None => Vec::new(),
            };
            models.extend(self.tour.models().await?);
            Ok(models)
        })
    }

    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        match script(&model.slug) {
            Some(script) => script?.chat(model),
            None if is_built_in(&model.slug) => self.tour.chat(model),
            None => self.remote(&model.slug)?.chat(model),
        }
    }
}
