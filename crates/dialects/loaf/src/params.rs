//! Reads params by the rules of this wire: texts are trimmed, null and blank mean absent, what is not asked for is ignored.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::faults::RpcFault;
use crate::methods::MethodEntry;

pub(crate) struct Params {
    method: &'static str,
    members: Map<String, Value>,
}

/// Whether a method can do without params.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    /// Whatever is sent is ignored.
    Nothing,
    /// An object, or none.
    Optional,
    Object,
}

/// What a member has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Text,
    Flag,
    Number,
}

/// A member that a method reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
}

impl Params {
    /// Every member that the method reads has the right shape, or this says which has not. So a request that is wrong in
    /// itself is told so, whatever it is about.
    pub(crate) fn checked(entry: &MethodEntry, raw: Option<&RawValue>) -> Result<Self, RpcFault> {
        let params = Self::read(entry.name, entry.needs, raw)?;
        entry.fields.iter().try_for_each(|field| params.check(*field))?;
        Ok(params)
    }

    fn check(&self, field: Field) -> Result<(), RpcFault> {
        match (field.kind, field.required) {
            (Kind::Text, true) => self.text(field.name).map(drop),
            (Kind::Text, false) => self.text_maybe(field.name).map(drop),
            (Kind::Flag, true) => self.flag(field.name).map(drop),
            (Kind::Flag, false) => self.flag_maybe(field.name).map(drop),
            (Kind::Number, _) => self.number_maybe(field.name).map(drop),
        }
    }

    fn read(method: &'static str, needs: Needs, raw: Option<&RawValue>) -> Result<Self, RpcFault> {
        let raw = raw.map(RawValue::get).filter(|text| *text != "null");
        let members = match (needs, raw) {
            (Needs::Nothing, _) | (Needs::Optional, None) => Map::new(),
            (Needs::Object, None) => return Err(RpcFault::no_object(method)),
            (Needs::Optional | Needs::Object, Some(text)) => {
                serde_json::from_str(text).or_else(|_| piecewise(text)).map_err(|_| RpcFault::no_object(method))?
            }
        };
        Ok(Self { method, members })
    }

    fn get(&self, field: &str) -> Option<&Value> {
        self.members.get(field).filter(|value| !value.is_null())
    }
    /// As it stands, for what has rules of its own.
    pub(crate) fn take(&mut self, field: &str) -> Option<Value> {
        self.members.remove(field)
    }

    pub(crate) fn text(&self, field: &'static str) -> Result<String, RpcFault> {
        let text = self.get(field).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        text.map(str::to_owned).ok_or_else(|| RpcFault::field(self.method, field, "a non-empty string"))
    }

    pub(crate) fn text_maybe(&self, field: &'static str) -> Result<Option<String>, RpcFault> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
            Some(_) => Err(RpcFault::field(self.method, field, "a string")),
        }
    }

    pub(crate) fn flag(&self, field: &'static str) -> Result<bool, RpcFault> {
        let flag = self.get(field).and_then(Value::as_bool);
        flag.ok_or_else(|| RpcFault::field(self.method, field, "a boolean"))
    }

    /// Absent means no.
    pub(crate) fn flag_maybe(&self, field: &'static str) -> Result<bool, RpcFault> {
        match self.get(field) {
            None => Ok(false),
            Some(_) => self.flag(field),
        }
    }

    pub(crate) fn number_maybe(&self, field: &'static str) -> Result<Option<f64>, RpcFault> {
        match self.get(field) {
            None => Ok(None),
            Some(value) => match value.as_f64().filter(|number| number.is_finite()) {
                Some(number) => Ok(Some(number)),
                None => Err(RpcFault::field(self.method, field, "a finite number")),
            },
        }
    }
}

/// Member by member: a number that is too large for the type spoils no other member, and is of no type that is asked for.
fn piecewise(text: &str) -> serde_json::Result<Map<String, Value>> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
    let read = |raw: &RawValue| serde_json::from_str(raw.get()).unwrap_or_else(|_| Value::Array(Vec::new()));
    Ok(members.into_iter().map(|(name, raw)| (name, read(raw))).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(needs: Needs, value: &Value) -> Result<Params, RpcFault> {
        let raw = RawValue::from_string(value.to_string()).unwrap();
        Params::read("m", needs, Some(&raw))
    }

    #[test]
    fn who_needs_an_object_says_so() {
        let wants = "invalid params for m: expected object";
        for value in [json!([]), json!(1), json!("x"), json!(true)] {
            assert_eq!(read(Needs::Object, &value).err().unwrap().message, wants);
            assert_eq!(read(Needs::Optional, &value).err().unwrap().message, wants);
            assert!(read(Needs::Nothing, &value).is_ok());
        }
        assert!(read(Needs::Optional, &Value::Null).is_ok() && Params::read("m", Needs::Optional, None).is_ok());
        assert!(read(Needs::Object, &Value::Null).is_err() && Params::read("m", Needs::Object, None).is_err());
    }

    #[test]
    fn each_kind_of_member_has_its_text() {
        let params = read(Needs::Object, &json!({ "t": " x ", "blank": "  ", "n": 3, "b": true, "z": null })).unwrap();
        assert_eq!(params.text("t").unwrap(), "x");
        for field in ["blank", "n", "z", "missing"] {
            let problem = params.text(field).unwrap_err();
            assert_eq!(problem.message, format!("invalid params for m: `{field}` must be a non-empty string"));
        }
        assert_eq!(params.text_maybe("t").unwrap().as_deref(), Some("x"));
        for field in ["blank", "z", "missing"] {
            assert_eq!(params.text_maybe(field).unwrap(), None);
        }
        assert_eq!(params.text_maybe("n").unwrap_err().message, "invalid params for m: `n` must be a string");
        assert!(params.flag("b").unwrap() && params.flag_maybe("b").unwrap() && !params.flag_maybe("z").unwrap());
        for problem in [params.flag("z").unwrap_err(), params.flag("n").unwrap_err()] {
            assert!(problem.message.ends_with("must be a boolean"), "{}", problem.message);
        }
        assert_eq!(params.flag_maybe("n").unwrap_err().message, "invalid params for m: `n` must be a boolean");
        assert_eq!((params.number_maybe("n").unwrap(), params.number_maybe("z").unwrap()), (Some(3.0), None));
        assert_eq!(params.number_maybe("t").unwrap_err().message, "invalid params for m: `t` must be a finite number");
    }
}
