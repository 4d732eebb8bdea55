//! `config set|add|unset`: one value changed, everything else in the file left as its owner wrote it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};
use vocab::{Fault, FaultKind, Secret};

use super::keys::{self, SettingValue};
use super::load::FILE_BYTES_MAX;
use super::slugs;

/// What was written.
#[derive(Debug)]
pub struct Set {
    pub name: String,
    pub value: SettingValue,
}

/// Writes `key = text` into a TOML file, which is made when it is not there.
pub fn set(file: &Path, key: &str, text: &str) -> Result<Set, Fault> {
    if let Some((table, name)) = slugs::entry(key) {
        let value = slugs::check_text(table, name, text).map_err(|why| Fault::new(FaultKind::Invalid, why))?;
        rewrite(file, |old| changed(old, key, &value))?;
        return Ok(Set { name: key.to_owned(), value });
    }
    let (name, value) = checked(file, key, text)?;
    rewrite(file, |old| changed(old, &name, &value))?;
    Ok(Set { name, value })
}

/// Puts `text` behind what a list has already.
pub fn add(file: &Path, key: &str, text: &str) -> Result<Set, Fault> {
    let (name, value) = checked(file, key, text)?;
    let SettingValue::Texts(more) = value else {
        let text = format!("`{name}` is no list");
        return Err(Fault::new(FaultKind::Invalid, text).hint(format!("tillerman config set {key} VALUE")));
    };
    let mut texts = Vec::new();
    rewrite(file, |old| {
        texts = listed(old, &name);
        let new: Vec<String> = more.into_iter().filter(|text| !texts.contains(text)).collect();
        texts.extend(new);
        changed(old, &name, &SettingValue::Texts(texts.clone()))
    })?;
    Ok(Set { name, value: SettingValue::Texts(texts) })
}

/// A key of the manual and what the text means for it.
fn checked(file: &Path, key: &str, text: &str) -> Result<(String, SettingValue), Fault> {
    let name = keys::snake(key);
    if keys::is_secret(&name) {
        return Err(Fault::new(FaultKind::Invalid, "keys of model servers are never stored in a file")
            .hint("set it in the environment, or name a `key_file` or a `secret_command` in [providers.NAME]"));
    }
    let known = super::find(key)?;
    if known.kind.is_table() {
        let text = format!("`{name}` is made of tables and cannot be set from the command line");
        return Err(Fault::new(FaultKind::Invalid, text).hint(format!("edit {}", file.display())));
    }
    let setting = known.kind.check_text(text).ok_or_else(|| {
        Fault::new(FaultKind::Invalid, format!("`{name}` wants {}, not `{text}`", known.kind.wants()))
    })?;
    let setting = lasting(&name, setting);
    Ok((name, setting))
}

/// Takes a key out of the file: its name, as it is spelled in the manual.
pub fn unset(file: &Path, key: &str) -> Result<String, Fault> {
    let name = match slugs::entry(key) {
        Some(_) => key.to_owned(),
        None => super::find(key)?.name.to_owned(),
    };
    rewrite(file, |old| without(old, &name))?;
    Ok(name)
}

fn rewrite(file: &Path, change: impl FnOnce(&str) -> Result<String, String>) -> Result<(), Fault> {
    let old = match safefile::read_regular_text(file, FILE_BYTES_MAX) {
        Ok(old) => old,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Fault::new(FaultKind::Invalid, format!("cannot read {}: {error}", file.display()))),
    };
    let new = change(&old).map_err(|what| Fault::new(FaultKind::Invalid, format!("{}: {what}", file.display())))?;
    write(file, new.as_bytes())
}

/// The texts of a list as they stand in a file.
fn listed(old: &str, name: &str) -> Vec<String> {
    let Ok(document) = old.parse::<DocumentMut>() else { return Vec::new() };
    let mut item = document.as_item();
    for part in name.split('.') {
        let Some(table) = item.as_table_like() else { return Vec::new() };
        let Some((_, below)) = table.iter().find(|(key, _)| keys::snake(key) == part) else { return Vec::new() };
        item = below;
    }
    let texts = item.as_array().map(|list| list.iter().filter_map(|it| it.as_str()).map(str::to_owned).collect());
    texts.unwrap_or_default()
}

/// A directory is trusted wherever we are started: `.` means the one of this moment.
fn lasting(name: &str, setting: SettingValue) -> SettingValue {
    match setting {
        SettingValue::Texts(paths) if name == "trusted_workspaces" => {
            let real = |path: &String| {
                let path = super::trust::expanded(path);
                let path = std::fs::canonicalize(&path).or_else(|_| std::path::absolute(&path)).unwrap_or(path);
                path.display().to_string()
            };
            SettingValue::Texts(paths.iter().map(real).collect())
        }
        setting => setting,
    }
}

/// The text without one key.
pub(super) fn without(old: &str, name: &str) -> Result<String, String> {
    let mut document: DocumentMut = old.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut parts: Vec<&str> = name.split('.').collect();
    let last = parts.pop().expect("split yields at least one part");
    for part in parts {
        let spelled = spelling(table, part);
        // What is not there is unset already.
        let Some(inner) = table.get_mut(&spelled).and_then(Item::as_table_like_mut) else { return Ok(old.to_owned()) };
        table = inner;
    }
    let spelled = spelling(table, last);
    table.remove(&spelled);
    Ok(document.to_string())
}

/// The text with one key changed. A spelling that is already there is kept.
pub(super) fn changed(old: &str, name: &str, setting: &SettingValue) -> Result<String, String> {
    let mut document: DocumentMut = old.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let mut table: &mut Table = document.as_table_mut();
    let mut parts: Vec<&str> = name.split('.').collect();
    let last = parts.pop().expect("split yields at least one part");
    for part in parts {
        let spelled = spelling(table, part);
        let item = table.entry(&spelled).or_insert_with(|| Item::Table(Table::new()));
        if let Some(inline) = item.as_inline_table().cloned() {
            *item = Item::Table(inline.into_table());
        }
        table = item.as_table_mut().ok_or_else(|| format!("`{part}` is not a table"))?;
    }
    let spelled = spelling(table, last);
    let mut new = match setting {
        SettingValue::Limit(text) => {
            text.parse::<i64>().map(value).unwrap_or_else(|_| value(text.parse().unwrap_or(0.0)))
        }
        SettingValue::Count(number) => value(i64::try_from(*number).unwrap_or(i64::MAX)),
        SettingValue::Bool(yes) => value(*yes),
        SettingValue::Texts(texts) => value(texts.iter().collect::<Array>()),
        SettingValue::Secret(secret) => value(secret.as_ref().map(Secret::expose).unwrap_or_default()),
        other => value(other.show()),
    };
    // A comment behind the old value belongs to the line, not to the value.
    if let (Some(old), Some(new)) = (table.get(&spelled).and_then(Item::as_value), new.as_value_mut()) {
        *new.decor_mut() = old.decor().clone();
    }
    match table.get_mut(&spelled) {
        Some(item) => *item = new,
        None => drop(table.insert(&spelled, new)),
    }
    Ok(document.to_string())
}

fn spelling(table: &dyn TableLike, name: &str) -> String {
    table.iter().map(|(key, _)| key).find(|key| keys::snake(key) == name).unwrap_or(name).to_owned()
}

/// Whole or not at all, and for its owner only, as is the directory when it has to be made: with `TILLERMAN_HOME` the
/// sessions live in it too.
pub(super) fn write(file: &Path, bytes: &[u8]) -> Result<(), Fault> {
    if let Some(directory) = file.parent() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(|error| Fault::new(FaultKind::Invalid, format!("cannot make {}: {error}", directory.display())))?;
    }
    safefile::replace(file, bytes).map_err(|error| {
        Fault::new(FaultKind::Store, format!("cannot write {}: {error}", file.display()))
            .hint("check the directory and its permissions, or set TILLERMAN_HOME to another one")
    })
}
