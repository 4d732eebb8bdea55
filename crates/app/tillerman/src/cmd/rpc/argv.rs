//! A key on the command line is there for everybody to read: `ps` shows it for as long as the program runs. Where one was
//! given, the program starts itself once more without it, as the same process; the key comes along in the environment, which
//! nobody else may read and no program of ours is given.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use vocab::Secret;

const FLAG: &str = "--api-key";
/// Its name keeps it from the programs that we start.
const HANDED_OVER: &str = "TILLERMAN_RPC_API_KEY";

/// The key that this program was started anew with.
pub(super) fn handed_over() -> Option<Secret> {
    std::env::var(HANDED_OVER).ok().as_deref().and_then(Secret::new)
}

/// Starts anew without the key. Comes back only where that cannot be done; then the key stays where it is.
pub(super) fn hide(key: &Secret) {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_default();
    let rest: Vec<OsString> = words.collect();
    let Some(exe) = own_program() else { return };
    let mut command = Command::new(exe);
    let error = command.arg0(name).args(without(&rest, key)).env(HANDED_OVER, key.expose()).exec();
    host::note(&format!("the key of {FLAG} stays visible to other users of this machine: {error}"));
}

/// The file may have been replaced since; on Linux this is still the program that runs.
fn own_program() -> Option<PathBuf> {
    match cfg!(target_os = "linux") {
        true => Some("/proc/self/exe".into()),
        false => std::env::current_exe().ok(),
    }
}

/// The words without the flag and its value, in both spellings.
fn without(words: &[OsString], key: &Secret) -> Vec<OsString> {
    let is_value = |word: &OsStr| word.to_str().is_some_and(|text| text.trim() == key.expose());
    let joined = |word: &OsStr| {
        let value = word.as_bytes().strip_prefix(FLAG.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        value.is_some_and(|value| is_value(OsStr::from_bytes(value)))
    };
    let mut kept = Vec::with_capacity(words.len());
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        if word == FLAG && rest.peek().is_some_and(|value| is_value(value)) {
            rest.next();
        } else if !joined(word) {
            kept.push(word.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_and_its_value_go_and_nothing_else() {
        let key = Secret::new("sk-1").unwrap();
        let check = |line: &str, want: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let kept: Vec<String> = without(&words, &key).into_iter().map(|word| word.into_string().unwrap()).collect();
            assert_eq!(kept.join(" "), want);
        };
        check("rpc --api-key sk-1 --model m", "rpc --model m");
        check("--mode rpc --api-key=sk-1", "--mode rpc");
        check("rpc --api-key=sk-1 --api-key sk-1", "rpc");
        check("rpc --api-key other --model sk-1", "rpc --api-key other --model sk-1");
        check("rpc --api-key", "rpc --api-key");
    }
}
