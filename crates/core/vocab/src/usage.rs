//! What a turn cost.

/// The most that is counted. A server may report nonsense: a sum stops here, where every place that keeps or tells a
/// number can still hold it, and so all sums of one log are the same.
pub const TOKENS_MAX: u64 = i64::MAX as u64;

fn sum(one: u64, other: u64) -> u64 {
    one.saturating_add(other).min(TOKENS_MAX)
}

/// Tokens of one or more model calls, in four counters that are never mixed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Prompt tokens that were not served from a cache.
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    /// True when the provider left out a count, or all of them, and we counted characters. As a provider's own word: what is
    /// nothing here was not counted ([`Usage::completed`]).
    pub estimated: bool,
}

impl Usage {
    /// Everything that was in the window during the call.
    pub fn context(&self) -> u64 {
        sum(self.prompt(), self.output)
    }
    /// All prompt tokens, cached or not.
    pub fn prompt(&self) -> u64 {
        sum(sum(self.input, self.cache_read), self.cache_write)
    }
    /// With our own counts where the provider has none.
    pub fn completed(self, prompt: u64, output: u64) -> Usage {
        if !self.estimated {
            return self;
        }
        let input = if self.prompt() == 0 { prompt } else { self.input };
        let output = if self.output == 0 { output } else { self.output };
        Usage { input, output, ..self }
    }
    /// What is left of it without `part`.
    pub fn less(&self, part: &Usage) -> Usage {
        Usage {
            input: self.input.saturating_sub(part.input),
            cache_read: self.cache_read.saturating_sub(part.cache_read),
            cache_write: self.cache_write.saturating_sub(part.cache_write),
            output: self.output.saturating_sub(part.output),
            estimated: self.estimated,
        }
    }
    pub fn add(&mut self, other: &Usage) {
        self.input = sum(self.input, other.input);
        self.cache_read = sum(self.cache_read, other.cache_read);
        self.cache_write = sum(self.cache_write, other.cache_write);
        self.output = sum(self.output, other.output);
        self.estimated |= other.estimated;
    }
}

/// Dollars per million tokens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prices {
    pub input: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    pub output: f64,
}

impl Prices {
    pub fn cost(&self, usage: &Usage) -> f64 {
        (usage.input as f64 * self.input
            + usage.cache_read as f64 * self.cache_read
            + usage.cache_write as f64 * self.cache_write
            + usage.output as f64 * self.output)
            / 1e6
    }
}

/// Characters per token, where nobody has counted for us.
pub const CHARS_PER_TOKEN: usize = 4;

pub fn estimate_tokens(bytes: usize) -> u64 {
    bytes.div_ceil(CHARS_PER_TOKEN) as u64
}
