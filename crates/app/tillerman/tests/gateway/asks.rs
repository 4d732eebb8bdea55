//! Story 26 on one gateway: a question of a session is seen on every wire that can show one, the first answer counts, the
//! others are told; with nobody there it waits, over a restart, too, for as long as it was told to.

use std::time::Duration;

use serde_json::{Value, json};

use crate::process::Place;
use crate::proxy::Proxy;
use crate::socket::Socket;

const ASKING: &str = "tools:\n  confirm: [file.write]\n";
const SESSION: &str = "story:26";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wire {
    Serve,
    Rpc,
    Acp,
    Terminal,
}

/// One controller on the session, with the question that it was shown.
struct Controller {
    wire: Wire,
    proxy: Proxy,
    ask: Value,
}

impl Controller {
    fn come(place: &Place, wire: Wire) -> Self {
        let words: &[&str] = match wire {
            Wire::Serve => &["serve", "--attach", "--resume", SESSION],
            Wire::Rpc => &["rpc", "--attach", "--session", SESSION],
            Wire::Acp => &["acp", "--attach"],
            Wire::Terminal => &["repl", "--attach", "--resume", SESSION],
        };
        let mut proxy = Proxy::start(place.command(), words);
        match wire {
            Wire::Serve => drop(proxy.json("ready", |it| it["type"] == "ready")),
            Wire::Rpc => drop(proxy.json("ready", |it| it["type"] == "ready")),
            Wire::Acp => {
                let params = json!({ "sessionId": SESSION, "cwd": place.workspace(), "mcpServers": [] });
                proxy.send(&json!({"jsonrpc":"2.0","id":1,"method":"session/load","params":params}));
                proxy.json("a loaded session", |it| it["id"] == 1 && it["result"].is_object());
            }
            Wire::Terminal => {}
        }
        Self { wire, proxy, ask: Value::Null }
    }

    fn is_asked(&mut self, file: &str) {
        self.ask = match self.wire {
            Wire::Serve => self.proxy.json("a question", |it| it["type"] == "permission_request")["request_id"].clone(),
            Wire::Rpc => self.proxy.json("a question", |it| it["method"] == "confirm")["id"].clone(),
            Wire::Acp => self.proxy.json("a question", |it| it["method"] == "session/request_permission")["id"].clone(),
            Wire::Terminal => {
                // Beside the answer, which is all that its stdout is for.
                self.proxy.complains(&format!("Allow write asked-{file}"));
                Value::Null
            }
        };
    }

    fn allow(&mut self) {
        let line = match self.wire {
            Wire::Serve => json!({ "type": "permission_response", "request_id": self.ask, "decision": "allow" }),
            Wire::Rpc => json!({ "type": "extension_ui_response", "id": self.ask, "confirmed": true }),
            Wire::Acp => {
                let outcome = json!({ "outcome": "selected", "optionId": "allow_once" });
                json!({ "jsonrpc": "2.0", "id": self.ask, "result": { "outcome": outcome } })
            }
            Wire::Terminal => return self.proxy.send_raw(b"y\n"),
        };
        self.proxy.send(&line);
    }

    /// Somebody else has answered: this wire says so, in its words, before the turn goes on.
    fn is_told(&mut self) {
        let ask = self.ask.clone();
        match self.wire {
            // Its question is answered by the result that follows it.
            Wire::Serve => drop(self.proxy.json("the result", |it| it["type"] == "tool_result")),
            Wire::Rpc => drop(self.proxy.json("the result", |it| it["type"] == "tool_execution_end")),
            Wire::Acp => {
                drop(self.proxy.json("that it is over", |it| {
                    it["method"] == "$/cancel_request" && it["params"]["requestId"] == ask
                }))
            }
            Wire::Terminal => {}
        }
    }

    fn hears_the_end(&mut self) {
        match self.wire {
            Wire::Serve => drop(self.proxy.json("the end", |it| it["type"] == "turn_complete")),
            Wire::Rpc => drop(self.proxy.json("the end", |it| it["type"] == "agent_end")),
            Wire::Acp => drop(self.proxy.line("the end", |line| line.contains("done"))),
            Wire::Terminal => drop(self.proxy.line("the end", |line| line.contains("done"))),
        }
    }
}

fn send(file: &str) -> Value {
    let message = format!("call file.write {{\"path\":\"asked-{file}\",\"content\":\"x\"}} then say done");
    json!({"id": 1, "method": "agent.send", "params": {"sessionId": SESSION, "message": message}})
}

/// On the session, able to answer.
async fn client(gateway: &crate::process::Gateway) -> Socket {
    let mut socket = Socket::open(gateway).await;
    socket.call("sessions.create", json!({ "sessionId": SESSION })).await.unwrap();
    socket.call("agent.setToolUseCallback", json!({ "sessionId": SESSION, "enabled": true })).await.unwrap();
    socket
}

/// What the model said there.
async fn said(socket: &mut Socket, session: &str) -> String {
    let found = socket.call("sessions.get", json!({ "sessionId": session })).await.unwrap();
    let rows = found["history"].as_array().unwrap().iter().filter(|row| row["role"] == "assistant");
    rows.map(|row| row["content"].to_string()).collect()
}

async fn event(socket: &mut Socket, name: &str) -> Value {
    loop {
        let frame = socket.next().await;
        if frame["event"] == name {
            return frame;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_question_on_five_wires_and_the_first_answer_counts() {
    let place = Place::with(ASKING);
    let gateway = place.start();
    let mut own = client(&gateway).await;
    // Something was said, so that there is a session to come to.
    own.call("agent.send", json!({ "sessionId": SESSION, "message": "say hello" })).await.unwrap();
    let wires = [Wire::Serve, Wire::Rpc, Wire::Acp, Wire::Terminal];
    let mut all: Vec<Controller> = wires.map(|wire| Controller::come(&place, wire)).into();
    let mut loaf = Proxy::start(place.command(), &["loaf", "--attach"]);
    loaf.send(&json!({"jsonrpc":"2.0","id":1,"method":"session.create","params":{}}));
    let made = loaf.json("a session", |it| it["id"] == 1)["result"]["session_id"].clone();
    let raw = format!("/history {SESSION}");
    loaf.send(
        &json!({"jsonrpc":"2.0","id":2,"method":"command.execute","params":{"session_id":made,"raw_command":raw}}),
    );
    loaf.json("a resumed chat", |it| it["id"] == 2 && it["result"].is_object());
    // Each of them once, the gateway's own client last.
    for (nth, answering) in [Some(0), Some(1), Some(2), Some(3), None].into_iter().enumerate() {
        own.send(&send(&nth.to_string())).await;
        let asked = event(&mut own, "tool_confirm").await;
        all.iter_mut().for_each(|controller| controller.is_asked(&nth.to_string()));
        assert!(!place.workspace().join(format!("asked-{nth}")).exists(), "it waits");
        match answering {
            Some(at) => all[at].allow(),
            None => {
                let params = json!({ "callId": asked["data"]["callId"], "decision": "allow" });
                let answered = own.call("agent.confirmTool", params).await;
                assert!(answered.is_ok(), "{asked}: {answered:?}");
            }
        }
        for (at, controller) in all.iter_mut().enumerate() {
            if Some(at) != answering {
                controller.is_told();
            }
            controller.hears_the_end();
        }
        loaf.line("the call's end", |line| line.contains("session.tool.call.completed"));
        let done = own.next_of(&json!(1)).await;
        drop(done);
        assert!(place.workspace().join(format!("asked-{nth}")).exists(), "{answering:?} allowed it");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_a_run_without_a_keyboard_waits_for_whoever_comes() {
    let place = Place::new();
    let _gateway = place.start();
    let call = "call write {\"path\":\"asked\",\"content\":\"x\"} then say done";
    let mut screen = Proxy::start(place.command(), &["run", "--attach", "--mode", "prompt", call]);
    screen.eof();
    screen.complains("another client is asked");
    let mut other = Proxy::start(place.command(), &["serve", "--attach", "--resume", "latest"]);
    let ask = other.json("a question", |it| it["type"] == "permission_request")["request_id"].clone();
    assert!(!place.workspace().join("asked").exists(), "it waits");
    other.send(&json!({ "type": "permission_response", "request_id": ask, "decision": "allow" }));
    assert_eq!(screen.ended(), Some(0), "{}", screen.said());
    assert!(place.workspace().join("asked").exists(), "{}", screen.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_over_a_kill_for_whoever_comes() {
    let place = Place::with(ASKING);
    let mut gateway = place.start();
    {
        let mut own = client(&gateway).await;
        own.call("agent.send", json!({ "sessionId": SESSION, "message": "say hello" })).await.unwrap();
        own.send(&send("later")).await;
        event(&mut own, "tool_confirm").await;
    }
    // Whoever is asked may die; the question stays for the next, and so it does when the gateway dies.
    for (nth, wire) in [Wire::Serve, Wire::Rpc, Wire::Acp, Wire::Terminal].into_iter().enumerate() {
        let mut dying = Controller::come(&place, wire);
        dying.is_asked("later");
        dying.proxy.signal("-KILL");
        if nth % 2 == 0 {
            gateway.kill();
            gateway = place.start();
        }
    }
    assert!(!place.workspace().join("asked-later").exists());
    let mut last = Controller::come(&place, Wire::Serve);
    last.is_asked("later");
    last.allow();
    last.hears_the_end();
    assert!(place.workspace().join("asked-later").exists());
    drop(gateway);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_nobody_answers_is_denied_in_its_time() {
    let place = Place::with("tools:\n  confirm: [file.write]\n  ask_keep_s: 2\n");
    let gateway = place.start();
    let mut host = Proxy::start(place.command(), &["rpc", "--attach", "--session-id", "alone"]);
    host.send(&json!({ "id": 1, "type": "prompt", "message": "call write {\"path\":\"asked-alone\",\"content\":\"x\"} then say done" }));
    host.json("a question", |it| it["method"] == "confirm");
    host.signal("-KILL");
    let mut own = Socket::open(&gateway).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let waits = said(&mut own, "alone").await;
    assert!(!waits.contains("done"), "it waits: {waits}");
    for _ in 0..100 {
        if said(&mut own, "alone").await.contains("done") {
            assert!(!place.workspace().join("asked-alone").exists());
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("it waits for ever");
}
