//! Gemini: turns of calls and turns of answers side by side, no empty turn, and signatures where Gemini 3 wants them.

use serde_json::Value;

use super::{Checked, Known, ensure, good_name, list};

/// What the vendor says to put where a call of another model has no signature.
const NO_SIGNATURE: [&str; 2] = ["context_engineering_is_the_way_to_go", "skip_thought_signature_validator"];

pub(super) fn check(body: &Value, model: &str, known: &Known) -> Checked {
    for tool in list(&body["tools"]) {
        for (at, function) in list(&tool["functionDeclarations"]).iter().enumerate() {
            ensure(good_name(&function["name"]), || {
                format!("GenerateContentRequest.tools[0].function_declarations[{at}].name: Invalid function name.")
            })?;
        }
    }
    let contents = list(&body["contents"]);
    ensure(!contents.is_empty(), || "GenerateContentRequest.contents: contents is not specified".into())?;
    let mut before: &[Value] = &[];
    for (at, content) in contents.iter().enumerate() {
        let known_role = matches!(content["role"].as_str(), Some("user" | "model" | "function") | None);
        ensure(known_role, || "Please use a valid role: user, model.".into())?;
        let parts = list(&content["parts"]);
        ensure(!parts.is_empty(), || {
            format!("GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty.")
        })?;
        for part in parts {
            whole(at, part, known)?;
        }
        turns(at, content, before)?;
        before = parts;
    }
    ensure(count(before, "functionCall") == 0 && contents[contents.len() - 1]["role"] != "model", || {
        "Please ensure that the conversation ends with a user turn or a function response turn.".into()
    })?;
    if model.starts_with("gemini-3") { signed(contents) } else { Ok(()) }
}

fn count(parts: &[Value], kind: &str) -> usize {
    parts.iter().filter(|part| part[kind].is_object()).count()
}

/// A part has one kind of data, and a signature that was given.
fn whole(at: usize, part: &Value, known: &Known) -> Checked {
    let kinds = ["text", "inlineData", "fileData", "functionCall", "functionResponse"];
    let one = kinds.iter().filter(|kind| !part[**kind].is_null()).count() == 1;
    ensure(one, || {
        format!(
            "GenerateContentRequest.contents[{at}].parts: required oneof field 'data' must have one initialized field"
        )
    })?;
    let Some(seal) = part["thoughtSignature"].as_str() else { return Ok(()) };
    ensure(known.has(seal) || NO_SIGNATURE.contains(&seal), || "Thought signature is not valid.".into())
}

/// Calls and responses have turns of their own, one right behind the other and of the same length.
fn turns(at: usize, content: &Value, before: &[Value]) -> Checked {
    let parts = list(&content["parts"]);
    let (calls, responses) = (count(parts, "functionCall"), count(parts, "functionResponse"));
    let open = count(before, "functionCall");
    ensure(calls == 0 || (content["role"] == "model" && at > 0 && open == 0), || {
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
            .into()
    })?;
    ensure(responses == 0 || (content["role"] != "model" && open > 0), || {
        "Please ensure that function response turn comes immediately after a function call turn.".into()
    })?;
    ensure(responses == open, || {
        "Please ensure that the number of function response parts is equal to the number of function call parts of the \
         function call turn."
            .into()
    })?;
    let names = |parts: &[Value], kind: &str| -> Vec<String> {
        let mut names: Vec<String> =
            parts.iter().filter_map(|part| part[kind]["name"].as_str().map(Into::into)).collect();
        names.sort();
        names
    };
    ensure(responses == 0 || names(parts, "functionResponse") == names(before, "functionCall"), || {
        "Please ensure that function response names match the function call names.".into()
    })
}

/// The first call of every step since the user last spoke has a signature.
fn signed(contents: &[Value]) -> Checked {
    let spoken =
        |content: &Value| content["role"] != "model" && list(&content["parts"]).iter().any(|it| it["text"].is_string());
    let turn = contents.iter().rposition(spoken).unwrap_or(0);
    for (at, content) in contents.iter().enumerate().skip(turn) {
        let Some(call) = list(&content["parts"]).iter().find(|part| part["functionCall"].is_object()) else { continue };
        ensure(call["thoughtSignature"].is_string(), || {
            format!(
                "Function call is missing a thought_signature in functionCall parts. Additional data, function call `{}`, \
                 position {at}.",
                call["functionCall"]["name"].as_str().unwrap_or_default()
            )
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::table;
    use super::*;

    fn known() -> Known {
        let mut known = Known::default();
        known.trust("c2ln+/==");
        known
    }

    fn good() -> Value {
        let call = |name: &str| json!({ "functionCall": { "name": name, "args": {} } });
        let response = |name: &str| json!({ "functionResponse": { "name": name, "response": {} } });
        json!({
            "tools": [{ "functionDeclarations": [{ "name": "f" }] }],
            "contents": [
                { "role": "user", "parts": [{ "text": "old" }] },
                { "role": "model", "parts": [call("f")] },
                { "role": "user", "parts": [response("f")] },
                { "role": "model", "parts": [{ "text": "so", "thoughtSignature": "c2ln-_==" }] },
                { "role": "user", "parts": [{ "text": "hi" }] },
                { "role": "model", "parts": [
                    { "functionCall": { "name": "f", "args": {} }, "thoughtSignature": "c2ln+/==" }, call("g"),
                ] },
                { "role": "user", "parts": [response("f"), response("g")] },
            ],
        })
    }

    #[test]
    fn every_rule_refuses() {
        let take = |at: usize| move |body: &mut Value| drop(body["contents"].as_array_mut().unwrap().remove(at));
        table(
            &good(),
            &[
                (&|body| body["tools"][0]["functionDeclarations"][0]["name"] = "f g".into(), "Invalid function name"),
                (&|body| body["contents"] = json!([]), "contents is not specified"),
                (&|body| body["contents"][0]["role"] = "assistant".into(), "valid role"),
                (&|body| body["contents"][0]["parts"] = json!([]), "must not be empty"),
                (&|body| body["contents"][0]["parts"][0] = json!({}), "oneof field 'data'"),
                (&|body| body["contents"][3]["parts"][0]["thoughtSignature"] = "x".into(), "not valid"),
                (&take(0), "function call turn comes immediately after a user turn"),
                (
                    &|body| body["contents"][1]["role"] = "user".into(),
                    "function call turn comes immediately after a user turn",
                ),
                (&take(5), "function response turn comes immediately"),
                (&take(2), "number of function response parts"),
                (
                    &|body| drop(body["contents"][6]["parts"].as_array_mut().unwrap().pop()),
                    "number of function response parts",
                ),
                (&|body| body["contents"][6]["parts"][0]["functionResponse"]["name"] = "h".into(), "names match"),
                (&|body| drop(body["contents"].as_array_mut().unwrap().pop()), "ends with a user turn"),
                (&|body| body["contents"].as_array_mut().unwrap().truncate(4), "ends with a user turn"),
                (
                    &|body| drop(body["contents"][5]["parts"][0].as_object_mut().unwrap().remove("thoughtSignature")),
                    "missing a thought_signature",
                ),
                (&take(4), "missing a thought_signature"),
            ],
            |body| check(body, "gemini-3-mock", &known()),
        );
    }

    #[test]
    fn older_models_need_no_signature_and_a_stand_in_will_do() {
        let mut body = good();
        body["contents"][5]["parts"][0].as_object_mut().unwrap().remove("thoughtSignature");
        assert_eq!(check(&body, "gemini-2.5-mock", &known()), Ok(()));
        body["contents"][5]["parts"][0]["thoughtSignature"] = NO_SIGNATURE[0].into();
        assert_eq!(check(&body, "gemini-3-mock", &known()), Ok(()));
    }
}
