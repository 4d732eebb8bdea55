//! What every shelf has to keep, and what it keeps together with the sessions beside it.

use std::sync::Arc;

use vocab::{FaultKind, Shelf, ShelfKind, ShelfNames, ShelfPlace, Store};

use super::{append, new_session, prompt, refused};

const DRAWING: ShelfKind = ShelfKind { name: "drawing", goes_with_session: true };
const TOKEN: ShelfKind = ShelfKind { name: "token", goes_with_session: false };

fn at(kind: ShelfKind, owner: &str, name: &str) -> ShelfPlace {
    ShelfPlace { kind, owner: owner.into(), name: name.into() }
}

fn bytes(text: &str) -> Arc<[u8]> {
    text.as_bytes().into()
}

/// Runs every check, each on a fresh and empty store.
pub async fn run_shelf<S: Store + Shelf>(make: impl Fn() -> S) {
    what_is_put_is_there_whole_and_counted(&make()).await;
    there_are_no_more_than_allowed(&make()).await;
    a_list_has_the_newest_first(&make()).await;
    what_goes_with_a_session_goes_with_it(&make()).await;
}

async fn what_is_put_is_there_whole_and_counted(shelf: &impl Shelf) {
    let place = at(DRAWING, "s:1", "a b\u{1f600}\0");
    assert_eq!(shelf.get(place.clone()).await, Ok(None));
    let first = shelf.put(place.clone(), bytes("one"), None).await.expect("it is put");
    assert_eq!((first.version, &*first.payload, &first.place), (1, &b"one"[..], &place));
    let second = shelf.put(place.clone(), Arc::from([0u8, 0xff]), None).await.expect("it is replaced");
    assert_eq!((second.version, second.created_ms), (2, first.created_ms));
    assert!(second.updated_ms >= first.updated_ms);
    assert_eq!(shelf.get(place.clone()).await, Ok(Some(second)));
    assert_eq!(shelf.get(at(TOKEN, "s:1", "a b\u{1f600}\0")).await, Ok(None), "a kind is part of the place");
    assert_eq!(shelf.remove(place.clone()).await, Ok(true));
    assert_eq!(shelf.remove(place.clone()).await, Ok(false));
    let anew = shelf.put(place, bytes(""), None).await.expect("it is put again");
    assert_eq!((anew.version, anew.payload.len()), (1, 0));
}

async fn there_are_no_more_than_allowed(shelf: &impl Shelf) {
    for name in ["a", "b"] {
        shelf.put(at(DRAWING, "s", name), bytes(name), Some(2)).await.expect("there is room");
    }
    refused(shelf.put(at(DRAWING, "s", "c"), bytes("c"), Some(2)).await, FaultKind::QueueFull, "one too many");
    shelf.put(at(DRAWING, "s", "a"), bytes("again"), Some(2)).await.expect("one that is there is replaced");
    shelf.put(at(DRAWING, "t", "c"), bytes("c"), Some(2)).await.expect("another owner has room of its own");
}

async fn a_list_has_the_newest_first(shelf: &impl Shelf) {
    for (owner, name) in [("s", "a"), ("s", "b"), ("t", "c")] {
        shelf.put(at(DRAWING, owner, name), bytes(name), None).await.expect("it is put");
    }
    shelf.put(at(TOKEN, "s", "d"), bytes("d"), None).await.expect("it is put");
    let names = async |owner: Option<&str>, limit| -> Vec<String> {
        let list = shelf.list(DRAWING, owner.map(Into::into), limit).await.expect("a list");
        list.iter().map(|it| it.place.name.to_string()).collect()
    };
    assert_eq!(names(None, 10).await, ["c", "b", "a"]);
    assert_eq!(names(Some("s"), 10).await, ["b", "a"]);
    assert_eq!(names(None, 1).await, ["c"]);
    for (owner, limit, wanted, total) in [("s", 9, vec!["b", "a"], 2), ("s", 1, vec!["b"], 2), ("nobody", 9, vec![], 0)]
    {
        let names = wanted.into_iter().map(Arc::from).collect();
        assert_eq!(shelf.names(DRAWING, owner.into(), limit).await, Ok(ShelfNames { names, total }));
    }
    assert_eq!(shelf.clear(DRAWING, "s".into()).await, Ok(2));
    assert_eq!(names(None, 10).await, ["c"]);
    assert!(shelf.get(at(TOKEN, "s", "d")).await.expect("it can be read").is_some());
}

async fn what_goes_with_a_session_goes_with_it<S: Store + Shelf>(store: &S) {
    let lease = store.create(new_session("s"));
    append(store, &lease, vec![prompt(1, "hello")]).await;
    store.release(lease).await.expect("released");
    for (kind, owner) in [(DRAWING, "s"), (TOKEN, "s"), (DRAWING, "t")] {
        store.put(at(kind, owner, "it"), bytes("x"), None).await.expect("it is put");
    }
    assert_eq!(store.delete(&"s".into(), None).await, Ok(true));
    let is_there = async |kind, owner| store.get(at(kind, owner, "it")).await.expect("it can be read").is_some();
    assert!(!is_there(DRAWING, "s").await);
    assert!(is_there(TOKEN, "s").await && is_there(DRAWING, "t").await);
}
