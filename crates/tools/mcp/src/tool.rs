//! One tool of a server. Its name is the server's own; what a model calls it is the engine's affair.

use std::sync::Arc;

use vocab::{CallContext, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use crate::frames::ToolInfo;
use crate::server::ToolServer;

/// Schema of one tool's arguments; a larger one is left out, and the tool takes any object.
pub const SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// A longer description is cut.
pub const DESCRIPTION_CHARS_MAX: usize = 8 * 1024;

/// What every model API takes.
const ANY_OBJECT: &str = r#"{"type":"object","properties":{}}"#;

pub(crate) struct ServerTool {
    spec: ToolSpec,
    summary: Arc<str>,
    required: Required,
    server: Arc<ToolServer>,
}

impl ServerTool {
    pub(crate) fn new(info: ToolInfo, server: Arc<ToolServer>) -> Self {
        let schema = schema(info.input_schema.as_ref().map_or("", |it| it.get()));
        let mut description: String =
            info.description.unwrap_or_default().chars().take(DESCRIPTION_CHARS_MAX).collect();
        if schema.is_none() {
            description.push_str(" (what its arguments look like is not known)");
        }
        let schema = schema.unwrap_or_else(|| Json::trusted(ANY_OBJECT));
        let is_reading = server.trust_hints && info.annotations.and_then(|it| it.read_only_hint).unwrap_or(false);
        Self {
            summary: format!("{}: {}", server.name, info.name).into(),
            spec: ToolSpec { name: info.name.into(), description: description.trim().into(), schema },
            required: if is_reading { Required::ReadOnly } else { Required::DangerFullAccess },
            server,
        }
    }
}

/// The schema with what some model APIs insist on; `None` when there is none that can be used.
fn schema(text: &str) -> Option<Json> {
    if text.len() > SCHEMA_BYTES_MAX {
        return None;
    }
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    if fields.get("type").is_some_and(|it| it == "object") && fields.contains_key("properties") {
        return Some(Json::trusted(text));
    }
    fields.insert("type".into(), "object".into());
    fields.entry("properties").or_insert_with(|| serde_json::json!({}));
    Some(Json::trusted(serde_json::Value::Object(fields).to_string()))
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn required(&self) -> Required {
        self.required
    }

    /// Only the server can tell what a call would do. Its word that a tool only reads counts where the user trusts it.
    fn plan(&self, _: &Json) -> Result<Plan, String> {
        let mutation = (self.required != Required::ReadOnly).then(|| self.summary.clone());
        Ok(Plan { required: self.required, mutation, summary: self.summary.clone(), preview: None })
    }

    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let (server, name) = (self.server.clone(), self.spec.name.clone());
        Box::pin(async move {
            // Asked for here: when the call begins, whoever traces has been told that there is one.
            let trace = context.processes.as_ref().and_then(|watch| watch.trace());
            server.call(&name, input, trace, context.progress).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_kept_completed_or_replaced() {
        let good = r#"{"type":"object", "properties":{"b":{},"a":{}}}"#;
        assert_eq!(schema(good), Some(Json::trusted(good)));
        assert_eq!(schema(r#"{"type":"object"}"#), Some(Json::trusted(r#"{"properties":{},"type":"object"}"#)));
        assert_eq!(schema("{}"), Some(Json::trusted(r#"{"properties":{},"type":"object"}"#)));
        assert_eq!(schema("true"), None);
        assert_eq!(schema(""), None);
        assert_eq!(schema(&format!("{{\"x\":\"{}\"}}", "y".repeat(SCHEMA_BYTES_MAX))), None);
    }
}
