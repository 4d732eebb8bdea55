//! The built-in tools and a controller that holds the files: one turn through the whole engine.

use testkit::Stage;
use testkit::slash_text;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

const TEXTS: EditorOffer = EditorOffer { read_text: true, write_text: true, terminal: false };

fn with_files(plays: impl IntoIterator<Item = Play>) -> Stage {
    let stage = stage_with(&Player::new(plays), |options| {
        options.toolbox = None;
        options.tune = Box::new(|settings| settings.compaction.auto = false);
    });
    stage.write("a.txt", "disk\n");
    stage
}

async fn controller(stage: &Stage) -> Actor {
    let mut actor = stage.open().await;
    ask_for(&mut actor, Verb::Session(SessionVerb::OfferEditor(TEXTS))).await.unwrap();
    actor
}

async fn editor_request(actor: &mut Actor) -> (u64, EditorRequestKind) {
    match actor.until(|event| matches!(event, Event::Editor(EditorEvent::Request(_)))).await {
        Event::Editor(EditorEvent::Request(editor_request)) => (editor_request.id, editor_request.kind),
        other => panic!("no editor_request: {other:?}"),
    }
}

async fn done(actor: &mut Actor, editor_request: u64, result: EditorReply) {
    actor.forget();
    actor.send(Verb::Session(SessionVerb::EditorReplied { editor_request, result })).await;
}

#[tokio::test]
async fn an_edit_reads_the_buffer_and_hands_the_new_text_over() {
    let edit = r#"{"path":"a.txt","old_string":"buffer","new_string":"new"}"#;
    let stage = with_files([calls(&[("edit_file", edit)]), say("ok"), calls(&[("read_file", r#"{"path":"a.txt"}"#)])]);
    let path = stage.workspace().canonicalize().unwrap().join("a.txt");
    let mut actor = controller(&stage).await;
    actor.prompt("edit").await;
    let (id, kind) = editor_request(&mut actor).await;
    assert_eq!(kind, EditorRequestKind::ReadText { path: path.clone() });
    done(&mut actor, id, EditorReply::Text("buffer\n".into())).await;
    let (id, kind) = editor_request(&mut actor).await;
    assert_eq!(kind, EditorRequestKind::WriteText { path: path.clone(), content: "new\n".into() });
    // This controller is an editor that saves.
    stage.write("a.txt", "new\n");
    done(&mut actor, id, EditorReply::Written).await;
    assert_eq!(actor.turn_end().await.mutations.len(), 1);
    // The user's own undo goes back to what the buffer had.
    let Ok(Reply::Slash(undone)) = ask_for(&mut actor, slash("undo", "")).await else { panic!("no undo") };
    assert!(slash_text(&undone).contains("a.txt"), "{}", slash_text(&undone));
    assert_eq!(stage.read("a.txt").as_deref(), Some("buffer\n"));
    actor.forget();
    actor.prompt("read").await;
    let (id, _) = editor_request(&mut actor).await;
    done(&mut actor, id, EditorReply::NotFound).await;
    actor.turn_end().await;
    assert!(log(&stage).await.contains("c1 Ran: buffer"), "{}", log(&stage).await);
}

#[tokio::test]
async fn an_interrupt_withdraws_the_write_and_the_disk_is_as_it_was() {
    let write = r#"{"path":"a.txt","content":"new\n"}"#;
    let stage = with_files([calls(&[("write_file", write)])]);
    let mut actor = controller(&stage).await;
    actor.prompt("write").await;
    let (id, _) = editor_request(&mut actor).await;
    done(&mut actor, id, EditorReply::Text("buffer\n".into())).await;
    let (id, kind) = editor_request(&mut actor).await;
    assert!(matches!(kind, EditorRequestKind::WriteText { .. }));
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    actor.until(|event| *event == Event::Editor(EditorEvent::Dropped { editor_request: id })).await;
    assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
    assert_eq!(stage.read("a.txt").as_deref(), Some("disk\n"));
}
