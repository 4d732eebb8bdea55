//! `read_file`: text exactly as it stands, a window of it when it is long, or an image.

pub(crate) mod kind;
mod window;

use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use vocab::{CallContext, Image, Json, Later, Outcome, Part, Plan, Required, Tool, ToolSpec};

use crate::args::{PATH, ToolArgs};
use crate::blocking::{Cancel, blocking};
use crate::controller::Controller;
use crate::workspace::{Access, Workspace, explain_at};
use window::{LineWindow, read_window};

/// Lines per call; the rest is read with `offset`.
const LINES_MAX: u64 = 2_000;
/// Bytes per call; the window ends at the last whole line before it.
const BYTES_MAX: usize = 256 * 1024;
/// Larger images are refused: no model takes them.
const IMAGE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Up to this size the lines of a file that is cut are counted to the end, so that the note can name the total.
const COUNT_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// The start of a file that decides whether it is text.
const SNIFF_BYTES: u64 = 8 * 1024;

pub(crate) struct ReadFile {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl ReadFile {
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        let spec = crate::spec(
            "read_file",
            "Reads a text file, exactly as it is, or shows a picture (png, jpeg, gif, webp). Long files come in \
             windows of 2000 lines or 256 KiB; read on with offset.",
            r#"{"type":"object","properties":{"path":{"type":"string","description":"file to read, relative to the workspace"},"offset":{"type":"integer","minimum":1,"description":"first line, counted from 1"},"limit":{"type":"integer","minimum":1,"description":"number of lines"}},"required":["path"]}"#,
        );
        Self { spec, workspace }
    }
}

struct ReadRequest {
    path: String,
    first: u64,
    limit: u64,
}

fn parse(input: &Json) -> Result<ReadRequest, String> {
    let mut args = ToolArgs::parse(input)?;
    let path = args.text(PATH)?;
    let first = args.count_maybe(&["offset"])?.unwrap_or(1).max(1);
    let limit = args.count_maybe(&["limit"])?.unwrap_or(LINES_MAX);
    if limit == 0 {
        return Err("argument \"limit\" must be at least 1".to_owned());
    }
    Ok(ReadRequest { path, first, limit: limit.min(LINES_MAX) })
}

impl Tool for ReadFile {
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
            summary: format!("read {}", place.shown()).into(),
            preview: None,
        })
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let workspace = self.workspace.clone();
        let Some(controller) = Controller::of(&context) else {
            return blocking(move |cancel| read(&workspace, &parse(&input)?, context.granted, cancel));
        };
        Box::pin(async move {
            let request = match parse(&input) {
                Ok(request) => request,
                Err(error) => return Outcome::error(error),
            };
            match controller.text(&workspace, &request.path, Access::Read, context.granted).await {
                Ok(Some(text)) => blocking(move |cancel| read_text(&request, &text, cancel)).await,
                Ok(None) => blocking(move |cancel| read(&workspace, &request, context.granted, cancel)).await,
                Err(error) => Outcome::error(error),
            }
        })
    }
}

fn read(workspace: &Workspace, request: &ReadRequest, granted: Required, cancel: &Cancel) -> Result<Outcome, String> {
    let path = &request.path;
    let spot = workspace.spot(path, Access::Read, granted)?;
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::IsADirectory => format!("{path}: is a directory; use list_dir to see what is in it"),
        _ => explain_at(path, &spot, &error),
    };
    let (mut file, facts) = spot.open_file().map_err(failed)?;
    let mut head = Vec::new();
    (&mut file).take(SNIFF_BYTES).read_to_end(&mut head).map_err(failed)?;
    if let Some(mime) = kind::image(&head) {
        if facts.bytes > IMAGE_BYTES_MAX {
            return Err(format!("{path}: a picture of {} bytes; at most {IMAGE_BYTES_MAX} can be shown", facts.bytes));
        }
        let mut bytes = head;
        file.take(IMAGE_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
        let note = format!("{} ({mime}, {} bytes)", spot.shown(), bytes.len());
        let image = Image { mime: mime.into(), base64: STANDARD.encode(&bytes).into() };
        return Ok(Outcome { parts: vec![Part::text(note), Part::Image(image)], ..Outcome::text("") });
    }
    if head.contains(&0) {
        let kind = kind::guess(&head);
        return Err(format!("{path}: not text but {kind} ({} bytes); read_file cannot show it", facts.bytes));
    }
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let count_total = facts.bytes <= COUNT_BYTES_MAX;
    let window =
        read_window(file, request.first, request.limit, BYTES_MAX, count_total, &|| cancel.is_set()).map_err(failed)?;
    show(request, facts.bytes, window)
}

/// A window of what a controller has of the file.
fn read_text(request: &ReadRequest, text: &str, cancel: &Cancel) -> Result<Outcome, String> {
    let cancelled = || cancel.is_set();
    let window = read_window(text.as_bytes(), request.first, request.limit, BYTES_MAX, true, &cancelled)
        .map_err(|error| format!("{}: {error}", request.path))?;
    show(request, text.len() as u64, window)
}

fn show(request: &ReadRequest, bytes: u64, window: LineWindow) -> Result<Outcome, String> {
    if window.lines == 0 {
        return match window.lines_before {
            0 => Ok(Outcome::text("[the file is empty]")),
            lines => Err(format!(
                "{}: offset {} is past the end; the file has {}",
                request.path,
                request.first,
                crate::output::plural(usize::try_from(lines).unwrap_or(usize::MAX), "line")
            )),
        };
    }
    let mut notes = Vec::new();
    let mut text = String::from_utf8(window.bytes).unwrap_or_else(|error| {
        notes.push("[not valid UTF-8: the bytes that are none are shown as \u{fffd}]".to_owned());
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    });
    let last = request.first + window.lines - 1;
    if window.line_cut {
        notes.push(format!("[line {last} is longer than {BYTES_MAX} bytes; only its start is shown]"));
    }
    if window.more {
        let total = window.total.map_or(format!("the file has {bytes} bytes"), |lines| format!("of {lines}"));
        let comma = if window.total.is_some() { "" } else { "," };
        notes.push(format!("[lines {}-{last}{comma} {total}; read on with offset {}]", request.first, last + 1));
    }
    if !notes.is_empty() {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&notes.join("\n"));
    }
    Ok(Outcome::text(text))
}
