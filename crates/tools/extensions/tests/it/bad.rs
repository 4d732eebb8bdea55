//! Extensions that crash, hang, babble or do not listen. The session must not notice more than an error.

use std::time::{Duration, Instant};

use testkit::player::{self, Front, Player};
use vocab::*;

use crate::support::*;

/// The session works as if nothing had been.
async fn still_works(actor: &mut testkit::stage::Actor) {
    let end = turn(actor, "say \"fine\"").await;
    assert_eq!(end.stop, Stop::EndTurn);
}

#[tokio::test]
async fn one_that_crashes_at_the_start_is_told_with_its_last_words() {
    let mut scene = ExtensionScene::new();
    let path = scene.write("crash.py", "import sys\nprint('on stderr', file=sys.stderr)\nraise ValueError('boom')\n");
    let gone = scene.dir.path().join("gone.py");
    scene.start(&[&path, &gone]).await;
    let mut actor = scene.stage.open().await;
    for wanted in ["gone.py: cannot be read", "crash exited with code 1\non stderr\n", "ValueError: boom"] {
        let is_told = |event: &Event| matches!(event, Event::Extension(ExtensionEvent::Trouble { during, text, .. }) if &**during == "start" && text.contains(wanted));
        actor.until(is_told).await;
    }
    still_works(&mut actor).await;
    scene.shutdown().await;
}

#[tokio::test]
async fn one_that_never_answers_initialize_is_stopped_and_holds_nobody_up() {
    let mut scene = ExtensionScene::new();
    let pid = scene.dir.path().join("pid");
    let text = format!("import os,time\nopen({:?}, 'w').write(str(os.getpid()))\ntime.sleep(1000)\n", pid.display());
    let path = scene.write("hang.py", &text);
    let began = Instant::now();
    scene.start(&[&path]).await;
    assert!(began.elapsed() < extensions::START_LIMIT + Duration::from_secs(2));
    let mut actor = scene.stage.open().await;
    assert_eq!(trouble(&mut actor).await, ("start".into(), "hang did not answer `initialize` within 5 s".into()));
    still_works(&mut actor).await;
    scene.shutdown().await;
    assert!(!is_alive(&std::fs::read_to_string(pid).unwrap()), "it was ended");
}

#[tokio::test]
async fn a_registration_that_makes_no_sense_is_refused_with_the_reason() {
    let mut scene = ExtensionScene::new();
    let programs = [
        (
            "a.py",
            "register(tools=[{'name': 'no spaces'}])",
            "a cannot be registered: `no spaces` is no name for a tool",
        ),
        ("b.py", "register(hooks=['sometimes'])", "b cannot be registered: there is no hook `sometimes`"),
        ("c.py", "register(tools=7)", "c answered `initialize` with something that cannot be read"),
        (
            "d.py",
            "send(id=next(frames())['id'], error={'code': 1, 'message': 'too old'})",
            "d refused to start: too old",
        ),
    ];
    let paths: Vec<_> =
        programs.iter().map(|(name, text, _)| scene.python(name, &format!("{text}\ntime.sleep(9)\n"))).collect();
    let paths: Vec<&std::path::Path> = paths.iter().map(|path| path.as_path()).collect();
    scene.start(&paths).await;
    let mut actor = scene.stage.open().await;
    for (_, _, wanted) in programs {
        actor.until(|event| matches!(event, Event::Extension(ExtensionEvent::Trouble { text, .. }) if text.starts_with(wanted))).await;
    }
    still_works(&mut actor).await;
    scene.shutdown().await;
}

#[tokio::test]
async fn one_that_hangs_in_a_hook_denies_the_call_and_the_turn_goes_on() {
    let mut scene = ExtensionScene::new();
    let path = scene.python("hang.py", "register(name='sloth', hooks=['before_call'])\ntime.sleep(1000)\n");
    scene.stage.write("a.txt", "x");
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    let began = Instant::now();
    let end = turn(&mut actor, r#"call read_file {"path":"a.txt"} then say "on""#).await;
    assert_eq!(end.stop, Stop::EndTurn);
    assert!(began.elapsed() < Duration::from_secs(8));
    let results = results(&actor);
    assert_eq!(results[0].0, CallEnd::Denied);
    assert!(results[0].1.contains("sloth"), "{results:?}");
    scene.shutdown().await;
}

#[tokio::test]
async fn bad_frames_are_told_and_too_many_of_them_end_it() {
    let mut scene = ExtensionScene::new();
    let path = scene.python(
        "babble.py",
        r#"
register(commands=[{"name": "go"}])
for frame in frames():
    bad = ["not json", "[]", "{}", '{"jsonrpc":"1.0","method":"log"}', '{"id":99,"result":1}', '{"method":"ui/confirm","params":{"title":"x"}}', '{"method":"no/such"}', '{"id":{},"method":"log"}', '{"method":"ui/notify","params":{"message":7}}', '"\\u0000"']
    for line in bad + ["and once more"]:
        print(line, flush=True)
time.sleep(1000)
"#,
    );
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    command(&mut actor, "go", "").await.unwrap();
    let is_end = |event: &Event| matches!(event, Event::Extension(ExtensionEvent::Trouble { during, .. }) if &**during == "crash");
    let end = actor.until(is_end).await;
    let Event::Extension(ExtensionEvent::Trouble { text, .. }) = end else { panic!("not trouble") };
    assert!(text.starts_with("babble was stopped after 10 bad frames; the last one: not JSON"), "{text}");
    let told = actor.told.iter().filter(
        |told| matches!(&told.event, Event::Extension(ExtensionEvent::Trouble { during, .. }) if &**during == "frame"),
    );
    assert_eq!(told.count(), 10);
    actor.until(|event| matches!(event, Event::Extension(ExtensionEvent::Trouble { source, .. }) if &**source == "command:go")).await;
    still_works(&mut actor).await;
    scene.shutdown().await;
}

#[tokio::test]
async fn a_line_without_end_takes_no_memory() {
    let mut scene = ExtensionScene::new();
    let path = scene.python(
        "flood.py",
        r#"
register(commands=[{"name": "go"}])
frame = next(frames())
chunk = b"x" * (1 << 20)
for _ in range(1024):
    os.write(1, chunk)
os.write(1, b"\n")
send(id=frame["id"], result=None)
send(method="ui/notify", params={"message": "through"})
for _ in frames(): pass
"#,
    );
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    let before = memory_kib();
    command(&mut actor, "go", "").await.unwrap();
    assert!(trouble(&mut actor).await.1.contains("a frame is longer than 1048576 bytes"));
    notice(&mut actor, "through").await;
    let grown = memory_kib().saturating_sub(before);
    assert!(grown < 256 * 1024, "1 GiB went through and {grown} KiB stayed");
    still_works(&mut actor).await;
    scene.shutdown().await;
}

/// What this process has in memory; other tests run beside this one.
fn memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn one_that_exits_in_mid_call_leaves_an_error_for_the_model() {
    let mut scene = ExtensionScene::new();
    let path = scene.python(
        "exit.py",
        "register(tools=[{'name': 'leave'}])\nnext(frames())\nprint('bye', file=sys.stderr)\nsys.exit(3)\n",
    );
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    let end = turn(&mut actor, "call leave {} then say \"on\"").await;
    assert_eq!(end.stop, Stop::EndTurn);
    assert_eq!(results(&actor), [(CallEnd::Ran, "the extension exit ended before it answered".to_owned())]);
    assert_eq!(trouble(&mut actor).await, ("crash".into(), "exit exited with code 3\nbye".into()));
    still_works(&mut actor).await;
    scene.shutdown().await;
}

#[tokio::test]
async fn one_that_does_not_read_is_let_go_and_slows_nobody() {
    // More than the pipe, our buffer and the engine's box hold together.
    let words = (0..30_000).map(|_| player::text(&"x".repeat(400)));
    let model = Player::new([words.chain([player::done(Finish::Stop)]).collect()]);
    let mut scene = ExtensionScene::with(|options| {
        options.provider = std::sync::Arc::new(Front(model));
        options.model = "wide".into();
    });
    let path = scene.python("deaf.py", "register(events=['text_delta'])\ntime.sleep(1000)\n");
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    let end = turn(&mut actor, "go").await;
    assert_eq!(end.stop, Stop::EndTurn);
    let (during, text) = trouble(&mut actor).await;
    assert_eq!((during.as_str(), text.as_str()), ("crash", "deaf was stopped: it does not read its stdin"));
    scene.shutdown().await;
}

#[tokio::test]
async fn a_flood_of_notices_is_carried_and_the_turn_ends() {
    let mut scene = ExtensionScene::new();
    let path = scene.python(
        "noisy.py",
        r#"
register(commands=[{"name": "go"}])
for frame in frames():
    if frame["method"] == "command/run":
        for n in range(20000):
            send(method="ui/setStatus", params={"key": "n", "text": str(n)})
        send(id=frame["id"], result=None)
"#,
    );
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    command(&mut actor, "go", "").await.unwrap();
    still_works(&mut actor).await;
    notice(&mut actor, "19999").await;
    scene.shutdown().await;
}

#[tokio::test]
async fn who_ignores_the_shutdown_and_the_term_signal_is_killed_with_all_its_children() {
    let mut scene = ExtensionScene::new();
    let pids = scene.dir.path().join("pids");
    let text = format!(
        r#"
import subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], stdin=subprocess.DEVNULL)
open({:?}, "w").write(f"{{os.getpid()}} {{child.pid}}")
register()
while True: time.sleep(1)
"#,
        pids.display()
    );
    let path = scene.python("stubborn.py", &text);
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    still_works(&mut actor).await;
    let pids = std::fs::read_to_string(pids).unwrap();
    assert!(pids.split(' ').all(is_alive), "{pids}");
    let began = Instant::now();
    scene.shutdown().await;
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    std::thread::sleep(Duration::from_millis(50));
    assert!(!pids.split(' ').any(is_alive), "{pids}");
}

#[tokio::test]
async fn its_environment_is_what_it_was_given() {
    let mut scene = ExtensionScene::new();
    let text = r#"names=$(tr '\0' '\n' < /proc/$$/environ | cut -d= -f1 | sort | paste -sd,)
read -r line
echo '{"jsonrpc":"2.0","id":1,"result":{"name":"'"$names"'"}}'
"#;
    let path = scene.write("env.sh", text);
    scene.start(&[&path]).await;
    let mut actor = scene.stage.open().await;
    let (_, text) = trouble(&mut actor).await;
    assert_eq!(text, "HOME,PATH exited with code 0");
    scene.shutdown().await;
}
