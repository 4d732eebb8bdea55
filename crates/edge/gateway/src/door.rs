//! What most paths are: a dialect on the pipe of whoever came, joined to the engine.

use std::sync::Arc;
use std::time::Duration;

use dialect_gateway::{AuthState, Gateway, GatewayOptions, GatewayOwn, Scopes};
use engine::{Engine, Slow};
use host::{DaemonEnding, Ended, OnLost, OwnCalls, PumpOptions};
use vocab::Later;
use websocket::{Binary, OnClose};
use wire::{Dialect, OwnCall};

use crate::entrance::{AcpRules, Caller, Entrance, EntranceRules, MessagePipe};
use crate::limits::{LINE_BYTES_MAX, MESSAGE_BYTES_MAX, UNSENT_BYTES_MAX};

/// How long a conversation may take to settle once the process ends.
const GRACE: Duration = Duration::from_secs(10);

/// A dialect, and who answers its own calls.
pub struct Joined<D: Dialect> {
    pub dialect: D,
    pub own: Box<dyn OwnCalls<D::Own>>,
}

/// Makes a dialect for whoever comes in. What is refused is the reason to close with.
pub trait Joins: Send + Sync + 'static {
    type Dialect: Dialect + 'static;
    /// See [`Entrance::refuses`].
    fn refuses(&self, caller: &Caller) -> Option<String> {
        takes_no_arguments(caller)
    }
    fn join(&self, caller: &Caller) -> Result<Joined<Self::Dialect>, String>;
}

/// Answers a path with a dialect.
pub struct DialectDoor<J> {
    pub engine: Engine,
    pub joins: J,
    pub binary: Binary,
    pub scopes: Scopes,
    pub takes_strangers: bool,
    pub end: DoorEnd,
    /// See [`EntranceRules::streams`].
    pub streams: Option<AcpRules>,
    pub subprotocols: &'static [&'static str],
}

/// What the end of a connection, or of the process, means to its dialect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DoorEnd {
    /// It settles what it owes; that work goes on is in its own rules.
    Settles,
    /// It is told that its peer is gone, and what that means is in its own rules; of the process's end it hears nothing. It
    /// says no more than its windows have room for, so it is never too slow.
    Parts,
    /// It was written for a pipe whose end stops the work. Here the work belongs to its session: the peer just goes.
    JustGoes,
}

impl DoorEnd {
    pub fn on_close(self) -> OnClose {
        match self {
            DoorEnd::Settles => OnClose::AtOnce,
            // It goes with the answers to what it has said.
            DoorEnd::Parts | DoorEnd::JustGoes => OnClose::WhenDone,
        }
    }

    /// What a conversation on a socket is allowed, and what its end means.
    pub fn pump_options<O: OwnCall>(
        self,
        own: Box<dyn OwnCalls<O>>,
        caller: Caller,
        ending: DaemonEnding,
    ) -> PumpOptions<O> {
        PumpOptions {
            // Where lines come from a proxy, too, the dialect answers the message that stands for one that was too long.
            frame_bytes_max: if self == DoorEnd::Settles { MESSAGE_BYTES_MAX } else { LINE_BYTES_MAX },
            grace: GRACE,
            slow: match self {
                // It has windows, and takes whatever comes.
                DoorEnd::Parts => Slow::Wait,
                // It comes back with its cursor; meanwhile it holds up nobody.
                DoorEnd::Settles | DoorEnd::JustGoes => Slow::DropAt(UNSENT_BYTES_MAX),
            },
            on_lost: if self == DoorEnd::JustGoes { OnLost::Leave } else { OnLost::Part },
            leaves_work: self != DoorEnd::Settles,
            principal: caller.principal,
            trace: caller.trace,
            ending: Some(ending),
            ..PumpOptions::new(Passed(own))
        }
    }
}

/// For a path that has no command line.
pub fn takes_no_arguments(caller: &Caller) -> Option<String> {
    caller.arguments.is_some().then(|| "this path takes no arguments".to_owned())
}

impl<J: Joins> Entrance for DialectDoor<J> {
    fn serve(&self, caller: Caller, pipe: MessagePipe, ending: DaemonEnding) -> Later<'static, Ended> {
        let (engine, end) = (self.engine.clone(), self.end);
        match self.joins.join(&caller) {
            Ok(joined) => Box::pin(converse(joined, (engine, end), caller, pipe, ending)),
            Err(why) => Box::pin(turn_away(pipe, why)),
        }
    }
    fn refuses(&self, caller: &Caller) -> Option<String> {
        self.joins.refuses(caller)
    }
    fn rules(&self) -> EntranceRules {
        EntranceRules {
            binary: self.binary,
            on_close: self.end.on_close(),
            scopes: self.scopes,
            streams: self.streams,
            subprotocols: self.subprotocols,
            takes_strangers: self.takes_strangers,
        }
    }
}

/// Runs a dialect to its end on the pipe of whoever came.
pub async fn converse<D: Dialect + 'static>(
    joined: Joined<D>,
    (engine, end): (Engine, DoorEnd),
    caller: Caller,
    (stream, sink): MessagePipe,
    ending: DaemonEnding,
) -> Ended {
    let Joined { dialect, own } = joined;
    let options = end.pump_options(own, caller, ending);
    host::pump_messages(dialect, &engine, stream, sink, options).await
}

/// Says why somebody cannot stay.
pub async fn turn_away((_, mut sink): MessagePipe, why: String) -> Ended {
    let close = wire::Close::new(wire::CloseCode::PolicyViolation, why);
    std::future::poll_fn(|context| sink.poll_close(context, &close)).await;
    Ended { close, exit_code: 2 }
}

struct Passed<O: OwnCall>(Box<dyn OwnCalls<O>>);

impl<O: OwnCall> OwnCalls<O> for Passed<O> {
    fn call(&self, call: O) -> Later<'static, O::Answer> {
        self.0.call(call)
    }
}

/// Who answers the calls of one connection.
pub type ServiceFor = Arc<dyn Fn(&Caller) -> Box<dyn OwnCalls<GatewayOwn>> + Send + Sync>;

/// The gateway's own dialect.
pub struct GatewayJoins {
    /// Asked for each connection: some of it can be otherwise after a reload.
    pub options: Arc<dyn Fn() -> Arc<GatewayOptions> + Send + Sync>,
    pub service: ServiceFor,
}

impl Joins for GatewayJoins {
    type Dialect = Gateway;

    fn join(&self, caller: &Caller) -> Result<Joined<Gateway>, String> {
        let auth = match caller.is_known() {
            true => AuthState::Known { scopes: caller.scopes },
            false => AuthState::Unknown,
        };
        let dialect = Gateway::new((self.options)(), caller.connection.clone(), auth, caller.trace.clone());
        Ok(Joined { dialect, own: (self.service)(caller) })
    }
}
