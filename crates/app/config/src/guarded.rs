//! What the tools keep their hands off, from the settings: paths that only full access writes, because we run or obey what
//! stands there, and paths that no tool reads, because our own keys and conversations are in them. Nothing is chosen by
//! whether it exists: whoever may create a file that is obeyed at the next start is obeyed then.

use std::path::{Path, PathBuf};

use vocab::{McpServer, McpTransport};

use crate::agent::Word;

/// Directories of agents below a home.
const AGENT_DIRS: [&str; 2] = [".pi/agent", ".omp/agent"];
/// What agents keep their keys and conversations in.
const AGENT_SECRETS: [&str; 5] = ["auth.json", "models.json", "models.yml", "models.yaml", "sessions"];
/// The same for what we keep in the data directory. Skills, prompts and caches there may be read.
const DATA_SECRETS: [&str; 7] =
    ["sessions.db", "sessions.db-wal", "sessions.db-shm", "sessions.db-journal", "history", "spill", "sessions"];
const AUTH: &str = "auth";

#[derive(Default, Debug)]
pub struct Guarded {
    /// Only full access writes here.
    pub protected: Vec<PathBuf>,
    /// No tool reads here.
    pub secret: Vec<PathBuf>,
}

impl Guarded {
    /// Of the directories alone.
    pub fn of_dirs(config: &Path, data: &Path, agent_dir: &Path, home: Option<&Path>) -> Guarded {
        let of_home = home.into_iter().flat_map(|home| AGENT_DIRS.map(|dir| home.join(dir)));
        let agents: Vec<PathBuf> = of_home.chain([agent_dir.to_owned(), data.join("agent")]).collect();
        let mut secret: Vec<PathBuf> = DATA_SECRETS.iter().map(|name| data.join(name)).collect();
        secret.push(config.join(AUTH));
        secret.extend(agents.iter().flat_map(|dir| AGENT_SECRETS.map(|name| dir.join(name))));
        let protected = [data.to_owned(), config.to_owned()].into_iter().chain(agents).collect();
        Guarded { protected, secret }
    }

    /// And of keys: the files they are in, the programs that print them.
    pub fn add_keys<'k>(&mut self, keys: impl Iterator<Item = &'k Word>, workspace: &Path) {
        for word in keys {
            match word {
                Word::Plain(_) | Word::Variable(..) => {}
                Word::File(path) => self.secret.push(path.clone()),
                Word::Command(line) => self.protected.extend(named(line.expose(), workspace)),
            }
        }
    }

    /// And of servers of tools, which start in their session's workspace.
    pub fn add_servers(&mut self, servers: &[McpServer], workspace: &Path) {
        self.protected.extend(servers.iter().flat_map(|server| started(server, workspace)));
    }
}

/// The program and the files among the arguments of a server, which starts in its session's workspace.
fn started(server: &McpServer, workspace: &Path) -> Vec<PathBuf> {
    match &server.way {
        McpTransport::Http { .. } => Vec::new(),
        McpTransport::Process { command, args, .. } => {
            std::iter::once(command).chain(args).flat_map(|word| named(word, workspace)).collect()
        }
    }
}

/// Every word of a command line that can be a file; relative to wherever it runs. A directory is not meant: it is what a
/// server serves, and often the workspace itself.
fn named(line: &str, workspace: &Path) -> Vec<PathBuf> {
    let words = line.split(|c: char| {
        c.is_whitespace() || matches!(c, '\'' | '"' | ';' | '|' | '&' | '(' | ')' | '<' | '>' | '=' | '`')
    });
    let paths = words.filter(|word| !word.is_empty() && !word.starts_with('-')).map(expanded);
    paths.filter(|path| !workspace.join(path).is_dir()).collect()
}

fn expanded(word: &str) -> PathBuf {
    let rest = word.strip_prefix("~/").or_else(|| word.strip_prefix("$HOME/"));
    match (rest, std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_command_lines() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("docs")).unwrap();
        let found = |line: &str| {
            let named = named(line, place.path());
            named.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found("sh key.sh"), "sh key.sh");
        assert_eq!(found("python3 -u './tools/key.py' --file=k.txt | head -1"), "python3 ./tools/key.py k.txt head");
        assert_eq!(found("/opt/server . docs ../"), "/opt/server");
        assert_eq!(found(""), "");
    }

    #[test]
    fn directories_of_agents_count_whether_or_not_they_exist() {
        let dirs = Guarded::of_dirs(Path::new("/c"), Path::new("/d"), Path::new("/a"), Some(Path::new("/nobody")));
        for path in ["/c", "/d", "/a", "/d/agent", "/nobody/.pi/agent", "/nobody/.omp/agent"] {
            assert!(dirs.protected.contains(&path.into()), "{path}");
        }
        for path in ["/c/auth", "/d/sessions.db", "/d/sessions.db-wal", "/nobody/.pi/agent/auth.json", "/a/models.json"]
        {
            assert!(dirs.secret.contains(&path.into()), "{path}");
        }
    }
}
