//! `models.json` and `models.yml` of an agent directory: providers that the user described. A provider that is described
//! wrongly is left out and pointed out; what a file says is never quoted, because any text in it may be a key.

use std::collections::BTreeMap;
use std::sync::Arc;

use providers::{Api, Compat};
use vocab::{ModelInfo, Prices};

use super::compat::compat;
use super::word::Word;
use crate::Env;
use crate::tree::{Node, TreeValue};

/// DescribedModels kept of all files; the rest is not offered.
const MODELS_MAX: usize = 10_000;

/// What a model that thinks is taken to understand.
const LEVELS: [&str; 5] = ["off", "minimal", "low", "medium", "high"];
const CONTEXT_WINDOW_DEFAULT: u64 = 128_000;
const MAX_TOKENS_DEFAULT: u64 = 16_384;

/// A server that the user described, and its models.
#[derive(Clone, Debug)]
pub struct CustomProvider {
    pub name: Arc<str>,
    /// `None`: it wants none.
    pub key: Option<Word>,
    pub models: Vec<CustomModel>,
}

#[derive(Clone, Debug)]
pub struct CustomModel {
    pub info: ModelInfo,
    pub api: Api,
    pub headers: Vec<(String, Word)>,
    pub compat: Compat,
}

/// DescribedModels that are described but cannot be used, because nobody here speaks their API.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unspoken {
    pub provider: Arc<str>,
    pub api: Arc<str>,
}

impl Unspoken {
    /// For hosts, who may look for these models; people who never meant to use them here need not read it every time.
    pub fn note(&self) -> String {
        let Unspoken { provider, api } = self;
        let spoken = Api::ALL.map(Api::as_str).join(", ");
        format!("models of `{provider}` with the api `{api}` are left out: what is spoken is {spoken}")
    }
}

/// Everything that the files describe.
#[derive(Clone, Debug, Default)]
pub struct DescribedModels {
    pub providers: Vec<CustomProvider>,
    pub unspoken: Vec<Unspoken>,
    /// Providers that are described wrongly, and what is wrong.
    pub left_out: Vec<(Arc<str>, String)>,
    /// Files that say nothing to us, and why: whom they describe is not known, so any name may be theirs.
    pub unread: Vec<String>,
    /// For stderr, one line each.
    pub notes: Vec<String>,
}

/// How each provider was described, usable or not. Not kept: there are keys in it.
pub(super) type Described = Vec<(String, Node)>;

impl DescribedModels {
    /// Takes over what one file says. `file` is only for people.
    pub(super) fn add(&mut self, file: &str, root: &Node, described: &mut Described, env: Env<'_>) {
        let pairs = match providers(root) {
            Ok(Some(pairs)) => pairs,
            Ok(None) => return self.notes.push(format!("{file}: there is no `providers`, so it adds no models")),
            Err(wrong) => return self.leave(format!("{file}: {wrong}")),
        };
        for (name, node) in pairs {
            // A copy for another program, or a link, says nothing new.
            if described.iter().any(|(known, before)| known == name && before.says_the_same(node)) {
                continue;
            }
            if self.providers.iter().any(|known| *known.name == **name) {
                self.notes.push(format!("{file}: the provider `{name}` is described twice; the first one counts"));
                continue;
            }
            described.push((name.clone(), node.clone()));
            let reader = ProviderReader { name, env, unspoken: Vec::new() };
            match reader.provider(node) {
                Ok((provider, unspoken)) => self.take(file, provider, unspoken),
                Err(problem) => {
                    let wrong = format!("{file}: providers.{name}{problem}");
                    self.notes.push(format!("{wrong}; the provider is left out"));
                    self.left_out.push((name.as_str().into(), wrong));
                }
            }
        }
    }

    /// A file that says nothing to us.
    pub(super) fn leave(&mut self, wrong: String) {
        self.notes.push(format!("{wrong}; it is ignored"));
        self.unread.push(wrong);
    }

    fn take(&mut self, file: &str, mut provider: CustomProvider, unspoken: Vec<Unspoken>) {
        if provider.models.is_empty() && unspoken.is_empty() {
            let wrong = format!("{file}: providers.{} lists no models", provider.name);
            self.notes.push(format!("{wrong}, so it adds none"));
            self.left_out.push((provider.name.clone(), wrong));
        }
        self.unspoken.extend(unspoken);
        let room = MODELS_MAX.saturating_sub(self.providers.iter().map(|known| known.models.len()).sum());
        if provider.models.len() > room {
            self.notes.push(format!("{file}: more than {MODELS_MAX} models; the rest is not offered"));
            provider.models.truncate(room);
        }
        if !provider.models.is_empty() {
            self.providers.push(provider);
        }
    }
}

/// What a file describes; `None`: it is empty. Whoever spelt `providers` wrongly meant to describe some.
fn providers(root: &Node) -> Result<Option<&[(String, Node)]>, String> {
    let TreeValue::Map(pairs) = &root.value else {
        return Err(format!("it wants a table with `providers`, has {}", root.value.kind()));
    };
    let mut found = pairs.iter().filter(|(name, _)| name == "providers").map(|(_, node)| node);
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err("`providers` is given twice".to_owned()),
        (Some(Node { value: TreeValue::Map(providers), .. }), None) => Ok(Some(providers)),
        (Some(other), None) => Err(format!("`providers` wants a table, has {}", other.value.kind())),
        // `$schema` is for editors.
        (None, _) if pairs.iter().all(|(name, _)| name.starts_with('$')) => Ok(None),
        (None, _) => Err("there is no `providers` among what it has".to_owned()),
    }
}

/// Reads one provider. Errors begin with the place below it: `.models[0].id wants text, has a list`.
struct ProviderReader<'a> {
    name: &'a str,
    env: Env<'a>,
    unspoken: Vec<Unspoken>,
}

/// What the models of a provider share.
struct ProviderDefaults<'a> {
    name: Arc<str>,
    base_url: Option<&'a str>,
    api: Option<&'a str>,
    headers: Vec<(String, Word)>,
    compat: Compat,
}

impl ProviderReader<'_> {
    fn provider(mut self, node: &Node) -> Result<(CustomProvider, Vec<Unspoken>), String> {
        if !matches!(node.value, TreeValue::Map(_)) {
            return Err(wants("", node, "a table"));
        }
        if self.name.trim().is_empty() || self.name.contains('/') {
            return Err(" has a name that cannot stand before a `/`".to_owned());
        }
        let shared = ProviderDefaults {
            name: self.name.into(),
            base_url: text(node, "", "baseUrl")?,
            api: text(node, "", "api")?,
            headers: self.headers(node, "")?,
            compat: compat(node, "")?,
        };
        let key = text(node, "", "apiKey")?.and_then(|key| Word::read(key, self.env));
        let mut models = Vec::new();
        if let Some(list) = node.get("models") {
            let TreeValue::List(items) = &list.value else { return Err(wants(".models", list, "a list")) };
            for (at, item) in items.iter().enumerate() {
                models.extend(self.model(&format!(".models[{at}]"), item, &shared)?);
            }
        }
        Ok((CustomProvider { name: shared.name, key, models }, self.unspoken))
    }

    /// `None`: its API is not spoken.
    fn model(&mut self, at: &str, node: &Node, shared: &ProviderDefaults<'_>) -> Result<Option<CustomModel>, String> {
        if !matches!(node.value, TreeValue::Map(_)) {
            return Err(wants(at, node, "a table with an id"));
        }
        let id: Arc<str> = text(node, at, "id")?.ok_or_else(|| format!("{at} has no id"))?.into();
        let api = text(node, at, "api")?
            .or(shared.api)
            .ok_or_else(|| format!("{at} has no api, and neither has the provider"))?;
        let Some(api) = Api::parse(api) else {
            let unspoken = Unspoken { provider: shared.name.clone(), api: api.into() };
            if !self.unspoken.contains(&unspoken) {
                self.unspoken.push(unspoken);
            }
            return Ok(None);
        };
        let base_url = text(node, at, "baseUrl")?.or(shared.base_url);
        let base_url = base_url.ok_or_else(|| format!("{at} has no baseUrl, and neither has the provider"))?;
        let mut headers = shared.headers.clone();
        for (name, word) in self.headers(node, at)? {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            headers.push((name, word));
        }
        let mut compat = compat(node, at)?.over(&shared.compat);
        compat.efforts.extend(efforts(node, at, "thinkingLevelMap")?);
        let thinking = switch(node, at, "reasoning")?.unwrap_or(false);
        let info = ModelInfo {
            slug: format!("{}/{id}", shared.name).into(),
            provider: shared.name.clone(),
            name: text(node, at, "name")?.map_or_else(|| id.clone(), Arc::from),
            api: api.as_str().into(),
            base_url: base_url.trim_end_matches('/').into(),
            context_window: tokens(node, at, "contextWindow")?.unwrap_or(CONTEXT_WINDOW_DEFAULT),
            max_output: Some(tokens(node, at, "maxTokens")?.unwrap_or(MAX_TOKENS_DEFAULT)),
            prices: Some(prices(node, at)?),
            images: images(node, at)?,
            thinking,
            levels: Some(
                LEVELS[..if thinking { LEVELS.len() } else { 0 }].iter().map(|level| Arc::from(*level)).collect(),
            ),
            fallbacks: Arc::from([]),
            unlisted: false,
            id,
        };
        Ok(Some(CustomModel { info, api, headers, compat }))
    }

    fn headers(&self, node: &Node, at: &str) -> Result<Vec<(String, Word)>, String> {
        let Some(table) = node.get("headers") else { return Ok(Vec::new()) };
        let at = format!("{at}.headers");
        let TreeValue::Map(pairs) = &table.value else { return Err(wants(&at, table, "a table")) };
        let mut headers = Vec::new();
        for (name, node) in pairs {
            let TreeValue::Text(value) = &node.value else { return Err(wants(&format!("{at}.{name}"), node, "text")) };
            headers.extend(Word::read(value, self.env).map(|word| (name.clone(), word)));
        }
        Ok(headers)
    }
}

pub(super) fn wants(at: &str, node: &Node, what: &str) -> String {
    format!("{at} wants {what}, has {}", node.value.kind())
}

/// Blank text counts as none.
pub(super) fn text<'a>(node: &'a Node, at: &str, key: &str) -> Result<Option<&'a str>, String> {
    match node.get(key) {
        None => Ok(None),
        Some(Node { value: TreeValue::Text(text), .. }) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
        Some(other) => Err(wants(&format!("{at}.{key}"), other, "text")),
    }
}

pub(super) fn switch(node: &Node, at: &str, key: &str) -> Result<Option<bool>, String> {
    match node.get(key) {
        None => Ok(None),
        Some(Node { value: TreeValue::Bool(yes), .. }) => Ok(Some(*yes)),
        Some(other) => Err(wants(&format!("{at}.{key}"), other, "true or false")),
    }
}

fn tokens(node: &Node, at: &str, key: &str) -> Result<Option<u64>, String> {
    match node.get(key).map(|node| (node, &node.value)) {
        None => Ok(None),
        Some((_, TreeValue::Int(number))) if *number > 0 => Ok(Some(number.unsigned_abs())),
        // JavaScript knows one kind of number: 1e6 is as good as 1000000.
        Some((_, TreeValue::Float(number))) if *number >= 1.0 && number.is_finite() => Ok(Some(*number as u64)),
        Some((other, _)) => Err(wants(&format!("{at}.{key}"), other, "a number above 0")),
    }
}

/// Dollars per million tokens. What is not said costs nothing, as in the files' own tradition.
fn prices(node: &Node, at: &str) -> Result<Prices, String> {
    let at = format!("{at}.cost");
    let Some(cost) = node.get("cost") else {
        return Ok(Prices { input: 0.0, cache_read: 0.0, cache_write: 0.0, output: 0.0 });
    };
    if !matches!(cost.value, TreeValue::Map(_)) {
        return Err(wants(&at, cost, "a table"));
    }
    let price = |key: &str| match cost.get(key).map(|node| (node, &node.value)) {
        None => Ok(0.0),
        Some((_, TreeValue::Int(number))) if *number >= 0 => Ok(*number as f64),
        Some((_, TreeValue::Float(number))) if *number >= 0.0 && number.is_finite() => Ok(*number),
        Some((other, _)) => Err(wants(&format!("{at}.{key}"), other, "dollars per million tokens")),
    };
    Ok(Prices {
        input: price("input")?,
        output: price("output")?,
        cache_read: price("cacheRead")?,
        cache_write: price("cacheWrite")?,
    })
}

fn images(node: &Node, at: &str) -> Result<bool, String> {
    let Some(list) = node.get("input") else { return Ok(false) };
    let TreeValue::List(items) = &list.value else { return Err(wants(&format!("{at}.input"), list, "a list")) };
    Ok(items.iter().any(|item| item.value == TreeValue::Text("image".to_owned())))
}

pub(super) fn efforts(node: &Node, at: &str, key: &str) -> Result<BTreeMap<Arc<str>, Option<Arc<str>>>, String> {
    let Some(table) = node.get(key) else { return Ok(BTreeMap::new()) };
    let at = format!("{at}.{key}");
    let TreeValue::Map(pairs) = &table.value else { return Err(wants(&at, table, "a table")) };
    let word = |(level, node): &(String, Node)| match &node.value {
        TreeValue::Null => Ok((Arc::from(level.as_str()), None)),
        TreeValue::Text(text) => Ok((Arc::from(level.as_str()), Some(Arc::from(text.as_str())))),
        _ => Err(wants(&format!("{at}.{level}"), node, "text or null")),
    };
    pairs.iter().map(word).collect()
}
