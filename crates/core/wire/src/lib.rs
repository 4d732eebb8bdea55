//! How words are spoken: the [`Dialect`] trait, frames, open requests, strict JSON. Pure: no I/O, no clock, no runtime, no
//! word of a process, and no knowledge of any one dialect.

mod calls;
mod close;
mod dialect;
mod flow;
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
pub use flow::FlowWord;
pub use frames::{Frame, FrameBuf, NO_TEXT, escape_into, escape_plain_into, without_lf};
pub use json::{DEPTH_MAX, JsonError, check, is_replaced, replace_lone_surrogates};
pub use lines::{LINE_BYTES_MAX, Lines};
pub use own::{NoOwn, OwnCall, OwnRequest};
pub use pending::{PENDING_MAX, Pending};

use std::sync::Arc;

use vocab::Json;
use vocab::visible::visible_line;

/// Longest name of a client that is repeated, in characters.
const CLIENT_NAME_CHARS_MAX: usize = 64;

/// What a client calls itself, as logs and lists may have it: one visible line of bounded length. `usual`: where it has no name.
pub fn client_name(said: &str, usual: &str) -> Arc<str> {
    let start: String = said.trim().chars().take(CLIENT_NAME_CHARS_MAX).collect();
    let shown: String = visible_line(&start).chars().take(CLIENT_NAME_CHARS_MAX).collect();
    if shown.is_empty() { usual.into() } else { shown.into() }
}

/// Reads tool arguments as a model wrote them: one JSON object, in the form that every log and wire can carry. The
/// error is written for the model.
pub fn read_object(text: &str) -> Result<Json, String> {
    let text = replace_lone_surrogates(check(text.as_bytes()).map_err(|error| error.to_string())?);
    if !text.starts_with('{') {
        return Err("expected a JSON object".into());
    }
    Ok(Json::trusted(&*text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_called_what_it_says_within_bounds() {
        assert_eq!(&*client_name(" zed ", "acp"), "zed");
        assert_eq!((&*client_name("", "acp"), &*client_name(" \t", "acp")), ("acp", "acp"));
        assert_eq!(&*client_name("a\n\u{1b}[2J\u{202e}", "acp"), "a␊␛[2J<U+202E>");
        assert_eq!(client_name(&"\u{202e}".repeat(1_000_000), "acp").chars().count(), CLIENT_NAME_CHARS_MAX);
    }
}
