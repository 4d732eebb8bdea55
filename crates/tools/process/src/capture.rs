//! A short program whose output is the answer: it gets no input, so much time and so much room, and its whole group ends
//! with the answer, with the time, or when the future is dropped.

use std::io;
use std::pin::pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::{EndSignal, Exit, GroupLauncher, Launched, Launcher, Program};

/// For what a program that has ended said last.
const ERRORS_GRACE: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug)]
pub struct CaptureLimits {
    /// A program that prints more is ended, and the answer says so.
    pub output_bytes_max: usize,
    /// Of its complaints the beginning is kept; the rest is read all the same, so that it can end.
    pub errors_bytes_max: usize,
    /// Then it is ended, and the fault is [`io::ErrorKind::TimedOut`].
    pub time_max: Duration,
}

/// What a program printed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Captured {
    pub output: Vec<u8>,
    pub errors: String,
    /// `None`: it printed more than was wanted and was ended for that.
    pub exit: Option<Exit>,
}

/// Runs a program to its end and returns what it printed.
pub async fn capture(program: &Program, limits: CaptureLimits) -> io::Result<Captured> {
    let Launched { input, output, errors, mut process, .. } = GroupLauncher.launch(program).await?;
    drop(input);
    let finish = async {
        let (mut text, mut said) = (Vec::new(), Vec::new());
        let room = limits.output_bytes_max;
        let exit = {
            let mut answer = pin!(async {
                output.take(room as u64 + 1).read_to_end(&mut text).await?;
                let exit = if text.len() > room { None } else { Some(process.ended().await) };
                process.signal(EndSignal::Kill);
                io::Result::Ok(exit)
            });
            let mut complaints = pin!(beginning(errors, limits.errors_bytes_max, &mut said));
            // Its complaints are read beside its output, or a full pipe would stop it.
            let early = tokio::select! {
                exit = &mut answer => Some(exit?),
                () = &mut complaints => None,
            };
            match early {
                Some(exit) => {
                    // What it left behind outside its group may hold the pipe open: that is not waited for.
                    let _ = tokio::time::timeout(ERRORS_GRACE, complaints).await;
                    exit
                }
                None => answer.await?,
            }
        };
        text.truncate(room);
        Ok(Captured { output: text, errors: String::from_utf8_lossy(&said).into_owned(), exit })
    };
    tokio::time::timeout(limits.time_max, finish).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn beginning(mut from: impl AsyncRead + Unpin, room: usize, into: &mut Vec<u8>) {
    let mut piece = [0; 1024];
    while let Ok(count @ 1..) = from.read(&mut piece).await {
        let free = room.saturating_sub(into.len());
        into.extend_from_slice(&piece[..count.min(free)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        let argv = ["/bin/sh", "-c", script].map(Into::into).to_vec();
        Program { argv, cwd: "/".into(), env: std::env::vars_os().collect(), joined: false }
    }

    fn limits() -> CaptureLimits {
        CaptureLimits { output_bytes_max: 8, errors_bytes_max: 4, time_max: Duration::from_secs(10) }
    }

    #[tokio::test]
    async fn what_it_prints_and_how_it_ends_is_the_answer() {
        let got = capture(&shell("echo out; echo complaint >&2; exit 3"), limits()).await.unwrap();
        assert_eq!(got.output, b"out\n");
        assert_eq!(got.errors, "comp");
        assert_eq!(got.exit, Some(Exit { code: Some(3), signal: None }));
    }

    #[tokio::test]
    async fn who_prints_too_much_is_cut_and_who_takes_too_long_is_ended() {
        let got = capture(&shell("while :; do echo more; done"), limits()).await.unwrap();
        assert_eq!((got.output.as_slice(), got.exit), (&b"more\nmor"[..], None));
        let short = CaptureLimits { time_max: Duration::from_millis(50), ..limits() };
        let late = capture(&shell("sleep 30"), short).await.unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn what_is_left_in_the_background_is_not_waited_for() {
        let begun = std::time::Instant::now();
        let got = capture(&shell("sleep 30 >/dev/null & echo out"), limits()).await.unwrap();
        assert_eq!(got.output, b"out\n");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}
