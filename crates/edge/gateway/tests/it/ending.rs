//! The end: everybody is told, files go, and a second server in the same home is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gateway::{Access, GatewayFile, HealthReport, ServerHooks, ServerOptions, SocketChoice};
use vocab::Later;

use crate::no_hooks::NoHooks;
use crate::server::{dial, get, http, start, start_with, start_with_hooks};

#[tokio::test]
async fn everybody_is_told_and_nothing_is_left() {
    let playing = start(Access::default()).await;
    let home = playing.home.path().join("gateway");
    let file = GatewayFile::running(&home).expect("a file").expect("a gateway");
    assert_eq!((file.pid, file.url.as_deref()), (std::process::id(), playing.handle.url()));
    for name in ["gateway.json", "gateway.sock", "lock"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(home.join(name)).expect(name).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let mut client = dial(playing.address, "/", &[]).await.expect("a socket");
    assert_eq!(client.ask("hello").await.as_deref(), Some("hello"));
    let address = playing.address;
    let ending = playing.handle.ending();
    let shutdown = tokio::spawn(playing.handle.shutdown(std::future::pending()));
    assert_eq!(client.close_of_server().await, Some((1001, "7.1".to_owned())), "with where to go on");
    drop(client);
    tokio::time::timeout(Duration::from_secs(20), shutdown).await.expect("in time").expect("no panic");
    assert_eq!(ending.asked(), Some("shutdown"));
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens");
    assert!(!home.join("gateway.json").exists() && !home.join("gateway.sock").exists());
    assert_eq!(GatewayFile::running(&home).expect("a file"), None);
}

#[tokio::test]
async fn it_is_ready_when_it_is_told_and_not_while_it_ends() {
    let playing = start(Access::default()).await;
    assert_eq!(get(&playing, "/readyz", "").await.0, 200);
    // A connection that is open when the end comes.
    let client = dial(playing.address, "/", &[]).await.expect("a socket");
    playing.handle.ending().ask("shutdown");
    drop(client);
}

/// Counts how often it is looked whether we are well, which is a write.
#[derive(Default)]
struct CountedHealth(AtomicUsize);

impl ServerHooks for CountedHealth {
    fn health(&self) -> Later<'static, HealthReport> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            HealthReport { serves: true, json: "{}".to_owned() }
        })
    }
    fn schema(&self) -> Arc<str> {
        "{}".into()
    }
    fn metrics(&self) -> String {
        String::new()
    }
    fn note(&self, _: &str) {}
}

/// Strangers may ask, and leave before they hear.
#[tokio::test]
async fn whoever_asks_how_we_are_causes_at_most_one_look_a_second() {
    let hooks = Arc::<CountedHealth>::default();
    let playing = start_with_hooks(|_| {}, hooks.clone()).await;
    let since = std::time::Instant::now();
    for _ in 0..5 {
        let early = http(playing.address, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let _ = tokio::time::timeout(Duration::from_millis(20), early).await;
    }
    for path in ["/health", "/readyz", "/health", "/readyz"] {
        assert_eq!(get(&playing, path, "").await.0, 200, "{path}");
    }
    let looks = hooks.0.load(Ordering::Relaxed) as u64;
    assert!(looks <= since.elapsed().as_secs() + 1, "{looks} looks in {:?}", since.elapsed());
}

#[tokio::test]
async fn a_second_gateway_of_a_home_says_where_the_first_is() {
    let playing = start(Access::default()).await;
    let home = playing.home.path().join("gateway");
    let options = ServerOptions::new(home, "127.0.0.1:0".parse().expect("an address"));
    let stage = testkit::Stage::new(testkit::StageOptions::default());
    let second =
        gateway::GatewayServer::start(options, stage.engine.clone(), Vec::new(), Arc::<NoHooks>::default()).await;
    let fault = second.err().expect("refused");
    let expected = format!("a gateway runs already: pid {}, http://{}", std::process::id(), playing.address);
    assert!(fault.message.starts_with(&expected), "{}", fault.message);
    assert!(fault.hints[0].contains("gateway stop"), "{:?}", fault.hints);
}

#[tokio::test]
async fn it_listens_beyond_this_machine_only_with_token_and_tls() {
    let stage = testkit::Stage::new(testkit::StageOptions::default());
    for (token, tls, free, starts) in [
        (false, false, false, false),
        (true, false, false, false),
        (false, true, false, false),
        (true, true, false, true),
        (true, false, true, true),
        (false, false, true, true),
    ] {
        let home = tempfile::tempdir().expect("a directory");
        let mut options = ServerOptions::new(home.path().to_owned(), "0.0.0.0:0".parse().expect("an address"));
        options.access.token = token.then(|| vocab::Secret::new("t").expect("a token"));
        options.tls = if tls { gateway::TlsChoice::SelfSigned } else { gateway::TlsChoice::None };
        options.understands_no_auth = free;
        let hooks = Arc::<crate::server::Texts>::default();
        let started = gateway::GatewayServer::start(options, stage.engine.clone(), Vec::new(), hooks.clone()).await;
        assert_eq!(started.is_ok(), starts, "token {token}, tls {tls}, understood {free}");
        if let Err(fault) = started {
            assert!(fault.message.contains(if token { "TLS" } else { "a token" }), "{}", fault.message);
        }
        // What somebody says to understand is told at each start.
        let notes = hooks.notes.lock().expect("no panic").join("\n");
        assert_eq!(notes.contains("listens for other machines without TLS"), free && !tls, "{notes}");
        assert_eq!(notes.contains("nobody from there is let in before"), free && !token, "{notes}");
    }
    let _ = start_with(|_| ()).await;
}

#[tokio::test]
async fn two_homes_do_not_share_a_socket() {
    let place = tempfile::tempdir().expect("a directory");
    let stage = testkit::Stage::new(testkit::StageOptions::default());
    let start = async |home: &str, socket: &std::path::Path| {
        let address = "127.0.0.1:0".parse().expect("an address");
        let mut options = ServerOptions::new(place.path().join(home), address);
        options.socket = SocketChoice::At(socket.to_owned());
        let hooks = Arc::<crate::server::Texts>::default();
        gateway::GatewayServer::start(options, stage.engine.clone(), Vec::new(), hooks).await
    };
    let socket = place.path().join("s.sock");
    let first = start("one", &socket).await.expect("a server");
    let refused = start("two", &socket).await.map(drop).expect_err("it is taken");
    assert!(refused.message.ends_with("s.sock: another program listens there"), "{}", refused.message);
    tokio::net::UnixStream::connect(&socket).await.expect("the first one is there");
    first.shutdown(std::future::pending()).await;
    assert!(!socket.exists());
    // Who reads the file stands somewhere else.
    let typed = std::path::Path::new("typed-as-it-is.sock");
    let relative = start("two", typed).await.expect("a server");
    let named = GatewayFile::running(&place.path().join("two")).expect("a look").expect("it runs").socket;
    assert_eq!(named, Some(std::path::absolute(typed).expect("a path")));
    relative.shutdown(std::future::pending()).await;
    assert!(!typed.exists());
}

#[tokio::test]
async fn a_file_that_was_left_is_believed_by_nobody_however_many_look() {
    let home = tempfile::tempdir().expect("a folder");
    std::fs::write(home.path().join("lock"), "").expect("a file");
    let left = r#"{"pid":1,"started":0,"url":null,"socket":null,"version":"0","instance":"x"}"#;
    std::fs::write(home.path().join("gateway.json"), left).expect("a file");
    let looks = || (0..500).filter(|_| GatewayFile::running(home.path()).expect("a look").is_some()).count();
    let believed: usize = std::thread::scope(|scope| {
        let lookers: Vec<_> = (0..8).map(|_| scope.spawn(looks)).collect();
        lookers.into_iter().map(|it| it.join().expect("no panic")).sum()
    });
    assert_eq!(believed, 0);
}
