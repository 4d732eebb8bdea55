//! Gemini as Google's Cloud Code serves it to signed-in accounts: the same request and the same chunks, each wrapped once.
//! The answer needs no switch: a wrapped chunk shows itself.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use bytes::{BufMut, BytesMut};

use crate::json::string;

/// Requests go to `/v1internal:streamGenerateContent`, wrapped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CloudCode {
    /// The account's project, as Cloud Code names it.
    pub project: Arc<str>,
}

impl CloudCode {
    pub(super) fn wrap(&self) -> Wrap {
        // Only different from any other; nothing rests on it being hard to guess.
        let number = RandomState::new().hash_one(&self.project);
        Wrap { project: self.project.clone(), request_id: format!("tillerman-{number:016x}") }
    }
}

/// What stands around one request.
pub(super) struct Wrap {
    pub(super) project: Arc<str>,
    pub(super) request_id: String,
}

impl Wrap {
    /// Everything before the request itself.
    pub(super) fn open(&self, out: &mut BytesMut, model: &str) {
        let members = [
            ("project", &*self.project),
            ("model", model.strip_prefix("models/").unwrap_or(model)),
            ("userAgent", "tillerman"),
            ("requestId", &self.request_id),
        ];
        for (number, (name, value)) in members.into_iter().enumerate() {
            out.put_slice(format!("{}\"{name}\":", if number == 0 { '{' } else { ',' }).as_bytes());
            string(out, value);
        }
        out.put_slice(br#","request":"#);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_an_id_of_its_own() {
        let cloud = CloudCode { project: "p".into() };
        assert_ne!(cloud.wrap().request_id, cloud.wrap().request_id);
    }
}
