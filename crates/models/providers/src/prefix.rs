//! What stands before the messages and rarely changes: system prompt and tools, encoded once.

use std::sync::Arc;

use vocab::{CallSpec, ToolSpec};

/// Something made of the system prompt and the tools, good as long as the next call shares the same ones.
pub(crate) struct Prefix<T>(Option<Made<T>>);

struct Made<T> {
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
    made: T,
}

impl<T> Default for Prefix<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Prefix<T> {
    /// For this call: what there is where it fits, else what `make` makes.
    pub(crate) fn of(&mut self, spec: &CallSpec, make: impl FnOnce() -> T) -> &T {
        let same = |it: &Made<T>| Arc::ptr_eq(&it.system, &spec.system) && Arc::ptr_eq(&it.tools, &spec.tools);
        let kept = self.0.take().filter(same);
        let anew = || Made { system: spec.system.clone(), tools: spec.tools.clone(), made: make() };
        &self.0.insert(kept.unwrap_or_else(anew)).made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_for_as_long_as_both_are_the_same() {
        let mut spec = CallSpec { system: "a".into(), tools: Arc::from([]), max_tokens: 1, thinking: None };
        let mut prefix = Prefix::default();
        assert_eq!(prefix.of(&spec, || 1), &1);
        spec.max_tokens = 2;
        assert_eq!(prefix.of(&spec, || 2), &1, "a limit is not part of it");
        spec.system = "b".into();
        assert_eq!(prefix.of(&spec, || 3), &3);
    }
}
