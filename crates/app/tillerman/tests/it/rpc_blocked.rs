//! A host that does not read: what it wrote is heard all the same, as long as its unread lines are not without end.

use std::sync::Arc;
use std::time::Duration;

use dialect_rpc::{Rpc, RpcOptions};
use testkit::pipe::Pipe;
use testkit::{Stage, StageOptions};
use vocab::{Open, Stop, Which};

use crate::golden::paused;

/// So long that the lines which repeat it are many times what a pipe holds.
const LONG_BYTES: usize = 1_500_000;

#[test]
fn an_abort_is_heard_while_nobody_reads() {
    paused(async {
        let script = tour::Script::parse(&format!("delta \"{}\" hold", "x".repeat(LONG_BYTES))).expect("a script");
        let plays = vocab::ModelInfo { slug: script.slug().into(), ..tour::model("script", 128_000) };
        let models = vec![tour::model("mock/alpha", 128_000)];
        let provider = Arc::new(testkit::fakes::Renamed { inner: Arc::new(script), models, plays });
        let stage = Stage::new(StageOptions { provider, model: "mock/alpha".into(), ..StageOptions::default() });
        let mut pipe =
            Pipe::new(&stage.engine, Box::new(Rpc::new(RpcOptions::new("0.1.0"))), host::PumpOptions::default());
        let ready = pipe.heard(Duration::from_millis(100)).await;
        assert_eq!(ready.len(), 1, "{ready:?}");
        let mut watcher = stage.actor();
        watcher.open(Open::new(Which::Id("s1".into()))).await.unwrap();
        pipe.send(r#"{"type":"prompt","message":"talk"}"#).await;
        watcher.until(|event| matches!(event, vocab::Event::Delta(vocab::Delta::Text { .. }))).await;
        watcher.settle().await;
        pipe.send(r#"{"id":"a","type":"abort"}"#).await;
        assert_eq!(watcher.turn_end().await.stop, Stop::Interrupted, "nobody has read a byte since the prompt");
        let said = pipe.until(|line| line.contains("agent_settled")).await;
        assert!(said.iter().any(|line| line.starts_with(r#"{"id":"a","type":"response""#)), "{}", said.len());
    });
}
