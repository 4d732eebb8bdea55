//! The settings of a gateway that runs: which hold, what a second reading changes, and changing one from outside.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use config::{Configuration, OutsideRefused, ServerConfig, SettingChange};
use engine::Engine;
use gateway::{AccessHandle, ChangedSetting, ConfigSource, GatewayService, NewSetting, NotSet, Reloaded, ServerHandle};
use serde_json::{Value, json};
use vocab::{Fault, Later, SessionId, Settings};

use crate::{access, doubts, service_settings, settle};

/// Where the configuration is read from, and which file of it can be changed.
pub trait SettingsPlace: Send + Sync {
    /// Reads everything once more; `draft`: as if the file that can be changed said this.
    fn read(&self, draft: Option<&str>) -> Result<Configuration, Fault>;
    /// The user's own file, where it can be changed without losing anything.
    fn editable(&self) -> Result<PathBuf, Fault>;
}

/// The settings that hold, and where they are read from again.
pub struct SettingsSource {
    engine: Engine,
    /// What sessions start with where the configuration of the server says nothing.
    settings: Settings,
    /// What the process started with: settings that it cannot take over are compared with these.
    started: Configuration,
    holds: Mutex<(Configuration, Arc<ServerConfig>)>,
    place: Box<dyn SettingsPlace>,
    /// Held from the reading of the file until what it says holds, and while it is changed.
    changing: Mutex<()>,
    /// Once the server runs: whom a change reaches.
    reaches: OnceLock<(AccessHandle, GatewayService)>,
    /// Once the server runs: where, which a flag or the system may have chosen.
    listens: OnceLock<SocketAddr>,
}

impl SettingsSource {
    pub fn new(
        engine: Engine,
        settings: Settings,
        holds: (Configuration, Arc<ServerConfig>),
        place: Box<dyn SettingsPlace>,
    ) -> Self {
        let started = holds.0.clone();
        let (holds, changing) = (Mutex::new(holds), Mutex::default());
        let (reaches, listens) = (OnceLock::new(), OnceLock::new());
        Self { engine, settings, started, holds, place, changing, reaches, listens }
    }

    /// The server runs: changes reach it from now on.
    pub fn reaches(&self, running: &ServerHandle, service: GatewayService) {
        let _ = self.reaches.set((running.access(), service));
        if let Some(address) = running.addresses().first() {
            let _ = self.listens.set(*address);
        }
    }

    /// The configuration that holds now.
    pub fn with_config<T>(&self, look: impl FnOnce(&Configuration) -> T) -> T {
        look(&self.holds().0)
    }

    pub fn server(&self) -> Arc<ServerConfig> {
        self.holds().1.clone()
    }

    fn holds(&self) -> MutexGuard<'_, (Configuration, Arc<ServerConfig>)> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a session of this id starts with that the gateway's own dialect makes. What is set there was said by somebody who may
    /// be gone before the first prompt.
    pub fn usual_here(&self, session: &SessionId) -> Settings {
        Settings { begins_with_settings: true, ..self.usual(session) }
    }

    /// What a session of this id starts with.
    pub fn usual(&self, session: &SessionId) -> Settings {
        let server = self.holds().1.clone();
        let mut settings = self.settings.clone();
        settle(&mut settings, &server);
        settings.lane = server.queue.policy(session.as_str());
        settings
    }

    /// Everything as it would be now, and whether a server could go by it.
    fn read(&self, draft: Option<&str>) -> Result<(Configuration, ServerConfig), Vec<String>> {
        let wrong = |fault: Fault| vec![without_quotes(&fault.message)];
        let config = self.place.read(draft).map_err(wrong)?;
        let server = config.server().map_err(wrong)?;
        Ok((config, server))
    }

    /// Whoever reads to compare or to take over is alone: between the reading of one and what comes of it another would make
    /// hold what the first has not read.
    fn alone(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What would change; nothing does.
    pub fn look_ahead(&self) -> Result<Reloaded, Vec<String>> {
        let _alone = self.alone();
        let (config, _) = self.read(None)?;
        Ok(reloaded(&config, &self.holds().0))
    }

    /// Reads everything again and makes it hold.
    pub fn take_over(&self) -> Result<Reloaded, Vec<String>> {
        self.take_over_as(&self.alone())
    }

    /// All of it or nothing: what can fail comes first.
    fn take_over_as(&self, _alone: &MutexGuard<'_, ()>) -> Result<Reloaded, Vec<String>> {
        let (config, server) = self.read(None)?;
        let server = Arc::new(server);
        let reaches = self.reaches.get();
        if let Some((handle, _)) = reaches {
            handle.set(access(&server)).map_err(|error| vec![error.to_string()])?;
        }
        let mut settings = self.settings.clone();
        settle(&mut settings, &server);
        self.engine.set_defaults(settings.clone());
        if let Some((_, service)) = reaches {
            service.settle(service_settings(&server, &settings));
        }
        doubts(&config, &server).iter().for_each(|doubt| host::note(doubt));
        let mut holds = self.holds();
        let reloaded = reloaded(&config, &holds.0);
        let (_, before) = std::mem::replace(&mut *holds, (config, server.clone()));
        drop(holds);
        let of = |server: Arc<ServerConfig>| move |session: &SessionId| server.queue.policy(session.as_str());
        self.engine.change_usual_lanes(of(before), of(server));
        Ok(reloaded)
    }

    /// What is otherwise than the process runs with, however often it was read since: it waits for a new start.
    fn waiting(&self, dry_run: bool) -> Result<Vec<String>, Vec<String>> {
        let now = if dry_run { self.read(None)?.0 } else { self.holds().0.clone() };
        let waits = now.changes(&self.started).into_iter().filter(|change| change.restart_required);
        Ok(waits.map(|change| change.name.to_owned()).collect())
    }

    /// Writes one setting into the user's file and makes it hold, unless it is only tried.
    fn change(&self, new: &NewSetting) -> Result<Reloaded, NotSet> {
        let alone = self.alone();
        let file = self.place.editable().map_err(|fault| NotSet::NotSettable(fault.explained()))?;
        let edit = config::plan_outside(&file, &new.path, &new.value).map_err(|refused| match refused {
            OutsideRefused::Unknown(why) => NotSet::Unknown(why),
            OutsideRefused::NotSettable(why) => NotSet::NotSettable(why),
            OutsideRefused::Invalid(why) => NotSet::Invalid(vec![why]),
        })?;
        let (planned, _) = self.read(Some(&edit.text)).map_err(NotSet::Invalid)?;
        let mut reloaded = match new.dry_run {
            true => reloaded(&planned, &self.holds().0),
            false => {
                edit.write().map_err(|fault| NotSet::Invalid(vec![fault.explained()]))?;
                self.take_over_as(&alone).map_err(|mut errors| {
                    errors.extend(edit.take_back().err().map(|fault| fault.message));
                    NotSet::Invalid(errors)
                })?
            }
        };
        reloaded.shadowed_by = shadow(&planned, &edit.name);
        Ok(reloaded)
    }
}

/// What is laid over the user's own file there.
fn shadow(config: &Configuration, name: &str) -> Option<String> {
    let source = config.source(name)?;
    (!matches!(source, config::SettingSource::User(_))).then(|| source.to_string())
}

fn reloaded(config: &Configuration, before: &Configuration) -> Reloaded {
    let changes = config.changes(before);
    let changed = changes.iter().map(|change| change.name.to_owned()).collect();
    let wanting = changes.iter().filter(|change| change.restart_required);
    let restart_required = wanting.map(|change| change.name.to_owned()).collect();
    let shown = |SettingChange { name, from, to, restart_required }| ChangedSetting {
        path: name.to_owned(),
        from,
        to,
        restart_required,
    };
    Reloaded { changed, restart_required, changes: changes.into_iter().map(shown).collect(), shadowed_by: None }
}

/// An error without the lines of the file that it points at: what stands there may be a secret.
fn without_quotes(message: &str) -> String {
    let is_quote =
        |line: &str| line.trim_start().trim_start_matches(|it: char| it.is_ascii_digit()).trim_start().starts_with('|');
    message.lines().filter(|line| !is_quote(line)).map(str::trim).collect::<Vec<_>>().join("; ")
}

/// The settings as the gateway's services ask for them. Files are read and written beside the runtime.
pub struct SettingsService(pub Arc<SettingsSource>);

impl ConfigSource for SettingsService {
    fn shown(&self) -> Value {
        let holds = self.0.holds();
        let mut shown = holds.0.redacted(&holds.1, None).unwrap_or_else(|| json!({}));
        if let Some(listens) = self.0.listens.get() {
            shown["server"]["host"] = json!(listens.ip().to_string());
            shown["server"]["port"] = json!(listens.port());
        }
        shown
    }
    fn schema(&self) -> Value {
        config::schema()
    }
    fn reload(&self, dry_run: bool) -> Later<'static, Result<Reloaded, Vec<String>>> {
        let source = self.0.clone();
        let work = tokio::task::spawn_blocking(move || {
            let reloaded = if dry_run { source.look_ahead() } else { source.take_over() };
            Ok(Reloaded { restart_required: source.waiting(dry_run)?, ..reloaded? })
        });
        Box::pin(async move { work.await.unwrap_or_else(|_| Err(vec!["it could not be read".to_owned()])) })
    }
    fn set(&self, new: NewSetting) -> Later<'static, Result<Reloaded, NotSet>> {
        let source = self.0.clone();
        let work = tokio::task::spawn_blocking(move || source.change(&new));
        let lost = || NotSet::Invalid(vec!["it could not be written".to_owned()]);
        Box::pin(async move { work.await.unwrap_or_else(|_| Err(lost())) })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use config::LoadFrom;
    use testkit::Stage;
    use testkit::stage::StageOptions;
    use vocab::Mode;

    use super::*;

    /// How long a reading lets others go ahead of it.
    const OTHERS_GO_AHEAD: Duration = Duration::from_millis(300);

    fn loaded(file: &Path, draft: Option<&str>) -> Result<Configuration, Fault> {
        let nobody = |_: &str| None;
        let workspace = file.parent().unwrap();
        let from = LoadFrom { env: &nobody, home: None, workspace, file: Some(file), default_mode: Mode::Prompt };
        Configuration::load_as_if(&from, draft.map(|draft| (file, draft)))
    }

    /// A file whose first reading is slow.
    struct SlowPlace {
        file: PathBuf,
        first: Mutex<Option<(Sender<()>, Receiver<()>)>>,
    }

    impl SettingsPlace for SlowPlace {
        fn read(&self, draft: Option<&str>) -> Result<Configuration, Fault> {
            let config = loaded(&self.file, draft);
            let first = self.first.lock().unwrap().take();
            if let Some((has_read, others)) = first {
                has_read.send(()).unwrap();
                let _ = others.recv_timeout(OTHERS_GO_AHEAD);
            }
            config
        }
        fn editable(&self) -> Result<PathBuf, Fault> {
            Ok(self.file.clone())
        }
    }

    #[tokio::test]
    async fn a_reload_does_not_take_back_a_setting_that_was_made_meanwhile() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("config.toml");
        std::fs::write(&file, "[server.queue]\ncap = 5\n").unwrap();
        let config = loaded(&file, None).unwrap();
        let server = Arc::new(config.server().unwrap());
        let ((has_read, reads), (is_set, others)) = (channel(), channel());
        let place = SlowPlace { file: file.clone(), first: Mutex::new(Some((has_read, others))) };
        let stage = Stage::new(StageOptions::default());
        let source = SettingsSource::new(
            stage.engine.clone(),
            Settings::new(home.path(), "tour"),
            (config, server),
            Box::new(place),
        );
        std::thread::scope(|scope| {
            scope.spawn(|| source.take_over().unwrap());
            reads.recv().unwrap();
            let new = NewSetting { path: "server.queue.cap".to_owned(), value: json!(9), dry_run: false };
            source.change(&new).unwrap_or_else(|_| panic!("it is set"));
            let _ = is_set.send(());
        });
        assert!(std::fs::read_to_string(&file).unwrap().contains("cap = 9"));
        assert_eq!(source.server().queue.usual.cap, 9, "what the file says holds");
    }
}
