//! What is asked of a gateway from a command line: of its files, or through its socket.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use vocab::{Fault, FaultKind, Secret};

use crate::holder::LockHolder;
use crate::home_lock::{GatewayFile, NamelessGateway, RunningGateway, lock_file};
use crate::scopes_from;
use crate::tokens::{TokenFile, TokenStore, add_token, main_token, make_main_token, read_main_token, revoke_token};

/// One runs, and is not well or cannot be asked.
const NOT_WELL: u8 = 1;
/// None runs here.
const NONE_RUNS: u8 = 3;
/// How long one may take to end, beside what it gives to its runs.
const STOP_PATIENCE: Duration = Duration::from_secs(40);
/// How long one that has just begun may take to say who it is.
const START_PATIENCE: Duration = Duration::from_secs(2);
/// Of what it says of itself; the rest is not read.
const HEALTH_BYTES_MAX: u64 = 64 * 1024;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// How long one may take to say how it is, with the connection; then it does not answer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// For stdout, and the exit code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CliSaid {
    pub text: String,
    pub exit_code: u8,
}

fn said(text: impl Into<String>) -> CliSaid {
    CliSaid { text: text.into(), exit_code: 0 }
}

fn none_runs() -> CliSaid {
    CliSaid { text: "no gateway runs here\n".to_owned(), exit_code: NONE_RUNS }
}

fn failed(what: &str) -> impl Fn(io::Error) -> Fault + '_ {
    move |error| Fault::new(FaultKind::Internal, format!("{what}: {error}"))
}

fn look(home: &Path) -> Result<RunningGateway, Fault> {
    RunningGateway::look(home).map_err(failed("the gateway's lock"))
}

/// The same after a while, where one has not said who it is: it may be starting, or as good as gone.
fn settled(home: &Path) -> Result<RunningGateway, Fault> {
    let until = Instant::now() + START_PATIENCE;
    loop {
        let found = look(home)?;
        if !matches!(found, RunningGateway::Nameless(_)) || Instant::now() >= until {
            return Ok(found);
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// The one that runs and says who it is; one that does not is a fault.
fn running(home: &Path) -> Result<Option<GatewayFile>, Fault> {
    match settled(home)? {
        RunningGateway::None => Ok(None),
        RunningGateway::Named(file) => Ok(Some(file)),
        RunningGateway::Nameless(nameless) => Err(nameless.fault()),
    }
}

pub fn status(home: &Path, json: bool) -> Result<CliSaid, Fault> {
    match settled(home)? {
        RunningGateway::None if json => {
            Ok(CliSaid { text: "{\"status\":\"stopped\"}\n".to_owned(), exit_code: NONE_RUNS })
        }
        RunningGateway::None => Ok(none_runs()),
        RunningGateway::Named(found) => Ok(status_of(&found, json)),
        RunningGateway::Nameless(nameless) => Ok(status_of_nameless(&nameless, json)),
    }
}

/// It runs, and cannot be asked how it is.
fn status_of_nameless(nameless: &NamelessGateway, json: bool) -> CliSaid {
    let NamelessGateway { pid, why } = nameless;
    let text = match json {
        true => format!("{}\n", serde_json::json!({ "status": "unknown", "pid": pid, "error": why })),
        false => {
            let who = pid.map_or_else(|| "a process that cannot be named".to_owned(), |pid| format!("pid {pid}"));
            format!("running: {who}, by its lock, but {why}\n{}\n", nameless.what_to_do())
        }
    };
    CliSaid { text, exit_code: NOT_WELL }
}

fn status_of(found: &GatewayFile, json: bool) -> CliSaid {
    let how = Wellness::of(found);
    let text = match json {
        true => format!("{}\n", how.json),
        false => {
            let url = found.url.as_deref().unwrap_or("no port");
            format!("running: pid {}, {url}, version {}\n{}\n", found.pid, found.version, how.words)
        }
    };
    CliSaid { text, exit_code: if how.is_well { 0 } else { NOT_WELL } }
}

/// How one is that runs.
struct Wellness {
    /// Has a `status`, always.
    json: String,
    words: String,
    is_well: bool,
}

impl Wellness {
    fn of(found: &GatewayFile) -> Self {
        let pid = found.pid;
        if found.is_ending {
            let json = serde_json::json!({ "status": "ending", "pid": pid }).to_string();
            let grace = Duration::from_millis(found.shutdown_grace_ms);
            let words = format!("ending: runs may take {grace:?} to come to a point where they can stop");
            return Self { json, words, is_well: false };
        }
        let Some(socket) = found.socket.clone() else {
            let json = serde_json::json!({ "status": "running", "pid": pid }).to_string();
            return Self { json, words: "it has no socket through which to ask how it is".to_owned(), is_well: true };
        };
        match answered(move || health(&socket)) {
            Ok((status, body)) => Self::said(pid, status, body),
            Err(error) => {
                let said = format!("it does not answer: {error}");
                let json = serde_json::json!({ "status": "unresponsive", "pid": pid, "error": said }).to_string();
                let hint =
                    format!("where it is suspended `kill -CONT {pid}` wakes it; `tillerman gateway stop` ends it");
                Self { json, words: format!("{said}\n{hint}"), is_well: false }
            }
        }
    }

    fn said(pid: u32, status: u16, body: String) -> Self {
        let is_well = status == 200;
        let said: Option<serde_json::Value> = serde_json::from_str(&body).ok();
        let Some(word) = said.as_ref().and_then(|it| it["status"].as_str()) else {
            let json = serde_json::json!({ "status": "unknown", "pid": pid, "error": body }).to_string();
            return Self { words: format!("not well: {body}"), json, is_well: false };
        };
        let how = match (is_well, word) {
            (true, "degraded") => "degraded",
            (true, _) => "well",
            (false, _) => "not well",
        };
        Self { words: format!("{how}: {body}"), json: body, is_well }
    }
}

/// What somebody says within [`ANSWER_PATIENCE`]. On a thread of its own: a connection waits, too, where the other one takes
/// none, and this process ends when all is said.
fn answered<T: Send + 'static>(ask: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(ask()));
    receiver.recv_timeout(ANSWER_PATIENCE).unwrap_or_else(|_| {
        let text = format!("nothing came within {} s", ANSWER_PATIENCE.as_secs());
        Err(io::Error::new(ErrorKind::TimedOut, text))
    })
}

/// What `/health` says, through the socket of the same user.
fn health(socket: &Path) -> io::Result<(u16, String)> {
    // The second half keeps the first one good.
    let (path, _kept) = crate::dialable(socket)?;
    let mut stream = UnixStream::connect(path)?;
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(HEALTH_BYTES_MAX).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Ok((status, body.to_owned()))
}

/// The certificate that we made ourselves, without the key that lies beside it.
pub fn certificate(home: &Path) -> Result<CliSaid, Fault> {
    let found = crate::tls::own_certificate(home).map_err(failed("the gateway's certificate"))?;
    found.map(said).ok_or_else(|| {
        Fault::new(FaultKind::Invalid, "this gateway has made no certificate of its own")
            .hint("`tillerman gateway --tls-self-signed` makes one")
    })
}

/// Asks the process to end, and waits until it has.
pub fn stop(home: &Path) -> Result<CliSaid, Fault> {
    let Some((found, holder)) = holder(home)? else { return Ok(none_runs()) };
    holder.ask_to_end().map_err(failed(&format!("process {}", found.pid)))?;
    let patience = STOP_PATIENCE.saturating_add(Duration::from_millis(found.shutdown_grace_ms));
    let begun = Instant::now();
    while begun.elapsed() < patience {
        let is_gone = match look(home)? {
            RunningGateway::None => true,
            RunningGateway::Named(now) => now.instance != found.instance,
            // Its file goes before its lock does.
            RunningGateway::Nameless(_) => false,
        };
        if is_gone {
            return Ok(said(format!("stopped: pid {}\n", found.pid)));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Err(Fault::new(FaultKind::Internal, format!("process {} does not end", found.pid))
        .hint("a second `gateway stop` ends it without waiting for what runs"))
}

/// The gateway that runs, and its process. One that is starting has the lock before its file is there, and the file of one
/// that was killed may still lie in its place: that one names a stranger.
fn holder(home: &Path) -> Result<Option<(GatewayFile, LockHolder)>, Fault> {
    let until = Instant::now() + START_PATIENCE;
    loop {
        let Some(found) = running(home)? else { return Ok(None) };
        let holder = LockHolder::find(&lock_file(home), found.pid).map_err(failed("the gateway's lock"))?;
        if let Some(holder) = holder {
            return Ok(Some((found, holder)));
        }
        if Instant::now() >= until {
            let message = format!("a gateway runs here, but process {}, which its file names, is not it", found.pid);
            return Err(Fault::new(FaultKind::Internal, message).hint("nothing was signalled"));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// The token that may do everything, where the configuration has it: what is kept in the gateway's home does not count then.
#[derive(Clone, Debug)]
pub struct ConfiguredToken {
    pub token: Secret,
    /// As people find it.
    pub stands_in: String,
}

/// The configuration's token as far as it is known here. A gateway that runs may have been started with another configuration.
fn known(home: &Path, configured: Option<ConfiguredToken>) -> Result<Option<ConfiguredToken>, Fault> {
    // One that does not say who it is says nothing of its token either.
    let elsewhere = match look(home)? {
        RunningGateway::Named(found) => found.token_stands_in,
        RunningGateway::None | RunningGateway::Nameless(_) => None,
    };
    match (configured, elsewhere) {
        (None, Some(elsewhere)) => {
            let message = format!("the gateway that runs here has its token as `server.token` in {elsewhere}");
            Err(Fault::new(FaultKind::Invalid, message).hint("look there, or name that file with --config"))
        }
        (configured, _) => Ok(configured),
    }
}

/// `with_token`: with the one that counts, of which there may be none; `None`: without.
pub fn url(home: &Path, with_token: Option<Option<ConfiguredToken>>) -> Result<CliSaid, Fault> {
    let Some(found) = running(home)? else { return Ok(none_runs()) };
    let Some(url) = found.url else { return Ok(said("it listens on its socket alone\n")) };
    let token = match with_token {
        None => None,
        Some(configured) => match known(home, configured)? {
            Some(configured) => Some(configured.token),
            None => read_main_token(home).map_err(failed("the token"))?,
        },
    };
    // Behind `#` it stays in the browser: no request and no log has it.
    let behind = token.map(|token| format!("/#token={}", token.expose())).unwrap_or_default();
    Ok(said(format!("{url}{behind}\n")))
}

pub fn token(home: &Path, configured: Option<ConfiguredToken>) -> Result<CliSaid, Fault> {
    let token = match known(home, configured)? {
        Some(configured) => configured.token,
        None => main_token(home).map_err(failed("the token"))?,
    };
    Ok(said(format!("{}\n", token.expose())))
}

pub fn rotate(home: &Path, configured: Option<ConfiguredToken>) -> Result<CliSaid, Fault> {
    if let Some(ConfiguredToken { stands_in, .. }) = known(home, configured)? {
        let message = format!("nothing was changed: the token is `server.token` in {stands_in}");
        return Err(Fault::new(FaultKind::Invalid, message).hint("change it there, or take it out to have one made"));
    }
    safefile::private_dir(home).map_err(failed("the gateway's home"))?;
    let token = make_main_token(home).map_err(failed("the token"))?;
    Ok(said(format!("{}\n", token.expose())))
}

pub fn make(home: &Path, name: &str, scopes: &[String]) -> Result<CliSaid, Fault> {
    safefile::private_dir(home).map_err(failed("the gateway's home"))?;
    let scopes = scopes_from(scopes.iter().map(String::as_str)).map_err(|why| Fault::new(FaultKind::Invalid, why))?;
    let token = add_token(&TokenFile::new(home), name, scopes).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Fault::new(FaultKind::Invalid, error.to_string())
            .hint(format!("`tillerman gateway token --revoke {name}` takes that one back")),
        ErrorKind::InvalidInput => Fault::new(FaultKind::Invalid, error.to_string()),
        _ => failed("the token")(error),
    })?;
    Ok(said(format!("{}\n", token.expose())))
}

pub fn tokens(home: &Path) -> Result<CliSaid, Fault> {
    let all = TokenFile::new(home).load().map_err(failed("the tokens"))?;
    let line = |token: &crate::NamedToken| {
        let scopes = token.scopes.words();
        format!("{}\t{}\n", token.name, scopes.join(","))
    };
    Ok(said(all.iter().map(line).collect::<String>()))
}

pub fn revoke(home: &Path, name: &str) -> Result<CliSaid, Fault> {
    match revoke_token(&TokenFile::new(home), name).map_err(failed("the tokens"))? {
        true => Ok(said(format!("revoked: {name}\n"))),
        false => Err(Fault::new(FaultKind::NotFound, format!("there is no token of the name {name}"))
            .hint("`tillerman gateway token --list` shows them")),
    }
}
