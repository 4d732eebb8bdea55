//! The model `auto`: the first one of a server that has not said yet what it serves. A server on this machine is asked from
//! the start, in the background; a conversation waits for that when it has something to say. One that was named and gave no
//! list is asked again by every prompt until it does, and a prompt that it gives none fails with the reason.

use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};

use futures_core::Stream;
use providers::Client;
use providers::detect::{Candidate, Choice, Env, Server, decide, look};
use tokio::sync::watch;
use tour::Tour;
use vocab::{CallSpec, Chat, Fault, Later, Message, ModelEvent, ModelInfo, ModelStream, Provider};

use super::catalogue::TOUR;
use super::names::AUTO;

/// Whose model it is while nobody has answered.
const LOCAL: &str = "local";

/// What came of asking.
enum Landed {
    At {
        client: Client,
        model: Arc<str>,
    },
    /// The built-in tour answers.
    Nobody,
    /// The next prompt asks again.
    Failed(Fault),
}

#[derive(Clone)]
pub(super) struct Auto {
    way: Way,
    before: Arc<ModelInfo>,
}

#[derive(Clone)]
enum Way {
    /// Asked in the background.
    Local(watch::Receiver<Option<Arc<Landed>>>),
    /// Asked when somebody needs it; the model, once it was told.
    Server(Client, Arc<OnceLock<Arc<str>>>),
}

impl Auto {
    /// Asks whoever listens. `make` turns a server into a client; `note` is told in one line where nobody is one.
    pub(super) fn start(
        open: Vec<Candidate>,
        window: u64,
        make: impl FnOnce(&Server) -> Result<Client, Fault> + Send + 'static,
        note: impl FnOnce(&str) + Send + 'static,
    ) -> Self {
        let (tell, landed) = watch::channel(None);
        let before = ModelInfo {
            provider: LOCAL.into(),
            name: "the first local model that answers".into(),
            base_url: open.first().map(Candidate::base_url).unwrap_or_default().into(),
            ..ModelInfo::named(AUTO, window)
        };
        tokio::spawn(async move {
            let Choice { server, reason } = decide(&Env::default(), &look(&open).await);
            let found = server.and_then(|server| Some((make(&server).ok()?, server.model?)));
            let landed = match found {
                Some((client, model)) => Landed::At { client, model: model.into() },
                None => {
                    note(&format!("model auto is the built-in tour: {reason}"));
                    Landed::Nobody
                }
            };
            // Whoever waited may be gone.
            let _ = tell.send(Some(Arc::new(landed)));
        });
        Self { way: Way::Local(landed), before: Arc::new(before) }
    }

    /// The first model of a server that was named.
    pub(super) fn of(client: Client, window: u64) -> Self {
        let before = ModelInfo {
            provider: client.provider().clone(),
            name: format!("the first model that {} will list", client.server()).into(),
            base_url: client.server().into(),
            ..ModelInfo::named(AUTO, window)
        };
        Self { way: Way::Server(client, Arc::default()), before: Arc::new(before) }
    }

    fn now(&self) -> Option<Arc<Landed>> {
        match &self.way {
            Way::Local(landed) => landed.borrow().clone(),
            Way::Server(client, found) => found.get().map(|model| at(client, model)),
        }
    }

    async fn landed(&self) -> Arc<Landed> {
        match &self.way {
            Way::Local(landed) => match landed.clone().wait_for(Option::is_some).await {
                Ok(landed) => landed.clone().expect("that is what was waited for"),
                // The runtime is ending, and whoever asked ends with it.
                Err(_) => Arc::new(Landed::Nobody),
            },
            Way::Server(client, found) => match client.first_model().await {
                Ok(model) => at(client, found.get_or_init(|| model)),
                Err(fault) => Arc::new(Landed::Failed(fault)),
            },
        }
    }

    /// The server that answered, if one has by now.
    pub(super) fn client(&self) -> Option<Client> {
        match &*self.now()? {
            Landed::At { client, .. } => Some(client.clone()),
            Landed::Nobody | Landed::Failed(_) => None,
        }
    }

    /// Whether somebody is there. One that was named is, whether or not it answers.
    pub(super) async fn is_somebody(&self) -> bool {
        match &self.way {
            Way::Local(_) => matches!(&*self.landed().await, Landed::At { .. }),
            Way::Server(..) => true,
        }
    }

    /// The models of the server that answers; one that was named is asked by whoever named it.
    pub(super) async fn models(&self) -> Vec<ModelInfo> {
        let Way::Local(_) = &self.way else { return Vec::new() };
        match &*self.landed().await {
            Landed::At { client, .. } => client.models().await.unwrap_or_else(|_| client.known()),
            Landed::Nobody | Landed::Failed(_) => Vec::new(),
        }
    }

    pub(super) fn info(&self) -> ModelInfo {
        let found = self.now().and_then(|landed| match &*landed {
            Landed::At { client, model } => client.resolve(model).ok(),
            Landed::Nobody | Landed::Failed(_) => None,
        });
        found.map_or_else(|| (*self.before).clone(), |model| ModelInfo { slug: AUTO.into(), ..model })
    }

    pub(super) fn chat(&self) -> Box<dyn Chat> {
        let state = State { messages: Vec::new(), chat: None, bytes: 0 };
        Box::new(Waiting { auto: self.clone(), state: Arc::new(Mutex::new(state)) })
    }
}

fn at(client: &Client, model: &Arc<str>) -> Arc<Landed> {
    Arc::new(Landed::At { client: client.clone(), model: model.clone() })
}

impl Landed {
    fn chat(&self) -> Result<Box<dyn Chat>, Fault> {
        match self {
            Landed::At { client, model } => client.chat(&client.resolve(model)?),
            Landed::Nobody => {
                let tour = Tour::default();
                tour.chat(&tour.resolve(TOUR)?)
            }
            Landed::Failed(fault) => Err(fault.clone()),
        }
    }
}

/// A conversation that keeps its messages until it is known whom they are for.
struct Waiting {
    auto: Auto,
    state: Arc<Mutex<State>>,
}

struct State {
    /// Empty once there is a chat.
    messages: Vec<Message>,
    chat: Option<Box<dyn Chat>>,
    /// Of the messages that wait, roughly.
    bytes: usize,
}

impl State {
    fn call(&mut self, landed: &Landed, spec: &CallSpec) -> ModelStream {
        let chat = match &mut self.chat {
            Some(chat) => chat,
            None => match landed.chat() {
                Ok(chat) => self.chat.insert(chat),
                Err(fault) => return Box::pin(Once(Some(ModelEvent::Failed(failed(fault))))),
            },
        };
        self.messages.drain(..).for_each(|message| chat.push(&message));
        chat.call(spec)
    }
}

fn failed(fault: Fault) -> vocab::ModelFault {
    vocab::ModelFault { fault, retryable: false, retry_after_ms: None, status: None }
}

impl Waiting {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding it")
    }
}

impl Chat for Waiting {
    fn push(&mut self, message: &Message) {
        let mut state = self.state();
        match &mut state.chat {
            Some(chat) => chat.push(message),
            None => {
                state.bytes += size(message);
                state.messages.push(message.clone());
            }
        }
    }
    fn clear(&mut self) {
        let mut state = self.state();
        state.messages.clear();
        state.bytes = 0;
        if let Some(chat) = &mut state.chat {
            chat.clear();
        }
    }
    fn bytes(&self) -> usize {
        let state = self.state();
        state.chat.as_ref().map_or(state.bytes, |chat| chat.bytes())
    }

    /// The search has a limit, and what it finds keeps time.
    fn keeps_time(&self) -> bool {
        true
    }

    fn call(&mut self, spec: &CallSpec) -> ModelStream {
        if let Some(landed) = self.auto.now() {
            return self.state().call(&landed, spec);
        }
        let (auto, state, spec) = (self.auto.clone(), self.state.clone(), spec.clone());
        Box::pin(Late::Waiting(Box::pin(async move {
            let landed = auto.landed().await;
            state.lock().expect("nothing panics while holding it").call(&landed, &spec)
        })))
    }
}

/// An estimate of what a message will take; images are what counts.
fn size(message: &Message) -> usize {
    format!("{message:?}").len()
}

/// A stream that is yet to come.
enum Late {
    Waiting(Later<'static, ModelStream>),
    Running(ModelStream),
}

impl Stream for Late {
    type Item = ModelEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        loop {
            match &mut *self {
                Late::Running(stream) => return stream.as_mut().poll_next(cx),
                Late::Waiting(later) => {
                    let stream = std::task::ready!(later.as_mut().poll(cx));
                    *self = Late::Running(stream);
                }
            }
        }
    }
}

struct Once(Option<ModelEvent>);

impl Stream for Once {
    type Item = ModelEvent;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        Poll::Ready(self.0.take())
    }
}
