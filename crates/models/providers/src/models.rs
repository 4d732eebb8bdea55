//! What is known of current models without asking anybody: a table of facts, one file per vendor.
//!
//! The table fills gaps. What the configuration or a server's own list says wins, and a model that is not here is not
//! guessed at: its price is unknown and its window the default. Facts are those of November 2026.
//!
//! Left out on purpose:
//!
//! * higher prices for long prompts (OpenAI above 272k tokens, Gemini Pro and Grok above 200k, Claude Haiku 5.5 above
//!   100k), for faster or regional service, for caches that are kept longer, for searching and for other media than text
//!   and images; and lower ones for batches. What a call cost is then an estimate from below or from above;
//! * efforts beyond `xhigh`, for which there is no word here;
//! * models that are no longer served, and rows for dated snapshots: those are found by their family's name.

mod anthropic;
mod google;
mod levels;
mod openai;
mod others;

use std::sync::Arc;

use net::address::host;
pub use openai::CHATGPT;
use vocab::{ModelInfo, Prices};

use crate::Api;

/// All vendors of the table; those whose own format is spoken come first.
pub static VENDORS: [Vendor; 7] =
    [anthropic::VENDOR, openai::VENDOR, google::VENDOR, others::DEEPSEEK, others::XAI, others::MISTRAL, others::GROQ];

/// Who serves models, where, and which.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Vendor {
    /// The name under which its models are offered.
    pub name: &'static str,
    pub url: &'static str,
    /// The formats it speaks, the preferred one first.
    pub apis: &'static [Api],
    pub tiers: Tiers,
    /// Short names, and the newest model of the family.
    pub aliases: &'static [(&'static str, &'static str)],
    /// The default first, then by age.
    pub models: &'static [Facts],
}

/// Which model is for what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tiers {
    pub fast: &'static str,
    pub default: &'static str,
    pub complex: &'static str,
}

/// One model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Facts {
    pub id: &'static str,
    /// For people.
    pub name: &'static str,
    pub context_window: u64,
    /// `None`: the vendor names none but the window.
    pub max_output: Option<u64>,
    pub images: bool,
    /// Weakest first; none where it does not think.
    pub levels: &'static [&'static str],
    /// `None`: sources differ, it changes with what the name stands for, or nobody pays per token.
    pub prices: Option<Prices>,
}

/// A row: tokens of window and output (0: not known), levels, dollars per million tokens of input, output, cache read and
/// cache write. Takes text and images.
const fn model(
    id: &'static str,
    name: &'static str,
    context_window: u64,
    output: u64,
    levels: levels::Levels,
    [input, out, cache_read, cache_write]: [f64; 4],
) -> Facts {
    let max_output = if output == 0 { None } else { Some(output) };
    let prices = Some(Prices { input, cache_read, cache_write, output: out });
    Facts { id, name, context_window, max_output, images: true, levels, prices }
}

/// As [`model`], for one that takes nothing but text.
const fn text(
    id: &'static str,
    name: &'static str,
    context_window: u64,
    output: u64,
    levels: levels::Levels,
    prices: [f64; 4],
) -> Facts {
    Facts { images: false, ..model(id, name, context_window, output, levels, prices) }
}

/// As [`model`], for one without a price of its own: a name that stands for one model today and for another one tomorrow,
/// or a model that a subscription covers.
const fn unpriced(
    id: &'static str,
    name: &'static str,
    context_window: u64,
    output: u64,
    levels: levels::Levels,
) -> Facts {
    Facts { prices: None, ..model(id, name, context_window, output, levels, [0.0; 4]) }
}

/// A vendor by its name, or by the format that is its own.
pub fn vendor(name_or_api: &str) -> Option<&'static Vendor> {
    let name = match Api::parse(name_or_api) {
        Some(Api::Anthropic) => "anthropic",
        Some(Api::Responses) => "openai",
        Some(Api::Gemini) => "google",
        // Everybody speaks it.
        Some(Api::Completions) => return None,
        None => name_or_api,
    };
    VENDORS.iter().find(|vendor| vendor.name.eq_ignore_ascii_case(name))
}

/// What is known of a vendor's model.
pub fn find(name_or_api: &str, id: &str) -> Option<&'static Facts> {
    vendor(name_or_api)?.find(id)
}

/// All models of a vendor, its default first; none of whom is no vendor.
pub fn of(name_or_api: &str) -> Vec<ModelInfo> {
    vendor(name_or_api).map(Vendor::infos).unwrap_or_default()
}

/// What a short name such as `sonnet` stands for, whoever's it is.
pub fn alias(word: &str) -> Option<(&'static Vendor, &'static Facts)> {
    VENDORS.iter().find_map(|vendor| Some((vendor, vendor.find(vendor.alias(word)?)?)))
}

impl Vendor {
    /// Whose server this is: the owner of its address, else the one whose name somebody gave to it. One that only speaks a
    /// vendor's format is nobody's.
    pub(crate) fn of_server(name: Option<&str>, api: Api, base_url: &str) -> Option<&'static Vendor> {
        let speaks = |vendor: &&Vendor| vendor.apis.contains(&api);
        let owner = VENDORS.iter().find(|vendor| host(vendor.url) == host(base_url));
        owner.or_else(|| VENDORS.iter().find(|vendor| name == Some(vendor.name))).filter(speaks)
    }

    /// By its id; a dated snapshot and `-latest` are their family's.
    pub fn find(&self, id: &str) -> Option<&'static Facts> {
        let row = |id: &str| self.models.iter().find(|facts| facts.id == id);
        row(id).or_else(|| row(family(id)?))
    }

    /// The id that a short name stands for.
    pub fn alias(&self, word: &str) -> Option<&'static str> {
        let is_it = |(alias, _): &&(&str, &str)| alias.eq_ignore_ascii_case(word);
        self.aliases.iter().find(is_it).map(|(_, id)| *id)
    }

    pub fn infos(&self) -> Vec<ModelInfo> {
        let info = |facts: &Facts| {
            let mut info = ModelInfo {
                provider: self.name.into(),
                api: self.apis[0].as_str().into(),
                base_url: self.url.into(),
                ..ModelInfo::named(facts.id, 0)
            };
            facts.restrict(&mut info);
            facts.fill(&mut info);
            info
        };
        self.models.iter().map(info).collect()
    }
}

impl Facts {
    /// Says what nobody has said yet. A window of 0 is one that nobody knows.
    pub fn fill(&self, info: &mut ModelInfo) {
        if info.context_window == 0 {
            info.context_window = self.context_window;
        }
        if info.name == info.id && info.id.as_ref() == self.id {
            info.name = self.name.into();
        }
        info.max_output = info.max_output.or(self.max_output);
        info.prices = info.prices.or(self.prices);
        info.levels.get_or_insert_with(|| self.levels.iter().map(|level| Arc::from(*level)).collect());
    }

    /// Takes away what the model lacks: where nobody said anything it is taken to lack nothing. Who named levels has said
    /// whether it thinks.
    pub(crate) fn restrict(&self, info: &mut ModelInfo) {
        info.images &= self.images;
        info.thinking &= info.levels.is_some() || !self.levels.is_empty();
    }
}

/// The name without the date, the number or the word behind it; `None`: there is none.
fn family(id: &str) -> Option<&str> {
    let cut = |digits: &[usize]| {
        let mut rest = id;
        for digits in digits.iter().rev() {
            let (before, number) = rest.rsplit_once('-')?;
            let fits = number.len() == *digits && number.bytes().all(|byte| byte.is_ascii_digit());
            rest = fits.then_some(before)?;
        }
        Some(rest)
    };
    // claude-x-20250929, gpt-x-2026-03-17, gemini-x-001
    cut(&[8]).or_else(|| cut(&[4, 2, 2])).or_else(|| cut(&[3])).or_else(|| id.strip_suffix("-latest"))
}

#[cfg(test)]
mod tests;
