//! Questions of the engine: shown one after the other, or answered by the policy where the person cannot be asked.

use vocab::{Answer, Ask, AskId, AskKind, Scope, SessionVerb, Verb};
use wire::Out;

use crate::{AnswerPolicy, Renderer, TerminalDialect, WantedLine, exit_code};

/// What the model is told when the person has gone.
const GONE: &str = "denied: the user left before answering.";

impl<R: Renderer> TerminalDialect<R> {
    pub(crate) fn asked(&mut self, ask: &Ask, out: &mut Out) {
        if matches!(ask.kind, AskKind::HostCall { .. }) {
            // Never offered here; the client that offered the tool answers.
            return;
        }
        if self.leaves {
            return self.close(exit_code::UNFINISHED, out);
        }
        if self.options.answers == AnswerPolicy::Others {
            let what = match &ask.kind {
                AskKind::Permission(it) => format!("{}: {}", it.tool, it.summary),
                AskKind::Budget(_) => "whether more may be spent".to_owned(),
                _ => "a question of an extension".to_owned(),
            };
            return self.renderer.notice(&format!("another client is asked: {what}"), &mut out.frames);
        }
        let unasked = match (self.options.answers, &ask.kind) {
            (AnswerPolicy::AllowAll, AskKind::Permission(it)) if self.options.is_bound_below(it.required) => {
                Some(Answer::Deny(Some(self.options.denial(it.required).told())))
            }
            (AnswerPolicy::AllowAll, AskKind::Permission(_)) => Some(Answer::Allow(Scope::Once)),
            (AnswerPolicy::Person, _) if !self.eof => None,
            (AnswerPolicy::Person, AskKind::Permission(_)) => Some(Answer::Deny(Some(GONE.into()))),
            (AnswerPolicy::Nobody, AskKind::Permission(it)) => {
                Some(Answer::Deny(Some(self.options.denial(it.required).told())))
            }
            _ => Some(Answer::Dismissed),
        };
        match unasked {
            Some(answer) => self.answer_unasked(ask, answer, out),
            None => {
                self.asks.push_back(ask.clone());
                if self.asks.len() == 1 {
                    self.show_next_ask(out);
                }
            }
        }
    }

    pub(crate) fn answer_unasked(&mut self, ask: &Ask, answer: Answer, out: &mut Out) {
        self.denied_unasked |= matches!(answer, Answer::Deny(_));
        let denial = match &ask.kind {
            AskKind::Permission(it) if matches!(answer, Answer::Deny(_)) => Some(self.options.denial(it.required)),
            _ => None,
        };
        self.renderer.answered_unasked(ask, &answer, denial.as_ref(), &mut out.frames);
        self.command(Verb::Session(SessionVerb::Answer { ask: ask.id.clone(), answer }), out);
    }

    pub(crate) fn show_next_ask(&mut self, out: &mut Out) {
        self.draft.clear();
        if let Some(ask) = self.asks.front() {
            self.renderer.ask(ask, &mut out.frames);
            self.renderer.want(WantedLine::answer_to(ask), &mut out.frames);
        }
    }

    /// The next question, or back to what went on before it.
    pub(crate) fn after_question(&mut self, out: &mut Out) {
        match self.asks.is_empty() {
            false => self.show_next_ask(out),
            true if self.is_busy() => self.renderer.goes_on(&mut out.frames),
            true => self.next_line(out),
        }
    }

    /// Answered by another client, or withdrawn.
    pub(crate) fn ask_closed(&mut self, id: &AskId, out: &mut Out) {
        let shown = self.asks.front().is_some_and(|ask| ask.id == *id);
        self.asks.retain(|ask| ask.id != *id);
        if shown && !self.interrupting {
            self.draft.clear();
            self.renderer.notice("the question is settled", &mut out.frames);
            self.after_question(out);
        }
    }

    /// The person will not type any more.
    pub(crate) fn deny_open_asks(&mut self, out: &mut Out) {
        while let Some(ask) = self.asks.pop_front() {
            let answer = match ask.kind {
                AskKind::Permission(_) => Answer::Deny(Some(GONE.into())),
                _ => Answer::Dismissed,
            };
            self.answer_unasked(&ask, answer, out);
        }
    }
}
