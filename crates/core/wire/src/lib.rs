//! How words are spoken: the [`Dialect`] trait, frames, open requests, strict JSON. Pure: no I/O, no clock, no runtime, no
//! word of a process, and no knowledge of any one dialect.

mod calls;
mod close;
mod dialect;
mod frames;
mod json;
pub mod jsonrpc;
mod lines;
mod own;
mod pending;
pub mod question;
pub mod slash;

pub use calls::{OpenCalls, UNTOLD};
pub use close::{Close, CloseCode};
pub use dialect::{Dialect, Out, Parting};
pub use frames::{Frame, FrameBuf, escape_into, escape_plain_into, without_lf};
pub use json::{DEPTH_MAX, JsonError, check, replace_lone_surrogates};
pub use lines::{LINE_BYTES_MAX, Lines};
pub use own::{NoOwn, OwnCall, OwnRequest};
pub use pending::{PENDING_MAX, Pending};

use vocab::Json;

/// Reads tool arguments as a model wrote them: one JSON object, in the form that every log and wire can carry. The
/// error is written for the model.
pub fn read_object(text: &str) -> Result<Json, String> {
    let text = replace_lone_surrogates(check(text.as_bytes()).map_err(|error| error.to_string())?);
    if !text.starts_with('{') {
        return Err("expected a JSON object".into());
    }
    Ok(Json::trusted(&*text))
}
