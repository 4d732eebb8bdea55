//! `doctor`: one line per thing that must work, and what to do where it does not. Fails when something essential does.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode as FileMode, OFlags, ResolveFlags, openat2};
use vocab::{Mode, Store};

use crate::args;
use crate::config::Home;
use crate::print::{colours, exactly};
use crate::setup::{self, Prepared};
use crate::terminal::{FAILED, OK, Paint};
use crate::wiring::{self, Lookout, Standpoint, VENDORS};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    /// It works, but not as well as it could.
    Warn,
    Fail,
}

struct Finding {
    verdict: Verdict,
    what: &'static str,
    text: String,
}

fn finding(verdict: Verdict, what: &'static str, text: impl Into<String>) -> Finding {
    Finding { verdict, what, text: text.into() }
}

pub(crate) fn run(args: &args::Doctor) -> anyhow::Result<u8> {
    let paint = Paint { on: colours(&std::io::stdout()) };
    let basics = args::Basics { workspace: args.workspace.clone(), ..args::Basics::default() };
    let mut findings = vec![finding(Verdict::Ok, "version", env!("CARGO_PKG_VERSION"))];
    match setup::prepare(&basics, Mode::Prompt) {
        Ok(prepared) => {
            findings.extend(data_directory(&prepared.home));
            findings.extend(configuration(&prepared));
            findings.extend(models(prepared)?);
        }
        Err(fault) => findings.push(finding(Verdict::Fail, "config", with_hints(&fault))),
    }
    findings.extend(kernel());
    findings.extend([("bash", Verdict::Fail), ("git", Verdict::Warn)].map(|(name, missing)| program(name, missing)));
    let mut text = String::new();
    for it in &findings {
        let verdict = match it.verdict {
            Verdict::Ok => paint.green("ok  "),
            Verdict::Warn => paint.yellow("warn"),
            Verdict::Fail => paint.red("fail"),
        };
        text.push_str(&format!("{verdict}  {:<12} {}\n", it.what, crate::terminal::clean(&it.text)));
    }
    exactly(&text)?;
    Ok(if findings.iter().any(|it| it.verdict == Verdict::Fail) { FAILED } else { OK })
}

fn with_hints(fault: &vocab::Fault) -> String {
    let hints = fault.hints.iter().map(|hint| format!("; {hint}"));
    format!("{}{}", fault.message, hints.collect::<String>())
}

// ---- ours -----------------------------------------------------------------------------------------------------------

fn data_directory(home: &Home) -> Vec<Finding> {
    let data = &home.data;
    let shown = data.display();
    let Ok(meta) = std::fs::metadata(data) else {
        return vec![finding(Verdict::Ok, "data", format!("{shown} (made when first needed)"))];
    };
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
    match store::SqliteStore::new(data.clone()).probe() {
        Ok(()) if findings.is_empty() => findings.push(finding(Verdict::Ok, "data", shown.to_string())),
        Ok(()) => {}
        Err(fault) => findings.push(finding(Verdict::Fail, "data", with_hints(&fault))),
    }
    findings
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
    let mode = prepared.setup.settings.mode;
    let from = config.source("mode").map_or_else(|| "the default".to_owned(), ToString::to_string);
    findings.push(finding(Verdict::Ok, "mode", format!("{} ({from})", mode.as_str())));
    findings
}

/// The model that would be used, and every source of models: what was found where.
fn models(mut prepared: Prepared) -> anyhow::Result<Vec<Finding>> {
    prepared.setup.lookout = Lookout::Wait;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let wired = match runtime.block_on(wiring::build(prepared.setup)) {
        Ok(wired) => wired,
        Err(fault) => return Ok(vec![finding(Verdict::Fail, "model", with_hints(&fault))]),
    };
    let mut findings = vec![finding(Verdict::Ok, "model", wired.reason.trim_start_matches("model "))];
    findings.extend(wired.notes.iter().map(|note| finding(Verdict::Warn, "model", note.clone())));
    for source in &wired.sources {
        let Standpoint { name, api, base_url, key, models, failed } = source;
        let verdict = if *failed { Verdict::Warn } else { Verdict::Ok };
        let text = format!("{name}: {key}; {base_url} ({api}), {models} models known");
        findings.push(finding(verdict, "provider", text));
    }
    let there = |name: &str| wired.sources.iter().any(|source| &*source.name == name);
    let missing: Vec<&str> =
        VENDORS.iter().filter(|it| !there(it.name)).filter_map(|it| Some(it.keys.first()?.0)).collect();
    if !missing.is_empty() {
        findings.push(finding(Verdict::Ok, "not set", missing.join(", ")));
    }
    Ok(findings)
}

// ---- the machine ----------------------------------------------------------------------------------------------------

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
