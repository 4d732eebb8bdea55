//! From a path to a command line. Pure but for looking at the file.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The command line of an extension, or why there is none.
pub(crate) fn argv(path: &Path) -> Result<Vec<OsString>, String> {
    let meta = std::fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    if !meta.is_file() {
        return Err("is not a file".into());
    }
    let file = path.as_os_str().to_owned();
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if matches!(ending, "ts" | "mts" | "cts" | "tsx") {
        return Err(
            "is TypeScript: pi runs such extensions inside its own process. Here an extension is a program of \
                    its own that speaks JSON-RPC on stdin and stdout; see docs/extensions.md"
                .into(),
        );
    }
    if meta.permissions().mode() & 0o111 != 0 {
        return Ok(vec![file]);
    }
    let interpreter = match ending {
        "py" => "python3",
        "js" | "mjs" | "cjs" => "node",
        "sh" => "sh",
        _ => return Err("is not executable, and its ending names no interpreter (.py, .js, .mjs, .cjs, .sh)".into()),
    };
    Ok(vec![interpreter.into(), file])
}

/// What people call an extension before it has said its own name.
pub(crate) fn name(path: &Path) -> String {
    path.file_stem().map_or_else(|| "extension".into(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_names_the_interpreter_unless_the_file_runs_by_itself() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, mode: u32| {
            let path = dir.path().join(name);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            argv(&path).map(|argv| argv[0].to_string_lossy().rsplit('/').next().unwrap_or_default().to_owned())
        };
        assert_eq!(make("a.py", 0o644).as_deref(), Ok("python3"));
        assert_eq!(make("b.py", 0o755).as_deref(), Ok("b.py"));
        assert_eq!(make("c.mjs", 0o600).as_deref(), Ok("node"));
        assert_eq!(make("d.sh", 0o600).as_deref(), Ok("sh"));
        assert_eq!(make("e", 0o700).as_deref(), Ok("e"));
        assert!(make("f", 0o600).unwrap_err().contains("not executable"));
        assert!(make("g.ts", 0o700).unwrap_err().contains("pi runs such extensions inside its own process"));
        assert!(argv(dir.path()).unwrap_err().contains("not a file"));
        assert!(argv(&dir.path().join("none")).unwrap_err().contains("cannot be read"));
    }
}
