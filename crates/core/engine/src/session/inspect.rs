//! What can be asked about a session without changing it.

use std::path::PathBuf;
use std::sync::Arc;

use vocab::{Entry, Event, Exported, Fault, FaultKind, Inspection, Reply, Tag};

use super::{Session, later};
use crate::outbox::Outbox;

impl Session {
    /// The log as far as it is written. What is still on its way is waited for, so that a peer reads what it was told.
    pub(super) fn read(&mut self, outbox: &Arc<Outbox>, tag: Tag, after: u64) {
        self.with_log(outbox, tag, after, |_, entries| Ok(Reply::Entries(entries)));
    }

    /// Reads the log beside everything else, and then does something with it.
    pub(super) fn with_log(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        after: u64,
        then: impl FnOnce(&mut Session, Vec<Arc<Entry>>) -> Result<Reply, Fault> + Send + 'static,
    ) {
        if self.log.last_seq() == 0 {
            let result = then(self, Vec::new());
            return self.log.reply(outbox.clone(), Event::Reply { tag, result });
        }
        let (store, id) = (self.shared.ports.store.clone(), self.id.clone());
        self.job_when_written(outbox, tag, move || later::entries(store.read(&id, after, usize::MAX), then));
    }

    pub(super) fn inspect(&mut self) -> Result<Inspection, Fault> {
        // What only a model could make of the log is not known of one whose model is gone; its settings are.
        if self.log.last_seq() > 0 && !self.settings.is_model_gone() {
            self.view_at_rest()?;
        }
        self.hear_of_extensions();
        Ok(Inspection {
            state: self.state(),
            spec: self.tools.spec(&self.settings).clone(),
            waiting: self.prompts.queue.list().cloned().collect(),
            compacting: self.activity.is_compacting(),
            lane: self.settings.lane,
            retry: self.settings.retry,
            compaction: self.settings.compaction,
            commands: self.shared.extensions.commands(),
        })
    }

    pub(super) fn export_to(&mut self, outbox: &Arc<Outbox>, tag: Tag, file: Option<PathBuf>) -> Result<(), Fault> {
        if self.log.last_seq() == 0 {
            return Err(Fault::new(FaultKind::NothingToDo, "nothing to export yet: start a conversation first"));
        }
        let file = file.map(|file| self.settings.workspace.join(file));
        self.export_job(outbox, tag, file, |result| result.map(Reply::Exported));
        Ok(())
    }

    pub(super) fn export_job(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        file: Option<PathBuf>,
        then: impl FnOnce(Result<Exported, Fault>) -> Result<Reply, Fault> + Send + 'static,
    ) {
        let (archive, id) = (self.shared.ports.archive.clone(), self.id.clone());
        self.job_when_written(outbox, tag, move || later::exported(archive.export(&id, file.as_deref()), then));
    }
}
