//! `tillerman rpc` and `tillerman --mode rpc`: the `rpc` dialect on stdin and stdout. stdout is protocol only; whatever keeps
//! it from starting is one line on stderr.

mod argv;
mod flags;
mod list;
mod session;
mod settle;
mod table;
mod templates;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dialect_rpc::{Errors, Options, Rpc, Template, Updates};
use host::FrameLog;
use vocab::{Fault, FaultKind, Mode, Query, Which};
use wire::Dialect;

use crate::args::Basics;
use crate::config;
use crate::config::agent::{self, AgentSettings};
use crate::extension_host;
use crate::setup::{self, Prepared};
use crate::wiring::{self, SessionFiles, Standing, Wanted, Wired};
use flags::{Flags, Wrong};
use session::{Around, FILES, SessionPlan};

/// It could not start.
const FAILED: u8 = 1;
/// stdin ended or a signal came. The dialect stops what runs and ends by itself as soon as everything is said; this is for
/// when that does not come about.
const GRACE: Duration = Duration::from_secs(3);
/// Lines of notes that are told; of more only the number.
const NOTES_MAX: usize = 20;

pub(crate) const HELP: &str = include_str!("rpc/help.txt");

pub(crate) fn run(words: Vec<OsString>) -> anyhow::Result<u8> {
    let flags = match flags::parse(words) {
        Ok(flags) => flags,
        Err(Wrong(what)) => return Ok(refuse(&what, super::USAGE)),
    };
    if flags.version {
        return super::print(concat!("tillerman ", env!("CARGO_PKG_VERSION")));
    }
    if flags.help {
        return super::print(HELP);
    }
    if flags.at_file {
        return Ok(refuse("@file arguments are not supported in RPC mode", FAILED));
    }
    if let Some(key) = &flags.api_key {
        argv::hide(key);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(async {
        match start(&flags).await {
            Ok(code) => code,
            Err(fault) => {
                let hints: String = fault.hints.iter().map(|hint| format!("; {hint}")).collect();
                refuse(&format!("{}{hints}", fault.message), FAILED)
            }
        }
    }))
}

/// One line, and the code to end with.
fn refuse(what: &str, code: u8) -> u8 {
    let line = crate::print::one_line(what);
    // Nobody is left to tell when stderr is gone.
    let _ = writeln!(std::io::stderr().lock(), "Error: {line}");
    code
}

async fn start(flags: &Flags) -> Result<u8, Fault> {
    let Ready { setup, mut session, notes, programs } = ready(flags)?;
    tell(&flags.notes.iter().chain(&notes).collect::<Vec<_>>());
    if let Some(search) = &flags.list_models {
        let wired = wiring::build(setup).await?;
        return say(&list::text(&*wired.ports.provider, search.as_deref()).await?);
    }
    if let Some(file) = &flags.export {
        return export(setup, file).await;
    }
    let frame_log = flags.log_frames.as_deref().map(|path| FrameLog::open(path, setup.keyring.clone())).transpose();
    let frame_log =
        frame_log.map_err(|error| Fault::new(FaultKind::Invalid, format!("cannot write the frame log: {error}")))?;
    let templates = templates::load(&setup.agent_dir, flags);
    let wired = wiring::build(setup).await?;
    tell(&wired.warnings(flags.model.is_some()).collect::<Vec<_>>());
    must_exist(&session.which, &wired).await?;
    stay_here(&mut session.which, &wired).await?;
    let dialect = Rpc::new(options(flags, &session, &wired, templates));
    let extension_host = extension_host::start(&wired, programs, None).await;
    let code = converse(dialect, &wired, frame_log).await;
    extension_host.shutdown().await;
    wired.engine.shutdown().await;
    code
}

/// How the dialect starts.
fn options(flags: &Flags, session: &SessionPlan, wired: &Wired, templates: Vec<Template>) -> Options {
    let settings = &wired.settings;
    // Only what a flag says wins over what a resumed session remembers.
    let by_flag = flags.model.is_some() || flags.provider.is_some();
    Options {
        which: session.which.clone(),
        fork: session.fork,
        title: session.title.as_deref().map(Into::into),
        workspace: Some(settings.workspace.clone()),
        model: by_flag.then(|| settings.model.clone()),
        // Always today's: a resumed session must not keep a wider one.
        mode: Some(settings.mode),
        errors: flags.errors.unwrap_or_else(|| usual_errors(std::env::args_os().next().as_deref())),
        updates: flags.updates.unwrap_or(Updates::Full),
        emit_title: emit_title(&config::process_env),
        scope: wired.scope.clone(),
        lane: settings.lane,
        retry: settings.retry,
        compaction: settings.compaction,
        reminders_max: settings.reminders_max,
        templates,
        no_key: wired.integrations.model == Standing::AuthError,
        services: wired.integrations.services.clone(),
        ..Options::new(env!("CARGO_PKG_VERSION"))
    }
}

async fn converse(
    dialect: impl Dialect<Own = wire::NoOwn>,
    wired: &Wired,
    frame_log: Option<FrameLog>,
) -> Result<u8, Fault> {
    let no_pipe = |error| Fault::new(FaultKind::Internal, format!("cannot use stdin and stdout: {error}"));
    let (input, output) = host::take().map_err(no_pipe)?;
    let usual = host::Options::default();
    let options = host::Options { grace: GRACE, frame_log, signals: true, deaf: output.gone(), ..usual };
    let ended = host::pump(dialect, &wired.engine, input, output, options).await;
    Ok(ended.exit_code)
}

/// Everything that is decided before anything is built.
struct Ready {
    setup: wiring::Setup,
    session: SessionPlan,
    notes: Vec<String>,
    /// Extensions to start: only the user's own word names one, by flag or settings.
    programs: Vec<PathBuf>,
}

fn ready(flags: &Flags) -> Result<Ready, Fault> {
    let (system_prompt, append_system_prompt) = settle::prompts(flags)?;
    let basics = Basics {
        workspace: flags.workspace.clone(),
        mode: flags.permission_mode,
        config: flags.config.clone(),
        system_prompt,
        append_system_prompt,
        no_context_files: flags.no_context_files,
        no_session: flags.no_session,
        extensions: flags.extensions.iter().map(|path| expand(path)).collect(),
        no_extensions: flags.no_extensions,
        ..Basics::default()
    };
    let Prepared { mut setup, config, extensions, .. } = setup::prepare(&basics, Mode::DangerFullAccess)?;
    let settings = agent::settings(&setup.agent_dir);
    settle::settle(&mut setup.settings, flags, &config, &settings);
    if flags.no_servers {
        setup.servers.clear();
    }
    setup.compact_at = settle::compact_at(&config, &settings);
    setup.api_key = flags.api_key.clone().or_else(argv::handed_over);
    setup.wanted = wanted(flags, &config, &settings);
    let around = Around {
        env: &config::process_env,
        agent_dir: &setup.agent_dir,
        workspace: &setup.settings.workspace,
        settings: &settings,
        files: &FILES,
    };
    let session = session::plan(flags, &around)?;
    let files = SessionFiles { dir: session.dir.clone(), fixed: session.dir_is_fixed, only_shown: false };
    setup.session_files = (!flags.no_session).then_some(files);
    let programs = programs(extensions, flags, &settings, &setup.agent_dir);
    setup.programs = programs.clone();
    let mut notes = config.warnings;
    notes.extend(setup.described.unspoken.iter().map(agent::Unspoken::note));
    notes.extend(settings.notes);
    notes.extend(settle::strangers(flags));
    notes.extend(session.note.clone());
    Ok(Ready { setup, session, notes, programs })
}

/// A flag is a demand, and so is our own configuration; `settings.json` is a habit.
fn wanted(flags: &Flags, config: &config::Config, settings: &AgentSettings) -> Wanted {
    let by_flag = flags.model.is_some() || flags.provider.is_some();
    let configured = config.model().filter(|_| !by_flag).map(str::to_owned);
    let scope = if flags.models.is_empty() { settings.enabled_models.clone() } else { flags.models.clone() };
    Wanted {
        model: flags.model.clone().or(configured),
        provider: flags.provider.clone(),
        scope,
        usual: settings.default_model.clone().map(|model| (settings.default_provider.clone(), model)),
        loose: true,
        suggested: config.suggestion().filter(|_| !by_flag && flags.models.is_empty()),
    }
}

/// What flags and our own configuration name, then what `settings.json` does; its relative paths start at its directory.
fn programs(mut named: Vec<PathBuf>, flags: &Flags, settings: &AgentSettings, agent_dir: &Path) -> Vec<PathBuf> {
    if !flags.no_extensions {
        // `join` keeps what is absolute already.
        let own = |text: &String| match text.starts_with('~') {
            true => agent::expand(text, &config::process_env),
            false => agent_dir.join(text),
        };
        // Those in TypeScript are parts of pi, not programs: nobody could start them.
        let programs = settings.extensions.iter().filter(|text| !text.ends_with(".ts"));
        named.extend(programs.map(own));
    }
    let mut seen = std::collections::HashSet::new();
    named.retain(|path| seen.insert(path.clone()));
    named
}

/// A path that is no text is taken as it is.
fn expand(path: &Path) -> PathBuf {
    path.to_str().map_or_else(|| path.to_owned(), |text| agent::expand(text, &config::process_env))
}

/// Whether hosts want to be told of titles.
fn emit_title(env: config::Env<'_>) -> bool {
    let said = env("PI_RPC_EMIT_TITLE").unwrap_or_default().trim().to_ascii_lowercase();
    matches!(&*said, "1" | "true" | "yes" | "on")
}

/// What hosts read today is pi's form. Only who was made for xcsh looks for the older one, and starts us by that name.
fn usual_errors(program: Option<&OsStr>) -> Errors {
    match program.and_then(|program| Path::new(program).file_name()) {
        Some(name) if name == "xcsh" => Errors::Seed,
        _ => Errors::Pi,
    }
}

/// A chosen id means a session of this directory, as in pi. Ids are one list here, so where another directory has it
/// already, ours is called after both.
async fn stay_here(which: &mut Which, wired: &Wired) -> Result<(), Fault> {
    let Which::Named(id) = which else { return Ok(()) };
    let here = &wired.settings.workspace;
    let Some(other) = wired.ports.store.summary(id).await?.filter(|known| known.workspace != *here) else {
        return Ok(());
    };
    let own = session_files::copy_of(id, here);
    host::note(&format!(
        "the session {id} is one of {}; the one of this directory is {own}",
        other.workspace.display()
    ));
    *which = Which::Named(own);
    Ok(())
}

/// An id that no file has may still be one of our own store.
async fn must_exist(which: &Which, wired: &Wired) -> Result<(), Fault> {
    let Which::Id(prefix) = which else { return Ok(()) };
    let query = Query { id_part: Some(prefix.clone()), limit: Some(1), children: true, ..Query::default() };
    match wired.ports.store.list(query).await?.is_empty() {
        true => Err(Fault::new(FaultKind::NotFound, format!("No session found matching '{prefix}'"))),
        false => Ok(()),
    }
}

/// A page beside us from a session file; nothing of it stays in the store. The file itself is only read: opening one for
/// good may mend it.
async fn export(mut setup: wiring::Setup, file: &Path) -> Result<u8, Fault> {
    let base = file.file_name().unwrap_or_default();
    let page = PathBuf::from(format!("tillerman-session-{}.html", Path::new(base).with_extension("").display()));
    let desk = desk(file)?;
    let copy = desk.0.join(base);
    std::fs::copy(file, &copy).map_err(|error| cannot_export(file, &error))?;
    setup.settings.ephemeral = true;
    setup.session_files = Some(SessionFiles { dir: desk.0.clone(), fixed: true, only_shown: true });
    setup.wanted = Wanted { model: Some("tour".to_owned()), ..Wanted::default() };
    let wired = wiring::build(setup).await?;
    let session = wired.ports.archive.import(&copy).await?;
    let page = std::path::absolute(&page).unwrap_or(page);
    let exported = wired.ports.archive.export(&session, Some(&page)).await?;
    say(&format!("Exported to: {}\n", exported.path.display()))
}

fn cannot_export(file: &Path, error: &std::io::Error) -> Fault {
    Fault::new(FaultKind::Invalid, format!("cannot export {}: {error}", file.display()))
}

/// A directory of our own, gone when it is dropped.
struct Desk(PathBuf);

impl Drop for Desk {
    fn drop(&mut self) {
        // What cannot be removed is the system's to sweep.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn desk(file: &Path) -> Result<Desk, Fault> {
    let dir = std::env::temp_dir().join(format!("tillerman-{}", uuid::Uuid::now_v7().simple()));
    let made = std::fs::DirBuilder::new().mode(0o700).create(&dir);
    made.map(|()| Desk(dir)).map_err(|error| cannot_export(file, &error))
}

fn say(text: &str) -> Result<u8, Fault> {
    crate::print::say(text).map_err(|error| Fault::new(FaultKind::Internal, format!("cannot write: {error}")))?;
    Ok(0)
}

fn tell(notes: &[&String]) {
    notes.iter().take(NOTES_MAX).for_each(|note| host::note(note));
    if notes.len() > NOTES_MAX {
        host::note(&format!("and {} more", notes.len() - NOTES_MAX));
    }
}
