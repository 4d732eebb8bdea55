//! The product's launcher: puts an extension, a server of tools, an agent and its commands on a leash, like a command of the
//! model's. Whatever becomes of us, `kill -9` included, they and everything they started end.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncRead;
use vocab::Later;

use super::stderr_pipe::StderrPipe;
use super::{ChildProcess, EndSignal, Exit, Launched, Launcher, Program};
use crate::leash::{self, Control, LeashRequest, OnLeash, Report, Spare};

/// Starts a program on a leash. The binary that we are has to enter [`leash::run`] when it is called with [`leash::ARG`].
pub struct LeashLauncher;

impl Launcher for LeashLauncher {
    fn launch<'a>(&'a self, program: &'a Program) -> Later<'a, io::Result<Launched>> {
        Box::pin(async move {
            // The leash joins stdout and stderr; where they are wanted apart, stderr takes a named pipe.
            let stderr = (!program.joined).then(StderrPipe::make).transpose()?;
            let errors: Box<dyn AsyncRead + Send + Unpin> = match &stderr {
                Some(stderr) => Box::new(stderr.open()?),
                None => Box::new(tokio::io::empty()),
            };
            let request = LeashRequest {
                command: command(program, stderr.as_ref().map(|stderr| stderr.path.as_os_str()))?,
                cwd: leash::directory(&program.cwd)?,
                env: program.env.clone(),
                pids_max: leash::PIDS_MAX,
                terminal: None,
            };
            let spare = Spare::start(Path::new("/proc/self/exe")).map_err(io::Error::other)?;
            let OnLeash { mut control, output, input, .. } =
                spare.hold(&request, true).await.map_err(io::Error::other)?;
            let input = input.ok_or_else(|| io::Error::other("the pipe is missing"))?;
            let group = match control.report().await {
                Some(Report::Failed(errno)) => return Err(io::Error::from_raw_os_error(errno)),
                Some(Report::Started(pid)) => Pid::from_raw(pid),
                _ => None,
            };
            let process = LeashedProgram { control, group, exceeded: None, exit: None, _stderr: stderr };
            Ok(Launched {
                input: Box::new(input),
                output: Box::new(output),
                errors,
                process: Box::new(process),
                secrets: program.secrets(),
            })
        })
    }
}

/// `exec 'python3' '/x/guard.py' 2>'/tmp/y/errors'`: the shell goes, the program stays.
fn command(program: &Program, stderr: Option<&OsStr>) -> io::Result<String> {
    let mut line = String::from("exec");
    for word in &program.argv {
        line.push(' ');
        line.push_str(&quoted(word)?);
    }
    if let Some(stderr) = stderr {
        line.push_str(" 2>");
        line.push_str(&quoted(stderr)?);
    }
    Ok(line)
}

fn quoted(word: &OsStr) -> io::Result<String> {
    let text = word.to_str().ok_or_else(|| io::Error::other("its path is not Unicode text"))?;
    if word.as_bytes().contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}

/// Dropped, the leash ends everything below it.
struct LeashedProgram {
    control: Control,
    group: Option<Pid>,
    /// It had more processes than [`leash::PIDS_MAX`].
    exceeded: Option<i32>,
    exit: Option<Exit>,
    _stderr: Option<StderrPipe>,
}

impl ChildProcess for LeashedProgram {
    fn ended(&mut self) -> Later<'_, Exit> {
        Box::pin(async {
            while self.exit.is_none() {
                self.exit = match self.control.report().await {
                    Some(Report::Started(_)) => None,
                    Some(Report::TooMany(count)) => {
                        self.exceeded = Some(count);
                        None
                    }
                    Some(Report::Exited { code, .. }) => Some(Exit { code: Some(code), signal: None }),
                    Some(Report::Killed { signal, .. }) => Some(Exit { code: None, signal: Some(signal) }),
                    Some(Report::Failed(_) | Report::Empty) | None => Some(Exit::default()),
                };
            }
            self.exit.clone().unwrap_or_default()
        })
    }

    fn signal(&mut self, signal: EndSignal) {
        let signal = match signal {
            EndSignal::Interrupt => Signal::INT,
            EndSignal::Terminate => Signal::TERM,
            EndSignal::Kill => {
                // Also for what left the group.
                self.control.stop();
                Signal::KILL
            }
        };
        // A pid that was reported as ended may be another program's by now.
        if let Some(group) = self.group.filter(|_| self.exit.is_none()) {
            let _ = kill_process_group(group, signal);
        }
    }

    fn exceeded(&self) -> Option<i32> {
        self.exceeded
    }

    /// The leash does it: it also knows what left the group.
    fn end(mut self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move {
            self.control.stop();
            while !matches!(self.control.report().await, Some(Report::Empty) | None) {}
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reaches_the_program_as_it_is() {
        let program = |argv: &[&str]| Program {
            argv: argv.iter().map(Into::into).collect(),
            cwd: "/".into(),
            env: Vec::new(),
            joined: false,
        };
        let line = command(&program(&["python3", "it's; exit 5"]), Some("/t/errors".as_ref()));
        assert_eq!(line.unwrap(), r"exec 'python3' 'it'\''s; exit 5' 2>'/t/errors'");
        assert_eq!(command(&program(&["ls"]), None).unwrap(), "exec 'ls'");
        assert!(command(&program(&["a\0b"]), None).is_err());
    }
}
