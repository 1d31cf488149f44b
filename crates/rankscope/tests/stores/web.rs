//! A web server of a folder's files that gives parts of them, and counts.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Runs until the test is over.
pub(crate) struct Web {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    folder: PathBuf,
    gives_parts: bool,
    /// Of each answer with a body: what was asked for, and how much of it was sent.
    sent: Mutex<Vec<(String, u64)>>,
}

impl Web {
    /// One of `folder`; whether it gives parts of files, or always all of one.
    pub(crate) fn of(folder: &Path, gives_parts: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared { folder: folder.to_owned(), gives_parts, sent: Mutex::default() });
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let own = Arc::clone(&own);
                // Who hangs up hangs up.
                std::thread::spawn(move || while own.answer(&connection).unwrap_or(false) {});
            }
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was sent since this was asked last.
    pub(crate) fn sent(&self) -> Vec<(String, u64)> {
        std::mem::take(&mut *self.shared.sent.lock().expect("unpoisoned"))
    }
}

impl Shared {
    /// Answers one request; whether another may follow on this connection.
    fn answer(&self, mut connection: &TcpStream) -> std::io::Result<bool> {
        let mut lines = BufReader::new(connection).lines();
        let Some(first) = lines.next().transpose()? else { return Ok(false) };
        let rest: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        let range = rest.iter().find_map(|line| line.to_ascii_lowercase().strip_prefix("range: bytes=").map(str::to_owned));
        let words: Vec<&str> = first.split(' ').collect();
        let name = words[1].trim_start_matches('/');
        let Ok(content) = fs::read(self.folder.join(name)) else {
            write!(connection, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")?;
            return Ok(true);
        };
        let all = content.len();
        let part = range.filter(|_| self.gives_parts).map(|range| {
            let (from, last) = range.split_once('-').expect("a range");
            let end = last.parse::<usize>().map_or(all, |last| (last + 1).min(all));
            from.parse::<usize>().expect("a number")..end
        });
        if part.as_ref().is_some_and(|part| part.start >= all) {
            write!(connection, "HTTP/1.1 416 Range Not Satisfiable\r\ncontent-length: 0\r\n\r\n")?;
            return Ok(true);
        }
        let body = part.clone().unwrap_or(0..all);
        let status = if part.is_some() { "206 Partial Content" } else { "200 OK" };
        write!(connection, "HTTP/1.1 {status}\r\ncontent-length: {}\r\netag: \"{all}\"\r\n", body.len())?;
        write!(connection, "last-modified: Mon, 23 Nov 2026 10:00:00 GMT\r\n")?;
        if let Some(part) = part {
            write!(connection, "content-range: bytes {}-{}/{all}\r\n", part.start, part.end - 1)?;
        }
        write!(connection, "\r\n")?;
        if words[0] != "HEAD" {
            self.sent.lock().expect("unpoisoned").push((name.to_owned(), body.len() as u64));
            connection.write_all(&content[body])?;
        }
        Ok(true)
    }
}
