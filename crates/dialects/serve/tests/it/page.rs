//! The page for authors of controllers says what the dialect does.

use std::path::Path;

use serde_json::Value;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/dialects/serve.md");
    std::fs::read_to_string(path).expect("the page is part of the repository")
}

#[test]
fn its_conversations_are_made_of_lines_of_the_schema() {
    let schema = crate::schema::published();
    let (mut blocks, mut lines) = (0, 0);
    for block in page().split("```talk\n").skip(1) {
        let block = block.split("```").next().expect("split yields at least one piece");
        let protocol = if block.contains("args   --multi") { 2 } else { 1 };
        let mut talk = block.lines().peekable();
        while let Some(line) = talk.next() {
            let said = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|why| panic!("{line}: {why}"));
            if let Some(text) = line.strip_prefix("< ") {
                schema.check(&format!("outbound{protocol}"), &said(text)).unwrap_or_else(|why| panic!("{line}: {why}"));
                assert_eq!(wire::check(text.as_bytes()), Ok(text), "{line}");
            } else if let Some(text) = line.strip_prefix("> ") {
                let fits = schema.check(&format!("inbound{protocol}"), &said(text)).is_ok();
                let refused = talk.peek().is_some_and(|next| next.contains("\"invalid_message\""));
                assert_eq!(fits, !refused, "{line}");
            } else {
                assert!(["# ", "model  ", "args   "].iter().any(|start| line.starts_with(start)), "{line}");
            }
            lines += 1;
        }
        blocks += 1;
    }
    assert!(blocks == 4 && lines > 30, "{blocks} conversations, {lines} lines");
}

#[test]
fn it_names_every_message_and_every_member() {
    let page = page();
    let schema: Value = serde_json::from_str(&dialect_serve::schema()).unwrap();
    for definition in ["inbound1", "outbound1", "inbound2", "outbound2"] {
        for message in schema["$defs"][definition]["oneOf"].as_array().unwrap() {
            let members = message["properties"].as_object().unwrap();
            let name = members["type"]["const"].as_str().unwrap();
            for word in members.keys().map(String::as_str).chain([name]) {
                assert!(page.contains(&format!("`{word}`")) || page.contains(&format!("`{word}?`")), "{name}: {word}");
            }
        }
    }
}

#[test]
fn it_names_every_code() {
    let (page, table) = (page(), include_str!("../../src/faults.rs"));
    let mut codes = 0;
    for word in table.split('"').skip(1).step_by(2).filter(|word| word.contains('_')) {
        assert!(page.contains(&format!("`{word}`")), "{word}");
        codes += 1;
    }
    assert!(codes > 20, "{codes}");
}
