//! What methods take, in the order of the families.

use crate::shape;
use crate::shape::*;

shape! { params
    /// A token.
    LoginParams { "token" token: Text<1, 4096> }
}
