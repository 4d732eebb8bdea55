//! One GET with redirects and bounds.

use net::{StreamedResponse, Url, Visitor};

use super::BODY_BYTES_MAX;

/// Redirects followed; one more is an error.
const REDIRECTS_MAX: usize = 5;
/// What we can make something of, the best first.
const ACCEPT: &str = "text/html,text/plain,application/json,text/*;q=0.9,*/*;q=0.5";

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

/// The error is a sentence for the model.
pub(super) async fn get(visitor: &Visitor, start: Url) -> Result<Fetched, String> {
    let mut url = start;
    for hop in 0..=REDIRECTS_MAX {
        let server =
            visitor.endpoint(&url).map_err(|fault| format!("{} cannot be requested: {fault}", url.as_str()))?;
        let response = server.get(ACCEPT).await;
        let response = response.map_err(|fault| format!("{} cannot be reached: {}", url.as_str(), fault.cause))?;
        let is_redirect = matches!(response.status, 301 | 302 | 303 | 307 | 308);
        let Some(location) = response.header("location").filter(|_| is_redirect) else {
            return fetched(url, hop > 0, response).await;
        };
        let target = Url::parse(&url.join(location))
            .map_err(|problem| format!("redirected to a URL we do not follow: {problem}"))?;
        if !url.allows(&target) {
            return Err(format!(
                "{} redirects to {}, which is another origin and was not followed; fetch that URL if it is wanted",
                url.as_str(),
                target.as_str()
            ));
        }
        url = target;
    }
    Err(format!("more than {REDIRECTS_MAX} redirects; the last one leads to {}", url.as_str()))
}

async fn fetched(url: Url, redirected: bool, mut response: StreamedResponse<'_>) -> Result<Fetched, String> {
    let content_type = response.header("content-type").unwrap_or_default().to_owned();
    if !content_type.is_empty() && !is_text(&content_type) {
        let size = response
            .header("content-length")
            .map_or("of unknown size".to_owned(), |length| format!("of {length} bytes"));
        return Err(format!("{} is {content_type} {size}, not text; it was not read", url.as_str()));
    }
    let read = response.beginning(BODY_BYTES_MAX).await;
    let (bytes, whole) = read.map_err(|fault| format!("{} broke off: {}", url.as_str(), fault.cause))?;
    if content_type.is_empty() && bytes.iter().take(1024).any(|byte| *byte == 0) {
        return Err(format!("{} has no content type and is binary, {} bytes", url.as_str(), bytes.len()));
    }
    Ok(Fetched { url, redirected, status: response.status, content_type, body: bytes, cut: !whole })
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
