//! Messages of the Agent Client Protocol, as far as a transport has to know them: what kind one is, which session it is about,
//! where it stands. Pure.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use wire::jsonrpc;

/// How an update ends that says its place.
const PLACE_KEY: &[u8] = b",\"_meta\":{\"tillerman.seq\":";
const PLACE_BYTES_MAX: usize = 80;

/// One message of theirs.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Posted {
    pub(crate) kind: PostedKind,
    pub(crate) session: Option<String>,
    /// As it is handed on.
    pub(crate) body: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PostedKind {
    /// With its id as it came, and its method.
    Request(String, String),
    Notification(String),
    /// To a request of ours.
    Answer,
}

/// Why a body is no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotAMessage {
    NotJson,
    NotAnObject,
    Batch,
    Invalid,
    /// A request whose answer could not be told from others: its id is `null`, or no text that can be repeated.
    NoId,
}

#[derive(Deserialize)]
struct SessionOf<'a> {
    #[serde(borrow, default, rename = "sessionId")]
    session_id: Option<Cow<'a, str>>,
}

impl Posted {
    pub(crate) fn read(body: &[u8]) -> Result<Self, NotAMessage> {
        let text = wire::check(body).map_err(|_| NotAMessage::NotJson)?;
        let session = |params: Option<&RawValue>| {
            let params = serde_json::from_str::<SessionOf<'_>>(params?.get()).ok()?;
            params.session_id.map(Cow::into_owned)
        };
        let (kind, session) = match jsonrpc::read(text, jsonrpc::Version::Optional) {
            jsonrpc::Frame::Request { id, .. } if !is_repeatable(id) => return Err(NotAMessage::NoId),
            jsonrpc::Frame::Request { id, method, params } => {
                (PostedKind::Request(id.get().to_owned(), method.into_owned()), session(params))
            }
            jsonrpc::Frame::Notification { method, params } => {
                (PostedKind::Notification(method.into_owned()), session(params))
            }
            jsonrpc::Frame::Response { .. } => (PostedKind::Answer, None),
            jsonrpc::Frame::Batch => return Err(NotAMessage::Batch),
            jsonrpc::Frame::Invalid if text.trim_start().starts_with('{') => return Err(NotAMessage::Invalid),
            jsonrpc::Frame::Invalid => return Err(NotAMessage::NotAnObject),
        };
        Ok(Self { kind, session, body: body.to_vec() })
    }

    pub(crate) fn method(&self) -> &str {
        match &self.kind {
            PostedKind::Request(_, method) | PostedKind::Notification(method) => method,
            PostedKind::Answer => "",
        }
    }

    /// The session that the request's head names: it must be the one that the message is about, and stands for it where the
    /// message names none. `false`: it is another.
    pub(crate) fn belongs_to(&mut self, named: &str) -> bool {
        match &self.session {
            _ if self.method().starts_with("$/") || self.kind == PostedKind::Answer => true,
            Some(session) => session == named,
            None => {
                if self.method().starts_with("session/") && !["session/new", "session/list"].contains(&self.method()) {
                    self.fill_in(named);
                }
                true
            }
        }
    }

    fn fill_in(&mut self, session: &str) {
        let Ok(mut message) = serde_json::from_slice::<Value>(&self.body) else { return };
        let params = &mut message["params"];
        if params.is_null() {
            *params = Value::Object(serde_json::Map::new());
        }
        if let Value::Object(members) = params {
            members.insert("sessionId".to_owned(), session.into());
            self.body = message.to_string().into_bytes();
            self.session = Some(session.to_owned());
        }
    }

    /// Whether its head has to name the session.
    pub(crate) fn needs_session(&self) -> bool {
        matches!(
            self.method(),
            "session/prompt"
                | "session/cancel"
                | "session/close"
                | "session/delete"
                | "session/set_mode"
                | "session/set_config_option"
                | "session/set_model"
        )
    }
}

/// Whether the id comes back in the answer as it was: half of a character cannot be said again, and `null` is said of
/// messages that have none.
fn is_repeatable(id: &RawValue) -> bool {
    match id.get() {
        "null" => false,
        text if text.starts_with('"') => serde_json::from_str::<Cow<'_, str>>(text).is_ok(),
        _ => true,
    }
}

/// One message of ours.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Outgoing {
    /// About a session, and its place there as it is written.
    Update {
        session: String,
        place: Option<String>,
    },
    /// A request of ours.
    Ask {
        id: u64,
        session: Option<String>,
    },
    /// A request of ours is withdrawn.
    Withdrawal {
        id: u64,
    },
    /// With the id of theirs as it came; the session that it names; whether it is a refusal.
    Answer {
        id: String,
        session: Option<String>,
        is_error: bool,
    },
    Other,
}

#[derive(Deserialize)]
struct OutgoingKeys<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WithdrawnId {
    #[serde(rename = "requestId")]
    request_id: u64,
}

impl Outgoing {
    pub(crate) fn read(frame: &[u8]) -> Self {
        let Ok(keys) = serde_json::from_slice::<OutgoingKeys<'_>>(frame) else { return Outgoing::Other };
        let session = |members: Option<&RawValue>| {
            let members = serde_json::from_str::<SessionOf<'_>>(members?.get()).ok()?;
            members.session_id.map(Cow::into_owned)
        };
        match (keys.method.as_deref(), keys.id) {
            (Some("session/update"), None) => match session(keys.params) {
                Some(session) => Outgoing::Update { session, place: place(frame) },
                None => Outgoing::Other,
            },
            (Some("$/cancel_request"), None) => {
                let params = keys.params.and_then(|it| serde_json::from_str::<WithdrawnId>(it.get()).ok());
                params.map_or(Outgoing::Other, |it| Outgoing::Withdrawal { id: it.request_id })
            }
            (Some(_), Some(id)) => {
                let id = id.get().parse().unwrap_or_default();
                Outgoing::Ask { id, session: session(keys.params) }
            }
            (None, Some(id)) => {
                let (session, is_error) = (session(keys.result), keys.result.is_none());
                Outgoing::Answer { id: id.get().to_owned(), session, is_error }
            }
            _ => Outgoing::Other,
        }
    }
}

fn place(frame: &[u8]) -> Option<String> {
    let tail = &frame[frame.len().saturating_sub(PLACE_BYTES_MAX)..];
    let at = tail.windows(PLACE_KEY.len()).rposition(|window| window == PLACE_KEY)?;
    let place = std::str::from_utf8(&tail[at + PLACE_KEY.len()..]).ok()?.strip_suffix("}}}")?;
    Some(place.trim_matches('"').to_owned())
}

/// JSON with every character beyond ASCII escaped: one of the clients reads piece by piece and breaks at a split character.
pub(crate) fn ascii_into(json: &[u8], into: &mut Vec<u8>) {
    if json.is_ascii() {
        return into.extend_from_slice(json);
    }
    for c in String::from_utf8_lossy(json).chars() {
        match c.is_ascii() {
            true => into.push(c as u8),
            false => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    into.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted(body: &str) -> Posted {
        Posted::read(body.as_bytes()).unwrap()
    }

    #[test]
    fn a_message_is_told_by_its_keys() {
        let prompt = posted(r#"{"jsonrpc":"2.0","id":0,"method":"session/prompt","params":{"sessionId":"a\"b"}}"#);
        assert_eq!(prompt.kind, PostedKind::Request("0".into(), "session/prompt".into()));
        assert_eq!(prompt.session.as_deref(), Some("a\"b"));
        assert!(prompt.needs_session());
        assert_eq!(posted(r#"{"jsonrpc":"2.0","id":3,"result":{"sessionId":"x"}}"#).kind, PostedKind::Answer);
        for (body, why) in [
            ("{", NotAMessage::NotJson),
            ("7", NotAMessage::NotAnObject),
            ("\"x\"", NotAMessage::NotAnObject),
            ("[]", NotAMessage::Batch),
            ("{}", NotAMessage::Invalid),
            (r#"{"id":null,"method":"initialize"}"#, NotAMessage::NoId),
            (r#"{"id":"\ud800","method":"session/list"}"#, NotAMessage::NoId),
        ] {
            assert_eq!(Posted::read(body.as_bytes()), Err(why), "{body}");
        }
    }

    #[test]
    fn the_head_names_the_same_session_or_stands_for_it() {
        let mut prompt = posted(r#"{"id":1,"method":"session/prompt","params":{"sessionId":"a"}}"#);
        assert!(prompt.belongs_to("a") && !prompt.belongs_to("b"));
        let mut bare = posted(r#"{"id":1,"method":"session/cancel"}"#);
        assert!(bare.belongs_to("a"));
        assert_eq!(posted(std::str::from_utf8(&bare.body).unwrap()).session.as_deref(), Some("a"));
        let mut other = posted(r#"{"method":"$/cancel_request","params":{"requestId":1,"sessionId":"a"}}"#);
        assert!(other.belongs_to("b"));
    }

    #[test]
    fn what_we_say_is_told_apart() {
        let update = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{},"_meta":{"tillerman.seq":"7.3"}}}"#;
        let said = Outgoing::Update { session: "s".into(), place: Some("7.3".into()) };
        assert_eq!(Outgoing::read(update.as_bytes()), said);
        let whole = update.replace("\"7.3\"", "7");
        assert_eq!(Outgoing::read(whole.as_bytes()), Outgoing::Update { session: "s".into(), place: Some("7".into()) });
        let answer = br#"{"jsonrpc":"2.0","id":"x","result":{"sessionId":"s"}}"#;
        assert_eq!(
            Outgoing::read(answer),
            Outgoing::Answer { id: "\"x\"".into(), session: Some("s".into()), is_error: false }
        );
        let ask = br#"{"jsonrpc":"2.0","id":4,"method":"session/request_permission","params":{"sessionId":"s"}}"#;
        assert_eq!(Outgoing::read(ask), Outgoing::Ask { id: 4, session: Some("s".into()) });
        let gone = br#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":4}}"#;
        assert_eq!(Outgoing::read(gone), Outgoing::Withdrawal { id: 4 });
    }

    #[test]
    fn data_is_ascii_and_means_the_same() {
        let text = r#"{"a":"grüße 😀"}"#;
        let mut out = Vec::new();
        ascii_into(text.as_bytes(), &mut out);
        assert!(out.is_ascii());
        let (one, other): (Value, Value) = (serde_json::from_str(text).unwrap(), serde_json::from_slice(&out).unwrap());
        assert_eq!(one, other);
    }
}
