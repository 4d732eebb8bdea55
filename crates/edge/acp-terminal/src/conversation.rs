//! The conversation of `drive`: events and typed lines meet here, in one loop.

mod agent_events;
mod opening;
mod typed_lines;

use std::collections::VecDeque;
use std::time::Duration;

use acp_client::{AcpClient, ClientEvent, Events, PermissionAsk};
use acp_types::{AvailableCommand, ContentBlock};
use console::{ConsoleOutput, Typed};
use dialect_terminal::exit_code::{FAILED, OK};
use dialect_terminal::{AnswerPolicy, WantedLine};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

pub use opening::{OpeningOutcome, SessionWishes};

use crate::choices::Choices;
use crate::view::{AgentView, ViewOutput};

/// How long a view may keep something back.
const HOLD: Duration = Duration::from_secs(1);

/// One agent, one session, and the person or the script that talks to it.
pub struct AgentConversation {
    client: AcpClient,
    /// What it calls itself.
    agent: String,
    session: String,
    choices: Choices,
    view: Box<dyn AgentView>,
    output: ConsoleOutput<host::Output>,
    answers: AnswerPolicy,
    /// One prompt and out.
    once: bool,
    /// A sign of life is shown while something is waited for.
    signs: bool,
    /// `None` until the agent says which it has.
    commands: Option<Vec<AvailableCommand>>,
    /// What was told of a session before the answer that opens it was dealt with.
    early: Vec<ClientEvent>,
    /// The first of them is shown.
    asks: VecDeque<PermissionAsk>,
    busy: bool,
    cancelling: bool,
    denied: bool,
    /// Said behind a no: the next prompt.
    reason: Option<String>,
    shown: ViewOutput,
    /// What is shown as being waited for.
    waited_for: Option<String>,
    /// When the view shows what it keeps back.
    settles_at: Option<Instant>,
    /// The code to leave with.
    leave: Option<u8>,
}

/// What is needed to begin.
pub struct ConversationStart {
    pub client: AcpClient,
    pub view: Box<dyn AgentView>,
    pub output: ConsoleOutput<host::Output>,
    pub answers: AnswerPolicy,
    pub once: bool,
    pub signs: bool,
}

/// What comes in: from the agent, and from the keyboard.
pub struct ConversationInputs {
    pub events: Events,
    pub lines: mpsc::Receiver<Typed>,
}

impl AgentConversation {
    pub fn new(start: ConversationStart) -> Self {
        let ConversationStart { client, view, output, answers, once, signs } = start;
        Self {
            client,
            agent: String::new(),
            session: String::new(),
            choices: Choices::default(),
            view,
            output,
            answers,
            once,
            signs,
            commands: None,
            early: Vec::new(),
            asks: VecDeque::new(),
            busy: false,
            cancelling: false,
            denied: false,
            reason: None,
            shown: ViewOutput::default(),
            waited_for: None,
            settles_at: None,
            leave: None,
        }
    }

    /// Shows something through the view and writes it.
    pub async fn show(&mut self, what: impl FnOnce(&mut dyn AgentView, &mut ViewOutput)) {
        what(self.view.as_mut(), &mut self.shown);
        let settles_at = self.settles_at.unwrap_or_else(|| Instant::now() + HOLD);
        self.settles_at = self.view.holds().then_some(settles_at);
        for line in self.shown.side.drain(..) {
            self.output.aside(&line);
        }
        let out = std::mem::take(&mut self.shown.out);
        if self.output.write_all(out.as_bytes()).await.is_err() {
            // The reader is gone: there is nothing left to do here.
            self.leave = Some(FAILED);
        }
    }

    /// What comes while a request is under way: a replay, the commands. `None`: the person waits no longer.
    pub async fn meanwhile<T>(
        &mut self,
        inputs: &mut ConversationInputs,
        what: &str,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = std::pin::pin!(work);
        self.waits(Some(what.to_owned()));
        let done = loop {
            tokio::select! {
                biased;
                Some(event) = inputs.events.next() => self.event(event).await,
                done = &mut work => break Some(done),
                // No line is wanted now, so this is a signal.
                _ = inputs.lines.recv() => break None,
            }
        };
        self.waits(None);
        done
    }

    pub async fn run(mut self, prompt: Option<String>, inputs: &mut ConversationInputs) -> u8 {
        match prompt {
            Some(prompt) => self.prompt(prompt),
            None => self.want(WantedLine::Prompt),
        }
        while self.leave.is_none() {
            let doing = self.doing();
            self.waits(doing);
            let settles_at = self.settles_at;
            tokio::select! {
                biased;
                () = sleep_until(settles_at.unwrap_or_else(Instant::now)), if settles_at.is_some() => {
                    self.show(|view, shown| view.settle(shown)).await;
                }
                event = inputs.events.next() => match event {
                    Some(event) => self.event(event).await,
                    None => self.leave = Some(FAILED),
                },
                typed = inputs.lines.recv() => match typed {
                    Some(Typed::Prompt(_)) if !self.asks.is_empty() => {
                        let text = "that line was typed before the question and is no answer to it; it is in the history";
                        self.show(|view, shown| view.notice(text, shown)).await;
                    }
                    Some(Typed::Prompt(line) | Typed::Line(line)) => self.line(&line, inputs).await,
                    Some(Typed::Interrupt) => self.interrupt().await,
                    Some(Typed::End) => self.end_of_input().await,
                    None => self.leave = Some(FAILED),
                },
            }
        }
        self.leave.unwrap_or(OK)
    }

    fn want(&mut self, want: WantedLine) {
        self.output.want(want);
        // A person who is asked for something is not waiting.
        self.waited_for = None;
    }

    /// Shows what is waited for, where it is something else than before.
    fn waits(&mut self, what: Option<String>) {
        if self.signs && self.waited_for != what {
            self.output.waits(what.as_deref());
            self.waited_for = what;
        }
    }

    /// What a turn is at, in words.
    fn doing(&self) -> Option<String> {
        match () {
            () if !self.busy || !self.asks.is_empty() => None,
            () if self.cancelling => Some("stopping".to_owned()),
            () => Some(self.view.running().unwrap_or_else(|| format!("waiting for {}", self.agent))),
        }
    }

    fn prompt(&mut self, text: String) {
        self.busy = true;
        self.cancelling = false;
        self.denied = false;
        self.view.prompted();
        let (client, session) = (self.client.clone(), self.session.clone());
        // Its end comes as an event.
        tokio::spawn(async move { client.prompt(&session, vec![ContentBlock::text(text)]).await });
    }
}
