//! Gemini as Google's Cloud Code serves it to signed-in accounts: the same request and the same chunks, each wrapped once.
//! The answer needs no switch: a wrapped chunk shows itself.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use bytes::{BufMut, BytesMut};

use crate::json::string;

/// Requests go to `/v1internal:streamGenerateContent`, wrapped.
#[derive(Clone)]
pub struct CloudCode(Arc<dyn Fn() -> Arc<str> + Send + Sync>);

impl CloudCode {
    /// `project`: the account's own, as Cloud Code names it. Asked for every request, because another account may sign in
    /// while a conversation goes on.
    pub fn new(project: impl Fn() -> Arc<str> + Send + Sync + 'static) -> Self {
        Self(Arc::new(project))
    }

    pub(super) fn wrap(&self) -> Wrap {
        let project = (self.0)();
        // Only different from any other; nothing rests on it being hard to guess.
        let number = RandomState::new().hash_one(&project);
        Wrap { project, request_id: format!("tillerman-{number:016x}") }
    }
}

impl fmt::Debug for CloudCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CloudCode(..)")
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
        let cloud = CloudCode::new(|| "p".into());
        assert_ne!(cloud.wrap().request_id, cloud.wrap().request_id);
    }
}
