//! The door to the helper that holds a tool's processes on a leash. It is entered before anything else happens in the
//! process, because the helper must stay small and start fast.

use std::process::ExitCode;

/// `tillerman __leash` ends here.
pub(crate) fn enter() -> ExitCode {
    ExitCode::from(u8::try_from(process::leash::run()).unwrap_or(1))
}
