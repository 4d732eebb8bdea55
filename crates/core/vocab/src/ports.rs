//! The traits behind which all I/O lives, a file per subject. They sit here so that an engine edit leaves their implementers
//! compiled.

mod accounts;
mod archive;
mod changes;
mod lease;
mod ledger;
mod model;
mod processes;
mod shelf;
mod skim;
mod store;
mod surroundings;
mod tool;
mod user;

use std::future::Future;
use std::pin::Pin;

pub use accounts::*;
pub use archive::*;
pub use changes::*;
pub use lease::*;
pub use ledger::*;
pub use model::*;
pub use processes::*;
pub use shelf::*;
pub use skim::*;
pub use store::*;
pub use surroundings::*;
pub use tool::*;
pub use user::*;

pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
