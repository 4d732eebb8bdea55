//! Bytes of an answer to model events: server-sent events, and a format's decoder behind them. Pure: no socket, no clock.
//! Deltas are read when they are asked for, so that a burst of them costs no queue.

use std::collections::VecDeque;

use net::sse::Sse;
use vocab::{ModelEvent, ModelFault};

use crate::faults;
use crate::format::{DecodeTrouble, Decoder, Flow};

pub(crate) struct AnswerReader {
    sse: Sse,
    decoder: Box<dyn Decoder>,
    /// Events of what was read last.
    ready: VecDeque<ModelEvent>,
    over: bool,
}

impl AnswerReader {
    pub(crate) fn new(decoder: Box<dyn Decoder>) -> Self {
        Self { sse: Sse::default(), decoder, ready: VecDeque::new(), over: false }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.sse.feed(bytes);
    }

    /// Puts an event of our own behind those that are ready.
    pub(crate) fn tell(&mut self, event: ModelEvent) {
        self.ready.push_back(event);
    }

    /// Takes the whole answer of a server that did not stream.
    pub(crate) fn whole(&mut self, body: &[u8]) {
        match self.decoder.whole(body, &mut self.ready) {
            Ok(()) => self.close(None),
            Err(trouble) => self.fail(trouble.fault()),
        }
    }

    /// The next event of what was fed.
    pub(crate) fn next(&mut self) -> Option<ModelEvent> {
        while self.ready.is_empty() && !self.over {
            let taken = match self.sse.next()? {
                Ok(data) => self.decoder.read(data, &mut self.ready).map_err(DecodeTrouble::fault),
                Err(long) => Err(faults::provider(format!("an event of the stream exceeds {} bytes", long.limit))),
            };
            match taken {
                Ok(Flow::On) => {}
                Ok(Flow::Done) => self.close(None),
                Err(fault) => self.fail(fault),
            }
        }
        self.ready.pop_front()
    }

    /// The bytes are over; `cut` says what broke them off. What is left to tell comes from [`AnswerReader::next`].
    pub(crate) fn end(&mut self, cut: Option<ModelFault>) {
        // An event at the very end may lack its blank line. Half an event is none: the stream was cut there.
        let last = self.sse.finish().filter(|_| cut.is_none() && !self.over);
        if let Some(data) = last
            && let Err(DecodeTrouble::Fault(fault)) = self.decoder.read(data, &mut self.ready)
        {
            self.fail(fault);
        }
        self.close(cut);
    }

    /// Ends the answer with this fault. Tokens that were reported were spent, so they are told first.
    pub(crate) fn fail(&mut self, fault: ModelFault) {
        if !self.over {
            self.ready.extend(self.decoder.usage().map(ModelEvent::Usage));
            self.ready.push_back(ModelEvent::Failed(fault));
            self.over = true;
        }
    }

    /// Nothing more will come. With a reason to stop the answer is whole, and what broke afterwards changes nothing.
    fn close(&mut self, cut: Option<ModelFault>) {
        if self.over {
            return;
        }
        if !self.decoder.is_finished() {
            return self.fail(cut.unwrap_or_else(|| faults::cut(None)));
        }
        match self.decoder.finish(&mut self.ready) {
            Some(finish) => {
                self.ready.extend(self.decoder.usage().map(ModelEvent::Usage));
                self.ready.push_back(ModelEvent::Finished(finish));
                self.over = true;
            }
            None => self.fail(cut.unwrap_or_else(|| faults::cut(None))),
        }
    }

    /// Nothing more will be read.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }
    /// The reason to stop has come; usage may follow.
    pub(crate) fn is_finished(&self) -> bool {
        self.decoder.is_finished()
    }
    pub(crate) fn has_usage(&self) -> bool {
        self.decoder.usage().is_some()
    }
}
