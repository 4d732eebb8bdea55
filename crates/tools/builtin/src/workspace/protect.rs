//! Files that decide what runs: whoever may write them may do more than write. They need full access, also while they do
//! not exist yet. One flat table of names, each with the reason a person is told. Pure: compares names, touches no file.

use std::path::{Path, PathBuf};

/// Completes "asked because".
pub(crate) type ProtectReason = &'static str;

const GIT: ProtectReason = "git runs programs that are named there";
const OURS: ProtectReason = "it steers tillerman itself";
const AGENTS: ProtectReason = "it steers coding agents: what they run, and what they are told";
const EDITOR: ProtectReason = "an editor runs what stands there";
const SHELL: ProtectReason = "a shell runs it when it starts";
const LOGIN: ProtectReason = "it is run or obeyed at every login";
const PROGRAMS: ProtectReason = "programs are started from there";
const PACKAGES: ProtectReason = "a package manager runs or loads what it names";
const ACCESS: ProtectReason = "it decides who has access, or holds the keys for it";
const TOOLS: ProtectReason = "a tool runs commands that stand there when it starts";
/// Of a path that the configuration names.
const NAMED: ProtectReason = "tillerman's own configuration runs or obeys it";

/// Wherever they stand in a path. What only a build or a test obeys (a Makefile, `package.json`, a list of pre-commit
/// checks, `.gitattributes`) is ordinary work and not here.
const ANYWHERE: [(&str, ProtectReason); 36] = [
    (".git", GIT),
    (".gitconfig", GIT),
    (".gitmodules", "git fetches from the addresses in it"),
    (".githooks", GIT),
    (".husky", "git runs the hooks in it"),
    (".tillerman", OURS),
    (".tillerman.toml", OURS),
    (".tillerman.json", OURS),
    (".tillerman.yaml", OURS),
    (".tillerman.yml", OURS),
    (".agents", "skills in it become part of what a model is told to do"),
    (".pi", AGENTS),
    (".omp", AGENTS),
    (".claude", AGENTS),
    (".claude.json", AGENTS),
    (".codex", AGENTS),
    (".gemini", AGENTS),
    (".cursor", AGENTS),
    (".opencode", AGENTS),
    (".mcp.json", "agents start the servers that it names"),
    (".vscode", EDITOR),
    (".idea", EDITOR),
    (".zed", EDITOR),
    (".devcontainer", EDITOR),
    (".exrc", EDITOR),
    (".nvim.lua", EDITOR),
    (".nvimrc", EDITOR),
    (".vimrc", EDITOR),
    (".envrc", "direnv runs it when somebody enters the directory"),
    (".cargo", "cargo runs the compilers, linkers and runners that are named there"),
    (".npmrc", PACKAGES),
    (".yarnrc", PACKAGES),
    (".yarnrc.yml", PACKAGES),
    (".pnpmfile.cjs", PACKAGES),
    (".ripgreprc", TOOLS),
    (".gdbinit", TOOLS),
];

/// At the top of the workspace the targets of links under these names are protected as well, and these with them.
const BEHIND: [(&str, ProtectReason); 4] =
    [(".git/hooks", GIT), (".git/config", GIT), (".agents/skills", AGENTS), (".cargo/config.toml", PACKAGES)];

/// Below the home directory.
const HOME: [(&str, ProtectReason); 72] = [
    (".aws", ACCESS),
    (".azure", ACCESS),
    (".bash_aliases", SHELL),
    (".bash_login", SHELL),
    (".bash_logout", SHELL),
    (".bash_profile", SHELL),
    (".bashrc", SHELL),
    (".config/autostart", LOGIN),
    (".config/Code", EDITOR),
    (".config/direnv", SHELL),
    (".config/emacs", EDITOR),
    (".config/environment.d", LOGIN),
    (".config/fish", SHELL),
    (".config/gcloud", ACCESS),
    (".config/gh", ACCESS),
    (".config/git", GIT),
    (".config/helix", EDITOR),
    (".config/mise", SHELL),
    (".config/nvim", EDITOR),
    (".config/powershell", SHELL),
    (".config/systemd", LOGIN),
    (".config/tillerman", OURS),
    (".config/tmux", TOOLS),
    (".config/zed", EDITOR),
    (".cshrc", SHELL),
    (".curlrc", TOOLS),
    (".docker", ACCESS),
    (".emacs", EDITOR),
    (".emacs.d", EDITOR),
    (".gnupg", ACCESS),
    (".inputrc", SHELL),
    (".irbrc", TOOLS),
    (".kshrc", SHELL),
    (".kube", ACCESS),
    (".lldbinit", TOOLS),
    (".local/bin", PROGRAMS),
    (".local/share/tillerman", OURS),
    (".local/share/applications", LOGIN),
    (".login", SHELL),
    (".logout", SHELL),
    (".mkshrc", SHELL),
    (".netrc", ACCESS),
    (".oh-my-zsh", SHELL),
    (".pam_environment", LOGIN),
    (".pip", PACKAGES),
    (".profile", LOGIN),
    (".psqlrc", TOOLS),
    (".pypirc", ACCESS),
    (".pythonrc", TOOLS),
    (".screenrc", TOOLS),
    (".ssh", ACCESS),
    (".sqliterc", TOOLS),
    (".tcshrc", SHELL),
    (".tmux.conf", TOOLS),
    (".vim", EDITOR),
    (".wgetrc", TOOLS),
    (".xinitrc", LOGIN),
    (".xprofile", LOGIN),
    (".xsession", LOGIN),
    (".xsessionrc", LOGIN),
    (".zlogin", SHELL),
    (".zlogout", SHELL),
    (".zprofile", SHELL),
    (".zshenv", SHELL),
    (".zshrc", SHELL),
    ("bin", PROGRAMS),
    ("Library/LaunchAgents", LOGIN),
    ("Library/Application Support/Code", EDITOR),
    (".config/Cursor", EDITOR),
    (".config/pip", PACKAGES),
    (".config/hypr", LOGIN),
    (".config/sway", LOGIN),
];

/// Names at the top of a workspace whose links are followed.
pub(super) fn behind() -> impl Iterator<Item = (&'static str, ProtectReason)> {
    ANYWHERE.into_iter().chain(BEHIND)
}

/// What is protected in one workspace.
#[derive(Debug)]
pub(super) struct Protected {
    /// Folded, relative to the workspace.
    below: Vec<(PathBuf, ProtectReason)>,
}

impl Protected {
    /// `root` is the real path of the workspace; of the other paths only those that lie in it matter. A relative one is
    /// taken from the workspace. `real` follows links as far as there are any.
    pub(super) fn new(root: &Path, home: Option<&Path>, more: &[PathBuf], real: impl Fn(&Path) -> PathBuf) -> Self {
        let of_home = home.into_iter().flat_map(|home| HOME.map(|(name, why)| (home.join(name), why)));
        let mut below = Vec::new();
        for (path, why) in of_home.chain(more.iter().map(|path| (root.join(path), NAMED))) {
            // The name itself, and what a link of this name leads to: whoever replaces either has replaced the file.
            let parent = path.parent().map(&real).unwrap_or_default();
            let named = path.file_name().map(|name| parent.join(name));
            for path in named.into_iter().chain([real(&path)]) {
                let rel = path.strip_prefix(root).ok().filter(|rel| !rel.as_os_str().is_empty());
                below.extend(rel.map(|rel| (fold(rel), why)));
            }
        }
        // A workspace in a directory of ours is protected as a whole. One in a directory of the home is what its user
        // wants to work on.
        if more.iter().any(|path| root.starts_with(real(&root.join(path)))) {
            below.push((PathBuf::new(), NAMED));
        }
        below.sort_unstable();
        below.dedup();
        Self { below }
    }

    pub(super) fn covers(&self, rel: &Path) -> Option<ProtectReason> {
        let folded = fold(rel);
        let named = |part: std::path::Component<'_>| {
            ANYWHERE.iter().find(|(name, _)| part.as_os_str() == *name).map(|(_, why)| *why)
        };
        let below = || self.below.iter().find(|(path, _)| folded.starts_with(path)).map(|(_, why)| *why);
        folded.components().find_map(named).or_else(below)
    }
}

/// The name as a forgiving filesystem sees it: without case, and without the invisible characters that some drop
/// from names. On a strict filesystem this protects a few harmless names too, and costs a question.
pub(super) fn fold(path: &Path) -> PathBuf {
    let invisible = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    path.to_string_lossy().chars().filter(|c| !invisible(c)).flat_map(char::to_lowercase).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected(root: &str, more: &[&str]) -> Protected {
        let more: Vec<PathBuf> = more.iter().map(PathBuf::from).collect();
        Protected::new(Path::new(root), Some(Path::new("/u")), &more, Path::to_owned)
    }

    #[test]
    fn protected_names_are_seen_through_case_and_invisible_characters() {
        let protected = protected("/u", &["/u/.data", "/etc", "tools/key.sh"]);
        for path in [
            ".git",
            ".git/hooks/pre-commit",
            ".git/config",
            "sub/.git/config",
            ".GIT/Hooks/x",
            ".g\u{200c}it/config",
            ".tillerman.toml",
            ".Tillerman.TOML",
            ".tillerman.json",
            ".tillerman.yaml",
            ".tillerman.yml",
            ".tillerman/rules",
            "a/.tillerman.toml",
            ".bashrc",
            ".zshrc",
            ".BASHRC",
            ".ssh/authorized_keys",
            ".config/fish/config.fish",
            ".data/sessions.db",
            ".agents/skills/x/SKILL.md",
            "a/.agents/skills/x/SKILL.md",
            ".pi/agent/models.json",
            ".omp/agent/settings.json",
            "tools/key.sh",
            "Tools/KEY.sh",
        ] {
            assert!(protected.covers(Path::new(path)).is_some(), "{path}");
        }
        for path in [
            ".gitignore",
            ".gitattributes",
            ".github/x",
            "git/config",
            "src/.bashrc",
            ".config/x",
            "tillerman.toml",
            ".database",
            "tools/other.sh",
            "src/bin/main.rs",
            "Makefile",
        ] {
            assert_eq!(protected.covers(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn shell_files_are_ordinary_files_outside_the_home() {
        assert_eq!(protected("/work", &[]).covers(Path::new(".bashrc")), None);
    }

    #[test]
    fn a_workspace_in_a_directory_of_ours_is_protected_as_a_whole() {
        for ours in ["/u/.config", "/u/.config/app", "."] {
            assert!(protected("/u/.config/app", &[ours]).covers(Path::new("a")).is_some(), "{ours}");
        }
        assert_eq!(protected("/u/.config/nvim", &["/u/.config/app"]).covers(Path::new("init.lua")), None);
    }

    /// A name is compared in its folded form.
    #[test]
    fn the_table_is_folded() {
        for (name, _) in ANYWHERE {
            assert_eq!(fold(Path::new(name)), Path::new(name));
        }
    }
}
