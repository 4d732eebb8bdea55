//! The stores against the suite, and the one on disk against disks, neighbours and accidents.

mod suites;
