//! The page for authors of extensions: its conversations are played with a real program, and every frame on it fits the
//! published schema.

use std::path::PathBuf;

use serde_json::Value;
use vocab::*;

use crate::support::*;

const WORKSPACE: &str = "/work/project";

fn page() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs/extensions.md");
    std::fs::read_to_string(path).unwrap()
}

fn examples() -> Vec<String> {
    page().split("```rpc\n").skip(1).map(|part| part.split("```").next().unwrap().to_owned()).collect()
}

/// The last thing that it says: whoever hears it has heard everything before, answers that nobody is told of among it.
const LAST: &str = "that was all";

/// Says what the example lets the extension say, in order, and writes down what it hears.
const REPLAY: &str = r#"
import json, sys
script, heard = open(sys.argv[0] + ".talk"), open(sys.argv[0] + ".heard", "w")
for line in script:
    if line.startswith("< "):
        sys.stdout.write(line[2:]); sys.stdout.flush()
    if line.startswith("> "):
        heard.write("> " + sys.stdin.readline()); heard.flush()
last = {"session": "s1", "message": "that was all", "level": "info"}
print(json.dumps({"jsonrpc": "2.0", "method": "ui/notify", "params": last}), flush=True)
for line in sys.stdin:
    if json.loads(line).get("method") == "shutdown":
        break
    heard.write("> " + line); heard.flush()
"#;

async fn play(example: &str) {
    let mut scene = ExtensionScene::new();
    let program = scene.write("example.py", REPLAY);
    scene.write("example.py.talk", example);
    scene.start(&[&program]).await;
    let mut actor = scene.stage.open().await;
    let mut turns = 0;
    for line in example.lines() {
        if let Some(text) = line.strip_prefix("prompt ") {
            actor.prompt(text).await;
            turns += 1;
        } else if let Some(answer) = line.strip_prefix("answer ") {
            let ask = dialog(&mut actor).await;
            super::support::answer(&mut actor, &ask, Answer::Confirmed(answer == "yes")).await;
        } else if let Some(typed) = line.strip_prefix("command /") {
            actor.turn_end().await;
            turns -= 1;
            let (name, args) = typed.split_once(' ').unwrap_or((typed, ""));
            command(&mut actor, name, args).await.unwrap();
            notice(&mut actor, "hello").await;
        }
    }
    if turns > 0 {
        assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    }
    // Ended before that, a session takes back what it has asked.
    notice(&mut actor, LAST).await;
    let troubles: Vec<_> = actor
        .told
        .iter()
        .filter(|told| matches!(told.event, Event::Extension(ExtensionEvent::Trouble { .. })))
        .collect();
    assert!(troubles.is_empty(), "{troubles:#?}");
    let workspace = scene.stage.workspace().display().to_string();
    scene.shutdown().await;
    let heard = std::fs::read_to_string(scene.dir.path().join("example.py.heard")).unwrap();
    let expected: String = example.lines().filter(|it| it.starts_with("> ")).map(|it| format!("{it}\n")).collect();
    assert_eq!(heard.replace(&workspace, WORKSPACE), expected);
}

#[tokio::test]
async fn the_conversations_on_the_page_are_what_happens() {
    let examples = examples();
    assert!(examples.len() >= 2);
    for example in examples {
        play(&example).await;
    }
}

#[test]
fn every_frame_on_the_page_fits_the_schema() {
    let schema = Schema(serde_json::from_str(extensions::schema()).unwrap());
    let mut frames = 0;
    for line in examples().iter().flat_map(|example| example.lines()) {
        let (definition, text) = match (line.strip_prefix("> "), line.strip_prefix("< ")) {
            (Some(text), _) => ("fromHost", text),
            (_, Some(text)) => ("fromExtension", text),
            _ => continue,
        };
        schema.check(definition, &serde_json::from_str(text).unwrap()).unwrap_or_else(|why| panic!("{text}: {why}"));
        frames += 1;
    }
    assert!(frames > 15, "{frames} frames");
    for bad in [
        r#"{"jsonrpc":"2.0","method":"ui/confirm","params":{"title":"without an id"}}"#,
        r#"{"jsonrpc":"2.0","method":"ui/notify","params":{"message":"x","level":"loud"}}"#,
        r#"{"jsonrpc":"2.0","method":"no/such","params":{}}"#,
    ] {
        assert!(schema.check("fromExtension", &serde_json::from_str(bad).unwrap()).is_err(), "{bad}");
    }
}

#[test]
fn the_page_names_every_method_event_and_hook_of_the_schema() {
    let schema: Value = serde_json::from_str(extensions::schema()).unwrap();
    let page = page();
    let frames = ["fromHost", "fromExtension"].map(|side| schema["$defs"][side]["oneOf"].as_array().unwrap().clone());
    let methods = frames.iter().flatten().filter_map(|frame| frame["properties"]["method"]["const"].as_str());
    let words = |name: &str| schema["$defs"][name]["enum"].as_array().unwrap().clone();
    let (events, hooks) = (words("eventName"), words("hook"));
    let names = events.iter().chain(&hooks).map(|name| name.as_str().unwrap());
    for name in methods.chain(names) {
        assert!(page.contains(&format!("`{name}`")) || page.contains(&format!("hook/{name}`")), "{name} is missing");
    }
}

/// Reads the published schema; knows just the words it uses.
struct Schema(Value);

impl Schema {
    fn check(&self, definition: &str, value: &Value) -> Result<(), String> {
        self.fits(&self.0["$defs"][definition], value)
    }

    fn fits(&self, schema: &Value, value: &Value) -> Result<(), String> {
        if schema == false {
            return Err("must not be there".into());
        }
        let list = |rule: &Value| rule.as_array().unwrap().clone();
        for (word, rule) in schema.as_object().ok_or("no such definition")? {
            let holds = match word.as_str() {
                "description" => true,
                "$ref" => self.check(rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap(), value).map(|()| true)?,
                "oneOf" | "anyOf" => {
                    let tried: Vec<_> = list(rule).iter().map(|option| self.fits(option, value)).collect();
                    match tried.iter().filter(|one| one.is_ok()).count() {
                        1 => true,
                        0 => return Err(format!("none fits: {tried:?}")),
                        _ => word == "anyOf",
                    }
                }
                "type" => match rule {
                    Value::String(name) => has_type(name, value),
                    names => list(names).iter().any(|name| has_type(name.as_str().unwrap(), value)),
                },
                "const" => value == rule,
                "enum" => list(rule).contains(value),
                "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
                "minItems" => value.as_array().is_none_or(|list| list.len() as u64 >= rule.as_u64().unwrap()),
                "maxProperties" => value.as_object().is_none_or(|map| map.len() as u64 <= rule.as_u64().unwrap()),
                "items" => value.as_array().is_none_or(|list| list.iter().all(|item| self.fits(rule, item).is_ok())),
                "required" => list(rule).iter().all(|name| value.get(name.as_str().unwrap()).is_some()),
                "properties" => {
                    for (name, shape) in rule.as_object().unwrap() {
                        if let Some(member) = value.get(name) {
                            self.fits(shape, member).map_err(|why| format!("{name}: {why}"))?;
                        }
                    }
                    true
                }
                unknown => panic!("the validator does not know {unknown}"),
            };
            if !holds {
                return Err(format!("{word} {rule}"));
            }
        }
        Ok(())
    }
}

fn has_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        unknown => panic!("the validator does not know the type {unknown}"),
    }
}
