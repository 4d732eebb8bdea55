//! Reading files that somebody else has named: the user, a project, a session file. Under such a name may be a pipe, which
//! would make us wait for ever, or a device that never ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file for reading and nothing else. Never waits for the other end of a pipe: what was opened is looked
/// at, not the name, which may lead elsewhere a moment later.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")),
    }
}

/// All of a regular file that has at most `max` bytes. The bytes are counted as they come: a file may grow, and some say
/// that they are empty.
pub fn read_regular(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {max} bytes"));
    let length = file.metadata()?.len();
    if length > max {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(too_large());
    }
    Ok(bytes)
}

/// The same for text.
pub fn read_regular_text(path: &Path, max: u64) -> io::Result<String> {
    let bytes = read_regular(path, max)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode};

    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, zero, plain) = (dir.path().join("pipe"), dir.path().join("zero"), dir.path().join("plain"));
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        symlink("/dev/zero", &zero).unwrap();
        std::fs::write(&plain, "text").unwrap();
        for path in [&pipe, &zero, &dir.path().to_owned()] {
            assert_eq!(read_regular(path, 10).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{}", path.display());
        }
        assert_eq!(read_regular_text(&plain, 4).unwrap(), "text");
        assert_eq!(read_regular(&plain, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_regular(&dir.path().join("none"), 3).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_that_says_it_is_empty_is_counted() {
        // Files of the kernel have no length of their own.
        let path = Path::new("/proc/self/status");
        assert_eq!(std::fs::metadata(path).unwrap().len(), 0);
        assert_eq!(read_regular(path, 8).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(read_regular(path, 1 << 20).unwrap().len() > 8);
    }

    #[test]
    fn text_is_utf8() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bytes");
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(read_regular_text(&path, 8).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
