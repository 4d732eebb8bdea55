//! A session and the extensions beside it: who is there, the tools and commands they bring, what they show. HookCalls
//! are in `hook.rs`, their questions to people in `dialog.rs`. No extension is ever waited for without a limit.

pub(super) mod dialogs;

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::{Duration, Instant, Sleep};
use vocab::{
    Answer, Event, ExtensionEvent, ExtensionVerb, Fault, FaultKind, Hears, HookCall, HookKind, HookVerdict, Notice,
    Part, PeerId, Position, Reply, SessionVerb, State,
};

use super::toolset::Conflict;
use super::verbs::Response;
use super::{Session, TurnWaits};
use crate::extensions::{RegisteredExtension, RegisteredExtensions};
use crate::outbox::Outbox;

/// How long an extension may work on a command without asking the user anything; then it counts as hanging.
pub(super) const COMMAND_LIMIT: Duration = Duration::from_secs(60);
/// Commands of extensions running in one session; one more is refused.
const RUNNING_COMMANDS_MAX: usize = 64;
/// Status lines, widgets and titles remembered for controllers that come later; the oldest is forgotten for a newer one.
const SHOWN_MAX: usize = 64;

/// What a session keeps about extensions.
pub(super) struct Extensions {
    /// The registry's version that `registered` is from.
    pub(super) seen: u64,
    /// A controller has come: extensions are beside the session from then on, so that what they say is heard.
    pub(super) met: bool,
    registered: RegisteredExtensions,
    next: u64,
    commands: Vec<RunningCommand>,
    shown: Vec<(PeerId, Notice)>,
    /// Names that are taken already, and how that was told.
    conflicts: HashMap<(PeerId, Arc<str>), Event>,
    /// How the running turn began; kept only when an extension is asked about it.
    pub(super) opening: Vec<Part>,
    timer: Option<(Instant, Pin<Box<Sleep>>)>,
}

/// A command that an extension is carrying out.
struct RunningCommand {
    id: u64,
    peer: PeerId,
    name: Arc<str>,
    until: Instant,
}

impl Default for Extensions {
    fn default() -> Self {
        Self {
            seen: 0,
            met: false,
            registered: Arc::from([]),
            next: 0,
            commands: Vec::new(),
            shown: Vec::new(),
            conflicts: HashMap::new(),
            opening: Vec::new(),
            timer: None,
        }
    }
}

impl Extensions {
    pub(super) fn registered(&self) -> &[Arc<RegisteredExtension>] {
        &self.registered
    }
    pub(super) fn extension(&self, peer: PeerId) -> Option<&Arc<RegisteredExtension>> {
        self.registered.iter().find(|extension| extension.peer == peer)
    }
    pub(super) fn mint(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
    /// The extension got an answer from a person: its time starts over.
    pub(super) fn rest(&mut self, peer: PeerId) {
        for command in self.commands.iter_mut().filter(|command| command.peer == peer) {
            command.until = Instant::now() + COMMAND_LIMIT;
        }
    }

    /// Keeps what a controller that comes later has to be shown too.
    fn keep(&mut self, peer: PeerId, notice: &Notice) {
        let (same, cleared): (fn(&Notice, &Notice) -> bool, bool) = match notice {
            Notice::Status { text, .. } => (
                |old, new| matches!((old, new), (Notice::Status { key: a, .. }, Notice::Status { key: b, .. }) if a == b),
                text.is_none(),
            ),
            Notice::Widget { lines, .. } => (
                |old, new| matches!((old, new), (Notice::Widget { key: a, .. }, Notice::Widget { key: b, .. }) if a == b),
                lines.is_none(),
            ),
            Notice::Title { .. } => (|old, _| matches!(old, Notice::Title { .. }), false),
            Notice::Say { .. } | Notice::EditorText { .. } | Notice::Exit => return,
        };
        self.shown.retain(|(_, old)| !same(old, notice));
        if !cleared {
            if self.shown.len() >= SHOWN_MAX {
                self.shown.remove(0);
            }
            self.shown.push((peer, notice.clone()));
        }
    }

    pub(super) fn poll_timer(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.timer {
            Some((_, sleep)) => sleep.as_mut().poll(context),
            None => Poll::Pending,
        }
    }
}

impl Session {
    pub(super) fn extension(&self, peer: PeerId) -> Option<&Arc<RegisteredExtension>> {
        self.extensions.extension(peer)
    }

    /// A controller is here. With the first one, the extensions of this process learn of this session;
    /// each is told what it would have been told before.
    pub(super) fn introduce(&mut self, outbox: &Outbox, at: Position) {
        self.extensions.met = true;
        self.hear_of_extensions();
        let unheard = self.shared.extensions.take_unheard().into_iter();
        let conflicts = self.extensions.conflicts.values().cloned();
        let shown =
            self.extensions.shown.iter().map(|(_, notice)| Event::Extension(ExtensionEvent::Notice(notice.clone())));
        for event in unheard.chain(conflicts).chain(shown) {
            self.log.peers.tell_at(outbox, event, at);
        }
    }

    /// Looks which extensions stand beside the session now. They have changed: [`Session::hear_of_extensions`].
    pub(super) fn meet_extensions(&mut self) {
        let (seen, registered) = self.shared.extensions.registered();
        self.extensions.seen = seen;
        let before = std::mem::replace(&mut self.extensions.registered, registered.clone());
        self.tools.set_extensions(registered.clone());
        let is_in = |list: &RegisteredExtensions, peer: PeerId| list.iter().any(|extension| extension.peer == peer);
        self.log.peers.set_extensions(registered.iter().map(|it| (it.outbox.clone(), it.offers.hears)).collect());
        let is_new = |it: &&Arc<RegisteredExtension>| !is_in(&before, it.peer) && it.offers.hears > Hears::Questions;
        for extension in registered.iter().filter(is_new) {
            let state = Event::State(Arc::new(State { last_seq: self.log.committed(), ..self.state() }));
            self.log.reply(extension.outbox.clone(), state);
        }
        for extension in before.iter().filter(|extension| !is_in(&registered, extension.peer)) {
            self.extension_gone(extension);
        }
        self.tell_conflicts();
    }

    /// Everything it had open is answered or withdrawn, and what it showed is taken away.
    fn extension_gone(&mut self, extension: &RegisteredExtension) {
        let peer = extension.peer;
        let reason: Arc<str> = format!("the extension {} ended before it answered", extension.name).into();
        self.withdraw_dialogs(Some(peer));
        let calls = self.approvals.owned(|owner| owner == Some(peer));
        for ask in calls {
            let _ = self.answer(&ask, Answer::Deny(Some(reason.clone())), None);
        }
        for command in self.extensions.commands.extract_if(.., |command| command.peer == peer).collect::<Vec<_>>() {
            self.command_failed(&command.name, "the extension ended before the command was done");
        }
        let shown: Vec<_> = self.extensions.shown.extract_if(.., |(owner, _)| *owner == peer).collect();
        for (_, notice) in shown {
            match notice {
                Notice::Status { key, .. } => {
                    self.log.emit(Event::Extension(ExtensionEvent::Notice(Notice::Status { key, text: None })))
                }
                Notice::Widget { key, below, .. } => {
                    self.log.emit(Event::Extension(ExtensionEvent::Notice(Notice::Widget { key, lines: None, below })));
                }
                Notice::Say { .. } | Notice::Title { .. } | Notice::EditorText { .. } | Notice::Exit => {}
            }
        }
        self.hooked_extension_gone(peer);
    }

    pub(super) fn trouble(
        &mut self,
        extension: &RegisteredExtension,
        during: &str,
        text: impl Into<Arc<str>>,
    ) -> Event {
        let trouble = Event::Extension(ExtensionEvent::Trouble {
            source: extension.source.clone(),
            during: during.into(),
            text: text.into(),
        });
        self.log.reply(extension.outbox.clone(), trouble.clone());
        self.log.emit(trouble.clone());
        trouble
    }

    /// Trouble from outside the session. Where no controller is to read it, it waits for one.
    pub(super) fn tell_trouble(&mut self, trouble: Event) {
        if self.log.peers.is_empty() {
            return self.shared.extensions.keep_unheard(trouble);
        }
        self.log.emit(trouble);
    }

    // ---- tools --------------------------------------------------------------------------------------------------

    /// Says once about each tool that cannot be offered, and each command that cannot be typed, that it is so.
    pub(super) fn tell_conflicts(&mut self) {
        let found = self.tools.conflicts(&self.settings);
        let before = std::mem::take(&mut self.extensions.conflicts);
        for Conflict { extension, name, text } in found {
            let key = (extension.peer, name);
            let trouble = match before.get(&key) {
                Some(told) => told.clone(),
                None => self.trouble(&extension, "register", text),
            };
            self.extensions.conflicts.insert(key, trouble);
        }
    }

    // ---- commands -----------------------------------------------------------------------------------------------

    /// Hands a command to the extension that brought it; nothing waits for it, whatever the session is doing.
    pub(super) fn run_command(&mut self, name: Arc<str>, args: Arc<str>) -> Result<Reply, Fault> {
        self.hear_of_extensions();
        let has = |extension: &&Arc<RegisteredExtension>| {
            extension.offers.commands.iter().any(|command| command.name == name)
        };
        let Some(extension) = self.extensions.registered.iter().find(has).cloned() else {
            return Err(Fault::new(FaultKind::UnknownCommand, format!("unknown command: /{name}")));
        };
        if self.extensions.commands.len() >= RUNNING_COMMANDS_MAX {
            return Err(Fault::new(
                FaultKind::QueueFull,
                format!("{RUNNING_COMMANDS_MAX} commands of extensions are running"),
            ));
        }
        let id = self.extensions.mint();
        let command =
            RunningCommand { id, peer: extension.peer, name: name.clone(), until: Instant::now() + COMMAND_LIMIT };
        self.extensions.commands.push(command);
        let kind = HookKind::Command { name, args };
        let call = HookCall { id, workspace: self.settings.workspace.clone(), kind };
        self.log.reply(extension.outbox.clone(), Event::Extension(ExtensionEvent::Hook(call)));
        Ok(Reply::Done)
    }

    pub(super) fn command_done(&mut self, id: u64, peer: PeerId, verdict: &HookVerdict) -> bool {
        let Some(at) = self.extensions.commands.iter().position(|command| command.id == id && command.peer == peer)
        else {
            return false;
        };
        let command = self.extensions.commands.swap_remove(at);
        if let HookVerdict::Failed(text) = verdict {
            self.command_failed(&command.name, text);
        }
        true
    }

    fn command_failed(&mut self, name: &str, text: &str) {
        let source = format!("command:{name}").into();
        self.log.emit(Event::Extension(ExtensionEvent::Trouble {
            source,
            during: "command".into(),
            text: text.into(),
        }));
    }

    // ---- what an extension may do --------------------------------------------------------------------------------

    /// `None`: the verb is treated like anybody's. An extension works for the user, it is not the user: it neither
    /// answers for one nor changes what a session may do.
    pub(super) fn extension_verb(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: vocab::Tag,
        verb: &SessionVerb,
    ) -> Option<Response> {
        let peer = outbox.peer;
        let known = self.extensions.extension(peer).is_some();
        match verb {
            SessionVerb::Extension(ExtensionVerb::Ask { .. })
            | SessionVerb::Extension(ExtensionVerb::Show(_))
            | SessionVerb::Extension(ExtensionVerb::HookDone { .. })
                if !known =>
            {
                Some(Response::Now(Err(Fault::new(FaultKind::Unsupported, "only an extension does that"))))
            }
            SessionVerb::Extension(ExtensionVerb::Ask { kind, timeout_ms }) => {
                let kind = self.shared.ports.keyring.scrub_dialog(kind.clone());
                Some(self.open_dialog(outbox, tag, kind, *timeout_ms))
            }
            SessionVerb::Extension(ExtensionVerb::Show(notice)) => {
                let notice = self.shared.ports.keyring.scrub_notice(notice.clone());
                self.extensions.keep(peer, &notice);
                self.log.emit(Event::Extension(ExtensionEvent::Notice(notice)));
                Some(Response::Now(Ok(Reply::Done)))
            }
            SessionVerb::Extension(ExtensionVerb::HookDone { hook, verdict }) => {
                Some(Response::Now(self.hook_done(peer, *hook, verdict.clone())))
            }
            SessionVerb::Answer { ask, .. }
                if known && self.approvals.get(ask).is_some_and(|open| open.owner != Some(peer)) =>
            {
                Some(Response::Now(Err(Fault::new(
                    FaultKind::Invalid,
                    format!("question `{ask}` is for people, not for an extension"),
                ))))
            }
            SessionVerb::Prompt { .. }
            | SessionVerb::Answer { .. }
            | SessionVerb::Progress { .. }
            | SessionVerb::Interrupt { .. }
            | SessionVerb::Read { .. }
            | SessionVerb::Inspect => None,
            _ if known => Some(Response::Now(Err(Fault::new(FaultKind::Unsupported, "an extension cannot do that")))),
            _ => None,
        }
    }

    // ---- time ---------------------------------------------------------------------------------------------------

    /// Sets the timer for the extension that has to answer first.
    pub(super) fn arm_extension_timer(&mut self) {
        let hook = match self.activity.waiting() {
            TurnWaits::Hook(running_hook) => Some(running_hook.until),
            _ => None,
        };
        let commands = self.extensions.commands.iter().map(|command| command.until);
        let dialogs = self.approvals.dialogs().filter_map(|(_, dialog)| dialog.until);
        let due = commands.chain(dialogs).chain(hook).min();
        match (&self.extensions.timer, due) {
            (Some((at, _)), Some(due)) if *at == due => {}
            (_, Some(due)) => self.extensions.timer = Some((due, Box::pin(tokio::time::sleep_until(due)))),
            (_, None) => self.extensions.timer = None,
        }
    }

    pub(super) fn extension_due(&mut self) {
        self.extensions.timer = None;
        let now = Instant::now();
        self.dialogs_due(now);
        self.hook_due(now);
        let asking = self.askers();
        for command in self.extensions.commands.iter_mut().filter(|it| it.until <= now && asking.contains(&it.peer)) {
            command.until = now + COMMAND_LIMIT;
        }
        for command in self.extensions.commands.extract_if(.., |command| command.until <= now).collect::<Vec<_>>() {
            self.command_failed(&command.name, &format!("no answer for {} s", COMMAND_LIMIT.as_secs()));
        }
    }

    /// The session ends; extensions forget it.
    pub(super) fn say_goodbye(&mut self) {
        let extensions: Vec<_> = self.log.peers.extensions().cloned().collect();
        for outbox in extensions {
            let fault = Fault::new(FaultKind::ShuttingDown, "the session is closed");
            self.log.peers.tell_one(&outbox, Event::Gone { fault });
        }
    }
}
