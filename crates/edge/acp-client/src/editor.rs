//! Editor services: what we do for an agent on its request, as an editor would (section 8): its files and its terminals, inside the workspace. Only what is
//! switched on is offered, and only what is offered is done.

mod files;
mod terminal;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use acp_types::{EmptyResponse, method, sorted};
use process::Launcher;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use vocab::TextFiles;
use wire::jsonrpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RpcError};

use crate::channel::Vars;
use crate::connection::Offers;

pub use files::FILE_BYTES_MAX;
pub use terminal::{OUTPUT_BYTES_MAX, TERMINALS_MAX};

/// Where the services work, and with what.
pub struct Workshop {
    /// Absolute; nothing outside of these is read, written or used as a working directory.
    pub roots: Vec<PathBuf>,
    /// The environment of terminal commands.
    pub env: Vars,
    /// Who reads and writes files there.
    pub files: Arc<dyn TextFiles>,
    pub launcher: Arc<dyn Launcher>,
}

pub(crate) struct EditorServices {
    offers: Offers,
    workshop: Workshop,
    terminals: terminal::Terminals,
}

impl EditorServices {
    pub(crate) fn new(offers: Offers, workshop: Workshop) -> Self {
        Self { offers, workshop, terminals: terminal::Terminals::default() }
    }

    pub(crate) async fn perform(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        match method {
            method::FS_READ_TEXT_FILE if self.offers.read_files => {
                let (files, roots) = (self.workshop.files.clone(), self.workshop.roots.clone());
                blocking(move || files::read(&*files, &roots, &params)).await
            }
            method::FS_WRITE_TEXT_FILE if self.offers.write_files => {
                let (files, roots) = (self.workshop.files.clone(), self.workshop.roots.clone());
                blocking(move || files::write(&*files, &roots, &params)).await
            }
            method::TERMINAL_CREATE if self.offers.terminals => self.terminals.create(&self.workshop, &params).await,
            method::TERMINAL_OUTPUT => self.terminals.output(&params),
            method::TERMINAL_WAIT_FOR_EXIT => self.terminals.wait(&params).await,
            method::TERMINAL_KILL => self.terminals.kill(&params),
            method::TERMINAL_RELEASE => self.terminals.release(&params),
            _ => Err(RpcError::new(METHOD_NOT_FOUND, format!("method not found: {method}"))),
        }
    }
}

async fn blocking(work: impl FnOnce() -> Result<Value, RpcError> + Send + 'static) -> Result<Value, RpcError> {
    let failed = |_| RpcError::new(wire::jsonrpc::INTERNAL_ERROR, "the work was interrupted");
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

/// The params of a request; `texts` are the members that it cannot do without.
fn read<T: DeserializeOwned>(params: &Value, texts: &[&str]) -> Result<T, RpcError> {
    let is_text = |name: &str| params.get(name).is_some_and(Value::is_string);
    if let Some(name) = texts.iter().find(|name| !is_text(name)) {
        return Err(invalid(format!("`{name}` has to be text")));
    }
    T::deserialize(params).map_err(|error| invalid(error.to_string()))
}

fn answer(answer: impl Serialize) -> Result<Value, RpcError> {
    Ok(sorted(answer))
}

fn done() -> Result<Value, RpcError> {
    answer(EmptyResponse {})
}

fn invalid(message: String) -> RpcError {
    RpcError::new(INVALID_PARAMS, message)
}

/// Splits an absolute path into the root it lies under and the way from there. Dots are resolved by name alone.
fn under<'a>(roots: &'a [PathBuf], path: &str) -> Result<(&'a Path, PathBuf), RpcError> {
    use std::path::Component;
    let path = Path::new(path);
    if !path.is_absolute() {
        return Err(invalid(format!("the path has to be absolute: {}", path.display())));
    }
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    let found = roots.iter().find_map(|root| Some((root.as_path(), plain.strip_prefix(root).ok()?.to_owned())));
    found.ok_or_else(|| outside(path))
}

fn outside(path: &Path) -> RpcError {
    invalid(format!("{} is outside of the workspace", path.display()))
}
