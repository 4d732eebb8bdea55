//! Which way a setting gets tighter. A workspace's value counts only that way, measured against the user's own or, where
//! there is none, the usual one; and once more against what a dialect has for usual, where that is tighter still. Pure.

use vocab::{Mode, SyncLevel};

use super::keys::SettingValue;

/// The way that is tighter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tightening {
    /// Less of something that costs time or money.
    Lower { usual: u64 },
    /// More of a pause.
    Raise { usual: u64 },
    /// Less that happens without a person.
    Stricter,
    /// Less that a crash can take.
    Safer,
    /// A precaution that can be taken and not be dropped.
    On,
    /// Nothing that was not offered before.
    Fewer,
}

impl Tightening {
    /// What counts of a workspace's value, or why nothing does.
    pub(super) fn tightened(
        self,
        own: Option<&SettingValue>,
        asked: SettingValue,
        usual_mode: Mode,
    ) -> Result<SettingValue, String> {
        let refused = |limit: &str, has: String| Err(format!("a workspace can only {limit}, and it is {has}"));
        match (self, own, &asked) {
            (Tightening::Lower { usual }, own, SettingValue::Count(asked_for)) => match number(own).unwrap_or(usual) {
                limit if *asked_for > limit => refused("lower it", limit.to_string()),
                _ => Ok(asked),
            },
            (Tightening::Raise { usual }, own, SettingValue::Count(asked_for)) => match number(own).unwrap_or(usual) {
                limit if *asked_for < limit => refused("raise it", limit.to_string()),
                _ => Ok(asked),
            },
            (Tightening::Stricter, own, SettingValue::Mode(mode)) => {
                let active = match own {
                    Some(SettingValue::Mode(own)) => *own,
                    _ => usual_mode,
                };
                match freedom(*mode) > freedom(active) {
                    true => {
                        Err(format!("a workspace can only tighten permissions, and the mode is {}", active.as_str()))
                    }
                    false => Ok(asked),
                }
            }
            (Tightening::Safer, own, SettingValue::Sync(level)) => {
                let active = match own {
                    Some(SettingValue::Sync(own)) => *own,
                    _ => SyncLevel::default(),
                };
                match safety(*level) < safety(active) {
                    true => refused("make it safer", active.as_str().to_owned()),
                    false => Ok(asked),
                }
            }
            (Tightening::On, _, SettingValue::Bool(true)) => Ok(asked),
            (Tightening::On, _, _) => Err("a workspace can only switch it on".to_owned()),
            (Tightening::Fewer, Some(SettingValue::Texts(own)), SettingValue::Texts(names)) => {
                Ok(SettingValue::Texts(names.iter().filter(|name| own.contains(name)).cloned().collect()))
            }
            (Tightening::Fewer, _, SettingValue::Texts(_)) => Ok(asked),
            // A key whose kind does not fit its way would be a mistake in the table: then nothing counts.
            (_, _, _) => Err("a workspace cannot choose it".to_owned()),
        }
    }

    /// The tighter one of two numbers.
    pub(super) fn tighter(self, left: u64, right: u64) -> u64 {
        match self {
            Tightening::Raise { .. } => left.max(right),
            _ => left.min(right),
        }
    }
}

fn number(setting: Option<&SettingValue>) -> Option<u64> {
    match setting {
        Some(SettingValue::Count(number)) => Some(*number),
        _ => None,
    }
}

/// How much a mode lets happen without a person.
fn freedom(mode: Mode) -> u8 {
    match mode {
        Mode::Plan => 0,
        Mode::ReadOnly => 1,
        Mode::Prompt => 2,
        Mode::WorkspaceWrite => 3,
        Mode::DangerFullAccess => 4,
    }
}

/// How little a power cut can take.
fn safety(level: SyncLevel) -> u8 {
    match level {
        SyncLevel::Off => 0,
        SyncLevel::Turn => 1,
        SyncLevel::Record => 2,
    }
}
