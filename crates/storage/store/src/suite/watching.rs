//! Who watches is told of what anybody writes.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use vocab::{Later, Store};

use super::{append, new_session, note, prompt};

/// Whoever watches is told within this time, on a machine that has other things to do.
const TOLD_MAX: Duration = Duration::from_secs(10);

/// It has no answer now.
async fn waits<T>(watch: &mut Later<'static, T>) -> bool {
    poll_fn(|context| Poll::Ready(Pin::new(&mut *watch).poll(context).is_pending())).await
}

async fn in_time<T>(watch: Later<'static, T>) -> T {
    let since = Instant::now();
    let answer = watch.await;
    assert!(since.elapsed() < TOLD_MAX, "told after {:?}", since.elapsed());
    answer
}

/// `writer` and `reader` may be the same store, or two owners of the same sessions.
pub(super) async fn a_reader_is_told_of_new_entries(writer: &impl Store, reader: &impl Store) {
    let lease = writer.create(new_session("s"));
    assert_eq!(in_time(reader.watch(&lease.session, 0)).await, Ok(None), "there is no such session");
    append(writer, &lease, vec![note(1), note(2)]).await;
    assert_eq!(in_time(reader.watch(&lease.session, 1)).await, Ok(Some(2)), "what is there is told at once");
    let mut watch = reader.watch(&lease.session, 2);
    assert!(waits(&mut watch).await);
    let other = writer.create(new_session("other"));
    append(writer, &other, vec![prompt(1, "x")]).await;
    assert!(waits(&mut watch).await, "it was another session");
    append(writer, &lease, vec![note(3)]).await;
    assert_eq!(in_time(watch).await, Ok(Some(3)));
    writer.release(lease.clone()).await.expect("released");
    let watch = reader.watch(&lease.session, 3);
    assert!(writer.delete(&lease.session, None).await.expect("deleted"));
    assert_eq!(in_time(watch).await, Ok(None), "it is gone");
}

pub(super) async fn a_reader_of_all_is_told_who_was_used(writer: &impl Store, reader: &impl Store) {
    let (one, two) = (writer.create(new_session("one")), writer.create(new_session("two")));
    append(writer, &one, vec![prompt(1, "x")]).await;
    append(writer, &two, vec![prompt(1, "x")]).await;
    let mut moment = in_time(reader.watch_all(None)).await.expect("where it is").now;
    // Each step is told, though one answer may tell of several.
    let steps = [(&one, 2, "one"), (&one, 3, "one"), (&two, 2, "two"), (&one, 4, "one")];
    for (lease, seq, id) in steps {
        append(writer, lease, vec![prompt(seq, "more")]).await;
        loop {
            let change = in_time(reader.watch_all(Some(moment))).await.expect("a change");
            moment = change.now;
            if change.used.contains(&(id.into(), seq)) {
                break;
            }
            assert_eq!(change.used, [], "somebody who was not used is told of");
        }
    }
    append(writer, &two, vec![note(3)]).await;
    in_time(reader.watch_all(Some(moment))).await.expect("a name is a change, too");
}
