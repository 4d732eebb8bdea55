//! `drive [-- CMD...]`: a client for any agent that speaks ACP, for people and for scripts.

mod remote;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use acp_client::{
    Channel, ConnectOptions, LoginShell, Offers, ProcessChannel, ShellProbe, Ssh, SshChannel, Tap, Vars, Workshop,
};
use acp_terminal::{
    AgentConversation, AgentView, ConversationInputs, ConversationStart, JsonView, OpeningOutcome, Recorder,
    SessionWishes, TextView,
};
use anyhow::Context;
use builtin_tools::workspace::Guard;
use console::{Interaction, KeyboardUse, StandardStreams};
use dialect_terminal::AnswerPolicy;
use dialect_terminal::exit_code::INTERRUPTED;
use process::LeashLauncher;
use vocab::visible::headline;

use super::USAGE;
use crate::args;
use config::{Guarded, Home};
use remote::RemoteChannel;

pub(crate) fn run(args: args::Drive) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(start(args))?;
    // A line editor may still sit in a read that nothing can end.
    runtime.shutdown_background();
    Ok(code)
}

async fn start(args: args::Drive) -> anyhow::Result<u8> {
    let streams = StandardStreams::look();
    let remote = args.url.as_deref().map(|url| RemoteChannel::new(url, &args.token_env)).transpose()?;
    let is_elsewhere = args.ssh.is_some() || remote.as_ref().is_some_and(|remote| !remote.is_here());
    let shares = args.files || args.terminals;
    anyhow::ensure!(!(is_elsewhere && shares), "--files and --terminals are for an agent of this machine");
    let cwd = place(&args, is_elsewhere)?;
    let channel = match remote {
        Some(remote) => {
            crate::setup::trust_authorities();
            remote.channel()?
        }
        None => channel(&args, &cwd)?,
    };
    let options = options(&args, &cwd)?;
    let interactive = args.prompt.is_none();
    let keys = match interactive {
        true => KeyboardUse::All { history: Home::find(&config::process_env).map(|home| home.history_file()) },
        false if args.yes || args.deny || args.json => KeyboardUse::Nothing,
        false => KeyboardUse::Answers,
    };
    let interaction = Interaction::take(&streams, keys)?;
    interaction.begins();
    let (_guard, output, lines) = interaction.parts();
    let view: Box<dyn AgentView> = match args.json {
        true => Box::new(JsonView),
        false => {
            let diff = |old: &str, new: &str| builtin_tools::hunks(old, new).text;
            Box::new(TextView::new(streams.paint, streams.stdout_terminal, streams.size_probe(), diff))
        }
    };
    let answers = match () {
        () if args.yes => AnswerPolicy::AllowAll,
        () if args.deny || args.json || !streams.has_reader() => AnswerPolicy::Nobody,
        () => AnswerPolicy::Person,
    };
    let (client, events) = acp_client::connect(channel, options);
    let mut inputs = ConversationInputs { events, lines };
    let start =
        ConversationStart { client: client.clone(), view, output, answers, once: !interactive, signs: !args.json };
    let mut conversation = AgentConversation::new(start);
    let wishes = wishes(&args, cwd);
    let code = match conversation.open(&wishes, &mut inputs).await {
        Ok(OpeningOutcome::Ready) => conversation.run(args.prompt, &mut inputs).await,
        Ok(OpeningOutcome::Missing) => USAGE,
        Ok(OpeningOutcome::GivenUp) => {
            let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let advice = acp_client::advice(&words).map(|advice| format!("; {advice}")).unwrap_or_default();
            conversation
                .show(|view, shown| view.notice(&format!("stopped before the agent was there{advice}"), shown))
                .await;
            INTERRUPTED
        }
        Err(error) => {
            conversation.show(|view, shown| view.error(&error, shown)).await;
            USAGE
        }
    };
    client.stop().await;
    Ok(code)
}

fn wishes(args: &args::Drive, cwd: PathBuf) -> SessionWishes {
    let agent = match (args.command.first(), &args.url) {
        (Some(name), _) => headline(&name.to_string_lossy()),
        (None, Some(url)) => headline(url),
        (None, None) => "our own agent".to_owned(),
    };
    SessionWishes {
        agent,
        cwd,
        auth: args.auth.clone(),
        resume: args.resume.clone(),
        model: args.model.clone(),
        mode: args.mode.clone(),
    }
}

/// Where the agent works. On another machine it is not ours to check.
fn place(args: &args::Drive, is_elsewhere: bool) -> anyhow::Result<PathBuf> {
    let asked = args.cwd.as_deref();
    if is_elsewhere {
        let flag = if args.ssh.is_some() { "--ssh" } else { "--url" };
        let there = asked.with_context(|| format!("with {flag}, --cwd names an absolute directory of that machine"))?;
        anyhow::ensure!(there.is_absolute(), "--cwd has to be absolute with {flag}: {}", there.display());
        return Ok(there.to_owned());
    }
    let asked = asked.unwrap_or(Path::new("."));
    let path = std::fs::canonicalize(asked).with_context(|| format!("no such directory: {}", asked.display()))?;
    anyhow::ensure!(path.is_dir(), "not a directory: {}", asked.display());
    Ok(path)
}

fn ours() -> Vars {
    std::env::vars_os().collect()
}

fn channel(args: &args::Drive, cwd: &Path) -> anyhow::Result<Arc<dyn Channel>> {
    let launcher = Arc::new(LeashLauncher);
    let login = LoginShell::new(ShellProbe(launcher.clone()), std::env::var_os("SHELL"));
    let mut argv = args.command.clone();
    if argv.is_empty() {
        anyhow::ensure!(args.ssh.is_none(), "with --ssh, say what to run there: -- CMD...");
        argv = vec![std::env::current_exe().context("cannot tell where we are")?.into(), "acp".into()];
    }
    let here = if args.ssh.is_some() { PathBuf::from("/") } else { cwd.to_owned() };
    let process = ProcessChannel { argv: argv.clone(), cwd: here, env: ours(), login: Arc::new(login), launcher };
    let Some(host) = &args.ssh else { return Ok(Arc::new(process)) };
    let text = |word: &OsString| {
        word.to_str().map(str::to_owned).with_context(|| format!("not text: {}", word.to_string_lossy()))
    };
    let ssh = Ssh {
        host: host.clone(),
        flags: args.ssh_flag.clone(),
        cwd: Some(cwd.display().to_string()),
        command: argv.iter().map(text).collect::<anyhow::Result<_>>()?,
    };
    Ok(Arc::new(SshChannel::new(ssh, process)?))
}

fn options(args: &args::Drive, cwd: &Path) -> anyhow::Result<ConnectOptions> {
    let record = |path: &Path| Recorder::create(path).with_context(|| format!("cannot record to {}", path.display()));
    let tap = args.record.as_deref().map(record).transpose()?;
    let offers =
        Offers { read_files: args.files, write_files: args.files, terminals: args.terminals, elicitation: false };
    let workshop = (args.files || args.terminals).then(|| workshop(cwd)).transpose()?;
    let defaults = ConnectOptions::default();
    Ok(ConnectOptions {
        keepalive: defaults.keepalive.filter(|_| !args.no_ping),
        offers,
        workshop,
        tap: tap.map(|tap| Arc::new(tap) as Arc<dyn Tap>),
        ..defaults
    })
}

/// Files by the rules of our own tools.
fn workshop(cwd: &Path) -> anyhow::Result<Workshop> {
    let home = std::env::home_dir();
    let guarded = Home::find(&config::process_env).map(|dirs| {
        let agent_dir = config::agent::directory(&config::process_env, &dirs);
        Guarded::of_dirs(&dirs.config, &dirs.data, &agent_dir, home.as_deref())
    });
    let Guarded { protected, secret } = guarded.unwrap_or_default();
    let guard = Guard { home, protected, secret, spill_dir: None };
    let files = builtin_tools::AgentFiles::open(cwd, guard).map_err(|fault| anyhow::anyhow!("{fault}"))?;
    Ok(Workshop { roots: vec![cwd.to_owned()], env: ours(), files: Arc::new(files), launcher: Arc::new(LeashLauncher) })
}
