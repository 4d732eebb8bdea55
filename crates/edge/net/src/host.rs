//! Hosts as the tools of the web judge them: odd spellings of an address are read as what they mean, and an address that is
//! not part of the public internet says what it is. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a URL's host is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Host {
    /// To be looked up; in lower case, without a dot at the end.
    Name(String),
    Address(IpAddr),
}

impl Host {
    /// Reads what stands before the port. The error completes "the host ...".
    pub fn parse(text: &str) -> Result<Host, String> {
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let address: Ipv6Addr = inner.parse().map_err(|_| format!("{text:?} is no IPv6 address"))?;
            // `::ffff:127.0.0.1` reaches what `127.0.0.1` does, and is called so.
            return Ok(Host::Address(IpAddr::V6(address).to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(fits) {
            return Err(format!("{text:?} is no host name; write international names in their xn-- form"));
        }
        let last = name.rsplit('.').next().unwrap_or_default();
        if !is_number(last) {
            return Ok(Host::Name(name));
        }
        let address = number_address(&name).ok_or_else(|| format!("{text:?} ends in a number and is no address"))?;
        Ok(Host::Address(IpAddr::V4(address)))
    }

    /// What it is, where it is not a part of the public internet by its very spelling.
    pub fn special(&self) -> Option<&'static str> {
        match self {
            Host::Address(address) => special(*address),
            Host::Name(name) if is_localhost(name) => Some(LOOPBACK),
            Host::Name(_) => None,
        }
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V4(address)) => address.fmt(f),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

const LOOPBACK: &str = "a loopback address: this machine";

/// Names that mean this machine, whatever a name server says.
fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether a name may lead to these addresses. `localhost` leads to this machine and nowhere else, any other name to the
/// public internet alone: what the question named was the name, and it does not show where it leads.
pub(crate) fn check(name: &str, addresses: &[IpAddr]) -> Result<(), String> {
    let local = is_localhost(&name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase());
    let wrong = addresses.iter().find_map(|address| match (local, special(*address)) {
        (true, Some(LOOPBACK)) | (false, None) => None,
        (true, _) => Some(format!("{name} leads to {address}, which is not this machine")),
        (false, Some(what)) => Some(format!(
            "{name} leads to {address}, {what}; it was not asked for by that address, so nothing was fetched"
        )),
    });
    wrong.map_or(Ok(()), Err)
}

/// A part of an address in numbers: decimal, octal with a leading 0, hexadecimal with 0x.
fn number(part: &str) -> Option<u32> {
    match part {
        _ if part.starts_with("0x") => match &part[2..] {
            "" => Some(0),
            digits => u32::from_str_radix(digits, 16).ok(),
        },
        _ if part.len() > 1 && part.starts_with('0') => u32::from_str_radix(&part[1..], 8).ok(),
        _ => part.parse().ok(),
    }
}

fn is_number(part: &str) -> bool {
    let hex = part.strip_prefix("0x").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_hexdigit()));
    hex || (!part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
}

/// `127.1`, `0x7f000001`, `2130706433`: one to four numbers, the last of which fills what is left.
fn number_address(text: &str) -> Option<Ipv4Addr> {
    let parts: Option<Vec<u32>> = text.split('.').map(number).collect();
    let parts = parts.filter(|parts| parts.len() <= 4)?;
    let (last, bytes) = parts.split_last()?;
    let mut bits: u32 = 0;
    for (at, byte) in bytes.iter().enumerate() {
        bits |= u32::from(u8::try_from(*byte).ok()?) << (24 - 8 * at);
    }
    let room = 8 * (4 - bytes.len()) as u32;
    (room == 32 || *last < 1 << room).then(|| Ipv4Addr::from_bits(bits | last))
}

/// What an address is, where it is not a part of the public internet.
fn special(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    match address.octets() {
        [127, ..] => Some(LOOPBACK),
        [0, ..] => Some("an unspecified address: this machine"),
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] => Some("an address of a private network"),
        [169, 254, ..] => Some("a link-local address, where clouds keep credentials"),
        [100, 64..=127, ..] => Some("a shared address of a provider's own network"),
        [192, 0, 0, _] | [198, 18 | 19, ..] => Some("a reserved address"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Some("an address for documentation"),
        [224..=239, ..] => Some("a multicast address"),
        [240..=255, ..] => Some("a reserved address"),
        _ => None,
    }
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    let [a, b, c, .., g, h] = address.segments();
    let embedded = |high: u16, low: u16| special_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match (a, b) {
        _ if address == Ipv6Addr::LOCALHOST => Some(LOOPBACK),
        _ if address == Ipv6Addr::UNSPECIFIED => Some("an unspecified address: this machine"),
        // An IPv4 address in other clothes: as it is without them.
        (0, 0) if address.segments()[..6] == [0; 6] => embedded(g, h).or(Some("a reserved address")),
        (0x64, 0xff9b) if c == 0 => embedded(g, h),
        (0x64, 0xff9b) => Some("an address of a private network"),
        (0x2002, _) => embedded(b, c),
        (0x2001, 0) => Some("an address of a tunnel"),
        (0x2001, 0xdb8) => Some("an address for documentation"),
        (0xfe80..=0xfebf, _) => Some("a link-local address"),
        (0xfec0..=0xfeff, _) | (0xfc00..=0xfdff, _) => Some("an address of a private network"),
        (0xff00.., _) => Some("a multicast address"),
        (0x2000..=0x3fff, _) => None,
        _ => Some("a reserved address"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a URL may spell a host, what that means, and whether it is public.
    #[test]
    fn forty_hosts() {
        let table = [
            ("example.org", "example.org", true),
            ("EXAMPLE.org.", "example.org", true),
            ("xn--bcher-kva.example", "xn--bcher-kva.example", true),
            ("1e100.net", "1e100.net", true),
            ("8.8.8.8", "8.8.8.8", true),
            ("134744072", "8.8.8.8", true),
            ("172.32.0.1", "172.32.0.1", true),
            ("100.128.0.1", "100.128.0.1", true),
            ("[2606:4700::1111]", "[2606:4700::1111]", true),
            ("[64:ff9b::808:808]", "[64:ff9b::808:808]", true),
            ("[2002:808:808::1]", "[2002:808:808::1]", true),
            ("localhost", "localhost", false),
            ("LocalHost.", "localhost", false),
            ("a.localhost", "a.localhost", false),
            ("127.0.0.1", "127.0.0.1", false),
            ("127.1", "127.0.0.1", false),
            ("127.0.1", "127.0.0.1", false),
            ("127.0.0.1.", "127.0.0.1", false),
            ("0x7f000001", "127.0.0.1", false),
            ("0X7F.0.0.1", "127.0.0.1", false),
            ("2130706433", "127.0.0.1", false),
            ("017700000001", "127.0.0.1", false),
            ("0177.0.0.1", "127.0.0.1", false),
            ("0", "0.0.0.0", false),
            ("0x", "0.0.0.0", false),
            ("10.1.2.3", "10.1.2.3", false),
            ("172.16.0.1", "172.16.0.1", false),
            ("192.168.1", "192.168.0.1", false),
            ("169.254.169.254", "169.254.169.254", false),
            ("2852039166", "169.254.169.254", false),
            ("100.64.0.1", "100.64.0.1", false),
            ("224.0.0.1", "224.0.0.1", false),
            ("255.255.255.255", "255.255.255.255", false),
            ("198.18.0.1", "198.18.0.1", false),
            ("[::1]", "[::1]", false),
            ("[::]", "[::]", false),
            ("[::ffff:127.0.0.1]", "127.0.0.1", false),
            ("[::ffff:a9fe:a9fe]", "169.254.169.254", false),
            ("[::127.0.0.1]", "[::7f00:1]", false),
            ("[64:ff9b::a00:1]", "[64:ff9b::a00:1]", false),
            ("[64:ff9b:1::808:808]", "[64:ff9b:1::808:808]", false),
            ("[2002:7f00:1::]", "[2002:7f00:1::]", false),
            ("[2002:c0a8:101::1]", "[2002:c0a8:101::1]", false),
            ("[2001:0:4136:e378::1]", "[2001:0:4136:e378::1]", false),
            ("[fe80::1]", "[fe80::1]", false),
            ("[fec0::1]", "[fec0::1]", false),
            ("[fd00::1]", "[fd00::1]", false),
            ("[ff02::1]", "[ff02::1]", false),
        ];
        for (spelled, meant, is_public) in table {
            let host = Host::parse(spelled).unwrap();
            assert_eq!((host.to_string().as_str(), host.special().is_none()), (meant, is_public), "{spelled}");
        }
        for bad in [
            "",
            ".",
            "256.0.0.1",
            "1.2.3.4.5",
            "127.0.0.0x100",
            "0x1ffffffff",
            "a.1",
            "[::1",
            "[x]",
            "%31",
            "１２７.1",
            "08",
        ] {
            assert!(Host::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_leads_to_the_public_internet_and_localhost_to_this_machine() {
        let leads = |name: &str, to: &[&str]| {
            let addresses: Vec<IpAddr> = to.iter().map(|it| it.parse().unwrap()).collect();
            check(name, &addresses).is_ok()
        };
        assert!(leads("a.example", &["8.8.8.8", "2606:4700::1"]));
        assert!(leads("localhost", &["127.0.0.1", "::1"]));
        for to in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "0.0.0.0"] {
            assert!(!leads("a.example", &[to]), "{to}");
            assert!(!leads("a.example", &["8.8.8.8", to]), "one of them is enough: {to}");
        }
        assert!(!leads("localhost", &["8.8.8.8"]));
        assert!(!leads("localhost", &["10.0.0.1"]));
    }
}
