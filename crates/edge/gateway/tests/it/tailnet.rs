//! People of the tailnet: believed where the local daemon says the same. The daemon's program is found by PATH, so that this
//! test runs in a process of its own where the path is another.

use gateway::{Access, TailscaleOptions};

use crate::server::{TOKEN, dial, refused, start, token_access};

const CHILD: &str = "TILLERMAN_TEST_TAILNET";

#[test]
fn g4_who_the_daemon_knows_comes_in() {
    if std::env::var_os(CHILD).is_none() {
        let home = tempfile::tempdir().expect("a directory");
        let program = home.path().join("tailscale");
        let script = "#!/bin/sh\n[ \"$1 $2 $3\" = 'whois --json 100.64.0.9' ] || exit 1\n\
                      echo '{\"Node\":{},\"UserProfile\":{\"LoginName\":\"ann@x\"}}'\n";
        std::fs::write(&program, script).expect("a program");
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        let path = format!("{}:{}", home.path().display(), std::env::var("PATH").expect("a path"));
        let done = std::process::Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "tailnet::g4_who_the_daemon_knows_comes_in", "--nocapture"])
            .env("PATH", path)
            .env(CHILD, "1")
            .status();
        assert!(done.expect("it runs").success());
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(inside());
}

async fn inside() {
    let tailscale = TailscaleOptions { identity: true, ..TailscaleOptions::default() };
    let playing = start(Access { tailscale: tailscale.clone(), ..token_access() }).await;
    let address = playing.address;
    let ann = [("Tailscale-User-Login", "ann@x"), ("X-Forwarded-For", "100.64.0.9")];
    let mut client = dial(address, "/serve", &ann).await.expect("a socket");
    assert_eq!(client.ask("who").await.as_deref(), Some("sender:tailscale/ann@x Scopes(15) ann@x"));
    let eve = [("Tailscale-User-Login", "eve@x"), ("X-Forwarded-For", "100.64.0.9")];
    assert_eq!(refused(address, "/serve", &eve).await, 401, "another name than the daemon's");
    let unknown = [("Tailscale-User-Login", "ann@x"), ("X-Forwarded-For", "100.64.0.10")];
    assert_eq!(refused(address, "/serve", &unknown).await, 401, "an address that the daemon does not know");
    let wrong = [ann[0], ann[1], ("Authorization", "Bearer wrong")];
    assert_eq!(refused(address, "/serve", &wrong).await, 401, "a wrong token next to it is wrong");
    let trusting = TailscaleOptions { trust_header: true, ..tailscale };
    let trusted = start(Access { tailscale: trusting, ..token_access() }).await;
    assert_eq!(refused(trusted.address, "/serve", &eve).await, 101);
    let off = start(token_access()).await;
    assert_eq!(refused(off.address, "/serve", &ann).await, 401);
    let _ = TOKEN;
}
