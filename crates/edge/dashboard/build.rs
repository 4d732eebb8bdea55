//! Joins the page out of `dashboard/` and the client library that it speaks with, so that nobody needs Node to build us.

// A build speaks to cargo through stdout.
#![allow(clippy::print_stdout)]

#[path = "src/join.rs"]
mod join;
#[path = "src/names.rs"]
mod names;
#[path = "src/page.rs"]
mod page;
#[path = "src/short.rs"]
mod short;
#[path = "src/tokens.rs"]
mod tokens;
#[path = "src/write.rs"]
mod write;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use join::{JoinFault, ModuleFiles};

/// First what others stand on; a page's own style comes behind, by name.
const STYLES_FIRST: &[&str] = &["tokens.css", "base.css", "shell.css", "parts.css"];
/// A page that is larger is too slow on a phone. Before compression.
const PAGE_BYTES_MAX: usize = 250 * 1024;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for watched in
        ["dashboard/index.html", "dashboard/worker.js", "dashboard/style", "dashboard/src", "sdk/typescript/dist"]
    {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    println!("cargo::rerun-if-changed=src");
    if let Err(JoinFault(why)) = build(&root) {
        println!("cargo::error=the dashboard: {why}");
        std::process::exit(1);
    }
}

fn build(root: &Path) -> Result<(), JoinFault> {
    let disk = Disk(root.to_owned());
    let script = join::script(&disk, "dashboard/src/main.js")?;
    let style = page::short_properties(&page::style(&styles(root)?)?, &script);
    let frame = disk.read("dashboard/index.html")?;
    let whole = page::page(&frame, &style, &script)?;
    if whole.len() > PAGE_BYTES_MAX {
        let (script, style) = (script.len(), style.len());
        let why = format!(
            "the page has {} bytes (script {script}, style {style}), {PAGE_BYTES_MAX} are allowed",
            whole.len()
        );
        return Err(JoinFault(why));
    }
    let policy = page::policy(&hash(&script), &hash(&style));
    let version = hash(&whole);
    let worker = join::alone(&disk.read("dashboard/worker.js")?)?.replace("@version@", &version);
    let out = PathBuf::from(env::var("OUT_DIR").map_err(fault)?);
    let write = |name: &str, bytes: &[u8]| fs::write(out.join(name), bytes).map_err(fault);
    write("page.html", whole.as_bytes())?;
    write("page.html.gz", &packed(whole.as_bytes())?)?;
    write("policy.txt", policy.as_bytes())?;
    write("version.txt", version.as_bytes())?;
    write("worker.js", worker.as_bytes())
}

fn styles(root: &Path) -> Result<Vec<String>, JoinFault> {
    let entries = fs::read_dir(root.join("dashboard/style")).map_err(fault)?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|it| it.ends_with(".css"))
        .collect();
    let rank = |name: &String| STYLES_FIRST.iter().position(|it| it == name).unwrap_or(STYLES_FIRST.len());
    names.sort_by(|one, two| (rank(one), one).cmp(&(rank(two), two)));
    names.iter().map(|name| fs::read_to_string(root.join("dashboard/style").join(name)).map_err(fault)).collect()
}

/// As a policy names a script or a style: by what it is.
fn hash(text: &str) -> String {
    STANDARD.encode(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()))
}

fn packed(bytes: &[u8]) -> Result<Vec<u8>, JoinFault> {
    let mut into = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    into.write_all(bytes).and_then(|()| into.finish()).map_err(fault)
}

fn fault(error: impl std::fmt::Display) -> JoinFault {
    JoinFault(error.to_string())
}

struct Disk(PathBuf);

impl ModuleFiles for Disk {
    fn read(&self, path: &str) -> Result<String, JoinFault> {
        fs::read_to_string(self.0.join(path)).map_err(|error| JoinFault(format!("{path}: {error}")))
    }
}
