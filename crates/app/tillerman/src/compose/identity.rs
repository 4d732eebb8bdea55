//! Ids, the time of day, and who runs us.

use std::time::SystemTime;

use vocab::{Clock, IdKind, Ids};

/// Time-ordered, so that a list of ids is a list by age.
pub(super) struct UuidIds;

impl Ids for UuidIds {
    fn mint(&self, kind: IdKind) -> String {
        let id = uuid::Uuid::now_v7();
        match kind {
            IdKind::Session => id.to_string(),
            // Turns, calls, questions and items live within a session: short is enough and reads better.
            IdKind::Turn => short("t", id),
            IdKind::Call => short("c", id),
            IdKind::Ask => short("r", id),
            IdKind::Item => short("q", id),
        }
    }
}

/// The random tail of an id, behind a letter.
fn short(letter: &str, id: uuid::Uuid) -> String {
    let text = id.simple().to_string();
    format!("{letter}-{}", &text[text.len() - 12..])
}

pub(super) struct WallClock;

impl Clock for WallClock {
    fn now_ms(&self) -> i64 {
        vocab::unix_ms(SystemTime::now())
    }
}

/// The name that the machine has for our user, or its number. What the environment says may be anything.
pub(crate) fn user_name() -> String {
    let user = rustix::process::geteuid().as_raw();
    let names = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_in(&names, user).map_or_else(|| user.to_string(), str::to_owned)
}

fn name_in(passwd: &str, user: u32) -> Option<&str> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(user)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_called_what_the_machine_calls_them() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nodd\nann:x:1000:1000::/ann:/bin/sh\n";
        assert_eq!((name_in(passwd, 0), name_in(passwd, 1000)), (Some("root"), Some("ann")));
        assert_eq!((name_in(passwd, 5), name_in("", 0)), (None, None));
    }
}
