//! The end of a process that serves many: each of its conversations hears of it, and goes on until it has settled.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::watch;

/// Asked once, heard by all. Clones are the same.
#[derive(Clone, Debug)]
pub struct DaemonEnding(Arc<watch::Sender<EndingStep>>);

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EndingStep {
    Serves,
    Asked(&'static str),
    Rests(&'static str),
}

impl EndingStep {
    fn asked(self) -> Option<&'static str> {
        match self {
            EndingStep::Serves => None,
            EndingStep::Asked(by) | EndingStep::Rests(by) => Some(by),
        }
    }
}

impl Default for DaemonEnding {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(EndingStep::Serves)))
    }
}

impl DaemonEnding {
    /// Everybody is to come to an end; `by` is why, in one word (`shutdown`). The first word counts.
    pub fn ask(&self, by: &'static str) {
        self.0.send_if_modified(|step| {
            let is_first = *step == EndingStep::Serves;
            if is_first {
                *step = EndingStep::Asked(by);
            }
            is_first
        });
    }

    /// The engine has come to rest: it has nothing more to tell anybody. Means nothing before somebody has asked.
    pub fn rest(&self) {
        self.0.send_if_modified(|step| match *step {
            EndingStep::Asked(by) => {
                *step = EndingStep::Rests(by);
                true
            }
            EndingStep::Serves | EndingStep::Rests(_) => false,
        });
    }

    pub fn asked(&self) -> Option<&'static str> {
        self.0.borrow().asked()
    }

    /// Waits until somebody asks.
    pub async fn wait(&self) -> &'static str {
        self.reached(EndingStep::asked).await
    }

    /// Waits until the engine rests.
    async fn wait_for_rest(&self) {
        self.reached(|step| matches!(step, EndingStep::Rests(_)).then_some(())).await;
    }

    async fn reached<T>(&self, here: impl Fn(EndingStep) -> Option<T>) -> T {
        let mut hears = self.0.subscribe();
        loop {
            let step = *hears.borrow_and_update();
            if let Some(found) = here(step) {
                return found;
            }
            if hears.changed().await.is_err() {
                std::future::pending().await
            }
        }
    }
}

/// What a conversation learns of the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EndingNews {
    Asked(&'static str),
    Rests,
}

/// How much of the end one conversation has learnt.
pub(crate) struct EndingEar {
    ending: DaemonEnding,
    has_heard: bool,
    /// Kept between two looks: making it anew for each would cost every message something.
    next: Option<Pin<Box<dyn Future<Output = EndingNews> + Send>>>,
}

impl EndingEar {
    pub(crate) fn new(ending: DaemonEnding) -> Self {
        let asked = ending.clone();
        let next = Box::pin(async move { EndingNews::Asked(asked.wait().await) });
        Self { ending, has_heard: false, next: Some(next) }
    }

    /// The word that was asked for the end with, where this conversation does not know it yet. It does from now on.
    pub(crate) fn overheard(&mut self) -> Option<&'static str> {
        let by = self.ending.asked().filter(|_| !self.has_heard)?;
        self.has_heard = true;
        self.then_rest();
        Some(by)
    }

    /// The next news. That the engine rests is none for who has not heard all that it said.
    pub(crate) async fn next(&mut self, has_all: bool) -> EndingNews {
        let next = self.next.as_mut().filter(|_| has_all || !self.has_heard);
        let Some(next) = next else { return std::future::pending().await };
        let news = next.as_mut().await;
        match news {
            EndingNews::Asked(_) => {
                self.has_heard = true;
                self.then_rest();
            }
            EndingNews::Rests => self.next = None,
        }
        news
    }

    fn then_rest(&mut self) {
        let ending = self.ending.clone();
        self.next = Some(Box::pin(async move {
            ending.wait_for_rest().await;
            EndingNews::Rests
        }));
    }
}
