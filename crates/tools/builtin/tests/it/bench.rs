//! A workspace with a directory beside it that must stay untouched.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use builtin_tools::{Builtin, BuiltinOptions};
use serde_json::Value;
use tempfile::TempDir;
use vocab::{CallContext, Json, Outcome, Plan, Required, SessionId, Tool, Toolbox, parts_text};

/// Stands outside; must never be seen or change.
pub(crate) const CANARY: &str = "canary-7f3a9c secret\n";

pub(crate) struct Bench {
    _temp: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(|options, _| options)
    }

    pub(crate) fn with(change: impl FnOnce(BuiltinOptions, &Path) -> BuiltinOptions) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let real = std::fs::canonicalize(temp.path()).unwrap();
        let (root, outside) = (real.join("ws"), real.join("outside"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("canary.txt"), CANARY).unwrap();
        let options = BuiltinOptions { home: None, ..BuiltinOptions::new(real.join("spill")) };
        let tools = Builtin::new(change(options, &root)).open(&SessionId::new("s1"), &root).unwrap();
        Self { _temp: temp, root, outside, tools }
    }

    /// A bench whose workspace holds these files.
    pub(crate) fn holding(files: &[(&str, &str)]) -> Self {
        let bench = Self::new();
        for (path, text) in files {
            bench.put(path, text);
        }
        bench
    }

    pub(crate) fn put(&self, path: &str, contents: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    pub(crate) fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.iter().find(|tool| &*tool.spec().name == name).expect("a built-in tool")
    }

    pub(crate) fn plan(&self, name: &str, input: &Value) -> Result<Plan, String> {
        self.tool(name).plan(&Json::trusted(input.to_string()))
    }

    /// Runs a call with what an ordinary session grants.
    pub(crate) fn call(&self, name: &str, input: Value) -> Outcome {
        self.call_granted(name, &input, Required::WorkspaceWrite)
    }

    pub(crate) fn call_granted(&self, name: &str, input: &Value, granted: Required) -> Outcome {
        let later = self.tool(name).run(Json::trusted(input.to_string()), context(granted));
        runtime().block_on(later)
    }

    /// The answer as one text, errors marked.
    pub(crate) fn answer(&self, name: &str, input: Value) -> String {
        let outcome = self.call(name, input);
        let text = parts_text(&outcome.parts);
        if outcome.is_error { format!("ERROR {text}") } else { text }
    }
}

pub(crate) fn context(granted: Required) -> CallContext {
    CallContext {
        session: "s1".into(),
        call: "c1".into(),
        granted,
        progress: Arc::new(|_| {}),
        todos: Arc::from([]),
        editor_requests: None,
        children: None,
        processes: None,
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
