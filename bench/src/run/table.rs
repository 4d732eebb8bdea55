//! One line per figure: ours, the floor's, the ratio, what was promised, whether it was kept.

use std::borrow::Cow;
use std::io::Write;

use super::agent::Contender;

#[derive(Clone, Copy)]
pub(super) enum Unit {
    Ms,
    Us,
    Mb,
    KiB,
    Bytes,
    Percent,
    Count,
    PerSecond,
    Times,
}

impl Unit {
    fn show(self, figure: f64) -> String {
        match self {
            Unit::Ms => format!("{figure:.3} ms"),
            Unit::Us => format!("{figure:.2} us"),
            Unit::Mb => format!("{figure:.2} MB"),
            Unit::KiB => format!("{figure:.1} KiB"),
            Unit::Bytes => format!("{figure:.0} B"),
            Unit::Percent => format!("{figure:.2} %"),
            Unit::Count => format!("{figure:.2}"),
            Unit::PerSecond => format!("{figure:.0}/s"),
            Unit::Times => format!("{figure:.2}x"),
        }
    }
}

pub(super) enum Target {
    /// Ours over the floor's.
    RatioAtMost(f64),
    RatioAtLeast(f64),
    /// Ours alone.
    AtMost(f64),
}

pub(super) struct Outcome {
    pub(super) label: Cow<'static, str>,
    pub(super) unit: Unit,
    pub(super) ours: f64,
    /// Not a number where there is none.
    pub(super) floor: f64,
    pub(super) target: Target,
    pub(super) note: String,
}

impl Outcome {
    fn ratio(&self) -> f64 {
        self.ours / self.floor
    }
    fn kept(&self) -> bool {
        match self.target {
            Target::RatioAtMost(most) => self.ratio() <= most,
            Target::RatioAtLeast(least) => self.ratio() >= least,
            Target::AtMost(most) => self.ours <= most,
        }
    }
    fn cells(&self) -> Vec<String> {
        let target = match self.target {
            Target::RatioAtMost(most) => format!("<= {most}x"),
            Target::RatioAtLeast(least) => format!(">= {least}x"),
            Target::AtMost(most) => format!("<= {}", self.unit.show(most)),
        };
        vec![
            self.label.to_string(),
            self.unit.show(self.ours),
            if self.floor.is_nan() { "-".into() } else { self.unit.show(self.floor) },
            if self.floor.is_nan() { "-".into() } else { format!("{:.2}x", self.ratio()) },
            target,
            if self.kept() { "ok" } else { "missed" }.into(),
            self.note.clone(),
        ]
    }
}

pub(super) struct Table {
    title: String,
    rows: Vec<Vec<String>>,
    failures: Vec<String>,
}

const HEAD: [&str; 7] = ["row", "ours", "floor", "ratio", "target", "", "note"];

impl Table {
    pub(super) fn new(ours: &Contender) -> Self {
        let rows = vec![HEAD.map(String::from).to_vec()];
        Self { title: ours.describe(), rows, failures: Vec::new() }
    }
    pub(super) fn push(&mut self, outcome: Outcome) {
        self.rows.push(outcome.cells());
    }
    pub(super) fn fail(&mut self, row: &str, error: &anyhow::Error) {
        let cells = [row, "-", "-", "-", "-", "failed", "see below"];
        self.rows.push(cells.map(String::from).to_vec());
        self.failures.push(format!("{row}: {error:#}"));
    }
    pub(super) fn complete(&self) -> bool {
        self.failures.is_empty()
    }

    /// Aligned, and a Markdown table at the same time.
    pub(super) fn print(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(out, "{}\n", self.title)?;
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        for (at, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, &width))| match column {
                    1..=3 => format!("{cell:>width$}"),
                    _ => format!("{cell:<width$}"),
                })
                .collect();
            writeln!(out, "| {} |", cells.join(" | "))?;
            if at == 0 {
                let rules: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
                writeln!(out, "|-{}-|", rules.join("-|-"))?;
            }
        }
        self.failures.iter().try_for_each(|failure| writeln!(out, "\nfailed: {failure}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_kept_or_missed_by_the_right_figure() {
        let outcome = |ours, floor, target| Outcome {
            label: "x".into(),
            unit: Unit::Ms,
            ours,
            floor,
            target,
            note: String::new(),
        };
        for (ours, floor, target, kept) in [
            (2.5, 1.0, Target::RatioAtMost(2.5), true),
            (2.6, 1.0, Target::RatioAtMost(2.5), false),
            (4.0, 10.0, Target::RatioAtLeast(0.4), true),
            (3.9, 10.0, Target::RatioAtLeast(0.4), false),
            (6.0, 1.0, Target::AtMost(6.0), true),
            (6.1, 9.0, Target::AtMost(6.0), false),
            // Nothing measured is nothing kept.
            (f64::NAN, 1.0, Target::RatioAtMost(2.5), false),
        ] {
            assert_eq!(outcome(ours, floor, target).kept(), kept, "{ours} {floor}");
        }
    }
}
