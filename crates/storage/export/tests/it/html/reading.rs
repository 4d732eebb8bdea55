//! What a reader finds in a page.

use std::time::{Duration, Instant};

use vocab::*;

use super::*;

fn said(text: &str) -> Vec<Body> {
    vec![
        opened(),
        Body::Turn(TurnEntry::Started { turn: turn() }),
        user("do it"),
        reply(vec![Block::Text(text.into())]),
    ]
}

#[tokio::test]
async fn the_head_says_what_the_session_was() {
    let mut bodies = said("# Done");
    bodies.insert(4, turn_ended(Stop::EndTurn, None));
    let (html, page) = export(bodies).await;
    assert!(html.contains("<title>do it</title>") && html.contains("<h1>do it</h1>"));
    for fact in [
        "<dt>model</dt><dd>tour</dd>",
        "<dt>workspace</dt><dd>/work/space</dd>",
        "2026-11-15 22:28 UTC</dd>",
        "<dd>2 messages, 1 turn, 0 tool calls</dd>",
        "<dd>1,200 in, 300 cache read, 20 cache write, 45 out</dd>",
        "<dt>cost</dt><dd>unknown</dd>",
    ] {
        assert!(html.contains(fact), "{fact}");
    }
    assert!(page.text.contains("turn 1, 4.5 s, 1 tool round; tokens: 1,200 in"));
    assert!(html.contains("45 out</p>\n</section>"), "what follows a turn stands outside of it");
}

#[tokio::test]
async fn a_turn_that_never_ended_is_counted_too() {
    let (html, _) = export(said("hm")).await;
    assert!(html.contains("<dd>1,200 in, 300 cache read, 20 cache write, 45 out</dd>"));
}

#[tokio::test]
async fn a_title_wins_over_the_first_prompt() {
    let mut bodies = said("x");
    bodies.push(Body::Setting(SettingEntry::Title { title: "A better name".into() }));
    assert!(export(bodies).await.0.contains("<title>A better name</title>"));
}

#[tokio::test]
async fn a_command_is_a_card_with_its_output() {
    let blocks = vec![call("c1", "bash", "{\"command\":\"ls -l\\necho x\",\"timeout\":5}")];
    let bodies = vec![opened(), reply(blocks), ended(result("c1", "bash", "total \u{1b}[31m0\u{1b}[0m"))];
    let (html, page) = export(bodies).await;
    assert!(html.contains("<details class=\"call\"><summary><span class=\"tool\">bash</span> "), "{html}");
    assert!(html.contains("<code class=\"about\">$ ls -l \u{2026}</code>") && html.contains(">1.2 s</span>"));
    assert!(html.contains("<pre class=\"sh\"><span class=\"p\">$ </span><code>ls -l"));
    assert!(page.text.contains("total 0") && html.contains("<dt>timeout</dt><dd><code><span class=\"n\">5</span>"));
}

#[tokio::test]
async fn an_edit_is_an_open_card_with_a_diff() {
    let blocks = vec![call("c1", "edit_file", "{\"path\":\"src/a.rs\",\"old_string\":\"b\",\"new_string\":\"B\"}")];
    let mut done = result("c1", "edit_file", "edited");
    done.edits = vec![FileEdit {
        path: "src/a.rs".into(),
        before: Snapshot::Text("a\nb\n".into()),
        after: Snapshot::Text("a\nB\n".into()),
    }];
    let (html, page) = export(vec![opened(), reply(blocks), ended(done)]).await;
    assert!(html.contains("<details class=\"call\" open>") && html.contains("+1 \u{2212}1"));
    assert!(page.text.contains("--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"));
    assert!(html.contains("<span class=\"da\">+B\n</span>") && html.contains("<span class=\"dr\">-b\n</span>"));
}

#[tokio::test]
async fn what_failed_is_marked() {
    let mut failed = result("c1", "bash", "no such file");
    failed.is_error = true;
    let mut denied = result("c2", "bash", "denied");
    denied.end = CallEnd::Denied;
    let calls = ["c1", "c2", "c3"].map(|id| call(id, "bash", "{}")).to_vec();
    let (html, _) = export(vec![opened(), reply(calls), ended(failed), ended(denied)]).await;
    assert_eq!(html.matches("<details class=\"call bad\">").count(), 3);
    for word in ["error", "denied", "no result"] {
        assert!(html.contains(&format!("<span class=\"badge\">{word}</span>")), "{word}");
    }
}

#[tokio::test]
async fn a_result_stands_with_its_call_and_once() {
    let blocks = vec![call("c1", "glob", "{\"pattern\":\"*\"}")];
    let bodies = vec![opened(), reply(blocks), user("meanwhile"), ended(result("c1", "glob", "found-it"))];
    let (html, page) = export(bodies).await;
    assert!(html.rfind("found-it") < html.rfind("meanwhile"));
    assert_eq!(page.text.matches("found-it").count(), 1);
    // A result whose call is not there is shown nevertheless.
    let (_, page) = export(vec![opened(), ended(result("c9", "glob", "found-it"))]).await;
    assert!(page.text.contains("found-it"));
}

#[tokio::test]
async fn what_was_undone_is_left_out_and_said() {
    let bodies = vec![
        opened(),
        user("first"),
        user("SECRET"),
        reply(vec![Block::Text("SECRET".into())]),
        Body::Branch(BranchEntry::Moved { to: 2 }),
        user("second"),
    ];
    let (html, page) = export_tree(bodies, vec![0, 1, 2, 3, 2, 5]).await;
    assert!(!html.contains("SECRET") && html.contains("second"));
    assert!(page.text.contains("undone: 2 entries left out here"));
    assert!(page.text.contains("2 undone entries are left out"));
    assert!(page.text.contains("2 messages, 0 turns") && html.contains("1,200 in"), "what was paid for is counted");
}

#[tokio::test]
async fn going_back_to_the_beginning_leaves_a_page() {
    let bodies = vec![opened(), user("SECRET"), Body::Branch(BranchEntry::Moved { to: 0 }), user("second")];
    let (html, _) = export_tree(bodies, vec![0, 1, 0, 3]).await;
    assert!(!html[html.find("<main>").unwrap()..].contains("SECRET") && html.contains("second"));
}

#[tokio::test]
async fn thinking_and_summaries_are_folded_away() {
    let thinking = Block::Thinking { text: "let me *see*".into(), opaque: None };
    let compaction = Compaction {
        reason: CompactReason::Threshold,
        summary: "We **did** things.".into(),
        first_kept: 2,
        tokens_before: 90_000,
        tokens_after: 1_000,
        messages_before: 40,
        messages_after: 3,
        usage: Usage::default(),
        model: "".into(),
    };
    let (html, page) =
        export(vec![opened(), reply(vec![thinking]), Body::Branch(BranchEntry::Compacted(compaction))]).await;
    assert!(html.contains("<details class=\"think\"><summary>Thinking") && html.contains("let me <em>see</em>"));
    assert!(page.text.contains("the context was nearly full: 90,000 \u{2192} 1,000 tokens, 40 \u{2192} 3 messages"));
    assert!(html.contains("We <strong>did</strong> things."));
}

#[tokio::test]
async fn long_output_waits_behind_its_size() {
    let text = "word word\n".repeat(5_000);
    let blocks = vec![call("c1", "read_file", "{\"path\":\"a.rs\"}")];
    let (html, _) = export(vec![opened(), reply(blocks), ended(result("c1", "read_file", &text))]).await;
    assert!(html.contains("<details class=\"fold\"><summary>output: 5,000 lines, 48.8 KiB</summary>"));
}

#[tokio::test]
async fn a_failure_is_told_once() {
    let fault = Fault::new(FaultKind::Network, "the line is dead").hint("try another");
    let retrying = Body::Model(ModelEntry::Retrying {
        turn: turn(),
        attempt: 1,
        attempts_max: 3,
        wait_ms: 500,
        fault: fault.clone(),
    });
    let (_, page) = export(vec![opened(), retrying, turn_ended(Stop::Error, Some(fault))]).await;
    assert!(page.text.contains("retry 1 of 3 after 500 ms: the line is dead (try another)"));
    assert!(page.text.contains("turn failed"));
    assert_eq!(page.text.matches("the line is dead").count(), 1);
}

#[tokio::test]
async fn the_answer_to_a_question_stands_with_the_call() {
    let ask = AskKind::Permission(PermissionAsk {
        call: "c1".into(),
        tool: "bash".into(),
        input: Json::empty_object(),
        active: Mode::Prompt,
        required: Required::WorkspaceWrite,
        reason: None,
        summary: "run ls".into(),
        preview: None,
        may_have_run: false,
    });
    let bodies = vec![
        opened(),
        reply(vec![call("c1", "bash", "{\"command\":\"ls\"}")]),
        Body::Ask(AskEntry::Opened(Ask { id: "a1".into(), turn: Some(turn()), kind: ask, timeout_ms: None })),
        Body::Ask(AskEntry::Closed {
            ask: "a1".into(),
            end: AskEnd::Answered { answer: Answer::Allow(Scope::Once), by: None },
        }),
        ended(result("c1", "bash", "ok")),
    ];
    assert!(export(bodies).await.1.text.contains("permission: allowed once"));
}

#[tokio::test]
async fn several_prompts_get_a_table_of_contents() {
    let (html, _) = export(vec![opened(), user("one\nmore"), user("two")]).await;
    assert!(html.contains("<li><a href=\"#p1\">one</a></li>") && html.contains("id=\"p2\""));
}

#[tokio::test]
async fn the_ending_chooses_the_format() {
    let place = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let lease = store.create(store::suite::new_session("s"));
    store.append(&lease, vec![store::suite::prompt(1, "x")], Durability::Now).await.unwrap();
    let archive = FileArchive::new(store, place.path().into());
    for (name, format) in [("a.html", "html"), ("a.htm", "html"), ("A.HTML", "html"), ("a.md", "md"), ("a", "md")] {
        let file = place.path().join(name);
        assert_eq!(archive.export(&lease.session, Some(&file)).await.unwrap().format, format, "{name}");
    }
}

/// A small share of what a real long session weighs; the cost must stay in proportion.
#[tokio::test]
async fn a_long_session_is_written_in_proportion() {
    let code = "fn main() { let x = \"text\"; } // and so on\n".repeat(200);
    let mut bodies = vec![opened()];
    for number in 0..100 {
        let id = format!("c{number}");
        let blocks = vec![
            Block::Text(format!("Some *words*.\n\n```rust\n{code}```\n").into()),
            call(&id, "read_file", "{\"path\":\"a.rs\"}"),
        ];
        bodies.extend([reply(blocks), ended(result(&id, "read_file", &code))]);
    }
    let start = Instant::now();
    let (html, _) = export(bodies).await;
    println!("{} bytes in {:?}", html.len(), start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(30));
    assert!(html.len() < 20 * 200 * code.len());
}
