//! Which functions an agent's start, a turn and a call run, in every dialect, as the names that its linker puts side by
//! side (`crates/app/tillerman/build.rs`). `valgrind --tool=callgrind` tells which ran, `nm` how large functions are; the
//! agent has to be built with symbols.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::agent::{Agent, Contender};
use super::{Bench, NOTES};

const HEAD: &str = "# Written by `bench layout`; read by build.rs. `*` stands for a hash.";
/// What is used in so many dialects is everybody's.
const COMMON_FROM: usize = 3;
/// A name without its hash may stand for many functions. Where less than one byte in so many ran, it comes last.
const SPARSE: usize = 2;

/// What each stage adds to the one before.
const STAGES: [&[&str]; 3] = [&[], &["say 3 words", "say 3 words"], &["CALL"]];

/// By the position of the dialect: the first stage in which it needs the name.
type UsedBy = BTreeMap<usize, usize>;

pub(super) fn layout(bench: &Bench) -> anyhow::Result<()> {
    let dialects = [bench.ours.clone(), bench.ours.in_rpc(), bench.ours.in_loaf(), bench.ours.in_acp()];
    let sizes = function_sizes(bench.ours.program())?;
    let mut used: BTreeMap<String, UsedBy> = BTreeMap::new();
    let mut ran = BTreeSet::new();
    for (dialect, who) in dialects.iter().enumerate() {
        for (stage, prompts) in STAGES.iter().enumerate() {
            for function in functions_of(bench, who, prompts)? {
                if let Some(name) = without_hash(&function) {
                    let first = used.entry(name).or_default().entry(dialect).or_insert(stage);
                    *first = stage.min(*first);
                    ran.insert(function);
                }
            }
        }
    }
    let (mut all_bytes, mut ran_bytes) = (HashMap::<String, usize>::new(), HashMap::<String, usize>::new());
    for (function, size) in &sizes {
        if let Some(name) = without_hash(function) {
            *all_bytes.entry(name.clone()).or_default() += size;
            *ran_bytes.entry(name).or_default() += if ran.contains(function) { *size } else { 0 };
        }
    }
    let mut order: Vec<_> = used
        .into_iter()
        .map(|(name, by)| {
            let is_sparse = ran_bytes.get(&name).unwrap_or(&0) * SPARSE < *all_bytes.get(&name).unwrap_or(&0);
            let stage = by.values().copied().min().unwrap_or_default();
            let owner = if by.len() >= COMMON_FROM { None } else { by.keys().next().copied() };
            (is_sparse, owner, stage, name)
        })
        .collect();
    order.sort();
    let mut out = io::stdout().lock();
    writeln!(out, "{HEAD}")?;
    order.iter().try_for_each(|(.., name)| writeln!(out, "{name}")).context("stdout")
}

/// Functions of the agent that ran.
fn functions_of(bench: &Bench, who: &Contender, prompts: &[&str]) -> anyhow::Result<BTreeSet<String>> {
    let place = bench.place("layout", who)?;
    let out = place.home.with_file_name("callgrind.out");
    let mut agent = Agent::start(&who.profiled(&out), &place, bench.mock.addr)?;
    for prompt in prompts {
        match *prompt {
            "CALL" => agent.turn(&format!(r#"rounds 1 call read_file {{"path":"{NOTES}"}}"#))?,
            prompt => agent.turn(prompt)?,
        };
    }
    agent.finish()?;
    let told = fs::read_to_string(&out).context("callgrind wrote nothing; is valgrind installed?")?;
    let names = functions_in(&told, &who.program().to_string_lossy());
    ensure!(!names.is_empty(), "{} has no symbols; build it with CARGO_PROFILE_RELEASE_STRIP=none", who.describe());
    Ok(names)
}

/// The functions in callgrind's file that have costs of their own. Names are written out once and numbered; `c` in front
/// names what is called. Code that is in no section that valgrind knows has no object: it is taken for the program's.
fn functions_in(told: &str, program: &str) -> BTreeSet<String> {
    let (mut objects, mut functions) = (HashMap::new(), HashMap::new());
    let (mut is_ours, mut found) = (false, BTreeSet::new());
    for line in told.lines() {
        let Some((key, value)) = line.split_once("=(") else { continue };
        let Some((number, name)) = value.split_once(')') else { continue };
        let (number, name) = (number.to_owned(), name.trim());
        match key {
            "ob" | "cob" => {
                let object = objects.entry(number).or_insert_with(|| name.to_owned());
                if key == "ob" {
                    is_ours = object == program || object == "???";
                }
            }
            "fn" | "cfn" => {
                // Recursion is counted apart, behind an apostrophe.
                let plain = name.split('\'').next().unwrap_or_default();
                let function = functions.entry(number).or_insert_with(|| plain.to_owned());
                if key == "fn" && is_ours {
                    found.insert(function.clone());
                }
            }
            _ => {}
        }
    }
    found
}

fn function_sizes(program: &Path) -> anyhow::Result<Vec<(String, usize)>> {
    let told = Command::new("nm").arg("-S").arg(program).output().context("nm")?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let function = |line: &str| -> Option<(String, usize)> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, size, "t" | "T" | "w" | "W", name] = fields[..] else { return None };
        Some((name.to_owned(), usize::from_str_radix(size, 16).ok()?))
    };
    Ok(told.lines().filter_map(function).collect())
}

/// The name as a pattern that holds for any compiler: `*` for a hash of the name, of a crate, or of one copy among many.
fn without_hash(function: &str) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_$.".contains(c);
    if function.starts_with("0x") || !function.chars().all(is_name) {
        return None;
    }
    if function.starts_with("_ZN") {
        let at = function.rfind("17h")?;
        return Some(format!("{}*", &function[..at + 3]));
    }
    if !function.starts_with("_R") {
        return Some(function.to_owned());
    }
    let whole = match function.rsplit_once('.') {
        Some((name, copy)) if copy.bytes().all(|byte| byte.is_ascii_digit()) => format!("{name}*"),
        _ => function.to_owned(),
    };
    let mut parts = whole.split("Cs");
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('_') {
            Some((hash, rest)) if !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                name.push_str("Cs*_");
                name.push_str(rest);
            }
            _ => {
                name.push_str("Cs");
                name.push_str(part);
            }
        }
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_left_out_of_names() {
        for (function, name) in [
            ("_ZN6engine7session4poll17h0123456789abcdefE", Some("_ZN6engine7session4poll17h*")),
            ("_RNvNtCs4X4t9plMPHF_3std2io4read", Some("_RNvNtCs*_3std2io4read")),
            ("_RNvXsZ_NtCslNYA_5alloc6string9write_str.887", Some("_RNvXsZ_NtCs*_5alloc6string9write_str*")),
            ("sqlite3Update.constprop.0", Some("sqlite3Update.constprop.0")),
            ("0x0000000000001234", None),
            ("(below main)", None),
        ] {
            assert_eq!(without_hash(function).as_deref(), name, "{function}");
        }
    }

    #[test]
    fn functions_of_the_program_are_found_with_names_that_were_told_earlier() {
        let told = "ob=(1) /bin/agent\nfn=(1) one\n0 1\ncob=(2) /lib/libc.so\ncfn=(2) two\ncalls=1 0\n0 5\n\
                    ob=(2)\nfn=(2)\n0 5\nob=(1)\nfn=(3) three'2\n0 1\nob=(4) ???\nfn=(4) four\n0 1\n";
        let found: Vec<String> = functions_in(told, "/bin/agent").into_iter().collect();
        assert_eq!(found, ["four", "one", "three"]);
    }
}
