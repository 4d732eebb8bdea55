//! How much a model thinks before it answers: the levels, and what becomes of one that a model does not take.

use std::sync::Arc;

/// No thinking at all. Among a model's levels only where it can be switched off.
pub const OFF: &str = "off";

/// All levels, weakest first.
pub const LEVELS: [&str; 6] = [OFF, "minimal", "low", "medium", "high", "xhigh"];

/// The nearest level that a model takes: the next weaker one, else the next stronger one. Asking for little is never
/// asking for none, so nothing but `off` becomes `off`; and `off` becomes the weakest where a model always thinks.
///
/// `levels`: what the model takes, weakest first. Where nothing is known of it, every word is passed on; where it is
/// known, a word that is no level says nothing. `None` = ask for no level.
pub fn clamp(level: &Arc<str>, levels: Option<&[Arc<str>]>) -> Option<Arc<str>> {
    let Some(levels) = levels else { return Some(level.clone()) };
    if levels.contains(level) {
        return Some(level.clone());
    }
    let rank = |level: &str| LEVELS.iter().position(|known| *known == level);
    let wanted = rank(level)?;
    let on = || levels.iter().filter(|level| &***level != OFF);
    let weaker = on().rfind(|level| rank(level).is_some_and(|rank| rank < wanted));
    weaker.or_else(|| on().find(|level| rank(level).is_some_and(|rank| rank > wanted))).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_becomes_the_nearest_one_that_the_model_takes() {
        for (levels, asked, want) in [
            (
                "off minimal low medium high xhigh",
                "off minimal low medium high xhigh",
                "off minimal low medium high xhigh",
            ),
            ("off low medium high", "off minimal low xhigh", "off low low high"),
            ("low medium high xhigh", "off minimal medium xhigh", "low low medium xhigh"),
            ("minimal low medium high", "off minimal xhigh", "minimal minimal high"),
            ("off high", "off minimal low medium high xhigh", "off high high high high high"),
            ("off low high", "medium xhigh", "low high"),
            ("medium xhigh", "off low high", "medium medium medium"),
            ("high", "off low xhigh", "high high high"),
            ("off", "off low", "off -"),
            ("", "off low xhigh", "- - -"),
            ("off low high", "max nonsense", "- -"),
            ("low max", "max", "max"),
        ] {
            let levels: Vec<Arc<str>> = levels.split_whitespace().map(Arc::from).collect();
            let got = asked.split(' ').map(|asked| clamp(&asked.into(), Some(&levels)));
            let got: Vec<Arc<str>> = got.map(|level| level.unwrap_or_else(|| "-".into())).collect();
            assert_eq!(got.join(" "), want, "{asked} of {levels:?}");
        }
    }

    #[test]
    fn of_a_model_that_nobody_knows_every_word_is_passed_on() {
        for word in ["off", "low", "max", "nonsense", ""] {
            assert_eq!(clamp(&word.into(), None).as_deref(), Some(word));
        }
    }
}
