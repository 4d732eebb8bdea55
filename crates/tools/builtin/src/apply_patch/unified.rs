//! Unified diffs, as `diff -u` and `git diff` write them and as models imitate them. Pure.

use super::patch::{Hunk, PatchChange, PatchLine, PatchLines, Section, Sign};

const NOWHERE: &str = "/dev/null";

pub(super) fn parse(lines: &mut PatchLines<'_>) -> Result<Vec<Section>, String> {
    let mut sections = Vec::new();
    let mut renamed_from: Option<String> = None;
    while let Some(line) = lines.peek() {
        if let Some(old) = line.strip_prefix("--- ") {
            let number = lines.number();
            lines.take();
            let new = lines.take().and_then(|line| line.strip_prefix("+++ ")).ok_or_else(|| {
                format!("line {number} of the patch: a \"---\" line must be followed by a \"+++\" line")
            })?;
            sections.push(section(lines, old, new)?);
            renamed_from = None;
        } else if let Some(from) = line.strip_prefix("rename from ") {
            renamed_from = Some(from.trim_end().to_owned());
            lines.take();
        } else if let Some(to) = line.strip_prefix("rename to ") {
            lines.take();
            // With hunks the ---/+++ lines say the same.
            if lines.peek().is_none_or(|line| !line.starts_with("index ") && !line.starts_with("--- "))
                && let Some(path) = renamed_from.take()
            {
                let change = PatchChange::Update { move_to: Some(to.trim_end().to_owned()), hunks: Vec::new() };
                sections.push(Section { path, change });
            }
        } else if line.starts_with("@@ ") {
            return Err(format!("line {} of the patch: a hunk before any \"---\" and \"+++\" lines", lines.number()));
        } else if line.starts_with("Binary files ") || line.starts_with("GIT binary patch") {
            return Err(format!("line {} of the patch: binary changes cannot be applied", lines.number()));
        } else {
            lines.take(); // diff --git, index, modes, prose
        }
    }
    Ok(sections)
}

fn section(lines: &mut PatchLines<'_>, old: &str, new: &str) -> Result<Section, String> {
    let (old, new) = names(old, new)?;
    let mut hunks = Vec::new();
    while lines.peek().is_some_and(|line| line.starts_with("@@")) {
        hunks.push(hunk(lines)?);
    }
    let shown = if old == NOWHERE { &new } else { &old };
    if hunks.is_empty() {
        return Err(format!("{shown}: no hunks (\"@@ -1,3 +1,4 @@\") follow the +++ line"));
    }
    if old == NOWHERE {
        let lines = hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.sign == Sign::Add);
        let text = lines.map(|line| format!("{}{}", line.text, if line.bare { "" } else { "\n" })).collect();
        return Ok(Section { path: new, change: PatchChange::Add(text) });
    }
    if new == NOWHERE {
        return Ok(Section { path: old, change: PatchChange::Delete });
    }
    let move_to = (old != new).then_some(new);
    Ok(Section { path: old, change: PatchChange::Update { move_to, hunks } })
}

/// File names without time stamps and without git's `a/` and `b/`.
fn names(old: &str, new: &str) -> Result<(String, String), String> {
    let bare = |name: &str| -> Result<String, String> {
        let name = name.split('\t').next().unwrap_or(name).trim_end();
        match name {
            "" => Err("a --- or +++ line names no file".to_owned()),
            quoted if quoted.starts_with('"') => {
                Err(format!("the quoted file name {quoted} is not understood; write it without quotes"))
            }
            name => Ok(name.to_owned()),
        }
    };
    let (old, new) = (bare(old)?, bare(new)?);
    let strip = |name: &str, prefix: &str| match name {
        NOWHERE => Some(NOWHERE.to_owned()),
        name => name.strip_prefix(prefix).map(str::to_owned),
    };
    // Only together: a directory may be called `a`.
    Ok(strip(&old, "a/").zip(strip(&new, "b/")).unwrap_or((old, new)))
}

pub(super) struct Range {
    pub(super) old_start: usize,
    old_count: usize,
    new_count: usize,
}

/// Reads ` -1,3 +1,4 @@ ...`, what follows the first `@@`. A count of one may be left out.
pub(super) fn range(head: &str) -> Option<Range> {
    let side = |word: &str, sign: char| -> Option<(usize, usize)> {
        let word = word.strip_prefix(sign)?;
        match word.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((word.parse().ok()?, 1)),
        }
    };
    let mut words = head.split_whitespace();
    let (old_start, old_count) = side(words.next()?, '-')?;
    let (_, new_count) = side(words.next()?, '+')?;
    Some(Range { old_start, old_count, new_count })
}

fn hunk(lines: &mut PatchLines<'_>) -> Result<Hunk, String> {
    let number = lines.number();
    let head = lines.take().unwrap_or_default();
    let range = range(head.trim_start_matches("@@"));
    // `@@` without numbers is taken too: then the lines themselves must be found.
    let (mut old, mut new) = range.as_ref().map_or((0, 0), |range| (range.old_count, range.new_count));
    let mut hunk = Hunk { start: range.map(|range| range.old_start), ..Hunk::default() };
    while let Some(line) = lines.peek() {
        // The counts tell a removed "-- x" from the next file's header. Models miscount, so lines that look like
        // lines of a hunk are taken beyond the counts too.
        let due = old > 0 || new > 0;
        if line.starts_with("@@") || line.starts_with("diff --git ") || (!due && ends(lines)) {
            break;
        }
        let sign = match line.chars().next() {
            None if due => Sign::Keep,
            Some(' ') => Sign::Keep,
            Some('-') => Sign::Remove,
            Some('+') => Sign::Add,
            Some('\\') => {
                if let Some(last) = hunk.lines.last_mut() {
                    last.bare = true;
                }
                lines.take();
                continue;
            }
            _ => break,
        };
        old = if sign == Sign::Add { old } else { old.saturating_sub(1) };
        new = if sign == Sign::Remove { new } else { new.saturating_sub(1) };
        hunk.lines.push(PatchLine::new(sign, line.get(1..).unwrap_or_default()));
        lines.take();
    }
    match hunk.lines.is_empty() {
        true => Err(format!("line {number} of the patch: the hunk {head:?} holds no lines")),
        false => Ok(hunk),
    }
}

/// The next line begins another file, or the signature of a mailed patch.
fn ends(lines: &PatchLines<'_>) -> bool {
    let next = lines.peek().unwrap_or_default();
    next.trim_end() == "--"
        || (next.starts_with("--- ") && lines.peek_at(1).is_some_and(|line| line.starts_with("+++ ")))
}
