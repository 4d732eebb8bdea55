//! `tools`: what a model is given, and the permission each tool needs at least.

use std::sync::Arc;

use serde_json::json;
use vocab::{SessionId, Tool, Toolbox};

use super::config::home;
use super::listing::table;
use crate::args;
use crate::print::{exactly, say};
use crate::setup;

pub(crate) fn run(args: &args::Tools) -> anyhow::Result<u8> {
    let toolbox = tools::Builtin::new(tools::Options::new(store::spill_dir(&home()?.data)));
    let tools = toolbox.open(&SessionId::from("list"), &setup::project(None)?)?;
    match args.json {
        true => print_json(&tools),
        false => {
            let rows: Vec<Vec<String>> = tools.iter().map(|tool| row(&**tool)).collect();
            say(&table(&["TOOL", "NEEDS", "WHAT IT DOES"], &rows))?;
            Ok(0)
        }
    }
}

fn row(tool: &dyn Tool) -> Vec<String> {
    let spec = tool.spec();
    // The first sentence is for everybody; the rest is for the model.
    let first = spec.description.split_inclusive(". ").next().unwrap_or_default().trim();
    vec![spec.name.to_string(), tool.required().as_str().to_owned(), first.trim_end_matches('.').to_owned()]
}

fn print_json(tools: &[Arc<dyn Tool>]) -> anyhow::Result<u8> {
    for tool in tools {
        let spec = tool.spec();
        let schema: serde_json::Value = serde_json::from_str(spec.schema.as_str())?;
        let line = json!({
            "name": &*spec.name,
            "required_mode": tool.required().as_str(),
            "description": &*spec.description,
            "input_schema": schema,
        });
        exactly(&format!("{line}\n"))?;
    }
    Ok(0)
}
