//! The `web_fetch` tool: one GET, reduced to text a model can read.
//!
//! It always needs full access: a request can carry data out. The person who grants the call sees the URL, and
//! where it leads if that is this machine or a private network, and grants exactly that: a redirect to another origin is told and not
//! followed, and a name that leads into a private network is not fetched. No cookie, no credential, no environment of
//! ours is ever sent, and a URL with a user name or password is refused, so a redirect has nothing to forward.

mod get;
mod html;

use std::sync::Arc;
use std::time::Duration;

use net::{AddressPolicy, Route, Url, Visitor};
use serde::Deserialize;
use vocab::{CallContext, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use get::Fetched;

/// One call in all, redirects and body included.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a body that are read; the rest is left unread and the result says so.
pub const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Text returned unless the call asks for more; the rest is cut off and counted.
const TEXT_BYTES_DEFAULT: usize = 32 * 1024;
/// The most text a call may ask for.
const TEXT_BYTES_MAX: usize = 256 * 1024;
/// Text of an error page that is shown.
const ERROR_PAGE_BYTES: usize = 2 * 1024;

const DESCRIPTION: &str = "Fetches a web page or a text file over http or https and returns it as text; HTML is \
reduced to headings, paragraphs, lists and links. Set raw to get the source. Only GET, no logins, no scripts.";

const SCHEMA: &str = r#"{"type":"object","properties":{
"url":{"type":"string","description":"An http or https URL."},
"prompt":{"type":"string","description":"What you look for, for the person who watches."},
"max_bytes":{"type":"integer","description":"Bytes of text to return, at most 262144; default 32768."},
"raw":{"type":"boolean","description":"Do not reduce HTML."}},
"required":["url"]}"#;

/// How the tool behaves.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// Straight, unless told otherwise.
    pub route: Route,
    /// [`TIMEOUT`] unless told otherwise.
    pub timeout: Duration,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self { route: Route::default(), timeout: TIMEOUT }
    }
}

/// The tool. Nothing is opened before the first call.
pub fn tool(options: FetchOptions) -> Arc<dyn Tool> {
    let spec = crate::spec("web_fetch", DESCRIPTION, SCHEMA);
    let FetchOptions { route, timeout } = options;
    Arc::new(WebFetch { spec, visitor: Arc::new(Visitor::new(AddressPolicy::Public, route, timeout)), timeout })
}

struct WebFetch {
    spec: ToolSpec,
    visitor: Arc<Visitor>,
    timeout: Duration,
}

#[derive(Deserialize)]
struct FetchArgs {
    url: String,
    max_bytes: Option<usize>,
    #[serde(default)]
    raw: bool,
}

fn parse(input: &Json) -> Result<(FetchArgs, Url), String> {
    let args: FetchArgs =
        serde_json::from_str(input.as_str()).map_err(|error| format!("web_fetch: invalid arguments: {error}"))?;
    let url = Url::parse(args.url.trim()).map_err(|problem| format!("web_fetch: {problem}"))?;
    Ok((args, url))
}

/// The bundle that the tools of the web are switched with.
pub const GADGET: &str = "web";

impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn gadget(&self) -> Option<&str> {
        Some(GADGET)
    }

    fn required(&self) -> Required {
        Required::DangerFullAccess
    }

    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let (_, url) = parse(input)?;
        let special = url.host().special().map_or_else(String::new, |what| format!(" ({what})"));
        Ok(Plan {
            required: Required::DangerFullAccess,
            mutation: None,
            summary: format!("GET {}{special}", url.as_str()).into(),
            preview: None,
        })
    }

    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let (visitor, timeout) = (Arc::clone(&self.visitor), self.timeout);
        Box::pin(async move {
            let (args, url) = match parse(&input) {
                Ok(parsed) => parsed,
                Err(message) => return Outcome::error(message),
            };
            if context.granted < Required::DangerFullAccess {
                return Outcome::error("web_fetch: needs danger-full-access; nothing was fetched");
            }
            match tokio::time::timeout(timeout, get::get(&visitor, url)).await {
                // Two megabytes of markup take a while; the runtime has other work meanwhile.
                Ok(Ok(fetched)) => tokio::task::spawn_blocking(move || outcome(&args, &fetched))
                    .await
                    .unwrap_or_else(|_| Outcome::error("web_fetch: the page could not be reduced to text; try raw")),
                Ok(Err(problem)) => Outcome::error(format!("web_fetch: {problem}")),
                Err(_) => Outcome::error(format!("web_fetch: no complete answer within {} s", timeout.as_secs_f64())),
            }
        })
    }
}

fn outcome(args: &FetchArgs, fetched: &Fetched) -> Outcome {
    let failed = !(200..300).contains(&fetched.status);
    let source = fetched.text();
    let text = match fetched.is_html() && !args.raw {
        true => html::reduce(&source, &fetched.url),
        false => source,
    };
    let wanted = if failed { ERROR_PAGE_BYTES } else { args.max_bytes.unwrap_or(TEXT_BYTES_DEFAULT) };
    let (shown, omitted) = shorten(&text, wanted.clamp(1, TEXT_BYTES_MAX));
    let mut out = String::new();
    if failed {
        out.push_str(&format!("web_fetch: {} answered with status {}\n", fetched.url.as_str(), fetched.status));
    }
    if fetched.redirected {
        out.push_str(&format!("[redirected to {}]\n", fetched.url.as_str()));
    }
    out.push_str(if shown.is_empty() { "(empty)" } else { shown });
    if omitted > 0 {
        out.push_str(&format!("\n[... {omitted} bytes omitted; ask for more with max_bytes]"));
    }
    if fetched.cut {
        out.push_str(&format!("\n[the body is longer than {BODY_BYTES_MAX} bytes; the rest was not read]"));
    }
    let details = serde_json::json!({
        "url": fetched.url.as_str(), "status": fetched.status, "contentType": fetched.content_type,
        "bytes": fetched.body.len(), "truncated": omitted > 0 || fetched.cut,
    });
    Outcome { is_error: failed, details: Some(Json::trusted(details.to_string())), ..Outcome::text(out) }
}

/// At most `bytes` of the text, cut between characters, and how much is missing.
fn shorten(text: &str, bytes: usize) -> (&str, usize) {
    let end = text.floor_char_boundary(bytes);
    (&text[..end], text.len() - end)
}
