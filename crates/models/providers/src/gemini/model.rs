//! What a model's name tells of it: its generation, and how it is told to think. The list of models says neither.

use std::sync::Arc;

/// Names without a number (`gemini-flash-latest`) mean the newest.
const NEWEST: (u32, u32) = (3, 8);

/// Our words for levels, weakest first.
const LEVELS: [&str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];

/// What is asked for: whether thoughts are shown, and how many of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GeminiThinking {
    pub(super) show: bool,
    pub(super) effort: Effort,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effort {
    /// In tokens; 0 = none, -1 = the model decides.
    Budget(i64),
    Level(&'static str),
}

/// How a model is told to think.
#[derive(Clone, Copy)]
enum Dial {
    Budget {
        least: u64,
        most: u64,
        off: bool,
    },
    /// The wire's words it takes, weakest first.
    Levels(&'static [&'static str]),
    /// A model of another line, or one that is too old: only on and off.
    Switch,
}

/// Generation and revision of a Gemini model; `None` = it is none.
fn generation(id: &str) -> Option<(u32, u32)> {
    let name = id.rsplit('/').next().unwrap_or(id).to_ascii_lowercase();
    let rest = name.strip_prefix("gemini-")?;
    let number = rest.strip_prefix("live-").unwrap_or(rest).split('-').next().unwrap_or_default();
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some(major.parse().ok().zip(minor.parse().ok()).unwrap_or(NEWEST))
}

/// From its third generation on Gemini wants a signature with the first call of each step, and takes images inside of
/// results.
pub(super) fn is_strict(id: &str) -> bool {
    generation(id).is_some_and(|(major, _)| major >= 3)
}

/// Models of other lines that Google serves in this format: they demand an id with every call, and the old words for schemas.
pub(super) fn is_foreign(id: &str) -> bool {
    ["claude-", "gpt-oss-"].iter().any(|line| id.starts_with(line))
}

fn dial(id: &str) -> Dial {
    let name = id.to_ascii_lowercase();
    let pro = name.contains("-pro");
    match generation(id) {
        Some((3, 0)) if pro => Dial::Levels(&["LOW", "HIGH"]),
        Some((3, 0..=6)) if !pro => Dial::Levels(&["MINIMAL", "LOW", "MEDIUM", "HIGH"]),
        Some((3.., _)) => Dial::Levels(&["LOW", "MEDIUM", "HIGH"]),
        Some((2, 5)) if pro => Dial::Budget { least: 128, most: 32_768, off: false },
        Some((2, 5)) => Dial::Budget { least: 512, most: 24_576, off: true },
        None if name.contains("gemma-4") => Dial::Levels(&["MINIMAL", "HIGH"]),
        _ => Dial::Switch,
    }
}

/// The levels it takes, in our words; `None` = nothing is known.
pub(super) fn levels(id: &str) -> Option<Arc<[Arc<str>]>> {
    let words: Vec<&str> = match dial(id) {
        Dial::Budget { off, .. } => LEVELS[usize::from(!off)..5].to_vec(),
        Dial::Levels(words) => LEVELS.into_iter().filter(|level| words.iter().any(|word| is(word, level))).collect(),
        Dial::Switch => return None,
    };
    Some(words.into_iter().map(Arc::from).collect())
}

fn is(word: &str, level: &str) -> bool {
    word.eq_ignore_ascii_case(level)
}

/// What to ask for at this level; `None` for a word that is no level. `tokens_max` is the room of the whole answer, thoughts
/// included; 0 = not limited.
pub(super) fn wish(id: &str, level: &str, tokens_max: u64) -> Option<GeminiThinking> {
    let rank = LEVELS.iter().position(|known| *known == level)?;
    let effort = match dial(id) {
        Dial::Budget { off: true, .. } if rank == 0 => Effort::Budget(0),
        Dial::Budget { least, most, .. } => {
            let tokens = [least, 512, 2_048, 8_192, most, most][rank];
            // Thoughts must not eat the answer.
            let room = if tokens_max == 0 { most } else { tokens_max / 2 };
            Effort::Budget(tokens.min(room).max(least) as i64)
        }
        Dial::Levels(words) => {
            let enough = |word: &&&str| LEVELS.iter().position(|level| is(word, level)) >= Some(rank);
            Effort::Level(words.iter().find(enough).or(words.last())?)
        }
        Dial::Switch => Effort::Budget(if rank == 0 { 0 } else { -1 }),
    };
    Some(GeminiThinking { show: rank > 0, effort })
}

impl GeminiThinking {
    /// The same in words that more models take.
    pub(super) fn coarse(self) -> Self {
        let effort = match self.effort {
            Effort::Budget(_) => Effort::Budget(-1),
            Effort::Level("MINIMAL" | "LOW") => Effort::Level("LOW"),
            Effort::Level(_) => Effort::Level("HIGH"),
        };
        Self { effort, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str) -> String {
        let all = LEVELS.map(|level| match wish(id, level, 65_536).unwrap() {
            GeminiThinking { show, effort: Effort::Budget(tokens) } => {
                format!("{tokens}{}", if show { "" } else { " hidden" })
            }
            GeminiThinking { show, effort: Effort::Level(word) } => {
                format!("{word}{}", if show { "" } else { " hidden" })
            }
        });
        let levels = levels(id).map(|levels| levels.join(" ")).unwrap_or_else(|| "unknown".into());
        format!("{id} ({levels}): {}\n", all.join(", "))
    }

    #[test]
    fn every_model_gets_its_own_words_for_a_level() {
        let models = [
            "gemini-2.5-pro",
            "gemini-2.5-flash",
            "models/gemini-2.5-flash-lite",
            "gemini-3-pro-preview",
            "gemini-3.1-pro-preview",
            "gemini-3-flash-preview",
            "gemini-3.8-flash",
            "gemini-flash-latest",
            "gemini-live-2.5-flash",
            "gemma-4-31b-it",
            "gemini-2.0-flash",
            "claude-opus",
        ];
        expect_test::expect![[r#"
            gemini-2.5-pro (minimal low medium high): 128 hidden, 512, 2048, 8192, 32768, 32768
            gemini-2.5-flash (off minimal low medium high): 0 hidden, 512, 2048, 8192, 24576, 24576
            models/gemini-2.5-flash-lite (off minimal low medium high): 0 hidden, 512, 2048, 8192, 24576, 24576
            gemini-3-pro-preview (low high): LOW hidden, LOW, LOW, HIGH, HIGH, HIGH
            gemini-3.1-pro-preview (low medium high): LOW hidden, LOW, LOW, MEDIUM, HIGH, HIGH
            gemini-3-flash-preview (minimal low medium high): MINIMAL hidden, MINIMAL, LOW, MEDIUM, HIGH, HIGH
            gemini-3.8-flash (low medium high): LOW hidden, LOW, LOW, MEDIUM, HIGH, HIGH
            gemini-flash-latest (low medium high): LOW hidden, LOW, LOW, MEDIUM, HIGH, HIGH
            gemini-live-2.5-flash (off minimal low medium high): 0 hidden, 512, 2048, 8192, 24576, 24576
            gemma-4-31b-it (minimal high): MINIMAL hidden, MINIMAL, HIGH, HIGH, HIGH, HIGH
            gemini-2.0-flash (unknown): 0 hidden, -1, -1, -1, -1, -1
            claude-opus (unknown): 0 hidden, -1, -1, -1, -1, -1
        "#]]
        .assert_eq(&models.map(row).concat());
        assert_eq!(wish("gemini-2.5-pro", "", 0), None);
        assert_eq!(wish("gemini-2.5-pro", "enormous", 0), None);
    }

    #[test]
    fn the_table_of_models_and_these_names_agree() {
        let google = crate::models::vendor("google").unwrap();
        for facts in google.models {
            assert_eq!(levels(facts.id).unwrap().join(" "), facts.levels.join(" "), "{}", facts.id);
        }
    }

    #[test]
    fn thoughts_leave_half_of_the_answer() {
        let budget = |tokens_max| wish("gemini-2.5-flash", "high", tokens_max).unwrap().effort;
        assert_eq!(budget(0), Effort::Budget(24_576));
        assert_eq!(budget(8_000), Effort::Budget(4_000));
        assert_eq!(budget(100), Effort::Budget(512), "less than the least is refused");
    }

    #[test]
    fn the_third_generation_is_strict() {
        for (id, want) in [
            ("gemini-2.5-pro", false),
            ("gemini-3-pro", true),
            ("gemini-3.1-flash-lite", true),
            ("gemini-pro-latest", true),
            ("gemma-3-27b-it", false),
            ("claude-sonnet", false),
        ] {
            assert_eq!(is_strict(id), want, "{id}");
        }
        assert!(is_foreign("claude-sonnet") && is_foreign("gpt-oss-120b") && !is_foreign("gemini-3-pro"));
    }
}
