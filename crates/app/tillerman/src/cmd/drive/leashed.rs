//! Puts an agent, its commands and its shell on a leash: whatever becomes of us, `kill -9` included, they end.

use std::io;
use std::path::Path;

use acp_client::{Exit, Launcher, Process, Program, Started, Strike};
use builtin_tools::leash::{Control, Held, Report, Request, Spare};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncRead;
use tokio::net::unix::pipe;
use vocab::Later;

use crate::beside::leashed::{Place, quoted};

pub(super) struct Leashed;

impl Launcher for Leashed {
    fn launch<'a>(&'a self, program: &'a Program) -> Later<'a, io::Result<Started>> {
        Box::pin(async move {
            // The leash joins stdout and stderr; where they are wanted apart, stderr takes a named pipe.
            let place = (!program.joined).then(Place::make).transpose()?;
            let errors: Box<dyn AsyncRead + Send + Unpin> = match &place {
                Some(place) => Box::new(pipe::OpenOptions::new().read_write(true).open_receiver(&place.pipe)?),
                None => Box::new(tokio::io::empty()),
            };
            let mut command = String::from("exec");
            for word in &program.argv {
                command.push(' ');
                command.push_str(&quoted(word)?);
            }
            if let Some(place) = &place {
                command.push_str(&format!(" 2>{}", quoted(place.pipe.as_os_str())?));
            }
            let request = Request {
                command,
                cwd: builtin_tools::leash::directory(&program.cwd)?,
                env: program.env.clone(),
                pids_max: builtin_tools::shell::PIDS_MAX,
                terminal: None,
            };
            let spare = Spare::start(Path::new("/proc/self/exe")).map_err(io::Error::other)?;
            let Held { mut control, output, input, .. } = spare.hold(&request, true).await.map_err(io::Error::other)?;
            let input = input.ok_or_else(|| io::Error::other("the pipe is missing"))?;
            let group = match control.report().await {
                Some(Report::Failed(errno)) => return Err(io::Error::from_raw_os_error(errno)),
                Some(Report::Started(pid)) => Pid::from_raw(pid),
                _ => None,
            };
            let process = OnLeash { control, group, exit: None, _place: place };
            Ok(Started { input: Box::new(input), output: Box::new(output), errors, process: Box::new(process) })
        })
    }
}

/// Dropped, the leash ends everything below it.
struct OnLeash {
    control: Control,
    group: Option<Pid>,
    exit: Option<Exit>,
    _place: Option<Place>,
}

impl Process for OnLeash {
    fn ended(&mut self) -> Later<'_, Exit> {
        Box::pin(async {
            while self.exit.is_none() {
                self.exit = match self.control.report().await {
                    Some(Report::Started(_) | Report::TooMany(_)) => None,
                    Some(Report::Exited { code, .. }) => Some(Exit { code: Some(code), signal: None }),
                    Some(Report::Killed { signal, .. }) => Some(Exit { code: None, signal: Some(signal) }),
                    Some(Report::Failed(_) | Report::Empty) | None => Some(Exit::default()),
                };
            }
            self.exit.clone().unwrap_or_default()
        })
    }

    fn strike(&mut self, how: Strike) {
        let signal = match how {
            Strike::Interrupt => Signal::INT,
            Strike::Terminate => Signal::TERM,
            Strike::Kill => {
                // Also for what left the group.
                self.control.stop();
                Signal::KILL
            }
        };
        // A pid that was reported as ended may be somebody else's by now.
        if let Some(group) = self.group.filter(|_| self.exit.is_none()) {
            let _ = kill_process_group(group, signal);
        }
    }
}
