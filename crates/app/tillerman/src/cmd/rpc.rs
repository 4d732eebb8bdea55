//! `tillerman rpc` and `tillerman --mode rpc`: the `rpc` dialect on stdin and stdout. stdout is protocol only; whatever keeps
//! it from starting is one line on stderr.

mod argv;
mod export;
mod list;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dialect_rpc::{Errors, Rpc, RpcOptions, Template, Updates};
use vocab::{Fault, FaultKind, Mode, Query, Which};

use super::stdio::{self, FAILED, StdioLimits};
use crate::args::{Basics, RPC_HELP};
use crate::compose::{self, SessionFiles, Wired};
use crate::extension_host;
use crate::setup::{self, Prepared};
use catalogue::{Standing, Wanted};
use config::agent::{self, AgentSettings};
use rpc_flags::{self as flags, AskedSession, Flags, Wrong};
use wires::rpc::{self as settle, FILES, SessionContext, SessionPlan, expand, plan};

/// stdin ended or a signal came. The dialect stops what runs and ends by itself as soon as everything is said; this is for
/// when that does not come about.
const GRACE: Duration = Duration::from_secs(3);
/// Lines of notes that are told; of more only the number.
const NOTES_MAX: usize = 20;

pub(crate) fn run(words: Vec<OsString>) -> anyhow::Result<u8> {
    let flags = match flags::parse(words) {
        Ok(flags) => flags,
        Err(Wrong(what)) => return Ok(refuse(&what, super::USAGE)),
    };
    if flags.version {
        return super::print(concat!("tillerman ", env!("CARGO_PKG_VERSION")));
    }
    if flags.help {
        return super::print(RPC_HELP);
    }
    if flags.at_file {
        return Ok(refuse("@file arguments are not supported in RPC mode", FAILED));
    }
    if let Some(place) = &flags.attach {
        return attach(place, &flags);
    }
    alone(&flags)
}

/// In a process of our own.
fn alone(flags: &Flags) -> anyhow::Result<u8> {
    if let Some(key) = &flags.model.api_key {
        argv::hide(key);
    }
    stdio::run(start(flags), |fault| refuse(&stdio::in_one_line(fault), FAILED))
}

/// In a gateway. What would be read here, and means another file there, is not sent.
fn attach(place: &str, flags: &Flags) -> anyhow::Result<u8> {
    let place = match place.parse() {
        Ok(place) => place,
        Err(why) => return Ok(refuse(&format!("--attach: {why}"), super::USAGE)),
    };
    let is_file = |text: &&String| Path::new(text).is_file();
    let prompts = flags.prompts.system.iter().chain(&flags.prompts.append);
    let wrong = match prompts.into_iter().find(is_file) {
        _ if flags.model.api_key.is_some() => Some("--api-key stays here: a gateway has its own keys".to_owned()),
        Some(file) => Some(format!("with --attach a system prompt is a text, and {file} is a file")),
        None => None,
    };
    match wrong {
        Some(what) => Ok(refuse(&what, super::USAGE)),
        None => {
            let refuse = |fault: &Fault| refuse(&stdio::in_one_line(fault), FAILED);
            super::attached::stdio(Some(&place), "/rpc", refuse).unwrap_or_else(|| alone(flags))
        }
    }
}

/// One line, and the code to end with.
fn refuse(what: &str, code: u8) -> u8 {
    stdio::refuse("Error", what, code)
}

async fn start(flags: &Flags) -> Result<u8, Fault> {
    let RpcSetup { setup, mut session, notes, programs } = ready(flags)?;
    tell(&flags.notes.iter().chain(&notes).collect::<Vec<_>>());
    if let Some(search) = &flags.model.list {
        let wired = compose::build(setup).await?;
        return say(&list::text(&*wired.ports.provider, search.as_deref()).await?);
    }
    if let Some(file) = &flags.session.export {
        return export::export(setup, file).await;
    }
    let frame_log = stdio::frame_log(flags.wire.log_frames.as_deref(), &setup.models.keyring)?;
    let templates = settle::load_templates(&setup.agent_dir, flags);
    let wired = compose::build(setup).await?;
    tell(&wired.warnings(flags.model.name.is_some()).collect::<Vec<_>>());
    prefer_id(&mut session, flags, &wired).await?;
    must_exist(&session.which, &wired).await?;
    stay_here(&mut session.which, &wired, &wired.settings.workspace).await?;
    let dialect = Rpc::new(options(flags, &session, &wired, templates));
    let extension_host = extension_host::start(&wired, programs, None).await;
    let limits = StdioLimits { grace: GRACE, notes: note, ..StdioLimits::default() };
    stdio::converse(dialect, &wired, extension_host, frame_log, limits).await
}

/// What keeps us from starting is said as everything else is that does, also where the session does.
fn note(text: &str) {
    match text.strip_prefix(dialect_rpc::START_FAILED) {
        Some(what) => _ = refuse(what, FAILED),
        None => host::note(text),
    }
}

/// How the dialect starts.
pub(super) fn options(flags: &Flags, session: &SessionPlan, wired: &Wired, templates: Vec<Template>) -> RpcOptions {
    let settings = &wired.settings;
    let by_flag = flags.model.is_named();
    RpcOptions {
        which: session.which.clone(),
        fork: session.fork,
        title: session.title.as_deref().map(Into::into),
        workspace: Some(settings.workspace.clone()),
        model: by_flag.then(|| settings.model.clone()),
        // Always today's: a resumed session must not keep a wider one.
        mode: Some(settings.mode),
        errors: flags.wire.errors.unwrap_or_else(|| usual_errors(std::env::args_os().next().as_deref())),
        updates: flags.wire.updates.unwrap_or(Updates::Full),
        emit_title: emit_title(&config::process_env),
        scope: wired.scope.clone(),
        retry: settings.retry,
        compaction: settings.compaction,
        reminders_max: settings.reminders_max,
        templates,
        no_key: wired.integrations.model == Standing::AuthError,
        services: wired.integrations.services.clone(),
        ..RpcOptions::new(env!("CARGO_PKG_VERSION"))
    }
}

/// Everything that is decided before anything is built.
struct RpcSetup {
    setup: compose::Setup,
    session: SessionPlan,
    notes: Vec<String>,
    /// Extensions to start: only the user's own word names one, by flag or settings.
    programs: Vec<PathBuf>,
}

fn ready(flags: &Flags) -> Result<RpcSetup, Fault> {
    let (system_prompt, append_system_prompt) = settle::prompts(flags)?;
    let basics = Basics {
        workspace: flags.workspace.clone(),
        mode: flags.tools.mode,
        config: flags.config.clone(),
        system_prompt,
        append_system_prompt,
        no_context_files: flags.prompts.no_context_files,
        no_session: flags.session.none,
        extensions: flags.tools.extensions.iter().map(|path| expand(path)).collect(),
        no_extensions: flags.tools.no_extensions,
        ..Basics::default()
    };
    let Prepared { mut setup, config, extensions, .. } = setup::prepare(&basics, Mode::DangerFullAccess)?;
    let settings = agent::settings(&setup.agent_dir);
    settle::settle(&mut setup.settings, flags, &config, &settings);
    if flags.tools.no_servers {
        setup.servers.clear();
    }
    setup.compact_at = settle::compact_at(&config, &settings);
    setup.models.api_key = flags.model.api_key.clone().or_else(argv::handed_over);
    setup.models.wanted = wanted(flags, &config, &settings);
    let context = SessionContext {
        env: &config::process_env,
        agent_dir: &setup.agent_dir,
        workspace: &setup.settings.workspace,
        settings: &settings,
        files: &FILES,
    };
    let session = plan(flags, &context)?;
    let files = SessionFiles { dir: session.dir.clone(), fixed: session.dir_is_fixed, only_shown: false };
    setup.session_files = (!flags.session.none).then_some(files);
    let programs = programs(extensions, flags, &settings, &setup.agent_dir);
    setup.programs = programs.clone();
    let mut notes = config.warnings;
    notes.extend(setup.models.described.unspoken.iter().map(agent::Unspoken::note));
    notes.extend(settings.notes);
    notes.extend(settle::strangers(flags));
    notes.extend(session.note.clone());
    Ok(RpcSetup { setup, session, notes, programs })
}

/// A flag is a demand, and so is our own configuration; `settings.json` is a habit.
fn wanted(flags: &Flags, config: &config::Configuration, settings: &AgentSettings) -> Wanted {
    let by_flag = flags.model.is_named();
    let configured = config.model().filter(|_| !by_flag).map(str::to_owned);
    let scope = if flags.model.scope.is_empty() { settings.enabled_models.clone() } else { flags.model.scope.clone() };
    Wanted {
        model: flags.model.name.clone().or(configured),
        provider: flags.model.provider.clone(),
        scope,
        usual: settings.default_model.clone().map(|model| (settings.default_provider.clone(), model)),
        loose: true,
        suggested: config.suggestion().filter(|_| !by_flag && flags.model.scope.is_empty()),
    }
}

/// What flags and our own configuration name, then what `settings.json` does; its relative paths start at its directory.
fn programs(mut named: Vec<PathBuf>, flags: &Flags, settings: &AgentSettings, agent_dir: &Path) -> Vec<PathBuf> {
    if !flags.tools.no_extensions {
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
pub(super) async fn stay_here(which: &mut Which, wired: &Wired, here: &Path) -> Result<(), Fault> {
    let Which::Named(id) = which else { return Ok(()) };
    let Some(other) = wired.ports.store.summary(id).await?.filter(|known| known.workspace != here) else {
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

/// Clients that choose ids put points and slashes into them: a session that is here is meant before a file that may be.
pub(super) async fn prefer_id(plan: &mut SessionPlan, flags: &Flags, wired: &Wired) -> Result<(), Fault> {
    let named = match (&flags.session.fork, &flags.session.asked) {
        (Some(text), _) | (None, AskedSession::Named(text)) => text,
        _ => return Ok(()),
    };
    if matches!(plan.which, Which::Path(_)) && wired.ports.store.summary(&named.as_str().into()).await?.is_some() {
        plan.which = Which::Id(named.clone());
    }
    Ok(())
}

/// An id that no file has may still be one of our own store.
pub(super) async fn must_exist(which: &Which, wired: &Wired) -> Result<(), Fault> {
    let Which::Id(prefix) = which else { return Ok(()) };
    let query = Query { id_part: Some(prefix.clone()), limit: Some(1), children: true, ..Query::default() };
    match wired.ports.store.list(query).await?.is_empty() {
        true => Err(Fault::new(FaultKind::NotFound, format!("No session found matching '{prefix}'"))),
        false => Ok(()),
    }
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
