//! What is ours: the data directory and the disk it is on, the sessions in it, the configuration.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::{Access, access, statvfs};
use vocab::Store;

use super::{Finding, Verdict, failed, finding};
use crate::setup::Prepared;
use config::Home;

/// With less than this free nothing can be written for long.
const FREE_BYTES_MIN: u64 = 16 * 1024 * 1024;
/// With less than this free it is time to say so.
const FREE_BYTES_LOW: u64 = 256 * 1024 * 1024;
/// A database that is larger than can be read in this time is not judged.
const CHECK_TIME_MAX: Duration = Duration::from_secs(20);

pub(super) fn findings(prepared: &Prepared) -> Vec<Finding> {
    let mut findings = data_directory(&prepared.home);
    findings.extend(configuration(prepared));
    findings
}

fn data_directory(home: &Home) -> Vec<Finding> {
    let data = &home.data;
    let shown = data.display();
    let Ok(meta) = std::fs::metadata(data) else { return vec![not_yet(data)] };
    let mut findings = Vec::new();
    let mode = meta.permissions().mode() & 0o777;
    let own = meta.uid() == rustix::process::geteuid().as_raw();
    if mode & 0o077 != 0 {
        let text = format!("{shown} can be read by others (mode {mode:o}); chmod 700 keeps conversations private");
        findings.push(finding(Verdict::Warn, "data", text));
    }
    if !own {
        findings.push(finding(Verdict::Warn, "data", format!("{shown} belongs to somebody else")));
    }
    let store = store_sqlite::SqliteStore::new(data.clone());
    match store.probe() {
        Ok(()) if findings.is_empty() => findings.push(finding(Verdict::Ok, "data", shown.to_string())),
        Ok(()) => {}
        Err(fault) => findings.push(failed("data", &fault)),
    }
    findings.extend(free(data));
    findings.push(sessions(store));
    findings
}

/// It is made when it is first needed, if it can be.
fn not_yet(data: &Path) -> Finding {
    let shown = data.display();
    let there = data.ancestors().skip(1).find(|it| it.symlink_metadata().is_ok()).unwrap_or(Path::new("/"));
    let usable = match there.is_dir() {
        true => access(there, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| error.to_string()),
        false => Err("it is not a directory".to_owned()),
    };
    match usable {
        Ok(()) => finding(Verdict::Ok, "data", format!("{shown} (made when first needed)")),
        Err(why) => Finding {
            hints: vec!["set TILLERMAN_HOME to a directory that can be written to".to_owned()],
            ..finding(Verdict::Fail, "data", format!("cannot make {shown}: {}: {why}", there.display()))
        },
    }
}

fn free(data: &Path) -> Option<Finding> {
    let disk = statvfs(data).ok().filter(|disk| disk.f_blocks > 0)?;
    Some(room(disk.f_bavail.saturating_mul(disk.f_frsize)))
}

fn room(bytes: u64) -> Finding {
    let mib = bytes / 1024 / 1024;
    match bytes {
        ..FREE_BYTES_MIN => Finding {
            hints: vec!["free some space, or set TILLERMAN_HOME to a directory on another disk".to_owned()],
            ..finding(Verdict::Fail, "disk", format!("no space left: {mib} MiB are free where sessions are kept"))
        },
        FREE_BYTES_MIN..FREE_BYTES_LOW => {
            finding(Verdict::Warn, "disk", format!("only {mib} MiB are free where sessions are kept"))
        }
        _ => finding(Verdict::Ok, "disk", format!("{} GiB free", (mib as f64 / 102.4).round() / 10.0)),
    }
}

/// Opens the database and reads all of it, beside us: a large one may take longer than anybody waits.
fn sessions(store: store_sqlite::SqliteStore) -> Finding {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(store.check()));
    match told.recv_timeout(CHECK_TIME_MAX) {
        Ok(Ok(Some(sessions))) => finding(Verdict::Ok, "sessions", format!("{sessions} saved, the database is whole")),
        Ok(Ok(None)) => finding(Verdict::Ok, "sessions", "none saved yet"),
        Ok(Err(fault)) => failed("sessions", &fault),
        Err(_) => {
            let text = format!("the database is too large to be read within {} s", CHECK_TIME_MAX.as_secs());
            finding(Verdict::Warn, "sessions", text)
        }
    }
}

fn configuration(prepared: &Prepared) -> Vec<Finding> {
    let config = &prepared.config;
    let mut findings: Vec<Finding> =
        config.warnings.iter().map(|line| finding(Verdict::Warn, "config", line.clone())).collect();
    let files: Vec<String> = config.files.iter().map(|file| file.display().to_string()).collect();
    let text = match files.is_empty() {
        true => format!("none; {} would be read", prepared.home.config_file().display()),
        false => files.join(", "),
    };
    findings.push(finding(Verdict::Ok, "config", text));
    findings.push(finding(Verdict::Ok, "workspace", prepared.setup.settings.workspace.display().to_string()));
    let mode = prepared.setup.settings.mode;
    let from = config.source("mode").map_or_else(|| "the default".to_owned(), ToString::to_string);
    findings.push(finding(Verdict::Ok, "mode", format!("{} ({from})", mode.as_str())));
    for program in prepared.extensions.iter().filter(|program| !program.is_file()) {
        findings.push(finding(Verdict::Fail, "extension", format!("there is no file {}", program.display())));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_fails_and_a_nearly_full_one_is_pointed_out() {
        for (bytes, verdict, text) in [
            (0, Verdict::Fail, "no space left: 0 MiB are free where sessions are kept"),
            (FREE_BYTES_MIN, Verdict::Warn, "only 16 MiB are free where sessions are kept"),
            (FREE_BYTES_LOW, Verdict::Ok, "0.3 GiB free"),
            (3 << 40, Verdict::Ok, "3072 GiB free"),
        ] {
            let found = room(bytes);
            assert_eq!((found.verdict, found.text.as_str()), (verdict, text));
        }
    }
}
