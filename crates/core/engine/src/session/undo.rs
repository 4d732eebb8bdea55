//! `/undo`: the branch goes on from before the last prompts, and the files are as they were then. The move is in the log before
//! a file is touched, and that the files are back is said behind it: whatever ends the process in between, the log does not say
//! less than was done.
//!
//! An undo waits for the store three times. Meanwhile the session takes up nothing that could get in between: what peers
//! send is kept until it is done.

use std::sync::Arc;
use std::task::{Context, Poll};

use vocab::{
    Body, BranchEntry, Event, Fault, FaultKind, FileEdit, Later, NoteEntry, Page, Principal, QueueEntry, Reply,
    SlashCode, SlashFault, SlashOutcome, Tag, TurnEntry, Undone, UndoneFile,
};

use super::Session;
use crate::beyond;
use crate::commands::{self, failed, from_fault};
use crate::outbox::Outbox;
use crate::session::model_view::{History, MarkKind, active_path, edits_after};

/// One that is under way.
pub(super) struct Undo {
    outbox: Arc<Outbox>,
    tag: Tag,
    /// Whose doing it is, also when the peer is gone by the end of it.
    by: Option<Principal>,
    /// The command as it was typed; `None`: the session starts over, and no file is touched.
    name: Option<String>,
    /// The first of the prompts that are taken back.
    first: u64,
    /// Messages that the model saw before.
    before: u64,
    stage: UndoStage,
}

enum UndoStage {
    /// The log is read.
    Reads(Later<'static, Result<Page, Fault>>),
    /// The move is on its way to the store.
    Moves { upto: u64, edits: Vec<FileEdit>, commands: Vec<Arc<str>> },
    /// What is left is read back for the model.
    Rereads { files: Vec<UndoneFile>, commands: Vec<Arc<str>> },
}

/// What an undo waited for has come.
pub(super) enum UndoStep {
    Read(Result<Page, Fault>),
    Moved,
    Reread,
}

impl Undo {
    /// `viewed`: whether the model's view is in memory.
    pub(super) fn poll(&mut self, committed: u64, viewed: bool, context: &mut Context<'_>) -> Poll<UndoStep> {
        match &mut self.stage {
            UndoStage::Reads(page) => page.as_mut().poll(context).map(UndoStep::Read),
            // The commit was polled before and wakes us, and so was the reading.
            UndoStage::Moves { upto, .. } if *upto <= committed => Poll::Ready(UndoStep::Moved),
            UndoStage::Rereads { .. } if viewed => Poll::Ready(UndoStep::Reread),
            UndoStage::Moves { .. } | UndoStage::Rereads { .. } => Poll::Pending,
        }
    }

    pub(super) fn wants_view(&self) -> bool {
        matches!(self.stage, UndoStage::Rereads { .. })
    }
}

/// How many prompts are to be taken back; `None` where the words make no sense.
pub(super) fn count(args: &str) -> Option<usize> {
    match args {
        "" => Some(1),
        text => text.parse().ok().filter(|count| *count > 0),
    }
}

impl Session {
    /// The reply comes when it is done. With the model's view in memory and everything written.
    pub(super) fn undo(&mut self, outbox: &Arc<Outbox>, tag: Tag, name: &str, args: &str) -> Result<(), SlashFault> {
        let count = count(args).ok_or_else(|| failed(SlashCode::Usage, "usage: /undo [n]"))?;
        if self.prompts.queue.is_busy() {
            return Err(commands::busy());
        }
        self.view_ready().and_then(|_| self.jobs.failure()).map_err(from_fault)?;
        let nothing = || failed(SlashCode::NotFound, "there is nothing to undo");
        let history = self.view.history().ok_or_else(nothing)?;
        let prompts: Vec<u64> =
            history.marks().iter().filter(|mark| mark.kind == MarkKind::User).map(|mark| mark.seq).collect();
        let first = prompts.len().checked_sub(count.min(prompts.len())).and_then(|at| prompts.get(at)).copied();
        let first = first.ok_or_else(nothing)?;
        let undo = Undo {
            outbox: outbox.clone(),
            tag,
            by: self.log.commands.acting().cloned(),
            name: Some(name.to_owned()),
            first,
            before: history.messages(),
            stage: UndoStage::Reads(self.shared.ports.store.read(&self.id, 0, usize::MAX)),
        };
        self.activity.undo(undo);
        Ok(())
    }

    /// The conversation begins anew behind the session's first entry; what was is left behind in the log, and files stay as
    /// they are. The reply comes when the view is read anew. With the view in memory and everything written.
    pub(super) fn start_over(&mut self, outbox: &Arc<Outbox>, tag: Tag) -> Result<(), Fault> {
        if self.prompts.queue.is_busy() {
            return Err(Fault::new(FaultKind::TurnInProgress, "a turn is running").hint("interrupt it first"));
        }
        if self.log.last_seq() == 0 {
            self.log.reply(outbox.clone(), Event::Reply { tag, result: Ok(Reply::Done) });
            return Ok(());
        }
        self.view_ready()?;
        self.jobs.failure()?;
        self.log(Body::Branch(BranchEntry::Moved { to: 1 }));
        // A move without it would be one that was cut short.
        let upto = self.log(Body::Branch(BranchEntry::Restored { files: Vec::new() })).seq;
        self.activity.undo(Undo {
            outbox: outbox.clone(),
            tag,
            by: self.log.commands.acting().cloned(),
            name: None,
            first: 0,
            before: 0,
            stage: UndoStage::Moves { upto, edits: Vec::new(), commands: Vec::new() },
        });
        Ok(())
    }

    pub(super) fn undo_goes_on(&mut self, step: UndoStep) {
        let Some(mut undo) = self.activity.take_undo() else { return };
        self.log.look_at_end(&undo.outbox, undo.tag, undo.by.clone());
        match (step, undo.stage) {
            (UndoStep::Read(Ok(page)), UndoStage::Reads(_)) => {
                undo.stage = self.move_back(undo.first, page);
                self.activity.undo(undo);
            }
            (UndoStep::Read(Err(fault)), stage) => {
                undo.stage = stage;
                self.activity.undo(undo);
                self.fail_undo(&fault);
            }
            (UndoStep::Moved, UndoStage::Moves { edits, commands, .. }) => {
                undo.stage = self.restore_files(&edits, commands);
                self.activity.undo(undo);
            }
            (UndoStep::Reread, UndoStage::Rereads { files, commands }) => {
                let after = self.view.history().map_or(0, History::messages);
                let messages = undo.before.saturating_sub(after);
                self.tell_state();
                let undone = SlashOutcome::Undone(Undone { messages, files, commands });
                let result = Ok(match &undo.name {
                    Some(name) => Reply::Slash(Box::new(commands::reply(name, Ok(undone)))),
                    None => Reply::Done,
                });
                self.log.reply(undo.outbox, Event::Reply { tag: undo.tag, result });
            }
            // A step that its stage did not wait for.
            (UndoStep::Read(_) | UndoStep::Moved | UndoStep::Reread, stage) => {
                undo.stage = stage;
                self.activity.undo(undo);
            }
        }
        self.log.looked_at();
    }

    /// The branch goes on from what stood before the turn of the first prompt.
    fn move_back(&mut self, first: u64, page: Page) -> UndoStage {
        let mut entries = page.entries;
        entries.retain(|entry| self.log.told(entry.seq));
        let path = active_path(&entries);
        let to = path.iter().take_while(|entry| entry.seq < first).filter(|entry| !opens_turn(&entry.body)).last();
        let to = to.map_or(0, |entry| entry.seq);
        let edits = edits_after(&entries, to);
        let commands = beyond::commands_after(&entries, to, |call| self.would_change(call));
        let upto = self.log(Body::Branch(BranchEntry::Moved { to })).seq;
        UndoStage::Moves { upto, edits, commands }
    }

    fn restore_files(&mut self, edits: &[FileEdit], commands: Vec<Arc<str>>) -> UndoStage {
        let files = self.shared.ports.toolbox.restore(&self.settings.workspace, edits);
        if !edits.is_empty() {
            self.log(Body::Branch(BranchEntry::Restored { files: files.clone() }));
        }
        self.view.unload();
        UndoStage::Rereads { files: beyond::undone(edits, &files), commands }
    }

    /// What it waited for will not come.
    pub(super) fn fail_undo(&mut self, fault: &Fault) {
        if let Some(undo) = self.activity.take_undo() {
            let failed = |name: &str| commands::reply(name, Err(from_fault(fault.clone())));
            let result = match &undo.name {
                Some(name) => Ok(Reply::Slash(Box::new(failed(name)))),
                None => Err(fault.clone()),
            };
            self.log.reply(undo.outbox, Event::Reply { tag: undo.tag, result });
        }
    }
}

fn opens_turn(body: &Body) -> bool {
    matches!(
        body,
        Body::Turn(TurnEntry::Started { .. } | TurnEntry::Taken { .. })
            | Body::User { .. }
            | Body::Queue(QueueEntry::Settled { .. })
            | Body::Note(NoteEntry::Keyed(_))
    )
}
