//! Files of others, as entries.

use session_files::{ScanError, ScannedFile, import, scan};
use testkit::fakes::OpenBorder;
use vocab::*;

use crate::kit::*;

fn whole(bytes: &[u8], found: &ScannedFile) -> Vec<std::sync::Arc<Entry>> {
    let border = OpenBorder { own: "d/m".into(), here: "/here".into() };
    let workspace = found.head.cwd.clone().unwrap_or_else(|| "/here".into());
    let defaults = import::ImportDefaults { mode: Mode::Plan, workspace, file: None };
    let reader = import::ImportContext { models: &PricedFaces, border: &border, file: "theirs.jsonl".as_ref() };
    import::whole(bytes, found, reader, &defaults)
}

fn read(text: &str) -> Vec<std::sync::Arc<Entry>> {
    let found = scan(text.as_bytes()).unwrap();
    let entries = whole(text.as_bytes(), &found);
    for (at, entry) in entries.iter().enumerate() {
        assert_eq!(entry.seq, at as u64 + 1);
        assert!(entry.parent < entry.seq);
    }
    entries
}

fn context(text: &str) -> Vec<String> {
    let transcript = pi_format::transcript::Transcript::new(&read(text), &PricedFaces);
    transcript.context().iter().map(|said| said.json.to_string()).collect()
}

fn names(text: &str) -> Vec<String> {
    let transcript = pi_format::transcript::Transcript::new(&read(text), &PricedFaces);
    transcript.lines().iter().map(|line| line.name.to_string()).collect()
}

const HEAD: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-15T22:31:51.876Z","cwd":"/w"}"#;

fn message(id: &str, parent: &str, text: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-11-15T22:31:52.000Z","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"timestamp":5}}}}"#
    )
}

#[test]
fn every_kind_of_entry_of_pi_is_understood() {
    let text = [
        HEAD,
        r#"{"type":"model_change","id":"a1","parentId":null,"timestamp":"2026-11-15T22:31:52.000Z","provider":"mock","modelId":"mock-1"}"#,
        r#"{"type":"thinking_level_change","id":"a2","parentId":"a1","timestamp":"2026-11-15T22:31:52.001Z","thinkingLevel":"off"}"#,
        r#"{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-11-15T22:31:52.002Z","message":{"role":"user","content":"plain","timestamp":1794781912001}}"#,
        r#"{"type":"message","id":"a4","parentId":"a3","timestamp":"2026-11-15T22:31:53.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"sig"},{"type":"text","text":""},{"type":"toolCall","id":"c1","name":"read","arguments":{"z":1,"a":2}},{"type":"new kind"}],"api":"x","provider":"mock","model":"mock-1","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{}},"stopReason":"toolUse","timestamp":1794781912500}}"#,
        r#"{"type":"custom","customType":"x","data":{},"id":"a5","parentId":"a4","timestamp":"2026-11-15T22:31:53.001Z"}"#,
        r#"{"type":"message","id":"a6","parentId":"a5","timestamp":"2026-11-15T22:31:53.100Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"r"},{"type":"image","data":"AA==","mimeType":"image/png"}],"details":{"q":1,"b":2},"isError":true,"timestamp":1794781913099}}"#,
        r#"{"type":"message","id":"a7","parentId":"a6","timestamp":"2026-11-15T22:31:54.000Z","message":{"role":"assistant","content":[],"provider":"mock","model":"mock-1","stopReason":"error","errorMessage":"500 oops","timestamp":1794781913200}}"#,
        r#"{"type":"custom_message","customType":"n","content":"note","display":true,"id":"a8","parentId":"a7","timestamp":"2026-11-15T22:31:54.001Z"}"#,
        r#"{"type":"label","id":"a9","parentId":"a8","timestamp":"2026-11-15T22:31:54.002Z","targetId":"a3","label":"L"}"#,
        r#"{"type":"session_info","id":"b1","parentId":"a9","timestamp":"2026-11-15T22:31:54.003Z","name":" N "}"#,
        r#"{"type":"branch_summary","id":"b2","parentId":"a3","timestamp":"2026-11-15T22:31:54.004Z","fromId":"a3","summary":"B"}"#,
        r#"{"type":"compaction","id":"b3","parentId":"b1","timestamp":"2026-11-15T22:31:54.005Z","summary":"C","firstKeptEntryId":"a6","tokensBefore":9}"#,
        r#"{"type":"message","id":"b4","parentId":"b3","timestamp":"2026-11-15T22:31:54.006Z","message":{"role":"bashExecution","command":"ls","output":"x","cancelled":true,"truncated":false,"timestamp":1794781914006}}"#,
    ]
    .join("\n");
    expect_test::expect![[r#"
        {"role":"compactionSummary","summary":"C","tokensBefore":9,"timestamp":1794781914005}
        {"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"r"},{"type":"image","data":"AA==","mimeType":"image/png"}],"details":{"q":1,"b":2},"isError":true,"timestamp":1794781913099}
        {"role":"assistant","content":[],"api":"openai-completions","provider":"mock","model":"mock-1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","timestamp":1794781913200,"errorMessage":"500 oops"}
        {"role":"custom","customType":"n","content":"note","display":true,"timestamp":1794781914001}
        {"role":"bashExecution","command":"ls","output":"x","cancelled":true,"truncated":false,"timestamp":1794781914006}"#]].assert_eq(&context(&text).join("\n"));
    let expected = ["a1", "a2", "a3", "a4", "a6", "a7", "a8", "a9", "b1", "b2", "b3", "b4"];
    assert_eq!(names(&text), expected);
    // The call and its result belong together for the model.
    let entries = read(&text);
    let turn = entries.iter().find_map(|entry| match &entry.body {
        Body::Assistant { turn, .. } => turn.clone(),
        _ => None,
    });
    let ended = entries.iter().find_map(|entry| match &entry.body {
        Body::Call(CallEntry::Ended { turn, .. }) => Some(turn.clone()),
        _ => None,
    });
    assert!(turn.is_some() && turn == ended);
}

#[test]
fn version_1_gets_names_and_its_compaction_keeps_what_it_counted() {
    let text = [
        r#"{"type":"session","id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w","provider":"mock","modelId":"m","thinkingLevel":"off"}"#,
        r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"one","timestamp":1}}"#,
        r#"{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"user","content":"two","timestamp":2}}"#,
        r#"{"type":"compaction","timestamp":"2025-01-01T00:00:03.000Z","summary":"S","firstKeptEntryIndex":2,"tokensBefore":1}"#,
        r#"{"type":"message","timestamp":"2025-01-01T00:00:04.000Z","message":{"role":"hookMessage","content":"three","timestamp":3}}"#,
    ]
    .join("\n");
    assert_eq!(texts(&context(&text)), ["", "two", "three"]);
    let first = names(&text);
    assert_eq!(first, names(&text), "the same each time");
    assert_eq!(first.len(), 4);
    let Body::Opened { model, workspace, .. } = &read(&text)[0].body else { panic!() };
    assert_eq!((&**model, workspace.to_str().unwrap()), ("mock/m", "/w"));
}

#[test]
fn version_2_and_the_relatives_forms_are_understood() {
    let text = [
        r#"{"type":"session","version":2,"id":"s2","timestamp":"2025-01-01T00:00:00.000Z","title":"Named","titleSource":"user"}"#,
        r#"{"type":"model_change","id":"1","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","model":"p/x/y","role":"default"}"#,
        r#"{"type":"service_tier_change","id":"2","parentId":"1","timestamp":"x","serviceTier":null}"#,
        r#"{"type":"thinking_level_change","id":"3","parentId":"2","timestamp":"2025-01-01T00:00:00.000Z","thinkingLevel":null}"#,
        r#"{"type":"message","id":"4","parentId":"3","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"hookMessage","customType":"h","content":[{"type":"text","text":"hook"}],"display":true,"timestamp":1}}"#,
        r#"{"type":"message","id":"5","parentId":"4","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"redactedThinking","data":"D"},{"type":"thinking","thinking":"cut","thinkingSignature":""}],"provider":"p","model":"x/y","stopReason":"stop","timestamp":2}}"#,
    ]
    .join("\r\n");
    let shown = context(&text);
    assert!(shown[0].contains(r#""role":"custom""#), "{shown:?}");
    assert!(shown[1].contains(r#"[{"type":"thinking","thinking":"[Reasoning redacted]","thinkingSignature":"D","redacted":true},{"type":"thinking","thinking":"cut"}]"#), "{shown:?}");
    let titled = |entry: &std::sync::Arc<Entry>| matches!(&entry.body, Body::Setting(SettingEntry::Title { title }) if &**title == "Named");
    assert!(read(&text).iter().any(titled));
    let Body::Opened { model, workspace, .. } = &read(&text)[0].body else { panic!() };
    assert_eq!((&**model, workspace.to_str().unwrap()), ("p/x/y", "/here"));
}

#[test]
fn damage_costs_the_damaged_lines_only() {
    let text = format!(
        "\u{feff}{HEAD}\r\n\n{}\nnot json\n{{\"half\":\n[1]\n\"text\"\n{}\n   \n{}\n{}\n{}\n{}\n{}",
        message("1", "", "a"),
        message("2", "gone", "b"),
        message("2", "2", "c"),
        message("3", "3", "d"),
        message("4", "5", "e"),
        message("5", "4", "f"),
        r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"\ud800"},7]}}"#,
    );
    assert_eq!(scan(text.as_bytes()).unwrap().bad, 4);
    // A parent that is gone, doubled, itself, or comes later: the line before stands in.
    assert_eq!(texts(&context(&text)), ["a", "b", "c", "d", "e", "f", "\u{fffd}"]);
    assert!(
        matches!(&read(&text).last().unwrap().body, Body::Note(NoteEntry::Recovered { text }) if text.starts_with("4 line(s)"))
    );
}

#[test]
fn what_is_no_session_file_is_refused() {
    assert_eq!(scan(b""), Err(ScanError::Empty));
    assert_eq!(scan(b"\n \n"), Err(ScanError::Empty));
    for text in ["hello", "{}", r#"{"type":"session","id":7}"#, r#"{"type":"message"}"#, "\0\0\0"] {
        assert_eq!(scan(text.as_bytes()), Err(ScanError::NoHead), "{text}");
    }
}

#[test]
fn branches_stay_branches_and_the_last_line_is_where_it_goes_on() {
    let text = [
        HEAD.to_owned(),
        message("1", "", "a"),
        message("2", "1", "b"),
        message("3", "2", "c"),
        message("4", "1", "d"),
    ]
    .join("\n");
    assert_eq!(texts(&context(&text)), ["a", "d"]);
    assert_eq!(names(&text), ["1", "2", "3", "4"]);
}

#[test]
fn a_file_of_64_mib_is_read_in_reasonable_time() {
    let mut text = HEAD.to_owned();
    let body = "x".repeat(8 * 1024);
    let mut parent = String::new();
    for at in 0..8 * 1024 {
        let name = format!("{at:08x}");
        text.push('\n');
        text.push_str(&message(&name, &parent, &body));
        parent = name;
    }
    assert!(text.len() > 64 << 20);
    let found = scan(text.as_bytes()).unwrap();
    assert_eq!((found.rows.len(), found.bad), (8 * 1024, 0));
    assert_eq!(read(&text).len(), 8 * 1024 + 2);
}

/// A file as it could be, and what could happen to it.
fn sample() -> Vec<u8> {
    let mut lines = vec![HEAD.to_owned()];
    for at in 1..6 {
        lines.push(message(&at.to_string(), &(at - 1).to_string(), "t"));
    }
    lines.push(
        r#"{"type":"compaction","id":"6","parentId":"5","timestamp":"x","summary":"S","firstKeptEntryId":"3"}"#.into(),
    );
    lines.push(r#"{"type":"label","id":"7","parentId":"6","timestamp":"x","targetId":"2","label":"L"}"#.into());
    lines.push(r#"{"type":"message","id":"8","parentId":"7","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":{}}]}}"#.into());
    lines.join("\n").into_bytes()
}

proptest::proptest! {
    /// Whatever was done to a file, it is refused or becomes a log that can be shown.
    #[test]
    fn no_damage_breaks_the_reader(
        edits in proptest::collection::vec((0usize..2000, proptest::num::u8::ANY), 0..12),
        cut in 0usize..2000,
        doubled in 0usize..10,
    ) {
        let mut bytes = sample();
        for (at, byte) in edits {
            let length = bytes.len();
            bytes[at % length] = byte;
        }
        bytes.truncate(bytes.len() - cut % bytes.len() / 2);
        if let Some(line) = bytes.split(|byte| *byte == b'\n').nth(doubled).map(<[u8]>::to_vec) {
            bytes.push(b'\n');
            bytes.extend(line);
        }
        if let Ok(found) = scan(&bytes) {
            let entries = whole(&bytes, &found);
            for (at, entry) in entries.iter().enumerate() {
                assert_eq!(entry.seq, at as u64 + 1);
                assert!(entry.parent < entry.seq);
            }
            let transcript = pi_format::transcript::Transcript::new(&entries, &PricedFaces);
            let names: std::collections::HashSet<_> = transcript.lines().iter().map(|line| &line.name).collect();
            assert_eq!(names.len(), transcript.lines().len());
            transcript.context();
        }
    }
}
