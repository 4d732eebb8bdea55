//! An image that the user named, from the disk. Only regular files are opened, and never more is read than an image may
//! have.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::OFlags;
use vocab::{Fault, FaultKind, Image};

/// A larger file is refused.
pub const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
const MEBIBYTE: f64 = 1024.0 * 1024.0;

const TYPES: [(&str, &str); 5] =
    [("png", "image/png"), ("jpg", "image/jpeg"), ("jpeg", "image/jpeg"), ("webp", "image/webp"), ("gif", "image/gif")];

/// An image and where it came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageFile {
    pub path: PathBuf,
    pub image: Image,
    pub bytes: u64,
}

/// Where a name leads: quotes around it go, `file://` and `~/` are understood, the rest is below `base`. Pure.
pub fn locate(base: &Path, name: &str, home: Option<&Path>) -> PathBuf {
    let name = unquoted(name.trim());
    if let Some(rest) = name.strip_prefix("file://") {
        let path = rest.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(rest);
        return base.join(percent_decoded(path));
    }
    match (name.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => base.join(name),
    }
}

fn unquoted(name: &str) -> &str {
    let within = |quote: char| name.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    within('"').or_else(|| within('\'')).map_or(name, str::trim)
}

/// `%41` is `A`; what is no escape stays as it is.
fn percent_decoded(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = (bytes[at] == b'%').then(|| bytes.get(at + 1..at + 3)).flatten();
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        match digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    std::ffi::OsString::from_vec(decoded).into()
}

/// Reads it. Blocks.
pub fn read(path: &Path) -> Result<ImageFile, Fault> {
    let shown = path.display();
    let no = |text: String| Fault::new(FaultKind::Invalid, text);
    // Looked at before it is opened: opening a device can do things, and a pipe would make us wait.
    let metadata = std::fs::metadata(path).map_err(|_| no(format!("file not found: {shown}")))?;
    if !metadata.is_file() {
        return Err(no(format!("not a file: {shown}")));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(too_large(metadata.len()));
    }
    let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase()).unwrap_or_default();
    let Some((_, mime)) = TYPES.iter().find(|(known, _)| *known == extension) else {
        let supported: Vec<String> = TYPES.iter().map(|(known, _)| format!(".{known}")).collect();
        return Err(no(format!("unsupported image type: .{extension}. supported: {}", supported.join(", "))));
    };
    let file = open(path).map_err(|error| no(format!("cannot read {shown}: {error}")))?;
    // It may have been exchanged since.
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err(no(format!("not a file: {shown}")));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| no(format!("cannot read {shown}: {error}")))?;
    let length = bytes.len() as u64;
    if length > FILE_BYTES_MAX {
        return Err(too_large(length));
    }
    let image = Image { mime: (*mime).into(), base64: STANDARD.encode(&bytes).into() };
    Ok(ImageFile { path: path.to_owned(), image, bytes: length })
}

/// Does not wait for the other end of a pipe.
fn open(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}

fn too_large(bytes: u64) -> Fault {
    let shown = |bytes: u64| format!("{:.2} mb", bytes as f64 / MEBIBYTE);
    let message = format!("image too large ({}). max is {}", shown(bytes), shown(FILE_BYTES_MAX));
    Fault::new(FaultKind::Invalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_one_place() {
        for (name, want) in [
            ("a.png", "/work/a.png"),
            (" 'a b.png' ", "/work/a b.png"),
            ("\"/x/a.png\"", "/x/a.png"),
            ("\"a.png", "/work/\"a.png"),
            ("~/a.png", "/users/me/a.png"),
            ("~other/a.png", "/work/~other/a.png"),
            ("file:///x/a%20b%2e.png", "/x/a b..png"),
            ("file://localhost/x/a.png", "/x/a.png"),
            ("file:///x/100%.png", "/x/100%.png"),
            ("file:///x/%c3%a9%+1.png", "/x/é%+1.png"),
            ("a%20b.png", "/work/a%20b.png"),
        ] {
            assert_eq!(locate(Path::new("/work"), name, Some(Path::new("/users/me"))), Path::new(want), "{name}");
        }
        assert_eq!(locate(Path::new("/work"), "~/a.png", None), Path::new("/work/~/a.png"));
    }

    #[test]
    fn the_extension_tells_the_type() {
        let root = tempfile::tempdir().unwrap();
        for (name, mime) in [
            ("a.png", "image/png"),
            ("a.JPG", "image/jpeg"),
            ("a.jpeg", "image/jpeg"),
            ("a.b.webp", "image/webp"),
            ("a.gif", "image/gif"),
        ] {
            let path = root.path().join(name);
            std::fs::write(&path, b"abc").unwrap();
            let image = read(&path).unwrap();
            assert_eq!((&*image.image.mime, &*image.image.base64, image.bytes), (mime, "YWJj", 3));
            assert_eq!(image.path, path);
        }
    }

    #[test]
    fn what_cannot_be_shown_is_refused_in_fixed_words() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::write(at("a.bmp"), b"x").unwrap();
        std::fs::write(at("bare"), b"x").unwrap();
        std::fs::create_dir(at("dir.png")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero.png")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("broken.png")).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(at("pipe.png")).status().unwrap();
        assert!(fifo.success());
        let sized = |name: &str, bytes: u64| File::create(at(name)).unwrap().set_len(bytes).unwrap();
        sized("big.png", 12_939_428);
        sized("fits.png", FILE_BYTES_MAX);
        sized("over.png", FILE_BYTES_MAX + 1);
        let types = ".png, .jpg, .jpeg, .webp, .gif";
        for (name, want) in [
            ("none.png", "file not found: ROOT/none.png".to_owned()),
            ("broken.png", "file not found: ROOT/broken.png".to_owned()),
            ("dir.png", "not a file: ROOT/dir.png".to_owned()),
            ("zero.png", "not a file: ROOT/zero.png".to_owned()),
            ("pipe.png", "not a file: ROOT/pipe.png".to_owned()),
            ("big.png", "image too large (12.34 mb). max is 8.00 mb".to_owned()),
            ("over.png", "image too large (8.00 mb). max is 8.00 mb".to_owned()),
            ("a.bmp", format!("unsupported image type: .bmp. supported: {types}")),
            ("bare", format!("unsupported image type: .. supported: {types}")),
        ] {
            let fault = read(&at(name)).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Invalid);
            assert_eq!(fault.message.replace(&root.path().display().to_string(), "ROOT"), want);
        }
        assert_eq!(read(&at("fits.png")).unwrap().bytes, FILE_BYTES_MAX);
    }

    #[test]
    fn opening_a_pipe_does_not_wait() {
        let root = tempfile::tempdir().unwrap();
        let pipe = root.path().join("pipe.png");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(!open(&pipe).unwrap().metadata().unwrap().is_file());
    }
}
