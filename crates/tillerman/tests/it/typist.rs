//! A person at a terminal of a known size, played by a small program.

use crate::cli::Place;

/// Each pair is what to wait for and what to type then.
const TYPIST: &str = r#"
import fcntl, json, os, pty, select, signal, struct, sys, termios, time
(cols, rows), steps, argv = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
    os.execv(argv[0], argv)
seen, at, until = b"", 0, time.time() + 30
while time.time() < until:
    ready, _, _ = select.select([fd], [], [], 0.1)
    if ready:
        try: more = os.read(fd, 65536)
        except OSError: break
        if not more: break
        seen += more
    if steps and steps[0][0].encode() in seen[at:]:
        at = seen.index(steps[0][0].encode(), at) + len(steps[0][0].encode())
        os.write(fd, steps.pop(0)[1].encode())
sys.stdout.buffer.write(seen)
if time.time() >= until: os.kill(pid, signal.SIGKILL)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

/// A screen that holds whatever a test shows.
pub(crate) const LARGE: (u16, u16) = (200, 200);

/// The exit code, and everything that was on the screen.
pub(crate) fn typed(place: &Place, size: (u16, u16), args: &[&str], steps: &[(&str, &str)]) -> (Option<i32>, String) {
    let script = place.file("typist.py");
    std::fs::write(&script, TYPIST).unwrap();
    let command = place.command(&[]);
    let exe = command.get_program().to_owned();
    let (size, steps) = (format!("[{}, {}]", size.0, size.1), serde_json::to_string(steps).unwrap());
    let mut typist = std::process::Command::new("python3");
    typist
        .env_clear()
        .envs([("TERM", "xterm"), ("NO_COLOR", "1")])
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    typist.arg(script).arg(size).arg(steps).arg(exe).args(args).current_dir(place.work());
    let output = typist.output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).replace('\r', ""))
}
