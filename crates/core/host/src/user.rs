//! Who runs us, as the machine knows them.

/// The name that the machine has for our user, or its number. What the environment says may be anything.
pub fn user_name() -> String {
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
