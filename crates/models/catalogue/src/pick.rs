//! From what people type to a model: exact names first, then a part of one that fits only one. Pure.

use config::agent::LEVELS;
use vocab::ModelInfo;

/// Names in an error; of more only the number is told.
const NAMES_MAX: usize = 8;

/// What was found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Pick<'m, 't> {
    /// A model, and the level of thinking that stood behind its name.
    One(&'m ModelInfo, Option<&'t str>),
    /// It could be any of several.
    Many,
    None,
}

/// `gpt-5:high`: the name and a level, where the end is one.
pub(crate) fn split_level(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((name, level)) if !name.is_empty() && LEVELS.contains(&level) => (name, Some(level)),
        _ => (text, None),
    }
}

/// Looks `text` up among `models`, all of them or those of one provider. A name may itself end in a colon and a word, so
/// the whole text is tried before its end is taken for a level. `parts`: a part of a name counts where it is unique.
pub(crate) fn find<'m, 't>(
    models: &'m [ModelInfo],
    provider: Option<&str>,
    text: &'t str,
    parts: bool,
) -> Pick<'m, 't> {
    let whole = match lookup(models, provider, text, parts) {
        Ok(model) => return Pick::One(model, None),
        Err(many) => many,
    };
    let (name, level) = split_level(text);
    let found = if level.is_some() { lookup(models, provider, name, parts) } else { Err(false) };
    match found {
        Ok(model) => Pick::One(model, level),
        Err(many) if many || whole => Pick::Many,
        Err(_) => Pick::None,
    }
}

/// The error tells whether there were too many.
fn lookup<'m>(models: &'m [ModelInfo], provider: Option<&str>, text: &str, parts: bool) -> Result<&'m ModelInfo, bool> {
    let same = |left: &str, right: &str| left.eq_ignore_ascii_case(right);
    let asked = provider.is_some();
    // `a/b` is the model b of a, where there is an a; otherwise it may be the whole id of another's model.
    let known = |name: &str| models.iter().any(|model| same(&model.provider, name));
    let (provider, rest) = match (provider, text.split_once('/')) {
        (Some(provider), Some((name, rest))) if same(provider, name) => (Some(provider), rest),
        (None, Some((name, rest))) if known(name) => (Some(name), rest),
        (provider, _) => (provider, text),
    };
    let lower = rest.to_lowercase();
    let of = |model: &&ModelInfo| provider.is_none_or(|name| same(&model.provider, name));
    let part = |model: &&ModelInfo| {
        parts && (model.id.to_lowercase().contains(&lower) || model.name.to_lowercase().contains(&lower))
    };
    let elsewhere = |model: &&ModelInfo| !asked && (same(&model.id, text) || same(&model.slug, text));
    let unique = |mut found: Vec<&'m ModelInfo>| match found.len() {
        0 => None,
        1 => Some(Ok(found.remove(0))),
        _ => Some(Err(true)),
    };
    unique(models.iter().filter(of).filter(|model| same(&model.id, rest)).collect())
        .or_else(|| unique(models.iter().filter(elsewhere).collect()))
        .or_else(|| unique(models.iter().filter(of).filter(part).collect()))
        .unwrap_or(Err(false))
}

/// The models that a scope names: `*` and `?` fit any, other patterns are looked up as above, in parts too. Patterns that
/// fit nothing come back.
pub(crate) fn scope<'m, 't>(
    models: &'m [ModelInfo],
    patterns: &'t [String],
) -> (Vec<(&'m ModelInfo, Option<&'t str>)>, Vec<&'t str>) {
    let mut found: Vec<(&ModelInfo, Option<&str>)> = Vec::new();
    let mut nothing = Vec::new();
    for pattern in patterns {
        let fits: Vec<(&ModelInfo, Option<&str>)> = if pattern.contains(['*', '?']) {
            let (glob, level) = split_level(pattern);
            let glob = glob.to_lowercase();
            let fits = |model: &&ModelInfo| {
                [format!("{}/{}", model.provider, model.id), model.id.to_string()]
                    .iter()
                    .any(|name| wildcard(glob.as_bytes(), name.to_lowercase().as_bytes()))
            };
            models.iter().filter(fits).map(|model| (model, level)).collect()
        } else {
            match find(models, None, pattern, true) {
                Pick::One(model, level) => vec![(model, level)],
                Pick::Many | Pick::None => Vec::new(),
            }
        };
        if fits.is_empty() {
            nothing.push(&**pattern);
        }
        for fit in fits {
            if found.iter().all(|(model, _)| model.slug != fit.0.slug) {
                found.push(fit);
            }
        }
    }
    (found, nothing)
}

/// `*` is any text, `?` any one byte. Linear but for the last star, which is enough to be right.
fn wildcard(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(byte) if *byte == b'?' || *byte == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match &mut star {
                Some((at, from)) => {
                    *from += 1;
                    (p, t) = (*at + 1, *from);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// For an error: what exists.
pub(crate) fn names<'m>(models: impl Iterator<Item = &'m ModelInfo>) -> String {
    let all: Vec<&str> = models.map(|model| &*model.slug).collect();
    let mut text = all.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
    if all.len() > NAMES_MAX {
        text.push_str(&format!(" and {} more", all.len() - NAMES_MAX));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models() -> Vec<ModelInfo> {
        let model = |provider: &str, id: &str, name: &str| ModelInfo {
            provider: provider.into(),
            id: id.into(),
            name: name.into(),
            ..ModelInfo::named(format!("{provider}/{id}"), 1000)
        };
        vec![
            model("lab", "alpha", "Alpha One"),
            model("lab", "alpha-mini", "Alpha Mini"),
            model("lab", "qwen3:8b", "Qwen"),
            model("lab", "odd:high", "Odd"),
            model("router", "lab/alpha", "Routed"),
            model("router", "beta", "Beta"),
            model("other", "beta", "Other Beta"),
            model("other", "gamma", "Sonnet Like"),
        ]
    }

    fn check(provider: Option<&str>, text: &str, want: &str) {
        let models = models();
        let shown = match find(&models, provider, text, true) {
            Pick::One(model, level) => format!("{} {}", model.slug, level.unwrap_or("-")),
            Pick::Many => "many".to_owned(),
            Pick::None => "none".to_owned(),
        };
        assert_eq!(shown, want, "{provider:?} {text}");
    }

    #[test]
    fn exact_names_come_first_then_a_part_that_fits_one() {
        check(None, "lab/alpha", "lab/alpha -");
        check(None, "LAB/Alpha", "lab/alpha -");
        check(None, "alpha-mini", "lab/alpha-mini -");
        check(None, "alpha", "lab/alpha -");
        check(None, "router/lab/alpha", "router/lab/alpha -");
        check(Some("router"), "lab/alpha", "router/lab/alpha -");
        check(Some("lab"), "lab/alpha", "lab/alpha -");
        check(Some("router"), "beta", "router/beta -");
        check(None, "mini", "lab/alpha-mini -");
        check(None, "sonnet", "other/gamma -");
        check(None, "lab/qw", "lab/qwen3:8b -");
        check(None, "beta", "many");
        check(None, "a", "many");
        check(None, "nope", "none");
        check(Some("nobody"), "alpha", "none");
        check(Some("other"), "alpha", "none");
    }

    #[test]
    fn a_level_may_stand_behind_the_name_but_a_name_with_a_colon_wins() {
        check(None, "alpha-mini:high", "lab/alpha-mini high");
        check(None, "lab/alpha:off", "lab/alpha off");
        check(None, "qwen3:8b", "lab/qwen3:8b -");
        check(None, "qwen3:8b:low", "lab/qwen3:8b low");
        check(None, "odd:high", "lab/odd:high -");
        check(None, "alpha-mini:huge", "none");
        check(Some("other"), "beta:xhigh", "other/beta xhigh");
    }

    #[test]
    fn without_parts_only_whole_names_count() {
        let models = models();
        assert_eq!(find(&models, None, "mini", false), Pick::None);
        assert!(matches!(find(&models, None, "alpha-mini:low", false), Pick::One(_, Some("low"))));
    }

    #[test]
    fn a_scope_takes_patterns_once_each_and_in_order() {
        let models = models();
        let patterns = ["gamma:low", "LAB/*:high", "other/ga*", "zzz", "b?ta"].map(str::to_owned);
        let (found, nothing) = scope(&models, &patterns);
        let found: Vec<String> =
            found.iter().map(|(model, level)| format!("{} {}", model.slug, level.unwrap_or("-"))).collect();
        assert_eq!(
            found,
            [
                "other/gamma low",
                "lab/alpha high",
                "lab/alpha-mini high",
                "lab/qwen3:8b high",
                "lab/odd:high high",
                "router/lab/alpha high",
                "router/beta -",
                "other/beta -",
            ]
        );
        assert_eq!(nothing, ["zzz"]);
    }

    #[test]
    fn wildcards_are_matched_whole() {
        for (pattern, text, want) in [
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("*b*b*", "abab", true),
            ("?", "", false),
            ("a**", "a", true),
            ("", "a", false),
        ] {
            assert_eq!(wildcard(pattern.as_bytes(), text.as_bytes()), want, "{pattern} {text}");
        }
    }
}
