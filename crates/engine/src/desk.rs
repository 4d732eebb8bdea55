//! The desk in front of the sessions: one per peer, handling that peer's commands in order. It knows which session the
//! peer is on; what changes that is done here, everything else is passed on without waiting for it.

mod around;

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use vocab::{
    Body, Command, Data, Event, Fault, FaultKind, IdKind, Open, Query, Reply, SessionId, SlashReply, Summary, Tag,
    Target, Told, Verb, Which, iso8601, map,
};

use crate::commands::{self, Scope};
use crate::history;
use crate::intake::Intake;
use crate::outbox::Outbox;
use crate::session::Mail;
use crate::{Handle, Shared};

/// Sessions shown by `/sessions`.
const LISTED_MAX: usize = 100;
/// A session that ends while somebody comes in is opened again; so often, then the peer is told.
const OPEN_TRIES: u32 = 3;

pub(crate) struct Desk {
    shared: Arc<Shared>,
    outbox: Arc<Outbox>,
    /// Every session this peer is on.
    on: HashMap<SessionId, Handle>,
    current: Option<SessionId>,
    /// A session the peer was moved to: what it said first, and the private outbox that it still speaks to.
    shown_later: Vec<Told>,
    rebind: Option<(Handle, Arc<Outbox>)>,
}

impl Desk {
    pub(crate) fn new(shared: Arc<Shared>, outbox: Arc<Outbox>) -> Self {
        Self { shared, outbox, on: HashMap::new(), current: None, shown_later: Vec::new(), rebind: None }
    }

    /// Runs until the peer lets go of its end.
    pub(crate) async fn run(mut self, commands: mpsc::Receiver<Command>) {
        let mut intake = Intake::new(commands, self.outbox.clone());
        while let Some(command) = intake.next().await {
            self.handle(command).await;
        }
        self.outbox.close();
        for handle in self.on.values() {
            let _ = handle.mail.send(Mail::Leave { peer: self.outbox.peer }).await;
        }
    }

    async fn handle(&mut self, command: Command) {
        let Command { tag, target, verb } = command;
        match verb {
            Verb::Open(open) => {
                if let Err(fault) = self.open(tag, open).await {
                    self.reply(None, tag, Err(fault));
                }
            }
            Verb::Slash { ref name, ref args } if self.is_ours(name) => {
                let reply = self.slash(&target, name, args).await;
                let result = Ok(Reply::Slash(Box::new(reply)));
                if self.rebind.is_some() {
                    self.reply(self.resolve(&target).ok(), tag, result);
                    self.move_in().await;
                } else {
                    self.answer_in_turn(&target, tag, result).await;
                }
            }
            Verb::Leave => {
                let result = match self.resolve(&target) {
                    Ok(session) => {
                        self.leave(&session).await;
                        Ok(Reply::Done)
                    }
                    Err(fault) => Err(fault),
                };
                self.reply(None, tag, result);
            }
            Verb::Fork { at } => {
                let result = self.fork(&target, at).await;
                self.answer_in_turn(&target, tag, result).await;
            }
            verb => {
                if let Some(verb) = self.around(tag, verb) {
                    self.pass_on(&target, tag, verb).await;
                }
            }
        }
    }

    async fn pass_on(&mut self, target: &Target, tag: Tag, verb: Verb) {
        let session = match self.resolve(target) {
            Ok(session) => session,
            Err(fault) => return self.reply(None, tag, Err(fault)),
        };
        let handle = &self.on[&session];
        let mail = Mail::Verb { outbox: self.outbox.clone(), tag, verb };
        if handle.mail.send(mail).await.is_err() {
            let fault = Fault::new(FaultKind::Internal, "the session ended unexpectedly").hint("open it again");
            self.on.remove(&session);
            self.reply(Some(session), tag, Err(fault));
        }
    }

    /// Answers behind everything the session was asked before: a quick command must not overtake a slow one.
    async fn answer_in_turn(&mut self, target: &Target, tag: Tag, result: Result<Reply, Fault>) {
        let session = self.resolve(target).ok();
        if let Some(handle) = session.as_ref().and_then(|session| self.on.get(session)) {
            let event = Event::Reply { tag, result: result.clone() };
            if handle.mail.send(Mail::Say { outbox: self.outbox.clone(), event }).await.is_ok() {
                return;
            }
        }
        self.reply(session, tag, result);
    }

    fn resolve(&self, target: &Target) -> Result<SessionId, Fault> {
        let session = match target {
            Target::Current => self.current.as_ref(),
            Target::Session(id) => Some(id),
        };
        match session {
            Some(id) if self.on.contains_key(id) => Ok(id.clone()),
            Some(id) => Err(Fault::new(FaultKind::UnknownSession, format!("unknown session: {id}"))),
            None => Err(Fault::new(FaultKind::UnknownSession, "no session is open")),
        }
    }

    fn reply(&self, session: Option<SessionId>, tag: Tag, result: Result<Reply, Fault>) {
        let session = session.unwrap_or_else(|| SessionId::from(""));
        self.outbox.push(Told { session, event: Event::Reply { tag, result } });
    }

    // ---- which session ------------------------------------------------------------------------------------------

    async fn open(&mut self, tag: Tag, open: Open) -> Result<(), Fault> {
        for _ in 0..OPEN_TRIES {
            let (handle, resumed) = self.shared.open(open.clone()).await?;
            let id = handle.id.clone();
            let (joined, answer) = oneshot::channel();
            let servers = open.servers.clone();
            let join = Mail::Join { outbox: self.outbox.clone(), tag, after: open.after, resumed, servers, joined };
            if handle.mail.send(join).await.is_err() {
                continue;
            }
            match answer.await {
                Ok(true) => {
                    self.on.insert(id.clone(), handle);
                    self.current = Some(id);
                    return Ok(());
                }
                // It was refused, and told so.
                Ok(false) => return Ok(()),
                Err(_) => continue,
            }
        }
        Err(Fault::new(FaultKind::Internal, "the session ended while it was opened"))
    }

    async fn leave(&mut self, session: &SessionId) {
        if let Some(handle) = self.on.remove(session) {
            let _ = handle.mail.send(Mail::Leave { peer: self.outbox.peer }).await;
        }
        if self.current.as_ref() == Some(session) {
            self.current = None;
        }
    }

    /// Leaves one session for another; what the peer then sees belongs to the new one.
    async fn move_to(&mut self, from: &SessionId, open: Open) -> Result<vocab::Opened, Fault> {
        let (handle, resumed) = self.shared.open(open).await?;
        let id = handle.id.clone();
        if id == *from {
            return Err(Fault::new(FaultKind::NothingToDo, "this is the session you are on"));
        }
        // The session's own word about itself goes to a private box, so that the peer gets one answer: the command's.
        let aside = Outbox::new(self.outbox.peer, crate::Slow::Drop);
        let (joined, _) = oneshot::channel();
        let servers = Vec::new();
        let join = Mail::Join { outbox: aside.clone(), tag: Tag(0), after: None, resumed, servers, joined };
        let gone = || Fault::new(FaultKind::Internal, "the session ended while it was opened");
        handle.mail.send(join).await.map_err(|_| gone())?;
        let mut told = Vec::new();
        std::future::poll_fn(|context| aside.poll_drain(context, &mut told)).await;
        let mut opened = None;
        for told in told {
            match told.event {
                Event::Reply { result: Ok(Reply::Opened(it)), .. } => opened = Some(*it),
                _ => self.shown_later.push(told),
            }
        }
        let mut opened = opened.ok_or_else(gone)?;
        // A resumed session has not read its log yet, and the state told next must say how full the context is.
        opened.state = handle.state().await.ok_or_else(gone)?;
        self.rebind = Some((handle.clone(), aside));
        self.on.insert(id.clone(), handle);
        self.leave(from).await;
        self.current = Some(id);
        Ok(opened)
    }

    /// After the peer was told where it is: what the new session has to say, from the beginning on.
    async fn move_in(&mut self) {
        self.shown_later.drain(..).for_each(|told| self.outbox.push(told));
        if let Some((handle, aside)) = self.rebind.take() {
            let _ = handle.mail.send(Mail::Rebind { outbox: self.outbox.clone(), aside }).await;
        }
    }

    async fn is_busy(&self, session: &SessionId) -> bool {
        let (reply, answer) = oneshot::channel();
        let handle = match self.on.get(session) {
            Some(handle) => Some(handle.clone()),
            None => self.shared.find_live(session).await,
        };
        match handle {
            Some(handle) if handle.mail.send(Mail::Busy(reply)).await.is_ok() => answer.await.unwrap_or(false),
            _ => false,
        }
    }

    async fn fork(&mut self, target: &Target, at: Option<u64>) -> Result<Reply, Fault> {
        let from = match target {
            Target::Current => self.resolve(target)?,
            Target::Session(id) => id.clone(),
        };
        // Answered when everything that was asked for before is written. Whoever is on it, or nobody.
        self.is_busy(&from).await;
        let store = &self.shared.ports.store;
        let no_message =
            |at| Fault::new(FaultKind::NotFound, format!("entry {at} is not a user message of this session"));
        let Some(summary) = store.summary(&from).await? else {
            self.resolve(target)?;
            let nothing = || Fault::new(FaultKind::NothingToDo, "nothing to fork yet: start a conversation first");
            return Err(at.map_or_else(nothing, no_message));
        };
        let entries = store.read(&from, 0, usize::MAX).await?.entries;
        let path = history::active_path(&entries);
        let text = match at {
            None => String::new(),
            Some(at) => user_text(&path, at).ok_or_else(|| no_message(at))?,
        };
        let id = SessionId::from(self.shared.ports.ids.mint(IdKind::Session));
        let kept = crate::fork::copy(&path, at, &from, &summary, self.shared.ports.clock.now_ms());
        let new = vocab::NewSession {
            id: id.clone(),
            workspace: summary.workspace,
            model: summary.model,
            mode: summary.mode,
            at_ms: self.shared.ports.clock.now_ms(),
            parent: None,
        };
        let lease = store.create(new);
        store.append(&lease, kept, true).await?;
        store.release(lease).await?;
        Ok(Reply::Forked { session: id, text })
    }

    // ---- slash --------------------------------------------------------------------------------------------------

    fn is_ours(&self, name: &str) -> bool {
        commands::find(name).is_none_or(|command| command.scope == Scope::Desk)
    }

    async fn slash(&mut self, target: &Target, name: &str, args: &str) -> SlashReply {
        let Some(command) = commands::find(name) else { return commands::unknown(name) };
        let reply = match command.name {
            "help" => self.help(),
            "version" => {
                let version = self.shared.version.clone();
                let text = format!("tillerman {version}");
                commands::ok("version", text, map! { "version" => version, "protocol" => 1i64 })
            }
            "exit" => SlashReply { exit: true, ..commands::reply("exit", "bye", Data::Null) },
            "sessions" => self.sessions(target).await,
            "clear" => self.clear(target).await,
            "resume" if args.trim().is_empty() => commands::usage(command),
            "resume" => self.resume(target, args.trim()).await,
            _ => commands::unknown(name),
        };
        SlashReply { command: name.to_owned(), ..reply }
    }

    /// The built-in ones are data; what companions bring is for people to read.
    fn help(&self) -> SlashReply {
        let mut reply = commands::help();
        for command in self.shared.companions.commands() {
            let about = command.description.as_deref().unwrap_or(&command.source);
            reply.text.push_str(&format!("\n/{} - {about}", command.name));
        }
        reply
    }

    async fn sessions(&self, target: &Target) -> SlashReply {
        let workspace = self.resolve(target).ok().map(|id| self.on[&id].workspace.clone());
        let query = Query { workspace, non_empty: true, limit: Some(LISTED_MAX), ..Query::default() };
        match self.shared.ports.store.list(query).await {
            Ok(list) => {
                let text = if list.is_empty() {
                    "no saved sessions here".to_owned()
                } else {
                    list.iter().map(session_line).collect::<Vec<_>>().join("\n")
                };
                let rows = list.iter().map(|it| {
                    map! {
                        "id" => it.id.as_str(),
                        "title" => title_of(it),
                        "updated_at" => iso8601(it.updated_ms),
                        "messages" => it.messages,
                        "path" => self.shared.ports.archive.path_of(&it.id).display().to_string(),
                    }
                });
                commands::ok("sessions", text, map! { "sessions" => rows.collect::<Vec<Data>>() })
            }
            Err(fault) => commands::from_fault("sessions", &fault),
        }
    }

    async fn clear(&mut self, target: &Target) -> SlashReply {
        self.swap("clear", target, Which::New, |from, opened| {
            let text = format!("new session {}", opened.session);
            (text, map! { "session_id" => opened.session.as_str(), "previous_session_id" => from.as_str() })
        })
        .await
    }

    async fn resume(&mut self, target: &Target, selector: &str) -> SlashReply {
        self.swap("resume", target, Which::parse(selector), |_, opened| {
            let text = format!("resumed {} ({} messages)", opened.session, opened.state.messages);
            let data = map! {
                "session_id" => opened.session.as_str(),
                "messages" => opened.state.messages,
                "model" => opened.state.model.clone(),
            };
            (text, data)
        })
        .await
    }

    async fn swap(
        &mut self,
        name: &'static str,
        target: &Target,
        which: Which,
        say: impl FnOnce(&SessionId, &vocab::Opened) -> (String, Data),
    ) -> SlashReply {
        let from = match self.resolve(target) {
            Ok(from) => from,
            Err(fault) => return commands::from_fault(name, &fault),
        };
        if self.is_busy(&from).await {
            return commands::failed(name, "turn_in_progress", "a turn is running; interrupt it first");
        }
        let handle = &self.on[&from];
        let mut open = Open::new(which);
        open.workspace = Some(handle.workspace.clone());
        if open.which == Which::New {
            // The conversation starts over; what the user chose for it stays.
            let state = handle.state().await;
            open.model = state.as_ref().map(|state| state.model.clone());
            open.mode = state.as_ref().map(|state| state.mode);
        }
        open.gate = Some(handle.gate);
        open.family = Some(handle.family);
        match self.move_to(&from, open).await {
            Ok(opened) => {
                let (text, data) = say(&from, &opened);
                let state = Event::State(Arc::new(opened.state.clone()));
                self.outbox.push(Told { session: opened.session.clone(), event: state });
                SlashReply { moved_to: Some(opened.session), ..commands::ok(name, text, data) }
            }
            Err(fault) => commands::from_fault(name, &fault),
        }
    }
}

fn user_text(path: &[Arc<vocab::Entry>], seq: u64) -> Option<String> {
    path.iter().find(|entry| entry.seq == seq).and_then(|entry| match &entry.body {
        Body::User { parts, .. } => Some(vocab::parts_text(parts)),
        _ => None,
    })
}

fn title_of(summary: &Summary) -> String {
    summary.title.clone().or_else(|| summary.preview.clone()).map(|text| text.to_string()).unwrap_or_default()
}

fn session_line(summary: &Summary) -> String {
    format!("{}  {}  {:>4}  {}", summary.id, iso8601(summary.updated_ms), summary.messages, title_of(summary))
}
