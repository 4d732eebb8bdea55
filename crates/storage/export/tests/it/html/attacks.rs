//! Hostile text in every place a log has for text. The strict reader in `page` accepts only elements and attributes of
//! ours, so each of these tests fails as soon as one string becomes more than text.

use vocab::*;

use super::*;
use testkit::odd::Dice;

const ATTACKS: [&str; 26] = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><style>*{display:none}</style>",
    "</title><svg onload=alert(1)>",
    "<img src=x onerror=alert(1)>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "\" onmouseover=\"alert(1)",
    "</details></div></article></section></main>",
    "</code></pre><iframe src=javascript:alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JAVASCRIPT&#58;alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](https://a.b/\"onclick=\"x)",
    "<javascript:alert(1)>",
    "![x](https://a.b/track.png)",
    "[x]: javascript:alert(1)\n\n[x]",
    "]]><![CDATA[<script>",
    "<!--><script>alert(1)</script-->",
    "\u{2028}\u{2029}\u{feff}",
    "a\0b\u{1}\u{8}\u{1b}[31m\u{1b}]0;t\u{7}\u{7f}\u{9b}\u{85}",
    "\u{202e}\u{2066}gpj.exe",
    "&lt;script&gt; &#60;script&#62; &amp;lt;",
    "```html\n<script>alert(1)</script>\n```\n| <b> | \"' |\n|---|---|\n| </td> | x |",
    "${alert(1)} {{x}} <%= x %> <base href=//a.b> <meta http-equiv=refresh content=0>",
];

/// A session that says `text` wherever something can be said.
fn everywhere(text: &str) -> Vec<Body> {
    let args = format!("{{{}: {}, \"path\": {0}, \"n\": [{0}, {{{0}: 1}}]}}", quoted(text), quoted(text));
    let ask =
        |id: &str, kind| Body::Ask(AskEntry::Opened(Ask { id: id.into(), turn: Some(turn()), kind, timeout_ms: None }));
    let answered =
        |id: &str, answer| Body::Ask(AskEntry::Closed { ask: id.into(), end: AskEnd::Answered { answer, by: None } });
    let broken = CallInput::Broken { text: text.into(), detail: text.into() };
    let image = |mime: &str, base64: &str| Part::Image(Image { mime: mime.into(), base64: base64.into() });
    let mut all = vec![
        Body::Opened {
            workspace: text.into(),
            model: text.into(),
            mode: Mode::Plan,
            forked_from: Some((text.into(), 3)),
            child_of: Some((text.into(), text.into())),
        },
        Body::Setting(SettingEntry::Title { title: text.into() }),
        Body::Turn(TurnEntry::Started { turn: turn() }),
        Body::User {
            turn: Some(turn()),
            parts: vec![Part::text(text), image(text, "AAAA"), image("image/png", text)],
            from: UserFrom::Prompt,
        },
        user(text),
        reply(vec![
            Block::Text(text.into()),
            Block::Thinking { text: text.into(), opaque: Some(text.into()) },
            call("c1", text, &args),
            call("c2", "bash", &format!("{{\"command\": {}}}", quoted(text))),
            Block::Call(Call { id: text.into(), name: text.into(), input: broken, seal: None }),
            call("c3", "write_file", &args),
            call("c4", "read_file", &format!("{{\"path\": \"x.html\", \"q\": {}}}", quoted(text))),
        ]),
        ask("a1", permission("c1", text)),
        answered("a1", Answer::Deny(Some(text.into()))),
        ask("a2", AskKind::Input { title: text.into(), placeholder: None }),
        answered("a2", Answer::Text(text.into())),
    ];
    all.extend(results(text));
    all.extend(aftermath(text));
    all
}

/// Of the calls above, and of one that was never made.
fn results(text: &str) -> Vec<Body> {
    let image = Part::Image(Image { mime: "image/gif".into(), base64: text.into() });
    let mut all = Vec::new();
    let edit = |before: Snapshot, after: Snapshot| FileEdit { path: text.into(), before, after };
    for id in ["c1", "c2", text, "c3", "c4", "nobody's"] {
        let mut result = result(id, if id == "c4" { "read_file" } else { text }, text);
        result.parts.push(image.clone());
        if id == "c3" {
            result.edits = vec![
                edit(Snapshot::Absent, Snapshot::Text(text.into())),
                edit(Snapshot::Text(text.into()), Snapshot::Text(format!("{text}\n{text}").into())),
                edit(Snapshot::NotKept, Snapshot::Absent),
            ];
        }
        all.push(ended(result));
    }
    all
}

fn aftermath(text: &str) -> Vec<Body> {
    let fault = Fault::new(FaultKind::Provider, text).hint(text);
    vec![
        Body::Model(ModelEntry::Retrying { turn: turn(), attempt: 1, attempts_max: 3, wait_ms: 5, fault }),
        Body::Assistant {
            turn: None,
            message: AssistantMessage {
                blocks: vec![],
                model: text.into(),
                end: MessageEnd::Failed(ModelFault::new(FaultKind::Network, format!("{text}!"))),
                usage: Usage::default(),
            },
        },
        Body::Branch(BranchEntry::Compacted(Compaction {
            reason: CompactReason::Overflow,
            summary: text.into(),
            first_kept: 1,
            tokens_before: 9,
            tokens_after: 8,
            messages_before: 7,
            messages_after: 6,
            usage: Usage::default(),
            model: "".into(),
        })),
        Body::Setting(SettingEntry::Model { model: text.into(), called: None }),
        Body::Setting(SettingEntry::Thinking { level: Some(text.into()) }),
        Body::Setting(SettingEntry::Gadgets { off: vec![text.into()] }),
        Body::Note(NoteEntry::Recovered { text: text.into() }),
        turn_ended(Stop::Error, Some(Fault::new(FaultKind::Auth, format!("{text}?")))),
    ]
}

fn permission(call: &str, text: &str) -> AskKind {
    AskKind::Permission(PermissionAsk {
        call: call.into(),
        tool: text.into(),
        input: Json::empty_object(),
        active: Mode::Prompt,
        required: Required::DangerFullAccess,
        reason: Some(text.into()),
        summary: text.into(),
        preview: Some([Fact::text(text, text)].into()),
        may_have_run: false,
    })
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

#[tokio::test]
async fn a_hostile_log_is_only_text() {
    for attack in ATTACKS {
        let (_, page) = export(everywhere(attack)).await;
        assert_eq!((page.style.len(), page.script.len()), (1, 1), "{attack:?}");
        let plain = |text: &str| text.split_whitespace().collect::<String>();
        let seen = plain(&page.text);
        // Text that a page shows as it is must be there many times: nothing is thrown away to be safe.
        if !attack.contains(char::is_control) && !attack.contains(['\u{2028}', '\u{202e}', '\u{2066}']) {
            let times = seen.matches(&plain(attack)).count();
            assert!(times >= 20, "{times} times {attack:?}");
        }
    }
}

#[tokio::test]
async fn no_mixture_of_hostile_pieces_gets_through() {
    let mut dice = Dice(11);
    let pieces: Vec<&str> =
        ATTACKS.into_iter().chain(["\n", "\n\n", "> ", "- ", "```\n", "|", "*", "`", "  "]).collect();
    let is_full = std::env::var_os("TILLERMAN_FULL").is_some_and(|it| it == "1");
    for _ in 0..if is_full { 5_000 } else { 60 } {
        let count = 2 + dice.below(8);
        let text: String = (0..count).map(|_| *dice.pick(&pieces)).collect();
        export(everywhere(&text)).await;
    }
}

#[tokio::test]
async fn every_kind_of_entry_makes_a_well_formed_page() {
    let bodies = store::suite::bodies();
    export(bodies.clone()).await;
    for body in bodies {
        export(vec![body]).await;
    }
}

#[tokio::test]
async fn the_policy_names_the_sums_of_the_one_style_and_the_one_script() {
    let (html, page) = export(vec![opened(), user("hello")]).await;
    let wanted = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        sum::sha256(page.style[0].as_bytes()),
        sum::sha256(page.script[0].as_bytes())
    );
    assert_eq!(page.policy(), wanted, "write these sums into archive/html.rs");
    // A policy in the page counts only for what comes after it.
    assert!(html.find("Content-Security-Policy") < html.find("<style>"));
    for word in ["http:", "https:", "@import", "url(", "//"] {
        assert!(!page.style[0].contains(word) && !page.script[0].contains(word), "{word} in style or script");
    }
}
