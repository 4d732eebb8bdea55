//! The sessions that are in memory: at most one of each id, also while it is still being opened. The router that comes second
//! waits for the first and finds what that one made.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use vocab::{Fault, FaultKind, SessionId, State};

use crate::end_signal::{EndGuard, EndSignal, end_signal};
use crate::idle::{PARKED_MAX, Parked};
use crate::mailbox::MailSender;
use crate::session::Mail;

/// How to reach a live session.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) id: SessionId,
    /// Tells sessions of the same id apart that lived one after the other.
    pub(crate) serial: u64,
    pub(crate) workspace: PathBuf,
    pub(crate) mail: MailSender,
    /// Works for a call of another session.
    pub(crate) is_child: bool,
    /// The session has ended and its lease is free again.
    pub(crate) gone: EndSignal,
}

impl Handle {
    pub(crate) async fn gone(&self) {
        self.gone.ended().await;
    }

    pub(crate) async fn state(&self) -> Option<State> {
        let (reply, answer) = oneshot::channel();
        self.mail.send(Mail::State(reply)).await.ok()?;
        answer.await.ok()
    }
}

/// What whoever wants to open a session is told when everything is ending.
pub(crate) fn is_closing() -> Fault {
    Fault::new(FaultKind::ShuttingDown, "the engine is shutting down")
}

#[derive(Default)]
pub(crate) struct Registry {
    slots: Mutex<HashMap<SessionId, Slot>>,
    serials: AtomicU64,
    /// Set by the shutdown: no session is opened any more.
    closing: AtomicBool,
}

enum Slot {
    /// Ends when it is decided what comes of it.
    Opening(u64, EndSignal),
    /// Boxed, because a process has many that are parked.
    Live(Box<Handle>),
    /// Live, and somebody ends it and has the right to what comes next.
    Removing(Box<Handle>, u64, EndSignal),
    /// Not in memory but for this.
    Parked(Box<Parked>),
}

impl Slot {
    fn serial(&self) -> Option<u64> {
        match self {
            Slot::Opening(serial, _) => Some(*serial),
            Slot::Live(handle) | Slot::Removing(handle, ..) => Some(handle.serial),
            Slot::Parked(_) => None,
        }
    }
}

/// What a router that wants a session gets.
pub(crate) enum Claim {
    Live(Handle),
    /// No task has it: it is the caller's to open.
    Free(OpenPermit),
    /// No task has it, and everything is ending: nobody takes its lease any more.
    Closing,
}

/// The right to open one session. Dropping it lets the next one try, so whoever could not open it gives the lease back first.
pub(crate) struct OpenPermit {
    /// What is left of it where it was parked.
    pub(crate) parked: Option<Box<Parked>>,
    registry: Arc<Registry>,
    pub(crate) id: SessionId,
    pub(crate) serial: u64,
    /// Routers that wait wake up when it is dropped.
    _decided: EndGuard,
}

impl OpenPermit {
    /// The session is there. Refused when everything is ending.
    pub(crate) fn done(&self, handle: Handle) -> Result<(), Fault> {
        let mut slots = self.registry.lock();
        if self.registry.closing.load(Ordering::Relaxed) {
            return Err(is_closing());
        }
        slots.insert(self.id.clone(), Slot::Live(Box::new(handle)));
        Ok(())
    }
}

impl Drop for OpenPermit {
    fn drop(&mut self) {
        let mut slots = self.registry.lock();
        let left = match slots.get_mut(&self.id) {
            Some(Slot::Opening(serial, _)) if *serial == self.serial => self.parked.take().map(Slot::Parked),
            // Nobody waits for its end any more; it is there until it has ended.
            Some(Slot::Removing(handle, serial, _)) if *serial == self.serial => Some(Slot::Live(handle.clone())),
            _ => return,
        };
        match left {
            Some(left) => slots.insert(self.id.clone(), left),
            None => slots.remove(&self.id),
        };
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Slot>> {
        // Every change below is one call of the map.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session, or the right to open it. One that is just being opened is waited for, and so is one that is just
    /// ending, because it still holds the lease.
    pub(crate) async fn claim(self: &Arc<Self>, id: &SessionId) -> Claim {
        loop {
            let wait = {
                let mut slots = self.lock();
                match slots.get(id) {
                    // Whoever closes has set this before looking at the slots.
                    None | Some(Slot::Parked(_)) if self.closing.load(Ordering::Relaxed) => return Claim::Closing,
                    None | Some(Slot::Parked(_)) => {
                        let (mut permit, signal) = self.permit(id);
                        if let Some(Slot::Parked(parked)) =
                            slots.insert(id.clone(), Slot::Opening(permit.serial, signal))
                        {
                            permit.parked = Some(parked);
                        }
                        return Claim::Free(permit);
                    }
                    Some(Slot::Live(handle)) if !handle.mail.is_closed() => return Claim::Live(Handle::clone(handle)),
                    Some(Slot::Live(handle)) => handle.gone.clone(),
                    Some(Slot::Opening(_, signal) | Slot::Removing(_, _, signal)) => signal.clone(),
                }
            };
            wait.ended().await;
        }
    }

    fn permit(self: &Arc<Self>, id: &SessionId) -> (OpenPermit, EndSignal) {
        let (serial, (decided, signal)) = (self.serials.fetch_add(1, Ordering::Relaxed), end_signal());
        (OpenPermit { parked: None, registry: self.clone(), id: id.clone(), serial, _decided: decided }, signal)
    }

    /// The live session of this id, for somebody who ends it: whoever wants to open it waits until the permit is gone, so that
    /// nobody comes between its end and what is done behind that.
    pub(crate) fn take_to_remove(self: &Arc<Self>, id: &SessionId) -> Option<(Handle, OpenPermit)> {
        let mut slots = self.lock();
        let Some(Slot::Live(handle)) = slots.get(id) else { return None };
        let handle = Handle::clone(handle);
        let (permit, signal) = self.permit(id);
        slots.insert(id.clone(), Slot::Removing(Box::new(handle.clone()), permit.serial, signal));
        Some((handle, permit))
    }

    /// Somebody ends it, to delete it.
    pub(crate) fn is_removing(&self, id: &SessionId) -> bool {
        matches!(self.lock().get(id), Some(Slot::Removing(..)))
    }

    /// The live session of this id, waited for as by [`Registry::claim`].
    pub(crate) async fn find(self: &Arc<Self>, id: &SessionId) -> Option<Handle> {
        match self.claim(id).await {
            Claim::Live(handle) => Some(handle),
            Claim::Free(_) | Claim::Closing => None,
        }
    }

    /// The session as it is, without waiting for anything.
    pub(crate) fn get(&self, id: &SessionId) -> Option<Handle> {
        match self.lock().get(id) {
            Some(Slot::Live(handle) | Slot::Removing(handle, ..)) => Some(Handle::clone(handle)),
            Some(Slot::Opening(..) | Slot::Parked(_)) | None => None,
        }
    }

    pub(crate) fn contains(&self, id: &SessionId) -> bool {
        self.lock().contains_key(id)
    }

    /// Takes out this session and no later one of the same id.
    pub(crate) fn forget(&self, id: &SessionId, serial: u64) {
        let mut slots = self.lock();
        let next = match slots.get(id) {
            // Its place is taken already.
            Some(Slot::Removing(handle, next, signal)) if handle.serial == serial => (*next, signal.clone()),
            Some(slot) if slot.serial() == Some(serial) => return drop(slots.remove(id)),
            _ => return,
        };
        slots.insert(id.clone(), Slot::Opening(next.0, next.1));
    }

    /// As [`Registry::forget`], but for what is kept of it.
    pub(crate) fn park(&self, id: &SessionId, serial: u64, parked: Box<Parked>) {
        let mut slots = self.lock();
        let is_its = |slot: &Slot| slot.serial() == Some(serial) && !matches!(slot, Slot::Removing(..));
        if slots.len() < PARKED_MAX && slots.get(id).is_some_and(is_its) {
            slots.insert(id.clone(), Slot::Parked(parked));
        } else {
            drop(slots);
            self.forget(id, serial);
        }
    }

    /// It was deleted: nothing is kept of it.
    pub(crate) fn forget_parked(&self, id: &SessionId) {
        let mut slots = self.lock();
        if matches!(slots.get(id), Some(Slot::Parked(_))) {
            slots.remove(id);
        }
    }

    /// Sessions of which only settings are in memory.
    pub(crate) fn parked(&self) -> usize {
        self.lock().values().filter(|slot| matches!(slot, Slot::Parked(_))).count()
    }

    /// While this runs, no router finds or makes a session.
    pub(crate) fn alone<T>(&self, step: impl FnOnce() -> T) -> T {
        let _slots = self.lock();
        step()
    }

    /// In the order of their ids: what is done to all of them is done in the same order every time.
    pub(crate) fn live(&self) -> Vec<Handle> {
        let is_live = |slot: &Slot| match slot {
            Slot::Live(handle) | Slot::Removing(handle, ..) => Some(Handle::clone(handle)),
            Slot::Opening(..) | Slot::Parked(_) => None,
        };
        let mut live: Vec<Handle> = self.lock().values().filter_map(is_live).collect();
        live.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        live
    }

    /// Everything is ending.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Nothing is opened from now on; ready when it is decided what comes of what was being opened.
    pub(crate) async fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        let under_way: Vec<_> = {
            let slots = self.lock();
            slots
                .values()
                .filter_map(|slot| match slot {
                    Slot::Opening(_, signal) => Some(signal.clone()),
                    Slot::Live(_) | Slot::Removing(..) | Slot::Parked(_) => None,
                })
                .collect()
        };
        for signal in under_way {
            signal.ended().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::{Mailbox, mailbox};

    fn live(opening: &OpenPermit) -> (Handle, EndGuard, Mailbox) {
        let (mail, mailbox) = mailbox();
        let (alive, gone) = end_signal();
        let handle = Handle {
            id: opening.id.clone(),
            serial: opening.serial,
            workspace: PathBuf::new(),
            mail,
            is_child: false,
            gone,
        };
        (handle, alive, mailbox)
    }

    async fn opened(registry: &Arc<Registry>, id: &SessionId) -> (Handle, EndGuard, Mailbox) {
        let Claim::Free(opening) = registry.claim(id).await else { panic!("nobody has it") };
        let made = live(&opening);
        opening.done(made.0.clone()).unwrap();
        made
    }

    #[tokio::test]
    async fn a_later_session_of_the_same_id_is_not_forgotten_with_the_earlier_one() {
        let registry = Arc::new(Registry::default());
        let id = SessionId::from("x");
        let (first, alive, _) = opened(&registry, &id).await;
        registry.forget(&id, first.serial);
        drop(alive);
        let (second, _alive, _mailbox) = opened(&registry, &id).await;
        registry.forget(&id, first.serial);
        assert_eq!(registry.get(&id).map(|handle| handle.serial), Some(second.serial));
        registry.forget(&id, second.serial);
        assert!(!registry.contains(&id));
    }

    #[tokio::test]
    async fn who_removes_a_session_comes_next_and_who_gives_up_leaves_it_there() {
        let registry = Arc::new(Registry::default());
        let id = SessionId::from("x");
        let (handle, alive, mut mailbox) = opened(&registry, &id).await;
        let (_, permit) = registry.take_to_remove(&id).unwrap();
        assert!(registry.take_to_remove(&id).is_none(), "one is enough");
        drop(permit);
        assert!(matches!(registry.claim(&id).await, Claim::Live(_)), "it has not ended");
        let (_, permit) = registry.take_to_remove(&id).unwrap();
        assert_eq!(registry.live().len(), 1, "whoever ends everything finds it");
        let opener = tokio::spawn({
            let (registry, id) = (registry.clone(), id.clone());
            async move { matches!(registry.claim(&id).await, Claim::Free(_)) }
        });
        mailbox.close();
        registry.forget(&id, handle.serial);
        drop(alive);
        handle.gone().await;
        tokio::task::yield_now().await;
        assert!(!opener.is_finished() && registry.live().is_empty(), "it is still being removed");
        drop(permit);
        assert!(opener.await.unwrap());
        assert!(!registry.contains(&id));
    }

    #[tokio::test]
    async fn when_everything_has_ended_nobody_takes_a_lease_any_more() {
        let registry = Arc::new(Registry::default());
        let (before, after) = (SessionId::from("before"), SessionId::from("after"));
        let Claim::Free(opening) = registry.claim(&before).await else { panic!("nobody has it") };
        let closed = tokio::spawn({
            let registry = registry.clone();
            async move { registry.close().await }
        });
        tokio::task::yield_now().await;
        assert!(!closed.is_finished(), "one is still being opened");
        assert!(matches!(registry.claim(&after).await, Claim::Closing));
        drop(opening);
        closed.await.unwrap();
        assert!(matches!(registry.claim(&before).await, Claim::Closing));
    }

    #[tokio::test]
    async fn who_comes_while_it_is_opened_gets_what_the_first_made() {
        let registry = Arc::new(Registry::default());
        let id = SessionId::from("x");
        let Claim::Free(opening) = registry.claim(&id).await else { panic!("nobody has it") };
        let second = tokio::spawn({
            let (registry, id) = (registry.clone(), id.clone());
            async move { registry.find(&id).await }
        });
        tokio::task::yield_now().await;
        let (handle, _alive, _mailbox) = live(&opening);
        opening.done(handle.clone()).unwrap();
        drop(opening);
        assert_eq!(second.await.unwrap().map(|found| found.serial), Some(handle.serial));
    }
}
