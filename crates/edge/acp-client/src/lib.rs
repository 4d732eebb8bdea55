//! The other side of ACP: drives any agent, over any [`Channel`]. It knows the wire and processes; it knows nothing of
//! terminals, arguments or our own agent, and it prints nothing.
//!
//! [`connect`] makes the stream of events first and starts the agent behind it. One task reads, writes and keeps time.
//! Updates reach [`Events`] in the order of the wire, and before the answer that follows them. Every request of the
//! agent's gets one answer. However a connection ends, everybody who waits is told once, and the stream ends with
//! [`Event::ConnectionLost`] (or without it, after [`Client::stop`]).

mod adapters;
mod channel;
mod client;
mod desk;
mod error;
mod event;
mod hints;
mod life;
mod reopen;
mod services;
mod wire;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

pub use crate::wire::*;
pub use adapters::advice;
pub use channel::*;
pub use client::Client;
pub use desk::{ASKS_MAX, Elicited, OPEN_CALLS_MAX, Offers, REQUESTS_MAX, SESSIONS_MAX};
pub use error::{AUTH_REQUIRED, Error, NOT_FOUND, Problem, REQUEST_CANCELLED, Terminated};
pub use event::{AskId, EVENT_BYTES_MAX, EVENTS_MAX, Elicitation, Event, Events, PermissionAsk, Turn};
pub use life::LINE_BYTES_MAX;
pub use process::Exit;
pub use reopen::{Opened, Reopened};
pub use services::{FILE_BYTES_MAX, OUTPUT_BYTES_MAX, TERMINALS_MAX, Workshop};

/// The version of the protocol we speak.
pub const PROTOCOL: u64 = 1;
/// A request about state is answered within this, or given up.
pub const CONTROL_LIMIT: Duration = Duration::from_secs(30);
/// Agents start slowly: `initialize` and the first session get this long.
pub const START_LIMIT: Duration = Duration::from_secs(60);
/// Between two `$/ping`.
pub const KEEPALIVE: Duration = Duration::from_secs(30);
/// Wishes of handles on their way; a handle waits where there are more.
const WISHES_MAX: usize = 64;

/// Which way a line went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    ClientToAgent,
    AgentToClient,
}

/// Sees every line, both ways, as it is on the wire. Called on the reading task: it must not wait.
pub trait Tap: Send + Sync {
    fn line(&self, direction: Direction, line: &[u8]);
}

/// How a connection is made.
pub struct Options {
    /// What we call ourselves.
    pub name: String,
    pub version: String,
    pub control_limit: Duration,
    pub start_limit: Duration,
    /// `None` sends no `$/ping`.
    pub keepalive: Option<Duration>,
    pub offers: Offers,
    /// Where offered files and terminals are; without it none are offered.
    pub workshop: Option<Workshop>,
    pub tap: Option<Arc<dyn Tap>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "tillerman".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            control_limit: CONTROL_LIMIT,
            start_limit: START_LIMIT,
            keepalive: Some(KEEPALIVE),
            offers: Offers::default(),
            workshop: None,
            tap: None,
        }
    }
}

/// Starts an agent. The handle is for requests, the stream for everything the agent says unasked; the first request is
/// [`Client::initialize`]. Must run on a runtime.
pub fn connect(channel: Arc<dyn Channel>, mut options: Options) -> (Client, Events) {
    let queue = Arc::new(event::Queue::default());
    let shared = Arc::new(life::Shared::new(channel.command()));
    let (wishes, granted) = mpsc::channel(WISHES_MAX);
    let services = options.workshop.take().map(|workshop| Arc::new(services::Services::new(options.offers, workshop)));
    if services.is_none() {
        options.offers = Offers { elicitation: options.offers.elicitation, ..Offers::default() };
    }
    let client = Client::new(wishes, shared.clone(), &options);
    let life = life::Life {
        desk: desk::Desk::new(options.offers, channel.has_banner()),
        out: desk::Out::default(),
        unsent: Vec::new(),
        queue: queue.clone(),
        shared,
        services,
        options,
        answers: HashMap::new(),
        wishes: granted,
        born: Instant::now(),
    };
    tokio::spawn(life.run(channel));
    (client, Events(queue))
}
