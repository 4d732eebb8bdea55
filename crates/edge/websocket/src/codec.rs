//! Bytes into messages: pure, no clock but the one that is handed in. Memory grows with what has come, not with what a head
//! announces, and an idle codec has none.

use std::borrow::Cow;

use crate::close;
use crate::head::{self, FrameHead, HEAD_BYTES_MAX, Opcode};
use crate::mask;
use crate::utf8::Utf8Check;

/// What a control frame may carry.
const CONTROL_BYTES_MAX: u64 = 125;
/// The span over which control frames are counted.
const CONTROL_SPAN_MS: u64 = 1_000;

/// Which side we are: a client masks what it sends, a server does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Server,
    Client,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WsLimits {
    pub message_bytes_max: usize,
    /// Frames of one message: empty ones cost no bytes.
    pub fragments_max: u32,
    /// Pings, pongs and closes within a second.
    pub control_per_s: u32,
}

/// What the other side sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Incoming<'a> {
    /// One whole message; where `text` is set it is UTF-8.
    Message {
        text: bool,
        bytes: Cow<'a, [u8]>,
    },
    Ping(&'a [u8]),
    Pong(&'a [u8]),
    Close(Option<(u16, &'a str)>),
}

/// The other side broke a rule: with which code the connection is closed, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Violation {
    pub code: u16,
    pub why: &'static str,
}

impl Violation {
    fn protocol(why: &'static str) -> Self {
        Self { code: 1002, why }
    }
}

const NOT_TEXT: Violation = Violation { code: 1007, why: "what was called text is none" };

/// A frame whose head is read.
#[derive(Clone, Copy, Debug)]
struct OpenFrame {
    head: FrameHead,
    /// Bytes of its payload that came already.
    came: u64,
}

/// A message whose last frame has not come whole.
#[derive(Debug)]
struct OpenMessage {
    text: bool,
    fragments: u32,
    check: Utf8Check,
}

#[derive(Debug)]
pub struct Codec {
    role: Role,
    limits: WsLimits,
    /// The head that is coming in.
    head: [u8; HEAD_BYTES_MAX],
    head_came: u8,
    frame: Option<OpenFrame>,
    message: Option<OpenMessage>,
    /// What came of the message, unmasked.
    bytes: Vec<u8>,
    /// What came of a control frame.
    control: Vec<u8>,
    control_since_ms: u64,
    control_count: u32,
    over: bool,
}

impl Codec {
    pub fn new(role: Role, limits: WsLimits) -> Self {
        Self {
            role,
            limits,
            head: [0; HEAD_BYTES_MAX],
            head_came: 0,
            frame: None,
            message: None,
            bytes: Vec::new(),
            control: Vec::new(),
            control_since_ms: 0,
            control_count: 0,
            over: false,
        }
    }

    pub fn role(&self) -> Role {
        self.role
    }

    /// For what comes from now on: a caller that is known may send more.
    pub fn set_limits(&mut self, limits: WsLimits) {
        self.limits = limits;
    }

    /// Takes bytes as they come, in any pieces, and unmasks them in place. Nothing is taken after a close or a violation.
    pub fn feed(&mut self, bytes: &mut [u8], now_ms: u64, each: &mut dyn FnMut(Incoming<'_>)) -> Result<(), Violation> {
        let mut rest = bytes;
        let fed = loop {
            if self.over {
                return Ok(());
            }
            match self.take(rest, now_ms, each) {
                Ok(0) => break Ok(()),
                Ok(count) => rest = &mut std::mem::take(&mut rest)[count..],
                Err(violation) => break Err(violation),
            }
        };
        if fed.is_err() {
            self.end();
        }
        fed
    }

    fn end(&mut self) {
        self.over = true;
        self.bytes = Vec::new();
        self.control = Vec::new();
    }

    /// Takes one step: some of a head, or some of a payload. How many bytes; none where more are needed.
    fn take(&mut self, bytes: &mut [u8], now_ms: u64, each: &mut dyn FnMut(Incoming<'_>)) -> Result<usize, Violation> {
        let Some(mut frame) = self.frame else {
            let count = self.take_head(bytes);
            if let Some(frame) = self.frame_begins(now_ms)? {
                self.frame = Some(frame);
                // An empty payload comes with its head.
                if frame.head.len == 0 {
                    self.payload(frame, &[], each)?;
                }
            }
            return Ok(count);
        };
        let left = frame.head.len - frame.came;
        let count = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
        if count == 0 {
            return Ok(0);
        }
        let bytes = &mut bytes[..count];
        if let Some(key) = frame.head.mask {
            mask::apply(key, (frame.came % 4) as usize, bytes);
        }
        frame.came += count as u64;
        self.frame = Some(frame);
        self.payload(frame, bytes, each)?;
        Ok(count)
    }

    fn take_head(&mut self, bytes: &[u8]) -> usize {
        let mut count = 0;
        while count < bytes.len() && !self.head_is_whole() {
            self.head[usize::from(self.head_came)] = bytes[count];
            self.head_came += 1;
            count += 1;
        }
        count
    }

    fn head_is_whole(&self) -> bool {
        self.head_came >= 2 && usize::from(self.head_came) == head::head_len(self.head[1])
    }

    /// The frame whose head is whole now, if it may come.
    fn frame_begins(&mut self, now_ms: u64) -> Result<Option<OpenFrame>, Violation> {
        if !self.head_is_whole() {
            return Ok(None);
        }
        let head = head::read(&self.head[..usize::from(self.head_came)]).map_err(Violation::protocol)?;
        self.head_came = 0;
        if head.mask.is_some() != (self.role == Role::Server) {
            return Err(Violation::protocol("a client masks what it sends, a server does not"));
        }
        if head.opcode.is_control() {
            self.control_begins(head, now_ms)?;
        } else {
            self.data_begins(head)?;
        }
        Ok(Some(OpenFrame { head, came: 0 }))
    }

    fn control_begins(&mut self, head: FrameHead, now_ms: u64) -> Result<(), Violation> {
        if !head.fin {
            return Err(Violation::protocol("a control frame in fragments"));
        }
        if head.len > CONTROL_BYTES_MAX {
            return Err(Violation::protocol("a control frame that is too long"));
        }
        if now_ms.saturating_sub(self.control_since_ms) >= CONTROL_SPAN_MS {
            (self.control_since_ms, self.control_count) = (now_ms, 0);
        }
        self.control_count += 1;
        if self.control_count > self.limits.control_per_s {
            return Err(Violation { code: 1008, why: "too many control frames" });
        }
        Ok(())
    }

    fn data_begins(&mut self, head: FrameHead) -> Result<(), Violation> {
        match (&mut self.message, head.opcode) {
            (None, Opcode::Continuation) => return Err(Violation::protocol("nothing was begun that could go on")),
            (None, opcode) => {
                let text = opcode == Opcode::Text;
                self.message = Some(OpenMessage { text, fragments: 1, check: Utf8Check::default() });
            }
            (Some(message), Opcode::Continuation) => {
                message.fragments += 1;
                if message.fragments > self.limits.fragments_max {
                    return Err(Violation { code: 1009, why: "a message in too many fragments" });
                }
            }
            (Some(_), _) => return Err(Violation::protocol("a message inside of another")),
        }
        let room = self.limits.message_bytes_max.saturating_sub(self.bytes.len());
        if head.len > room as u64 {
            return Err(Violation { code: 1009, why: "a message that is too long" });
        }
        Ok(())
    }

    /// More of a frame, or its end.
    fn payload(&mut self, frame: OpenFrame, bytes: &[u8], each: &mut dyn FnMut(Incoming<'_>)) -> Result<(), Violation> {
        let is_whole = frame.came == frame.head.len;
        if is_whole {
            self.frame = None;
        }
        if frame.head.opcode.is_control() {
            return self.control_came(frame.head.opcode, is_whole, bytes, each);
        }
        let Some(message) = &mut self.message else { return Ok(()) };
        if message.text && !message.check.feed(bytes) {
            return Err(NOT_TEXT);
        }
        if !(is_whole && frame.head.fin) {
            self.bytes.extend_from_slice(bytes);
            return Ok(());
        }
        if !message.check.is_whole() {
            return Err(NOT_TEXT);
        }
        let text = message.text;
        self.message = None;
        // A message that came in one piece is handed on from where it lies.
        if self.bytes.is_empty() {
            each(Incoming::Message { text, bytes: Cow::Borrowed(bytes) });
        } else {
            let mut whole = std::mem::take(&mut self.bytes);
            whole.extend_from_slice(bytes);
            each(Incoming::Message { text, bytes: Cow::Owned(whole) });
        }
        Ok(())
    }

    fn control_came(
        &mut self,
        opcode: Opcode,
        is_whole: bool,
        bytes: &[u8],
        each: &mut dyn FnMut(Incoming<'_>),
    ) -> Result<(), Violation> {
        if !is_whole {
            self.control.extend_from_slice(bytes);
            return Ok(());
        }
        let mut whole = std::mem::take(&mut self.control);
        let bytes = if whole.is_empty() {
            bytes
        } else {
            whole.extend_from_slice(bytes);
            &whole
        };
        match opcode {
            Opcode::Ping => each(Incoming::Ping(bytes)),
            Opcode::Pong => each(Incoming::Pong(bytes)),
            _ => {
                let close = read_close(bytes)?;
                self.end();
                each(Incoming::Close(close));
            }
        }
        Ok(())
    }
}

fn read_close(bytes: &[u8]) -> Result<Option<(u16, &str)>, Violation> {
    let [high, low, reason @ ..] = bytes else {
        return if bytes.is_empty() { Ok(None) } else { Err(Violation::protocol("half a close code")) };
    };
    let code = u16::from_be_bytes([*high, *low]);
    if !close::is_code(code) {
        return Err(Violation::protocol("a close code that may not be sent"));
    }
    let reason = std::str::from_utf8(reason).map_err(|_| NOT_TEXT)?;
    Ok(Some((code, reason)))
}

/// One whole frame, for what is not worth a write of its own.
pub(crate) fn frame(opcode: Opcode, payload: &[u8], mask: Option<[u8; 4]>, into: &mut Vec<u8>) {
    let (head, count) = head::write(FrameHead { fin: true, opcode, len: payload.len() as u64, mask });
    into.extend_from_slice(&head[..count]);
    let start = into.len();
    into.extend_from_slice(payload);
    if let Some(mask) = mask {
        mask::apply(mask, 0, &mut into[start..]);
    }
}
