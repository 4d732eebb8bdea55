//! What the person types: a prompt, a command, an answer, an interrupt.

use vocab::{Answer, Ask, AskKind, Delivery, Part, SessionVerb, Verb};
use wire::Out;

use crate::answer::{self, ParsedAnswer};
use crate::{
    LINE_JOIN, NOT_TAKEN, PROMPT_MARK, Renderer, StartedWork, TerminalDialect, TerminalPhase, WantedLine, exit_code,
    slash,
};

impl<R: Renderer> TerminalDialect<R> {
    pub(crate) fn line(&mut self, line: &str, out: &mut Out) {
        self.renderer.line_typed();
        let (line, is_prompt) = line.strip_prefix(PROMPT_MARK).map_or((line, false), |line| (line, true));
        if let Some(ask) = self.asks.front().cloned().filter(|_| !is_prompt) {
            return self.answered(&ask, line, out);
        }
        let line = line.trim();
        match self.phase {
            TerminalPhase::Open if !self.is_busy() && line.is_empty() => {
                self.renderer.want(WantedLine::Prompt, &mut out.frames)
            }
            TerminalPhase::Open if !self.is_busy() => self.carry_out(line, out),
            TerminalPhase::Open if is_prompt => self.hold(line, out),
            // Typed ahead, before a question: taking it for the answer would allow what the person has not seen.
            TerminalPhase::Opening | TerminalPhase::Open | TerminalPhase::Closed => {
                if !line.is_empty() {
                    self.renderer
                        .notice("nothing was asked; that line is ignored (Ctrl-C interrupts)", &mut out.frames);
                }
            }
        }
    }

    /// A command or a prompt, whose time has come.
    pub(crate) fn carry_out(&mut self, line: &str, out: &mut Out) {
        match line.strip_prefix('/').filter(|rest| !rest.is_empty() && !slash::calls_for_a_skill(rest)) {
            Some(rest) => {
                let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                self.slash(name.to_lowercase(), args.trim().to_owned(), out);
            }
            None => {
                let parts = vec![Part::text(line.replace(LINE_JOIN, "\n"))];
                // A turn of somebody else's may have begun that was not told of here yet: the line waits for its end.
                self.prompt(parts, Delivery::Queue, out);
            }
        }
    }

    /// What is not built in may be an extension's; what is none of theirs is answered like any unknown command.
    pub(crate) fn slash(&mut self, name: String, args: String, out: &mut Out) {
        if (self.options.builtins.is_builtin)(&name) {
            return self.busy_with(Verb::Session(SessionVerb::Slash { name, args }), out);
        }
        let verb = Verb::Session(SessionVerb::Command { name: name.as_str().into(), args: args.as_str().into() });
        self.trying = Some((name, args));
        self.busy_with(verb, out);
    }

    pub(crate) fn answered(&mut self, ask: &Ask, line: &str, out: &mut Out) {
        let parsed = match &ask.kind {
            AskKind::Editor { prefill, .. } => answer::edit(&mut self.draft, prefill.as_deref(), line),
            kind => answer::read(kind, line),
        };
        match parsed {
            ParsedAnswer::Answer(Answer::Allow(_)) if !self.renderer.has_shown_all() => {
                self.renderer.explain(ask, Some(NOT_TAKEN), &mut out.frames);
                self.renderer.want(WantedLine::answer_to(ask), &mut out.frames);
            }
            ParsedAnswer::Answer(answer) => {
                self.asks.pop_front();
                self.command(Verb::Session(SessionVerb::Answer { ask: ask.id.clone(), answer }), out);
                self.after_question(out);
            }
            ParsedAnswer::Explain => {
                self.renderer.explain(ask, None, &mut out.frames);
                self.renderer.want(WantedLine::answer_to(ask), &mut out.frames);
            }
            ParsedAnswer::Unclear(how) => {
                self.renderer.notice(how, &mut out.frames);
                self.renderer.want(WantedLine::answer_to(ask), &mut out.frames);
            }
            ParsedAnswer::More => self.renderer.want(WantedLine::answer_to(ask), &mut out.frames),
        }
    }

    pub(crate) fn interrupt(&mut self, out: &mut Out) {
        match self.phase {
            // The line editor clears its line by itself, and the wish for a line still stands.
            TerminalPhase::Open if !self.is_busy() && !self.one_shot => {}
            TerminalPhase::Open if self.is_busy() && !self.interrupting => {
                self.interrupting = true;
                self.renderer.notice("interrupting; once more to leave at once", &mut out.frames);
                self.drop_held(out);
                self.renderer.sent(StartedWork::Interrupt, &mut out.frames);
                self.command(Verb::Session(SessionVerb::Interrupt { turn: None }), out);
            }
            TerminalPhase::Closed => {}
            TerminalPhase::Opening | TerminalPhase::Open => self.close(exit_code::INTERRUPTED, out),
        }
    }
}
