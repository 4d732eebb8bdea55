//! Browsers log out: one, or all that logged in with the same token. And no page of others does it for them.

use dialect_gateway::Scopes;
use gateway::{TokenFile, add_token};

use crate::server::{Playing, TOKEN, bearer, call, dial, get, start, token_access};

/// A browser that has logged in: its cookie.
async fn logged_in(playing: &Playing, token: &str) -> String {
    let (status, head, _) = call(playing, "POST", "/api/login", "", &format!("{{\"token\":\"{token}\"}}")).await;
    assert_eq!(status, 200, "{head}");
    let cookie =
        head.lines().find_map(|line| line.to_ascii_lowercase().starts_with("set-cookie: ").then(|| &line[12..]));
    cookie.expect("a cookie").split(';').next().expect("a value").to_owned()
}

async fn is_known(playing: &Playing, cookie: &str) -> bool {
    get(playing, "/health", &format!("Cookie: {cookie}\r\n")).await.0 == 200
}

#[tokio::test]
async fn everywhere_ends_all_browsers_of_the_same_token_with_their_sockets_and_nobody_else() {
    let playing = start(token_access()).await;
    let store = TokenFile::new(&playing.home.path().join("gateway"));
    let named = add_token(&store, "ann", Scopes::ALL).expect("a token");
    playing.handle.look();
    let (one, two) = (logged_in(&playing, TOKEN).await, logged_in(&playing, TOKEN).await);
    let anns = logged_in(&playing, named.expose()).await;
    let mut socket = dial(playing.address, "/", &[("Cookie", &two)]).await.expect("a socket");
    let mut of_ann = dial(playing.address, "/", &[("Cookie", &anns)]).await.expect("a socket");
    let by_token = bearer(TOKEN);
    let mut program = dial(playing.address, "/", &[("Authorization", &by_token)]).await.expect("a socket");
    assert!(socket.ask("who").await.expect("an answer").starts_with("token:main"));
    let (status, head, _) =
        call(&playing, "POST", "/api/logout", &format!("Cookie: {one}\r\n"), "{\"everywhere\":true}").await;
    assert_eq!(status, 200);
    assert!(head.to_ascii_lowercase().contains("max-age=0"), "{head}");
    assert_eq!(socket.close_of_server().await.expect("a close").0, 1008);
    assert!(!is_known(&playing, &one).await && !is_known(&playing, &two).await);
    assert!(is_known(&playing, &anns).await);
    assert_eq!(of_ann.ask("hello").await.as_deref(), Some("hello"));
    assert_eq!(program.ask("hello").await.as_deref(), Some("hello"), "a token is no browser");
}

#[tokio::test]
async fn one_browser_logs_out_alone_and_who_is_not_logged_in_ends_nothing() {
    let playing = start(token_access()).await;
    let (one, two) = (logged_in(&playing, TOKEN).await, logged_in(&playing, TOKEN).await);
    for body in ["{\"everywhere\":7}", "[]", "everywhere"] {
        let wrong = call(&playing, "POST", "/api/logout", &format!("Cookie: {one}\r\n"), body).await;
        assert_eq!(wrong.0, 400, "{body}");
    }
    for headers in ["", "Cookie: tm_session=wrong\r\n"] {
        assert_eq!(call(&playing, "POST", "/api/logout", headers, "{\"everywhere\":true}").await.0, 200);
    }
    assert!(is_known(&playing, &one).await && is_known(&playing, &two).await);
    assert_eq!(call(&playing, "POST", "/api/logout", &format!("Cookie: {one}\r\n"), "").await.0, 200);
    assert!(!is_known(&playing, &one).await && is_known(&playing, &two).await);
}

/// A browser sends an `Origin` with every POST of a page, so one that is not ours shows.
#[tokio::test]
async fn g2_no_page_of_another_origin_logs_anybody_in_or_out() {
    let playing = start(token_access()).await;
    let cookie = logged_in(&playing, TOKEN).await;
    let origins = ["http://evil.example", "null", "https://127.0.0.1", "http://localhost:1", "file://"];
    for origin in origins {
        let headers = format!("Cookie: {cookie}\r\nOrigin: {origin}\r\n");
        for body in ["", "{\"everywhere\":true}"] {
            assert_eq!(call(&playing, "POST", "/api/logout", &headers, body).await.0, 403, "{origin}");
        }
        let (status, head, _) =
            call(&playing, "POST", "/api/login", &headers, &format!("{{\"token\":\"{TOKEN}\"}}")).await;
        assert_eq!(status, 403, "{origin}");
        assert!(!head.to_ascii_lowercase().contains("set-cookie"), "{head}");
    }
    for method in ["GET", "HEAD", "PUT", "OPTIONS"] {
        let headers = format!("Cookie: {cookie}\r\n");
        assert_eq!(call(&playing, method, "/api/logout", &headers, "").await.0, 405, "an image cannot do it: {method}");
    }
    assert!(is_known(&playing, &cookie).await);
    let own = format!("Cookie: {cookie}\r\nOrigin: http://{}\r\n", playing.address);
    assert_eq!(call(&playing, "POST", "/api/logout", &own, "{\"everywhere\":true}").await.0, 200);
    assert!(!is_known(&playing, &cookie).await);
}
