//! The kinds of values that shapes are made of. Ranges are part of the type.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use vocab::{Json, MODEL_NAME_CHARS_MAX, SessionId};

use super::{ReadShape, ShapeSchema, Shaped, WrongParam};

/// Characters of a session's name.
pub const SESSION_NAME_CHARS_MAX: usize = 200;
/// What a session may be called, as a pattern.
const SESSION_NAME_PATTERN: &str = r"^(?!.*\.\.)[A-Za-z0-9._:@+/=-]{1,200}$";

fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(serde::Deserialize)]
    struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Borrowed<'_>>(raw.get()).ok().map(|Borrowed(text)| text)
}

/// Text of so many characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text<const MIN: usize, const MAX: usize>(pub Arc<str>);

impl<const MIN: usize, const MAX: usize> Shaped for Text<MIN, MAX> {
    fn schema() -> ShapeSchema {
        ShapeSchema::Text { min: MIN, max: Some(MAX), pattern: None }
    }
}
impl<const MIN: usize, const MAX: usize> ReadShape for Text<MIN, MAX> {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        let wrong = || WrongParam::new(format!("text of {MIN}..{MAX} characters"));
        let text = text_of(raw).ok_or_else(wrong)?;
        // As many bytes as characters at least: what is far too long is not counted.
        let fits = text.len() <= MAX * 4 && (MIN..=MAX).contains(&text.chars().count());
        fits.then(|| Self(text.into())).ok_or_else(wrong)
    }
}
impl<const MIN: usize, const MAX: usize> Serialize for Text<MIN, MAX> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

/// The name of a model. Blanks around it are nobody's, and not counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelName(pub Arc<str>);

impl Shaped for ModelName {
    fn schema() -> ShapeSchema {
        ShapeSchema::Text { min: 1, max: Some(MODEL_NAME_CHARS_MAX), pattern: None }
    }
}
impl ReadShape for ModelName {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        let wrong = || WrongParam::new(format!("text of 1..{MODEL_NAME_CHARS_MAX} characters"));
        let text = text_of(raw).ok_or_else(wrong)?;
        let name = text.trim();
        let fits = !name.is_empty() && name.chars().nth(MODEL_NAME_CHARS_MAX).is_none();
        fits.then(|| Self(name.into())).ok_or_else(wrong)
    }
}

/// Text of at most so many bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LongText<const BYTES: usize>(pub Arc<str>);

impl<const BYTES: usize> Shaped for LongText<BYTES> {
    fn schema() -> ShapeSchema {
        ShapeSchema::Text { min: 0, max: Some(BYTES), pattern: None }
    }
}
impl<const BYTES: usize> ReadShape for LongText<BYTES> {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        let wrong = || WrongParam::new(format!("text of at most {BYTES} bytes"));
        let text = text_of(raw).filter(|text| text.len() <= BYTES).ok_or_else(wrong)?;
        Ok(Self(text.into()))
    }
}
impl<const BYTES: usize> Serialize for LongText<BYTES> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

/// A whole number of this range.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Count<const MIN: i64, const MAX: i64>(pub i64);

impl<const MIN: i64, const MAX: i64> Count<MIN, MAX> {
    /// Of a range that has nothing below 0.
    pub fn size(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }
    pub fn number(self) -> u64 {
        u64::try_from(self.0).unwrap_or(0)
    }
}
impl<const MIN: i64, const MAX: i64> Shaped for Count<MIN, MAX> {
    fn schema() -> ShapeSchema {
        ShapeSchema::Integer { min: MIN, max: MAX }
    }
}
impl<const MIN: i64, const MAX: i64> ReadShape for Count<MIN, MAX> {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        let number = serde_json::from_str::<i64>(raw.get()).ok().filter(|number| (MIN..=MAX).contains(number));
        number.map(Self).ok_or_else(|| WrongParam::new(format!("an integer of {MIN}..{MAX}")))
    }
}
impl<const MIN: i64, const MAX: i64> Serialize for Count<MIN, MAX> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(self.0)
    }
}

/// A number of this range.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Real<const MIN: i64, const MAX: i64>(pub f64);

impl<const MIN: i64, const MAX: i64> Shaped for Real<MIN, MAX> {
    fn schema() -> ShapeSchema {
        ShapeSchema::Number { min: Some(MIN), max: Some(MAX) }
    }
}
impl<const MIN: i64, const MAX: i64> ReadShape for Real<MIN, MAX> {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        let fits = |number: &f64| (MIN as f64..=MAX as f64).contains(number);
        let number = serde_json::from_str::<f64>(raw.get()).ok().filter(fits);
        number.map(Self).ok_or_else(|| WrongParam::new(format!("a number of {MIN}..{MAX}")))
    }
}
impl<const MIN: i64, const MAX: i64> Serialize for Real<MIN, MAX> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.0)
    }
}

/// At most so many.
#[derive(Clone, PartialEq, Debug)]
pub struct List<T, const MAX: usize>(pub Vec<T>);

impl<T: Shaped, const MAX: usize> Shaped for List<T, MAX> {
    fn schema() -> ShapeSchema {
        ShapeSchema::List { of: Box::new(T::schema()), max: Some(MAX) }
    }
}
impl<T: ReadShape, const MAX: usize> ReadShape for List<T, MAX> {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        let items = serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok().filter(|items| items.len() <= MAX);
        let items = items.ok_or_else(|| WrongParam::new(format!("a list of at most {MAX}")))?;
        let read = items.into_iter().enumerate();
        read.map(|(at, item)| T::read(item).map_err(|wrong| wrong.inside(&format!("[{at}]"))))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}
impl<T: Serialize, const MAX: usize> Serialize for List<T, MAX> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

/// The name of a session: safe letters, and no way out of a directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionName(pub SessionId);

impl SessionName {
    pub fn parse(text: &str) -> Option<Self> {
        let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"._:@+/=-".contains(&byte);
        let fits = (1..=SESSION_NAME_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_safe);
        (fits && !text.contains("..")).then(|| Self(text.into()))
    }
}
impl Shaped for SessionName {
    fn schema() -> ShapeSchema {
        ShapeSchema::Text { min: 1, max: Some(SESSION_NAME_CHARS_MAX), pattern: Some(SESSION_NAME_PATTERN) }
    }
}
impl ReadShape for SessionName {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        let must = "a session id: 1..200 of A-Z a-z 0-9 . _ : @ + / = -, without `..`";
        text_of(raw).and_then(|text| Self::parse(&text)).ok_or_else(|| WrongParam::new(must))
    }
}
impl Serialize for SessionName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.as_str())
    }
}

/// Any JSON, carried as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnyJson(pub Json);

/// A JSON object, carried as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectJson(pub Json);

impl Shaped for AnyJson {
    fn schema() -> ShapeSchema {
        ShapeSchema::Any
    }
}
impl ReadShape for AnyJson {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        Ok(Self(Json::trusted(raw.get()).on_one_line()))
    }
}
impl Shaped for ObjectJson {
    fn schema() -> ShapeSchema {
        ShapeSchema::FreeObject
    }
}
impl ReadShape for ObjectJson {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        let is_object = raw.get().starts_with('{');
        is_object.then(|| Self(Json::trusted(raw.get()).on_one_line())).ok_or_else(|| WrongParam::new("an object"))
    }
}

fn write_json<S: Serializer>(json: &Json, to: S) -> Result<S::Ok, S::Error> {
    let raw: &RawValue = serde_json::from_str(json.as_str()).map_err(serde::ser::Error::custom)?;
    raw.serialize(to)
}
impl Serialize for AnyJson {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        write_json(&self.0, to)
    }
}
impl Serialize for ObjectJson {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        write_json(&self.0, to)
    }
}

/// Three things can be said of it: nothing, that it is to go, what it is to be.
#[derive(Clone, PartialEq, Debug)]
pub enum Wish<T> {
    Untouched,
    Cleared,
    Set(T),
}
impl<T: Shaped> Shaped for Wish<T> {
    fn schema() -> ShapeSchema {
        ShapeSchema::OrNull(Box::new(T::schema()))
    }
    fn is_optional() -> bool {
        true
    }
}
impl<T: ReadShape> ReadShape for Wish<T> {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        if raw.get() == "null" { Ok(Wish::Cleared) } else { T::read(raw).map(Wish::Set) }
    }
    fn absent() -> Option<Self> {
        Some(Wish::Untouched)
    }
}

/// Written as `null` where there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nullable<T>(pub Option<T>);

impl<T: Shaped> Shaped for Nullable<T> {
    fn schema() -> ShapeSchema {
        ShapeSchema::OrNull(Box::new(T::schema()))
    }
}
impl<T: Serialize> Serialize for Nullable<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

/// Left out where there is none; `null` is none.
impl<T: Shaped> Shaped for Option<T> {
    fn schema() -> ShapeSchema {
        T::schema()
    }
    fn is_optional() -> bool {
        true
    }
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}
impl<T: ReadShape> ReadShape for Option<T> {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        if raw.get() == "null" { Ok(None) } else { T::read(raw).map(Some) }
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl Shaped for bool {
    fn schema() -> ShapeSchema {
        ShapeSchema::Bool
    }
}
impl ReadShape for bool {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        serde_json::from_str(raw.get()).map_err(|_| WrongParam::new("true or false"))
    }
}

macro_rules! written {
    ($($ty:ty => $schema:expr),* $(,)?) => { $(impl Shaped for $ty { fn schema() -> ShapeSchema { $schema } })* };
}
written! {
    String => ShapeSchema::Text { min: 0, max: None, pattern: None },
    Arc<str> => ShapeSchema::Text { min: 0, max: None, pattern: None },
    &'static str => ShapeSchema::Text { min: 0, max: None, pattern: None },
    u64 => ShapeSchema::Integer { min: 0, max: i64::MAX },
    i64 => ShapeSchema::Integer { min: i64::MIN, max: i64::MAX },
    f64 => ShapeSchema::Number { min: None, max: None },
}

impl<T: Shaped> Shaped for Vec<T> {
    fn schema() -> ShapeSchema {
        ShapeSchema::List { of: Box::new(T::schema()), max: None }
    }
}

/// No params, or nothing to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nothing;

impl Shaped for Nothing {
    fn schema() -> ShapeSchema {
        ShapeSchema::Object { name: "Nothing", doc: "", members: Vec::new() }
    }
}
impl ReadShape for Nothing {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        super::Members::of(raw).map(|_| Self)
    }
}
