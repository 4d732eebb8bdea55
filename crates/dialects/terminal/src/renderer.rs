//! How a conversation looks. One renderer is for people, one prints JSON lines; both are told the same things.

use vocab::{Answer, Ask, AskKind, Body, Event, Fault, Opened, Principal, SessionId, SlashReply, TurnEnd};
use wire::FrameBuf;

use crate::UnaskedDenial;
use crate::last_exchange::LastExchange;

/// What the next line will be taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WantedLine {
    Prompt,
    /// To a question of permission or of a budget.
    Answer,
    /// To a dialog of an extension.
    Line,
    /// Among the choices that another agent offers.
    Choice,
}

impl WantedLine {
    pub fn answer_to(ask: &Ask) -> WantedLine {
        match ask.kind {
            AskKind::Permission(_) | AskKind::Budget(_) => WantedLine::Answer,
            _ => WantedLine::Line,
        }
    }
}

/// What was asked of the session, and is waited for from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartedWork<'a> {
    Prompt,
    Command(&'a str),
    Interrupt,
    /// A turn that somebody else began.
    Elsewhere,
}

pub trait Renderer: Send {
    fn opened(&mut self, opened: &Opened, out: &mut FrameBuf);
    /// Log entries except questions and turn ends.
    fn logged(&mut self, body: &Body, out: &mut FrameBuf);
    /// Everything that is neither a log entry nor a reply.
    fn event(&mut self, event: &Event, out: &mut FrameBuf);
    /// A question for the person.
    fn ask(&mut self, ask: &Ask, out: &mut FrameBuf);
    /// Whether all of the question was shown. An allow counts only then.
    fn has_shown_all(&self) -> bool {
        true
    }
    /// The person has to know more before answering: because they asked, or for the reason that is given. Ends in the question.
    fn explain(&mut self, ask: &Ask, why: Option<&str>, out: &mut FrameBuf);
    /// A question was answered without a person; `denial` says why, if that was a no.
    fn answered_unasked(&mut self, ask: &Ask, answer: &Answer, denial: Option<&UnaskedDenial>, out: &mut FrameBuf);
    fn slash(&mut self, reply: &SlashReply, out: &mut FrameBuf);
    fn fault(&mut self, fault: &Fault, out: &mut FrameBuf);
    fn notice(&mut self, text: &str, out: &mut FrameBuf);
    fn turn_ended(&mut self, end: &TurnEnd, exit_code: u8, out: &mut FrameBuf);
    /// What was said last in a session that is taken up again.
    fn recalled(&mut self, _last: &LastExchange, _out: &mut FrameBuf) {}
    /// Whether turns of others are shown also where one prompt is all that is said here. Who reads the answer to it alone would
    /// take theirs for it.
    fn shows_others(&self) -> bool;
    /// What somebody else said to the session that this person is in.
    fn said_elsewhere(&mut self, by: Option<&Principal>, text: &str, out: &mut FrameBuf);
    /// The conversation is over; this session can be taken up again with this command.
    fn left(&mut self, _way_back: &str, _session: &SessionId, _out: &mut FrameBuf) {}
    /// Something is waited for.
    fn sent(&mut self, _sent: StartedWork<'_>, _out: &mut FrameBuf) {}
    /// No question is open any more; what went on before goes on.
    fn goes_on(&mut self, _out: &mut FrameBuf) {}
    /// The person typed a line and ended it.
    fn line_typed(&mut self) {}
    /// A line is expected now.
    fn want(&mut self, want: WantedLine, out: &mut FrameBuf);
    /// Nothing follows.
    fn closing(&mut self, out: &mut FrameBuf);
}
