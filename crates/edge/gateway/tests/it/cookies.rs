//! Cookies that a browser brings along: many of one token, some of other servers, and those of a gateway that has no token.

use dialect_gateway::Scopes;
use gateway::limits::COOKIES_PER_TOKEN_MAX;
use gateway::{Access, TokenFile, add_token};

use crate::logout::{is_known, logged_in};
use crate::server::{Playing, TOKEN, bearer, dial, get, start, token_access};

async fn named(playing: &Playing, name: &str, scopes: Scopes) -> String {
    let token = add_token(&TokenFile::new(&playing.home.path().join("gateway")), name, scopes).expect("a token");
    playing.handle.look().await;
    token.expose().to_owned()
}

#[tokio::test]
async fn a_token_with_many_browsers_ends_its_own_oldest_and_nobody_elses() {
    let playing = start(token_access()).await;
    let chats = named(&playing, "chats", Scopes::CHAT).await;
    let operator = logged_in(&playing, TOKEN).await;
    let mut of_operator = dial(playing.address, "/", &[("Cookie", &operator)]).await.expect("a socket");
    let (first, second) = (logged_in(&playing, &chats).await, logged_in(&playing, &chats).await);
    let mut of_first = dial(playing.address, "/", &[("Cookie", &first)]).await.expect("a socket");
    for _ in 2..COOKIES_PER_TOKEN_MAX + 1 {
        logged_in(&playing, &chats).await;
    }
    assert!(is_known(&playing, &operator).await);
    assert_eq!(of_operator.ask("hello").await.as_deref(), Some("hello"));
    assert!(!is_known(&playing, &first).await && is_known(&playing, &second).await);
    assert_eq!(of_first.close_of_server().await.expect("a close").0, 1008, "its sockets end with it");
}

/// A browser sends its cookies to every port of a host.
#[tokio::test]
async fn without_a_token_a_cookie_of_another_server_keeps_nobody_out() {
    let playing = start(Access::default()).await;
    let cookie = "Cookie: tm_session=of-another-port\r\n";
    for _ in 0..50 {
        assert_eq!(get(&playing, "/health", cookie).await.0, 200);
    }
    let mut socket = dial(playing.address, "/", &[("Cookie", "tm_session=x")]).await.expect("a socket");
    assert!(socket.ask("who").await.expect("an answer").starts_with("user:"));
    let proxied = |value: usize| format!("Cookie: tm_session={value}\r\nX-Forwarded-For: 192.0.2.1\r\n");
    for guess in 0..20 {
        assert_eq!(get(&playing, "/health", &proxied(guess)).await.0, 401, "it makes nobody known either");
    }
    assert_eq!(get(&playing, "/health", &proxied(20)).await.0, 429, "and is a guess of theirs");
    assert_eq!(get(&playing, "/health", "Authorization: Bearer x\r\n").await.0, 401, "a token is shown on purpose");
    assert_eq!(get(&start(token_access()).await, "/health", cookie).await.0, 401, "and where there is one it is wrong");
}

#[tokio::test]
async fn a_good_cookie_counts_wherever_it_stands_among_others() {
    let playing = start(token_access()).await;
    let good = logged_in(&playing, TOKEN).await;
    for cookies in
        [format!("tm_session=other; {good}"), format!("{good}; tm_session=other"), format!("tm_session=; {good}")]
    {
        assert!(is_known(&playing, &cookies).await, "{cookies}");
    }
    let far = format!("{}{good}", "tm_session=other; ".repeat(50));
    assert!(!is_known(&playing, &far).await, "there is an end to it");
}

/// A peer of the engine has one name, and so has what it does in the audit.
#[tokio::test]
async fn a_connection_stays_with_the_token_that_it_came_with() {
    let playing = start(token_access()).await;
    let chats = named(&playing, "chats", Scopes::CHAT).await;
    let by_token = bearer(&chats);
    let mut socket = dial(playing.address, "/", &[("Authorization", &by_token)]).await.expect("a socket");
    assert_eq!(socket.ask(&format!("login {TOKEN}")).await.as_deref(), Some("Taken"));
    assert_eq!(socket.ask(&format!("login {chats}")).await.as_deref(), Some("welcome chats"), "its own is no other");
    let mut stranger = dial(playing.address, "/", &[]).await.expect("a socket");
    assert_eq!(stranger.ask(&format!("login {chats}")).await.as_deref(), Some("welcome chats"));
    assert_eq!(stranger.ask(&format!("login {TOKEN}")).await.as_deref(), Some("Taken"));
    let open = start(Access::default()).await;
    let chats = named(&open, "chats", Scopes::CHAT).await;
    let mut user = dial(open.address, "/", &[]).await.expect("a socket");
    assert_eq!(user.ask(&format!("login {chats}")).await.as_deref(), Some("welcome chats"), "on top of who they are");
    assert!(user.ask("who").await.expect("an answer").starts_with("user:"));
}
