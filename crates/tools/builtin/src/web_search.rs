//! The `web_search` tool: one question to Exa, answered with a numbered list of pages and the beginning of each.
//!
//! It needs full access, as `web_fetch` does: a question carries data out. The key is asked for anew with every call, so
//! that one that was just set or removed counts at once. It goes into one header of one request, never to a redirect,
//! never in the clear to another machine, and whatever comes back is searched for it before a model reads it.

mod exa;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use net::{AddressPolicy, KeyHeader, KnownCredentials, Route, Url, Visitor};
use vocab::{CallContext, Json, Later, Outcome, Plan, Required, Secret, Tool, ToolSpec};

use crate::args::ToolArgs;
use crate::web_fetch::GADGET;

/// Where Exa answers.
pub const BASE_URL: &str = "https://api.exa.ai";
/// One call in all, asking for the key included.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// The most results a call may ask for; more is cut down to this.
const RESULTS_MAX: u64 = 10;
const RESULTS_DEFAULT: u64 = 5;
/// Longest question, in characters; a longer one is refused.
const QUERY_CHARS_MAX: usize = 2000;
/// How much of a question a person is shown.
const SUMMARY_CHARS: usize = 200;
/// Bytes of an answer that are read; a longer one is an error. Ten results of full length need a tenth of it.
const ANSWER_BYTES_MAX: usize = 2 * 1024 * 1024;
const KEY_HEADER: &str = "x-api-key";
/// What to do about a missing or refused key.
const HOW_TO_SET: &str = "ask the user to set an Exa API key (auth.set.exa_key, for clients of loaf)";

const DESCRIPTION: &str = "Searches the web and returns a numbered list of pages: title, URL, date where known, and the \
beginning of the text. Use web_fetch to read one of them whole.";

const SCHEMA: &str = r#"{"type":"object","properties":{
"query":{"type":"string","description":"What to look for, in plain words."},
"max_results":{"type":"integer","description":"1 to 10; default 5."}},
"required":["query"]}"#;

/// Where the key comes from.
pub trait SearchKey: Send + Sync {
    /// Whether there is one now. Without waiting: where there is none, a session is not offered the tool.
    fn is_there(&self) -> bool;
    /// The key as it is now; `None` where the user has set none.
    fn key(&self) -> Later<'_, Option<Secret>>;
}

/// How the tool behaves.
#[derive(Clone)]
pub struct SearchOptions {
    pub key: Arc<dyn SearchKey>,
    /// [`BASE_URL`] unless told otherwise; `/search` is added.
    pub base_url: String,
    /// [`TIMEOUT`] unless told otherwise.
    pub timeout: Duration,
    /// What a model reads when there is no key, or a wrong one: how the user sets it.
    pub how_to_set: String,
    /// Straight, unless told otherwise.
    pub route: Route,
}

impl SearchOptions {
    pub fn new(key: Arc<dyn SearchKey>) -> Self {
        Self {
            key,
            base_url: BASE_URL.to_owned(),
            timeout: TIMEOUT,
            how_to_set: HOW_TO_SET.to_owned(),
            route: Route::default(),
        }
    }
}

impl fmt::Debug for SearchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What keeps the key need not be able to show itself.
        f.debug_struct("SearchOptions")
            .field("base_url", &self.base_url)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// The tool. Nothing is opened and no key is asked for before the first call.
pub fn tool(options: SearchOptions) -> Arc<dyn Tool> {
    let spec = crate::spec("web_search", DESCRIPTION, SCHEMA);
    // The user's own configuration names the service.
    let visitor = Visitor::new(AddressPolicy::Anywhere, options.route.clone(), options.timeout);
    Arc::new(WebSearch { spec, search: Arc::new(Search { visitor, options }) })
}

struct WebSearch {
    spec: ToolSpec,
    search: Arc<Search>,
}

struct Search {
    visitor: Visitor,
    options: SearchOptions,
}

struct Question {
    query: String,
    results: u64,
}

fn parse(input: &Json) -> Result<Question, String> {
    let mut args = ToolArgs::parse(input)?;
    let query = args.text(&["query", "q", "search_query"])?.trim().to_owned();
    let results = args.count_maybe(&["max_results", "num_results", "numResults", "count", "limit"])?;
    if query.is_empty() {
        return Err("argument \"query\" is empty".to_owned());
    }
    if query.chars().count() > QUERY_CHARS_MAX {
        return Err(format!("argument \"query\" is longer than {QUERY_CHARS_MAX} characters; ask for less at once"));
    }
    Ok(Question { query, results: results.unwrap_or(RESULTS_DEFAULT).clamp(1, RESULTS_MAX) })
}

impl Tool for WebSearch {
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
        let question = parse(input)?;
        Ok(Plan {
            required: Required::DangerFullAccess,
            mutation: None,
            summary: format!("search the web for {:?}", exa::short(&question.query, SUMMARY_CHARS)).into(),
            preview: None,
        })
    }

    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let search = Arc::clone(&self.search);
        Box::pin(async move {
            let asked = match parse(&input) {
                Ok(_) if context.granted < Required::DangerFullAccess => {
                    Err("needs danger-full-access; nothing was asked".to_owned())
                }
                Ok(question) => search.ask(&question).await,
                Err(problem) => Err(problem),
            };
            asked.unwrap_or_else(|problem| Outcome::error(format!("web_search: {problem}")))
        })
    }
}

impl Search {
    async fn ask(&self, question: &Question) -> Result<Outcome, String> {
        let limit = self.options.timeout;
        let asked = tokio::time::timeout(limit, async {
            let how = &self.options.how_to_set;
            let key = self.options.key.key().await;
            let key = key.ok_or_else(|| format!("there is no key for the search service; {how}"))?;
            let answered = self.answer(question, &key).await;
            answered.map(|shown| outcome(&shown, &key)).map_err(|problem| key.mask(&problem))
        });
        asked.await.unwrap_or_else(|_| Err(format!("no complete answer within {} s", limit.as_secs_f64())))
    }

    async fn answer(&self, question: &Question, key: &Secret) -> Result<exa::ResultList, String> {
        let url = Url::parse(&format!("{}/search", self.options.base_url.trim_end_matches('/')))?;
        if !url.is_https() && !url.is_loopback() {
            return Err(format!("{} is not https; the key is not sent there in the clear", url.as_str()));
        }
        let credentials = KnownCredentials { key: Some(key.clone()), headers: Vec::new() };
        let service = self.visitor.endpoint_with(&url, KeyHeader::Named(KEY_HEADER), &credentials);
        let service =
            service.map_err(|_| format!("the key holds characters that no key has; {}", self.options.how_to_set))?;
        let asked = exa::request(&question.query, question.results);
        let response = service.post("application/json", asked.into()).await;
        let mut response = response.map_err(|fault| format!("{} cannot be reached: {}", url.as_str(), fault.cause))?;
        let status = response.status;
        let read = response.beginning(ANSWER_BYTES_MAX).await;
        let (body, whole) = read.map_err(|fault| format!("{} broke off: {}", url.as_str(), fault.cause))?;
        // No server should send the key back; if one does, no model reads it. Before anything is cut: half a key is one
        // too.
        let body = key.mask(&String::from_utf8_lossy(&body));
        match status {
            200..300 if !whole => {
                Err(format!("the answer is longer than {ANSWER_BYTES_MAX} bytes; ask for fewer results"))
            }
            200..300 => exa::show(&body, question.results),
            _ => Err(exa::refusal(status, &body, &self.options.how_to_set)),
        }
    }
}

fn outcome(shown: &exa::ResultList, key: &Secret) -> Outcome {
    let details = serde_json::json!({ "results": shown.results, "truncated": shown.truncated });
    Outcome { details: Some(Json::trusted(details.to_string())), ..Outcome::text(key.mask(&shown.text)) }
}
