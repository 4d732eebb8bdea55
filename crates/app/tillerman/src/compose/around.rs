//! The way to the user's accounts, keys, skills and pictures, for the engine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use builtin_tools::project::Briefer;
use catalogue::{AccountModels, Catalogue, UserKey};
use vocab::{
    Account, Accounts, Around, Briefing, Fault, FaultKind, Key, KeySet, Later, Limits, ModelSource, Picture, Secret,
    SignInMode, SignInTold, SignedIn, SkillInfo, Skills,
};

use super::hide_memory;

/// How long a provider may take to say what a new key is good for; then the key counts without that.
const KEY_TIME_MAX: Duration = Duration::from_secs(10);

pub(crate) struct UserAround {
    accounts: Arc<AccountModels>,
    exa: Arc<UserKey>,
    /// A server or a key of the environment stands for OpenAI.
    openai_stands: bool,
    models: Arc<Catalogue>,
    /// The model to start with is built in, and somebody asked for it.
    built_in: bool,
    briefer: Briefer,
    home: Option<PathBuf>,
}

/// What the user has to get at models and at the web.
pub(super) struct Ways {
    pub(super) accounts: Arc<AccountModels>,
    pub(super) exa: Arc<UserKey>,
    pub(super) models: Arc<Catalogue>,
    pub(super) built_in: bool,
}

impl UserAround {
    pub(super) fn new(ways: Ways, openai_stands: bool, briefer: Briefer) -> Self {
        let Ways { accounts, exa, models, built_in } = ways;
        Self { accounts, exa, openai_stands, models, built_in, briefer, home: std::env::home_dir() }
    }
}

impl Around for UserAround {
    fn accounts(&self) -> Later<'_, Result<Accounts, Fault>> {
        Box::pin(async {
            let stored = self.accounts.auth().status().await?;
            Ok(Accounts {
                openai: stored.openai || self.openai_stands,
                openrouter: stored.openrouter || self.accounts.has_openrouter(),
                exa: stored.exa || self.exa.is_there(),
                model: stored.model || self.built_in || self.models.has_any().await,
                ..stored
            })
        })
    }

    fn sign_in(
        &self,
        account: Account,
        mode: SignInMode,
        originator: Option<Arc<str>>,
        told: SignInTold,
    ) -> Later<'static, Result<SignedIn, Fault>> {
        let auth = self.accounts.auth().clone();
        Box::pin(async move {
            // From now on there are tokens in our memory.
            hide_memory();
            let mut tell = |step| told(step);
            auth.connect(account, mode, originator.as_deref(), &mut tell).await
        })
    }

    fn cancel_sign_ins(&self, why: &str) {
        self.accounts.auth().cancel_flows(why);
    }

    fn set_key(&self, key: Key, value: Option<Secret>) -> Later<'_, Result<KeySet, Fault>> {
        Box::pin(async move {
            hide_memory();
            let is_set = value.is_some();
            self.accounts.auth().set_key(key, value).await?;
            Ok(match key {
                Key::OpenRouter if is_set => self.accounts.try_key(KEY_TIME_MAX).await,
                Key::OpenRouter | Key::Exa => KeySet { models: 0, source: ModelSource::Fallback },
            })
        })
    }

    fn sign_out(&self, account: Account) -> Later<'_, Result<(), Fault>> {
        Box::pin(self.accounts.auth().sign_out(account))
    }

    fn limits(&self) -> Later<'_, Result<Limits, Fault>> {
        Box::pin(async {
            let auth = self.accounts.auth();
            let stored = auth.status().await?;
            if !stored.openai && !stored.antigravity {
                return Err(Fault::new(FaultKind::Auth, "limits requires at least one oauth provider"));
            }
            let openai = async { if stored.openai { Some(auth.openai_limits().await) } else { None } };
            let antigravity = async { if stored.antigravity { Some(auth.antigravity_limits().await) } else { None } };
            let (openai, antigravity) = tokio::join!(openai, antigravity);
            Ok(Limits { openai, antigravity })
        })
    }

    fn routes(&self, model: &str) -> Later<'_, Result<Vec<Arc<str>>, Fault>> {
        let model = model.trim().to_owned();
        Box::pin(async move { self.accounts.routes(&model).await })
    }

    fn route(&self, to: Option<Arc<str>>) {
        self.accounts.route(to);
    }

    fn forget(&self) -> Later<'_, Result<(), Fault>> {
        Box::pin(async {
            self.accounts.route(None);
            self.accounts.auth().forget_everything().await
        })
    }

    fn skills(&self, workspace: &Path) -> Later<'static, Skills> {
        let places = skills::Places {
            cwd: workspace.to_owned(),
            data_dir: Some(self.briefer.data.clone()),
            home: self.home.clone(),
            // They are only listed, each with its file.
            trusted: Vec::new(),
        };
        Box::pin(async move {
            let found = tokio::task::spawn_blocking(move || skills::scan(&places)).await;
            let found = found.unwrap_or_else(|_| skills::SkillScan {
                errors: vec!["the search for skills was broken off".to_owned()],
                ..skills::SkillScan::default()
            });
            let skill = |skill: skills::Skill| SkillInfo {
                preview: skill.description_preview(),
                name: skill.name,
                description: skill.description,
                source: skill.source_path,
            };
            Skills {
                directories: found.directories,
                errors: found.errors,
                skills: found.skills.into_iter().map(skill).collect(),
            }
        })
    }

    fn briefing(&self, workspace: &Path) -> Option<Later<'static, Briefing>> {
        Some(Box::pin(self.briefer.clone().look(workspace.to_owned())))
    }

    fn picture(&self, base: &Path, name: &str) -> Later<'static, Result<Picture, Fault>> {
        let path = images::locate(base, name, self.home.as_deref());
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || images::read(&path)).await;
            read.unwrap_or_else(|_| Err(Fault::new(FaultKind::Internal, "reading the picture was broken off")))
        })
    }
}
