//! One place that models come from.

use std::sync::Arc;

use providers::Client;
use vocab::{Chat, Fault, Later, ModelInfo};

use crate::sources_report::SourceReport;

/// What a source is, in the order in which sources are shown to people.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SourceKind {
    /// Providers that the user described in the agent directory.
    Described,
    /// Vendors whose key is known, and those of `[providers.NAME]`.
    Configured,
    /// The server of the environment, or the one that was found: it takes any name.
    Server,
    /// What answers on this machine, found in the background.
    Local,
    /// What the user is signed in to, or has stored a key for.
    Account,
    /// The tour, and files that are played.
    BuiltIn,
}

/// A source as the catalogue asks it. Whatever a source does not say is somebody else's to say.
pub(crate) trait Source: Send + Sync {
    fn kind(&self) -> SourceKind;

    /// The model of this name; `None`: it is none of this source's.
    fn resolve(&self, slug: &str) -> Option<Result<ModelInfo, Fault>>;

    /// Whether the name can be this source's alone, also where it has no such model.
    fn owns(&self, _slug: &str) -> bool {
        false
    }

    /// A conversation with a model that it resolved; `None`: it is none of this source's.
    fn chat(&self, model: &ModelInfo) -> Option<Result<Box<dyn Chat>, Fault>>;

    /// What is known without asking anybody.
    fn known(&self) -> Vec<ModelInfo> {
        Vec::new()
    }

    /// What it offers, asked for where somebody can be asked.
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async { Ok(self.known()) })
    }

    /// The name of a model in the catalogue, from that of its provider and its id; `None`: the provider is not this one.
    fn slug(&self, _provider: &str, _id: &str) -> Option<Arc<str>> {
        None
    }

    /// Each provider in one line, for people.
    fn report(&self) -> Vec<SourceReport> {
        Vec::new()
    }

    /// Each server once, or why it cannot be one.
    fn servers(&self) -> Vec<(Arc<str>, Result<Client, Fault>)> {
        Vec::new()
    }

    /// Whether somebody is there, for a source that only the future tells about.
    fn answers(&self) -> Later<'_, bool> {
        Box::pin(std::future::ready(false))
    }
}

/// Waits for all at once; the answers are in their order.
pub(crate) async fn all<T>(mut waiting: Vec<Later<'_, T>>) -> Vec<T> {
    let mut done: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (answer, later) in done.iter_mut().zip(&mut waiting).filter(|(answer, _)| answer.is_none()) {
            if let std::task::Poll::Ready(it) = later.as_mut().poll(cx) {
                *answer = Some(it);
            }
        }
        match done.iter().all(Option::is_some) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    done.into_iter().flatten().collect()
}
