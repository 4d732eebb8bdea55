//! Both halves together, on answers as the server streams them.

mod recorded;
