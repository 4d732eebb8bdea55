//! A shell without a process: `echo TEXT`, `sleep MS`, `fail TEXT`, `hang`. And a tool that makes an image.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use vocab::{
    CallContext, Fault, FileDiff, FileEdit, Image, Json, Later, Outcome, Part, Plan, Progress, Required, SessionId,
    Shell, Tool, ToolSpec, Toolbox,
};

/// One black pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

pub(crate) struct Tools;

struct Pretended {
    spec: ToolSpec,
}

impl Toolbox for Tools {
    fn open(&self, _: &SessionId, _: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let tool = |name: &str| -> Arc<dyn Tool> {
            let schema = Json::trusted(r#"{"type":"object"}"#);
            Arc::new(Pretended { spec: ToolSpec { name: name.into(), description: name.into(), schema } })
        };
        Ok(vec![tool("bash"), tool("paint")])
    }
    fn restore(&self, _: &Path, _: &[FileEdit]) -> Vec<Arc<str>> {
        Vec::new()
    }
    fn shell(&self, _: &SessionId, _: &Path, _: &str, _: Progress, _: Later<'static, ()>) -> Later<'static, Shell> {
        Box::pin(std::future::pending())
    }
    fn diff(&self, _: &[FileEdit]) -> Vec<FileDiff> {
        Vec::new()
    }
}

impl Tool for Pretended {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn required(&self) -> Required {
        Required::WorkspaceWrite
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        if *self.spec.name == *"bash" && command(input).is_none() {
            return Err("command must be text".to_owned());
        }
        let summary = format!("run {}", command(input).unwrap_or_default()).into();
        Ok(Plan { required: Required::WorkspaceWrite, mutation: Some("x".into()), summary, preview: None })
    }
    fn run(&self, input: Json, _: CallContext) -> Later<'static, Outcome> {
        if *self.spec.name == *"paint" {
            let image = Image { mime: "image/png".into(), base64: PIXEL.into() };
            let parts = vec![Part::text("painted"), Part::Image(image)];
            return Box::pin(async { Outcome { parts, ..Outcome::text("") } });
        }
        let command = command(&input).unwrap_or_default();
        Box::pin(async move {
            match command.split_once(' ').unwrap_or((&command, "")) {
                ("echo", text) => Outcome::text(format!("{text}\n")),
                ("sleep", ms) => {
                    tokio::time::sleep(Duration::from_millis(ms.parse().unwrap())).await;
                    Outcome::text("slept\n")
                }
                ("fill", bytes) => Outcome::text("x".repeat(bytes.parse().unwrap())),
                ("hang", _) => std::future::pending().await,
                (_, text) => Outcome::error(format!("failed: {text}")),
            }
        })
    }
}

fn command(input: &Json) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(input.as_str()).ok()?;
    value["command"].as_str().map(str::to_owned)
}
