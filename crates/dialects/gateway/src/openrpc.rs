//! Every method and event as an OpenRPC document, from the tables that also read and write them.

use serde_json::{Map, Value, json};

use crate::auth_state::MayAsk;
use crate::commands;
use crate::events::{EVENTS, EventPlaceData};
use crate::methods::{METHODS, MethodRow};
use crate::services::SERVICE_EVENTS;
use crate::services::system::GatewayLimits;
use crate::shape::{ShapeSchema, Shaped};

/// The errors that a method can have, by their numbers.
const ERRORS: [(i32, &str); 10] = [
    (-1, "ParseError"),
    (-2, "InvalidRequest"),
    (-3, "MethodNotFound"),
    (-4, "AuthRequired"),
    (-5, "AuthFailed"),
    (1, "SessionNotFound"),
    (2, "ToolNotFound"),
    (3, "AgentBusy"),
    (4, "RequestCancelled"),
    (5, "InternalError"),
];

/// The document.
pub fn openrpc(version: &str) -> Value {
    let events: Map<String, Value> = EVENTS
        .iter()
        .chain(SERVICE_EVENTS)
        .map(|row| (row.name.to_owned(), json!({ "description": row.doc, "data": (row.data)().json() })))
        .collect();
    json!({
        "openrpc": "1.3.2",
        "info": {
            "title": "tillerman gateway", "version": version,
            "description": "Frames are `{id, method, params}`; events come under the id of their request.",
        },
        "methods": METHODS.iter().map(method).collect::<Vec<_>>(),
        "components": { "errors": errors() },
        "x-events": events,
        "x-event-place": EventPlaceData::schema().json(),
        "x-commands": commands::words().collect::<Vec<_>>(),
        "x-limits": GatewayLimits::here(),
    })
}

fn method(row: &MethodRow) -> Value {
    json!({
        "name": row.name,
        "summary": row.doc,
        "paramStructure": "by-name",
        "params": params((row.params)()),
        "result": { "name": "result", "schema": (row.result)().json() },
        "errors": ERRORS.iter().map(|(code, name)| json!({ "code": code, "message": name })).collect::<Vec<_>>(),
        "x-scopes": row.may_ask.scopes().words(),
        "x-open": (row.may_ask == MayAsk::Anybody),
    })
}

/// Each member is a param of its own.
fn params(schema: ShapeSchema) -> Vec<Value> {
    let ShapeSchema::Object { members, .. } = schema else { return Vec::new() };
    let one = |member: crate::shape::ShapeMember| {
        let mut schema = member.schema.json();
        if let Some(usual) = member.usual.as_deref().and_then(|usual| serde_json::from_str::<Value>(usual).ok()) {
            schema["default"] = usual;
        }
        let mut it = json!({ "name": member.name, "required": member.is_required, "schema": schema });
        if !member.doc.is_empty() {
            it["description"] = json!(member.doc);
        }
        it
    };
    members.into_iter().map(one).collect()
}

fn errors() -> Map<String, Value> {
    ERRORS.iter().map(|(code, name)| ((*name).to_owned(), json!({ "code": code, "message": name }))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_method_is_there_once_and_says_what_it_takes_and_gives() {
        let document = openrpc("1.2.3");
        assert_eq!(document["info"]["version"], "1.2.3");
        let methods = document["methods"].as_array().unwrap();
        let names: BTreeSet<&str> = methods.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!((methods.len(), names.len()), (METHODS.len(), METHODS.len()));
        for method in methods {
            let name = &method["name"];
            assert!(method["summary"].as_str().is_some_and(|doc| doc.ends_with('.')), "{name}");
            assert_eq!(method["paramStructure"], "by-name", "{name}");
            assert!(method["result"]["schema"].is_object(), "{name}");
            for param in method["params"].as_array().unwrap() {
                assert!(param["name"].is_string() && param["required"].is_boolean(), "{name}: {param}");
                assert!(param["schema"].is_object(), "{name}: {param}");
            }
        }
        let put = methods.iter().find(|it| it["name"] == "canvas.put").unwrap();
        assert_eq!(
            put["params"][1],
            json!({"name": "artifactId", "required": true, "schema": {"type": "string", "minLength": 1, "maxLength": 128}})
        );
        assert_eq!(document["components"]["errors"]["AgentBusy"]["code"], 3);
        assert!(document["x-events"]["lane"]["data"]["properties"]["sessionId"].is_object());
    }
}
