//! What is in force, and what a failed write takes back.

use super::*;

pub(in crate::session) fn model(slug: &str, context_window: u64) -> ModelInfo {
    ModelInfo::named(slug, context_window)
}

pub(in crate::session) fn in_force() -> InForce {
    InForce::new(Settings::new("/w", "m"), SessionModel::Here(model("m", 4000)), false)
}

#[test]
fn what_is_not_written_is_not_settled_and_a_failed_write_takes_it_back() {
    let mut settings = in_force();
    for (seq, mode) in [(5, Mode::Plan), (7, Mode::DangerFullAccess)] {
        let before = settings.stance();
        settings.set_mode(mode);
        settings.changed(3, seq, before);
    }
    let first = settings.settled(3).settings.mode;
    assert_eq!(
        (settings.settled(5).settings.mode, settings.settled(7).settings.mode),
        (Mode::Plan, Mode::DangerFullAccess)
    );
    assert!(settings.take_back(5).is_some());
    assert_eq!(settings.mode, Mode::Plan, "the first change is written and stays");
    assert!(settings.take_back(5).is_none(), "nothing is left to take back");
    assert_ne!(first, Mode::Plan);
}

#[test]
fn an_old_log_says_what_nobody_has_said_otherwise() {
    let (off, level) = (vec![Arc::from("web")], Some(Arc::from("high")));
    let mut settings = in_force();
    assert!(settings.found(Some(&off), Some(&level)));
    assert_eq!((&settings.gadgets_off, &settings.thinking), (&off, &level));
    assert!(!settings.found(Some(&off), Some(&level)), "once it is known it is no news");
    let mut asked = InForce::new(Settings::new("/w", "m"), SessionModel::Here(model("m", 4000)), true);
    assert!(!asked.found(None, Some(&level)), "whoever opened the session has said another level");
}

#[test]
fn the_same_model_again_is_no_change() {
    let mut settings = in_force();
    let before = settings.revision();
    assert!(!settings.ask(Arc::new(model("m", 8000))) && settings.revision() == before);
    assert!(settings.ask(Arc::new(model("n", 8000))) && settings.revision() != before);
    assert_eq!((&*settings.chosen().slug, &*settings.model), ("n", "m"));
}
