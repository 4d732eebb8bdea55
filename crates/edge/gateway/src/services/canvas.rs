//! Artifacts on the shelf: on the disk before anybody is told, and gone with their session.

use std::sync::Arc;

use dialect_gateway::GatewayRefusal;
use dialect_gateway::services::canvas::*;
use dialect_gateway::shape::{AnyJson, Nullable};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use vocab::{FaultKind, Json, SessionId, ShelfKind, ShelfPlace, Shelved};

use super::{SharedServices, incident, refused, sessions};

const CANVAS: ShelfKind = ShelfKind { name: "canvas", goes_with_session: true };

/// What is kept of an artifact; its name and its times are the shelf's.
#[derive(Serialize, Deserialize)]
struct KeptArtifact {
    #[serde(rename = "type")]
    kind: String,
    title: Option<String>,
    content: Box<RawValue>,
    metadata: Option<Box<RawValue>>,
}

pub(super) async fn carry_out(
    services: &SharedServices,
    session: SessionId,
    is_own: bool,
    what: CanvasCall,
) -> Result<CanvasAnswer, GatewayRefusal> {
    if !services.settings().gate("ui.canvas") {
        return Err(GatewayRefusal::invalid("feature_disabled", "`ui.canvas` is switched off"));
    }
    if !is_own && !sessions::exists(services, &session).await? {
        return Err(GatewayRefusal::no_session(&session));
    }
    let owner: Arc<str> = session.as_str().into();
    let place = |name: Arc<str>| ShelfPlace { kind: CANVAS, owner: owner.clone(), name };
    let shelf = &services.parts.shelf;
    Ok(match what {
        CanvasCall::Put(params) => {
            let payload = kept(&params)?;
            let put = shelf.put(place(params.artifact_id.0.clone()), payload, Some(ARTIFACTS_MAX)).await;
            let put = put.map_err(|fault| match fault.kind {
                FaultKind::QueueFull => limit(format!("a session has at most {ARTIFACTS_MAX} artifacts")),
                _ => refused(fault),
            })?;
            CanvasAnswer::Put(CanvasPutResult { artifact: artifact(&put, true)?, created: put.version == 1 })
        }
        CanvasCall::Get { artifact: name } => {
            let found = shelf.get(place(name.clone())).await.map_err(refused)?;
            let found = found.ok_or_else(|| {
                let message = format!("there is no artifact {}", vocab::visible::visible_line(&name));
                GatewayRefusal::invalid("artifact_not_found", message).with("artifactId", &*name)
            })?;
            CanvasAnswer::Got(CanvasGetResult { artifact: artifact(&found, true)? })
        }
        CanvasCall::List { limit, with_content } => {
            let found = shelf.names(CANVAS, owner.clone(), limit).await.map_err(refused)?;
            let artifacts = listed(services, found.names.into_iter().map(place), with_content).await?;
            CanvasAnswer::Listed(CanvasListResult { artifacts, total: found.total })
        }
        CanvasCall::Delete { artifact } => {
            let deleted = shelf.remove(place(artifact)).await.map_err(refused)?;
            CanvasAnswer::Deleted(CanvasDeleteResult { deleted })
        }
        CanvasCall::Clear => {
            let cleared = shelf.clear(CANVAS, owner).await.map_err(refused)?;
            CanvasAnswer::Cleared(CanvasClearResult { cleared })
        }
    })
}

/// One after the other, so that no more than the answer and one artifact are in memory. What is damaged is left out: one must not
/// hide all others.
async fn listed(
    services: &SharedServices,
    places: impl Iterator<Item = ShelfPlace>,
    with_content: bool,
) -> Result<Vec<Artifact>, GatewayRefusal> {
    let (mut shown, mut room, mut fault) = (Vec::new(), Some(CANVAS_LIST_BYTES_MAX), None);
    for place in places {
        let found = match services.parts.shelf.get(place).await {
            Ok(Some(found)) => found,
            Ok(None) => continue,
            Err(why) => {
                fault = Some(why);
                continue;
            }
        };
        let mut artifact = artifact(&found, with_content)?;
        let bytes = |json: &AnyJson| json.0.as_str().len();
        let needs = artifact.content.as_ref().map_or(0, bytes) + artifact.metadata.0.as_ref().map_or(0, bytes);
        // The newest have theirs; from the first on that has no room, nobody has.
        room = room.and_then(|room| room.checked_sub(needs));
        if room.is_none() {
            (artifact.content, artifact.metadata) = (None, Nullable(None));
            artifact.content_omitted = Some(true);
        }
        shown.push(artifact);
    }
    match fault {
        Some(fault) if shown.is_empty() => Err(refused(fault)),
        _ => Ok(shown),
    }
}

fn limit(message: String) -> GatewayRefusal {
    GatewayRefusal::invalid("limit", message)
}

fn kept(params: &CanvasPutParams) -> Result<Arc<[u8]>, GatewayRefusal> {
    // The limit is the artifact's, whatever spelling its client writes JSON in.
    let raw = |json: &Json| RawValue::from_string(in_one_spelling(json.as_str())?);
    let broken = |_| incident("internal", "an artifact is no JSON");
    let artifact = KeptArtifact {
        kind: params.kind.0.to_string(),
        title: params.title.as_ref().map(|title| title.0.to_string()),
        content: raw(&params.content.0).map_err(broken)?,
        metadata: params.metadata.as_ref().map(|it| raw(&it.0)).transpose().map_err(broken)?,
    };
    let payload = serde_json::to_vec(&artifact).map_err(broken)?;
    if payload.len() > ARTIFACT_BYTES_MAX {
        let message = format!("an artifact has at most {ARTIFACT_BYTES_MAX} bytes, and this one has {}", payload.len());
        return Err(limit(message));
    }
    Ok(payload.into())
}

/// The same value without blanks around its parts, and each character of a string as itself where JSON lets it be. Numbers stay
/// as they were written: one that no float holds is kept.
fn in_one_spelling(json: &str) -> serde_json::Result<String> {
    let is_part = |it: &char| !it.is_ascii_whitespace();
    let (mut spelled, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(start) = rest.find('"') {
        spelled.extend(rest[..start].chars().filter(is_part));
        let mut texts = serde_json::Deserializer::from_str(&rest[start..]).into_iter::<String>();
        if let Some(text) = texts.next() {
            spelled.push_str(&serde_json::to_string(&text?)?);
        }
        rest = &rest[start + texts.byte_offset()..];
    }
    spelled.extend(rest.chars().filter(is_part));
    Ok(spelled)
}

fn artifact(shelved: &Shelved, with_content: bool) -> Result<Artifact, GatewayRefusal> {
    let broken = |_| incident("store", "an artifact on the shelf cannot be read");
    let kept: KeptArtifact = serde_json::from_slice(&shelved.payload).map_err(broken)?;
    let any = |raw: Box<RawValue>| AnyJson(Json::trusted(raw.get()));
    Ok(Artifact {
        artifact_id: shelved.place.name.clone(),
        session_id: shelved.place.owner.clone(),
        kind: kept.kind.into(),
        title: Nullable(kept.title.map(Into::into)),
        content: with_content.then(|| any(kept.content)),
        content_omitted: None,
        metadata: Nullable(kept.metadata.map(any)),
        created_at: shelved.created_ms,
        updated_at: shelved.updated_ms,
        version: shelved.version,
    })
}

#[cfg(test)]
mod tests {
    use super::in_one_spelling;

    #[test]
    fn a_value_has_one_spelling_and_keeps_its_numbers() {
        let cases = [
            (r#""\u00e4\/\ud83d\ude00""#, r#""ä/😀""#),
            (
                r#" { "a b" : [ 1.10 , 12345678901234567890123 , -0.0 , 1e400 ] , "\u0061" : null } "#,
                r#"{"a b":[1.10,12345678901234567890123,-0.0,1e400],"a":null}"#,
            ),
            (r#""a \u0022 \\ \u0000 \n \" ""#, r#""a \" \\ \u0000 \n \" ""#),
            ("[]", "[]"),
            ("7", "7"),
            (r#""""#, r#""""#),
        ];
        for (given, want) in cases {
            assert_eq!(in_one_spelling(given).unwrap(), want);
        }
    }
}
