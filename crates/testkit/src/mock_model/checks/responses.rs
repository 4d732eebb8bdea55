//! OpenAI Responses: calls and outputs in pairs, reasoning with what it led to, ids of the right kind, seals untouched.

use serde_json::Value;

use super::{Checked, Known, ensure, good_name, list};

const ID_BYTES_MAX: usize = 64;

pub(super) fn check(body: &Value, known: &Known) -> Checked {
    for (at, tool) in list(&body["tools"]).iter().enumerate().filter(|(_, tool)| tool["type"] == "function") {
        ensure(good_name(&tool["name"]), || {
            format!("Invalid 'tools[{at}].name': string does not match pattern '^[a-zA-Z0-9_-]+$'.")
        })?;
    }
    if body["input"].as_str().is_some_and(|text| !text.is_empty()) {
        return Ok(());
    }
    let items = list(&body["input"]);
    ensure(!items.is_empty(), || "Missing required parameter: 'input'.".into())?;
    // Scripts use an id again in a later turn: a call is open from where it stands to its output, not for ever.
    let mut open: Vec<&str> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        identity(at, item)?;
        match item["type"].as_str() {
            Some("reasoning") => reasoning(item, items.get(at + 1), body, known)?,
            Some("function_call") => {
                open.push(word(&item["call_id"]));
                ensure(good_name(&item["name"]), || {
                    format!("Invalid 'input[{at}].name': string does not match pattern '^[a-zA-Z0-9_-]+$'.")
                })?;
            }
            Some("function_call_output") => {
                let call = word(&item["call_id"]);
                let place = open.iter().position(|have| *have == call);
                let place =
                    place.ok_or_else(|| format!("No tool call found for function call output with call_id {call}."))?;
                open.remove(place);
            }
            Some("message") | None => {
                let said = item["content"].is_string() || !list(&item["content"]).is_empty();
                ensure(said, || format!("Missing required parameter: 'input[{at}].content'."))?;
            }
            Some(other) => return Err(format!("Invalid value: '{other}'. Param 'input[{at}]'.")),
        }
        if let Some(thought) = known.behind.get(word(&item["id"])) {
            let there = at > 0 && items[at - 1]["id"] == thought.as_str();
            let (id, kind) = (word(&item["id"]), word(&item["type"]));
            ensure(there, || {
                format!("Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{thought}'.")
            })?;
        }
    }
    ensure(open.is_empty(), || format!("No tool output found for function call {}.", open.join(", ")))
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The ids of an item: not too long, and of its own kind.
fn identity(at: usize, item: &Value) -> Checked {
    for key in ["id", "call_id"] {
        ensure(word(&item[key]).len() <= ID_BYTES_MAX, || {
            format!(
                "Invalid 'input[{at}].{key}': string too long. Expected a string with maximum length {ID_BYTES_MAX}."
            )
        })?;
    }
    let want = match item["type"].as_str() {
        Some("reasoning") => "rs",
        Some("function_call") => "fc",
        Some("message") if item["role"] == "assistant" => "msg",
        _ => return Ok(()),
    };
    let Some(id) = item["id"].as_str() else { return Ok(()) };
    ensure(id.starts_with(want), || {
        format!("Invalid 'input[{at}].id': '{id}'. Expected an ID that begins with '{want}'.")
    })
}

fn reasoning(item: &Value, next: Option<&Value>, body: &Value, known: &Known) -> Checked {
    let id = word(&item["id"]);
    let led = next.is_some_and(|next| next["type"] == "function_call" || next["role"] == "assistant");
    ensure(led, || format!("Item '{id}' of type 'reasoning' was provided without its required following item."))?;
    let Some(seal) = item["encrypted_content"].as_str() else {
        return ensure(body["store"] != false, || {
            format!("Item with id '{id}' not found. Items are not persisted when `store` is set to false.")
        });
    };
    let words: String = list(&item["summary"]).iter().map(|part| word(&part["text"])).collect();
    ensure(known.fits(seal, &words), || format!("The encrypted content for item {id} could not be verified."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::table;
    use super::*;

    #[test]
    fn every_rule_refuses() {
        let mut known = Known::default();
        known.seals.insert("sig".into(), Some("hm".into()));
        known.behind.insert("fc_1".into(), "rs_1".into());
        let good = json!({
            "store": false,
            "tools": [{ "type": "function", "name": "f" }],
            "input": [
                { "role": "user", "content": "hi" },
                { "type": "reasoning", "id": "rs_1", "encrypted_content": "sig",
                  "summary": [{ "type": "summary_text", "text": "hm" }] },
                { "type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "c", "output": "" },
                { "type": "message", "role": "assistant", "id": "msg_1", "content": [{ "type": "output_text", "text": "x" }] },
                { "role": "user", "content": [{ "type": "input_text", "text": "on" }] },
            ],
        });
        let take = |at: usize| move |body: &mut Value| drop(body["input"].as_array_mut().unwrap().remove(at));
        table(
            &good,
            &[
                (&|body| body["tools"][0]["name"] = "f.g".into(), "tools[0].name"),
                (&|body| body["input"] = json!([]), "Missing required parameter: 'input'"),
                (&|body| body["input"] = "".into(), "Missing required parameter: 'input'"),
                (&take(3), "No tool output found for function call c"),
                (&|body| body["input"].as_array_mut().unwrap().swap(2, 3), "without its required following item"),
                (
                    &|body| {
                        take(1)(body);
                        take(1)(body);
                    },
                    "No tool call found for function call output with call_id c",
                ),
                (
                    &|body| {
                        let items = body["input"].as_array_mut().unwrap();
                        items.insert(3, items[3].clone());
                    },
                    "No tool call found for function call output with call_id c",
                ),
                (&|body| body["input"][2]["name"] = "f g".into(), "input[2].name"),
                (&|body| body["input"][0]["content"] = json!([]), "input[0].content"),
                (&|body| body["input"][0]["type"] = "words".into(), "Invalid value: 'words'"),
                (&take(1), "'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'"),
                (&|body| body["input"][2]["call_id"] = "c".repeat(65).into(), "input[2].call_id': string too long"),
                (&|body| body["input"][2]["id"] = "call_1".into(), "begins with 'fc'"),
                (&|body| body["input"][1]["id"] = "x".into(), "begins with 'rs'"),
                (&|body| body["input"][4]["id"] = "x".into(), "begins with 'msg'"),
                (&|body| body["input"][1]["encrypted_content"] = Value::Null, "'rs_1' not found"),
                (&|body| body["input"][1]["encrypted_content"] = "gis".into(), "could not be verified"),
                (&|body| body["input"][1]["summary"] = json!([]), "could not be verified"),
                (&|body| body["input"].as_array_mut().unwrap().truncate(2), "without its required following item"),
            ],
            |body| check(body, &known),
        );
    }
}
