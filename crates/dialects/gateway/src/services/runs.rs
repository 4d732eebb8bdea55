//! The runs behind a sum of usage: read from logs, the dearest first.

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{Block, Body, Entry, Prices, Principal, Stop, TurnEntry, TurnId, Usage, answered_usage};

use super::{ServiceAnswer, ServiceCall, asks, told};
use crate::end_of_run::EndOfRun;
use crate::events::RunStateWord;
use crate::methods::OwnPlan;
use crate::own::GatewayRefusal;
use crate::results::UsageSum;
use crate::shape::*;
use crate::{Gateway, shape};

shape! { params
    /// Days of UTC as `2026-01-31`, both included; without them, the last 30.
    UsageRunsParams {
        "from" from: Option<Text<10, 10>>,
        "to" to: Option<Text<10, 10>>,
        "sessionId" session_id: Option<SessionName>,
        /// Only what this model has answered counts, and only runs in which it has.
        "model" model: Option<Text<1, 200>>,
        "limit" limit: Count<1, 500> = Count(50),
    }
}
shape! { result
    /// One run, and what was used in it on these days. What its sub-agents used is in their own runs.
    UsageRun {
        "sessionId" session_id: String,
        "title" title: Option<Arc<str>>,
        "runId" run_id: String,
        /// The entry of the log that it begins with.
        "seq" seq: u64,
        /// When it began.
        "at" at: i64,
        /// Absent while it is under way.
        "durationMs" duration_ms: Option<u64>,
        /// The model that answered last.
        "model" model: Option<Arc<str>>,
        /// `costUsd` by the prices of now; absent where one is not known.
        "usage" usage: UsageSum,
        /// `start` while it is under way.
        "state" state: RunStateWord,
        /// Whose message it worked for.
        "by" by: Option<String>,
        /// Calls of tools that the model wanted.
        "tools" tools: Option<u64>,
    }
}
shape! { result
    /// The dearest first, then the largest. `truncated`: there are more, or not all logs were looked through.
    UsageRunsResult { "runs" runs: Vec<UsageRun>, "truncated" truncated: bool }
}

/// What is counted of a run.
#[derive(Clone, Debug)]
pub struct RunWish {
    /// Milliseconds since 1970, `to` excluded.
    pub from_ms: i64,
    pub to_ms: i64,
    pub model: Option<Arc<str>>,
}

/// A run as its log tells it.
#[derive(Clone, PartialEq, Debug)]
pub struct RunRead {
    pub run: TurnId,
    pub seq: u64,
    pub at_ms: i64,
    pub ended_ms: Option<i64>,
    pub state: RunStateWord,
    pub model: Option<Arc<str>>,
    pub by: Option<Principal>,
    pub tools: u64,
    pub usage: Usage,
    /// Billionths of a dollar, as far as prices are known.
    pub cost_nanos: u64,
    pub is_priced: bool,
}

impl RunRead {
    fn new(run: &TurnId, entry: &Entry) -> Self {
        Self {
            run: run.clone(),
            seq: entry.seq,
            at_ms: entry.at_ms,
            ended_ms: None,
            state: RunStateWord::Start,
            model: None,
            by: entry.by.clone(),
            tools: 0,
            usage: Usage::default(),
            cost_nanos: 0,
            is_priced: true,
        }
    }

    /// What makes it stand before another.
    pub fn weight(&self) -> (u64, u64) {
        (self.cost_nanos, self.usage.context())
    }

    pub fn shown(self, session_id: String, title: Option<Arc<str>>) -> UsageRun {
        let cost = self.is_priced.then_some(self.cost_nanos as f64 / 1e9);
        UsageRun {
            session_id,
            title,
            run_id: self.run.to_string(),
            seq: self.seq,
            at: self.at_ms,
            duration_ms: self.ended_ms.map(|ended| u64::try_from(ended - self.at_ms).unwrap_or(0)),
            model: self.model,
            usage: UsageSum::of(&self.usage, cost),
            state: self.state,
            by: self.by.map(|by| by.as_str().to_owned()),
            tools: Some(self.tools),
        }
    }
}

/// What a model costs now, where that is known.
pub type PriceOf = Arc<dyn Fn(&str) -> Option<Prices> + Send + Sync>;

/// Makes runs of the entries of a log that a look for runs gives, newest first.
pub struct RunFold<'a> {
    wish: &'a RunWish,
    prices: PriceOf,
    /// A list of prices may look at files, so each is asked for once.
    known: HashMap<Arc<str>, Option<Prices>>,
    /// The run whose beginning was not met yet, and whether something of it counts.
    open: Option<(RunRead, bool)>,
    /// How that run stopped; `None`: it is under way.
    stop: Option<Stop>,
    runs: Vec<RunRead>,
}

impl<'a> RunFold<'a> {
    pub fn new(wish: &'a RunWish, prices: PriceOf) -> Self {
        Self { wish, prices, known: HashMap::new(), open: None, stop: None, runs: Vec::new() }
    }

    /// The next older entry.
    pub fn take(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Turn(TurnEntry::Ended(end)) => {
                let run = self.run_of(&end.turn, entry);
                run.ended_ms = Some(entry.at_ms);
                run.state = EndOfRun::of(end.stop, None).state();
                self.stop = Some(end.stop);
            }
            // Older than the end, which does not say it.
            Body::Turn(TurnEntry::Cut { turn, why, .. }) => {
                self.run_of(turn, entry);
                if let Some(((run, _), stop)) = self.open.as_mut().zip(self.stop) {
                    run.state = EndOfRun::of(stop, Some(*why)).state();
                }
            }
            Body::Turn(TurnEntry::Started { turn }) => {
                self.run_of(turn, entry);
                self.close();
            }
            Body::Assistant { turn: Some(turn), message } => {
                let calls = message.blocks.iter().filter(|block| matches!(block, Block::Call(_))).count();
                let run = self.run_of(turn, entry);
                run.tools += calls as u64;
                self.count(entry);
            }
            // Between the borders of a run it is the run's.
            body if answered_usage(body).is_some() && self.open.is_some() => self.count(entry),
            _ => {}
        }
    }

    /// What was found. `is_whole`: with the run that the last entry was in the middle of, for nothing older counts.
    pub fn finish(mut self, is_whole: bool) -> Vec<RunRead> {
        if is_whole {
            self.close();
        }
        self.runs
    }

    fn run_of(&mut self, run: &TurnId, entry: &Entry) -> &mut RunRead {
        if self.open.as_ref().is_some_and(|(open, _)| open.run != *run) {
            self.close();
        }
        let (open, _) = self.open.get_or_insert_with(|| (RunRead::new(run, entry), false));
        (open.seq, open.at_ms) = (entry.seq, entry.at_ms);
        open.by = entry.by.clone().or_else(|| open.by.take());
        open
    }

    /// As sums of days do: only what was done here.
    fn count(&mut self, entry: &Entry) {
        let Some(((run, counts), (model, usage))) = self.open.as_mut().zip(answered_usage(&entry.body)) else { return };
        let is_meant = entry.by.is_some()
            && (self.wish.from_ms..self.wish.to_ms).contains(&entry.at_ms)
            && self.wish.model.as_ref().is_none_or(|wanted| wanted == model);
        if !is_meant {
            return;
        }
        *counts = true;
        run.model.get_or_insert_with(|| model.clone());
        run.usage.add(usage);
        match self.known.entry(model.clone()).or_insert_with(|| (self.prices)(model)) {
            Some(prices) => {
                run.cost_nanos = run.cost_nanos.saturating_add((prices.cost(usage) * 1e9).round().max(0.0) as u64);
            }
            None => run.is_priced = false,
        }
    }

    fn close(&mut self) {
        self.stop = None;
        let Some((run, counts)) = self.open.take() else { return };
        if counts {
            self.runs.push(run);
        }
    }
}

pub(crate) fn runs(_: &Gateway, params: UsageRunsParams) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::UsageRuns(params))))
}

told!(runs_told, ServiceAnswer::UsageRuns(it) => it, UsageRunsResult);

#[cfg(test)]
mod tests {
    use vocab::{AssistantMessage, CutBy, Finish, MessageEnd, ModelEntry, TurnEnd};

    use super::*;

    const BY: fn() -> Option<Principal> = || Some(Principal::user("ann"));

    fn answered(turn: &str, model: &str, tokens: u64) -> Body {
        let usage = Usage { output: tokens, ..Usage::default() };
        let (blocks, end) = (Vec::new(), MessageEnd::Finished(Finish::Stop));
        let message = AssistantMessage { blocks, model: model.into(), end, usage };
        Body::Assistant { turn: Some(turn.into()), message }
    }

    fn spent(turn: Option<&str>, call: Option<&str>) -> Body {
        let usage = Usage { output: 100, ..Usage::default() };
        let (turn, call) = (turn.map(Into::into), call.map(Into::into));
        Body::Model(ModelEntry::Spent { turn, call, model: "a".into(), usage })
    }

    fn started(turn: &str) -> Body {
        Body::Turn(TurnEntry::Started { turn: turn.into() })
    }

    fn ended(turn: &str, stop: Stop) -> Body {
        let (usage, mutations) = (Usage::default(), Vec::new());
        Body::Turn(TurnEntry::Ended(TurnEnd { turn: turn.into(), stop, iterations: 0, usage, mutations, fault: None }))
    }

    /// Bodies at 10, 20, 30, ...; each run as `id seq at state tokens cost`.
    fn read(bodies: Vec<Body>, wish: &RunWish, is_whole: bool) -> Vec<String> {
        let prices = |model: &str| {
            (model == "a").then_some(Prices { input: 0.0, cache_read: 0.0, cache_write: 0.0, output: 1e6 })
        };
        let mut fold = RunFold::new(wish, Arc::new(prices));
        let entries = bodies.into_iter().zip(1..).map(|(body, seq)| {
            let at_ms = i64::try_from(seq).unwrap() * 10;
            Entry { seq, parent: seq - 1, at_ms, body, by: BY() }
        });
        entries.collect::<Vec<_>>().iter().rev().for_each(|entry| fold.take(entry));
        let runs = fold.finish(is_whole).into_iter().map(|run| {
            let cost = if run.is_priced { (run.cost_nanos / 1_000_000_000).to_string() } else { "?".to_owned() };
            format!("{} {} {} {} {} {cost}", run.run, run.seq, run.at_ms, run.state.as_str(), run.usage.output)
        });
        runs.collect()
    }

    fn always() -> RunWish {
        RunWish { from_ms: 0, to_ms: 10_000, model: None }
    }

    #[test]
    fn a_run_goes_from_its_beginning_to_its_end() {
        let log = || {
            vec![
                started("t1"),
                answered("t1", "a", 2),
                answered("t1", "b", 3),
                ended("t1", Stop::EndTurn),
                spent(None, None),
                started("t2"),
                answered("t2", "a", 5),
                spent(Some("t2"), None),
                spent(Some("t2"), Some("c1")),
                Body::Turn(TurnEntry::Cut { turn: "t2".into(), why: CutBy::Stalled, item: None }),
                ended("t2", Stop::Interrupted),
                started("t3"),
                ended("t3", Stop::Interrupted),
                started("t4"),
                answered("t4", "a", 7),
                ended("t4", Stop::Interrupted),
                started("t5"),
                answered("t5", "a", 1),
            ]
        };
        let runs = read(log(), &always(), true);
        let all = ["t5 17 170 start 1 1", "t4 14 140 cancelled 7 7", "t2 6 60 error 105 105", "t1 1 10 complete 5 ?"];
        assert_eq!(runs, all, "one that has used nothing is not there");
        let of_a = RunWish { model: Some("a".into()), ..always() };
        assert_eq!(read(log(), &of_a, true)[3], "t1 1 10 complete 2 2");
        let late = RunWish { from_ms: 25, ..always() };
        assert_eq!(read(log(), &late, true)[3], "t1 1 10 complete 3 ?", "its first answer was before");
        let early = RunWish { to_ms: 40, ..always() };
        assert_eq!(read(log(), &early, true), ["t1 1 10 complete 5 ?"]);
    }

    #[test]
    fn a_run_whose_beginning_was_not_read_counts_only_where_nothing_older_does() {
        let log = || vec![answered("t1", "a", 2), ended("t1", Stop::Error)];
        assert_eq!(read(log(), &always(), true), ["t1 1 10 error 2 2"]);
        assert_eq!(read(log(), &always(), false), Vec::<String>::new());
    }
}
