//! What the agent says: questions, updates, the ends of turns.

use acp_client::{ClientError, ClientEvent, Elicited, PermissionAsk};
use acp_types::{PermissionOption, PromptResponse, SessionUpdate, StopReason};
use dialect_terminal::exit_code::{FAILED, INTERRUPTED, OK, UNFINISHED};
use dialect_terminal::{AnswerPolicy, WantedLine};

use super::AgentConversation;
use crate::answer::pick;

/// Updates kept for a session that is being opened; more than this is a flood.
const EARLY_MAX: usize = 256;

impl AgentConversation {
    pub(super) async fn event(&mut self, event: ClientEvent) {
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

    pub(super) async fn turn_ended(&mut self, turn: &Result<PromptResponse, ClientError>) {
        let code = exit_code(turn, self.denied, self.cancelling);
        self.show(|view, shown| view.turn_ended(turn, code, shown)).await;
        self.busy = false;
        // A person who stopped the turn after all has something else in mind.
        let reason = self.reason.take().filter(|_| !self.cancelling && turn.is_ok());
        self.cancelling = false;
        match reason {
            Some(reason) => {
                self.show(|view, shown| view.notice(&format!("sent: {reason}"), shown)).await;
                self.prompt(reason);
            }
            None if self.once => self.leave = Some(code),
            None => self.want(WantedLine::Prompt),
        }
    }

    pub(super) async fn asked(&mut self, ask: PermissionAsk) {
        let allow = match self.answers {
            AnswerPolicy::Person => {
                self.asks.push_back(ask);
                if self.asks.len() == 1 {
                    self.show_question().await;
                }
                return;
            }
            AnswerPolicy::AllowAll => true,
            AnswerPolicy::Nobody | AnswerPolicy::Others => false,
        };
        let option = pick(&ask.options, allow);
        self.denied |= !option.is_some_and(PermissionOption::allows);
        self.show(|view, shown| view.decided(&ask, option, shown)).await;
        self.client.choose(ask.ask, option.map(|option| option.option_id.as_str())).await;
    }

    pub(super) async fn show_question(&mut self) {
        if let Some(ask) = self.asks.front().cloned() {
            self.show(|view, shown| view.question(&ask, shown)).await;
            self.want(WantedLine::Choice);
        }
    }
}

fn exit_code(turn: &Result<PromptResponse, ClientError>, denied: bool, cancelled: bool) -> u8 {
    match turn.as_ref().map(|turn| &turn.stop_reason) {
        Err(_) => FAILED,
        Ok(StopReason::Cancelled) if cancelled => INTERRUPTED,
        // Some agents call it so when a permission was denied; the person stopped nothing.
        Ok(StopReason::Cancelled) => UNFINISHED,
        Ok(StopReason::MaxTokens | StopReason::MaxTurnRequests | StopReason::Refusal) => UNFINISHED,
        Ok(StopReason::EndTurn | StopReason::Unknown(_)) if denied => UNFINISHED,
        Ok(StopReason::EndTurn | StopReason::Unknown(_)) => OK,
    }
}
