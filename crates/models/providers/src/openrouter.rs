//! What OpenRouter says beyond Chat Completions: which servers a model can be routed to.

use std::sync::Arc;
use std::time::Duration;

use net::{Exchange, Proxy};
use serde::Deserialize;
use vocab::{Fault, FaultKind, ModelFault, Secret};

use crate::faults;

/// Where it is.
pub const URL: &str = "https://openrouter.ai/api/v1";
/// The name under which its models are offered.
pub const NAME: &str = "openrouter";

/// How long the list of one model's servers may take, from connecting to the last byte.
const ROUTES_TIME_MAX: Duration = Duration::from_secs(30);
/// A longer list is a fault; real ones are some KiB.
const ROUTES_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The short names of the servers that a model can be routed to, sorted, each once. `model` is `AUTHOR/NAME`, as
/// OpenRouter calls it.
pub async fn routes(
    base_url: &str,
    key: &Secret,
    model: &str,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Arc<str>>, Fault> {
    let path = path(model).ok_or_else(|| {
        Fault::new(FaultKind::UnknownModel, format!("{NAME} has no model {model:?}"))
            .hint("it should look like AUTHOR/NAME")
    })?;
    let url = format!("{}{path}", base_url.trim_end_matches('/'));
    let once = Exchange {
        url: &url,
        content: None,
        bearer: Some(key),
        headers: &[],
        proxy: Proxy::from_env(&url, lookup),
        timeout: ROUTES_TIME_MAX,
        answer_bytes_max: ROUTES_BYTES_MAX,
    };
    let answer = once.send().await?;
    let fault = match answer.status {
        200 => match read(&answer.body) {
            Some(routes) => return Ok(routes),
            None => ModelFault::new(FaultKind::Provider, format!("{NAME} gave no list of providers for {model}")),
        },
        status => faults::refused(status, &Default::default(), &answer.body, NAME),
    };
    let message = net::sealed(&fault.fault.message, std::slice::from_ref(key));
    Err(Fault { message, ..fault.fault })
}

/// `None` for what cannot be the name of a model: a path is not to be led elsewhere by one.
fn path(model: &str) -> Option<String> {
    let (author, name) = model.trim().split_once('/')?;
    let fits = |part: &str| {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@+".contains(&byte);
        !part.is_empty() && part.bytes().all(good) && part.bytes().any(|byte| byte != b'.')
    };
    (fits(author) && fits(name)).then(|| format!("/models/{author}/{name}/endpoints"))
}

fn read(body: &[u8]) -> Option<Vec<Arc<str>>> {
    #[derive(Deserialize)]
    struct RoutesAnswer {
        data: RoutesData,
    }
    #[derive(Deserialize)]
    struct RoutesData {
        endpoints: Vec<Endpoint>,
    }
    #[derive(Deserialize)]
    struct Endpoint {
        tag: Option<String>,
        provider_name: Option<String>,
    }
    let answer: RoutesAnswer = serde_json::from_slice(body).ok()?;
    let name = |endpoint: Endpoint| {
        // Behind the slash is which of a server's variants it is.
        let tag = endpoint.tag.as_deref().and_then(|tag| tag.split('/').next()).map(str::trim).unwrap_or_default();
        let name = if tag.is_empty() { slug(&endpoint.provider_name.unwrap_or_default()) } else { tag.to_lowercase() };
        (!name.is_empty()).then(|| Arc::from(name))
    };
    let mut routes: Vec<Arc<str>> = answer.data.endpoints.into_iter().filter_map(name).collect();
    routes.sort_unstable();
    routes.dedup();
    Some(routes)
}

/// `Amazon Bedrock` is `amazon-bedrock`.
fn slug(name: &str) -> String {
    let words = name.split(|it: char| !it.is_alphanumeric() && it != '.').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_short_sorted_and_told_once() {
        let body = br#"{"data":{"id":"a/b","endpoints":[
            {"tag":"Zeta/fp8","provider_name":"Z"},{"tag":"zeta"},{"provider_name":"Amazon Bedrock"},
            {"tag":"","provider_name":"Fire & Works"},{"tag":null,"provider_name":null},{}]}}"#;
        assert_eq!(read(body).unwrap().join(" "), "amazon-bedrock fire-works zeta");
        assert_eq!(read(br#"{"data":{"endpoints":[]}}"#).unwrap().len(), 0);
        for bad in [&b"<html>"[..], b"{}", br#"{"data":[]}"#] {
            assert!(read(bad).is_none());
        }
    }

    #[test]
    fn only_a_models_name_becomes_a_path() {
        assert_eq!(path("deepseek/r1:free").unwrap(), "/models/deepseek/r1:free/endpoints");
        for bad in ["", "alone", "a/", "/b", "a/b/c", "a/..", "../b", "a/b?x=1", "a/b#c", "a/%2e%2e", "a b/c"] {
            assert_eq!(path(bad), None, "{bad}");
        }
    }
}
