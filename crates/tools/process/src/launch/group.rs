//! The plain launcher: a program leads its own process group, and the group is signalled as one.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncRead;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use vocab::Later;

use super::{ChildProcess, EndSignal, Exit, Launched, Launcher, Program};

/// Starts a program as the leader of its own process group.
pub struct GroupLauncher;

impl Launcher for GroupLauncher {
    fn launch<'a>(&'a self, program: &'a Program) -> Later<'a, io::Result<Launched>> {
        Box::pin(async move {
            let (exe, args) = program.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            let mut command = Command::new(exe);
            command
                .args(args)
                .env_clear()
                .envs(program.env.iter().map(|(name, value)| (name, value)))
                .current_dir(&program.cwd)
                .process_group(0)
                .stdin(Stdio::piped())
                .kill_on_drop(true);
            let (output, output_end) = io::pipe()?;
            let (errors, errors_end) = match program.joined {
                true => (None, output_end.try_clone()?),
                false => io::pipe().map(|(errors, end)| (Some(errors), end))?,
            };
            let mut child = command.stdout(output_end).stderr(errors_end).spawn()?;
            // Our copies of the far ends go with it, or the output would never end.
            drop(command);
            let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
            let input = child.stdin.take().ok_or_else(|| io::Error::other("the pipe is missing"))?;
            let reader = |end: io::PipeReader| pipe::Receiver::from_owned_fd(end.into());
            let errors: Box<dyn AsyncRead + Send + Unpin> = match errors {
                Some(errors) => Box::new(reader(errors)?),
                None => Box::new(tokio::io::empty()),
            };
            let process = ProcessGroup { child, group, exit: None };
            Ok(Launched {
                input: Box::new(input),
                output: Box::new(reader(output)?),
                errors,
                process: Box::new(process),
                secrets: program.secrets(),
            })
        })
    }
}

struct ProcessGroup {
    child: Child,
    group: Option<Pid>,
    exit: Option<Exit>,
}

impl ChildProcess for ProcessGroup {
    fn ended(&mut self) -> Later<'_, Exit> {
        Box::pin(async {
            if self.exit.is_none() {
                let status = self.child.wait().await;
                let exit = status.map(|status| Exit { code: status.code(), signal: status.signal() });
                self.exit = Some(exit.unwrap_or_default());
            }
            self.exit.clone().unwrap_or_default()
        })
    }

    fn signal(&mut self, signal: EndSignal) {
        let signal = match signal {
            EndSignal::Interrupt => Signal::INT,
            EndSignal::Terminate => Signal::TERM,
            EndSignal::Kill => Signal::KILL,
        };
        // Gone already is what we want.
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(EndSignal::Kill);
    }
}
