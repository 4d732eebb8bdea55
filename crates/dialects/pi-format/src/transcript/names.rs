//! Names of lines: 8 hex digits that depend on what an entry says and when, not on its number or on what is known about
//! models today. So a fork, which renumbers, and a later process, which may know other prices, give the same names.

use std::collections::HashSet;

use vocab::{
    AssistantMessage, Block, Body, BranchEntry, CallEntry, CallInput, MessageEnd, ModelEntry, NoteEntry, Part,
    SettingEntry, ShellEntry, TurnEntry,
};

use super::LineName;

/// FNV-1a, 64 bits: stable over versions and machines, which the standard hasher does not promise.
pub(super) struct Print(u64);

impl Print {
    pub(super) fn new(at_ms: i64, kind: &str) -> Self {
        let mut print = Print(0xcbf2_9ce4_8422_2325);
        print.bytes(&at_ms.to_le_bytes());
        print.text(kind);
        print
    }
    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    /// The length goes in too, so that two texts cannot swap bytes at their border.
    pub(super) fn text(&mut self, text: &str) {
        self.bytes(&(text.len() as u64).to_le_bytes());
        self.bytes(text.as_bytes());
    }
    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Text(text) => self.text(text),
                Part::Image(image) => {
                    self.text(&image.mime);
                    self.text(&image.base64);
                }
            }
        }
    }
    fn assistant(&mut self, message: &AssistantMessage) {
        self.text(&message.model);
        for block in &message.blocks {
            match block {
                Block::Text(text) => self.text(text),
                Block::Thinking { text, opaque } => {
                    self.text(text);
                    self.text(opaque.as_deref().unwrap_or_default());
                }
                Block::Redacted(sealed) => self.text(sealed),
                Block::Call(call) => {
                    // Without one it is named as it was before there were any.
                    if let Some(seal) = &call.seal {
                        self.text(seal);
                    }
                    self.text(call.id.as_str());
                    self.text(&call.name);
                    match &call.input {
                        CallInput::Object(json) => self.text(json.as_str()),
                        CallInput::Broken { text, .. } => self.text(text),
                    }
                }
            }
        }
        match &message.end {
            MessageEnd::Finished(finish) => self.bytes(&[*finish as u8]),
            MessageEnd::Interrupted => self.text("interrupted"),
            MessageEnd::Failed(failed) => self.text(&failed.fault.message),
        }
    }

    /// What an entry says, without the numbers of other entries.
    pub(super) fn of(at_ms: i64, kind: &str, body: &Body) -> Self {
        let mut print = Print::new(at_ms, kind);
        match body {
            Body::Opened { model, .. } | Body::Setting(SettingEntry::Model { model, .. }) => print.text(model),
            Body::User { parts, .. } => print.parts(parts),
            Body::Assistant { message, .. } => print.assistant(message),
            Body::Call(CallEntry::Ended { result, .. }) => {
                print.text(result.call.as_str());
                print.parts(&result.parts);
            }
            Body::Turn(TurnEntry::Ended(end)) => print.text(end.turn.as_str()),
            Body::Model(ModelEntry::Retrying { turn, attempt, fault, .. }) => {
                print.text(turn.as_str());
                print.bytes(&attempt.to_le_bytes());
                print.text(&fault.message);
            }
            Body::Branch(BranchEntry::Compacted(compaction)) => print.text(&compaction.summary),
            Body::Branch(BranchEntry::Summary { summary, .. }) => print.text(summary),
            Body::Setting(SettingEntry::Thinking { level }) => print.text(level.as_deref().unwrap_or("off")),
            Body::Setting(SettingEntry::Title { title }) => print.text(title),
            Body::Note(NoteEntry::Label { label, .. }) => print.text(label.as_deref().unwrap_or_default()),
            Body::Shell(ShellEntry::Ended(shell)) => {
                print.text(&shell.command);
                print.text(&shell.output);
            }
            // These have no line.
            Body::Turn(TurnEntry::Started { .. } | TurnEntry::Taken { .. } | TurnEntry::Cut { .. })
            | Body::Call(CallEntry::Started { .. })
            | Body::Ask(_)
            | Body::Queue(_)
            | Body::Branch(BranchEntry::Moved { .. })
            | Body::Setting(SettingEntry::Mode { .. })
            | Body::Setting(SettingEntry::Gadgets { .. } | SettingEntry::Lane { .. } | SettingEntry::Elevated { .. })
            | Body::Setting(SettingEntry::Todos { .. })
            | Body::Note(NoteEntry::Imported { .. })
            | Body::Model(ModelEntry::Requested(_))
            | Body::Shell(ShellEntry::Started { .. } | ShellEntry::Called { .. } | ShellEntry::Returned(_))
            | Body::Branch(BranchEntry::Restored { .. })
            | Body::Model(ModelEntry::FellBack(_))
            | Body::Model(ModelEntry::Spent { .. })
            | Body::Note(NoteEntry::Keyed(_) | NoteEntry::Recovered { .. } | NoteEntry::Waived { .. }) => {}
        }
        print
    }

    fn name(&self) -> LineName {
        format!("{:08x}", (self.0 >> 32) as u32 ^ self.0 as u32).into()
    }

    /// The first name that is free; taken from then on.
    pub(super) fn claim(mut self, taken: &mut HashSet<LineName>) -> LineName {
        loop {
            let name = self.name();
            if taken.insert(name.clone()) {
                return name;
            }
            self.text(&name);
        }
    }
}

/// A name for a line of a file that has none, from its place and its bytes.
pub fn name_of_bytes(at: u64, bytes: &[u8], taken: &mut HashSet<LineName>) -> LineName {
    let mut print = Print::new(at as i64, "line");
    print.bytes(bytes);
    print.claim(taken)
}
