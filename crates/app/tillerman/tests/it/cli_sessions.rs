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
    assert!(list.starts_with("ID ") && list.contains(&id[30..]) && list.contains("just now"), "{list}");
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

#[test]
fn a_few_characters_of_the_end_of_an_id_name_a_session_everywhere() {
    let place = Place::new();
    for prompt in ["say the first one", "say the second one"] {
        place.run(&["run", prompt]).ok();
    }
    let list = place.run(&["sessions"]).ok();
    let shorts: Vec<&str> = list.lines().skip(1).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(shorts.len() == 2 && shorts.iter().all(|short| (6..=8).contains(&short.len())), "{list}");
    let shown = place.run(&["sessions", "show", shorts[1]]).ok();
    assert!(shown.contains("say the first one"), "{shown}");
    let said = place.run(&["run", "--resume", shorts[1], "--json", "say again"]).ok();
    let id = id_of(&place);
    assert!(id.ends_with(shorts[1]) && said.contains(&id), "{said}");
    // Ids of the same minute begin alike; who types that much is told which there are.
    let ran = place.run(&["sessions", "show", &id[..2]]);
    ran.fails(2, "could be more than one session: ");
    for part in [shorts[0], shorts[1], "(say the first one)", "(say the second one)"] {
        assert!(ran.err.contains(part), "{part} is not in: {}", ran.err);
    }
    place.run(&["run", "--resume", &id[..2], "x"]).fails(2, "could be more than one session: ");
    place.run(&["sessions", "rm", "--yes", shorts[0]]).ok();
    assert_eq!(place.run(&["sessions", "ls"]).ok().lines().count(), 2);
}

#[test]
fn conversations_are_found_by_what_was_said() {
    let place = Place::new();
    place.run(&["run", "say the marmalade is orange"]).ok();
    place.run(&["run", "say nothing of that kind"]).ok();
    place.run(&["sessions", "rename", "latest", "Breakfast", "plans"]).ok();
    let found = place.run(&["sessions", "search", "ORANGE", "marmalade"]).ok();
    assert!(found.contains("say the marmalade is orange") && !found.contains("Breakfast"), "{found}");
    let found = place.run(&["sessions", "search", "breakfast"]).ok();
    assert!(found.contains("Breakfast plans") && found.lines().count() == 2, "{found}");
    let none = place.run(&["sessions", "search", "lemon"]);
    assert_eq!((none.code, none.out.as_str()), (Some(1), "no session has lemon\n"));
}

#[test]
fn a_dash_exports_to_stdout() {
    let place = talked();
    let text = place.run(&["sessions", "export", "latest", "-"]).ok();
    assert!(text.starts_with("# list the rust files") && text.contains("what can you do?"), "{text}");
    assert!(!place.file("-").exists());
}

#[test]
fn a_fork_at_something_else_says_which_messages_there_are() {
    let place = talked();
    let ran = place.run(&["sessions", "fork", "latest", "--at", "2"]);
    ran.fails(2, "entry 2 is not a user message of this session\nhint: these are: 3 (list the rust files), ");
    assert!(ran.err.contains("(what can you do?)"), "{}", ran.err);
}

#[test]
fn a_session_whose_model_is_not_here_says_that_it_is_the_sessions() {
    // The model of a server that is set no more.
    let server = testkit::mock_model::MockModel::start_blocking();
    let other = Place::new().env("TILLERMAN_MODEL", "").env("OPENAI_BASE_URL", &server.base_url);
    other.run(&["run", "say hi"]).ok();
    let without = other.env("OPENAI_BASE_URL", "").env("TILLERMAN_MODEL", "");
    let ran = without.run(&["run", "-c", "say hi"]);
    ran.fails(2, "the session was left with the model ");
    assert!(ran.err.contains("hint: go on with another one: `-m NAME`"), "{}", ran.err);
    without.run(&["run", "-c", "-m", "tour", "list the rust files"]).ok();
}

#[test]
fn a_session_in_use_is_told_with_process_machine_and_time() {
    let place = talked();
    let mut holder = place.command(&["serve", "--resume", "latest"]);
    let mut holder = holder.spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(holder.stdout.take().unwrap()));
    let ready = lines.next().unwrap().unwrap();
    assert!(ready.contains("\"ready\""), "{ready}");
    let ran = place.run(&["run", "-c", "list the rust files"]);
    ran.fails(2, &format!("is in use by process {} on ", holder.id()));
    let since = ran.err.split("running since ").nth(1).unwrap_or_default();
    let year: u32 = since.get(..4).and_then(|year| year.parse().ok()).unwrap_or(0);
    assert!(year >= 2024 && since.contains(" UTC"), "{}", ran.err);
    assert!(ran.err.contains("`tillerman sessions show ") && !ran.err.contains("attach"), "{}", ran.err);
    drop(holder.stdin.take());
    holder.wait().unwrap();
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
