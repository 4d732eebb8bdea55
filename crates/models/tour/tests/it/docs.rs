//! What the manuals show, works.

use std::path::Path;

use crate::support::names;
use vocab::CallEnd;
use vocab::{Message, ModelEvent, Part, Provider};

use crate::support::{Heard, Talk};

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The insides of the page's fences of one kind.
fn fences<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    blocks.into_iter().filter_map(|block| block.strip_prefix(kind)?.strip_prefix('\n')).collect()
}

/// The text and then each call, one line each.
fn told(heard: &Heard) -> Vec<String> {
    let mut lines: Vec<String> = heard.text().lines().map(str::to_owned).collect();
    lines.extend(heard.calls().into_iter().map(|(id, name, input)| format!("{id} {name} {input}")));
    lines
}

#[tokio::test(start_paused = true)]
async fn every_prompt_in_the_tours_manual_is_understood() {
    let page = page("tour.md");
    let prompts: Vec<&str> = fences(&page, "prompts").into_iter().flat_map(str::lines).collect();
    assert!(prompts.len() > 30, "found only {}", prompts.len());
    for prompt in prompts {
        let mut talk = Talk::spelling(names::CANONICAL);
        talk.push(&Message::User(vec![Part::text(prompt)]));
        let mut stream = talk.stream();
        let mut events = Vec::new();
        // An hour of paused time: whatever is still silent then was asked to be.
        let all = async {
            while let Some(event) = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await {
                events.push(event);
            }
        };
        let silent = tokio::time::timeout(std::time::Duration::from_secs(3600), all).await.is_err();
        let heard = Heard { events, silent };
        let text = heard.text();
        assert!(!text.contains("none of them fits") && !text.contains("does not offer"), "{prompt}: {text}");
        let held = ["hold", "hang", "stall"].iter().any(|word| prompt.contains(word));
        assert_eq!((heard.silent, heard.ends()), (held, usize::from(!held)), "{prompt}");
    }
}

#[test]
fn every_conversation_in_the_tours_manual_goes_as_shown() {
    let page = page("tour.md");
    let talks = fences(&page, "talk");
    assert!(talks.len() >= 3);
    for shown in talks {
        let mut talk = Talk::spelling(names::CANONICAL);
        let mut lines: Vec<String> = Vec::new();
        for line in shown.lines() {
            let (mark, rest) = line.split_at(1);
            let rest = rest.trim_start().replace("\\n", "\n");
            let heard = match mark {
                ">" => talk.prompt(&rest),
                "=" => talk.result(&rest),
                "!" => talk.outcome(&rest, CallEnd::Denied, true),
                "<" => continue,
                _ => panic!("what is {line:?}?"),
            };
            lines.push(line.to_owned());
            lines.extend(told(&heard).into_iter().map(|line| format!("<  {line}")));
        }
        assert_eq!(lines.join("\n"), shown.trim_end());
    }
}

#[test]
fn every_part_of_the_grammar_is_in_the_tours_manual() {
    let page = page("tour.md");
    for keyword in [
        "say",
        "think",
        "delta",
        "call",
        "badjson",
        "id",
        "slow",
        "pause",
        "stall",
        "hold",
        "hang",
        "fail",
        "cut",
        "length",
        "refuse",
        "finish",
        "usage",
        "retry-after",
        "overflow",
        "network",
    ] {
        let row = page.lines().filter(|line| line.starts_with("| `")).any(|line| {
            let part = line.split('|').nth(1).unwrap();
            part.split([' ', '`', ',']).any(|word| word == keyword)
        });
        assert!(row, "{keyword} has no row");
    }
}

#[tokio::test(start_paused = true)]
async fn every_script_in_the_manual_plays() {
    let page = page("script.md");
    let scripts = fences(&page, "script");
    assert_eq!(scripts.len(), 3);
    for text in scripts {
        let script = tour::Script::parse(text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
        let mut talk = Talk::with(script.chat(&script.resolve(script.slug()).unwrap()).unwrap(), names::SERVE);
        let replies = text.split("\n\n").flat_map(|block| block.split("\nreply\n")).count();
        for number in 0..=replies {
            let mut stream = talk.stream();
            let mut last = None;
            let all = async {
                while let Some(event) = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await {
                    last = Some(event);
                }
            };
            let silent = tokio::time::timeout(std::time::Duration::from_secs(3600), all).await.is_err();
            let over = matches!(&last, Some(ModelEvent::Failed(fault)) if fault.fault.message.contains("were played"));
            assert_eq!(over, number == replies, "reply {number}: {last:?}");
            assert!(silent || matches!(last, Some(ModelEvent::Finished(_) | ModelEvent::Failed(_))));
        }
    }
}
