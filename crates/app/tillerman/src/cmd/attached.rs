//! A conversation that is held in a gateway: this process only passes on what is said. What answers there is what would have
//! answered here, read from the same words of the command line.

use std::ffi::OsString;
use std::time::Duration;

use ::gateway::{GatewayFile, RunningGateway};
use anyhow::Context;
use attach::{AtEnd, AttachTo, FoundGateway, OwnGateway, Relay, RelayLines, Relayed, SentWords};
use console::{Console, FEED_BYTES, Interaction, KeyboardUse, StandardStreams, TYPED_MAX, Typed, feed_lines};
use dialect_terminal::END_LINE;
use serde_json::json;
use tokio::signal::unix::SignalKind;
use tokio::sync::mpsc;
use vocab::{Fault, FaultKind, Mode, Secret};

use super::gateway::{Hello, ScreenFacts, WantsWords};
use super::repl::{Completion, CompletionWords};
use crate::args::{Basics, Repl, RunArgs};
use crate::setup;

/// The token of a gateway that is not this home's.
const TOKEN: &str = "TILLERMAN_GATEWAY_TOKEN";

/// How long a gateway may take to say which words can be completed.
const WORDS: Duration = Duration::from_secs(15);

/// Where the dialect for people is spoken.
const TERMINAL: &str = "/terminal";

/// The gateway that is meant; `None`: there is none, and that is fine. Says so where somebody asked.
pub(super) fn gateway(to: Option<&AttachTo>) -> Result<Option<FoundGateway>, Fault> {
    let Some(to) = to else { return Ok(None) };
    let home = config::Home::find(&config::process_env)
        .ok_or_else(|| Fault::new(FaultKind::Invalid, "cannot tell where the gateway is").hint("set HOME"))?;
    let place = home.data.join("gateway");
    // Whoever comes through a socket needs neither a token nor a certificate.
    let by_socket = match to {
        AttachTo::Place(place) => place.is_this_machine(),
        AttachTo::Here | AttachTo::Auto => {
            let running = GatewayFile::running(&place).ok().flatten();
            running.is_none_or(|gateway| gateway.socket.is_some())
        }
    };
    let token = match by_socket {
        true => None,
        false => {
            setup::trust_authorities();
            let settings = setup::SettingsAgain(Basics::default(), Mode::Prompt);
            daemon::SettingsPlace::read(&settings, None).ok().and_then(|it| it.server().ok())
        }
    };
    let own = OwnGateway { place: &place, token: token.and_then(|server| server.token) };
    let given = std::env::var(TOKEN).ok().as_deref().and_then(Secret::new);
    let found = own.find(to, given)?;
    if found.is_none() {
        host::note(&match RunningGateway::look(&place) {
            Ok(RunningGateway::Nameless(nameless)) => format!("{}: going on without", nameless.fault().message),
            _ => "no gateway runs for this home: going on without".to_owned(),
        });
    }
    Ok(found)
}

/// Lines of stdin and stdout as messages of a dialect. `None`: there is no gateway, and that is fine.
pub(super) fn stdio(
    to: Option<&AttachTo>,
    path: &'static str,
    refuse: impl FnOnce(&Fault) -> u8,
) -> Option<anyhow::Result<u8>> {
    let found = match gateway(to) {
        Ok(found) => found?,
        Err(fault) => {
            refuse(&fault);
            return Some(Ok(super::USAGE));
        }
    };
    let passing = async {
        let words = own_words(&found, true)?;
        let attached = attach::dial(&found, path, &words).await?;
        let taken = host::take().map_err(|error| Fault::new(FaultKind::Internal, format!("stdin and stdout: {error}")));
        let (input, output) = taken?;
        let gone = output.gone();
        let asked = attach::signals([SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]);
        let (lines, at_end) = (RelayLines::Whole, at_end(path));
        Ok::<_, Fault>(attached.relay(Relay { input, output, gone, lines, first: None, at_end, asked }).await)
    };
    let ended = match super::block_on(passing) {
        Ok(ended) => ended,
        Err(error) => return Some(Err(error.into())),
    };
    Some(Ok(match ended {
        Ok(Relayed { exit_code, note: None, .. }) => exit_code,
        Ok(Relayed { exit_code: super::USAGE, note: Some(note), .. }) => {
            refuse(&Fault::new(FaultKind::Invalid, note));
            super::USAGE
        }
        Ok(Relayed { exit_code, note: Some(note), can_return }) => {
            let note = if can_return { format!("{note} ({})", way_back(path)) } else { note };
            super::stdio::refuse("tillerman", &note, exit_code)
        }
        Err(fault) => {
            refuse(&fault);
            super::USAGE
        }
    }))
}

fn at_end(path: &str) -> AtEnd {
    match path {
        // The answer to a prompt comes with the end of its run.
        "/acp" => AtEnd::Tell(dialect_acp::LAST_LINE),
        _ => AtEnd::Leave,
    }
}

/// How a conversation goes on in a gateway that runs again. It is not dialled by itself: what each side had asked the other,
/// and what of it was lost on the way, only they could tell.
fn way_back(path: &str) -> &'static str {
    match path {
        "/serve" => "come back with --attach --resume and the session_id of `ready`",
        "/rpc" => "come back with --attach --session and the sessionId of get_state",
        "/loaf" => "come back with --attach, and `/history` with the id of the session",
        _ => "start it again: the client goes on with session/load",
    }
}

fn all_words() -> Vec<OsString> {
    attach::joined(std::env::args_os().skip(1).collect())
}

/// What stands on the command line and is for the gateway to read.
fn own_words(found: &FoundGateway, drop_command: bool) -> Result<SentWords, Fault> {
    // Who talks to a person tells them how to come back, and that is with the flag.
    let words = if drop_command { attach::without(&all_words()) } else { all_words() };
    let is_command = |word: &OsString| ["serve", "rpc", "loaf", "acp"].iter().any(|name| word == name);
    let skipped = usize::from(drop_command && words.first().is_some_and(is_command));
    let unreadable = |word: OsString| {
        let message = format!("{} is not Unicode text, and cannot be sent to a gateway", word.to_string_lossy());
        Fault::new(FaultKind::Invalid, message)
    };
    let words = words.into_iter().skip(skipped).map(|word| word.into_string().map_err(unreadable));
    let from = found.place.is_this_machine().then(std::env::current_dir).and_then(Result::ok);
    Ok(SentWords { words: words.collect::<Result<_, _>>()?, from })
}

/// `run`: the screen is here, the conversation there.
pub(super) async fn run(found: &FoundGateway, args: RunArgs) -> anyhow::Result<u8> {
    let streams = StandardStreams::look();
    if streams.stdin_terminal && !super::run::is_stdin_alone(&args.prompt) {
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    }
    let (mut input, output) = host::take().context("cannot use stdin and stdout")?;
    let prompt = super::run::prompt(&args.prompt, &mut input, streams.stdin_terminal).await?;
    let (typed, lines) = mpsc::channel(TYPED_MAX);
    let asks = !args.yes && !args.json;
    let (console, _guard) = match args.json {
        true => Console::none(),
        false => streams
            .console(if asks && streams.draws { KeyboardUse::Answers } else { KeyboardUse::Nothing }, typed.clone())?,
    };
    let wishes = match asks && !console.has_keyboard() && !streams.draws {
        true => console::terminal_lines(console.clone(), typed.clone()),
        false => None,
    };
    let answers = console.has_keyboard() || wishes.is_some();
    let output = streams.output(output, &console, wishes);
    console.begins();
    tokio::spawn(interrupts(typed.clone()));
    let hello = hello(found, &streams, Some(prompt), answers)?;
    let asked = attach::signals([SignalKind::terminate(), SignalKind::hangup()]);
    talk(found, hello, (lines, typed), output, asked).await
}

/// `repl`: the same, line after line.
pub(super) async fn repl(found: &FoundGateway, args: &Repl) -> anyhow::Result<u8> {
    let streams = StandardStreams::look();
    let history = config::Home::find(&config::process_env).map(|home| home.history_file());
    let interaction = Interaction::take(&streams, KeyboardUse::All { history })?;
    let answers = (!streams.stdin_terminal || streams.stdout_terminal) && !args.yes;
    interaction.begins_elsewhere();
    if interaction.console.has_keyboard() {
        let completion = Completion::default();
        completion.learn(words(found.clone()));
        interaction.console.completes_with(Box::new(move |line| completion.complete(line)));
    }
    let hello = hello(found, &streams, None, answers)?;
    let (_guard, output, lines) = interaction.parts();
    // Its interrupts are lines already.
    let (typed, _) = mpsc::channel(1);
    let asked = attach::signals([SignalKind::terminate(), SignalKind::hangup()]);
    talk(found, hello, (lines, typed), output, asked).await
}

/// What Tab knows of the gateway's. A gateway of an older version has nothing to say, and then Tab knows what is built in.
async fn words(found: FoundGateway) -> Option<CompletionWords> {
    let attached = attach::dial(&found, TERMINAL, &SentWords::default()).await.ok()?;
    let told = attached.ask(json!(WantsWords { completes: true }).to_string().as_bytes(), WORDS).await?;
    serde_json::from_slice(&told).ok()
}

fn hello(
    found: &FoundGateway,
    streams: &StandardStreams,
    prompt: Option<String>,
    answers: bool,
) -> anyhow::Result<Hello> {
    let size = (streams.size_probe())();
    let screen = ScreenFacts {
        colours: streams.paint.on,
        inline: streams.stdout_terminal,
        size: size.map(|size| (size.cols, size.rows)),
    };
    let SentWords { words, from } = own_words(found, false)?;
    Ok(Hello { words, from, prompt, answers, screen })
}

async fn talk(
    found: &FoundGateway,
    hello: Hello,
    (lines, typed): (mpsc::Receiver<Typed>, mpsc::Sender<Typed>),
    output: impl tokio::io::AsyncWrite + Unpin,
    asked: host::Gone,
) -> anyhow::Result<u8> {
    let attached = attach::dial(found, TERMINAL, &SentWords::default()).await?;
    let (feed, input) = tokio::io::duplex(FEED_BYTES);
    let fed = tokio::spawn(feed_lines(lines, feed));
    let first = Some(json!(hello).to_string().into_bytes());
    let (lines, at_end) = (RelayLines::Pieces, AtEnd::Say(END_LINE));
    let relay = Relay { input, output, gone: None, lines, first, at_end, asked };
    let Relayed { exit_code, note, can_return } = attached.relay(relay).await;
    fed.abort();
    drop(typed);
    if let Some(note) = note {
        return match exit_code {
            super::USAGE => Err(Fault::new(FaultKind::Invalid, note).into()),
            code if can_return => {
                let again = format!("`tillerman repl {} -c` goes on with it", attach::given(&all_words()));
                Ok(super::stdio::refuse("tillerman", &format!("{note} ({again})"), code))
            }
            code => Ok(super::stdio::refuse("tillerman", &note, code)),
        };
    }
    Ok(exit_code)
}

/// Ctrl-C stops the turn, and once more ends the conversation: both are the dialect's to know.
async fn interrupts(typed: mpsc::Sender<Typed>) {
    let Ok(mut interrupt) = tokio::signal::unix::signal(SignalKind::interrupt()) else { return };
    while interrupt.recv().await.is_some() {
        if typed.send(Typed::Interrupt).await.is_err() {
            return;
        }
    }
}
