//! Tools that end at once, never, with leave, or with the help of the client.

use std::path::Path;
use std::sync::Arc;

use vocab::{
    CallContext, EditorRequestKind, Fault, FileDiff, FileEdit, Json, Later, Outcome, Plan, Progress, Required,
    SessionId, Shell, Tool, ToolSpec, Toolbox,
};

pub(crate) struct Simples;

#[derive(Clone, Copy, PartialEq)]
enum SimpleKind {
    Quick,
    /// Somebody has to allow it.
    Careful,
    Endless,
    /// Reads, writes and runs at the client.
    Helped,
}

struct Simple {
    spec: ToolSpec,
    kind: SimpleKind,
}

impl Toolbox for Simples {
    fn open(&self, _: &SessionId, _: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let tool = |name: &str, kind| -> Arc<dyn Tool> {
            let spec = ToolSpec { name: name.into(), description: name.into(), schema: Json::empty_object() };
            Arc::new(Simple { spec, kind })
        };
        let all = [
            ("quick", SimpleKind::Quick),
            ("careful", SimpleKind::Careful),
            ("endless", SimpleKind::Endless),
            ("helped", SimpleKind::Helped),
        ];
        Ok(all.map(|(name, kind)| tool(name, kind)).to_vec())
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

impl Simple {
    fn needs(&self) -> Required {
        if self.kind == SimpleKind::Careful { Required::WorkspaceWrite } else { Required::ReadOnly }
    }
}

impl Tool for Simple {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn required(&self) -> Required {
        self.needs()
    }
    fn plan(&self, _: &Json) -> Result<Plan, String> {
        Ok(Plan { required: self.needs(), mutation: None, summary: "x".into(), preview: None })
    }
    fn run(&self, _: Json, context: CallContext) -> Later<'static, Outcome> {
        match self.kind {
            SimpleKind::Quick | SimpleKind::Careful => Box::pin(async { Outcome::text("done so") }),
            SimpleKind::Endless => Box::pin(std::future::pending()),
            SimpleKind::Helped => Box::pin(async move {
                let Some(editor_requests) = context.editor_requests else { return Outcome::text("nobody helps") };
                let offered = editor_requests.offered();
                if offered.read_text {
                    editor_requests.run(EditorRequestKind::ReadText { path: "/w/a".into() }).await;
                }
                if offered.write_text {
                    editor_requests
                        .run(EditorRequestKind::WriteText { path: "/w/a".into(), content: "x".into() })
                        .await;
                }
                if offered.terminal {
                    let (program, cwd) = ("make".into(), "/w".into());
                    editor_requests
                        .run(EditorRequestKind::Run { program, args: vec![], cwd, env: vec![], output_bytes_max: 100 })
                        .await;
                }
                Outcome::text("helped")
            }),
        }
    }
}
