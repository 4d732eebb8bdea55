//! `edit_file`: exact replacement, once or everywhere. When the text is not there, the error shows what is.

pub(crate) mod closest;
mod swap;

use std::sync::Arc;

use serde_json::Value;
use vocab::{CallContext, Fact, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use crate::args::{Names, PATH, ToolArgs, missing};
use crate::blocking::{Cancel, blocking, on_thread, outcome};
use crate::controller::{Controller, ControllerWrite};
use crate::output::{self, NoDiff, plural};
use crate::text::{TextFile, load, to_crlf};
use crate::workspace::{Access, Spot, Workspace, explain_at};
use crate::write_file::{before_for_preview, commit};
use swap::{Swap, SwapProblem};

/// Replacements in one call; more are refused before anything is read.
const SWAPS_MAX: usize = 200;
/// Line numbers told when a text occurs several times.
const LINES_TOLD_MAX: usize = 20;

const OLD: Names = &["old_string", "oldText", "old_text", "oldString"];
const NEW: Names = &["new_string", "newText", "new_text", "newString"];

pub(crate) struct EditFile {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl EditFile {
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        let spec = crate::spec(
            "edit_file",
            "Replaces text in a file. old_string must be exactly what the file holds, whitespace included, and must \
             occur once unless replace_all is true. Several replacements at once: edits, each matched against the \
             file as it was. An empty old_string creates a file that does not exist.",
            r#"{"type":"object","properties":{"path":{"type":"string","description":"file to edit, relative to the workspace"},"old_string":{"type":"string","description":"exact text to replace"},"new_string":{"type":"string","description":"text to put in its place"},"replace_all":{"type":"boolean","description":"replace every occurrence"},"edits":{"type":"array","items":{"type":"object","properties":{"old_string":{"type":"string"},"new_string":{"type":"string"}},"required":["old_string","new_string"]},"description":"several replacements instead of old_string and new_string"}},"required":["path"]}"#,
        );
        Self { spec, workspace }
    }
}

struct EditRequest {
    path: String,
    swaps: Vec<Swap>,
    all: bool,
}

fn parse(input: &Json) -> Result<EditRequest, String> {
    let mut args = ToolArgs::parse(input)?;
    let path = args.text(PATH)?;
    let all = args.flag(&["replace_all", "replaceAll"])?;
    let swaps = match args.list_maybe(&["edits"])? {
        Some(list) if !args.has(OLD) => list.into_iter().enumerate().map(parse_swap).collect::<Result<_, _>>()?,
        _ => vec![Swap { old: args.text(OLD)?, new: args.text(NEW)? }],
    };
    match swaps.len() {
        0 => Err("argument \"edits\" is empty; give at least one replacement".to_owned()),
        1..=SWAPS_MAX => Ok(EditRequest { path, swaps, all }),
        many => Err(format!("{many} replacements in one call; at most {SWAPS_MAX} are possible")),
    }
}

fn parse_swap((index, value): (usize, Value)) -> Result<Swap, String> {
    let mut args = ToolArgs::of(value)
        .ok_or_else(|| format!("edits[{index}] must be an object with old_string and new_string"))?;
    for names in [OLD, NEW] {
        if !args.has(names) {
            return Err(format!("edits[{index}]: {}", missing(names)));
        }
    }
    Ok(Swap { old: args.text(OLD)?, new: args.text(NEW)? })
}

impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn required(&self) -> Required {
        Required::WorkspaceWrite
    }
    /// A text that does not match is no error here: the answer would show the file to a model before anybody has
    /// allowed the call.
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let request = parse(input)?;
        let place = self.workspace.place(&request.path)?;
        let shown = place.shown();
        let change = before_for_preview(&self.workspace, &request.path).map_err(Some).and_then(|before| {
            let edited = edit(&request, before.clone()).map_err(|_| None)?;
            output::change(&shown, before.as_deref(), Some(&edited.bytes)).map_err(Some)
        });
        let counts = change.as_ref().map_or(String::new(), |change| format!(" {}", change.counts));
        Ok(Plan {
            required: self.workspace.required(&place, Access::Write),
            summary: format!("edit {shown}{counts}{}", self.workspace.note(&place)).into(),
            mutation: Some(shown.as_str().into()),
            preview: Some(match change {
                Ok(change) => [change.diff].into(),
                Err(no_diff) => swaps(&shown, &request, no_diff).into(),
            }),
        })
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let (workspace, granted) = (self.workspace.clone(), context.granted);
        let request = match parse(&input) {
            Ok(request) => Arc::new(request),
            Err(error) => return outcome(async { Err(error) }),
        };
        let Some(controller) = Controller::of(&context) else {
            return blocking(move |cancel| run(&workspace, &request, granted, cancel));
        };
        outcome(async move {
            let wanted = request.clone();
            let make = move |spot: &Spot, before: Option<&[u8]>| {
                let (edited, told) = edit_at(spot, &wanted, before)?;
                Ok((Some(edited), told))
            };
            match controller.change(workspace.clone(), request.path.clone(), granted, make).await? {
                Some(ControllerWrite { edit, told }) => {
                    Ok(Outcome { edits: edit.into_iter().collect(), ..Outcome::text(told) })
                }
                None => on_thread(move |cancel| run(&workspace, &request, granted, cancel)).await,
            }
        })
    }
}

/// The edit as it was asked for, where the file cannot be looked at beforehand or (without a word) does not hold the text.
fn swaps(shown: &str, request: &EditRequest, no_diff: Option<NoDiff>) -> Vec<Fact> {
    let mut facts = vec![Fact::line("file", shown)];
    for Swap { old, new } in &request.swaps {
        facts.push(Fact::text(if request.all { "replace every" } else { "replace" }, old));
        facts.push(Fact::text("with", new));
        // Shown as lines, a text with a line break at its end looks like one without.
        if old.ends_with('\n') != new.ends_with('\n') {
            let what =
                if new.ends_with('\n') { "the new text ends its line" } else { "the new text joins the next line" };
            facts.push(Fact::line("line break", what));
        }
    }
    facts.extend(no_diff.map(|no_diff| Fact::line("no diff", &no_diff.why())));
    facts
}

fn run(workspace: &Workspace, request: &EditRequest, granted: Required, cancel: &Cancel) -> Result<Outcome, String> {
    let path = &request.path;
    let spot = workspace.spot(path, Access::Write, granted)?;
    let _lock = workspace.write_lock();
    let (before, facts) = load(path, &spot)?.map_or((None, None), |(bytes, facts)| (Some(bytes), Some(facts)));
    let (edited, told) = edit_at(&spot, request, before.as_deref())?;
    commit(&spot, &edited, facts.as_ref(), cancel)?;
    let edits = vec![output::file_edit(spot.shown(), before.as_deref(), Some(&edited))];
    Ok(Outcome { edits, ..Outcome::text(told) })
}

/// The new contents of what stands at a spot, and how the model is told of them.
fn edit_at(spot: &Spot, request: &EditRequest, before: Option<&[u8]>) -> Result<(Vec<u8>, String), String> {
    let creates = request.swaps.len() == 1 && request.swaps[0].old.is_empty();
    if before.is_none() && !creates {
        let missing = std::io::Error::from(rustix::io::Errno::NOENT);
        return Err(explain_at(&request.path, spot, &missing));
    }
    let edited = edit(request, before.map(<[u8]>::to_vec))?;
    let told = match before {
        None => format!("created {}", spot.shown()),
        Some(_) => format!("edited {} ({})", spot.shown(), plural(edited.count, "replacement")),
    };
    Ok((edited.bytes, told))
}

struct Edited {
    bytes: Vec<u8>,
    count: usize,
}

/// The new contents of the file. Pure.
fn edit(request: &EditRequest, before: Option<Vec<u8>>) -> Result<Edited, String> {
    let path = &request.path;
    let file = TextFile::new(path, before.unwrap_or_default())?;
    if let [Swap { old, new }] = &*request.swaps
        && old.is_empty()
    {
        return match file.text.is_empty() {
            true => Ok(Edited { bytes: file.encode(new), count: 1 }),
            false => Err(format!(
                "{path}: old_string is empty, but the file has contents; give the text to replace, or use write_file \
                 to replace the whole file"
            )),
        };
    }
    // A model sees line ends as LF; a file that ends its lines with CR LF keeps doing so.
    let adapted: Vec<Swap> = match file.is_crlf() {
        true => request.swaps.iter().map(|swap| Swap { old: to_crlf(&swap.old), new: to_crlf(&swap.new) }).collect(),
        false => request.swaps.clone(),
    };
    match swap::apply(&file.text, &adapted, request.all) {
        Ok((text, count)) => Ok(Edited { bytes: file.encode(&text), count }),
        Err(problem) => Err(tell(request, &file, &adapted, &problem)),
    }
}

fn tell(request: &EditRequest, file: &TextFile, swaps: &[Swap], problem: &SwapProblem) -> String {
    let path = &request.path;
    let which = |index: usize| match request.swaps.len() {
        1 => "old_string".to_owned(),
        _ => format!("edits[{index}].old_string"),
    };
    match problem {
        SwapProblem::Empty(index) => format!("{path}: {} is empty; give the text to replace", which(*index)),
        SwapProblem::Same(index) => {
            format!("{path}: {} and its replacement are the same; there is nothing to change", which(*index))
        }
        SwapProblem::Missing(index) => {
            let help = closest::describe(&file.text, &swaps[*index].old);
            format!("{path}: {} was not found; nothing was changed.\n{help}", which(*index))
        }
        SwapProblem::Many { index, lines } => {
            let told: Vec<String> = lines.iter().take(LINES_TOLD_MAX).map(usize::to_string).collect();
            let more = if lines.len() > LINES_TOLD_MAX { ", ..." } else { "" };
            format!(
                "{path}: {} occurs {} times (lines {}{more}); nothing was changed. Add lines around it to make it \
                 unique, or set replace_all to change every one",
                which(*index),
                lines.len(),
                told.join(", "),
            )
        }
        SwapProblem::Overlap(one, two) => {
            format!("{path}: edits[{one}] and edits[{two}] change the same text; nothing was changed. Join them")
        }
    }
}
