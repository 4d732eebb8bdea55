//! Every conversation in `golden/gateway/services` is played and compared with its file, byte for byte. `UPDATE_EXPECT=1` writes
//! what was heard into the files, for a person to read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dialect_gateway::{AuthState, Gateway, GatewayOptions, Scopes};
use gateway::{GatewayCounts, GatewayService, ServiceParts, StoreKey};
use testkit::fakes::{CountedIds, TickingClock};
use testkit::golden::{Opening, Scene};

use crate::play::{MadeUpConfig, one_token, paused, settings};
use crate::shelf::SeenShelf;

/// Members that hold a time.
const TIMES: &[&str] = &[
    "timestamp",
    "createdAt",
    "updatedAt",
    "receivedAt",
    "registeredAt",
    "lastSeenAt",
    "lastMessageAt",
    "at",
    "openedAt",
    "expiresAt",
    "movedAt",
    "since",
    "generatedAt",
    "startedAt",
    "endedAt",
    "durationMs",
];
/// Members that count what changes with every word of the system prompt, or with the clock.
const COUNTS: &[&str] = &["inputTokens", "estimatedTokens", "remainingTokens", "unpriced", "stallInMs"];

fn scene() -> Scene {
    let counts = GatewayCounts::default();
    Scene {
        steady,
        store: counts.counted(Arc::new(store::MemoryStore::new())),
        ..Scene::new(move |opening: &Opening| {
            let clock: Arc<TickingClock> = Arc::default();
            let parts = ServiceParts {
                engine: opening.engine.clone(),
                store: opening.store.clone(),
                shelf: Arc::new(SeenShelf::on(Arc::default())),
                clock: clock.clone(),
                config: Arc::<MadeUpConfig>::default(),
                key: StoreKey::new([7; 32]),
                keyring: vocab::Keyring::default(),
                prices: Arc::new(|_| None),
            };
            let service = GatewayService::new(parts, settings(), counts.clone());
            let options = GatewayOptions::new(testkit::stage::VERSION, clock, Arc::new(CountedIds::behind(100)));
            let scopes = if opening.arg("--auth") == Some("read") { Scopes::READ } else { Scopes::ALL };
            let gateway = Gateway::new(Arc::new(options), "c1".into(), AuthState::Known { scopes }, None);
            opening.pipe_with(gateway, service.for_connection("c1".into(), one_token()))
        })
    }
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
    for name in ["createdAt", "lastActiveAt"] {
        let key = format!("\"{name}\":\"2");
        if let Some(at) = line.find(&key) {
            let start = at + key.len() - 1;
            let end = start + line[start..].find('"').unwrap_or(0);
            line.replace_range(start..end, "$TIME");
        }
    }
    line
}

#[test]
fn every_golden_conversation_is_what_the_services_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../golden/gateway/services");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "talk"));
    files.sort();
    assert!(files.len() >= 5, "only {} conversations were found", files.len());
    for file in files {
        let story = std::fs::read_to_string(&file).unwrap();
        let fresh = paused(testkit::golden::play(scene(), &story));
        expect_test::expect_file![file].assert_eq(&fresh);
    }
}
