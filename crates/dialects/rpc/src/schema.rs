//! The published JSON Schema (draft 2020-12) of the dialect. It is written by hand, beside the decoder and the writers;
//! tests hold it against both.

/// Every frame: `#/$defs/inbound` is what a host writes, `#/$defs/outbound` what it reads; the root accepts either.
pub fn schema() -> &'static str {
    include_str!("../schema.json")
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::schema;
    use crate::inbound::{COMMANDS, HeardLine, Refused, from_wire};

    fn definitions() -> Value {
        let mut schema: Value = serde_json::from_str(schema()).unwrap();
        schema["$defs"].take()
    }

    fn commands(defs: &Value) -> &Vec<Value> {
        defs["command"]["oneOf"].as_array().unwrap()
    }

    #[test]
    fn it_has_every_command_with_its_description_and_no_other() {
        let defs = definitions();
        let published: Vec<(&str, &str)> = commands(&defs)
            .iter()
            .map(|it| (it["properties"]["type"]["const"].as_str().unwrap(), it["description"].as_str().unwrap()))
            .collect();
        assert_eq!(published, COMMANDS);
    }

    #[test]
    fn every_command_can_succeed_or_is_known_never_to() {
        let defs = definitions();
        let mut answered = Vec::new();
        for response in defs["response"]["oneOf"].as_array().unwrap() {
            match &response["properties"]["command"] {
                Value::Object(rule) if rule.contains_key("const") => answered.push(rule["const"].clone()),
                Value::Object(rule) => answered.extend(rule["enum"].as_array().unwrap().iter().cloned()),
                _ => assert_eq!(response, &json!({ "$ref": "#/$defs/failure" })),
            }
        }
        for (name, _) in COMMANDS {
            let times = answered.iter().filter(|answered| *answered == name).count();
            let refused = ["login", "get_subagent_messages"].contains(name);
            assert_eq!(times, usize::from(!refused), "{name}");
        }
    }

    /// Some value that a rule allows.
    fn sample(defs: &Value, rule: &Value) -> Value {
        if let Some(name) = rule["$ref"].as_str() {
            return sample(defs, &defs[name.trim_start_matches("#/$defs/")]);
        }
        if let Some(options) = rule["oneOf"].as_array() {
            return sample(defs, &options[0]);
        }
        if !rule["const"].is_null() {
            return rule["const"].clone();
        }
        if let Some(words) = rule["enum"].as_array() {
            return words[0].clone();
        }
        let kind = rule["type"].as_array().map_or(&rule["type"], |kinds| &kinds[0]);
        match kind.as_str() {
            Some("string") => json!("word"),
            Some("boolean") => json!(true),
            Some("integer" | "number") => json!(1),
            Some("array") => json!([sample(defs, &rule["items"])]),
            Some("object") => object(defs, rule),
            other => panic!("nothing is known of {other:?}"),
        }
    }

    fn object(defs: &Value, rule: &Value) -> Value {
        let mut members = Map::new();
        for (name, shape) in rule["properties"].as_object().into_iter().flatten() {
            // CommandMembers that may be anything are tried by leaving them out.
            if shape != &json!(true) && shape["items"] != json!(true) {
                members.insert(name.clone(), sample(defs, shape));
            }
        }
        Value::Object(members)
    }

    fn is_taken(line: &Value) -> bool {
        match from_wire(line.to_string().as_bytes()) {
            Ok(HeardLine::Command(..) | HeardLine::Answer(_)) => true,
            Err(Refused::Unknown { .. } | Refused::Wrong { .. }) => false,
            Err(Refused::Malformed(why)) => panic!("{line}: {why}"),
        }
    }

    /// With every member, and with the required ones only; without one of those, or with a wrong one, it is refused.
    #[test]
    fn the_decoder_wants_what_the_schema_says() {
        let defs = definitions();
        let answers = defs["answer"]["oneOf"].as_array().unwrap();
        let (mut taken, mut refused) = (0, 0);
        for rule in commands(&defs).iter().chain(answers) {
            let full = object(&defs, rule);
            assert!(is_taken(&full), "{full}");
            let required: Vec<&str> = rule["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            for name in full.as_object().unwrap().keys().filter(|name| *name != "type") {
                let mut without = full.clone();
                without.as_object_mut().unwrap().remove(name);
                assert_eq!(is_taken(&without), !required.contains(&name.as_str()), "{without}");
                let mut wrong = full.clone();
                wrong[name] = json!({ "no": ["such", "thing"] });
                // Of what is not looked at, nothing is wrong.
                let unread = ["id", "timedOut"].contains(&name.as_str());
                if !unread || (name == "id" && required.contains(&"id")) {
                    assert!(!is_taken(&wrong), "{wrong}");
                    refused += 1;
                }
            }
            taken += 1;
        }
        assert!(taken == COMMANDS.len() + 3 && refused > 40, "{taken} taken, {refused} refused");
    }
}
