//! Golden lines for every kind of entry, and what is live, named and dated how.

use std::collections::HashSet;
use std::sync::Arc;

use expect_test::{Expect, expect};
use vocab::*;

use super::*;
use crate::messages::{self, Face, Faces};

struct PricedFaces;
impl Faces for PricedFaces {
    fn face(&self, slug: &str) -> Face {
        let prices = Prices { input: 1.0, output: 2.0, cache_read: 0.1, cache_write: 1.25 };
        Face { prices: Some(prices), ..Face::guess(slug) }
    }
}

struct PricelessFaces;
impl Faces for PricelessFaces {
    fn face(&self, slug: &str) -> Face {
        Face::guess(slug)
    }
}

const NOON: i64 = 1_794_781_912_000;

fn turn() -> TurnId {
    TurnId::from("t1")
}

fn opened() -> Body {
    Body::Opened {
        workspace: "/w".into(),
        model: "mock/mock-1".into(),
        mode: Mode::Prompt,
        forked_from: None,
        child_of: None,
    }
}

fn user(text: &str) -> Body {
    Body::User { turn: Some(turn()), parts: vec![Part::text(text)], from: UserFrom::Prompt }
}

fn reply(blocks: Vec<Block>, end: MessageEnd) -> Body {
    let usage = Usage { input: 100, output: 20, ..Usage::default() };
    Body::Assistant {
        turn: Some(turn()),
        message: AssistantMessage { blocks, model: "mock/mock-1".into(), end, usage },
    }
}

fn says(text: &str) -> Body {
    reply(vec![Block::Text(text.into())], MessageEnd::Finished(Finish::Stop))
}

fn calls(id: &str, name: &str, input: &str) -> Body {
    let call = Call { id: id.into(), name: name.into(), input: CallInput::Object(Json::trusted(input)), seal: None };
    reply(vec![Block::Call(call)], MessageEnd::Finished(Finish::ToolUse))
}

fn result(id: &str, tool: &str, end: CallEnd, text: &str) -> Body {
    Body::Call(CallEntry::Ended {
        turn: turn(),
        result: CallResult {
            call: id.into(),
            tool: tool.into(),
            end,
            parts: vec![Part::text(text)],
            is_error: end != CallEnd::Ran,
            duration_ms: 1,
            mutation: None,
            edits: Vec::new(),
            details: None,
        },
    })
}

fn ends(stop: Stop, fault: Option<&str>) -> Body {
    Body::Turn(TurnEntry::Ended(TurnEnd {
        turn: turn(),
        stop,
        iterations: 0,
        usage: Usage::default(),
        mutations: Vec::new(),
        fault: fault.map(|text| Fault::new(FaultKind::Provider, text)),
    }))
}

fn retrying(attempt: u32, text: &str) -> Body {
    let fault = Fault::new(FaultKind::Provider, text);
    Body::Model(ModelEntry::Retrying { turn: turn(), attempt, attempts_max: 3, wait_ms: 1, fault })
}

/// A log without branches, one millisecond between entries.
fn log(bodies: Vec<Body>) -> Vec<Arc<Entry>> {
    let entry = |(at, body)| {
        let seq = at as u64 + 1;
        Arc::new(Entry { seq, parent: seq - 1, at_ms: NOON + at as i64, body, by: None })
    };
    bodies.into_iter().enumerate().map(entry).collect()
}

fn lines(entries: &[Arc<Entry>]) -> String {
    let transcript = Transcript::new(entries, &PricedFaces);
    transcript.lines().iter().map(|line| transcript.entry_json(line) + "\n").collect()
}

fn check(bodies: Vec<Body>, expect: Expect) {
    expect.assert_eq(&lines(&log(bodies)));
}

fn context(entries: &[Arc<Entry>]) -> Vec<String> {
    Transcript::new(entries, &PricedFaces).context().iter().map(|said| said.json.to_string()).collect()
}

#[test]
fn a_conversation_with_a_tool_has_a_line_per_message() {
    check(
        vec![
            opened(),
            Body::Setting(SettingEntry::Thinking { level: Some("high".into()) }),
            Body::Turn(TurnEntry::Started { turn: turn() }),
            user("read it"),
            calls("c1", "read_file", "{\n \"path\": \"a\\nb.txt\"\r\n}"),
            result("c1", "read_file", CallEnd::Ran, "alpha \u{2028} \"beta\""),
            says("Done."),
            ends(Stop::EndTurn, None),
        ],
        expect![[r#"
            {"type":"model_change","id":"2f0a98e1","parentId":null,"timestamp":"2026-11-15T22:31:52.000Z","provider":"mock","modelId":"mock-1","model":"mock/mock-1"}
            {"type":"thinking_level_change","id":"b14cbc42","parentId":"2f0a98e1","timestamp":"2026-11-15T22:31:52.001Z","thinkingLevel":"high"}
            {"type":"message","id":"9cf20afb","parentId":"b14cbc42","timestamp":"2026-11-15T22:31:52.003Z","message":{"role":"user","content":[{"type":"text","text":"read it"}],"attribution":"user","timestamp":1794781912003}}
            {"type":"message","id":"3af4af67","parentId":"9cf20afb","timestamp":"2026-11-15T22:31:52.004Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{ "path": "a\nb.txt"}}],"api":"openai-completions","provider":"mock","model":"mock-1","usage":{"input":100,"output":20,"cacheRead":0,"cacheWrite":0,"totalTokens":120,"cost":{"input":0.00009999999999999999,"output":0.000039999999999999996,"cacheRead":0,"cacheWrite":0,"total":0.00014}},"stopReason":"toolUse","timestamp":1794781912003}}
            {"type":"message","id":"f9caa2f5","parentId":"3af4af67","timestamp":"2026-11-15T22:31:52.005Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"alpha   \"beta\""}],"isError":false,"timestamp":1794781912005}}
            {"type":"message","id":"69f61353","parentId":"f9caa2f5","timestamp":"2026-11-15T22:31:52.006Z","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"openai-completions","provider":"mock","model":"mock-1","usage":{"input":100,"output":20,"cacheRead":0,"cacheWrite":0,"totalTokens":120,"cost":{"input":0.00009999999999999999,"output":0.000039999999999999996,"cacheRead":0,"cacheWrite":0,"total":0.00014}},"stopReason":"stop","timestamp":1794781912005}}
        "#]],
    );
}

#[test]
fn every_other_kind_of_line_has_its_shape() {
    let shell = Shell {
        command: "seq 9".into(),
        output: "1\n".into(),
        exit_code: Some(3),
        cancelled: false,
        truncated: true,
        total_lines: 9,
        total_bytes: 18,
        spilled: Some("/tmp/all".into()),
        aside: true,
    };
    let compaction = Compaction {
        reason: CompactReason::Manual,
        summary: "so far".into(),
        first_kept: 4,
        tokens_before: 120,
        tokens_after: 7,
        messages_before: 4,
        messages_after: 2,
        usage: Usage::default(),
        model: "".into(),
    };
    check(
        vec![
            opened(),
            user("one"),
            says("1"),
            user("two"),
            Body::Branch(BranchEntry::Compacted(compaction)),
            Body::Shell(ShellEntry::Ended(shell)),
            Body::Note(NoteEntry::Label { target: 4, label: Some("here".into()) }),
            Body::Note(NoteEntry::Label { target: 4, label: None }),
            Body::Branch(BranchEntry::Summary { from: None, summary: "went wrong".into() }),
            Body::Setting(SettingEntry::Title { title: "My \"name\"".into() }),
            Body::Setting(SettingEntry::Model { model: "mock/mock-1".into(), called: None }),
            Body::Setting(SettingEntry::Model { model: "other/m/2".into(), called: None }),
            Body::Setting(SettingEntry::Thinking { level: None }),
            Body::User { turn: None, parts: vec![Part::text("tasks are open")], from: UserFrom::Reminder },
            Body::User {
                turn: None,
                parts: vec![Part::Image(Image { mime: "image/png".into(), base64: "iVBO".into() })],
                from: UserFrom::Steer,
            },
        ],
        expect![[r#"
            {"type":"model_change","id":"2f0a98e1","parentId":null,"timestamp":"2026-11-15T22:31:52.000Z","provider":"mock","modelId":"mock-1","model":"mock/mock-1"}
            {"type":"message","id":"0db5b752","parentId":"2f0a98e1","timestamp":"2026-11-15T22:31:52.001Z","message":{"role":"user","content":[{"type":"text","text":"one"}],"attribution":"user","timestamp":1794781912001}}
            {"type":"message","id":"27c6ca8e","parentId":"0db5b752","timestamp":"2026-11-15T22:31:52.002Z","message":{"role":"assistant","content":[{"type":"text","text":"1"}],"api":"openai-completions","provider":"mock","model":"mock-1","usage":{"input":100,"output":20,"cacheRead":0,"cacheWrite":0,"totalTokens":120,"cost":{"input":0.00009999999999999999,"output":0.000039999999999999996,"cacheRead":0,"cacheWrite":0,"total":0.00014}},"stopReason":"stop","timestamp":1794781912001}}
            {"type":"message","id":"d0dc7ee2","parentId":"27c6ca8e","timestamp":"2026-11-15T22:31:52.003Z","message":{"role":"user","content":[{"type":"text","text":"two"}],"attribution":"user","timestamp":1794781912003}}
            {"type":"compaction","id":"ce754a3c","parentId":"d0dc7ee2","timestamp":"2026-11-15T22:31:52.004Z","summary":"so far","firstKeptEntryId":"d0dc7ee2","tokensBefore":120}
            {"type":"message","id":"9bd63bff","parentId":"ce754a3c","timestamp":"2026-11-15T22:31:52.005Z","message":{"role":"bashExecution","command":"seq 9","output":"1\n","exitCode":3,"cancelled":false,"truncated":true,"fullOutputPath":"/tmp/all","timestamp":1794781912005,"excludeFromContext":true}}
            {"type":"label","id":"029229ed","parentId":"9bd63bff","timestamp":"2026-11-15T22:31:52.006Z","targetId":"d0dc7ee2","label":"here"}
            {"type":"label","id":"a98c4d87","parentId":"029229ed","timestamp":"2026-11-15T22:31:52.007Z","targetId":"d0dc7ee2"}
            {"type":"branch_summary","id":"ab2c3b9b","parentId":"a98c4d87","timestamp":"2026-11-15T22:31:52.008Z","fromId":"a98c4d87","summary":"went wrong"}
            {"type":"session_info","id":"98239741","parentId":"ab2c3b9b","timestamp":"2026-11-15T22:31:52.009Z","name":"My \"name\""}
            {"type":"model_change","id":"8606ebae","parentId":"98239741","timestamp":"2026-11-15T22:31:52.011Z","provider":"other","modelId":"m/2","model":"other/m/2"}
            {"type":"thinking_level_change","id":"c877976b","parentId":"8606ebae","timestamp":"2026-11-15T22:31:52.012Z","thinkingLevel":"off"}
            {"type":"message","id":"2d8f08e0","parentId":"c877976b","timestamp":"2026-11-15T22:31:52.013Z","message":{"role":"developer","content":[{"type":"text","text":"tasks are open"}],"synthetic":true,"timestamp":1794781912013}}
            {"type":"message","id":"1f22b23b","parentId":"2d8f08e0","timestamp":"2026-11-15T22:31:52.014Z","message":{"role":"user","content":[{"type":"image","data":"iVBO","mimeType":"image/png"}],"attribution":"user","timestamp":1794781912014}}
        "#]],
    );
}

#[test]
fn blocks_keep_their_order_and_their_seals() {
    let blocks = vec![
        Block::Thinking { text: "hm".into(), opaque: None },
        Block::Thinking { text: "hm".into(), opaque: Some("seal".into()) },
        Block::Redacted("only the seal".into()),
        Block::Text("a".into()),
        Block::Thinking { text: "".into(), opaque: Some("of the text".into()) },
        Block::Thinking { text: "".into(), opaque: Some("of nothing".into()) },
        Block::Call(Call {
            id: "c1".into(),
            name: "glob_search".into(),
            input: CallInput::Broken { text: "{\"a".into(), detail: "cut".into() },
            seal: Some("signed".into()),
        }),
    ];
    let mut out = Vec::new();
    for (block, signature) in messages::shown(&blocks) {
        messages::block(&mut out, block, signature);
        out.push(b'\n');
    }
    expect![[r#"
        {"type":"thinking","thinking":"hm"}
        {"type":"thinking","thinking":"hm","thinkingSignature":"seal"}
        {"type":"thinking","thinking":"[Reasoning redacted]","thinkingSignature":"only the seal","redacted":true}
        {"type":"text","text":"a","textSignature":"of the text"}
        {"type":"thinking","thinking":"","thinkingSignature":"of nothing"}
        {"type":"toolCall","id":"c1","name":"find","arguments":{},"thoughtSignature":"signed"}
    "#]]
    .assert_eq(&String::from_utf8(out).unwrap());
}

#[test]
fn ends_that_went_wrong_say_so() {
    let fault = |status, text: &str| {
        let mut failed = ModelFault::new(FaultKind::Provider, text);
        failed.fault.status = status;
        MessageEnd::Failed(failed)
    };
    let ends = [
        MessageEnd::Finished(Finish::Length),
        MessageEnd::Finished(Finish::Refusal),
        MessageEnd::Interrupted,
        fault(Some(500), "Internal server error"),
        fault(Some(429), "429 Rate limit reached"),
        fault(None, ""),
    ];
    let shown: String = ends.iter().map(|end| format!("{:?}\n", messages::stop_reason(end))).collect();
    expect![[r#"
        ("length", None)
        ("error", Some("The model refused to answer"))
        ("aborted", Some("Request was aborted"))
        ("error", Some("500 Internal server error"))
        ("error", Some("429 Rate limit reached"))
        ("error", Some("The request failed"))
    "#]]
    .assert_eq(&shown);
}

#[test]
fn a_tool_that_nobody_knows_is_named_in_fixed_words() {
    let text = lines(&log(vec![opened(), calls("c1", "nope", "{}"), result("c1", "nope", CallEnd::Unknown, "ours")]));
    assert!(text.contains(r#""content":[{"type":"text","text":"Tool nope not found"}],"details":{},"isError":true"#));
    assert!(!text.contains("ours"));
}

#[test]
fn a_host_s_tool_that_was_aborted_is_said_to_be_one() {
    let asked = Body::Ask(AskEntry::Opened(Ask {
        id: "a1".into(),
        turn: Some(turn()),
        kind: AskKind::HostCall { call: "c1".into(), tool: "lookup".into(), input: Json::empty_object() },
        timeout_ms: None,
    }));
    let entries = log(vec![
        asked,
        result("c1", "lookup", CallEnd::Interrupted, "interrupted"),
        result("c2", "read_file", CallEnd::Interrupted, "interrupted"),
    ]);
    let said = context(&entries);
    assert!(said[0].contains(r#""text":"Host tool \"lookup\" was aborted""#), "{said:?}");
    assert!(said[1].contains(r#""text":"interrupted""#), "{said:?}");
}

#[test]
fn a_failed_try_is_in_the_file_but_not_live() {
    let entries = log(vec![opened(), user("x"), retrying(1, "500 oops"), says("ok"), ends(Stop::EndTurn, None)]);
    assert!(lines(&entries).contains(r#""stopReason":"error","timestamp":1794781912001,"errorMessage":"500 oops""#));
    assert_eq!(context(&entries).len(), 2);
}

#[test]
fn a_turn_that_is_interrupted_outside_a_reply_gets_an_empty_aborted_message() {
    let mut bodies = vec![opened(), user("x"), calls("c1", "bash", "{}")];
    bodies.push(result("c1", "bash", CallEnd::Interrupted, "interrupted"));
    bodies.push(ends(Stop::Interrupted, None));
    let transcript = Transcript::new(&log(bodies), &PricedFaces);
    let last = transcript.context().pop().unwrap();
    assert!(last.empty && last.json.starts_with(r#"{"role":"assistant","content":[],"api""#), "{}", last.json);
    assert!(
        last.json.contains(r#""stopReason":"aborted","timestamp":1794781912003,"errorMessage":"Request was aborted""#)
    );
}

#[test]
fn a_reply_that_was_cut_short_is_the_aborted_message_itself() {
    let entries = log(vec![opened(), user("x"), reply(vec![], MessageEnd::Interrupted), ends(Stop::Interrupted, None)]);
    assert_eq!(context(&entries).len(), 2);
}

#[test]
fn a_turn_that_fails_before_any_word_leaves_an_error_message() {
    let entries = log(vec![opened(), user("x"), ends(Stop::Error, Some("400 no"))]);
    assert!(context(&entries)[1].contains(r#""stopReason":"error","timestamp":1794781912001,"errorMessage":"400 no""#));
    let failed = MessageEnd::Failed(ModelFault::new(FaultKind::StreamCut, "cut"));
    let entries = log(vec![opened(), user("x"), reply(vec![], failed), ends(Stop::Error, Some("cut"))]);
    assert_eq!(context(&entries).len(), 2, "the failed reply says it already");
}

#[test]
fn a_retry_that_is_called_off_says_its_error_once_and_one_that_is_spent_says_the_last_too() {
    let file = |bodies| Transcript::new(&log(bodies), &PricedFaces).lines().len();
    assert_eq!(file(vec![opened(), user("x"), retrying(1, "500"), ends(Stop::Error, Some("500"))]), 3);
    assert_eq!(file(vec![opened(), user("x"), retrying(1, "500"), ends(Stop::Error, Some("400"))]), 4);
    assert_eq!(file(vec![opened(), user("x"), retrying(3, "500"), ends(Stop::Error, Some("500"))]), 4);
}

#[test]
fn an_answer_is_dated_by_what_it_answers_whatever_is_logged_beside_it() {
    let entries = log(vec![opened(), user("x"), Body::Setting(SettingEntry::Title { title: "t".into() }), says("ok")]);
    assert!(context(&entries)[1].contains(r#""timestamp":1794781912001}"#));
    let mut projector = Projector::new();
    for entry in &entries[..3] {
        projector.take(entry, &PricedFaces);
    }
    assert_eq!(projector.now_ms(), NOON + 1);
}

#[test]
fn compaction_leaves_the_summary_and_what_was_kept() {
    let compaction = |first_kept| {
        Body::Branch(BranchEntry::Compacted(Compaction {
            reason: CompactReason::Manual,
            summary: "sum".into(),
            first_kept,
            tokens_before: 9,
            tokens_after: 1,
            messages_before: 4,
            messages_after: 2,
            usage: Usage::default(),
            model: "".into(),
        }))
    };
    let entries = log(vec![opened(), user("a"), says("1"), user("b"), says("2"), compaction(4), user("c")]);
    let kept = context(&entries);
    assert_eq!(kept[0], r#"{"role":"compactionSummary","summary":"sum","tokensBefore":9,"timestamp":1794781912005}"#);
    assert_eq!(kept.len(), 4);
    assert!(kept[1].contains(r#""text":"b""#) && kept[3].contains(r#""text":"c""#));
    let stats = Transcript::new(&entries, &PricedFaces).stats();
    assert_eq!((stats.user_messages, stats.assistant_messages, stats.total_messages), (2, 1, 4));
    let nothing = log(vec![opened(), user("a"), says("1"), compaction(4), user("c")]);
    assert_eq!(context(&nothing).len(), 2, "nothing is kept where nothing was named");
}

#[test]
fn a_branch_hangs_where_the_log_says_and_only_one_is_live() {
    let mut entries = log(vec![opened(), user("a"), says("1"), user("b"), says("2")]);
    for (seq, parent, body) in
        [(6, 3, Body::Branch(BranchEntry::Moved { to: 3 })), (7, 6, user("c")), (8, 7, says("3"))]
    {
        entries.push(Arc::new(Entry { seq, parent, at_ms: NOON + seq as i64, body, by: None }));
    }
    let transcript = Transcript::new(&entries, &PricedFaces);
    let texts: Vec<String> = transcript.context().iter().map(|said| said.text.to_string()).collect();
    assert_eq!(texts, ["a", "1", "c", "3"]);
    let users: Vec<String> = transcript.users().iter().map(|(_, text)| text.to_string()).collect();
    assert_eq!(users, ["a", "b", "c"], "all branches");
    let c = transcript.lines().iter().find(|line| line.seq == 7).unwrap();
    assert_eq!(c.parent.as_ref(), transcript.name_of(3));
    assert_eq!(transcript.leaf(), transcript.name_of(8));
    let mut tree = Vec::new();
    transcript.tree_json(&mut tree);
    let tree: serde_json::Value = serde_json::from_slice(&tree).unwrap();
    let fork = &tree[0]["children"][0]["children"][0]["children"];
    assert_eq!(fork.as_array().unwrap().len(), 2);
    assert_eq!(fork[1]["entry"]["message"]["content"][0]["text"], "c");
}

#[test]
fn a_long_conversation_makes_a_deep_tree_without_recursion() {
    let mut bodies = vec![opened()];
    bodies.extend((0..20_000).map(|at| user(&at.to_string())));
    let mut tree = Vec::new();
    Transcript::new(&log(bodies), &PricelessFaces).tree_json(&mut tree);
    assert_eq!(tree.iter().filter(|byte| **byte == b'[').count(), 2 * 20_001);
}

#[test]
fn names_do_not_depend_on_numbers_or_prices_and_repeat_nowhere() {
    let entries = log(vec![opened(), user("a"), Body::Note(NoteEntry::Recovered { text: "x".into() }), says("1")]);
    let names = |entries: &[Arc<Entry>], faces: &dyn Faces| -> Vec<LineName> {
        Transcript::new(entries, faces).lines().iter().map(|line| line.name.clone()).collect()
    };
    let before = names(&entries, &PricedFaces);
    assert_eq!(before, names(&entries, &PricelessFaces));
    let mut renumbered = entries.clone();
    renumbered.remove(2);
    renumbered[2] = Arc::new(Entry { seq: 3, parent: 2, ..(*entries[3]).clone() });
    assert_eq!(before, names(&renumbered, &PricedFaces));
    let same: Vec<Arc<Entry>> = (1..=500)
        .map(|seq| Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, body: user("again"), by: None }))
        .collect();
    let many: HashSet<LineName> = names(&same, &PricedFaces).into_iter().collect();
    assert_eq!(many.len(), 500);
}

#[test]
fn foreign_names_are_kept_and_an_imported_session_has_no_line_of_its_own_making() {
    let names = vec![(3, "cafe0001".into()), (4, "cafe0002".into())];
    let entries = log(vec![
        opened(),
        Body::Note(NoteEntry::Imported { file: None, names, raws: Vec::new() }),
        Body::Setting(SettingEntry::Model { model: "mock/mock-1".into(), called: None }),
        user("a"),
    ]);
    let transcript = Transcript::new(&entries, &PricedFaces);
    let shown: Vec<_> = transcript.lines().iter().map(|line| (line.name.to_string(), line.parent.as_deref())).collect();
    assert_eq!(shown, [("cafe0001".to_owned(), None), ("cafe0002".to_owned(), Some("cafe0001"))]);
}

#[test]
fn from_the_middle_of_a_log_no_message_is_without_a_time() {
    let entries = log(vec![opened(), user("a"), says("1"), ends(Stop::Budget, Some("spent"))]);
    let mut projector = Projector::new();
    projector.assume("mock/mock-1", 0);
    let lines = projector.take(&entries[3], &PricedFaces);
    let json = lines.iter().find_map(|line| match &line.kind {
        LineKind::Message(said) => Some(said.json.clone()),
        _ => None,
    });
    let json = json.expect("the turn ends with a message");
    assert!(json.contains(&format!(r#""timestamp":{}"#, NOON + 3)), "{json}");
}

#[test]
fn from_the_middle_of_a_log_the_messages_are_the_same() {
    let entries = log(vec![opened(), user("a"), says("1"), user("b"), says("2"), ends(Stop::Interrupted, None)]);
    let whole = Transcript::new(&entries, &PricedFaces);
    let mut projector = Projector::new();
    projector.assume("mock/mock-1", NOON + 2);
    let late: Vec<TranscriptLine> = entries[3..].iter().flat_map(|entry| projector.take(entry, &PricedFaces)).collect();
    let json = |line: &TranscriptLine| match &line.kind {
        LineKind::Message(said) => said.json.clone(),
        _ => "".into(),
    };
    let shown: Vec<_> = late.iter().map(json).collect();
    assert_eq!(shown, whole.lines()[3..].iter().map(json).collect::<Vec<_>>());
}

#[test]
fn times_are_written_as_the_family_does() {
    assert_eq!(iso8601(1_794_781_911_876), "2026-11-15T22:31:51.876Z");
    assert_eq!(iso8601(951_782_400_000), "2000-02-29T00:00:00.000Z");
    assert_eq!(iso8601(-1), "1969-12-31T23:59:59.999Z");
}

#[test]
fn what_sub_agents_used_is_counted_with_the_result_of_their_call() {
    let spent = |model: &str, output| {
        Body::Model(ModelEntry::Spent {
            turn: Some(turn()),
            call: Some("c1".into()),
            model: model.into(),
            usage: Usage { output, ..Usage::default() },
        })
    };
    let with = |bodies: Vec<Body>| {
        let all = [opened(), user("go"), calls("c1", "subagent", "{}")].into_iter().chain(bodies);
        let rest =
            [result("c1", "subagent", CallEnd::Ran, "done"), result("c2", "read", CallEnd::Ran, "x"), says("ok")];
        Transcript::new(&log(all.chain(rest).collect()), &PricedFaces).stats()
    };
    let (without, both) = (with(vec![]), with(vec![spent("mock/mock-1", 7), spent("mock/mock-1", 3)]));
    assert_eq!(both.usage.output, without.usage.output + 10);
    let one = without.cost - with(vec![spent("mock/mock-1", 1_000_000)]).cost;
    assert!(one < 0.0 && (both.cost - without.cost + one * 1e-5).abs() < 1e-12, "{both:?}");
}

#[test]
fn what_is_not_in_the_log_moves_no_name() {
    let entry = |seq: u64, body| Entry { seq, parent: seq.saturating_sub(1), at_ms: NOON, body, by: None };
    let mut projector = Projector::new();
    projector.take(&entry(5, calls("c1", "bash", "{}")), &PricedFaces);
    let told = projector.take(&entry(0, result("c1", "bash", CallEnd::Lost, "no result")), &PricedFaces);
    assert!(
        matches!(&told[..], [TranscriptLine { kind: LineKind::Message(said), .. }] if said.role == MessageRole::ToolResult)
    );
    let line = projector.take(&entry(6, user("again")), &PricedFaces).remove(0);
    assert_eq!((line.parent.as_ref(), projector.name_of(6)), (projector.name_of(5), Some(&line.name)));
}
