//! What is kept from one process to the next, how a session is settled, which model it starts with.

use std::os::unix::fs::PermissionsExt;

use dialect_loaf::prefer;
use vocab::{Chat, Drain, Gate, Ids, LateSteer, Later, ModelInfo, Overflow, Provider};

use super::*;
use vocab::IdKind;

// ---- what is kept -----------------------------------------------------------------------------------------------

#[test]
fn what_was_selected_comes_back_and_only_its_owner_can_read_it() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("not/yet/there");
    let (file, kept) = PreferencesFile::open(&data);
    assert!(kept.model.is_none() && kept.trouble.is_none() && !kept.onboarded, "{kept:?}");
    for (key, value) in [
        (prefer::MODEL, "a"),
        (prefer::MODEL, "b"),
        (prefer::THINKING, "LOW"),
        (prefer::ROUTE, "x"),
        (prefer::ONBOARDED, "true"),
    ] {
        assert_eq!(file.save(key, value).unwrap(), data.join("loaf.json"));
    }
    let mode = std::fs::metadata(data.join("loaf.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    file.save(prefer::ROUTE, "").unwrap();
    let (_, kept) = PreferencesFile::open(&data);
    assert_eq!((kept.model.as_deref(), kept.thinking.as_deref()), (Some("b"), Some("LOW")));
    assert_eq!((kept.route, kept.onboarded), (None, true));
}

#[test]
fn a_damaged_file_counts_as_empty_and_is_replaced_whole() {
    let huge = format!("{{\"loaf.model\":\"{}\"}}", "x".repeat(70_000));
    for damage in [&b"{"[..], b"[]", b"{\"loaf.model\":1}", b"\xff\xfe", b"", huge.as_bytes()] {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("loaf.json");
        std::fs::write(&path, damage).unwrap();
        let (file, kept) = PreferencesFile::open(home.path());
        let trouble = kept.trouble.unwrap();
        assert!(trouble.contains("loaf.json is damaged"), "{trouble}");
        assert!(kept.model.is_none());
        file.save(prefer::MODEL, "m").unwrap();
        let (_, kept) = PreferencesFile::open(home.path());
        assert_eq!((kept.model.as_deref(), kept.trouble), (Some("m"), None));
    }
}

#[test]
fn two_processes_keep_what_the_other_kept() {
    let home = tempfile::tempdir().unwrap();
    let open = || PreferencesFile::open(home.path());
    let ((one, _), (other, _)) = (open(), open());
    one.save(prefer::MODEL, "m").unwrap();
    other.save(prefer::THINKING, "LOW").unwrap();
    let (_, kept) = open();
    assert_eq!((kept.model.as_deref(), kept.thinking.as_deref()), (Some("m"), Some("LOW")));
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("loaf.json");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    let (_, kept) = PreferencesFile::open(home.path());
    assert!(kept.trouble.unwrap().contains("it is not a file"));
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let home = tempfile::tempdir().unwrap();
    let blocked = home.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let (file, _) = PreferencesFile::open(&blocked);
    let fault = file.save(prefer::MODEL, "m").unwrap_err();
    assert_eq!(fault.kind, FaultKind::Store);
    assert!(fault.message.contains("loaf.json"), "{fault}");
}

// ---- what is asked beside the engine ------------------------------------------------------------------------------

#[test]
fn skills_and_images_come_from_the_disk() {
    let home = tempfile::tempdir().unwrap();
    let skill = home.path().join("skills/greet");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nSay hello.\n").unwrap();
    let (cwd, data_dir) = (home.path().to_owned(), Some(home.path().to_owned()));
    let found = wires::loaf::find_skills(&skills::Places { cwd, data_dir, home: None, trusted: Vec::new() });
    let greet = found.skills.iter().find(|skill| skill.name == "greet").unwrap();
    assert_eq!((&*greet.description, &*greet.preview), ("Says hello.", "Says hello."));
    assert!(greet.source.ends_with("greet/SKILL.md") && found.directories.contains(&home.path().join("skills")));

    let path = home.path().join("a.png");
    std::fs::write(&path, b"abc").unwrap();
    let image = wires::loaf::read_image(&path).unwrap();
    assert_eq!((&*image.path, &*image.image.base64, image.bytes), (path.to_str().unwrap(), "YWJj", 3));
    let fault = wires::loaf::read_image(&home.path().join("b.png")).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Invalid);
    assert!(fault.message.starts_with("file not found: "), "{fault}");
}

// ---- settings ---------------------------------------------------------------------------------------------------

fn settled(toml: &str) -> vocab::Settings {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("config.toml");
    std::fs::write(&file, toml).unwrap();
    let config = Configuration::load(&config::LoadFrom {
        env: &|_| None,
        home: None,
        workspace: place.path(),
        file: Some(&file),
        default_mode: Mode::DangerFullAccess,
    })
    .unwrap();
    let mut settings = vocab::Settings::new("/", "");
    settle(&mut settings, &config);
    settings
}

#[test]
fn a_client_gets_what_the_original_does() {
    let it = settled("");
    assert_eq!(
        (it.gate, it.tool_names, it.max_iterations, it.reminders_max),
        (Gate::Ladder, dialect_loaf::TOOL_NAMES, u32::MAX, 0)
    );
    assert_eq!((it.lane.cap, it.lane.overflow), (256, Overflow::DropNew));
    assert_eq!((it.lane.steer_drain, it.lane.late_steer), (Drain::All, LateSteer::Dropped));
    assert_eq!((it.lane.steer_point, it.lane.follow_up_drain), (vocab::SteerPoint::Wait, Drain::OneAtATime));
    assert_eq!(
        (it.retry.retries_max, it.retry.base_ms, it.retry.wait_ms_max, it.retry.jitter),
        (7, 1250, 20_000, false)
    );
    assert_eq!((it.compaction.threshold_pct, it.compaction.on_switch, it.compaction.auto), (82, true, true));
    assert!((50..74).contains(&it.compaction.keep_pct), "{}", it.compaction.keep_pct);
}

#[test]
fn our_own_configuration_wins() {
    let it = settled("max_iterations = 9\n[retry]\nretries_max = 1\n[compaction]\nthreshold_pct = 50\nauto = false\n");
    assert_eq!((it.max_iterations, it.retry.retries_max, it.retry.base_ms), (9, 1, 1250));
    assert_eq!((it.compaction.threshold_pct, it.compaction.auto, it.compaction.on_switch), (50, false, true));
}

// ---- the model --------------------------------------------------------------------------------------------------

struct Two;

impl Provider for Two {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        match slug {
            "one" | "two" => Ok(ModelInfo::named(slug, 1000)),
            _ => Err(Fault::new(FaultKind::UnknownModel, slug)),
        }
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        Err(Fault::new(FaultKind::UnknownModel, &*model.slug))
    }
}

#[test]
fn a_model_of_an_earlier_time_is_taken_where_it_still_exists() {
    let slug = |earlier, first| model(&Two, earlier, first).map(|info| info.slug.to_string());
    assert_eq!(slug(Some("two"), Some("one")).as_deref(), Some("two"));
    assert_eq!(slug(Some("gone"), Some("one")).as_deref(), Some("one"));
    assert_eq!(slug(None, Some("one")).as_deref(), Some("one"));
    assert_eq!(slug(Some("two"), None).as_deref(), Some("two"));
    assert_eq!(slug(Some("gone"), None), None);
    assert_eq!(slug(None, None), None);
}

#[test]
fn every_id_is_a_whole_uuid() {
    for kind in [IdKind::Session, IdKind::Turn, IdKind::Item] {
        let (first, second) = (FullIds.mint(kind), FullIds.mint(kind));
        assert!(uuid::Uuid::parse_str(&first).is_ok() && first.len() == 36, "{first}");
        assert_ne!(first, second);
    }
}

#[test]
fn a_client_opens_sessions_itself() {
    let basics = args::Basics { resume: Some("latest".into()), ..args::Basics::default() };
    let Err(fault) = ready(&args::LoafArgs { basics, attach: args::AttachArgs::default() }) else {
        panic!("it started")
    };
    assert!(fault.message.contains("--resume"), "{fault}");
}
