//! Tools that live with the host: what may be registered, in the words the family uses for what may not.

use vocab::{Json, Part, Required};

use crate::inbound::{HostTool, PromptContent};

/// Tools a host may register; more is refused.
pub(crate) const HOST_TOOLS_MAX: usize = 256;

/// What a host registers: everything by name, and what the model is offered.
#[derive(Debug, Default)]
pub(crate) struct Registered {
    pub(crate) names: Vec<String>,
    pub(crate) offered: Vec<vocab::HostTool>,
}

pub(crate) fn register(tools: Vec<HostTool>) -> Result<Registered, String> {
    if tools.len() > HOST_TOOLS_MAX {
        return Err(format!("at most {HOST_TOOLS_MAX} host tools can be registered"));
    }
    let mut registered = Registered::default();
    for (at, tool) in tools.into_iter().enumerate() {
        let text = |value: Option<serde_json::Value>| {
            let text = value.as_ref().and_then(serde_json::Value::as_str).map(|text| text.trim().to_owned());
            text.filter(|text| !text.is_empty())
        };
        let name = text(tool.name).ok_or_else(|| format!("Host tool at index {at} must provide a non-empty name"))?;
        let description = text(tool.description)
            .ok_or_else(|| format!("Host tool \"{name}\" must provide a non-empty description"))?;
        let schema = tool
            .parameters
            .filter(|schema| schema.get().starts_with('{'))
            .ok_or_else(|| format!("Host tool \"{name}\" must provide a JSON Schema object"))?;
        if registered.names.contains(&name) {
            return Err("RPC host tool names must be unique".into());
        }
        if tool.hidden != Some(true) {
            registered.offered.push(vocab::HostTool {
                name: name.as_str().into(),
                description: description.into(),
                schema: Json::trusted(schema.get()),
                required: Required::DangerFullAccess,
            });
        }
        registered.names.push(name);
    }
    Ok(registered)
}

/// What a host tool said. Kinds of content that nobody could show are left out.
pub(crate) fn parts(content: Vec<PromptContent>) -> Vec<Part> {
    let known = content.into_iter().filter_map(|content| match content {
        PromptContent::Text { text } => Some(Part::text(text)),
        PromptContent::Image { data, mime } => {
            Some(Part::Image(vocab::Image { mime: mime.into(), base64: data.into() }))
        }
        PromptContent::Other => None,
    });
    known.collect()
}

/// The error of a host tool: its text, or a fixed one.
pub(crate) fn error_text(content: Vec<PromptContent>) -> String {
    let texts: Vec<String> = content
        .into_iter()
        .filter_map(|content| match content {
            PromptContent::Text { text } => Some(text),
            PromptContent::Image { .. } | PromptContent::Other => None,
        })
        .collect();
    match texts.join("\n") {
        text if text.trim().is_empty() => "Host tool execution failed".to_owned(),
        text => text,
    }
}
