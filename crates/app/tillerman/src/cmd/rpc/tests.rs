//! The command line, the choice of a session, and what settings become.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use vocab::{CompactionPolicy, Drain, Gate, Mode, OnRestart, Overflow, Settings, SteerPoint, SyncLevel, Which};

use dialect_rpc::{Errors, Updates};

use super::*;
use config::Configuration;
use rpc_flags::table::{FLAGS, Takes};
use rpc_flags::{Flags, Means, ModelFlags, PromptFlags, SessionFlags, ToolFlags, WireFlags, parse};

fn words(line: &[&str]) -> Vec<OsString> {
    line.iter().map(OsString::from).collect()
}

#[track_caller]
fn flags(line: &[&str]) -> Flags {
    parse(words(line)).unwrap()
}

// ---- the command line -----------------------------------------------------------------------------------------------

#[test]
fn every_flag_of_a_usual_host_is_understood() {
    let read = flags(&[
        "--mode",
        "rpc",
        "--provider",
        "lab",
        "--model",
        "alpha:high",
        "--models",
        "a, b,,c",
        "--thinking",
        "low",
        "--session-dir",
        "/s",
        "--no-session",
        "-c",
        "--tools",
        "read,bash",
        "--system-prompt",
        "be kind",
        "--append-system-prompt",
        "one",
        "--append-system-prompt=two",
        "-e",
        "/x",
        "--extension",
        "/y",
        "--no-extensions",
        "--permission-mode",
        "read-only",
        "--workspace",
        "/w",
        "--config",
        "/c",
        "--log-frames",
        "/l",
        "--rpc-errors=pi",
        "--rpc-updates",
        "delta",
        "--sync",
        "off",
        "--on-restart",
        "continue",
        "--api-key",
        "sk-canary",
        "--no-mcp",
    ]);
    let model = ModelFlags {
        provider: Some("lab".into()),
        name: Some("alpha:high".into()),
        scope: ["a", "b", "c"].map(str::to_owned).to_vec(),
        thinking: Some("low"),
        api_key: providers::Secret::new("sk-canary"),
        list: None,
    };
    let session =
        SessionFlags { dir: Some("/s".into()), none: true, asked: AskedSession::Newest, ..SessionFlags::default() };
    let tools = ToolFlags {
        only: Some(["read", "bash"].map(str::to_owned).to_vec()),
        mode: Some(Mode::ReadOnly),
        extensions: vec!["/x".into(), "/y".into()],
        no_extensions: true,
        no_servers: true,
        ..ToolFlags::default()
    };
    let prompts = PromptFlags {
        system: Some("be kind".into()),
        append: ["one", "two"].map(str::to_owned).to_vec(),
        ..PromptFlags::default()
    };
    let wire = WireFlags { errors: Some(Errors::Pi), updates: Some(Updates::Delta), log_frames: Some("/l".into()) };
    let want = Flags {
        model,
        session,
        tools,
        prompts,
        wire,
        workspace: Some("/w".into()),
        config: Some("/c".into()),
        sync: Some(SyncLevel::Off),
        on_restart: Some(OnRestart::Continue),
        ..Flags::default()
    };
    assert_eq!(read, want);
    assert!(!format!("{read:?}").contains("canary"));
}

#[test]
fn unknown_flags_go_with_their_value_wherever_they_stand() {
    for line in [
        &["--frob", "--model", "m"][..],
        &["--frob", "value", "--model", "m"],
        &["--frob=value", "--model", "m"],
        &["--model", "m", "--frob"],
        &["--model", "m", "--frob", "value"],
        &["-q", "--model", "m"],
        &["-q", "value", "--model", "m"],
        &["--frob", "--frob", "x", "--model", "m", "--frob=1"],
    ] {
        let read = flags(line);
        assert_eq!(read.model.name.as_deref(), Some("m"), "{line:?}");
        let [note] = &read.notes[..] else { panic!("{line:?}: {:?}", read.notes) };
        assert!(note.starts_with("unknown flags are skipped: -"), "{note}");
        assert!(!note.contains("value"), "a value may be a secret: {note}");
        assert_eq!(Flags { notes: Vec::new(), model: ModelFlags::default(), ..read }, Flags::default(), "{line:?}");
    }
    let many: Vec<String> = (0..50).map(|n| format!("--x{n}")).collect();
    let read = parse(many.iter().map(OsString::from)).unwrap();
    assert!(read.notes[0].ends_with("--x19 and 30 more"), "{:?}", read.notes);
}

#[test]
fn of_a_repeated_flag_the_last_counts() {
    let read =
        flags(&["--model", "a", "--model=b", "--session", "x", "--continue", "--resume", "y", "--tools=a", "-t", "b"]);
    assert_eq!(read.model.name.as_deref(), Some("b"));
    assert_eq!(read.session.asked, AskedSession::Named("y".into()));
    assert_eq!(read.tools.only, Some(vec!["b".to_owned()]));
}

#[test]
fn a_session_may_be_named_or_not() {
    for (line, want) in [
        (&["--resume"][..], AskedSession::Newest),
        (&["-r", "--no-tools"], AskedSession::Newest),
        (&["-r", "abc"], AskedSession::Named("abc".into())),
        (&["--session=/a/b.jsonl"], AskedSession::Named("/a/b.jsonl".into())),
        (&["--session", "id"], AskedSession::Named("id".into())),
        (&["--session="], AskedSession::Newest),
        (&["-c"], AskedSession::Newest),
        (&["--continue=false"], AskedSession::New),
    ] {
        assert_eq!(flags(line).session.asked, want, "{line:?}");
    }
    assert_eq!(flags(&["--list-models"]).model.list, Some(None));
    assert_eq!(flags(&["--list-models", "gpt"]).model.list, Some(Some("gpt".into())));
}

#[test]
fn a_value_may_look_like_anything_but_a_flag_of_ours() {
    assert_eq!(flags(&["--system-prompt", "- be kind"]).prompts.system.as_deref(), Some("- be kind"));
    assert_eq!(flags(&["--system-prompt", "--be-kind"]).prompts.system.as_deref(), Some("--be-kind"));
    assert_eq!(flags(&["--system-prompt", "@me"]).prompts.system.as_deref(), Some("@me"));
    assert_eq!(flags(&["--system-prompt=--model"]).prompts.system.as_deref(), Some("--model"));
    assert_eq!(flags(&["--model", "a=b"]).model.name.as_deref(), Some("a=b"));
    assert_eq!(flags(&["--model=a=b"]).model.name.as_deref(), Some("a=b"));
}

#[test]
fn wrong_values_are_named() {
    for (line, said) in [
        (&["--model"][..], "--model wants a value"),
        (&["--model", "--no-session"], "--model wants a value"),
        (&["--model", "--tools=a"], "--model wants a value"),
        (&["--permission-mode", "yolo"], "--permission-mode is one of read-only, workspace-write"),
        (&["--rpc-errors", "mine"], "--rpc-errors is one of seed, pi, not \"mine\""),
        (&["--rpc-updates="], "--rpc-updates is one of full, delta"),
        (&["--sync", "often"], "--sync is one of turn, record, off"),
        (&["--on-restart", "never"], "--on-restart is one of close, continue"),
        (&["--no-session=maybe"], "--no-session takes no value"),
        (&["--mode", "text"], "--mode is rpc here"),
    ] {
        let Err(Wrong(what)) = parse(words(line)) else { panic!("{line:?} was taken") };
        assert!(what.contains(said), "{line:?}: {what}");
    }
    let read = flags(&["--thinking", "huge", "--mode", "plan"]);
    assert_eq!((read.model.thinking, read.tools.mode), (None, Some(Mode::Plan)));
    assert!(read.notes[0].contains("\"huge\" is ignored"), "{:?}", read.notes);
}

#[test]
fn words_are_no_prompts_and_files_are_noticed() {
    let read = flags(&["hello", "--model", "m", "world", "-", "", "--", "--model", "x"]);
    assert_eq!(read.model.name.as_deref(), Some("m"));
    assert_eq!(read.notes, ["6 words beside the flags are skipped: prompts come over stdin"]);
    for line in [&["@a.txt"][..], &["--frob", "@a.txt"], &["--", "@a.txt"], &["-r", "@a.txt"], &["--no-session", "@x"]]
    {
        assert!(flags(line).at_file, "{line:?}");
    }
    assert!(!flags(&["@"]).at_file);
}

#[test]
fn a_path_need_not_be_unicode_but_a_name_must() {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let odd = || OsString::from_vec(b"--session-dir=/a\xff".to_vec());
    assert_eq!(parse([odd()]).unwrap().session.dir.unwrap().as_os_str().as_bytes(), b"/a\xff");
    let Err(Wrong(what)) = parse([OsString::from("--model"), OsString::from_vec(vec![0xff])]) else { panic!() };
    assert_eq!(what, "the value of --model is not Unicode text");
}

#[test]
fn arbitrary_words_never_panic_and_the_table_holds_together() {
    let mut seen = std::collections::HashSet::new();
    let mut pool = vec![
        "--".to_owned(),
        "-".into(),
        "=".into(),
        "--=".into(),
        "@".into(),
        "@f".into(),
        "w".into(),
        "--zz=".into(),
    ];
    for flag in FLAGS {
        for name in flag.names {
            assert!(seen.insert(*name), "{name} stands there twice");
            pool.extend([(*name).to_owned(), format!("{name}=v")]);
        }
        if let Means::Ignored(why) = flag.means {
            assert!(!why.is_empty());
            let name = flag.names[0];
            let mut line = vec![name];
            line.extend((flag.takes != Takes::Nothing).then_some("value"));
            assert_eq!(flags(&line), Flags::default(), "{name} is accepted in silence");
        }
    }
    for (at, first) in pool.iter().enumerate() {
        for step in 1..8 {
            let second = &pool[(at * 7 + step * 13) % pool.len()];
            let third = &pool[(at * 3 + step * 29) % pool.len()];
            let _ = parse([first, second, third].map(OsString::from));
        }
    }
}

#[test]
fn the_help_names_every_flag_that_does_something() {
    for flag in FLAGS.iter().filter(|flag| !matches!(flag.means, Means::Ignored(_) | Means::Mode)) {
        assert!(RPC_HELP.contains(flag.names[0]), "{} is not in the help", flag.names[0]);
    }
    assert!(RPC_HELP.lines().all(|line| line.chars().count() <= 100));
}

// ---- the session ----------------------------------------------------------------------------------------------------

fn chosen(line: &[&str], settings: &AgentSettings, agent_dir: &Path) -> Result<SessionPlan, Fault> {
    let env = |name: &str| (name == "HOME").then(|| "/people/u".to_owned());
    let context = SessionContext { env: &env, agent_dir, workspace: Path::new("/work/x:y"), settings, files: &FILES };
    plan(&flags(line), &context)
}

#[test]
fn a_session_is_found_by_path_by_id_and_by_age() {
    let place = tempfile::tempdir().unwrap();
    let own = place.path().join("sessions/--work-x-y--");
    let other = place.path().join("sessions/--other--");
    for dir in [&own, &other] {
        std::fs::create_dir_all(dir).unwrap();
    }
    let touch = |dir: &Path, id: &str, age: u64| {
        let path = dir.join(format!("2026-01-01T00-00-00-000Z_{id}.jsonl"));
        let head =
            format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}}"#);
        std::fs::write(&path, head + "\n").unwrap();
        let file = std::fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(age)).unwrap();
        path
    };
    let (old, new) = (touch(&own, "aaa-1", 10), touch(&own, "abb-2", 20));
    let foreign = touch(&other, "ccc-3", 30);
    let none = AgentSettings::default();
    let which = |line: &[&str]| chosen(line, &none, place.path()).unwrap().which;
    assert_eq!(which(&[]), Which::New);
    assert_eq!(which(&["-c"]), Which::Path(new.clone()));
    assert_eq!(which(&["--resume"]), Which::Path(new.clone()));
    assert_eq!(which(&["--resume", "latest"]), Which::Path(new.clone()));
    assert_eq!(which(&["--session", "aaa"]), Which::Path(old.clone()));
    assert_eq!(which(&["--session", "a"]), Which::Path(new), "of several the newest");
    assert_eq!(which(&["--session", "ccc"]), Which::Path(foreign));
    assert!(chosen(&["--session", "ccc"], &none, place.path()).unwrap().note.unwrap().contains("another directory's"));
    assert_eq!(which(&["--session", "zzz"]), Which::Id("zzz".into()), "it may be one of our own store");
    assert_eq!(which(&["--session", "/p/q.jsonl"]), Which::Path("/p/q.jsonl".into()));
    assert_eq!(which(&["--session", "~/q.jsonl"]), Which::Path("/people/u/q.jsonl".into()));
    assert_eq!(which(&["--session", "aaa", "--no-session"]), Which::New);
    let fork = chosen(&["--fork", "aaa"], &none, place.path()).unwrap();
    assert_eq!((fork.which, fork.fork), (Which::Path(old), true));
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(chosen(&["-c"], &none, empty.path()).unwrap().which, Which::New);
}

#[test]
fn a_fork_stands_alone() {
    let none = AgentSettings::default();
    for (line, said) in [
        (&["--fork", "a", "-c"][..], "--fork cannot be combined with --continue"),
        (&["--fork", "a", "--session", "b"], "--fork cannot be combined with --session"),
        (&["--fork", "a", "--no-session"], "--fork cannot be combined with --no-session"),
    ] {
        assert_eq!(chosen(line, &none, Path::new("/n")).unwrap_err().message, said);
    }
}

#[test]
fn session_files_go_where_somebody_said() {
    let none = AgentSettings::default();
    let said = AgentSettings { session_dir: Some("~/s".into()), ..AgentSettings::default() };
    let dir = |line: &[&str], settings: &AgentSettings| {
        let plan = chosen(line, settings, Path::new("/agent")).unwrap();
        (plan.dir, plan.dir_is_fixed)
    };
    assert_eq!(dir(&[], &none), (PathBuf::from("/agent/sessions/--work-x-y--"), false));
    assert_eq!(dir(&[], &said), (PathBuf::from("/people/u/s"), true));
    assert_eq!(dir(&["--session-dir", "/d"], &said), (PathBuf::from("/d"), true));
    assert_eq!(dir(&["--session-dir", "~/d"], &none), (PathBuf::from("/people/u/d"), true));
}

// ---- settings -------------------------------------------------------------------------------------------------------

fn settled(line: &[&str], agent: &AgentSettings, config: &str) -> Settings {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("config.toml");
    std::fs::write(&file, config).unwrap();
    let config = Configuration::load(&config::LoadFrom {
        env: &|_| None,
        home: None,
        workspace: place.path(),
        file: Some(&file),
        default_mode: Mode::DangerFullAccess,
    })
    .unwrap();
    let mut settings = Settings::new("/", "");
    settle::settle(&mut settings, &flags(line), &config, agent);
    settings
}

#[test]
fn a_host_gets_what_the_originals_do() {
    let it = settled(&[], &AgentSettings::default(), "");
    assert_eq!(
        (it.gate, it.tool_names, it.reminders_max, it.max_iterations),
        (Gate::Ladder, dialect_rpc::TOOL_NAMES, 3, u32::MAX)
    );
    assert_eq!((it.retry.retries_max, it.retry.base_ms), (3, 2000));
    assert!(it.retry.wait_ms_max >= 8000, "2, 4, 8 seconds are not cut");
    assert_eq!((it.lane.steer_drain, it.lane.follow_up_drain), (Drain::OneAtATime, Drain::OneAtATime));
    assert_eq!((it.lane.steer_point, it.lane.overflow), (SteerPoint::Wait, Overflow::DropNew));
    assert_eq!(it.compaction, CompactionPolicy::default());
    assert_eq!((it.thinking, it.only_tools, it.ephemeral), (None, None, false));
}

#[test]
fn flags_win_over_our_configuration_and_that_over_settings_json() {
    let agent = AgentSettings {
        thinking: Some("high"),
        steering: Some(Drain::All),
        interrupt: Some(SteerPoint::Immediate),
        compaction: Some(false),
        retries_max: Some(7),
        retry_base_ms: Some(10),
        ..AgentSettings::default()
    };
    let it = settled(&[], &agent, "max_iterations = 9\n[retry]\nbase_ms = 5\n");
    assert_eq!((it.retry.retries_max, it.retry.base_ms), (7, 5));
    assert_eq!((it.lane.steer_drain, it.lane.steer_point), (Drain::All, SteerPoint::Immediate));
    assert_eq!((it.thinking.as_deref(), it.compaction.auto, it.max_iterations), (Some("high"), false, 9));
    assert!(settled(&[], &agent, "[compaction]\nauto = true\n").compaction.auto);
    assert_eq!(settled(&["--thinking", "off"], &agent, "").thinking.as_deref(), Some("off"));
    let off = AgentSettings { retry: Some(false), ..agent };
    assert_eq!(settled(&[], &off, "").retry.retries_max, 0);
}

#[test]
fn tools_are_named_in_any_spelling() {
    let only = |line: &[&str]| {
        let tools = settled(line, &AgentSettings::default(), "").only_tools;
        tools.map(|tools| tools.iter().map(|tool| tool.to_string()).collect::<Vec<_>>())
    };
    assert_eq!(only(&["--tools", "read,find,file.grep,mine"]).unwrap(), ["read_file", "glob", "grep", "mine"]);
    assert_eq!(only(&["--no-tools"]).unwrap(), [""; 0]);
    assert_eq!(only(&["--no-builtin-tools"]).unwrap(), [""; 0]);
    assert_eq!(only(&["--no-tools", "--tools", "bash"]).unwrap(), ["bash"]);
    assert_eq!(
        settle::strangers(&flags(&["--tools", "read,mine"])).unwrap(),
        "--tools names tools that are not built in: mine"
    );
    assert_eq!(settle::strangers(&flags(&["--tools", "read"])), None);
}

#[test]
fn tools_that_are_left_out_are_named_in_any_spelling_too() {
    let offered = |line: &[&str]| {
        let settings = settled(line, &AgentSettings::default(), "");
        ["read_file", "write_file", "bash", "mcp__a__b"].map(|name| settings.offers(name))
    };
    assert_eq!(offered(&["--exclude-tools", "write,mcp__*"]), [true, false, true, false]);
    assert_eq!(offered(&["-xt", "bash", "--tools", "read,bash"]), [true, false, false, false]);
    assert_eq!(offered(&["--tools", "+codemode,-write"]), [true, false, true, true]);
    let Err(Wrong(what)) = parse(words(&["--tools", "read,-write"])) else { panic!("it was taken") };
    assert_eq!(what, "--tools takes names, or names that begin with + or -, not both");
}

#[test]
fn only_who_calls_it_xcsh_is_known_to_be_older() {
    for (program, errors) in [
        (Some("/usr/bin/xcsh"), Errors::Seed),
        (Some("xcsh"), Errors::Seed),
        (Some("tillerman"), Errors::Pi),
        (Some("/opt/xcsh/tillerman"), Errors::Pi),
        (Some("omp"), Errors::Pi),
        (None, Errors::Pi),
    ] {
        assert_eq!(usual_errors(program.map(OsStr::new)), errors, "{program:?}");
    }
}

#[test]
fn a_prompt_is_text_or_a_file_with_it() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("p.md");
    std::fs::write(&file, "from a file").unwrap();
    let file = file.to_str().unwrap();
    let prompts = |line: &[&str]| settle::prompts(&flags(line)).unwrap();
    assert_eq!(prompts(&[]), (None, None));
    let (whole, more) =
        prompts(&["--system-prompt", file, "--append-system-prompt", "text", "--append-system-prompt", file]);
    assert_eq!((whole.as_deref(), more.as_deref()), (Some("from a file"), Some("text\n\nfrom a file")));
    let directory = place.path().to_str().unwrap();
    assert_eq!(prompts(&["--system-prompt", directory]).0.as_deref(), Some(directory), "a directory is no prompt");
    std::fs::write(file, vec![b'x'; 2 * 1024 * 1024]).unwrap();
    assert!(settle::prompts(&flags(&["--system-prompt", file])).unwrap_err().message.contains("larger than"));
}

#[test]
fn a_model_is_wanted_by_flag_by_configuration_or_by_habit() {
    let agent = AgentSettings {
        default_provider: Some("p".into()),
        default_model: Some("m".into()),
        enabled_models: vec!["a".into()],
        ..AgentSettings::default()
    };
    let mut config = Configuration::default();
    config.flag("model", Some(config::SettingValue::Text("ours".into())));
    let it = wanted(&flags(&[]), &config, &agent);
    assert_eq!((it.model.as_deref(), it.scope.join(","), it.loose), (Some("ours"), "a".to_owned(), true));
    assert_eq!(it.usual, Some((Some("p".to_owned()), "m".to_owned())));
    let it = wanted(&flags(&["--provider", "x", "--models", "b"]), &config, &agent);
    assert_eq!((it.model, it.provider.as_deref(), it.scope.join(",")), (None, Some("x"), "b".to_owned()));
}

#[test]
fn extensions_of_the_user_come_from_flags_and_settings() {
    let agent =
        AgentSettings { extensions: vec!["a.py".into(), "/abs".into(), "a.py".into()], ..AgentSettings::default() };
    let dir = Path::new("/agent");
    let paths = |line: &[&str]| programs(vec!["/f".into()], &flags(line), &agent, dir);
    assert_eq!(paths(&[]), ["/f", "/agent/a.py", "/abs"].map(PathBuf::from));
    assert_eq!(paths(&["--no-extensions"]), [PathBuf::from("/f")]);
}

#[test]
fn titles_are_told_when_the_host_says_so() {
    for (said, want) in
        [("1", true), ("TRUE", true), ("Yes", true), ("on", true), ("0", false), ("", false), ("no", false)]
    {
        assert_eq!(emit_title(&|name| (name == "PI_RPC_EMIT_TITLE").then(|| said.to_owned())), want, "{said}");
    }
}
