//! Names that stand for models: aliases and tiers of the user's, then what is built in. Pure.

use std::sync::Arc;

use config::TIERS;
use providers::models;
use vocab::ModelInfo;
use vocab::nearest::nearest;

use super::pick::split_level;

/// What stands for whatever answers on this machine.
pub(crate) const AUTO: &str = "auto";

/// Whether a model's name begins with that of this provider.
pub(crate) fn is_of(slug: &str, provider: &str) -> bool {
    slug.split_at_checked(provider.len())
        .is_some_and(|(name, rest)| name.eq_ignore_ascii_case(provider) && rest.starts_with('/'))
}

/// What the configuration says.
#[derive(Clone, Debug, Default)]
pub struct ModelNames {
    pub aliases: Vec<(String, Vec<String>)>,
    pub tiers: Vec<(String, Vec<String>)>,
}

/// What a name means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MeantModels {
    /// The first is asked, the others when it cannot answer.
    pub(crate) slugs: Vec<String>,
    /// For people.
    pub(crate) how: String,
}

/// What else there is, which decides what is built in.
pub(crate) struct NameContext {
    /// Configured sources in the order in which one becomes the default.
    pub(crate) configured: Vec<Arc<str>>,
    /// A server that any other name may be one of.
    pub(crate) server: bool,
}

impl ModelNames {
    /// All that stand for something, as they are written.
    pub(crate) fn slugs(&self) -> impl Iterator<Item = &str> {
        self.aliases.iter().chain(&self.tiers).flat_map(|(_, slugs)| slugs).map(String::as_str)
    }

    /// Whether the user has said what this tier is.
    pub(crate) fn has_tier(&self, name: &str) -> bool {
        self.tiers.iter().any(|(tier, _)| tier == name)
    }

    /// `None`: the name is none of these. A level may stand behind it, which then stands behind every model.
    pub(crate) fn meant(&self, text: &str, context: &NameContext) -> Option<MeantModels> {
        if let Some(meant) = self.exactly(text, context) {
            return Some(meant);
        }
        let (name, level) = split_level(text);
        let level = level?;
        let mut meant = self.exactly(name, context)?;
        meant.slugs.iter_mut().for_each(|slug| slug.push_str(&format!(":{level}")));
        Some(meant)
    }

    fn exactly(&self, name: &str, context: &NameContext) -> Option<MeantModels> {
        if let Some((_, slugs)) = self.aliases.iter().find(|(alias, _)| alias == name) {
            let how = format!("alias {name}");
            // An alias may stand for a tier.
            let tier = slugs.first().and_then(|slug| self.tier(slug, context));
            return Some(MeantModels { slugs: tier.unwrap_or_else(|| slugs.clone()), how });
        }
        if let Some(slugs) = self.tier(name, context) {
            return Some(MeantModels { slugs, how: format!("tier {name}") });
        }
        let (vendor, facts) = models::alias(name).filter(|_| !context.server)?;
        let there = context.configured.iter().any(|name| **name == *vendor.name);
        there
            .then(|| MeantModels { slugs: vec![format!("{}/{}", vendor.name, facts.id)], how: format!("alias {name}") })
    }

    /// The name that a wrong one was probably meant to be: an alias, or a model by its own name.
    pub(crate) fn nearest(&self, wrong: &str, models: &[ModelInfo], context: &NameContext) -> Option<String> {
        let wrong = split_level(wrong).0.to_lowercase();
        let own = self.aliases.iter().map(|(name, _)| name.as_str());
        let vendors = context.configured.iter().filter(|_| !context.server).filter_map(|name| models::vendor(name));
        let aliases = vendors.flat_map(|vendor| vendor.aliases).map(|(name, _)| *name);
        let named = models.iter().map(|model| if wrong.contains('/') { &*model.slug } else { &*model.id });
        nearest(&wrong, own.chain(aliases).chain(named)).map(str::to_owned)
    }

    fn tier(&self, name: &str, context: &NameContext) -> Option<Vec<String>> {
        if let Some((_, slugs)) = self.tiers.iter().find(|(tier, _)| tier == name) {
            return Some(slugs.clone());
        }
        if !TIERS.contains(&name) {
            return None;
        }
        let of = |vendor: &&models::Vendor| match name {
            "fast" => Some(vendor.tiers.fast),
            "default" => Some(vendor.tiers.default),
            "complex" => Some(vendor.tiers.complex),
            _ => None,
        };
        let vendors = context.configured.iter().filter_map(|name| models::vendor(name));
        let mut slugs: Vec<String> =
            vendors.filter_map(|vendor| Some(format!("{}/{}", vendor.name, of(&vendor)?))).collect();
        if name == "local" && !context.server {
            slugs.push(AUTO.to_owned());
        }
        (!slugs.is_empty()).then_some(slugs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &ModelNames, sources: &[&str], remote: bool, text: &str, want: &str) {
        let configured = sources.iter().map(|name| Arc::from(*name)).collect();
        let context = NameContext { configured, server: remote };
        let meant = names.meant(text, &context);
        let shown = meant.map_or("-".to_owned(), |meant| format!("{}: {}", meant.how, meant.slugs.join(" ")));
        assert_eq!(shown, want, "{text} {sources:?} {remote}");
    }

    #[test]
    fn the_users_names_come_first_then_what_is_built_in() {
        let own = |pairs: &[(&str, &[&str])]| {
            let owned = |(name, slugs): &(&str, &[&str])| {
                ((*name).to_owned(), slugs.iter().map(|slug| (*slug).to_owned()).collect())
            };
            pairs.iter().map(owned).collect::<Vec<_>>()
        };
        let names = ModelNames {
            aliases: own(&[("mine", &["lab/big"]), ("quick", &["fast"]), ("opus", &["lab/opus"])]),
            tiers: own(&[("fast", &["lab/small", "openai/gpt-x"])]),
        };
        check(&names, &[], false, "mine", "alias mine: lab/big");
        check(&names, &[], false, "mine:high", "alias mine: lab/big:high");
        check(&names, &[], false, "quick", "alias quick: lab/small openai/gpt-x");
        check(&names, &["anthropic"], false, "opus", "alias opus: lab/opus");
        check(&names, &["anthropic"], true, "fast:low", "tier fast: lab/small:low openai/gpt-x:low");
        check(&names, &["anthropic"], false, "lab/big", "-");
        let anthropic = models::vendor("anthropic").unwrap().tiers;
        let google = models::vendor("google").unwrap().tiers;
        let want = format!("tier complex: google/{} anthropic/{}", google.complex, anthropic.complex);
        check(&names, &["google", "lab", "anthropic"], false, "complex", &want);
        check(&names, &[], false, "complex", "-");
        check(&names, &[], false, "local", "tier local: auto");
        check(&names, &[], true, "local", "-");
        let sonnet = models::alias("sonnet").unwrap().1.id;
        check(&names, &["anthropic"], false, "sonnet", &format!("alias sonnet: anthropic/{sonnet}"));
        check(&names, &["openai"], false, "sonnet", "-");
        check(&names, &["anthropic"], true, "sonnet", "-");
    }
}
