//! Tool arguments: a JSON object written by a model. Says what is missing or of the wrong type in words a model can
//! act on; lets unknown arguments pass, because models add some. Knows no tool.

use serde_json::{Map, Value};
use vocab::Json;

/// One argument: our name first, then the spellings of other families.
pub(crate) type Names = &'static [&'static str];

pub(crate) const PATH: Names = &["path", "file_path", "filePath"];

pub(crate) struct ToolArgs(Map<String, Value>);

impl ToolArgs {
    pub(crate) fn parse(input: &Json) -> Result<Self, String> {
        match serde_json::from_str(input.as_str()) {
            Ok(Value::Object(map)) => Ok(Self(map)),
            Ok(_) => Err("the arguments must be a JSON object".to_owned()),
            Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
        }
    }

    /// An element of a list argument.
    pub(crate) fn of(value: Value) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Self(map)),
            _ => None,
        }
    }

    /// `null` counts as absent. The spelling that was used comes back for error messages.
    fn take(&mut self, names: Names) -> Option<(&'static str, Value)> {
        names.iter().find_map(|name| match self.0.remove(*name) {
            None | Some(Value::Null) => None,
            Some(value) => Some((*name, value)),
        })
    }

    pub(crate) fn has(&self, names: Names) -> bool {
        names.iter().any(|name| self.0.get(*name).is_some_and(|value| !value.is_null()))
    }

    pub(crate) fn text(&mut self, names: Names) -> Result<String, String> {
        self.text_maybe(names)?.ok_or_else(|| missing(names))
    }

    pub(crate) fn text_maybe(&mut self, names: Names) -> Result<Option<String>, String> {
        match self.take(names) {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text)),
            Some((name, _)) => Err(format!("argument \"{name}\" must be a string")),
        }
    }

    /// A whole number; `10.0` and `"10"` are taken as 10.
    pub(crate) fn count_maybe(&mut self, names: Names) -> Result<Option<u64>, String> {
        let Some((name, value)) = self.take(names) else { return Ok(None) };
        let number = match &value {
            Value::Number(number) => number
                .as_i64()
                .or_else(|| number.as_f64().filter(|float| float.fract() == 0.0).map(|float| float as i64)),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number {
            None => Err(format!("argument \"{name}\" must be an integer")),
            Some(number) => {
                u64::try_from(number).map(Some).map_err(|_| format!("argument \"{name}\" must not be negative"))
            }
        }
    }

    /// `true` and `"true"` alike; absent is false.
    pub(crate) fn flag(&mut self, names: Names) -> Result<bool, String> {
        Ok(self.flag_maybe(names)?.unwrap_or(false))
    }

    pub(crate) fn flag_maybe(&mut self, names: Names) -> Result<Option<bool>, String> {
        match self.take(names) {
            None => Ok(None),
            Some((_, Value::Bool(flag))) => Ok(Some(flag)),
            Some((_, Value::String(text))) if text == "true" || text == "false" => Ok(Some(text == "true")),
            Some((name, _)) => Err(format!("argument \"{name}\" must be true or false")),
        }
    }

    pub(crate) fn list_maybe(&mut self, names: Names) -> Result<Option<Vec<Value>>, String> {
        match self.take(names) {
            None => Ok(None),
            Some((_, Value::Array(list))) => Ok(Some(list)),
            // Some models send a list as its JSON text.
            Some((name, Value::String(text))) => match serde_json::from_str(&text) {
                Ok(list) => Ok(Some(list)),
                Err(_) => Err(format!("argument \"{name}\" must be a list")),
            },
            Some((name, _)) => Err(format!("argument \"{name}\" must be a list")),
        }
    }
}

pub(crate) fn missing(names: Names) -> String {
    format!("missing required argument \"{}\"", names[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(text: &str) -> ToolArgs {
        ToolArgs::parse(&Json::trusted(text)).unwrap()
    }

    #[test]
    fn every_family_spelling_of_path_is_taken() {
        for key in ["path", "file_path", "filePath"] {
            assert_eq!(args(&format!("{{\"{key}\":\"a\",\"other\":1}}")).text(PATH).unwrap(), "a");
        }
    }

    #[test]
    fn errors_name_the_argument_and_what_it_should_be() {
        assert_eq!(args("{}").text(PATH).unwrap_err(), "missing required argument \"path\"");
        assert_eq!(args("{\"path\":null}").text(PATH).unwrap_err(), "missing required argument \"path\"");
        assert_eq!(args("{\"file_path\":3}").text(PATH).unwrap_err(), "argument \"file_path\" must be a string");
        let limit: Names = &["limit"];
        assert_eq!(
            args("{\"limit\":\"ten\"}").count_maybe(limit).unwrap_err(),
            "argument \"limit\" must be an integer"
        );
        assert_eq!(args("{\"limit\":1.5}").count_maybe(limit).unwrap_err(), "argument \"limit\" must be an integer");
        assert_eq!(args("{\"limit\":-1}").count_maybe(limit).unwrap_err(), "argument \"limit\" must not be negative");
        assert_eq!(args("{\"limit\":\"10\"}").count_maybe(limit).unwrap(), Some(10));
        assert_eq!(args("{\"limit\":10.0}").count_maybe(limit).unwrap(), Some(10));
        assert_eq!(args("{\"x\":\"yes\"}").flag(&["x"]).unwrap_err(), "argument \"x\" must be true or false");
        assert!(ToolArgs::parse(&Json::trusted("[]")).is_err());
        assert!(ToolArgs::parse(&Json::trusted("{")).is_err());
    }
}
