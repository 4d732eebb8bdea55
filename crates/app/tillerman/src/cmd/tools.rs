//! `tools`: what a model is given, and the permission each tool needs.

use std::sync::Arc;

use serde_json::json;
use vocab::{Mode, SessionId, Tool, Toolbox};

use super::config::home;
use crate::args;
use crate::compose;
use crate::print::{exactly, say, warning};
use crate::setup;
use dialect_terminal::listing::table;

/// A tool under the name that a model calls it by.
struct NamedTool {
    name: String,
    tool: Arc<dyn Tool>,
}

pub(crate) fn run(args: &args::ToolsArgs) -> anyhow::Result<u8> {
    let basics = args::Basics { model: Some("tour".into()), ..args::Basics::default() };
    let prepared = setup::prepare(&setup::in_project(&basics)?, Mode::Prompt)?;
    let toolbox =
        builtin_tools::Builtin::new(builtin_tools::BuiltinOptions::new(store::data_dir::spill_dir(&home()?.data)));
    let own = toolbox.open(&SessionId::from("list"), &prepared.setup.settings.workspace)?;
    let mut named: Vec<NamedTool> =
        own.into_iter().map(|tool| NamedTool { name: tool.spec().name.to_string(), tool }).collect();
    let servers: Vec<String> = prepared.config.servers().iter().map(|server| server.name.to_string()).collect();
    if args.servers {
        named.extend(super::block_on(mcp_tools(prepared))??);
    }
    match args.json {
        true => print_json(&named),
        false => {
            let rows: Vec<Vec<String>> = named.iter().map(row).collect();
            say(&table(&["TOOL", "NEEDS", "WHAT IT DOES"], &rows))?;
            if !args.servers && !servers.is_empty() {
                say(&format!(
                    "\nServers bring more: {}; --servers starts them and lists theirs.\n",
                    servers.join(", ")
                ))?;
            }
            Ok(0)
        }
    }
}

/// Tools of the configured servers, which are started for it and end with us.
async fn mcp_tools(prepared: setup::Prepared) -> anyhow::Result<Vec<NamedTool>> {
    let workspace = prepared.setup.settings.workspace.clone();
    let wired = compose::build(prepared.setup).await?;
    let servers = &wired.ports.servers;
    let mut named = Vec::new();
    for started in servers.start(&SessionId::from("list"), &workspace, servers.own()).await {
        let server = started.name;
        match started.tools {
            Ok(tools) => named.extend(tools.into_iter().map(|tool| {
                let name = format!("mcp__{server}__{}", tool.spec().name);
                NamedTool { name, tool }
            })),
            Err(fault) => warning(&format!("{server}: {}", fault.message)),
        }
    }
    Ok(named)
}

fn row(NamedTool { name, tool }: &NamedTool) -> Vec<String> {
    // The first sentence is for everybody; the rest is for the model.
    let first = tool.spec().description.split_inclusive(". ").next().unwrap_or_default().trim();
    let (least, most) = (tool.required().as_str(), tool.most().as_str());
    let needs = if least == most { least.to_owned() } else { format!("{least} to {most}") };
    vec![name.clone(), needs, first.trim_end_matches('.').to_owned()]
}

fn print_json(tools: &[NamedTool]) -> anyhow::Result<u8> {
    for NamedTool { name, tool } in tools {
        let spec = tool.spec();
        let schema: serde_json::Value = serde_json::from_str(spec.schema.as_str())?;
        let line = json!({
            "name": name,
            "required_mode": tool.required().as_str(),
            "most_mode": tool.most().as_str(),
            "description": &*spec.description,
            "input_schema": schema,
        });
        exactly(&format!("{line}\n"))?;
    }
    Ok(0)
}
