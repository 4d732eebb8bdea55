//! `models test`: one tiny real request, and what came of it.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vocab::{CallSpec, Fault, FaultKind, Finish, Message, ModelEvent, ModelFault, ModelInfo, Part, Provider, Usage};

use super::wired;
use crate::print::say;
use config::TIERS;

const PROMPT: &str = "Answer with the one word: ok";
/// Enough for a model that thinks before it says one word.
const MAX_TOKENS: u64 = 1024;
/// A model that has not finished by then has failed the test.
const TIME_MAX: Duration = Duration::from_secs(60);
const FAILED: u8 = 1;

pub(super) async fn run(model: Option<&str>, all: bool) -> anyhow::Result<u8> {
    let wired = wired(model).await?;
    let provider = &*wired.ports.provider;
    let mut models: Vec<ModelInfo> = Vec::new();
    match all {
        false => models.push(provider.resolve(&wired.settings.model)?),
        true => {
            // A tier that nobody can answer for is none here.
            for model in TIERS.iter().filter_map(|tier| provider.resolve(tier).ok()) {
                if models.iter().all(|known| known.slug != model.slug) {
                    models.push(model);
                }
            }
            anyhow::ensure!(
                !models.is_empty(),
                "no tier has a model: set a vendor's key, or [tiers] in the configuration"
            );
        }
    }
    let mut code = 0;
    for model in &models {
        let trial = trial(provider, model).await;
        if trial.failed.is_some() {
            code = FAILED;
        }
        say(&trial.text(model))?;
    }
    Ok(code)
}

/// What came of one request.
#[derive(Default)]
struct Trial {
    sent: Option<String>,
    first: Option<Duration>,
    took: Duration,
    said: String,
    finish: Option<Finish>,
    usage: Option<Usage>,
    failed: Option<Fault>,
}

async fn trial(provider: &dyn Provider, model: &ModelInfo) -> Trial {
    let mut trial = Trial::default();
    let started = Instant::now();
    let asked = ask(provider, model, started, &mut trial);
    let failed = match tokio::time::timeout(TIME_MAX, asked).await {
        Ok(failed) => failed,
        Err(_) => Some(Fault::new(FaultKind::Network, format!("no answer within {} s", TIME_MAX.as_secs()))),
    };
    trial.failed = failed;
    trial.took = started.elapsed();
    trial
}

async fn ask(provider: &dyn Provider, model: &ModelInfo, started: Instant, trial: &mut Trial) -> Option<Fault> {
    let mut chat = match provider.chat(model) {
        Ok(chat) => chat,
        Err(fault) => return Some(fault),
    };
    chat.push(&Message::User(vec![Part::text(PROMPT)]));
    let max_tokens = model.max_output.map_or(MAX_TOKENS, |most| most.min(MAX_TOKENS));
    let mut stream = chat.call(&CallSpec { system: "".into(), tools: Arc::from([]), max_tokens, thinking: None });
    while let Some(event) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        match event {
            ModelEvent::Sent { sent, bytes } => {
                trial.sent = Some(format!("sent {bytes} bytes to {} ({})", sent.url, sent.api));
            }
            ModelEvent::Text(text) => {
                trial.first.get_or_insert_with(|| started.elapsed());
                trial.said.push_str(&text);
            }
            ModelEvent::Thinking(_) | ModelEvent::Redacted(_) => {
                trial.first.get_or_insert_with(|| started.elapsed());
            }
            ModelEvent::Usage(usage) => trial.usage = Some(usage),
            ModelEvent::Finished(finish) => trial.finish = Some(finish),
            ModelEvent::Failed(ModelFault { fault, .. }) => return Some(fault),
            ModelEvent::Seal(_) | ModelEvent::Call { .. } => {}
        }
    }
    None
}

impl Trial {
    fn text(&self, model: &ModelInfo) -> String {
        let mut lines = vec![model.slug.to_string()];
        lines.push(
            self.sent.clone().unwrap_or_else(|| "nothing was sent: it is built in, or it never came to that".into()),
        );
        if let Some(first) = self.first {
            lines.push(format!("first word after {} ms", first.as_millis()));
        }
        let ended = match self.finish {
            Some(Finish::Stop | Finish::ToolUse) => "finished",
            Some(Finish::Length) => "stopped at the limit of tokens",
            Some(Finish::Refusal) => "refused",
            None => "not finished",
        };
        if self.failed.is_none() {
            let said: String = self.said.trim().chars().take(40).collect();
            lines.push(format!("{ended} after {} ms, said {said:?}", self.took.as_millis()));
            lines.push(self.cost(model));
        }
        if let Some(fault) = &self.failed {
            lines.push(format!("failed after {} ms: {}", self.took.as_millis(), fault.message));
            lines.extend(fault.hints.iter().map(|hint| format!("hint: {hint}")));
        }
        let lines: Vec<_> = lines.iter().map(|line| dialect_terminal::clean(line)).collect();
        format!("{}\n", lines.join("\n  "))
    }

    fn cost(&self, model: &ModelInfo) -> String {
        let Some(usage) = self.usage else { return "usage not told".to_owned() };
        let Usage { input, cache_read, cache_write, output, .. } = usage;
        let cost = model.prices.map_or_else(|| "price unknown".to_owned(), |it| format!("${:.6}", it.cost(&usage)));
        format!("{input} input, {cache_read} cache read, {cache_write} cache write, {output} output tokens: {cost}")
    }
}
