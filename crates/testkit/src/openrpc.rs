//! Whether the frames of a conversation are what an OpenRPC document with events says, and nothing beyond it.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::schema::Schema;

/// One connection's frames.
pub struct FrameCheck {
    schema: Schema,
    results: HashMap<String, Value>,
    /// The method of each id that was asked.
    asked: HashMap<String, String>,
}

impl FrameCheck {
    pub fn new(document: &Value) -> Self {
        let methods = document["methods"].as_array().expect("methods");
        let result = |method: &Value| {
            let name = method["name"].as_str().expect("a name").to_owned();
            (name, method["result"]["schema"].clone())
        };
        let results = methods.iter().map(result).collect();
        Self { schema: Schema::closed(&document.to_string()), results, asked: HashMap::new() }
    }

    /// What a client says.
    pub fn asked(&mut self, frame: &Value) {
        if let (Some(id), Some(method)) = (frame.get("id"), frame["method"].as_str()) {
            self.asked.insert(id.to_string(), method.to_owned());
        }
    }

    pub fn was_asked(&self, id: &Value) -> bool {
        self.asked.contains_key(&id.to_string())
    }

    /// What it is told; `Err` says what is not in the document.
    pub fn heard(&self, frame: &Value) -> Result<(), String> {
        let mut rest = frame.as_object().ok_or("a frame is an object")?.clone();
        let id = rest.remove("id").ok_or("no id")?;
        rest.remove("jsonrpc");
        let found = match (rest.remove("result"), rest.remove("error"), rest.remove("event")) {
            (Some(result), None, None) => self.result(&id, &result),
            (None, Some(error), None) => self.error(&error),
            (None, None, Some(event)) => self.event(&event, &mut rest),
            _ => Err("neither a result nor an error nor an event".to_owned()),
        };
        let left = rest.keys().next().map_or(Ok(()), |name| Err(format!("{name}: not listed")));
        found.and(left).map_err(|why| format!("{why} in {frame}"))
    }

    fn result(&self, id: &Value, result: &Value) -> Result<(), String> {
        let method = self.asked.get(&id.to_string()).ok_or("nobody asked")?;
        let schema = self.results.get(method).ok_or_else(|| format!("{method} is not in the document"))?;
        self.schema.fits(schema, result).map_err(|why| format!("{method}: {why}"))
    }

    fn error(&self, error: &Value) -> Result<(), String> {
        let members = error.as_object().ok_or("an error is an object")?;
        let codes = self.schema.root()["components"]["errors"].as_object().expect("errors");
        let is_listed = codes.values().any(|known| known["code"] == error["code"]);
        let fits = is_listed && error["message"].is_string() && error.get("data").is_none_or(Value::is_object);
        let is_known = |name: &String| ["code", "message", "data"].contains(&name.as_str());
        if fits && members.keys().all(is_known) {
            Ok(())
        } else {
            Err("an error that is not in the document".to_owned())
        }
    }

    fn event(&self, event: &Value, rest: &mut Map<String, Value>) -> Result<(), String> {
        let name = event.as_str().ok_or("an event has a name")?;
        let data = rest.remove("data").ok_or("no data")?;
        let schema = &self.schema.root()["x-events"][name]["data"];
        self.schema.fits(schema, &data).map_err(|why| format!("{name}: {why}"))?;
        if rest.is_empty() {
            return Ok(());
        }
        let place = Value::Object(std::mem::take(rest));
        self.schema
            .fits(&self.schema.root()["x-event-place"], &place)
            .map_err(|why| format!("the place of {name}: {why}"))
    }
}
