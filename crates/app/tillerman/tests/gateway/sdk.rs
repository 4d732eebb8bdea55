//! The client libraries of the repository against the real binary: a connection that is cut, a gateway that is killed and one that is
//! restarted. Without an interpreter or the registries once, a test says `SKIP` and why.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpSocket;

use crate::clients::{WEBSOCKETS, WS, or_skip};
use crate::peers_install::{CHECKS_PATIENCE, newer_node, node, npm, python, run, script};
use crate::process::{Gateway, Place, TOKEN};
use crate::relay::Relay;

const CONFIG: &str = "server:\n  queue:\n    resume_after_restart: true\ntools:\n  confirm: [file.write]\n";

pub(crate) fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../sdk").canonicalize().unwrap()
}

/// A gateway that the checks may have killed, restarted and cut off: a line on the control port says which.
pub(crate) struct Stand {
    place: Arc<Place>,
    gateway: Arc<Mutex<Option<Gateway>>>,
    port: HeldPort,
    control: u16,
}

/// A port that is ours while the gateway is away, too: else the system may give it to a test beside this one. It is bound and not
/// listened on, so that whoever connects is refused, and the gateway may listen there, since both say `SO_REUSEADDR`.
struct HeldPort {
    number: u16,
    _socket: TcpSocket,
}

impl HeldPort {
    fn take() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        Self { number: socket.local_addr().unwrap().port(), _socket: socket }
    }
}

impl Stand {
    fn new(model: &'static str) -> Self {
        Self::with(model, CONFIG)
    }

    pub(crate) fn with(model: &'static str, config: &str) -> Self {
        Self::at(Place { model_name: model, ..Place::with(config) })
    }

    pub(crate) fn at(place: Place) -> Self {
        let port = HeldPort::take();
        let place = Arc::new(Place { port: port.number, ..place });
        let gateway = Arc::new(Mutex::new(Some(place.start())));
        let relay = Relay::start(port.number);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let control = listener.local_addr().unwrap().port();
        let (its_place, its_gateway) = (place.clone(), gateway.clone());
        std::thread::spawn(move || {
            for caller in listener.incoming().map_while(Result::ok) {
                let (place, gateway, relay) = (its_place.clone(), its_gateway.clone(), relay.clone());
                // Of its own: a gateway that does not start or end fails the check that wanted it, and none behind it.
                let _ = std::thread::spawn(move || obey(caller, &place, &gateway, &relay)).join();
            }
        });
        Self { place, gateway, port, control }
    }

    /// A token that may do only this.
    pub(crate) fn token(&self, name: &str, scopes: &str) -> String {
        let made =
            self.place.command().args(["gateway", "token", "--name", name, "--scopes", scopes]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    }

    /// What the model was asked, oldest first.
    pub(crate) fn asked(&self) -> Vec<serde_json::Value> {
        self.place.model.chats().iter().map(testkit::mock_model::Request::json).collect()
    }

    fn checks(&self, command: &mut Command, checks_min: usize) -> Result<(), String> {
        self.checks_within(command, checks_min, CHECKS_PATIENCE)
    }

    pub(crate) fn checks_within(
        &self,
        command: &mut Command,
        checks_min: usize,
        patience: Duration,
    ) -> Result<(), String> {
        command
            .current_dir(self.place.workspace())
            .env("PEER_URL", format!("ws://127.0.0.1:{}", self.port.number))
            .env("PEER_CUT_URL", format!("ws://127.0.0.2:{}", self.port.number))
            .env("PEER_TOKEN", TOKEN)
            .env("PEER_CONTROL", self.control.to_string())
            .env("PEER_SDK", sdk());
        run(command, patience)?.checked(checks_min);
        Ok(())
    }
}

/// The thread that obeys outlives the stand, and no gateway may.
impl Drop for Stand {
    fn drop(&mut self) {
        drop(held(&self.gateway).take());
    }
}

fn held(gateway: &Mutex<Option<Gateway>>) -> MutexGuard<'_, Option<Gateway>> {
    gateway.lock().unwrap_or_else(PoisonError::into_inner)
}

fn obey(caller: TcpStream, place: &Place, gateway: &Mutex<Option<Gateway>>, relay: &Relay) {
    let mut word = String::new();
    let _ = BufReader::new(&caller).read_line(&mut word);
    let mut held = held(gateway);
    match word.trim() {
        "cut" => relay.cut(),
        "kill" => held.take().into_iter().for_each(Gateway::kill),
        "stop" => held.take().into_iter().for_each(|it| _ = it.terminate()),
        "start" => _ = held.get_or_insert_with(|| place.start()),
        other => panic!("what is {other:?}?"),
    }
    let _ = (&caller).write_all(b"done\n");
}

fn node_checks(node: impl AsRef<std::ffi::OsStr>, name: &str, with_ws: bool) -> Result<Command, String> {
    let mut command = Command::new(node);
    if with_ws {
        command.env("PEER_MODULES", npm("gateway-ws", &[WS.to_owned()])?);
    }
    command.arg(script(name));
    Ok(command)
}

fn python_checks(name: &str) -> Result<Command, String> {
    let mut command = Command::new(python("gateway-websockets", &[WEBSOCKETS.to_owned()])?);
    command.arg(script(name)).env("PYTHONPATH", sdk().join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(command)
}

#[test]
fn a_port_is_held_while_nobody_listens_and_another_may_listen() {
    let port = HeldPort::take();
    let at = (Ipv4Addr::LOCALHOST, port.number);
    for _ in 0..2 {
        assert_eq!(TcpStream::connect(at).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
        let gateway = TcpListener::bind(at).unwrap();
        TcpStream::connect(at).unwrap();
        drop(gateway);
    }
    // Whoever does not share it, and so the system when it looks for one that is free, finds it taken.
    let other = TcpSocket::new_v4().unwrap();
    assert_eq!(other.bind(at.into()).unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
}

#[test]
fn the_typescript_library_with_npm_ws() {
    let checks = || {
        node()?;
        Stand::new("mock/alpha").checks(&mut node_checks("node", "sdk_typescript.mjs", true)?, 50)
    };
    or_skip("the_typescript_library_with_npm_ws", checks());
}

/// In the Node that has a WebSocket of its own, which is the one of pages.
#[test]
fn the_typescript_library_with_the_global_websocket() {
    let checks = || {
        let mut command = node_checks(newer_node()?, "sdk_typescript.mjs", false)?;
        Stand::new("mock/alpha").checks(command.env("PEER_CUTS", "10"), 50)
    };
    or_skip("the_typescript_library_with_the_global_websocket", checks());
}

#[test]
fn the_python_library() {
    let checks = || Stand::new("mock/alpha").checks(&mut python_checks("sdk_python.py")?, 50);
    or_skip("the_python_library", checks());
}
