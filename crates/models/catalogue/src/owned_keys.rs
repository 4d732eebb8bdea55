//! Keys in the environment that belong to somebody, by the names of their variables. They are told by their values wherever
//! else they turn up: in an address, in a header, in what a command prints. Pure.

use vocab::{Keyring, SCRUBBED_BYTES_MIN};

use crate::vendors::KEYED_VENDORS;

/// Variables of services that everybody knows, beside those of [`KEYED_VENDORS`].
const SERVICES: [&str; 30] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_API_KEY",
    "AZURE_CLIENT_SECRET",
    "AZURE_OPENAI_API_KEY",
    "BRAVE_API_KEY",
    "CEREBRAS_API_KEY",
    "CLOUDFLARE_API_TOKEN",
    "COHERE_API_KEY",
    "DIGITALOCEAN_ACCESS_TOKEN",
    "EXA_API_KEY",
    "FIREWORKS_API_KEY",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "HF_TOKEN",
    "HUGGINGFACE_API_KEY",
    "HUGGING_FACE_HUB_TOKEN",
    "MOONSHOT_API_KEY",
    "NPM_TOKEN",
    "NVIDIA_API_KEY",
    "PERPLEXITY_API_KEY",
    "REPLICATE_API_TOKEN",
    "SLACK_BOT_TOKEN",
    "STRIPE_SECRET_KEY",
    "TAVILY_API_KEY",
    "TOGETHER_API_KEY",
    "VERCEL_TOKEN",
];
/// A variable whose name ends with one of these words holds somebody's key.
const LAST_WORDS: [&str; 7] = ["KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PAT"];
/// A longer row of letters is no word.
const WORD_CHARS_MAX: usize = 16;
/// A shorter row of digits is a number like any other; `123` is what people type who need some value.
const COUNTING_CHARS_MIN: usize = 3;

#[derive(Clone, Debug, Default)]
pub struct OwnedKeys {
    /// Those of vendors and services: whoever names the variable elsewhere names their key.
    vendors: Keyring,
    /// Any other, with the name of its variable. Whose it is the user says by naming that.
    others: Vec<(String, Keyring)>,
    all: Keyring,
}

impl OwnedKeys {
    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut owned = Self::default();
        for (name, value) in variables {
            if is_word(value.trim()) || is_place(value.trim()) {
                continue;
            }
            if is_vendors(&name) {
                owned.vendors.learn(&value);
            } else if is_key_name(&name) {
                owned.others.push((name, Keyring::from_iter([&value])));
            } else {
                continue;
            }
            owned.all.learn(&value);
        }
        owned
    }

    /// Whoever they belong to: no address has one of them in it.
    pub(crate) fn all(&self) -> &Keyring {
        &self.all
    }

    /// Those that are not meant for a server beside whose address the user has named these variables.
    pub(crate) fn not_named(&self, is_named: impl Fn(&str) -> bool) -> Self {
        let others = self.others.iter();
        let (named, others): (Vec<_>, Vec<_>) = others.cloned().partition(|(name, _)| is_named(name));
        // Two variables may have one value.
        let is_same = |one: &Keyring| named.iter().any(|(_, other)| one.is_same(other));
        let others = others.into_iter().filter(|(_, key)| !is_same(key)).collect();
        Self { vendors: self.vendors.clone(), others, all: self.all.clone() }
    }

    /// Whose key is in there, for people; `None`: nobody's.
    pub(crate) fn whose(&self, bytes: &[u8]) -> Option<String> {
        if self.vendors.is_in(bytes) {
            return Some("a vendor's".to_owned());
        }
        let (name, _) = self.others.iter().find(|(_, key)| key.is_in(bytes))?;
        Some(format!("that of {name}, which is not named there"))
    }
}

/// Whether a variable is that of a vendor or of a service that everybody knows.
pub(crate) fn is_vendors(name: &str) -> bool {
    SERVICES.contains(&name) || KEYED_VENDORS.iter().flat_map(|it| it.keys).any(|(key, _)| *key == name)
}

fn is_key_name(name: &str) -> bool {
    let last = name.rsplit('_').next().unwrap_or_default().to_ascii_uppercase();
    LAST_WORDS.contains(&&*last)
}

/// Where something is: a variable of such a name may say where a key is kept.
fn is_place(value: &str) -> bool {
    value.starts_with(['/', '~', '.']) || value.contains("://")
}

/// What many servers take for a key, because some client will not go without one: `ollama`, `sk-local-dummy`, `not-needed`,
/// `sk-1234567890`, `sk-xxxxxxxxxxxx`. A key that somebody has made is random, and has no words.
fn is_word(value: &str) -> bool {
    let is_word = |part: &str| is_letters(part) || is_counting(part);
    value.len() < SCRUBBED_BYTES_MIN || value.split(['-', '_', '.', ' ']).all(|part| part.is_empty() || is_word(part))
}

fn is_letters(part: &str) -> bool {
    let of_one_case = |rest: &str| {
        rest.bytes().all(|byte| byte.is_ascii_lowercase()) || rest.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    part.len() <= WORD_CHARS_MAX
        && part.is_ascii()
        && (of_one_case(part) || of_one_case(&part[1..]))
        && part.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// `1234567890`, `0000`, `xxxxxxxx`.
fn is_counting(part: &str) -> bool {
    let follows =
        |pair: &[u8]| pair[1] == pair[0] || (pair[0].is_ascii_digit() && pair[1] == b'0' + (pair[0] - b'0' + 1) % 10);
    part.len() >= COUNTING_CHARS_MIN && part.as_bytes().windows(2).all(follows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(variables: &[(&str, &str)]) -> OwnedKeys {
        OwnedKeys::of(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn keys_are_told_by_the_names_of_their_variables() {
        for name in ["GITHUB_TOKEN", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "GROQ_API_KEY"] {
            let owned = owned(&[(name, "canary-1-x")]);
            assert_eq!(owned.whose(b"Bearer canary-1-x").as_deref(), Some("a vendor's"), "{name}");
            assert!(owned.not_named(|_| true).whose(b"canary-1-x").is_some(), "{name}: whoever names it");
        }
        for name in ["LAB_API_KEY", "my_token", "CLIENT_SECRET", "DB_PASSWORD", "TOKEN", "SOME_PAT"] {
            let owned = owned(&[(name, "canary-1-x"), ("SAME_KEY", "canary-1-x")]);
            assert!(owned.whose(b"Bearer canary-1-x").is_some_and(|whose| whose.contains(name)), "{name}");
            assert_eq!(owned.not_named(|it| it == name).whose(b"canary-1-x"), None, "{name}");
            assert!(owned.all().is_in(b"canary-1-x"));
        }
        for (name, value) in [
            ("LAB_HOST", "canary-1-x"),
            ("KEY_FILE", "canary-1-x"),
            ("LAB_KEY", "/etc/key1"),
            ("A_TOKEN", "http://x1/"),
        ] {
            assert_eq!(owned(&[(name, value)]).whose(value.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn what_people_type_who_need_some_value_is_a_word() {
        for word in [
            "none",
            "sk-local-dummy",
            "not-needed",
            "sk-no-key-required",
            "lm-studio",
            "PLACEHOLDER",
            "Dummy-Key",
            "sk-1234567890",
            "sk-00000000",
            "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
            "no_key_needed",
            "test-key-123",
        ] {
            assert!(is_word(word), "{word}");
        }
        for key in [
            "canary-1-groq",
            "sk-proj-Ab3dEf6hIj",
            "gsk_QwErTyUiOpAsDfGh",
            "abcdefghijklmnopqrstuvwxyzab",
            "0f8fad5bd9cb469fa16570867728950e",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        ] {
            assert!(!is_word(key), "{key}");
        }
    }
}
