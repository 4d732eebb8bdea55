//! How a session behaves; changed by commands, recorded in the log.

use std::path::PathBuf;
use std::sync::Arc;

use crate::names::{self, ToolNames};
use crate::{Budget, Conduct};

/// The permission ladder, and the two modes that stand beside it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
    /// Ask before whatever is more than reading.
    Prompt,
    /// Look, think, propose; change nothing.
    Plan,
}

impl Mode {
    pub const ALL: [Mode; 5] = [Mode::ReadOnly, Mode::WorkspaceWrite, Mode::DangerFullAccess, Mode::Prompt, Mode::Plan];

    pub fn as_str(self) -> &'static str {
        match self {
            Mode::ReadOnly => "read-only",
            Mode::WorkspaceWrite => "workspace-write",
            Mode::DangerFullAccess => "danger-full-access",
            Mode::Prompt => "prompt",
            Mode::Plan => "plan",
        }
    }
    pub fn parse(text: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}

/// What a call needs: a rung of the ladder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Required {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

impl Required {
    pub fn as_str(self) -> &'static str {
        match self {
            Required::ReadOnly => "read-only",
            Required::WorkspaceWrite => "workspace-write",
            Required::DangerFullAccess => "danger-full-access",
        }
    }
    pub fn parse(text: &str) -> Option<Required> {
        [Required::ReadOnly, Required::WorkspaceWrite, Required::DangerFullAccess]
            .into_iter()
            .find(|required| required.as_str() == text)
    }
    /// Whether an allow for the session holds for the very same call only, and not for all of the tool's at that rung.
    pub fn is_remembered_per_call(self) -> bool {
        self == Required::DangerFullAccess
    }
}

/// Who decides about a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gate {
    /// Every executable call is put to the controller, whatever the mode.
    Proxy,
    /// The mode decides; what it leaves open is asked.
    Ladder,
    /// The mode decides; what it leaves open is denied, for nobody is there to be asked.
    Alone,
}

/// When steering interrupts a batch of tool calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SteerPoint {
    /// After the whole batch.
    Wait,
    /// Between two calls; the remaining ones are answered "skipped".
    Immediate,
}

/// How many waiting messages one turn takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drain {
    OneAtATime,
    All,
}

/// What a lane does with a message that arrives while it is busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneMode {
    Collect,
    Followup,
    Steer,
    SteerBacklog,
    Interrupt,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overflow {
    DropOld,
    DropNew,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coalesce {
    /// Only when a debounce is set.
    Auto,
    Always,
    Never,
}

/// What becomes of steering that comes too late for the turn it was meant for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LateSteer {
    /// A turn that would end goes on with it; without a turn it waits for the next one.
    Joins,
    /// Only a turn that calls the model again anyway takes it; otherwise it is dropped when the turn ends, and without a
    /// turn it is refused.
    Dropped,
}

/// Everything a lane can be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LanePolicy {
    pub mode: LaneMode,
    /// Waiting items, the running turn not counted. At the cap `overflow` decides.
    pub cap: usize,
    pub overflow: Overflow,
    pub debounce_ms: u64,
    pub coalesce: Coalesce,
    /// Tell the next turn what was dropped.
    pub summarise: bool,
    pub steer_drain: Drain,
    pub follow_up_drain: Drain,
    pub steer_point: SteerPoint,
    pub late_steer: LateSteer,
}

/// Waiting items a lane holds unless told otherwise.
pub const LANE_CAP_DEFAULT: usize = 50;

impl Default for LanePolicy {
    fn default() -> Self {
        Self {
            mode: LaneMode::Collect,
            cap: LANE_CAP_DEFAULT,
            overflow: Overflow::DropOld,
            debounce_ms: 0,
            coalesce: Coalesce::Auto,
            summarise: false,
            steer_drain: Drain::OneAtATime,
            follow_up_drain: Drain::OneAtATime,
            steer_point: SteerPoint::Wait,
            late_steer: LateSteer::Joins,
        }
    }
}

/// What of a lane's policy somebody wants to be otherwise; the rest follows what is usual.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LaneWish {
    pub mode: Option<LaneMode>,
    pub cap: Option<usize>,
    pub overflow: Option<Overflow>,
    pub debounce_ms: Option<u64>,
    pub coalesce: Option<Coalesce>,
    pub summarise: Option<bool>,
    pub steer_drain: Option<Drain>,
    pub follow_up_drain: Option<Drain>,
    pub steer_point: Option<SteerPoint>,
    pub late_steer: Option<LateSteer>,
}

impl LaneWish {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The policy that holds where this one is usual.
    pub fn over(self, usual: LanePolicy) -> LanePolicy {
        LanePolicy {
            mode: self.mode.unwrap_or(usual.mode),
            cap: self.cap.unwrap_or(usual.cap),
            overflow: self.overflow.unwrap_or(usual.overflow),
            debounce_ms: self.debounce_ms.unwrap_or(usual.debounce_ms),
            coalesce: self.coalesce.unwrap_or(usual.coalesce),
            summarise: self.summarise.unwrap_or(usual.summarise),
            steer_drain: self.steer_drain.unwrap_or(usual.steer_drain),
            follow_up_drain: self.follow_up_drain.unwrap_or(usual.follow_up_drain),
            steer_point: self.steer_point.unwrap_or(usual.steer_point),
            late_steer: self.late_steer.unwrap_or(usual.late_steer),
        }
    }

    /// Both, where they differ the newer one.
    pub fn then(self, newer: LaneWish) -> LaneWish {
        LaneWish {
            mode: newer.mode.or(self.mode),
            cap: newer.cap.or(self.cap),
            overflow: newer.overflow.or(self.overflow),
            debounce_ms: newer.debounce_ms.or(self.debounce_ms),
            coalesce: newer.coalesce.or(self.coalesce),
            summarise: newer.summarise.or(self.summarise),
            steer_drain: newer.steer_drain.or(self.steer_drain),
            follow_up_drain: newer.follow_up_drain.or(self.follow_up_drain),
            steer_point: newer.steer_point.or(self.steer_point),
            late_steer: newer.late_steer.or(self.late_steer),
        }
    }
}

/// All of it is wanted, whatever is usual.
impl From<LanePolicy> for LaneWish {
    fn from(policy: LanePolicy) -> Self {
        Self {
            mode: Some(policy.mode),
            cap: Some(policy.cap),
            overflow: Some(policy.overflow),
            debounce_ms: Some(policy.debounce_ms),
            coalesce: Some(policy.coalesce),
            summarise: Some(policy.summarise),
            steer_drain: Some(policy.steer_drain),
            follow_up_drain: Some(policy.follow_up_drain),
            steer_point: Some(policy.steer_point),
            late_steer: Some(policy.late_steer),
        }
    }
}

/// When a commit is forced to the disk before anybody is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SyncLevel {
    /// Prompts, answers, tool results and turn ends.
    #[default]
    Turn,
    /// Every record.
    Record,
    /// Never; a power cut may lose what was told, a crash of ours does not.
    Off,
}

impl SyncLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            SyncLevel::Turn => "turn",
            SyncLevel::Record => "record",
            SyncLevel::Off => "off",
        }
    }
    pub fn parse(text: &str) -> Option<SyncLevel> {
        [SyncLevel::Turn, SyncLevel::Record, SyncLevel::Off].into_iter().find(|level| level.as_str() == text)
    }
}

/// What becomes of a turn that the end of a process has cut off, when its session is loaded again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnRestart {
    /// Its questions are withdrawn, its calls get an error for a result, and it ends.
    #[default]
    Close,
    /// It goes on at its last step that is in the log.
    Continue,
}

impl OnRestart {
    pub const ALL: [OnRestart; 2] = [OnRestart::Close, OnRestart::Continue];

    pub fn as_str(self) -> &'static str {
        match self {
            OnRestart::Close => "close",
            OnRestart::Continue => "continue",
        }
    }
    pub fn parse(text: &str) -> Option<OnRestart> {
        OnRestart::ALL.into_iter().find(|rule| rule.as_str() == text)
    }
}

/// What becomes of a question while no peer is here that could answer it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unanswered {
    /// It is a no: never a wait for ever and never a yes.
    Deny,
    /// It stays open, the session waits, and a peer that comes later is asked.
    Keep,
}

impl Unanswered {
    pub const ALL: [Unanswered; 2] = [Unanswered::Deny, Unanswered::Keep];

    pub fn as_str(self) -> &'static str {
        match self {
            Unanswered::Deny => "deny",
            Unanswered::Keep => "keep",
        }
    }
    pub fn parse(text: &str) -> Option<Unanswered> {
        Unanswered::ALL.into_iter().find(|rule| rule.as_str() == text)
    }
}

/// Visible retries of one model call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    /// Retries after the first try; 0 switches retrying off.
    pub retries_max: u32,
    /// Doubles with each retry.
    pub base_ms: u64,
    /// The longest wait we choose ourselves.
    pub wait_ms_max: u64,
    /// The longest wait a server may ask for; beyond it the turn fails and names the time.
    pub server_wait_ms_max: u64,
    /// Spread our own waits over `0..wait`, so that many clients do not return at once.
    pub jitter: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { retries_max: 3, base_ms: 500, wait_ms_max: 30_000, server_wait_ms_max: 120_000, jitter: false }
    }
}

/// Compaction switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompactionPolicy {
    pub auto: bool,
    /// Compact before a model call when the context is fuller than this.
    pub threshold_pct: u8,
    /// Share of the window kept word for word behind the summary.
    pub keep_pct: u8,
    /// Compact before the first call of another provider's model.
    pub on_switch: bool,
}

impl Default for CompactionPolicy {
    fn default() -> Self {
        Self { auto: true, threshold_pct: 85, keep_pct: 20, on_switch: false }
    }
}

/// What a session starts with. `None` = derived.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    pub workspace: PathBuf,
    pub model: Arc<str>,
    pub mode: Mode,
    pub gate: Gate,
    /// Whose tool names the model sees.
    pub tool_names: ToolNames,
    pub max_iterations: u32,
    pub max_tokens: Option<u64>,
    pub thinking: Option<Arc<str>>,
    pub lane: LanePolicy,
    pub retry: RetryPolicy,
    pub compaction: CompactionPolicy,
    pub sync: SyncLevel,
    /// Names of gadgets switched off; everything configured is on by default.
    pub gadgets_off: Vec<Arc<str>>,
    /// Only these tools are offered (canonical names).
    pub only_tools: Option<Vec<Arc<str>>>,
    /// These are not, whatever else says so: canonical names, or patterns in which `*` stands for anything.
    pub without_tools: Vec<Arc<str>>,
    pub system_prompt: Option<Arc<str>>,
    pub append_system_prompt: Option<Arc<str>>,
    pub locale: Option<Arc<str>>,
    /// How often a turn that ends with open tasks is taken up again by ourselves; 0 = never.
    pub reminders_max: u32,
    /// Keep the session in memory only.
    pub ephemeral: bool,
    /// A setting begins the log of a session that has none yet. Else it is written with the first prompt.
    pub begins_with_settings: bool,
    /// For a turn that was cut off before this process had the session.
    pub on_restart: OnRestart,
    /// `None`: as `on_restart` needs it.
    pub unanswered: Option<Unanswered>,
    pub budget: Budget,
    pub conduct: Arc<Conduct>,
}

impl Settings {
    /// Whether a tool of ours, or of a server, is offered.
    pub fn offers(&self, tool: &str) -> bool {
        let chosen = self.only_tools.as_ref().is_none_or(|only| only.iter().any(|name| **name == *tool));
        chosen && !self.without_tools.iter().any(|pattern| fits(pattern, tool))
    }

    pub fn new(workspace: impl Into<PathBuf>, model: impl Into<Arc<str>>) -> Self {
        Self {
            workspace: workspace.into(),
            model: model.into(),
            mode: Mode::Prompt,
            gate: Gate::Ladder,
            tool_names: names::CANONICAL,
            max_iterations: 20,
            max_tokens: None,
            thinking: None,
            lane: LanePolicy::default(),
            retry: RetryPolicy::default(),
            compaction: CompactionPolicy::default(),
            sync: SyncLevel::default(),
            gadgets_off: Vec::new(),
            only_tools: None,
            without_tools: Vec::new(),
            system_prompt: None,
            append_system_prompt: None,
            locale: None,
            reminders_max: 0,
            ephemeral: false,
            begins_with_settings: false,
            on_restart: OnRestart::default(),
            unanswered: None,
            budget: Budget::default(),
            conduct: Arc::default(),
        }
    }

    /// Whether a question stays open that no peer here can answer. A turn that is to outlive its process outlives its peers, too.
    pub fn keeps_asks(&self) -> bool {
        match self.unanswered {
            Some(rule) => rule == Unanswered::Keep,
            None => self.on_restart == OnRestart::Continue,
        }
    }
}

/// `*` stands for anything, also for nothing.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(head) else { return false };
    (0..=name.len()).filter(|at| name.is_char_boundary(*at)).any(|at| fits(rest, &name[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_outlives_its_process_keeps_its_questions_unless_it_is_told_not_to() {
        let keeps =
            |on_restart, unanswered| Settings { on_restart, unanswered, ..Settings::new("/", "m") }.keeps_asks();
        assert!(!keeps(OnRestart::Close, None) && keeps(OnRestart::Continue, None));
        assert!(keeps(OnRestart::Close, Some(Unanswered::Keep)) && !keeps(OnRestart::Continue, Some(Unanswered::Deny)));
    }

    #[test]
    fn what_is_left_out_is_not_offered() {
        let mut settings = Settings::new("/", "m");
        settings.without_tools = ["bash", "mcp__*", "*_file"].map(Arc::from).to_vec();
        let offered = |name: &str| settings.offers(name);
        assert_eq!(
            ["bash", "bash_list", "mcp__a__b", "read_file", "grep"].map(offered),
            [false, true, false, false, true]
        );
        settings.only_tools = Some(vec!["grep".into(), "bash".into()]);
        assert_eq!(["grep", "bash", "glob"].map(|name| settings.offers(name)), [true, false, false]);
    }
}
