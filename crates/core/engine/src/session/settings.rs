//! The settings in force, and what they were before a change that is not written yet: what is refused is not in force.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

use vocab::{
    Body, Change, CompactionPolicy, Conduct, Fault, FaultKind, LanePolicy, LaneWish, Mode, ModelInfo, RetryPolicy,
    SettingEntry, Settings,
};

use super::fallback::Fallback;
use super::{Session, SessionModel, reminders};

/// The settings as they are now. They are read as they are; what changes them is named here, so that whatever is made of them
/// is made anew.
pub(super) struct InForce {
    now: Settings,
    /// The model that is asked. Another than the chosen one while a fallback stands in for it.
    asked: Arc<ModelInfo>,
    /// The chosen model was not here when the session was loaded, and none is asked.
    is_model_gone: bool,
    pub(super) fallback: Option<Fallback>,
    /// The client that opened the session named a thinking level: the log's does not count.
    thinking_asked: bool,
    changes: Changes,
    revision: u64,
    /// The rules of the queue while the session has none of its own.
    usual_lane: LanePolicy,
    own: OwnWishes,
}

/// What a session has of its own, beside what is usual.
#[derive(Clone, Default)]
pub(super) struct OwnWishes {
    pub(super) lane: LaneWish,
    pub(super) elevated_until_ms: Option<i64>,
    /// What its model was chosen by, where that is not the model's own name.
    pub(super) model_called: Option<Arc<str>>,
}

/// A change that nothing refuses any more.
pub(super) enum ReadyChange {
    /// The model, and what it was chosen by.
    Model {
        called: Arc<str>,
        model: Arc<ModelInfo>,
    },
    Plain(Change),
}

impl ReadyChange {
    /// Whether the log says it, and not the process alone.
    fn is_written(&self) -> bool {
        match self {
            ReadyChange::Model { .. } => true,
            ReadyChange::Plain(change) => {
                !matches!(change, Change::Locale(_) | Change::Retry(_) | Change::Compaction(_))
            }
        }
    }
}

/// How far ahead questions may be waived.
const ELEVATION_MS_MAX: i64 = 8 * 60 * 60 * 1000;

impl Deref for InForce {
    type Target = Settings;
    fn deref(&self) -> &Settings {
        &self.now
    }
}

impl InForce {
    pub(super) fn new(settings: Settings, model: SessionModel, thinking_asked: bool) -> Self {
        let (model, is_model_gone) = match model {
            SessionModel::Here(model) => (model, false),
            SessionModel::Gone => (ModelInfo::named(settings.model.clone(), 0), true),
        };
        let (asked, changes) = (Arc::new(model), Changes::default());
        let (usual_lane, own) = (settings.lane, OwnWishes::default());
        Self {
            now: settings,
            asked,
            is_model_gone,
            fallback: None,
            thinking_asked,
            changes,
            revision: 0,
            usual_lane,
            own,
        }
    }

    /// Grows with every change of what is sent with a model call.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }
    /// There is no model to ask until another is chosen, or this one is here again.
    pub(super) fn is_model_gone(&self) -> bool {
        self.is_model_gone
    }
    /// The model that is asked now.
    pub(super) fn asked(&self) -> &Arc<ModelInfo> {
        &self.asked
    }
    /// The model that was chosen.
    pub(super) fn chosen(&self) -> &Arc<ModelInfo> {
        self.fallback.as_ref().map_or(&self.asked, |fallback| fallback.home())
    }
    pub(super) fn own(&self) -> &OwnWishes {
        &self.own
    }
    fn stance(&self) -> Stance {
        Stance {
            settings: self.now.clone(),
            model: self.chosen().clone(),
            is_model_gone: self.is_model_gone,
            own: self.own.clone(),
        }
    }

    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.now.mode = mode;
        self.revision += 1;
    }
    pub(super) fn set_thinking(&mut self, level: Option<Arc<str>>) {
        self.now.thinking = level;
        self.revision += 1;
    }
    pub(super) fn set_locale(&mut self, locale: Option<Arc<str>>) {
        self.now.locale = locale;
        self.revision += 1;
    }
    pub(super) fn set_gadgets_off(&mut self, off: Vec<Arc<str>>) {
        self.now.gadgets_off = off;
        self.revision += 1;
    }
    /// All that the session wants of its own for its queue.
    pub(super) fn set_lane(&mut self, wish: LaneWish) {
        self.own.lane = wish;
        self.now.lane = wish.over(self.usual_lane);
    }
    /// What is usual is another one now. Whether that changes what holds.
    fn set_usual_lane(&mut self, policy: LanePolicy) -> bool {
        self.usual_lane = policy;
        let before = std::mem::replace(&mut self.now.lane, self.own.lane.over(policy));
        before != self.now.lane
    }
    pub(super) fn set_elevated(&mut self, until_ms: Option<i64>) {
        self.own.elevated_until_ms = until_ms;
    }
    pub(super) fn set_conduct(&mut self, conduct: Arc<Conduct>) {
        self.now.conduct = conduct;
    }
    pub(super) fn set_retry(&mut self, policy: RetryPolicy) {
        self.now.retry = policy;
    }
    pub(super) fn set_compaction(&mut self, policy: CompactionPolicy) {
        self.now.compaction = policy;
    }
    pub(super) fn set_called(&mut self, name: Option<Arc<str>>) {
        self.own.model_called = name;
    }
    /// Chooses a model. Which one is asked is [`InForce::ask`]'s business.
    pub(super) fn choose(&mut self, slug: Arc<str>) {
        self.now.model = slug;
        self.fallback = None;
        self.model_is_here();
    }
    /// Whatever was made without one is made anew.
    fn model_is_here(&mut self) {
        self.revision += u64::from(std::mem::take(&mut self.is_model_gone));
    }
    /// The next call goes to this model. Whether that is another one.
    pub(super) fn ask(&mut self, model: Arc<ModelInfo>) -> bool {
        let is_another = model.slug != self.asked.slug;
        self.revision += u64::from(is_another);
        self.asked = model;
        is_another
    }

    /// What an old log says holds where no peer has said anything else. Whether something is different now.
    pub(super) fn found(&mut self, gadgets_off: Option<&Vec<Arc<str>>>, thinking: Option<&Option<Arc<str>>>) -> bool {
        let before = self.revision;
        if let Some(off) = gadgets_off.filter(|off| self.now.gadgets_off != **off) {
            self.set_gadgets_off(off.clone());
        }
        if let Some(level) = thinking.filter(|level| !self.thinking_asked && self.now.thinking != **level) {
            self.set_thinking(level.clone());
        }
        self.revision != before
    }

    /// Something was changed, and whatever of it belongs into the log is logged.
    fn changed(&mut self, committed: u64, last_seq: u64, before: Stance) {
        self.changes.keep(committed, last_seq, before);
    }
    /// What peers may know: without changes that are not written yet.
    pub(super) fn settled(&self, committed: u64) -> ShownStance<'_> {
        self.changes.before(committed).map_or_else(|| self.shown(), Stance::shown)
    }
    pub(super) fn shown(&self) -> ShownStance<'_> {
        ShownStance { settings: &self.now, model: self.chosen(), own: &self.own }
    }
    /// A write failed: what it was to record is not in force. The model that was chosen before, where something is taken back.
    fn take_back(&mut self, committed: u64) -> Option<Arc<ModelInfo>> {
        let Stance { settings, model, is_model_gone, own } = self.changes.take_back(committed)?;
        (self.now, self.own, self.is_model_gone) = (settings, own, is_model_gone);
        self.fallback = None;
        self.revision += 1;
        Some(model)
    }
}

/// How a session behaves at one moment.
pub(super) struct Stance {
    settings: Settings,
    /// The chosen model.
    model: Arc<ModelInfo>,
    is_model_gone: bool,
    own: OwnWishes,
}

impl Stance {
    fn shown(&self) -> ShownStance<'_> {
        ShownStance { settings: &self.settings, model: &self.model, own: &self.own }
    }
}

/// What peers are told of it.
#[derive(Clone, Copy)]
pub(super) struct ShownStance<'a> {
    pub(super) settings: &'a Settings,
    pub(super) model: &'a Arc<ModelInfo>,
    pub(super) own: &'a OwnWishes,
}

/// Changes that a failed write would take back, oldest first: the entry whose commit makes each of them final, and how
/// it was before. As many as there are changes on their way to the disk.
#[derive(Default)]
struct Changes(VecDeque<(u64, Stance)>);

impl Changes {
    fn keep(&mut self, committed: u64, seq: u64, before: Stance) {
        self.drop_final(committed);
        if seq > committed {
            self.0.push_back((seq, before));
        }
    }
    fn drop_final(&mut self, committed: u64) {
        while self.0.front().is_some_and(|(seq, _)| *seq <= committed) {
            self.0.pop_front();
        }
    }
    /// How it was before the oldest change that is not written; `None`: all of them are.
    fn before(&self, committed: u64) -> Option<&Stance> {
        self.0.iter().find(|(seq, _)| *seq > committed).map(|(_, before)| before)
    }
    fn take_back(&mut self, committed: u64) -> Option<Stance> {
        self.drop_final(committed);
        std::mem::take(&mut self.0).pop_front().map(|(_, before)| before)
    }
}

impl Session {
    pub(super) fn set(&mut self, change: Change) -> Result<(), Fault> {
        self.set_all(vec![change])
    }

    /// All of them, or none.
    pub(super) fn set_all(&mut self, changes: Vec<Change>) -> Result<(), Fault> {
        let ready = changes.into_iter().map(|change| self.ready(change)).collect::<Result<Vec<_>, Fault>>()?;
        self.put_in_force(ready);
        Ok(())
    }

    pub(super) fn put_in_force(&mut self, changes: Vec<ReadyChange>) {
        let before = self.settings.stance();
        let is_written = changes.iter().any(ReadyChange::is_written);
        changes.into_iter().for_each(|change| self.apply(change));
        if self.log.last_seq() > 0 || is_written && self.settings.begins_with_settings {
            self.log_settings();
        }
        self.settings.changed(self.log.committed(), self.log.last_seq(), before);
        self.tell_state();
    }

    /// Whatever can be wrong with a change is found here.
    pub(super) fn ready(&self, change: Change) -> Result<ReadyChange, Fault> {
        let of = change.of();
        let checked = match &change {
            // As it is looked up, so it is kept: blanks around it are no part of a name.
            Change::Model(name) => {
                let model = self.shared.ports.provider.resolve(name.trim());
                return match model {
                    Ok(model) => Ok(ReadyChange::Model { called: name.trim().into(), model: Arc::new(model) }),
                    Err(fault) => Err(fault.of_change(of)),
                };
            }
            Change::Todos(phases) => reminders::check(phases),
            Change::Elevate { until_ms } => self.check_elevation(*until_ms),
            Change::Gadget { name, .. } => self.check_gadget(name),
            Change::Mode(_)
            | Change::Thinking(_)
            | Change::Title(_)
            | Change::Locale(_)
            | Change::Lane(_)
            | Change::LaneUsual
            | Change::Retry(_)
            | Change::Compaction(_) => Ok(()),
        };
        checked.map(|()| ReadyChange::Plain(change)).map_err(|fault| fault.of_change(of))
    }

    fn apply(&mut self, change: ReadyChange) {
        let change = match change {
            ReadyChange::Model { called, model } => return self.set_model(&called, model),
            ReadyChange::Plain(change) => change,
        };
        match change {
            // Such a change is ready with its model.
            Change::Model(_) => {}
            Change::Mode(mode) => self.settings.set_mode(mode),
            Change::Thinking(level) => {
                self.settings.set_thinking(level.clone());
                self.log_if_begun(Body::Setting(SettingEntry::Thinking { level }));
            }
            Change::Title(title) => {
                // It is shown in lists and in the frames of windows, as it is.
                let title = vocab::visible::name(&title).into();
                self.log(Body::Setting(SettingEntry::Title { title }));
            }
            Change::Locale(locale) => self.settings.set_locale(locale),
            Change::Todos(phases) => _ = self.log(Body::Setting(SettingEntry::Todos { phases })),
            Change::Lane(wish) => self.set_lane(self.settings.own.lane.then(wish)),
            Change::LaneUsual => self.set_lane(LaneWish::default()),
            Change::Elevate { until_ms } => self.elevate(until_ms),
            Change::Retry(policy) => self.settings.set_retry(policy),
            Change::Compaction(policy) => self.settings.set_compaction(policy),
            Change::Gadget { name, on } => self.set_gadget(&name, on),
        }
    }

    fn check_elevation(&self, until_ms: Option<i64>) -> Result<(), Fault> {
        let now_ms = self.shared.ports.clock.now_ms();
        match until_ms.is_some_and(|until| until.saturating_sub(now_ms) > ELEVATION_MS_MAX) {
            true => Err(Fault::new(FaultKind::Invalid, "questions are waived for at most eight hours")),
            false => Ok(()),
        }
    }

    fn elevate(&mut self, until_ms: Option<i64>) {
        let now_ms = self.shared.ports.clock.now_ms();
        let until_ms = until_ms.filter(|until| *until > now_ms);
        if until_ms != self.settings.own.elevated_until_ms {
            self.settings.set_elevated(until_ms);
            self.log(Body::Setting(SettingEntry::Elevated { until_ms }));
        }
    }

    fn set_lane(&mut self, wish: LaneWish) {
        if wish != self.settings.own.lane {
            self.settings.set_lane(wish);
            self.log_if_begun(Body::Setting(SettingEntry::Lane { wish }));
        }
        // Whatever waits was read back or came in: what a dead process left behind is in order by now.
        self.set_queue_policy();
    }

    /// A session that was opened with other rules goes on with those.
    pub(super) fn usual_lane_changed(&mut self, before: LanePolicy, after: LanePolicy) {
        if self.settings.usual_lane == before && self.settings.set_usual_lane(after) {
            self.set_queue_policy();
            self.tell_state();
        }
    }

    pub(super) fn set_queue_policy(&mut self) {
        let lane = self.settings.lane;
        self.step_queue(|queue, now_ms| queue.set_policy(lane, now_ms));
    }

    fn log_if_begun(&mut self, body: Body) {
        if self.log.last_seq() > 0 {
            self.log(body);
        }
    }

    /// A running model call goes on; the next one uses the new model, with the history encoded anew.
    fn set_model(&mut self, called: &Arc<str>, model: Arc<ModelInfo>) {
        self.settings.choose(model.slug.clone());
        self.settings.set_called((model.slug != *called).then(|| called.clone()));
        self.speak_to(model);
    }

    /// A model that was not here when the session was loaded may be here now.
    pub(super) fn find_model(&mut self) -> Result<(), Fault> {
        if self.settings.is_model_gone() {
            let model = self.shared.ports.provider.resolve(&self.settings.model);
            let model = model.map_err(|fault| fault.of_left_model(&self.settings.model))?;
            self.settings.model_is_here();
            self.settings.ask(Arc::new(model));
        }
        Ok(())
    }

    /// The next call goes to this model, with the history encoded anew.
    pub(super) fn speak_to(&mut self, model: Arc<ModelInfo>) {
        if self.settings.ask(model) {
            self.view.unload();
        }
    }

    fn check_gadget(&self, name: &str) -> Result<(), Fault> {
        match self.tools.gadgets().iter().any(|gadget| &*gadget.name == name) {
            true => Ok(()),
            false => Err(Fault::new(FaultKind::NotFound, format!("unknown gadget: {name}"))),
        }
    }

    fn set_gadget(&mut self, name: &Arc<str>, on: bool) {
        let mut off = self.settings.gadgets_off.clone();
        off.retain(|off| off != name);
        if !on {
            off.push(name.clone());
        }
        self.settings.set_gadgets_off(off.clone());
        self.log_if_begun(Body::Setting(SettingEntry::Gadgets { off }));
    }

    /// A write failed: what it was to record is not in force.
    pub(super) fn take_back_changes(&mut self) {
        let committed = self.log.committed();
        self.approvals.remembered.take_back(committed);
        let Some(model) = self.settings.take_back(committed) else { return };
        self.speak_to(model);
        // Nothing waits here now: the rules change and nothing else.
        self.set_queue_policy();
    }

    pub(super) fn log_opened(&mut self) {
        let opened = self.log(Body::Opened {
            workspace: self.settings.workspace.clone(),
            model: self.settings.model.clone(),
            mode: self.settings.mode,
            forked_from: None,
            child_of: self.subagents.child_of.clone(),
        });
        if !self.settings.gadgets_off.is_empty() {
            self.log(Body::Setting(SettingEntry::Gadgets { off: self.settings.gadgets_off.clone() }));
        }
        if self.settings.own.model_called.is_some() {
            self.log_model();
        }
        if !self.settings.own.lane.is_empty() {
            self.log_at(opened.at_ms, Body::Setting(SettingEntry::Lane { wish: self.settings.own.lane }));
        }
        self.log_thinking();
    }

    fn log_model(&mut self) {
        let (model, called) = (self.settings.model.clone(), self.settings.own.model_called.clone());
        self.log(Body::Setting(SettingEntry::Model { model, called }));
    }

    fn log_thinking(&mut self) {
        if self.log.logged().thinking != self.settings.thinking {
            self.log(Body::Setting(SettingEntry::Thinking { level: self.settings.thinking.clone() }));
        }
    }

    /// Settings that were given from outside are part of the log before the next turn is.
    pub(super) fn log_settings(&mut self) {
        if self.log.last_seq() == 0 {
            return self.log_opened();
        }
        let logged = self.log.logged();
        if logged.model != self.settings.model || logged.model_called != self.settings.own.model_called {
            self.log_model();
        }
        if self.log.logged().mode != self.settings.mode {
            self.log(Body::Setting(SettingEntry::Mode { mode: self.settings.mode }));
        }
        self.log_thinking();
    }
}

#[cfg(test)]
pub(super) mod tests;
