//! The message that grows: at every delta the update repeats the whole message so far, twice, as if it had just been encoded.

use dialect_rpc::{PARTIAL_BYTES_MAX, RpcOptions, Updates};
use pi_format::messages::tool_name;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde_json::{Value, json};
use vocab::{AssistantMessage, Block, Body, Call, CallInput, Delta, Event, Finish, Json, MessageEnd, Usage};

use crate::talk::{Talk, options};

/// One piece of a reply, as a provider streams it.
#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Thinking(String),
    /// The next call begins.
    Call(String),
    Input(String),
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        any::<String>().prop_map(Piece::Text),
        any::<String>().prop_map(Piece::Thinking),
        prop_oneof![Just("read_file".to_owned()), "[a-z_\\\\\"é]{1,8}"].prop_map(Piece::Call),
        "[\\[\\]{}:,\"\\\\a-z0-9 .é]{0,12}".prop_map(Piece::Input),
    ]
}

/// What the deltas so far add up to, kept the simplest way.
#[derive(Default)]
struct Twin {
    blocks: Vec<Value>,
    calls: u32,
}

impl Twin {
    fn grow(&mut self, kind: &str, member: &str, delta: &str) {
        if self.blocks.last().is_none_or(|block| block["type"] != kind) {
            self.blocks.push(json!({ "type": kind, member: "" }));
        }
        let block = self.blocks.last_mut().unwrap();
        block[member] = format!("{}{delta}", block[member].as_str().unwrap()).into();
    }

    /// The event of a piece; `None` when it makes no sense here.
    fn take(&mut self, piece: &Piece) -> Option<Event> {
        let turn = || "t1".into();
        Some(match piece {
            Piece::Text(delta) => {
                self.grow("text", "text", delta);
                Event::Delta(Delta::Text { turn: turn(), delta: delta.clone().into() })
            }
            Piece::Thinking(delta) => {
                self.grow("thinking", "thinking", delta);
                Event::Delta(Delta::Thinking { turn: turn(), delta: delta.clone().into() })
            }
            Piece::Call(name) => {
                self.calls += 1;
                let id = format!("c{}", self.calls);
                self.blocks.push(json!({ "type": "toolCall", "id": id, "name": tool_name(name), "partialArgs": "" }));
                let (index, delta) = (self.calls, String::new());
                Event::Delta(Delta::CallInput {
                    turn: turn(),
                    index,
                    id: Some(id.into()),
                    name: Some(name.as_str().into()),
                    delta: delta.into(),
                })
            }
            Piece::Input(delta) => {
                let last = self.blocks.last().filter(|block| block["type"] == "toolCall");
                last?;
                self.grow("toolCall", "partialArgs", delta);
                Event::Delta(Delta::CallInput {
                    turn: turn(),
                    index: self.calls,
                    id: None,
                    name: None,
                    delta: delta.clone().into(),
                })
            }
        })
    }

    /// Checks an update that shows everything so far.
    fn check(&self, update: &Value) {
        assert_eq!(update["message"], update["assistantMessageEvent"]["partial"]);
        let content = update["message"]["content"].as_array().unwrap();
        let index = update["assistantMessageEvent"]["contentIndex"].as_u64().unwrap() as usize;
        assert_eq!(content.len(), index + 1, "the growing block is the last");
        for (at, (shown, expected)) in content.iter().zip(&self.blocks).enumerate() {
            let mut shown = shown.clone();
            let mut expected = expected.clone();
            if shown["type"] == "toolCall" {
                let arguments = shown["arguments"].take();
                assert!(arguments.is_object(), "{shown}");
                let text = expected["partialArgs"].as_str().unwrap();
                if let Ok(whole @ Value::Object(_)) = serde_json::from_str::<Value>(text) {
                    assert_eq!(arguments, whole, "{text}");
                }
                shown.as_object_mut().unwrap().remove("arguments");
                if at < index {
                    // A finished call shows its arguments only.
                    expected.as_object_mut().unwrap().remove("partialArgs");
                }
            }
            assert_eq!(shown, expected);
        }
        assert_eq!(content.len(), self.blocks.len());
    }

    fn message(&self) -> AssistantMessage {
        let blocks = self.blocks.iter().map(|block| match block["type"].as_str() {
            Some("text") => Block::Text(block["text"].as_str().unwrap().into()),
            Some("thinking") => Block::Thinking { text: block["thinking"].as_str().unwrap().into(), opaque: None },
            _ => Block::Call(Call {
                id: block["id"].as_str().unwrap().into(),
                name: block["name"].as_str().unwrap().into(),
                input: CallInput::Object(Json::empty_object()),
                seal: None,
            }),
        });
        AssistantMessage {
            blocks: blocks.collect(),
            model: "mock/alpha".into(),
            end: MessageEnd::Finished(Finish::Stop),
            usage: Usage::default(),
        }
    }
}

fn delta_of(frame: &Value) -> Option<(u64, &str)> {
    let event = &frame["assistantMessageEvent"];
    Some((event["contentIndex"].as_u64()?, event["delta"].as_str()?))
}

proptest! {
    #![proptest_config(Config {
        cases: 400, rng_seed: RngSeed::Fixed(0x57e4), failure_persistence: None, ..Config::default()
    })]

    #[test]
    fn every_update_is_the_message_so_far(pieces in proptest::collection::vec((piece(), any::<bool>()), 1..14)) {
        let (mut talk, mut twin) = (Talk::open(), Twin::default());
        let mut joined: Vec<String> = Vec::new();
        let mut keep = |frames: &[Value]| {
            for (index, delta) in frames.iter().filter_map(delta_of) {
                joined.resize(joined.len().max(index as usize + 1), String::new());
                joined[index as usize].push_str(delta);
            }
        };
        for (piece, pause) in &pieces {
            let Some(event) = twin.take(piece) else { continue };
            let (_, frames) = talk.tell(event);
            keep(&frames);
            if *pause {
                let frames = talk.pause();
                keep(&frames);
                if let Some(last) = frames.last() {
                    twin.check(last);
                }
            }
        }
        let frames = talk.log(Body::Assistant { turn: None, message: twin.message() });
        keep(&frames);
        let said: Vec<&str> = twin.blocks.iter().map(|block| {
            ["text", "thinking", "partialArgs"].iter().find_map(|member| block[*member].as_str()).unwrap()
        }).collect();
        prop_assert_eq!(joined.iter().map(String::as_str).filter(|text| !text.is_empty()).collect::<Vec<_>>(),
            said.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>());
    }
}

fn text(delta: &str) -> Event {
    Event::Delta(Delta::Text { turn: "t1".into(), delta: delta.into() })
}

#[test]
fn a_reply_without_end_is_repeated_up_to_a_bound_and_told_whole() {
    let mut talk = Talk::open();
    let piece = "0123456789abcdef".repeat(16 * 1024);
    let pieces = 2 * PARTIAL_BYTES_MAX / piece.len();
    let mut told = 0;
    let mut longest = 0;
    for _ in 0..pieces {
        talk.tell(text(&piece));
        for frame in talk.pause() {
            told += delta_of(&frame).map_or(0, |(_, delta)| delta.len());
            longest = longest.max(frame["message"]["content"][0]["text"].as_str().map_or(0, str::len));
        }
    }
    assert_eq!(told, pieces * piece.len(), "every delta is told");
    assert!((PARTIAL_BYTES_MAX..PARTIAL_BYTES_MAX + piece.len()).contains(&longest), "{longest}");
    let message = AssistantMessage {
        blocks: vec![Block::Text(piece.repeat(pieces).into())],
        model: "mock/alpha".into(),
        end: MessageEnd::Finished(Finish::Stop),
        usage: Usage::default(),
    };
    let frames = talk.log(Body::Assistant { turn: None, message });
    let end = frames.iter().find(|frame| frame["type"] == "message_end").unwrap();
    assert_eq!(
        end["message"]["content"][0]["text"].as_str().unwrap().len(),
        pieces * piece.len(),
        "and the end is whole"
    );
}

#[test]
fn delta_updates_have_the_delta_and_the_usage_and_nothing_that_grows() {
    let mut talk = Talk::with(RpcOptions { updates: Updates::Delta, ..options() });
    let mut said = String::new();
    for number in 0..100 {
        let delta = format!("word {number} \u{1f600}\u{2028} ");
        talk.tell(text(&delta));
        said.push_str(&delta);
        let frames = talk.pause();
        let last = frames.last().unwrap();
        let members: Vec<&String> = last.as_object().unwrap().keys().collect();
        assert_eq!(members, ["assistantMessageEvent", "type", "usage"]);
        assert_eq!(last["assistantMessageEvent"], json!({ "type": "text_delta", "contentIndex": 0, "delta": delta }));
    }
    let message = AssistantMessage {
        blocks: vec![Block::Text(said.as_str().into())],
        model: "mock/alpha".into(),
        end: MessageEnd::Finished(Finish::Stop),
        usage: Usage::default(),
    };
    let frames = talk.log(Body::Assistant { turn: None, message });
    assert_eq!(frames[0]["assistantMessageEvent"]["content"], said);
}

#[test]
fn deltas_that_nobody_read_yet_are_one_update() {
    let mut talk = Talk::open();
    for word in ["one ", "two ", "three"] {
        talk.tell(text(word));
    }
    let frames = talk.pause();
    assert_eq!(frames.iter().filter_map(delta_of).collect::<Vec<_>>(), [(0, "one two three")]);
    assert!(talk.pause().is_empty(), "nothing is said twice");
}
