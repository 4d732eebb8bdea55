//! The server as a process, in one of its own: signals, and what its service manager hears.

use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::Duration;

use gateway::DaemonSignals;
use rustix::process::{Pid, Signal, kill_process};

use crate::server::{Playing, Texts, dial, start_with_hooks};

const CHILD: &str = "TILLERMAN_TEST_DAEMON";

#[test]
fn signals_are_obeyed_and_the_service_manager_hears_of_it() {
    if std::env::var_os(CHILD).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        return runtime.block_on(inside());
    }
    let home = tempfile::tempdir().expect("a directory");
    let socket = home.path().join("notify");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    manager.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    let mut child = std::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "daemon::signals_are_obeyed_and_the_service_manager_hears_of_it", "--nocapture"])
        .env("NOTIFY_SOCKET", &socket)
        .env("WATCHDOG_USEC", "200000")
        .env(CHILD, "1")
        .spawn()
        .expect("it runs");
    let pid = Pid::from_child(&child);
    // Signs of life come at any time between the others.
    let (mut alive, mut heard) = (0, Vec::new());
    let next = |alive: &mut u32| loop {
        let mut bytes = [0; 200];
        let count = manager.recv(&mut bytes).expect("it goes on");
        match std::str::from_utf8(&bytes[..count]).expect("text") {
            "WATCHDOG=1" => *alive += 1,
            other => break other.to_owned(),
        }
    };
    heard.push(next(&mut alive));
    // Nothing can be written there, which is said, and is no reason not to live.
    heard.push(next(&mut alive));
    std::thread::sleep(Duration::from_millis(500));
    kill_process(pid, Signal::HUP).expect("a signal");
    heard.extend([next(&mut alive), next(&mut alive)]);
    kill_process(pid, Signal::TERM).expect("a signal");
    heard.push(next(&mut alive));
    assert!(child.wait().expect("it ends").success());
    assert!(heard[0].starts_with("READY=1\nSTATUS=listening on http://127.0.0.1:"), "{heard:?}");
    assert_eq!(heard[1], "STATUS=what it is told cannot be kept: see /health");
    assert!(heard[2].starts_with("RELOADING=1\nMONOTONIC_USEC="), "{heard:?}");
    assert_eq!(heard[3..], ["READY=1", "STOPPING=1"]);
    assert!(alive >= 2, "{alive} signs of life in half a second");
}

async fn inside() {
    let signals = DaemonSignals::take().expect("signals");
    let full = Arc::new(Texts { is_full: true, ..Texts::default() });
    let Playing { handle, address, home, _stage: stage } = start_with_hooks(|_| {}, full).await;
    let mut client = dial(address, "/", &[]).await.expect("a socket");
    let serving = tokio::spawn(async move { handle.run(signals).await });
    assert_eq!(client.close_of_server().await.expect("a close").0, 1001);
    serving.await.expect("no panic");
    assert!(!home.path().join("gateway/gateway.json").exists());
    drop(stage);
}

/// A gateway that was killed leaves its file behind. The next one has the lock and has not written its own yet; by then the
/// number in the file may be anybody's.
#[test]
fn a_stale_file_ends_no_stranger() {
    let home = tempfile::tempdir().expect("a directory");
    let mut stranger = std::process::Command::new("sleep").arg("60").spawn().expect("it runs");
    let file = serde_json::json!({
        "pid": stranger.id(), "started": 0, "url": null, "socket": null, "version": "0", "instance": "old",
    });
    std::fs::write(home.path().join("gateway.json"), file.to_string()).expect("a file");
    let lock = safefile::Lock::try_take(&home.path().join("lock")).expect("a lock").expect("it is free");
    let stopped = gateway::cli::stop(home.path());
    let fate = stranger.try_wait().expect("it can be asked");
    let _ = stranger.kill();
    let _ = stranger.wait();
    assert_eq!(fate, None, "it was ended");
    let fault = stopped.expect_err("nobody was stopped");
    assert!(fault.message.contains("is not it"), "{}", fault.message);
    drop(lock);
    assert_eq!(gateway::cli::stop(home.path()).expect("an answer").exit_code, 3, "the lock is free: none runs");
}

/// The lock tells whether a gateway runs; its file is only what it says of itself.
#[test]
fn a_gateway_whose_file_is_gone_or_spoilt_runs_all_the_same() {
    let home = tempfile::tempdir().expect("a directory");
    let lock = safefile::Lock::try_take(&home.path().join("lock")).expect("a lock").expect("it is free");
    let us = std::process::id();
    for (file, what) in [(None, "gateway.json is missing"), (Some("{\"pid\":"), "gateway.json cannot be read: EOF")] {
        if let Some(text) = file {
            std::fs::write(home.path().join("gateway.json"), text).expect("a file");
        }
        let status = gateway::cli::status(home.path(), false).expect("an answer");
        let who = format!("running: pid {us}, by its lock, but ");
        assert!(status.text.starts_with(&who) && status.text.contains(what), "{}", status.text);
        assert!(status.text.contains(&format!("`kill {us}` ends it")) && status.exit_code == 1, "{status:?}");
        let status = gateway::cli::status(home.path(), true).expect("an answer");
        let json: serde_json::Value = serde_json::from_str(&status.text).expect("JSON");
        assert_eq!((&json["status"], &json["pid"], status.exit_code), (&"unknown".into(), &us.into(), 1));
        for asked in [gateway::cli::stop(home.path()), gateway::cli::url(home.path(), None)] {
            let fault = asked.expect_err("it cannot be told");
            let said = format!("{} {:?}", fault.message, fault.hints);
            let who = format!("a gateway runs here, pid {us}, but ");
            assert!(said.starts_with(&who) && said.contains(what) && said.contains("`kill "), "{said}");
        }
    }
    drop(lock);
    assert_eq!(
        gateway::cli::status(home.path(), false).expect("an answer").exit_code,
        3,
        "the lock is free: none runs"
    );
}

/// Whoever can write the file can name anybody in it: the lock tells whose it is.
#[test]
fn a_file_that_names_somebody_else_is_not_believed() {
    let home = tempfile::tempdir().expect("a directory");
    let lock = safefile::Lock::try_take(&home.path().join("lock")).expect("a lock").expect("it is free");
    let (us, stranger) = (std::process::id(), std::os::unix::process::parent_id());
    named(home.path(), stranger, None);
    let status = gateway::cli::status(home.path(), false).expect("an answer");
    let what = format!("names process {stranger}, which is not it");
    assert!(status.text.starts_with(&format!("running: pid {us}, by its lock, but ")), "{}", status.text);
    assert!(status.text.contains(&what) && status.exit_code == 1, "{status:?}");
    let status = json(home.path());
    assert_eq!((&status["status"], &status["pid"]), (&"unknown".into(), &us.into()));
    assert_eq!(gateway::GatewayFile::running(home.path()).expect("a look"), None);
    drop(lock);
}

/// A process that is suspended takes connections, as the system does that for it, and says nothing.
#[test]
fn one_that_does_not_answer_is_told_from_one_that_is_not_well() {
    let home = tempfile::tempdir().expect("a directory");
    let lock = safefile::Lock::try_take(&home.path().join("lock")).expect("a lock").expect("it is free");
    let socket = home.path().join("g.sock");
    let _silent = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    let us = std::process::id();
    named(home.path(), us, Some(&socket));
    let begun = std::time::Instant::now();
    let status = json(home.path());
    assert_eq!((&status["status"], &status["pid"]), (&"unresponsive".into(), &us.into()), "{status}");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let status = gateway::cli::status(home.path(), false).expect("an answer");
    assert!(status.text.contains("does not answer") && status.text.contains("kill -CONT"), "{}", status.text);
    assert_eq!(status.exit_code, 1);
    // One that cannot be asked, and one whose socket is gone, have a word for how they are, too.
    named(home.path(), us, None);
    assert_eq!(json(home.path())["status"], "running");
    named(home.path(), us, Some(&home.path().join("none.sock")));
    assert_eq!(json(home.path())["status"], "unresponsive");
    drop(lock);
}

/// Its socket is closed while runs come to a point where they can stop, which may take an hour.
#[tokio::test]
async fn one_that_ends_is_not_taken_for_one_that_hangs() {
    let playing = start_with_hooks(|options| options.shutdown_grace = GRACE, Arc::<Texts>::default()).await;
    let home = playing.home.path().join("gateway");
    let file = gateway::GatewayFile::running(&home).expect("a look").expect("it runs");
    assert_eq!((file.shutdown_grace_ms, file.is_ending), (90_000, false), "`stop` waits for that, and some more");
    let mut actor = playing._stage.open().await;
    actor.prompt("hang").await;
    actor.settle().await;
    let ending = tokio::spawn(playing.handle.shutdown(std::future::pending()));
    while !gateway::GatewayFile::running(&home).expect("a look").expect("it runs").is_ending {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(json(&home)["status"], "ending");
    let status = gateway::cli::status(&home, false).expect("an answer");
    assert!(status.text.contains("ending: runs may take 90s") && status.exit_code == 1, "{status:?}");
    ending.abort();
}

const GRACE: Duration = Duration::from_secs(90);

fn named(home: &std::path::Path, pid: u32, socket: Option<&std::path::Path>) {
    let file = serde_json::json!({
        "pid": pid, "started": 0, "url": null, "socket": socket, "version": "0", "instance": "i",
    });
    std::fs::write(home.join("gateway.json"), file.to_string()).expect("a file");
}

fn json(home: &std::path::Path) -> serde_json::Value {
    let status = gateway::cli::status(home, true).expect("an answer");
    serde_json::from_str(&status.text).expect("JSON")
}
