//! The exact layer.

use expect_test::{Expect, expect};
use vocab::{CallEnd, FaultKind, Finish, Message, MessageEnd, ModelEvent, Part};

use crate::support::{Heard, Talk, message, result};

/// One line per event.
pub(crate) fn shown(heard: &Heard) -> String {
    let mut lines: Vec<String> = heard.events.iter().map(show).collect();
    if heard.silent {
        lines.push("silent".into());
    }
    lines.join("\n")
}

fn show(event: &ModelEvent) -> String {
    match event {
        ModelEvent::Text(text) => format!("text {text:?}"),
        ModelEvent::Thinking(text) => format!("thinking {text:?}"),
        ModelEvent::Sent { .. } => "sent".to_owned(),
        ModelEvent::Seal(text) | ModelEvent::Redacted(text) => format!("seal {text:?}"),
        ModelEvent::Call { index, id: Some(id), name: Some(name), input } => {
            format!("call {index} {id} {name} {input}")
        }
        ModelEvent::Call { index, input, .. } => format!("call {index} + {input}"),
        ModelEvent::Usage(usage) => format!("usage {} {}", usage.input, usage.output),
        ModelEvent::Finished(finish) => format!("finished {finish:?}"),
        ModelEvent::Failed(fault) => {
            format!("failed {:?} {:?} {:?}", fault.fault.kind, fault.fault.status, fault.retry_after_ms)
        }
    }
}

fn check(prompt: &str, expected: Expect) {
    expected.assert_eq(&shown(&Talk::new().prompt(prompt)));
}

#[test]
fn counted_words_come_one_per_delta_and_only_the_last_has_no_space() {
    check(
        "say 3 words",
        expect![[r#"
        text "w1 "
        text "w2 "
        text "w3"
        usage 3 2
        finished Stop"#]],
    );
    check(
        "say 1 word",
        expect![[r#"
        text "w1"
        usage 3 1
        finished Stop"#]],
    );
    check(
        "say 0 words",
        expect![[r#"
        usage 3 1
        finished Stop"#]],
    );
    check(
        "think 2 words say 1 words",
        expect![[r#"
        thinking "t1 "
        thinking "t2"
        text "w1"
        usage 7 2
        finished Stop"#]],
    );
}

#[test]
fn quoted_text_comes_word_by_word_as_written() {
    check(
        r#"say "I'll glob.""#,
        expect![[r#"
        text "I'll "
        text "glob."
        usage 4 3
        finished Stop"#]],
    );
    check(
        r#"say "a \"then\" b\n c" say done"#,
        expect![[r#"
        text "a "
        text "\"then\" "
        text "b\n "
        text "c"
        text "done"
        usage 8 5
        finished Stop"#]],
    );
    check(
        r#"delta "two words" think "so so""#,
        expect![[r#"
        text "two words"
        thinking "so "
        thinking "so"
        usage 8 4
        finished Stop"#]],
    );
}

#[test]
fn calls_stream_their_arguments_and_are_numbered() {
    check(
        r#"say ok call a {"x":"1 then } \" and call b"} and call b and call c {}"#,
        expect![[r#"
        text "ok"
        call 0 call_0_0 a 
        call 0 + {"x":"1 then } \" and ca
        call 0 + ll b"}
        call 1 call_0_1 b 
        call 1 + {}
        call 2 call_0_2 c 
        call 2 + {}
        usage 18 10
        finished ToolUse"#]],
    );
    check(
        r#"id my_1 call a {"long":"0123456789012345678901234567890123456789"}"#,
        expect![[r#"
        call 0 my_1 a 
        call 0 + {"long":"012345678901234
        call 0 + 567890123456789012345678
        call 0 + 9"}
        usage 17 13
        finished ToolUse"#]],
    );
    check(
        r#"call a badjson {"path": and call b badjson"#,
        expect![[r#"
        call 0 call_0_0 a 
        call 0 + {"path":
        call 1 call_0_1 b 
        usage 11 3
        finished ToolUse"#]],
    );
}

#[test]
fn misbehaviour_comes_where_it_is_written() {
    check(
        "stall 2 say 5 words",
        expect![[r#"
        text "w1 "
        text "w2 "
        silent"#]],
    );
    check("stall 0 say 5 words", expect!["silent"]);
    check(
        "stall 9 say 1 words say never",
        expect![[r#"
        text "w1"
        silent"#]],
    );
    check(
        "say hi hold say never",
        expect![[r#"
        text "hi"
        silent"#]],
    );
    check("hang", expect!["silent"]);
    check(
        "say 2 words cut",
        expect![[r#"
        text "w1 "
        text "w2"
        failed StreamCut None None"#]],
    );
    check(
        "say hi usage 5 6 fail 500",
        expect![[r#"
        text "hi"
        usage 5 6
        failed Provider Some(500) None"#]],
    );
    check(
        "say hi length",
        expect![[r#"
        text "hi"
        usage 4 1
        finished Length"#]],
    );
    check(
        "say hi refuse",
        expect![[r#"
        text "hi"
        usage 4 1
        finished Refusal"#]],
    );
    check(
        "say hi usage 820 34",
        expect![[r#"
        text "hi"
        usage 820 34
        finished Stop"#]],
    );
    check("fail 429 retry-after 1500", expect!["failed RateLimited Some(429) Some(1500)"]);
    check("fail401", expect!["failed Auth Some(401) None"]);
    check("fail overflow", expect!["failed ContextOverflow Some(400) None"]);
}

#[test]
fn each_step_is_one_reply_and_done_follows_the_last() {
    let mut talk = Talk::new();
    let heard = talk.prompt(r#"call glob {} then say two call grep {} and call glob {}"#);
    assert_eq!(heard.calls()[0].0, "call_0_0");
    assert_eq!(heard.finish(), Some(Finish::ToolUse));
    let heard = talk.result("a");
    assert_eq!(heard.text(), "two");
    assert_eq!(heard.calls().iter().map(|call| &*call.0).collect::<Vec<_>>(), ["call_1_0", "call_1_1"]);
    let heard = talk.outcome("no", CallEnd::Denied, true);
    assert_eq!((heard.text().as_str(), heard.finish()), ("done", Some(Finish::Stop)));
}

#[test]
fn a_steer_starts_its_own_script() {
    let mut talk = Talk::new();
    talk.prompt("call glob {} then say never");
    talk.push(&Message::Result(result("call_0_0", "glob", "a", CallEnd::Ran, false)));
    let heard = talk.prompt("call grep {} then say steered");
    assert_eq!(heard.calls()[0].0, "call_0_0");
    assert_eq!(talk.result("x").text(), "steered");
}

#[test]
fn a_failed_or_interrupted_reply_does_not_use_up_its_step() {
    let mut talk = Talk::new();
    let heard = talk.prompt("call glob {} then say second");
    let mut partial = message(&heard, Finish::Stop);
    for end in [MessageEnd::Interrupted, MessageEnd::Failed(vocab::ModelFault::new(FaultKind::StreamCut, "cut"))] {
        partial.end = end;
        talk.push(&Message::Assistant(partial.clone()));
    }
    assert_eq!(talk.result("x").text(), "second");
}

#[test]
fn the_first_tries_of_a_step_fail_and_then_it_goes_on() {
    let mut talk = Talk::new();
    let first = talk.prompt("fail 500 2 say ok call glob {} then fail 429 1 retry-after 7 say end");
    assert_eq!(first.fault().unwrap().fault.kind, FaultKind::Provider);
    assert!(first.fault().unwrap().retryable);
    assert!(talk.call().fault().is_some());
    assert_eq!(talk.call().text(), "ok");
    let limited = talk.result("x");
    assert_eq!(limited.fault().unwrap().fault.kind, FaultKind::RateLimited);
    assert_eq!(limited.fault().unwrap().retry_after_ms, Some(7));
    assert_eq!(talk.call().text(), "end");
}

#[test]
fn the_same_prompt_again_fails_again() {
    let mut talk = Talk::new();
    for _ in 0..2 {
        assert!(talk.prompt("fail 500 1 say ok").fault().is_some());
        assert_eq!(talk.call().text(), "ok");
    }
    assert!(talk.prompt("fail 500 3 say ok").fault().is_some());
    assert!(talk.prompt("fail 500 1 say ok").fault().is_some());
}

#[test]
fn an_overflow_is_over_after_compaction() {
    let mut talk = Talk::new();
    let prompt = "fail overflow 1 say ok";
    assert_eq!(talk.prompt(prompt).fault().unwrap().fault.kind, FaultKind::ContextOverflow);
    talk.clear();
    assert_eq!(talk.bytes(), 0);
    talk.push(&Message::User(vec![Part::text("a summary")]));
    assert_eq!(talk.prompt(prompt).text(), "ok");
}

#[test]
fn a_word_that_begins_with_a_slash_may_stand_before_a_script() {
    assert_eq!(Talk::new().prompt("/etc/hosts say 2 words").text(), "w1 w2");
}

#[test]
fn what_only_begins_like_a_script_is_not_half_obeyed() {
    for (prompt, why) in [
        ("say", "nothing to say"),
        ("say hello world", "`world` is not a word of a script"),
        ("say \"open", "closing quote"),
        (r#"say "\q""#, "backslash"),
        ("say 99999999999 words", "at most"),
        ("call", "name of a tool"),
        ("call glob {\"pattern\":", "not JSON"),
        ("call glob {} then", "a step says"),
        ("say a then then say b", "a step says"),
        ("say a and", "nothing follows"),
        ("id x", "a step says"),
        ("say a id x", "a step says"),
        ("fail 200", "status"),
        ("fail soon", "status"),
        ("slow down say hi", "milliseconds"),
        ("slow 99999999999 say hi", "at most"),
        ("usage 1", "output tokens"),
        ("finish soon", "knows stop"),
        ("call me maybe", "`maybe` is not"),
    ] {
        let heard = Talk::new().prompt(prompt);
        let text = heard.text();
        assert!(text.starts_with("This begins like a script"), "{prompt}: {text}");
        assert!(text.contains(why), "{prompt}: {text}");
        assert_eq!((heard.calls().len(), heard.finish()), (0, Some(Finish::Stop)), "{prompt}");
    }
    assert!(Talk::new().prompt("say ä b").text().contains("at character 7"));
}

#[test]
fn usage_counts_the_characters_of_all_that_was_pushed_and_said() {
    let mut talk = Talk::new();
    talk.spec.system = "12345678".into();
    let usage = talk.prompt("say abcdefgh").usage().unwrap();
    assert_eq!((usage.input, usage.output), (5, 2), "8 + 12 characters in, 8 out");
    let usage = talk.prompt("say \u{e4}").usage().unwrap();
    assert_eq!((usage.input, usage.output), (9, 1), "8 + 12 + 8 + 5 characters in, 1 out");
    assert_eq!((usage.cache_read, usage.cache_write, usage.estimated), (0, 0, false));
    assert_eq!(talk.bytes(), 12 + 8 + 6 + 2);
}
