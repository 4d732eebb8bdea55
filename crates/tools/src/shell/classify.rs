use std::path::Path;
use vocab::Required;
pub fn required(_c: &str, _w: &Path) -> Required {
    Required::DangerFullAccess
}
