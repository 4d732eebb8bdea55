//! The requests of the real client, in every wire format, against the parameter types of the vendors' official SDKs: a key that
//! the vendor does not know, or a value of another type, is an error there. The mock model server takes them first, and refuses
//! a history that the vendor would refuse. The validation itself is in `tests/peers`.
//!
//! Needs `python3` and PyPI once: without them the test says `SKIP` and why.

use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;

use providers::{Api, Client, Config, Secret};
use testkit::mock_model::{Format, MockModel};
use vocab::{
    AssistantMessage, Block, Call, CallEnd, CallInput, CallResult, CallSpec, Chat, FaultKind, Finish, Image, Json,
    Message, MessageEnd, ModelEvent, ModelFault, Part, Provider, ToolSpec, Usage,
};

use crate::peers_install::{CHECKS_PATIENCE, run};
use crate::peers_models::checks;

/// The formats, each with models that are asked in different ways.
const MODELS: [(Api, Format, &[&str]); 4] = [
    (Api::Completions, Format::Completions, &["mock/alpha"]),
    (Api::Anthropic, Format::Anthropic, &["claude-opus-4-6", "claude-sonnet-4-5", "claude-3-5-haiku-20241022"]),
    (Api::Responses, Format::Responses, &["gpt-5.5", "gpt-4.1"]),
    (Api::Gemini, Format::Gemini, &["gemini-3-mock", "gemini-2.5-flash", "gemini-2.5-pro"]),
];

const LEVELS: [Option<&str>; 7] =
    [None, Some("off"), Some("minimal"), Some("low"), Some("medium"), Some("high"), Some("xhigh")];

/// Three rounds of calls, each with its thought, the second with two calls; then the answer.
const LOOP: &str = "think \"first\" and call read {\"path\":\"a\"} then think \"second\" and call read {\"path\":\"b\"} and \
                    call bash.run {\"command\":\"ls\"} then think \"third\" and call read then say \"all done\"";

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

/// One conversation with one model.
struct Talk {
    chat: Box<dyn Chat>,
    model: Arc<str>,
    spec: CallSpec,
}

fn tools() -> Arc<[ToolSpec]> {
    // A schema as servers of tools send them, with more in it than any vendor takes.
    let schema = r##"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,
        "properties":{"path":{"type":"string","description":"Which.","minLength":1},"lines":{"type":["integer","null"],"default":7},
        "how":{"anyOf":[{"const":"fast"},{"enum":["slow","slower"]}]},"deep":{"$ref":"#/$defs/deep"}},
        "$defs":{"deep":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number"}}}}}}"##;
    let tool = |name: &str, schema: &str| ToolSpec {
        name: name.into(),
        description: "Does it.".into(),
        schema: Json::trusted(schema),
    };
    Arc::from([tool("read", schema), tool("bash.run", r#"{"type":"object","properties":{}}"#), tool("none", "{}")])
}

fn image() -> Part {
    Part::Image(Image { mime: "image/png".into(), base64: PIXEL.into() })
}

fn user(text: &str) -> Message {
    Message::User(vec![Part::text(text)])
}

fn call(id: &str, name: &str, input: &str) -> Block {
    let input = CallInput::Object(Json::trusted(input));
    Block::Call(Call { id: id.into(), name: name.into(), input, seal: None })
}

fn said(model: &str, blocks: Vec<Block>, end: MessageEnd) -> Message {
    Message::Assistant(AssistantMessage { blocks, model: model.into(), end, usage: Usage::default() })
}

fn result(id: &str, tool: &str, parts: Vec<Part>, is_error: bool) -> Message {
    Message::Result(CallResult {
        call: id.into(),
        tool: tool.into(),
        end: CallEnd::Ran,
        parts,
        is_error,
        duration_ms: 1,
        mutation: None,
        edits: Vec::new(),
        details: None,
    })
}

impl Talk {
    /// What the server says to all that was said; it is the next message of the conversation.
    async fn answer(&mut self) -> AssistantMessage {
        let mut stream = self.chat.call(&self.spec);
        let mut events = Vec::new();
        while let Some(event) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
            events.push(event);
        }
        let message = gathered(&self.model, &events);
        self.chat.push(&Message::Assistant(message.clone()));
        message
    }

    /// Goes on until the model calls no more; each call gets the next of these results, the last of them again and again.
    async fn until_done(&mut self, results: &[Vec<Part>]) -> String {
        let mut results = results.iter();
        let mut parts = vec![Part::text("fine")];
        loop {
            let message = self.answer().await;
            if message.calls().next().is_none() {
                return message.text();
            }
            for call in message.calls() {
                parts = results.next().unwrap_or(&parts).clone();
                self.chat.push(&result(call.id.as_str(), &call.name, parts.clone(), parts.is_empty()));
            }
        }
    }

    async fn ask(&mut self, prompt: &str) -> String {
        self.chat.push(&user(prompt));
        self.until_done(&[]).await
    }
}

/// A message as it is gathered from events: a seal belongs to the thinking or the call before it, or stands alone.
fn gathered(model: &str, events: &[ModelEvent]) -> AssistantMessage {
    let mut blocks: Vec<Block> = Vec::new();
    let mut end = None;
    for event in events {
        match (event, blocks.last_mut()) {
            (ModelEvent::Text(delta), Some(Block::Text(text))) => *text = format!("{text}{delta}").into(),
            (ModelEvent::Text(delta), _) => blocks.push(Block::Text(delta.as_str().into())),
            (ModelEvent::Thinking(delta), Some(Block::Thinking { text, opaque: None })) => {
                *text = format!("{text}{delta}").into();
            }
            (ModelEvent::Thinking(delta), _) => {
                blocks.push(Block::Thinking { text: delta.as_str().into(), opaque: None });
            }
            (ModelEvent::Seal(seal), Some(Block::Thinking { opaque: to @ None, .. })) => {
                *to = Some(seal.as_str().into())
            }
            (ModelEvent::Seal(seal), Some(Block::Call(Call { seal: to @ None, .. }))) => {
                *to = Some(seal.as_str().into())
            }
            (ModelEvent::Seal(seal), _) => {
                blocks.push(Block::Thinking { text: "".into(), opaque: Some(seal.as_str().into()) });
            }
            (ModelEvent::Redacted(sealed), _) => blocks.push(Block::Redacted(sealed.as_str().into())),
            // The server's scripts send every call in one piece.
            (ModelEvent::Call { id: Some(id), name: Some(name), input, .. }, _) => {
                blocks.push(call(id, name, if input.is_empty() { "{}" } else { input }));
            }
            (ModelEvent::Call { input, .. }, Some(Block::Call(call))) => {
                let before = call.input.json();
                let before = if before.as_str() == "{}" { "" } else { before.as_str() };
                call.input = CallInput::Object(Json::trusted(format!("{before}{input}")));
            }
            (ModelEvent::Finished(finish), _) => end = Some(MessageEnd::Finished(*finish)),
            (ModelEvent::Failed(fault), _) => panic!("refused: {fault:?}"),
            (ModelEvent::Sent { .. } | ModelEvent::Usage(_) | ModelEvent::Call { .. }, _) => {}
        }
    }
    AssistantMessage { blocks, model: model.into(), end: end.expect("an end"), usage: Usage::default() }
}

async fn plain(mut talk: Talk) {
    assert_eq!(talk.ask("say 2 words").await, "w1 w2");
    assert_eq!(talk.ask("say again").await, "again");
}

async fn without_anything(mut talk: Talk) {
    (talk.spec.system, talk.spec.tools) = ("".into(), Arc::from([]));
    assert_eq!(talk.ask("say x").await, "x");
}

async fn three_rounds(mut talk: Talk) {
    assert_eq!(talk.ask(LOOP).await, "all done");
    // The same again: what was sealed in an earlier turn is sent beside what is sealed in this one.
    assert_eq!(talk.ask(LOOP).await, "all done");
    assert_eq!(talk.ask("redact \"hm\" and say x").await, "x");
    assert_eq!(talk.ask("say bye").await, "bye");
}

async fn images_and_odd_results(mut talk: Talk) {
    let prompt = "call read and call read and call read and call read then say seen";
    talk.chat.push(&Message::User(vec![image(), Part::text(prompt)]));
    let results =
        [vec![image()], vec![Part::text("two"), image(), image()], vec![], vec![Part::text(""), Part::text("four")]];
    assert_eq!(talk.until_done(&results).await, "seen");
    talk.chat.push(&Message::User(vec![Part::text("say x"), image(), image()]));
    assert_eq!(talk.until_done(&[]).await, "x");
}

/// A history that another model made, with ids, names and seals of its kind.
async fn foreign_history(mut talk: Talk) {
    let long = "call_".repeat(30);
    let ids = ["call_1|fc_68af3c", "toolu_01A.b:c", "", &long];
    let end = MessageEnd::Finished(Finish::ToolUse);
    talk.chat.push(&user("go"));
    for seal in [None, Some("Zm9yZWlnbg==")] {
        let mut blocks = vec![
            Block::Thinking { text: "mine".into(), opaque: seal.map(Into::into) },
            Block::Redacted("Zm9yZWlnbg==".into()),
            Block::Text("so".into()),
        ];
        blocks.extend(ids.map(|id| call(id, "mcp.server/tool", r#"{"a":[1,{"b":null}]}"#)));
        if let Some(Block::Call(call)) = blocks.last_mut() {
            call.seal = seal.map(Into::into);
            call.input = CallInput::Broken { text: "{\"a\": tru".into(), detail: "ends early".into() };
        }
        talk.chat.push(&said("other/model", blocks, end.clone()));
        for id in ids.into_iter().rev() {
            talk.chat.push(&result(id, "mcp.server/tool", vec![Part::text("r")], id.is_empty()));
        }
    }
    let thought = Block::Thinking { text: "only".into(), opaque: Some("Zm9yZWlnbg==".into()) };
    talk.chat.push(&said("other/model", vec![thought], MessageEnd::Finished(Finish::Stop)));
    assert_eq!(talk.ask(LOOP).await, "all done");
}

/// A foreign model stopped in the middle of its tool loop, and this one goes on.
async fn foreign_loop(mut talk: Talk) {
    talk.chat.push(&user("call read then say \"went on\""));
    let thought = Block::Thinking { text: "mine".into(), opaque: Some("Zm9yZWlnbg==".into()) };
    let blocks = vec![thought, call("toolu_1", "read", "{}")];
    talk.chat.push(&said("other/model", blocks, MessageEnd::Finished(Finish::ToolUse)));
    talk.chat.push(&result("toolu_1", "read", vec![Part::text("r")], false));
    assert_eq!(talk.until_done(&[]).await, "went on");
}

/// Answers that were cut short, empty ones, calls without results, results without calls, the user twice in a row.
async fn half_answers(mut talk: Talk) {
    let model = talk.model.clone();
    let cut = || MessageEnd::Failed(ModelFault::new(FaultKind::StreamCut, "cut"));
    let whole = MessageEnd::Finished(Finish::ToolUse);
    let thought = |text: &str| Block::Thinking { text: text.into(), opaque: None };
    let histories = [
        vec![said(&model, vec![], MessageEnd::Interrupted)],
        vec![said(&model, vec![thought("h")], MessageEnd::Interrupted)],
        vec![said(&model, vec![thought("h"), Block::Text("half a".into())], cut())],
        vec![said(&model, vec![Block::Text(" \n".into())], MessageEnd::Finished(Finish::Stop))],
        vec![said(&model, vec![Block::Text("x".into()), call("c1", "read", "{}")], MessageEnd::Interrupted)],
        vec![said(&model, vec![call("c2", "read", "{}"), call("c3", "read", "{}")], whole.clone())],
        vec![
            said(&model, vec![call("c4", "read", "{}"), call("c5", "read", "{}")], whole.clone()),
            result("c5", "read", vec![Part::text("r")], false),
        ],
        vec![said(&model, vec![call("c6", "read", "{}")], cut()), result("c6", "read", vec![Part::text("r")], false)],
        vec![result("nobody", "read", vec![Part::text("r")], false)],
        vec![user(""), user(" "), user("twice")],
        vec![Message::User(vec![])],
    ];
    for history in &histories {
        talk.chat.clear();
        talk.chat.push(&user("go"));
        history.iter().for_each(|message| talk.chat.push(message));
        assert_eq!(talk.ask("say x").await, "x");
    }
    talk.chat.clear();
    histories.iter().flatten().for_each(|message| talk.chat.push(message));
    assert_eq!(talk.ask("call read then say y").await, "y");
}

/// Every story with this model; their requests are left in `into`, one file each.
async fn record(api: Api, format: Format, model: &str, into: &Path) {
    let mock = MockModel::start().await;
    let mut config = Config::new(mock.url(format));
    (config.api, config.api_key) = (api, Secret::new("sk-canary"));
    let client = Client::new(config).unwrap();
    let talk = |level: Option<&str>| {
        let info = client.resolve(model).unwrap();
        let chat = client.chat(&info).unwrap();
        let thinking = level.map(Into::into);
        let spec = CallSpec { system: "be brief".into(), tools: tools(), max_tokens: 32_000, thinking };
        Talk { chat, model: info.slug, spec }
    };
    let mut written = 0;
    let mut keep = |story: &str| {
        let chats = mock.chats();
        assert!(chats.len() > written, "{story} asked nothing");
        for (at, request) in chats.iter().enumerate().skip(written) {
            let name = format!("{} {} {story} {at:03}.json", api.as_str(), model.replace('/', "_"));
            std::fs::write(into.join(name), &request.body).unwrap();
        }
        written = chats.len();
    };
    plain(talk(None)).await;
    keep("plain");
    without_anything(talk(None)).await;
    keep("bare");
    for level in LEVELS {
        three_rounds(talk(level)).await;
        keep(&format!("rounds-{}", level.unwrap_or("unset")));
    }
    images_and_odd_results(talk(None)).await;
    keep("pictures");
    for level in [None, Some("high")] {
        let named = level.unwrap_or("unset");
        foreign_history(talk(level)).await;
        keep(&format!("foreign-{named}"));
        foreign_loop(talk(level)).await;
        keep(&format!("foreign-loop-{named}"));
        half_answers(talk(level)).await;
        keep(&format!("halves-{named}"));
    }
}

#[tokio::test]
async fn every_request_fits_the_parameter_types_of_the_vendors_sdk() {
    let requests = tempfile::tempdir().unwrap();
    for (api, format, models) in MODELS {
        for model in models {
            record(api, format, model, requests.path()).await;
        }
    }
    match checks("models_requests.py") {
        Ok(mut checks) => {
            checks.env("PEER_REQUESTS", requests.path());
            let written = std::fs::read_dir(requests.path()).unwrap().count();
            // Each request, and for each format that wrong ones are refused.
            run(&mut checks, CHECKS_PATIENCE).expect("the validation ends").checked(written + MODELS.len());
        }
        Err(why) => println!("SKIP {why}"),
    }
}
