//! Sessions opened by the path of their file.

use session_files::{by_id, newest};
use vocab::*;

use crate::kit::*;

#[tokio::test]
async fn a_session_survives_the_way_through_a_file() {
    let ours = MirrorWorld::new();
    let process = ours.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(everything()).await;
    let path = talk.file();
    let before = std::fs::read(&path).unwrap();

    let theirs = MirrorWorld::new();
    let process = theirs.process();
    assert_eq!(process.import(&path).await.unwrap().as_str(), ID);
    assert_eq!(process.file(&ID.into()).unwrap(), path);
    assert_eq!(theirs.context(ID).await, ours.context(ID).await);
    let names = |transcript: &pi_format::transcript::Transcript| -> Vec<_> {
        let line = |line: &pi_format::transcript::TranscriptLine| (line.name.clone(), line.parent.clone());
        transcript.lines().iter().map(line).collect()
    };
    assert_eq!(names(&theirs.transcript(ID).await), names(&ours.transcript(ID).await));
    assert_eq!(std::fs::read(&path).unwrap(), before, "reading changes nothing");

    let mut talk = RunningSession::resume(&process, ID).await;
    talk.log(vec![user("and on"), says("5")]).await;
    let now = std::fs::read(&path).unwrap();
    assert!(now.starts_with(&before));
    assert_eq!(lines(&path).len(), before.iter().filter(|byte| **byte == b'\n').count() + 2, "only what is new");
    assert_eq!(theirs.notes(), Vec::<String>::new());
}

#[tokio::test]
async fn what_another_program_appended_is_in_the_log_when_the_file_is_opened() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1"), user("b"), says("2")]).await;
    let path = talk.file();
    talk.end().await;
    let old = lines(&path);
    let branch_from = old[3]["id"].as_str().unwrap();
    let theirs = format!(
        "{}\n{}\n{}\n",
        format_args!(
            r#"{{"type":"message","id":"0000000a","parentId":"{branch_from}","timestamp":"2026-11-15T23:00:00.000Z","message":{{"role":"user","content":"c","timestamp":1794783600000}}}}"#
        ),
        r#"{"type":"message","id":"0000000b","parentId":"0000000a","timestamp":"2026-11-15T23:00:01.000Z","message":{"role":"assistant","content":[{"type":"text","text":"3"}],"provider":"p","model":"m","stopReason":"stop","timestamp":1794783600500}}"#,
        r#"{"type":"custom","customType":"x","id":"0000000c","parentId":"0000000b","timestamp":"2026-11-15T23:00:02.000Z"}"#,
    );
    let grown = [std::fs::read_to_string(&path).unwrap(), theirs].concat();
    std::fs::write(&path, &grown).unwrap();

    let later = world.process();
    later.import(&path).await.unwrap();
    assert_eq!(texts(&world.context(ID).await), ["a", "1", "c", "3"]);
    assert!(world.context(ID).await[3].contains(r#""timestamp":1794783600500"#));
    let mut talk = RunningSession::resume(&later, ID).await;
    talk.log(vec![user("d"), says("4")]).await;
    let now = std::fs::read_to_string(&path).unwrap();
    assert!(now.starts_with(&grown), "nobody's lines are rewritten");
    let ours = &lines(&path)[9];
    assert_eq!(ours["parentId"], "0000000c", "what they left at the end stays on the branch");
    // Opened again: nothing is new.
    talk.end().await;
    let count = world.entries(ID).await.len();
    later.import(&path).await.unwrap();
    assert_eq!(world.entries(ID).await.len(), count);
}

#[tokio::test]
async fn somebody_who_writes_beside_us_is_noticed_and_not_overwritten() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1")]).await;
    let path = talk.file();
    let line = r#"{"type":"custom","customType":"x","id":"0000000c","parentId":null,"timestamp":"x"}"#;
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + line + "\n" + "{\"torn").unwrap();
    talk.log(vec![user("b"), says("2")]).await;
    let now = lines(&path);
    assert_eq!(now.len(), 7);
    assert_eq!(now[4]["id"], "0000000c");
}

#[tokio::test]
async fn a_path_where_nothing_is_belongs_to_a_session_that_is_still_to_begin() {
    let world = MirrorWorld::new();
    let process = world.process();
    let path = world.dir.path().join("deep/er/mine.jsonl");
    let id = process.import(&path).await.unwrap();
    assert_eq!(process.import(&path).await.unwrap(), id, "the same one when asked again");
    assert_eq!(process.file(&id).unwrap(), path);
    assert!(world.store.summary(&id).await.unwrap().is_none());
    let mut talk = RunningSession::begin(&process, id.as_str());
    talk.log(vec![opened(), user("a"), says("1")]).await;
    assert_eq!(lines(&path)[0]["id"], id.as_str());
    assert_eq!(process.dir(), path.parent().unwrap(), "new sessions go beside it");
    let empty = world.dir.path().join("empty.jsonl");
    std::fs::write(&empty, b"").unwrap();
    let other = process.import(&empty).await.unwrap();
    let mut talk = RunningSession::begin(&process, other.as_str());
    talk.log(vec![opened(), user("a"), says("1")]).await;
    assert_eq!(lines(&empty).len(), 4);
}

#[tokio::test]
async fn a_path_that_was_named_finds_its_session_whether_or_not_the_file_is_there() {
    let world = MirrorWorld::new();
    let mut talk = RunningSession::begin(&world.process(), ID);
    let path = talk.file();
    talk.log(vec![opened()]).await;
    talk.end().await;
    assert!(!path.exists(), "nothing was said yet");
    let process = world.process();
    assert_eq!(process.import(&path).await.unwrap().as_str(), ID);
    assert_eq!(process.file(&ID.into()).unwrap(), path);
    let mut talk = RunningSession::resume(&process, ID).await;
    talk.log(vec![user("a"), says("1")]).await;
    assert_eq!(lines(&path)[0]["id"], ID);
    talk.end().await;
    // Another place, another time of birth: not the name that it was given.
    let elsewhere = world.dir.path().join(path.file_name().unwrap());
    let younger = path.with_file_name(format!("2026-11-15T22-31-53-000Z_{ID}.jsonl"));
    for other in [elsewhere, younger] {
        assert_ne!(process.import(&other).await.unwrap().as_str(), ID, "{}", other.display());
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(world.process().import(&path).await.unwrap().as_str(), ID, "the log is there");
}

#[tokio::test]
async fn a_path_of_ones_own_finds_its_session_as_soon_as_something_was_said() {
    let world = MirrorWorld::new();
    let path = world.dir.path().join("mine.jsonl");
    let process = world.process();
    let id = process.import(&path).await.unwrap();
    let mut talk = RunningSession::begin(&process, id.as_str());
    talk.log(vec![opened(), user("a")]).await;
    // The process is gone, and so is what it had in memory.
    assert_eq!(world.process().import(&path).await.unwrap(), id);
}

#[tokio::test]
async fn a_file_that_is_something_else_is_refused_and_left_alone() {
    let world = MirrorWorld::new();
    let process = world.process();
    let path = world.dir.path().join("notes.jsonl");
    std::fs::write(&path, "my notes\n").unwrap();
    process.import(&path).await.unwrap_err();
    process.import(world.dir.path()).await.unwrap_err();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "my notes\n");
}

#[tokio::test]
async fn our_own_export_goes_to_the_inner_archive() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1")]).await;
    let file = world.dir.path().join("out.jsonl");
    process.export(&ID.into(), Some(&file)).await.unwrap();
    let other = MirrorWorld::new();
    assert_eq!(other.process().import(&file).await.unwrap().as_str(), ID);
    assert_eq!(other.context(ID).await.len(), 2);
    let place = process.path_of(&ID.into());
    assert_eq!(process.import(&place).await.unwrap().as_str(), ID);
}

#[tokio::test]
async fn a_file_of_version_1_is_migrated_when_it_is_first_written_to_and_the_old_one_is_kept() {
    let world = MirrorWorld::new();
    let process = world.process();
    std::fs::create_dir(world.files()).unwrap();
    let path = world.files().join("old.jsonl");
    let old = [
        r#"{"type":"session","id":"v1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}"#,
        r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"one","timestamp":1}}"#,
        r#"{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"1"}],"provider":"p","model":"m","stopReason":"stop","timestamp":2}}"#,
        r#"{"type":"compaction","timestamp":"2025-01-01T00:00:03.000Z","summary":"S","firstKeptEntryIndex":2,"tokensBefore":1}"#,
        "",
    ]
    .join("\n");
    std::fs::write(&path, &old).unwrap();
    let id = process.import(&path).await.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), old, "reading leaves it as it is");
    let mut talk = RunningSession::resume(&process, id.as_str()).await;
    talk.log(vec![user("two"), says("2")]).await;
    let now = lines(&path);
    assert_eq!(now.len(), 6);
    assert_eq!((&now[0]["version"], &now[3]["firstKeptEntryId"]), (&3.into(), &now[2]["id"]));
    for at in 2..6 {
        assert_eq!(now[at]["parentId"], now[at - 1]["id"]);
    }
    assert_eq!(std::fs::read_to_string(world.files().join("old.jsonl.v1")).unwrap(), old);
    talk.end().await;
    let later = world.process();
    let count = world.entries("v1").await.len();
    later.import(&path).await.unwrap();
    assert_eq!(world.entries("v1").await.len(), count, "the names are the same in both versions");
}

#[tokio::test]
async fn files_are_found_by_age_and_by_id() {
    let world = MirrorWorld::new();
    let process = world.process();
    assert_eq!(newest(&world.files()), None);
    for id in ["aa-1", "aa-2", "aa-22", "bb-1"] {
        let mut talk = RunningSession::begin(&process, id);
        talk.log(vec![opened(), user("a"), says("1")]).await;
        let age = std::time::SystemTime::now() - std::time::Duration::from_secs(if id == "aa-2" { 1 } else { 60 });
        std::fs::File::options().append(true).open(talk.file()).unwrap().set_modified(age).unwrap();
    }
    std::fs::write(world.files().join("zz.jsonl"), "nothing").unwrap();
    let name = |path: std::path::PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name(newest(&world.files()).unwrap()).ends_with("_aa-2.jsonl"));
    assert_eq!(by_id(&world.files(), "aa").len(), 3);
    assert_eq!(by_id(&world.files(), "aa-2").len(), 1, "a whole id means that one");
    assert_eq!(by_id(&world.files(), "cc").len(), 0);
}

/// Opening, copying and backing up touch files, too.
#[test]
fn the_newest_file_is_the_one_in_which_something_was_said_last() {
    let place = tempfile::tempdir().unwrap();
    let file = |id: &str, said: &str, more: &str, age: u64| {
        let path = place.path().join(format!("{id}.jsonl"));
        let head =
            format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}}"#);
        let user = format!(
            r#"{{"type":"message","id":"0a0a0a0a","parentId":null,"timestamp":"{said}","message":{{"role":"user","content":"{}"}}}}"#,
            "x".repeat(100_000)
        );
        std::fs::write(&path, format!("{head}\n{user}\n{more}")).unwrap();
        let at = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(age);
        std::fs::File::options().append(true).open(&path).unwrap().set_modified(at).unwrap();
        path
    };
    let change = r#"{"type":"session_info","id":"0b0b0b0b","parentId":"0a0a0a0a","timestamp":"2027-01-01T00:00:00.000Z","name":"n"}"#;
    file("opened-later", "2026-02-01T00:00:00.000Z", &format!("{change}\n"), 3000);
    let newest_said = file("said-last", "2026-03-01T00:00:00.000Z", "{\"torn", 1000);
    file("touched-last", "2026-01-02T00:00:00.000Z", "", 9000);
    assert_eq!(newest(place.path()), Some(newest_said));
}

#[tokio::test]
async fn a_copy_of_a_file_goes_its_own_way() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1")]).await;
    let original = talk.file();
    talk.end().await;
    let copy = original.with_file_name("copy.jsonl");
    std::fs::copy(&original, &copy).unwrap();

    let later = world.process();
    let other = later.import(&copy).await.unwrap();
    assert_ne!(other.as_str(), ID);
    let mut talk = RunningSession::resume(&later, other.as_str()).await;
    talk.log(vec![user("b"), says("2")]).await;
    talk.end().await;
    assert_eq!(texts(&world.context(other.as_str()).await), ["a", "1", "b", "2"]);
    assert_eq!(lines(&copy).len(), lines(&original).len() + 2, "the copy is written to, the original is not");
    assert_eq!(later.import(&original).await.unwrap().as_str(), ID);
    assert_eq!(texts(&world.context(ID).await), ["a", "1"], "the original has only its own");
    assert_eq!(world.process().import(&copy).await.unwrap(), other, "found again by its place");
}

/// Takes one model and what lies below one directory.
struct Narrow {
    here: std::path::PathBuf,
    notes: std::sync::Mutex<Vec<String>>,
}

impl Border for Narrow {
    fn model(&self, slug: &str) -> Result<(), String> {
        if slug == "mock/good" { Ok(()) } else { Err("it is not yours".into()) }
    }
    fn workspace(&self, named: &std::path::Path) -> Result<std::path::PathBuf, Fault> {
        let within = named.starts_with(&self.here);
        within.then(|| named.to_owned()).ok_or_else(|| Fault::new(FaultKind::Invalid, "outside"))
    }
    fn own_model(&self) -> std::sync::Arc<str> {
        "mock/own".into()
    }
    fn here(&self) -> &std::path::Path {
        &self.here
    }
    fn note(&self, text: &str) {
        self.notes.lock().unwrap().push(text.to_owned());
    }
}

#[tokio::test]
async fn a_file_names_models_and_a_directory_and_only_some_are_taken() {
    let world = MirrorWorld::new();
    let border = std::sync::Arc::new(Narrow { here: world.dir.path().to_owned(), notes: Default::default() });
    let process = world.process_behind(border.clone());
    std::fs::create_dir(world.files()).unwrap();
    let write = |id: &str, cwd: &std::path::Path, models: &[&str]| {
        let path = world.files().join(format!("{id}.jsonl"));
        let cwd = cwd.display();
        let mut text = format!(
            r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-11-15T22:00:00.000Z","cwd":"{cwd}"}}"#
        );
        for (n, model) in models.iter().enumerate() {
            text.push_str(&format!("\n{{\"type\":\"model_change\",\"id\":\"m{n}\",\"parentId\":null,\"provider\":\"mock\",\"modelId\":\"{model}\"}}"));
        }
        std::fs::write(&path, format!("{text}\n")).unwrap();
        path
    };
    let model = async |id: &str| world.store.summary(&id.into()).await.unwrap().map(|it| it.model.to_string());
    let below = world.dir.path().join("below");
    process.import(&write("a", &below, &["bad", "good", "worse"])).await.unwrap();
    assert_eq!(model("a").await.as_deref(), Some("mock/good"));
    let file = write("b", &below, &["bad"]);
    process.import(&file).await.unwrap();
    assert_eq!(model("b").await.as_deref(), Some("mock/own"));
    // What is added to the file later is judged, too.
    write("b", &below, &["bad", "worst"]);
    process.import(&file).await.unwrap();
    assert_eq!(model("b").await.as_deref(), Some("mock/own"));
    let notes = border.notes.lock().unwrap().join("\n");
    assert!(
        notes.contains("b.jsonl: the model `mock/worst` is not taken from a session file: it is not yours"),
        "{notes}"
    );
    let outside = process.import(&write("c", "/etc".as_ref(), &["good"])).await;
    assert_eq!((outside.unwrap_err().message.as_str(), model("c").await), ("outside", None));
    // From another directory the same file is somewhere else.
    let elsewhere = Narrow { here: "/elsewhere".into(), notes: Default::default() };
    let later = world.process_behind(std::sync::Arc::new(elsewhere));
    assert_eq!(later.import(&file).await.unwrap_err().message, "outside");
}

#[tokio::test]
async fn what_began_here_goes_on_where_it_began_whatever_its_file_says() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1")]).await;
    let file = talk.file();
    talk.end().await;
    let elsewhere = Narrow { here: "/elsewhere".into(), notes: Default::default() };
    let later = world.process_behind(std::sync::Arc::new(elsewhere));
    assert_eq!(later.import(&file).await.unwrap().as_str(), ID);
}
