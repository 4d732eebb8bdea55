//! The file follows the log.

use std::path::PathBuf;

use std::os::unix::fs::PermissionsExt;

use vocab::*;

use crate::kit::*;

#[tokio::test]
async fn nothing_is_written_before_somebody_says_something_and_then_everything_is() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    let path = talk.file();
    assert_eq!(path, world.files().join(format!("2026-11-15T22-31-52-000Z_{ID}.jsonl")));
    talk.log(vec![opened()]).await;
    assert!(!path.exists());
    talk.log(vec![user("hi")]).await;
    assert_eq!(lines(&path).len(), 3, "it is there before the prompt is acknowledged");
    talk.log(vec![says("hello")]).await;
    let written = lines(&path);
    assert_eq!(written.len(), 4);
    assert_eq!(
        std::fs::read_to_string(&path).unwrap().lines().next().unwrap(),
        format!(r#"{{"type":"session","version":3,"id":"{ID}","timestamp":"2026-11-15T22:31:52.000Z","cwd":"/work"}}"#)
    );
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    talk.log(vec![user("more"), says("yes")]).await;
    assert_eq!(lines(&path).len(), 6);
    assert_eq!(std::fs::read_dir(world.files()).unwrap().count(), 1, "nothing is left beside it");
}

#[tokio::test]
async fn every_line_of_the_file_is_a_line_of_the_log_in_its_order() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    for body in everything() {
        talk.log(vec![body]).await;
    }
    let expected: Vec<String> = {
        let transcript = world.transcript(ID).await;
        transcript.lines().iter().map(|line| transcript.entry_json(line)).collect()
    };
    let text = std::fs::read_to_string(talk.file()).unwrap();
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn another_process_goes_on_in_the_same_file() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("hi"), says("hello")]).await;
    let path = talk.file();
    talk.end().await;
    let later = world.process();
    let mut talk = RunningSession::resume(&later, ID).await;
    assert_eq!(talk.file(), path);
    talk.log(vec![user("again"), says("yes")]).await;
    let names: Vec<_> = lines(&path).iter().skip(1).map(|line| line["id"].clone()).collect();
    let parents: Vec<_> = lines(&path).iter().skip(2).map(|line| line["parentId"].clone()).collect();
    assert_eq!(names[..names.len() - 1], parents[..]);
    assert_eq!(names.len(), 5);
}

#[tokio::test]
async fn a_file_that_is_gone_or_behind_is_brought_up_to_date() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1"), user("b"), says("2")]).await;
    let path = talk.file();
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    talk.log(vec![user("c")]).await;
    assert_eq!(lines(&path).len(), 7, "written anew, in the same process");
    let short: String = whole.lines().take(3).map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, short).unwrap();
    talk.log(vec![says("3")]).await;
    assert_eq!(lines(&path).len(), 8);
    assert!(std::fs::read_to_string(&path).unwrap().starts_with(&whole));
}

#[tokio::test]
async fn a_line_lost_from_the_middle_comes_back_but_not_as_the_last() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1"), user("b"), says("2")]).await;
    let path = talk.file();
    talk.end().await;
    let text = std::fs::read_to_string(&path).unwrap();
    let mut kept: Vec<&str> = text.lines().collect();
    let lost = kept.remove(3).to_owned();
    std::fs::write(&path, kept.join("\n") + "\n").unwrap();
    let later = world.process();
    let mut talk = RunningSession::resume(&later, ID).await;
    talk.log(vec![Body::Turn(TurnEntry::Started { turn: "t2".into() })]).await;
    assert_eq!(lines(&path).len(), 5, "a turn's start has no line");
    talk.log(vec![user("c")]).await;
    let now = std::fs::read_to_string(&path).unwrap();
    let now: Vec<&str> = now.lines().collect();
    assert_eq!(now[5], lost);
    assert!(now[6].contains(r#""text":"c""#));
}

#[tokio::test]
async fn a_file_that_cannot_be_written_costs_a_note_and_is_caught_up_later() {
    let world = MirrorWorld::new();
    let process = world.process();
    // A file where the directory should be.
    std::fs::write(world.files(), b"in the way").unwrap();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1")]).await;
    talk.log(vec![user("b")]).await;
    assert_eq!(world.notes().len(), 1, "said once: {:?}", world.notes());
    assert!(world.notes()[0].contains("could not be written"));
    std::fs::remove_file(world.files()).unwrap();
    talk.log(vec![says("2")]).await;
    assert_eq!(lines(&talk.file()).len(), 6);
}

#[tokio::test]
async fn a_path_that_is_no_file_is_left_alone_and_tried_again() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1")]).await;
    let path = talk.file();
    talk.end().await;
    let good = std::fs::read(&path).unwrap();
    let link = path.clone();
    let aside = world.dir.path().join("aside.jsonl");
    std::fs::rename(&path, &aside).unwrap();
    std::os::unix::fs::symlink("/dev/full", &link).unwrap();
    let later = world.process();
    let mut talk = RunningSession::resume(&later, ID).await;
    talk.log(vec![user("b")]).await;
    assert_eq!(world.notes().len(), 1, "{:?}", world.notes());
    std::fs::remove_file(&link).unwrap();
    std::fs::rename(&aside, &path).unwrap();
    talk.log(vec![says("2")]).await;
    let now = std::fs::read(&path).unwrap();
    assert!(now.starts_with(&good));
    assert_eq!(lines(&path).len(), 6);
}

#[tokio::test]
async fn what_was_never_polled_is_written_with_what_follows() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1")]).await;
    let entry = talk.entry(user("b"));
    drop(process.append(&talk.lease, vec![entry], Durability::Now));
    talk.log(vec![says("2")]).await;
    assert_eq!(lines(&talk.file()).len(), 6);
}

#[tokio::test]
async fn a_refused_append_leaves_no_line() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1")]).await;
    let mut gap = (*talk.entry(user("b"))).clone();
    gap.seq += 7;
    process.append(&talk.lease, vec![gap.into()], Durability::Now).await.unwrap_err();
    assert_eq!(lines(&talk.file()).len(), 4);
}

#[tokio::test]
async fn a_fork_names_the_file_it_came_from_and_keeps_the_names() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1"), user("b"), says("2")]).await;
    let old = talk.file();
    let mut fork = RunningSession::begin(&process, "fork");
    let Body::Opened { workspace, model, mode, .. } = opened() else { unreachable!() };
    let forked_from = Some((ID.into(), 4));
    let mut copied = vec![fork.entry(Body::Opened { workspace, model, mode, forked_from, child_of: None })];
    for entry in &world.entries(ID).await[1..3] {
        let copy = fork.entry(entry.body.clone());
        copied.push(Entry { at_ms: entry.at_ms, ..(*copy).clone() }.into());
    }
    process.append(&fork.lease, copied, Durability::Now).await.unwrap();
    let (old_lines, new_lines) = (lines(&old), lines(&fork.file()));
    assert_eq!(new_lines[0]["parentSession"], old.to_str().unwrap());
    assert_eq!(new_lines[2]["id"], old_lines[2]["id"]);
    assert_eq!(new_lines[3], old_lines[3]);
    assert_ne!(old, fork.file());
}

#[tokio::test]
async fn a_session_that_works_for_a_call_has_no_file() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1")]).await;
    let dir = talk.file().parent().unwrap().to_owned();
    let files = || std::fs::read_dir(&dir).unwrap().count();
    assert_eq!(files(), 1);
    let mut child = RunningSession::begin(&process, "child");
    let Body::Opened { workspace, model, mode, .. } = opened() else { unreachable!() };
    let child_of = Some((ID.into(), "c1".into()));
    child.log(vec![Body::Opened { workspace, model, mode, forked_from: None, child_of }, user("b"), says("2")]).await;
    assert_eq!((files(), world.entries("child").await.len()), (1, 3));
    process.release(child.lease.clone()).await.unwrap();
    let lease = process.acquire(&"child".into()).await.unwrap().lease;
    let more = Entry { seq: 4, parent: 3, at_ms: 9, body: user("c"), by: None };
    process.append(&lease, vec![more.into()], Durability::Now).await.unwrap();
    assert_eq!((files(), world.entries("child").await.len()), (1, 4), "nor when it is opened again");
}

#[tokio::test]
async fn who_begins_a_session_may_name_its_parent() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin_from(&process, ID, Some("as/given.jsonl"));
    talk.log(vec![opened(), user("a"), says("1")]).await;
    assert_eq!(lines(&talk.file())[0]["parentSession"], "as/given.jsonl");
}

#[tokio::test]
async fn a_file_of_another_session_is_not_written_to() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, "a/b");
    let mut other = RunningSession::begin(&process, "a_b");
    assert_eq!(talk.file(), other.file(), "two ids that look alike in a file name");
    talk.log(vec![opened(), user("a"), says("1")]).await;
    let before = std::fs::read(talk.file()).unwrap();
    other.log(vec![opened(), user("b"), says("2")]).await;
    assert_eq!(std::fs::read(talk.file()).unwrap(), before);
    assert!(world.notes()[0].contains("belongs to session a/b"), "{:?}", world.notes());
}

#[tokio::test]
async fn a_deleted_session_takes_its_file_along() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1")]).await;
    let path = talk.file();
    talk.end().await;
    let torn = PathBuf::from(format!("{}.torn", path.display()));
    std::fs::write(&torn, "{\"what was cut").unwrap();
    assert!(process.delete(&ID.into(), None).await.unwrap());
    assert!(!path.exists() && !torn.exists());
}

/// The writer is killed at any moment: what it leaves is a whole file, a torn tail that is mended, or none.
#[tokio::test]
async fn a_writer_that_stops_at_any_byte_is_gone_on_from() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1"), user("b"), calls("c1"), result("c1", false)]).await;
    let path = talk.file();
    talk.end().await;
    let whole = std::fs::read(&path).unwrap();
    let head = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut last = 0;
    for cut in (head..whole.len()).step_by(97) {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let later = world.process();
        let mut talk = RunningSession::resume(&later, ID).await;
        talk.log(vec![user(&format!("after {cut}"))]).await;
        talk.end().await;
        last += 1;
        let now = std::fs::read(&path).unwrap();
        assert!(now.starts_with(&whole), "cut at {cut}");
        assert_eq!(lines(&path).len(), 7 + last, "everything is there once, cut at {cut}");
    }
    assert!(last > 10);
}
