//! `glob`: files by name.

use std::path::Path;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use vocab::{CallContext, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use crate::args::{Names, ToolArgs};
use crate::blocking::{Cancel, blocking};
use crate::sys::FileKind;
use crate::walk::{WalkEntry, WalkStep, walk};
use crate::workspace::{Access, ResolvedPath, Workspace, explain};

/// Paths told; the walk stops behind them and a note says so.
const PATHS_MAX: usize = 2_000;

/// The directory arguments of the searching tools.
pub(crate) const DIR: Names = &["path", "dir", "directory", "dir_path", "file_path"];

pub(crate) struct Glob {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl Glob {
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        let spec = crate::spec(
            "glob",
            "Finds files by name. \"*.py\" looks in the directory itself, \"**/*.py\" at any depth; {a,b} and [abc] \
             work. Ignored files (.gitignore) are left out, hidden ones too unless the pattern names them. One path \
             per line, sorted.",
            r#"{"type":"object","properties":{"pattern":{"type":"string","description":"glob pattern, such as src/**/*.rs"},"path":{"type":"string","description":"directory to look in; the workspace when absent"}},"required":["pattern"]}"#,
        );
        Self { spec, workspace }
    }
}

/// A pattern, cut into the directory where the walk starts and what is matched below it.
struct GlobRequest {
    pattern: String,
    /// The caller named a directory, so that it must exist.
    path: Option<String>,
    base: String,
    matcher: GlobMatcher,
    /// The parts of the pattern that speak of hidden names.
    hidden: Vec<GlobMatcher>,
}

fn parse(input: &Json) -> Result<GlobRequest, String> {
    let mut args = ToolArgs::parse(input)?;
    let pattern = args.text(&["pattern", "glob"])?;
    let path = args.text_maybe(DIR)?;
    let (prefix, rest) = split(&pattern);
    if rest.is_empty() {
        return Err("argument \"pattern\" names no file; try \"**/*\"".to_owned());
    }
    if rest.split('/').any(|part| part == "..") {
        return Err(format!("{pattern:?}: \"..\" can stand only at the start of a pattern; use \"path\" instead"));
    }
    let base = match &path {
        Some(path) => Path::new(path).join(&prefix).to_string_lossy().into_owned(),
        None => prefix,
    };
    let hidden = rest.split('/').filter(|part| part.starts_with('.') || part.contains("{.") || part.contains(",."));
    let hidden = hidden.filter_map(|part| compile(part).ok()).collect();
    let base = if base.is_empty() { ".".to_owned() } else { base };
    Ok(GlobRequest { matcher: compile(&rest)?, pattern, path, base, hidden })
}

pub(crate) fn compile(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| format!("not a glob pattern: {error}"))
}

/// The leading directories that are plain names, and the rest. The last part is always in the rest.
fn split(pattern: &str) -> (String, String) {
    let pattern = pattern.trim_end_matches('/');
    let mut start = 0;
    while let Some(length) = pattern[start..].find('/') {
        if pattern[start..start + length].contains(['*', '?', '[', '{', '\\']) {
            break;
        }
        start += length + 1;
    }
    let prefix = if start > 1 { pattern[..start].trim_end_matches('/') } else { &pattern[..start] };
    let prefix = prefix.trim_start_matches("./");
    (if prefix == "." { String::new() } else { prefix.to_owned() }, pattern[start..].to_owned())
}

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn required(&self) -> Required {
        Required::ReadOnly
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let request = parse(input)?;
        let place = self.workspace.place(&request.base)?;
        Ok(Plan {
            required: self.workspace.required(&place, Access::Read),
            mutation: None,
            summary: format!("find files like {}", request.pattern).into(),
            preview: None,
        })
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let workspace = self.workspace.clone();
        blocking(move |cancel| find(&workspace, &parse(&input)?, context.granted, cancel))
    }
}

fn find(workspace: &Workspace, request: &GlobRequest, granted: Required, cancel: &Cancel) -> Result<Outcome, String> {
    if let Some(path) = &request.path {
        let spot = workspace.spot(path, Access::Read, granted)?;
        let facts = spot.facts().map_err(|error| explain(path, &error))?;
        if facts.kind != FileKind::Dir {
            return Err(format!("{path}: is a file; \"path\" must be a directory"));
        }
    }
    let start = workspace.spot(&request.base, Access::Read, granted)?;
    let mut paths: Vec<String> = Vec::new();
    let mut more = false;
    let report = walk(&start, cancel, &mut |found| {
        if found.ignored || (found.hidden && !names_hidden(request, found)) {
            return WalkStep::Skip;
        }
        let below = found.spot.rel().strip_prefix(start.rel()).unwrap_or(found.spot.rel());
        if found.kind == FileKind::Dir || !request.matcher.is_match(below) || !is_file(workspace, found) {
            return WalkStep::On;
        }
        if paths.len() == PATHS_MAX {
            more = true;
            return WalkStep::Stop;
        }
        paths.push(found.spot.shown().to_owned());
        WalkStep::On
    });
    cancel.check()?;
    // A directory that only the pattern names may be missing: then nothing matches.
    let incomplete = report.is_ok_and(|report| report.incomplete);
    if paths.is_empty() {
        return Ok(Outcome::text(format!("no files match {}\n", request.pattern)));
    }
    let mut text = paths.join("\n");
    text.push('\n');
    if more {
        text.push_str(&format!("[more than {PATHS_MAX} files match; narrow the pattern or the path]\n"));
    } else if incomplete {
        text.push_str("[the tree is too large; parts of it were not looked at]\n");
    }
    Ok(Outcome::text(text))
}

fn names_hidden(request: &GlobRequest, found: &WalkEntry) -> bool {
    found.spot.file_name().is_some_and(|name| request.hidden.iter().any(|hidden| hidden.is_match(name)))
}

/// A file, or a symlink to one that is inside.
fn is_file(workspace: &Workspace, found: &WalkEntry) -> bool {
    match found.kind {
        FileKind::File => true,
        FileKind::Dir | FileKind::Other => false,
        FileKind::Link => match workspace.place(found.spot.shown()) {
            Ok(place @ ResolvedPath::Inside(_)) => {
                workspace.spot_at(place).and_then(|spot| spot.facts()).is_ok_and(|facts| facts.kind == FileKind::File)
            }
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_cut_at_its_first_wild_part() {
        for (pattern, prefix, rest) in [
            ("**/*.py", "", "**/*.py"),
            ("*.py", "", "*.py"),
            ("src/**/*.rs", "src", "**/*.rs"),
            ("src/main.rs", "src", "main.rs"),
            ("./src/*.rs", "src", "*.rs"),
            ("./*.rs", "", "*.rs"),
            ("/etc/*", "/etc", "*"),
            ("/*", "/", "*"),
            ("../x/*", "../x", "*"),
            ("{a/b,c}/d", "", "{a/b,c}/d"),
            ("src/", "", "src"),
            ("/", "", ""),
        ] {
            assert_eq!(split(pattern), (prefix.to_owned(), rest.to_owned()), "{pattern}");
        }
    }
}
