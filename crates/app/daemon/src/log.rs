//! A gateway's log: stderr, and whoever listens to the topic `logs`.

use std::sync::{Arc, OnceLock};

use gateway::GatewayService;
use host::{DaemonLog, NoteFormat, NoteLevel};
use vocab::Keyring;

/// The log begins before there is anybody who could listen to it, and before any key is known.
#[derive(Clone, Default)]
pub struct LogListeners {
    service: Arc<OnceLock<GatewayService>>,
    keyring: Arc<OnceLock<Keyring>>,
}

impl LogListeners {
    /// From now on these keys stand in no line.
    pub fn hide(&self, keyring: Keyring) {
        let _ = self.keyring.set(keyring);
    }

    /// From now on whoever subscribes hears what is logged.
    pub fn reach(&self, service: GatewayService) {
        let _ = self.service.set(service);
    }
}

/// From now on the notes of this process are a log.
pub fn keep_log(format: NoteFormat, level: NoteLevel) -> LogListeners {
    let listeners = LogListeners::default();
    let (heard, keyring) = (listeners.service.clone(), listeners.keyring.clone());
    let listener = move |level: NoteLevel, text: &str| {
        if let Some(service) = heard.get() {
            service.log(level.as_str(), text);
        }
    };
    host::keep_log(DaemonLog { format, level, keyring, listener: Box::new(listener) });
    listeners
}
