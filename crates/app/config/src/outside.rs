//! Settings changed from outside: by somebody whom a gateway trusts with its settings, over a wire. That is less than what can
//! be typed at the command line. What says who may come in, where keys are sent and which programs are started is closed, so
//! that a token that was lost for an hour is not lost for good; and no value may stand for something else, such as a variable.

use std::path::{Path, PathBuf};

use serde_json::Value;
use vocab::{Fault, FaultKind};

use super::keys::{self, SettingKey, SettingKind, SettingValue};
use super::load::FILE_BYTES_MAX;
use super::slugs;
use super::tree::{Node, TreeValue};
use super::{edit, redact};

/// Letters of one text, and texts of one list.
const TEXT_CHARS_MAX: usize = 4_000;
const LIST_MAX: usize = 256;
/// Letters of the name of an alias.
const ENTRY_CHARS_MAX: usize = 64;

/// Why a setting stays as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OutsideRefused {
    /// There is no such setting.
    Unknown(String),
    /// It is not for others to set, whatever the value.
    NotSettable(String),
    /// This value cannot be.
    Invalid(String),
}

/// Settings that nobody sets from outside, as beginnings of names, and what they decide.
const CLOSED: [(&str, &str); 14] = [
    ("tools.", "it says what runs without a question"),
    ("server.host", "it says where the gateway listens"),
    ("server.port", "it says where the gateway listens"),
    ("server.tls.", "it says by what the gateway is known"),
    ("server.token", "it is a secret"),
    ("server.auth_http", "it says who may come in"),
    ("server.tailscale_", "it says who may come in"),
    ("server.allowed_origins", "it says who may come in"),
    ("server.hostnames", "it says who may come in"),
    ("base_url", "it says where prompts and keys are sent"),
    ("ca_file", "it says which servers are believed"),
    ("accounts.", "it says where accounts are signed in to"),
    ("extensions", "it says which programs are started"),
    ("trusted_workspaces", "it says which programs are started"),
];

/// Why this one is closed; `None`: it is not.
fn closed(key: &SettingKey) -> Option<&'static str> {
    if key.kind == SettingKind::Secret || keys::is_secret(key.name) || redact::is_secret_name(key.name) {
        return Some("it is a secret");
    }
    if key.kind.is_table() {
        return Some("it is made of tables");
    }
    // By its whole name: `model` begins so, too.
    if key.name == "mode" {
        return Some("it says what runs without a question");
    }
    CLOSED.iter().find(|(beginning, _)| key.name.starts_with(beginning)).map(|(_, why)| *why)
}

/// Whether it can be set from outside.
pub(super) fn is_settable(key: &SettingKey) -> bool {
    closed(key).is_none()
}

/// A change that was thought through and not made.
#[derive(Debug)]
pub struct OutsideEdit {
    pub name: String,
    /// The whole file as it is to be.
    pub text: String,
    file: PathBuf,
    before: Option<String>,
}

/// What setting `path` to `value` makes of the file; `null` takes the setting out of it.
pub fn plan_outside(file: &Path, path: &str, value: &Value) -> Result<OutsideEdit, OutsideRefused> {
    let (name, setting) = meant(path, value)?;
    is_own(file)?;
    let invalid = |what: String| OutsideRefused::Invalid(format!("{}: {what}", file.display()));
    let before = match safefile::read_regular_text(file, FILE_BYTES_MAX) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(invalid(format!("cannot be read: {error}"))),
    };
    let old = before.as_deref().unwrap_or_default();
    // An error's own text quotes the file, and what is quoted may be secret.
    let parsed = old.parse::<toml_edit::DocumentMut>();
    parsed.map_err(|error| invalid(format!("is no TOML: {}", error.message())))?;
    let text = match &setting {
        Some(setting) => edit::changed(old, &name, setting),
        None => edit::without(old, &name),
    };
    let text = text.map_err(invalid)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(invalid("would be too long to be read again".to_owned()));
    }
    Ok(OutsideEdit { name, text, file: file.to_owned(), before })
}

impl OutsideEdit {
    /// Whole or not at all; not where somebody else has changed the file meanwhile.
    pub fn write(&self) -> Result<(), Fault> {
        let refused = |refused: OutsideRefused| Fault::new(FaultKind::Invalid, refused.to_string());
        is_own(&self.file).map_err(refused)?;
        let now = safefile::read_regular_text(&self.file, FILE_BYTES_MAX).ok();
        if now != self.before {
            let text = format!("{}: somebody else has changed it meanwhile", self.file.display());
            return Err(Fault::new(FaultKind::Invalid, text).hint("try again"));
        }
        edit::write(&self.file, self.text.as_bytes())
    }

    /// The file as it was, where what came of the change cannot be used.
    pub fn take_back(&self) -> Result<(), Fault> {
        match &self.before {
            Some(before) => edit::write(&self.file, before.as_bytes()),
            None => std::fs::remove_file(&self.file).map_err(|error| {
                Fault::new(FaultKind::Store, format!("cannot remove {}: {error}", self.file.display()))
            }),
        }
    }
}

impl std::fmt::Display for OutsideRefused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OutsideRefused::Unknown(why) | OutsideRefused::NotSettable(why) | OutsideRefused::Invalid(why) => {
                f.write_str(why)
            }
        }
    }
}

/// Nobody else has a say in it, and it is where it seems to be. At the command line a link is followed; from outside it is
/// not, for who can make links in that directory would choose what is written to.
fn is_own(file: &Path) -> Result<(), OutsideRefused> {
    let refuse = |why: String| Err(OutsideRefused::NotSettable(format!("{}: {why}", file.display())));
    match std::fs::symlink_metadata(file) {
        Ok(meta) if meta.is_symlink() => return refuse("it is a link, and is not followed from outside".to_owned()),
        Ok(meta) if !meta.is_file() => return refuse("it is no file".to_owned()),
        Ok(_) | Err(_) => {}
    }
    let directory = file.parent().filter(|_| !file.exists());
    match safefile::not_ours(directory.unwrap_or(file)) {
        Some(why) => refuse(why),
        None => Ok(()),
    }
}

/// Which setting, by its name in the manual, and what it is to be.
fn meant(path: &str, value: &Value) -> Result<(String, Option<SettingValue>), OutsideRefused> {
    check_texts(value)?;
    if let Some((table, name)) = slugs::entry(path) {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        if name.is_empty() || name.len() > ENTRY_CHARS_MAX || !name.chars().all(is_plain) {
            return Err(OutsideRefused::Unknown(format!(
                "a name has letters, digits, - and _, at most {ENTRY_CHARS_MAX}"
            )));
        }
        let typed = match value {
            Value::Null => return Ok((path.to_owned(), None)),
            Value::String(text) => text.clone(),
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
            _ => return Err(OutsideRefused::Invalid(format!("`{path}` wants the name of a model"))),
        };
        let setting = slugs::check_text(table, name, &typed).map_err(OutsideRefused::Invalid)?;
        return Ok((path.to_owned(), Some(setting)));
    }
    let key =
        super::find(path).map_err(|fault| OutsideRefused::Unknown(vocab::visible::visible_line(&fault.explained())))?;
    if let Some(why) = closed(key) {
        let text =
            format!("`{}` is not set from outside: {why}; use `tillerman config set` or edit the file", key.name);
        return Err(OutsideRefused::NotSettable(text));
    }
    let setting = match value {
        Value::Null => return Ok((key.name.to_owned(), None)),
        Value::String(text) => key.kind.check_text(text),
        other => node(other).and_then(|node| key.kind.check(&node)),
    };
    // What was sent is not said again: it may be something that got into the wrong field.
    let wrong = || OutsideRefused::Invalid(format!("`{}` wants {}", key.name, key.kind.wants()));
    Ok((key.name.to_owned(), Some(setting.ok_or_else(wrong)?)))
}

/// No text stands for anything else or says more than can be seen of it.
fn check_texts(value: &Value) -> Result<(), OutsideRefused> {
    let refuse = |why: &str| Err(OutsideRefused::Invalid(why.to_owned()));
    match value {
        Value::String(text) if text.chars().count() > TEXT_CHARS_MAX => refuse("the text is too long"),
        // Such a file says what is run.
        Value::String(text) if crate::is_script(text) => refuse("a value from outside names no script"),
        Value::String(text) if text.contains("${") => {
            refuse("a value from outside names no variable: whoever may read settings would read the environment")
        }
        Value::String(text) if text.trim_start().starts_with('!') => refuse("a value from outside names no command"),
        Value::String(text) if text.chars().any(char::is_control) => refuse("the text has control characters"),
        Value::Array(items) if items.len() > LIST_MAX => refuse("the list is too long"),
        Value::Array(items) => items.iter().try_for_each(check_texts),
        Value::Object(_) => refuse("tables are not set from outside"),
        _ => Ok(()),
    }
}

fn node(value: &Value) -> Option<Node> {
    let value = match value {
        Value::Bool(yes) => TreeValue::Bool(*yes),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => TreeValue::Int(whole),
            None => TreeValue::Float(number.as_f64()?),
        },
        Value::String(text) => TreeValue::Text(text.clone()),
        Value::Array(items) => TreeValue::List(items.iter().map(node).collect::<Option<_>>()?),
        Value::Null | Value::Object(_) => return None,
    };
    Some(Node { value, line: None })
}
