//! How many may be here: connections of all, of one address, and sockets of those whom nobody knows yet.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::entrance::PeerAddress;
use crate::failures::network;
use crate::limits::{
    CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX, CONNECTIONS_PER_LOOPBACK_MAX, DISCARDS_MAX, STRANGERS_MAX,
};

#[derive(Default)]
pub(crate) struct ConnectionCounts {
    connections: AtomicUsize,
    strangers: AtomicUsize,
    /// Those who read what nobody wants, in the order in which they began.
    discards: Mutex<VecDeque<AbortHandle>>,
    by_address: Mutex<HashMap<IpAddr, usize>>,
    /// Told when a connection goes.
    gone: Notify,
}

/// One connection's place; dropping it gives it back.
pub(crate) struct ConnectionPlace {
    places: Arc<ConnectionCounts>,
    address: Option<IpAddr>,
}

pub(crate) struct StrangerPlace(Arc<ConnectionCounts>);

impl ConnectionCounts {
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// `None`: there is none left.
    pub(crate) fn connection(self: &Arc<Self>, peer: PeerAddress) -> Option<ConnectionPlace> {
        let address = match peer {
            PeerAddress::Tcp(address) => Some(network(address.ip().to_canonical())),
            PeerAddress::Unix { .. } => None,
        };
        if self.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
            self.connections.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let place = ConnectionPlace { places: self.clone(), address };
        if let Some(address) = address {
            let most = if address.is_loopback() { CONNECTIONS_PER_LOOPBACK_MAX } else { CONNECTIONS_PER_ADDRESS_MAX };
            let count = {
                let mut counts = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
                let count = counts.entry(address).or_default();
                *count += 1;
                *count
            };
            if count > most {
                return None;
            }
        }
        Some(place)
    }

    pub(crate) fn stranger(self: &Arc<Self>) -> Option<StrangerPlace> {
        let place = StrangerPlace(self.clone());
        (self.strangers.fetch_add(1, Ordering::Relaxed) < STRANGERS_MAX).then_some(place)
    }

    /// Registers a task that discards a request body. Above `DISCARDS_MAX` the oldest is aborted.
    pub(crate) fn discards(&self, reading: AbortHandle) {
        let mut discards = self.discards.lock().unwrap_or_else(PoisonError::into_inner);
        discards.push_back(reading);
        if discards.len() > DISCARDS_MAX {
            discards.retain(|reading| !reading.is_finished());
        }
        if discards.len() > DISCARDS_MAX
            && let Some(longest) = discards.pop_front()
        {
            longest.abort();
        }
    }

    /// Waits until every connection is gone.
    pub(crate) async fn all_gone(&self) {
        loop {
            let gone = self.gone.notified();
            if self.connections() == 0 {
                return;
            }
            gone.await;
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        if let Some(address) = self.address {
            let mut counts = self.places.by_address.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = counts.get_mut(&address) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&address);
                }
            }
        }
        self.places.connections.fetch_sub(1, Ordering::Relaxed);
        self.places.gone.notify_waiters();
    }
}

impl Drop for StrangerPlace {
    fn drop(&mut self) {
        self.0.strangers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_back() {
        let places = Arc::new(ConnectionCounts::default());
        let far = PeerAddress::Tcp("10.0.0.1:5".parse().unwrap());
        let held: Vec<_> = (0..CONNECTIONS_PER_ADDRESS_MAX).map(|_| places.connection(far).unwrap()).collect();
        assert!(places.connection(far).is_none());
        assert!(places.connection(PeerAddress::Tcp("10.0.0.2:5".parse().unwrap())).is_some());
        assert_eq!(places.connections(), CONNECTIONS_PER_ADDRESS_MAX);
        drop(held);
        assert_eq!(places.connections(), 0);
        assert!(places.by_address.lock().unwrap().is_empty());
        let strangers: Vec<_> = (0..STRANGERS_MAX).map(|_| places.stranger().unwrap()).collect();
        assert!(places.stranger().is_none());
        drop(strangers);
        assert!(places.stranger().is_some());
    }
}
