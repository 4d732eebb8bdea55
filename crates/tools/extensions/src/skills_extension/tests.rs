//! Skills with an engine on a stage, with a model that remembers what it was sent.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::player::{Front, Player};
use testkit::stage::Actor;
use testkit::{Stage, StageOptions};
use vocab::{Delta, Open, Which};

use super::*;

const BODY: &str = "Fill forms with the tool in fill.py.";

struct SkillsScene {
    stage: Stage,
    model: Arc<Player>,
    places: Places,
}

impl SkillsScene {
    fn new() -> Self {
        let model = Player::new([]);
        let stage = Stage::new(StageOptions {
            provider: Arc::new(Front(model.clone())),
            model: "wide".into(),
            ..StageOptions::default()
        });
        // The border of the repository, so that nothing above the workspace is looked at.
        std::fs::create_dir(stage.workspace().join(".git")).unwrap();
        let places = Places {
            cwd: stage.workspace().into(),
            data_dir: Some(stage.home().join("data")),
            home: Some(stage.home().join("user")),
            trusted: vec![stage.workspace().into()],
        };
        Self { stage, model, places }
    }

    fn start(&self) -> SkillsExtension {
        start_skills(&self.stage.engine, self.places.clone())
    }

    /// One turn: what people were told of skills before the model was called, and what the model was sent.
    async fn turn(&self, actor: &mut Actor, prompt: &str) -> (Vec<(String, NoticeLevel)>, String) {
        actor.forget();
        actor.prompt(prompt).await;
        actor.turn_end().await;
        let called =
            actor.told.iter().position(|told| matches!(told.event, Event::Delta(Delta::ModelCalled { .. }))).unwrap();
        assert!(says(&actor.told[called..]).is_empty(), "it comes too late: {:#?}", actor.told);
        assert!(
            !actor.told.iter().any(|told| matches!(told.event, Event::Extension(ExtensionEvent::Trouble { .. }))),
            "{:#?}",
            actor.told
        );
        (says(&actor.told[..called]), self.model.system.lock().unwrap().last().unwrap().clone())
    }
}

fn says(told: &[Told]) -> Vec<(String, NoticeLevel)> {
    let one = |told: &Told| match &told.event {
        Event::Extension(ExtensionEvent::Notice(Notice::Say { text, level })) => Some((text.to_string(), *level)),
        _ => None,
    };
    told.iter().filter_map(one).collect()
}

fn skill(root: &Path, name: &str, body: &str) {
    let directory = root.join(name);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("SKILL.md"), format!("---\nname: {name}\ndescription: About it.\n---\n{body}\n"))
        .unwrap();
}

fn applied(names: &str) -> Vec<(String, NoticeLevel)> {
    vec![(format!("skills applied: {names}"), NoticeLevel::Info)]
}

#[tokio::test(start_paused = true)]
async fn a_prompt_gets_the_skill_it_names_and_the_next_one_does_not() {
    let scene = SkillsScene::new();
    skill(&scene.stage.workspace().join(".agents/skills"), "pdf-forms", BODY);
    let _skilled = scene.start();
    let mut actor = scene.stage.open().await;
    for prompt in ["fill it in with pdf-forms, please", "/skill:pdf-forms go", "$pdf-forms go", "/SKILL:PDF-Forms"] {
        let (said, system) = scene.turn(&mut actor, prompt).await;
        assert_eq!(said, applied("pdf-forms (from this workspace)"), "{prompt}");
        assert!(system.contains(BODY) && system.contains("pdf-forms/SKILL.md"), "{prompt}: {system}");
        let (said, system) = scene.turn(&mut actor, "and what about pdf?").await;
        assert!(said.is_empty() && !system.contains(BODY), "after {prompt}: {said:?} {system}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_places_count_and_a_new_skill_counts_at_once() {
    let scene = SkillsScene::new();
    let _skilled = scene.start();
    let mut actor = scene.stage.open().await;
    let prompt = "$one $two $three";
    assert_eq!(scene.turn(&mut actor, prompt).await.0, []);
    let places = [
        scene.stage.workspace().join(".agents/skills"),
        scene.stage.home().join("data/skills"),
        scene.stage.home().join("user/.agents/skills"),
    ];
    for (place, (name, all)) in places.iter().zip([("one", ""), ("two", ", two"), ("three", ", two, three")]) {
        skill(place, name, &format!("body of {name}"));
        let (said, system) = scene.turn(&mut actor, prompt).await;
        assert_eq!(said, applied(&format!("one (from this workspace){all}")));
        assert!(system.contains(&format!("body of {name}")), "{system}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_there_is_no_place_for_skills_nobody_looks_again_for_a_moment() {
    let scene = SkillsScene::new();
    let _skilled = scene.start();
    let mut actor = scene.stage.open().await;
    assert_eq!(scene.turn(&mut actor, "fill it in").await.0, []);
    skill(&scene.stage.home().join("data/skills"), "pdf-forms", BODY);
    assert_eq!(scene.turn(&mut actor, "with pdf-forms").await.0, []);
    assert_eq!(scene.turn(&mut actor, "with $pdf-forms").await.0, applied("pdf-forms"), "asked for by name");
    tokio::time::advance(nowhere::BELIEVED).await;
    assert_eq!(scene.turn(&mut actor, "with pdf-forms").await.0, applied("pdf-forms"));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_skill_is_a_warning_that_names_what_there_is() {
    let scene = SkillsScene::new();
    let _skilled = scene.start();
    let mut actor = scene.stage.open().await;
    let warning = |text: &str| (text.to_owned(), NoticeLevel::Warning);
    let (said, _) = scene.turn(&mut actor, "/skill:nope").await;
    assert_eq!(said, [warning("unknown skill: nope; there are no skills here")]);
    let root = scene.stage.workspace().join(".agents/skills");
    skill(&root, "pdf-forms", BODY);
    skill(&root, "test", "x");
    let (said, system) = scene.turn(&mut actor, "/skill:nope /skill:never /skill:test").await;
    let wanted =
        warning("unknown skill: nope, never; there are: pdf-forms (from this workspace), test (from this workspace)");
    assert_eq!(said, [vec![wanted], applied("test (from this workspace)")].concat());
    assert!(!system.contains(BODY));
    std::fs::write(root.join("test/SKILL.md"), "no front matter").unwrap();
    let (said, _) = scene.turn(&mut actor, "/skill:test").await;
    assert!(
        said[0].0.starts_with("unknown skill: test; there are: pdf-forms (from this workspace) (not understood: "),
        "{said:?}"
    );
    assert!(said[0].0.contains("test/SKILL.md"), "{said:?}");
}

#[test]
fn a_long_list_of_skills_is_cut() {
    let one = |n: usize| skills::Skill {
        name: format!("s{n:02}"),
        description: "d".into(),
        body: "b".into(),
        source_path: "/s".into(),
        origin: Origin::Own,
    };
    let found =
        SkillScan { skills: (0..40).map(one).collect(), errors: vec!["a: b".into(); 3], ..SkillScan::default() };
    let text = unknown(&["x".into()], &found);
    assert!(text.contains("s31 and 8 more (not understood: a: b, and 2 more)") && !text.contains("s32"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn each_session_has_the_skills_of_its_own_workspace() {
    let scene = SkillsScene::new();
    let _skilled = scene.start();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::create_dir(elsewhere.path().join(".git")).unwrap();
    skill(&elsewhere.path().join(".agents/skills"), "pdf-forms", BODY);
    let mut here = scene.stage.open().await;
    let mut there = scene.stage.actor();
    there.open(Open { workspace: Some(elsewhere.path().into()), ..Open::new(Which::New) }).await.unwrap();
    assert_eq!(scene.turn(&mut here, "$pdf-forms").await.0, []);
    assert_eq!(scene.turn(&mut there, "$pdf-forms").await.0, applied("pdf-forms (from this workspace)"));
    let (said, system) = scene.turn(&mut there, "with pdf-forms").await;
    assert_eq!(said[0].0, "pdf-forms is a skill that came with this workspace; $pdf-forms applies it");
    assert!(!system.contains(BODY), "nobody trusts that directory: {system}");
}

#[tokio::test(start_paused = true)]
async fn after_the_shutdown_nobody_is_asked() {
    let scene = SkillsScene::new();
    skill(&scene.stage.workspace().join(".agents/skills"), "pdf-forms", BODY);
    let skilled = scene.start();
    let mut actor = scene.stage.open().await;
    assert_eq!(scene.turn(&mut actor, "$pdf-forms").await.0, applied("pdf-forms (from this workspace)"));
    skilled.shutdown().await;
    let began = tokio::time::Instant::now();
    let (said, system) = scene.turn(&mut actor, "$pdf-forms").await;
    assert!(said.is_empty() && !system.contains(BODY), "{said:?}");
    assert!(began.elapsed().as_secs() < 1, "nobody waited for it");
}

#[test]
fn without_any_directory_no_thread_is_started() {
    let started = Arc::new(AtomicUsize::new(0));
    let count = started.clone();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.on_thread_start(move || _ = count.fetch_add(1, Ordering::SeqCst)).build().unwrap();
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join(".git")).unwrap();
    let data_dir = Some(place.path().join("data"));
    let places =
        Places { cwd: place.path().into(), data_dir, home: Some(place.path().join("home")), trusted: Vec::new() };
    let advice_for = |prompt: &str| runtime.block_on(look(prompt.into(), places.clone(), Arc::default()));
    assert_eq!(advice_for("$pdf-forms, please"), Advice { notices: Vec::new(), verdict: HookVerdict::Fine });
    assert_eq!(advice_for("/skill:x").notices.len(), 1);
    assert_eq!(started.load(Ordering::SeqCst), 0);
    skill(&place.path().join(".agents/skills"), "pdf-forms", BODY);
    assert!(matches!(advice_for("$pdf-forms").verdict, HookVerdict::Context { .. }));
    assert_eq!(started.load(Ordering::SeqCst), 1);
}
