//! A web server of one object, with bad habits as wanted.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// Bodies end after so many bytes, and the connection with them.
    pub(crate) cut_after: Option<usize>,
    /// How many bodies are cut.
    pub(crate) cuts: u32,
    pub(crate) forgets_etag: bool,
    pub(crate) ignores_ranges: bool,
    pub(crate) content_encoding: Option<&'static str>,
    /// Answers 403, with a body that repeats a key.
    pub(crate) refuses: bool,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            cut_after: None,
            cuts: u32::MAX,
            forgets_etag: false,
            ignores_ranges: false,
            content_encoding: None,
            refuses: false,
        }
    }
}

/// Runs until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    content: Mutex<Vec<u8>>,
    habits: Habits,
    cuts: AtomicU32,
    asked: Mutex<Vec<String>>,
    over: AtomicBool,
}

const PATH: &str = "/run/rank0.json.gz";

impl Server {
    pub(crate) fn start(content: Vec<u8>, habits: Habits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let cuts = AtomicU32::new(habits.cuts);
        let (content, asked, over) = (Mutex::new(content), Mutex::default(), AtomicBool::new(false));
        let shared = Arc::new(Shared { content, habits, cuts, asked, over });
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                if own.over.load(Ordering::Relaxed) {
                    return;
                }
                let own = Arc::clone(&own);
                // Who hangs up hangs up.
                std::thread::spawn(move || while own.answer(&connection).unwrap_or(false) {});
            }
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://{}/run/{name}", self.address)
    }

    pub(crate) fn replace(&self, content: Vec<u8>) {
        *self.shared.content.lock().expect("unpoisoned") = content;
    }

    /// What was asked for, one line of headers a request.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().expect("unpoisoned").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Wakes it up to see that.
        let _nobody = TcpStream::connect(self.address);
    }
}

impl Shared {
    /// Answers one request; whether another may follow on this connection.
    fn answer(&self, connection: &TcpStream) -> std::io::Result<bool> {
        let mut lines = BufReader::new(connection).lines();
        let mut request = Vec::new();
        for line in &mut lines {
            let line = line?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            request.push(line);
        }
        let Some(first) = request.first().cloned() else { return Ok(false) };
        self.asked.lock().expect("unpoisoned").push(request.join(" | "));
        let header = |name: &str| request.iter().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned());
        let mut words = first.split(' ');
        let (is_head, path) = (words.next() == Some("head"), words.next().unwrap_or_default().to_owned());
        let content = self.content.lock().expect("unpoisoned").clone();
        let etag = format!("\"{}\"", content.len());
        let habits = self.habits;
        let mut to = connection;
        if habits.refuses {
            let body = "<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIAHUSH</AWSAccessKeyId></Error>";
            write!(to, "HTTP/1.1 403 Forbidden\r\ncontent-length: {}\r\n\r\n{}", body.len(), if is_head { "" } else { body })?;
            return Ok(true);
        }
        if path != PATH {
            write!(to, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")?;
            return Ok(true);
        }
        if !habits.forgets_etag && header("if-match:").is_some_and(|wanted| wanted != etag) {
            write!(to, "HTTP/1.1 412 Precondition Failed\r\ncontent-length: 0\r\n\r\n")?;
            return Ok(true);
        }
        let range = header("range:").filter(|_| !habits.ignores_ranges);
        let (from, end) = range.as_deref().map_or((0, content.len()), |range| asked_range(range, content.len()));
        if range.is_some() && from >= content.len() {
            write!(to, "HTTP/1.1 416 Range Not Satisfiable\r\ncontent-length: 0\r\n\r\n")?;
            return Ok(true);
        }
        write!(
            to,
            "HTTP/1.1 {}\r\ncontent-length: {}\r\n",
            if range.is_some() { "206 Partial" } else { "200 OK" },
            end - from
        )?;
        write!(to, "last-modified: Mon, 23 Nov 2026 10:00:00 GMT\r\n")?;
        if range.is_some() {
            write!(to, "content-range: bytes {from}-{}/{}\r\n", end.saturating_sub(1), content.len())?;
        }
        if !habits.forgets_etag {
            write!(to, "etag: {etag}\r\n")?;
        }
        if let Some(encoding) = habits.content_encoding {
            write!(to, "content-encoding: {encoding}\r\n")?;
        }
        write!(to, "\r\n")?;
        if is_head {
            return Ok(true);
        }
        let body = &content[from..end];
        match habits.cut_after.filter(|cut| *cut < body.len()) {
            Some(cut) if self.cuts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() => {
                to.write_all(&body[..cut])?;
                to.shutdown(std::net::Shutdown::Both)?;
                Ok(false)
            }
            _ => to.write_all(body).map(|()| true),
        }
    }
}

/// `bytes=a-b` or `bytes=a-`.
fn asked_range(range: &str, length: usize) -> (usize, usize) {
    let (from, to) = range.trim_start_matches("bytes=").split_once('-').expect("a range");
    let end = to.parse::<usize>().map_or(length, |last| (last + 1).min(length));
    (from.parse::<usize>().expect("a number").min(end), end)
}
