//! The extensions of this process: who stands beside every session, what each brings, and the way from an extension to
//! the sessions. What a session does with them is the session's business (`session/extensions.rs`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use vocab::{
    Command, CommandInfo, Event, ExtensionEvent, Fault, FaultKind, Offers, PeerId, Principal, Reply, SessionId, Tag,
    Target, Told,
};

use crate::outbox::{DROP_BYTES_MAX, Outbox};
use crate::session::Mail;
use crate::session::log::commands::Provenance;
use crate::{COMMANDS_MAX, Engine, Handle, Peer, Shared, Slow};

/// Troubles kept until a controller is there to read them; the oldest is forgotten for a newer one.
const UNHEARD_MAX: usize = 32;

/// One extension and what it brings now. Replaced whole when its offers change.
pub(crate) struct RegisteredExtension {
    pub(crate) peer: PeerId,
    pub(crate) name: Arc<str>,
    pub(crate) source: Arc<str>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) offers: Offers,
}

pub(crate) type RegisteredExtensions = Arc<[Arc<RegisteredExtension>]>;

#[derive(Default)]
pub(crate) struct ExtensionRegistry {
    /// Grows with every change, so that a session sees with one load whether there is news.
    /// Read by sessions directly: where there is no news, nothing of this file runs.
    pub(crate) version: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    registered: Vec<Arc<RegisteredExtension>>,
    unheard: Vec<Event>,
}

impl ExtensionRegistry {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In order of registration, with the version they belong to.
    pub(crate) fn registered(&self) -> (u64, RegisteredExtensions) {
        let inner = self.lock();
        (self.version.load(Ordering::Acquire), inner.registered.as_slice().into())
    }

    /// Each name once: the first one who brought it.
    pub(crate) fn commands(&self) -> Vec<CommandInfo> {
        let (_, registered) = self.registered();
        let mut commands: Vec<CommandInfo> = Vec::new();
        for command in registered.iter().flat_map(|extension| &extension.offers.commands) {
            if !commands.iter().any(|other| other.name == command.name) {
                commands.push(command.clone());
            }
        }
        commands
    }

    fn change(&self, step: impl FnOnce(&mut Vec<Arc<RegisteredExtension>>)) {
        let mut inner = self.lock();
        step(&mut inner.registered);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Troubles that no controller has read yet, for the first one that can.
    pub(crate) fn take_unheard(&self) -> Vec<Event> {
        std::mem::take(&mut self.lock().unheard)
    }

    pub(crate) fn keep_unheard(&self, trouble: Event) {
        let mut inner = self.lock();
        if inner.unheard.len() >= UNHEARD_MAX {
            inner.unheard.remove(0);
        }
        inner.unheard.push(trouble);
    }
}

impl Shared {
    /// Every live session is to look at the extensions again.
    async fn announce(&self) {
        for handle in self.handles() {
            let _ = handle.mail.send(Mail::Extensions).await;
        }
    }

    fn handles(&self) -> Vec<Handle> {
        self.registry.live()
    }

    /// Tells the controllers of every session, or keeps it until there is one.
    fn trouble(self: &Arc<Self>, source: Arc<str>, during: Arc<str>, text: Arc<str>) {
        let trouble = Event::Extension(ExtensionEvent::Trouble { source, during, text });
        let handles = self.handles();
        if handles.is_empty() {
            return self.extensions.keep_unheard(trouble);
        }
        tokio::spawn(async move {
            for handle in handles {
                let _ = handle.mail.send(Mail::Trouble(trouble.clone())).await;
            }
        });
    }
}

impl Engine {
    /// An extension that stands beside every session from now on. `name` is what people and the model read, `source`
    /// says where it comes from. Must be called on a runtime.
    pub fn extension(&self, name: impl Into<Arc<str>>, source: impl Into<Arc<str>>, offers: Offers) -> Extension {
        let shared = self.shared.clone();
        let peer = shared.mint_peer();
        // An extension that does not read is let go; no session ever waits for one.
        let outbox = Outbox::new(peer, Slow::DropAt(DROP_BYTES_MAX));
        let name = name.into();
        let by = Principal::extension(&name);
        let extension =
            RegisteredExtension { peer, name, source: source.into(), outbox: outbox.clone(), offers: tidy(offers) };
        shared.extensions.change(|registered| registered.push(Arc::new(extension)));
        let (commands, inbox) = mpsc::channel(COMMANDS_MAX);
        tokio::spawn(pass_on(shared.clone(), outbox.clone(), by, inbox));
        Extension { peer: Peer { commands: Some(commands), outbox }, shared }
    }

    /// Slash commands that extensions bring, in order of registration.
    pub fn extension_commands(&self) -> Vec<CommandInfo> {
        self.shared.extensions.commands()
    }

    /// Something went wrong with a program that should have become an extension, or with one that is.
    pub fn trouble(&self, source: impl Into<Arc<str>>, during: impl Into<Arc<str>>, text: impl Into<Arc<str>>) {
        self.shared.trouble(source.into(), during.into(), text.into());
    }
}

/// An extension's end. Dropping it is its death: everything it had open is answered or withdrawn.
pub struct Extension {
    peer: Peer,
    shared: Arc<Shared>,
}

impl Extension {
    pub fn id(&self) -> PeerId {
        self.peer.id()
    }
    /// Hands a command over; waits while too many are on their way. The target must name its session.
    pub async fn submit(&self, command: Command) {
        self.peer.submit(command).await;
    }
    /// As [`Peer::events`]. `false`: it was let go, because it did not read.
    pub async fn events(&self, into: &mut Vec<Told>) -> bool {
        self.peer.events(into).await
    }

    /// Resolves when it was let go because it did not read. For one that has stopped taking events for a while.
    pub async fn let_go(&self) {
        std::future::poll_fn(|context| self.peer.outbox.poll_closed(context)).await;
    }

    /// Replaces everything it brings; the next model request offers the new tools.
    pub fn offer(&self, offers: Offers) {
        let id = self.id();
        let offers = tidy(offers);
        self.shared.extensions.change(|registered| {
            if let Some(extension) = registered.iter_mut().find(|extension| extension.peer == id) {
                let RegisteredExtension { peer, name, source, outbox, .. } = &**extension;
                *extension = Arc::new(RegisteredExtension {
                    peer: *peer,
                    name: name.clone(),
                    source: source.clone(),
                    outbox: outbox.clone(),
                    offers,
                });
            }
        });
        let shared = self.shared.clone();
        tokio::spawn(async move { shared.announce().await });
    }
}

impl Drop for Extension {
    fn drop(&mut self) {
        let id = self.id();
        self.shared.extensions.change(|registered| registered.retain(|extension| extension.peer != id));
    }
}

/// A name that is offered twice is offered once: the first one.
fn tidy(mut offers: Offers) -> Offers {
    let mut seen = Vec::new();
    offers.tools.retain(|tool| {
        let new = !seen.contains(&tool.name);
        seen.push(tool.name.clone());
        new
    });
    seen.clear();
    offers.commands.retain(|command| {
        let new = !seen.contains(&command.name);
        seen.push(command.name.clone());
        new
    });
    offers
}

/// Brings an extension's commands to the sessions they name, until it lets go of its end.
async fn pass_on(shared: Arc<Shared>, outbox: Arc<Outbox>, by: Principal, mut commands: mpsc::Receiver<Command>) {
    shared.announce().await;
    while let Some(Command { tag, target, verb, key, .. }) = commands.recv().await {
        let id = match target {
            Target::Session(id) => id,
            Target::Current => {
                let fault = Fault::new(FaultKind::Invalid, "an extension has to say which session it means");
                reply(&outbox, SessionId::from(""), tag, Err(fault));
                continue;
            }
        };
        let vocab::Verb::Session(verb) = verb else {
            let fault = Fault::new(FaultKind::Unsupported, "an extension cannot do that");
            reply(&outbox, id, tag, Err(fault));
            continue;
        };
        let handle = shared.registry.get(&id);
        let sent = match handle {
            Some(handle) => {
                let provenance =
                    Some(Box::new(Provenance { by: by.clone(), key, trace: None, model: None, until_ms: None }));
                handle.mail.send(Mail::Verb { outbox: outbox.clone(), tag, verb, provenance }).await.is_ok()
            }
            None => false,
        };
        if !sent {
            let fault = Fault::new(FaultKind::UnknownSession, format!("unknown session: {id}"));
            reply(&outbox, id, tag, Err(fault));
        }
    }
    outbox.close();
    shared.announce().await;
}

fn reply(outbox: &Outbox, session: SessionId, tag: Tag, result: Result<Reply, Fault>) {
    outbox.push(Told::new(session, Event::Reply { tag, result }));
}
