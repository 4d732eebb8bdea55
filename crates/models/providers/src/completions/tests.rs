//! Both halves together, server by server and switch by switch.

mod leniency;
mod switches;
