//! Plays a written conversation against a gateway: one JSON object per line, `k` says what it is. Frames of different ids may
//! come in any order; those of one id come in theirs.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::matching::{Captured, matches};
use crate::process::{Gateway, Place, TOKEN};
use crate::socket::{Socket, Visitor};

pub(crate) struct Player<'a> {
    place: &'a Place,
    gateway: Option<Gateway>,
    sockets: HashMap<String, Socket>,
    captured: Captured,
    /// What may still come of an id, by connection.
    more: HashMap<(String, String), Value>,
    run: String,
}

/// `Err`: the line, and what did not fit.
pub(crate) async fn play(file: &Path, place: &Place) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let run = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut player = Player {
        place,
        gateway: Some(place.start()),
        sockets: HashMap::new(),
        captured: Captured::new(),
        more: HashMap::new(),
        run,
    };
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line = line.replace("${RUN}", &player.run).replace("${TOKEN}", TOKEN);
        let step: Value = serde_json::from_str(&line).map_err(|error| format!("line {}: {error}", at + 1))?;
        player.step(&step).await.map_err(|why| format!("{} line {}: {why}\n{line}", file.display(), at + 1))?;
    }
    Ok(())
}

fn text<'a>(step: &'a Value, key: &str) -> Option<&'a str> {
    step.get(key).and_then(Value::as_str)
}

impl Player<'_> {
    fn gateway(&self) -> &Gateway {
        self.gateway.as_ref().expect("it runs")
    }

    async fn step(&mut self, step: &Value) -> Result<(), String> {
        match text(step, "k").unwrap_or_default() {
            "note" => Ok(()),
            "open" => self.open(step).await,
            "send" => {
                let socket = self.sockets.get_mut(text(step, "conn").unwrap_or_default()).ok_or("not open")?;
                match text(step, "raw") {
                    Some(raw) => socket.send_raw(raw).await,
                    None => socket.send(&step["frame"]).await,
                }
                Ok(())
            }
            "recv" => self.receive(step, None).await,
            "recv_some" => self.receive(step, step["min"].as_u64()).await,
            "http" => self.http(step).await,
            "closed" => {
                let mut socket = self.sockets.remove(text(step, "conn").unwrap_or_default()).ok_or("not open")?;
                let (code, wanted) = (socket.closed().await, step["code"].as_u64());
                if code.map(u64::from) == wanted { Ok(()) } else { Err(format!("closed with {code:?}")) }
            }
            "wait" => {
                tokio::time::sleep(Duration::from_millis(step["ms"].as_u64().unwrap_or_default())).await;
                Ok(())
            }
            "restart" => {
                self.sockets.clear();
                self.gateway.take().expect("it runs").kill();
                self.gateway = Some(self.place.start());
                Ok(())
            }
            other => Err(format!("no such step: {other}")),
        }
    }

    async fn open(&mut self, step: &Value) -> Result<(), String> {
        let token = text(step, "token").map_or(Some(TOKEN), |token| Some(token).filter(|token| !token.is_empty()));
        let visitor = Visitor {
            token,
            origin: text(step, "origin"),
            protocols: text(step, "protocols"),
            path: text(step, "path"),
            arguments: None,
        };
        let opened = Socket::open_as(self.gateway(), &visitor).await;
        match (opened, step.get("status").and_then(Value::as_u64)) {
            (Ok(socket), None) => {
                self.sockets.insert(text(step, "conn").unwrap_or_default().to_owned(), socket);
                Ok(())
            }
            (Err(status), Some(wanted)) if u64::from(status) == wanted => Ok(()),
            (Ok(_), Some(wanted)) => Err(format!("it was let in, and not refused with {wanted}")),
            (Err(status), _) => Err(format!("refused with {status}")),
        }
    }

    /// One frame, or with `min` at least so many. What fits the same and comes later is passed over by the next step.
    async fn receive(&mut self, step: &Value, min: Option<u64>) -> Result<(), String> {
        let name = text(step, "conn").unwrap_or_default();
        let socket = self.sockets.get_mut(name).ok_or("not open")?;
        let (expected, id) = (&step["frame"], &step["frame"]["id"]);
        let place = (name.to_owned(), id.to_string());
        if let Some(min) = min {
            for _ in 0..min {
                matches(expected, &socket.next_of(id).await, &mut self.captured)?;
            }
            self.more.insert(place, expected.clone());
            return Ok(());
        }
        let more = self.more.remove(&place);
        loop {
            let frame = socket.next_of(id).await;
            let fits = matches(expected, &frame, &mut self.captured);
            match &more {
                Some(more) if fits.is_err() && matches(more, &frame, &mut self.captured.clone()).is_ok() => {}
                _ => return fits,
            }
        }
    }

    async fn http(&mut self, step: &Value) -> Result<(), String> {
        let answer = request(&self.gateway().address, step).await?;
        let status = step["status"].as_u64().unwrap_or(200);
        if u64::from(answer.status) != status {
            return Err(format!("status {}: {}", answer.status, answer.body));
        }
        let Some(expected) = step.get("json") else { return Ok(()) };
        let body: Value = serde_json::from_str(&answer.body).map_err(|error| format!("{error}: {}", answer.body))?;
        matches(expected, &body, &mut self.captured)
    }
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// `method`, `path`, `headers`, `body`, as the step says.
pub(crate) async fn request(address: &str, step: &Value) -> Result<Answer, String> {
    let body = text(step, "body").unwrap_or_default();
    let (method, path) = (text(step, "method").unwrap_or("GET"), text(step, "path").unwrap_or("/"));
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for (name, value) in step["headers"].as_object().into_iter().flatten() {
        head.push_str(&format!("{name}: {}\r\n", value.as_str().unwrap_or_default()));
    }
    if !body.is_empty() {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    let mut stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.map_err(|error| error.to_string())?;
    let mut came = Vec::new();
    let reading = tokio::time::timeout(crate::socket::PATIENCE, stream.read_to_end(&mut came)).await;
    reading.map_err(|_| "no answer in time")?.map_err(|error| error.to_string())?;
    let came = String::from_utf8_lossy(&came);
    let (head, body) = came.split_once("\r\n\r\n").ok_or_else(|| format!("no answer: {came:?}"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or("no status")?;
    Ok(Answer { status, body: body.to_owned() })
}
