//! `subagent`: a task for another agent. It works in a session of its own, which whoever runs the call provides; here is
//! only what is asked of it and how its end is told.

use std::sync::Arc;

use serde_json::json;
use vocab::{
    CallContext, Fact, Fault, Json, Later, Outcome, Plan, Required, Stop, SubagentEnd, SubagentTask, Tool, ToolSpec,
};

use crate::args::{Names, ToolArgs, missing};
use crate::output::{cut, cut_chars};
use crate::spec;

/// A longer answer is cut, and says so.
const RESULT_BYTES_MAX: usize = 32 * 1024;
/// Characters of a task that stand for it where there is no label.
const LABEL_CHARS_MAX: usize = 60;

const TASK: Names = &["task", "prompt"];
const LABEL: Names = &["label", "description"];
const ACCESS: Names = &["access"];
const MODEL: Names = &["model"];

/// How the name of a recorded model begins; a path follows.
const SCRIPT: &str = "script:";

const DESCRIPTION: &str = "Give a task to a sub-agent. It works on its own in the same workspace, with the same tools, and \
    knows nothing of this conversation: say in `task` all that it needs. It cannot ask questions. Its last message is the \
    result. Use it for searches and reviews whose details are not needed here, or for a piece of work that stands by itself.";

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "task": {"type": "string", "description": "What to do, what to know, and what to report"},
        "label": {"type": "string", "description": "A few words that name the task"},
        "access": {
            "type": "string",
            "enum": ["read-only", "workspace-write", "danger-full-access"],
            "description": "The most that it may do (default read-only); commands other than readers need danger-full-access"
        },
        "model": {"type": "string", "description": "Another model than your own"}
    },
    "required": ["task"]
}"#;

pub(crate) struct Subagent {
    spec: ToolSpec,
}

impl Subagent {
    pub(crate) fn new() -> Self {
        Self { spec: spec("subagent", DESCRIPTION, SCHEMA) }
    }
}

struct SubagentRequest {
    task: SubagentTask,
    label: Arc<str>,
    access: Required,
}

fn parse(input: &Json) -> Result<SubagentRequest, String> {
    let mut args = ToolArgs::parse(input)?;
    let prompt = args.text(TASK)?;
    if prompt.trim().is_empty() {
        return Err(missing(TASK));
    }
    let title = args.text_maybe(LABEL)?.filter(|label| !label.trim().is_empty());
    let access = match args.text_maybe(ACCESS)? {
        None => Required::ReadOnly,
        Some(word) => Required::parse(&word)
            .ok_or("argument \"access\" must be \"read-only\", \"workspace-write\" or \"danger-full-access\"")?,
    };
    let model = args.text_maybe(MODEL)?.filter(|model| !model.is_empty());
    if model.as_ref().is_some_and(|model| model.starts_with(SCRIPT)) && access < Required::DangerFullAccess {
        return Err(
            "a model that is a file, wherever that is, needs \"access\" to be \"danger-full-access\"".to_owned()
        );
    }
    let label = title.as_deref().unwrap_or(&prompt).trim().lines().next().unwrap_or_default();
    let label: Arc<str> = match cut_chars(label, LABEL_CHARS_MAX) {
        Some(start) => format!("{start}...").into(),
        None => label.into(),
    };
    let title = title.map(|title| title.trim().into());
    Ok(SubagentRequest {
        task: SubagentTask { prompt: prompt.into(), title, model: model.map(Into::into) },
        label,
        access,
    })
}

fn facts(task: &SubagentTask, access: Required) -> Vec<Fact> {
    let mut facts = vec![Fact::text("task", &task.prompt), Fact::line("access", access.as_str())];
    facts.extend(task.model.as_deref().map(|model| Fact::line("model", model)));
    facts
}

impl Tool for Subagent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn has_subagents(&self) -> bool {
        true
    }
    fn required(&self) -> Required {
        Required::ReadOnly
    }
    fn most(&self) -> Required {
        Required::DangerFullAccess
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let SubagentRequest { task, label, access } = parse(input)?;
        Ok(Plan {
            required: access,
            mutation: (access > Required::ReadOnly).then(|| label.clone()),
            summary: format!("sub-agent with {}: {label}", access.as_str()).into(),
            preview: Some(facts(&task, access).into()),
        })
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        Box::pin(async move {
            let wanted = match parse(&input) {
                Ok(wanted) => wanted,
                Err(detail) => return Outcome::error(detail),
            };
            let Some(children) = context.children else {
                return Outcome::error("a sub-agent cannot have sub-agents: do it yourself");
            };
            match children.run(wanted.task, context.progress).await {
                Ok(end) => told(end),
                Err(fault) => Outcome::error(format!("there is no sub-agent: {}", in_words(&fault))),
            }
        })
    }
}

fn in_words(fault: &Fault) -> String {
    match fault.hints.first() {
        Some(hint) => format!("{} ({hint})", fault.message),
        None => fault.message.clone(),
    }
}

/// What the model reads: the last words, and where they are not the end of the task, why not.
fn told(end: SubagentEnd) -> Outcome {
    let said = end.text.trim();
    let why = match (end.stop, &end.fault) {
        (Stop::EndTurn, _) if said.is_empty() => Some("the sub-agent ended without a word".to_owned()),
        (Stop::EndTurn, _) => None,
        (Stop::MaxTokens, _) => Some("the sub-agent's answer reached the length limit and is cut off".to_owned()),
        (Stop::MaxIterations, _) => {
            Some(format!("the sub-agent used up its {} tool rounds before it was done", end.rounds))
        }
        (Stop::Refusal, _) => Some("the sub-agent's model refused to go on".to_owned()),
        (Stop::Interrupted, _) => Some("the sub-agent was interrupted".to_owned()),
        (Stop::Budget, Some(fault)) => Some(format!("the sub-agent was stopped: {}", fault.message)),
        (Stop::Budget, None) => Some("the sub-agent was stopped: a budget is spent".to_owned()),
        (Stop::Error, Some(fault)) => Some(format!("the sub-agent failed: {}", in_words(fault))),
        (Stop::Error, None) => Some("the sub-agent failed".to_owned()),
    };
    let shown = cut(said, RESULT_BYTES_MAX);
    let mut text = why.clone().unwrap_or_default();
    if why.is_some() && !shown.is_empty() {
        text.push_str("; what it said last:\n");
    }
    text.push_str(shown);
    if shown.len() < said.len() {
        text.push_str(&format!("\n[cut: {} of {} bytes]", shown.len(), said.len()));
    }
    let details = json!({
        "session": end.session.as_str(),
        "model": &*end.model,
        "rounds": end.rounds,
        "usage": {
            "input_tokens": end.usage.input,
            "cache_read_tokens": end.usage.cache_read,
            "cache_write_tokens": end.usage.cache_write,
            "output_tokens": end.usage.output,
        },
    });
    Outcome {
        is_error: why.is_some(),
        edits: end.edits,
        details: Some(Json::trusted(details.to_string())),
        ..Outcome::text(text)
    }
}

#[cfg(test)]
mod tests {
    use vocab::{FaultKind, Usage};

    use super::*;

    fn plan(input: &str) -> Result<Plan, String> {
        Subagent::new().plan(&Json::trusted(input))
    }

    fn end(stop: Stop, text: &str) -> Outcome {
        let fault = (stop == Stop::Error).then(|| Fault::new(FaultKind::Network, "no network").hint("plug it in"));
        let usage = Usage { input: 1, cache_read: 2, cache_write: 3, output: 4, estimated: false };
        let (session, model, edits) = ("s2".into(), "m".into(), Vec::new());
        told(SubagentEnd { session, model, stop, fault, text: text.into(), rounds: 7, usage, edits })
    }

    #[test]
    fn a_call_needs_what_its_access_names() {
        let reading = plan(r#"{"task":"find it\nsoon"}"#).unwrap();
        assert_eq!((reading.required, reading.mutation), (Required::ReadOnly, None));
        assert_eq!(&*reading.summary, "sub-agent with read-only: find it");
        let writing = plan(r#"{"task":"mend it","label":"mending","access":"workspace-write"}"#).unwrap();
        assert_eq!((writing.required, writing.mutation.as_deref()), (Required::WorkspaceWrite, Some("mending")));
        let seen = [Fact::text("task", "mend it"), Fact::line("access", "workspace-write")];
        assert_eq!(writing.preview.as_deref(), Some(&seen[..]));
        let any = plan(r#"{"task":"x","access":"danger-full-access"}"#).unwrap();
        assert_eq!(any.required, Required::DangerFullAccess);
    }

    #[test]
    fn wrong_arguments_are_named() {
        assert_eq!(plan("{}").unwrap_err(), "missing required argument \"task\"");
        assert_eq!(plan(r#"{"task":" "}"#).unwrap_err(), "missing required argument \"task\"");
        assert!(plan(r#"{"task":"x","access":"root"}"#).unwrap_err().contains("\"workspace-write\""));
        assert!(plan(r#"{"task":"x","model":"script:/etc/passwd"}"#).unwrap_err().contains("danger-full-access"));
        assert!(plan(r#"{"task":"x","model":"script:x","access":"danger-full-access"}"#).is_ok());
    }

    #[test]
    fn every_end_is_told() {
        let said = |stop, text| vocab::parts_text(&end(stop, text).parts);
        assert_eq!(said(Stop::EndTurn, " done \n"), "done");
        assert!(!end(Stop::EndTurn, "done").is_error);
        for stop in [Stop::MaxTokens, Stop::MaxIterations, Stop::Refusal, Stop::Interrupted, Stop::Error, Stop::Budget]
        {
            assert!(end(stop, "so far").is_error, "{stop:?}");
            assert!(said(stop, "so far").ends_with("; what it said last:\nso far"), "{stop:?}");
        }
        assert_eq!(said(Stop::MaxIterations, ""), "the sub-agent used up its 7 tool rounds before it was done");
        assert_eq!(said(Stop::Error, ""), "the sub-agent failed: no network (plug it in)");
        assert_eq!(said(Stop::EndTurn, ""), "the sub-agent ended without a word");
        let long = said(Stop::EndTurn, &"x".repeat(RESULT_BYTES_MAX + 1));
        assert!(long.ends_with("x\n[cut: 32768 of 32769 bytes]"), "{}", long.len());
    }
}
