//! What methods give, in the order of the families.

use std::sync::Arc;

use crate::shape;

shape! { result
    /// Who is there now.
    LoginResult {
        "authenticated" authenticated: bool,
        "connectionId" connection_id: Arc<str>,
        "scopes" scopes: Vec<&'static str>,
        /// The token's or the user's.
        "name" name: Arc<str>,
    }
}
shape! { result
    /// It was done.
    SuccessResult { "success" success: bool }
}
