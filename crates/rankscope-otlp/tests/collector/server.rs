//! A web server of one connection at a time, which answers as it was told to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// A request that came.
pub(crate) struct Request {
    pub(crate) line: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// What is done with a request.
#[derive(Clone)]
pub(crate) enum Reply {
    /// These bytes, and the connection ends.
    Bytes(Vec<u8>),
    /// None, for so long; then the connection ends.
    Silence(Duration),
}

impl Reply {
    pub(crate) fn status(status: &str, headers: &str, body: &[u8]) -> Self {
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}Connection: close\r\n\r\n", body.len());
        Self::Bytes([head.as_bytes(), body].concat())
    }

    pub(crate) fn fine() -> Self {
        Self::status("200 OK", "Content-Type: application/x-protobuf\r\n", b"")
    }
}

/// The server, which answers requests in order with `replies`, and from then on with the last.
pub(crate) fn serve(listener: TcpListener, replies: Vec<Reply>) -> Receiver<Request> {
    let (heard, requests) = channel();
    thread::spawn(move || {
        for (at, connection) in listener.incoming().enumerate() {
            let reply = replies.get(at).or(replies.last()).unwrap();
            if answer(connection.unwrap(), reply, &heard).is_none() {
                return;
            }
        }
    });
    requests
}

pub(crate) fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    (listener, place)
}

fn answer(connection: TcpStream, reply: &Reply, heard: &Sender<Request>) -> Option<()> {
    let request = read(&connection);
    match reply {
        Reply::Bytes(bytes) => (&connection).write_all(bytes).unwrap(),
        Reply::Silence(time) => thread::sleep(*time),
    }
    heard.send(request).ok()
}

fn read(connection: &TcpStream) -> Request {
    let mut reader = BufReader::new(connection);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let first = line();
    let headers: Vec<(String, String)> = std::iter::from_fn(|| {
        let (name, value) = line().split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()))?;
        Some((name, value))
    })
    .collect();
    let mut request = Request { line: first, headers, body: Vec::new() };
    let length = request.header("content-length").unwrap().parse().unwrap();
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body).unwrap();
    request
}
