//! The conversation of `drive`: events and typed lines meet here, in one loop.

use std::collections::VecDeque;
use std::time::Duration;

use acp_client::{AcpClient, ClientError, ClientEvent, Elicited, Events, PermissionAsk};
use acp_types::{AvailableCommand, ContentBlock, PermissionOption, PromptResponse, SessionUpdate, StopReason};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::choices::{Choices, Way, What};
use super::reply::{self, Reply, pick};
use super::slash::{self, Slash};
use super::view::{Shown, View};
use crate::console::{Output, Typed};
use crate::terminal::{FAILED, INTERRUPTED, LINE_JOIN, NOT_TAKEN, OK, UNFINISHED, Want};

/// How long a view may keep something back.
const HOLD: Duration = Duration::from_secs(1);
/// Updates kept for a session that is being opened; more than this is a flood.
const EARLY_MAX: usize = 256;

/// Who answers the agent's questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answers {
    Person,
    Yes,
    Deny,
}

/// The session is open; from here on it is talked to.
pub(super) struct Talk {
    pub(super) client: AcpClient,
    /// What it calls itself.
    pub(super) agent: String,
    pub(super) session: String,
    pub(super) choices: Choices,
    pub(super) view: Box<dyn View>,
    pub(super) output: Output<host::Output>,
    pub(super) answers: Answers,
    /// One prompt and out.
    pub(super) once: bool,
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
    shown: Shown,
    /// What is shown as being waited for.
    waited_for: Option<String>,
    /// When the view shows what it keeps back.
    settles_at: Option<Instant>,
    /// The code to leave with.
    leave: Option<u8>,
}

/// What is needed to begin.
pub(super) struct Start {
    pub(super) client: AcpClient,
    pub(super) view: Box<dyn View>,
    pub(super) output: Output<host::Output>,
    pub(super) answers: Answers,
    pub(super) once: bool,
    pub(super) signs: bool,
}

/// What comes in: from the agent, and from the keyboard.
pub(super) struct Inputs {
    pub(super) events: Events,
    pub(super) lines: mpsc::Receiver<Typed>,
}

impl Talk {
    pub(super) fn new(start: Start) -> Self {
        let Start { client, view, output, answers, once, signs } = start;
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
            shown: Shown::default(),
            waited_for: None,
            settles_at: None,
            leave: None,
        }
    }

    /// Shows something through the view and writes it.
    pub(super) async fn show(&mut self, what: impl FnOnce(&mut dyn View, &mut Shown)) {
        what(self.view.as_mut(), &mut self.shown);
        let settles_at = self.settles_at.unwrap_or_else(|| Instant::now() + HOLD);
        self.settles_at = self.view.holds().then_some(settles_at);
        for line in self.shown.side.drain(..) {
            self.output.aside(&line);
        }
        let out = std::mem::take(&mut self.shown.out);
        if self.output.write_all(out.as_bytes()).await.is_err() {
            // Nobody reads: there is nothing left to do here.
            self.leave = Some(FAILED);
        }
    }

    /// What comes while a request is under way: a replay, the commands. `None`: the person waits no longer.
    pub(super) async fn meanwhile<T>(
        &mut self,
        inputs: &mut Inputs,
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

    pub(super) async fn run(mut self, prompt: Option<String>, inputs: &mut Inputs) -> u8 {
        match prompt {
            Some(prompt) => self.prompt(prompt),
            None => self.want(Want::Prompt),
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

    fn want(&mut self, want: Want) {
        self.output.want(want);
        // Whoever is asked for something is not waiting.
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

    /// The session is open and was shown; now what was told of it meanwhile.
    pub(super) async fn catch_up(&mut self) {
        for event in std::mem::take(&mut self.early) {
            self.event(event).await;
        }
    }

    // ---- what the agent says ------------------------------------------------------------------------------------

    async fn event(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Permission(ask) => self.asked(ask).await,
            ClientEvent::Elicitation(ask) => {
                self.show(|view, shown| view.form(&ask, shown)).await;
                self.client.elicited(ask.ask, Elicited::Decline).await;
            }
            ClientEvent::AskClosed { ask } => {
                let first = self.asks.front().is_some_and(|it| it.ask == ask);
                self.asks.retain(|it| it.ask != ask);
                if first && !self.cancelling {
                    self.show(|view, shown| view.notice("the question is settled", shown)).await;
                    self.show_question().await;
                }
            }
            ClientEvent::TurnEnded { turn, .. } => self.turn_ended(&turn).await,
            ClientEvent::Update { ref update, .. } if self.session.is_empty() && !update.is_history() => {
                if self.early.len() < EARLY_MAX {
                    self.early.push(event);
                }
            }
            event => {
                if let ClientEvent::Update { update, session } = &event {
                    self.choices.follow(update);
                    if let SessionUpdate::AvailableCommandsUpdate { available_commands, .. } = update {
                        self.commands = Some(available_commands.clone());
                    }
                    // Another session of the same agent is not this conversation, and a script asked for an answer, not for
                    // what was said before.
                    let replay = self.session.is_empty() && update.is_history();
                    if (!self.session.is_empty() && *session != self.session) || (replay && self.once) {
                        return;
                    }
                }
                self.show(|view, shown| view.event(&event, shown)).await;
                if matches!(event, ClientEvent::ConnectionLost(_)) {
                    self.leave.get_or_insert(FAILED);
                }
            }
        }
    }

    async fn turn_ended(&mut self, turn: &Result<PromptResponse, ClientError>) {
        let code = exit_code(turn, self.denied, self.cancelling);
        self.show(|view, shown| view.turn_ended(turn, code, shown)).await;
        self.busy = false;
        // Whoever stopped the turn after all has something else in mind.
        let reason = self.reason.take().filter(|_| !self.cancelling && turn.is_ok());
        self.cancelling = false;
        match reason {
            Some(reason) => {
                self.show(|view, shown| view.notice(&format!("sent: {reason}"), shown)).await;
                self.prompt(reason);
            }
            None if self.once => self.leave = Some(code),
            None => self.want(Want::Prompt),
        }
    }

    async fn asked(&mut self, ask: PermissionAsk) {
        let allow = match self.answers {
            Answers::Person => {
                self.asks.push_back(ask);
                if self.asks.len() == 1 {
                    self.show_question().await;
                }
                return;
            }
            Answers::Yes => true,
            Answers::Deny => false,
        };
        let option = pick(&ask.options, allow);
        self.denied |= !option.is_some_and(PermissionOption::allows);
        self.show(|view, shown| view.decided(&ask, option, shown)).await;
        self.client.choose(ask.ask, option.map(|option| option.option_id.as_str())).await;
    }

    async fn show_question(&mut self) {
        if let Some(ask) = self.asks.front().cloned() {
            self.show(|view, shown| view.question(&ask, shown)).await;
            self.want(Want::Choice);
        }
    }

    // ---- what is typed ------------------------------------------------------------------------------------------

    async fn line(&mut self, line: &str, inputs: &mut Inputs) {
        let line = line.replace(LINE_JOIN, "\n");
        let line = line.trim();
        if let Some(ask) = self.asks.front().cloned() {
            return self.answer(&ask, line).await;
        }
        if self.busy {
            // Typed ahead of nothing: a question that is settled meanwhile.
            return;
        }
        if line.is_empty() {
            return self.want(Want::Prompt);
        }
        match slash::read(line, self.commands.as_deref(), &self.choices) {
            Slash::Prompt(text) => return self.prompt(text.to_owned()),
            Slash::Exit => return self.leave = Some(OK),
            Slash::Commands => self.list_commands().await,
            Slash::Choose(what, word) => drop(self.choose(what, word, inputs).await),
            Slash::Unknown(name) => {
                let text = format!("there is no command /{name}; to send it all the same, type //{name}. There is:");
                self.show(|view, shown| view.notice(&text, shown)).await;
                self.list_commands().await;
            }
        }
        self.want(Want::Prompt);
    }

    async fn list_commands(&mut self) {
        let lines = slash::list(self.commands.as_deref().unwrap_or_default(), &self.choices);
        self.show(|view, shown| view.list(&lines, shown)).await;
    }

    async fn answer(&mut self, ask: &PermissionAsk, line: &str) {
        let notice = match reply::read(line, &ask.options) {
            Reply::Option(option, "") if option.may_allow() && !self.view.has_shown_all() => {
                self.show(|view, shown| view.explain(ask, shown)).await;
                Some(NOT_TAKEN)
            }
            Reply::Option(option, words) if option.may_allow() && !words.is_empty() => Some(NO_ROOM),
            Reply::Option(option, words) => {
                if !words.is_empty() {
                    self.reason = Some(words.to_owned());
                }
                self.asks.pop_front();
                self.client.choose(ask.ask, Some(&option.option_id)).await;
                return self.show_question().await;
            }
            Reply::More => {
                self.show(|view, shown| view.explain(ask, shown)).await;
                None
            }
            Reply::Unclear => Some("type one of the numbers, or ? for more"),
        };
        if let Some(notice) = notice {
            self.show(|view, shown| view.notice(notice, shown)).await;
        }
        self.want(Want::Choice);
    }

    /// Shows what there is, or chooses. False: there is no such thing.
    pub(super) async fn choose(&mut self, what: What, word: &str, inputs: &mut Inputs) -> bool {
        let Some(offered) = self.choices.offered(what) else {
            let text = format!("the agent offers no choice of a {}", what.word());
            self.show(|view, shown| view.notice(&text, shown)).await;
            return false;
        };
        if word.is_empty() {
            self.show(|view, shown| view.list(&offered.lines(), shown)).await;
            return true;
        }
        let Some(value) = offered.find(word).map(|choice| choice.value.clone()) else {
            let text = format!("there is no {} {word}", what.word());
            self.show(|view, shown| view.notice(&text, shown)).await;
            self.show(|view, shown| view.list(&offered.lines(), shown)).await;
            return false;
        };
        let (client, session) = (self.client.clone(), self.session.clone());
        let sent = value.clone();
        let setting = async move {
            match (offered.way, what) {
                (Way::Option(id), _) => client.set_option(&session, &id, sent.into()).await,
                (Way::Older, What::Model) => client.set_model(&session, &sent).await.map(|()| Vec::new()),
                (Way::Older, What::Mode) => client.set_mode(&session, &sent).await.map(|()| Vec::new()),
            }
        };
        match self.meanwhile(inputs, &format!("choosing the {}", what.word()), setting).await {
            None => {
                self.show(|view, shown| view.notice("not waited for any longer", shown)).await;
                false
            }
            Some(Ok(options)) => {
                self.choices.chosen(what, &value);
                self.choices.take_options(options);
                let text = format!("{}: {value}", what.word());
                self.show(|view, shown| view.notice(&text, shown)).await;
                true
            }
            Some(Err(error)) => {
                self.show(|view, shown| view.error(&error, shown)).await;
                false
            }
        }
    }

    /// Once ends the turn, twice ends us.
    async fn interrupt(&mut self) {
        match (self.busy, self.cancelling) {
            (true, false) => {
                self.cancelling = true;
                self.asks.clear();
                self.show(|view, shown| view.notice("cancelling; once more to leave at once", shown)).await;
                self.client.cancel(&self.session).await;
            }
            (true, true) => self.leave = Some(INTERRUPTED),
            (false, _) if self.once => self.leave = Some(INTERRUPTED),
            // The console clears its line by itself.
            (false, _) => {}
        }
    }

    /// Nobody types any more. A turn that runs goes on; its questions are denied.
    async fn end_of_input(&mut self) {
        if !self.busy {
            self.leave = Some(OK);
            return;
        }
        self.once = true;
        self.answers = Answers::Deny;
        for ask in std::mem::take(&mut self.asks) {
            self.asked(ask).await;
        }
    }
}

/// Said where somebody gives a reason with an allow.
const NO_ROOM: &str = "nothing is answered yet: words can go with a no only, as the next prompt. Answer again";

fn exit_code(turn: &Result<PromptResponse, ClientError>, denied: bool, cancelled: bool) -> u8 {
    match turn.as_ref().map(|turn| &turn.stop_reason) {
        Err(_) => FAILED,
        Ok(StopReason::Cancelled) if cancelled => INTERRUPTED,
        // Some agents call it so when a permission was denied; nobody stopped anything.
        Ok(StopReason::Cancelled) => UNFINISHED,
        Ok(StopReason::MaxTokens | StopReason::MaxTurnRequests | StopReason::Refusal) => UNFINISHED,
        Ok(StopReason::EndTurn | StopReason::Unknown(_)) if denied => UNFINISHED,
        Ok(StopReason::EndTurn | StopReason::Unknown(_)) => OK,
    }
}
