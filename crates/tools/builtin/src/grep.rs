//! `grep`: lines by their contents, with ripgrep's searcher.

mod sink;

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use globset::GlobMatcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use vocab::{CallContext, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use crate::args::ToolArgs;
use crate::blocking::{CANCELLED, Cancel, blocking};
use crate::glob::{DIR, compile};
use crate::sys::FileKind;
use crate::walk::{WalkStep, walk};
use crate::workspace::{Access, Spot, Workspace, explain_at};
use sink::{Collector, Mode};

/// Matching lines told (or files, when only files are wanted); the search stops there and a note says so.
const MATCHES_MAX: u64 = 500;
/// Bytes of the answer; the search stops there and a note says so.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// Characters of one line; the rest is cut.
const LINE_CHARS_MAX: usize = 400;
/// Lines around a match.
const CONTEXT_MAX: u64 = 50;
/// Memory for one line, or for one file when matches span lines; a file that needs more is skipped and counted.
const SEARCH_HEAP_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Memory of a compiled pattern; a larger one is refused.
const PATTERN_BYTES_MAX: usize = 8 * 1024 * 1024;

pub(crate) struct Grep {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl Grep {
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        let spec = crate::spec(
            "grep",
            "Searches file contents with a regular expression (ripgrep's syntax). Answers path:line:text, sorted by \
             path. Hidden and ignored files (.gitignore) are left out unless \"path\" names them.",
            r#"{"type":"object","properties":{"pattern":{"type":"string","description":"regular expression"},"path":{"type":"string","description":"file or directory; the workspace when absent"},"glob":{"type":"string","description":"only files whose name matches, such as *.rs; with ! in front: all others"},"output_mode":{"type":"string","enum":["content","files_with_matches","count"]},"ignore_case":{"type":"boolean"},"literal":{"type":"boolean","description":"the pattern is plain text"},"multiline":{"type":"boolean","description":"matches may span lines"},"-n":{"type":"boolean","description":"line numbers, on when absent"},"-A":{"type":"integer","description":"lines after a match"},"-B":{"type":"integer","description":"lines before a match"},"-C":{"type":"integer","description":"lines around a match"},"head_limit":{"type":"integer","description":"most matches to tell"}},"required":["pattern"]}"#,
        );
        Self { spec, workspace }
    }
}

struct GrepRequest {
    pattern: String,
    path: String,
    matcher: RegexMatcher,
    /// The names wanted; with `false` those not wanted.
    names: Option<(GlobMatcher, bool)>,
    mode: Mode,
    numbers: bool,
    multiline: bool,
    before: usize,
    after: usize,
    limit: u64,
}

fn parse(input: &Json) -> Result<GrepRequest, String> {
    let mut args = ToolArgs::parse(input)?;
    let pattern = args.text(&["pattern", "query", "regex"])?;
    let path = args.text_maybe(DIR)?.unwrap_or_else(|| ".".to_owned());
    let names = args.text_maybe(&["glob", "include", "file_pattern"])?.map(|glob| name_filter(&glob)).transpose()?;
    let mode = match args.text_maybe(&["output_mode", "outputMode"])?.as_deref() {
        None | Some("content") => Mode::Content,
        Some("files_with_matches" | "files") => Mode::Files,
        Some("count") => Mode::Count,
        Some(other) => {
            return Err(format!("unknown output_mode \"{other}\"; use content, files_with_matches or count"));
        }
    };
    let multiline = args.flag(&["multiline"])?;
    let matcher =
        matcher(&pattern, args.flag(&["ignore_case", "-i", "ignoreCase"])?, args.flag(&["literal"])?, multiline)?;
    let both = args.count_maybe(&["-C", "context"])?.unwrap_or(0);
    let mut context = |names| -> Result<usize, String> {
        let lines = args.count_maybe(names)?.unwrap_or(both).min(CONTEXT_MAX);
        Ok(usize::try_from(lines).unwrap_or(0))
    };
    let (before, after) = (context(&["-B"])?, context(&["-A"])?);
    Ok(GrepRequest {
        numbers: args.flag_maybe(&["-n"])?.unwrap_or(true),
        limit: args
            .count_maybe(&["head_limit", "limit"])?
            .filter(|limit| *limit > 0)
            .unwrap_or(MATCHES_MAX)
            .min(MATCHES_MAX),
        pattern,
        path,
        matcher,
        names,
        mode,
        multiline,
        before,
        after,
    })
}

/// A name without a slash counts at any depth, as in ripgrep's `-g`.
fn name_filter(glob: &str) -> Result<(GlobMatcher, bool), String> {
    let (glob, wanted) = glob.strip_prefix('!').map_or((glob, true), |glob| (glob, false));
    let glob = glob.trim_start_matches("./").trim_start_matches('/');
    let deep = if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") };
    Ok((compile(&deep)?, wanted))
}

fn matcher(pattern: &str, ignore_case: bool, literal: bool, multiline: bool) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(ignore_case).fixed_strings(literal).multi_line(true).size_limit(PATTERN_BYTES_MAX);
    if multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| {
        let hint = if !multiline && (pattern.contains("\\n") || pattern.contains('\n')) {
            "Set multiline to true for matches that span lines"
        } else {
            "Set literal to true to search for the text as it is"
        };
        format!("not a regular expression: {error}\n{hint}")
    })
}

impl Tool for Grep {
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
            summary: format!("search {} for {}", place.shown(), request.pattern.escape_debug()).into(),
            preview: None,
        })
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let workspace = self.workspace.clone();
        blocking(move |cancel| search(&workspace, &parse(&input)?, context.granted, cancel))
    }
}

fn search(workspace: &Workspace, request: &GrepRequest, granted: Required, cancel: &Cancel) -> Result<Outcome, String> {
    let path = &request.path;
    let start = workspace.spot(path, Access::Read, granted)?;
    let facts = start.facts().map_err(|error| explain_at(path, &start, &error))?;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .multi_line(request.multiline)
        .before_context(if request.mode == Mode::Content { request.before } else { 0 })
        .after_context(if request.mode == Mode::Content { request.after } else { 0 })
        .memory_map(MmapChoice::never())
        .heap_limit(Some(SEARCH_HEAP_BYTES_MAX))
        .binary_detection(BinaryDetection::quit(0))
        .build();
    let mut hits = Collector::new(request.mode, request.numbers, request.limit, request.before + request.after > 0);
    let mut skipped = 0;
    let mut incomplete = false;
    if facts.kind == FileKind::Dir {
        let report = walk(&start, cancel, &mut |found| {
            if found.ignored || found.hidden || workspace.is_secret_spot(&found.spot) {
                return WalkStep::Skip;
            }
            let below = found.spot.rel().strip_prefix(start.rel()).unwrap_or(found.spot.rel());
            let named = request.names.as_ref().is_none_or(|(names, wanted)| names.is_match(below) == *wanted);
            if found.kind == FileKind::File && named {
                skipped += usize::from(!search_file(&mut searcher, request, &found.spot, &mut hits, cancel));
            }
            if hits.is_full() { WalkStep::Stop } else { WalkStep::On }
        });
        incomplete = report.map_err(|error| explain_at(path, &start, &error))?.incomplete;
    } else if !search_file(&mut searcher, request, &start, &mut hits, cancel) {
        cancel.check()?;
        return Err(format!("{path}: cannot be searched (unreadable, not a regular file, or a line too long)"));
    }
    cancel.check()?;
    Ok(Outcome::text(hits.finish(&request.pattern, skipped, incomplete)))
}

/// False when the file could not be searched.
fn search_file(
    searcher: &mut Searcher,
    request: &GrepRequest,
    spot: &Spot,
    hits: &mut Collector,
    cancel: &Cancel,
) -> bool {
    let Ok((file, _)) = spot.open_file() else { return false };
    hits.begin(spot.shown());
    let result = searcher.search_reader(&request.matcher, Cancellable { file, cancel }, &mut *hits);
    hits.end();
    result.is_ok()
}

/// Stops in the middle of a large file.
struct Cancellable<'a> {
    file: File,
    cancel: &'a Cancel,
}

impl Read for Cancellable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.cancel.is_set() {
            return Err(std::io::Error::other(CANCELLED));
        }
        self.file.read(buffer)
    }
}
