//! Worlds with our binary in them.

use testkit::faults::World;
use testkit::mock_model::MockModel;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_tillerman");

/// With the built-in model.
pub(crate) fn tour() -> World {
    World::tour(BINARY)
}

/// With a model server.
pub(crate) fn with(model: &MockModel) -> World {
    World::with(BINARY, model)
}
