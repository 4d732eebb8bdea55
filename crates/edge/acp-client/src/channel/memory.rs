//! A channel without a process: both ends in memory. For tests, and for an agent in the same process.

use std::io;
use std::sync::{Mutex, PoisonError};

use process::{ChildProcess, EndSignal, Exit, Launched};
use tokio::io::DuplexStream;
use tokio::sync::watch;
use vocab::{Keyring, Later};

use super::Channel;

/// What each direction holds before its writer waits.
const PIPE_BYTES: usize = 64 * 1024;

/// Our end. It opens once: a second connection needs a second pair.
pub struct Memory {
    started: Mutex<Option<Launched>>,
    banner: bool,
}

/// The agent's end. Dropping a part of it closes that part.
pub struct MemoryPeer {
    /// What the client writes.
    pub input: DuplexStream,
    /// What the client reads.
    pub output: DuplexStream,
    pub errors: DuplexStream,
    pub life: AgentLife,
}

/// The agent's "process".
pub struct AgentLife {
    exit: watch::Sender<Option<Exit>>,
    strikes: watch::Receiver<Vec<EndSignal>>,
}

impl AgentLife {
    pub fn exit(&self, exit: Exit) {
        self.exit.send_replace(Some(exit));
    }

    /// Done when the client strikes, or is gone.
    pub fn struck(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut strikes = self.strikes.clone();
        async move {
            let _ = strikes.wait_for(|strikes| !strikes.is_empty()).await;
        }
    }

    /// How the client struck so far.
    pub fn strikes(&self) -> Vec<EndSignal> {
        self.strikes.borrow().clone()
    }
}

/// Two ends of one channel.
pub fn memory(banner: bool) -> (Memory, MemoryPeer) {
    let (ours_in, input) = tokio::io::duplex(PIPE_BYTES);
    let (output, ours_out) = tokio::io::duplex(PIPE_BYTES);
    let (errors, ours_errors) = tokio::io::duplex(PIPE_BYTES);
    let (exit, exited) = watch::channel(None);
    let (struck, strikes) = watch::channel(Vec::new());
    let started = Launched {
        input: Box::new(ours_in),
        output: Box::new(ours_out),
        errors: Box::new(ours_errors),
        process: Box::new(Pretended { exited, struck }),
        secrets: Keyring::default(),
    };
    let memory = Memory { started: Mutex::new(Some(started)), banner };
    (memory, MemoryPeer { input, output, errors, life: AgentLife { exit, strikes } })
}

impl Channel for Memory {
    fn open(&self) -> Later<'_, io::Result<Launched>> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move { started.ok_or_else(|| io::Error::other("a pipe in memory opens once")) })
    }

    fn command(&self) -> Vec<String> {
        vec!["memory".into()]
    }

    fn has_banner(&self) -> bool {
        self.banner
    }
}

struct Pretended {
    exited: watch::Receiver<Option<Exit>>,
    struck: watch::Sender<Vec<EndSignal>>,
}

impl ChildProcess for Pretended {
    fn ended(&mut self) -> Later<'_, Exit> {
        Box::pin(async {
            // An agent that is gone without a word has ended, too.
            let exit = self.exited.wait_for(Option::is_some).await;
            exit.ok().and_then(|exit| exit.clone()).unwrap_or_default()
        })
    }

    fn signal(&mut self, signal: EndSignal) {
        self.struck.send_modify(|strikes| strikes.push(signal));
    }
}
