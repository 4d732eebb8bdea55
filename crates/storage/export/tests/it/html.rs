//! Sessions as pages: what a reader finds in one, and that nothing a log says is more than text.

mod attacks;
mod page;
mod reading;
mod sum;

use std::sync::Arc;

use export::FileArchive;
use store::MemoryStore;
use vocab::*;

/// Exports a session with these entries, and returns the page and how it reads.
async fn export(bodies: Vec<Body>) -> (String, page::ReadPage) {
    let parents = (0..bodies.len() as u64).collect();
    export_tree(bodies, parents).await
}

async fn export_tree(bodies: Vec<Body>, parents: Vec<u64>) -> (String, page::ReadPage) {
    let place = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let lease = store.create(store::suite::new_session("s"));
    let entry = |(at, (body, parent)): (usize, (Body, u64))| {
        let seq = at as u64 + 1;
        Arc::new(Entry { seq, parent, at_ms: 1_794_781_698_000 + seq as i64 * 1_500, body, by: None })
    };
    let entries = bodies.into_iter().zip(parents).enumerate().map(entry).collect();
    store.append(&lease, entries, Durability::Now).await.unwrap();
    let file = place.path().join("talk.html");
    let exported = FileArchive::new(store, place.path().into()).export(&lease.session, Some(&file)).await.unwrap();
    assert_eq!((exported.format, &exported.path), ("html", &file));
    let html = std::fs::read_to_string(&file).unwrap();
    assert_eq!(html.len() as u64, exported.bytes);
    let page = page::read(&html).unwrap_or_else(|wrong| panic!("{wrong}"));
    (html, page)
}

fn turn() -> TurnId {
    TurnId::from("t1")
}

fn opened() -> Body {
    Body::Opened {
        workspace: "/work/space".into(),
        model: "tour".into(),
        mode: Mode::Prompt,
        forked_from: None,
        child_of: None,
    }
}

fn user(text: &str) -> Body {
    Body::User { turn: Some(turn()), parts: vec![Part::text(text)], from: UserFrom::Prompt }
}

fn reply(blocks: Vec<Block>) -> Body {
    let usage = Usage { input: 1200, cache_read: 300, cache_write: 20, output: 45, estimated: false };
    let end = MessageEnd::Finished(Finish::Stop);
    Body::Assistant { turn: Some(turn()), message: AssistantMessage { blocks, model: "tour".into(), end, usage } }
}

fn call(id: &str, name: &str, input: &str) -> Block {
    Block::Call(Call { id: id.into(), name: name.into(), input: CallInput::Object(Json::trusted(input)), seal: None })
}

fn result(id: &str, tool: &str, text: &str) -> CallResult {
    CallResult {
        call: id.into(),
        tool: tool.into(),
        end: CallEnd::Ran,
        parts: vec![Part::text(text)],
        is_error: false,
        duration_ms: 1234,
        mutation: None,
        edits: vec![],
        details: None,
    }
}

fn ended(result: CallResult) -> Body {
    Body::Call(CallEntry::Ended { turn: turn(), result })
}

fn turn_ended(stop: Stop, fault: Option<Fault>) -> Body {
    let usage = Usage { input: 1200, cache_read: 300, cache_write: 20, output: 45, estimated: false };
    Body::Turn(TurnEntry::Ended(TurnEnd { turn: turn(), stop, iterations: 1, usage, mutations: vec![], fault }))
}
