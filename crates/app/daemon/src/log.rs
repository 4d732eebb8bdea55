//! A gateway's log: stderr, and whoever listens to the topic `logs`.

use std::sync::{Arc, OnceLock};

use gateway::GatewayService;
use host::{DaemonLog, NoteFormat, NoteLevel};
use vocab::Keyring;

/// The log begins before there is anybody who could listen to it.
#[derive(Clone, Default)]
pub struct LogListeners(Arc<OnceLock<GatewayService>>);

impl LogListeners {
    /// From now on whoever subscribes hears what is logged.
    pub fn reach(&self, service: GatewayService) {
        let _ = self.0.set(service);
    }
}

/// From now on the notes of this process are a log.
pub fn keep_log(format: NoteFormat, level: NoteLevel, keyring: Keyring) -> LogListeners {
    let listeners = LogListeners::default();
    let heard = listeners.clone();
    let listener = move |level: NoteLevel, text: &str| {
        if let Some(service) = heard.0.get() {
            service.log(level.as_str(), text);
        }
    };
    host::keep_log(DaemonLog { format, level, keyring, listener: Box::new(listener) });
    listeners
}
