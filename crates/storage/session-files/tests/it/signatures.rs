//! What providers sign and seal comes through session files, ours and pi's, byte for byte: it is in the next request as if
//! there had been no file.

use std::future::poll_fn;
use std::path::{Path, PathBuf};

use providers::{Api, Client, Compat, Config, ReasoningBack, Secret};
use serde_json::{Value, json};
use testkit::mock_model::{Format, MockModel};
use vocab::*;

use crate::kit::*;
use crate::pi;

const THOUGHT: &str = "Rm9v+/8=";
const REDACTED: &str = "UmVkYWN0ZWQ+/w==";
const TEXT: &str = "VGV4dA+/Pz8=";
const CALL: &str = "Q2FsbA+/Pz8/";
/// In an order and with escapes that no writer of ours would choose.
const REASONING: &str = r#"{"id":"rs_1","type":"reasoning","summary":[{"text":"h\u006d\/","type":"summary_text"}],"encrypted_content":"gAAA+\/8=="}"#;
/// What the server looks at in it.
const ENCRYPTED: &str = "gAAA+/8==";
const LABEL: &str = r#"{"v":1,"id":"msg_0a1b","phase":"commentary"}"#;
const DETAILS: &str = r#"[{"type":"reasoning.encrypted","data":"A\/8+=="}]"#;

/// A provider's format, what one of its models said, and how pi writes that.
struct Case {
    api: Api,
    format: Format,
    model: &'static str,
    blocks: Vec<Block>,
    seals: Vec<&'static str>,
    content: Value,
}

fn thought(text: &str, seal: &str) -> Block {
    Block::Thinking { text: text.into(), opaque: Some(seal.into()) }
}

fn call(seal: Option<&str>) -> Block {
    let input = CallInput::Object(Json::trusted(r#"{"path":"a.txt"}"#));
    Block::Call(Call { id: "c1".into(), name: "read".into(), input, seal: seal.map(Into::into) })
}

fn cases() -> Vec<Case> {
    let text = || Block::Text("I look.".into());
    let called = json!({"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.txt"}});
    let thinking = |seal: &str| json!({"type":"thinking","thinking":"hm","thinkingSignature":seal});
    let said = |seal: &str| json!({"type":"text","text":"I look.","textSignature":seal});
    vec![
        Case {
            api: Api::Anthropic,
            format: Format::Anthropic,
            model: "claude-opus-4-6",
            blocks: vec![thought("hm", THOUGHT), Block::Redacted(REDACTED.into()), text(), call(None)],
            seals: vec![THOUGHT, REDACTED],
            content: json!([
                thinking(THOUGHT),
                {"type":"thinking","thinking":"[Reasoning redacted]","thinkingSignature":REDACTED,"redacted":true},
                {"type":"text","text":"I look."},
                called,
            ]),
        },
        Case {
            api: Api::Gemini,
            format: Format::Gemini,
            model: "gemini-3-mock",
            blocks: vec![thought("hm", THOUGHT), text(), thought("", TEXT), call(Some(CALL))],
            seals: vec![THOUGHT, TEXT, CALL],
            content: json!([
                thinking(THOUGHT),
                said(TEXT),
                {"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.txt"},"thoughtSignature":CALL},
            ]),
        },
        Case {
            api: Api::Responses,
            format: Format::Responses,
            model: "gpt-5.5",
            blocks: vec![thought("hm", REASONING), text(), thought("", LABEL), call(None)],
            // Of the label only the phase goes back.
            seals: vec![REASONING, r#""phase":"commentary""#],
            content: json!([thinking(REASONING), said(LABEL), called]),
        },
        Case {
            api: Api::Completions,
            format: Format::Completions,
            model: "mock/alpha",
            blocks: vec![thought("hm", DETAILS), text(), call(None)],
            seals: vec![DETAILS],
            content: json!([thinking(DETAILS), {"type":"text","text":"I look."}, called]),
        },
    ]
}

impl Case {
    fn slug(&self) -> String {
        format!("mock/{}", self.model)
    }

    fn log(&self) -> Vec<Body> {
        let end = MessageEnd::Finished(Finish::ToolUse);
        let Body::Assistant { turn, mut message } = reply(self.blocks.clone(), end) else { unreachable!() };
        message.model = self.slug().into();
        vec![opened(), user("look"), Body::Assistant { turn, message }, result("c1", false)]
    }

    /// The body of the request that goes on from this log.
    async fn request<'a>(&self, log: impl Iterator<Item = &'a Body>) -> String {
        let mock = MockModel::start().await;
        self.seals.iter().chain([&ENCRYPTED]).for_each(|seal| mock.trust(seal));
        let mut config = Config::new(mock.url(self.format));
        (config.api, config.api_key) = (self.api, Secret::new("sk-canary"));
        let client = Client::new(config).unwrap();
        let info = ModelInfo { slug: self.slug().into(), ..client.resolve(self.model).unwrap() };
        // Chat Completions has seals only where a server is known to have them.
        let compat = Compat { reasoning_back: Some(ReasoningBack::Details), ..Compat::default() };
        let mut chat = client.chat_with(&info, compat);
        for body in log {
            match body {
                Body::User { parts, .. } => chat.push(&Message::User(parts.clone())),
                Body::Assistant { message, .. } => chat.push(&Message::Assistant(message.clone())),
                Body::Call(CallEntry::Ended { result, .. }) => chat.push(&Message::Result(result.clone())),
                _ => {}
            }
        }
        let spec = CallSpec { system: "".into(), tools: [].into(), max_tokens: 32_000, thinking: Some("high".into()) };
        let mut stream = chat.call(&spec);
        while let Some(event) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
            assert!(!matches!(event, ModelEvent::Failed(_)), "{}: {event:?}", self.model);
        }
        String::from_utf8(mock.chats().pop().expect("it was asked").body).unwrap()
    }

    /// A file with this in it reads as what was said, and the next request is the same.
    async fn check(&self, file: &Path) {
        let world = MirrorWorld::new();
        let id = world.process().import(file).await.unwrap();
        let entries = world.entries(id.as_str()).await;
        let said = entries.iter().find_map(|entry| match &entry.body {
            Body::Assistant { message, .. } => Some(message.blocks.clone()),
            _ => None,
        });
        assert_eq!(said.as_ref(), Some(&self.blocks));
        let asked = self.request(entries.iter().map(|entry| &entry.body)).await;
        assert_eq!(asked, self.request(self.log().iter()).await);
        for seal in &self.seals {
            let quoted = Value::from(*seal).to_string();
            assert!(asked.contains(seal) || asked.contains(&quoted), "{seal} is not in {asked}");
        }
    }
}

#[tokio::test]
async fn seals_come_through_our_files() {
    for case in cases() {
        let world = MirrorWorld::new();
        let mut talk = RunningSession::begin(&world.process(), ID);
        talk.log(case.log()).await;
        let file = talk.file();
        talk.end().await;
        let line = std::fs::read_to_string(&file).unwrap();
        let line = line.lines().find(|line| line.contains("toolCall\"")).expect("the message has a line");
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["message"]["content"], case.content);
        case.check(&file).await;
    }
}

#[tokio::test]
async fn seals_come_through_pi_and_the_files_that_it_writes() {
    let Some(module) = pi::package() else {
        return println!("SKIP pi is not installed (PI_PACKAGE names its directory), or there is no node");
    };
    let script = r#"
        const [module, file, dir] = process.argv.slice(1);
        const { SessionManager } = await import(module);
        const { messages } = SessionManager.open(file).buildSessionContext();
        const copy = SessionManager.create('/work', dir);
        for (const message of messages) copy.appendMessage(message);
        console.log(JSON.stringify({ messages, file: copy.getSessionFile() }));
    "#;
    for case in cases() {
        let world = MirrorWorld::new();
        let mut talk = RunningSession::begin(&world.process(), ID);
        talk.log(case.log()).await;
        let file = talk.file();
        talk.end().await;
        let read = pi::node(script, &[&module, &file, &world.dir.path().join("copy")]);
        assert_eq!(read["messages"][1]["content"], case.content);
        case.check(&PathBuf::from(read["file"].as_str().unwrap())).await;
    }
}
