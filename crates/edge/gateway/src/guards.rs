//! Which names we answer to, and which pages may speak with us. Pure.

use std::net::IpAddr;

/// What we are called, at the time of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnNames<'a> {
    /// The address that the connection was accepted on.
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: u16,
    pub(crate) hostnames: &'a [String],
    /// Names of the tailnet count, too.
    pub(crate) tailnet: bool,
    pub(crate) tls: bool,
}

/// A host as a header has it: name and port.
fn split(host: &str) -> Option<(&str, Option<u16>)> {
    let host = host.trim();
    if let Some(rest) = host.strip_prefix('[') {
        let (name, rest) = rest.split_once(']')?;
        return match rest.strip_prefix(':') {
            Some(port) => Some((name, Some(number(port)?))),
            None => rest.is_empty().then_some((name, None)),
        };
    }
    match host.split_once(':') {
        Some((name, port)) => Some((name, Some(number(port)?))),
        None => Some((host, None)),
    }
}

/// Digits and nothing else.
fn number(port: &str) -> Option<u16> {
    port.bytes().all(|byte| byte.is_ascii_digit()).then(|| port.parse().ok()).flatten()
}

/// Whether this is a name of ours: a page of another name that resolves to us is not ours.
pub(crate) fn host_is_ours(host: &str, names: OwnNames<'_>) -> bool {
    let Some((name, port)) = split(host) else { return false };
    let name = name.strip_suffix('.').unwrap_or(name);
    // What stands in front of us under this name, or a tunnel to this machine, has a port of its own. No page of another's
    // comes by such a name: what it resolves to is this machine for everybody.
    if names.hostnames.iter().any(|own| own.eq_ignore_ascii_case(name)) || is_this_machine(host) {
        return true;
    }
    if name.is_empty() || port.is_some_and(|port| port != names.port && port != names.usual_port()) {
        return false;
    }
    match name.parse::<IpAddr>() {
        Ok(address) => names.address.is_some_and(|own| own.to_canonical() == address.to_canonical()),
        Err(_) => names.tailnet && ends_with_ignoring_case(name, ".ts.net"),
    }
}

/// Whether this is a name that only this machine has. A proxy in front of us is called by another.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let Some((name, _)) = split(host) else { return false };
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
}

impl OwnNames<'_> {
    fn usual_port(&self) -> u16 {
        // A proxy in front of us has one of its own, and says its name alone.
        if self.tls || self.tailnet { 443 } else { self.port }
    }
}

fn ends_with_ignoring_case(name: &str, end: &str) -> bool {
    name.len() > end.len()
        && name.is_char_boundary(name.len() - end.len())
        && name[name.len() - end.len()..].eq_ignore_ascii_case(end)
}

/// A page that may speak with us, by a name that is ours to give: whoever is no browser spells an origin in a thousand ways,
/// and says which host it means.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum KnownPage {
    Own,
    /// As the configuration names it.
    Listed(Box<str>),
}

/// Which page of those that may speak with us has this origin: our own, by scheme, name and port, or one of the list.
pub(crate) fn known_page(origin: &str, host: &str, tls: bool, allowed: &[String]) -> Option<KnownPage> {
    let own = format!("{}://{}", if tls { "https" } else { "http" }, host.trim());
    if same_origin(origin, &own) {
        return Some(KnownPage::Own);
    }
    allowed.iter().find(|it| same_origin(origin, it)).map(|it| KnownPage::Listed(it.as_str().into()))
}

/// Whether a page can have this origin.
pub fn is_origin(text: &str) -> bool {
    parts(text).is_some_and(|(_, name, _)| is_host_name(&name))
}

/// Whether a request can name this host: without a scheme, a port or a path, and as it is.
pub fn is_host_name(text: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let is_name = !text.is_empty() && !text.ends_with('.') && text.chars().all(is_of_name);
    is_name || text.parse::<IpAddr>().is_ok()
}

fn same_origin(one: &str, other: &str) -> bool {
    match (parts(one), parts(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// Scheme, name and port, none of them left to guess.
fn parts(origin: &str) -> Option<(String, String, u16)> {
    let (scheme, rest) = origin.trim().trim_end_matches('/').split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let usual = match scheme.as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    if rest.contains(['/', '?', '#', '@']) {
        return None;
    }
    let (name, port) = split(rest)?;
    (!name.is_empty()).then(|| (scheme, name.to_ascii_lowercase(), port.unwrap_or(usual)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(hostnames: &[String]) -> OwnNames<'_> {
        OwnNames { address: Some("192.168.1.5".parse().unwrap()), port: 18800, hostnames, tailnet: false, tls: false }
    }

    #[test]
    fn we_answer_to_our_own_names_alone() {
        let own = ["box.example".to_owned()];
        let ours = [
            "localhost:18800",
            "localhost:9000",
            "127.0.0.1:80",
            "LOCALHOST",
            "localhost.:18800",
            "127.0.0.1:18800",
            "127.0.0.2",
            "[::1]:18800",
            "[::ffff:127.0.0.1]:18800",
            "192.168.1.5:18800",
            "box.example",
            "BOX.example:18800",
            "box.example:8443",
        ];
        for host in ours {
            assert!(host_is_ours(host, names(&own)), "{host}");
        }
        let foreign = [
            "",
            ":18800",
            "evil.example",
            "evil.example:18800",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.168.1.5:80",
            "localhost:",
            "localhost:18800:1",
            "localhost:+18800",
            "localhost:abc",
            "192.168.1.6",
            "10.0.0.1",
            "0.0.0.0",
            "[::2]",
            "[::1",
            "[::1]x",
            "x.ts.net",
            "box.example.",
            "user@localhost",
        ];
        for host in foreign.into_iter().filter(|host| *host != "box.example.") {
            assert!(!host_is_ours(host, names(&own)), "{host}");
        }
        for (host, is_here) in [("localhost:1", true), ("127.9.9.9", true), ("[::1]:5", true), ("box.example", false)] {
            assert_eq!(is_this_machine(host), is_here, "{host}");
        }
        let tailnet = OwnNames { tailnet: true, ..names(&own) };
        assert!(host_is_ours("box.tail1.ts.net", tailnet) && host_is_ours("box.tail1.ts.net:443", tailnet));
        assert!(!host_is_ours(".ts.net", tailnet) && !host_is_ours("evilts.net", tailnet));
    }

    #[test]
    fn what_can_never_match_is_seen() {
        for origin in [
            "https://app.example",
            "http://dev.example:3000/",
            "http://[::1]:5",
            "HTTPS://A.example",
            "http://127.0.0.1",
        ] {
            assert!(is_origin(origin), "{origin}");
        }
        for origin in
            ["*", "app.example", "https://*.example", "https://app.example/path", "null", "https://", "ws://a"]
        {
            assert!(!is_origin(origin), "{origin}");
        }
        for (name, is_name) in [
            ("box.example", true),
            ("10.0.0.7", true),
            ("box.example:443", false),
            ("https://box", false),
            ("*", false),
            ("", false),
        ] {
            assert_eq!(is_host_name(name), is_name, "{name}");
        }
    }

    #[test]
    fn pages_of_others_may_not_speak() {
        let allowed = ["https://app.example".to_owned(), "http://dev.example:3000/".to_owned()];
        let may = |origin: &str, host: &str, tls: bool| known_page(origin, host, tls, &allowed).is_some();
        for (origin, host, tls) in [
            ("http://localhost:18800", "localhost:18800", false),
            ("HTTP://LocalHost:18800", "localhost:18800", false),
            ("https://box.example", "box.example", true),
            ("https://box.example:443", "box.example", true),
            ("https://app.example", "localhost:18800", false),
            ("http://dev.example:3000", "localhost:18800", false),
        ] {
            assert!(may(origin, host, tls), "{origin} on {host}");
        }
        for (origin, host, tls) in [
            ("null", "localhost:18800", false),
            ("", "localhost:18800", false),
            ("http://evil.example", "localhost:18800", false),
            ("http://localhost", "localhost:18800", false),
            ("http://localhost:3000", "localhost:18800", false),
            ("https://localhost:18800", "localhost:18800", false),
            ("http://localhost:18800", "localhost:18800", true),
            ("http://localhost:18800.evil.example", "localhost:18800", false),
            ("http://localhost:18800@evil.example", "localhost:18800", false),
            ("http://127.0.0.1:18800", "localhost:18800", false),
            ("https://app.example.evil", "localhost:18800", false),
            ("http://app.example", "localhost:18800", false),
            ("https://app.example:8443", "localhost:18800", false),
            ("file://", "localhost:18800", false),
            ("chrome-extension://abc", "localhost:18800", false),
        ] {
            assert!(!may(origin, host, tls), "{origin} on {host}");
        }
    }

    #[test]
    fn a_page_has_one_name_however_it_is_spelled() {
        let allowed = ["https://app.example".to_owned(), "https://APP.example:443/".to_owned()];
        let page = |origin: &str, host: &str| known_page(origin, host, false, &allowed);
        for (origin, host) in [
            ("http://localhost:1", "localhost:1"),
            ("http://localhost:2///", "localhost:2"),
            ("HTTP://127.0.0.9:3", "127.0.0.9:3"),
        ] {
            assert_eq!(page(origin, host), Some(KnownPage::Own), "{origin}");
        }
        for origin in ["https://app.example", "https://app.example///", "HTTPS://App.Example:443"] {
            assert_eq!(page(origin, "localhost"), Some(KnownPage::Listed("https://app.example".into())), "{origin}");
        }
    }
}
