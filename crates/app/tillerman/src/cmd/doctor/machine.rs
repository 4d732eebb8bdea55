//! What the machine offers: the kernel's help, and programs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode as FileMode, OFlags, ResolveFlags, openat2};

use super::{Finding, Verdict, finding};

pub(super) fn findings() -> Vec<Finding> {
    let mut findings = kernel();
    findings.extend([("bash", Verdict::Fail), ("git", Verdict::Warn)].map(|(name, missing)| program(name, missing)));
    findings
}

fn kernel() -> Vec<Finding> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let beneath = openat2(CWD, c".", flags, FileMode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS);
    vec![
        match beneath {
            Ok(_) => finding(Verdict::Ok, "openat2", "files are opened beneath the workspace by the kernel"),
            Err(error) => finding(Verdict::Warn, "openat2", format!("not available ({error}); a slower check is used")),
        },
        match rustix::process::child_subreaper() {
            Ok(_) => finding(Verdict::Ok, "subreaper", "children of tools can be found and ended"),
            Err(error) => finding(Verdict::Warn, "subreaper", format!("not available ({error})")),
        },
        finding(
            Verdict::Warn,
            "commands",
            "not confined: a command that is allowed can do whatever you can; the mode decides what is asked",
        ),
    ]
}

fn program(name: &'static str, missing: Verdict) -> Finding {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found: Option<PathBuf> = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| runnable(file));
    match found {
        Some(file) => finding(Verdict::Ok, name, file.display().to_string()),
        None => finding(missing, name, "not found in PATH"),
    }
}

fn runnable(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
