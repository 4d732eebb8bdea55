//! A command that we have started comes to the gateway: it is nobody, though it runs under our user.

use std::time::Duration;

use gateway::Access;
use process::{CaptureLimits, Program};

use crate::server::{dial, start};

#[tokio::test]
async fn g1_a_command_of_ours_is_not_its_own_master() {
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

/// Ways of a command to look like somebody else: its arguments are a port and the path of the socket.
const DISGUISES: &[(&str, &str)] = &[
    (
        "the socket lies in a message to itself while it is looked for",
        "s = socket.create_connection(('127.0.0.1', int(port))); a, b = socket.socketpair()
s.sendall(asks); socket.send_fds(a, [b'x'], [s.fileno()]); s.close(); time.sleep(0.5)
s = socket.socket(fileno=socket.recv_fds(b, 1, 1)[1][0])",
    ),
    (
        "who connected is gone, and a child has the socket",
        "r, w = os.pipe()
if os.fork():
    os.wait(); os.write(w, b'x'); time.sleep(1); os._exit(0)
s = socket.socket(socket.AF_UNIX); s.connect(path)
if os.fork(): os._exit(0)
os.read(r, 1); time.sleep(0.2); s.sendall(asks)",
    ),
    (
        "nobody may look at its files",
        "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
s = socket.create_connection(('127.0.0.1', int(port))); s.sendall(asks)",
    ),
    (
        "an address of the other kind",
        "s = socket.socket(socket.AF_INET6); s.connect(('::ffff:127.0.0.1', int(port))); s.sendall(asks)",
    ),
];

#[tokio::test]
async fn g1_no_disguise_makes_a_command_its_own_master() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return println!("SKIP: there is no python3");
    }
    let playing = start(Access::default()).await;
    let (port, path) = (playing.address.port(), playing.home.path().join("gateway/gateway.sock"));
    for (what, disguise) in DISGUISES {
        let script = format!(
            "import os, socket, sys, time\nport, path = sys.argv[1:]\n\
             asks = ('GET /health HTTP/1.1\\r\\nHost: 127.0.0.1:%s\\r\\nConnection: close\\r\\n\\r\\n' % port).encode()\n\
             {disguise}\nos.write(1, s.recv(200))\n"
        );
        let mut argv: Vec<std::ffi::OsString> = ["python3", "-c", &script].map(Into::into).to_vec();
        argv.extend([port.to_string().into(), path.clone().into()]);
        let program = Program { argv, cwd: "/".into(), env: std::env::vars_os().collect(), joined: false };
        let limits =
            CaptureLimits { output_bytes_max: 4096, errors_bytes_max: 4096, time_max: Duration::from_secs(20) };
        let answer = process::capture(&program, limits).await.expect("an answer");
        let text = String::from_utf8_lossy(&answer.output);
        assert!(text.starts_with("HTTP/1.1 401"), "{what}: {text} {}", answer.errors);
        dial(playing.address, "/serve", &[]).await.expect("we ourselves come in meanwhile");
    }
}
