//! testkit
pub mod mock_model;
