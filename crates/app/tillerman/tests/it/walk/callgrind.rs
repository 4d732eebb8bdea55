//! A dump of callgrind, as far as a walk needs it: which functions ran, how often, at what cost, and whom they called. The
//! format is that of valgrind's manual, "Callgrind Format Specification": names are written once and numbered.

use std::collections::{BTreeMap, HashMap};

/// A function by the file and the name that the debug information gives it.
pub(super) type Place = (String, String);

#[derive(Default)]
pub(super) struct Ran {
    /// Instructions in its own lines.
    pub(super) own: u64,
    /// Calls that began in the measured time.
    pub(super) calls: u64,
    pub(super) callees: Vec<Place>,
}

/// What a line `fl=(4) /a/b.rs` names; later lines say `fl=(4)` alone.
fn named(known: &mut HashMap<String, String>, text: &str) -> String {
    let (id, name) = text.split_once(' ').unwrap_or((text, ""));
    if !name.is_empty() {
        known.insert(id.to_owned(), name.to_owned());
    }
    known.get(id).cloned().unwrap_or_default()
}

pub(super) fn read(dump: &str) -> BTreeMap<Place, Ran> {
    let (mut files, mut names) = (HashMap::new(), HashMap::new());
    let mut ran: BTreeMap<Place, Ran> = BTreeMap::new();
    // `here` moves with code that was inlined from another file; `home` is where the function begins.
    let (mut home, mut here, mut function) = (String::new(), String::new(), String::new());
    let (mut called_file, mut called, mut cost_is_of_callee) = (None, String::new(), false);
    for line in dump.lines() {
        match line.split_once('=') {
            Some(("fl", rest)) => {
                home = named(&mut files, rest);
                here.clone_from(&home);
            }
            Some(("fi" | "fe", rest)) => here = named(&mut files, rest),
            Some(("fn", rest)) => {
                function = named(&mut names, rest);
                here.clone_from(&home);
            }
            Some(("cfi" | "cfl", rest)) => called_file = Some(named(&mut files, rest)),
            Some(("cfn", rest)) => called = named(&mut names, rest),
            Some(("calls", rest)) => {
                let times = rest.split(' ').next().and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
                // A callee in the caller's file has no line for its file.
                let callee = (called_file.take().unwrap_or_else(|| here.clone()), called.clone());
                ran.entry(callee.clone()).or_default().calls += times;
                ran.entry((home.clone(), function.clone())).or_default().callees.push(callee);
                cost_is_of_callee = true;
            }
            _ if line.starts_with(|it: char| it.is_ascii_digit() || "+-*".contains(it)) => {
                let cost = line.split(' ').nth(1).and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
                if !std::mem::take(&mut cost_is_of_callee) {
                    ran.entry((here.clone(), function.clone())).or_default().own += cost;
                }
            }
            _ => {}
        }
    }
    ran
}
