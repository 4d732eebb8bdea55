//! JSON in `rpc`, which alone has files of its own and a queue that can be asked for: odd JSON and awkward text.

use std::path::Path;

use serde_json::{Value, json};
use testkit::faults::Driver;

use crate::drivers::Rpc;
use crate::lines::answered;
use crate::worlds::tour;

#[test]
fn j2_the_public_suite_as_lines_and_as_a_member() {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let suite = above.map(|up| up.join("shared/data/jsontestsuite/test_parsing")).find(|path| path.is_dir());
    let Some(suite) = suite else { return crate::skip("J2 rpc", "jsontestsuite is not there") };
    let world = tour();
    let mut rpc = Rpc::new(&world, &[]);
    let mut files = 0;
    for entry in std::fs::read_dir(suite).unwrap() {
        let path = entry.unwrap().path();
        let (name, bytes) = (path.display().to_string(), std::fs::read(&path).unwrap());
        // As it is: no line of any file is a command.
        let is_blank = |line: &&[u8]| line.iter().all(|byte| b" \t\r".contains(byte));
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !is_blank(line)).count();
        rpc.send_raw(&[&bytes[..], b"\n"].concat());
        answered(&mut rpc, lines, &name);
        // As a member of a command that nobody knows: refused for the one reason or the other.
        let mut line = [br#"{"type":"nobody","message":"#, &bytes[..], b"}"].concat();
        line.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        line.push(b'\n');
        rpc.send_raw(&line);
        let seen = answered(&mut rpc, 1, &name);
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        // The one file whose line end is what makes it wrong or right.
        if !bytes.contains(&b'\n') && file.starts_with("n_") {
            assert_eq!(seen[0]["command"], "parse", "{file}: {}", seen[0]);
        }
        files += 1;
    }
    rpc.shutdown();
    println!("J2 rpc: {files} files both ways, one response each");
}

fn strings() -> Vec<String> {
    let mut all: Vec<String> = (0..0x20u8).map(|code| format!("a{}b", char::from(code))).collect();
    let more = [
        "\u{7f}",
        "\u{80}",
        "\u{85}",
        "\u{a0}x",
        "\u{ad}",
        "\u{200b}",
        "\u{200e}",
        "\u{202e}",
        "x\u{2028}y",
        "x\u{2029}y",
        "\u{feff}x",
        "\u{fffd}",
        "\u{fffe}",
        "\u{ffff}",
        "\u{e000}",
        "\u{1f600}",
        "\u{10ffff}",
        "\"",
        "\\",
        "\\\\\"",
        "\\u0041",
        "\\ud800",
        "</script>",
        "é",
        "e\u{301}",
        "👩‍👩‍👧",
        "日本語",
        "x\0y",
        "{\"type\":\"error\"}",
        "null",
    ];
    all.extend(more.map(String::from));
    assert!(all.len() >= 60, "{}", all.len());
    all
}

/// Through the queue of the engine, and through the log and the session's file.
#[test]
fn j4_awkward_text_comes_back_as_it_was() {
    let world = tour();
    let mut rpc = Rpc::new(&world, &[]);
    let mut sent = Vec::new();
    for text in strings() {
        let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        // Half a pair is no text: it becomes a mark.
        for (spelled, meant) in
            [(format!("\"{units}\""), text.clone()), (format!("\"{units}\\ud800\""), format!("{text}\u{fffd}"))]
        {
            rpc.send_raw(format!("{{\"type\":\"steer\",\"message\":{spelled}}}\n").as_bytes());
            let cleared = rpc.ask(json!({ "type": "clear_queue" }));
            assert_eq!(cleared["data"]["steering"], json!([meant]), "{text:?}");
            rpc.send_raw(format!("{{\"type\":\"prompt\",\"message\":{spelled}}}\n").as_bytes());
            rpc.until("agent_settled");
            sent.push(meant);
        }
    }
    let listed = |rpc: &mut Rpc| -> Vec<String> {
        let users = rpc.ask(json!({ "type": "get_branch_messages" }));
        let texts = users["data"]["messages"].as_array().unwrap().iter();
        texts.map(|user| user["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed(&mut rpc), sent);
    let (session, file) = (rpc.session.clone(), rpc.file.clone().expect("a session file"));
    rpc.shutdown();
    let mut rpc = Rpc::new(&world, &["--session", &session]);
    assert_eq!(listed(&mut rpc), sent, "after a restart");
    rpc.shutdown();
    let bytes = std::fs::read(&file).unwrap();
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let read = lines.map(|line| serde_json::from_slice::<Value>(line).expect("every line of the file is JSON"));
    let users: Vec<String> = read
        .filter(|line| line["message"]["role"] == "user")
        .map(|line| line["message"]["content"][0]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(users, sent, "in the file");
    println!("J4 rpc: {} texts through queue, log and file", sent.len());
}
