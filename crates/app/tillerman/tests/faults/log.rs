//! The session log: what was acknowledged is there, whatever happened to the process or the disk.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::faults::{Driver, Heard, PATIENCE, Tmpfs, brief, count, has, is_full};
use testkit::mock_model::MockModel;
use testkit::sim::Dice;

use crate::drivers::{Serve, every_dialect, first};
use crate::worlds::{tour, with};

/// What a controller was told about its prompts before the process died.
#[derive(Default)]
struct Told {
    /// In the order sent.
    sent: Vec<String>,
    started: HashMap<String, bool>,
}

impl Told {
    fn acknowledged(&self) -> usize {
        self.started.len()
    }
}

/// Plays prompts until the process is gone, allowing whatever is asked.
fn play<D: Driver>(driver: &mut D, prompts: &[String], told: &mut Told, kill_at: Instant) {
    let pid = rustix::process::Pid::from_raw(driver.pid() as i32).unwrap();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(kill_at.saturating_duration_since(Instant::now()));
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    });
    for prompt in prompts {
        driver.say(prompt);
        told.sent.push(prompt.clone());
        let ended = loop {
            match driver.next_heard() {
                Some(Heard::Taken | Heard::Text(_)) => drop(told.started.insert(prompt.clone(), false)),
                Some(Heard::Asked(asked)) => driver.decide(&asked, true),
                Some(Heard::Ended(_)) => {
                    told.started.insert(prompt.clone(), true);
                    break true;
                }
                Some(_) => {}
                None => break false,
            }
        };
        if !ended {
            break;
        }
    }
    killer.join().unwrap();
    driver.ended(PATIENCE).expect("killed processes end");
}

/// Each acknowledged prompt once and in order, each acknowledged turn with its answer, and nothing twice.
fn check_history(messages: &[Value], told: &Told) {
    let users: Vec<(usize, &str)> = messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message["role"] == "user")
        .filter_map(|(at, message)| Some((at, message["content"].as_str()?)))
        .collect();
    let mut last = None;
    for prompt in &told.sent {
        let places: Vec<usize> = users.iter().filter(|(_, text)| text == prompt).map(|(at, _)| *at).collect();
        assert!(places.len() <= 1, "twice in the history: {prompt}");
        let Some(finished) = told.started.get(prompt) else { continue };
        assert_eq!(places.len(), 1, "acknowledged and lost: {prompt}\n{}", brief(messages));
        assert!(last < Some(places[0]), "out of order: {prompt}");
        last = Some(places[0]);
        if *finished {
            let answer = prompt.rsplit("say ").next().unwrap();
            let turn: Vec<&Value> = messages[places[0] + 1..].iter().take_while(|m| m["role"] != "user").collect();
            let said = turn.last().and_then(|message| message["content"].as_str()).unwrap_or_default();
            assert_eq!(said, answer, "finished turn without its answer: {prompt}\n{}", brief(messages));
        }
    }
}

fn story(kind: usize, tag: &str) -> String {
    match kind {
        0 => format!("say a-{tag}"),
        1 => format!("call bash {{\"command\":\"echo {tag}\"}} then say b-{tag}"),
        _ => format!("call bash {{\"command\":\"sleep 0.15; echo {tag}\"}} then say c-{tag}"),
    }
}

every_dialect!(d1_what_was_acknowledged_survives_a_kill_at_any_moment);
fn d1_what_was_acknowledged_survives_a_kill_at_any_moment<D: Driver>() {
    let model = MockModel::start_blocking();
    let rounds = count(14, 510);
    let (mut acknowledged, mut finished, mut lives) = (0, 0, 0);
    for round in 0..rounds {
        let mut dice = Dice::new(round as u64 + 1);
        let world = with(&model);
        let mut told = Told::default();
        let mut session: Option<String> = None;
        for life in 0..1 + round % 2 {
            let found = match &session {
                None => Some(D::begin(&world, &[])),
                Some(session) => D::resume(&world, session),
            };
            let Some(mut driver) = found else {
                assert_eq!(told.acknowledged(), 0, "the session is lost");
                break;
            };
            session = Some(driver.handle().to_owned());
            let prompts: Vec<String> =
                (0..4).map(|n| story(dice.below(3) as usize, &format!("{round}x{life}x{n}"))).collect();
            let kill_at = Instant::now() + Duration::from_micros(dice.below(450_000));
            play(&mut driver, &prompts, &mut told, kill_at);
            lives += 1;
        }
        acknowledged += told.acknowledged();
        finished += told.started.values().filter(|done| **done).count();
        let id = session.unwrap();
        let Some(mut driver) = D::resume(&world, &id) else {
            assert_eq!(told.acknowledged(), 0, "the session is lost");
            continue;
        };
        assert_eq!(driver.handle(), id);
        driver.whole_turn("say end");
        check_history(model.last_chat()["messages"].as_array().unwrap(), &told);
        // The log says the same as the model was told.
        let text = driver.written(&world);
        for prompt in told.started.keys() {
            let quoted = serde_json::to_string(prompt).unwrap();
            assert_eq!(text.matches(&quoted).count(), 1, "{prompt} in the log");
        }
    }
    println!(
        "D1 {}: {lives} kills, {acknowledged} acknowledged prompts, {finished} acknowledged turns, 0 lost, 0 doubled",
        D::NAME
    );
    assert!(acknowledged > rounds / 2 && finished > 0, "the kills came too early to show anything");
}

/// Every call of the request has its result right behind it.
fn check_results(request: &Value, id: &str) -> usize {
    let messages = request["messages"].as_array().unwrap();
    let mut calls = 0;
    for (at, message) in messages.iter().enumerate() {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let behind = messages[at + 1..].iter().take_while(|message| message["role"] == "tool");
            let results = behind.filter(|message| message["tool_call_id"] == call["id"]).count();
            assert_eq!(results, 1, "{id}: call {} has {results} results\n{}", call["id"], brief(messages));
            calls += 1;
        }
    }
    calls
}

#[test]
fn d4_every_open_call_has_a_result_in_the_next_model_request() {
    let model = MockModel::start_blocking();
    let sleep = r#"call bash {"command":"sleep 300"}"#;
    let shapes = [
        // How the history is left: the prompt, and the type of the last message seen before the kill.
        (sleep.to_owned(), "running"),
        (sleep.to_owned(), "permission_request"),
        (format!("{sleep} and {sleep} and {sleep}"), "running"),
        (format!(r#"call bash {{"command":"echo 1"}} and {sleep} and call nowhere {{}}"#), "second"),
    ];
    let mut histories = 0;
    let mut calls = 0;
    for depth in 0..3 {
        for (prompt, until) in &shapes {
            let world = with(&model);
            let mut session = String::new();
            for life in 0..=depth {
                let args: Vec<&str> = if life == 0 { vec![] } else { vec!["--resume", &session] };
                let mut serve = Serve::new(&world, &args);
                session = serve.session.clone();
                if life > 0 {
                    serve.good_turn(&format!("say between-{life}"));
                }
                serve.prompt(prompt);
                let mut asked = serve.until("permission_request");
                if *until != "permission_request" {
                    serve.answer(asked.last().unwrap(), "allow");
                }
                if *until == "second" {
                    asked = serve.until("permission_request");
                    serve.answer(asked.last().unwrap(), "allow");
                }
                std::thread::sleep(Duration::from_millis(100));
                serve.kill();
            }
            let mut serve = Serve::new(&world, &["--resume", &session]);
            serve.good_turn("say end");
            calls += check_results(&model.last_chat(), &format!("{until} x {depth}"));
            histories += 1;
        }
    }
    println!("D4: {histories} histories, {calls} calls, each with one result");
}

fn store_trouble(value: &Value) -> bool {
    value["type"] == "error" && (value["code"] == "store_error" || value["code"] == "session_busy")
}

#[test]
fn d5_a_full_disk_ends_the_turn_with_its_name_and_room_makes_it_work_again() {
    let mut sizes = 0;
    for size in ["256k", "512k", "1m"] {
        let world = tour();
        let Some(_disk) = Tmpfs::mount(&world.home, &format!("size={size},mode=700")) else {
            return crate::skip("D5", "no tmpfs can be mounted here");
        };
        let mut serve = Serve::new(&world, &[]);
        serve.good_turn("say before");
        let mut answered = Vec::new();
        let mut failed = None;
        for n in 0..200 {
            let prompt = format!("say \"{n} {}\"", "long ".repeat(4000));
            serve.prompt(&prompt);
            let mut seen = Vec::new();
            loop {
                let value = serve.next(PATIENCE).unwrap_or_else(|| panic!("silence after {}", brief(&seen)));
                let end = value["type"] == "turn_complete";
                let refused = value["type"] == "error" && value["turn_id"].is_null();
                seen.push(value);
                if end || refused {
                    break;
                }
            }
            let trouble = seen.iter().find(|value| value["type"] == "error").cloned();
            match trouble {
                None => answered.push(n),
                Some(error) => {
                    assert!(store_trouble(&error), "{error}");
                    let text = error["message"].as_str().unwrap().to_lowercase();
                    assert!(text.contains("full") || text.contains("space"), "the cause is not named: {error}");
                    let last = seen.last().unwrap();
                    if last["type"] == "turn_complete" {
                        assert_eq!(last["stop_reason"], "error", "{last}");
                        assert_eq!(seen[seen.len() - 2], error, "nothing comes between the error and the end");
                    }
                    failed = Some(n);
                    break;
                }
            }
        }
        let failed = failed.unwrap_or_else(|| panic!("{size} never filled up"));
        // Still full: the next one fails too, in order, and the process lives.
        serve.prompt(&format!("say \"again {}\"", "long ".repeat(4000)));
        assert!(store_trouble(first(&serve_until_error(&mut serve), "error")));
        assert!(_disk.remount("size=64m"));
        serve.drain();
        serve.good_turn("say after");
        let session = serve.session.clone();
        serve.shutdown();
        let mut serve = Serve::new(&world, &["--resume", &session]);
        let export = world.root().join("full.jsonl");
        assert_eq!(serve.slash("export", export.to_str().unwrap())["data"]["ok"], true);
        let text = fs::read_to_string(&export).unwrap();
        // Prompts alone: a summary may quote them.
        let prompts: Vec<&str> = text.lines().filter(|line| line.contains(r#""kind":"user""#)).collect();
        for n in &answered {
            let start = format!("say \\\"{n} long");
            let found = prompts.iter().filter(|line| line.contains(&start)).count();
            assert_eq!(found, 1, "{size}: acknowledged turn {n} is not there once");
        }
        assert!(text.contains("say after"));
        println!("D5: {size} was full after {failed} turns, {} kept", answered.len());
        sizes += 1;
    }
    println!("D5: {sizes} full disks");
}

/// Up to an error that ends a turn or refuses one, with the end of the turn if there is one.
fn serve_until_error(serve: &mut Serve) -> Vec<Value> {
    let mut seen = serve.until("error");
    if !seen.last().unwrap()["turn_id"].is_null() {
        seen.extend(serve.until("turn_complete"));
    }
    seen
}

#[test]
fn d5_a_failing_write_or_sync_is_never_acknowledged() {
    if !has("strace") {
        return crate::skip("D5 (injected)", "no strace");
    }
    let last = count(10, 60);
    let (mut hit, mut kept) = (0, 0);
    for call in ["pwrite64", "fsync,fdatasync"] {
        for n in 1..=last {
            let world = tour();
            let trace = format!("trace={call}");
            let inject = format!("inject={call}:error=EIO:when={n}");
            let calls = world.root().join("calls").display().to_string();
            let strace = ["strace", "-f", "-y", "-qq", "-o", &calls, "-e", &trace, "-e", &inject];
            let mut serve = Serve::spawn_in(&world, &strace, &[]);
            let hello = serve.next(PATIENCE).expect("ready, or why not");
            if hello["type"] != "ready" {
                assert_eq!(hello["type"], "error", "{hello}");
                hit += 1;
                continue;
            }
            let session = hello["session_id"].as_str().unwrap().to_owned();
            let mut finished = Vec::new();
            let mut errors = 0;
            for turn in 0..6 {
                let word = format!("word-{turn}");
                serve.prompt(&format!("say {word}"));
                let mut refused = false;
                let mut trouble = false;
                while let Some(value) = serve.next(PATIENCE) {
                    match value["type"].as_str().unwrap() {
                        "error" => {
                            assert!(store_trouble(&value), "{call} {n}: {value}");
                            trouble = true;
                            errors += 1;
                            refused = value["turn_id"].is_null();
                        }
                        "turn_complete" => {
                            let good = value["stop_reason"] == "end_turn";
                            assert!(good != trouble, "{call} {n}: {value}");
                            if good {
                                finished.push(word.clone());
                            }
                            break;
                        }
                        _ => {}
                    }
                    if refused {
                        break;
                    }
                }
            }
            hit += usize::from(errors > 0);
            // SQLite passes over a directory that cannot be synced; the store does that itself when it makes the file. The
            // count is each thread's own, so the one that writes and the one that syncs may both meet it.
            let calls = fs::read_to_string(&calls).unwrap_or_default();
            let injected = calls.lines().filter(|line| line.contains("(INJECTED)"));
            let (all, ours) =
                injected.fold((0, 0), |(all, ours), line| (all + 1, ours + usize::from(line.contains("sessions.db"))));
            assert!(errors <= all, "{call} {n}: {all} failures, {errors} errors");
            assert!(errors > 0 || ours == 0, "{call} {n} failed and nobody was told");
            assert!(finished.len() + all.max(1) >= 6, "{call} {n}: only {finished:?} worked after {all} failures");
            serve.shutdown();
            let mut serve = Serve::new(&world, &["--resume", &session]);
            let export = world.root().join("out.jsonl");
            assert_eq!(serve.slash("export", export.to_str().unwrap())["data"]["ok"], true);
            let text = fs::read_to_string(&export).unwrap();
            for word in &finished {
                assert_eq!(text.matches(&format!("say {word}\"")).count(), 1, "{call} {n}: {word} lost\n{text}");
            }
            kept += finished.len();
        }
    }
    println!("D5 (injected): {} runs, {hit} met the failure, {kept} acknowledged turns all kept", 2 * last);
    assert!(hit > 0, "no injected failure was met");
}

/// One clear line, code 2, at once.
fn refuses(mut serve: Serve, what: &str) {
    let start = Instant::now();
    let line = serve.next(PATIENCE).unwrap_or_else(|| panic!("{what}: no line"));
    assert_eq!(line["type"], "error", "{what}: {line}");
    assert!(!line["message"].as_str().unwrap().is_empty());
    assert!(serve.next(PATIENCE).is_none(), "{what}: more than one line");
    let status = serve.ended(PATIENCE).expect("it ends");
    assert_eq!(status.code(), Some(2), "{what}");
    assert!(start.elapsed() < Duration::from_secs(1), "{what}: {:?}", start.elapsed());
    println!("D6: {what}: {}", line["message"]);
}

#[test]
fn d6_a_place_that_cannot_be_written_is_refused_at_once_and_not_needed_without_sessions() {
    let mut world = tour();
    let root = world.root().to_owned();
    fs::write(root.join("file"), "in the way").unwrap();
    let mut places = vec![("a file in the way", root.join("file")), ("below a file", root.join("file/home"))];
    places.push(("below /proc", "/proc/nowhere/home".into()));
    let read_only = Tmpfs::mount(&root.join("ro"), "size=64k,ro");
    if read_only.is_some() {
        places.push(("a read-only file system", root.join("ro")));
        places.push(("below a read-only file system", root.join("ro/home")));
    } else {
        crate::skip("D6 (read-only)", "no tmpfs can be mounted here");
    }
    for (what, place) in &places {
        world.home = place.clone();
        refuses(Serve::spawn(&world, &[]), what);
        let mut serve = Serve::new(&world, &["--no-session"]);
        serve.good_turn("say hello");
        serve.shutdown();
    }
    let mut world = tour();
    if !world.as_nobody() {
        return crate::skip("D6 (permission)", "needs root and setpriv");
    }
    let closed = world.root().join("closed");
    // Root's, not that user's.
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    for (what, place) in [("no permission", closed.clone()), ("no permission above", closed.join("home"))] {
        world.home = place;
        refuses(Serve::spawn(&world, &[]), what);
        let mut serve = Serve::new(&world, &["--no-session"]);
        serve.good_turn("say hello");
        serve.shutdown();
    }
}

#[test]
fn d7_one_session_has_one_writer_and_the_others_learn_it_before_any_model_call() {
    let model = MockModel::start_blocking();
    let rounds = count(3, 50);
    let mut busy = 0;
    for round in 0..rounds {
        let world = with(&model);
        let mut serve = Serve::new(&world, &[]);
        serve.good_turn("say first");
        let session = serve.session.clone();
        if round % 2 == 0 {
            serve.shutdown()
        } else {
            drop(serve)
        }
        let processes = count(2 + round % 3, 2 + round % 7);
        let chats = model.counts().chats;
        let mut others: Vec<Serve> = (0..processes).map(|_| Serve::spawn(&world, &["--resume", &session])).collect();
        let mut writers = Vec::new();
        for (at, other) in others.iter_mut().enumerate() {
            other.prompt(&format!("say mine-{at}"));
            let mut seen = Vec::new();
            while let Some(value) = other.next(PATIENCE) {
                let done = value["type"] == "turn_complete" || value["type"] == "error";
                seen.push(value);
                if done {
                    break;
                }
            }
            let last = seen.last().expect("an answer");
            if last["type"] == "turn_complete" {
                assert_eq!(last["stop_reason"], "end_turn");
                writers.push(at);
            } else {
                assert_eq!(last["code"], "session_busy", "{last}");
                busy += 1;
            }
        }
        assert_eq!(writers.len(), 1, "writers: {writers:?}");
        assert_eq!(model.counts().chats, chats + 1, "only the writer asked the model");
        // The lock ends with the process.
        others.iter_mut().for_each(|other| other.kill());
        drop(others);
        let mut serve = Serve::new(&world, &["--resume", "latest"]);
        assert_eq!(serve.session, session);
        serve.good_turn("say last");
    }
    println!("D7: {rounds} rounds, one writer each, {busy} times session_busy");
}

#[test]
fn d10_a_killed_config_set_leaves_the_old_or_the_new_file() {
    if !has("strace") {
        return crate::skip("D10", "no strace");
    }
    let world = tour();
    let old = format!("# mine\nmodel = \"tour\"\n# {}\n", "x".repeat(5000));
    world.config(&old);
    // Which calls there are, and how often.
    let list = world.root().join("calls");
    let traced = ["strace", "-f", "-qq", "-o", list.to_str().unwrap()];
    let run = |wrapper: &[&str]| {
        let mut command = world.command(wrapper);
        command.args(["config", "set", "model", "tour-mini"]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).status().unwrap()
    };
    assert!(run(&traced).success());
    let new = fs::read_to_string(world.home.join("config.toml")).unwrap();
    assert!(new.contains("tour-mini") && new.contains("# mine"));
    let text = fs::read_to_string(&list).unwrap();
    let begin = text.find("config.toml").expect("the file is touched");
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let mut points = Vec::new();
    let mut offset = 0;
    for line in text.lines() {
        offset += line.len() + 1;
        let Some(name) = line.split_once(' ').and_then(|(_, rest)| rest.trim_start().split_once('(')) else { continue };
        let nth = calls.entry(name.0).or_default();
        *nth += 1;
        if offset > begin || is_full() {
            points.push((name.0, *nth));
        }
    }
    let (mut olds, mut news) = (0, 0);
    for (call, nth) in &points {
        fs::write(world.home.join("config.toml"), &old).unwrap();
        let inject = format!("inject={call}:signal=KILL:when={nth}");
        let trace = format!("trace={call}");
        run(&["strace", "-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
        let now = fs::read_to_string(world.home.join("config.toml")).unwrap();
        match now {
            now if now == old => olds += 1,
            now if now == new => news += 1,
            now => panic!("killed at {call} {nth}: {} bytes, neither old nor new", now.len()),
        }
    }
    println!("D10: {} points, {olds} times old, {news} times new, 0 torn", points.len());
    assert!(olds > 0 && news > 0, "the kills do not surround the change");
}

/// Everything below is its owner's alone.
fn check_modes(at: &Path, after: &str) -> usize {
    let mut looked = 0;
    let mut open = vec![at.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        let mode = meta.permissions().mode() & 0o777;
        let want = if meta.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, want, "after {after}: {} is {mode:o}", path.display());
        looked += 1;
        if meta.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
        }
    }
    looked
}

#[test]
fn d11_everything_is_private_after_every_command() {
    let model = MockModel::start_blocking();
    let world = with(&model);
    let mut looked = 0;
    let set = |key: &str, value: &str| {
        // A careless umask must not matter.
        let mut command = world.command(&["sh", "-c", "umask 0; exec \"$@\"", "sh"]);
        command.args(["config", "set", key, value]).stdout(std::process::Stdio::null()).status().unwrap()
    };
    assert!(set("max_iterations", "30").success());
    looked += check_modes(&world.home, "config set");
    let frames = world.home.join("frames.log");
    let mut serve = Serve::spawn_in(
        &world,
        &["sh", "-c", "umask 0; exec \"$@\"", "sh"],
        &["--log-frames", frames.to_str().unwrap()],
    );
    serve.ready();
    looked += check_modes(&world.home, "ready");
    let spill = r#"call bash {"command":"yes | head -c 3000000"} then say done"#;
    for prompt in ["say hello", r#"call write_file {"path":"a.txt","content":"x"} then say done"#, spill] {
        serve.good_turn(prompt);
        looked += check_modes(&world.home, prompt);
    }
    let exports = ["status", "export", "sessions", "compact", "undo", "clear"];
    for command in exports.into_iter().chain(["export", "model", "rename", "save", "cost"]) {
        let args = if command == "save" { "mode" } else { "" };
        serve.slash(command, args);
        looked += check_modes(&world.home, command);
    }
    serve.shutdown();
    looked += check_modes(&world.home, "shutdown");
    println!("D11: {looked} looks, all 0700 and 0600");
}
