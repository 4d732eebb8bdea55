//! Short names for variables: those of a module are its own in the whole script, those inside functions are used again in every
//! module. What is written most gets the shortest. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

/// A variable: by what is shared with other modules.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Variable {
    /// Of a module, by its number.
    Module(usize, String),
    /// The so-manieth of those that a module has inside.
    Inner(usize),
}

#[derive(Default)]
pub(crate) struct ShortNames {
    /// Where an imported name comes from.
    imported: HashMap<(usize, String), usize>,
    module: BTreeMap<(usize, String), usize>,
    inner: BTreeMap<usize, HashMap<String, usize>>,
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
        let mut order: Vec<(&Variable, &usize)> = counts.iter().collect();
        order.sort_by(|one, two| two.1.cmp(one.1).then(one.0.cmp(two.0)));
        let taken: HashSet<&str> = TAKEN.iter().copied().collect();
        let free = (0..).map(spelled).filter(|name| !taken.contains(name.as_str()));
        let given: HashMap<&Variable, String> = order.into_iter().map(|(variable, _)| variable).zip(free).collect();
        let shared =
            self.module.keys().map(|(home, name)| ((*home, name.clone()), Variable::Module(*home, name.clone())));
        let all = shared.chain(places).filter_map(|(place, variable)| Some((place, given.get(&variable)?.clone())));
        self.given = all.collect();
    }

    pub(crate) fn of(&self, at: usize, name: &str) -> Option<&str> {
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
