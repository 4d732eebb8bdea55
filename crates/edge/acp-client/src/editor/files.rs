//! `fs/read_text_file` and `fs/write_text_file`: lines and bounds. Which path may be touched, and how, is the rule of the
//! [`vocab::TextFiles`] that does it.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use acp_types::error::{ErrorData, NOT_FOUND};
use acp_types::{ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest, sorted};
use serde_json::Value;
use vocab::{FileRefused, TextFiles};
use wire::jsonrpc::{INTERNAL_ERROR, RpcError};

use super::{answer, done, outside, under};

/// Text of one answer or one write; more is refused, because it would not fit into a line that every agent takes.
pub const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

pub(super) fn read(files: &dyn TextFiles, roots: &[PathBuf], params: &Value) -> Result<Value, RpcError> {
    let ReadTextFileRequest { path, line, limit, .. } = super::read(params, &["path"])?;
    let (root, way) = under(roots, &path)?;
    let line = line.unwrap_or(1).max(1);
    let file = files.open(&root.join(way)).map_err(|why| refused(why, &path))?;
    let mut reader = BufReader::new(file);
    let mut content = Vec::new();
    let mut number = 0;
    while limit.is_none_or(|limit| number < line - 1 + limit) {
        number += 1;
        let wanted = number >= line;
        let room = (FILE_BYTES_MAX + 1).saturating_sub(content.len());
        let read = match wanted {
            true => (&mut reader).take(room as u64).read_until(b'\n', &mut content),
            false => skip_line(&mut reader),
        };
        match read {
            Ok(0) => break,
            Ok(_) if content.len() > FILE_BYTES_MAX => {
                let text =
                    format!("{path}: more than {FILE_BYTES_MAX} bytes; ask for fewer lines with `line` and `limit`");
                return Err(RpcError::new(INTERNAL_ERROR, text));
            }
            Ok(_) => {}
            Err(error) => return Err(RpcError::new(INTERNAL_ERROR, format!("{path}: {error}"))),
        }
    }
    let content =
        String::from_utf8(content).map_err(|_| RpcError::new(INTERNAL_ERROR, format!("{path} is not UTF-8 text")))?;
    answer(ReadTextFileResponse { content })
}

/// In constant memory, however long the line is.
fn skip_line(reader: &mut impl BufRead) -> std::io::Result<usize> {
    let mut skipped = 0;
    loop {
        let buffer = reader.fill_buf()?;
        let (count, done) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        reader.consume(count);
        skipped += count;
        if done {
            return Ok(skipped);
        }
    }
}

pub(super) fn write(files: &dyn TextFiles, roots: &[PathBuf], params: &Value) -> Result<Value, RpcError> {
    let WriteTextFileRequest { path, content, .. } = super::read(params, &["path", "content"])?;
    if content.len() > FILE_BYTES_MAX {
        return Err(RpcError::new(INTERNAL_ERROR, format!("{path}: more than {FILE_BYTES_MAX} bytes")));
    }
    let (root, way) = under(roots, &path)?;
    files.write(&root.join(way), &content).map_err(|why| refused(why, &path))?;
    done()
}

fn refused(why: FileRefused, path: &str) -> RpcError {
    match why {
        FileRefused::NotFound => missing(path),
        FileRefused::Outside => outside(Path::new(path)),
        FileRefused::Failed(text) => RpcError::new(INTERNAL_ERROR, text),
    }
}

pub(super) fn missing(path: &str) -> RpcError {
    let mut error = RpcError::new(NOT_FOUND, format!("{path}: no such file"));
    error.data = Some(sorted(ErrorData { uri: Some(format!("file://{path}")), ..ErrorData::default() }));
    error
}
