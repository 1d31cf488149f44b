//! What lies between the program and a store: cuts long answers, and may do something when it does so first.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

type Action = Box<dyn FnOnce() + Send>;

/// Passes requests on as they are, signatures and all.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    server: SocketAddr,
    cut_after: usize,
    cuts: AtomicU32,
    /// What is done when an answer to a request with these words is cut first.
    action: Mutex<Option<(&'static str, Action)>>,
}

impl Proxy {
    /// One to `server`, which hangs up after every `cut_after` bytes that come on a connection.
    pub(crate) fn to(server: SocketAddr, cut_after: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared { server, cut_after, cuts: AtomicU32::new(0), action: Mutex::new(None) });
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let own = Arc::clone(&own);
                std::thread::spawn(move || own.pass(connection));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn cuts(&self) -> u32 {
        self.shared.cuts.load(Ordering::Relaxed)
    }

    pub(crate) fn at_first_cut_of(&self, words: &'static str, action: impl FnOnce() + Send + 'static) {
        *self.shared.action.lock().expect("unpoisoned") = Some((words, Box::new(action)));
    }
}

impl Shared {
    fn pass(&self, client: TcpStream) {
        let Ok(server) = TcpStream::connect(self.server) else { return };
        let asked = Arc::new(Mutex::new(String::new()));
        let (mut from, mut to) = (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut buffer = [0; 1 << 14];
            while let Ok(read @ 1..) = from.read(&mut buffer) {
                heard.lock().expect("unpoisoned").push_str(&String::from_utf8_lossy(&buffer[..read]));
                if to.write_all(&buffer[..read]).is_err() {
                    break;
                }
            }
            // The other side may be gone already.
            let _gone = to.shutdown(Shutdown::Write);
        });
        self.answer(&server, &client, &asked);
    }

    fn answer(&self, mut server: &TcpStream, mut client: &TcpStream, asked: &Mutex<String>) {
        let (mut buffer, mut passed) = ([0; 1 << 12], 0);
        while let Ok(read @ 1..) = server.read(&mut buffer) {
            if client.write_all(&buffer[..read]).is_err() {
                break;
            }
            passed += read;
            if passed >= self.cut_after {
                self.cuts.fetch_add(1, Ordering::Relaxed);
                self.act(&asked.lock().expect("unpoisoned"));
                break;
            }
        }
        for end in [server, client] {
            let _gone = end.shutdown(Shutdown::Both);
        }
    }

    fn act(&self, asked: &str) {
        let mut action = self.action.lock().expect("unpoisoned");
        if let Some((_, act)) = action.take_if(|(words, _)| asked.contains(*words)) {
            act();
        }
    }
}

/// The URL of a server that answers everything so.
pub(crate) fn always(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut buffer = [0; 1 << 14];
            while let Ok(1..) = connection.read(&mut buffer) {
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                if connection.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    format!("http://{address}")
}
