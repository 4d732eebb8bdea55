//! What an address alone tells.

use std::net::IpAddr;

use hyper::Uri;
use hyper::http::uri::Scheme;
use vocab::{Keyring, Secret};

use crate::credentials::is_key;
use crate::proxy::percent_decoded;

/// The host of a base URL, in small letters; `None`: it has none.
pub fn host(base_url: &str) -> Option<String> {
    let uri: Uri = base_url.trim().parse().ok()?;
    uri.host().map(str::to_ascii_lowercase)
}

/// Whether a base URL leads to this machine.
pub fn is_local(base_url: &str) -> bool {
    let Some(host) = host(base_url) else { return false };
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback() || ip.is_unspecified(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// The host that a base URL leads to by plain http, where that is another machine: whoever sits on the way reads what is
/// sent there. `None`: nobody does, or it leads nowhere. A name is taken for this machine only where the resolver is not
/// asked what it means.
pub fn open_way(base_url: &str) -> Option<String> {
    let uri: Uri = base_url.trim().parse().ok()?;
    let host = uri.host()?.to_ascii_lowercase();
    let is_here = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback() || ip.is_unspecified(),
        Err(_) => host == "localhost",
    };
    (uri.scheme() != Some(&Scheme::HTTPS) && !is_here).then_some(host)
}

/// An address as people may see it: without what stands before an `@` and behind a `?`, which may be a key.
pub fn shown(base_url: &str) -> &str {
    let (address, rest) = base_url.split_at(base_url.find(['?', '#']).unwrap_or(base_url.len()));
    match address.rsplit_once('@') {
        Some((_, host)) => host,
        // A password with a `?` in it.
        None if rest.contains('@') => "***",
        None => address,
    }
}

/// What an address has behind its host.
pub fn behind_host(base_url: &str) -> &str {
    let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    &rest[rest.find(['/', '?', '#']).unwrap_or(rest.len())..]
}

/// Values in the query of an address that are to be kept from others, as they stand there and as a server reads them. What only
/// says a version is none: errors are about that.
pub(crate) fn address_keys(query: &str) -> Keyring {
    let keys = Keyring::default();
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let is_version = name.to_ascii_lowercase().ends_with("version");
        if !is_version && Secret::new(value).is_some_and(|value| is_key(name, &value)) {
            keys.learn(value);
            keys.learn(&percent_decoded(value));
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_keys_and_ordinary_words() {
        let keys = address_keys(
            "sig=CANARY-0123456789&api-version=2024-12-01-preview&token=short-1&q=a%2Fb-CANARY-678901&deployment=gpt",
        );
        let said = "no /v1?sig=CANARY-0123456789 for short-1, a/b-CANARY-678901 (a%2fb-CANARY-678901), gpt of 2024-12-01-preview";
        assert_eq!(keys.scrub(said), "no /v1?sig=*** for short-1, *** (***), gpt of 2024-12-01-preview");
    }

    #[test]
    fn hosts_and_this_machine_are_told_by_the_address() {
        for (url, want, local) in [
            ("https://API.openai.com/v1", Some("api.openai.com"), false),
            (" https://user@api.openai.com:443/v1 ", Some("api.openai.com"), false),
            ("http://127.0.0.1:8080/v1", Some("127.0.0.1"), true),
            ("http://[::1]/v1", Some("[::1]"), true),
            ("http://0.0.0.0:1/", Some("0.0.0.0"), true),
            ("http://LocalHost:11434/v1", Some("localhost"), true),
            ("http://gpu.localhost/v1", Some("gpu.localhost"), true),
            ("http://localhost.example.com/v1", Some("localhost.example.com"), false),
            ("http://192.168.0.7/v1", Some("192.168.0.7"), false),
            ("", None, false),
            ("no url", None, false),
        ] {
            assert_eq!(host(url).as_deref(), want, "{url}");
            assert_eq!(is_local(url), local, "{url}");
        }
    }
    #[test]
    fn what_may_be_a_key_is_not_shown() {
        for (url, want) in [
            ("http://lab.example/v1", "http://lab.example/v1"),
            ("http://lab.example/v1?key=canary", "http://lab.example/v1"),
            ("http://lab.example/v1#canary", "http://lab.example/v1"),
            ("http://a:canary@lab.example/v1?key=canary", "lab.example/v1"),
            ("http://a:can?ary@lab.example/v1", "***"),
            ("http://lab.example/v1?a@canary", "***"),
        ] {
            assert_eq!(shown(url), want, "{url}");
        }
        for (url, want) in [("http://h", ""), ("http://h/v1?k", "/v1?k"), ("http://h?k", "?k"), ("h:1/v1", "/v1")] {
            assert_eq!(behind_host(url), want, "{url}");
        }
    }
    #[test]
    fn the_error_of_an_address_shows_no_key() {
        for url in
            ["http://a:canary@h:1/v1?key=canary", "ftp://h/v1?key=canary", "h/v1?key=canary", "http://h h?canary"]
        {
            let known = crate::KnownCredentials::default();
            let config = crate::HttpConfig::new(url, &known, std::time::Duration::from_secs(1), None);
            let said = crate::Http::new(config).err().map(|fault| fault.message).unwrap();
            assert!(said.starts_with("the base URL \"") && !said.contains("canary"), "{said}");
        }
    }
    #[test]
    fn an_open_way_is_plain_http_to_another_machine() {
        for open in [
            "http://192.168.1.5:11434/v1",
            " HTTP://Lab.example/v1 ",
            "http://localhost@lab.example/v1",
            "http://127.0.0.1.lab.example",
            "http://localhost.lab.example",
            "http://gpu.localhost/v1",
            "http://[fd00::1]:1/v1",
            "ftp://lab.example/v1",
        ] {
            assert!(open_way(open).is_some(), "{open}");
        }
        for closed in [
            "https://lab.example/v1",
            "HTTPS://192.168.1.5",
            "http://127.0.0.1:1",
            "http://[::1]:1",
            "http://LocalHost",
            "",
        ] {
            assert_eq!(open_way(closed), None, "{closed}");
        }
        assert_eq!(open_way("http://me:word@Lab.example:1/v1").as_deref(), Some("lab.example"));
    }
}
