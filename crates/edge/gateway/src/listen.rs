//! Where connections come from: TCP, and a socket in the file system that only its owner may open.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};

/// What the system takes as the path of a socket, with room for its end.
const PATH_BYTES_MAX: usize = 100;
const BACKLOG: u32 = 1024;

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

/// The name of a socket in the file system.
pub(crate) struct SocketFile(PathBuf);

impl SocketFile {
    pub(crate) fn remove(&self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl UnixSocket {
    /// Takes the place of a file that a dead process left. The caller holds the home's lock, so nobody answers there.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        match std::fs::symlink_metadata(path) {
            Ok(found) if std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()) => std::fs::remove_file(path)?,
            Ok(_) => return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is no socket")),
            Err(_) => {}
        }
        let (short, _handle) = dialable(path)?;
        let listener = UnixListener::bind(short)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, file: SocketFile(path.to_owned()) })
    }

    pub(crate) fn apart(self) -> (UnixListener, SocketFile) {
        (self.listener, self.file)
    }
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
            let first = UnixSocket::bind(&path).unwrap();
            let (dial, _handle) = dialable(&path).unwrap();
            tokio::net::UnixStream::connect(&dial).await.unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            // What a dead process left is replaced.
            drop(first);
            let second = UnixSocket::bind(&path).unwrap();
            tokio::net::UnixStream::connect(&dial).await.unwrap();
            second.apart().1.remove();
            assert!(!path.exists());
        }
        let file = home.path().join("file");
        std::fs::write(&file, "mine").unwrap();
        assert!(UnixSocket::bind(&file).is_err() && file.exists());
    }
}
