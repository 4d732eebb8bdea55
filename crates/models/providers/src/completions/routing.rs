//! Where a server that passes requests on to others sends ours, as OpenRouter does. Changes while conversations go on.

use std::sync::{Arc, Mutex};

use bytes::{BufMut, BytesMut};

use crate::json::string;

/// One choice for all conversations with a server. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Routing(Arc<Mutex<Option<Arc<str>>>>);

impl Routing {
    pub fn get(&self) -> Option<Arc<str>> {
        self.0.lock().expect("nothing panics while holding it").clone()
    }
    /// `None`: the server decides.
    pub fn set(&self, to: Option<Arc<str>>) {
        *self.0.lock().expect("nothing panics while holding it") = to;
    }
}

/// The member of a request that names the route. Nobody else may answer: a user who chose one meant it.
pub(super) fn put(out: &mut BytesMut, route: &str) {
    out.put_slice(br#""provider":{"order":["#);
    string(out, route);
    out.put_slice(br#"],"allow_fallbacks":false},"#);
}
