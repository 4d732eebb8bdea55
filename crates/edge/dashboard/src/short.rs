//! Short names for variables: those of a module are its own in the whole script, those inside functions are used again in every
//! module. What is written most gets the shortest, and so do words that every script has, where that is less to write. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

/// A variable: by what is shared with other modules.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Variable {
    /// Of a module, by its number.
    Module(usize, String),
    /// The so-manieth of those that a module has inside.
    Inner(usize),
    /// A word that every script has.
    Shared(&'static str),
}

/// Words that may get a name of ours. Every browser has all of them, always.
const SHARED: &str = "null undefined document location window navigator performance Array Date Error Infinity JSON Map Math \
                      Number Object Promise Set String WeakMap setTimeout clearTimeout";

fn shared(word: &str) -> Option<&'static str> {
    SHARED.split(' ').find(|it| *it == word)
}

pub(crate) fn is_shared(word: &str) -> bool {
    shared(word).is_some()
}

/// Whether a name of two letters and its declaration are less to write.
fn pays(word: &str, count: usize) -> bool {
    count * (word.len() - 2) > word.len() + "xx=,".len()
}

#[derive(Default)]
pub(crate) struct ShortNames {
    /// Where an imported name comes from.
    imported: HashMap<(usize, String), usize>,
    module: BTreeMap<(usize, String), usize>,
    inner: BTreeMap<usize, HashMap<String, usize>>,
    shared: BTreeMap<&'static str, usize>,
    shared_given: BTreeMap<&'static str, String>,
    given: HashMap<(usize, String), String>,
}

const FIRST: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";
const LATER: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$0123456789";
/// Short words that mean something.
const TAKEN: &[&str] = &[
    "as", "do", "if", "in", "is", "of", "for", "get", "let", "new", "set", "try", "var", "CSS", "Map", "NaN", "Set",
    "URL",
];

impl ShortNames {
    /// A name of module `at` is the one of module `from`.
    pub(crate) fn same(&mut self, at: usize, name: &str, from: usize) {
        self.imported.insert((at, name.to_owned()), from);
    }

    pub(crate) fn count(&mut self, at: usize, name: &str, is_module: bool) {
        let home = self.imported.get(&(at, name.to_owned())).copied().unwrap_or(at);
        if is_module {
            *self.module.entry((home, name.to_owned())).or_default() += 1;
        } else {
            *self.inner.entry(at).or_default().entry(name.to_owned()).or_default() += 1;
        }
    }

    pub(crate) fn count_shared(&mut self, word: &str) {
        if let Some(word) = shared(word) {
            *self.shared.entry(word).or_default() += 1;
        }
    }

    /// Everything was counted: gives the names.
    pub(crate) fn settle(&mut self) {
        let mut counts: BTreeMap<Variable, usize> = BTreeMap::new();
        let mut places: Vec<((usize, String), Variable)> = Vec::new();
        for ((home, name), count) in &self.module {
            counts.insert(Variable::Module(*home, name.clone()), *count);
        }
        for (at, names) in &self.inner {
            let mut by_count: Vec<(&String, &usize)> = names.iter().collect();
            by_count.sort_by(|one, two| two.1.cmp(one.1).then(one.0.cmp(two.0)));
            for (nth, (name, count)) in by_count.into_iter().enumerate() {
                *counts.entry(Variable::Inner(nth)).or_default() += count;
                places.push(((*at, name.clone()), Variable::Inner(nth)));
            }
        }
        self.shared.retain(|word, count| pays(word, *count));
        counts.extend(self.shared.iter().map(|(word, count)| (Variable::Shared(word), *count)));
        let mut order: Vec<(&Variable, &usize)> = counts.iter().collect();
        order.sort_by(|one, two| two.1.cmp(one.1).then(one.0.cmp(two.0)));
        let taken: HashSet<&str> = TAKEN.iter().copied().collect();
        let free = (0..).map(spelled).filter(|name| !taken.contains(name.as_str()));
        let given: HashMap<&Variable, String> = order.into_iter().map(|(variable, _)| variable).zip(free).collect();
        let shared =
            self.module.keys().map(|(home, name)| ((*home, name.clone()), Variable::Module(*home, name.clone())));
        let all = shared.chain(places).filter_map(|(place, variable)| Some((place, given.get(&variable)?.clone())));
        self.given = all.collect();
        let named = |word: &&'static str| Some((*word, given.get(&Variable::Shared(word))?.clone()));
        self.shared_given = self.shared.keys().filter_map(named).collect();
    }

    /// What stands before everything: the words that have a name of ours.
    pub(crate) fn declared(&self) -> Option<String> {
        let words: Vec<String> = self.shared_given.iter().map(|(word, name)| format!("{name}={word}")).collect();
        (!words.is_empty()).then(|| format!("let {};\n", words.join(",")))
    }

    pub(crate) fn of(&self, at: usize, name: &str) -> Option<&str> {
        if is_shared(name) {
            return self.shared_given.get(name).map(String::as_str);
        }
        let home = self.imported.get(&(at, name.to_owned())).copied().unwrap_or(at);
        self.given.get(&(home, name.to_owned())).map(String::as_str)
    }
}

fn spelled(mut number: usize) -> String {
    let mut name = String::from(char::from(FIRST[number % FIRST.len()]));
    number /= FIRST.len();
    while number > 0 {
        number -= 1;
        name.push(char::from(LATER[number % LATER.len()]));
        number /= LATER.len();
    }
    name
}
