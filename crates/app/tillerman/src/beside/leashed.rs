//! Puts an extension or a server of tools on a leash, like a command of the model's: whatever becomes of us, `kill -9`
//! included, it and everything it started ends. The leash joins stdout and stderr, so stderr comes through a named pipe of its own.

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use builtin_tools::leash::{Control, Held, Report, Request, Spare};
use rustix::fs::{CWD, Mode, mkdirat, mknodat};
use tokio::net::unix::pipe;
use vocab::Later;

pub(crate) struct Leashed;

impl extensions::Launcher for Leashed {
    fn launch<'a>(&'a self, program: &'a extensions::Program) -> Later<'a, io::Result<extensions::Started>> {
        Box::pin(async move {
            let Running { input, output, errors, process } = run(&program.argv, &program.cwd, &program.env).await?;
            Ok(extensions::Started {
                input: Box::new(input),
                output: Box::new(output),
                errors: Box::new(errors),
                process: Box::new(process),
            })
        })
    }
}

impl mcp::Launcher for Leashed {
    fn launch<'a>(&'a self, program: &'a mcp::Program) -> Later<'a, io::Result<mcp::Started>> {
        Box::pin(async move {
            let Running { input, output, errors, process } = run(&program.argv, &program.cwd, &program.env).await?;
            Ok(mcp::Started {
                input: Box::new(input),
                output: Box::new(output),
                errors: Box::new(errors),
                process: Box::new(process),
            })
        })
    }
}

/// A program on its leash, and the ends of its pipes.
struct Running {
    input: pipe::Sender,
    output: pipe::Receiver,
    errors: pipe::Receiver,
    process: OnLeash,
}

async fn run(argv: &[OsString], cwd: &Path, env: &[(OsString, OsString)]) -> io::Result<Running> {
    let place = Place::make()?;
    let errors = pipe::OpenOptions::new().read_write(true).open_receiver(&place.pipe)?;
    let request = Request {
        command: command(argv, &place.pipe)?,
        cwd: builtin_tools::leash::directory(cwd)?,
        env: env.to_owned(),
        pids_max: builtin_tools::shell::PIDS_MAX,
        terminal: None,
    };
    let spare = Spare::start(Path::new("/proc/self/exe")).map_err(io::Error::other)?;
    let Held { mut control, output, input, .. } = spare.hold(&request, true).await.map_err(io::Error::other)?;
    let input = input.ok_or_else(|| io::Error::other("the pipe is missing"))?;
    if let Some(Report::Failed(errno)) = control.report().await {
        return Err(io::Error::from_raw_os_error(errno));
    }
    Ok(Running { input, output, errors, process: OnLeash { control, status: None, _place: place } })
}

/// `exec 'python3' '/x/guard.py' 2>'/tmp/y/errors'`: the shell goes, the program stays.
fn command(argv: &[OsString], errors: &Path) -> io::Result<String> {
    let mut line = String::from("exec");
    for word in argv {
        line.push(' ');
        line.push_str(&quoted(word)?);
    }
    Ok(format!("{line} 2>{}", quoted(errors.as_os_str())?))
}

pub(crate) fn quoted(word: &OsStr) -> io::Result<String> {
    let text = word.to_str().ok_or_else(|| io::Error::other("its path is not Unicode text"))?;
    if word.as_bytes().contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}

/// A directory of our own with the pipe for stderr in it; gone with this.
pub(crate) struct Place {
    dir: PathBuf,
    pub(crate) pipe: PathBuf,
}

impl Place {
    pub(crate) fn make() -> io::Result<Place> {
        let dir = std::env::temp_dir().join(format!("tillerman-{}", uuid::Uuid::now_v7()));
        mkdirat(CWD, &dir, Mode::RWXU)?;
        let place = Place { pipe: dir.join("errors"), dir };
        mknodat(CWD, &place.pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

struct OnLeash {
    control: Control,
    status: Option<String>,
    _place: Place,
}

impl OnLeash {
    async fn ended(&mut self) -> String {
        while self.status.is_none() {
            self.status = match self.control.report().await {
                Some(Report::Started(_)) => None,
                Some(Report::Exited { code, .. }) => Some(format!("exited with code {code}")),
                Some(Report::Killed { signal, .. }) => Some(format!("was killed by signal {signal}")),
                Some(Report::TooMany(count)) => Some(format!("was ended: it had {count} processes")),
                Some(Report::Failed(_) | Report::Empty) | None => Some("ended".into()),
            };
        }
        self.status.clone().unwrap_or_default()
    }

    async fn end(mut self) {
        self.control.stop();
        while !matches!(self.control.report().await, Some(Report::Empty) | None) {}
    }
}

impl extensions::Process for OnLeash {
    fn ended(&mut self) -> Later<'_, String> {
        Box::pin(self.ended())
    }
    fn end(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(OnLeash::end(*self))
    }
}

impl mcp::Process for OnLeash {
    fn ended(&mut self) -> Later<'_, String> {
        Box::pin(self.ended())
    }
    fn end(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(OnLeash::end(*self))
    }
}
