//! The OpenRPC document against what is really said: every frame of the golden conversations is in it, and has nothing that is not.

use std::path::{Path, PathBuf};

use dialect_gateway::openrpc;
use testkit::openrpc::FrameCheck;

/// Numbers that differ from run to run are written as these.
const STANDS_FOR_NUMBERS: &[&str] = &["\"$TIME\"", "\"$INT\""];
/// Times that are text, beside which these stand.
const TEXT_TIMES: &[&str] = &["createdAt", "lastActiveAt"];

#[test]
fn every_golden_frame_is_what_the_document_says() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../golden/gateway");
    let folders = [golden.clone(), golden.join("services")];
    let talks = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let talks: Vec<PathBuf> = talks.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    let (mut frames, mut wrong) = (0, Vec::new());
    for talk in &talks {
        let mut check = FrameCheck::new(&openrpc(""));
        for line in std::fs::read_to_string(talk).unwrap().lines() {
            match line.split_once(' ') {
                Some((">", text)) => {
                    let asked = serde_json::from_str(text).unwrap_or_default();
                    check.asked(&asked);
                }
                Some(("<", text)) => {
                    frames += 1;
                    let told = check.heard(&serde_json::from_str(&untouched(text)).unwrap());
                    wrong.extend(told.err().map(|why| format!("{}: {why}", talk.display())));
                }
                _ => {}
            }
        }
    }
    assert!(frames > 300, "{frames} frames of {} conversations", talks.len());
    assert!(wrong.is_empty(), "{} of {frames}:\n{}", wrong.len(), wrong.join("\n"));
}

/// With something in the place of what differs.
fn untouched(text: &str) -> String {
    let text_time =
        |text: String, name: &&str| text.replace(&format!("\"{name}\":\"$TIME\""), &format!("\"{name}\":\"\""));
    let is_session = text.contains("lastActiveAt");
    let text = TEXT_TIMES.iter().filter(|_| is_session).fold(text.to_owned(), text_time);
    STANDS_FOR_NUMBERS.iter().fold(text, |text, word| text.replace(word, "1"))
}
