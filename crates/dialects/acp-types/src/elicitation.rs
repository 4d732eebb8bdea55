//! `elicitation/create` (section 8): a form or an address for a person, and what came of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::forgiving::lenient;
use crate::open_enum::open_enum;

#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum ElicitationRequest {
    Form(FormRequest),
    Url(UrlRequest),
}

#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FormRequest {
    pub session_id: String,
    pub message: String,
    pub requested_schema: ElicitationSchema,
}

/// The part of JSON Schema that a form may use: an object of plain fields.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "type", rename = "object")]
pub struct ElicitationSchema {
    pub properties: BTreeMap<String, ElicitationField>,
    pub required: Vec<String>,
}

/// One field of a form.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ElicitationField {
    String {
        #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
        choices: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
    Boolean,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UrlRequest {
    pub elicitation_id: String,
    pub url: String,
    pub message: String,
}

open_enum! {
    /// What a person did with it.
    ElicitationAction { Accept = "accept", Decline = "decline", Cancel = "cancel" }
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ElicitationResponse {
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub action: Option<ElicitationAction>,
    /// By the form's own schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
}

impl ElicitationResponse {
    pub fn new(action: ElicitationAction, content: Option<Value>) -> Self {
        Self { action: Some(action), content }
    }

    /// What was filled in, where it was sent off.
    pub fn accepted(&self) -> Option<&Value> {
        self.content.as_ref().filter(|_| self.action == Some(ElicitationAction::Accept))
    }
}
