//! What is typed: prompts, commands, answers, interrupts.

use acp_client::PermissionAsk;
use dialect_terminal::exit_code::{INTERRUPTED, OK};
use dialect_terminal::{AnswerPolicy, LINE_JOIN, NOT_TAKEN, WantedLine};

use super::{AgentConversation, ConversationInputs};
use crate::answer::{self, QuestionReply};
use crate::choices::{SessionSetting, SetVia};
use crate::typed_line::{self, TypedLine};

/// Said where the person gives a reason with an allow.
const NO_ROOM: &str = "nothing is answered yet: words can go with a no only, as the next prompt. Answer again";

impl AgentConversation {
    pub(super) async fn line(&mut self, line: &str, inputs: &mut ConversationInputs) {
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
            return self.want(WantedLine::Prompt);
        }
        match typed_line::read(line, self.commands.as_deref(), &self.choices) {
            TypedLine::Prompt(text) => return self.prompt(text.to_owned()),
            TypedLine::Exit => return self.leave = Some(OK),
            TypedLine::Commands => self.list_commands().await,
            TypedLine::Choose(what, word) => drop(self.choose(what, word, inputs).await),
            TypedLine::Unknown(name) => {
                let text = format!("there is no command /{name}; to send it all the same, type //{name}. There is:");
                self.show(|view, shown| view.notice(&text, shown)).await;
                self.list_commands().await;
            }
        }
        self.want(WantedLine::Prompt);
    }

    pub(super) async fn list_commands(&mut self) {
        let lines = typed_line::list(self.commands.as_deref().unwrap_or_default(), &self.choices);
        self.show(|view, shown| view.list(&lines, shown)).await;
    }

    pub(super) async fn answer(&mut self, ask: &PermissionAsk, line: &str) {
        let notice = match answer::read(line, &ask.options) {
            QuestionReply::Option(option, "") if option.may_allow() && !self.view.has_shown_all() => {
                self.show(|view, shown| view.explain(ask, shown)).await;
                Some(NOT_TAKEN)
            }
            QuestionReply::Option(option, words) if option.may_allow() && !words.is_empty() => Some(NO_ROOM),
            QuestionReply::Option(option, words) => {
                if !words.is_empty() {
                    self.reason = Some(words.to_owned());
                }
                self.asks.pop_front();
                self.client.choose(ask.ask, Some(&option.option_id)).await;
                return self.show_question().await;
            }
            QuestionReply::More => {
                self.show(|view, shown| view.explain(ask, shown)).await;
                None
            }
            QuestionReply::Unclear => Some("type one of the numbers, or ? for more"),
        };
        if let Some(notice) = notice {
            self.show(|view, shown| view.notice(notice, shown)).await;
        }
        self.want(WantedLine::Choice);
    }

    /// Shows what there is, or chooses. False: there is no such thing.
    pub(super) async fn choose(&mut self, what: SessionSetting, word: &str, inputs: &mut ConversationInputs) -> bool {
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
                (SetVia::Option(id), _) => client.set_option(&session, &id, sent.into()).await,
                (SetVia::Older, SessionSetting::Model) => client.set_model(&session, &sent).await.map(|()| Vec::new()),
                (SetVia::Older, SessionSetting::Mode) => client.set_mode(&session, &sent).await.map(|()| Vec::new()),
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
    pub(super) async fn interrupt(&mut self) {
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

    /// The person types no more. A turn that runs goes on; its questions are denied.
    pub(super) async fn end_of_input(&mut self) {
        if !self.busy {
            self.leave = Some(OK);
            return;
        }
        self.once = true;
        self.answers = AnswerPolicy::Nobody;
        for ask in std::mem::take(&mut self.asks) {
            self.asked(ask).await;
        }
    }
}
