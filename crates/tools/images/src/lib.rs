//! Images: read from a file that the user named, and made small enough for model APIs. It knows no session and no model.

mod file;
mod fit;

pub use file::{FILE_BYTES_MAX, ImageFile, locate, read};
pub use fit::{DECODED_BYTES_MAX, EDGE_PIXELS_MAX, ENCODED_BYTES_MAX, PIXELS_MAX, fit};
