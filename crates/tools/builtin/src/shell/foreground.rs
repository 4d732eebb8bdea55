//! Follows one command on its leash: takes its output until the command itself has ended, by itself or because somebody
//! gave it up. What it left running does not hold the result. Knows neither tools nor sessions.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use vocab::Progress;

use process::leash::{Control, Report, read_now};

use super::capture::Capture;

/// The output so far is told at most this often.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// After the command's own end, output of what it left behind is taken for at most this long.
const DRAIN_TIME_MAX: Duration = Duration::from_millis(200);
/// One read from the output pipe.
const READ_BYTES: usize = 64 * 1024;

/// How a command went.
#[derive(Default)]
pub(super) struct End {
    /// `None`: its end was not seen.
    pub(super) report: Option<Report>,
    /// It was given up: everything under the leash is ended.
    pub(super) given_up: bool,
    pub(super) too_many: Option<i32>,
}

impl End {
    /// The command ended by itself and left nothing running.
    pub(super) fn is_clean(&self) -> bool {
        matches!(self.report, Some(Report::Exited { left: false, .. } | Report::Killed { left: false, .. }))
            && !self.given_up
            && self.too_many.is_none()
    }

    pub(super) fn left(&self) -> bool {
        matches!(self.report, Some(Report::Exited { left: true, .. } | Report::Killed { left: true, .. }))
            && !self.given_up
            && self.too_many.is_none()
    }
}

/// Takes output until the command has ended. Once `give_up` is ready, everything is told to end, and we wait no longer
/// than `patience` to see it; the leash goes on without us.
pub(super) async fn follow(
    control: &mut Control,
    output: &mut pipe::Receiver,
    capture: &mut Capture,
    told: &Progress,
    give_up: impl Future<Output = ()>,
    patience: Duration,
) -> End {
    let mut end = End::default();
    let mut buffer = vec![0; READ_BYTES];
    let mut open = true;
    let mut untold = false;
    let next_progress = tokio::time::sleep(Duration::ZERO);
    let out_of_patience = tokio::time::sleep(patience);
    tokio::pin!(give_up, next_progress, out_of_patience);
    loop {
        tokio::select! {
            report = control.report() => match report {
                Some(Report::Started(_)) => {}
                Some(Report::TooMany(count)) => end.too_many = Some(count),
                other => {
                    end.report = other;
                    break;
                }
            },
            read = output.read(&mut buffer), if open => match read {
                Ok(count) if count > 0 => {
                    capture.push(&buffer[..count]).await;
                    untold = true;
                }
                _ => open = false,
            },
            () = &mut next_progress, if untold => {
                told(&capture.newest());
                untold = false;
                next_progress.as_mut().reset(tokio::time::Instant::now() + PROGRESS_EVERY);
            }
            () = &mut give_up, if !end.given_up => {
                end.given_up = true;
                control.stop();
                out_of_patience.as_mut().reset(tokio::time::Instant::now() + patience);
            }
            () = &mut out_of_patience, if end.given_up => break,
        }
    }
    take_the_rest(output, capture, &mut buffer).await;
    end
}

/// What is in the pipe already. Something left running may write without end: it is not waited for.
async fn take_the_rest(output: &pipe::Receiver, capture: &mut Capture, buffer: &mut [u8]) {
    let drain_until = Instant::now() + DRAIN_TIME_MAX;
    while let Some(count @ 1..) = read_now(output, buffer) {
        capture.push(&buffer[..count]).await;
        if Instant::now() > drain_until {
            break;
        }
    }
}
