//! Settings: shown without secrets, read again on demand, changed by operators. Who reads them is the composer's.

use std::sync::Arc;

use dialect_gateway::GatewayRefusal;
use dialect_gateway::services::config::{ConfigChange, ConfigSetResult, ReloadResult};
use dialect_gateway::shape::{AnyJson, Nullable};
use serde_json::Value;
use vocab::{Deed, Json, Later, Principal};

use super::{SharedServices, refused};

/// Of what the audit says of a change.
const DETAIL_CHARS_MAX: usize = 200;

/// What was taken over by a second reading, or would be.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Reloaded {
    pub changed: Vec<String>,
    /// Settings that a new start has to make hold, whenever they were changed.
    pub restart_required: Vec<String>,
    /// All of `changed`, with what they were and are.
    pub changes: Vec<ChangedSetting>,
    /// What is laid over a setting that was written, so that it does not hold.
    pub shadowed_by: Option<String>,
}

/// One setting, with secrets as `***`.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangedSetting {
    pub path: String,
    /// `None`: it was not set.
    pub from: Option<Value>,
    pub to: Option<Value>,
    pub restart_required: bool,
}

/// What somebody wants a setting to be; `null` takes it out of the file.
#[derive(Clone, PartialEq, Debug)]
pub struct NewSetting {
    pub path: String,
    pub value: Value,
    /// Nothing is written.
    pub dry_run: bool,
}

/// Why it was not set. Everything is as it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotSet {
    /// There is no such setting.
    Unknown(String),
    /// Not from outside, whatever the value.
    NotSettable(String),
    /// Not to this value.
    Invalid(Vec<String>),
}

/// Where settings come from.
pub trait ConfigSource: Send + Sync {
    /// Everything that is in effect, an object, with secrets as `***`.
    fn shown(&self) -> Value;
    /// Reads everything again and makes it hold, unless it is only tried. The errors say what is wrong; then everything is as it was.
    fn reload(&self, dry_run: bool) -> Later<'static, Result<Reloaded, Vec<String>>>;
    /// What can be set, as a JSON Schema.
    fn schema(&self) -> Value;
    /// Writes one setting where the user keeps them, and makes it hold.
    fn set(&self, new: NewSetting) -> Later<'static, Result<Reloaded, NotSet>>;
}

/// What only an operator sees.
const OPERATORS: &str = "server";

pub(super) fn get(services: &SharedServices, path: Option<String>, whole: bool) -> Result<AnyJson, GatewayRefusal> {
    let mut tree = services.parts.config.shown();
    if let (false, Value::Object(members)) = (whole, &mut tree) {
        members.remove(OPERATORS);
    }
    let Some(path) = path else { return Ok(AnyJson(Json::trusted(tree.to_string()))) };
    let found = path.split('.').try_fold(tree, |tree, part| match tree {
        Value::Object(mut members) => members.remove(&camel(part)).or_else(|| members.remove(part)),
        _ => None,
    });
    let found = found.ok_or_else(|| {
        let message = format!("there is no setting {}", vocab::visible::visible_line(&path));
        GatewayRefusal::wrong_param("path", message)
    })?;
    Ok(AnyJson(Json::trusted(found.to_string())))
}

/// Both spellings are understood; the tree has this one.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| {
        let mut letters = word.chars();
        let start = letters.next().map(|letter| letter.to_ascii_uppercase());
        text + &start.into_iter().chain(letters).collect::<String>()
    })
}

pub(super) fn schema(services: &SharedServices) -> AnyJson {
    AnyJson(Json::trusted(services.parts.config.schema().to_string()))
}

pub(super) async fn reload(services: &SharedServices, dry_run: bool) -> Result<ReloadResult, GatewayRefusal> {
    let reloaded = services.parts.config.reload(dry_run).await.map_err(|errors| {
        GatewayRefusal::internal("config_invalid", "the settings cannot be read; those from before hold")
            .with("errors", scrubbed(services, errors))
    })?;
    let Reloaded { changed, restart_required, changes, .. } = reloaded;
    Ok(ReloadResult { success: true, changed, restart_required, changes: shown(changes) })
}

/// Who did it stands in the audit before it is done: what cannot be written there does not happen.
pub(super) async fn set(
    services: &SharedServices,
    by: Option<Principal>,
    new: NewSetting,
) -> Result<ConfigSetResult, GatewayRefusal> {
    let config = &services.parts.config;
    if !new.dry_run {
        // Only what would be done is worth a line.
        let tried = NewSetting { dry_run: true, ..new.clone() };
        config.set(tried).await.map_err(|why| refusal(services, why))?;
        let by = by.unwrap_or_else(|| Principal::controller("gateway"));
        let deed = Deed { by, action: "config.set", detail: Some(detail(&new)) };
        services.parts.store.record(deed).await.map_err(refused)?;
    }
    let set = config.set(new).await.map_err(|why| refusal(services, why))?;
    Ok(ConfigSetResult { success: true, changes: shown(set.changes), shadowed_by: set.shadowed_by })
}

/// The setting and its value: none that is secret can be set.
fn detail(new: &NewSetting) -> Arc<str> {
    let text = format!("{} = {}", new.path, new.value);
    let text: String =
        vocab::visible::visible_line(&vocab::masking::mask(&text)).chars().take(DETAIL_CHARS_MAX).collect();
    text.into()
}

fn refusal(services: &SharedServices, why: NotSet) -> GatewayRefusal {
    match why {
        NotSet::Unknown(why) => GatewayRefusal::wrong_param("path", why),
        NotSet::NotSettable(why) => GatewayRefusal::invalid("not_settable", why),
        NotSet::Invalid(errors) => GatewayRefusal::invalid("config_invalid", "that cannot be set; nothing was written")
            .with("errors", scrubbed(services, errors)),
    }
}

/// Keys have no business in an error, whoever reads it.
fn scrubbed(services: &SharedServices, errors: Vec<String>) -> Vec<String> {
    let clean = |text: String| vocab::masking::mask(&services.parts.keyring.scrub(&text)).into_owned();
    errors.into_iter().map(clean).collect()
}

fn shown(changes: Vec<ChangedSetting>) -> Vec<ConfigChange> {
    let json = |value: Option<Value>| Nullable(value.map(|value| AnyJson(Json::trusted(value.to_string()))));
    let change = |it: ChangedSetting| ConfigChange {
        path: it.path,
        from: json(it.from),
        to: json(it.to),
        restart_required: it.restart_required,
    };
    changes.into_iter().map(change).collect()
}
