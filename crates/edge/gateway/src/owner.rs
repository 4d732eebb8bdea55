//! Whose process is at the other end of a connection on this machine: the system lists its sockets with their owners.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::own_tools;

/// A socket that is connected.
const ESTABLISHED: &str = "01";
/// Who may do everything on this machine.
const SYSTEM_UID: u32 = 0;
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// From whom, to where: the other end's own address first.
type SocketEnds = (SocketAddr, SocketAddr);

/// The other end's row in the system's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SocketRow {
    pub(crate) uid: u32,
    pub(crate) inode: u64,
}

/// What was found out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// A process of our own user that we have not started.
    Us,
    /// One that works for a session: it has its own ways to be allowed something.
    OurTool,
    /// Of the system's own user, who is not ours: daemons that speak for others run under it.
    System,
    /// Of another user, or nobody's as far as can be seen.
    Other,
}

/// One reader of the tables for all who ask at once: a thousand connections cost a few reads.
#[derive(Clone, Default)]
pub(crate) struct OwnerLookup(Arc<Mutex<Batch>>);

#[derive(Default)]
struct Batch {
    waiting: Vec<(SocketEnds, oneshot::Sender<Owner>)>,
    reading: bool,
}

impl OwnerLookup {
    pub(crate) async fn of_tcp(&self, peer: SocketAddr, local: SocketAddr) -> Owner {
        let (answer, found) = oneshot::channel();
        let begins = {
            let mut batch = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            batch.waiting.push(((canonical(peer), canonical(local)), answer));
            !std::mem::replace(&mut batch.reading, true)
        };
        if begins {
            let all = self.clone();
            tokio::task::spawn_blocking(move || all.read_until_nobody_waits());
        }
        found.await.unwrap_or(Owner::Other)
    }

    pub(crate) async fn of_unix(uid: u32, pid: Option<i32>) -> Owner {
        if uid != own_uid() {
            return Owner::Other;
        }
        let Some(pid) = pid else { return Owner::Other };
        tokio::task::spawn_blocking(move || own_tools::whose_process(pid)).await.unwrap_or(Owner::Other)
    }

    fn read_until_nobody_waits(&self) {
        loop {
            let waiting = {
                let mut batch = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if batch.waiting.is_empty() {
                    batch.reading = false;
                    return;
                }
                std::mem::take(&mut batch.waiting)
            };
            let wanted: HashSet<SocketEnds> = waiting.iter().map(|(ends, _)| *ends).collect();
            let mut rows = HashMap::new();
            for table in TABLES {
                let text = std::fs::read_to_string(table).unwrap_or_default();
                find(&text, &wanted, &mut rows);
            }
            let ours = rows.values().filter(|row| row.uid == own_uid()).map(|row| row.inode);
            let owners = own_tools::whose_sockets(ours.collect());
            for (ends, answer) in waiting {
                let owner = rows.get(&ends).and_then(|row| match row.uid {
                    uid if uid == own_uid() => owners.get(&row.inode).copied(),
                    SYSTEM_UID => Some(Owner::System),
                    _ => None,
                });
                let _ = answer.send(owner.unwrap_or(Owner::Other));
            }
        }
    }
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Rows of the other ends that are wanted.
fn find(table: &str, wanted: &HashSet<SocketEnds>, into: &mut HashMap<SocketEnds, SocketRow>) {
    for line in table.lines().skip(1) {
        let mut fields = line.split_whitespace().skip(1);
        let (Some(own), Some(other), Some(state)) = (fields.next(), fields.next(), fields.next()) else { continue };
        if state != ESTABLISHED {
            continue;
        }
        let (Some(own), Some(other)) = (address(own), address(other)) else { continue };
        if !wanted.contains(&(own, other)) {
            continue;
        }
        // Queues, timers and retries stand between.
        let uid = fields.nth(3).and_then(|it| it.parse().ok());
        let inode = fields.nth(1).and_then(|it| it.parse().ok());
        if let (Some(uid), Some(inode)) = (uid, inode) {
            into.insert((own, other), SocketRow { uid, inode });
        }
    }
}

/// `0100007F:4970`: words of 32 bits in the machine's order, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| Some(u32::from_str_radix(host.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match host.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut octets = [0; 16];
            for (place, piece) in octets.chunks_exact_mut(4).enumerate() {
                piece.copy_from_slice(&word(place * 8)?);
            }
            IpAddr::V6(Ipv6Addr::from(octets)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
        0: 0100007F:4970 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0\n   \
        1: 0100007F:C350 0100007F:4970 01 00000000:00000000 00:00000000 00000000  1001        0 4242 1 0 20 4 30 10 -1\n   \
        2: 0100007F:C351 0100007F:4970 06 00000000:00000000 00:00000000 00000000  1000        0 43 1 0 20 4 30 10 -1\n";
    const TCP6: &str = "  sl  local_address                         remote_address                        st\n   \
        0: 0000000000000000FFFF00000100007F:C352 0000000000000000FFFF00000100007F:4970 01 00000000:00000000 00:00000000 00000000  1000        0 44 1 0 20 4 30 10 -1\n   \
        1: 00000000000000000000000001000000:C353 00000000000000000000000001000000:4970 01 00000000:00000000 00:00000000 00000000  1000        0 45 1 0 20 4 30 10 -1\n";

    fn ends(peer: &str, own: &str) -> SocketEnds {
        (canonical(peer.parse().unwrap()), canonical(own.parse().unwrap()))
    }

    #[test]
    fn the_other_end_is_found_by_both_addresses() {
        let (four, mapped, six) = (
            ends("127.0.0.1:50000", "127.0.0.1:18800"),
            ends("[::ffff:127.0.0.1]:50002", "127.0.0.1:18800"),
            ends("[::1]:50003", "[::1]:18800"),
        );
        let closed = ends("127.0.0.1:50001", "127.0.0.1:18800");
        let absent = ends("127.0.0.1:50000", "127.0.0.1:18801");
        let mut rows = HashMap::new();
        for table in [TCP, TCP6] {
            find(table, &HashSet::from([four, mapped, six, closed, absent]), &mut rows);
        }
        assert_eq!(rows[&four], SocketRow { uid: 1001, inode: 4242 });
        assert_eq!((rows[&mapped].inode, rows[&six].inode), (44, 45));
        assert_eq!(rows.len(), 3);
    }

    /// As many as a machine may have open, all of them asking at once.
    #[test]
    fn many_are_found_in_one_pass() {
        let own = "127.0.0.1:18800";
        let port = |number: u16| ends(&format!("127.0.0.1:{}", 20_000 + number), own);
        let row = |number: u16| {
            let there = format!("0100007F:{:04X}", 20_000 + number);
            format!(
                "1: {there} 0100007F:4970 01 0:0 0:0 0 1000 0 {number} 1\n2: 0100007F:4970 {there} 01 0:0 0:0 0 0 0 1 1\n"
            )
        };
        const COUNT: u16 = 12_000;
        let wanted: HashSet<SocketEnds> = (0..COUNT).map(port).collect();
        let table: String = std::iter::once("head\n".to_owned()).chain((0..COUNT).map(row)).collect();
        let (mut rows, begun) = (HashMap::new(), std::time::Instant::now());
        find(&table, &wanted, &mut rows);
        assert_eq!(rows.len(), usize::from(COUNT));
        assert!(begun.elapsed() < std::time::Duration::from_secs(2), "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn our_own_socket_is_ours_and_one_of_a_command_is_not() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap();
        let lookup = OwnerLookup::default();
        let client = tokio::net::TcpStream::connect(own).await.unwrap();
        let (_server, peer) = listener.accept().await.unwrap();
        assert_eq!(lookup.of_tcp(peer, own).await, Owner::Us);
        let other = SocketAddr::new(peer.ip(), 1);
        assert_eq!(lookup.of_tcp(other, own).await, Owner::Other, "nobody is there");
        drop(client);
        let me = i32::try_from(std::process::id()).unwrap();
        assert_eq!(OwnerLookup::of_unix(own_uid(), Some(me)).await, Owner::Us);
        assert_eq!(OwnerLookup::of_unix(own_uid() + 1, Some(me)).await, Owner::Other);
        // A command of ours that connects: bash opens the socket itself.
        let connects = format!("exec 3<>/dev/tcp/127.0.0.1/{}; sleep 20", own.port());
        let _command = launch(&["bash", "-c", &connects]).await.unwrap();
        let (_server, peer) = listener.accept().await.unwrap();
        assert_eq!(lookup.of_tcp(peer, own).await, Owner::OurTool);
        // Another user's process, where we may start one.
        if own_uid() == 0
            && let Ok(_other) = launch(&["setpriv", "--reuid=65534", "--clear-groups", "bash", "-c", &connects]).await
        {
            let (_server, peer) = listener.accept().await.unwrap();
            assert_eq!(lookup.of_tcp(peer, own).await, Owner::Other);
        }
    }

    async fn launch(argv: &[&str]) -> std::io::Result<process::Launched> {
        let argv = argv.iter().map(Into::into).collect();
        let env = std::env::vars_os().collect();
        let program = process::Program { argv, cwd: "/".into(), env, joined: false };
        process::Launcher::launch(&process::GroupLauncher, &program).await
    }

    #[tokio::test]
    async fn many_who_ask_at_once_are_all_answered() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap();
        let lookup = OwnerLookup::default();
        let mut held = Vec::new();
        let mut asked = tokio::task::JoinSet::new();
        for _ in 0..200 {
            let client = tokio::net::TcpStream::connect(own).await.unwrap();
            let (server, peer) = listener.accept().await.unwrap();
            let lookup = lookup.clone();
            asked.spawn(async move { lookup.of_tcp(peer, own).await });
            held.push((client, server));
        }
        let found = asked.join_all().await;
        assert!(found.len() == 200 && found.iter().all(|owner| *owner == Owner::Us));
    }
}
