//! Files inside a workspace that decide what runs there: whoever may write them may do more than write. They need
//! full access, also while they do not exist yet. Pure: compares names, touches no file.

use std::path::{Path, PathBuf};

/// Names that are protected wherever they stand in a path: git's own directory (hooks, config, the `gitdir:` file),
/// and this program's project settings.
const ANYWHERE: [&str; 3] = [".git", ".tillerman", ".tillerman.toml"];

/// The ones at the top of the workspace, whose symlink targets are protected as well.
pub(super) const ROOTS: [&str; 5] = [".git", ".git/hooks", ".git/config", ".tillerman", ".tillerman.toml"];

/// Start-up files below the home directory that a shell, a login or a desktop runs or trusts.
const HOME: [&str; 34] = [
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".config/autostart",
    ".config/environment.d",
    ".config/fish",
    ".config/git",
    ".config/powershell",
    ".config/systemd",
    ".config/tillerman",
    ".cshrc",
    ".gitconfig",
    ".inputrc",
    ".kshrc",
    ".local/share/tillerman",
    ".login",
    ".logout",
    ".mkshrc",
    ".pam_environment",
    ".profile",
    ".ssh",
    ".tcshrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "Library/LaunchAgents",
];

/// What is protected in one workspace.
#[derive(Debug)]
pub(super) struct Protected {
    /// Folded, relative to the workspace.
    below: Vec<PathBuf>,
}

impl Protected {
    /// `root` is the real path of the workspace; of the other paths only those that lie in it matter.
    pub(super) fn new(root: &Path, home: Option<&Path>, more: &[PathBuf]) -> Self {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let of_home = home.map(real).into_iter().flat_map(|home| HOME.map(|name| home.join(name)));
        let all = of_home.chain(more.iter().map(|path| real(path)));
        let below = all.filter_map(|path| path.strip_prefix(root).ok().map(fold)).collect();
        Self { below }
    }

    pub(super) fn covers(&self, rel: &Path) -> bool {
        let folded = fold(rel);
        folded.components().any(|part| ANYWHERE.iter().any(|name| part.as_os_str() == *name))
            || self.below.iter().any(|path| folded.starts_with(path))
    }
}

/// The name as a forgiving filesystem sees it: without case, and without the invisible characters that some drop
/// from names. On a strict filesystem this protects a few harmless names too, and costs a question.
fn fold(path: &Path) -> PathBuf {
    let invisible = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    path.to_string_lossy().chars().filter(|c| !invisible(c)).flat_map(char::to_lowercase).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_names_are_seen_through_case_and_invisible_characters() {
        let protected =
            Protected::new(Path::new("/home/u"), Some(Path::new("/home/u")), &["/home/u/.data".into(), "/etc".into()]);
        for path in [
            ".git",
            ".git/hooks/pre-commit",
            ".git/config",
            "sub/.git/config",
            ".GIT/Hooks/x",
            ".g\u{200c}it/config",
            ".tillerman.toml",
            ".Tillerman.TOML",
            ".tillerman/rules",
            "a/.tillerman.toml",
            ".bashrc",
            ".zshrc",
            ".BASHRC",
            ".ssh/authorized_keys",
            ".config/fish/config.fish",
            ".data/sessions.db",
        ] {
            assert!(protected.covers(Path::new(path)), "{path}");
        }
        for path in [".gitignore", ".github/x", "git/config", "src/.bashrc", ".config/x", "tillerman.toml", ".database"]
        {
            assert!(!protected.covers(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn shell_files_are_ordinary_files_outside_the_home() {
        let protected = Protected::new(Path::new("/work"), Some(Path::new("/home/u")), &[]);
        assert!(!protected.covers(Path::new(".bashrc")));
    }
}
