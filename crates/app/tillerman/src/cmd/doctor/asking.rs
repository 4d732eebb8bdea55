//! Whoever has to be asked: servers of models and servers of tools, all at once and for a limited time.

use std::io::{IsTerminal, Write};

use vocab::{FaultKind, McpStarted, SessionId};

use super::{Finding, Verdict, failed, finding};
use crate::compose::{self, Wired};
use crate::setup::Prepared;
use catalogue::{KEYED_VENDORS, Lookout, Reached, SourceReport};

/// The model that would be used, every source of models, and every server of tools: what was found where.
pub(super) fn findings(mut prepared: Prepared) -> anyhow::Result<Vec<Finding>> {
    prepared.setup.models.lookout = Lookout::Wait;
    // A look leaves no trace: no list of models is kept.
    prepared.setup.settings.ephemeral = true;
    let asked = prepared.config.model().is_some();
    let workspace = prepared.setup.settings.workspace.clone();
    crate::cmd::block_on(async {
        let wired = match compose::build(prepared.setup).await {
            Ok(wired) => wired,
            Err(fault) => return Ok(vec![failed("model", &fault)]),
        };
        let servers = wired.ports.servers.own();
        progress(&wired, servers.len());
        let starting = wired.ports.servers.start(&SessionId::from("doctor"), &workspace, servers);
        let (reached, served) = tokio::join!(wired.catalogue.checkup(), starting);
        let mut findings = models(&wired, asked, &reached);
        findings.extend(served.iter().map(server));
        Ok(findings)
    })?
}

/// On a terminal somebody waits.
fn progress(wired: &Wired, servers: usize) {
    let stderr = std::io::stderr();
    let waits = servers + wired.sources.len();
    if waits > 0 && stderr.is_terminal() {
        // Nobody is left to tell where it is gone.
        let _ = writeln!(stderr.lock(), "… asking {waits} servers, some seconds at most");
    }
}

fn models(wired: &Wired, asked: bool, reached: &[Reached]) -> Vec<Finding> {
    let real = asked || &*wired.settings.model != "tour";
    let verdict = if real { Verdict::Ok } else { Verdict::Warn };
    let mut findings = vec![finding(verdict, "model", wired.reason.trim_start_matches("model "))];
    findings.extend(wired.notes.iter().map(|note| finding(Verdict::Warn, "model", note.clone())));
    findings.extend(wired.sources.iter().map(|source| provider(source, reached)));
    let there = |name: &str| wired.sources.iter().any(|source| &*source.name == name);
    let missing: Vec<&str> =
        KEYED_VENDORS.iter().filter(|it| !there(it.name)).filter_map(|it| Some(it.keys.first()?.0)).collect();
    if !missing.is_empty() {
        findings.push(finding(Verdict::Ok, "not set", missing.join(", ")));
    }
    findings
}

fn provider(source: &SourceReport, reached: &[Reached]) -> Finding {
    let SourceReport { name, api, base_url, key, .. } = source;
    let what = format!("{name}: {key}; {base_url} ({api})");
    let of = |it: &&Reached| it.name == *name;
    // Of several addresses of one name the one that fails counts.
    let worst = reached.iter().filter(of).find(|it| it.listed.is_err()).or(reached.iter().find(of));
    match worst.map(|it| &it.listed) {
        Some(Ok(models)) => finding(Verdict::Ok, "provider", format!("{what}, lists {models} models")),
        // It is there and has a word of its own: not every server has a list.
        Some(Err(fault)) if !matches!(fault.kind, FaultKind::Network | FaultKind::Auth) => {
            finding(Verdict::Warn, "provider", format!("{what}, gives no list of models: {}", fault.message))
        }
        Some(Err(fault)) => {
            let text = format!("{name}: {}", fault.message);
            // Whoever names a model still has to be answered by it.
            let hints = fault.hints.iter().filter(|hint| !hint.contains("--model")).cloned().collect();
            Finding { hints, ..finding(Verdict::Fail, "provider", text) }
        }
        None => finding(Verdict::Ok, "provider", what),
    }
}

fn server(served: &McpStarted) -> Finding {
    match &served.tools {
        Ok(tools) => finding(Verdict::Ok, "server", format!("{}: {} tools", served.name, tools.len())),
        Err(fault) => {
            let text = format!("{}: {}", served.name, fault.message);
            Finding { hints: fault.hints.clone(), ..finding(Verdict::Fail, "server", text) }
        }
    }
}
