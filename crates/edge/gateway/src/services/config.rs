//! Settings: shown without secrets, read again on demand. Who reads them is the composer's.

use dialect_gateway::GatewayRefusal;
use dialect_gateway::services::config::ReloadResult;
use dialect_gateway::shape::AnyJson;
use serde_json::Value;
use vocab::{Json, Later};

use super::SharedServices;

/// What was taken over by a second reading.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Reloaded {
    pub changed: Vec<String>,
    pub restart_required: Vec<String>,
}

/// Where settings come from.
pub trait ConfigSource: Send + Sync {
    /// Everything that is in effect, an object, with secrets as `***`.
    fn shown(&self) -> Value;
    /// Reads everything again and makes it hold. The errors say what is wrong; then everything is as it was.
    fn reload(&self) -> Later<'static, Result<Reloaded, Vec<String>>>;
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

pub(super) async fn reload(services: &SharedServices) -> Result<ReloadResult, GatewayRefusal> {
    let reloaded = services.parts.config.reload().await.map_err(|errors| {
        GatewayRefusal::internal("config_invalid", "the settings cannot be read; those from before hold")
            .with("errors", errors)
    })?;
    let Reloaded { changed, restart_required } = reloaded;
    Ok(ReloadResult { success: true, changed, restart_required })
}
