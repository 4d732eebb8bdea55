//! Our client against servers made with the official SDK of the npm registry, over both ways.
//!
//! Needs `node` and `npm`, and the registry once: without them the test says `SKIP` and why.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use vocab::*;

use crate::peers_install::{node, package};

const PACKAGE: &str = "@modelcontextprotocol/sdk";
const VERSION: &str = "1.32.2";

struct Scene {
    dir: tempfile::TempDir,
    package: PathBuf,
}

impl Scene {
    /// Fails with the reason where there is no SDK.
    fn new() -> Result<Self, String> {
        let package = node().and_then(|()| package("mcp", PACKAGE, VERSION))?;
        Ok(Self { dir: tempfile::tempdir().unwrap(), package: package.canonicalize().unwrap() })
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("peer.log")
    }
    fn logged(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap_or_default()
    }
    async fn until_logged(&self, wanted: &str) {
        for _ in 0..1000 {
            if self.logged().contains(wanted) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never came: {wanted}; {}", self.logged());
    }

    async fn start(&self, way: McpTransport) -> Vec<Arc<dyn Tool>> {
        let env = ["PATH", "HOME"].iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?))).collect();
        let options = mcp::McpOptions {
            env,
            version: "0.1.0".into(),
            launcher: Arc::new(process::GroupLauncher),
            own: Vec::new(),
        };
        let server = McpServer { name: "peer".into(), way, trust_hints: true };
        let served = mcp::Servers::new(options).start(&"s1".into(), self.dir.path(), vec![server]).await.remove(0);
        served.tools.unwrap_or_else(|fault| panic!("{fault:?}"))
    }

    /// What both ways have in common.
    async fn check(&self, tools: &[Arc<dyn Tool>]) {
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.spec().name).collect();
        assert_eq!(names, ["add", "where", "alive", "think", "steps", "wait"], "two pages");
        assert!(tools.iter().all(|tool| tool.required() == Required::ReadOnly));
        let sum = call(tools, "add", r#"{"a":2,"b":3}"#).0.await;
        assert_eq!((parts_text(&sum.parts).as_str(), sum.details), ("5", Some(Json::trusted(r#"{"sum":5}"#))));
        let (steps, told) = call(tools, "steps", "{}");
        assert_eq!(parts_text(&steps.await.parts), "done");
        assert_eq!(*told.lock().unwrap(), ["step (1/2)", "step (2/2)"]);
        assert!(self.logged().contains("client tillerman"), "{}", self.logged());
        let waiting = tokio::spawn(call(tools, "wait", "{}").0);
        self.until_logged("waiting").await;
        waiting.abort();
        self.until_logged("aborted").await;
        assert_eq!(parts_text(&call(tools, "add", r#"{"a":1,"b":1}"#).0.await.parts), "2", "it goes on");
        let text = async |name| parts_text(&call(tools, name, "{}").0.await.parts);
        assert_eq!(text("where").await, format!("file://{}", self.dir.path().display()));
        assert_eq!(text("alive").await, "{}");
        let refused = call(tools, "think", "{}").0.await;
        assert!(refused.is_error && parts_text(&refused.parts).starts_with("no model: "), "{refused:?}");
    }
}

fn call(tools: &[Arc<dyn Tool>], name: &str, input: &str) -> (Later<'static, Outcome>, Arc<Mutex<Vec<String>>>) {
    let tool = tools.iter().find(|tool| &*tool.spec().name == name).unwrap_or_else(|| panic!("no tool {name}"));
    let told = Arc::new(Mutex::new(Vec::new()));
    let keep = told.clone();
    let context = CallContext {
        session: "s1".into(),
        call: "c1".into(),
        granted: Required::DangerFullAccess,
        progress: Arc::new(move |text: &str| keep.lock().unwrap().push(text.to_owned())),
        todos: Arc::from([]),
        editor_requests: None,
        children: None,
        processes: None,
    };
    (tool.run(Json::trusted(input), context), told)
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/mcp-server.mjs")
}

#[tokio::test]
async fn a_server_of_the_official_sdk_over_stdio() {
    let scene = match Scene::new() {
        Ok(scene) => scene,
        Err(why) => return println!("SKIP {why}"),
    };
    let secret = |path: &Path| Secret::new(path.to_str().unwrap()).unwrap();
    let env = vec![("PEER_PACKAGE".into(), secret(&scene.package)), ("PEER_LOG".into(), secret(&scene.log()))];
    let args = vec![script().to_str().unwrap().into()];
    let tools = scene.start(McpTransport::Process { command: "node".into(), args, env }).await;
    scene.check(&tools).await;
}

/// A process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_server_of_the_official_sdk_over_http() {
    let scene = match Scene::new() {
        Ok(scene) => scene,
        Err(why) => return println!("SKIP {why}"),
    };
    let mut node = Command::new("node");
    node.arg(script()).arg("http").env("PEER_PACKAGE", &scene.package).env("PEER_LOG", scene.log());
    let mut server = Ended(node.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap());
    let mut port = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", port.trim());
    let tools = scene.start(McpTransport::Http { url: url.as_str().into(), headers: Vec::new() }).await;
    scene.check(&tools).await;
    drop(tools);
    scene.until_logged("DELETE 2025-06-18").await;
    assert!(scene.logged().starts_with("POST -\nPOST 2025-06-18\n"), "{}", scene.logged());
}
