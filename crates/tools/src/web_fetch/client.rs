//! One GET with redirects and bounds. TLS roots are read at the first https call, never before.

use std::sync::OnceLock;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, LOCATION, USER_AGENT};
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Builder};
use hyper_util::rt::TokioExecutor;

use super::BODY_BYTES_MAX;
use super::url::Url;

/// Redirects followed; one more is an error.
const REDIRECTS_MAX: usize = 5;

type Plain = legacy::Client<HttpConnector, Empty<Bytes>>;
type Tls = legacy::Client<HttpsConnector<HttpConnector>, Empty<Bytes>>;

pub(super) struct Client {
    user_agent: String,
    plain: OnceLock<Plain>,
    tls: OnceLock<Result<Tls, String>>,
}

/// What came back.
pub(super) struct Fetched {
    /// Where it came from in the end.
    pub(super) url: Url,
    pub(super) redirected: bool,
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
    /// The body was longer than we read.
    pub(super) cut: bool,
}

impl Client {
    pub(super) fn new(user_agent: String) -> Self {
        Self { user_agent, plain: OnceLock::new(), tls: OnceLock::new() }
    }

    /// The error is a sentence for the model.
    pub(super) async fn get(&self, start: Url) -> Result<Fetched, String> {
        let mut url = start;
        for hop in 0..=REDIRECTS_MAX {
            let response = self.request(&url).await?;
            let status = response.status().as_u16();
            let location = matches!(status, 301 | 302 | 303 | 307 | 308).then(|| header(&response, LOCATION)).flatten();
            let Some(location) = location else {
                return fetched(url, hop > 0, response).await;
            };
            let target = url.join(&location);
            url = Url::parse(&target).map_err(|problem| format!("redirected to a URL we do not follow: {problem}"))?;
        }
        Err(format!("more than {REDIRECTS_MAX} redirects; the last one leads to {}", url.as_str()))
    }

    async fn request(&self, url: &Url) -> Result<Response<Incoming>, String> {
        let request = Request::get(url.as_str())
            .header(USER_AGENT, &self.user_agent)
            .header(ACCEPT, "text/html,text/plain,application/json,text/*;q=0.9,*/*;q=0.5")
            .body(Empty::new())
            .map_err(|error| format!("{} cannot be requested: {error}", url.as_str()))?;
        let answer = match url.is_https() {
            true => self.tls()?.request(request).await,
            false => self.plain.get_or_init(|| builder().build_http()).request(request).await,
        };
        answer.map_err(|error| format!("{} cannot be reached: {}", url.as_str(), causes(&error)))
    }

    fn tls(&self) -> Result<&Tls, String> {
        let tls = self.tls.get_or_init(|| {
            let roots = HttpsConnectorBuilder::new().with_native_roots();
            let roots = roots.map_err(|error| format!("no certificates to check https with: {error}"))?;
            Ok(builder().build(roots.https_only().enable_http1().build()))
        });
        tls.as_ref().map_err(Clone::clone)
    }
}

/// No idle connections: a call leaves nothing behind.
fn builder() -> Builder {
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder.pool_max_idle_per_host(0);
    builder
}

fn header(response: &Response<Incoming>, name: HeaderName) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// An error with all its causes; the outermost alone says "client error".
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    text
}

async fn fetched(url: Url, redirected: bool, response: Response<Incoming>) -> Result<Fetched, String> {
    let status = response.status().as_u16();
    let content_type = header(&response, CONTENT_TYPE).unwrap_or_default();
    let length = header(&response, CONTENT_LENGTH);
    if !content_type.is_empty() && !is_text(&content_type) {
        let size = length.map_or("of unknown size".to_owned(), |length| format!("of {length} bytes"));
        return Err(format!("{} is {content_type} {size}, not text; it was not read", url.as_str()));
    }
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    let mut cut = false;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| format!("{} broke off: {}", url.as_str(), causes(&error)))?;
        let Some(data) = frame.data_ref() else { continue };
        let room = BODY_BYTES_MAX - bytes.len();
        bytes.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            cut = true;
            break;
        }
    }
    if content_type.is_empty() && bytes.iter().take(1024).any(|byte| *byte == 0) {
        return Err(format!("{} has no content type and is binary, {} bytes", url.as_str(), bytes.len()));
    }
    Ok(Fetched { url, redirected, status, content_type, body: bytes, cut })
}

fn is_text(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || matches!(
            kind.as_str(),
            "application/json"
                | "application/xml"
                | "application/javascript"
                | "application/x-javascript"
                | "application/ecmascript"
                | "application/x-ndjson"
                | "application/yaml"
                | "application/x-yaml"
                | "application/toml"
                | "application/x-sh"
        )
}

impl Fetched {
    pub(super) fn is_html(&self) -> bool {
        let kind = self.content_type.to_ascii_lowercase();
        if kind.is_empty() {
            let start = String::from_utf8_lossy(&self.body[..self.body.len().min(512)]).trim_start().to_lowercase();
            return start.starts_with("<!doctype html") || start.starts_with("<html");
        }
        kind.starts_with("text/html") || kind.starts_with("application/xhtml")
    }

    /// The body as text. Latin-1 and its Windows cousin are still met; everything else is read as UTF-8.
    pub(super) fn text(&self) -> String {
        let kind = self.content_type.to_ascii_lowercase();
        let latin = ["charset=iso-8859-1", "charset=latin1", "charset=windows-1252"];
        let kind = kind.replace(['"', ' '], "");
        match latin.iter().any(|name| kind.contains(name)) && std::str::from_utf8(&self.body).is_err() {
            true => self.body.iter().map(|byte| char::from(*byte)).collect(),
            false => String::from_utf8_lossy(&self.body).into_owned(),
        }
    }
}
