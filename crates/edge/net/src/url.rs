//! The part of URLs we need: http and https, no user names, and how a relative reference is resolved. Pure.

use crate::host::Host;

/// An absolute http or https URL without userinfo and fragment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Url {
    text: String,
    host: Host,
    /// Where the path begins.
    path: usize,
}

impl Url {
    /// The error is written for the model.
    pub fn parse(text: &str) -> Result<Url, String> {
        let text = text.split('#').next().unwrap_or_default();
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(format!("{text:?} is not an absolute URL; it must start with http:// or https://"));
        };
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "http" && scheme != "https" {
            return Err(format!("the scheme {scheme:?} is not supported; only http and https are"));
        }
        let authority_end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(authority_end);
        if authority.contains('@') {
            return Err("URLs with a user name or password are refused".to_owned());
        }
        if authority.is_empty() || authority.starts_with(':') {
            return Err(format!("{text:?} names no host"));
        }
        let (host, port) = match authority.rfind(':').filter(|at| !authority[*at..].contains(']')) {
            Some(at) => authority.split_at(at),
            None => (authority, ""),
        };
        let host = Host::parse(host).map_err(|problem| format!("the host {problem}"))?;
        let authority = format!("{host}{port}");
        let slash = if tail.starts_with('/') { "" } else { "/" };
        let url = format!("{scheme}://{authority}{slash}{tail}");
        if let Err(error) = url.parse::<hyper::Uri>() {
            return Err(format!("{url:?} is not a valid URL ({error}); percent-encode spaces and other characters"));
        }
        Ok(Url { path: scheme.len() + 3 + authority.len(), host, text: url })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn is_https(&self) -> bool {
        self.text.starts_with("https:")
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    /// What is sent there stays on this machine.
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Name(name) => name == "localhost",
            Host::Address(address) => address.is_loopback(),
        }
    }

    /// Whether who allowed `self` has allowed this as well: the same origin, or the same host by https where it was http.
    pub fn allows(&self, other: &Url) -> bool {
        let upgraded = self.origin().strip_prefix("http://") == other.origin().strip_prefix("https://");
        self.origin() == other.origin()
            || (upgraded && !self.is_https() && self.origin() == format!("http://{}", self.host))
    }

    /// `scheme://authority`.
    pub fn origin(&self) -> &str {
        &self.text[..self.path]
    }

    /// What a reference found on this page means; not checked for scheme or form.
    pub fn join(&self, reference: &str) -> String {
        let reference = reference.trim();
        let path_and_query = &self.text[self.path..];
        let path = path_and_query.split('?').next().unwrap_or_default();
        if has_scheme(reference) {
            return reference.to_owned();
        }
        if let Some(rest) = reference.strip_prefix("//") {
            let scheme = if self.is_https() { "https" } else { "http" };
            return format!("{scheme}://{rest}");
        }
        if reference.is_empty() || reference.starts_with('#') {
            return format!("{}{reference}", self.text);
        }
        if reference.starts_with('?') {
            return format!("{}{path}{reference}", self.origin());
        }
        let base = if reference.starts_with('/') { "" } else { &path[..=path.rfind('/').unwrap_or(0)] };
        let (new_path, query) = reference.split_at(reference.find(['?', '#']).unwrap_or(reference.len()));
        format!("{}{}{query}", self.origin(), without_dots(&format!("{base}{new_path}")))
    }
}

fn has_scheme(reference: &str) -> bool {
    let Some((scheme, _)) = reference.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Resolves `.` and `..`; they never climb above the root.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut pieces = path.trim_start_matches('/').split('/').peekable();
    while let Some(piece) = pieces.next() {
        let last = pieces.peek().is_none();
        match piece {
            ".." => {
                kept.pop();
            }
            "." => {}
            _ => {
                kept.push(piece);
                continue;
            }
        }
        if last {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_without_userinfo_is_accepted() {
        for good in ["http://a", "HTTPS://a.b:8/c?d#e", "http://[::1]:80/", "http://127.0.0.1/x?y=a@b"] {
            assert!(Url::parse(good).is_ok(), "{good}");
        }
        assert_eq!(Url::parse("HTTP://a?x#y").unwrap().as_str(), "http://a/?x");
        for bad in [
            "",
            "a",
            "/a",
            "ftp://a",
            "file:///etc/passwd",
            "http://",
            "http:///a",
            "http://u@h/",
            "http://u:p@h",
            "javascript:alert(1)",
            "http://a b/",
            "http://a/ü ",
            "http://:80/",
            "data:text/plain,x",
            "http://a\u{0}b/",
            "http://1.2.3.4.5/",
            "http://%31/",
        ] {
            assert!(Url::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn addresses_are_shown_as_what_they_are() {
        for (spelled, shown) in [
            ("http://127.1:8/x", "http://127.0.0.1:8/x"),
            ("http://2130706433", "http://127.0.0.1/"),
            ("https://[::FFFF:7f00:1]:9?q", "https://127.0.0.1:9/?q"),
            ("http://EXAMPLE.org./X", "http://example.org/X"),
        ] {
            assert_eq!(Url::parse(spelled).unwrap().as_str(), shown);
        }
    }

    #[test]
    fn the_same_origin_and_its_encrypted_twin_are_allowed_together() {
        let allows = |one: &str, two: &str| Url::parse(one).unwrap().allows(&Url::parse(two).unwrap());
        assert!(allows("http://a/x", "http://a/y"));
        assert!(allows("http://a/x", "https://a/x"));
        assert!(allows("http://127.1/x", "http://127.0.0.1/y"));
        for (one, two) in [
            ("https://a/", "http://a/"),
            ("http://a/", "http://b/"),
            ("http://a/", "http://a:81/"),
            ("http://a:8080/", "https://a:8080/"),
            ("http://a/", "https://a:8443/"),
            ("http://a/", "http://a.b/"),
        ] {
            assert!(!allows(one, two), "{one} {two}");
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for here in ["http://127.0.0.1:1/x", "http://localhost", "http://LOCALHOST:9/", "http://[::1]:9/x"] {
            assert!(Url::parse(here).unwrap().is_loopback(), "{here}");
        }
        for there in
            ["http://127.0.0.1.evil.example/", "http://a.example/localhost", "http://[::2]/", "http://10.0.0.1"]
        {
            assert!(!Url::parse(there).unwrap().is_loopback(), "{there}");
        }
    }

    #[test]
    fn references_resolve_like_in_a_browser() {
        let base = Url::parse("https://h:1/a/b/c?q").unwrap();
        for (reference, want) in [
            ("d", "https://h:1/a/b/d"),
            ("./d/", "https://h:1/a/b/d/"),
            ("../d", "https://h:1/a/d"),
            ("../../../../d", "https://h:1/d"),
            ("..", "https://h:1/a/"),
            ("/d?x=/../y", "https://h:1/d?x=/../y"),
            ("?r", "https://h:1/a/b/c?r"),
            ("#f", "https://h:1/a/b/c?q#f"),
            ("//o/p", "https://o/p"),
            ("http://o/p", "http://o/p"),
            ("mailto:a@b", "mailto:a@b"),
        ] {
            assert_eq!(base.join(reference), want, "{reference}");
        }
    }
}
