//! Puts what every start and every turn runs side by side in a release binary. The kernel maps code in windows of 64 KiB
//! around what is touched; spread over the whole binary, the few functions that are needed would bring most of it into
//! memory. `layout.txt` names them, without the hashes that compilers add; names that are gone do no harm, and names that
//! are missing cost a window. `bench layout` writes it anew.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

const NAMES: &str = "layout.txt";

fn main() {
    println!("cargo:rerun-if-changed={NAMES}");
    println!("cargo:rerun-if-changed=build.rs");
    if !is_wanted() {
        return;
    }
    let names = fs::read_to_string(NAMES).expect("layout.txt is beside build.rs");
    let script = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("layout.ld");
    fs::write(&script, linker_script(&names)).expect("OUT_DIR can be written to");
    println!("cargo:rustc-link-arg-bin=tillerman=-Wl,-T,{}", script.display());
}

/// Only where it was measured, and where nobody has chosen a linker: not every one reads such a script.
fn is_wanted() -> bool {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|is| is == value);
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    is("PROFILE", "release")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && env::var_os("RUSTC_LINKER").is_none()
        && !["linker", "fuse-ld"].iter().any(|choice| flags.contains(choice))
}

/// A section of its own before the rest of the code, in the order of the names. Functions that the compiler thinks cold
/// have another prefix.
fn linker_script(names: &str) -> String {
    let mut script = String::from("SECTIONS\n{\n  .text.layout :\n  {\n");
    for name in names.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        writeln!(script, "    *(.text.{name} .text.unlikely.{name})").expect("a String takes everything");
    }
    script.push_str("  }\n}\nINSERT BEFORE .text;\n");
    script
}
