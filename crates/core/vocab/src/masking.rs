//! Takes secrets out of lines that people read, by what they look like. Keys that the process knows are taken out by their
//! value before ([`crate::Keyring`]); this is for those that it does not know: what a server echoes, what stands in a file.

use std::borrow::Cow;

const MASK: &str = "***";
/// Words that begin like this are keys.
const KEY_STARTS: [&str; 12] =
    ["sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xoxa-", "xoxb-", "xoxp-", "AKIA", "ASIA"];
/// Shorter ones are words (`sk-1`, in a sentence about keys).
const KEY_BYTES_MIN: usize = 10;
/// What stands behind one of these words is a credential.
const SCHEMES: [&str; 2] = ["bearer", "basic"];
/// A value under such a name is a secret.
const NAMES: [&str; 12] = [
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "api_key",
    "api-key",
    "private_key",
    "signing_key",
    "authorization",
    "cookie",
    "credential",
];
/// Names that hold one of those words and are no secrets.
const HARMLESS: [&str; 4] = ["max_tokens", "tokenpreview", "maxtokens", "token_count"];

/// The text without what looks like a secret.
pub fn mask(text: &str) -> Cow<'_, str> {
    let masked = without_pem(text);
    let masked = words(&masked);
    if masked == text { Cow::Borrowed(text) } else { Cow::Owned(masked) }
}

/// From the beginning of a key's block to its end, or to the end of the text.
fn without_pem(text: &str) -> String {
    const BEGIN: &str = "-----BEGIN ";
    const END: &str = "-----END ";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        out.push_str(&rest[..at]);
        out.push_str(MASK);
        let block = &rest[at + BEGIN.len()..];
        let after = block.find(END).map(|end| &block[end + END.len()..]);
        rest = after.and_then(|tail| tail.split_once("-----")).map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out
}

fn is_border(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '"' | '\'' | '`' | ',' | ';' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '&' | '?')
}

/// What is to be masked next.
#[derive(PartialEq)]
enum Expect {
    Nothing,
    /// `name` was read: a `:` or `=` makes what follows a secret.
    Sign,
    /// The next word is one.
    Value,
    /// The next word is one, unless it is a word of a sentence: "missing bearer authentication".
    Credential,
}

fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut expect = Expect::Nothing;
    let mut rest = text;
    while !rest.is_empty() {
        let border = rest.find(|c| !is_border(c)).unwrap_or(rest.len());
        if border > 0 {
            // A comma, or the end of a line, ends what a name was about.
            if rest[..border].contains([',', ';', '{', '}', '&', '\n']) {
                expect = Expect::Nothing;
            }
            out.push_str(&rest[..border]);
            rest = &rest[border..];
            continue;
        }
        let end = rest.find(is_border).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        expect = word_masked(word, &expect, &mut out);
        rest = after;
    }
    out
}

/// Writes one word, and says what the next one is.
fn word_masked(word: &str, expect: &Expect, out: &mut String) -> Expect {
    if *expect == Expect::Sign {
        if word.chars().all(|c| matches!(c, ':' | '=')) {
            out.push_str(word);
            return Expect::Value;
        }
        if let Some(value) = word.strip_prefix([':', '=']) {
            out.push_str(&word[..1]);
            return value_masked(value, out);
        }
    }
    if *expect == Expect::Value {
        return value_masked(word, out);
    }
    if *expect == Expect::Credential && word.contains(|c: char| !c.is_ascii_alphabetic()) {
        return value_masked(word, out);
    }
    if SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme)) {
        out.push_str(word);
        return Expect::Credential;
    }
    if let Some(at) = word.find(['=', ':']).filter(|at| is_secret_name(&word[..*at])) {
        out.push_str(&word[..=at]);
        let value = &word[at + 1..];
        return if value.is_empty() { Expect::Value } else { value_masked(value, out) };
    }
    if is_key(word) {
        out.push_str(MASK);
        return Expect::Nothing;
    }
    out.push_str(&without_userinfo(word));
    if is_secret_name(word) { Expect::Sign } else { Expect::Nothing }
}

/// `Authorization: Bearer X`: the word behind the scheme is the secret.
fn value_masked(value: &str, out: &mut String) -> Expect {
    if SCHEMES.iter().any(|scheme| value.eq_ignore_ascii_case(scheme)) {
        out.push_str(value);
        return Expect::Value;
    }
    out.push_str(MASK);
    Expect::Nothing
}

fn is_secret_name(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    is_plain
        && NAMES.iter().any(|name| word.contains(name))
        && !HARMLESS.iter().any(|name| word.ends_with(name))
        && !word.ends_with("tokens")
}

fn is_key(word: &str) -> bool {
    let is_known = word.len() >= KEY_BYTES_MIN && KEY_STARTS.iter().any(|start| word.starts_with(start));
    let parts: Vec<&str> = word.split('.').collect();
    is_known || (word.starts_with("eyJ") && parts.len() >= 3 && parts.iter().all(|part| !part.is_empty()))
}

/// `scheme://user:password@host` as `scheme://***@host`.
fn without_userinfo(word: &str) -> Cow<'_, str> {
    let Some(at) = word.find("://").map(|at| at + 3) else { return Cow::Borrowed(word) };
    let authority = word[at..].find('/').map_or(&word[at..], |end| &word[at..at + end]);
    match authority.rfind('@') {
        Some(user) => Cow::Owned(format!("{}{MASK}{}", &word[..at], &word[at + user..])),
        None => Cow::Borrowed(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_taken_out() {
        let canaries = [
            "Authorization: Bearer canary-1",
            "authorization=Basic Y2FuYXJ5Og-canary==",
            "the key sk-canary0123456789 was refused",
            "ghp_canary0123456789abcdef",
            "github_pat_11canary_0123456789",
            "slack: xoxb-1-canary-2",
            "id AKIAcanary012345678 of",
            "cookie eyJhbGciOiJIUzI1NiJ9.canary.c2ln and more",
            "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY----- behind",
            "-----BEGIN RSA PRIVATE KEY-----\ncanary",
            "https://user:canary@host/path",
            "postgres://canary@host",
            "password=canary",
            "{\"api_key\":\"canary\",\"x\":1}",
            "{\"apiKey\" : \"canary\"}",
            "?token=canary&x=1",
            "Cookie: canary",
            "client_secret: 'canary'",
            "token canary-is-no-value but token: canary",
        ];
        for text in canaries {
            let masked = mask(text);
            assert!(!masked.contains("canary") || text.starts_with("token canary-is"), "{text:?} -> {masked:?}");
            assert!(masked.contains(MASK), "{text:?} -> {masked:?}");
        }
        assert_eq!(mask(canaries[8]), "*** behind");
        assert_eq!(mask(canaries[13]), "{\"api_key\":\"***\",\"x\":1}");
        assert_eq!(mask(canaries[10]), "https://***@host/path");
    }

    #[test]
    fn sentences_about_credentials_stay_sentences() {
        for text in ["401 Missing bearer or basic authentication in header", "use Bearer authentication"] {
            assert_eq!(mask(text), text);
        }
        assert_eq!(mask("Bearer abc123 was refused"), "Bearer *** was refused");
    }

    #[test]
    fn ordinary_lines_stay_as_they_are() {
        let lines = [
            "new TLS certificate loaded",
            "the gateway's tokens stay as they were: permission denied",
            "max_tokens=4096, input_tokens: 12",
            "model mock/alpha: named by --model",
            "https://host/path?x=1",
            "sk-1 is short",
            "12:30: a time, and a path: /a/b:c",
        ];
        for line in lines {
            assert!(matches!(mask(line), Cow::Borrowed(same) if same == line), "{line:?} -> {:?}", mask(line));
        }
    }
}
