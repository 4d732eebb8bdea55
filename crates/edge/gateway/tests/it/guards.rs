//! Pages of others: no mix of headers gets them a socket. And guessing is slow.

use gateway::Access;

use crate::server::{TOKEN, bearer, call, dial, get, http, refused, start, token_access};

/// Names and origins by which a page comes that is none of ours, and what it is answered.
pub(crate) fn foreign_mixes(port: u16) -> Vec<(String, &'static str, u16)> {
    let hosts = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("evil.example:{port}"),
        "evil.example".to_owned(),
    ];
    let origins =
        ["http://evil.example", "null", "https://127.0.0.1", "http://localhost", "file://", "https://app.example.evil"];
    let status = |host: &str| if host.starts_with("evil") { 421 } else { 403 };
    let mixes: Vec<_> =
        hosts.iter().flat_map(|host| origins.map(|origin| (host.clone(), origin, status(host)))).collect();
    assert_eq!(mixes.len(), 24);
    mixes
}

#[tokio::test]
async fn g2_no_page_of_another_origin_gets_in() {
    let playing = start(Access { allowed_origins: vec!["https://app.example".to_owned()], ..Access::default() }).await;
    let address = playing.address;
    let key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    let upgrade = "Connection: Upgrade, close\r\nUpgrade: websocket";
    for (host, origin, expected) in foreign_mixes(address.port()) {
        let text = format!("GET / HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n{upgrade}\r\n{key}\r\n\r\n");
        let (status, head, _) = http(address, &text).await;
        assert_eq!(status, expected, "{host} {origin}");
        assert!(!head.to_ascii_lowercase().contains("access-control"), "{head}");
    }
    // Two of them are none, whichever comes first.
    for (one, other) in
        [("http://evil.example", &*format!("http://{address}")), (&*format!("http://{address}"), "http://evil.example")]
    {
        assert_eq!(refused(address, "/", &[("Origin", one), ("Origin", other)]).await, 400, "{one} {other}");
    }
    for origin in [format!("http://{address}"), "https://app.example".to_owned()] {
        dial(address, "/", &[("Origin", &origin)]).await.expect("an origin that may");
    }
}

#[tokio::test]
async fn g2_another_name_is_misdirected() {
    let playing = start(Access { hostnames: vec!["box.example".to_owned()], ..Access::default() }).await;
    let address = playing.address;
    let ask = |host: &str, path: &str| {
        let text = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        async move { http(address, &text).await.0 }
    };
    assert_eq!(ask("box.example", "/health").await, 401, "a name of ours, but nobody is known by it");
    assert_eq!(ask("evil.example", "/health").await, 421, "rebinding reads with GET");
    assert_eq!(ask("evil.example", "/livez").await, 200, "probes come by any name");
    let none = http(address, "GET /health HTTP/1.1\r\nConnection: close\r\n\r\n").await.0;
    assert_eq!(none, 400);
}

#[tokio::test]
async fn g2_a_request_that_changes_something_needs_its_own_origin() {
    let playing = start(token_access()).await;
    let body = format!("{{\"token\":\"{TOKEN}\"}}");
    let foreign = call(&playing, "POST", "/api/login", "Origin: http://evil.example\r\n", &body).await;
    assert_eq!(foreign.0, 403);
    let own = format!("Origin: http://{}\r\n", playing.address);
    assert_eq!(call(&playing, "POST", "/api/login", &own, &body).await.0, 200);
}

#[tokio::test]
async fn g3_guessing_is_slow_whatever_is_guessed() {
    let playing = start(token_access()).await;
    let wrong = ["Authorization: Bearer wrong\r\n", "Authorization: Basic eDp3cm9uZw==\r\n"];
    for guess in 0..10 {
        assert_eq!(get(&playing, "/health", wrong[guess % 2]).await.0, 401);
    }
    for _ in 0..5 {
        assert_eq!(call(&playing, "POST", "/api/login", "", "{\"token\":\"wrong\"}").await.0, 401);
    }
    let mut stranger = dial(playing.address, "/", &[]).await.expect("a socket");
    for _ in 0..5 {
        assert_eq!(stranger.ask("login wrong").await.as_deref(), Some("Wrong"));
    }
    let (status, head, _) = get(&playing, "/health", wrong[0]).await;
    assert_eq!(status, 429);
    assert!(head.to_ascii_lowercase().contains("retry-after: "), "{head}");
    assert_eq!(refused(playing.address, "/", &[("Authorization", "Bearer wrong")]).await, 429);
    assert!(stranger.ask(&format!("login {TOKEN}")).await.expect("an answer").starts_with("TooMany"));
    let good = bearer(TOKEN);
    assert_eq!(refused(playing.address, "/", &[("Authorization", &good)]).await, 429, "a good one is not read either");
    let origin = format!("http://{}", playing.address);
    let other = [("Authorization", good.as_str()), ("Origin", origin.as_str())];
    dial(playing.address, "/", &other).await.expect("another origin has its own count");
}

/// Another user of this machine guesses: its owner goes on working.
#[tokio::test]
async fn g3_guesses_keep_nobody_out_who_needs_no_token() {
    let playing = start(Access::default()).await;
    for _ in 0..20 {
        assert_eq!(get(&playing, "/health", "Authorization: Bearer wrong\r\n").await.0, 401);
    }
    assert_eq!(get(&playing, "/health", "Authorization: Bearer wrong\r\n").await.0, 429);
    assert_eq!(get(&playing, "/health", "").await.0, 200);
    dial(playing.address, "/serve", &[]).await.expect("a socket");
}

/// A browser sends its cookies to every port of a host, and open tabs come back with old ones.
#[tokio::test]
async fn g3_cookies_are_guessed_slowly_and_lock_out_nobody_who_has_a_token() {
    let playing = start(token_access()).await;
    let cookie = |value: &str| format!("Cookie: tm_session={value}\r\n");
    for _ in 0..50 {
        assert_eq!(get(&playing, "/health", &cookie("stale")).await.0, 401, "the same again is no other guess");
    }
    assert_eq!(get(&playing, "/health", &cookie("")).await.0, 401, "what a logout leaves is no guess");
    for guess in 1..20 {
        assert_eq!(get(&playing, "/health", &cookie(&format!("guess{guess}"))).await.0, 401, "guess {guess}");
    }
    assert_eq!(get(&playing, "/health", &cookie("guess20")).await.0, 429);
    assert_eq!(refused(playing.address, "/", &[("Cookie", "tm_session=guess20")]).await, 429);
    let good = bearer(TOKEN);
    dial(playing.address, "/", &[("Authorization", &good)]).await.expect("whoever has a token comes in");
    let mut stranger = dial(playing.address, "/", &[]).await.expect("a socket");
    assert_eq!(stranger.ask(&format!("login {TOKEN}")).await.as_deref(), Some("welcome main"));
    let (status, head, _) = call(&playing, "POST", "/api/login", "", &format!("{{\"token\":\"{TOKEN}\"}}")).await;
    assert_eq!(status, 200, "{head}");
    // Guesses of tokens lock no cookie out either.
    let own = format!("Origin: http://{}\r\n", playing.address);
    let cookie = head.lines().find_map(|line| line.split_once("tm_session=")).expect("a cookie").1;
    let cookie = format!("Cookie: tm_session={}\r\n{own}", cookie.split(';').next().unwrap_or_default());
    for _ in 0..20 {
        assert_eq!(get(&playing, "/health", &format!("Authorization: Bearer wrong\r\n{own}")).await.0, 401);
    }
    assert_eq!(get(&playing, "/health", &format!("Authorization: {good}\r\n{own}")).await.0, 429);
    assert_eq!(get(&playing, "/health", &cookie).await.0, 200);
}

/// Guesses, of which the first twenty are read.
const GUESSES: usize = 200;
const GUESSES_FULL: usize = 1_000;

#[tokio::test]
async fn g3_a_new_name_for_each_guess_makes_no_new_guesser() {
    let playing = start(token_access()).await;
    let guesses = if std::env::var_os("TILLERMAN_FULL").is_some() { GUESSES_FULL } else { GUESSES };
    let mut read = 0;
    for guess in 0..guesses {
        let headers = format!("Authorization: Bearer {guess}\r\nOrigin: http://page{guess}.example\r\n");
        let (status, head, body) = get(&playing, "/health", &headers).await;
        read += usize::from(status == 401);
        assert!([401, 429].contains(&status), "{head}");
        // Unknown and wrong are told alike.
        assert!(status == 429 || body.contains("\"code\":-5"), "{body}");
    }
    assert_eq!(read, 20);
}

/// Who is no browser says itself which page it is, and by which of our names it came: no spelling makes a new guesser.
#[tokio::test]
async fn g3_no_spelling_of_our_own_page_makes_a_new_guesser() {
    let allowed_origins = vec!["https://app.example".to_owned()];
    let playing = start(Access { allowed_origins, ..token_access() }).await;
    let (address, port) = (playing.address, playing.address.port());
    let spelled = |guess: usize| match guess % 5 {
        0 => (format!("localhost:{}", 1000 + guess), format!("http://localhost:{}", 1000 + guess)),
        1 => (address.to_string(), format!("http://{address}{}", "/".repeat(guess))),
        2 => (format!("127.0.0.{}:{port}", 2 + guess % 250), format!("http://127.0.0.{}:{port}", 2 + guess % 250)),
        3 => (format!("LOCALHOST:{guess}"), format!("HTTP://LocalHost:{guess}")),
        _ => (format!("[::1]:{guess}"), format!("http://[::1]:{guess}")),
    };
    let mut read = 0;
    for guess in 0..GUESSES {
        let (host, origin) = spelled(guess);
        let head = format!("Host: {host}\r\nOrigin: {origin}\r\nConnection: close\r\n");
        let body = format!("{{\"token\":\"{guess}\"}}");
        let text = match guess % 2 {
            0 => format!("GET /health HTTP/1.1\r\n{head}Authorization: Bearer {guess}\r\n\r\n"),
            _ => format!("POST /api/login HTTP/1.1\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len()),
        };
        let (status, head, _) = http(address, &text).await;
        assert!([401, 429].contains(&status), "{host} {origin}: {head}");
        read += usize::from(status == 401);
    }
    assert_eq!(read, 20, "our own page is one guesser");
    read = 0;
    for guess in 0..GUESSES {
        let slashes = "/".repeat(guess);
        let headers = format!("Authorization: Bearer {guess}\r\nOrigin: https://app.example{slashes}\r\n");
        read += usize::from(get(&playing, "/health", &headers).await.0 == 401);
    }
    assert_eq!(read, 20, "and so is one of the list");
}

/// Whoever measures the time of a refusal learns nothing of how much of a token was right.
#[tokio::test]
async fn g3_a_token_that_is_nearly_right_takes_as_long_as_any() {
    let nearly = format!("{}x", &TOKEN[..TOKEN.len() - 1]);
    let mut medians = Vec::new();
    for guess in [nearly.as_str(), "zzzzzzzzzzzzzzzzzzzzzz"] {
        let mut times = Vec::new();
        // A server each twenty guesses: more are not read.
        for _ in 0..5 {
            let playing = start(token_access()).await;
            for _ in 0..20 {
                let began = std::time::Instant::now();
                assert_eq!(get(&playing, "/health", &format!("Authorization: Bearer {guess}\r\n")).await.0, 401);
                times.push(began.elapsed().as_micros());
            }
        }
        times.sort_unstable();
        medians.push(times[times.len() / 2]);
    }
    let (less, more) = (medians[0].min(medians[1]), medians[0].max(medians[1]));
    // Connecting takes hundreds of microseconds, comparing digests less than one.
    assert!(more < less * 3 + 1_000, "{medians:?}");
}
