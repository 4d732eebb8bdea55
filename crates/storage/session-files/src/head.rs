//! The first line of a session file, and where files live.

use std::path::{Path, PathBuf};

use vocab::{SessionId, iso8601};
use wire::escape_into;

use crate::fields::{Fields, parse_iso};

/// What the first line says.
#[derive(Clone, PartialEq, Debug)]
pub struct FileHead {
    /// 1 where none is written.
    pub version: u64,
    pub id: SessionId,
    pub at_ms: i64,
    pub cwd: Option<PathBuf>,
    pub parent: Option<String>,
    /// The relatives of pi keep the name here.
    pub title: Option<String>,
    /// Version 1 keeps the model here: provider and id.
    pub model: Option<(String, String)>,
}

/// The version that is written.
pub(crate) const VERSION: u64 = 3;

impl FileHead {
    pub(crate) fn parse(fields: &Fields<'_>) -> Option<FileHead> {
        if fields.text("type")? != "session" {
            return None;
        }
        let some = |key| fields.text(key).filter(|text| !text.is_empty());
        Some(FileHead {
            version: fields.natural("version").unwrap_or(1),
            id: SessionId::from(some("id")?),
            at_ms: fields.text("timestamp").and_then(|text| parse_iso(&text)).unwrap_or(0),
            cwd: some("cwd").map(PathBuf::from),
            parent: some("parentSession"),
            title: some("title"),
            model: some("provider").zip(some("modelId")),
        })
    }

    /// The line with its line end.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{{\"type\":\"session\",\"version\":{VERSION},\"id\":").as_bytes());
        escape_into(self.id.as_str(), out);
        out.extend_from_slice(format!(",\"timestamp\":\"{}\",\"cwd\":", iso8601(self.at_ms)).as_bytes());
        escape_into(&self.cwd.as_deref().unwrap_or(Path::new("")).to_string_lossy(), out);
        if let Some(parent) = &self.parent {
            out.extend_from_slice(b",\"parentSession\":");
            escape_into(parent, out);
        }
        out.extend_from_slice(b"}\n");
    }
}

/// `<ISO time with : and . as ->_<id>.jsonl`.
pub fn file_name(at_ms: i64, session: &SessionId) -> String {
    format!("{}_{}.jsonl", iso8601(at_ms).replace([':', '.'], "-"), safe(session))
}

/// The id that [`file_name`] put into a name, as far as a name can say it.
pub(crate) fn id_in_name(name: &str) -> Option<&str> {
    Some(name.strip_suffix(".jsonl")?.split_once('_')?.1)
}

/// Characters of an id that a file name repeats; file systems take 255 bytes in all.
const ID_CHARS_MAX: usize = 128;

/// An id may be any text; a file name may not.
pub(crate) fn safe(session: &SessionId) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    session.as_str().chars().take(ID_CHARS_MAX).map(plain).collect()
}

/// Where pi keeps the sessions of a working directory.
pub fn default_dir(agent_dir: &Path, cwd: &Path) -> PathBuf {
    let cwd = cwd.to_string_lossy();
    let inner = cwd.strip_prefix(['/', '\\']).unwrap_or(&cwd).replace(['/', '\\', ':'], "-");
    agent_dir.join("sessions").join(format!("--{inner}--"))
}

/// What a session is called whose id another one has already: a copy of its file, or one of the same id that belongs to
/// another directory. Its place says which it is.
pub fn copy_of(head: &SessionId, place: &Path) -> SessionId {
    let place = absolute(place).display().to_string();
    let short = place.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    SessionId::from(format!("{head}-{short:08x}"))
}

/// Where a file really is; links lead to one place.
pub(crate) fn absolute(file: &Path) -> PathBuf {
    file.canonicalize().or_else(|_| std::path::absolute(file)).unwrap_or_else(|_| file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_as_pi_names_them() {
        let dir = default_dir(Path::new("/agent"), Path::new("/tmp/x/work space.x:y"));
        assert_eq!(dir, Path::new("/agent/sessions/--tmp-x-work space.x-y--"));
        let name = file_name(1_794_781_911_876, &SessionId::from("0198-a/b"));
        assert_eq!(name, "2026-11-15T22-31-51-876Z_0198-a_b.jsonl");
        assert_eq!(id_in_name(&name), Some("0198-a_b"));
        assert_eq!(id_in_name("mine.jsonl"), None);
    }
}
