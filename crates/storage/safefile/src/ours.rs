//! Whether a file is its reader's own word: a program that obeys what others can write runs what others want.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Group and everybody else may write.
const OTHERS_WRITE: u32 = 0o022;
/// In such a directory only the owner of a file replaces it.
const STICKY: u32 = 0o1000;

/// Why a file is not obeyed: another user than ours and root could have written it or put it there. Links are followed, as
/// reading does. A file that cannot be looked at is for its reader to complain about.
pub fn not_ours(path: &Path) -> Option<String> {
    let file = std::fs::metadata(path).ok()?;
    if let Some(why) = foreign(&file) {
        return Some(format!("it {why}"));
    }
    let real = std::fs::canonicalize(path).ok()?;
    let directory = real.parent()?;
    let meta = std::fs::metadata(directory).ok()?;
    let why = foreign(&meta).filter(|_| meta.mode() & STICKY == 0)?;
    Some(format!("its directory {} {why}", directory.display()))
}

fn foreign(meta: &Metadata) -> Option<String> {
    let (owner, mode) = (meta.uid(), meta.mode());
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Some(format!("belongs to another user (uid {owner})"));
    }
    (mode & OTHERS_WRITE != 0).then(|| format!("can be written by others (mode {:o})", mode & 0o7777))
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn what_others_can_write_is_not_ours() {
        let place = tempfile::tempdir().unwrap();
        let (dir, file) = (place.path().join("d"), place.path().join("d/f"));
        std::fs::create_dir(&dir).unwrap();
        write(&file, "x").unwrap();
        let modes = |directory: u32, mode: u32| {
            set_permissions(&dir, Permissions::from_mode(directory)).unwrap();
            set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            not_ours(&file).unwrap_or_default()
        };
        for (directory, mode) in [(0o700, 0o600), (0o755, 0o644), (0o1777, 0o644), (0o700, 0o400)] {
            assert_eq!(modes(directory, mode), "", "{directory:o} {mode:o}");
        }
        assert_eq!(modes(0o755, 0o664), "it can be written by others (mode 664)");
        assert_eq!(modes(0o755, 0o602), "it can be written by others (mode 602)");
        assert!(modes(0o777, 0o600).contains("its directory"), "whoever can write there can replace it");
        modes(0o777, 0o600);
        let link = place.path().join("link");
        symlink(&file, &link).unwrap();
        assert!(not_ours(&link).is_some(), "a link is as safe as what it leads to");
        assert_eq!(not_ours(&dir.join("none")), None);
        modes(0o700, 0o600);
        // Only root can give a file away.
        if chown(&file, Some(12_345), None).is_ok() {
            assert_eq!(not_ours(&file).as_deref(), Some("it belongs to another user (uid 12345)"));
        }
    }
}
