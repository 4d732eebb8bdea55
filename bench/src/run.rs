//! The harness: starts the mock, drives both contenders through the same rows in turn, prints one table.

mod agent;
mod gateway;
mod layout;
mod proc;
mod rows;
mod table;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail, ensure};

use crate::mock::Mock;
use agent::Contender;
pub(crate) use rows::row_names;

/// What the tools read in every workspace: some 1.5 KB.
const NOTES: &str = "notes.txt";
const NOTES_LINES: usize = 30;

/// `--quick` repeats a quarter, `--tiny` next to nothing: whether everything runs, and no figure that means anything.
const QUICK: usize = 4;
const TINY: usize = 100;

pub(crate) struct Options {
    only: Option<String>,
    agent: Option<String>,
    pi: Option<PathBuf>,
    /// One of so many repetitions.
    of: usize,
}

impl Options {
    pub(crate) fn parse(args: &[String]) -> anyhow::Result<Self> {
        let mut options = Self { only: None, agent: None, pi: None, of: 1 };
        let mut args = args.iter();
        while let Some(flag) = args.next() {
            let mut value = || args.next().cloned().with_context(|| format!("{flag} wants a value"));
            match flag.as_str() {
                "--only" => options.only = Some(value()?),
                "--agent" => options.agent = Some(value()?),
                "--pi" => options.pi = Some(value()?.into()),
                "--quick" => options.of = QUICK,
                "--tiny" => options.of = TINY,
                _ => bail!("bench run knows no `{flag}`; try `bench help`"),
            }
        }
        if let Some(only) = &options.only {
            ensure!(row_names().contains(&only.as_str()), "no row `{only}`; there are: {}", row_names().join(", "));
        }
        Ok(options)
    }
}

/// What a row needs to measure.
struct Bench {
    mock: Arc<Mock>,
    ours: Contender,
    floor: Contender,
    /// The original of the `rpc` family, where somebody has it.
    pi: Option<Contender>,
    /// One of so many repetitions.
    of: usize,
    dir: Arc<Scratch>,
}

/// Where one contender lives during one row: its own home and its own workspace.
struct Place {
    home: PathBuf,
    workspace: PathBuf,
}

/// Prints what the agent's linker should put side by side.
pub(crate) fn layout(options: &Options) -> anyhow::Result<()> {
    layout::layout(&Bench::new(options)?)
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let bench = Bench::new(options)?;
    let mut table = table::Table::new(&bench.ours);
    for row in rows::ROWS.iter().filter(|row| options.only.as_deref().is_none_or(|only| only == row.name)) {
        writeln!(io::stderr(), "{} ...", row.name)?;
        match (row.measure)(&bench) {
            Ok(outcomes) => outcomes.into_iter().for_each(|outcome| table.push(outcome)),
            Err(error) => table.fail(row.name, &error),
        }
    }
    table.print(&mut io::stdout())?;
    ensure!(table.complete(), "some rows could not be measured");
    Ok(())
}

/// The agent under test: what `--agent` says, or the product built beside this binary.
fn ours(agent: Option<&str>) -> anyhow::Result<Contender> {
    let mut words: Vec<String> = agent.unwrap_or_default().split_whitespace().map(String::from).collect();
    let program = match words.is_empty() {
        true => std::env::current_exe()?.with_file_name("tillerman"),
        false => PathBuf::from(words.remove(0)),
    };
    if words.is_empty() {
        words.push("serve".into());
    }
    ensure!(
        program.is_file(),
        "no agent at {}; build it with `cargo build --release`, or name one with --agent",
        program.display()
    );
    // Subagents run in their own directory.
    Ok(Contender::new("ours", program.canonicalize()?, words))
}

impl Bench {
    fn new(options: &Options) -> anyhow::Result<Self> {
        Ok(Self {
            mock: Arc::new(Mock::start(0)?),
            ours: ours(options.agent.as_deref())?,
            floor: Contender::new("floor", std::env::current_exe()?, ["relay"]),
            pi: options.pi.as_deref().map(Contender::pi),
            of: options.of,
            dir: Arc::new(Scratch::new()?),
        })
    }

    /// The same agent in another dialect, against the same floor.
    fn with(&self, ours: Contender) -> Self {
        let (mock, dir) = (self.mock.clone(), self.dir.clone());
        Self { mock, ours, floor: self.floor.clone(), pi: self.pi.clone(), of: self.of, dir }
    }
    fn in_rpc(&self) -> Self {
        self.with(self.ours.in_rpc())
    }
    fn in_loaf(&self) -> Self {
        self.with(self.ours.in_loaf())
    }
    fn in_acp(&self) -> Self {
        self.with(self.ours.in_acp())
    }
    fn in_gateway(&self) -> Self {
        Self { floor: self.floor.in_gateway(), ..self.with(self.ours.in_gateway()) }
    }

    /// `full` repetitions, or a few when it has to be quick.
    fn times(&self, full: usize) -> usize {
        full.div_ceil(self.of)
    }
    fn is_quick(&self) -> bool {
        self.of > 1
    }

    fn place(&self, row: &str, contender: &Contender) -> anyhow::Result<Place> {
        let dir = self.dir.path.join(row).join(contender.name);
        let place = Place { home: dir.join("home"), workspace: dir.join("workspace") };
        std::fs::create_dir_all(&place.home)?;
        std::fs::create_dir_all(&place.workspace)?;
        let notes: String =
            (1..=NOTES_LINES).map(|n| format!("line {n} of a file that a model likes to read\n")).collect();
        std::fs::write(place.workspace.join(NOTES), notes)?;
        Ok(place)
    }

    /// Measures both in turn, `times` times after a first one that only warms up, and takes the median of each figure.
    /// Who goes first changes each time.
    fn alternate<const N: usize>(
        &self,
        row: &str,
        times: usize,
        mut measure: impl FnMut(&Contender, &Place) -> anyhow::Result<[f64; N]>,
    ) -> anyhow::Result<([f64; N], [f64; N])> {
        let places = [self.place(row, &self.ours)?, self.place(row, &self.floor)?];
        let mut figures: [Vec<[f64; N]>; 2] = Default::default();
        for time in 0..=times {
            for who in [time % 2, (time + 1) % 2] {
                let contender = [&self.ours, &self.floor][who];
                let measured = measure(contender, &places[who]).with_context(|| contender.describe())?;
                if time > 0 {
                    figures[who].push(measured);
                }
            }
        }
        let medians = |runs: &Vec<[f64; N]>| std::array::from_fn(|n| median(runs.iter().map(|run| run[n]).collect()));
        Ok((medians(&figures[0]), medians(&figures[1])))
    }
}

fn median(figures: Vec<f64>) -> f64 {
    percentile(figures, 50)
}

/// So many of a hundred are smaller.
fn percentile(mut figures: Vec<f64>, of_hundred: usize) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() * of_hundred / 100).copied().unwrap_or(f64::NAN)
}

/// A directory that is gone when the run is over.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("create {}", path.display()))?;
        Ok(Self { path })
    }
}
impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(Path::new(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_and_not_the_mean() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn an_unknown_row_or_flag_is_named() {
        let parse = |args: &[&str]| Options::parse(&args.iter().map(|arg| arg.to_string()).collect::<Vec<_>>());
        assert!(parse(&["--only", "spawn", "--quick"]).is_ok());
        for (args, names) in [
            (&["--only", "nope"][..], "no row `nope`"),
            (&["--fast"], "knows no `--fast`"),
            (&["--agent"], "--agent wants a value"),
        ] {
            let error = parse(args).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(names), "{args:?}: {error}");
        }
    }
}
