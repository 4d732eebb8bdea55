//! Answers what the `loaf` dialect alone can ask, beside the engine. What is quick is done before the call returns, so that
//! it holds for whatever is asked next; the rest runs on its own, and goes on where nobody waits for it any more.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use accounts::{Key, LimitWindow, ModelLimit, OpenAiLimits};
use catalogue::{KeySet, ModelSource, UsedUp, UserAccounts};
use dialect_loaf::{
    KeyTried, Listed, LoadedImage, LoafAnswer, LoafLimits, LoafOwn, ModelUse, PlanUse, SkillList, SkillRow, WindowUse,
};
use host::OwnCalls;
use tokio::sync::Semaphore;
use vocab::{AccountName, Fault, FaultKind, Later, Secret};

use super::preferences::PreferencesFile;

/// Images that are read at once: each is as large as a line may be.
const IMAGES_MAX: usize = 1;

pub struct LoafService {
    accounts: Arc<UserAccounts>,
    kept: PreferencesFile,
    skills: skills::Places,
    images: Arc<Semaphore>,
}

impl LoafService {
    pub fn new(accounts: Arc<UserAccounts>, kept: PreferencesFile, workspace: PathBuf, data_dir: PathBuf) -> Self {
        let skills = skills::Places {
            cwd: workspace,
            data_dir: Some(data_dir),
            home: std::env::home_dir(),
            // They are only listed, each with its file.
            trusted: Vec::new(),
        };
        Self { accounts, kept, skills, images: Arc::new(Semaphore::new(IMAGES_MAX)) }
    }

    fn image(&self, name: &str) -> Later<'static, Result<LoafAnswer, Fault>> {
        let path = images::locate(&self.skills.cwd, name, self.skills.home.as_deref());
        let turn = self.images.clone();
        kept_up(async move {
            let _turn = turn.acquire().await;
            let image = tokio::task::spawn_blocking(move || read_image(&path)).await.map_err(|_| broken_off())??;
            Ok(LoafAnswer::Image(Box::new(image)))
        })
    }
}

impl OwnCalls<LoafOwn> for LoafService {
    fn call(&self, call: LoafOwn) -> Later<'static, Result<LoafAnswer, Fault>> {
        let accounts = self.accounts.clone();
        match call {
            LoafOwn::SetKey { account, value } => {
                kept_up(async move { set_key(&accounts, account, value).await.map(LoafAnswer::KeySet) })
            }
            LoafOwn::Limits => {
                kept_up(async move { Ok(LoafAnswer::Limits(Box::new(limits(accounts.limits().await?)))) })
            }
            LoafOwn::Routes { model } => kept_up(async move { accounts.routes(&model).await.map(LoafAnswer::Routes) }),
            LoafOwn::Route { to } => {
                accounts.route(to);
                at_once(Ok(LoafAnswer::Done))
            }
            LoafOwn::Skills => {
                let places = self.skills.clone();
                kept_up(async move {
                    let found = tokio::task::spawn_blocking(move || find_skills(&places)).await;
                    Ok(LoafAnswer::Skills(Box::new(found.unwrap_or_else(|_| unsearched()))))
                })
            }
            LoafOwn::Image { name } => self.image(&name),
            LoafOwn::Prefer { key, value } => at_once(self.kept.save(key, &value).map(|_| LoafAnswer::Done)),
        }
    }
}

fn at_once(answer: Result<LoafAnswer, Fault>) -> Later<'static, Result<LoafAnswer, Fault>> {
    Box::pin(std::future::ready(answer))
}

/// Runs whether or not somebody waits; whatever becomes of it, there is an answer.
fn kept_up(
    work: impl Future<Output = Result<LoafAnswer, Fault>> + Send + 'static,
) -> Later<'static, Result<LoafAnswer, Fault>> {
    let work = tokio::spawn(work);
    let broken = || Err(Fault::new(FaultKind::Internal, "the answer could not be made"));
    Box::pin(async move { work.await.unwrap_or_else(|_| broken()) })
}

async fn set_key(accounts: &UserAccounts, of: AccountName, value: Option<Secret>) -> Result<KeyTried, Fault> {
    let keyless = || Fault::new(FaultKind::Unsupported, format!("{of} takes no key"));
    let KeySet { models, source } = accounts.set_key(Key::of(of).ok_or_else(keyless)?, value).await?;
    let listed = match source {
        ModelSource::Remote => Listed::Remote,
        ModelSource::Cache => Listed::Cache,
        ModelSource::Fallback => Listed::Fallback,
    };
    Ok(KeyTried { models, listed })
}

fn limits(used: UsedUp) -> LoafLimits {
    let window = |it: LimitWindow| WindowUse {
        used_percent: it.used_percent,
        window_seconds: it.window_seconds,
        resets_at: it.resets_at,
    };
    let plan = |OpenAiLimits { plan, primary, secondary }| PlanUse {
        plan,
        primary: primary.map(window),
        secondary: secondary.map(window),
    };
    let model = |ModelLimit { name, remaining_percent, reset_time }| ModelUse { name, remaining_percent, reset_time };
    let models = |all: Vec<ModelLimit>| all.into_iter().map(model).collect();
    LoafLimits { openai: used.openai.map(|it| it.map(plan)), antigravity: used.antigravity.map(|it| it.map(models)) }
}

/// Blocks.
pub fn find_skills(places: &skills::Places) -> SkillList {
    let found = skills::scan(places);
    let row = |skill: skills::Skill| SkillRow {
        preview: skill.description_preview(),
        name: skill.name,
        description: skill.description,
        source: skill.source_path,
    };
    SkillList {
        directories: found.directories,
        errors: found.errors,
        skills: found.skills.into_iter().map(row).collect(),
    }
}

fn unsearched() -> SkillList {
    SkillList { errors: vec!["the search for skills was broken off".to_owned()], ..SkillList::default() }
}

/// Blocks.
pub fn read_image(path: &Path) -> Result<LoadedImage, Fault> {
    let images::ImageFile { path, image, bytes } = images::read(path)?;
    Ok(LoadedImage { path: path.display().to_string().into(), image, bytes })
}

fn broken_off() -> Fault {
    Fault::new(FaultKind::Internal, "reading the picture was broken off")
}
