//! Calls of tools that servers bring: each tells its server where it belongs in the trace.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::collector::{Collector, Manner};
use crate::process::Place;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const PARENT_TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// One tool, which writes down what came with its call. With an argument it does so over HTTP.
const SERVER: &str = r#"
import http.server, json, os, sys
def answer(frame, header):
    method, params = frame.get("method"), frame.get("params", {})
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
    if method == "tools/list":
        return {"tools": [{"name": "look", "inputSchema": {"type": "object", "properties": {}}}]}
    with open(os.environ["HEARD"], "w") as file:
        json.dump({"meta": params["_meta"], "header": header, "child": os.environ.get("TRACEPARENT")}, file)
    return {"content": [{"type": "text", "text": "seen"}]}
def reply(frame, header=None):
    return json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": answer(frame, header)})
class Web(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        frame = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = reply(frame, [self.headers["traceparent"], self.headers["tracestate"]]).encode() if "id" in frame else b""
        self.send_response(200 if body else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
if len(sys.argv) > 1:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
    print(server.server_address[1], flush=True)
    server.serve_forever()
for line in sys.stdin:
    frame = json.loads(line)
    if "id" in frame:
        print(reply(frame), flush=True)
"#;

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the server heard with a call, and the span of that call where spans were sent.
fn heard(over_http: bool, env: &[(&'static str, &str)]) -> (Value, Option<(String, String)>) {
    let collector = Collector::start(Manner::Takes);
    let mut place = Place::new();
    place.env = env.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    if !env.iter().any(|(name, _)| *name == "OTEL_SDK_DISABLED") {
        place.env.push(("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.clone()));
    }
    let (script, file) = (place.home.path().join("server.py"), place.home.path().join("heard"));
    std::fs::write(&script, SERVER).unwrap();
    let (config, _server) = if over_http {
        let mut command = Command::new("python3");
        command.arg(&script).arg("http").env("HEARD", &file).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        (format!("url = 'http://127.0.0.1:{}/'", port.trim()), Some(Killed(child)))
    } else {
        let (script, file) = (script.display(), file.display());
        (format!("command = 'python3'\nargs = ['{script}']\nenv = {{ HEARD = '{file}' }}"), None)
    };
    std::fs::create_dir_all(place.config_file().parent().unwrap()).unwrap();
    std::fs::write(place.config_file(), format!("[servers.py]\n{config}\n")).unwrap();
    let prompt = "call mcp__py__look {} then say 1 words";
    let ran = place.command().args(["run", "--model", "mock/alpha", "--yes", prompt]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let heard = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let of_call = collector.spans().into_iter().find(|span| span.name == "execute_tool mcp__py__look");
    (heard, of_call.map(|span| (span.trace, span.id)))
}

#[test]
fn a_server_of_tools_learns_where_each_call_belongs() {
    let above = [("TRACEPARENT", PARENT), ("TRACESTATE", "vendor=1")];
    let (told, span) = heard(false, &above);
    let (trace, id) = span.expect("the call has a span");
    assert_eq!(trace, PARENT_TRACE);
    let place = format!("00-{trace}-{id}-01");
    assert_eq!(
        (told["meta"]["traceparent"].as_str(), told["meta"]["tracestate"].as_str()),
        (Some(&*place), Some("vendor=1"))
    );
    assert!(told["meta"]["progressToken"].is_u64(), "{told}");
    // It is there for many calls: in its environment is what started us, and none of them.
    assert_eq!(told["child"], PARENT, "{told}");
    let (told, span) = heard(true, &above);
    let (trace, id) = span.expect("the call has a span");
    let place = format!("00-{trace}-{id}-01");
    assert_eq!((told["meta"]["traceparent"].as_str(), told["header"][0].as_str()), (Some(&*place), Some(&*place)));
    assert!(
        told["meta"]["tracestate"].is_null() && told["header"][1].is_null(),
        "what is the sender's stays here: {told}"
    );
}

#[test]
fn without_traces_a_server_of_tools_is_told_nothing_of_them() {
    for env in [("OTEL_SDK_DISABLED", "true"), ("OTEL_PROPAGATORS", "none")] {
        for over_http in [false, true] {
            let (told, _) = heard(over_http, &[env]);
            assert!(told["meta"]["traceparent"].is_null() && told["header"][0].is_null(), "{env:?}: {told}");
        }
    }
    let (told, span) = heard(true, &[("OTEL_TRACES_SAMPLER", "always_off")]);
    let place = told["header"][0].as_str();
    assert!(span.is_none() && place.is_none_or(|place| place.ends_with("-00")), "{told}");
}
