//! `sessions ...`.

use crate::cli::Place;

fn id_of(place: &Place) -> String {
    let list = place.run(&["sessions", "list", "--json"]).ok();
    let first: serde_json::Value = serde_json::from_str(list.lines().next().unwrap()).unwrap();
    first["id"].as_str().unwrap().to_owned()
}

fn talked() -> Place {
    let place = Place::new();
    place.run(&["run", "list the rust files"]).ok();
    place.run(&["run", "-c", "what can you do?"]).ok();
    place
}

#[test]
fn sessions_are_listed_and_shown() {
    let place = talked();
    let id = id_of(&place);
    let list = place.run(&["sessions", "list"]).ok();
    assert!(list.starts_with("ID ") && list.contains(&id) && list.contains("just now"), "{list}");
    assert!(list.contains("list the rust files"), "{list}");
    let elsewhere = place.run(&["sessions", "list", "-w", "/"]).ok();
    assert_eq!(elsewhere, "no saved sessions\n");
    let shown = place.run(&["sessions", "show", &id[..24]]).ok();
    assert!(shown.contains("user\nlist the rust files") && shown.contains("glob\none.rs\ntwo.rs"), "{shown}");
    let roles: Vec<String> = place
        .run(&["sessions", "show", "latest", "--json"])
        .ok()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["role"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user", "assistant"]);
    place.run(&["sessions", "show", "zzz"]).fails(2, "no session matches `zzz`");
}

#[test]
fn a_session_can_be_renamed_and_goes_on() {
    let place = talked();
    place.run(&["sessions", "rename", "latest", "my", "title"]).ok();
    let list = place.run(&["sessions", "list"]).ok();
    assert!(list.contains("my title"), "{list}");
    place.run(&["run", "-c", "list the rust files"]).ok();
    assert!(place.run(&["sessions", "list"]).ok().contains("my title"));
    place.run(&["sessions", "rename", "latest", " "]).fails(2, "the title is empty");
}

#[test]
fn a_fork_holds_everything_before_the_message() {
    let place = talked();
    let id = id_of(&place);
    let fork = place.run(&["sessions", "fork", &id]).ok();
    let shown = place.run(&["sessions", "show", fork.trim()]).ok();
    assert!(shown.contains("list the rust files") && !shown.contains("what can you do?"), "{shown}");
    let original = place.run(&["sessions", "show", &id]).ok();
    assert!(original.contains("what can you do?"), "{original}");
    place.run(&["sessions", "fork", &id, "--at", "2"]).fails(2, "not a user message");
    place.run(&["run", "--resume", fork.trim(), "list the rust files"]).ok();
}

#[test]
fn an_export_can_be_read_and_resumed() {
    let place = talked();
    place.run(&["sessions", "export", "latest", "talk.md"]).ok();
    let text = std::fs::read_to_string(place.file("talk.md")).unwrap();
    assert!(text.contains("list the rust files"), "{text}");
    place.run(&["sessions", "export", "latest", "talk.jsonl"]).ok();
    place.run(&["run", "--resume", "talk.jsonl", "list the rust files"]).ok();
}

#[test]
fn deleting_needs_a_yes_and_a_wrong_id_deletes_nothing() {
    let place = talked();
    let id = id_of(&place);
    place.run(&["sessions", "delete", &id]).fails(2, "hint: add --yes");
    place.run(&["sessions", "delete", "--yes", &id, "zzz"]).fails(2, "no session matches `zzz`");
    assert_eq!(id_of(&place), id);
    place.run(&["sessions", "delete", "--yes", &id]).ok();
    assert_eq!(place.run(&["sessions", "list"]).ok(), "no saved sessions\n");
}

#[test]
fn a_new_name_does_not_make_an_old_session_the_latest() {
    let place = talked();
    let old = id_of(&place);
    place.run(&["run", "say this one is newer"]).ok();
    place.run(&["sessions", "rename", &old, "an old one"]).ok();
    let shown = place.run(&["sessions", "show", "latest"]).ok();
    assert!(shown.contains("this one is newer"), "{shown}");
}

/// Files below `place` that hold the text.
fn holding(place: &std::path::Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(place).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(holding(&path, text));
        } else if std::fs::read(&path).unwrap().windows(text.len()).any(|bytes| bytes == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn nothing_of_a_deleted_session_is_left_in_the_data_directory() {
    let place = talked();
    // A prompt, a title, an export to its own place, and an output that is too long for a result.
    let output = "call bash {\"command\":\"yes MARMALADE | head -c 3000000\"}";
    place.run(&["run", "-y", &format!("say MARMALADE and {output}")]).ok();
    let id = id_of(&place);
    place.run(&["sessions", "rename", &id, "MARMALADE"]).ok();
    place.run(&["sessions", "export", &id]).ok();
    let kinds = holding(&place.home(), "MARMALADE");
    assert!(kinds.iter().any(|it| it.contains("/exports/")), "{kinds:?}");
    assert!(kinds.iter().any(|it| it.contains("/spill/")), "{kinds:?}");
    place.run(&["sessions", "delete", "--yes", &id]).ok();
    assert_eq!(holding(&place.home(), "MARMALADE"), [""; 0]);
    assert!(place.run(&["sessions", "show", "latest"]).ok().contains("list the rust files"), "others are left alone");
}
