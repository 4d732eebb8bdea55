//! The hooks of a server that wants none. Its own tests and those of the library take in this very file: as a crate of its
//! own, the test kit for one, it would name another `gateway` than the one that is being tested.

use std::sync::{Arc, Mutex, PoisonError};

use gateway::{HealthReport, ServerHooks};
use vocab::{Later, Secret};

/// Says nothing, and remembers what is to stand in no text.
#[derive(Default)]
pub(crate) struct NoHooks(Mutex<Vec<String>>);

impl NoHooks {
    #[allow(dead_code, reason = "not everybody who takes it in asks")]
    pub(crate) fn hides(&self, token: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|it| it == token)
    }
}

impl ServerHooks for NoHooks {
    fn health(&self) -> Later<'static, HealthReport> {
        Box::pin(async { HealthReport { serves: true, json: "{}".to_owned() } })
    }
    fn schema(&self) -> Arc<str> {
        "{}".into()
    }
    fn metrics(&self) -> String {
        String::new()
    }
    fn hide(&self, token: &Secret) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(token.expose().to_owned());
    }
    fn note(&self, _: &str) {}
}
