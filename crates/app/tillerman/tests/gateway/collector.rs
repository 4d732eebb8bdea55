//! A collector of traces on loopback: takes what is posted, reads it as the protocol says, in both of its forms.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long spans may take to come before the test is called broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// How it behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    Takes,
    /// Answers with this status.
    Refuses(u16),
    /// Answers its first request with 503 and wants the next one after a second.
    Busy,
    /// Never answers.
    Hangs,
}

/// One request as it came.
pub(crate) struct Posted {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) resource: BTreeMap<String, Value>,
    pub(crate) spans: Vec<SeenSpan>,
    pub(crate) body: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(crate) struct SeenSpan {
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) state: String,
    pub(crate) name: String,
    pub(crate) kind: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) attributes: BTreeMap<String, Value>,
    pub(crate) events: Vec<(String, BTreeMap<String, Value>)>,
    pub(crate) links: Vec<String>,
    pub(crate) error: Option<String>,
}

pub(crate) struct Collector {
    pub(crate) url: String,
    posted: Arc<Mutex<Vec<Posted>>>,
}

impl Collector {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let posted = Arc::<Mutex<Vec<Posted>>>::default();
        let kept = posted.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = kept.clone();
                std::thread::spawn(move || serve(stream, manner, &kept));
            }
        });
        Self { url, posted }
    }

    pub(crate) fn requests<T>(&self, look: impl FnOnce(&[Posted]) -> T) -> T {
        look(&self.posted.lock().unwrap())
    }

    pub(crate) fn spans(&self) -> Vec<SeenSpan> {
        self.requests(|posted| posted.iter().flat_map(|it| it.spans.clone()).collect())
    }

    /// Waits until there are spans of which this holds.
    pub(crate) fn until(&self, enough: impl Fn(&[SeenSpan]) -> bool) -> Vec<SeenSpan> {
        let until = Instant::now() + PATIENCE;
        loop {
            let spans = self.spans();
            if enough(&spans) {
                return spans;
            }
            assert!(Instant::now() < until, "these spans came: {spans:#?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Requests of one connection, one behind the other.
fn serve(stream: TcpStream, manner: Manner, kept: &Mutex<Vec<Posted>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                break;
            }
            let (name, value) = line.trim().split_once(':').unwrap();
            headers.insert(name.to_lowercase(), value.trim().to_owned());
        }
        let body = body(&mut reader, &headers);
        let is_first = kept.lock().unwrap().is_empty();
        let is_json = headers.get("content-type").is_some_and(|it| it == "application/json");
        let (resource, spans) = if is_json { read_json(&body) } else { read_protobuf(&body) };
        kept.lock().unwrap().push(Posted { path, headers, resource, spans, body });
        let status = match manner {
            Manner::Takes => 200,
            Manner::Refuses(status) => status,
            Manner::Busy => {
                if is_first {
                    503
                } else {
                    200
                }
            }
            Manner::Hangs => {
                std::thread::sleep(Duration::from_secs(60));
                return;
            }
        };
        if write!(writer, "HTTP/1.1 {status} X\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}

fn body(reader: &mut impl BufRead, headers: &BTreeMap<String, String>) -> Vec<u8> {
    if let Some(length) = headers.get("content-length") {
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        return body;
    }
    let mut whole = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size).unwrap();
        let mut chunk = vec![0; usize::from_str_radix(size.trim(), 16).unwrap() + 2];
        reader.read_exact(&mut chunk).unwrap();
        chunk.truncate(chunk.len() - 2);
        if chunk.is_empty() {
            return whole;
        }
        whole.append(&mut chunk);
    }
}

// ---- JSON -------------------------------------------------------------------------------------------------------

type Batch = (BTreeMap<String, Value>, Vec<SeenSpan>);

fn read_json(body: &[u8]) -> Batch {
    let request: Value = serde_json::from_slice(body).unwrap();
    let of = &request["resourceSpans"][0];
    let number = |value: &Value| value.as_str().unwrap().parse().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let span = |span: &Value| SeenSpan {
        trace: text(&span["traceId"]),
        id: text(&span["spanId"]),
        parent: text(&span["parentSpanId"]),
        state: text(&span["traceState"]),
        name: text(&span["name"]),
        kind: span["kind"].as_u64().unwrap(),
        start: number(&span["startTimeUnixNano"]),
        end: number(&span["endTimeUnixNano"]),
        attributes: json_attributes(&span["attributes"]),
        events: list(&span["events"]).map(|it| (text(&it["name"]), json_attributes(&it["attributes"]))).collect(),
        links: list(&span["links"]).map(|it| text(&it["spanId"])).collect(),
        error: span.get("status").filter(|it| it["code"] == 2).map(|it| text(&it["message"])),
    };
    let spans = list(&of["scopeSpans"][0]["spans"]).map(span).collect();
    (json_attributes(&of["resource"]["attributes"]), spans)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn json_attributes(of: &Value) -> BTreeMap<String, Value> {
    let any = |value: &Value| {
        let (kind, value) = value.as_object().unwrap().iter().next().unwrap();
        match kind.as_str() {
            "intValue" => json!(value.as_str().unwrap().parse::<i64>().unwrap()),
            "arrayValue" => list(&value["values"]).map(|it| it["stringValue"].clone()).collect(),
            _ => value.clone(),
        }
    };
    list(of).map(|it| (it["key"].as_str().unwrap().to_owned(), any(&it["value"]))).collect()
}

// ---- protobuf ---------------------------------------------------------------------------------------------------

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn bytes(&self) -> &'a [u8] {
        match self {
            Field::Bytes(bytes) => bytes,
            Field::Number(number) => panic!("{number} where bytes should be"),
        }
    }
    fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).unwrap()
    }
    fn number(&self) -> u64 {
        match self {
            Field::Number(number) => *number,
            Field::Bytes(bytes) => panic!("{bytes:?} where a number should be"),
        }
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
        shift += 7;
    }
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let mut fixed = |size: usize| {
            let (head, rest) = bytes.split_at(size);
            bytes = rest;
            head
        };
        let field = match key & 7 {
            1 => Field::Number(u64::from_le_bytes(fixed(8).try_into().unwrap())),
            5 => Field::Number(u32::from_le_bytes(fixed(4).try_into().unwrap()).into()),
            0 => Field::Number(varint(&mut bytes)),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (head, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(head)
            }
            kind => panic!("no field has the kind {kind}"),
        };
        found.push((key >> 3, field));
    }
    found
}

fn read_protobuf(body: &[u8]) -> Batch {
    let of = fields(fields(body)[0].1.bytes());
    let inner = |number: u64| of.iter().find(|(it, _)| *it == number).unwrap().1.bytes();
    let resource = attributes(&fields(inner(1)), 1);
    let spans = fields(inner(2)).iter().filter(|(number, _)| *number == 2).map(|(_, it)| span(it.bytes())).collect();
    (resource, spans)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn span(bytes: &[u8]) -> SeenSpan {
    let all = fields(bytes);
    let one = |number: u64| all.iter().find(|(it, _)| *it == number).map(|(_, field)| field);
    let many = |number: u64| all.iter().filter(move |(it, _)| *it == number).map(|(_, field)| fields(field.bytes()));
    let text = |number: u64| one(number).map(Field::text).unwrap_or_default();
    let id = |number: u64| one(number).map(|it| hex(it.bytes())).unwrap_or_default();
    let of = |fields: &[(u64, Field<'_>)], number: u64| fields.iter().find(|it| it.0 == number).map(|it| it.1.text());
    SeenSpan {
        trace: id(1),
        id: id(2),
        parent: id(4),
        state: text(3),
        name: text(5),
        kind: one(6).unwrap().number(),
        start: one(7).unwrap().number(),
        end: one(8).unwrap().number(),
        attributes: attributes(&all, 9),
        events: many(11).map(|it| (of(&it, 2).unwrap(), attributes(&it, 3))).collect(),
        links: many(13).map(|it| hex(it.iter().find(|it| it.0 == 2).unwrap().1.bytes())).collect(),
        error: many(15).next().map(|it| of(&it, 2).unwrap_or_default()),
    }
}

fn attributes(of: &[(u64, Field<'_>)], number: u64) -> BTreeMap<String, Value> {
    let pair = |field: &Field<'_>| {
        let pair = fields(field.bytes());
        let value = fields(pair[1].1.bytes());
        let (kind, value) = &value[0];
        let value = match kind {
            1 => json!(value.text()),
            2 => json!(value.number() == 1),
            3 => json!(value.number() as i64),
            4 => json!(f64::from_bits(value.number())),
            5 => fields(value.bytes()).iter().map(|(_, it)| json!(fields(it.bytes())[0].1.text())).collect(),
            kind => panic!("no value has the kind {kind}"),
        };
        (pair[0].1.text(), value)
    };
    of.iter().filter(|(it, _)| *it == number).map(|(_, field)| pair(field)).collect()
}
