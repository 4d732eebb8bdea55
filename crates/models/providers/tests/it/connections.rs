//! Connections are reused, dropped and refused as they should be, in every format.

use std::time::{Duration, Instant};

use providers::Api;
use testkit::mock_model::{MockModel, Reply, Step};
use vocab::{FaultKind, Finish, ModelEvent};

use crate::support::*;

#[tokio::test]
async fn calls_in_a_row_share_one_connection() {
    for api in Api::ALL {
        let mock = MockModel::start().await;
        let provider = speaking(&mock, api);
        for round in 0..20 {
            // A refusal and a list of models leave the connection as good as an answer does.
            match round % 3 {
                0 => assert_eq!(text(&ask(&provider, "say 2 words").await), "w1 w2", "{api:?}"),
                1 => assert_eq!(failure(&ask(&provider, "fail 503").await).fault.status, Some(503), "{api:?}"),
                _ => assert_eq!(vocab::Provider::models(&provider).await.unwrap().len(), 2, "{api:?}"),
            }
        }
        assert_eq!(mock.connections(), 1, "{api:?}");
    }
}

#[tokio::test]
async fn calls_at_once_have_one_connection_each() {
    for api in Api::ALL {
        let mock = MockModel::start().await;
        mock.push(Reply::stream([Step::text("a"), Step::Hold, Step::finish("stop"), Step::Done]));
        let provider = speaking(&mock, api);
        let mut chat = chat(&provider);
        chat.push(&user("x"));
        let mut first = chat.call(&spec());
        assert_eq!(next_said(&mut first).await, Some(ModelEvent::Text("a".into())), "{api:?}");
        assert_eq!(text(&ask(&provider, "say b").await), "b", "{api:?}");
        mock.release();
        assert_eq!(next_said(&mut first).await, Some(ModelEvent::Finished(Finish::Stop)), "{api:?}");
        assert_eq!(mock.connections(), 2, "{api:?}");
    }
}

#[tokio::test]
async fn a_connection_the_server_closed_meanwhile_is_not_used() {
    for api in Api::ALL {
        let mock = MockModel::start().await;
        let provider = speaking(&mock, api);
        mock.push(Reply::stream([Step::text("a"), Step::finish("stop"), Step::Done, Step::HangUp]));
        assert_eq!(text(&ask(&provider, "x").await), "a", "{api:?}");
        mock.wait_until(|counts| counts.open == 0).await;
        assert_eq!(text(&ask(&provider, "say b").await), "b", "{api:?}");
        assert_eq!(mock.connections(), 2, "{api:?}");
        assert_eq!(mock.chats().len(), 2, "{api:?}: nothing was sent twice");
    }
}

#[tokio::test]
async fn a_kept_connection_that_dies_unanswered_is_replaced_once() {
    for api in Api::ALL {
        let mock = MockModel::start().await;
        let provider = speaking(&mock, api);
        assert_eq!(text(&ask(&provider, "say a").await), "a", "{api:?}");
        mock.push(Reply::Drop);
        assert_eq!(text(&ask(&provider, "say b").await), "b", "{api:?}");
        assert_eq!((mock.connections(), mock.chats().len()), (2, 3), "{api:?}");

        // A fresh connection that dies is the server's failure, and somebody else's to retry.
        mock.push(Reply::Drop);
        mock.push(Reply::Drop);
        let events = ask(&provider, "say c").await;
        assert_eq!(failure_kind(&events), FaultKind::Network, "{api:?}");
        assert!(failure(&events).retryable, "{api:?}");
        assert_eq!(mock.waiting(), 0, "{api:?}");
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    for api in Api::ALL {
        let mock = MockModel::start().await;
        let provider = speaking(&mock, api);
        let mut chat = chat(&provider);
        chat.push(&user("stall 2 say 5 words"));
        let mut stream = chat.call(&spec());
        assert_eq!(next(&mut stream).await, Some(ModelEvent::Text("w1 ".into())), "{api:?}");
        assert_eq!(mock.counts().open, 1, "{api:?}");
        drop(stream);
        mock.wait_until(|counts| counts.open == 0).await;
    }
}

#[tokio::test]
async fn an_answer_is_over_at_its_last_event_even_when_its_body_ends_later() {
    // Gemini has no last event: there the body's end is the only one.
    for api in [Api::Completions, Api::Responses, Api::Anthropic] {
        let mock = MockModel::start().await;
        let provider = speaking(&mock, api);
        mock.push(Reply::stream([Step::text("a"), Step::finish("stop"), Step::Done, Step::Hold]));
        let started = Instant::now();
        assert_eq!(text(&ask(&provider, "x").await), "a", "{api:?}");
        assert!(started.elapsed() < Duration::from_secs(1), "{api:?} {:?}", started.elapsed());
        mock.release();
        // Once the end has come, the connection is as good as any; until then a call makes its own.
        let mut used_again = false;
        for _ in 0..200 {
            let before = mock.connections();
            ask(&provider, "say b").await;
            used_again = mock.connections() == before && mock.chats().last().unwrap().connection == 0;
            if used_again {
                break;
            }
            // Takes the newer connection out of the way.
            mock.push(Reply::stream([Step::text("a"), Step::finish("stop"), Step::Done, Step::HangUp]));
            ask(&provider, "x").await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(used_again, "{api:?}: the first connection was never used again");
    }
}
