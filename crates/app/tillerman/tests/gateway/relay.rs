//! A way to the gateway that can be cut: a relay of bytes on another loopback address and the same port, since a gateway answers
//! to its own port alone.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
pub(crate) struct Relay {
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    /// From 127.0.0.2 to 127.0.0.1, for as long as the process lives.
    pub(crate) fn start(port: u16) -> Self {
        let relay = Self::default();
        let listener = TcpListener::bind(("127.0.0.2", port)).unwrap();
        let open = relay.open.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // Nobody is there: the client is told so.
                let Ok(gateway) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let both = [client.try_clone().unwrap(), gateway.try_clone().unwrap()];
                open.lock().unwrap().extend(both);
                let back = (gateway.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || copy(client, gateway));
                std::thread::spawn(move || copy(back.0, back.1));
            }
        });
        relay
    }

    /// Everything that is open is gone, in the middle of whatever it was.
    pub(crate) fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
