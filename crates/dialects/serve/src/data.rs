//! A small tree with keys in their order, for the `data` of a slash result.

use std::sync::Arc;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    List(Vec<Data>),
    /// Keys keep their order.
    Map(Vec<(&'static str, Data)>),
}

macro_rules! from {
    ($($from:ty => |$value:ident| $make:expr;)*) => { $(
        impl From<$from> for Data {
            fn from($value: $from) -> Self { $make }
        }
    )* };
}
from! {
    bool => |value| Data::Bool(value);
    i64 => |value| Data::Int(value);
    u64 => |value| Data::Int(i64::try_from(value).unwrap_or(i64::MAX));
    u32 => |value| Data::Int(value.into());
    usize => |value| Data::Int(i64::try_from(value).unwrap_or(i64::MAX));
    f64 => |value| Data::Float(value);
    &str => |value| Data::Text(value.into());
    String => |value| Data::Text(value.into());
    Arc<str> => |value| Data::Text(value);
    Vec<Data> => |value| Data::List(value);
}
impl<T: Into<Data>> From<Option<T>> for Data {
    fn from(value: Option<T>) -> Self {
        value.map_or(Data::Null, Into::into)
    }
}

impl Data {
    /// A list of texts.
    pub(crate) fn texts<I: IntoIterator<Item = T>, T: Into<Data>>(items: I) -> Data {
        Data::List(items.into_iter().map(Into::into).collect())
    }
}

/// `map! { "ok" => true, "model" => name }`
macro_rules! map {
    ($($key:literal => $value:expr),* $(,)?) => {
        $crate::data::Data::Map(vec![$(($key, $crate::data::Data::from($value))),*])
    };
}
pub(crate) use map;
