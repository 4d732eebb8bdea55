//! Both launchers keep the same promises.

use std::time::Duration;

use process::{EndSignal, Exit, GroupLauncher, Launched, Launcher, LeashLauncher, Program};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn shell(line: &str, joined: bool) -> Program {
    Program {
        argv: ["/bin/sh", "-c", line].map(Into::into).into(),
        cwd: "/".into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("API_KEY".into(), "canary-1234567".into())],
        joined,
    }
}

async fn all(from: &mut (dyn tokio::io::AsyncRead + Send + Unpin), bytes: usize) -> String {
    let mut text = vec![0; bytes];
    from.read_exact(&mut text).await.unwrap();
    String::from_utf8(text).unwrap()
}

fn launchers() -> [&'static dyn Launcher; 2] {
    [&GroupLauncher, &LeashLauncher]
}

#[tokio::test]
async fn input_output_and_errors_are_pipes_of_their_own_unless_joined() {
    for launcher in launchers() {
        let apart = shell("read line; pwd; echo \"$line\" >&2; exit 3", false);
        let Launched { mut input, mut output, mut errors, mut process, secrets } =
            launcher.launch(&apart).await.unwrap();
        input.write_all(b"hello\n").await.unwrap();
        assert_eq!(all(&mut *output, 2).await, "/\n");
        assert_eq!(all(&mut *errors, 6).await, "hello\n");
        assert_eq!(process.ended().await, Exit { code: Some(3), signal: None });
        assert_eq!(process.ended_in_words().await, "exited with code 3");
        assert_eq!(secrets.scrub("key canary-1234567"), "key ***");
        let mut joined = launcher.launch(&shell("echo a; echo b >&2; echo c", true)).await.unwrap();
        assert_eq!(all(&mut *joined.output, 6).await, "a\nb\nc\n");
    }
}

#[tokio::test]
async fn a_program_is_signalled_or_made_to_end() {
    for launcher in launchers() {
        let mut launched = launcher.launch(&shell("exec sleep 1000", false)).await.unwrap();
        launched.process.signal(EndSignal::Terminate);
        assert_eq!(launched.process.ended_in_words().await, "was killed by signal 15");
        let deaf = launcher.launch(&shell("trap '' TERM; echo $$; sleep 1000; sleep 1000", false)).await.unwrap();
        let Launched { mut output, process, .. } = deaf;
        let mut pid = String::new();
        while !pid.ends_with('\n') {
            pid.push_str(&all(&mut *output, 1).await);
        }
        tokio::time::timeout(Duration::from_secs(10), process.end()).await.unwrap();
        assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(), "{pid} lives on");
    }
}
