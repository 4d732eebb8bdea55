//! Small secrets as they lie on the disk: encrypted, and bound to what they belong to.

use std::io;
use std::path::Path;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

const KEY_BYTES: usize = 32;

/// The key of this home. Shows nothing.
#[derive(Clone)]
pub struct StoreKey([u8; KEY_BYTES]);

impl std::fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl StoreKey {
    pub fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// Reads the key of this file, or makes one that only its owner can read.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let read = || safefile::read_regular(path, KEY_BYTES as u64);
        let bytes = match read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut bytes = [0; KEY_BYTES];
                SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("no randomness"))?;
                match safefile::create(path, &bytes) {
                    // Another process was faster: its key counts.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read()?,
                    made => made.map(|()| bytes.to_vec())?,
                }
            }
            read => read?,
        };
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, format!("a key has {KEY_BYTES} bytes"));
        Ok(Self(bytes.try_into().map_err(|_| wrong())?))
    }

    fn aead(&self) -> Option<LessSafeKey> {
        UnboundKey::new(&CHACHA20_POLY1305, &self.0).ok().map(LessSafeKey::new)
    }

    /// `about`: what it belongs to; it opens for nothing else.
    pub(super) fn seal(&self, about: &str, text: &str) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        let mut bytes = text.as_bytes().to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.aead()?.seal_in_place_append_tag(unique, Aad::from(about.as_bytes()), &mut bytes).ok()?;
        Some([&nonce[..], &bytes].concat())
    }

    pub(super) fn open(&self, about: &str, sealed: &[u8]) -> Option<String> {
        let (nonce, bytes) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut bytes = bytes.to_vec();
        let opened = self.aead()?.open_in_place(nonce, Aad::from(about.as_bytes()), &mut bytes).ok()?;
        String::from_utf8(opened.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_sealed_opens_with_its_key_for_its_owner_alone() {
        let key = StoreKey::new([7; KEY_BYTES]);
        let sealed = key.seal("n1/fcm", "canary").unwrap();
        assert!(!sealed.windows(6).any(|part| part == b"canary"));
        assert_eq!(key.open("n1/fcm", &sealed).as_deref(), Some("canary"));
        assert_eq!(key.open("n2/fcm", &sealed), None);
        assert_eq!(StoreKey::new([8; KEY_BYTES]).open("n1/fcm", &sealed), None);
        assert_ne!(key.seal("n1/fcm", "canary").unwrap(), sealed, "no two are alike");
        let mut changed = sealed.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!(key.open("n1/fcm", &changed), None);
        assert_eq!(key.open("n1/fcm", b"short"), None);
        assert_eq!(format!("{key:?}"), "***");
    }

    #[test]
    fn a_home_has_one_key_which_is_its_owners() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        let key = StoreKey::of_file(&path).unwrap();
        assert_eq!(StoreKey::of_file(&path).unwrap().0, key.0);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, b"short").unwrap();
        assert!(StoreKey::of_file(&path).is_err());
    }
}
