//! A tool that reads nothing and one that never ends.

use std::path::Path;
use std::sync::Arc;

use vocab::{
    CallContext, Fault, FileDiff, FileEdit, Json, Later, Outcome, Plan, Progress, Required, SessionId, Shell, Tool,
    ToolSpec, Toolbox,
};

pub(crate) struct Simples;

struct Simple {
    spec: ToolSpec,
    ends: bool,
}

impl Toolbox for Simples {
    fn open(&self, _: &SessionId, _: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let tool = |name: &str, ends| -> Arc<dyn Tool> {
            let spec = ToolSpec { name: name.into(), description: name.into(), schema: Json::empty_object() };
            Arc::new(Simple { spec, ends })
        };
        Ok(vec![tool("quick", true), tool("endless", false)])
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

impl Tool for Simple {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn required(&self) -> Required {
        Required::ReadOnly
    }
    fn plan(&self, _: &Json) -> Result<Plan, String> {
        Ok(Plan { required: Required::ReadOnly, mutation: None, summary: "x".into(), preview: None })
    }
    fn run(&self, _: Json, _: CallContext) -> Later<'static, Outcome> {
        match self.ends {
            true => Box::pin(async { Outcome::text("done so") }),
            false => Box::pin(std::future::pending()),
        }
    }
}
