//! Tells the parallel tool calls of one answer apart. Servers disagree on the marks: by the book each fragment carries
//! an index and the first an id and a name; some leave the index out, some repeat the id, some give every call index
//! 0, some give no id at all.

use vocab::ModelEvent;

/// More calls than this in one answer end it with an error: no tool loop needs them, a runaway model does.
pub const CALLS_MAX: usize = 128;
/// More argument bytes than this in one call end the answer with an error.
pub const ARGUMENT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One fragment as a server sent it; empty strings have become `None`.
pub(crate) struct Fragment<'a> {
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    pub(crate) input: &'a str,
}

#[derive(Default)]
pub(crate) struct ToolCalls {
    slots: Vec<Slot>,
}

struct Slot {
    wire_index: Option<u64>,
    id: Option<String>,
    started: bool,
    /// Arguments that came before the name did.
    held: String,
    bytes: usize,
}

impl ToolCalls {
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The event of this fragment; none while the call still lacks a name. The error is a sentence.
    pub(crate) fn take(&mut self, fragment: Fragment<'_>) -> Result<Option<ModelEvent>, String> {
        let at = match self.find(&fragment) {
            Some(at) => at,
            None if self.slots.len() == CALLS_MAX => {
                return Err(format!("too many parallel tool calls: more than {CALLS_MAX} in one answer"));
            }
            None => {
                self.slots.push(Slot {
                    wire_index: fragment.index,
                    id: None,
                    started: false,
                    held: String::new(),
                    bytes: 0,
                });
                self.slots.len() - 1
            }
        };
        let slot = &mut self.slots[at];
        slot.bytes += fragment.input.len();
        if slot.bytes > ARGUMENT_BYTES_MAX {
            return Err(format!("the arguments of a tool call are larger than {ARGUMENT_BYTES_MAX} bytes"));
        }
        if slot.id.is_none() {
            slot.id = fragment.id.map(str::to_owned);
        }
        if slot.started {
            let input = fragment.input.to_owned();
            let event = ModelEvent::Call { index: at as u32, id: None, name: None, input };
            return Ok((!fragment.input.is_empty()).then_some(event));
        }
        slot.held.push_str(fragment.input);
        Ok(fragment.name.map(|name| slot.start(at, name)))
    }

    /// The answer is over: calls that never got a name are told without one, and whoever runs them says so.
    pub(crate) fn finish(&mut self) -> Vec<ModelEvent> {
        let nameless = self.slots.iter_mut().enumerate().filter(|(_, slot)| !slot.started);
        nameless.map(|(at, slot)| slot.start(at, "")).collect()
    }

    fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let same_id = |slot: &Slot| match (&slot.id, fragment.id) {
            (Some(have), Some(id)) => have == id,
            _ => true,
        };
        if fragment.index.is_some() {
            let at = self.slots.iter().rposition(|slot| slot.wire_index == fragment.index)?;
            // A second name under another id is a second call, whatever its index says. Another id alone is not:
            // some servers roll a new one for every fragment.
            let second = fragment.name.is_some() && self.slots[at].started && !same_id(&self.slots[at]);
            return (!second).then_some(at);
        }
        if let Some(id) = fragment.id {
            let known = self.slots.iter().rposition(|slot| slot.id.as_deref() == Some(id));
            return known;
        }
        let last = self.slots.len().checked_sub(1)?;
        (fragment.name.is_none() || !self.slots[last].started).then_some(last)
    }
}

impl Slot {
    fn start(&mut self, at: usize, name: &str) -> ModelEvent {
        self.started = true;
        ModelEvent::Call {
            index: at as u32,
            // Replayed to the server with the result; the engine makes it unique within the turn.
            id: Some(self.id.clone().unwrap_or_else(|| format!("call_{at}"))),
            name: Some(name.to_owned()),
            input: std::mem::take(&mut self.held),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type FragmentRow = (Option<u64>, &'static str, &'static str, &'static str);

    fn check(rows: &[FragmentRow], want: &[&str]) {
        let mut calls = ToolCalls::default();
        let some = |text: &'static str| (!text.is_empty()).then_some(text);
        let mut got = Vec::new();
        for &(index, id, name, input) in rows {
            got.extend(calls.take(Fragment { index, id: some(id), name: some(name), input }).unwrap());
        }
        got.extend(calls.finish());
        let got: Vec<String> = got
            .into_iter()
            .map(|event| match event {
                ModelEvent::Call { index, id: Some(id), name: Some(name), input } => {
                    format!("{index} {id} {name} {input}")
                }
                ModelEvent::Call { index, id: None, name: None, input } => format!("{index} + {input}"),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(got, want);
    }

    #[test]
    fn by_the_book() {
        check(
            &[
                (Some(0), "a", "f", ""),
                (Some(0), "", "", "{\"x\""),
                (Some(1), "b", "g", ""),
                (Some(0), "", "", ":1}"),
                (Some(1), "", "", "{}"),
            ],
            &["0 a f ", "0 + {\"x\"", "1 b g ", "0 + :1}", "1 + {}"],
        );
    }

    #[test]
    fn without_an_index() {
        check(&[(None, "a", "f", "{"), (None, "", "", "}"), (None, "b", "g", "{}")], &["0 a f {", "0 + }", "1 b g {}"]);
        check(&[(None, "", "f", "{}"), (None, "", "g", "{}")], &["0 call_0 f {}", "1 call_1 g {}"]);
    }

    #[test]
    fn with_the_id_or_name_repeated() {
        check(&[(Some(0), "a", "f", "{"), (Some(0), "a", "f", "}")], &["0 a f {", "0 + }"]);
        check(&[(None, "a", "f", "{"), (None, "a", "", "}")], &["0 a f {", "0 + }"]);
        check(&[(Some(0), "a", "f", "{"), (Some(0), "other", "", "}")], &["0 a f {", "0 + }"]);
    }

    #[test]
    fn with_index_zero_for_every_call() {
        check(&[(Some(0), "a", "f", "{}"), (Some(0), "b", "f", "{}")], &["0 a f {}", "1 b f {}"]);
    }

    #[test]
    fn a_late_name_holds_the_call_back() {
        check(&[(Some(0), "a", "", "{"), (Some(0), "", "f", "}")], &["0 a f {}"]);
        check(&[(Some(0), "a", "", "{}")], &["0 a  {}"]);
    }

    #[test]
    fn limits_are_errors() {
        let mut calls = ToolCalls::default();
        let call = |index| Fragment { index: Some(index), id: None, name: Some("f"), input: "" };
        for index in 0..CALLS_MAX as u64 {
            assert!(calls.take(call(index)).is_ok());
        }
        assert!(calls.take(call(1000)).unwrap_err().starts_with("too many parallel tool calls"));

        let mut calls = ToolCalls::default();
        let input = "x".repeat(ARGUMENT_BYTES_MAX);
        let fragment = |input| Fragment { index: Some(0), id: None, name: Some("f"), input };
        assert!(calls.take(fragment(&input)).is_ok());
        assert!(calls.take(fragment("x")).unwrap_err().contains("larger than"));
    }
}
