//! Browsers log in for a week, whatever becomes of the server meanwhile, and log out: one, or all that logged in with the same
//! token. And no page of others does it for them.

use dialect_gateway::Scopes;
use gateway::{Access, TokenFile, add_token, revoke_token};
use vocab::Secret;

use crate::server::{Playing, TOKEN, bearer, call, dial, get, start, start_with, token_access};

/// A browser that has logged in: its cookie.
pub(crate) async fn logged_in(playing: &Playing, token: &str) -> String {
    let (status, head, _) = call(playing, "POST", "/api/login", "", &format!("{{\"token\":\"{token}\"}}")).await;
    assert_eq!(status, 200, "{head}");
    let cookie =
        head.lines().find_map(|line| line.to_ascii_lowercase().starts_with("set-cookie: ").then(|| &line[12..]));
    cookie.expect("a cookie").split(';').next().expect("a value").to_owned()
}

pub(crate) async fn is_known(playing: &Playing, cookie: &str) -> bool {
    get(playing, "/health", &format!("Cookie: {cookie}\r\n")).await.0 == 200
}

#[tokio::test]
async fn everywhere_ends_all_browsers_of_the_same_token_with_their_sockets_and_nobody_else() {
    let playing = start(token_access()).await;
    let store = TokenFile::new(&playing.home.path().join("gateway"));
    let named = add_token(&store, "ann", Scopes::ALL).expect("a token");
    playing.handle.look().await;
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

/// Another server in the same home.
async fn restarted(playing: Playing, access: Access) -> Playing {
    let Playing { handle, home, .. } = playing;
    handle.shutdown(std::future::pending()).await;
    let place = home.path().join("gateway");
    let again = start_with(|options| (options.home, options.access) = (place, access)).await;
    Playing { home, ..again }
}

#[tokio::test]
async fn a_restart_logs_no_browser_out_and_none_in_that_was_out() {
    let playing = start(token_access()).await;
    let store = TokenFile::new(&playing.home.path().join("gateway"));
    let named = add_token(&store, "ann", Scopes::READ).expect("a token");
    playing.handle.look().await;
    let (stays, leaves) = (logged_in(&playing, TOKEN).await, logged_in(&playing, TOKEN).await);
    let anns = logged_in(&playing, named.expose()).await;
    assert_eq!(call(&playing, "POST", "/api/logout", &format!("Cookie: {leaves}\r\n"), "").await.0, 200);
    let playing = restarted(playing, token_access()).await;
    assert!(is_known(&playing, &stays).await && is_known(&playing, &anns).await);
    assert!(!is_known(&playing, &leaves).await, "who logged out stays so");
    assert_eq!(playing.handle.counter()().auth_failures, 1);
    let mut socket = dial(playing.address, "/", &[("Cookie", &anns)]).await.expect("a socket");
    assert_eq!(socket.ask("who").await.as_deref(), Some("token:ann Scopes(1) ann"), "and may do what it could");
    // A token that goes takes its browsers with it, also while nobody listens and for good.
    let Playing { handle, home, .. } = playing;
    handle.shutdown(std::future::pending()).await;
    assert!(revoke_token(&store, "ann").expect("a file"));
    let place = home.path().join("gateway");
    let other = Access { token: Secret::new("another"), ..Access::default() };
    let again = start_with(|options| (options.home, options.access) = (place, other)).await;
    let playing = Playing { home, ..again };
    assert!(!is_known(&playing, &stays).await && !is_known(&playing, &anns).await);
    let playing = restarted(playing, token_access()).await;
    assert!(!is_known(&playing, &stays).await, "the old token is back, its browsers are not");
}

#[tokio::test]
async fn everywhere_is_everywhere_over_a_restart_and_the_file_tells_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let playing = start(token_access()).await;
    let (one, two) = (logged_in(&playing, TOKEN).await, logged_in(&playing, TOKEN).await);
    let file = playing.home.path().join("gateway/browsers.json");
    let text = std::fs::read_to_string(&file).expect("a file");
    let value = |cookie: &str| cookie.split_once('=').expect("a pair").1.to_owned();
    assert!(!text.contains(&value(&one)) && !text.contains(TOKEN), "{text}");
    assert_eq!(std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    let playing = restarted(playing, token_access()).await;
    let headers = format!("Cookie: {one}\r\n");
    assert_eq!(call(&playing, "POST", "/api/logout", &headers, "{\"everywhere\":true}").await.0, 200);
    assert!(!is_known(&playing, &two).await);
    let playing = restarted(playing, token_access()).await;
    assert!(!is_known(&playing, &two).await);
    // A file that nobody can read is no reason not to start.
    std::fs::write(&file, "{").expect("written");
    let playing = restarted(playing, token_access()).await;
    let new = logged_in(&playing, TOKEN).await;
    assert!(is_known(&restarted(playing, token_access()).await, &new).await);
}
