//! A command that we have started comes to the gateway: it is nobody, though it runs under our user.

use std::time::Duration;

use gateway::Access;
use process::{CaptureLimits, Program};

use crate::server::{dial, start};

#[tokio::test]
async fn a_command_of_ours_is_not_its_own_master() {
    let playing = start(Access::default()).await;
    let port = playing.address.port();
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; \
         printf 'GET /health HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3"
    );
    // One that hides behind another is below us as well.
    for script in [script.clone(), format!("setsid bash -c '{}' & wait", script.replace('\'', "'\\''"))] {
        let argv = ["bash", "-c", &script].map(Into::into).to_vec();
        let program = Program { argv, cwd: "/".into(), env: std::env::vars_os().collect(), joined: false };
        let limits =
            CaptureLimits { output_bytes_max: 4096, errors_bytes_max: 4096, time_max: Duration::from_secs(20) };
        let answer = process::capture(&program, limits).await.expect("an answer");
        let text = String::from_utf8_lossy(&answer.output);
        assert!(text.starts_with("HTTP/1.1 401") && text.contains("\"code\":-4"), "{text} {}", answer.errors);
    }
    dial(playing.address, "/serve", &[]).await.expect("we ourselves come in");
}
