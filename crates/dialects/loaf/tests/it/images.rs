//! Images: by path, whole, and bad ones of each kind.

use dialect_loaf::LoadedImage;
use expect_test::expect;
use serde_json::{Value, json};
use vocab::{Fault, FaultKind, Image};

use crate::play::{Cast, Play, paused};

const PNG: &str = "iVBORw0KGgoA";

fn send(images: Value) -> Value {
    json!({"session_id": "s1", "text": "say ok", "images": images})
}

fn image(path: &str) -> LoadedImage {
    LoadedImage { path: path.into(), image: Image { mime: "image/png".into(), base64: PNG.into() }, bytes: 9 }
}

#[test]
fn images_have_names_and_labels() {
    paused(async {
        let mut play = Play::on().await;
        play.user.fill(|given| drop(given.images.insert("a.png".into(), Ok(image("/w/a.png")))));
        let whole = json!({"data_url": format!("data:image/png;base64,{PNG}"), "path": "mine.png"});
        play.ask("session.send", send(json!([{"path": " a.png "}, 7, whole, {"mime_type": "image/png"}]))).await;
        play.ask("session.send", json!({"session_id": "s1", "images": [{"path": "a.png"}]})).await.get().await;
        play.check(expect![[r#"
            > 2 session.send {"images":[{"path":" a.png "},7,{"data_url":"data:image/png;base64,iVBORw0KGgoA","path":"mine.png"},{"mime_type":"image/png"}],"session_id":"s1","text":"say ok"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say ok [Image 1] [Image 2] </w/a.png, mine.png>
            s1 t1 answer "This "
            s1 t1 answer "begins "
            s1 t1 answer "like "
            ...
            s1 #2 assistant: This begins like a script for me, but at character 8: `[Image` is not a word of a script. I am `tour...
            s1 session.completed {"answer_length":357,"turn_id":"t1"}
            s1 [ready]
            > 3 session.send {"images":[{"path":"a.png"}],"session_id":"s1"}
            s1 t2 [preparing...]
            3 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t2"}
            s1 t2 [drafting response...]
            s1 #3 user: [Image 1] </w/a.png>
            s1 t2 answer "I "
            s1 t2 answer "cannot "
            s1 t2 answer "see "
            ...
            s1 #4 assistant: I cannot see pictures. I am `tour`, a built-in scripted model that follows a few rules, and none of ...
            s1 session.completed {"answer_length":290,"turn_id":"t2"}
            s1 [ready]
            > 4 session.get {"session_id":"s1"}
            4 = s1 [ready] pending false chat "chat1" by "openai" from "history" steers 0
                messages
                  #1 user: say ok [Image 1] [Image 2] </w/a.png, mine.png>
                  #2 assistant: This begins like a script for me, but at character 8: `[Image` is not a word of a script. I am `tour...
                  #3 user: [Image 1] </w/a.png>
                  #4 assistant: I cannot see pictures. I am `tour`, a built-in scripted model that follows a few rules, and none of ...
                history
                  user: say ok [Image 1] [Image 2]
                  assistant: This begins like a script for me, but at character 8: `[Image` is not a word of a script. I am `tour...
                  user: [Image 1]
                  assistant: I cannot see pictures. I am `tour`, a built-in scripted model that follows a few rules, and none of ...
                queue
        "#]]);
        let images = &play.result()["messages"][0]["images"];
        assert_eq!(
            images[0],
            json!({"path": "/w/a.png", "mimeType": "image/png", "dataUrl": format!("data:image/png;base64,{PNG}"), "byteSize": 9})
        );
        assert_eq!(play.result()["history"][0]["images"].as_array().unwrap().len(), 2);
    });
}

#[test]
fn a_bad_image_fails_the_turn_before_the_response() {
    paused(async {
        let mut play = Play::on().await;
        let large = Fault::new(FaultKind::Invalid, "image too large (9.00 mb). max is 8.00 mb");
        play.user.fill(|given| drop(given.images.insert("large.png".into(), Err(large))));
        for entry in [
            json!({"path": "gone.png"}),
            json!({"path": "large.png"}),
            json!({"data_url": "nonsense"}),
            json!({"data_url": "data:image/png;base64,"}),
            json!({"data_url": "data:image/tiff;base64,AAAA"}),
            json!({"data_url": "data:image/png;base64,AAA"}),
            json!({"data_url": "data:image/png;base64,AAAA"}),
        ] {
            play.ask("session.send", send(json!([entry]))).await;
        }
        play.get().await;
        play.check(expect![[r#"
            > 2 session.send {"images":[{"path":"gone.png"}],"session_id":"s1","text":"say ok"}
            s1 t1 [preparing...]
            s1 #1 system: file not found: gone.png
            s1 session.error {"message":"file not found: gone.png","turn_id":"t1"}
            s1 [ready]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            > 3 session.send {"images":[{"path":"large.png"}],"session_id":"s1","text":"say ok"}
            s1 t2 [preparing...]
            s1 #2 system: image too large (9.00 mb). max is 8.00 mb
            s1 session.error {"message":"image too large (9.00 mb). max is 8.00 mb","turn_id":"t2"}
            s1 [ready]
            3 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t2"}
            > 4 session.send {"images":[{"data_url":"nonsense"}],"session_id":"s1","text":"say ok"}
            s1 t3 [preparing...]
            s1 #3 system: invalid image data_url. expected data:<mime>;base64,<payload>
            s1 session.error {"message":"invalid image data_url. expected data:<mime>;base64,<payload>","turn_id":"t3"}
            s1 [ready]
            4 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t3"}
            > 5 session.send {"images":[{"data_url":"data:image/png;base64,"}],"session_id":"s1","text":"say ok"}
            s1 t4 [preparing...]
            s1 #4 system: image payload is empty
            s1 session.error {"message":"image payload is empty","turn_id":"t4"}
            s1 [ready]
            5 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t4"}
            > 6 session.send {"images":[{"data_url":"data:image/tiff;base64,AAAA"}],"session_id":"s1","text":"say ok"}
            s1 t5 [preparing...]
            s1 #5 system: unsupported image mime type: image/tiff
            s1 session.error {"message":"unsupported image mime type: image/tiff","turn_id":"t5"}
            s1 [ready]
            6 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t5"}
            > 7 session.send {"images":[{"data_url":"data:image/png;base64,AAA"}],"session_id":"s1","text":"say ok"}
            s1 t6 [preparing...]
            s1 #6 system: invalid image data_url. expected data:<mime>;base64,<payload>
            s1 session.error {"message":"invalid image data_url. expected data:<mime>;base64,<payload>","turn_id":"t6"}
            s1 [ready]
            7 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t6"}
            > 8 session.send {"images":[{"data_url":"data:image/png;base64,AAAA"}],"session_id":"s1","text":"say ok"}
            s1 t7 [preparing...]
            s1 #7 system: the data is not image/png
            s1 session.error {"message":"the data is not image/png","turn_id":"t7"}
            s1 [ready]
            8 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t7"}
            > 9 session.get {"session_id":"s1"}
            9 = s1 [ready] pending false chat null by null from "history" steers 0
                messages
                  #1 system: file not found: gone.png
                  #2 system: image too large (9.00 mb). max is 8.00 mb
                  #3 system: invalid image data_url. expected data:<mime>;base64,<payload>
                  #4 system: image payload is empty
                  #5 system: unsupported image mime type: image/tiff
                  #6 system: invalid image data_url. expected data:<mime>;base64,<payload>
                  #7 system: the data is not image/png
                history
                queue
        "#]]);
        play.watch.at_rest();
    });
}

#[test]
fn a_bad_image_beside_a_turn_leaves_the_turn_alone() {
    paused(async {
        let mut play = Play::on().await;
        play.send("say one hold").await;
        let params = json!({"session_id": "s1", "images": [{"data_url": "x"}], "enqueue": true});
        play.ask("session.send", params).await.interrupt().await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"say one hold"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say one hold
            s1 t1 answer "one"
            > 3 session.send {"enqueue":true,"images":[{"data_url":"x"}],"session_id":"s1"}
            3 = {"accepted":true,"queued":true,"session_id":"s1","turn_id":"t2"}
            s1 #2 system: invalid image data_url. expected data:<mime>;base64,<payload>
            s1 session.error {"message":"invalid image data_url. expected data:<mime>;base64,<payload>","turn_id":"t2"}
            > 4 session.interrupt {"session_id":"s1"}
            s1 [interrupting...]
            4 = {"interrupted":true,"session_id":"s1"}
            s1 #3 assistant: one
            s1 #4 system: response interrupted by user. partial output kept.
            s1 session.interrupted {"partial_output":true,"turn_id":"t1"}
            s1 [ready]
        "#]]);
        play.watch.at_rest();
    });
}

#[test]
fn requests_keep_their_order_while_an_image_is_read() {
    paused(async {
        let cast = Cast::default();
        cast.user.fill(|given| {
            given.image_ms = 1000;
            given.images.insert("a.png".into(), Ok(image("/w/a.png")));
        });
        let mut play = Play::on_with(cast).await;
        let params = json!({"session_id": "s1", "text": "say \"[Image 1]\" hold", "images": [{"path": "a.png"}]});
        play.put("session.send", params).await;
        play.put("session.send", json!({"session_id": "s1", "text": "say two"})).await;
        play.put("session.steer", json!({"session_id": "s1", "text": "x"})).await;
        play.put("session.send", json!({"session_id": "s1", "text": "say three", "enqueue": true})).await;
        play.put("session.queue.list", json!({"session_id": "s1"})).await;
        play.put("session.interrupt", json!({"session_id": "s1"})).await;
        play.note("others do not wait").ask("onboarding.status", json!({})).await.wait(2000).await;
        play.check(expect![[r#"
            > 2 session.send {"images":[{"path":"a.png"}],"session_id":"s1","text":"say \"[Image 1]\" hold"}
            > 3 session.send {"session_id":"s1","text":"say two"}
            > 4 session.steer {"session_id":"s1","text":"x"}
            > 5 session.send {"enqueue":true,"session_id":"s1","text":"say three"}
            > 6 session.queue.list {"session_id":"s1"}
            > 7 session.interrupt {"session_id":"s1"}
            # others do not wait
            > 8 onboarding.status {}
            8 = {"completed":false}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say "[Image 1]" hold </w/a.png>
            s1 t1 answer "[Image "
            s1 t1 answer "1]"
            3 ! -32000 session_busy: session is busy; use enqueue=true to queue the prompt
            4 = {"accepted":true,"session_id":"s1"}
            s1 [queued (1)]
            5 = {"accepted":true,"queued":true,"session_id":"s1","turn_id":"t2"}
            s1 [interrupting...]
            7 = {"interrupted":true,"session_id":"s1"}
            6 = {"queue":[{"enqueuedAt":"T","id":"t2","images":[],"text":"say three"}],"session_id":"s1"}
            s1 #2 assistant: [Image 1]
            s1 #3 system: response interrupted by user. partial output kept.
            s1 session.interrupted {"partial_output":true,"turn_id":"t1"}
            s1 [ready]
            s1 #4 system: 1 steer message(s) were queued too late and not applied.
            s1 t2 [preparing...]
            s1 t2 [drafting response...]
            s1 #5 user: say three
            s1 t2 answer "three"
            s1 #6 assistant: three
            s1 session.completed {"answer_length":5,"turn_id":"t2"}
            s1 [ready]
        "#]]);
        play.watch.at_rest();
    });
}
