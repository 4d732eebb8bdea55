//! What we do for an agent on its request (section 8): its files and its terminals, inside the workspace. Only what is
//! switched on is offered, and only what is offered is done.

mod files;
mod terminal;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use process::Launcher;
use serde_json::Value;
use vocab::TextFiles;
use wire::jsonrpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RpcError};

use crate::channel::Vars;
use crate::desk::Offers;

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

pub(crate) struct Services {
    offers: Offers,
    workshop: Workshop,
    terminals: terminal::Terminals,
}

impl Services {
    pub(crate) fn new(offers: Offers, workshop: Workshop) -> Self {
        Self { offers, workshop, terminals: terminal::Terminals::default() }
    }

    pub(crate) async fn perform(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        match method {
            "fs/read_text_file" if self.offers.read_files => {
                let (files, roots) = (self.workshop.files.clone(), self.workshop.roots.clone());
                blocking(move || files::read(&*files, &roots, &params)).await
            }
            "fs/write_text_file" if self.offers.write_files => {
                let (files, roots) = (self.workshop.files.clone(), self.workshop.roots.clone());
                blocking(move || files::write(&*files, &roots, &params)).await
            }
            "terminal/create" if self.offers.terminals => self.terminals.create(&self.workshop, &params).await,
            "terminal/output" => self.terminals.output(&params),
            "terminal/wait_for_exit" => self.terminals.wait(&params).await,
            "terminal/kill" => self.terminals.kill(&params),
            "terminal/release" => self.terminals.release(&params),
            _ => Err(RpcError::new(METHOD_NOT_FOUND, format!("method not found: {method}"))),
        }
    }
}

async fn blocking(work: impl FnOnce() -> Result<Value, RpcError> + Send + 'static) -> Result<Value, RpcError> {
    let failed = |_| RpcError::new(wire::jsonrpc::INTERNAL_ERROR, "the work was interrupted");
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

fn text<'a>(params: &'a Value, name: &str) -> Result<&'a str, RpcError> {
    params.get(name).and_then(Value::as_str).ok_or_else(|| invalid(format!("`{name}` has to be text")))
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
