//! The published schema of `rpc` is true: every line of every golden conversation is in it, and every command is answered
//! in its words.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use testkit::golden::Scene;
use testkit::schema::Schema;

use crate::golden::{paused, repository, rpc};

/// What a host may write is open; what we write is listed in full.
struct Published {
    inbound: Schema,
    outbound: Schema,
}

impl Published {
    fn read() -> Self {
        Self { inbound: Schema::new(dialect_rpc::schema()), outbound: Schema::closed(dialect_rpc::schema()) }
    }

    /// Checks a conversation; the number of lines, or the first that is not as published.
    fn check(&self, talk: &str) -> Result<usize, String> {
        let lines: Vec<&str> = talk.lines().collect();
        let mut checked = 0;
        for (at, line) in lines.iter().enumerate() {
            let told = |why: String| format!("{line}\n{why}");
            if let Some(text) = line.strip_prefix("< ") {
                let value: Value = serde_json::from_str(text).map_err(|why| told(why.to_string()))?;
                self.outbound.check("outbound", &value).map_err(told)?;
            } else if let Some(text) = line.strip_prefix('>').map(str::trim).filter(|text| *text != "EOF") {
                let answers = lines[at + 1..].iter().take_while(|line| !line.starts_with('>'));
                let errors: Vec<String> = answers.filter_map(|line| error(line)).collect();
                self.heard(text, &errors).map_err(told)?;
            } else {
                continue;
            }
            checked += 1;
        }
        Ok(checked)
    }

    /// A line that is not in the schema is refused, and one that is is known.
    fn heard(&self, text: &str, errors: &[String]) -> Result<(), String> {
        let fits = match serde_json::from_str::<Value>(text) {
            Ok(value) => self.inbound.check("inbound", &value),
            Err(_) if text.is_empty() => return Ok(()),
            Err(why) => Err(why.to_string()),
        };
        match fits {
            Ok(()) if errors.iter().any(|error| error.starts_with("Unknown command")) => {
                Err("is in the schema, and nobody knows it".into())
            }
            // A mode or a level that nobody knows is passed over, as in the originals.
            Err(why) if errors.is_empty() && !why.contains("enum") => Err(format!("was not refused: {why}")),
            _ => Ok(()),
        }
    }
}

/// The error of a response that failed.
fn error(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line.strip_prefix("< ")?).ok()?;
    value["error"].as_str().filter(|_| value["success"] == false).map(str::to_owned)
}

fn talks(folder: &Path) -> Vec<(String, String)> {
    let files = std::fs::read_dir(folder).expect("the golden folder").map(|entry| entry.expect("an entry").path());
    let mut talks: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|end| end == "talk"))
        .map(|file| (file.display().to_string(), std::fs::read_to_string(&file).expect("a readable story")))
        .collect();
    talks.sort();
    talks
}

#[test]
fn every_line_of_every_golden_conversation_is_in_the_schema() {
    let published = Published::read();
    let talks = talks(&repository().join("golden/rpc"));
    let mut lines = 0;
    for (name, talk) in &talks {
        lines += published.check(talk).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    assert!(talks.len() >= 5 && lines > 100, "{} conversations, {lines} lines", talks.len());
}

/// Every command once, with something to talk about.
const ALL: &str = r#"
file   a.txt alpha\n
model  think "Hm." say "Reading." call read {"path":"a.txt"}
model  say "Done."
model  say "Summary."
model  say "Again."
model  say "And again."
> {"id":1,"type":"prompt","message":"read it","images":[],"locale":"de"}
> {"id":2,"type":"get_state"}
> {"id":3,"type":"get_messages"}
> {"id":4,"type":"get_messages_page","limit":1}
> {"id":5,"type":"get_session_stats"}
> {"id":6,"type":"get_branch_messages"}
> {"id":7,"type":"get_fork_messages"}
> {"id":8,"type":"get_last_assistant_text"}
> {"id":9,"type":"set_session_name","name":"a name"}
> {"id":10,"type":"get_entries"}
> {"id":11,"type":"get_tree"}
> {"id":12,"type":"set_locale","locale":"en"}
> {"id":13,"type":"set_todos","phases":[{"name":"one","tasks":[{"content":"a","status":"in_progress","notes":"n"},{"content":"b"}]}]}
> {"id":14,"type":"set_host_tools","tools":[{"name":"dial","description":"Dials","parameters":{"type":"object"}}]}
> {"id":15,"type":"get_integrations"}
> {"id":16,"type":"get_available_models"}
> {"id":17,"type":"cycle_model"}
> {"id":18,"type":"set_model","provider":"tour","modelId":"mock/alpha"}
> {"id":19,"type":"set_thinking_level","level":"high"}
> {"id":20,"type":"cycle_thinking_level"}
> {"id":21,"type":"get_available_thinking_levels"}
> {"id":22,"type":"set_steering_mode","mode":"all"}
> {"id":23,"type":"set_follow_up_mode","mode":"all"}
> {"id":24,"type":"set_interrupt_mode","mode":"immediate"}
> {"id":25,"type":"set_auto_compaction","enabled":true}
> {"id":26,"type":"set_auto_retry","enabled":true}
> {"id":27,"type":"abort_retry"}
> {"id":28,"type":"bash","command":"printf hi; exit 3"}
> {"id":29,"type":"abort_bash"}
> {"id":30,"type":"get_commands"}
> {"id":31,"type":"get_available_commands"}
> {"id":32,"type":"steer","message":"left"}
> {"id":33,"type":"follow_up","message":"then"}
> {"id":34,"type":"clear_queue"}
> {"id":35,"type":"get_login_providers"}
> {"id":36,"type":"login","providerId":"nobody"}
> {"id":37,"type":"set_fast_mode","enabled":true}
> {"id":38,"type":"set_subagent_subscription","level":"events"}
> {"id":39,"type":"get_subagents"}
> {"id":40,"type":"get_subagent_messages"}
> {"id":41,"type":"negotiate_protocol","protocolVersion":1}
> {"id":42,"type":"handoff"}
> {"id":43,"type":"set_host_uri_schemes","schemes":[]}
> {"id":44,"type":"compact"}
> {"id":45,"type":"export_html","outputPath":"$WS/talk.html"}
> {"id":46,"type":"abort"}
> {"id":47,"type":"clone"}
> {"id":48,"type":"branch","entryId":"nope"}
> {"id":49,"type":"fork","entryId":"nope"}
> {"id":50,"type":"abort_and_prompt","message":"go on"}
> {"id":51,"type":"new_session"}
> {"id":52,"type":"switch_session","sessionPath":"$WS/nowhere.jsonl"}
> {"id":53,"type":"open_session","sessionDir":"$WS/sessions"}
> {"id":54,"type":"set_event_filter","events":["agent_end"]}
"#;

#[test]
fn every_command_is_answered_in_the_words_of_the_schema() {
    let published = Published::read();
    let commands = published.inbound.definition("command")["oneOf"].as_array().unwrap();
    let known: BTreeSet<&str> = commands.iter().map(|it| it["properties"]["type"]["const"].as_str().unwrap()).collect();
    for flags in ["args   --rpc-errors seed\n", "args   --rpc-updates delta\n"] {
        let played = paused(testkit::golden::play(Scene::new(rpc), &format!("{flags}{}", ALL.trim_start())));
        published.check(&played).unwrap_or_else(|why| panic!("{why}"));
        let sent: BTreeSet<String> = played
            .lines()
            .filter_map(|line| {
                serde_json::from_str::<Value>(line.strip_prefix("> ")?).ok()?["type"].as_str().map(Into::into)
            })
            .collect();
        assert_eq!(sent, known.iter().map(|name| (*name).to_owned()).collect());
        // Every answer has its id, whatever came of the command.
        for id in 1..=sent.len() {
            let answered = format!("< {{\"id\":{id},\"type\":\"response\"");
            assert!(played.contains(&answered), "{id} was not answered:\n{played}");
        }
    }
}

#[test]
fn a_word_that_is_not_published_is_found() {
    let published = Published::read();
    let bad = [
        r#"< {"type":"agent_begin"}"#,
        r#"< {"type":"agent_start","more":1}"#,
        r#"< {"type":"queue_update","steering":[],"followUp":[1]}"#,
        r#"< {"type":"auto_compaction_start","reason":"manual","action":"context-full"}"#,
        r#"< {"id":1,"type":"response","command":"get_state","success":true}"#,
        r#"< {"id":1,"type":"response","command":"login","success":true}"#,
        r#"< {"id":1,"type":"response","command":"abort","success":true,"data":{}}"#,
        r#"< {"type":"message_end","message":{"role":"narrator","content":[],"timestamp":1}}"#,
        r#"> {"type":"frobnicate"}"#,
        r#"> {"type":"prompt"}"#,
    ];
    for line in bad {
        published.check(line).expect_err(line);
    }
    let known = "> {\"type\":\"get_state\"}\n< {\"type\":\"response\",\"command\":\"get_state\",\"success\":false,\"error\":\"Unknown command: get_state\"}";
    published.check(known).expect_err("a command of the schema that nobody knows");
}
