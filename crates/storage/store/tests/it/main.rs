//! The store in memory against the suite.

mod suites;
