//! The `loaf` dialect: JSON-RPC 2.0 over NDJSON, many sessions on one pipe, events as notifications (protocol 1.0.0). A pure
//! state machine over [`wire::Dialect`]: no I/O and no runtime; time and ids come through ports.
//!
//! `docs/dialects/loaf.md` is the page for authors of controllers.

use std::path::PathBuf;
use std::sync::Arc;

use vocab::{Clock, Ids, Mode, ModelInfo, Told};
use wire::{Dialect, Line, Out, Parting};

/// How a conversation starts.
#[derive(Clone)]
pub struct Options {
    /// Told in the handshake as `server_version`.
    pub version: String,
    pub workspace: Option<PathBuf>,
    pub mode: Option<Mode>,
    /// The model that is selected; `None`: the controller has to select one.
    pub model: Option<Arc<ModelInfo>>,
    /// The thinking level that was selected some earlier time, as this wire writes it (`HIGH`).
    pub thinking: Option<Arc<str>>,
    /// The OpenRouter route that was selected some earlier time; `None` = any.
    pub route: Option<Arc<str>>,
    /// The user has been through the first steps.
    pub onboarded: bool,
    /// Stamps of events.
    pub clock: Arc<dyn Clock>,
    /// Sessions and turns of this wire.
    pub ids: Arc<dyn Ids>,
}

impl Options {
    pub fn new(version: impl Into<String>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        Self {
            version: version.into(),
            workspace: None,
            mode: None,
            model: None,
            thinking: None,
            route: None,
            onboarded: false,
            clock,
            ids,
        }
    }
}

/// What [`vocab::Verb::Prefer`] is given to keep; the values come back as [`Options`].
pub mod prefer {
    pub const MODEL: &str = "loaf.model";
    pub const THINKING: &str = "loaf.thinking";
    pub const ROUTE: &str = "loaf.route";
    pub const ONBOARDED: &str = "loaf.onboarded";
}

/// One controller speaking `loaf`.
pub struct Loaf {
    #[allow(dead_code, reason = "the dialect is being built")]
    options: Options,
}

impl Loaf {
    pub fn new(options: Options) -> Self {
        Self { options }
    }
}

impl Dialect for Loaf {
    fn greet(&mut self, _out: &mut Out) {}
    fn hear(&mut self, _frame: Line<'_>, _out: &mut Out) {}
    fn tell(&mut self, _told: &Told, _out: &mut Out) {}
    fn part(&mut self, _why: Parting, out: &mut Out) {
        out.close = true;
    }
}
