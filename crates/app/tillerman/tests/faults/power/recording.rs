//! What a process did to its files and what it said, in the order in which it did, from the words of `strace`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::disk::Act;

/// The calls that matter, as `strace -e` wants them.
pub(super) const CALLS: &str = "trace=openat,pwrite64,write,writev,fsync,fdatasync,ftruncate,rename,renameat,renameat2,\
                                unlink,unlinkat";

pub(super) enum Step {
    Disk(Act),
    /// A line that the process wrote to whoever drives it.
    Said(Value),
}

/// Reads a trace made with `-f -y -xx -s` large enough; only what happens beneath `home` counts.
pub(super) fn read(trace: &str, home: &Path) -> Vec<Step> {
    let mut reader = Reader { home, begun: HashMap::new(), lines: HashMap::new(), steps: Vec::new() };
    trace.lines().for_each(|line| reader.line(line));
    reader.steps
}

struct Reader<'a> {
    home: &'a Path,
    /// Calls of threads that were interrupted in the words: the start, by thread.
    begun: HashMap<&'a str, String>,
    /// What was said on each pipe and has no end yet.
    lines: HashMap<String, Vec<u8>>,
    steps: Vec<Step>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a str) {
        let Some((thread, call)) = line.split_once(' ') else { return };
        let call = call.trim_start();
        if let Some(start) = call.strip_suffix("<unfinished ...>") {
            // A write may reach the disk as soon as it has begun; anything else counts when it is done.
            if is_write(start) {
                self.write(start);
            }
            self.begun.insert(thread, start.to_owned());
        } else if call.starts_with("<... ") {
            let (Some(start), Some((_, rest))) = (self.begun.remove(thread), call.split_once(" resumed>")) else {
                return;
            };
            if !is_write(&start) {
                self.done(&format!("{start}{rest}"));
            }
        } else if is_write(call) {
            self.write(call);
        } else {
            self.done(call);
        }
    }

    fn write(&mut self, call: &str) {
        let Some((name, rest)) = call.split_once('(') else { return };
        let to = handle(rest);
        let strings = strings(rest);
        let bytes: Vec<u8> = strings.concat();
        if let Some(pipe) = to.strip_prefix("pipe:") {
            return self.said(pipe, &bytes);
        }
        let Some(path) = self.inside(&to) else { return };
        // The last number before the result is the place.
        let at = (name == "pwrite64").then(|| {
            let end = rest.rfind(')').unwrap_or(rest.len());
            let place = rest[..end].trim_end_matches([' ', ',']).rsplit(", ").next();
            place.and_then(|place| place.trim().parse().ok()).unwrap_or_else(|| panic!("no place in {call:.200}"))
        });
        self.steps.push(Step::Disk(Act::Write { path, at, bytes }));
    }

    fn said(&mut self, pipe: &str, bytes: &[u8]) {
        let line = self.lines.entry(pipe.to_owned()).or_default();
        line.extend_from_slice(bytes);
        while let Some(end) = line.iter().position(|&byte| byte == b'\n') {
            let rest = line.split_off(end + 1);
            let whole = std::mem::replace(line, rest);
            if let Ok(value) = serde_json::from_slice(&whole) {
                self.steps.push(Step::Said(value));
            }
        }
    }

    fn done(&mut self, call: &str) {
        let Some((name, rest)) = call.split_once('(') else { return };
        let Some((rest, result)) = rest.rsplit_once(" = ") else { return };
        if result.starts_with('-') {
            return;
        }
        let strings = strings(rest);
        let named = |at: usize| {
            let path = strings.get(at).map(|bytes| PathBuf::from(String::from_utf8_lossy(bytes).into_owned()));
            path.map(|path| Path::new(&handle(rest)).join(path))
        };
        let act = match name {
            "fsync" | "fdatasync" => Some(Act::Sync(handle(rest).into())),
            "ftruncate" => {
                let length = rest.trim_end_matches(')').rsplit(", ").next().and_then(|length| length.parse().ok());
                length.map(|length| Act::Length(handle(rest).into(), length))
            }
            "rename" | "renameat" | "renameat2" => match (named(0), named(1)) {
                (Some(from), Some(to)) => Some(Act::Rename(from, to)),
                _ => None,
            },
            "unlink" | "unlinkat" => named(0).map(Act::Remove),
            "openat" => {
                // The result says which file it became, whatever it was opened by.
                let path = PathBuf::from(handle(result));
                if rest.contains("O_TRUNC") && self.inside(&path.to_string_lossy()).is_some() {
                    self.steps.push(Step::Disk(Act::Create(path.clone())));
                    self.steps.push(Step::Disk(Act::Length(path, 0)));
                    return;
                }
                rest.contains("O_CREAT").then_some(Act::Create(path))
            }
            _ => None,
        };
        let inside = |path: &Path| path.starts_with(self.home) || Some(path) == self.home.parent();
        let counts = act.as_ref().is_some_and(|act| match act {
            Act::Create(path) | Act::Length(path, _) | Act::Remove(path) | Act::Sync(path) => inside(path),
            Act::Rename(_, path) | Act::Write { path, .. } => inside(path),
        });
        self.steps.extend(act.filter(|_| counts).map(Step::Disk));
    }

    fn inside(&self, path: &str) -> Option<PathBuf> {
        let path = PathBuf::from(path);
        path.starts_with(self.home).then_some(path)
    }
}

fn is_write(call: &str) -> bool {
    ["write(", "writev(", "pwrite64("].iter().any(|name| call.starts_with(name))
}

/// What a handle stands for: the words between the first `<` and `>`.
fn handle(text: &str) -> String {
    let inside = text.split_once('<').and_then(|(before, rest)| {
        // A string before it means that there is no handle.
        (!before.contains('"')).then(|| rest.split_once('>').map_or(rest, |(inside, _)| inside))
    });
    String::from_utf8_lossy(&unescape(inside.unwrap_or_default())).into_owned()
}

/// Everything in quotation marks.
fn strings(text: &str) -> Vec<Vec<u8>> {
    text.split('"').skip(1).step_by(2).map(unescape).collect()
}

fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len() / 4);
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at..].starts_with(b"\\x")).then(|| text.get(at + 2..at + 4)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 4;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}
