//! What can be asked about a session without changing it.

use std::path::PathBuf;

use vocab::{Fault, FaultKind, Inspection, Reply};

use super::{Session, Work};

impl Session {
    /// The log as far as it is written. What is still on its way is waited for, so that a peer reads what it was told.
    pub(super) async fn read(&mut self, after: u64) -> Result<Reply, Fault> {
        self.await_commits().await?;
        if self.ledger.last_seq() == 0 {
            return Ok(Reply::Entries(Vec::new()));
        }
        let page = self.shared.ports.store.read(&self.id, after, usize::MAX).await?;
        Ok(Reply::Entries(page.entries))
    }

    pub(super) async fn inspect(&mut self) -> Result<Inspection, Fault> {
        if self.ledger.last_seq() > 0 {
            self.load().await?;
        }
        self.meet_companions();
        if self.spec.is_none() {
            self.spec = Some(self.make_spec());
        }
        Ok(Inspection {
            state: self.state(),
            spec: self.spec.clone().expect("made above when it was missing"),
            waiting: self.lane.list().cloned().collect(),
            compacting: matches!(self.work, Work::Compact { .. }),
            lane: self.settings.lane,
            retry: self.settings.retry,
            compaction: self.settings.compaction,
            commands: self.shared.companions.commands(),
        })
    }

    pub(super) async fn export_to(&mut self, file: Option<PathBuf>) -> Result<Reply, Fault> {
        if self.ledger.last_seq() == 0 {
            return Err(Fault::new(FaultKind::NothingToDo, "nothing to export yet: start a conversation first"));
        }
        self.await_commits().await?;
        let file = file.map(|file| self.settings.workspace.join(file));
        self.shared.ports.archive.export(&self.id, file.as_deref()).await.map(Reply::Exported)
    }
}
