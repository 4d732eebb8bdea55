//! A validator for our published JSON Schemas. It knows just the words they use, and panics at any other, so that a
//! schema cannot promise what nobody checks.

use serde_json::Value;

/// A schema, read.
pub struct Schema {
    root: Value,
    closed: bool,
}

impl Schema {
    pub fn new(text: &str) -> Self {
        Self { root: serde_json::from_str(text).expect("the schema is JSON"), closed: false }
    }

    /// As if every object that lists its members had no others. Readers must put up with additions; what we write today
    /// is listed in full.
    pub fn closed(text: &str) -> Self {
        Self { closed: true, ..Self::new(text) }
    }

    pub fn root(&self) -> &Value {
        &self.root
    }

    pub fn definition(&self, name: &str) -> &Value {
        &self.root["$defs"][name]
    }

    /// Whether a value is what `#/$defs/DEFINITION` says; the error names the place.
    pub fn check(&self, definition: &str, value: &Value) -> Result<(), String> {
        self.fits(self.definition(definition), value)
    }

    pub fn fits(&self, schema: &Value, value: &Value) -> Result<(), String> {
        if schema == &Value::Bool(true) {
            return Ok(());
        }
        let rules = schema.as_object().ok_or("no such definition")?;
        for (word, rule) in rules {
            if !self.holds(schema, word, rule, value)? {
                return Err(format!("{word} {rule}"));
            }
        }
        if self.closed && rules.contains_key("properties") {
            return only_listed(schema, value);
        }
        Ok(())
    }

    fn holds(&self, schema: &Value, word: &str, rule: &Value, value: &Value) -> Result<bool, String> {
        Ok(match word {
            "description" | "title" | "default" => true,
            "$ref" => {
                let name = rule.as_str().and_then(|rule| rule.strip_prefix("#/$defs/")).expect("a local reference");
                self.check(name, value).map(|()| true)?
            }
            "oneOf" => self.one_of(options(rule), value).map(|()| true)?,
            "anyOf" => options(rule).iter().any(|option| self.fits(option, value).is_ok()),
            "type" => match rule {
                Value::String(name) => has_type(name, value),
                names => options(names).iter().any(|name| has_type(name.as_str().expect("a type's name"), value)),
            },
            "const" => value == rule,
            "enum" => options(rule).contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("a number")),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().expect("a number")),
            "minLength" => value.as_str().is_none_or(|text| text.chars().count() >= count(rule)),
            "maxLength" => value.as_str().is_none_or(|text| text.chars().count() <= count(rule)),
            // No regular expressions here: what has one is checked by whoever reads it.
            "pattern" => true,
            "minItems" => value.as_array().is_none_or(|list| list.len() >= count(rule)),
            "maxItems" => value.as_array().is_none_or(|list| list.len() <= count(rule)),
            "minProperties" => value.as_object().is_none_or(|map| map.len() >= count(rule)),
            "items" => match value.as_array() {
                Some(list) => list.iter().try_for_each(|item| self.fits(rule, item)).map(|()| true)?,
                None => true,
            },
            "required" => options(rule).iter().all(|name| value.get(name.as_str().expect("a name")).is_some()),
            "properties" => {
                for (name, shape) in rule.as_object().expect("properties are an object") {
                    if let Some(member) = value.get(name) {
                        self.fits(shape, member).map_err(|why| format!("{name}: {why}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                assert_eq!(rule, &Value::Bool(false), "nothing else is used");
                only_listed(schema, value).map(|()| true)?
            }
            unknown => panic!("the validator does not know {unknown}"),
        })
    }

    fn one_of(&self, options: &[Value], value: &Value) -> Result<(), String> {
        let tried: Vec<_> = options.iter().map(|option| self.fits(option, value)).collect();
        match tried.iter().filter(|one| one.is_ok()).count() {
            1 => Ok(()),
            0 => {
                // Options of another `type` or `command` have nothing to say about this one.
                let mut why: Vec<String> = tried.into_iter().filter_map(Result::err).collect();
                if why.iter().any(|why| !why.contains("const ")) {
                    why.retain(|why| !why.contains("const "));
                }
                Err(why.join(" | "))
            }
            fit => Err(format!("{fit} of oneOf fit")),
        }
    }
}

fn options(rule: &Value) -> &[Value] {
    rule.as_array().expect("a list")
}

fn count(rule: &Value) -> usize {
    usize::try_from(rule.as_u64().expect("a count")).expect("a small count")
}

fn only_listed(schema: &Value, value: &Value) -> Result<(), String> {
    let Some(map) = value.as_object() else { return Ok(()) };
    match map.keys().find(|name| schema["properties"].get(name).is_none()) {
        Some(name) => Err(format!("{name}: not listed")),
        None => Ok(()),
    }
}

fn has_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        unknown => panic!("the validator does not know the type {unknown}"),
    }
}
