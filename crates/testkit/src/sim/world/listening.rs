//! What simulated peers are told, what they learn from it, and what they do at once.

use vocab::{
    AskEntry, AskKind, Body, EditorEvent, EditorReply, EditorRequest, EditorRequestKind, Event, QueueEntry, Reply,
    SessionVerb, Told, Verb,
};

use super::World;
use crate::sim::{SESSION, weight};

impl World {
    /// Reads what everybody was told.
    pub(super) async fn look(&mut self, started: tokio::time::Instant) {
        for at in 0..self.eyes.len() {
            if self.eyes[at].stopped.is_some_and(|until| tokio::time::Instant::now() < until) {
                continue;
            }
            let told = self.eyes[at].drain().await;
            if self.eyes[at].stopped.take().is_some()
                && let Err(what) = weight::check(&told)
            {
                self.findings.add(format!("peer {}: {what}", self.eyes[at].name));
            }
            let (name, ms) = (self.eyes[at].name, started.elapsed().as_millis());
            for Told { session, event, .. } in told {
                if session.as_str() != SESSION && !session.as_str().is_empty() {
                    continue;
                }
                self.trace.push(format!("{ms:>8} peer {name} < {}", brief(&event)));
                self.learn(&event);
                if let Event::Editor(EditorEvent::Request(editor_request)) = event {
                    self.serve(at, &editor_request);
                }
            }
        }
    }

    /// A controller that does what it is told, most of the time.
    fn serve(&mut self, at: usize, editor_request: &EditorRequest) {
        self.editor_requests.push(editor_request.id);
        let result = match &editor_request.kind {
            EditorRequestKind::ReadText { .. } => EditorReply::Text("text".into()),
            EditorRequestKind::WriteText { .. } => EditorReply::Written,
            EditorRequestKind::Run { .. } => {
                EditorReply::Ran { output: "".into(), truncated: false, exit_code: Some(0), signal: None }
            }
        };
        if self.dice.chance(60) {
            let result = if self.dice.chance(80) { result } else { EditorReply::Failed("no".into()) };
            self.send(at, Verb::Session(SessionVerb::EditorReplied { editor_request: editor_request.id, result }));
        } else {
            self.undone.push((at, editor_request.id, result));
        }
    }

    fn learn(&mut self, event: &Event) {
        match event {
            Event::Logged(entry) => {
                self.last_seq = self.last_seq.max(entry.seq);
                match &entry.body {
                    Body::Ask(AskEntry::Opened(ask)) => {
                        self.asks.push((ask.id.clone(), matches!(ask.kind, AskKind::HostCall { .. })));
                    }
                    Body::User { .. } => self.users.push(entry.seq),
                    Body::Queue(QueueEntry::Queued(item)) => self.items.push(item.id.clone()),
                    _ => {}
                }
            }
            Event::Reply { result: Ok(Reply::Waiting { item, .. }), .. } => self.items.push(item.clone()),
            _ => {}
        }
    }
}

fn brief(event: &Event) -> String {
    let text = match event {
        Event::Logged(entry) => format!("#{} {:?}", entry.seq, entry.body),
        Event::State(state) => format!("State turn {:?} last_seq {}", state.turn, state.last_seq),
        other => format!("{other:?}"),
    };
    text.chars().take(220).collect()
}
