//! The other side of ACP: drives any agent, over any [`Channel`]. It knows the wire and processes; it knows nothing of
//! terminals, arguments or our own agent, and it prints nothing.
//!
//! [`connect`] makes the stream of events first and starts the agent behind it. One task reads, writes and keeps time.
//! Updates reach [`Events`] in the order of the wire, and before the answer that follows them. Every request of the
//! agent's gets one answer. However a connection ends, every request that waits is told once, and the stream ends with
//! [`ClientEvent::ConnectionLost`] (or without it, after [`AcpClient::stop`]).

mod adapters;
mod channel;
mod client;
mod connection;
mod editor;
mod error;
mod event;
mod hints;
mod reopen;
mod task;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

pub use adapters::advice;
pub use channel::*;
pub use client::AcpClient;
pub use connection::{ASKS_MAX, Elicited, OPEN_CALLS_MAX, Offers, REQUESTS_MAX, SESSIONS_MAX};
pub use editor::{FILE_BYTES_MAX, OUTPUT_BYTES_MAX, TERMINALS_MAX, Workshop};
pub use error::{ClientError, ClientProblem, Terminated};
pub use event::{AskId, ClientEvent, EVENT_BYTES_MAX, EVENTS_MAX, Elicitation, Events, PermissionAsk};
pub use process::Exit;
pub use reopen::{Reopened, ReopenedSession};
pub use task::LINE_BYTES_MAX;

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
pub struct ConnectOptions {
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

impl Default for ConnectOptions {
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
/// [`AcpClient::initialize`]. Must run on a runtime.
pub fn connect(channel: Arc<dyn Channel>, mut options: ConnectOptions) -> (AcpClient, Events) {
    let queue = Arc::new(event::Queue::default());
    let shared = Arc::new(task::ConnectionShared::new(channel.command()));
    let (wishes, granted) = mpsc::channel(WISHES_MAX);
    let editor =
        options.workshop.take().map(|workshop| Arc::new(editor::EditorServices::new(options.offers, workshop)));
    if editor.is_none() {
        options.offers = Offers { elicitation: options.offers.elicitation, ..Offers::default() };
    }
    let client = AcpClient::new(wishes, shared.clone(), &options);
    let task = task::ConnectionTask {
        connection: connection::Connection::new(options.offers, channel.has_banner()),
        out: connection::ConnectionOut::default(),
        unsent: Vec::new(),
        queue: queue.clone(),
        shared,
        editor,
        options,
        answers: HashMap::new(),
        wishes: granted,
        born: Instant::now(),
    };
    tokio::spawn(task.run(channel));
    (client, Events(queue))
}
