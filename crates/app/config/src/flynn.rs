//! What a configuration of Flynn's says in other words than ours: models nested by tier and provider, a few other names, and
//! words for things that are not built. Trees in, trees out; what they mean is checked as always.

use super::expand::only_variable;
use super::keys::snake;
use super::tree::{Node, TreeValue};

/// Known words without effect, and why. Those below stand for what is in their tables, too.
const WITHOUT_EFFECT: [(&str, &str); 14] = [
    ("channels", "there are no chat channels"),
    ("automation", "there are no webhooks, timetables and reactions"),
    ("browser", "there is no browser tool"),
    ("agents", "every session has the one agent"),
    ("memory", "there is no memory between sessions"),
    ("webchat", "there is no web chat"),
    ("dashboard", "`server.dashboard` has the switches"),
    ("ops", "services are not looked after"),
    ("server.webchat", "there is no web chat"),
    ("server.ops", "services are not looked after"),
    ("tools.profiles", "`tools.only` says which tools are offered"),
    ("compaction.keep_turns", "`compaction.keep_pct` says how much is kept"),
    ("compaction.summary_max_tokens", "a summary is as long as the model makes it"),
    ("data_dir", "`TILLERMAN_HOME` says where things are kept"),
];

pub(super) fn without_effect(name: &str) -> Option<&'static str> {
    WITHOUT_EFFECT.iter().find(|(word, _)| *word == name).map(|(_, why)| *why)
}

/// Our name for what is called otherwise there.
pub(super) fn renamed(name: String) -> String {
    match name.as_str() {
        "compaction.enabled" => "compaction.auto".to_owned(),
        _ => name,
    }
}

/// Providers that have another name here, or an address that everybody knows.
const PROVIDERS: [(&str, &str, Option<&str>); 4] = [
    ("gemini", "google", None),
    ("ollama", "ollama", Some("http://127.0.0.1:11434/v1")),
    ("llamacpp", "llamacpp", Some("http://127.0.0.1:8080/v1")),
    ("grok", "xai", None),
];

/// A line about something that was passed over.
#[derive(PartialEq, Debug)]
pub(super) struct FlynnNote {
    pub(super) line: Option<usize>,
    pub(super) text: String,
}

/// `models: {TIER: {PROVIDER: {apiKey, baseUrl, model, contextWindow}}}` becomes `providers` and `tiers`. Where the file has
/// those, too, its own rows count. A list of models is ours already.
pub(super) fn understood(root: &mut Vec<(String, Node)>, notes: &mut Vec<FlynnNote>) {
    let Some(at) = root.iter().position(|(name, node)| name == "models" && matches!(node.value, TreeValue::Map(_)))
    else {
        return;
    };
    let (_, node) = root.remove(at);
    let TreeValue::Map(tiers) = node.value else { return };
    let (mut providers, mut listed) = (Vec::new(), Vec::new());
    for (tier, node) in tiers {
        let at = format!("models.{tier}");
        let TreeValue::Map(pairs) = node.value else {
            notes
                .push(FlynnNote { line: node.line, text: format!("`{at}` is ignored: it wants a table of providers") });
            continue;
        };
        let Some(tier) = super::TIERS.into_iter().find(|known| *known == tier) else {
            let text = format!("`{at}` has no effect: there is {}", super::TIERS.join(", "));
            notes.push(FlynnNote { line: node.line, text });
            continue;
        };
        let slugs: Vec<Node> = pairs
            .into_iter()
            .filter_map(|(name, node)| provider(&format!("{at}.{name}"), &name, node, &mut providers, notes))
            .map(|slug| plain(TreeValue::Text(slug)))
            .collect();
        if !slugs.is_empty() {
            listed.push((tier.to_owned(), Node { value: TreeValue::List(slugs), line: node.line }));
        }
    }
    add(root, "providers", providers);
    add(root, "tiers", listed);
}

/// One provider of a tier: its row goes to `providers`, its model is given back.
fn provider(
    at: &str,
    name: &str,
    node: Node,
    providers: &mut Vec<(String, Node)>,
    notes: &mut Vec<FlynnNote>,
) -> Option<String> {
    let mut note = |line, text| notes.push(FlynnNote { line, text });
    let TreeValue::Map(pairs) = node.value else {
        note(node.line, format!("`{at}` is ignored: it wants a table with a model"));
        return None;
    };
    let known = PROVIDERS.iter().find(|(theirs, ..)| *theirs == name);
    let name = known.map_or(name, |(_, ours, _)| ours);
    let mut row = Vec::new();
    let (mut model, mut window) = (None, None);
    for (spelled, node) in pairs {
        match (snake(&spelled).as_str(), &node.value) {
            ("api_key", TreeValue::Text(text)) => match only_variable(text) {
                Some(variable) => {
                    let value = TreeValue::Text(variable.to_owned());
                    row.push(("key_env".to_owned(), Node { value, line: node.line }));
                }
                None if text.trim().is_empty() => {}
                None => note(
                    node.line,
                    format!(
                        "`{at}.{spelled}` is ignored: keys are not read from files; write ${{NAME}} of a variable, or name a \
                         `key_file` or a `secret_command` in [providers.{name}]"
                    ),
                ),
            },
            ("base_url" | "endpoint", _) => row.push(("base_url".to_owned(), node)),
            ("model", TreeValue::Text(text)) => model = Some(text.trim().to_owned()),
            ("context_window", _) => window = Some(node),
            (_, TreeValue::Null) => {}
            _ => note(node.line, format!("`{at}.{spelled}`: unknown key")),
        }
    }
    let Some(model) = model.filter(|model| !model.is_empty()) else {
        note(node.line, format!("`{at}` is ignored: it names no model"));
        return None;
    };
    if let Some((.., Some(address))) = known
        && !row.iter().any(|(key, _)| key == "base_url")
    {
        row.push(("base_url".to_owned(), plain(TreeValue::Text((*address).to_owned()))));
    }
    let id = plain(TreeValue::Text(model.clone()));
    let listed = match window {
        Some(window) => TreeValue::Map(vec![("id".to_owned(), id), ("context_window".to_owned(), window)]),
        None => id.value,
    };
    merged(providers, name, row, Node { value: listed, line: node.line }, |key| {
        note(node.line, format!("`{at}.{key}` is ignored: another tier says otherwise of `{name}`"));
    });
    Some(format!("{name}/{model}"))
}

/// Another tier may have the same provider: it has one address and one key, and the models of both.
fn merged(
    providers: &mut Vec<(String, Node)>,
    name: &str,
    row: Vec<(String, Node)>,
    model: Node,
    mut differs: impl FnMut(&str),
) {
    let Some((_, Node { value: TreeValue::Map(known), .. })) = providers.iter_mut().find(|(it, _)| it == name) else {
        let line = model.line;
        let models = ("models".to_owned(), plain(TreeValue::List(vec![model])));
        let row = row.into_iter().chain([models]).collect();
        return providers.push((name.to_owned(), Node { value: TreeValue::Map(row), line }));
    };
    for (key, node) in row {
        match known.iter().find(|(it, _)| *it == key) {
            Some((_, before)) if before.says_the_same(&node) => {}
            Some(_) => differs(if key == "key_env" { "apiKey" } else { "baseUrl" }),
            None => known.insert(0, (key, node)),
        }
    }
    if let Some((_, Node { value: TreeValue::List(models), .. })) = known.iter_mut().find(|(it, _)| it == "models")
        && !models.iter().any(|it| it.says_the_same(&model))
    {
        models.push(model);
    }
}

/// Beside what the file's own table of that name has.
fn add(root: &mut Vec<(String, Node)>, name: &str, rows: Vec<(String, Node)>) {
    if rows.is_empty() {
        return;
    }
    match root.iter_mut().find(|(it, _)| snake(it) == name) {
        Some((_, Node { value: TreeValue::Map(own), .. })) => {
            let missing: Vec<_> = rows.into_iter().filter(|(row, _)| !own.iter().any(|(it, _)| it == row)).collect();
            own.extend(missing);
        }
        // Something that is no table: whoever reads it says so.
        Some(_) => {}
        None => root.push((name.to_owned(), plain(TreeValue::Map(rows)))),
    }
}

fn plain(value: TreeValue) -> Node {
    Node { value, line: None }
}
