//! The page about tools names each of them, in every spelling, and everything the background family takes.

use std::path::Path;
use std::sync::Arc;

use builtin_tools::web_search::{SearchKey, SearchOptions};
use vocab::{Later, Secret, Toolbox};

/// One that is lost between the offer and the call.
struct NoKey;

impl SearchKey for NoKey {
    fn is_there(&self) -> bool {
        true
    }
    fn key(&self) -> Later<'_, Option<Secret>> {
        Box::pin(async { None })
    }
}

#[test]
fn the_page_about_tools_is_complete() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/tools.md");
    let page = std::fs::read_to_string(page).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let search = Some(SearchOptions::new(Arc::new(NoKey)));
    let toolbox = builtin_tools::Builtin::new(builtin_tools::BuiltinOptions {
        search,
        ..builtin_tools::BuiltinOptions::new(dir.path().join("spill"))
    });
    for tool in toolbox.open(&"s".into(), dir.path()).unwrap() {
        let name = &*tool.spec().name;
        let [serve, rpc, loaf] = [dialect_serve::TOOL_NAMES, dialect_rpc::TOOL_NAMES, dialect_loaf::TOOL_NAMES]
            .map(|names| names.show(name));
        let row = format!("| `{name}` | `{serve}` | `{rpc}` | `{loaf}` | ");
        assert!(page.contains(&row), "the table lacks {row}");
        if !name.starts_with("bash") {
            continue;
        }
        let about = page.split("\n- **").find(|part| part.starts_with(&format!("`{name}`**"))).unwrap();
        let schema: serde_json::Value = serde_json::from_str(tool.spec().schema.as_str()).unwrap();
        for argument in schema["properties"].as_object().unwrap().keys() {
            assert!(about.contains(&format!("`{argument}`")), "the page does not say that {name} takes {argument}");
        }
    }
}
