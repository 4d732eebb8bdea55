//! TLS by files, or by a certificate of our own making. Files are looked at while the server runs: a renewed pair is used for
//! the next connection, one that does not load leaves the old one in place.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::options::TlsChoice;

const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Certificate and key of our own making, in the gateway's home.
const SELF_SIGNED: &str = "self-signed.pem";
const CERTIFICATE_BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const CERTIFICATE_END: &str = "-----END CERTIFICATE-----";

/// What tells one version of a file from the next.
type FileMark = (u64, i64, i64, u64);

pub(crate) struct TlsShelf {
    cert: PathBuf,
    key: PathBuf,
    config: RwLock<Arc<ServerConfig>>,
    marks: Mutex<[Option<FileMark>; 2]>,
}

impl TlsShelf {
    /// `None`: no TLS is wanted.
    pub(crate) fn open(choice: &TlsChoice, home: &Path, names: &[String]) -> io::Result<Option<Arc<Self>>> {
        let (cert, key) = match choice {
            TlsChoice::None => return Ok(None),
            TlsChoice::Files { cert, key } => (cert.clone(), key.clone()),
            TlsChoice::SelfSigned => {
                let file = home.join(SELF_SIGNED);
                if !file.exists() {
                    safefile::replace(&file, self_signed(names)?.as_bytes())?;
                }
                (file.clone(), file)
            }
        };
        let marks = Mutex::new([mark(&cert), mark(&key)]);
        let config = RwLock::new(load(&cert, &key)?);
        Ok(Some(Arc::new(Self { cert, key, config, marks })))
    }

    /// What a person compares with what a client shows: SHA-256 of the certificate, in pairs of digits.
    pub(crate) fn fingerprint(&self) -> io::Result<String> {
        let bytes = safefile::read_regular(&self.cert, FILE_BYTES_MAX)?;
        let cert = CertificateDer::from_pem_slice(&bytes).map_err(io::Error::other)?;
        let digest = ring::digest::digest(&ring::digest::SHA256, &cert);
        let pairs: Vec<String> = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        Ok(pairs.join(":"))
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.read().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Loads the files where they have changed. Whether they had.
    pub(crate) fn look(&self) -> io::Result<bool> {
        let marks = [mark(&self.cert), mark(&self.key)];
        let mut kept = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        if *kept == marks {
            return Ok(false);
        }
        // A pair that is wrong is told once, not at every look.
        *kept = marks;
        let config = load(&self.cert, &self.key)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(true)
    }
}

fn mark(path: &Path) -> Option<FileMark> {
    let found = fs::metadata(path).ok()?;
    Some((found.ino(), found.mtime(), found.mtime_nsec(), found.len()))
}

fn load(cert: &Path, key: &Path) -> io::Result<Arc<ServerConfig>> {
    let said = |path: &Path, why: String| io::Error::other(format!("{}: {why}", path.display()));
    let read = |path: &Path| safefile::read_regular(path, FILE_BYTES_MAX).map_err(|it| said(path, it.to_string()));
    let chain = CertificateDer::pem_slice_iter(&read(cert)?).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| said(cert, error.to_string()))?;
    if chain.is_empty() {
        return Err(said(cert, "it holds no certificate".to_owned()));
    }
    let private = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| said(key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| said(cert, error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The certificate that was made here, without its key. `None`: none was.
pub(crate) fn own_certificate(home: &Path) -> io::Result<Option<String>> {
    let bytes = match safefile::read_regular(&home.join(SELF_SIGNED), FILE_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    let begin = text.find(CERTIFICATE_BEGIN);
    let end = text.find(CERTIFICATE_END).map(|at| at + CERTIFICATE_END.len());
    match begin.zip(end) {
        Some((begin, end)) if begin < end => Ok(Some(format!("{}\n", &text[begin..end]))),
        _ => Err(io::Error::other(format!("{SELF_SIGNED} has no certificate"))),
    }
}

/// Certificate and key in one text.
fn self_signed(names: &[String]) -> io::Result<String> {
    let mut all = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    all.extend(names.iter().filter(|name| !all.contains(name)).cloned().collect::<Vec<_>>());
    let made = rcgen::generate_simple_self_signed(all).map_err(io::Error::other)?;
    Ok(format!("{}{}", made.cert.pem(), made.signing_key.serialize_pem()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_that_does_not_load_leaves_the_old_one() {
        let home = tempfile::tempdir().unwrap();
        let (cert, key) = (home.path().join("cert.pem"), home.path().join("key.pem"));
        let made = self_signed(&[]).unwrap();
        let split = made.find("-----BEGIN PRIVATE").unwrap();
        fs::write(&cert, &made[..split]).unwrap();
        fs::write(&key, &made[split..]).unwrap();
        let choice = TlsChoice::Files { cert: cert.clone(), key: key.clone() };
        let shelf = TlsShelf::open(&choice, home.path(), &[]).unwrap().unwrap();
        let first = shelf.config.read().unwrap().clone();
        assert!(!shelf.look().unwrap(), "nothing has changed");
        fs::write(&cert, "no certificate").unwrap();
        assert!(shelf.look().is_err());
        assert!(!shelf.look().unwrap(), "told once");
        assert!(Arc::ptr_eq(&first, &shelf.config.read().unwrap()));
        let other = self_signed(&["box.example".to_owned()]).unwrap();
        let split = other.find("-----BEGIN PRIVATE").unwrap();
        fs::write(&cert, &other[..split]).unwrap();
        fs::write(&key, &other[split..]).unwrap();
        assert!(shelf.look().unwrap());
        assert!(!Arc::ptr_eq(&first, &shelf.config.read().unwrap()));
    }

    #[test]
    fn our_own_certificate_is_made_once() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        TlsShelf::open(&TlsChoice::SelfSigned, home.path(), &[]).unwrap();
        let file = home.path().join(SELF_SIGNED);
        let first = fs::read_to_string(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        TlsShelf::open(&TlsChoice::SelfSigned, home.path(), &[]).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), first);
        let shown = own_certificate(home.path()).unwrap().unwrap();
        assert!(first.contains(&shown) && !shown.contains("PRIVATE"), "{shown}");
        assert!(own_certificate(Path::new("/no/such")).unwrap().is_none());
        let shelf = TlsShelf::open(&TlsChoice::SelfSigned, home.path(), &[]).unwrap().unwrap();
        let shown = shelf.fingerprint().unwrap();
        let mut openssl = std::process::Command::new("openssl");
        openssl.args(["x509", "-noout", "-fingerprint", "-sha256", "-in"]).arg(&file);
        if let Ok(said) = openssl.output() {
            let said = String::from_utf8_lossy(&said.stdout).into_owned();
            assert!(said.trim_end().ends_with(&shown), "{said} {shown}");
        }
    }
}
