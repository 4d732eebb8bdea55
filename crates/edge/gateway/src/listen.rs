//! Where connections come from: TCP, and a socket in the file system that only its owner may open.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener, UnixStream};

/// What the system takes as the path of a socket, with room for its end.
const PATH_BYTES_MAX: usize = 100;
const BACKLOG: u32 = 1024;
/// How long whoever listens on a socket that we want may take to be noticed.
const KNOCK: Duration = Duration::from_secs(2);

pub(crate) fn tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4()?,
        SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6()?,
    };
    // A restart gets its port back at once.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Who takes nothing of what it is sent for so long has its connection reset. Its system goes on saying that it is there, so
/// without this it would keep its place for good: an answer that nobody reads has no other bound.
pub(crate) fn give_up_after(stream: &impl AsFd, time: Duration) -> io::Result<()> {
    let ms = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    Ok(rustix::net::sockopt::set_tcp_user_timeout(stream, ms)?)
}

pub(crate) struct UnixSocket {
    listener: UnixListener,
    file: SocketFile,
}

/// The name of a socket in the file system, and which file had it when it was ours.
pub(crate) struct SocketFile {
    path: PathBuf,
    ours: FileIdentity,
}

/// Device, inode, and when it was made: the number of an inode goes to the next file at once.
type FileIdentity = (u64, u64, i64, i64);

fn which(found: &std::fs::Metadata) -> FileIdentity {
    (found.dev(), found.ino(), found.mtime(), found.mtime_nsec())
}

impl SocketFile {
    /// Takes it away, unless it is somebody else's by now.
    pub(crate) fn remove(&self) {
        if std::fs::symlink_metadata(&self.path).is_ok_and(|found| which(&found) == self.ours) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl UnixSocket {
    /// Takes the place of a file that a dead process left, and of no other: the name may be any, so another program or the
    /// gateway of another home may listen there.
    pub(crate) async fn bind(path: &Path) -> io::Result<Self> {
        if let Ok(found) = std::fs::symlink_metadata(path) {
            if !std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()) {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is no socket"));
            }
            nobody_listens(path).await?;
            // Somebody may have taken the place of the dead one while we knocked: then `bind` says so.
            SocketFile { path: path.to_owned(), ours: which(&found) }.remove();
        }
        let (short, _handle) = dialable(path)?;
        let listener = UnixListener::bind(short)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let ours = which(&std::fs::symlink_metadata(path)?);
        Ok(Self { listener, file: SocketFile { path: path.to_owned(), ours } })
    }

    pub(crate) fn apart(self) -> (UnixListener, SocketFile) {
        (self.listener, self.file)
    }
}

/// Only a refusal says so: who is too busy to answer, or may not be asked, is there.
async fn nobody_listens(path: &Path) -> io::Result<()> {
    let (dial, _kept) = dialable(path)?;
    let answer = tokio::time::timeout(KNOCK, UnixStream::connect(dial)).await;
    let why = match answer {
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(()),
        Ok(Ok(_)) => "another program listens there".to_owned(),
        Ok(Err(error)) => format!("there is a socket, and it cannot be told whether anybody listens there: {error}"),
        Err(_) => "there is a socket, and whoever has it does not answer".to_owned(),
    };
    Err(io::Error::new(io::ErrorKind::AddrInUse, why))
}

/// A path that the system takes, for whoever binds or dials, and what keeps it good: one that is too long is reached through a
/// handle of its directory.
pub fn dialable(path: &Path) -> io::Result<(PathBuf, Option<std::fs::File>)> {
    if path.as_os_str().len() <= PATH_BYTES_MAX {
        return Ok((path.to_owned(), None));
    }
    let (directory, name) = (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or_default());
    let handle = std::fs::File::open(directory)?;
    let number = std::os::fd::AsRawFd::as_raw_fd(&handle);
    Ok((Path::new(&format!("/proc/self/fd/{number}")).join(name), Some(handle)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn g6_who_never_reads_is_let_go() {
        use tokio::io::AsyncWriteExt;
        let listener = tcp("127.0.0.1:0".parse().unwrap()).unwrap();
        let reader = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        give_up_after(&stream, Duration::from_secs(1)).unwrap();
        let telling = async {
            let piece = [0; 64 * 1024];
            while stream.write_all(&piece).await.is_ok() {}
        };
        tokio::time::timeout(Duration::from_secs(20), telling).await.expect("its connection is reset");
        drop(reader);
    }

    #[tokio::test]
    async fn a_long_path_is_bound_and_dialled() {
        let home = tempfile::tempdir().unwrap();
        let deep = home.path().join("d".repeat(60)).join("e".repeat(60));
        std::fs::create_dir_all(&deep).unwrap();
        for path in [home.path().join("s"), deep.join("gateway.sock")] {
            let first = UnixSocket::bind(&path).await.unwrap();
            let (dial, _handle) = dialable(&path).unwrap();
            UnixStream::connect(&dial).await.unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            // What a dead process left is replaced.
            drop(first);
            let second = UnixSocket::bind(&path).await.unwrap();
            UnixStream::connect(&dial).await.unwrap();
            second.apart().1.remove();
            assert!(!path.exists());
        }
        let file = home.path().join("file");
        std::fs::write(&file, "mine").unwrap();
        assert!(UnixSocket::bind(&file).await.is_err() && file.exists());
    }

    #[tokio::test]
    async fn a_socket_on_which_somebody_listens_stays_theirs() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("s");
        let theirs = UnixListener::bind(&path).unwrap();
        let refused = UnixSocket::bind(&path).await.map(|_| ()).unwrap_err();
        assert_eq!(refused.to_string(), "another program listens there");
        UnixStream::connect(&path).await.unwrap();
        drop(theirs);
        let (listener, file) = UnixSocket::bind(&path).await.unwrap().apart();
        // Somebody else has put a socket of theirs there meanwhile.
        drop(listener);
        std::fs::remove_file(&path).unwrap();
        // A file system has a coarse clock.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let _theirs = UnixListener::bind(&path).unwrap();
        file.remove();
        UnixStream::connect(&path).await.unwrap();
        // One of another kind takes no connections.
        let datagrams = home.path().join("d");
        let _theirs = std::os::unix::net::UnixDatagram::bind(&datagrams).unwrap();
        assert!(UnixSocket::bind(&datagrams).await.is_err() && datagrams.exists());
    }
}
