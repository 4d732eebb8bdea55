//! `/subagents`: which there were, what one of them said, and away with it; and no other session's.

use serde_json::json;
use vocab::{
    AssistantMessage, Block, Body, DirectoryVerb, Entry, Finish, MessageEnd, Mode, NewSession, Query, Recalled, Reply,
    Saved, SavedPage, Usage, Verb, Which,
};

use crate::talk::Talk;

fn saved(id: &str) -> Saved {
    let (workspace, model) = ("/w".into(), "alpha".into());
    let new = NewSession { id: id.into(), workspace, model, mode: Mode::Prompt, at_ms: 1, parent: None };
    Saved { summary: store::summary::blank(&new), place: "/p".into() }
}

fn sessions(ids: &[&str]) -> Reply {
    Reply::Sessions(SavedPage { list: ids.iter().map(|id| saved(id)).collect(), total: ids.len() as u64 })
}

fn typed(talk: &mut Talk, id: u64, line: &str) {
    talk.ask(id, "agent.send", json!({"sessionId": "s", "message": line}));
}

#[test]
fn those_of_this_session_are_listed() {
    let mut talk = Talk::on(None);
    typed(&mut talk, 1, "/subagents");
    let asked = talk.reply(Ok(sessions(&["child1", "child2"])));
    let Verb::Directory(DirectoryVerb::Sessions(Query { children: true, child_of, .. })) = asked.verb else {
        panic!("{asked:?}")
    };
    assert_eq!(child_of, Some("s".into()));
    let frames = talk.frames().join("\n");
    assert!(frames.contains("2 sub-agent(s)") && frames.contains("child2"), "{frames}");
}

#[test]
fn what_one_said_last_is_shown() {
    let mut talk = Talk::on(None);
    typed(&mut talk, 1, "/subagents summary child1");
    talk.reply(Ok(sessions(&["child1"])));
    let (blocks, end) = (vec![Block::Text("found it".into())], MessageEnd::Finished(Finish::Stop));
    let message = AssistantMessage { blocks, model: "alpha".into(), end, usage: Usage::default() };
    let entry = Entry { seq: 1, parent: 0, at_ms: 5, body: Body::Assistant { turn: None, message }, by: None };
    let recalled = Recalled { saved: saved("child1"), entries: vec![entry.into()] };
    let asked = talk.reply(Ok(Reply::Recalled(Box::new(recalled))));
    assert_eq!(asked.verb, Verb::Directory(DirectoryVerb::Recall(Which::Id("child1".into()))));
    let frames = talk.frames().join("\n");
    assert!(frames.contains("found it"), "{frames}");
}

#[test]
fn one_is_deleted_and_none_of_another_session() {
    let mut talk = Talk::on(None);
    typed(&mut talk, 1, "/subagents delete child1");
    talk.reply(Ok(sessions(&["child1"])));
    let asked = talk.reply(Ok(Reply::Done));
    assert_eq!(asked.verb, Verb::Directory(DirectoryVerb::Delete { session: "child1".into(), open_too: false }));
    assert!(talk.frames().join("\n").contains("it is deleted"));
    typed(&mut talk, 2, "/subagents delete somebodys");
    talk.reply(Ok(sessions(&["child1"])));
    assert!(talk.out.commands.is_empty(), "nothing is deleted that is not its own");
    let frames = talk.frames().join("\n");
    assert!(frames.contains("no such sub-agent"), "{frames}");
}

#[test]
fn one_that_is_named_is_found_however_many_there_are() {
    for what in ["summary", "delete"] {
        let mut talk = Talk::on(None);
        typed(&mut talk, 1, &format!("/subagents {what} child1"));
        let asked = talk.reply(Ok(sessions(&["child1", "child12"])));
        let Verb::Directory(DirectoryVerb::Sessions(query)) = asked.verb else { panic!("{asked:?}") };
        let named = Query {
            children: true,
            child_of: Some("s".into()),
            id_part: Some("child1".to_owned()),
            ..Query::default()
        };
        assert_eq!(query, named, "{what}");
        let next = format!("{:?}", talk.out.commands[0].verb);
        assert!(next.contains("\"child1\""), "{what}: {next}");
    }
}
