//! `drive [-- CMD...]`: a client for any agent that speaks ACP, for people and for scripts.

mod choices;
mod leashed;
mod record;
mod reply;
mod slash;
mod talk;
mod view;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use acp_client::{
    AcpClient, Channel, ClientError, ConnectOptions, LoginShell, Offers, ProcessChannel, Reopened, ReopenedSession,
    ShellProbe, Ssh, SshChannel, Tap, Vars, Workshop,
};
use anyhow::Context;

use builtin_tools::workspace::Guard;
use vocab::visible::headline;

use super::USAGE;
use super::repl::Seat;
use super::run::Streams;
use crate::args;
use crate::config::{self, Home};
use crate::console::Keys;
use crate::terminal::INTERRUPTED;
use crate::wiring::Guarded;

use choices::{Choices, What};
use leashed::Leashed;
use record::Recorder;
use talk::{Answers, Inputs, Start, Talk};
use view::{Beginning, JsonLines, People, View};

pub(crate) fn run(args: args::Drive) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(start(args))?;
    // A line editor may still sit in a read that nothing can end.
    runtime.shutdown_background();
    Ok(code)
}

async fn start(args: args::Drive) -> anyhow::Result<u8> {
    let streams = Streams::look();
    let cwd = place(&args)?;
    let channel = channel(&args, &cwd)?;
    let options = options(&args, &cwd)?;
    let interactive = args.prompt.is_none();
    let keys = match interactive {
        true => Keys::All { history: Home::find(&config::process_env).map(|home| home.history_file()) },
        false if args.yes || args.deny || args.json => Keys::Nothing,
        false => Keys::Answers,
    };
    let seat = Seat::take(&streams, keys)?;
    seat.begins();
    let (_held, output, lines) = seat.parts();
    let view: Box<dyn View> = match args.json {
        true => Box::new(JsonLines),
        false => Box::new(People::new(streams.paint, streams.stdout_terminal, streams.window())),
    };
    let answers = match () {
        () if args.yes => Answers::Yes,
        () if args.deny || args.json || !streams.person() => Answers::Deny,
        () => Answers::Person,
    };
    let (client, events) = acp_client::connect(channel, options);
    let mut inputs = Inputs { events, lines };
    let start = Start { client: client.clone(), view, output, answers, once: !interactive, signs: !args.json };
    let mut talk = Talk::new(start);
    let code = match open(&args, &cwd, &client, &mut talk, &mut inputs).await {
        Ok(Opening::Ready) => talk.run(args.prompt, &mut inputs).await,
        Ok(Opening::Missing) => USAGE,
        Ok(Opening::GivenUp) => {
            let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let advice = acp_client::advice(&words).map(|advice| format!("; {advice}")).unwrap_or_default();
            talk.show(|view, shown| view.notice(&format!("stopped before the agent was there{advice}"), shown)).await;
            INTERRUPTED
        }
        Err(error) => {
            talk.show(|view, shown| view.error(&error, shown)).await;
            USAGE
        }
    };
    client.stop().await;
    Ok(code)
}

/// How it went to open a session.
enum Opening {
    Ready,
    /// What was asked for is not there, and that was said.
    Missing,
    /// The person did not want to wait.
    GivenUp,
}

/// From the greeting to a session with its model and mode.
async fn open(
    args: &args::Drive,
    cwd: &Path,
    client: &AcpClient,
    talk: &mut Talk,
    inputs: &mut Inputs,
) -> Result<Opening, ClientError> {
    let starting = match args.command.first() {
        Some(name) => format!("starting {}", headline(&name.to_string_lossy())),
        None => "starting our own agent".to_owned(),
    };
    let Some(agent) = talk.meanwhile(inputs, &starting, client.initialize()).await.transpose()? else {
        return Ok(Opening::GivenUp);
    };
    if let Some(method) = &args.auth
        && talk.meanwhile(inputs, "signing in", client.authenticate(method)).await.transpose()?.is_none()
    {
        return Ok(Opening::GivenUp);
    }
    let opening = async {
        match &args.resume {
            None => Ok(Some(ReopenedSession { how: Reopened::New, info: client.new_session(cwd).await? })),
            // A person wants to see what was said; a script wants to go on.
            Some(id) => client.reopen_only(id, cwd, args.prompt.is_none()).await,
        }
    };
    let Some(opened) = talk.meanwhile(inputs, "opening a session", opening).await.transpose()? else {
        return Ok(Opening::GivenUp);
    };
    let Some(opened) = opened else {
        let id = args.resume.as_deref().unwrap_or_default();
        let text = format!("the agent cannot go on with session {id}: it does not know it, or resumes none");
        talk.show(|view, shown| view.notice(&text, shown)).await;
        return Ok(Opening::Missing);
    };
    talk.agent = headline(&agent.name());
    talk.session = opened.info.session_id.clone().unwrap_or_default();
    talk.choices = Choices::new(opened.info);
    let how = match opened.how {
        Reopened::New => "new",
        Reopened::Resumed => "resumed",
        Reopened::Loaded => "loaded",
    };
    let (name, session) = (agent.name(), talk.session.clone());
    talk.show(|view, shown| view.begun(&Beginning { agent: &name, session: &session, how }, shown)).await;
    talk.catch_up().await;
    for (what, word) in [(What::Model, &args.model), (What::Mode, &args.mode)] {
        if let Some(word) = word
            && !talk.choose(what, word, inputs).await
        {
            return Ok(Opening::Missing);
        }
    }
    Ok(Opening::Ready)
}

/// Where the agent works. On another machine it is not ours to check.
fn place(args: &args::Drive) -> anyhow::Result<PathBuf> {
    let asked = args.cwd.as_deref();
    if args.ssh.is_some() {
        let there = asked.context("with --ssh, --cwd names an absolute directory of that machine")?;
        anyhow::ensure!(there.is_absolute(), "--cwd has to be absolute with --ssh: {}", there.display());
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
    let launcher = Arc::new(Leashed);
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
    let tap = args.record.as_deref().map(Recorder::create).transpose()?;
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
    Ok(Workshop { roots: vec![cwd.to_owned()], env: ours(), files: Arc::new(files), launcher: Arc::new(Leashed) })
}
