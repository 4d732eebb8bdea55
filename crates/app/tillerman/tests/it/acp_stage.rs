//! What tests of the `acp` dialect share: the dialect on a stage, and a client's lines.

use std::sync::Arc;

use dialect_acp::{Acp, AcpOptions, SlashInfo};
use testkit::fakes::CountedIds;
use testkit::golden::{Opening, Scene};
use vocab::IdKind;

/// As `cmd/acp.rs` has it: these would put the client on another session, or are choices of its own.
const UNOFFERED: [&str; 5] = ["clear", "resume", "sessions", "exit", "thinking"];

/// Messages are `m1`, `m2` ... on the wire.
fn ids() -> CountedIds {
    CountedIds::with_names((1..500).map(|number| (IdKind::Session, format!("m{number}"))).collect())
}

pub(crate) fn options() -> AcpOptions {
    let stays = engine::COMMANDS.iter().filter(|command| !UNOFFERED.contains(&command.name));
    let info = |command: &engine::SlashCommand| SlashInfo {
        name: command.name.into(),
        description: command.summary.into(),
        hint: (!command.args.is_empty()).then(|| command.args.into()),
    };
    AcpOptions { commands: stays.map(info).collect(), ..AcpOptions::new(testkit::stage::VERSION, Arc::new(ids())) }
}

pub(crate) fn scene() -> Scene {
    Scene { steady, ..Scene::new(|opening| opening.pipe(dialect(opening))) }
}

/// What a turn that was cut short has used is an estimate, which changes with every word of the system prompt.
fn steady(line: &str) -> String {
    let mut line = line.to_owned();
    if line.contains("\"stopReason\":\"cancelled\"") {
        for name in ["inputTokens", "totalTokens"] {
            let lead = format!("\"{name}\":");
            let Some(at) = line.find(&lead) else { continue };
            let start = at + lead.len();
            let end = line[start..].find(|c: char| !c.is_ascii_digit()).map_or(line.len(), |offset| start + offset);
            line.replace_range(start..end, "\"$INT\"");
        }
    }
    line
}

fn dialect(opening: &Opening) -> Acp {
    Acp::new(AcpOptions { mode: Some(opening.mode), strict: opening.arg("--strict").is_some(), ..options() })
}
