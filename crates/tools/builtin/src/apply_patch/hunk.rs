//! Finding the place of each hunk and changing a text there. Exact, except for whitespace at the end of lines; what
//! a hunk keeps, it keeps as the file has it. Pure.

use super::patch::{Hunk, PatchLine, Sign};
use crate::edit_file::closest;

/// Lines of a hunk shown in an error.
const SHOWN_LINES_MAX: usize = 6;

/// Applies hunks in order. The error names the hunk and what the file has instead.
pub(super) fn apply(text: &str, crlf: bool, hunks: &[Hunk]) -> Result<String, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // A patch that knows CR LF says so itself; otherwise new lines follow the file.
    let knows_cr = hunks.iter().flat_map(|hunk| &hunk.lines).any(|line| line.text.ends_with('\r'));
    let end = if crlf && !knows_cr { "\r\n" } else { "\n" };
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    let mut cursor = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let at = find(&lines, cursor, hunk).map_err(|error| format!("hunk {}: {error}", index + 1))?;
        out.extend(lines[cursor..at].iter().map(|line| (*line).to_owned()));
        cursor = at;
        for PatchLine { sign, text, bare } in &hunk.lines {
            match sign {
                Sign::Keep => out.push(lines[cursor].to_owned()),
                Sign::Remove => {}
                Sign::Add => out.push(format!("{text}{}", if *bare { "" } else { end })),
            }
            cursor += usize::from(*sign != Sign::Add);
        }
    }
    out.extend(lines[cursor..].iter().map(|line| (*line).to_owned()));
    // Only the last line of a file may lack its end.
    let last = out.len().saturating_sub(1);
    for line in &mut out[..last] {
        if !line.ends_with('\n') {
            line.push_str(end);
        }
    }
    Ok(out.concat())
}

fn bare(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line)
}

/// The index of the first line of the hunk's old text.
fn find(lines: &[&str], cursor: usize, hunk: &Hunk) -> Result<usize, String> {
    let mut from = cursor;
    for anchor in &hunk.anchors {
        let same = |line: &&str| bare(line).trim() == anchor.trim();
        match lines[from..].iter().position(same) {
            Some(at) => from += at + 1,
            // The anchor is often the hunk's own first line.
            None if hunk.lines.iter().any(|line| line.text.trim() == anchor.trim()) => {}
            None => return Err(format!("the line \"@@ {anchor}\" was not found; nothing was changed")),
        }
    }
    let old: Vec<&str> =
        hunk.lines.iter().filter(|line| line.sign != Sign::Add).map(|line| line.text.as_str()).collect();
    if old.is_empty() {
        return insertion(lines.len(), from, cursor, hunk);
    }
    // An anchor may itself be the first line of the hunk, so look from the cursor when nothing fits behind it.
    let starts = if hunk.anchors.is_empty() { vec![from] } else { vec![from, cursor] };
    let exact = |at: usize| old.iter().zip(&lines[at..]).all(|(old, line)| *old == bare(line));
    let loose = |at: usize| old.iter().zip(&lines[at..]).all(|(old, line)| old.trim_end() == bare(line).trim_end());
    let ways: [&dyn Fn(usize) -> bool; 2] = [&exact, &loose];
    for from in starts {
        let Some(last) = lines.len().checked_sub(old.len()).filter(|last| *last >= from) else { continue };
        for fits in ways {
            let fitting = (from..=last).filter(|at| fits(*at));
            let best = match (hunk.start, hunk.at_end) {
                (Some(start), _) => fitting.min_by_key(|at| at.abs_diff(start.saturating_sub(1))),
                (None, true) => fitting.max(),
                (None, false) => fitting.min(),
            };
            if let Some(at) = best {
                return Ok(at);
            }
        }
    }
    Err(mismatch(lines, cursor, &old))
}

/// Where a hunk that only adds goes.
fn insertion(len: usize, from: usize, cursor: usize, hunk: &Hunk) -> Result<usize, String> {
    match hunk.start {
        _ if hunk.at_end => Ok(len),
        _ if !hunk.anchors.is_empty() => Ok(from),
        Some(start) if start > len => {
            Err(format!("it adds after line {start}, but the file has {len}; nothing was changed"))
        }
        Some(start) if start < cursor => {
            Err(format!("it adds after line {start}, which an earlier hunk has changed; nothing was changed"))
        }
        Some(start) => Ok(start),
        None => Ok(len),
    }
}

fn mismatch(lines: &[&str], cursor: usize, old: &[&str]) -> String {
    let file: Vec<&str> = lines.iter().map(|line| bare(line).trim_end_matches('\r')).collect();
    let wanted = closest::show(&old[..old.len().min(SHOWN_LINES_MAX)]);
    let mut text = format!("these lines were not found; nothing was changed:\n{wanted}");
    match closest::closest(&file, old) {
        None => text.push_str("\nNothing in the file is similar; read the file again."),
        Some(at) => {
            let end = (at + old.len().min(SHOWN_LINES_MAX)).min(file.len());
            let order =
                if at < cursor { " (before the hunk that came earlier; hunks go from top to bottom)" } else { "" };
            text.push_str(&format!("\nThe nearest is at line {}{order}:\n{}", at + 1, closest::show(&file[at..end])));
        }
    }
    text
}
