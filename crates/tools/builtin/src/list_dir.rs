//! `list_dir`: what is in a directory, hidden entries included.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use vocab::visible::visible_line;
use vocab::{CallContext, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use crate::args::ToolArgs;
use crate::blocking::{Cancel, blocking};
use crate::glob::DIR;
use crate::sys::FileKind;
use crate::walk::{WalkEntry, WalkStep, walk};
use crate::workspace::{Access, Workspace, explain_at};

/// Entries told unless `limit` says less; the walk stops behind them and a note says so.
const ENTRIES_MAX: u64 = 1_000;
/// Directories below each other; a larger `depth` means this one.
const DEPTH_MAX: u64 = 8;

pub(crate) struct ListDir {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl ListDir {
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        let spec = crate::spec(
            "list_dir",
            "Lists a directory: directories end with /, files come with their size, symlinks with their target. With \
             depth above 1 also what is below, except in hidden and ignored directories.",
            r#"{"type":"object","properties":{"path":{"type":"string","description":"directory; the workspace when absent"},"depth":{"type":"integer","minimum":1,"description":"levels to list, 1 when absent"},"limit":{"type":"integer","minimum":1,"description":"most entries to list"}}}"#,
        );
        Self { spec, workspace }
    }
}

struct ListRequest {
    path: String,
    depth: u64,
    limit: u64,
}

fn parse(input: &Json) -> Result<ListRequest, String> {
    let mut args = ToolArgs::parse(input)?;
    let path = args.text_maybe(DIR)?.unwrap_or_else(|| ".".to_owned());
    let depth = args.count_maybe(&["depth"])?.unwrap_or(1).clamp(1, DEPTH_MAX);
    let limit = args.count_maybe(&["limit"])?.unwrap_or(ENTRIES_MAX).clamp(1, ENTRIES_MAX);
    Ok(ListRequest { path, depth, limit })
}

impl Tool for ListDir {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn required(&self) -> Required {
        Required::ReadOnly
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let request = parse(input)?;
        let place = self.workspace.place(&request.path)?;
        Ok(Plan {
            required: self.workspace.required(&place, Access::Read),
            mutation: None,
            summary: format!("list {}", place.shown()).into(),
            preview: None,
        })
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let workspace = self.workspace.clone();
        blocking(move |cancel| list(&workspace, &parse(&input)?, context.granted, cancel))
    }
}

fn list(workspace: &Workspace, request: &ListRequest, granted: Required, cancel: &Cancel) -> Result<Outcome, String> {
    let path = &request.path;
    let start = workspace.spot(path, Access::Read, granted)?;
    let mut text = String::new();
    let mut told = 0;
    let mut more = false;
    let report = walk(&start, cancel, &mut |found| {
        if told == request.limit {
            more = true;
            return WalkStep::Stop;
        }
        told += 1;
        let below = found.spot.rel().strip_prefix(start.rel()).unwrap_or(found.spot.rel());
        let _ = writeln!(text, "{}{}", shown(&below.to_string_lossy()), suffix(found));
        let deeper = found.depth < usize::try_from(request.depth).unwrap_or(usize::MAX);
        if deeper && !found.hidden && !found.ignored { WalkStep::On } else { WalkStep::Skip }
    });
    cancel.check()?;
    let report = report.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotADirectory if start.facts().is_ok_and(|facts| facts.kind == FileKind::File) => {
            format!("{path}: is a file; use read_file to see what is in it")
        }
        _ => explain_at(path, &start, &error),
    })?;
    if text.is_empty() {
        text.push_str("[the directory is empty]\n");
    }
    if more {
        let _ = writeln!(text, "[more than {} entries; list a directory below, or use glob]", request.limit);
    } else if report.incomplete {
        text.push_str("[the tree is too large; parts of it were not looked at]\n");
    }
    Ok(Outcome::text(text))
}

/// A name on its one line: a line break in it would make two entries of one.
fn shown(name: &str) -> Cow<'_, str> {
    match name.contains(char::is_control) {
        true => Cow::Owned(visible_line(name)),
        false => Cow::Borrowed(name),
    }
}

fn suffix(found: &WalkEntry) -> String {
    match found.kind {
        FileKind::Dir => "/".to_owned(),
        FileKind::File => found.spot.facts().map_or(String::new(), |facts| format!(" ({} bytes)", facts.bytes)),
        FileKind::Link => {
            let target = found.spot.parent().zip(found.spot.file_name()).and_then(|(dir, name)| dir.link_target(name));
            format!(" -> {}", shown(&target.unwrap_or_default()))
        }
        FileKind::Other => " (device, pipe or socket)".to_owned(),
    }
}
