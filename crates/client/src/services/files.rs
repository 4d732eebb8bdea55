//! `fs/read_text_file` and `fs/write_text_file`. A path is opened step by step below its root, so that no link leads out.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, mkdirat, openat2};
use rustix::io::Errno;
use serde_json::{Value, json};
use wire::jsonrpc::{INTERNAL_ERROR, RpcError};

use super::{outside, text, under};
use crate::error::NOT_FOUND;

/// Text of one answer or one write; more is refused, because it would not fit into a line that every agent takes.
pub const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

pub(super) fn read(roots: &[PathBuf], params: &Value) -> Result<Value, RpcError> {
    let path = text(params, "path")?;
    let (root, way) = under(roots, path)?;
    let number = |name: &str| params.get(name).and_then(Value::as_u64);
    let (line, limit) = (number("line").unwrap_or(1).max(1), number("limit"));
    // Never waits: somebody may have put a pipe there.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = open(root, &way, flags, Mode::empty()).map_err(|error| refused(error, path))?;
    let file = File::from(file);
    let is_file = file.metadata().is_ok_and(|data| data.is_file());
    if !is_file {
        return Err(RpcError::new(INTERNAL_ERROR, format!("{path} is not a file")));
    }
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
    Ok(json!({ "content": content }))
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

pub(super) fn write(roots: &[PathBuf], params: &Value) -> Result<Value, RpcError> {
    let (path, content) = (text(params, "path")?, text(params, "content")?);
    if content.len() > FILE_BYTES_MAX {
        return Err(RpcError::new(INTERNAL_ERROR, format!("{path}: more than {FILE_BYTES_MAX} bytes")));
    }
    let (root, way) = under(roots, path)?;
    make_parents(root, &way).map_err(|error| refused(error, path))?;
    // Without waiting for a reader of a pipe, and truncated only once it is known to be a file.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
    let file = File::from(open(root, &way, flags, mode).map_err(|error| refused(error, path))?);
    if !file.metadata().is_ok_and(|data| data.is_file()) {
        return Err(RpcError::new(INTERNAL_ERROR, format!("{path} is not a file")));
    }
    let written = file.set_len(0).and_then(|()| (&file).write_all(content.as_bytes()));
    written.map_err(|error| RpcError::new(INTERNAL_ERROR, format!("{path}: {error}")))?;
    Ok(json!({}))
}

/// Below the root and nowhere else, whatever links there are.
pub(super) fn open(root: &Path, way: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let root = rustix::fs::open(root, DIRECTORY, Mode::empty())?;
    let way = if way.as_os_str().is_empty() { Path::new(".") } else { way };
    openat2(&root, way, flags, mode, ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS)
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn make_parents(root: &Path, way: &Path) -> Result<(), Errno> {
    let Some(parent) = way.parent() else { return Ok(()) };
    let mut made = PathBuf::new();
    for part in parent.components() {
        let above = open(root, &made, DIRECTORY, Mode::empty())?;
        match mkdirat(&above, part.as_os_str(), Mode::RWXU | Mode::RWXG | Mode::RWXO) {
            Ok(()) | Err(Errno::EXIST) => made.push(part),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(super) fn refused(error: Errno, path: &str) -> RpcError {
    match error {
        Errno::NOENT => {
            let mut error = RpcError::new(NOT_FOUND, format!("{path}: no such file"));
            error.data = Some(json!({ "uri": format!("file://{path}") }));
            error
        }
        Errno::XDEV => outside(Path::new(path)),
        error => RpcError::new(INTERNAL_ERROR, format!("{path}: {error}")),
    }
}
