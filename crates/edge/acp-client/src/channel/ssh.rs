//! An agent on another machine, through the user's own `ssh`. Never a terminal, never a question.

use std::ffi::OsString;
use std::io;

use process::Launched;
use vocab::Later;

use super::{Channel, ProcessChannel};

/// Non-login shells have a bare PATH; agents are installed in these.
const REMOTE_PATH: &str = "export PATH=\"$HOME/.local/bin:/opt/homebrew/bin:/usr/local/bin:$PATH\"";

/// Where to, and what to run there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ssh {
    /// A host, `user@host`, or a name of `~/.ssh/config`.
    pub host: String,
    /// More flags for ssh: `-p 2222`, `-i KEY`, `-o ControlMaster=auto`.
    pub flags: Vec<String>,
    /// The directory to start in there; the user's own without it.
    pub cwd: Option<String>,
    pub command: Vec<String>,
}

impl Ssh {
    /// The local command line.
    pub fn argv(&self) -> Vec<OsString> {
        let fixed = [
            "ssh",
            "-T",
            "-o",
            "BatchMode=yes",
            "-o",
            "ServerAliveInterval=30",
            "-o",
            "ServerAliveCountMax=3",
            "-o",
            "ConnectTimeout=10",
        ];
        let fixed = fixed.iter().map(OsString::from);
        let remote = self.remote();
        let rest = [self.host.as_str(), "--", remote.as_str()].map(OsString::from);
        fixed.chain(self.flags.iter().map(OsString::from)).chain(rest).collect()
    }

    /// One string for the remote shell, every word quoted.
    fn remote(&self) -> String {
        let words: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        let there = self.cwd.as_ref().map(|dir| format!("cd {} && ", quoted(dir))).unwrap_or_default();
        format!("{there}{REMOTE_PATH} && exec {}", words.join(" "))
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

pub struct SshChannel {
    ssh: Ssh,
    process: ProcessChannel,
}

impl SshChannel {
    /// `process` says how the local `ssh` is started; its words are made from `ssh`.
    pub fn new(ssh: Ssh, mut process: ProcessChannel) -> io::Result<Self> {
        // A host that begins with a dash would be a flag.
        if ssh.host.is_empty() || ssh.host.starts_with('-') || ssh.command.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "ssh needs a host and a command"));
        }
        process.argv = ssh.argv();
        Ok(Self { ssh, process })
    }
}

impl Channel for SshChannel {
    fn open(&self) -> Later<'_, io::Result<Launched>> {
        self.process.open()
    }

    fn command(&self) -> Vec<String> {
        self.ssh.command.clone()
    }

    fn has_banner(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remote_command_is_one_quoted_string_behind_a_path() {
        let ssh = Ssh {
            host: "box".into(),
            flags: vec!["-p".into(), "2222".into()],
            cwd: Some("/srv/my project".into()),
            command: vec!["agent".into(), "it's".into(), "$HOME;x".into()],
        };
        let argv: Vec<String> = ssh.argv().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(argv[..4], ["ssh", "-T", "-o", "BatchMode=yes"]);
        assert_eq!(argv[10..14], ["-p", "2222", "box", "--"]);
        let wanted = "cd '/srv/my project' && \
                      export PATH=\"$HOME/.local/bin:/opt/homebrew/bin:/usr/local/bin:$PATH\" && exec 'agent' 'it'\\''s' '$HOME;x'";
        assert_eq!(argv[14..], [wanted]);
    }
}
