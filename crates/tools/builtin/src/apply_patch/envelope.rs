//! The `*** Begin Patch` form. Pure.

use super::patch::{Hunk, PatchChange, PatchLine, PatchLines, Section, Sign};
use super::unified;

pub(super) const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

pub(super) fn parse(lines: &mut PatchLines<'_>) -> Result<Vec<Section>, String> {
    lines.take(); // BEGIN
    let mut sections = Vec::new();
    loop {
        let number = lines.number();
        let Some(line) = lines.take() else {
            return Err(format!("the patch is cut off: \"{END}\" is missing"));
        };
        let line = line.trim_end();
        if line == END {
            return Ok(sections);
        } else if let Some(path) = line.strip_prefix(ADD) {
            sections.push(Section { path: path.trim().to_owned(), change: PatchChange::Add(added(lines)?) });
        } else if let Some(path) = line.strip_prefix(DELETE) {
            sections.push(Section { path: path.trim().to_owned(), change: PatchChange::Delete });
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            sections.push(Section { path: path.trim().to_owned(), change: updated(lines, path.trim())? });
        } else if !line.is_empty() {
            return Err(format!(
                "line {number} of the patch: expected \"{}\", \"{}\", \"{}\" or \"{END}\", found {line:?}",
                ADD.trim_end(),
                UPDATE.trim_end(),
                DELETE.trim_end()
            ));
        }
    }
}

/// The lines of a new file, all of them with `+`.
fn added(lines: &mut PatchLines<'_>) -> Result<String, String> {
    let mut text = String::new();
    while let Some(line) = lines.peek() {
        match line.strip_prefix('+') {
            Some(line) => {
                text.push_str(line);
                text.push('\n');
            }
            None if line.starts_with("*** ") || line.is_empty() => break,
            None => {
                return Err(format!(
                    "line {} of the patch: every line of an added file starts with \"+\", found {line:?}",
                    lines.number()
                ));
            }
        }
        lines.take();
    }
    Ok(text)
}

fn updated(lines: &mut PatchLines<'_>, path: &str) -> Result<PatchChange, String> {
    let move_to = lines.peek().and_then(|line| line.strip_prefix(MOVE)).map(|path| path.trim().to_owned());
    if move_to.is_some() {
        lines.take();
    }
    let mut hunks = Vec::new();
    while let Some(line) = lines.peek() {
        if line.starts_with("*** ") {
            break;
        }
        let hunk = hunk(lines)?;
        if !hunk.lines.is_empty() {
            hunks.push(hunk);
        } else if !hunk.anchors.is_empty() {
            return Err(format!("{path}: the hunk \"@@ {}\" holds no lines", hunk.anchors.join(" / ")));
        }
    }
    if hunks.is_empty() && move_to.is_none() {
        return Err(format!("{path}: an update without hunks changes nothing"));
    }
    Ok(PatchChange::Update { move_to, hunks })
}

fn hunk(lines: &mut PatchLines<'_>) -> Result<Hunk, String> {
    let mut hunk = Hunk::default();
    while let Some(head) = lines.peek().and_then(|line| line.strip_prefix("@@")) {
        // Some models write the line numbers of a unified diff here.
        match unified::range(head) {
            Some(range) => hunk.start = Some(range.old_start),
            None if head.trim().is_empty() => {}
            None => hunk.anchors.push(head.strip_prefix(' ').unwrap_or(head).to_owned()),
        }
        lines.take();
    }
    // Empty lines without the leading space are context; at the end of a hunk they only separate.
    let mut empty = 0;
    while let Some(line) = lines.peek() {
        if line.starts_with("@@") {
            break;
        }
        if line.starts_with("*** ") {
            if line.trim_end() == END_OF_FILE {
                hunk.at_end = true;
                lines.take();
            }
            break;
        }
        let sign = match line.chars().next() {
            None => {
                empty += 1;
                lines.take();
                continue;
            }
            Some(' ') => Sign::Keep,
            Some('-') => Sign::Remove,
            Some('+') => Sign::Add,
            Some(_) => {
                return Err(format!(
                    "line {} of the patch: a line of a hunk starts with \" \", \"-\" or \"+\", found {line:?}",
                    lines.number()
                ));
            }
        };
        hunk.lines.extend((0..std::mem::take(&mut empty)).map(|_| PatchLine::new(Sign::Keep, "")));
        hunk.lines.push(PatchLine::new(sign, &line[1..]));
        lines.take();
    }
    Ok(hunk)
}
