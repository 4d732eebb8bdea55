//! What may be spent before somebody is asked: in money, tokens, time and tool rounds, by turn, session and day.

use std::fmt::Write as _;

/// Over what a budget is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BudgetSpan {
    Turn,
    Session,
    /// All sessions of one store, on one day as [`day_of`](crate::day_of) counts them.
    Day,
}

impl BudgetSpan {
    pub const ALL: [BudgetSpan; 3] = [BudgetSpan::Turn, BudgetSpan::Session, BudgetSpan::Day];

    pub fn as_str(self) -> &'static str {
        match self {
            BudgetSpan::Turn => "turn",
            BudgetSpan::Session => "session",
            BudgetSpan::Day => "day",
        }
    }
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|span| span.as_str() == text)
    }
}

/// In what it is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BudgetUnit {
    /// Amounts are billionths of a dollar.
    Money,
    Tokens,
    /// Amounts are milliseconds.
    Time,
    /// Answers of the model that called tools.
    Rounds,
}

/// The most that a limit can be: a year of anything that somebody would want to limit.
const DOLLARS_MAX: u64 = 1_000_000;
const TOKENS_LIMIT_MAX: u64 = 1_000_000_000_000;
const MINUTES_MAX: u64 = 525_600;
const ROUNDS_MAX: u64 = 1_000_000;
/// Digits behind the point of a limit; more are refused.
const DECIMALS_MAX: usize = 6;

const NANOS: u64 = 1_000_000_000;
const MINUTE_MS: u64 = 60_000;

impl BudgetUnit {
    pub const ALL: [BudgetUnit; 4] = [BudgetUnit::Money, BudgetUnit::Tokens, BudgetUnit::Time, BudgetUnit::Rounds];

    /// As it is written down.
    pub fn as_str(self) -> &'static str {
        match self {
            BudgetUnit::Money => "usd",
            BudgetUnit::Tokens => "tokens",
            BudgetUnit::Time => "minutes",
            BudgetUnit::Rounds => "rounds",
        }
    }
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.as_str() == text)
    }

    /// Amounts to one of what is written down, and the most of that.
    fn scale(self) -> (u64, u64) {
        match self {
            BudgetUnit::Money => (NANOS, DOLLARS_MAX),
            BudgetUnit::Tokens => (1, TOKENS_LIMIT_MAX),
            BudgetUnit::Time => (MINUTE_MS, MINUTES_MAX),
            BudgetUnit::Rounds => (1, ROUNDS_MAX),
        }
    }

    /// What a limit wants to be, in words.
    pub fn wants(self) -> String {
        let (scale, most) = self.scale();
        match scale {
            1 => format!("a whole number from 1 to {most}"),
            _ => format!("a number above 0, at most {most}, with at most {DECIMALS_MAX} digits behind the point"),
        }
    }

    /// A limit as somebody wrote it: digits, and a point where halves make sense.
    pub fn amount(self, text: &str) -> Result<u64, String> {
        let (scale, most) = self.scale();
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(part) || text.ends_with('.') {
            return Err(format!("`{text}` is no number above 0"));
        }
        if scale == 1 && !part.is_empty() {
            return Err(format!("`{text}`: {} are whole numbers", self.as_str()));
        }
        if part.len() > DECIMALS_MAX {
            return Err(format!("`{text}` has more than {DECIMALS_MAX} digits behind the point"));
        }
        let too_much = || format!("`{text}` is more than {most}, the most that can be set");
        let whole: u64 = whole.parse().map_err(|_| too_much())?;
        let mut amount = u128::from(whole) * u128::from(scale);
        if !part.is_empty() {
            let digits: u128 = part.parse().map_err(|_| too_much())?;
            amount += digits * u128::from(scale) / 10u128.pow(part.len() as u32);
        }
        if amount > u128::from(most) * u128::from(scale) {
            return Err(too_much());
        }
        match u64::try_from(amount) {
            Ok(0) => Err(format!("`{text}` would allow nothing: a limit is above 0; without one there is no limit")),
            Ok(amount) => Ok(amount),
            Err(_) => Err(too_much()),
        }
    }

    /// For people: `$1.50`, `2000 tokens`, `1 min 30 s`, `3 tool rounds`.
    pub fn shown(self, amount: u64) -> String {
        match self {
            BudgetUnit::Money => money(amount),
            BudgetUnit::Tokens => counted(amount, "token"),
            BudgetUnit::Time => time(amount),
            BudgetUnit::Rounds => counted(amount, "tool round"),
        }
    }
}

fn counted(amount: u64, what: &str) -> String {
    format!("{amount} {what}{}", if amount == 1 { "" } else { "s" })
}

/// Cents, and as many digits more as a small amount needs to be one.
fn money(nanos: u64) -> String {
    let digits = match nanos {
        0 => 2,
        1..1_000_000 => 6,
        _ if !nanos.is_multiple_of(10_000_000) && nanos < NANOS => 4,
        _ => 2,
    };
    format!("${:.digits$}", nanos as f64 / NANOS as f64)
}

fn time(ms: u64) -> String {
    let (minutes, seconds) = (ms / MINUTE_MS, ms % MINUTE_MS / 1000);
    match (minutes, seconds) {
        (0, 0) if ms > 0 => format!("{ms} ms"),
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// The limits of a session. What has none is not limited.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Budget {
    limits: [[Option<u64>; 4]; 3],
}

impl Budget {
    pub fn limit(&self, span: BudgetSpan, unit: BudgetUnit) -> Option<u64> {
        self.limits[span as usize][unit as usize]
    }
    pub fn set(&mut self, span: BudgetSpan, unit: BudgetUnit, limit: Option<u64>) {
        self.limits[span as usize][unit as usize] = limit;
    }
    pub fn is_empty(&self) -> bool {
        self.limits.iter().flatten().all(Option::is_none)
    }
    pub fn has(&self, span: BudgetSpan) -> bool {
        self.limits[span as usize].iter().any(Option::is_some)
    }
    /// Whether some limit is in this unit.
    pub fn counts(&self, unit: BudgetUnit) -> bool {
        self.limits.iter().any(|limits| limits[unit as usize].is_some())
    }
    /// What is limited, in the order in which it is looked at.
    pub fn limits(&self) -> impl Iterator<Item = (BudgetSpan, BudgetUnit, u64)> + use<'_> {
        let all = BudgetSpan::ALL.into_iter().flat_map(|span| BudgetUnit::ALL.map(|unit| (span, unit)));
        all.filter_map(|(span, unit)| Some((span, unit, self.limit(span, unit)?)))
    }

    /// Whether there can be such a limit. What a day has used is kept in money and tokens.
    pub fn check(span: BudgetSpan, unit: BudgetUnit) -> Result<(), String> {
        match (span, unit) {
            (BudgetSpan::Day, BudgetUnit::Time | BudgetUnit::Rounds) => {
                Err(format!("a day has no budget in {}: there is usd, tokens", unit.as_str()))
            }
            _ => Ok(()),
        }
    }

    /// One limit as it is written down: `turn.usd=1.5`.
    pub fn read_limit(text: &str) -> Result<(BudgetSpan, BudgetUnit, u64), String> {
        let shape = || "a budget is written SPAN.WHAT=N, such as turn.usd=1.5".to_owned();
        let (what, amount) = text.split_once('=').ok_or_else(shape)?;
        let (span, unit) = what.split_once('.').ok_or_else(shape)?;
        let known = |words: &[&str]| words.join(", ");
        let span = BudgetSpan::parse(span).ok_or_else(|| {
            format!("unknown span `{span}`: there is {}", known(&BudgetSpan::ALL.map(BudgetSpan::as_str)))
        })?;
        let unit = BudgetUnit::parse(unit).ok_or_else(|| {
            format!("unknown unit `{unit}`: there is {}", known(&BudgetUnit::ALL.map(BudgetUnit::as_str)))
        })?;
        Self::check(span, unit)?;
        Ok((span, unit, unit.amount(amount)?))
    }
}

/// A limit is reached: may it go on?
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BudgetAsk {
    pub span: BudgetSpan,
    pub unit: BudgetUnit,
    pub limit: u64,
    pub spent: u64,
    /// What a yes adds to what is spent now.
    pub more: u64,
}

impl BudgetAsk {
    /// What is spent, in one line.
    pub fn spent_line(&self) -> String {
        let whose = match self.span {
            BudgetSpan::Turn => "this turn's",
            BudgetSpan::Session => "this session's",
            BudgetSpan::Day => "the day's",
        };
        let (limit, spent) = (self.unit.shown(self.limit), self.unit.shown(self.spent));
        format!("{whose} budget of {limit} is spent ({spent})")
    }
    /// The question, in one line for a person.
    pub fn summary(&self) -> String {
        format!("{}: go on with another {}?", self.spent_line(), self.unit.shown(self.more))
    }
    /// How the limit is named where it is set.
    pub fn name(&self) -> String {
        let mut name = String::new();
        let _ = write!(name, "{}.{}", self.span.as_str(), self.unit.as_str());
        name
    }
}

/// One limit and what is spent of it, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BudgetRow {
    pub span: BudgetSpan,
    pub unit: BudgetUnit,
    pub limit: u64,
    /// `None`: not known yet.
    pub spent: Option<u64>,
    /// What may be spent now; more than the limit where somebody has granted it. `None`: as much as it takes.
    pub allowed: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_strictly() {
        use BudgetSpan::*;
        use BudgetUnit::*;
        for (text, want) in [
            ("turn.usd=1", (Turn, Money, NANOS)),
            ("session.usd=0.000001", (Session, Money, 1000)),
            ("day.usd=1000000", (Day, Money, 1_000_000 * NANOS)),
            ("day.tokens=2000000", (Day, Tokens, 2_000_000)),
            ("turn.minutes=1.5", (Turn, Time, 90_000)),
            ("session.rounds=3", (Session, Rounds, 3)),
        ] {
            assert_eq!(Budget::read_limit(text), Ok(want), "{text}");
        }
        for (text, part) in [
            ("", "SPAN.WHAT=N"),
            ("turn.usd", "SPAN.WHAT=N"),
            ("usd=1", "SPAN.WHAT=N"),
            ("week.usd=1", "unknown span `week`: there is turn, session, day"),
            ("turn.euros=1", "unknown unit `euros`: there is usd, tokens, minutes, rounds"),
            ("turn.usd=", "no number"),
            ("turn.usd=0", "would allow nothing"),
            ("turn.usd=0.0000001", "more than 6 digits"),
            ("turn.usd=-1", "no number"),
            ("turn.usd=+1", "no number"),
            ("turn.usd=1e3", "no number"),
            ("turn.usd=NaN", "no number"),
            ("turn.usd=inf", "no number"),
            ("turn.usd=1.", "no number"),
            ("turn.usd=.5", "no number"),
            ("turn.usd=1.5.5", "no number"),
            ("turn.usd=1000000.000001", "is more than 1000000"),
            ("turn.usd=99999999999999999999999999", "is more than"),
            ("turn.tokens=1.5", "whole numbers"),
            ("turn.rounds=1000001", "is more than 1000000"),
            ("turn.usd= 1", "no number"),
            ("day.minutes=5", "a day has no budget in minutes"),
            ("day.rounds=5", "a day has no budget in rounds"),
        ] {
            let refused = Budget::read_limit(text).expect_err(text);
            assert!(refused.contains(part), "{text}: {refused}");
        }
    }

    #[test]
    fn a_question_says_all_that_counts() {
        let ask = |span, unit, limit, spent| BudgetAsk { span, unit, limit, spent, more: limit };
        let day = ask(BudgetSpan::Day, BudgetUnit::Money, 20 * NANOS, 20_130_000_000);
        assert_eq!(day.summary(), "the day's budget of $20.00 is spent ($20.13): go on with another $20.00?");
        assert_eq!(day.name(), "day.usd");
        let turn = ask(BudgetSpan::Turn, BudgetUnit::Time, 90_000, 95_400);
        assert_eq!(
            turn.summary(),
            "this turn's budget of 1 min 30 s is spent (1 min 35 s): go on with another 1 min 30 s?"
        );
        let rounds = ask(BudgetSpan::Session, BudgetUnit::Rounds, 1, 2);
        assert_eq!(rounds.spent_line(), "this session's budget of 1 tool round is spent (2 tool rounds)");
        assert_eq!(BudgetUnit::Money.shown(0), "$0.00");
        assert_eq!(BudgetUnit::Money.shown(1000), "$0.000001");
        assert_eq!(BudgetUnit::Money.shown(12_300_000), "$0.0123");
        assert_eq!(BudgetUnit::Money.shown(250_000_000), "$0.25");
        assert_eq!(BudgetUnit::Tokens.shown(1), "1 token");
    }
}
