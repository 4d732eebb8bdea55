//! A disk that is full in the middle of a line, and a writer that is killed. Both need a process of their own.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use session_files::{newest, side_file};

use crate::kit::*;

const LIMITED: &str = "SESSIONFILE_TEST_LIMITED";

/// The file may grow to so many blocks of 512 bytes; then a write takes what fits and the next one fails.
#[test]
fn a_disk_that_is_full_in_mid_line_loses_nothing_once_there_is_room() {
    for blocks in 1..=24 {
        let script = format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$0\" \"$@\"");
        let output = Command::new("/bin/sh")
            .args(["-c", &script])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "disk::writes_until_the_disk_is_full_and_then_on"])
            .env(LIMITED, "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{blocks} blocks: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[tokio::test]
async fn writes_until_the_disk_is_full_and_then_on() {
    if std::env::var_os(LIMITED).is_none() {
        return;
    }
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1")]).await;
    // Long enough to fill any limit set above, and never a whole number of blocks.
    for at in 0..60 {
        talk.log(vec![user(&format!("{at} {}", "x".repeat(at * 5))), says("ok")]).await;
    }
    assert_eq!(world.notes().iter().filter(|note| note.contains("could not be written")).count(), 1);
    let path = talk.file();
    assert!(!path.exists() || lines(&path).len() > 3, "half a line is taken back at once");
    assert!(!side_file(&path).exists());
    let room = Rlimit { current: None, ..getrlimit(Resource::Fsize) };
    setrlimit(Resource::Fsize, room).unwrap();
    talk.log(vec![user("there is room")]).await;
    let now = lines(&path);
    assert_eq!(now.len(), 1 + 3 + 120 + 1);
    let transcript = world.transcript(ID).await;
    let expected: Vec<String> = transcript.lines().iter().map(|line| transcript.entry_json(line)).collect();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), expected, "each line once, in order");
}

/// A writer that has written nothing by then never will.
const PATIENCE: Duration = Duration::from_secs(30);

const KILLED: &str = "SESSIONFILE_TEST_KILLED";

/// A process is killed while it writes, twenty times; the next one goes on from whatever it left.
#[tokio::test]
async fn a_killed_writer_leaves_what_the_next_one_goes_on_from() {
    let home = tempfile::tempdir().unwrap();
    let world = MirrorWorld::at(home.path());
    let written = || newest(&world.files()).map_or(0, |file| std::fs::metadata(file).map_or(0, |it| it.len()));
    for round in 0..20 {
        let before = written();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "disk::writes_until_it_is_killed", "--nocapture"])
            .env(KILLED, home.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Killed at another moment each time, but never before it has begun.
        let began = Instant::now();
        while written() == before {
            assert!(began.elapsed() < PATIENCE, "the writer does not begin");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(round * 700));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let process = world.process();
    let mut talk = RunningSession::resume(&process, ID).await;
    talk.log(vec![says("the last word")]).await;
    let transcript = world.transcript(ID).await;
    let mut expected: Vec<String> = transcript.lines().iter().map(|line| transcript.entry_json(line)).collect();
    let text = std::fs::read_to_string(talk.file()).unwrap();
    let mut written: Vec<&str> = text.lines().skip(1).collect();
    assert!(written.len() > 20, "they had time to write: {}", written.len());
    assert_eq!(written.last().copied(), expected.last().map(String::as_str));
    expected.sort();
    written.sort_unstable();
    assert_eq!(written, expected, "each line once");
}

#[tokio::test]
async fn writes_until_it_is_killed() {
    let Some(home) = std::env::var_os(KILLED) else { return };
    let world = MirrorWorld::at(std::path::Path::new(&home));
    let process = world.process();
    let is_new = world.store.summary(&ID.into()).await.unwrap().is_none();
    let mut talk =
        if is_new { RunningSession::begin(&process, ID) } else { RunningSession::resume(&process, ID).await };
    if is_new {
        talk.log(vec![opened()]).await;
    }
    // Ended from outside; the bound only keeps a forgotten child from writing forever.
    for at in 0..10_000 {
        talk.log(vec![user(&format!("{at}")), says(&"word ".repeat(at % 50))]).await;
    }
}
