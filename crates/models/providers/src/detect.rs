//! Which server to talk to when nobody said so: the environment first, then what listens on this machine. The choice is
//! a pure function; the probing around it is thin. Keys are never sent to a server that was only found.

use std::future::Future;
use std::time::Duration;

use net::{Http, HttpConfig, KnownCredentials};

use crate::{Api, Secret, client};

/// All probes together; a server that needs longer is not found.
pub const PROBE_TIME_MAX: Duration = Duration::from_millis(200);

/// All knocks together.
const KNOCK_TIME_MAX: Duration = Duration::from_millis(10);

pub const OPENAI_URL: &str = "https://api.openai.com/v1";

/// Whose server it is, by its address: the name under which its models are offered. One that is nobody's we know is named
/// after the variables that lead to it, so that hosts which ask for `openai` by name find it.
pub fn provider_name(base_url: &str) -> &'static str {
    let rest = base_url.trim().split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let (host, port) = authority.rsplit_once(':').unwrap_or((&authority, ""));
    match (host, port) {
        ("api.openai.com", _) => "openai",
        ("openrouter.ai", _) => "openrouter",
        (_, "11434") => "ollama",
        _ => "openai",
    }
}

/// What the environment says.
#[derive(Clone, Debug, Default)]
pub struct Env {
    pub base_url: Option<String>,
    pub api_key: Option<Secret>,
}

impl Env {
    /// `OPENAI_BASE_URL` and `OPENAI_API_KEY`; blank means unset.
    pub fn read() -> Self {
        Self::from(|name| std::env::var(name).ok())
    }
    pub fn from(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let base_url = lookup("OPENAI_BASE_URL").map(|url| url.trim().to_owned()).filter(|url| !url.is_empty());
        Self { base_url, api_key: lookup("OPENAI_API_KEY").as_deref().and_then(Secret::new) }
    }
}

/// A server that may be running.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    pub name: &'static str,
    pub port: u16,
}

/// In order of preference when several answer.
pub const CANDIDATES: [Candidate; 4] = [
    Candidate { name: "Ollama", port: 11434 },
    Candidate { name: "llama.cpp", port: 8080 },
    Candidate { name: "LM Studio", port: 1234 },
    Candidate { name: "vLLM", port: 8000 },
];

impl Candidate {
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

/// A server that answered, and the models it listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    pub candidate: Candidate,
    pub models: Vec<String>,
}

/// The choice, and why, in one line.
#[derive(Clone, Debug)]
pub struct Choice {
    /// `None`: there is no server to talk to.
    pub server: Option<Server>,
    pub reason: String,
}

#[derive(Clone, Debug)]
pub struct Server {
    pub base_url: String,
    pub api_key: Option<Secret>,
    /// A model to start with, when the server was asked.
    pub model: Option<String>,
}

/// What the environment alone settles; `None`: something would have to be probed. A key without an address is its vendor's
/// and leads to no server here.
pub fn settled(env: &Env) -> Option<Choice> {
    let base_url = env.base_url.clone()?;
    let server = Server { base_url, api_key: env.api_key.clone(), model: None };
    Some(Choice { server: Some(server), reason: "OPENAI_BASE_URL is set".to_owned() })
}

/// Whether a model by this name can hold a conversation: those for embeddings cannot.
pub fn talks(model: &str) -> bool {
    !model.to_lowercase().contains("embed")
}

/// The choice, from everything that is known.
pub fn decide(env: &Env, found: &[Found]) -> Choice {
    if let Some(choice) = settled(env) {
        return choice;
    }
    for one in found {
        if let Some(model) = one.models.iter().find(|model| talks(model)) {
            let Candidate { name, port } = one.candidate;
            return Choice {
                reason: format!("{name} answers on port {port}"),
                server: Some(Server { base_url: one.candidate.base_url(), api_key: None, model: Some(model.clone()) }),
            };
        }
    }
    let mut reason = "no key in the environment and no local server found".to_owned();
    if let Some(one) = found.first() {
        reason.push_str(&format!(" ({} on port {} has no models)", one.candidate.name, one.candidate.port));
    }
    Choice { server: None, reason }
}

/// Looks around and decides. Does nothing but read `env` when that settles it.
pub async fn detect(env: &Env, candidates: &[Candidate]) -> Choice {
    if let Some(choice) = settled(env) {
        return choice;
    }
    decide(env, &look(candidates).await)
}

/// Those on whose ports somebody listens. Whoever does not take a connection at once is not there: on this machine that
/// takes microseconds, and whoever starts must not wait.
pub async fn knock(candidates: &[Candidate]) -> Vec<Candidate> {
    let knocks = candidates.iter().cloned().map(|candidate| async move {
        let open = tokio::net::TcpStream::connect(("127.0.0.1", candidate.port)).await.is_ok();
        open.then_some(candidate)
    });
    gathered(knocks, KNOCK_TIME_MAX).await
}

/// Asks all candidates at once for their models. Whoever has not answered within [`PROBE_TIME_MAX`] is left out; the others
/// count.
pub async fn look(candidates: &[Candidate]) -> Vec<Found> {
    gathered(candidates.iter().cloned().map(probe), PROBE_TIME_MAX).await
}

/// What comes of all of them within a time, in their order.
async fn gathered<T: Send + 'static>(
    tasks: impl Iterator<Item = impl Future<Output = Option<T>> + Send + 'static>,
    time_max: Duration,
) -> Vec<T> {
    let mut set = tokio::task::JoinSet::new();
    for (place, task) in tasks.enumerate() {
        set.spawn(async move { Some((place, task.await?)) });
    }
    let mut found = Vec::new();
    let all = async {
        while let Some(done) = set.join_next().await {
            found.extend(done.ok().flatten());
        }
    };
    let _ = tokio::time::timeout(time_max, all).await;
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, found)| found).collect()
}

/// Anything may listen on these ports: only a list of models counts.
async fn probe(candidate: Candidate) -> Option<Found> {
    let (base_url, none) = (candidate.base_url(), KnownCredentials::default());
    let http = Http::new(HttpConfig::new(&base_url, &none, PROBE_TIME_MAX, None)).ok()?;
    let models = client::list(&http, Api::Completions, 0).await.ok()?;
    Some(Found { candidate, models: models.into_iter().map(|model| model.slug.to_string()).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(base_url: &str, key: &str) -> Env {
        Env::from(|name| {
            let value = if name == "OPENAI_BASE_URL" { base_url } else { key };
            Some(value.to_owned())
        })
    }
    fn found(at: usize, models: &[&str]) -> Found {
        Found { candidate: CANDIDATES[at].clone(), models: models.iter().map(|&model| model.into()).collect() }
    }

    #[test]
    fn the_environment_wins_then_the_first_server_that_can_chat() {
        for (env, found, want) in [
            (env("http://x/v1", ""), vec![found(0, &["m"])], Some("http://x/v1")),
            (env("http://x/v1", "k"), vec![], Some("http://x/v1")),
            (env("", "k"), vec![found(0, &["m"])], Some("http://127.0.0.1:11434/v1")),
            (env("", "k"), vec![], None),
            (env(" ", " "), vec![found(1, &["m"])], Some("http://127.0.0.1:8080/v1")),
            (env("", ""), vec![found(0, &["nomic-embed-text"]), found(2, &["q"])], Some("http://127.0.0.1:1234/v1")),
            (env("", ""), vec![found(0, &[])], None),
            (env("", ""), vec![], None),
        ] {
            let choice = decide(&env, &found);
            assert_eq!(choice.server.as_ref().map(|server| &*server.base_url), want, "{}", choice.reason);
            assert!(!choice.reason.contains('\n'));
        }
        assert!(decide(&env("", ""), &[found(0, &[])]).reason.contains("Ollama on port 11434 has no models"));
    }

    #[test]
    fn a_server_is_named_by_its_address() {
        for (url, want) in [
            (OPENAI_URL, "openai"),
            ("https://API.openai.com", "openai"),
            ("https://openrouter.ai/api/v1", "openrouter"),
            ("http://127.0.0.1:11434/v1", "ollama"),
            ("http://[::1]:11434", "ollama"),
            ("http://127.0.0.1:8080/v1", "openai"),
            ("https://api.openai.com.evil.example/v1", "openai"),
            ("nonsense", "openai"),
        ] {
            assert_eq!(provider_name(url), want, "{url}");
        }
    }

    #[test]
    fn a_found_server_never_gets_a_key_and_a_choice_never_shows_one() {
        let choice = decide(&env("", ""), &[found(0, &["m"])]);
        assert!(choice.server.unwrap().api_key.is_none());
        assert!(!format!("{:?}", decide(&env("", "sk-canary"), &[])).contains("canary"));
    }
}
