//! A person at a terminal of a known size, played by a small program. What it sees is what stays on the screen and above
//! it: what was drawn and taken away again is not there at the end.

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

/// The exit code, and everything that stayed on the screen.
pub(crate) fn typed(place: &Place, size: (u16, u16), args: &[&str], steps: &[(&str, &str)]) -> (Option<i32>, String) {
    let exe = place.command(&[]).get_program().to_string_lossy().into_owned();
    typed_argv(place, size, &[&[exe.as_str()], args].concat(), steps)
}

/// As [`typed`], at a shell with job control that runs this line; `$TILLERMAN` is the binary.
pub(crate) fn typed_line(place: &Place, size: (u16, u16), line: &str, steps: &[(&str, &str)]) -> (Option<i32>, String) {
    let exe = place.command(&[]).get_program().to_string_lossy().into_owned();
    let line = format!("set -m; TILLERMAN={exe}; {line}");
    typed_argv(place, size, &["/bin/bash", "-c", &line], steps)
}

fn typed_argv(place: &Place, size: (u16, u16), argv: &[&str], steps: &[(&str, &str)]) -> (Option<i32>, String) {
    let script = place.file("typist.py");
    std::fs::write(&script, TYPIST).unwrap();
    let command = place.command(&[]);
    let (size, steps) = (format!("[{}, {}]", size.0, size.1), serde_json::to_string(steps).unwrap());
    let mut typist = std::process::Command::new("python3");
    typist
        .env_clear()
        .envs([("TERM", "xterm"), ("NO_COLOR", "1")])
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    typist.arg(script).arg(size).arg(steps).args(argv).current_dir(place.work());
    let output = typist.output().unwrap();
    (output.status.code(), looked_at(&String::from_utf8_lossy(&output.stdout)))
}

/// What is left of all that was written, on a screen that is as high and as wide as it has to be.
fn looked_at(written: &str) -> String {
    let (mut rows, mut row, mut col) = (vec![Vec::<char>::new()], 0_usize, 0_usize);
    let mut chars = written.chars();
    while let Some(c) = chars.next() {
        match c {
            '\n' => {
                row += 1;
                rows.resize(rows.len().max(row + 1), Vec::new());
            }
            '\r' => col = 0,
            '\x1b' => {
                let mut number = String::new();
                let end = chars.by_ref().skip(1).find(|c| {
                    c.is_ascii_alphabetic() || {
                        number.push(*c);
                        false
                    }
                });
                let count: usize = number.parse().unwrap_or(1);
                match end {
                    Some('A') => row = row.saturating_sub(count),
                    Some('G') => col = count - 1,
                    Some('K') => rows[row].truncate(col),
                    Some('J') => {
                        rows.truncate(row + 1);
                        rows[row].truncate(col);
                    }
                    _ => {}
                }
            }
            c => {
                let line = &mut rows[row];
                line.resize(line.len().max(col + 1), ' ');
                line[col] = c;
                col += 1;
            }
        }
    }
    rows.iter().map(|row| row.iter().collect::<String>() + "\n").collect()
}
