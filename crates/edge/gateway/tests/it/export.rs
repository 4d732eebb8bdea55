//! A session as a file to keep.

use std::sync::Arc;

use gateway::{EXPORT_PATH, ExportRoute, WebRoute};
use vocab::{Fault, FaultKind};

use crate::server::{TOKEN, Texts, call, get, start_with_hooks, token_access};

/// One session is there, one is too long, one cannot be read.
fn route() -> Arc<dyn WebRoute> {
    Arc::new(ExportRoute::new(Arc::new(|session, ending| {
        let made = match session.as_str() {
            "tg:1/x" => Ok(Some(format!("<script>{ending}</script>").into_bytes())),
            "long" => Err(Fault::new(FaultKind::Invalid, "it is too long")),
            "broken" => Err(Fault::new(FaultKind::Store, "a secret place is broken")),
            _ => Ok(None),
        };
        Box::pin(std::future::ready(made))
    })))
}

#[tokio::test]
async fn a_session_is_saved_and_never_shown_as_a_page_of_ours() {
    let hooks = Texts { route: Some((EXPORT_PATH, route())), ..Texts::default() };
    let playing = start_with_hooks(|options| options.access = token_access(), Arc::new(hooks)).await;
    let good = format!("Authorization: Bearer {TOKEN}\r\n");
    for (format, media) in [
        ("html", "text/html; charset=utf-8"),
        ("md", "text/markdown; charset=utf-8"),
        ("jsonl", "application/x-ndjson"),
    ] {
        let path = format!("{EXPORT_PATH}?session=tg%3A1%2Fx&format={format}");
        let (status, head, body) = get(&playing, &path, &good).await;
        assert_eq!((status, body), (200, format!("<script>{format}</script>")), "{head}");
        let head = head.to_ascii_lowercase();
        for line in [
            format!("content-type: {media}"),
            format!("content-disposition: attachment; filename=\"tg_1_x.{format}\""),
            "content-security-policy: sandbox; default-src 'none'".to_owned(),
            "x-content-type-options: nosniff".to_owned(),
            "cache-control: no-store".to_owned(),
        ] {
            assert!(head.contains(&line), "{line}: {head}");
        }
    }
    for (query, status) in [
        ("", 400),
        ("?session=tg:1", 400),
        ("?session=tg:1&format=pdf", 400),
        ("?session=..%2F..%2Fetc&format=md", 400),
        ("?session=a%0d%0aX:y&format=md", 400),
        ("?session=absent&format=md", 404),
        ("?session=long&format=md", 413),
        ("?session=broken&format=md", 500),
    ] {
        let (found, _, body) = get(&playing, &format!("{EXPORT_PATH}{query}"), &good).await;
        assert_eq!(found, status, "{query}: {body}");
        assert!(body.starts_with("{\"error\"") && !body.contains("secret"), "{query}: {body}");
    }
    let one = format!("{EXPORT_PATH}?session=tg%3A1%2Fx&format=md");
    assert_eq!(get(&playing, &one, "").await.0, 401);
    assert_eq!(call(&playing, "POST", &one, &good, "").await.0, 405);
}
