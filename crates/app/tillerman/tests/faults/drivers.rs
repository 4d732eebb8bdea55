//! One driver per dialect, and the lists by which every flow runs for each of them. A new dialect is a file in here and
//! its lines in this one.

mod acp;
mod loaf;
mod rpc;
mod serve;

pub(crate) use acp::Acp;
pub(crate) use loaf::Loaf;
pub(crate) use rpc::Rpc;
pub(crate) use serve::{Serve, all, first, said};

/// Makes a test per dialect of a flow over `Driver`: `f1_a_promise::serve`.
macro_rules! every_dialect {
    ($flow:ident) => {
        mod $flow {
            crate::drivers::tests! { $flow: serve Serve, rpc Rpc, loaf Loaf, acp Acp }
        }
    };
}

/// The same of a flow over `Asking`: those that ask before a call runs.
macro_rules! every_asking_dialect {
    ($flow:ident) => {
        mod $flow {
            crate::drivers::tests! { $flow: serve Serve, rpc Rpc, acp Acp }
        }
    };
}

macro_rules! tests {
    ($flow:ident: $($name:ident $driver:ident),*) => {
        $(#[test]
        fn $name() {
            super::$flow::<crate::drivers::$driver>();
        })*
    };
}

pub(crate) use {every_asking_dialect, every_dialect, tests};
