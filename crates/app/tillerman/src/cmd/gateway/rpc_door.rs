//! `/rpc`: a host of the pi family on a socket, settled as its command line says.

use std::path::PathBuf;
use std::sync::Arc;

use dialect_rpc::{Rpc, RpcOptions};
use gateway::{Caller, DoorEnd, Entrance, EntranceRules, Joined, MessagePipe, converse, turn_away};
use host::{DaemonEnding, Ended, NoOwnCalls};
use rpc_flags::{AskedSession, Flags, parse};
use vocab::{Fault, Later, Query, Settings, Which};
use wires::rpc::{self as settle, Files, SessionContext, SessionPlan};

use super::arguments::{Arguments, directory};
use super::doors::{DRIVES, DoorParts};
use crate::cmd::rpc;

/// Sessions of a gateway are found in its store: files are looked at only where somebody names one.
const NO_FILES: Files = Files { default_dir: session_files::default_dir, newest: |_| None, by_id: |_, _| Vec::new() };

/// Said to who wants the sessions of a directory.
const NO_DIRECTORIES: &str = "open_session: a gateway keeps sessions in its own store and makes no session files; \
                              open one with switch_session, by its id or its file";

pub(super) struct RpcDoor(pub(super) Arc<DoorParts>);

/// What was asked for, and can be had.
struct RpcWish {
    flags: Flags,
    plan: SessionPlan,
    usual: Settings,
    workspace: PathBuf,
    model: Option<Arc<str>>,
}

impl RpcDoor {
    fn wish(&self, caller: &Caller) -> Result<RpcWish, String> {
        let arguments = Arguments::of(caller)?;
        let flags = parse(arguments.words).map_err(|wrong| wrong.0)?;
        refused(&flags)?;
        let agent_dir = &self.0.agent_dir;
        let agent = config::agent::settings(agent_dir);
        let mut usual = self.0.usual();
        let owners = usual.clone();
        usual.workspace = directory(flags.workspace.as_deref(), arguments.from.as_deref(), &owners.workspace)?;
        settle::settle(&mut usual, &flags, &self.0.config, &agent);
        keep_owners(&mut usual, &owners);
        let more = flags.prompts.append.join("\n\n");
        usual.system_prompt = flags.prompts.system.as_deref().map(Arc::from).or(usual.system_prompt);
        usual.append_system_prompt =
            Some(more).filter(|it| !it.is_empty()).map(Arc::from).or(usual.append_system_prompt);
        let model = self.model(&flags)?;
        let context = SessionContext {
            env: &|_| None,
            agent_dir,
            workspace: &usual.workspace,
            settings: &agent,
            files: &NO_FILES,
        };
        let plan = settle::plan(&flags, &context).map_err(|fault| fault.message)?;
        Ok(RpcWish { plan, workspace: usual.workspace.clone(), usual, model, flags })
    }

    fn model(&self, flags: &Flags) -> Result<Option<Arc<str>>, String> {
        let Some(name) = &flags.model.name else { return Ok(None) };
        let slug = match &flags.model.provider {
            Some(provider) => self.0.wired.catalogue.slug(provider, name),
            None => name.as_str().into(),
        };
        let known = self.0.wired.ports.provider.resolve(&slug).map_err(|fault| fault.message)?;
        Ok(Some(known.slug))
    }

    async fn join(parts: &DoorParts, wish: RpcWish) -> Result<Joined<Rpc>, Fault> {
        let RpcWish { flags, mut plan, usual, workspace, model } = wish;
        let newest = match &flags.session.asked {
            AskedSession::Newest => true,
            AskedSession::Named(text) => matches!(Which::parse(text), Which::Latest),
            AskedSession::New => false,
        };
        if newest && plan.which == Which::New && !plan.fork {
            let query = Query { workspace: Some(workspace.clone()), non_empty: true, ..Query::default() };
            let found = parts.wired.ports.store.newest(query).await?;
            plan.which = found.map_or(Which::New, |found| Which::Id(found.id.as_str().to_owned()));
        }
        rpc::prefer_id(&mut plan, &flags, &parts.wired).await?;
        rpc::must_exist(&plan.which, &parts.wired).await?;
        rpc::stay_here(&mut plan.which, &parts.wired, &workspace).await?;
        let templates = settle::load_templates(&parts.agent_dir, &flags);
        let scope = flags.model.scope.iter().map(|name| Arc::from(name.as_str())).collect();
        let dialect = Rpc::new(RpcOptions {
            workspace: Some(workspace),
            model,
            mode: flags.tools.mode,
            scope,
            retry: usual.retry,
            compaction: usual.compaction,
            reminders_max: usual.reminders_max,
            usual: Some(Arc::new(usual)),
            without_files: NO_DIRECTORIES,
            ..rpc::options(&flags, &plan, &parts.wired, templates)
        });
        Ok(Joined { dialect, own: Box::new(NoOwnCalls) })
    }
}

/// What the owner has decided is not for a host to undo.
fn keep_owners(usual: &mut Settings, owners: &Settings) {
    usual.on_restart = owners.on_restart;
    usual.ephemeral = false;
    if let Some(owners) = &owners.only_tools {
        let asked = usual.only_tools.take();
        let both = |name: &&Arc<str>| asked.as_ref().is_none_or(|asked| asked.contains(name));
        usual.only_tools = Some(owners.iter().filter(both).cloned().collect());
    }
}

fn refused(flags: &Flags) -> Result<(), String> {
    let tools = &flags.tools;
    let refused = [
        (flags.config.is_some(), "--config: a gateway has one configuration, its owner's"),
        (flags.attach.is_some(), "--attach: this is a gateway"),
        (flags.on_restart.is_some(), "--on-restart: what a gateway holds goes on after a restart"),
        (flags.sync.is_some(), "--sync: how safely a gateway writes is for its owner to say"),
        (flags.session.none, "--no-session: a gateway keeps its sessions"),
        (flags.session.dir.is_some(), "--session-dir: where a gateway keeps files is for its owner to say"),
        (flags.session.export.is_some(), "--export would write a file on the gateway's machine"),
        (flags.wire.log_frames.is_some(), "--log-frames would write a file on the gateway's machine"),
        (flags.model.api_key.is_some(), "--api-key: a gateway has its owner's keys"),
        (flags.model.list.is_some(), "--list-models: ask with get_available_models"),
        (!tools.extensions.is_empty(), "--extension starts a program: the gateway's owner names those"),
        (tools.no_extensions, "--no-extensions: the gateway's owner names the extensions"),
        (tools.no_servers, "--no-mcp: the gateway's owner names the servers"),
        (!flags.prompts.templates.is_empty(), "--prompt-template names a file of the gateway's machine"),
        (flags.prompts.no_context_files, "--no-context-files is for the gateway itself to be started with"),
        (flags.at_file, "@file arguments are not supported in RPC mode"),
        (flags.help || flags.version, "help is not shown over a wire"),
    ];
    match refused.iter().find(|(asked, _)| *asked) {
        Some((_, why)) => Err((*why).to_owned()),
        None => Ok(()),
    }
}

impl Entrance for RpcDoor {
    fn serve(&self, caller: Caller, pipe: MessagePipe, ending: DaemonEnding) -> Later<'static, Ended> {
        let (parts, wish) = (self.0.clone(), self.wish(&caller));
        Box::pin(async move {
            let joined = match wish {
                Ok(wish) => Self::join(&parts, wish).await.map_err(|fault| fault.message),
                Err(why) => Err(why),
            };
            match joined {
                Ok(joined) => {
                    let engine = parts.wired.engine.clone();
                    drop(parts);
                    converse(joined, (engine, DoorEnd::JustGoes), caller, pipe, ending).await
                }
                Err(why) => turn_away(pipe, why).await,
            }
        })
    }
    fn refuses(&self, caller: &Caller) -> Option<String> {
        self.wish(caller).err()
    }
    fn rules(&self) -> EntranceRules {
        EntranceRules { on_close: DoorEnd::JustGoes.on_close(), scopes: DRIVES, ..EntranceRules::default() }
    }
}
