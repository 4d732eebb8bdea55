//! Every conversation in `golden/gateway` is played and compared with its file, byte for byte. `UPDATE_EXPECT=1` writes what was
//! heard into the files, for a person to read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dialect_gateway::{AuthState, Gateway, GatewayOptions, Scopes};
use testkit::fakes::{CountedIds, TickingClock};
use testkit::golden::{Opening, Scene};

use crate::play::{Service, paused, prices, settle};

/// Members that hold a time.
const TIMES: &[&str] = &["timestamp", "expiresAt", "untilMs", "at"];
/// Members that count what the system prompt and the tools' schemas take, which change with every word in them.
const COUNTS: &[&str] = &["inputTokens", "estimatedTokens", "remainingTokens", "durationMs", "fullBytes"];

fn scene() -> Scene {
    let speak = |opening: &Opening| {
        let clock: Arc<TickingClock> = Arc::default();
        let options = GatewayOptions::new(testkit::stage::VERSION, clock, Arc::new(CountedIds::behind(100)));
        let options = GatewayOptions { prices: prices(), ..options };
        let auth = match opening.arg("--auth") {
            Some("unknown") => AuthState::Unknown,
            Some("read") => AuthState::Known { scopes: Scopes::READ },
            _ => AuthState::Known { scopes: Scopes::ALL },
        };
        let gateway = Gateway::new(Arc::new(options), "c1".into(), auth, None);
        opening.pipe_with(gateway, Service(opening.store.clone()))
    };
    let tune = |settings: &mut vocab::Settings| {
        let mode = settings.mode;
        settle(settings);
        settings.mode = mode;
    };
    Scene { tune, steady, ..Scene::new(speak) }
}

/// Times and counts stand for themselves.
fn steady(line: &str) -> String {
    let mut line = line.to_owned();
    let times = TIMES.iter().map(|name| (name, "\"$TIME\""));
    for (name, stands) in times.chain(COUNTS.iter().map(|name| (name, "\"$INT\""))) {
        let key = format!("\"{name}\":");
        let mut from = 0;
        while let Some(at) = line[from..].find(&key) {
            let start = from + at + key.len();
            let digits = line[start..].bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                line.replace_range(start..start + digits, stands);
            }
            from = start;
        }
    }
    line
}

#[test]
fn every_golden_conversation_is_what_the_gateway_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../golden/gateway");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "talk"));
    files.sort();
    assert!(files.len() >= 20, "only {} conversations were found", files.len());
    for file in files {
        let story = std::fs::read_to_string(&file).unwrap();
        let fresh = paused(testkit::golden::play(scene(), &story));
        expect_test::expect_file![file].assert_eq(&fresh);
    }
}
