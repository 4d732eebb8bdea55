//! Text files as the editing tools see them: UTF-8, with the byte order mark and the line ends they came with.

use std::io::ErrorKind;

use crate::workspace::{Facts, Spot, explain_at};

/// Larger files are not edited in place: they are read whole, twice. The model is told to use a command instead.
pub(crate) const EDIT_BYTES_MAX: u64 = 16 * 1024 * 1024;

const BOM: &str = "\u{feff}";

pub(crate) struct TextFile {
    /// Without the mark.
    pub(crate) text: String,
    has_bom: bool,
}

impl TextFile {
    pub(crate) fn new(path: &str, bytes: Vec<u8>) -> Result<Self, String> {
        if bytes.contains(&0) {
            return Err(format!("{path}: a binary file; it can only be replaced as a whole"));
        }
        let mut text = String::from_utf8(bytes)
            .map_err(|_| format!("{path}: not valid UTF-8, so it cannot be edited as text; use a command instead"))?;
        let has_bom = text.starts_with(BOM);
        if has_bom {
            text.drain(..BOM.len());
        }
        Ok(Self { text, has_bom })
    }

    /// Every line ends with CR LF, and there is one.
    pub(crate) fn is_crlf(&self) -> bool {
        let ends = self.text.matches('\n').count();
        ends > 0 && self.text.matches("\r\n").count() == ends
    }

    /// New text in the clothes of the old.
    pub(crate) fn encode(&self, text: &str) -> Vec<u8> {
        let mark = if self.has_bom { BOM } else { "" };
        [mark, text].concat().into_bytes()
    }
}

/// Reads a file to edit it; `None` when it does not exist.
pub(crate) fn load(path: &str, spot: &Spot) -> Result<Option<(Vec<u8>, Facts)>, String> {
    load_within(path, spot, EDIT_BYTES_MAX)
}

/// The same with a bound of the caller's.
pub(crate) fn load_within(path: &str, spot: &Spot, bytes_max: u64) -> Result<Option<(Vec<u8>, Facts)>, String> {
    match spot.read_all(bytes_max) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            Err(format!("{path}: larger than {bytes_max} bytes; edit it with a command instead"))
        }
        Err(error) if error.kind() == ErrorKind::IsADirectory => {
            Err(format!("{path}: is a directory; name a file in it"))
        }
        Err(error) => Err(explain_at(path, spot, &error)),
    }
}

pub(crate) fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}
