//! The floor of the gateway rows: the least that turns a model's SSE into the gateway's frames for many clients. One
//! loop over all sockets, one thread that appends and syncs; history in memory, one append per turn, one sync for all
//! turns that wait for one. No store, no limits, no retry, no cancelling; whoever comes is let in.

mod client;
mod disk;
mod frames;
mod model;
mod sessions;

use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use anyhow::Context;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use client::{Client, Heard};
use disk::Disk;
use frames::In;
use model::Models;
use sessions::{Asker, Sessions};

const LISTENER: u64 = u64::MAX;
const DISK: u64 = u64::MAX - 1;
/// Keys of the model's connections; those of clients are below.
const MODELS: u64 = 1 << 32;
const READ_BYTES: usize = 64 * 1024;
/// Events taken from the system at once.
const EVENTS_MAX: usize = 1024;

struct Relay {
    epoll: OwnedFd,
    listener: TcpListener,
    clients: Vec<Option<Client>>,
    free: Vec<usize>,
    /// How many clients there were; a number is never given twice.
    serial: u64,
    /// Who is owed bytes since the last round.
    unsent: Vec<usize>,
    models: Models,
    sessions: Sessions,
    disk: Disk,
    scratch: Vec<u8>,
}

pub(crate) fn gateway() -> anyhow::Result<()> {
    let base = std::env::var("OPENAI_BASE_URL").context("OPENAI_BASE_URL is not set")?;
    let home = std::env::var_os("TILLERMAN_HOME").map_or_else(std::env::temp_dir, PathBuf::from);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("the relay cannot listen")?;
    listener.set_nonblocking(true)?;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let disk = Disk::start(&home.join("gateway-relay.jsonl"))?;
    epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    epoll::add(&epoll, disk.bell.as_fd(), EventData::new_u64(DISK), EventFlags::IN)?;
    writeln!(io::stdout(), "listening on http://{}", listener.local_addr()?)?;
    let mut relay = Relay {
        epoll,
        listener,
        clients: Vec::new(),
        free: Vec::new(),
        serial: 0,
        unsent: Vec::new(),
        models: Models::new(&base)?,
        sessions: Sessions::default(),
        disk,
        scratch: vec![0; READ_BYTES],
    };
    relay.run()
}

impl Relay {
    fn run(&mut self) -> anyhow::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Err(rustix::io::Errno::INTR) => continue,
                waited => waited?,
            };
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    DISK => self.synced()?,
                    key if key >= MODELS => self.model_said((key - MODELS) as usize)?,
                    key => self.client_ready(key as usize, event.flags)?,
                }
            }
            self.send()?;
        }
    }

    fn accept(&mut self) -> anyhow::Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let at = self.free.pop().unwrap_or_else(|| {
                self.clients.push(None);
                self.clients.len() - 1
            });
            epoll::add(&self.epoll, &stream, EventData::new_u64(at as u64), EventFlags::IN)?;
            self.serial += 1;
            self.clients[at] = Some(Client::new(stream, self.serial));
        }
    }

    fn client_ready(&mut self, at: usize, flags: EventFlags) -> anyhow::Result<()> {
        if flags.contains(EventFlags::OUT) {
            self.unsent.push(at);
        }
        if !flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            return Ok(());
        }
        let Some(mut client) = self.clients[at].take() else { return Ok(()) };
        let open = client.read(&mut self.scratch);
        let asker = Asker { client: at, serial: client.serial };
        while let Some(heard) = client.next() {
            match heard {
                Heard::Upgrade => {}
                Heard::Request(text) => match serde_json::from_slice(&text) {
                    Ok(request) => self.request(asker, &mut client, &request)?,
                    Err(error) => client.text(frames::error(None, -1, &error.to_string())),
                },
            }
            self.unsent.push(at);
        }
        match open {
            true => self.clients[at] = Some(client),
            false => {
                self.sessions.forget(asker);
                self.free.push(at);
            }
        }
        Ok(())
    }

    fn request(&mut self, asker: Asker, client: &mut Client, request: &In<'_>) -> anyhow::Result<()> {
        let (id, params) = (request.id, &request.params);
        match &*request.method {
            "auth.login" => client.text(frames::result(id, r#"{"authenticated":true}"#)),
            "system.info" => client.text(frames::result(id, r#"{"name":"relay","version":"floor"}"#)),
            "sessions.list" => client.text(frames::result(id, &self.sessions.list(params.limit))),
            "sessions.create" => {
                let session = self.sessions.find(params.session());
                let name = &self.sessions.all[session].name;
                client.text(frames::result(id, &format!(r#"{{"sessionId":{name},"created":true}}"#)));
            }
            "events.subscribe" => {
                let topic = params.topics.first().map_or("", |topic| topic.trim_start_matches("session:"));
                let session = self.sessions.find(topic);
                self.sessions.all[session].watchers.push((asker, id));
                client.text(frames::result(id, r#"{"subscriptionId":1,"seq":0,"cursor":"0"}"#));
            }
            "agent.send" => {
                let session = self.sessions.find(params.session());
                let begun = self.sessions.all[session].ask(asker, id, &params.message);
                if begun {
                    self.begin(session, Some(client))?;
                }
            }
            method => client.text(frames::error(Some(id), -3, method)),
        }
        Ok(())
    }

    /// Asks the model for the reply to the newest message.
    fn begin(&mut self, session: usize, asking: Option<&mut Client>) -> anyhow::Result<()> {
        let started = frames::state("start");
        match (asking, &self.sessions.all[session].run) {
            (Some(client), Some(run)) => client.text(frames::event(run.id, "run_state", &started, "")),
            (None, Some(run)) => self.tell(run.asker, frames::event(run.id, "run_state", &started, "")),
            (_, None) => return Ok(()),
        }
        self.tell_watchers(session, "run_state", &started);
        let history = &self.sessions.all[session].history;
        self.models.ask(&self.epoll, session, history)
    }

    fn model_said(&mut self, at: usize) -> anyhow::Result<()> {
        let mut deltas = std::mem::take(&mut self.models.deltas);
        let (session, last) = self.models.read(at, &mut self.scratch, &mut deltas)?;
        for text in deltas.drain(..) {
            self.sessions.all[session].heard(&text);
            let data = frames::text(&text);
            let Some((asker, id)) = self.sessions.all[session].asked() else { continue };
            self.tell(asker, frames::event(id, "content", &data, ""));
            self.tell_watchers(session, "content", &data);
        }
        self.models.deltas = deltas;
        if last {
            let record = self.sessions.all[session].record();
            self.disk.append(record.as_bytes(), session);
        }
        Ok(())
    }

    /// Turns that are on the disk are over.
    fn synced(&mut self) -> anyhow::Result<()> {
        for session in self.disk.done()? {
            let complete = frames::state("complete");
            let Some(run) = self.sessions.all[session].end() else { continue };
            let content = frames::quoted(&run.text);
            let done = format!(r#"{{"content":{content},"usage":{{"inputTokens":10,"outputTokens":1}},"runId":"t"}}"#);
            self.tell(run.asker, frames::event(run.id, "run_state", &complete, ""));
            self.tell(run.asker, frames::event(run.id, "done", &done, ""));
            self.tell(run.asker, frames::ended(run.id, &self.sessions.all[session].name, &content));
            self.tell_watchers(session, "run_state", &complete);
            self.tell_watchers(session, "done", &done);
            if self.sessions.all[session].next() {
                self.begin(session, None)?;
            }
        }
        Ok(())
    }

    /// The same words for all, made once.
    fn tell_watchers(&mut self, session: usize, event: &str, data: &str) {
        let session = &mut self.sessions.all[session];
        if session.watchers.is_empty() {
            return;
        }
        let tail = session.tail(event, data);
        for (asker, id) in &session.watchers {
            if let Some(client) = owed(&mut self.clients, *asker, &mut self.unsent) {
                client.pieces(*id, &tail);
            }
        }
    }

    fn tell(&mut self, asker: Asker, text: String) {
        if let Some(client) = owed(&mut self.clients, asker, &mut self.unsent) {
            client.text(text);
        }
    }

    /// One write for everything that a client is owed.
    fn send(&mut self) -> anyhow::Result<()> {
        for at in std::mem::take(&mut self.unsent) {
            let Some(client) = &mut self.clients[at] else { continue };
            if let Some(flags) = client.flush() {
                epoll::modify(&self.epoll, client.stream(), EventData::new_u64(at as u64), flags)?;
            }
        }
        Ok(())
    }
}

fn owed<'a>(clients: &'a mut [Option<Client>], asker: Asker, unsent: &mut Vec<usize>) -> Option<&'a mut Client> {
    let client = clients.get_mut(asker.client)?.as_mut().filter(|client| client.serial == asker.serial)?;
    if client.owes_nothing() {
        unsent.push(asker.client);
    }
    Some(client)
}
