//! Named tokens: what they may do, and what happens when they are revoked.

use dialect_gateway::Scopes;
use gateway::{Access, TokenFile, add_token, make_main_token, revoke_token};
use vocab::Secret;

use crate::server::{TOKEN, bearer, dial, refused, start, token_access};

#[tokio::test]
async fn a_named_token_may_do_less_and_ends_with_its_sockets() {
    let playing = start(token_access()).await;
    let store = TokenFile::new(&playing.home.path().join("gateway"));
    let chat = add_token(&store, "ci", Scopes::READ.and(Scopes::CHAT)).expect("a token");
    let read = add_token(&store, "board", Scopes::READ).expect("a token");
    playing.handle.look().await;
    let chat = bearer(chat.expose());
    let mut bot = dial(playing.address, "/serve", &[("Authorization", &chat)]).await.expect("a socket");
    assert_eq!(bot.ask("who").await.as_deref(), Some("token:ci Scopes(3) ci"));
    let read = bearer(read.expose());
    assert_eq!(refused(playing.address, "/serve", &[("Authorization", &read)]).await, 403);
    let mut board = dial(playing.address, "/", &[("Authorization", &read)]).await.expect("a socket");
    assert!(revoke_token(&store, "ci").expect("a file"));
    playing.handle.look().await;
    assert_eq!(bot.close_of_server().await.expect("a close").0, 1008);
    assert_eq!(refused(playing.address, "/serve", &[("Authorization", &chat)]).await, 401);
    assert_eq!(board.ask("hello").await.as_deref(), Some("hello"), "another token goes on");
}

#[tokio::test]
async fn another_main_token_ends_what_the_old_one_opened() {
    let playing = start(token_access()).await;
    let old = bearer(TOKEN);
    let mut first = dial(playing.address, "/", &[("Authorization", &old)]).await.expect("a socket");
    let mut logged_in = dial(playing.address, "/", &[]).await.expect("a socket");
    assert_eq!(logged_in.ask(&format!("login {TOKEN}")).await.as_deref(), Some("welcome main"));
    playing.handle.access().set(Access { token: Secret::new("another"), ..Access::default() }).expect("set");
    assert_eq!(first.close_of_server().await.expect("a close").0, 1008);
    assert_eq!(logged_in.close_of_server().await.expect("a close").0, 1008);
    let new = bearer("another");
    dial(playing.address, "/serve", &[("Authorization", &new)]).await.expect("the new one is good");
}

#[tokio::test]
async fn g1_a_token_that_is_made_or_replaced_holds_without_a_new_start() {
    let playing = start(Access::default()).await;
    let home = playing.home.path().join("gateway");
    dial(playing.address, "/serve", &[]).await.expect("our own process");
    let first = make_main_token(&home).expect("a token");
    playing.handle.look().await;
    assert_eq!(refused(playing.address, "/serve", &[]).await, 401, "everybody has to show it");
    let old = bearer(first.expose());
    let mut client = dial(playing.address, "/", &[("Authorization", &old)]).await.expect("a socket");
    let second = make_main_token(&home).expect("a token");
    playing.handle.look().await;
    assert_eq!(client.close_of_server().await.expect("a close").0, 1008, "what the old one opened ends");
    assert_eq!(refused(playing.address, "/serve", &[("Authorization", &old)]).await, 401);
    let new = bearer(second.expose());
    dial(playing.address, "/serve", &[("Authorization", &new)]).await.expect("the new one is good");
    // A reload that says nothing of a token leaves it so.
    playing.handle.access().set(Access::default()).expect("set");
    assert_eq!(refused(playing.address, "/serve", &[("Authorization", &old)]).await, 401);
    dial(playing.address, "/serve", &[("Authorization", &new)]).await.expect("the new one is good");
}

#[tokio::test]
async fn a_token_that_was_made_this_moment_is_good_and_no_guess() {
    let playing = start(Access::default()).await;
    let home = playing.home.path().join("gateway");
    for _ in 0..2 {
        let token = bearer(make_main_token(&home).expect("a token").expose());
        dial(playing.address, "/serve", &[("Authorization", &token)]).await.expect("the newest one is good");
    }
    let named = add_token(&TokenFile::new(&home), "ci", Scopes::READ.and(Scopes::CHAT)).expect("a token");
    let named = bearer(named.expose());
    dial(playing.address, "/serve", &[("Authorization", &named)]).await.expect("so is a named one");
    assert_eq!(playing.handle.counter()().auth_failures, 0);
    assert_eq!(refused(playing.address, "/serve", &[("Authorization", "Bearer wrong")]).await, 401);
    assert_eq!(playing.handle.counter()().auth_failures, 1);
}
