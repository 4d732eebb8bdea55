//! A person at `repl --attach`: what the screen knows of a gateway that holds the conversation.

use std::io::{BufRead, BufReader};
use std::process::Child;

use crate::cli::Place;
use crate::typist::{LARGE, typed};

/// Brings a command of which only the gateway knows.
const GREETER: &str = r#"
import json, sys
def send(**frame):
    print(json.dumps({"jsonrpc": "2.0", **frame}), flush=True)
for line in sys.stdin:
    frame = json.loads(line)
    if frame.get("method") == "initialize":
        send(id=frame["id"], result={"commands": [{"name": "zgreet", "description": "says hello"}]})
    elif frame.get("method") == "command/run":
        told = {"session": frame["params"]["session"], "message": "hello " + frame["params"]["args"], "level": "info"}
        send(method="ui/notify", params=told)
        send(id=frame["id"], result=None)
    elif frame.get("method") == "shutdown":
        break
"#;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn gateway(place: &Place) -> Running {
    let extension = place.file("greeter.py");
    std::fs::write(&extension, GREETER).unwrap();
    let words = ["gateway", "--port", "0", "--extension", extension.to_str().unwrap()];
    let mut child = place.command(&words).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("listening"), "{first}");
    Running(child)
}

#[test]
fn tab_completes_what_the_gateway_knows() {
    let place = Place::new();
    let _gateway = gateway(&place);
    let steps = [
        // Answered: by now the words are there.
        ("> ", "say 2 words\r"),
        ("w1 w2", ""),
        ("> ", "/zgr\tperson\r"),
        ("hello person", "/model tour-m\t\r"),
        ("tour-mini", "/stat\t\r"),
        ("tour-mini", "/exit\r"),
    ];
    let (code, seen) = typed(&place, LARGE, &["repl", "--attach"], &steps);
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("/zgreet person") && seen.contains("hello person"), "{seen}");
    assert!(seen.contains("/model tour-mini"), "{seen}");
}

#[test]
fn a_run_that_another_client_began_is_seen_stopped_and_left_with_a_way_back() {
    let place = Place::new();
    let _gateway = gateway(&place);
    place.run(&["run", "--attach", "-m", "tour", "say hello"]).ok();
    let ran = place.run(&["run", "-c", "say hi"]);
    ran.fails(2, "is in use by the gateway, process ");
    assert!(ran.err.contains("`tillerman repl --attach --resume "), "{}", ran.err);

    let other = std::thread::scope(|scope| {
        let other = scope.spawn(|| place.run(&["run", "--attach", "-c", "slow 100 say 300 words"]));
        let steps = [
            // The line waits, as it would for a run of one's own; the stop takes it with it.
            ("w5 ", "say never\r"),
            ("queued: say never", "\x03"),
            ("tokens in", "say mine\r"),
            ("tokens in", "/exit\r"),
        ];
        let (code, seen) = typed(&place, LARGE, &["repl", "--attach", "-c"], &steps);
        assert_eq!(code, Some(0), "{seen}");
        assert!(seen.contains("> say mine\nmine") && !seen.contains("\nnever"), "{seen}");
        assert!(seen.contains("resume with: tillerman repl --attach --resume "), "{seen}");
        other.join().unwrap()
    });
    other.fails(130, "interrupted");
}
