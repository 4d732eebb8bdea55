//! The floor: the least that turns a model's SSE into `serve` lines. History, a session file, two tools; no store, no
//! sync, no retry, no interrupt. One thread and blocking std, because with one controller and one model that is leaner
//! than any runtime: while a model streams there is nothing else to wait for.

mod frames;
mod gateway;
mod session;
mod tools;

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::sse::{Client, Heard};
use frames::{In, Out};
pub(crate) use gateway::gateway;
use session::Session;

/// The flags of `serve` that the harness passes.
pub(crate) struct Flags {
    workspace: PathBuf,
    model: String,
    mode: String,
    rounds_max: u32,
    resume: bool,
}

impl Flags {
    pub(crate) fn parse(args: &[String]) -> anyhow::Result<Self> {
        let mut flags = Self {
            workspace: ".".into(),
            model: "mock/alpha".into(),
            mode: "danger-full-access".into(),
            rounds_max: 20,
            resume: false,
        };
        let mut args = args.iter();
        while let Some(flag) = args.next() {
            let value = args.next().with_context(|| format!("{flag} wants a value"))?;
            match flag.as_str() {
                "--workspace" => flags.workspace = value.into(),
                "--model" => flags.model = value.clone(),
                "--permission-mode" => flags.mode = value.clone(),
                "--max-iterations" => flags.rounds_max = value.parse().context("--max-iterations")?,
                "--resume" if value == "latest" => flags.resume = true,
                _ => bail!("the relay knows no `{flag} {value}`"),
            }
        }
        Ok(flags)
    }
}

struct Relay<'a> {
    flags: &'a Flags,
    session: Session,
    client: Client,
    out: Out,
    input: io::Lines<io::StdinLock<'static>>,
    turns: u64,
    asks: u64,
}

pub(crate) fn relay(flags: &Flags) -> anyhow::Result<()> {
    let base = std::env::var("OPENAI_BASE_URL").context("OPENAI_BASE_URL is not set")?;
    let home = std::env::var_os("TILLERMAN_HOME").map_or_else(std::env::temp_dir, PathBuf::from);
    let mut relay = Relay {
        flags,
        session: Session::open(&home, flags.resume)?,
        client: Client::new(&base)?,
        out: Out::default(),
        input: io::stdin().lock().lines(),
        turns: 0,
        asks: 0,
    };
    relay.out.ready(relay.session.id(), &flags.model, &flags.mode);
    relay.out.flush()?;
    while let Some(line) = relay.input.next() {
        match serde_json::from_str(&line?) {
            Ok(In::Prompt { text }) => relay.turn(&text)?,
            Ok(In::Shutdown {}) => break,
            Ok(In::Interrupt {}) => {}
            Ok(In::PermissionResponse { request_id, .. }) => {
                relay.out.error("unknown_request_id", &format!("no open request `{request_id}`"), None);
            }
            Err(error) => relay.out.error("invalid_message", &error.to_string(), None),
        }
        relay.out.flush()?;
    }
    Ok(())
}

/// What one model call came to.
#[derive(Default)]
struct Said {
    text: String,
    calls: Vec<Call>,
    output_tokens: u64,
    input_tokens: u64,
}

#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

impl Relay<'_> {
    fn turn(&mut self, text: &str) -> anyhow::Result<()> {
        self.turns += 1;
        let turn = format!("t{}", self.turns);
        self.out.turn_started(&turn);
        self.out.flush()?;
        self.session.user(text)?;
        let (mut rounds, mut input_tokens, mut output_tokens) = (0, 0, 0);
        let stop = loop {
            let said = match self.model_call(&turn) {
                Ok(said) => said,
                Err(error) => {
                    self.out.error("provider_error", &format!("{error:#}"), Some(&turn));
                    break "error";
                }
            };
            input_tokens += said.input_tokens;
            output_tokens += said.output_tokens;
            self.session.assistant(&said)?;
            if said.calls.is_empty() {
                break "end_turn";
            }
            for call in &said.calls {
                self.call(&turn, call)?;
            }
            rounds += 1;
            if rounds == self.flags.rounds_max {
                break "max_iterations";
            }
        };
        self.out.turn_complete(&turn, stop, rounds, input_tokens, output_tokens);
        self.out.flush()
    }

    fn model_call(&mut self, turn: &str) -> anyhow::Result<Said> {
        let mut said = Said::default();
        let out = &mut self.out;
        let head = format!(
            r#"{{"model":"{}","stream":true,"stream_options":{{"include_usage":true}},"tools":{},"messages":["#,
            self.flags.model,
            tools::SCHEMAS
        );
        self.client.post(&[head.as_bytes(), self.session.history(), b"]}"], &mut |heard| match heard {
            Heard::Event(b"[DONE]") => Ok(()),
            Heard::Event(data) => take(data, turn, &mut said, out),
            Heard::Pause => out.flush(),
        })?;
        Ok(said)
    }

    fn call(&mut self, turn: &str, call: &Call) -> anyhow::Result<()> {
        self.asks += 1;
        let ask = format!("r{}", self.asks);
        self.out.tool_start(turn, call);
        self.out.permission_request(&ask, call, &self.flags.mode);
        self.out.flush()?;
        let allowed = self.wait_for_answer(&ask)?;
        let start = Instant::now();
        let (output, is_error) = match allowed {
            true => tools::run(&self.flags.workspace, &call.name, &call.arguments),
            false => ("denied by remote controller".into(), true),
        };
        self.out.tool_result(turn, &call.id, &output, is_error, start.elapsed().as_secs_f64());
        self.session.result(&call.id, &output)
    }

    fn wait_for_answer(&mut self, ask: &str) -> anyhow::Result<bool> {
        for line in self.input.by_ref() {
            match serde_json::from_str(&line?) {
                Ok(In::PermissionResponse { request_id, decision }) if request_id == ask => {
                    return Ok(decision == "allow");
                }
                Ok(_) => self.out.error("turn_in_progress", "a turn is running", None),
                Err(error) => self.out.error("invalid_message", &error.to_string(), None),
            }
            self.out.flush()?;
        }
        Ok(false)
    }
}

/// One chunk of the model's answer: text goes straight out, calls are put together.
fn take(data: &[u8], turn: &str, said: &mut Said, out: &mut Out) -> anyhow::Result<()> {
    let chunk: Chunk<'_> = serde_json::from_slice(data).context("a chunk that is not understood")?;
    if let Some(usage) = chunk.usage {
        (said.input_tokens, said.output_tokens) = (usage.prompt_tokens, usage.completion_tokens);
    }
    for choice in chunk.choices {
        if let Some(text) = choice.delta.content.filter(|text| !text.is_empty()) {
            out.text_delta(turn, &text);
            said.text.push_str(&text);
        }
        for piece in choice.delta.tool_calls {
            if said.calls.len() <= piece.index {
                said.calls.resize_with(piece.index + 1, Call::default);
            }
            let call = &mut said.calls[piece.index];
            call.id.push_str(&piece.id.unwrap_or_default());
            call.name.push_str(&piece.function.name.unwrap_or_default());
            call.arguments.push_str(&piece.function.arguments.unwrap_or_default());
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
    usage: Option<Usage>,
}
#[derive(Deserialize)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
}
#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
}
#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_calls: Vec<Piece<'a>>,
}
#[derive(Deserialize)]
struct Piece<'a> {
    index: usize,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    function: Function<'a>,
}
#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<Cow<'a, str>>,
}
