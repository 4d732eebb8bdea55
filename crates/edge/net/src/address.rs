//! What an address alone tells.

use std::net::IpAddr;

use hyper::Uri;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
