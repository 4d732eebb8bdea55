//! Every command once as it should be and once as it should not.

use std::collections::BTreeSet;

use crate::talk::Talk;

/// What a good line leads to.
enum Leads {
    /// A first command to the engine that begins so, and nothing said yet.
    To(&'static str),
    /// An answer at once.
    Answered,
    /// A refusal at once, under its own id.
    Refused,
}
use Leads::{Answered, Refused, To};

/// Name, good members, what they lead to, bad members. A command without bad members takes none.
#[rustfmt::skip]
const TABLE: &[(&str, &str, Leads, Option<&str>)] = &[
    ("prompt", r#""message":"hi""#, To("Prompt {"), Some(r#""message":7"#)),
    ("steer", r#""message":"hi""#, To("Prompt {"), Some(r#""images":[]"#)),
    ("follow_up", r#""message":"hi","images":[{"type":"image","data":"AA==","mimeType":"image/png"}]"#, To("Prompt {"), Some(r#""message":"x","images":"no list""#)),
    ("abort", "", To("Interrupt"), None),
    ("abort_and_prompt", r#""message":"hi""#, To("Interrupt"), Some(r#""message":null"#)),
    ("new_session", r#""parentSession":"x""#, To("Interrupt"), None),
    ("set_locale", r#""locale":"de""#, To("Set(Locale(Some(\"de\")))"), Some(r#""locale":1"#)),
    ("get_state", "", To("Inspect"), None),
    ("set_todos", r#""phases":[{"name":"P","tasks":[{"content":"c"}]}]"#, To("Set(Todos("), Some(r#""phases":[{"tasks":[]}]"#)),
    ("set_host_tools", r#""tools":[{"name":"t","description":"d","parameters":{}}]"#, To("OfferTools"), Some(r#""tools":[{"name":"t"}]"#)),
    ("get_integrations", "", Answered, None),
    ("set_model", r#""provider":"mock","modelId":"beta""#, To("Models"), Some(r#""provider":"mock""#)),
    ("cycle_model", "", To("Models"), None),
    ("get_available_models", "", To("Models"), None),
    ("set_thinking_level", r#""level":"high""#, To("Set(Thinking(Some(\"high\")))"), Some(r#""level":true"#)),
    ("cycle_thinking_level", "", To("Set(Thinking("), None),
    ("get_available_thinking_levels", "", Answered, None),
    ("set_steering_mode", r#""mode":"all""#, To("Set(Lane("), Some("")),
    ("set_follow_up_mode", r#""mode":"all""#, To("Set(Lane("), Some(r#""mode":[]"#)),
    ("set_interrupt_mode", r#""mode":"immediate""#, To("Set(Lane("), Some(r#""mode":{}"#)),
    ("compact", r#""customInstructions":"brief""#, To("Interrupt"), Some(r#""customInstructions":5"#)),
    ("set_auto_compaction", r#""enabled":false"#, To("Set(Compaction("), Some(r#""enabled":"yes""#)),
    ("set_auto_retry", r#""enabled":true"#, To("Set(Retry("), Some(r#""enabled":1"#)),
    ("abort_retry", "", To("AbortRetry"), None),
    ("bash", r#""command":"ls","excludeFromContext":true"#, To("Shell { command: \"ls\", aside: true }"), Some(r#""command":["ls"]"#)),
    ("abort_bash", "", To("AbortShell"), None),
    ("get_session_stats", "", To("Read"), None),
    ("export_html", r#""outputPath":"/tmp/x.html""#, To("Export"), Some(r#""outputPath":1"#)),
    ("switch_session", r#""sessionPath":"/tmp/x.jsonl""#, To("Interrupt"), Some(r#""path":"/tmp/x""#)),
    ("branch", r#""entryId":"0a0a0a0a""#, To("Interrupt"), Some(r#""entryId":12"#)),
    ("fork", r#""entryId":"0a0a0a0a""#, To("Interrupt"), Some(r#""entry":"x""#)),
    ("clone", "", To("Interrupt"), None),
    ("get_branch_messages", "", To("Read"), None),
    ("get_fork_messages", "", To("Read"), None),
    ("get_last_assistant_text", "", To("Read"), None),
    ("set_session_name", r#""name":" n ""#, To("Set(Title(\"n\"))"), Some(r#""name":null"#)),
    ("get_messages", "", To("Read"), None),
    ("get_messages_page", r#""cursor":"3","limit":2"#, To("Read"), Some(r#""limit":-1"#)),
    ("get_commands", "", To("Inspect"), None),
    ("get_available_commands", "", To("Inspect"), None),
    ("clear_queue", "", To("Queue(Clear)"), None),
    ("get_entries", r#""since":"0a0a0a0a""#, To("Read"), Some(r#""since":3"#)),
    ("get_tree", "", To("Read"), None),
    ("get_login_providers", "", Answered, None),
    ("login", r#""providerId":"x""#, Refused, Some("")),
    ("set_fast_mode", r#""enabled":false"#, Answered, Some(r#""enabled":1"#)),
    ("set_subagent_subscription", r#""level":"off""#, Answered, Some("")),
    ("set_event_filter", r#""events":["agent_end"]"#, Answered, Some("")),
    ("open_session", r#""sessionDir":"/tmp/x""#, Refused, Some(r#""sessionDir":1"#)),
    ("get_subagents", "", Answered, None),
    ("get_subagent_messages", r#""id":"x""#, Refused, None),
    ("negotiate_protocol", r#""protocolVersion":1"#, Answered, Some(r#""protocolVersion":"1""#)),
    ("handoff", "", To("Interrupt"), Some(r#""customInstructions":1"#)),
    ("set_host_uri_schemes", r#""schemes":[]"#, Answered, Some(r#""schemes":1"#)),
];

fn line(name: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(r#"{{"type":"{name}"{comma}{members}}}"#)
}

#[test]
fn the_table_has_every_command() {
    let known: BTreeSet<&str> = dialect_rpc::COMMANDS.iter().map(|(name, _)| *name).collect();
    let tested: BTreeSet<&str> = TABLE.iter().map(|(name, ..)| *name).collect();
    assert_eq!(tested, known);
}

#[test]
fn every_command_as_it_should_be() {
    for (name, members, leads, _) in TABLE {
        let mut talk = Talk::open();
        let (commands, frames) = talk.hear(line(name, members));
        let verb = commands.first().map(|command| testkit::verb_text(&command.verb)).unwrap_or_default();
        match leads {
            To(beginning) => {
                assert!(verb.starts_with(beginning), "{name}: {verb} {frames:?}");
                assert!(frames.is_empty(), "{name}: {frames:?}");
            }
            Answered | Refused => {
                assert!(commands.is_empty(), "{name}: {verb}");
                assert_eq!(frames.len(), 1, "{name}: {frames:?}");
                assert_eq!(frames[0]["command"], *name);
                assert_eq!(frames[0]["success"], matches!(leads, Answered), "{name}: {frames:?}");
            }
        }
    }
}

#[test]
fn every_command_as_it_should_not_be_is_one_error_and_nothing_else() {
    for (name, _, _, bad) in TABLE {
        let Some(bad) = bad else { continue };
        let comma = if bad.is_empty() { "" } else { "," };
        let line = format!(r#"{{"id":"i","type":"{name}"{comma}{bad}}}"#);
        let (commands, frames) = Talk::open().hear(&line);
        assert_eq!((commands.len(), frames.len()), (0, 1), "{name} {bad}: {frames:?}");
        assert_eq!(frames[0]["success"], false, "{name}: {frames:?}");
        assert_eq!((&frames[0]["id"], &frames[0]["command"]), (&"i".into(), &(*name).into()), "{frames:?}");

        let (_, frames) = Talk::with(crate::talk::seed()).hear(&line);
        assert_eq!((&frames[0]["id"], &frames[0]["command"]), (&"i".into(), &"parse".into()), "{frames:?}");
        assert!(frames[0]["error"].as_str().unwrap().starts_with("Failed to parse command: "), "{frames:?}");
    }
}

#[test]
fn members_that_nobody_knows_are_passed_over() {
    for (name, members, ..) in TABLE {
        let extra = if members.is_empty() { r#""zzz":[1]"#.to_owned() } else { format!(r#"{members},"zzz":[1]"#) };
        let told = |members: &str| {
            let (commands, frames) = Talk::open().hear(line(name, members));
            (format!("{commands:?}"), frames)
        };
        assert_eq!(told(&extra), told(members), "{name}");
    }
}

#[test]
fn a_directory_without_a_name_is_no_place_for_sessions() {
    let mut talk = Talk::open();
    let kept = vocab::State { file: Some("/w/s.jsonl".into()), ..crate::talk::state("s1") };
    talk.tell(vocab::Event::State(std::sync::Arc::new(kept)));
    for dir in ["", " "] {
        let (commands, frames) = talk.hear(format!(r#"{{"id":1,"type":"open_session","sessionDir":"{dir}"}}"#));
        assert!(commands.is_empty(), "{commands:?}");
        assert_eq!(
            (&frames[0]["success"], &frames[0]["error"]),
            (&false.into(), &"open_session: sessionDir is empty".into())
        );
    }
    assert_eq!(talk.hear(r#"{"id":1,"type":"open_session","sessionDir":"/"}"#).0.len(), 1, "whoever means it says it");
}
