//! What a method takes and gives, declared once: `shape!` makes of each declaration the struct, its strict reader or its
//! writer, and its schema. Readers, OpenRPC and client libraries come from the same lines and cannot drift apart.
//!
//! ```text
//! shape! { params /// What it is for, one sentence.
//!     ListParams {
//!         /// What this member is.
//!         "includePersisted" include_persisted: bool = false,
//!         "frontend" frontend: Option<Text<1, 200>>,
//!         "limit" limit: Count<1, 500> = Count(50),
//!     }
//! }
//! shape! { result /// What it gives.
//!     ListResult { "sessions" sessions: Vec<SessionRow>, "total" total: u64 }
//! }
//! words! { /// A closed list.
//!     Online { Online = "online", Offline = "offline" }
//! }
//! ```
//!
//! A result may end with the members of another one, as if they stood there: `.. sum: LatencySum`.
//!
//! `params`: read from a frame; unknown members are passed over, a known one that is wrong is refused with its name. `result`:
//! written into a frame; `None` is left out, [`Nullable`] is written as `null`. `both`: either way.

mod kinds;
mod schema;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::own::{Code, GatewayRefusal};

pub use kinds::*;
pub use schema::{ShapeMember, ShapeSchema};

/// Has a schema, and knows whether it is left out where it is written.
pub trait Shaped {
    fn schema() -> ShapeSchema;
    /// May the member be missing?
    fn is_optional() -> bool {
        false
    }
    /// This one is missing.
    fn is_absent(&self) -> bool {
        false
    }
}

/// Can be read from a frame.
pub trait ReadShape: Shaped + Sized {
    fn read(raw: &RawValue) -> Result<Self, WrongParam>;
    /// What it is where it was left out; `None`: it must be there.
    fn absent() -> Option<Self> {
        None
    }
}

/// Its members can be written among those of another one.
pub trait WriteMembers {
    fn members_into<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

/// A member that is not what it must be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrongParam {
    /// `queue.cap`, `attachments[3].data`; empty for the whole.
    pub path: String,
    /// `an integer of 1..500`
    pub must: String,
}

impl WrongParam {
    pub fn new(must: impl Into<String>) -> Self {
        Self { path: String::new(), must: must.into() }
    }
    /// The same inside a member.
    pub fn inside(mut self, name: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }
}

impl From<WrongParam> for GatewayRefusal {
    fn from(wrong: WrongParam) -> Self {
        let message = match wrong.path.as_str() {
            "" => format!("params must be {}", wrong.must),
            path => format!("`{path}` must be {}", wrong.must),
        };
        GatewayRefusal::new(Code::InvalidRequest, message).because("invalid_params").with("param", &wrong.path)
    }
}

/// The members of an object, as they were written.
pub struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(Deserialize)]
struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct MembersReader<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> serde::de::Visitor<'de> for MembersReader<'a> {
            type Value = Members<'a>;
            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("an object")
            }
            fn visit_map<M: serde::de::MapAccess<'de>>(self, mut map: M) -> Result<Members<'a>, M::Error> {
                let mut members = Vec::new();
                while let Some((MemberName(name), value)) = map.next_entry::<MemberName<'de>, &'de RawValue>()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(MembersReader(std::marker::PhantomData))
    }
}

impl<'a> Members<'a> {
    pub fn of(raw: &'a RawValue) -> Result<Self, WrongParam> {
        serde_json::from_str(raw.get()).map_err(|_| WrongParam::new("an object"))
    }
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(member, _)| member == name).map(|(_, value)| *value)
    }
    /// One member; `usual` where it is missing or null.
    pub fn read<T: ReadShape>(&self, name: &str, usual: Option<T>) -> Result<T, WrongParam> {
        match (self.get(name), usual) {
            (None, Some(usual)) => Ok(usual),
            (Some(raw), Some(usual)) if raw.get() == "null" => Ok(usual),
            (None, None) => T::absent().ok_or_else(|| WrongParam::new("there").inside(name)),
            (Some(raw), _) => T::read(raw).map_err(|wrong| wrong.inside(name)),
        }
    }
}

/// Reads the params of a request; none are an empty object.
pub fn read_params<T: ReadShape>(raw: Option<&RawValue>) -> Result<T, GatewayRefusal> {
    let read = match raw.filter(|raw| raw.get() != "null") {
        Some(raw) => T::read(raw),
        None => serde_json::from_str("{}").map_err(|_| WrongParam::new("an object")).and_then(T::read),
    };
    Ok(read?)
}

/// A default value as JSON text, for the schema.
pub fn default_text<T: serde::Serialize>(value: &T) -> Option<String> {
    serde_json::to_string(value).ok()
}

/// See the head of this file.
#[macro_export]
macro_rules! shape {
    (params $($rest:tt)*) => { $crate::shape_struct! { $($rest)* } $crate::shape_reader! { $($rest)* } };
    (result $($rest:tt)*) => { $crate::shape_struct! { $($rest)* } $crate::shape_writer! { $($rest)* } };
    (both $($rest:tt)*) => {
        $crate::shape_struct! { $($rest)* } $crate::shape_reader! { $($rest)* } $crate::shape_writer! { $($rest)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! shape_struct {
    ($(#[doc = $doc:literal])* $name:ident {
        $($(#[doc = $field_doc:literal])* $wire:literal $field:ident : $ty:ty $(= $usual:expr)?),*
        $(, .. $included:ident : $of:ty)? $(,)?
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name { $($(#[doc = $field_doc])* pub $field: $ty,)* $(pub $included: $of)? }

        impl $crate::shape::Shaped for $name {
            fn schema() -> $crate::shape::ShapeSchema {
                #[allow(unused_mut)]
                let mut members = vec![$($crate::shape::ShapeMember {
                    name: $wire,
                    doc: concat!($($field_doc),*).trim(),
                    schema: <$ty as $crate::shape::Shaped>::schema(),
                    is_required: !<$ty as $crate::shape::Shaped>::is_optional() && None::<$ty>$(.or_else(|| Some($usual)))?.is_none(),
                    usual: None::<String>$(.or_else(|| { let usual: $ty = $usual; $crate::shape::default_text(&usual) }))?,
                }),*];
                $(members.extend(<$of as $crate::shape::Shaped>::schema().into_members());)?
                let (name, doc) = (stringify!($name), concat!($($doc),*).trim());
                $crate::shape::ShapeSchema::Object { name, doc, members }
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! shape_reader {
    ($(#[doc = $doc:literal])* $name:ident {
        $($(#[doc = $field_doc:literal])* $wire:literal $field:ident : $ty:ty $(= $usual:expr)?),* $(,)?
    }) => {
        impl $crate::shape::ReadShape for $name {
            fn read(raw: &serde_json::value::RawValue) -> Result<Self, $crate::shape::WrongParam> {
                #[allow(unused_variables)]
                let members = $crate::shape::Members::of(raw)?;
                Ok(Self { $($field: members.read::<$ty>($wire, None::<$ty>$(.or(Some($usual)))?)?),* })
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! shape_writer {
    ($(#[doc = $doc:literal])* $name:ident {
        $($(#[doc = $field_doc:literal])* $wire:literal $field:ident : $ty:ty $(= $usual:expr)?),*
        $(, .. $included:ident : $of:ty)? $(,)?
    }) => {
        impl $crate::shape::WriteMembers for $name {
            #[allow(unused_variables)]
            fn members_into<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $(if !$crate::shape::Shaped::is_absent(&self.$field) {
                    map.serialize_entry($wire, &self.$field)?;
                })*
                $($crate::shape::WriteMembers::members_into(&self.$included, map)?;)?
                Ok(())
            }
        }
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let mut map = to.serialize_map(None)?;
                $crate::shape::WriteMembers::members_into(self, &mut map)?;
                serde::ser::SerializeMap::end(map)
            }
        }
    };
}

/// A closed list of words.
#[macro_export]
macro_rules! words {
    ($(#[doc = $doc:literal])* $name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($variant),* }

        impl $name {
            pub const WORDS: &'static [&'static str] = &[$($word),*];
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($word => Some($name::$variant),)* _ => None }
            }
        }
        impl $crate::shape::Shaped for $name {
            fn schema() -> $crate::shape::ShapeSchema {
                $crate::shape::ShapeSchema::Words {
                    name: stringify!($name),
                    doc: concat!($($doc),*).trim(),
                    words: Self::WORDS,
                }
            }
        }
        impl $crate::shape::ReadShape for $name {
            fn read(raw: &serde_json::value::RawValue) -> Result<Self, $crate::shape::WrongParam> {
                let word: std::borrow::Cow<'_, str> = serde_json::from_str(raw.get()).unwrap_or_default();
                Self::parse(&word).ok_or_else(|| $crate::shape::WrongParam::new(format!("one of {}", Self::WORDS.join(", "))))
            }
        }
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }
    };
}

#[cfg(test)]
#[allow(unreachable_pub)] // What the macros make is public.
mod tests {
    use super::*;

    words! { /// How it goes.
        Pace { Slow = "slow", Fast = "fast" }
    }
    shape! { both /// A part of it.
        Inner { "cap" cap: Count<1, 10> }
    }
    shape! { both
        /// What is tried here.
        Tried {
            /// How often.
            "limit" limit: Count<1, 500> = Count(50),
            "name" name: Option<Text<1, 3>>,
            "pace" pace: Option<Pace>,
            "inner" inner: Option<Inner>,
            "list" list: List<Inner, 2> = List(Vec::new()),
            "on" on: bool,
            "any" any: Option<AnyJson>,
            "way" way: Option<ObjectJson>,
            "at" at: Option<Real<-90, 90>>,
            "session" session: Option<SessionName>,
        }
    }

    shape! { result /// More of the same.
        Outer { "first" first: bool, .. inner: Inner }
    }

    #[test]
    fn blanks_around_the_name_of_a_model_are_not_counted() {
        let read = |text: String| {
            let raw = serde_json::value::to_raw_value(&text).unwrap();
            ModelName::read(&raw).ok().map(|name| name.0.to_string())
        };
        let long = "é".repeat(vocab::MODEL_NAME_CHARS_MAX);
        assert_eq!(read(format!("   {long}\t\n")), Some(long.clone()));
        assert_eq!(read(" small ".to_owned()).as_deref(), Some("small"));
        for wrong in [format!("{long}m"), String::new(), " \t ".to_owned()] {
            assert_eq!(read(wrong), None);
        }
    }

    #[test]
    fn the_members_of_another_one_stand_among_its_own() {
        let outer = Outer { first: true, inner: Inner { cap: Count(7) } };
        assert_eq!(serde_json::to_string(&outer).unwrap(), r#"{"first":true,"cap":7}"#);
        let names: Vec<&str> = Outer::schema().into_members().iter().map(|member| member.name).collect();
        assert_eq!(names, ["first", "cap"]);
        assert_eq!(Outer::schema().into_members()[1..], Inner::schema().into_members());
    }

    fn read(text: &str) -> Result<Tried, (String, String)> {
        let raw: Box<RawValue> = RawValue::from_string(text.to_owned()).unwrap();
        Tried::read(&raw).map_err(|wrong| (wrong.path, wrong.must))
    }

    #[test]
    fn what_is_right_is_read_and_written_again() {
        let all = r#"{"limit":7,"name":"äöü","pace":"fast","inner":{"cap":10},"list":[{"cap":1},{"cap":2}],"on":true,"any":[1,{"a":null}],"way":{},"at":-12.5,"session":"ws:a"}"#;
        assert_eq!(serde_json::to_string(&read(all).unwrap()).unwrap(), all);
        let least = read(r#"{"on":false,"unknown":[[]],"name":null,"limit":null}"#).unwrap();
        assert_eq!(serde_json::to_string(&least).unwrap(), r#"{"limit":50,"list":[],"on":false}"#);
    }

    #[test]
    fn what_is_wrong_is_refused_by_its_name() {
        let cases = [
            ("{}", "on", "there"),
            (r#"{"on":1}"#, "on", "true or false"),
            (r#"{"on":null}"#, "on", "true or false"),
            (r#"{"on":true,"limit":0}"#, "limit", "an integer of 1..500"),
            (r#"{"on":true,"limit":501}"#, "limit", "an integer of 1..500"),
            (r#"{"on":true,"limit":1.0}"#, "limit", "an integer of 1..500"),
            (r#"{"on":true,"limit":"7"}"#, "limit", "an integer of 1..500"),
            (r#"{"on":true,"limit":99999999999999999999}"#, "limit", "an integer of 1..500"),
            (r#"{"on":true,"name":""}"#, "name", "text of 1..3 characters"),
            (r#"{"on":true,"name":"abcd"}"#, "name", "text of 1..3 characters"),
            (r#"{"on":true,"pace":"brisk"}"#, "pace", "one of slow, fast"),
            (r#"{"on":true,"pace":3}"#, "pace", "one of slow, fast"),
            (r#"{"on":true,"inner":{"cap":11}}"#, "inner.cap", "an integer of 1..10"),
            (r#"{"on":true,"inner":[]}"#, "inner", "an object"),
            (r#"{"on":true,"list":[{"cap":1},{"cap":0}]}"#, "list[1].cap", "an integer of 1..10"),
            (r#"{"on":true,"list":[{"cap":1},{"cap":1},{"cap":1}]}"#, "list", "a list of at most 2"),
            (r#"{"on":true,"list":{}}"#, "list", "a list of at most 2"),
            (r#"{"on":true,"way":[]}"#, "way", "an object"),
            (r#"{"on":true,"at":91}"#, "at", "a number of -90..90"),
            (r#"{"on":true,"at":"1"}"#, "at", "a number of -90..90"),
            ("[]", "", "an object"),
            ("7", "", "an object"),
        ];
        for (text, path, must) in cases {
            assert_eq!(read(text), Err((path.into(), must.into())), "{text}");
        }
    }

    #[test]
    fn a_session_is_called_by_safe_letters_alone() {
        let long = "x".repeat(200);
        for good in ["a", "ws:1", "telegram:4/2@x+y=z.w-_", &long] {
            assert!(SessionName::parse(good).is_some(), "{good}");
        }
        let longer = "x".repeat(201);
        for bad in ["", "a..b", "..", "a b", "ä", "a\n", "a\\b", "a%2e", "a\0", &longer] {
            assert!(SessionName::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn the_schema_says_what_the_reader_does() {
        let schema = Tried::schema().json();
        assert_eq!(schema["required"], serde_json::json!(["on"]));
        assert_eq!(schema["description"], "What is tried here.");
        assert_eq!(
            schema["properties"]["limit"],
            serde_json::json!({"type":"integer","minimum":1,"maximum":500,"default":50,"description":"How often."})
        );
        assert_eq!(
            schema["properties"]["pace"],
            serde_json::json!({"title":"Pace","description":"How it goes.","enum":["slow","fast"]})
        );
        assert_eq!(schema["properties"]["list"]["maxItems"], 2);
    }
}
