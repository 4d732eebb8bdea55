//! The session's list of tasks, and going on by ourselves while some of them are open.

use vocab::{Body, Fault, FaultKind, IdKind, Part, TodoPhase, TurnEntry, TurnId, UserFrom, open_tasks};

use super::Session;

/// Tasks in a list; a longer one is refused.
const TASKS_MAX: usize = 1000;
/// Open tasks named in one reminder; of the rest it says how many.
const NAMED_MAX: usize = 20;
/// Characters of one of them; what is longer is cut.
const NAME_CHARS_MAX: usize = 200;

/// How often the session went on by itself, and whether it is about to.
#[derive(Default)]
pub(super) struct Reminders {
    /// Since the last message of a peer.
    pub(super) given: u32,
    /// The last turn ended well, and whether to go on is still to be decided.
    pub(super) is_due: bool,
}

/// Whether the log can have this list. It is part of it, so that it is there after a restart.
pub(super) fn check(phases: &[TodoPhase]) -> Result<(), Fault> {
    let count: usize = phases.iter().map(|phase| phase.tasks.len().max(1)).sum();
    if count > TASKS_MAX {
        return Err(Fault::new(FaultKind::Invalid, format!("{count} tasks; at most {TASKS_MAX} are kept")));
    }
    Ok(())
}

impl Session {
    /// A turn ended well and tasks are left: starts another, unless a peer's message comes first, the session is
    /// ending, or we did so often enough since a peer last spoke.
    pub(super) fn remind(&mut self) {
        let taken = self.prompts.queue.is_busy() || self.prompts.queue.wants_turn() || self.activity.is_ending();
        let todos = self.log.logged().todos.clone();
        if taken || self.reminders.given >= self.settings.reminders_max || open_tasks(&todos).next().is_none() {
            return;
        }
        self.reminders.given += 1;
        let text = reminder(&todos, self.reminders.given, self.settings.reminders_max);
        self.prompts.queue.run_unasked().expect("it was idle a moment ago");
        let turn = TurnId::from(self.shared.ports.ids.mint(IdKind::Turn));
        self.log_settings();
        self.log(Body::Turn(TurnEntry::Started { turn: turn.clone() }));
        self.begin_turn(turn, vec![Part::text(text)], UserFrom::Reminder);
    }
}

fn reminder(phases: &[TodoPhase], nth: u32, most: u32) -> String {
    let count = open_tasks(phases).count();
    let mut text = String::from("These tasks of the todo list are still open:\n");
    for task in open_tasks(phases).take(NAMED_MAX) {
        let (content, more) = match task.content.char_indices().nth(NAME_CHARS_MAX) {
            Some((at, _)) => (&task.content[..at], " ..."),
            None => (&*task.content, ""),
        };
        text.push_str(&format!("- {content}{more} ({})\n", task.status.as_str()));
    }
    if count > NAMED_MAX {
        text.push_str(&format!("- and {} more\n", count - NAMED_MAX));
    }
    text.push_str("Go on with them, or mark those that will not be done as abandoned. ");
    text.push_str(&format!("(reminder {nth} of {most})"));
    text
}

#[cfg(test)]
mod tests {
    use vocab::{TodoStatus, TodoTask};

    use super::*;

    fn list(contents: impl Iterator<Item = (String, TodoStatus)>) -> Vec<TodoPhase> {
        let task = |(content, status): (String, TodoStatus)| TodoTask {
            id: "t".into(),
            content: content.into(),
            status,
            notes: None,
        };
        vec![TodoPhase { id: "p".into(), name: "all".into(), tasks: contents.map(task).collect() }]
    }

    #[test]
    fn a_reminder_names_what_is_open_and_only_that() {
        let phases = list(
            [("a", TodoStatus::Completed), ("b", TodoStatus::InProgress), ("c", TodoStatus::Abandoned)]
                .into_iter()
                .map(|(content, status)| (content.to_owned(), status)),
        );
        expect_test::expect![[r#"
            These tasks of the todo list are still open:
            - b (in_progress)
            Go on with them, or mark those that will not be done as abandoned. (reminder 1 of 3)"#]]
        .assert_eq(&reminder(&phases, 1, 3));
    }

    #[test]
    fn a_long_list_makes_no_long_reminder() {
        let phases = list((0..500).map(|n| (format!("{n} {}", "ü".repeat(5000)), TodoStatus::Pending)));
        let text = reminder(&phases, 1, 1);
        assert!(text.len() < NAMED_MAX * (2 * NAME_CHARS_MAX + 40) + 400, "{}", text.len());
        assert!(text.contains("- and 480 more\n"), "{text}");
    }
}
