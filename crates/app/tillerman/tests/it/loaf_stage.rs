//! What tests of the `loaf` dialect share: sessions that behave as the command settles them, the dialect on a stage, and
//! lines that are the same on every run.

use std::sync::Arc;

use dialect_loaf::{Loaf, LoafOptions};
use testkit::Stage;
use testkit::fakes::{CountedIds, TickingClock};
use testkit::golden::{Opening, Scene};
use testkit::pipe::Pipe;
use vocab::{Drain, Gate, IdKind, LateSteer, Mode, ModelInfo, Overflow, Settings};

use crate::loaf_user::LoafUser;

/// Members that hold a time.
const TIMES: &[&str] = &["timestamp", "createdAt", "updatedAt", "enqueuedAt", "time"];
/// Members that count what the system prompt and the tools' schemas take, which change with every word in them.
const COUNTS: &[&str] = &[
    "contextTokenEstimate",
    "total_tokens_estimate",
    "pinned_tokens",
    "tool_schema_tokens",
    "provider_overhead_tokens",
    "estimated_tokens_before",
    "estimated_tokens_after",
];

/// As `cmd/loaf/settle.rs` has it; its own tests hold the numbers.
pub(crate) fn settle(settings: &mut Settings) {
    settings.gate = Gate::Ladder;
    settings.tool_names = dialect_loaf::TOOL_NAMES;
    settings.max_iterations = u32::MAX;
    settings.lane.cap = 256;
    settings.lane.overflow = Overflow::DropNew;
    settings.lane.steer_drain = Drain::All;
    settings.lane.late_steer = LateSteer::Dropped;
    settings.retry.retries_max = 7;
    settings.retry.base_ms = 1250;
    settings.retry.wait_ms_max = 20_000;
    settings.compaction.threshold_pct = 82;
    settings.compaction.keep_pct = 64;
    settings.compaction.on_switch = true;
}

pub(crate) fn scene() -> Scene {
    let user = Arc::new(LoafUser::default());
    let accounts = user.clone();
    let speak = move |opening: &Opening| opening.pipe_with(dialect(opening), user.service(opening.workspace.clone()));
    Scene { provider: "openai", tune: settle, accounts, steady, ..Scene::new(speak) }
}

/// `s1`, `t1` on the wire.
pub(crate) fn options(model: Option<ModelInfo>) -> LoafOptions {
    LoafOptions {
        mode: Some(Mode::DangerFullAccess),
        model: model.map(Arc::new),
        ..LoafOptions::new(testkit::stage::VERSION, Arc::new(TickingClock::default()), Arc::new(CountedIds::default()))
    }
}

/// The dialect on a stage whose accounts are those of `user`.
pub(crate) fn pipe(stage: &Stage, user: &Arc<LoafUser>, options: LoafOptions) -> Pipe {
    let service = user.service(stage.workspace().to_owned());
    Pipe::new(&stage.engine, Loaf::new(options), host::PumpOptions::new(service))
}

fn dialect(opening: &Opening) -> Loaf {
    let asked = opening.arg("--model").unwrap_or("mock/alpha");
    let thinking = opening.arg("--thinking").unwrap_or("OFF");
    let mode = opening.arg("--permission-mode").and_then(Mode::parse);
    let model = (asked != "none").then(|| opening.provider.resolve(asked).expect("a model of the stage"));
    Loaf::new(LoafOptions {
        mode: Some(mode.unwrap_or(Mode::DangerFullAccess)),
        thinking: Some(thinking.into()),
        onboarded: opening.arg("--onboarded").is_some(),
        ..options(model)
    })
}

/// Ids that nobody takes for those of the engine.
pub(crate) fn wire_ids() -> CountedIds {
    let names = |kind: IdKind, word: &'static str| (1..20).map(move |number| (kind, format!("{word}-{number}")));
    CountedIds::with_names(names(IdKind::Session, "session").chain(names(IdKind::Turn, "turn")).collect())
}

/// Times and counts that mean nothing to a reader are shown as what they are.
pub(crate) fn steady(line: &str) -> String {
    let mut line = line.to_owned();
    for name in TIMES {
        replace(&mut line, &format!("\"{name}\":\""), |end| *end == '"', "$TIME");
    }
    for name in COUNTS {
        replace(&mut line, &format!("\"{name}\":"), |end| !end.is_ascii_digit(), "\"$INT\"");
    }
    replace(&mut line, "rpc-image-", |end| !end.is_ascii_digit(), "$MS");
    line
}

/// Puts `by` in place of whatever stands behind each `lead`, up to the first character that ends it.
fn replace(line: &mut String, lead: &str, ends: impl Fn(&char) -> bool, by: &str) {
    let mut from = 0;
    while let Some(at) = line[from..].find(lead) {
        let start = from + at + lead.len();
        let end = line[start..].find(|c| ends(&c)).map_or(line.len(), |offset| start + offset);
        if end > start {
            line.replace_range(start..end, by);
        }
        from = start;
    }
}

#[test]
fn a_line_is_shown_the_same_on_every_run() {
    let line = r#"{"time":"2026-01-01T00:00:00.000Z","createdAt":"x","text":"time","contextTokenEstimate":123,"n":"rpc-image-17.png"}"#;
    let want =
        r#"{"time":"$TIME","createdAt":"$TIME","text":"time","contextTokenEstimate":"$INT","n":"rpc-image-$MS.png"}"#;
    assert_eq!(steady(line), want);
}
