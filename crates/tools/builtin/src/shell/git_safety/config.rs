//! A repository's configuration, read without git: only keys that are known to be inert may stand in it. Pure.
//!
//! The parser takes the plain part of the language and nothing else. Whatever it does not understand (escapes, lines
//! that go on, keys behind a section on one line, old spellings) is not inert: a key that hides from us must not
//! be one that git finds.

/// What a configuration with nothing but inert keys says about where its files are.
#[derive(PartialEq, Eq, Debug, Default)]
pub(super) struct Inert {
    /// `core.worktree`: git writes it for submodules. Inert only when it names the directory git was found from.
    pub(super) worktree: Option<String>,
}

/// Keys that run nothing, fetch nothing and read no other file, whatever their value, while git reads. Not here, on
/// purpose: everything that names a program (drivers, filters, checkers, hooks, helpers, pagers, aliases), a file or another
/// repository (includes, worktrees, promisors), formats (they can call a signature checker; an order to sort by is one as
/// well), what decides how an index is read (its threads, caches and parts), and extensions.
const PLAIN: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bare",
            "bigfilethreshold",
            "checkstat",
            "commentchar",
            "commitgraph",
            "compression",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "longpaths",
            "loosecompression",
            "multipackindex",
            "precomposeunicode",
            "preloadindex",
            "protecthfs",
            "protectntfs",
            "quotepath",
            "repositoryformatversion",
            "safecrlf",
            "sharedrepository",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
            "trustctime",
            "whitespace",
        ],
    ),
    ("author", &["email", "name"]),
    ("blame", &["coloring", "showemail"]),
    ("branch", &["autosetupmerge", "autosetuprebase"]),
    ("checkout", &["defaultremote", "guess"]),
    ("color", &["branch", "diff", "interactive", "pager", "showbranch", "status", "ui"]),
    ("column", &["branch", "status", "ui"]),
    ("commit", &["cleanup", "gpgsign", "status", "verbose"]),
    ("committer", &["email", "name"]),
    (
        "diff",
        &[
            "algorithm",
            "colormoved",
            "colormovedws",
            "context",
            "ignoresubmodules",
            "indentheuristic",
            "interhunkcontext",
            "mnemonicprefix",
            "noprefix",
            "renamelimit",
            "renames",
            "wserrorhighlight",
        ],
    ),
    ("fetch", &["fsckobjects", "parallel", "prune", "prunetags", "writecommitgraph"]),
    ("gc", &["auto", "autodetach", "autopacklimit", "pruneexpire", "reflogexpire", "reflogexpireunreachable"]),
    ("gui", &["geometry", "wmstate"]),
    ("http", &["postbuffer", "version"]),
    ("index", &["skiphash", "version"]),
    ("init", &["defaultbranch"]),
    ("lfs", &["repositoryformatversion"]),
    ("log", &["abbrevcommit", "decorate", "follow", "showroot"]),
    ("maintenance", &["auto", "strategy"]),
    ("merge", &["conflictstyle", "ff", "log", "renamelimit", "renames", "stat"]),
    ("pack", &["compression", "depth", "threads", "window", "windowmemory"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["autosetupremote", "default", "followtags"]),
    ("rebase", &["autosquash", "autostash", "stat", "updaterefs"]),
    ("receive", &["denycurrentbranch", "denydeletes", "denynonfastforwards", "fsckobjects"]),
    ("rerere", &["autoupdate", "enabled"]),
    ("status", &["aheadbehind", "branch", "relativepaths", "renames", "short", "showstash", "showuntrackedfiles"]),
    ("submodule", &["active"]),
    ("tag", &["gpgsign"]),
    ("transfer", &["fsckobjects"]),
    ("user", &["email", "name", "signingkey", "useconfigonly"]),
];

/// The same for sections that have a name of their own, such as `[remote "origin"]`. Addresses are here because nothing
/// is fetched: that takes a promisor or an extension, and those are not.
const NAMED: &[(&str, &[&str])] = &[
    (
        "branch",
        &[
            "description",
            "gh-merge-base",
            "github-pr-owner-number",
            "merge",
            "pushremote",
            "rebase",
            "remote",
            "vscode-merge-base",
        ],
    ),
    (
        "color",
        &["added", "branch", "changed", "context", "frag", "header", "meta", "new", "old", "untracked", "whitespace"],
    ),
    ("gitflow", &["bugfix", "develop", "feature", "hotfix", "master", "release", "support", "versiontag"]),
    ("lfs", &["access", "locksverify"]),
    ("remote", &["fetch", "gh-resolved", "mirror", "prune", "prunetags", "push", "pushurl", "tagopt", "url"]),
    ("submodule", &["active", "branch", "ignore", "url"]),
    ("url", &["insteadof", "pushinsteadof"]),
];

/// What the text says, when every key in it is inert and every line was understood.
pub(super) fn inert(text: &str) -> Option<Inert> {
    // A tab is a blank; any other control character, and the mark some editors put at the start, is not ours to judge.
    if text.chars().any(|c| (c.is_control() && !matches!(c, '\t' | '\n')) || c == '\u{feff}') {
        return None;
    }
    let mut found = Inert::default();
    let mut section: Option<Section> = None;
    for line in text.split('\n').map(|line| line.trim_matches([' ', '\t'])) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('[') {
            section = Some(header(line)?);
            continue;
        }
        let (key, value) = variable(line)?;
        let section = section.as_ref()?;
        match (section.name.as_str(), section.sub, key.as_str()) {
            ("core", false, "worktree") => found.worktree = Some(plain_value(value?)?),
            (name, sub, key) => listed(if sub { NAMED } else { PLAIN }, name, key).then_some(())?,
        }
    }
    Some(found)
}

fn listed(list: &[(&str, &[&str])], section: &str, key: &str) -> bool {
    list.iter().any(|(name, keys)| *name == section && keys.contains(&key))
}

struct Section {
    /// In lower case, as git compares it.
    name: String,
    /// It has a name of its own.
    sub: bool,
}

/// `[name]` or `[name "sub"]`, and at most a comment behind it: git takes a key there as well, we do not.
fn header(line: &str) -> Option<Section> {
    let inside = line.strip_prefix('[')?;
    let name_end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '-')?;
    let (name, rest) = inside.split_at(name_end);
    let (sub, rest) = match rest.strip_prefix([' ', '\t']) {
        None => (false, rest),
        Some(rest) => {
            let quoted = rest.trim_start_matches([' ', '\t']).strip_prefix('"')?;
            let (sub, rest) = quoted.split_once('"')?;
            (!sub.contains('\\')).then_some((true, rest))?
        }
    };
    let behind = rest.strip_prefix(']')?.trim_start_matches([' ', '\t']);
    let known = !name.is_empty() && (behind.is_empty() || behind.starts_with(['#', ';']));
    known.then(|| Section { name: name.to_ascii_lowercase(), sub })
}

/// `key = value` or `key`. A backslash could continue the line or hide a quote; a quote that stays open is an error to git.
fn variable(line: &str) -> Option<(String, Option<&str>)> {
    let (key, value) = match line.split_once('=') {
        Some((key, value)) => (key.trim_end_matches([' ', '\t']), Some(value.trim_start_matches([' ', '\t']))),
        None => (line, None),
    };
    let starts = key.starts_with(|c: char| c.is_ascii_alphabetic());
    let whole = starts && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let plain = !line.contains('\\') && line.matches('"').count().is_multiple_of(2);
    (whole && plain).then(|| (key.to_ascii_lowercase(), value))
}

/// A value without quotes and comments, for the one key whose value counts.
fn plain_value(value: &str) -> Option<String> {
    (!value.contains(['"', '#', ';'])).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_for_a_clone_is_inert() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
            # a comment \\\n[remote \"origin\"]\n\turl = git@example.org:a/b.git ; mine\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
            [branch \"feature/x y\"] # mine\n  remote=origin\n\tmerge = \"refs/heads/x\"\n[User]\n\tName = Ü # x\n\n[core]\n\tBare\n";
        assert_eq!(inert(text), Some(Inert::default()));
        assert_eq!(inert(""), Some(Inert::default()));
        assert_eq!(inert("[core]\n\tworktree = ../../sub").unwrap().worktree.as_deref(), Some("../../sub"));
    }

    #[test]
    fn keys_that_name_programs_files_or_places_are_not() {
        for (section, key) in [
            ("core", "fsmonitor"),
            ("core", "hooksPath"),
            ("core", "sshCommand"),
            ("core", "gitProxy"),
            ("core", "pager"),
            ("core", "editor"),
            ("core", "attributesFile"),
            ("core", "alternateRefsCommand"),
            ("diff", "external"),
            ("diff \"x\"", "textconv"),
            ("diff \"x\"", "command"),
            ("filter \"x\"", "clean"),
            ("filter \"x\"", "process"),
            ("gpg", "program"),
            ("gpg \"ssh\"", "program"),
            ("format", "pretty"),
            ("pretty", "x"),
            ("log", "showSignature"),
            ("log", "date"),
            ("blame", "date"),
            ("branch", "sort"),
            ("tag", "sort"),
            ("index", "threads"),
            ("index", "sparse"),
            ("core", "splitIndex"),
            ("core", "untrackedCache"),
            ("feature", "manyFiles"),
            ("remote \"origin\"", "promisor"),
            ("remote \"origin\"", "partialCloneFilter"),
            ("remote \"origin\"", "uploadpack"),
            ("remote \"origin\"", "vcs"),
            ("protocol \"ext\"", "allow"),
            ("extensions", "partialClone"),
            ("extensions", "worktreeConfig"),
            ("include", "path"),
            ("includeIf \"gitdir:/\"", "path"),
            ("alias", "status"),
            ("credential", "helper"),
            ("mailmap", "file"),
            ("blame", "ignoreRevsFile"),
            ("status", "submoduleSummary"),
            ("diff", "submodule"),
            ("submodule", "recurse"),
            ("unknown", "key"),
            ("core", "unknown"),
            // A section of its own is another section.
            ("core \"x\"", "bare"),
            ("remote", "url"),
        ] {
            assert_eq!(inert(&format!("[{section}]\n\t{key} = x\n")), None, "{section}.{key}");
            assert_eq!(inert(&format!("[{section}]\n\t{key}\n")), None, "{section}.{key}");
        }
    }

    #[test]
    fn what_is_not_understood_is_not_inert() {
        for text in [
            "bare = true",
            "[core] bare = true",
            "[core]bare",
            "[core",
            "[core]]",
            "[]\nbare",
            "[core.x]\nbare",
            "[remote origin]\nurl = x",
            "[remote \"a\\\"b\"]\nurl = x",
            "[remote \"a]\nurl = x",
            "[remote \"a\" ]\nurl = x",
            "[core]\nabbrev = 7 \\\nfsmonitor = x",
            "[core]\nabbrev = \"7",
            "[core]\nabbrev : 7",
            "[core]\n1abbrev = 7",
            "[core]\nab brev = 7",
            "[core]\nabbrev = 7\r\n",
            "[core]\nabbrev = 7\0",
            "\u{feff}[core]\nabbrev = 7",
            "[core]\nworktree",
            "[core]\nworktree = \"a\"",
            "[co\u{fc}re]\nabbrev = 7",
        ] {
            assert_eq!(inert(text), None, "{text:?}");
        }
    }

    proptest::proptest! {
        /// Whatever is put around it, a key that names a program is seen.
        #[test]
        fn no_text_hides_a_program(before in "(\\[core\\]\n)?[a-z\\[\\]\"\\\\#;= \t\n]{0,30}", after in "[a-z\\[\\]\"\\\\#;= \t\n]{0,30}") {
            let text = format!("{before}\n[diff \"x\"]\ntextconv = evil\n{after}");
            proptest::prop_assert_eq!(inert(&text), None);
        }
    }
}
