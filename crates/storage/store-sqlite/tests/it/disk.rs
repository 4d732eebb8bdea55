//! Disks that are full, and disks that fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use store_sqlite::SqliteStore;
use vocab::{Durability, FaultKind, Store};

use crate::kit::{self, new_session, said, tell, texts};

/// A small file system, unmounted at the end of the test.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path, options: &str) -> Result<Self, String> {
        let output = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).output();
        match output {
            Ok(output) if output.status.success() => Ok(Self(at.to_owned())),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}
impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_fails_one_append_and_not_the_next() {
    let place = tempfile::tempdir().unwrap();
    let _small = match Small::mount(place.path(), "size=256k") {
        Ok(small) => small,
        Err(why) => return println!("SKIP: a tmpfs of 256 KiB cannot be mounted here: {why}"),
    };
    let store = SqliteStore::new(place.path().join("home"));
    let lease = store.create(new_session("s"));
    let ballast = place.path().join("ballast");
    store.append(&lease, vec![said(1, "one")], Durability::Now).await.unwrap();
    let mut seq = 2;
    for round in 0..3 {
        // Fill the disk to the last byte.
        let mut size = 256 * 1024;
        let mut written = 0;
        while size > 0 {
            let more = vec![0u8; size];
            let mut content = fs::read(&ballast).unwrap_or_default();
            content.extend(more);
            let _ = fs::remove_file(&ballast);
            if fs::write(&ballast, &content).is_ok() {
                written = content.len();
            } else {
                let _ = fs::write(&ballast, vec![0u8; written]);
                size /= 2;
            }
        }
        let mut refused = None;
        let before = seq;
        // What is left of the write-ahead log may still take a few small ones.
        for _ in 0..100 {
            match store.append(&lease, vec![said(seq, &"x".repeat(4_000))], kit::synced(seq.is_multiple_of(2))).await {
                Ok(()) => seq += 1,
                Err(fault) => {
                    refused = Some(fault);
                    break;
                }
            }
        }
        let fault = refused.expect("the disk is full");
        assert_eq!(fault.kind, FaultKind::Store);
        assert!(fault.message.contains("full"), "{fault}");
        assert!(!fault.hints.is_empty());
        let there = store.read(&lease.session, 0, 1_000).await.expect("reading a full disk works");
        assert_eq!(there.entries.len() as u64, seq - 1, "nothing of the failed append is there");
        let failed_again = store.append(&lease, vec![said(seq, &"x".repeat(4_000))], Durability::Now).await;
        assert!(failed_again.is_err());
        fs::remove_file(&ballast).unwrap();
        store
            .append(&lease, vec![said(seq, "room again")], Durability::Now)
            .await
            .expect("the next append is tried again");
        seq += 1;
        println!("round {round}: {} appends before the disk was full", seq - before - 1);
    }
    drop(store);
    let store = SqliteStore::new(place.path().join("home"));
    let seen = texts(&store, &lease.session).await;
    assert_eq!((seen.len() as u64, seen.last().unwrap().as_str()), (seq - 1, "room again"));
}

#[tokio::test]
async fn what_is_too_large_for_the_disk_does_not_take_its_neighbours_with_it() {
    let place = tempfile::tempdir().unwrap();
    let _small = match Small::mount(place.path(), "size=256k") {
        Ok(small) => small,
        Err(why) => return println!("SKIP: a tmpfs of 256 KiB cannot be mounted here: {why}"),
    };
    let store = SqliteStore::new(place.path().join("home"));
    let (modest, greedy) = (store.create(new_session("modest")), store.create(new_session("greedy")));
    // All of them wait together while the database is being made, so they are one batch.
    let first = store.append(&modest, vec![said(1, "one")], Durability::Commit);
    let huge = store.append(&greedy, vec![said(1, &"z".repeat(1_000_000))], Durability::Commit);
    let second = store.append(&modest, vec![said(2, "two")], Durability::Now);
    first.await.unwrap();
    let fault = huge.await.unwrap_err();
    assert!(fault.message.contains("full"), "{fault}");
    second.await.unwrap();
    assert_eq!(texts(&store, &modest.session).await, ["one", "two"]);
    assert_eq!(store.summary(&greedy.session).await.unwrap(), None, "nothing of it is there");
    store.append(&greedy, vec![said(1, "less")], Durability::Now).await.unwrap();
    assert_eq!(texts(&store, &greedy.session).await, ["less"]);
}

#[tokio::test]
async fn a_read_only_place_fails_the_probe() {
    let place = tempfile::tempdir().unwrap();
    let _small = match Small::mount(place.path(), "size=256k,ro") {
        Ok(small) => small,
        Err(why) => return println!("SKIP: a read-only tmpfs cannot be mounted here: {why}"),
    };
    for home in [place.path().to_owned(), place.path().join("below")] {
        let fault = SqliteStore::new(home.clone()).probe().unwrap_err();
        assert_eq!(fault.kind, FaultKind::Store);
        assert!(fault.message.contains(&*home.to_string_lossy()), "{fault}");
        assert!(fault.message.to_lowercase().contains("read-only"), "{fault}");
    }
}

/// Runs with SIGXFSZ ignored: a write beyond the limit is an input/output error to SQLite.
#[tokio::test]
async fn role_failing_disk() {
    let Some((store, _)) = kit::role("disk::role_failing_disk") else { return };
    let wall = getrlimit(Resource::Fsize);
    let limit = |bytes| setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum: wall.maximum }).unwrap();
    let lease = store.create(new_session("s"));
    // The very first write may fail as well.
    limit(Some(8 * 1024));
    let fault = store.append(&lease, vec![said(1, "one")], Durability::Now).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Store, "{fault}");
    limit(wall.current);
    store.append(&lease, vec![said(1, "one")], Durability::Now).await.unwrap();
    let mut seq = 2;
    for _ in 0..20 {
        let size = |name| fs::metadata(store.place().with_file_name(name)).map_or(0, |file| file.len());
        limit(Some(size("sessions.db").max(size("sessions.db-wal"))));
        // There may be room inside the files; push until they have to grow.
        let broken = loop {
            match store.append(&lease, vec![said(seq, &"y".repeat(20_000))], kit::synced(seq.is_multiple_of(2))).await {
                Ok(()) => seq += 1,
                Err(fault) => break fault,
            }
        };
        assert_eq!(broken.kind, FaultKind::Store);
        assert!(broken.message.contains("input/output error"), "{broken}");
        limit(Some(0));
        for _ in 0..3 {
            let fault = store.append(&lease, vec![said(seq, "no way")], Durability::Now).await.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Store, "{fault}");
        }
        limit(wall.current);
        store.append(&lease, vec![said(seq, "works again")], Durability::Now).await.unwrap();
        seq += 1;
    }
    tell(&format!("{}", seq - 1));
}

#[tokio::test]
async fn after_an_input_output_error_the_database_is_opened_again() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    let exe = std::env::current_exe().unwrap();
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(exe);
    command.args(["disk::role_failing_disk", "--exact", "--nocapture", "--test-threads=1"]);
    kit::as_child(&mut command, "disk::role_failing_disk", home.path(), 0);
    let told = kit::told(command.spawn().unwrap(), false);
    let last: usize = told.last().expect("the child came to its end").parse().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let seen = texts(&store, &"s".into()).await;
    assert_eq!(seen.len(), last, "exactly what was acknowledged");
    assert_eq!(seen.iter().filter(|it| *it == "works again").count(), 20);
}
