//! The published JSON Schema (draft 2020-12) of the dialect, written by hand beside the decoder and the writers; tests hold it
//! against both.

/// Every frame: `#/$defs/inbound` is what a controller writes, `#/$defs/outbound` what it reads, `#/$defs/METHOD.result` the
/// answer to one method; the root accepts either direction.
pub fn schema() -> &'static str {
    include_str!("../schema.json")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::sync::Arc;

    use serde_json::{Map, Value, json};
    use testkit::fakes::{CountedIds, TickingClock};
    use vocab::{Mode, ModelInfo, Opened, SessionId, State};
    use wire::{Dialect, Frame};

    use super::schema;
    use crate::methods::METHODS;
    use crate::own::Out;
    use crate::params::Needs;
    use crate::session_view::SessionView;
    use crate::{Loaf, LoafOptions};

    fn definitions() -> Value {
        let mut schema: Value = serde_json::from_str(schema()).unwrap();
        schema["$defs"].take()
    }

    fn requests(defs: &Value) -> &Vec<Value> {
        defs["inbound"]["oneOf"].as_array().unwrap()
    }

    #[test]
    fn it_has_every_method_once_with_what_it_needs_and_what_it_answers() {
        let defs = definitions();
        let published: Vec<(&str, Needs)> = requests(&defs)
            .iter()
            .map(|it| {
                assert!(it["description"].as_str().is_some_and(|text| text.ends_with('.')), "{it}");
                let needs = match &it["properties"]["params"] {
                    Value::Bool(true) => Needs::Nothing,
                    params if params["type"] == "object" => Needs::Object,
                    _ => Needs::Optional,
                };
                let is_needed = it["required"].as_array().unwrap().contains(&json!("params"));
                assert_eq!(is_needed, needs == Needs::Object, "{it}");
                (it["properties"]["method"]["const"].as_str().unwrap(), needs)
            })
            .collect();
        let known: Vec<(&str, Needs)> = METHODS.iter().map(|entry| (entry.name, entry.needs)).collect();
        assert_eq!(published, known);
        let answers: Vec<String> = METHODS.iter().map(|entry| format!("#/$defs/{}.result", entry.name)).collect();
        let listed = defs["response"]["properties"]["result"]["anyOf"].as_array().unwrap();
        assert_eq!(listed.iter().map(|it| it["$ref"].as_str().unwrap()).collect::<Vec<_>>(), answers);
        assert!(METHODS.iter().all(|entry| defs[format!("{}.result", entry.name)].is_object()));
    }

    /// A conversation with one session, `s`.
    fn loaf() -> Loaf {
        let info = Arc::new(ModelInfo::named("m", 1000));
        let state = State {
            session: SessionId::from("chat"),
            workspace: "/".into(),
            model: info.slug.clone(),
            mode: Mode::DangerFullAccess,
            thinking: None,
            context_window: info.context_window,
            max_tokens: 100,
            context_tokens: 0,
            gadgets: Vec::new(),
            title: None,
            turn: None,
            messages: 0,
            results: 0,
            last_seq: 0,
            model_info: info.clone(),
            todos: Arc::new([]),
            file: None,
            lane: vocab::LanePolicy::default(),
            lane_is_own: false,
            elevated_until_ms: None,
            model_called: None,
            works_for: None,
        };
        let session = state.session.clone();
        let (tools, notices, present) = Default::default();
        let opened = Opened { session, resumed: false, state, tools, notices, present };
        let options = LoafOptions::new("0", Arc::new(TickingClock::default()), Arc::new(CountedIds::default()));
        let mut loaf = Loaf::new(LoafOptions { model: Some(info), ..options });
        loaf.views.push(SessionView::new(1, "s".into(), &opened, 0));
        loaf
    }

    fn errors(request: &Value) -> Vec<Value> {
        let mut out = Out::new();
        loaf().hear(Frame::Whole(request.to_string().as_bytes()), &mut out);
        let frames = String::from_utf8(out.frames.as_bytes().to_vec()).unwrap();
        let errors = frames.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["error"].take());
        errors.filter(|error| !error.is_null()).collect()
    }

    /// Whether the decoder lets a request through; what comes of it is another matter.
    fn is_taken(request: &Value) -> bool {
        !errors(request).iter().any(|error| error["code"].as_i64().unwrap() < -32000)
    }

    /// Every member of every method, wrong in a request about a session that nobody knows.
    #[test]
    fn the_shape_of_params_counts_before_what_they_are_about() {
        let defs = definitions();
        let mut wrong = 0;
        for rule in requests(&defs) {
            let method = &rule["properties"]["method"]["const"];
            let Some(members) = rule["properties"]["params"]["properties"].as_object() else { continue };
            let shaped = || members.iter().filter(|(_, shape)| shape.is_object());
            let mut full: Map<String, Value> =
                shaped().map(|(name, shape)| (name.clone(), sample(&defs, name, shape))).collect();
            if let Some(session) = full.get_mut("session_id") {
                *session = json!("nobody");
            }
            for (name, _) in shaped() {
                let mut params = full.clone();
                params.insert(name.clone(), json!(["wrong"]));
                let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
                let errors = errors(&request);
                assert_eq!(errors.len(), 1, "{request}: {errors:?}");
                assert_eq!(
                    (&errors[0]["code"], &errors[0]["data"]["field"]),
                    (&json!(-32602), &json!(name)),
                    "{request}"
                );
                wrong += 1;
            }
        }
        assert!(wrong > 25, "{wrong} tried");
    }

    /// Some value that a rule allows.
    fn sample(defs: &Value, name: &str, rule: &Value) -> Value {
        if let Some(name) = rule["$ref"].as_str() {
            return sample(defs, name, &defs[name.trim_start_matches("#/$defs/")]);
        }
        if let Some(words) = rule["enum"].as_array() {
            return words[0].clone();
        }
        let kind = rule["type"].as_array().map_or(&rule["type"], |kinds| &kinds[0]);
        match (name, kind.as_str()) {
            ("session_id", _) => json!("s"),
            ("protocol_version", _) => json!(crate::PROTOCOL),
            (_, Some("string")) => json!("word"),
            (_, Some("boolean")) => json!(true),
            (_, Some("number")) => json!(1),
            other => panic!("nothing is known of {other:?}"),
        }
    }

    /// With every param and with some left out; without one that is required, or with a wrong one, it is refused.
    #[test]
    fn the_decoder_wants_what_the_schema_says() {
        let defs = definitions();
        let (mut taken, mut refused) = (0, 0);
        for rule in requests(&defs) {
            let method = &rule["properties"]["method"]["const"];
            let ask = |params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let about = &rule["properties"]["params"];
            if *about == json!(true) {
                assert!([json!([1]), json!({}), json!(null)].map(ask).iter().all(is_taken), "{method}");
                taken += 1;
                continue;
            }
            let mut full = Map::new();
            // Members that may be anything are not looked at.
            for (name, shape) in about["properties"].as_object().unwrap().iter().filter(|(_, it)| it.is_object()) {
                full.insert(name.clone(), sample(&defs, name, shape));
            }
            assert!(is_taken(&ask(json!(full))), "{method} {full:?}");
            let required = |name: &str| about["required"].as_array().is_some_and(|it| it.contains(&json!(name)));
            for name in full.keys() {
                let mut other = full.clone();
                other.insert(name.clone(), Value::Null);
                assert_eq!(is_taken(&ask(json!(other))), !required(name), "{method} without {name}");
                other.insert(name.clone(), json!({ "no": ["such", "thing"] }));
                assert!(!is_taken(&ask(json!(other))), "{method} with a wrong {name}");
                refused += 1;
            }
            full.insert("more".into(), json!(1));
            assert!(is_taken(&ask(json!(full))), "{method} with one more");
            assert!(!is_taken(&ask(json!([]))), "{method} with a list");
            taken += 1;
        }
        assert!(taken == METHODS.len() && refused > 25, "{taken} taken, {refused} refused");
    }

    /// Every text in quotes that is in the sources, without this file's.
    fn quoted() -> Vec<(String, String)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let sources = [folder.clone(), folder.join("replies")].map(|folder| std::fs::read_dir(folder).unwrap());
        let paths = sources.into_iter().flatten().map(|file| file.unwrap().path());
        let paths = paths.filter(|path| path.is_file() && !path.ends_with("schema.rs"));
        let mut found = Vec::new();
        for text in paths.map(|path| std::fs::read_to_string(path).unwrap()) {
            let pieces: Vec<&str> = text.split('"').collect();
            found.extend(pieces.windows(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())));
        }
        found
    }

    fn words(list: &Value) -> BTreeSet<String> {
        list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_reason_in_the_sources_is_published_and_no_other() {
        let is_reason = |before: &str| before.ends_with("RpcFault::domain(") || before.ends_with("RpcFault::because(");
        let found = quoted().into_iter().filter(|(before, _)| is_reason(before));
        let mut reasons: BTreeSet<String> = found.map(|(_, text)| text).collect();
        // One per kind of fault; a fault of ours has a code of its own.
        let table = include_str!("faults.rs").split("fn reason(").nth(1).unwrap().split("\n}").next().unwrap();
        reasons.extend(table.split("=> \"").skip(1).map(|piece| piece.split('"').next().unwrap().to_owned()));
        reasons.remove("internal_error");
        assert_eq!(reasons, words(&definitions()["domainReason"]["enum"]));
    }

    #[test]
    fn every_event_in_the_sources_is_published_and_no_other() {
        let is_event = |text: &String| {
            let known = ["session.", "compaction.", "auth.flow.", "state."].iter().any(|start| text.starts_with(start));
            let plain = text.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '.' | '_'));
            known && plain && METHODS.iter().all(|entry| entry.name != text)
        };
        let told: BTreeSet<String> = quoted().into_iter().map(|(_, text)| text).filter(is_event).collect();
        let defs = definitions();
        let known = defs["event"]["properties"]["params"]["oneOf"].as_array().unwrap();
        let published: Vec<&str> = known.iter().map(|it| it["properties"]["type"]["const"].as_str().unwrap()).collect();
        assert_eq!(told, published.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(told.len(), published.len());
    }
}
