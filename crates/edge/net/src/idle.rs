//! Connections to one server that nobody uses now. The last one is used first; what is left over is closed when its time is
//! over, and before that when the server has closed it and somebody looks: servers and middle boxes forget quietly.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

use crate::connection::Connection;

/// Idle connections kept; one more is closed. As many sessions can have calls beside each other without each of their
/// calls making a new connection.
const IDLE_MAX: usize = 128;
/// An idle connection older than this is not used again, and does not stay.
const IDLE_AGE_MAX: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(crate) struct IdleConnections(Arc<Mutex<IdleRows>>);

#[derive(Default)]
struct IdleRows {
    /// The oldest first.
    rows: Vec<(Connection, Instant)>,
    /// A task sees to it that none stays for too long.
    is_watched: bool,
}

fn held(kept: &Mutex<IdleRows>) -> MutexGuard<'_, IdleRows> {
    kept.lock().expect("nothing panics while holding it")
}

impl IdleConnections {
    /// Keeps a connection whose answer has been read to its end.
    pub(crate) fn keep(&self, connection: Connection) {
        let mut kept = held(&self.0);
        if kept.rows.len() >= IDLE_MAX || !connection.is_open() {
            return;
        }
        kept.rows.push((connection, Instant::now()));
        if !kept.is_watched
            && let Ok(runtime) = Handle::try_current()
        {
            kept.is_watched = true;
            runtime.spawn(Watch(Arc::downgrade(&self.0)).run());
        }
    }

    /// The connection used last, if it is still open.
    pub(crate) async fn take(&self) -> Option<Connection> {
        loop {
            let (mut connection, since) = held(&self.0).rows.pop()?;
            if since.elapsed() < IDLE_AGE_MAX && poll_fn(|cx| Poll::Ready(connection.is_usable(cx))).await {
                return Some(connection);
            }
        }
    }
}

/// Looks after them while there are any, and sleeps between.
struct Watch(Weak<Mutex<IdleRows>>);

impl Watch {
    async fn run(mut self) {
        while let Some(next) = poll_fn(|cx| Poll::Ready(self.sweep(cx))).await {
            sleep_until(next).await;
        }
        // There may be another one by now.
        self.0 = Weak::new();
    }

    /// Closes those that are old or closed already; when to look again, if any are left.
    fn sweep(&self, cx: &mut std::task::Context<'_>) -> Option<Instant> {
        let kept = self.0.upgrade()?;
        let mut kept = held(&kept);
        kept.rows.retain_mut(|(connection, since)| since.elapsed() < IDLE_AGE_MAX && connection.is_still_open(cx));
        let next = kept.rows.first().map(|(_, since)| *since + IDLE_AGE_MAX);
        kept.is_watched = next.is_some();
        next
    }
}

impl Drop for Watch {
    /// A runtime that ends takes its tasks with it, not the connections of others.
    fn drop(&mut self) {
        if let Some(kept) = self.0.upgrade() {
            held(&kept).is_watched = false;
        }
    }
}
