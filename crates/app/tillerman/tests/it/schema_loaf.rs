//! The published schema of `loaf` is true: every line of every golden conversation is in it, an answer is what its method
//! promises, and every method and every command is answered in its words.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};
use testkit::schema::Schema;

use crate::cli::Place;
use crate::golden::{paused, repository};
use crate::loaf_stage;

struct Published(Schema);

/// The request that an answer belongs to. Ids that were used twice tell nothing.
#[derive(Default)]
struct Asked(HashMap<String, Option<String>>);

impl Asked {
    fn note(&mut self, request: &Value) {
        if let (Some(id), Some(method)) = (request.get("id"), request["method"].as_str()) {
            let entry = self.0.entry(id.to_string());
            entry.and_modify(|known| *known = None).or_insert(Some(method.to_owned()));
        }
    }

    fn method(&self, id: &Value) -> Option<&str> {
        self.0.get(&id.to_string())?.as_deref()
    }
}

impl Published {
    fn read() -> Self {
        Self(Schema::new(dialect_loaf::schema()))
    }

    /// Checks a conversation; the number of lines, or the first that is not as published.
    fn check(&self, talk: &str) -> Result<usize, String> {
        let lines: Vec<&str> = talk.lines().collect();
        let mut asked = Asked::default();
        let mut checked = 0;
        for (at, line) in lines.iter().enumerate() {
            let told = |why: String| format!("{line}\n{why}");
            if let Some(text) = line.strip_prefix("< ") {
                let value = serde_json::from_str(&counted(text)).map_err(|why| told(why.to_string()))?;
                self.told(&value, &asked).map_err(told)?;
            } else if let Some(text) = line.strip_prefix('>').map(str::trim).filter(|text| *text != "EOF") {
                let value = serde_json::from_str(text).unwrap_or(Value::Null);
                asked.note(&value);
                let next = lines[at + 1..].iter().take_while(|line| !line.starts_with('>'));
                let errors: Vec<Value> = next.filter_map(|line| error(line)).collect();
                self.heard(&value, &errors).map_err(told)?;
            } else {
                continue;
            }
            checked += 1;
        }
        Ok(checked)
    }

    fn told(&self, value: &Value, asked: &Asked) -> Result<(), String> {
        self.0.check("outbound", value)?;
        match (value.get("result"), asked.method(&value["id"])) {
            (Some(result), Some(method)) => self.0.check(&format!("{method}.result"), result),
            _ => Ok(()),
        }
    }

    /// What is in the schema is not refused for its form, and what is not is answered with an error, or passed over for
    /// want of an id.
    fn heard(&self, value: &Value, errors: &[Value]) -> Result<(), String> {
        match self.0.check("inbound", value) {
            Ok(()) if errors.iter().any(of_form) => Err(format!("is in the schema, and was refused: {errors:?}")),
            Err(why) if errors.is_empty() && value.get("id").is_some() => Err(format!("was not refused: {why}")),
            _ => Ok(()),
        }
    }
}

/// A golden file shows some counts as what they are.
fn counted(text: &str) -> String {
    text.replace("\"$INT\"", "1")
}

fn error(line: &str) -> Option<Value> {
    let mut value: Value = serde_json::from_str(&counted(line.strip_prefix("< ")?)).ok()?;
    Some(value["error"].take()).filter(|error| !error.is_null())
}

/// Whether a line was not even a request to one of our methods. That a text is blank, or a version another, no schema says.
fn of_form(error: &Value) -> bool {
    let is_version = error["data"]["reason"] == "unsupported_protocol_version";
    let is_blank = error["message"].as_str().is_some_and(|text| text.contains("non-empty string"));
    error["code"].as_i64().is_some_and(|code| code < -32000) && !is_version && !is_blank
}

#[test]
fn every_line_of_every_golden_conversation_is_in_the_schema() {
    let published = Published::read();
    let folder = std::fs::read_dir(repository().join("golden/loaf")).expect("the golden folder");
    let (mut talks, mut lines) = (0, 0);
    for path in folder.map(|entry| entry.expect("an entry").path()) {
        let talk = std::fs::read_to_string(&path).expect("a readable story");
        lines += published.check(&talk).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        talks += 1;
    }
    assert!(talks >= 30 && lines > 800, "{talks} conversations, {lines} lines");
}

/// Every method once, and every command, with something to talk about.
const ALL: &str = r#"
file   a.txt AAA\n
file   a.png x
> {"jsonrpc":"2.0","id":1,"method":"rpc.handshake","params":{"client_name":7,"protocol_version":"1.0.0","strict":true}}
> {"jsonrpc":"2.0","id":2,"method":"system.ping"}
> {"jsonrpc":"2.0","id":3,"method":"session.create","params":{"title":"all of it"}}
> {"jsonrpc":"2.0","id":4,"method":"debug.set","params":{"super_debug":true}}
> {"jsonrpc":"2.0","id":5,"method":"session.send","params":{"session_id":"s1","text":"think \"**Plan** it\" call read_file {\"path\":\"a.txt\"} then say done","images":[{"data_url":"data:image/png;base64,iVBORw0KGgo="}]}}
> {"jsonrpc":"2.0","id":6,"method":"session.get","params":{"session_id":"s1"}}
> {"jsonrpc":"2.0","id":7,"method":"session.send","params":{"session_id":"s1","text":"say one hold"}}
> {"jsonrpc":"2.0","id":8,"method":"session.send","params":{"session_id":"s1","text":"say two","enqueue":true,"images":[{"data_url":"data:image/png;base64,iVBORw0KGgo="}]}}
> {"jsonrpc":"2.0","id":9,"method":"session.steer","params":{"session_id":"s1","text":"left"}}
> {"jsonrpc":"2.0","id":10,"method":"session.queue.list","params":{"session_id":"s1"}}
> {"jsonrpc":"2.0","id":11,"method":"session.queue.clear","params":{"session_id":"s1"}}
> {"jsonrpc":"2.0","id":12,"method":"session.interrupt","params":{"session_id":"s1"}}
> {"jsonrpc":"2.0","id":13,"method":"state.get"}
> {"jsonrpc":"2.0","id":14,"method":"auth.status"}
> {"jsonrpc":"2.0","id":15,"method":"auth.connect.openai","params":{"mode":"browser"}}
> {"jsonrpc":"2.0","id":16,"method":"auth.connect.antigravity"}
> {"jsonrpc":"2.0","id":17,"method":"auth.set.openrouter_key","params":{"api_key":"k"}}
> {"jsonrpc":"2.0","id":18,"method":"auth.set.exa_key","params":{"api_key":"Skip"}}
> {"jsonrpc":"2.0","id":19,"method":"onboarding.complete"}
> {"jsonrpc":"2.0","id":20,"method":"onboarding.status"}
> {"jsonrpc":"2.0","id":21,"method":"model.list","params":{"provider":"openai"}}
> {"jsonrpc":"2.0","id":22,"method":"model.select","params":{"model_id":"mock/alpha","provider":"openai","thinking_level":"LOW","session_id":"s1","compress_immediately":true}}
> {"jsonrpc":"2.0","id":23,"method":"model.openrouter.providers","params":{"model_id":"m"}}
> {"jsonrpc":"2.0","id":24,"method":"limits.get"}
> {"jsonrpc":"2.0","id":25,"method":"history.list","params":{"limit":1}}
> {"jsonrpc":"2.0","id":26,"method":"history.get","params":{"last":true}}
> {"jsonrpc":"2.0","id":27,"method":"skills.list"}
> {"jsonrpc":"2.0","id":28,"method":"tools.list"}
> {"jsonrpc":"2.0","id":30,"method":"command.execute","params":{"session_id":"s1","raw_command":"hello"}}
> {"jsonrpc":"2.0","id":31,"method":"command.execute","params":{"session_id":"s1","raw_command":"/auth"}}
> {"jsonrpc":"2.0","id":32,"method":"command.execute","params":{"session_id":"s1","raw_command":"/onboarding"}}
> {"jsonrpc":"2.0","id":33,"method":"command.execute","params":{"session_id":"s1","raw_command":"/model"}}
> {"jsonrpc":"2.0","id":34,"method":"command.execute","params":{"session_id":"s1","raw_command":"/limits"}}
> {"jsonrpc":"2.0","id":35,"method":"command.execute","params":{"session_id":"s1","raw_command":"/history"}}
> {"jsonrpc":"2.0","id":36,"method":"command.execute","params":{"session_id":"s1","raw_command":"/history last"}}
> {"jsonrpc":"2.0","id":37,"method":"command.execute","params":{"session_id":"s1","raw_command":"/compress"}}
> {"jsonrpc":"2.0","id":38,"method":"command.execute","params":{"session_id":"s1","raw_command":"/skills"}}
> {"jsonrpc":"2.0","id":39,"method":"command.execute","params":{"session_id":"s1","raw_command":"/tools"}}
> {"jsonrpc":"2.0","id":40,"method":"command.execute","params":{"session_id":"s1","raw_command":"/help"}}
> {"jsonrpc":"2.0","id":41,"method":"command.execute","params":{"session_id":"s1","raw_command":"/nonsense"}}
> {"jsonrpc":"2.0","id":42,"method":"command.execute","params":{"session_id":"s1","raw_command":"/clear"}}
> {"jsonrpc":"2.0","id":43,"method":"history.clear_session","params":{"session_id":"s1"}}
> {"jsonrpc":"2.0","id":44,"method":"command.execute","params":{"session_id":"s1","raw_command":"/forgeteverything"}}
> {"jsonrpc":"2.0","id":45,"method":"system.shutdown"}
"#;

#[test]
fn every_method_and_every_command_is_answered_in_the_words_of_the_schema() {
    let published = Published::read();
    let play = testkit::golden::play(loaf_stage::scene(), ALL.trim_start());
    let played = paused(play);
    published.check(&played).unwrap_or_else(|why| panic!("{why}"));
    let frames = |mark: &str| -> Vec<Value> {
        let lines = played.lines().filter_map(|line| line.strip_prefix(mark));
        lines.map(|line| serde_json::from_str(&counted(line)).unwrap()).collect()
    };
    let sent = frames("> ");
    let called: BTreeSet<&str> = sent.iter().map(|it| it["method"].as_str().unwrap()).collect();
    let methods = published.0.definition("inbound")["oneOf"].as_array().unwrap();
    assert_eq!(called, methods.iter().map(|it| it["properties"]["method"]["const"].as_str().unwrap()).collect());
    let heard = frames("< ");
    for request in &sent {
        let answers = heard.iter().filter(|it| it.get("id") == request.get("id")).collect::<Vec<_>>();
        assert!(answers.len() == 1 && answers[0].get("result").is_some(), "{request}\n{answers:?}");
    }
}

#[test]
fn a_word_that_is_not_published_is_found() {
    let published = Published::read();
    let event = |kind: &str, payload: Value| {
        let params = json!({ "type": kind, "timestamp": "t", "payload": payload });
        format!("< {}", json!({ "jsonrpc": "2.0", "method": "event", "params": params }))
    };
    let good = event("session.error", json!({ "session_id": "s", "turn_id": "t", "message": "m" }));
    assert_eq!(published.check(&good), Ok(1));
    let ping = r#"> {"jsonrpc":"2.0","id":1,"method":"system.ping"}"#;
    let bad = [
        event("session.begun", json!({})),
        event("session.error", json!({ "session_id": "s", "message": "m" })),
        event("session.error", json!({ "session_id": "s", "turn_id": "t", "message": "m", "more": 1 })),
        r#"< {"jsonrpc":"2.0","id":1,"result":{"anything":1}}"#.into(),
        r#"< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m","data":{"reason":"bad_luck"}}}"#.into(),
        r#"< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m"}}"#.into(),
        // The answer to something else.
        format!("{ping}\n< {}", json!({ "jsonrpc": "2.0", "id": 1, "result": { "super_debug": true } })),
        // In the schema, and refused; not in the schema, and obeyed.
        format!(
            "{ping}\n< {}",
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32601, "message": "method not found: system.ping", "data": { "reason": "method_not_found", "method": "system.ping" } } })
        ),
        r#"> {"jsonrpc":"2.0","id":1,"method":"system.pong"}"#.into(),
        r#"> {"jsonrpc":"2.0","id":1,"method":"session.get"}"#.into(),
    ];
    for talk in bad {
        published.check(&talk).expect_err(&talk);
    }
}

#[test]
fn the_schema_is_printed() {
    assert_eq!(Place::new().run(&["schema", "loaf"]).ok().trim_end(), dialect_loaf::schema().trim_end());
}
