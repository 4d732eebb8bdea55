//! What a service manager is told (sd_notify): ready, reloading, stopping, and that we are still alive. One datagram each, to
//! the socket that it named; without one nothing is sent.

use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub(crate) struct ServiceManager {
    to: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
}

impl ServiceManager {
    pub(crate) fn of_process() -> Self {
        let number = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
        // It may watch another process than us.
        let is_ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|_| is_ours).map(Duration::from_micros);
        Self::new(std::env::var_os("NOTIFY_SOCKET"), watchdog)
    }

    pub(crate) fn new(socket: Option<OsString>, watchdog: Option<Duration>) -> Self {
        let to = socket.and_then(|name| {
            let address = match name.as_bytes() {
                [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok()?,
                [b'/', ..] => SocketAddr::from_pathname(&name).ok()?,
                _ => return None,
            };
            let socket = UnixDatagram::unbound().ok()?;
            socket.set_nonblocking(true).ok()?;
            Some((socket, address))
        });
        Self { watchdog: watchdog.filter(|_| to.is_some()), to }
    }

    /// How often it wants to hear that we are alive: twice in the time that it waits.
    pub(crate) fn alive_every(&self) -> Option<Duration> {
        self.watchdog.map(|time| time / 2)
    }

    pub(crate) fn is_there(&self) -> bool {
        self.to.is_some()
    }

    pub(crate) fn tell(&self, what: &str) {
        if let Some((socket, address)) = &self.to {
            // Nobody waits for a manager that does not listen.
            let _ = socket.send_to_addr(what.as_bytes(), address);
        }
    }

    /// It compares the time with its own, so that it knows which reload is meant.
    pub(crate) fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_by_path_and_by_abstract_name() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("notify");
        let abstract_name = format!("@tillerman-test-{}", std::process::id());
        let by_name = SocketAddr::from_abstract_name(&abstract_name[1..]).unwrap();
        let listeners = [
            (OsString::from(&path), UnixDatagram::bind(&path).unwrap()),
            (OsString::from(&abstract_name), UnixDatagram::bind_addr(&by_name).unwrap()),
        ];
        for (name, listener) in listeners {
            let manager = ServiceManager::new(Some(name), Some(Duration::from_secs(10)));
            assert_eq!(manager.alive_every(), Some(Duration::from_secs(5)));
            manager.tell("READY=1");
            let mut bytes = [0; 100];
            let count = listener.recv(&mut bytes).unwrap();
            assert_eq!(&bytes[..count], b"READY=1");
            manager.reloading();
            let count = listener.recv(&mut bytes).unwrap();
            assert!(bytes[..count].starts_with(b"RELOADING=1\nMONOTONIC_USEC="));
        }
        let nobody = ServiceManager::new(None, Some(Duration::from_secs(10)));
        assert_eq!(nobody.alive_every(), None);
        nobody.tell("READY=1");
    }
}
