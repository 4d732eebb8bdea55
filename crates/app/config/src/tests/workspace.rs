//! What a file that came with the workspace may do: tighten, and nothing else.

use super::*;

#[test]
fn a_workspace_can_tighten_and_never_loosen() {
    let user = |mode: &str| format!("mode = '{mode}'");
    let with = |user_mode: Option<&str>, workspace_mode: &str| {
        let user_file = user_mode.map(user).unwrap_or_default();
        let files = [("user/config.toml", user_file.as_str()), ("work/.tillerman.toml", &user(workspace_mode))];
        let config = place(&files).load(None).unwrap();
        (config.mode(), config.warnings.len())
    };
    assert_eq!(with(None, "read-only"), (Some(Mode::ReadOnly), 0));
    assert_eq!(with(None, "danger-full-access"), (None, 1));
    assert_eq!(with(None, "workspace-write"), (None, 1));
    assert_eq!(with(Some("danger-full-access"), "workspace-write"), (Some(Mode::WorkspaceWrite), 0));
    assert_eq!(with(Some("read-only"), "prompt"), (Some(Mode::ReadOnly), 1));
    assert_eq!(with(Some("plan"), "plan"), (Some(Mode::Plan), 0));
}

/// Values of a key as TOML, from one end of what it takes to the other.
fn samples(kind: SettingKind, workspace: Workspace) -> Vec<String> {
    let texts = |words: &[&str]| words.iter().map(|word| format!("'{word}'")).collect();
    match kind {
        SettingKind::Text | SettingKind::Secret => texts(&["one", "script:x"]),
        SettingKind::Mode => texts(&["plan", "read-only", "prompt", "workspace-write", "danger-full-access"]),
        SettingKind::Level => texts(&["off", "low", "xhigh"]),
        SettingKind::OneOf(words) => texts(words),
        SettingKind::Sync => texts(&["off", "turn", "record"]),
        SettingKind::Count { min, max } => {
            let usual = match workspace {
                Workspace::Tightens(Tightening::Lower { usual } | Tightening::Raise { usual }) => usual,
                _ => min,
            };
            let around = [usual.saturating_sub(1), usual, usual + 1, min, max];
            let inside = around.into_iter().filter(|number| (min..=max).contains(number));
            inside.map(|number| number.to_string()).collect()
        }
        SettingKind::Limit(_) => vec!["1".to_owned(), "1000".to_owned()],
        SettingKind::Bool => ["true", "false"].map(str::to_owned).into(),
        SettingKind::Texts => ["[]", "['a']", "['a', 'b']", "['c']"].map(str::to_owned).into(),
        SettingKind::Models => vec!["[{ slug = 'x' }]".to_owned()],
        SettingKind::Servers => vec!["{ x = { command = 'y' } }".to_owned()],
        SettingKind::Providers => vec!["{ lab = { base_url = 'http://h/v1' } }".to_owned()],
        SettingKind::Slugs(Slugs::Aliases) => vec!["{ mine = 'a/b' }".to_owned()],
        SettingKind::Slugs(Slugs::Tiers) => vec!["{ fast = 'a/b' }".to_owned()],
        SettingKind::Lanes => vec!["{ x = { cap = 3 } }".to_owned()],
        SettingKind::Gates => vec!["{ x = true }".to_owned()],
    }
}

/// Whether `after` allows no more than `before`, by the table of the manual: what is not in it stays as it was.
fn no_looser(name: &str, before: Option<&SettingValue>, after: Option<&SettingValue>) -> bool {
    let count = |setting: Option<&SettingValue>, usual: u64| match setting {
        Some(SettingValue::Count(number)) => *number,
        _ => usual,
    };
    let modes = ["plan", "read-only", "prompt", "workspace-write", "danger-full-access"];
    let rank = |words: &[&str], setting: Option<&SettingValue>, usual: &str| {
        let word = setting.map_or_else(|| usual.to_owned(), SettingValue::show);
        words.iter().position(|it| *it == word).unwrap()
    };
    let lower = |usual| count(after, usual) <= count(before, usual);
    match name {
        "max_tokens" => lower(4096),
        "max_iterations" => lower(1000),
        "shutdown_grace_s" => lower(30),
        "idle_timeout_s" => lower(120),
        "retry.retries_max" => lower(4),
        "retry.server_wait_ms_max" => lower(120_000),
        "retry.base_ms" => count(after, 500) >= count(before, 500),
        "retry.jitter" => before == after || after == Some(&SettingValue::Bool(true)),
        "mode" => rank(&modes, after, "prompt") <= rank(&modes, before, "prompt"),
        "sync" => rank(&["off", "turn", "record"], after, "turn") >= rank(&["off", "turn", "record"], before, "turn"),
        "tools.only" => match (before, after) {
            (Some(SettingValue::Texts(before)), Some(SettingValue::Texts(after))) => {
                after.iter().all(|it| before.contains(it))
            }
            (None, _) => true,
            _ => false,
        },
        _ => before == after,
    }
}

#[test]
fn a_workspace_does_not_raise_what_a_dialect_has_lower_than_others() {
    let place = place(&[("work/.tillerman.toml", "max_iterations = 500\n")]);
    let config = place.load(None).unwrap();
    assert_eq!((config.max_iterations(1000), config.max_iterations(20)), (500, 20));
}

#[test]
fn whatever_a_workspace_says_about_any_key_nothing_gets_looser() {
    for key in KEYS {
        let (group, name) = key.name.rsplit_once('.').unwrap_or(("", key.name));
        let table = if group.is_empty() { String::new() } else { format!("[{group}]\n") };
        let line = |value: &String| format!("{table}{name} = {value}\n");
        let (mut counted, mut refused) = (0, 0);
        let samples = samples(key.kind, key.workspace);
        for own in std::iter::once(None).chain(samples.iter().map(Some)) {
            let user = own.map(&line).unwrap_or_default();
            let place = place(&[("user/config.toml", &user)]);
            let before = place.load(None).unwrap();
            for asked in &samples {
                std::fs::write(place.root.path().join("work/.tillerman.toml"), line(asked)).unwrap();
                let after = place.load(None).unwrap();
                let (before, now) = (before.get(key.name), after.get(key.name));
                assert!(no_looser(key.name, before, now), "{}: {before:?} became {now:?} by {asked}", key.name);
                counted += usize::from(now != before);
                refused += usize::from(!after.warnings.is_empty());
            }
        }
        let tightens = matches!(key.workspace, Workspace::Tightens(_));
        assert_eq!(counted > 0, tightens, "{} can be tightened", key.name);
        assert!(refused > 0 || ["model", "tools.only"].contains(&key.name), "{}", key.name);
    }
}

#[test]
fn a_dialects_own_usual_value_holds_against_a_workspace_too() {
    let retry = "[retry]\nretries_max = 4\nbase_ms = 600\nserver_wait_ms_max = 100000\n";
    let text = format!("max_iterations = 20\n{retry}");
    let usual = RetryPolicy { retries_max: 0, base_ms: 2000, server_wait_ms_max: 1, ..RetryPolicy::default() };
    let stranger = place(&[("work/.tillerman.toml", &text)]).load(None).unwrap();
    let got = stranger.retry(usual);
    assert_eq!((got.retries_max, got.base_ms, got.server_wait_ms_max), (0, 2000, 1));
    assert_eq!((stranger.max_iterations(5), stranger.max_iterations(u32::MAX)), (5, 20));
    let own = place(&[("user/config.toml", &text)]).load(None).unwrap();
    let got = own.retry(usual);
    assert_eq!((got.retries_max, got.base_ms, got.server_wait_ms_max), (4, 600, 100_000), "the user's word counts");
    assert_eq!(own.max_iterations(5), 20);
}

#[test]
fn a_workspace_chooses_neither_server_nor_key() {
    let files = [("work/.tillerman.toml", "base_url = 'http://evil/v1'\napiKey = 'sk-123'\n")];
    check(
        &place(&files),
        expect![[r#"
            warning: /work/.tillerman.toml:2: `api_key` is ignored: keys are not read from files; set one in the environment, or name a `key_file` or a `secret_command` in [providers.NAME]
            warning: /work/.tillerman.toml: `base_url` is ignored: a workspace cannot choose it
        "#]],
    );
}

/// Whoever wrote the file cannot keep the user from starting there.
#[test]
fn a_broken_file_of_a_workspace_is_ignored_as_a_whole_and_pointed_out() {
    for (name, text) in [
        ("work/.tillerman.json", "\u{1}"),
        ("work/.tillerman.json", "[]"),
        ("work/.tillerman.yaml", "a: [b"),
        ("work/.tillerman.toml", "max_iterations = 3\nmode = 'sometimes'\n"),
        ("work/.tillerman.toml", "max_iterations = 3\n[servers.x]\nurl = 1\n"),
    ] {
        let config = place(&[(name, text), ("user/config.toml", "max_iterations = 9")]).load(None).unwrap();
        assert_eq!(config.max_iterations(20), 9, "{name}: {text}");
        let told = config.warnings.last().unwrap();
        assert!(told.ends_with("the settings of this workspace are ignored"), "{told}");
    }
    let own = place(&[("user/config.json", "\u{1}")]).load(None).unwrap_err();
    assert!(own.message.starts_with("cannot read "), "{own}");
}

#[test]
fn a_workspace_never_says_where_accounts_are_not_even_a_trusted_one() {
    let keys = KEYS.iter().map(|key| key.name).filter(|name| name.starts_with("accounts."));
    let value = |name: &str| if name.ends_with("port") { "7".to_owned() } else { "'http://127.0.0.1:1'".to_owned() };
    let table: Vec<String> = keys.map(|name| format!("{name} = {}\n", value(name))).collect();
    assert_eq!(table.len(), 10);
    let work = place(&[("work/.tillerman.toml", &table.concat())]);
    let trusted = format!("trusted_workspaces = ['{}']\n", work.root.path().join("work").display());
    std::fs::write(work.root.path().join("user/config.toml"), trusted).unwrap();
    let config = work.load(None).unwrap();
    assert!(
        config.warnings.len() == table.len()
            && config.warnings.iter().all(|it| it.contains("a workspace cannot choose it"))
    );
    assert_eq!((config.account("openai_issuer"), config.oauth_port()), (None, None));

    let user = place(&[("user/config.toml", &table.concat())]).env("TILLERMAN_OAUTH_PORT", "0");
    let config = user.load(None).unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    assert_eq!(
        (config.account("openrouter_url").as_deref(), config.oauth_port()),
        (Some("http://127.0.0.1:1"), Some(0))
    );
}

#[test]
fn a_budget_is_the_users_alone_and_read_strictly() {
    use vocab::{BudgetSpan, BudgetUnit};
    let user = "[budget.turn]\nusd = 2.5\nminutes = 1\n[budget.day]\ntokens = 1000\n";
    let work = place(&[
        ("user/config.toml", user),
        ("work/.tillerman.toml", "[budget.turn]\nusd = 99\n[budget.session]\nrounds = 1\n"),
    ]);
    for trust in ["", "trusted"] {
        if !trust.is_empty() {
            let text = format!("trusted_workspaces = ['{}']\n{user}", work.root.path().join("work").display());
            std::fs::write(work.root.path().join("user/config.toml"), text).unwrap();
        }
        let config = work.load(None).unwrap();
        let limits: Vec<_> = config.budget().limits().collect();
        let want = [
            (BudgetSpan::Turn, BudgetUnit::Money, 2_500_000_000),
            (BudgetSpan::Turn, BudgetUnit::Time, 60_000),
            (BudgetSpan::Day, BudgetUnit::Tokens, 1000),
        ];
        assert_eq!(limits, want);
        assert_eq!(config.warnings.iter().filter(|it| it.contains("a workspace cannot choose it")).count(), 2);
    }
    for wrong in ["0", "-1", "nan", "inf", "'much'", "true", "1e30", "0.0000001", "[1]"] {
        let work = place(&[("user/config.toml", &format!("[budget.turn]\nusd = {wrong}\n"))]);
        let fault = work.load(None).unwrap_err();
        assert!(
            fault.message.contains("`budget.turn.usd` wants a number above 0, at most 1000000"),
            "{wrong}: {fault}"
        );
    }
    let work = place(&[("user/config.toml", "[budget.day]\nrounds = 5\n")]);
    assert!(work.load(None).unwrap().warnings[0].contains("unknown setting `budget.day.rounds`"));
}
